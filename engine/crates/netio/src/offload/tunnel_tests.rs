// SPDX-License-Identifier: Apache-2.0
//! Super-frames in tunnels, cut, against frames that are made here header by header.

use proptest::prelude::*;

use super::headers::{ACK, PSH};
use super::tests::cut;
use super::virtio::{BadOffload, Cut, Offload, PartialChecksum};

const SEGMENT_BYTES: usize = 1000;
const FIRST_ID: u16 = u16::MAX - 1;
const FIRST_SEQUENCE: u32 = u32::MAX - 1500;

/// A header. What follows it in a list is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Ethernet,
    Vlan,
    /// A label, and whether it is the last one.
    Mpls(bool),
    V4,
    /// With four bytes of options.
    V4Options,
    V6,
    /// With a header of destination options behind it.
    V6Options,
    /// Of a tunnel, with a checksum or not.
    Udp(bool),
    /// Flags and fields of four bytes behind the EtherType, of which the checksum is the first.
    Gre(u16, usize),
    /// A header without lengths, of a tunnel in UDP.
    Tunnel(&'static [u8]),
    Tcp,
    Datagram,
}

use Part::{Datagram, Ethernet, Gre, Mpls, Tcp, Tunnel, Udp, V4, V4Options, V6, V6Options, Vlan};

const VXLAN: Part = Tunnel(&[0x08, 0, 0, 0, 0, 0, 7, 0]);
const VXLAN_GPE_IPV6: Part = Tunnel(&[0x0c, 0, 0, 2, 0, 0, 7, 0]);
const GENEVE_ETHERNET: Part = Tunnel(&[0x02, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 1, 5, 6, 7, 8]);
const GENEVE_IPV4: Part = Tunnel(&[0, 0, 0x08, 0, 0, 0, 7, 0]);
const GUE_IPV4: Part = Tunnel(&[0, 4, 0, 0]);
const GUE_GRE: Part = Tunnel(&[1, 47, 0, 0, 9, 9, 9, 9]);
const GRE_KEY_AND_CHECKSUM: Part = Gre(0xa000, 2);

/// Each of them is in front of a TCP or UDP header.
const ENCAPSULATIONS: [&[Part]; 26] = [
    &[Ethernet, V4],
    &[Ethernet, V4Options],
    &[Ethernet, V6Options],
    &[Ethernet, Vlan, Vlan, V6],
    &[Ethernet, Mpls(false), Mpls(true), V4],
    &[Ethernet, V4, Udp(false), VXLAN, Ethernet, V4],
    &[Ethernet, V4, Udp(true), VXLAN, Ethernet, V4],
    &[Ethernet, V4, Udp(true), VXLAN, Ethernet, Vlan, V6],
    &[Ethernet, Vlan, V6, Udp(false), VXLAN, Ethernet, V4],
    &[Ethernet, V6Options, Udp(true), VXLAN, Ethernet, V6],
    &[Ethernet, V4Options, Udp(true), VXLAN_GPE_IPV6, V6Options],
    &[Ethernet, V4, Udp(false), GENEVE_ETHERNET, Ethernet, V4Options],
    &[Ethernet, V6, Udp(true), GENEVE_IPV4, V4],
    &[Ethernet, V4, Udp(true), V4],
    &[Ethernet, V4, Udp(false), V6],
    &[Ethernet, V4, Udp(true), GUE_IPV4, V4],
    &[Ethernet, V4, Udp(true), GUE_GRE, GRE_KEY_AND_CHECKSUM, V6],
    &[Ethernet, V4, Udp(true), Gre(0, 0), V4],
    &[Ethernet, V4, Udp(true), Mpls(true), V4],
    &[Ethernet, V4, Gre(0, 0), V4],
    &[Ethernet, V6, GRE_KEY_AND_CHECKSUM, Ethernet, Vlan, V4],
    &[Ethernet, V4, V4],
    &[Ethernet, V4, V6],
    &[Ethernet, V6Options, V4],
    &[Ethernet, Vlan, V6, V6],
    &[Ethernet, V4, V4, Udp(true), VXLAN, Ethernet, V4],
];

/// Payload of a frame.
#[derive(Clone, Copy)]
struct Load<'a> {
    /// Of the segment.
    number: usize,
    payload: &'a [u8],
    is_last: bool,
    /// As the kernel hands a super-frame over: checksums of TCP and UDP are those of the pseudo header.
    is_whole: bool,
}

fn ethertype(part: Part) -> [u8; 2] {
    match part {
        Vlan => [0x81, 0],
        Mpls(_) => [0x88, 0x47],
        V4 | V4Options => [0x08, 0],
        V6 | V6Options => [0x86, 0xdd],
        Ethernet => [0x65, 0x58],
        other => panic!("no EtherType of {other:?}"),
    }
}

fn protocol(part: Part) -> u8 {
    match part {
        V4 | V4Options => 4,
        Tcp => 6,
        Udp(_) | Datagram => 17,
        V6 | V6Options => 41,
        Gre(..) => 47,
        other => panic!("no protocol of {other:?}"),
    }
}

/// Sum of 16-bit words in one's complement, by its definition.
fn ones_sum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn addresses(ip: Part) -> Vec<u8> {
    match ip {
        V4 | V4Options => vec![10, 0, 0, 1, 10, 0, 1, 1],
        _ => (0..32).map(|k| 0xf0 ^ k).collect(),
    }
}

/// Puts a checksum of TCP or UDP into a header with 0 there, of `ip`.
fn finish(message: &mut [u8], at: usize, ip: Part, protocol: u8, is_whole: bool) {
    let length = (message.len() as u32).to_be_bytes();
    let addresses = addresses(ip);
    let pseudo_header = [&addresses[..], &length[..], &[0, protocol][..]];
    let sum = if is_whole {
        ones_sum(&pseudo_header)
    } else {
        match !ones_sum(&[&pseudo_header[..], &[&*message]].concat()) {
            0 => 0xffff,
            sum => sum,
        }
    };
    message[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The frame from `parts[0]` on; `ip` is the last IP header before it.
fn frame(parts: &[Part], ip: Part, load: Load<'_>) -> Vec<u8> {
    let (&part, rest) = parts.split_first().expect("a transport header ends the list");
    let inner = |ip| frame(rest, ip, load);
    let with = |header: Vec<u8>, inner: Vec<u8>| [header, inner].concat();
    match part {
        Ethernet => {
            let header = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &ethertype(rest[0])[..]].concat();
            with(header, inner(ip))
        }
        Vlan => with([&[0x20, 5], &ethertype(rest[0])[..]].concat(), inner(ip)),
        Mpls(is_last) => with(vec![0, 1, u8::from(is_last), 64], inner(ip)),
        V4 | V4Options => {
            let inner = inner(part);
            let options: &[u8] = if part == V4 { &[] } else { &[1; 4] };
            let length = ((20 + options.len() + inner.len()) as u16).to_be_bytes();
            let id = FIRST_ID.wrapping_add(load.number as u16).to_be_bytes();
            let version = 0x45 + options.len() as u8 / 4;
            let mut header = vec![
                version,
                2,
                length[0],
                length[1],
                id[0],
                id[1],
                0x40,
                0,
                64,
                protocol(rest[0]),
                0,
                0,
            ];
            header.extend(addresses(part));
            header.extend(options);
            let checksum = !ones_sum(&[&header]);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            with(header, inner)
        }
        V6 | V6Options => {
            let inner = inner(part);
            let next = protocol(rest[0]);
            // Tunnel encapsulation limit (RFC 2473), padded.
            let options: &[u8] = if part == V6 { &[] } else { &[next, 0, 4, 1, 4, 1, 1, 0] };
            let length = ((options.len() + inner.len()) as u16).to_be_bytes();
            let next = if part == V6 { next } else { 60 };
            let mut header = vec![0x60, 0x12, 0x34, 0x56, length[0], length[1], next, 64];
            header.extend(addresses(part));
            header.extend(options);
            with(header, inner)
        }
        Udp(has_checksum) => {
            let mut message = with(vec![0x9c, 0x40, 0x12, 0xb5, 0, 0, 0, 0], inner(ip));
            let length = message.len() as u16;
            message[4..6].copy_from_slice(&length.to_be_bytes());
            if has_checksum {
                finish(&mut message, 6, ip, 17, load.is_whole);
            }
            message
        }
        Gre(flags, fields) => {
            let mut message = [&flags.to_be_bytes()[..], &ethertype(rest[0])].concat();
            message.extend((0..fields * 4).map(|k| if k < 4 { 0 } else { k as u8 }));
            let mut message = with(message, inner(ip));
            if flags & 0x8000 != 0 && !load.is_whole {
                let checksum = !ones_sum(&[&message]);
                message[4..6].copy_from_slice(&checksum.to_be_bytes());
            }
            message
        }
        Tunnel(header) => with(header.to_vec(), inner(ip)),
        Tcp => {
            let sequence = FIRST_SEQUENCE.wrapping_add((load.number * SEGMENT_BYTES) as u32);
            let flags = if load.is_last { ACK | PSH } else { ACK };
            let mut message = vec![0x1f, 0x90, 0x14, 0x51];
            message.extend(sequence.to_be_bytes());
            message.extend([1, 2, 3, 4, 0x80, flags, 0xff, 0xff, 0, 0, 0, 0]);
            message.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
            message.extend(load.payload);
            finish(&mut message, 16, ip, 6, load.is_whole);
            message
        }
        Datagram => {
            let mut message = vec![0, 7, 0, 9, 0, 0, 0, 0];
            message.extend(load.payload);
            let length = message.len() as u16;
            message[4..6].copy_from_slice(&length.to_be_bytes());
            finish(&mut message, 6, ip, 17, load.is_whole);
            message
        }
    }
}

/// A super-frame, and how the kernel hands it over.
fn super_frame(parts: &[Part], payload: &[u8]) -> (Vec<u8>, Offload) {
    let whole = Load {
        number: 0,
        payload,
        is_last: true,
        is_whole: true,
    };
    let frame = frame(parts, V4, whole);
    let (kind, header_bytes, offset) = match parts.last() {
        Some(Tcp) => (Cut::Tcp, 32, 16),
        _ => (Cut::Udp, 8, 6),
    };
    let start = (frame.len() - payload.len() - header_bytes) as u16;
    let offload = Offload {
        checksum: Some(PartialChecksum { start, offset }),
        cut: Some((kind, SEGMENT_BYTES as u16)),
    };
    (frame, offload)
}

/// The frames of a wire that carry the same.
fn segments(parts: &[Part], payload: &[u8]) -> Vec<Vec<u8>> {
    let all = payload.chunks(SEGMENT_BYTES).enumerate();
    let last = payload.len().div_ceil(SEGMENT_BYTES) - 1;
    all.map(|(number, payload)| {
        let load = Load {
            number,
            payload,
            is_last: number == last,
            is_whole: false,
        };
        frame(parts, V4, load)
    })
    .collect()
}

fn payload() -> Vec<u8> {
    (0..2_345u32).map(|k| (k * 151 >> 3) as u8).collect()
}

#[test]
fn a_super_frame_in_tunnels_becomes_the_frames_of_a_wire() {
    for encapsulation in ENCAPSULATIONS {
        for transport in [Tcp, Datagram] {
            let parts = [encapsulation, &[transport]].concat();
            let (mut frame, offload) = super_frame(&parts, &payload());
            let frames = cut(offload, &mut frame).unwrap_or_else(|error| panic!("{parts:?}: {error}"));
            assert_eq!(frames, segments(&parts, &payload()), "{parts:?}");
        }
    }
}

#[test]
fn a_single_frame_in_a_tunnel_gets_its_inner_checksum() {
    let parts = [Ethernet, V4, Udp(true), VXLAN, Ethernet, V4, Tcp];
    let payload = &payload()[..SEGMENT_BYTES];
    let finished = segments(&parts, payload).remove(0);
    let (partial, offload) = super_frame(&parts, payload);
    // The kernel has finished the outer checksum as if the inner one were done (local checksum offload).
    let mut frame = finished.clone();
    let field = usize::from(offload.checksum.unwrap().start) + 16;
    frame[field..field + 2].copy_from_slice(&partial[field..field + 2]);
    let single = Offload { cut: None, ..offload };
    assert_eq!(cut(single, &mut frame), Ok(vec![finished]));
}

#[test]
fn a_tunnel_that_is_not_known_is_refused() {
    let unknown = Err(BadOffload("super-frame with unsupported headers"));
    let refused: [(&str, &[Part]); 7] = [
        ("sequence numbers", &[Ethernet, V4, Gre(0x1000, 1), V4]),
        ("GRE with routes", &[Ethernet, V4, Gre(0x4000, 1), V4]),
        ("PPTP's GRE", &[Ethernet, V4, Gre(0x2001, 1), V4]),
        (
            "GTP",
            &[Ethernet, V4, Udp(true), Tunnel(&[0x30, 0xff, 9, 0x5d, 0, 0, 0, 7]), V4],
        ),
        (
            "no format",
            &[Ethernet, V4, Udp(false), Tunnel(&[0x70; 8]), Ethernet, V4],
        ),
        ("Ethernet in MPLS", &[Ethernet, Mpls(true), Ethernet, V4]),
        ("too many", &[Ethernet, V4, V4, V4, V4, V4, V4, V4]),
    ];
    for (what, encapsulation) in refused {
        let parts = [encapsulation, &[Tcp]].concat();
        let (mut frame, offload) = super_frame(&parts, &payload());
        assert_eq!(cut(offload, &mut frame), unknown, "{what}");
    }
    let changes: [(&str, &[Part], usize, u8); 4] = [
        ("IPsec", &[Ethernet, V4, V4], 23, 50),
        (
            "a routing header that is not at its end",
            &[Ethernet, V6Options],
            20,
            43,
        ),
        (
            "an inner packet that ends elsewhere",
            &[Ethernet, V4, Udp(false), VXLAN, Ethernet, V4],
            67,
            1,
        ),
        (
            "an inner header with a wrong checksum",
            &[Ethernet, V4, Udp(false), VXLAN, Ethernet, V4],
            75,
            1,
        ),
    ];
    for (what, encapsulation, at, value) in changes {
        let parts = [encapsulation, &[Tcp]].concat();
        let (mut frame, offload) = super_frame(&parts, &payload());
        assert_ne!(frame[at], value);
        frame[at] = value;
        assert_eq!(cut(offload, &mut frame), unknown, "{what}");
    }
}

proptest! {
    #[test]
    fn any_change_to_a_tunnel_is_cut_or_refused(
        encapsulation in prop::sample::select(&ENCAPSULATIONS[..]),
        changes in prop::collection::vec((0usize..160, any::<u8>()), 1..6),
        start in prop::option::of(any::<u16>()),
        cut_at in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let parts = [encapsulation, &[Tcp]].concat();
        let (mut frame, mut offload) = super_frame(&parts, &payload());
        for (at, value) in changes {
            if let Some(byte) = frame.get_mut(at) {
                *byte = value;
            }
        }
        if let (Some(start), Some(partial)) = (start, &mut offload.checksum) {
            partial.start = start % frame.len() as u16;
        }
        if let Some(cut_at) = cut_at {
            frame.truncate(cut_at.index(frame.len()));
        }
        let before = frame.len();
        if let Ok(frames) = cut(offload, &mut frame) {
            prop_assert!(frames.iter().all(|frame| frame.len() <= before));
        }
    }
}
