// SPDX-License-Identifier: Apache-2.0
//! Frames to send, TCP segments that follow one another packed into super-frames.
//!
//! A segment joins the one before it under the rules of Linux's generic receive offload and one more, that cutting the super-frame
//! gives back the same bytes: same addresses, ports, options and other fields, sequence and IP identification going on, both
//! checksums right, all but the last of the same length, none but the last with PSH or FIN.

use super::checksum::Sum;
use super::headers::{
    ACK, CWR, ECE, ETHERNET_BYTES, FIN, IPV4_BYTES, IPV4_CHECKSUM, IPV4_ID, IPV4_LENGTH, IPV4_PROTOCOL, IPV6_BYTES,
    IPV6_LENGTH, IPV6_NEXT_HEADER, Ip, PROTOCOL_TCP, PSH, TCP_BYTES, TCP_CHECKSUM, TCP_FLAGS, TCP_SEQUENCE, u16_at,
};
use super::segment::{LEAST_SEGMENT_BYTES, MAX_TINY_SEGMENTS};
use super::virtio::{HEADER_BYTES, Offload};

/// Longest super-frame, Ethernet header included; an IP packet has at most 65,535 bytes.
const MAX_SUPER_FRAME_BYTES: usize = 65_535;
const IPV4_FRAGMENT: usize = 6;
const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3fff;

/// Frames, each with its offload header in front, one after the other in memory.
#[derive(Debug)]
pub(crate) struct Coalescer {
    bytes: Vec<u8>,
    messages: Vec<Message>,
    /// What may still grow: the last message.
    open: Option<Train>,
    /// Longer frames are not packed: the interface would not take them one by one either.
    max_frame_bytes: usize,
}

/// What goes to the kernel at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    /// Where it ends.
    pub end: usize,
    /// Frames in it.
    pub frames: u32,
}

/// A TCP segment that may be the first of a super-frame, with those that joined it.
#[derive(Debug)]
struct Train {
    /// Where its message starts.
    at: usize,
    layout: Layout,
    /// Payload bytes of each segment so far.
    segment_bytes: usize,
    next_sequence: u32,
    next_id: u16,
}

/// A TCP segment whose checksums are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    ip: Ip,
    tcp: usize,
    payload: usize,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Layout {
    /// `None` for all that is not to be packed.
    fn of(frame: &[u8]) -> Option<Layout> {
        let ip = Ip::find(frame)?;
        let header = &frame[ip.start..];
        let (protocol, packet_bytes) = if ip.is_ipv6 {
            (
                header[IPV6_NEXT_HEADER],
                usize::from(u16_at(header, IPV6_LENGTH)) + IPV6_BYTES,
            )
        } else {
            (header[IPV4_PROTOCOL], usize::from(u16_at(header, IPV4_LENGTH)))
        };
        // Without tags, options and padding.
        let is_plain =
            ip.start == ETHERNET_BYTES && (ip.is_ipv6 || ip.bytes == IPV4_BYTES) && packet_bytes == header.len();
        let tcp = ip.start + ip.bytes;
        if !is_plain || protocol != PROTOCOL_TCP || frame.len() < tcp + TCP_BYTES {
            return None;
        }
        let segment = &frame[tcp..];
        // With reserved bits of zero.
        let data_offset = segment[TCP_FLAGS - 1];
        let header_bytes = usize::from(data_offset >> 4) * 4;
        let flags = segment[TCP_FLAGS];
        let is_data = flags & ACK != 0 && flags & !(ACK | PSH | FIN | ECE | CWR) == 0 && segment.len() > header_bytes;
        if !is_data || header_bytes < TCP_BYTES || data_offset & 0xf != 0 {
            return None;
        }
        let is_fragment = !ip.is_ipv6 && u16_at(header, IPV4_FRAGMENT) & MORE_FRAGMENTS_AND_OFFSET != 0;
        // 0xffff and 0 are the same number; packing and cutting gives the usual one.
        let has_right_header = ip.is_ipv6
            || (u16_at(header, IPV4_CHECKSUM) != 0xffff && Sum::default().add(&header[..IPV4_BYTES]).is_valid());
        if is_fragment || !has_right_header || u16_at(segment, TCP_CHECKSUM) == 0 {
            return None;
        }
        let pseudo_header = ip.pseudo_header(frame, PROTOCOL_TCP, segment.len());
        pseudo_header.add(segment).is_valid().then_some(Layout {
            ip,
            tcp,
            payload: tcp + header_bytes,
        })
    }

    fn id(&self, frame: &[u8]) -> u16 {
        if self.ip.is_ipv6 {
            0
        } else {
            u16_at(frame, self.ip.start + IPV4_ID)
        }
    }
}

impl Train {
    /// The frame with this layout is the next one of the train whose headers begin `first`.
    fn is_continued_by(&self, first: &[u8], frame: &[u8], layout: Layout) -> bool {
        let Layout { ip, tcp, payload } = layout;
        let same = |from: usize, to: usize| first[from..to] == frame[from..to];
        let flags = |bytes: &[u8]| bytes[tcp + TCP_FLAGS];
        let goes_on = self.layout == layout
            && u32_at(frame, tcp + TCP_SEQUENCE) == self.next_sequence
            && (ip.is_ipv6 || self.next_id == layout.id(frame))
            && flags(frame) & !(PSH | FIN) == flags(first) & !CWR;
        let same_ip = if ip.is_ipv6 {
            same(0, ip.start + IPV6_LENGTH) && same(ip.start + IPV6_NEXT_HEADER, tcp)
        } else {
            same(0, ip.start + IPV4_LENGTH)
                && same(ip.start + IPV4_FRAGMENT, ip.start + IPV4_CHECKSUM)
                && same(ip.start + IPV4_CHECKSUM + 2, tcp)
        };
        goes_on
            && same_ip
            && same(tcp, tcp + TCP_SEQUENCE)
            && same(tcp + TCP_SEQUENCE + 4, tcp + TCP_FLAGS)
            && same(tcp + TCP_FLAGS + 1, tcp + TCP_CHECKSUM)
            && same(tcp + TCP_CHECKSUM + 2, payload)
    }
}

impl Coalescer {
    /// For an interface that takes frames up to `max_frame_bytes`.
    pub(crate) fn new(max_frame_bytes: usize) -> Coalescer {
        Coalescer {
            bytes: Vec::new(),
            messages: Vec::new(),
            open: None,
            max_frame_bytes,
        }
    }

    /// Adds a frame.
    pub(crate) fn push(&mut self, frame: &[u8]) {
        let layout = (frame.len() <= self.max_frame_bytes)
            .then(|| Layout::of(frame))
            .flatten();
        if let Some(layout) = layout
            && self.join(frame, layout)
        {
            return;
        }
        self.close();
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        self.bytes.extend_from_slice(frame);
        self.messages.push(Message {
            end: self.bytes.len(),
            frames: 1,
        });
        self.open = layout
            .filter(|layout| frame[layout.tcp + TCP_FLAGS] & (PSH | FIN) == 0)
            .map(|layout| Train {
                at,
                layout,
                segment_bytes: frame.len() - layout.payload,
                next_sequence: u32_at(frame, layout.tcp + TCP_SEQUENCE)
                    .wrapping_add((frame.len() - layout.payload) as u32),
                next_id: layout.id(frame).wrapping_add(1),
            });
    }

    /// Puts the frame's payload behind the train, if it goes on there.
    fn join(&mut self, frame: &[u8], layout: Layout) -> bool {
        let Some(train) = &mut self.open else { return false };
        let payload = &frame[layout.payload..];
        let (_, first) = self.bytes[train.at..].split_at_mut(HEADER_BYTES);
        let segments = self.messages.last().map_or(0, |message| message.frames as usize);
        if train.segment_bytes < LEAST_SEGMENT_BYTES && segments >= MAX_TINY_SEGMENTS {
            return false;
        }
        if payload.len() > train.segment_bytes
            || first.len() + payload.len() > MAX_SUPER_FRAME_BYTES
            || !train.is_continued_by(first, frame, layout)
        {
            return false;
        }
        let last_flags = frame[layout.tcp + TCP_FLAGS] & (PSH | FIN);
        first[layout.tcp + TCP_FLAGS] |= last_flags;
        train.next_sequence = train.next_sequence.wrapping_add(payload.len() as u32);
        train.next_id = train.next_id.wrapping_add(1);
        let is_last = payload.len() < train.segment_bytes || last_flags != 0;
        self.bytes.extend_from_slice(payload);
        if let Some(message) = self.messages.last_mut() {
            message.end = self.bytes.len();
            message.frames += 1;
        }
        if is_last {
            self.close();
        }
        true
    }

    /// Nothing joins the last message any more; if something has, it gets the headers of a super-frame.
    fn close(&mut self) {
        let Some(train) = self.open.take() else { return };
        if self.messages.last().is_none_or(|message| message.frames == 1) {
            return;
        }
        let Layout { ip, tcp, payload } = train.layout;
        let (header, frame) = self.bytes[train.at..].split_at_mut(HEADER_BYTES);
        ip.set_length(frame, (frame.len() - ip.start) as u16);
        let sum = ip.pseudo_header(frame, PROTOCOL_TCP, frame.len() - tcp).folded();
        frame[tcp + TCP_CHECKSUM..][..2].copy_from_slice(&sum);
        let has_cwr = frame[tcp + TCP_FLAGS] & CWR != 0;
        let offload = Offload::tcp_header(
            ip.is_ipv6,
            tcp as u16,
            payload as u16,
            train.segment_bytes as u16,
            has_cwr,
        );
        header.copy_from_slice(&offload);
    }

    /// How many messages wait to be sent.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Frames in all messages.
    pub(crate) fn frames(&self) -> u64 {
        self.messages.iter().map(|message| u64::from(message.frames)).sum()
    }

    /// Bytes of all messages.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Calls `send` with the messages, each with its offload header in front, and forgets as many of them, from the first
    /// on, as it says are done with.
    pub(crate) fn take(&mut self, send: impl FnOnce(&mut [u8], &[Message]) -> usize) {
        self.close();
        let done = send(&mut self.bytes, &self.messages);
        let end = done.checked_sub(1).map_or(0, |last| self.messages[last].end);
        self.bytes.drain(..end);
        self.messages.drain(..done);
        for message in &mut self.messages {
            message.end -= end;
        }
    }
}
