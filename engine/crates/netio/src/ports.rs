// SPDX-License-Identifier: Apache-2.0
//! A set of raw ports served by one loop.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::MAX_FRAME_BYTES;
use crate::batch::{Receiver, Sender};
use crate::namespace::within;
use crate::packet_socket::PacketSocket;
use crate::wait::wait;

/// A port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The interface does not exist, or raw sockets are not allowed.
    #[error("interface {interface}: {source}; it must exist, and raw sockets need root (CAP_NET_RAW)")]
    Open {
        /// Its name.
        interface: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// No event descriptor.
    #[error("cannot set up the ports' loop: {0}")]
    Loop(#[from] io::Error),
}

/// Batches that a port may hand over in one poll: a flood at one port does not hold up the others, nor the loop's own work.
const BATCHES_A_POLL: usize = 8;

/// Wakes [`Ports::poll`] from any thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<EventFd>);

impl Waker {
    /// Makes the current or the next poll return.
    pub fn wake(&self) {
        // Fails only when the counter is full, and then the loop is awake already.
        let _ = self.0.write(1);
    }
}

struct Port {
    socket: PacketSocket,
    sender: Sender,
    refused: u64,
}

/// The sending side of [`Ports`].
pub struct Senders(Vec<Port>);

impl Senders {
    /// Queues a frame to leave by `port`; it goes at [`Senders::flush`] or when a batch is full. One longer than
    /// [`MAX_FRAME_BYTES`] counts as refused. TCP segments that follow one another may go to the kernel as one.
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn send(&mut self, port: usize, frame: &[u8]) {
        let port = &mut self.0[port];
        if frame.len() > MAX_FRAME_BYTES {
            port.refused += 1;
            return;
        }
        port.sender.push(frame);
        if port.sender.is_full() {
            port.refused += port.sender.send(port.socket.raw());
        }
    }

    /// Sends everything that waits.
    pub fn flush(&mut self) {
        for port in &mut self.0 {
            if !port.sender.is_empty() {
                port.refused += port.sender.send(port.socket.raw());
            }
        }
    }
}

/// Raw ports, numbered in the order in which they were given.
///
/// What they give and take are frames of a wire. Between them and the kernel go super-frames where a host sends them and
/// receives them, with checksums that nobody has computed yet; the ports cut, compute and pack.
pub struct Ports {
    ports: Senders,
    receiver: Receiver,
    waker: Waker,
    /// The waker's descriptor, then one a port.
    watched: Vec<libc::pollfd>,
}

impl Ports {
    /// Opens a raw port on each interface; they live in `namespace`, or in the caller's own.
    pub fn open<S: AsRef<str>>(interfaces: &[S], namespace: Option<BorrowedFd<'_>>) -> Result<Ports, PortError> {
        let mut ports = Vec::with_capacity(interfaces.len());
        for interface in interfaces {
            let name = interface.as_ref();
            let opened = match namespace {
                Some(namespace) => within(namespace, || PacketSocket::open(name)),
                None => PacketSocket::open(name),
            };
            let socket = opened.map_err(|source| PortError::Open {
                interface: name.into(),
                source,
            })?;
            ports.push(Port {
                sender: Sender::new(socket.max_frame_bytes),
                socket,
                refused: 0,
            });
        }
        let event = EventFd::from_value_and_flags(0, EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC);
        let waker = Waker(Arc::new(event.map_err(io::Error::from)?));
        let descriptors =
            std::iter::once(waker.0.as_fd().as_raw_fd()).chain(ports.iter().map(|port| port.socket.raw()));
        let watched = descriptors
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        Ok(Ports {
            ports: Senders(ports),
            receiver: Receiver::new(),
            waker,
            watched,
        })
    }

    /// A handle that wakes [`Ports::poll`].
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Waits for frames, a wake-up or the timeout (`None`: for ever), then hands frames that wait to `handler(port, frame)`: all, or a fair
    /// share of a flood.
    ///
    /// # Errors
    /// What the kernel said; an interface that went down is no error.
    pub fn poll(&mut self, timeout: Option<Duration>, handler: &mut dyn FnMut(usize, &[u8])) -> io::Result<()> {
        self.poll_and_send(timeout, &mut |_, port, frame| handler(port, frame))
    }

    /// As [`Ports::poll`], for a handler that sends at once.
    ///
    /// # Errors
    /// As [`Ports::poll`].
    pub fn poll_and_send(
        &mut self,
        timeout: Option<Duration>,
        handler: &mut dyn FnMut(&mut Senders, usize, &[u8]),
    ) -> io::Result<()> {
        for watched in &mut self.watched {
            watched.revents = 0;
        }
        wait(&mut self.watched, timeout)?;
        if self.watched[0].revents != 0 {
            // Empty when two wake-ups fell together; the loop is awake either way.
            let _ = self.waker.0.read();
        }
        for port in 0..self.ports.0.len() {
            if self.watched[port + 1].revents == 0 {
                continue;
            }
            let fd = self.ports.0[port].socket.raw();
            for _ in 0..BATCHES_A_POLL {
                let senders = &mut self.ports;
                match self.receiver.receive(fd, &mut |frame| handler(senders, port, frame)) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// The sending side.
    pub fn senders(&mut self) -> &mut Senders {
        &mut self.ports
    }

    /// As [`Senders::send`].
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn send(&mut self, port: usize, frame: &[u8]) {
        self.ports.send(port, frame);
    }

    /// Sends everything that waits.
    pub fn flush(&mut self) {
        self.ports.flush();
    }

    /// Frames of `port` that the kernel did not take.
    pub fn refused(&self, port: usize) -> u64 {
        self.ports.0[port].refused
    }

    /// What the kernel handed over and was no frame: longer than [`MAX_FRAME_BYTES`] when cut, or of a kind of offload that
    /// nobody asked for.
    pub fn unreadable(&self) -> u64 {
        self.receiver.unreadable()
    }
}
