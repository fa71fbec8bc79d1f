// SPDX-License-Identifier: Apache-2.0
//! One AF_PACKET socket, bound to one interface.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::offload::headers::ETHERNET_BYTES;

/// Kernel buffers: at a gigabit, 4 MiB bridge more than 30 ms in which the loop does not run.
const SOCKET_BUFFER_BYTES: libc::c_int = 4 << 20;

/// Since Linux 4.20; not yet in the libc crate's stable surface for every target.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

#[derive(Debug)]
pub(crate) struct PacketSocket {
    fd: OwnedFd,
    /// Longest frame that the interface takes, Ethernet header included.
    pub(crate) max_frame_bytes: usize,
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A socket at which nothing arrives until bind() names an interface and a protocol.
fn raw_socket() -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the result is checked and owned at once.
    unsafe {
        Ok(OwnedFd::from_raw_fd(check(libc::socket(
            libc::AF_PACKET,
            libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            0,
        ))?))
    }
}

/// Payload bytes that an interface takes in a frame.
fn mtu(fd: &OwnedFd, interface: &str) -> io::Result<usize> {
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The name fits, with a zero behind it: the kernel knows the interface by it.
    for (to, from) in request
        .ifr_name
        .iter_mut()
        .zip(interface.bytes().take(libc::IFNAMSIZ - 1))
    {
        *to = from as libc::c_char;
    }
    // SAFETY: the pointer is to a live local of the type that this request takes.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) })?;
    // SAFETY: the kernel has filled this member.
    Ok(unsafe { request.ifr_ifru.ifru_mtu } as usize)
}

impl PacketSocket {
    /// Opens a non-blocking raw socket that sees every frame arriving at `interface`, and none of its own. Both ways a frame has a
    /// `virtio_net_hdr` in front ([`crate::offload`]). With `bursts` the kernel takes many frames at once, more than a slow
    /// interface sends in a moment.
    pub(crate) fn open(interface: &str, bursts: bool) -> io::Result<PacketSocket> {
        let index = nix::net::if_::if_nametoindex(interface)? as libc::c_int;
        let fd = raw_socket()?;
        let socket = PacketSocket {
            max_frame_bytes: mtu(&fd, interface)? + ETHERNET_BYTES,
            fd,
        };
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &SOCKET_BUFFER_BYTES)?;
        if bursts {
            socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SOCKET_BUFFER_BYTES)?;
        }
        let on: libc::c_int = 1;
        socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &on)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
        let membership = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        // SAFETY: all-zero is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        // SAFETY: pointer and length describe a live local.
        check(unsafe {
            libc::bind(
                socket.raw(),
                (&raw const address).cast(),
                mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        })?;
        Ok(socket)
    }

    /// Opens a socket of no interface: nothing arrives at it, and it sends nothing.
    pub(crate) fn unbound() -> io::Result<PacketSocket> {
        Ok(PacketSocket {
            fd: raw_socket()?,
            max_frame_bytes: 0,
        })
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        // SAFETY: pointer and length describe `value`, which outlives the call.
        check(unsafe {
            libc::setsockopt(
                self.raw(),
                level,
                option,
                std::ptr::from_ref::<T>(value).cast(),
                mem::size_of::<T>() as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    /// The kernel's number of the interface; none when that has gone, whatever its number is now, or was never there.
    pub(crate) fn interface(&self) -> Option<libc::c_uint> {
        // SAFETY: all-zero is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        let mut length = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: pointer and length describe a live local.
        let result = unsafe { libc::getsockname(self.raw(), (&raw mut address).cast(), &raw mut length) };
        check(result).ok()?;
        libc::c_uint::try_from(address.sll_ifindex)
            .ok()
            .filter(|index| *index > 0)
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}
