// SPDX-License-Identifier: Apache-2.0
//! Drives a node by the wall clock over a UDP socket.

use std::io;
use std::net::SocketAddr;

use slotwise_gtp::MAX_CHANNELS;
use slotwise_netio::{Batch, Sent, UdpPort, WallClock};
use slotwise_units::{Bytes, Duration, Instant};

use super::GtpError;
use super::desk::{Desk, FileNode, News};
use super::granted::Granted;
use crate::xfer::Stop;
use slotwise_cli::notes::note;

/// Datagrams sent or received before the other direction gets its turn.
const BURST: usize = 512;
/// What is due within so long leaves together: a timer a packet would be a wake-up each few microseconds.
const TOGETHER: Duration = Duration::from_us(250);
const SECOND: Duration = Duration::from_s(1);

/// A node, its socket, its clock and its files.
pub struct Drive {
    pub node: FileNode,
    pub desk: Desk,
    clock: WallClock,
    port: UdpPort,
    batch: Batch,
    /// A datagram that had no place in the batch.
    next: Option<(SocketAddr, Vec<u8>)>,
    waits_to_send: bool,
    pub socket_errors: u64,
    /// Handshakes that found no room, as far as they were told.
    without_room: u64,
    shows: bool,
    /// Whether it is there for others, too, when it cannot send to one.
    serves: bool,
    /// What the node shares, where a controller says it.
    granted: Option<Granted>,
}

impl Drive {
    pub fn new(
        node: FileNode,
        desk: Desk,
        port: UdpPort,
        (shows, serves): (bool, bool),
        granted: Option<Granted>,
    ) -> Drive {
        Drive {
            node,
            desk,
            clock: WallClock::start(),
            port,
            batch: Batch::default(),
            next: None,
            waits_to_send: false,
            socket_errors: 0,
            without_room: 0,
            shows,
            serves,
            granted,
        }
    }

    /// Until something happens that is news, or until somebody stops it. Then the other ends are told that this one is gone.
    ///
    /// # Errors
    /// [`GtpError::Interrupted`], or what the socket said.
    pub fn run<T>(&mut self, stop: &Stop, on_news: impl FnMut(&mut Drive, News) -> Option<T>) -> Result<T, GtpError> {
        let result = self.run_until(stop, on_news);
        self.node.leave();
        // The last word, if the socket takes it.
        let sent = self.send();
        result.and_then(|result| sent.map(|_| result))
    }

    fn run_until<T>(
        &mut self,
        stop: &Stop,
        mut on_news: impl FnMut(&mut Drive, News) -> Option<T>,
    ) -> Result<T, GtpError> {
        let mut shown = (self.now(), Bytes::ZERO);
        loop {
            if let Some(rate) = self.granted.as_mut().and_then(Granted::changed) {
                self.node.set_capacity(rate)?;
            }
            let sent_all = self.send()?;
            let now = self.now();
            self.desk.on_hashed(now, &mut self.node);
            while let Some(event) = self.node.poll_event() {
                self.desk.on_event(now, &mut self.node, event);
            }
            let is_to_stop = stop.is_requested();
            if is_to_stop {
                self.desk.stop(now, &mut self.node);
            } else if now >= shown.0 + SECOND {
                shown = self.show(shown, now);
                self.tell_refused();
                self.desk.save(&self.node, false);
                self.desk.fail(now, &mut self.node);
            }
            while let Some(news) = self.desk.poll_news() {
                if let Some(result) = on_news(self, news) {
                    return Ok(result);
                }
            }
            if is_to_stop {
                return Err(GtpError::Interrupted);
            }
            let due = self.node.poll_timeout();
            let wake = match due {
                _ if !sent_all && !self.waits_to_send => Some(now),
                Some(due) => Some(due.max(now + TOGETHER)),
                None => None,
            };
            let timeout = wake.map(|wake| std::time::Duration::from_nanos(wake.saturating_since(now).ns()));
            let others = [stop.descriptor(), self.desk.hasher.descriptor()];
            self.port
                .wait(self.waits_to_send, others, timeout)
                .map_err(GtpError::Socket)?;
            self.receive();
            self.node.handle_timeout(self.now());
        }
    }

    /// Sends until there is nothing, or no room, or the other direction's turn; true if there is nothing.
    fn send(&mut self) -> Result<bool, GtpError> {
        let mut datagram = Vec::new();
        let mut sent = 0;
        while sent < BURST {
            if !self.waits_to_send {
                self.fill(&mut datagram);
            }
            if self.batch.is_empty() {
                return Ok(true);
            }
            sent += self.batch.len();
            match self.port.send(&self.batch) {
                Ok(Sent::Taken) => {}
                Ok(Sent::Busy) => {
                    self.waits_to_send = true;
                    return Ok(false);
                }
                Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EMSGSIZE as i32) => {
                    let to = self.batch.to().filter(|_| self.serves).ok_or(GtpError::PacketTooLong)?;
                    note!("slotwise gtp: {to}: {}", GtpError::PacketTooLong);
                    self.node.lose(to);
                }
                // To the protocol it is a loss.
                Err(_) => self.socket_errors += 1,
            }
            self.waits_to_send = false;
            self.batch.clear();
        }
        Ok(false)
    }

    /// The time since this was made.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    fn fill(&mut self, datagram: &mut Vec<u8>) {
        let most = self.port.max_batch();
        let now = self.now();
        if let Some((to, datagram)) = self.next.take() {
            self.batch.push(to, &datagram, most);
        }
        while let Some(to) = self.node.poll_transmit(now, datagram) {
            if !self.batch.push(to, datagram, most) {
                self.next = Some((to, std::mem::take(datagram)));
                return;
            }
        }
    }

    fn receive(&mut self) {
        let mut received = 0;
        while received < BURST {
            let now = self.now();
            let node = &mut self.node;
            match self
                .port
                .receive(|from, datagram| node.handle_datagram(now, from, datagram))
            {
                Ok(0) => return,
                Ok(count) => received += count,
                Err(_) => {
                    self.socket_errors += 1;
                    return;
                }
            }
        }
    }

    /// Says how many were turned away since it was said last.
    fn tell_refused(&mut self) {
        let without_room = self.node.peer_stats().without_room;
        let new = without_room - self.without_room;
        self.without_room = without_room;
        if new > 0 {
            note!(
                "slotwise gtp: {new} handshakes rejected: {MAX_CHANNELS} channels in use, or too many concurrent handshakes"
            );
        }
    }

    /// How far transfers are, and since when: time and bytes.
    fn show(&self, (then, before): (Instant, Bytes), now: Instant) -> (Instant, Bytes) {
        let (done, all, count) = self.desk.progress(&self.node).fold(
            (Bytes::ZERO, Bytes::ZERO, 0),
            |(done, all, count), (_, so_far, bytes)| (done + so_far, all + bytes, count + 1),
        );
        if self.shows && count > 0 {
            let mbps = done.saturating_sub(before).get() as f64 * 8e3 / (now - then).ns() as f64;
            note!("slotwise gtp: {} of {all} in {count} files, {mbps:.0} Mb/s", done.get());
        }
        (now, done)
    }
}

/// Binds a socket.
pub fn bind(local: SocketAddr) -> Result<UdpPort, GtpError> {
    UdpPort::bind(local).map_err(|source: io::Error| GtpError::Bind { local, source })
}
