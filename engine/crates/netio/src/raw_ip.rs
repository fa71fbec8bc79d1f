// SPDX-License-Identifier: Apache-2.0
//! A raw IPv4 socket: whole packets of one IP protocol, routed by the kernel.

use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::wait::wait;

/// Kernel buffers, bytes. What the kernel counts for a packet of 1500 bytes is about 2300.
const SOCKET_BUFFER_BYTES: libc::c_int = 8 << 20;

/// A raw IPv4 socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum RawIpError {
    /// Not allowed.
    #[error("raw IP socket: {0}; expected root (CAP_NET_RAW)")]
    Open(io::Error),
    /// Not an address of this host.
    #[error("address {address}: {source}; expected an IPv4 address of this host")]
    Local {
        /// The address.
        address: Ipv4Addr,
        /// What the kernel said.
        source: io::Error,
    },
    /// No way to the peer.
    #[error("peer {address}: {source}; expected a unicast address with a route")]
    Peer {
        /// The peer.
        address: Ipv4Addr,
        /// What the kernel said.
        source: io::Error,
    },
}

/// What became of a packet that was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has it.
    Taken,
    /// Not now: try again when [`RawIpSocket::wait`] says so.
    Busy,
}

/// Packets of one IP protocol, IPv4 header included, to and from one local address. Non-blocking. The kernel fills in an
/// IP identification of 0 and the header's checksum.
#[derive(Debug)]
pub struct RawIpSocket {
    fd: OwnedFd,
    local: Ipv4Addr,
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.octets()),
        },
        sin_zero: [0; 8],
    }
}

/// To a raw socket, other addresses are "any" and whole groups.
fn unicast(address: Ipv4Addr) -> io::Result<Ipv4Addr> {
    if address.is_unspecified() || address.is_multicast() || address.is_broadcast() {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    }
    Ok(address)
}

impl RawIpSocket {
    /// Opens a socket that receives packets of `protocol` to `local`, from `peer` or from anybody.
    ///
    /// # Errors
    /// When raw sockets are not allowed, `local` is not an address of this host, or there is no way to `peer`.
    pub fn listen(protocol: u8, local: Ipv4Addr, peer: Option<Ipv4Addr>) -> Result<RawIpSocket, RawIpError> {
        let mut socket = RawIpSocket::open(protocol).map_err(RawIpError::Open)?;
        let wrong = |source| RawIpError::Local { address: local, source };
        let local = unicast(local).map_err(wrong)?;
        socket.name(libc::bind, local).map_err(wrong)?;
        socket.local = local;
        if let Some(peer) = peer {
            socket.meet(peer)?;
        }
        Ok(socket)
    }

    /// Opens a socket between this host and `peer` only. ICMP errors of the peer appear as errors of
    /// [`RawIpSocket::receive`] and [`RawIpSocket::send`].
    ///
    /// # Errors
    /// When raw sockets are not allowed or there is no way to `peer`.
    pub fn connect(protocol: u8, peer: Ipv4Addr) -> Result<RawIpSocket, RawIpError> {
        let mut socket = RawIpSocket::open(protocol).map_err(RawIpError::Open)?;
        socket.meet(peer)?;
        socket.local = socket
            .own_address()
            .map_err(|source| RawIpError::Peer { address: peer, source })?;
        Ok(socket)
    }

    fn meet(&self, peer: Ipv4Addr) -> Result<(), RawIpError> {
        unicast(peer)
            .and_then(|peer| self.name(libc::connect, peer))
            .map_err(|source| RawIpError::Peer { address: peer, source })
    }

    fn open(protocol: u8) -> io::Result<RawIpSocket> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain system call; the result is checked and owned at once.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_INET, kind, protocol.into()))?) };
        let socket = RawIpSocket {
            fd,
            local: Ipv4Addr::UNSPECIFIED,
        };
        socket.set(libc::IPPROTO_IP, libc::IP_HDRINCL, 1)?;
        for (force, plain) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        ] {
            // Beyond the system's limit only with CAP_NET_ADMIN.
            socket
                .set(libc::SOL_SOCKET, force, SOCKET_BUFFER_BYTES)
                .or_else(|_| socket.set(libc::SOL_SOCKET, plain, SOCKET_BUFFER_BYTES))?;
        }
        Ok(socket)
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: pointer and length describe a live local.
        check(unsafe {
            libc::setsockopt(
                self.raw(),
                level,
                option,
                (&raw const value).cast(),
                mem::size_of::<libc::c_int>() as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    /// bind or connect.
    fn name(
        &self,
        call: unsafe extern "C" fn(libc::c_int, *const libc::sockaddr, libc::socklen_t) -> libc::c_int,
        address: Ipv4Addr,
    ) -> io::Result<()> {
        let address = socket_address(address);
        // SAFETY: pointer and length describe a live local.
        check(unsafe {
            call(
                self.raw(),
                (&raw const address).cast(),
                mem::size_of::<libc::sockaddr_in>() as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    fn own_address(&self) -> io::Result<Ipv4Addr> {
        let mut address = socket_address(Ipv4Addr::UNSPECIFIED);
        let mut length = mem::size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: pointer and length describe a live local.
        check(unsafe { libc::getsockname(self.raw(), (&raw mut address).cast(), &raw mut length) })?;
        Ok(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()))
    }

    fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Own address; of a connected socket the one that the kernel routes from.
    pub fn local(&self) -> Ipv4Addr {
        self.local
    }

    /// Writes the next packet that waits into `buffer`, cut if it is longer; gives its length, `None` if none waits.
    ///
    /// # Errors
    /// What the kernel said, an ICMP error of the peer among it; the socket stays usable.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: pointer and length describe `buffer`.
        let length = unsafe { libc::recv(self.raw(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if length >= 0 {
            return Ok(Some(length as usize));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        }
    }

    /// Sends a packet, IPv4 header included, to `destination`.
    ///
    /// # Errors
    /// What the kernel said: no route, a packet longer than the interface takes, an ICMP error that came meanwhile.
    pub fn send(&self, packet: &[u8], destination: Ipv4Addr) -> io::Result<Sent> {
        let address = socket_address(destination);
        // SAFETY: pointers and lengths describe `packet` and a live local.
        let result = unsafe {
            libc::sendto(
                self.raw(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
                (&raw const address).cast(),
                mem::size_of::<libc::sockaddr_in>() as libc::socklen_t,
            )
        };
        if result >= 0 {
            return Ok(Sent::Taken);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Sent::Busy),
            _ => Err(error),
        }
    }

    /// Waits until a packet can be received, or with `to_send` also until one can be sent, until `stop` can be read, or
    /// until the timeout (`None`: for ever).
    ///
    /// # Errors
    /// What the kernel said.
    pub fn wait(&self, to_send: bool, stop: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<()> {
        let wanted = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let events = libc::POLLIN | if to_send { libc::POLLOUT } else { 0 };
        let mut watched = [wanted(self.raw(), events), wanted(stop.as_raw_fd(), libc::POLLIN)];
        wait(&mut watched, timeout)
    }
}
