// SPDX-License-Identifier: Apache-2.0
//! Frames received and sent several a system call.

use std::io;
use std::mem;
use std::os::fd::RawFd;

use crate::offload::coalesce::{Coalescer, Message};
use crate::offload::segment::Frames;
use crate::offload::virtio::{HEADER_BYTES, Offload};

/// Messages a call.
const BATCH: usize = 32;
/// What a port sends at once: beyond that, more bytes at a time only leave the cache.
const BATCH_BYTES: usize = 256 << 10;
/// Longest super-frame.
const MAX_MESSAGE_BYTES: usize = 68 << 10;

/// Room in front of a frame for a VLAN tag that the kernel took out.
const VLAN_TAG_BYTES: usize = 4;
const MAC_ADDRESSES_BYTES: usize = 12;
const CONTROL_BYTES: usize = 64;
const TPID_8021Q: u16 = 0x8100;

/// What one recvmmsg brought, with how far it has been handed over.
pub(crate) struct Receiver {
    offloads: Vec<[u8; HEADER_BYTES]>,
    buffers: Vec<[u8; VLAN_TAG_BYTES + MAX_MESSAGE_BYTES]>,
    control: Vec<[u64; CONTROL_BYTES / 8]>,
    /// Where the message of each buffer lies.
    messages: Vec<Option<Placed>>,
    /// The first of them that has not been handed over, and how far that has been.
    next: usize,
    under_way: Option<Frames>,
    segment: Vec<u8>,
    /// Messages that were no frames: too long, or of a kind that nobody asked for.
    unreadable: u64,
}

/// A message in its buffer.
struct Placed {
    start: usize,
    end: usize,
    offload: Offload,
}

impl Receiver {
    #[expect(clippy::large_stack_arrays, reason = "zeros of a vector come from the allocator")]
    pub(crate) fn new() -> Receiver {
        Receiver {
            offloads: vec![[0; HEADER_BYTES]; BATCH],
            buffers: vec![[0; VLAN_TAG_BYTES + MAX_MESSAGE_BYTES]; BATCH],
            control: vec![[0; CONTROL_BYTES / 8]; BATCH],
            messages: Vec::with_capacity(BATCH),
            next: 0,
            under_way: None,
            segment: Vec::new(),
            unreadable: 0,
        }
    }

    /// Messages that could not be read as frames, since this was last asked.
    pub(crate) fn take_unreadable(&mut self) -> u64 {
        mem::take(&mut self.unreadable)
    }

    /// Whether all that was received has been handed over.
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.messages.len()
    }

    /// Hands frames to `handler`, super-frames cut, of what was received: as many as `left`, of which it takes those. What is no
    /// frame counts as one.
    pub(crate) fn hand_over(&mut self, left: &mut usize, handler: &mut dyn FnMut(&[u8])) {
        while *left > 0 && !self.is_empty() {
            let buffer = &mut self.buffers[self.next];
            let message = self.messages[self.next].as_ref().and_then(|placed| {
                let frame = &mut buffer[placed.start..placed.end];
                if self.under_way.is_none() {
                    self.under_way = Frames::new(placed.offload, frame).ok();
                }
                Some((self.under_way.as_mut()?, &*frame))
            });
            let Some((frames, frame)) = message else {
                *left -= 1;
                self.unreadable += 1;
                self.next += 1;
                continue;
            };
            match frames.next(frame, &mut self.segment) {
                Some(frame) => {
                    *left -= 1;
                    handler(frame);
                }
                None => {
                    self.under_way = None;
                    self.next += 1;
                }
            }
        }
    }

    /// Receives what waits at `fd`, when what was received before has been handed over. Returns whether more may wait.
    pub(crate) fn receive(&mut self, fd: RawFd) -> io::Result<bool> {
        debug_assert!(self.is_empty());
        self.messages.clear();
        self.next = 0;
        // SAFETY: all-zero is valid for both structures; every pointer set below is to memory that `self` owns and that
        // outlives the call.
        let mut parts: [[libc::iovec; 2]; BATCH] = unsafe { mem::zeroed() };
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        for (k, header) in headers.iter_mut().enumerate() {
            let room = &mut self.buffers[k][VLAN_TAG_BYTES..];
            parts[k] = [
                libc::iovec {
                    iov_base: self.offloads[k].as_mut_ptr().cast(),
                    iov_len: HEADER_BYTES,
                },
                libc::iovec {
                    iov_base: room.as_mut_ptr().cast(),
                    iov_len: room.len(),
                },
            ];
            header.msg_hdr.msg_iov = parts[k].as_mut_ptr();
            header.msg_hdr.msg_iovlen = 2;
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
            return match error.raw_os_error() {
                Some(libc::EAGAIN) => Ok(false),
                // The kernel has dropped a super-frame of a kind that its header cannot say.
                Some(libc::EINVAL) => {
                    self.messages.push(None);
                    Ok(true)
                }
                _ => Err(error),
            };
        }
        let count = count as usize;
        for (k, header) in headers[..count].iter().enumerate() {
            let placed = self.place(k, header);
            self.messages.push(placed);
        }
        Ok(count == BATCH)
    }

    /// Finds the frame of message `k` in its buffer, puts the tag into it that the kernel took out; `None` if it has none.
    fn place(&mut self, k: usize, header: &libc::mmsghdr) -> Option<Placed> {
        if header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
            return None;
        }
        let length = (header.msg_len as usize).checked_sub(HEADER_BYTES)?;
        let mut offload = Offload::parse(&self.offloads[k]).ok()?;
        let buffer = &mut self.buffers[k];
        let mut start = VLAN_TAG_BYTES;
        if let Some((tpid, tci)) = vlan_tag(&header.msg_hdr)
            && length >= MAC_ADDRESSES_BYTES
        {
            start = 0;
            buffer.copy_within(VLAN_TAG_BYTES..VLAN_TAG_BYTES + MAC_ADDRESSES_BYTES, 0);
            buffer[MAC_ADDRESSES_BYTES..][..2].copy_from_slice(&tpid.to_be_bytes());
            buffer[MAC_ADDRESSES_BYTES + 2..][..2].copy_from_slice(&tci.to_be_bytes());
            if let Some(partial) = &mut offload.checksum {
                partial.start = partial.start.checked_add(VLAN_TAG_BYTES as u16)?;
            }
        }
        Some(Placed {
            start,
            end: VLAN_TAG_BYTES + length,
            offload,
        })
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
pub(crate) struct Sender(Coalescer);

impl Sender {
    /// For an interface that takes frames up to `max_frame_bytes`.
    pub(crate) fn new(max_frame_bytes: usize) -> Sender {
        Sender(Coalescer::new(max_frame_bytes))
    }

    pub(crate) fn push(&mut self, frame: &[u8]) {
        self.0.push(frame);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= BATCH || self.0.bytes() >= BATCH_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Sends what waits. What the kernel does not take is lost and counted in `refused`; with `keep`, what it has no room
    /// for stays, and the answer says why it does.
    pub(crate) fn send(&mut self, fd: RawFd, keep: bool, refused: &mut u64) -> Option<NoRoom> {
        let mut no_room = None;
        self.0.take(|bytes, messages| {
            let sent = send(fd, bytes, messages, keep);
            *refused += sent.refused;
            no_room = sent.no_room;
            sent.done
        });
        no_room
    }

    /// Frames that wait.
    pub(crate) fn frames(&self) -> u64 {
        self.0.frames()
    }
}

/// Why the kernel has no room for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The socket's buffer is full; it becomes writable.
    Socket,
    /// The interface's queue is full, and nobody says when it is not.
    Queue,
}

/// What has become of messages.
struct Sent {
    /// How many are done with: sent, or lost.
    done: usize,
    /// Frames lost.
    refused: u64,
    /// Why the others are still there.
    no_room: Option<NoRoom>,
}

/// Sends messages that lie one after the other in `bytes`.
fn send(fd: RawFd, bytes: &mut [u8], messages: &[Message], keep: bool) -> Sent {
    // SAFETY: all-zero is valid for both structures; the pointers set below are into `bytes`, which is not touched until the
    // call is over.
    let mut parts: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
    let mut refused = 0;
    let mut start = 0;
    let mut before = 0;
    for batch in messages.chunks(BATCH) {
        for (k, message) in batch.iter().enumerate() {
            let message_bytes = &mut bytes[start..message.end];
            start = message.end;
            parts[k] = libc::iovec {
                iov_base: message_bytes.as_mut_ptr().cast(),
                iov_len: message_bytes.len(),
            };
            headers[k].msg_hdr.msg_iov = &raw mut parts[k];
            headers[k].msg_hdr.msg_iovlen = 1;
        }
        let mut done = 0;
        while done < batch.len() {
            // SAFETY: see above; `done < batch.len() <= BATCH` bounds pointer and count.
            let sent = unsafe {
                libc::sendmmsg(
                    fd,
                    headers[done..].as_mut_ptr(),
                    (batch.len() - done) as libc::c_uint,
                    libc::MSG_DONTWAIT,
                )
            };
            if sent > 0 {
                done += sent as usize;
                continue;
            }
            let no_room = match io::Error::last_os_error().raw_os_error() {
                Some(libc::EAGAIN) => Some(NoRoom::Socket),
                Some(libc::ENOBUFS) => Some(NoRoom::Queue),
                _ => None,
            };
            if keep && no_room.is_some() {
                return Sent {
                    done: before + done,
                    refused,
                    no_room,
                };
            }
            // The kernel names the first message that it does not take (queue full, interface down): a wire would lose it.
            refused += u64::from(batch[done].frames);
            done += 1;
        }
        before += batch.len();
    }
    Sent {
        done: before,
        refused,
        no_room: None,
    }
}
