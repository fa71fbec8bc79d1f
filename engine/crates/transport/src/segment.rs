// SPDX-License-Identifier: Apache-2.0
//! TCP segments in IPv4 packets, with or without the XCP shim (RFC 791, 9293, 7323, 2018).

use std::net::{Ipv4Addr, SocketAddrV4};

pub use slotwise_wire::IP_PROTOCOL_TCP as PROTOCOL_TCP;
use slotwise_wire::Ipv4;

use crate::checksum;
use crate::xcp;

/// Bytes of a TCP header without options.
pub const TCP_HEADER: usize = 20;
/// ECN codepoint of packets whose transport reacts to marks: ECT(0).
pub const ECT: u8 = 2;
/// ECN codepoint of marked packets: congestion experienced.
pub const CE: u8 = 3;
/// SACK blocks that fit beside no other option (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// The first eight flag bits of RFC 9293 section 3.1.
pub mod flags {
    #![allow(missing_docs)]
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;
}

/// Why bytes are not a segment for us. Counted by endpoints, which ignore such packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Fewer bytes than the header or the length field asks for.
    #[error("{what}: truncated; expected {needed} bytes, got {found}")]
    Truncated {
        /// The part that is cut short.
        what: &'static str,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes from its start to the end of the packet.
        found: usize,
    },
    /// A field with a value that has no meaning here.
    #[error("{field}: invalid; expected {expected}, got {found}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        found: u32,
        /// What it may be.
        expected: &'static str,
    },
    /// A checksum that does not add up.
    #[error("invalid {0} checksum")]
    Checksum(&'static str),
    /// A shim that this version does not read.
    #[error("XCP header: truncated, or unknown protocol, length, version or format")]
    CongestionHeader,
    /// An option whose length runs past the header or is not the option's.
    #[error("TCP option {kind}: invalid length {length}")]
    Option {
        /// Option kind.
        kind: u8,
        /// Its length byte.
        length: u8,
    },
}

/// Options of a segment. Unknown ones are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size, bytes of payload; on SYNs.
    pub mss: Option<u16>,
    /// Window shift count, 0..=14; on SYNs.
    pub window_scale: Option<u8>,
    /// SACK-permitted; on SYNs.
    pub sack_permitted: bool,
    sack: [(u32, u32); MAX_SACK_BLOCKS],
    sack_count: u8,
}

impl Options {
    /// The options of a SYN.
    pub fn syn(mss: u16, window_scale: Option<u8>, sack_permitted: bool) -> Self {
        Self {
            mss: Some(mss),
            window_scale,
            sack_permitted,
            ..Self::default()
        }
    }

    /// SACK blocks (left edge, right edge), most recent first.
    pub fn sack(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_count)]
    }

    /// Adds a block; one too many is left out.
    pub fn push_sack(&mut self, left: u32, right: u32) {
        if let Some(slot) = self.sack.get_mut(usize::from(self.sack_count)) {
            *slot = (left, right);
            self.sack_count += 1;
        }
    }

    fn decode(mut bytes: &[u8]) -> Result<Self, SegmentError> {
        let mut options = Self::default();
        while let Some(&kind) = bytes.first() {
            match kind {
                0 => break,
                1 => bytes = &bytes[1..],
                _ => {
                    let length = bytes.get(1).copied().unwrap_or(0);
                    let wrong = SegmentError::Option { kind, length };
                    if length < 2 {
                        return Err(wrong);
                    }
                    let body = bytes.get(2..usize::from(length)).ok_or(wrong)?;
                    options.decode_one(kind, body).ok_or(wrong)?;
                    bytes = &bytes[usize::from(length)..];
                }
            }
        }
        Ok(options)
    }

    fn decode_one(&mut self, kind: u8, body: &[u8]) -> Option<()> {
        match (kind, body.len()) {
            (2, 2) => self.mss = Some(u16::from_be_bytes([body[0], body[1]])),
            // RFC 7323 section 2.3: a larger shift counts as 14.
            (3, 1) => self.window_scale = Some(body[0].min(14)),
            (4, 0) => self.sack_permitted = true,
            (5, length) if length % 8 == 0 && length <= 8 * MAX_SACK_BLOCKS => {
                for block in body.chunks_exact(8) {
                    let edge = |at: usize| u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
                    self.push_sack(edge(0), edge(4));
                }
            }
            (2..=5, _) => return None,
            _ => {}
        }
        Some(())
    }

    /// Appends the options, padded to whole words.
    fn encode(&self, out: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            out.extend([2, 4]);
            out.extend(mss.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            out.extend([1, 3, 3, shift]);
        }
        if self.sack_permitted {
            out.extend([1, 1, 4, 2]);
        }
        if self.sack_count > 0 {
            out.extend([1, 1, 5, 2 + 8 * self.sack_count]);
            for (left, right) in self.sack() {
                out.extend(left.to_be_bytes());
                out.extend(right.to_be_bytes());
            }
        }
    }
}

/// The headers of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sender's address and port.
    pub source: SocketAddrV4,
    /// Receiver's address and port.
    pub destination: SocketAddrV4,
    /// The XCP shim, if the packet has one.
    pub congestion: Option<xcp::Header>,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Next sequence number expected; meaningful with ACK.
    pub acknowledgment: u32,
    /// Bits of [`flags`].
    pub flags: u8,
    /// ECN codepoint of the packet (RFC 3168): 0 without ECN, [`ECT`] or [`CE`].
    pub ecn: u8,
    /// Window field, unscaled.
    pub window: u16,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Whether any of `bits` is set.
    pub fn has(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }

    /// Reads an IPv4 packet that holds a TCP segment; gives its headers and its payload.
    ///
    /// # Errors
    /// When the bytes are cut short, not IPv4 or not TCP, a fragment, or fail a checksum. Bytes behind the IP
    /// length (padding of short frames) are ignored.
    pub fn decode(packet: &[u8]) -> Result<(Self, &[u8]), SegmentError> {
        let (ip, body) = decode_ip(packet)?;
        let (congestion, tcp) = match ip.protocol {
            PROTOCOL_TCP => (None, body),
            xcp::PROTOCOL => {
                let header = xcp::Header::decode(body).ok_or(SegmentError::CongestionHeader)?;
                (Some(header), &body[xcp::SIZE..])
            }
            other => {
                return Err(SegmentError::Field {
                    field: "IP protocol",
                    found: other.into(),
                    expected: "6 or 253",
                });
            }
        };
        let truncated = |needed| SegmentError::Truncated {
            what: "TCP header",
            needed,
            found: tcp.len(),
        };
        let fixed: &[u8; TCP_HEADER] = tcp
            .get(..TCP_HEADER)
            .and_then(|b| b.try_into().ok())
            .ok_or(truncated(TCP_HEADER))?;
        let offset = usize::from(fixed[12] >> 4) * 4;
        if offset < TCP_HEADER {
            return Err(SegmentError::Field {
                field: "TCP data offset",
                found: u32::from(fixed[12] >> 4),
                expected: "5 to 15",
            });
        }
        let options = tcp.get(TCP_HEADER..offset).ok_or(truncated(offset))?;
        let (source, destination) = (Ipv4Addr::from_bits(ip.src), Ipv4Addr::from_bits(ip.dst));
        if checksum::transport(source, destination, PROTOCOL_TCP, tcp) != 0 {
            return Err(SegmentError::Checksum("TCP"));
        }
        let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let segment = Self {
            source: SocketAddrV4::new(source, half(0)),
            destination: SocketAddrV4::new(destination, half(2)),
            congestion,
            sequence: word(4),
            acknowledgment: word(8),
            flags: fixed[13],
            ecn: ip.ecn,
            window: half(14),
            options: Options::decode(options)?,
        };
        Ok((segment, &tcp[offset..]))
    }

    /// Writes the packet into `out` (which it clears) with `payload` bytes that `fill` provides.
    ///
    /// The caller sees to it that the packet has at most 65,535 bytes.
    pub fn encode(&self, out: &mut Vec<u8>, payload: usize, fill: impl FnOnce(&mut [u8])) {
        out.clear();
        out.resize(Ipv4::SIZE, 0);
        if let Some(congestion) = &self.congestion {
            out.extend(congestion.encode());
        }
        let tcp = out.len();
        out.extend(self.source.port().to_be_bytes());
        out.extend(self.destination.port().to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.acknowledgment.to_be_bytes());
        out.extend([0, self.flags]);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        self.options.encode(out);
        let data = out.len();
        out[tcp + 12] = (((data - tcp) / 4) as u8) << 4;
        out.resize(data + payload, 0);
        fill(&mut out[data..]);
        let (source, destination) = (*self.source.ip(), *self.destination.ip());
        let sum = checksum::transport(source, destination, PROTOCOL_TCP, &out[tcp..]);
        out[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
        let protocol = if self.congestion.is_some() {
            xcp::PROTOCOL
        } else {
            PROTOCOL_TCP
        };
        encode_ip(out, source, destination, protocol, self.ecn);
    }
}

/// Checks the IPv4 header of `packet` and gives it with the bytes after it.
pub(crate) fn decode_ip(packet: &[u8]) -> Result<(Ipv4, &[u8]), SegmentError> {
    const MORE_FRAGMENTS: u8 = 1;
    let truncated = |needed| SegmentError::Truncated {
        what: "IPv4 packet",
        needed,
        found: packet.len(),
    };
    let ip = Ipv4::decode(packet).ok_or(truncated(Ipv4::SIZE))?;
    let field = |field, found: u16, expected| {
        Err(SegmentError::Field {
            field,
            found: found.into(),
            expected,
        })
    };
    if ip.version != 4 {
        return field("IP version", ip.version.into(), "4");
    }
    let header = usize::from(ip.ihl) * 4;
    if header < Ipv4::SIZE {
        return field("IP header length", ip.ihl.into(), "5 to 15");
    }
    let total = usize::from(ip.total_len);
    if total < header {
        return field("IP total length", ip.total_len, "at least the header");
    }
    let whole = packet.get(..total).ok_or(truncated(total))?;
    if checksum::internet(&whole[..header]) != 0 {
        return Err(SegmentError::Checksum("IPv4"));
    }
    if ip.flags & MORE_FRAGMENTS != 0 || ip.frag_offset != 0 {
        return field("IP fragment offset", ip.frag_offset, "no fragment");
    }
    Ok((ip, &whole[header..]))
}

/// Writes the IPv4 header over the first [`Ipv4::SIZE`] bytes of the finished packet `out`.
pub(crate) fn encode_ip(out: &mut [u8], source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, ecn: u8) {
    const DONT_FRAGMENT: u8 = 2;
    let header = Ipv4 {
        version: 4,
        ihl: 5,
        ecn,
        total_len: out.len() as u16,
        flags: DONT_FRAGMENT,
        ttl: 64,
        protocol,
        src: source.to_bits(),
        dst: destination.to_bits(),
        ..Ipv4::default()
    };
    let mut bytes = header.encode();
    let sum = checksum::internet(&bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    out[..Ipv4::SIZE].copy_from_slice(&bytes);
}
