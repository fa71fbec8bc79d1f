// SPDX-License-Identifier: Apache-2.0
//! Headers around the TCP or UDP header at which a super-frame is cut: an IP header, and those of tunnels in front of it.
//!
//! The kernel says where the TCP or UDP header is, and nothing of what is in front of it. UDP ports do not tell, since tunnels are
//! set up with any: what is behind a tunnel's UDP header is taken for the first of the known formats by which there is an IP header
//! that ends where the frame does.

use super::headers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, Ip, PROTOCOL_UDP, UDP_BYTES, behind_ethernet, u16_at};

/// A header that has to be made anew for each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Its length, identification and checksum.
    Ip(Ip),
    /// UDP of a tunnel, by its place, always right behind an IP header: its length and checksum.
    Udp(usize),
    /// GRE with a checksum, by its place.
    Gre(usize),
}

impl Layer {
    /// Offset from the frame's begin, in bytes.
    pub(crate) fn start(&self) -> usize {
        match *self {
            Layer::Ip(ip) => ip.start,
            Layer::Udp(start) | Layer::Gre(start) => start,
        }
    }
}

/// Most of them, enough for a tunnel in a tunnel. Each may cost a look at the whole segment.
const MAX_LAYERS: usize = 6;

const ETHERTYPE_ETHERNET: u16 = 0x6558;
const ETHERTYPES_MPLS: [u16; 2] = [0x8847, 0x8848];
const MPLS_LABEL_BYTES: usize = 4;
const MPLS_BOTTOM: u8 = 1;
const PROTOCOL_IPV4: u8 = 4;
const PROTOCOL_IPV6: u8 = 41;
const PROTOCOL_GRE: u8 = 47;
/// Flags of GRE (RFC 2784, 2890), and what no super-frame can have: routes, sequence numbers, another version.
const GRE_HAS_CHECKSUM: u16 = 0x8000;
const GRE_HAS_KEY: u16 = 0x2000;
const GRE_OTHERS: u16 = !(GRE_HAS_CHECKSUM | GRE_HAS_KEY);
const GRE_BYTES: usize = 4;
const GRE_FIELD_BYTES: usize = 4;
pub(crate) const GRE_CHECKSUM: usize = 4;
const VXLAN_BYTES: usize = 8;
const VXLAN_HAS_ID: u8 = 0x08;
const VXLAN_HAS_PROTOCOL: u8 = 0x04;
const GENEVE_BYTES: usize = 8;
const GUE_BYTES: usize = 4;

/// Protocol that a place of the frame is said to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ethernet,
    EtherType(u16),
    Protocol(u8),
}

type Place = (Kind, usize);

/// The headers in front of the one of `protocol` at `transport`, from the outermost on, and the last IP header among them. `None`
/// if the way there leads through others than those that are known.
pub(crate) fn around(frame: &[u8], transport: usize, protocol: u8) -> Option<(Vec<Layer>, Ip)> {
    let mut layers = Vec::with_capacity(MAX_LAYERS);
    let mut place = (Kind::Ethernet, 0);
    while place != (Kind::Protocol(protocol), transport) {
        let (layer, next) = step(frame, place)?;
        if let Some(layer) = layer {
            layers.push(layer);
        }
        if next.1 > transport || layers.len() > MAX_LAYERS {
            return None;
        }
        place = next;
    }
    match layers.last() {
        Some(&Layer::Ip(ip)) => Some((layers, ip)),
        _ => None,
    }
}

/// One header further, with the layer that it is.
fn step(frame: &[u8], (kind, at): Place) -> Option<(Option<Layer>, Place)> {
    match kind {
        Kind::Ethernet => {
            let (ethertype, at) = behind_ethernet(frame, at)?;
            Some((None, (Kind::EtherType(ethertype), at)))
        }
        Kind::EtherType(ETHERTYPE_ETHERNET) => Some((None, (Kind::Ethernet, at))),
        Kind::EtherType(ethertype) if ETHERTYPES_MPLS.contains(&ethertype) => {
            let [.., third, _] = *frame.get(at..)?.first_chunk::<MPLS_LABEL_BYTES>()?;
            let at = at + MPLS_LABEL_BYTES;
            let is_bottom = third & MPLS_BOTTOM != 0;
            let kind = if is_bottom { ip_by_version(frame, at)? } else { kind };
            Some((None, (kind, at)))
        }
        Kind::EtherType(ethertype) => {
            let ip = Ip::at(frame, ethertype, at)?;
            let (protocol, at) = ip.payload(frame)?;
            Some((Some(Layer::Ip(ip)), (Kind::Protocol(protocol), at)))
        }
        Kind::Protocol(PROTOCOL_IPV4) => Some((None, (Kind::EtherType(ETHERTYPE_IPV4), at))),
        Kind::Protocol(PROTOCOL_IPV6) => Some((None, (Kind::EtherType(ETHERTYPE_IPV6), at))),
        Kind::Protocol(PROTOCOL_GRE) => gre(frame, at),
        Kind::Protocol(PROTOCOL_UDP) => Some((Some(Layer::Udp(at)), in_udp(frame, at + UDP_BYTES)?)),
        Kind::Protocol(_) => None,
    }
}

fn ip_by_version(frame: &[u8], at: usize) -> Option<Kind> {
    match *frame.get(at)? >> 4 {
        4 => Some(Kind::EtherType(ETHERTYPE_IPV4)),
        6 => Some(Kind::EtherType(ETHERTYPE_IPV6)),
        _ => None,
    }
}

fn gre(frame: &[u8], at: usize) -> Option<(Option<Layer>, Place)> {
    let header = frame.get(at..).filter(|header| header.len() >= GRE_BYTES)?;
    let flags = u16_at(header, 0);
    if flags & GRE_OTHERS != 0 {
        return None;
    }
    let has_checksum = flags & GRE_HAS_CHECKSUM != 0;
    let fields = usize::from(has_checksum) + usize::from(flags & GRE_HAS_KEY != 0);
    let behind = at + GRE_BYTES + fields * GRE_FIELD_BYTES;
    let layer = has_checksum.then_some(Layer::Gre(at));
    Some((layer, (Kind::EtherType(u16_at(header, 2)), behind)))
}

/// Payload of a tunnel behind its UDP header.
fn in_udp(frame: &[u8], at: usize) -> Option<Place> {
    let [flags, second, third, fourth] = *frame.get(at..)?.first_chunk()?;
    let words = |count: u8| usize::from(count) * 4;
    let has_id = flags & VXLAN_HAS_ID != 0;
    let gpe = match (has_id && flags & VXLAN_HAS_PROTOCOL != 0, fourth) {
        (true, 1) => Some(ETHERTYPE_IPV4),
        (true, 2) => Some(ETHERTYPE_IPV6),
        _ => None,
    };
    let is_gue = flags >> 5 == 0 && [PROTOCOL_IPV4, PROTOCOL_IPV6, PROTOCOL_GRE].contains(&second);
    let formats = [
        // GENEVE (RFC 8926): version 0, words of options, EtherType.
        (flags >> 6 == 0).then(|| {
            let ethertype = u16::from_be_bytes([third, fourth]);
            (Kind::EtherType(ethertype), at + GENEVE_BYTES + words(flags & 0x3f))
        }),
        // VXLAN (RFC 7348), and with a protocol of its own (draft-ietf-nvo3-vxlan-gpe).
        has_id.then_some((Kind::Ethernet, at + VXLAN_BYTES)),
        gpe.map(|ethertype| (Kind::EtherType(ethertype), at + VXLAN_BYTES)),
        // Generic UDP encapsulation (draft-ietf-intarea-gue): version 0, words of options, protocol.
        is_gue.then(|| (Kind::Protocol(second), at + GUE_BYTES + words(flags & 0x1f))),
        // Nothing: IP (foo over UDP), GRE (RFC 8086), MPLS (RFC 7510).
        ip_by_version(frame, at).map(|kind| (kind, at)),
        Some((Kind::Protocol(PROTOCOL_GRE), at)),
        Some((Kind::EtherType(ETHERTYPES_MPLS[0]), at)),
    ];
    formats.into_iter().flatten().find(|&place| leads_to_ip(frame, place))
}

/// True if the first IP header from this place on, before any other of UDP, ends where the frame does.
fn leads_to_ip(frame: &[u8], mut place: Place) -> bool {
    while place.0 != Kind::Protocol(PROTOCOL_UDP)
        && let Some((layer, next)) = step(frame, place)
    {
        if let Some(Layer::Ip(ip)) = layer {
            return ip.reaches_the_end(frame);
        }
        place = next;
    }
    false
}
