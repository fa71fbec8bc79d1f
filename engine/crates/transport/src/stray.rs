// SPDX-License-Identifier: Apache-2.0
//! Answers to segments without an endpoint (RFC 9293 section 3.10.7.1).

use crate::segment::{Options, Segment, flags};
use crate::xcp;

/// Fields of a segment that a host without the connection reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Sequence number, or that of the SYN.
    pub sequence: u32,
    /// True if it opens a connection.
    pub is_syn: bool,
}

/// Reads a segment at a host without its connection; `None` for packets other than TCP.
pub fn opening(packet: &[u8]) -> Option<Opening> {
    let (segment, _) = Segment::decode(packet).ok()?;
    Some(Opening {
        sequence: segment.sequence,
        is_syn: segment.has(flags::SYN) && !segment.has(flags::ACK | flags::RST | flags::FIN),
    })
}

/// Writes the reset that answers a segment without a connection into `out`, which it clears. Returns false for packets without an
/// answer: resets, and packets other than TCP.
pub fn reset(packet: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok((segment, payload)) = Segment::decode(packet) else {
        return false;
    };
    if segment.has(flags::RST) {
        return false;
    }
    let length = payload.len() as u32 + u32::from(segment.has(flags::SYN)) + u32::from(segment.has(flags::FIN));
    let (sequence, acknowledgment, flags) = match segment.has(flags::ACK) {
        true => (segment.acknowledgment, 0, flags::RST),
        false => (0, segment.sequence.wrapping_add(length), flags::RST | flags::ACK),
    };
    let reset = Segment {
        source: segment.destination,
        destination: segment.source,
        congestion: segment.congestion.map(|_| xcp::Header::minimal(0)),
        sequence,
        acknowledgment,
        flags,
        ecn: 0,
        window: 0,
        options: Options::default(),
    };
    reset.encode(out, 0, |_| {});
    true
}
