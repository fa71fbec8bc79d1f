// SPDX-License-Identifier: Apache-2.0
//! A UDP socket for many datagrams a second: several of one length at once (`UDP_SEGMENT`, GRO) where the kernel can.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};

use crate::raw_ip::Sent;
use crate::wait::wait;

/// Kernel buffers, bytes. What the kernel counts for a packet of 1500 bytes is about 2300.
const SOCKET_BUFFER_BYTES: usize = 8 << 20;
/// Most that leaves at once: what an IP packet can be.
const MAX_BATCH_BYTES: usize = 65_000;
/// Room for what the kernel puts together.
const RECEIVE_BYTES: usize = 64 << 10;

/// Datagrams to one place, all as long as the first but for the last, which may be shorter.
#[derive(Debug, Default)]
pub struct Batch {
    to: Option<SocketAddr>,
    bytes: Vec<u8>,
    segment_bytes: usize,
    last_bytes: usize,
    count: usize,
}

impl Batch {
    /// Adds a datagram; false if it has no place in this batch, which must be sent first.
    pub fn push(&mut self, to: SocketAddr, datagram: &[u8], most: usize) -> bool {
        if self.to.is_some() {
            let fits = self.to == Some(to)
                && self.count < most
                && self.last_bytes == self.segment_bytes
                && datagram.len() <= self.segment_bytes
                && self.bytes.len() + datagram.len() <= MAX_BATCH_BYTES;
            if !fits {
                return false;
            }
        } else {
            self.to = Some(to);
            self.segment_bytes = datagram.len();
        }
        self.bytes.extend_from_slice(datagram);
        self.last_bytes = datagram.len();
        self.count += 1;
        true
    }

    /// Where they go; none if there are none.
    pub fn to(&self) -> Option<SocketAddr> {
        self.to
    }

    /// Datagrams.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.to = None;
        self.bytes.clear();
        self.count = 0;
    }
}

/// A UDP socket. Non-blocking; datagrams are not fragmented.
#[derive(Debug)]
pub struct UdpPort {
    socket: UdpSocket,
    state: UdpSocketState,
    buffers: Vec<u8>,
    buffer_bytes: usize,
}

impl UdpPort {
    /// Binds a socket.
    ///
    /// # Errors
    /// What the kernel said, e.g. that the address is not of this host, or taken.
    pub fn bind(local: SocketAddr) -> io::Result<UdpPort> {
        let socket = UdpSocket::bind(local)?;
        let state = UdpSocketState::new((&socket).into())?;
        force_buffers(&socket);
        // As large as the system lets it be, if it was not forced.
        for (is_receive, bytes) in [
            (true, state.recv_buffer_size((&socket).into())?),
            (false, state.send_buffer_size((&socket).into())?),
        ] {
            match is_receive {
                true if bytes < SOCKET_BUFFER_BYTES => {
                    state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES)?;
                }
                false if bytes < SOCKET_BUFFER_BYTES => {
                    state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES)?;
                }
                _ => {}
            }
        }
        let buffer_bytes = if state.gro_segments() > 1 { RECEIVE_BYTES } else { 9216 };
        Ok(UdpPort {
            socket,
            state,
            buffers: vec![0; BATCH_SIZE * buffer_bytes],
            buffer_bytes,
        })
    }

    /// The own address.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Datagrams that one batch may hold.
    pub fn max_batch(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends a batch, all or nothing.
    ///
    /// # Errors
    /// What the kernel said: no route, longer than the interface takes, nobody there.
    pub fn send(&self, batch: &Batch) -> io::Result<Sent> {
        let Some(destination) = batch.to else {
            return Ok(Sent::Taken);
        };
        let transmit = Transmit {
            destination,
            ecn: None,
            contents: &batch.bytes,
            segment_size: (batch.count > 1).then_some(batch.segment_bytes),
            src_ip: None,
        };
        match self.state.try_send((&self.socket).into(), &transmit) {
            Ok(()) => Ok(Sent::Taken),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(Sent::Busy)
            }
            Err(error) => Err(error),
        }
    }

    /// Gives what waits to `take`, one datagram at a time, and returns how many there were. There may be more.
    ///
    /// # Errors
    /// What the kernel said, an ICMP error among it; the socket stays usable.
    pub fn receive(&mut self, mut take: impl FnMut(SocketAddr, &[u8])) -> io::Result<usize> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices = self.buffers.chunks_mut(self.buffer_bytes).map(IoSliceMut::new);
        let mut slices: [IoSliceMut; BATCH_SIZE] = std::array::from_fn(|_| {
            let slice = slices.next();
            slice.expect("there is a buffer for each")
        });
        let filled = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
            Ok(filled) => filled,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        let mut datagrams = 0;
        for (meta, slice) in metas.iter().zip(&slices).take(filled) {
            for datagram in slice[..meta.len].chunks(meta.stride.max(1)) {
                take(meta.addr, datagram);
                datagrams += 1;
            }
        }
        Ok(datagrams)
    }

    /// Waits until a datagram can be received, or with `to_send` also until one can be sent, until one of `others` can be read, or until
    /// the timeout (`None`: for ever).
    ///
    /// # Errors
    /// What the kernel said.
    pub fn wait(&self, to_send: bool, others: [BorrowedFd<'_>; 2], timeout: Option<Duration>) -> io::Result<()> {
        let wanted = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let events = libc::POLLIN | if to_send { libc::POLLOUT } else { 0 };
        let mut watched = [
            wanted(self.socket.as_raw_fd(), events),
            wanted(others[0].as_raw_fd(), libc::POLLIN),
            wanted(others[1].as_raw_fd(), libc::POLLIN),
        ];
        wait(&mut watched, timeout)
    }
}

/// Beyond the system's limit, which needs CAP_NET_ADMIN.
fn force_buffers(socket: &UdpSocket) {
    let bytes = SOCKET_BUFFER_BYTES as libc::c_int;
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
        // SAFETY: pointer and length describe a live local. Where it is not allowed the system's limit stays.
        unsafe {
            libc::setsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const bytes).cast(),
                std::mem::size_of::<libc::c_int>() as libc::socklen_t,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_arrives_as_the_datagrams_that_went_in() {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let from = UdpPort::bind(local).unwrap();
        let mut to = UdpPort::bind(local).unwrap();
        let target = to.local().unwrap();
        let datagrams: Vec<Vec<u8>> = [700usize, 700, 700, 300, 900, 900, 1]
            .iter()
            .enumerate()
            .map(|(number, length)| vec![number as u8; *length])
            .collect();
        let mut batch = Batch::default();
        let mut sizes = Vec::new();
        for datagram in &datagrams {
            if !batch.push(target, datagram, from.max_batch()) {
                assert_eq!(from.send(&batch).unwrap(), Sent::Taken);
                sizes.push(batch.len());
                batch.clear();
                assert!(batch.push(target, datagram, from.max_batch()));
            }
        }
        assert_eq!(from.send(&batch).unwrap(), Sent::Taken);
        sizes.push(batch.len());
        if from.max_batch() >= 4 {
            assert_eq!(sizes, [4, 3]);
        }
        let mut came = Vec::new();
        while came.len() < datagrams.len() {
            to.wait(false, [from.socket.as_fd(); 2], Some(Duration::from_secs(5)))
                .unwrap();
            let count = to.receive(|sender, datagram| {
                assert_eq!(sender, from.local().unwrap());
                came.push(datagram.to_vec());
            });
            assert!(count.unwrap() > 0, "not within 5 s");
        }
        assert_eq!(came, datagrams);
    }

    #[test]
    fn a_batch_has_one_place_and_one_length() {
        let [one, other] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let mut batch = Batch::default();
        assert!(batch.push(one, &[0; 10], 4));
        assert!(!batch.push(other, &[0; 10], 4));
        assert!(!batch.push(one, &[0; 11], 4));
        assert!(batch.push(one, &[0; 10], 4));
        assert!(batch.push(one, &[0; 9], 4));
        assert!(!batch.push(one, &[0; 9], 4), "behind a shorter one");
        batch.clear();
        for _ in 0..4 {
            assert!(batch.push(one, &[0; 10], 4));
        }
        assert!(!batch.push(one, &[0; 10], 4), "no more than the kernel takes");
    }
}
