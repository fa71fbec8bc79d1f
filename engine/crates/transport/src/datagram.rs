// SPDX-License-Identifier: Apache-2.0
//! UDP datagrams in IPv4 packets.

use std::net::SocketAddrV4;

use slotwise_wire::{DATAGRAM_HEADER_BYTES, Ipv4, UDP_HEADER_BYTES};

use crate::checksum;
use crate::endpoint::PROTOCOL_UDP;
use crate::segment::{decode_ip, encode_ip};

/// A datagram that has arrived whole.
pub(crate) struct Datagram<'a> {
    pub(crate) source: SocketAddrV4,
    pub(crate) destination: SocketAddrV4,
    /// Of the IP packet.
    pub(crate) packet_bytes: u64,
    pub(crate) payload: &'a [u8],
}

/// The datagram in an IPv4 packet; `None` if it is cut short, damaged, or none.
pub(crate) fn decode(packet: &[u8]) -> Option<Datagram<'_>> {
    let (ip, body) = decode_ip(packet).ok()?;
    let header: &[u8; UDP_HEADER_BYTES] = body.first_chunk()?;
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let length = usize::from(half(4));
    if ip.protocol != PROTOCOL_UDP || length < header.len() {
        return None;
    }
    let (source, destination) = (ip.src.into(), ip.dst.into());
    let datagram = body.get(..length)?;
    if half(6) != 0 && checksum::transport(source, destination, PROTOCOL_UDP, datagram) != 0 {
        return None;
    }
    Some(Datagram {
        source: SocketAddrV4::new(source, half(0)),
        destination: SocketAddrV4::new(destination, half(2)),
        packet_bytes: ip.total_len.into(),
        payload: &datagram[UDP_HEADER_BYTES..],
    })
}

/// Writes the headers of a packet whose payload stands behind [`DATAGRAM_HEADER_BYTES`] already.
pub(crate) fn seal(packet: &mut [u8], source: SocketAddrV4, destination: SocketAddrV4) {
    debug_assert!((DATAGRAM_HEADER_BYTES..=usize::from(u16::MAX)).contains(&packet.len()));
    let udp = &mut packet[Ipv4::SIZE..];
    let length = udp.len() as u16;
    udp[0..2].copy_from_slice(&source.port().to_be_bytes());
    udp[2..4].copy_from_slice(&destination.port().to_be_bytes());
    udp[4..6].copy_from_slice(&length.to_be_bytes());
    udp[6..8].fill(0);
    // RFC 768: a sum of zero is sent as all ones; zero means none.
    let sum = match checksum::transport(*source.ip(), *destination.ip(), PROTOCOL_UDP, udp) {
        0 => u16::MAX,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    encode_ip(packet, *source.ip(), *destination.ip(), PROTOCOL_UDP, 0);
}
