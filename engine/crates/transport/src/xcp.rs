// SPDX-License-Identifier: Apache-2.0
//! The XCP congestion header: a shim between IPv4 and TCP, and the one place that says its units.
//!
//! IPv4's protocol is [`PROTOCOL`] (RFC 3692's experimental 253); then these 20 bytes, fields big-endian, in
//! the order of figure A.2 of the AAPN thesis, which is that of draft-falk-xcp-spec; then the TCP header, whose
//! checksum is as if the shim were not there, so that a router that writes feedback mends no checksum. The units are
//! ours: the thesis has floating-point numbers of a simulator.
//!
//! | field | bits | unit |
//! | --- | --- | --- |
//! | `protocol` | 8 | the IP protocol that follows the shim: 6 |
//! | `length` | 8 | bytes of the shim: 20 |
//! | `version` | 4 | [`VERSION`] |
//! | `format` | 4 | [`Format`]: standard (a router may write feedback) or minimal (an acknowledgment) |
//! | `unused` | 8 | zero, not read |
//! | `rtt` | 32 | ns, unsigned; 0 means not measured yet; saturates at 4.29 s |
//! | `x` | 32 | the sender's time between packets, srtt / cwnd in packets: 1/4 ns, unsigned; saturates at 1.07 s |
//! | `delta_throughput` | 32 | 1/16 byte/s (half a bit/s), two's complement |
//! | `reverse_feedback` | 32 | 1/16 byte/s, two's complement |
//!
//! Why these units. X is 20 ns for one flow of 1000-byte packets at 400 Gb/s, so whole nanoseconds would be 5 %
//! off, and it is 1 s for one packet in a round trip of 1 s. A router's shuffling gives each packet about
//! γ·size/interval, 100 byte/s for 1000-byte packets and an interval of 1 s, and what decides fairness is the
//! small difference of two such numbers: a step of 1/16 byte/s is 0.06 % of it. The largest feedback, 134 MB/s, is
//! more than a 1000-byte packet in 10 µs: even at that round trip a flow can double its window in one.

/// IP protocol of a packet with this shim.
pub const PROTOCOL: u8 = 253;
/// The version that this code speaks.
pub const VERSION: u8 = 1;
/// Bytes of the shim.
pub const SIZE: usize = 20;
/// Steps of `x` in a nanosecond.
pub const X_PER_NS: u64 = 4;
/// Steps of the two throughput fields in a byte/s.
pub const THROUGHPUT_PER_BYTE: u64 = 16;
/// What a sender asks for: as much as the field holds, so that routers decide.
pub const LARGEST_DELTA: i32 = i32::MAX;

/// What a router may do with the shim. Data has the standard format; a SYN and a bare acknowledgment the minimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Format {
    /// Carries a request for throughput.
    Standard = 1,
    /// Only `reverse_feedback` means anything; routers pass it by.
    Minimal = 2,
}

/// The congestion header. Fields in the units of the module's table.
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
        let bytes: &[u8; SIZE] = bytes.get(..SIZE)?.try_into().ok()?;
        if bytes[0] != crate::segment::PROTOCOL_TCP || usize::from(bytes[1]) != SIZE || bytes[2] >> 4 != VERSION {
            return None;
        }
        let format = match bytes[2] & 0xf {
            1 => Format::Standard,
            2 => Format::Minimal,
            _ => return None,
        };
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Some(Self {
            format,
            rtt_ns: word(4),
            x: word(8),
            delta_throughput: word(12) as i32,
            reverse_feedback: word(16) as i32,
        })
    }

    /// The bytes on the wire, with TCP to follow.
    pub fn encode(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[0] = crate::segment::PROTOCOL_TCP;
        bytes[1] = SIZE as u8;
        bytes[2] = VERSION << 4 | self.format as u8;
        bytes[4..8].copy_from_slice(&self.rtt_ns.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.x.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.delta_throughput.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.reverse_feedback.to_be_bytes());
        bytes
    }
}
