// SPDX-License-Identifier: Apache-2.0
//! A set of raw ports served by one loop.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::MAX_FRAME_BYTES;
use crate::batch::{NoRoom, Receiver, Sender};
use crate::namespace::within;
use crate::packet_socket::PacketSocket;
use crate::wait::wait;

/// A port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The interface does not exist, or raw sockets are not allowed.
    #[error("interface {interface}: {source}; expected an existing interface and root (CAP_NET_RAW)")]
    Open {
        /// Its name.
        interface: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// No event descriptor.
    #[error("cannot start the event loop of the ports: {0}")]
    Loop(#[from] io::Error),
}

/// Frames that a port may hand over in one poll, however few super-frames they came in: a flood at one port does not hold up the
/// others, nor the loop's own work.
const FRAMES_A_POLL: usize = 256;

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

/// What becomes of frames for which the kernel has no room, because the interface is slower than what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// They are lost.
    Lose,
    /// A batch of them stays, and the port is [stalled](Senders::is_stalled) until there is room. The kernel's own buffer
    /// has the usual size then, not a large one.
    Keep,
}

impl WhenFull {
    fn open(self, interface: &str) -> io::Result<PacketSocket> {
        PacketSocket::open(interface, self == WhenFull::Lose)
    }
}

/// How long to wait for an interface that does not say when its queue has room.
const QUEUE_RETRY: Duration = Duration::from_millis(1);

/// Why frames of a port stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stall {
    /// Until the socket is writable.
    Socket,
    /// Until the time has come to try again.
    Queue(Instant),
}

struct Port {
    interface: String,
    socket: Arc<PacketSocket>,
    sender: Sender,
    when_full: WhenFull,
    stall: Option<Stall>,
    refused: u64,
}

impl Port {
    fn open(interface: &str, namespace: Option<BorrowedFd<'_>>, when_full: WhenFull) -> io::Result<Port> {
        let open = || when_full.open(interface);
        let socket = match namespace {
            Some(namespace) => within(namespace, open),
            None => open(),
        }?;
        Ok(Port::new(interface.to_owned(), Arc::new(socket), when_full))
    }

    fn new(interface: String, socket: Arc<PacketSocket>, when_full: WhenFull) -> Port {
        Port {
            interface,
            sender: Sender::new(socket.max_frame_bytes),
            socket,
            when_full,
            stall: None,
            refused: 0,
        }
    }

    fn send_now(&mut self) {
        let keep = self.when_full == WhenFull::Keep;
        let no_room = self.sender.send(self.socket.raw(), keep, &mut self.refused);
        self.stall = no_room.map(|no_room| match no_room {
            NoRoom::Socket => Stall::Socket,
            NoRoom::Queue => Stall::Queue(Instant::now() + QUEUE_RETRY),
        });
    }

    /// Tries again after a stall, if there may be room. `events` are those of the socket.
    fn go_on(&mut self, events: libc::c_short) {
        let may_go_on = match self.stall {
            None => false,
            Some(Stall::Socket) => events & (libc::POLLOUT | libc::POLLERR) != 0,
            Some(Stall::Queue(until)) => Instant::now() >= until,
        };
        if may_go_on {
            self.send_now();
        }
    }
}

/// The sending side of [`Ports`].
pub struct Senders(Vec<Port>);

impl Senders {
    /// Queues a frame to leave by `port`; it goes at [`Senders::flush`] or when a batch is full. One longer than
    /// [`MAX_FRAME_BYTES`] counts as refused, as does one more than a batch for a stalled port. TCP segments that follow one
    /// another may go to the kernel as one.
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn send(&mut self, port: usize, frame: &[u8]) {
        let port = &mut self.0[port];
        let is_stuck = port.stall.is_some() && port.sender.is_full();
        if frame.len() > MAX_FRAME_BYTES || is_stuck {
            port.refused += 1;
            return;
        }
        port.sender.push(frame);
        if port.sender.is_full() && port.stall.is_none() {
            port.send_now();
        }
    }

    /// Sends everything that waits.
    pub fn flush(&mut self) {
        for port in 0..self.0.len() {
            self.flush_port(port);
        }
    }

    /// Sends what waits for one port; false if nothing does that may go now.
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn flush_port(&mut self, port: usize) -> bool {
        let port = &mut self.0[port];
        let may_go = !port.sender.is_empty() && port.stall.is_none();
        if may_go {
            port.send_now();
        }
        may_go
    }

    /// Whether frames of a port wait for room in the kernel: [`WhenFull::Keep`]. [`Ports::poll`] ends that.
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn is_stalled(&self, port: usize) -> bool {
        self.0[port].stall.is_some()
    }
}

/// Looks whether an interface can have a name: the rule of Linux (`dev_valid_name`).
pub fn is_interface_name(name: &str) -> bool {
    // The kernel counts Latin-1's space that does not break among spaces, also as a part of UTF-8.
    let is_refused = |byte: u8| matches!(byte, b'/' | b':' | b' ' | b'\t'..=b'\r' | 0xa0);
    let is_short = (1..libc::IFNAMSIZ).contains(&name.len());
    is_short && name != "." && name != ".." && !name.bytes().any(is_refused)
}

/// What [`Opener::look`] found.
#[derive(Debug)]
pub enum Renewal {
    /// The interface is the one that was opened.
    Same,
    /// There is none of its name.
    Gone,
    /// There is another one of its name: for [`Ports::replace`].
    Renewed(Opened),
}

/// An interface that is open and not yet a port.
#[derive(Debug)]
pub struct Opened(Arc<PacketSocket>);

/// Opens the interface of a port anew when it has been deleted and made again under its name, on any thread: opening and closing
/// may take the kernel milliseconds.
#[derive(Debug)]
pub struct Opener {
    interface: String,
    when_full: WhenFull,
    socket: Arc<PacketSocket>,
    /// What was opened before, until no port has it any more: it is closed here.
    past: Option<Arc<PacketSocket>>,
}

impl Opener {
    /// Looks for the interface in the caller's network namespace.
    ///
    /// # Errors
    /// What the kernel said to opening a new one; the next look tries again.
    pub fn look(&mut self) -> io::Result<Renewal> {
        self.past.take_if(|past| Arc::strong_count(past) == 1);
        let Ok(number) = nix::net::if_::if_nametoindex(self.interface.as_str()) else {
            return Ok(Renewal::Gone);
        };
        if self.socket.interface() == Some(number) {
            return Ok(Renewal::Same);
        }
        let socket = Arc::new(self.when_full.open(&self.interface)?);
        self.past = Some(std::mem::replace(&mut self.socket, socket.clone()));
        Ok(Renewal::Renewed(Opened(socket)))
    }
}

fn open_all<S: AsRef<str>>(interfaces: &[S], open: impl Fn(&str) -> io::Result<Port>) -> Result<Vec<Port>, PortError> {
    let named = |interface: &S| {
        let interface = interface.as_ref();
        open(interface).map_err(|source| PortError::Open {
            interface: interface.into(),
            source,
        })
    };
    interfaces.iter().map(named).collect()
}

/// Raw ports, numbered in the order in which they were given.
///
/// What they give and take are frames of a wire. Between them and the kernel go super-frames where a host sends them and
/// receives them, with checksums that nobody has computed yet; the ports cut, compute and pack.
pub struct Ports {
    ports: Senders,
    /// By port: what was received, while not all of it has been handed over.
    received: Vec<Option<Box<Receiver>>>,
    /// Receivers that nothing waits in.
    #[expect(clippy::vec_box, reason = "they move between here and the ports")]
    idle: Vec<Box<Receiver>>,
    unreadable: u64,
    waker: Waker,
    /// The waker's descriptor, then one a port.
    watched: Vec<libc::pollfd>,
}

impl Ports {
    /// Opens a raw port on each interface; they live in `namespace`, or in the caller's own.
    ///
    /// # Errors
    /// Which interface could not be opened, and why.
    pub fn open<S: AsRef<str>>(interfaces: &[S], namespace: Option<BorrowedFd<'_>>) -> Result<Ports, PortError> {
        Self::open_with(interfaces, namespace, WhenFull::Lose)
    }

    /// As [`Ports::open`], with a choice of what becomes of frames for which there is no room.
    ///
    /// # Errors
    /// As [`Ports::open`].
    pub fn open_with<S: AsRef<str>>(
        interfaces: &[S],
        namespace: Option<BorrowedFd<'_>>,
        when_full: WhenFull,
    ) -> Result<Ports, PortError> {
        let open = |interface: &str| Port::open(interface, namespace, when_full);
        Self::of(open_all(interfaces, open)?)
    }

    /// As [`Ports::open_with`] in the caller's namespace, but an interface that does not exist is no error: its port neither
    /// receives nor sends until what an [`Opener`] finds later [takes its place](Ports::replace). Returns the places of such
    /// ports, too.
    ///
    /// # Errors
    /// As [`Ports::open`], and for names that no interface can have.
    pub fn open_existing<S: AsRef<str>>(
        interfaces: &[S],
        when_full: WhenFull,
    ) -> Result<(Ports, Vec<usize>), PortError> {
        let open = |interface: &str| match Port::open(interface, None, when_full) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) && is_interface_name(interface) => {
                let socket = Arc::new(PacketSocket::unbound()?);
                Ok(Port::new(interface.to_owned(), socket, when_full))
            }
            opened => opened,
        };
        let ports = open_all(interfaces, open)?;
        let is_missing = |(place, port): (usize, &Port)| port.socket.interface().is_none().then_some(place);
        let missing = ports.iter().enumerate().filter_map(is_missing).collect();
        Ok((Self::of(ports)?, missing))
    }

    fn of(ports: Vec<Port>) -> Result<Ports, PortError> {
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
            received: ports.iter().map(|_| None).collect(),
            idle: Vec::new(),
            unreadable: 0,
            ports: Senders(ports),
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
        let timeout = self.watch(timeout);
        wait(&mut self.watched, timeout)?;
        if self.watched[0].revents != 0 {
            // Empty when two wake-ups fell together; the loop is awake either way.
            let _ = self.waker.0.read();
        }
        for port in 0..self.ports.0.len() {
            let events = self.watched[port + 1].revents;
            self.ports.0[port].go_on(events);
            if events & !libc::POLLOUT != 0 || self.received[port].is_some() {
                self.take_in(port, handler)?;
            }
        }
        Ok(())
    }

    /// Hands over what waits at a port, at most [`FRAMES_A_POLL`]. The rest of what is received by then stays for the next poll.
    fn take_in(&mut self, port: usize, handler: &mut dyn FnMut(&mut Senders, usize, &[u8])) -> io::Result<()> {
        let fd = self.ports.0[port].socket.raw();
        let idle = || self.idle.pop().unwrap_or_else(|| Box::new(Receiver::new()));
        let mut receiver = self.received[port].take().unwrap_or_else(idle);
        let mut left = FRAMES_A_POLL;
        let mut may_be_more = Ok(true);
        loop {
            let senders = &mut self.ports;
            receiver.hand_over(&mut left, &mut |frame| handler(senders, port, frame));
            if left == 0 || !matches!(may_be_more, Ok(true)) {
                break;
            }
            may_be_more = receiver.receive(fd);
        }
        self.unreadable += receiver.take_unreadable();
        if receiver.is_empty() {
            self.idle.push(receiver);
        } else {
            self.received[port] = Some(receiver);
        }
        match may_be_more {
            Err(error) if error.raw_os_error() != Some(libc::ENETDOWN) => Err(error),
            _ => Ok(()),
        }
    }

    /// Says what to watch for, and how long at most: stalled ports want to go on, and what was received waits for nothing.
    fn watch(&mut self, timeout: Option<Duration>) -> Option<Duration> {
        let mut timeout = timeout;
        if self.received.iter().any(Option::is_some) {
            timeout = Some(Duration::ZERO);
        }
        self.watched[0].revents = 0;
        for (port, watched) in self.ports.0.iter().zip(&mut self.watched[1..]) {
            watched.revents = 0;
            watched.events = libc::POLLIN;
            match port.stall {
                None => {}
                Some(Stall::Socket) => watched.events |= libc::POLLOUT,
                Some(Stall::Queue(until)) => {
                    let wait = until.saturating_duration_since(Instant::now());
                    timeout = Some(timeout.map_or(wait, |timeout| timeout.min(wait)));
                }
            }
        }
        timeout
    }

    /// What opens the interface of `port` anew.
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn opener(&self, port: usize) -> Opener {
        let port = &self.ports.0[port];
        Opener {
            interface: port.interface.clone(),
            when_full: port.when_full,
            socket: port.socket.clone(),
            past: None,
        }
    }

    /// The port goes on with what was opened; frames that wait are lost.
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn replace(&mut self, port: usize, Opened(socket): Opened) {
        let old = &mut self.ports.0[port];
        let refused = old.refused + old.sender.frames();
        self.watched[port + 1].fd = socket.raw();
        let new = Port::new(std::mem::take(&mut old.interface), socket, old.when_full);
        *old = Port { refused, ..new };
    }

    /// Waits for frames, a wake-up or the timeout (`None`: for ever).
    ///
    /// # Errors
    /// As [`Ports::poll`].
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let timeout = self.watch(timeout);
        wait(&mut self.watched, timeout)
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

    /// As [`Senders::flush_port`].
    ///
    /// # Panics
    /// When there is no such port: the caller's mistake.
    pub fn flush_port(&mut self, port: usize) -> bool {
        self.ports.flush_port(port)
    }

    /// Frames of `port` that the kernel did not take.
    pub fn refused(&self, port: usize) -> u64 {
        self.ports.0[port].refused
    }

    /// What the kernel handed over and was no frame: longer than [`MAX_FRAME_BYTES`] when cut, of a kind of offload that nobody
    /// asked for, or a super-frame of more than 128 segments of less than 64 bytes.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }
}
