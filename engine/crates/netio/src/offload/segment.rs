// SPDX-License-Identifier: Apache-2.0
//! What the kernel hands over, as frames of a wire: super-frames cut, checksums finished.

use super::checksum::Sum;
use super::headers::{
    CWR, FIN, IPV4_ID, Ip, PROTOCOL_TCP, PROTOCOL_UDP, PSH, TCP_BYTES, TCP_CHECKSUM, TCP_FLAGS, TCP_SEQUENCE,
    UDP_BYTES, UDP_CHECKSUM, UDP_LENGTH, put_u16, u16_at,
};
use super::layers::{self, GRE_CHECKSUM, Layer};
use super::virtio::{BadOffload, Cut, Offload, PartialChecksum};
use crate::MAX_FRAME_BYTES;

/// A checksum of 0 is sent as this: in UDP 0 means none (RFC 768), and elsewhere both are the same number.
const MANGLED_ZERO: [u8; 2] = [0xff; 2];

/// Segments with less payload than this are cut out of a super-frame only if they are no more than [`MAX_TINY_SEGMENTS`]: else a
/// host has a thousand times the work done that it does itself. What TCP sends with any MSS in use is longer.
pub(crate) const LEAST_SEGMENT_BYTES: usize = 64;
/// As many as Linux lets an application's UDP datagram be cut into (UDP_MAX_SEGMENTS).
pub(crate) const MAX_TINY_SEGMENTS: usize = 128;

/// The frames that one from the kernel stands for, and how many of them have been taken.
#[derive(Debug)]
pub(crate) struct Frames {
    /// For a super-frame.
    plan: Option<Plan>,
    taken: usize,
    count: usize,
}

/// The headers of a super-frame, all within its bounds.
#[derive(Debug)]
struct Plan {
    /// The IP header and, of a packet in tunnels, what is in front of it, from the outermost on.
    layers: Vec<Layer>,
    ip: Ip,
    /// Where the TCP or UDP header starts.
    transport: usize,
    /// Where the payload starts.
    payload: usize,
    cut: Cut,
    /// Payload bytes of each segment but the last.
    segment_bytes: usize,
}

impl Frames {
    /// Those of `frame`, whose checksum is finished here if it is a single one.
    pub(crate) fn new(offload: Offload, frame: &mut [u8]) -> Result<Frames, BadOffload> {
        let (plan, count, longest) = match (offload.cut, offload.checksum) {
            (None, partial) => {
                if let Some(partial) = partial {
                    finish_checksum(frame, partial)?;
                }
                (None, 1, frame.len())
            }
            (Some((cut, bytes)), Some(partial)) => {
                let plan = Plan::new(frame, cut, bytes, partial)?;
                let payload_bytes = frame.len() - plan.payload;
                let count = payload_bytes.div_ceil(plan.segment_bytes).max(1);
                if plan.segment_bytes < LEAST_SEGMENT_BYTES && count > MAX_TINY_SEGMENTS {
                    return Err(BadOffload("super-frame with too many tiny segments"));
                }
                let longest = plan.payload + plan.segment_bytes.min(payload_bytes);
                (Some(plan), count, longest)
            }
            (Some(_), None) => return Err(BadOffload("super-frame with complete checksums")),
        };
        if longest > MAX_FRAME_BYTES {
            return Err(BadOffload("frame exceeds the port's maximum length"));
        }
        Ok(Frames { plan, taken: 0, count })
    }

    /// The next one; `frame` is as it was for [`Frames::new`], `room` for what is cut out of it.
    pub(crate) fn next<'a>(&mut self, frame: &'a [u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let number = self.taken;
        if number == self.count {
            return None;
        }
        self.taken += 1;
        let Some(plan) = &self.plan else { return Some(frame) };
        let (headers, payload) = frame.split_at(plan.payload);
        let start = number * plan.segment_bytes;
        room.clear();
        room.extend_from_slice(headers);
        room.extend_from_slice(&payload[start..payload.len().min(start + plan.segment_bytes)]);
        plan.finish(room, number, number + 1 == self.count);
        Some(room)
    }
}

/// Computes the checksum that the kernel left to the cable.
fn finish_checksum(frame: &mut [u8], partial: PartialChecksum) -> Result<(), BadOffload> {
    let (start, offset) = (usize::from(partial.start), usize::from(partial.offset));
    let covered = frame.get_mut(start..).unwrap_or_default();
    if covered.len() < offset + 2 {
        return Err(BadOffload("checksum beyond the end of the frame"));
    }
    let checksum = Sum::default().add(covered).checksum();
    covered[offset..offset + 2].copy_from_slice(&mangled(checksum));
    Ok(())
}

fn mangled(checksum: [u8; 2]) -> [u8; 2] {
    if checksum == [0; 2] { MANGLED_ZERO } else { checksum }
}

impl Plan {
    fn new(frame: &[u8], cut: Cut, segment_bytes: u16, partial: PartialChecksum) -> Result<Plan, BadOffload> {
        if segment_bytes == 0 {
            return Err(BadOffload("segments without payload"));
        }
        let transport = usize::from(partial.start);
        let header = frame.get(transport..).unwrap_or_default();
        let (protocol, least, field) = match cut {
            Cut::Tcp => (PROTOCOL_TCP, TCP_BYTES, TCP_CHECKSUM),
            Cut::Udp => (PROTOCOL_UDP, UDP_BYTES, UDP_CHECKSUM),
        };
        if header.len() < least || usize::from(partial.offset) != field {
            return Err(BadOffload("super-frame checksum is not that of TCP or UDP"));
        }
        let (layers, ip) =
            layers::around(frame, transport, protocol).ok_or(BadOffload("super-frame with unsupported headers"))?;
        let header_bytes = match cut {
            Cut::Tcp => usize::from(header[TCP_FLAGS - 1] >> 4) * 4,
            Cut::Udp => UDP_BYTES,
        };
        if header_bytes < least || header.len() < header_bytes {
            return Err(BadOffload("super-frame with an invalid TCP header length"));
        }
        let payload = transport + header_bytes;
        let longest = payload - layers[0].start() + usize::from(segment_bytes).min(frame.len() - payload);
        if longest > usize::from(u16::MAX) {
            return Err(BadOffload("segments exceed the length of an IP packet"));
        }
        Ok(Plan {
            layers,
            ip,
            transport,
            payload,
            cut,
            segment_bytes: usize::from(segment_bytes),
        })
    }

    /// Turns the super-frame's headers before a segment into the segment's own.
    fn finish(&self, segment: &mut [u8], number: usize, is_last: bool) {
        let transport_bytes = segment.len() - self.transport;
        let (protocol, field) = match self.cut {
            Cut::Tcp => (PROTOCOL_TCP, TCP_CHECKSUM),
            Cut::Udp => (PROTOCOL_UDP, UDP_CHECKSUM),
        };
        let pseudo_header = self.ip.pseudo_header(segment, protocol, transport_bytes);
        let transport = &mut segment[self.transport..];
        match self.cut {
            Cut::Tcp => {
                let sequence = transport[TCP_SEQUENCE..]
                    .first_chunk()
                    .map_or(0, |bytes| u32::from_be_bytes(*bytes));
                let sequence = sequence.wrapping_add((number * self.segment_bytes) as u32);
                transport[TCP_SEQUENCE..][..4].copy_from_slice(&sequence.to_be_bytes());
                if !is_last {
                    transport[TCP_FLAGS] &= !(FIN | PSH);
                }
                if number > 0 {
                    transport[TCP_FLAGS] &= !CWR;
                }
            }
            Cut::Udp => put_u16(transport, UDP_LENGTH, transport_bytes as u16),
        }
        put_checksum(transport, field, pseudo_header);
        // Each checksum covers what is behind it, so that is made before.
        for (place, layer) in self.layers.iter().enumerate().rev() {
            match *layer {
                Layer::Ip(ip) => {
                    if !ip.is_ipv6 {
                        let id = u16_at(segment, ip.start + IPV4_ID);
                        put_u16(segment, ip.start + IPV4_ID, id.wrapping_add(number as u16));
                    }
                    ip.set_length(segment, (segment.len() - ip.start) as u16);
                }
                Layer::Udp(start) => {
                    let bytes = segment.len() - start;
                    put_u16(segment, start + UDP_LENGTH, bytes as u16);
                    // 0: the tunnel does without.
                    if u16_at(segment, start + UDP_CHECKSUM) != 0
                        && let Some(Layer::Ip(ip)) = self.layers[..place].last()
                    {
                        let pseudo_header = ip.pseudo_header(segment, PROTOCOL_UDP, bytes);
                        put_checksum(&mut segment[start..], UDP_CHECKSUM, pseudo_header);
                    }
                }
                Layer::Gre(start) => put_checksum(&mut segment[start..], GRE_CHECKSUM, Sum::default()),
            }
        }
    }
}

/// Writes the checksum of `covered`, with a pseudo header in front, at `field`.
fn put_checksum(covered: &mut [u8], field: usize, pseudo_header: Sum) {
    covered[field..field + 2].fill(0);
    let checksum = pseudo_header.add(covered).checksum();
    covered[field..field + 2].copy_from_slice(&mangled(checksum));
}
