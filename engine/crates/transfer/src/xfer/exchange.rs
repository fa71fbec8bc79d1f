// SPDX-License-Identifier: Apache-2.0
//! Drives one side of a transfer by the wall clock, over a raw IP socket.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use slotwise_netio::{RawIpSocket, Sent, WallClock};
use slotwise_units::{Duration, Instant};
use slotwise_wire::Ipv4;

use super::role::{Role, Step, XferError};
use slotwise_cli::interrupts::end_signals;

/// Packets sent or received before the other direction gets its turn.
const BURST: usize = 64;
const LONGEST_PACKET: usize = u16::MAX as usize;

/// Becomes readable at a signal that asks the command to end.
pub struct Stop(UnixStream);

impl Stop {
    /// # Errors
    /// When the system is out of descriptors.
    pub fn on_signal() -> io::Result<Stop> {
        let (stop, signal) = UnixStream::pair()?;
        stop.set_nonblocking(true)?;
        for number in end_signals() {
            signal_hook::low_level::pipe::register(number, signal.try_clone()?)?;
        }
        Ok(Stop(stop))
    }

    /// To be waited for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub fn is_requested(&self) -> bool {
        io::Read::read(&mut &self.0, &mut [0]).is_ok_and(|length| length > 0)
    }
}

/// What the network did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketStats {
    pub packets_sent: u64,
    pub packets_received: u64,
    /// Packets that the kernel did not take, and ICMP errors.
    pub errors: u64,
}

/// A side, its socket and its clock.
pub struct Exchange<'a> {
    socket: &'a RawIpSocket,
    clock: WallClock,
    stop: &'a Stop,
    patience: std::time::Duration,
    pub stats: SocketStats,
}

impl Exchange<'_> {
    /// A transfer without a sign of the peer for `patience` has failed.
    pub fn new<'a>(socket: &'a RawIpSocket, stop: &'a Stop, patience: std::time::Duration) -> Exchange<'a> {
        Exchange {
            socket,
            clock: WallClock::start(),
            stop,
            patience,
            stats: SocketStats::default(),
        }
    }

    /// Runs a side to its end.
    ///
    /// # Errors
    /// Whatever ended it early.
    pub fn run(&mut self, role: &mut impl Role) -> Result<(), XferError> {
        let patience = u64::try_from(self.patience.as_nanos()).map_or(Duration::MAX, Duration::from_ns);
        let mut incoming = vec![0; LONGEST_PACKET];
        let mut outgoing = Outgoing::default();
        let mut heard = (None, Instant::ZERO);
        loop {
            if self.stop.is_requested() {
                return Err(XferError::Interrupted);
            }
            let sent_all = self.send(role, &mut outgoing)?;
            let now = self.now();
            let step = role.step(now)?;
            let progress = role.progress();
            if progress != heard.0 {
                heard = (progress, now);
            }
            let silent = progress.map(|_| heard.1.saturating_add(patience));
            if silent.is_some_and(|silent| silent <= now) {
                return Err(XferError::Silence(self.patience.as_secs()));
            }
            let wake = match step {
                Step::Done => return Ok(()),
                Step::Again => Some(now),
                Step::Wait { .. } if !sent_all && !outgoing.is_waiting => Some(now),
                Step::Wait { until } => [until, silent, role.stack().poll_timeout()].into_iter().flatten().min(),
            };
            let timeout = wake.map(|wake| std::time::Duration::from_nanos(wake.saturating_since(now).ns()));
            self.socket
                .wait(outgoing.is_waiting, self.stop.descriptor(), timeout)
                .map_err(XferError::Socket)?;
            self.receive(role, &mut incoming)?;
            role.stack().handle_timeout(self.now());
        }
    }

    /// The time since this was made.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Sends until there is nothing, or no room, or the other direction's turn; true if there is nothing.
    fn send(&mut self, role: &mut impl Role, outgoing: &mut Outgoing) -> Result<bool, XferError> {
        for _ in 0..BURST {
            if !outgoing.is_waiting {
                let now = self.now();
                if role.stack().poll_transmit(now, &mut outgoing.packet).is_none() {
                    return Ok(true);
                }
            }
            let destination = Ipv4::decode(&outgoing.packet).map_or(Ipv4Addr::UNSPECIFIED, |ip| ip.dst.into());
            outgoing.is_waiting = false;
            match self.socket.send(&outgoing.packet, destination) {
                Ok(Sent::Taken) => self.stats.packets_sent += 1,
                Ok(Sent::Busy) => {
                    outgoing.is_waiting = true;
                    return Ok(false);
                }
                Err(error) if error.raw_os_error() == Some(Errno::EMSGSIZE as i32) => {
                    return Err(XferError::PacketTooLong(outgoing.packet.len()));
                }
                Err(error) => self.note(role, error)?,
            }
        }
        Ok(false)
    }

    fn receive(&mut self, role: &mut impl Role, buffer: &mut [u8]) -> Result<(), XferError> {
        for _ in 0..BURST {
            match self.socket.receive(buffer) {
                Ok(Some(length)) => {
                    self.stats.packets_received += 1;
                    role.stack().handle_segment(self.now(), &buffer[..length]);
                }
                Ok(None) => break,
                Err(error) => self.note(role, error)?,
            }
        }
        Ok(())
    }

    /// An error of the network is a lost packet, unless nothing says that there is anybody at the other end.
    fn note(&mut self, role: &impl Role, source: io::Error) -> Result<(), XferError> {
        self.stats.errors += 1;
        match role.supposed_peer() {
            Some(peer) => Err(XferError::Unreachable { peer, source }),
            None => Ok(()),
        }
    }
}

/// The packet that goes out next; it waits when the kernel had no room for it.
#[derive(Default)]
struct Outgoing {
    packet: Vec<u8>,
    is_waiting: bool,
}
