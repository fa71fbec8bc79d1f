// SPDX-License-Identifier: Apache-2.0
//! Frames received and sent several a system call.

use std::io;
use std::mem;
use std::os::fd::RawFd;

use crate::MAX_FRAME_BYTES;

/// Frames a call.
const BATCH: usize = 32;

/// Room in front of a frame for a VLAN tag that the kernel took out.
const VLAN_TAG_BYTES: usize = 4;
const MAC_ADDRESSES_BYTES: usize = 12;
const CONTROL_BYTES: usize = 64;
const TPID_8021Q: u16 = 0x8100;

/// Buffers for one recvmmsg.
pub(crate) struct Receiver {
    frames: Vec<[u8; VLAN_TAG_BYTES + MAX_FRAME_BYTES]>,
    control: Vec<[u64; CONTROL_BYTES / 8]>,
}

impl Receiver {
    pub(crate) fn new() -> Receiver {
        Receiver {
            frames: vec![[0; VLAN_TAG_BYTES + MAX_FRAME_BYTES]; BATCH],
            control: vec![[0; CONTROL_BYTES / 8]; BATCH],
        }
    }

    /// Hands each frame that waits at `fd` to `handler`; longer ones than [`MAX_FRAME_BYTES`] are passed over.
    /// Returns whether more may wait.
    pub(crate) fn receive(&mut self, fd: RawFd, handler: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
        // SAFETY: all-zero is valid for both structures; every pointer set below is to memory that `self` owns and that
        // outlives the call.
        let mut parts: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        for (k, header) in headers.iter_mut().enumerate() {
            let room = &mut self.frames[k][VLAN_TAG_BYTES..];
            parts[k] = libc::iovec {
                iov_base: room.as_mut_ptr().cast(),
                iov_len: room.len(),
            };
            header.msg_hdr.msg_iov = &raw mut parts[k];
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = self.control[k].as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES;
        }
        // SAFETY: see above.
        let count = unsafe {
            libc::recvmmsg(
                fd,
                headers.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock {
                Ok(false)
            } else {
                Err(error)
            };
        }
        let count = count as usize;
        for (k, header) in headers[..count].iter().enumerate() {
            if header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                continue;
            }
            let length = header.msg_len as usize;
            let buffer = &mut self.frames[k];
            match vlan_tag(&header.msg_hdr) {
                Some((tpid, tci)) if length >= MAC_ADDRESSES_BYTES => {
                    buffer.copy_within(VLAN_TAG_BYTES..VLAN_TAG_BYTES + MAC_ADDRESSES_BYTES, 0);
                    buffer[MAC_ADDRESSES_BYTES..][..2].copy_from_slice(&tpid.to_be_bytes());
                    buffer[MAC_ADDRESSES_BYTES + 2..][..2].copy_from_slice(&tci.to_be_bytes());
                    handler(&buffer[..VLAN_TAG_BYTES + length]);
                }
                _ => handler(&buffer[VLAN_TAG_BYTES..][..length]),
            }
        }
        Ok(count == BATCH)
    }
}

/// The tag (TPID, TCI) that the kernel reports beside a frame.
fn vlan_tag(header: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: `header` was filled by the kernel; its control buffer is alive and aligned for cmsghdr.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            if (*control).cmsg_level == libc::SOL_PACKET && (*control).cmsg_type == libc::PACKET_AUXDATA {
                let aux: libc::tpacket_auxdata = std::ptr::read_unaligned(libc::CMSG_DATA(control).cast());
                if aux.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
                    return None;
                }
                let known = aux.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
                return Some((if known { aux.tp_vlan_tpid } else { TPID_8021Q }, aux.tp_vlan_tci));
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}

/// Frames waiting for one sendmmsg.
pub(crate) struct Sender {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Sender {
    pub(crate) fn new() -> Sender {
        Sender {
            bytes: Vec::with_capacity(BATCH * 2048),
            ends: Vec::with_capacity(BATCH),
        }
    }

    pub(crate) fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= BATCH
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sends what waits and forgets it. Returns how many frames the kernel did not take.
    pub(crate) fn send(&mut self, fd: RawFd) -> usize {
        // SAFETY: all-zero is valid for both structures; the pointers set below are into `self.bytes`, which is not
        // touched until the call is over.
        let mut parts: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        let total = self.ends.len().min(BATCH);
        let mut start = 0;
        for k in 0..total {
            let frame = &mut self.bytes[start..self.ends[k]];
            start = self.ends[k];
            parts[k] = libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: frame.len(),
            };
            headers[k].msg_hdr.msg_iov = &raw mut parts[k];
            headers[k].msg_hdr.msg_iovlen = 1;
        }
        let mut done = 0;
        let mut refused = 0;
        while done < total {
            // SAFETY: see above; `done < total` bounds pointer and count.
            let sent = unsafe {
                libc::sendmmsg(
                    fd,
                    headers[done..].as_mut_ptr(),
                    (total - done) as libc::c_uint,
                    libc::MSG_DONTWAIT,
                )
            };
            if sent > 0 {
                done += sent as usize;
            } else {
                // The kernel names the first frame that it does not take (queue full, interface down): a wire would lose it.
                refused += 1;
                done += 1;
            }
        }
        self.bytes.clear();
        self.ends.clear();
        refused
    }
}
