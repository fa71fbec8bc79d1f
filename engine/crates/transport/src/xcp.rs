// SPDX-License-Identifier: Apache-2.0
//! The XCP congestion header as an endpoint sees it: a shim between IPv4 and TCP. Its layout and units have their home
//! in `p4src/include/headers.p4` (`xcp_t`); the TCP checksum is as if the shim were not there, so that a router that
//! writes feedback mends no checksum. The thesis has floating-point numbers of a simulator; the units are ours.
//!
//! Why these units. X is 20 ns for one flow of 1000-byte packets at 400 Gb/s, so whole nanoseconds would be 5 %
//! off, and it is 1 s for one packet in a round trip of 1 s. A router's shuffling gives each packet about
//! γ·size/interval, 100 byte/s for 1000-byte packets and an interval of 1 s, and what decides fairness is the
//! small difference of two such numbers: a step of 1/16 byte/s is 0.06 % of it. The largest feedback, 134 MB/s, is
//! more than a 1000-byte packet in 10 µs: even at that round trip a flow can double its window in one.

use slotwise_wire::{XCP_LENGTH, XCP_VERSION, Xcp};

pub use slotwise_wire::{IP_PROTOCOL_XCP as PROTOCOL, XcpFormat as Format};

/// Bytes of the shim.
pub const SIZE: usize = Xcp::SIZE;
/// Steps of `x` in a nanosecond.
pub const X_PER_NS: u64 = 4;
/// Steps of the two throughput fields in a byte/s.
pub const THROUGHPUT_PER_BYTE: u64 = 16;
/// What a sender asks for: as much as the field holds, so that routers decide.
pub const LARGEST_DELTA: i32 = i32::MAX;

/// The congestion header. Fields in the units of `xcp_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Standard or minimal.
    pub format: Format,
    /// Smoothed round-trip time, ns; 0 when there is none yet.
    pub rtt_ns: u32,
    /// Time between packets, 1/4 ns.
    pub x: u32,
    /// Wanted, then granted change of throughput, 1/16 byte/s.
    pub delta_throughput: i32,
    /// Sum of what the far end was granted since its last packet back, 1/16 byte/s.
    pub reverse_feedback: i32,
}

impl Header {
    /// The header of an acknowledgment that gives `reverse_feedback` back.
    pub fn minimal(reverse_feedback: i32) -> Self {
        Self {
            format: Format::Minimal,
            rtt_ns: 0,
            x: 0,
            delta_throughput: 0,
            reverse_feedback,
        }
    }

    /// Reads a shim that TCP follows; `None` when it is cut short or of another protocol, length, version or
    /// format.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let shim = Xcp::decode(bytes)?;
        if shim.protocol != crate::segment::PROTOCOL_TCP || shim.length != XCP_LENGTH || shim.version != XCP_VERSION {
            return None;
        }
        Some(Self {
            format: Format::try_from(shim.format).ok()?,
            rtt_ns: shim.rtt,
            x: shim.x,
            delta_throughput: shim.delta_throughput as i32,
            reverse_feedback: shim.reverse_feedback as i32,
        })
    }

    /// The bytes on the wire, with TCP to follow.
    pub fn encode(&self) -> [u8; SIZE] {
        let shim = Xcp {
            protocol: crate::segment::PROTOCOL_TCP,
            length: XCP_LENGTH,
            version: XCP_VERSION,
            format: self.format.into(),
            rtt: self.rtt_ns,
            x: self.x,
            delta_throughput: self.delta_throughput as u32,
            reverse_feedback: self.reverse_feedback as u32,
        };
        shim.encode()
    }
}
