// SPDX-License-Identifier: Apache-2.0
//! Where the headers of a frame are.

use super::checksum::Sum;

pub(crate) const ETHERNET_BYTES: usize = 14;
const ETHERTYPE: usize = 12;
const VLAN_BYTES: usize = 4;
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];
pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(crate) const IPV4_BYTES: usize = 20;
pub(crate) const IPV6_BYTES: usize = 40;
/// Fields of an IPv4 header.
pub(crate) const IPV4_LENGTH: usize = 2;
pub(crate) const IPV4_ID: usize = 4;
pub(crate) const IPV4_PROTOCOL: usize = 9;
pub(crate) const IPV4_CHECKSUM: usize = 10;
const IPV4_ADDRESSES: usize = 12;
/// Fields of an IPv6 header.
pub(crate) const IPV6_LENGTH: usize = 4;
pub(crate) const IPV6_NEXT_HEADER: usize = 6;
const IPV6_ADDRESSES: usize = 8;
/// Fields of a TCP header.
pub(crate) const TCP_SEQUENCE: usize = 4;
pub(crate) const TCP_FLAGS: usize = 13;
pub(crate) const TCP_CHECKSUM: usize = 16;
pub(crate) const TCP_BYTES: usize = 20;
pub(crate) const FIN: u8 = 0x01;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const ECE: u8 = 0x40;
pub(crate) const CWR: u8 = 0x80;
/// Fields of a UDP header.
pub(crate) const UDP_LENGTH: usize = 4;
pub(crate) const UDP_CHECKSUM: usize = 6;
pub(crate) const UDP_BYTES: usize = 8;
pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;
/// Extension headers of IPv6 that leave the addresses of the pseudo header alone, and the one that may not.
const HOP_BY_HOP_OPTIONS: u8 = 0;
const DESTINATION_OPTIONS: u8 = 60;
const ROUTING: u8 = 43;
const SEGMENTS_LEFT: usize = 3;

/// The two bytes at `at`, which must be there.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Puts two bytes at `at`, where there must be room.
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// EtherType and place of what is behind the Ethernet header at `start` and its VLAN tags.
pub(crate) fn behind_ethernet(frame: &[u8], start: usize) -> Option<(u16, usize)> {
    let mut at = start + ETHERTYPE;
    loop {
        let ethertype = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            return Some((ethertype, at + 2));
        }
        at += VLAN_BYTES;
    }
}

/// An IP header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ip {
    /// Where it starts.
    pub start: usize,
    /// Bytes of its fixed part and, for IPv4, its options.
    pub bytes: usize,
    pub is_ipv6: bool,
}

impl Ip {
    /// Finds it behind the Ethernet header and VLAN tags; `None` if there is none or not all of it.
    pub(crate) fn find(frame: &[u8]) -> Option<Ip> {
        let (ethertype, start) = behind_ethernet(frame, 0)?;
        Ip::at(frame, ethertype, start)
    }

    /// Reads the header at `start`; `None` if it is not that of this EtherType, or not all of it is there.
    pub(crate) fn at(frame: &[u8], ethertype: u16, start: usize) -> Option<Ip> {
        let header = frame.get(start..)?;
        let version_and_length = *header.first()?;
        let (bytes, is_ipv6) = match (ethertype, version_and_length >> 4) {
            (ETHERTYPE_IPV4, 4) => (usize::from(version_and_length & 0xf) * 4, false),
            (ETHERTYPE_IPV6, 6) => (IPV6_BYTES, true),
            _ => return None,
        };
        let whole = bytes >= IPV4_BYTES && header.len() >= bytes;
        whole.then_some(Ip { start, bytes, is_ipv6 })
    }

    /// Protocol and place of what is behind the header and its extension headers. `None` for headers that are not
    /// all there, and for what is to be routed by way of other addresses than those of the pseudo header.
    pub(crate) fn payload(&self, frame: &[u8]) -> Option<(u8, usize)> {
        let header = &frame[self.start..];
        let mut at = self.start + self.bytes;
        if !self.is_ipv6 {
            return Some((header[IPV4_PROTOCOL], at));
        }
        let mut protocol = header[IPV6_NEXT_HEADER];
        loop {
            let is_extension = match protocol {
                HOP_BY_HOP_OPTIONS | DESTINATION_OPTIONS => true,
                ROUTING => *frame.get(at + SEGMENTS_LEFT)? == 0,
                _ => return Some((protocol, at)),
            };
            let [next, length] = *frame.get(at..)?.first_chunk()?;
            if !is_extension {
                return None;
            }
            (protocol, at) = (next, at + (usize::from(length) + 1) * 8);
        }
    }

    /// True if the packet ends where the frame does, by a header whose checksum is right.
    pub(crate) fn reaches_the_end(&self, frame: &[u8]) -> bool {
        let header = &frame[self.start..];
        // Longer ones, BIG TCP's, have 0 there.
        let length = u16::try_from(header.len()).unwrap_or(0);
        if self.is_ipv6 {
            let payload = u16::try_from(header.len() - IPV6_BYTES).unwrap_or(0);
            u16_at(header, IPV6_LENGTH) == payload
        } else {
            u16_at(header, IPV4_LENGTH) == length && Sum::default().add(&header[..self.bytes]).is_valid()
        }
    }

    /// The sum of the pseudo header that TCP and UDP checksums begin with (RFC 9293, section 3.1; RFC 8200, section 8.1).
    pub(crate) fn pseudo_header(&self, frame: &[u8], protocol: u8, transport_bytes: usize) -> Sum {
        let header = &frame[self.start..];
        let addresses = if self.is_ipv6 {
            &header[IPV6_ADDRESSES..IPV6_BYTES]
        } else {
            &header[IPV4_ADDRESSES..IPV4_BYTES]
        };
        // No longer than a super-frame, so a 16-bit number and what BIG TCP adds.
        let length = transport_bytes as u32;
        Sum::default()
            .add(addresses)
            .add_u16(u16::from(protocol))
            .add_u16((length >> 16) as u16)
            .add_u16(length as u16)
    }

    /// Writes the length of the packet and, for IPv4, the header's checksum; `packet_bytes` counts the header too.
    pub(crate) fn set_length(&self, frame: &mut [u8], packet_bytes: u16) {
        let header = &mut frame[self.start..][..self.bytes];
        if self.is_ipv6 {
            put_u16(header, IPV6_LENGTH, packet_bytes - IPV6_BYTES as u16);
        } else {
            put_u16(header, IPV4_LENGTH, packet_bytes);
            put_u16(header, IPV4_CHECKSUM, 0);
            let checksum = Sum::default().add(header).checksum();
            header[IPV4_CHECKSUM..][..2].copy_from_slice(&checksum);
        }
    }
}
