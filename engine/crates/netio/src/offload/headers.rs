// SPDX-License-Identifier: Apache-2.0
//! Where the headers of a frame are.

use super::checksum::Sum;

pub(crate) const ETHERNET_BYTES: usize = 14;
const ETHERTYPE: usize = 12;
const VLAN_BYTES: usize = 4;
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
pub(crate) const IPV4_BYTES: usize = 20;
pub(crate) const IPV6_BYTES: usize = 40;
/// Fields of an IPv4 header.
pub(crate) const IPV4_LENGTH: usize = 2;
pub(crate) const IPV4_ID: usize = 4;
pub(crate) const IPV4_CHECKSUM: usize = 10;
const IPV4_ADDRESSES: usize = 12;
/// Fields of an IPv6 header.
pub(crate) const IPV6_LENGTH: usize = 4;
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

/// The two bytes at `at`, which must be there.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Puts two bytes at `at`, where there must be room.
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The IP header of a frame.
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
        let mut at = ETHERTYPE;
        let mut ethertype = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        while ETHERTYPES_VLAN.contains(&ethertype) {
            at += VLAN_BYTES;
            ethertype = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        }
        let start = at + 2;
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
