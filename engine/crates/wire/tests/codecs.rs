// SPDX-License-Identifier: Apache-2.0
//! The generated codecs against bytes written by hand.
use slotwise_wire::*;

#[test]
fn optical_header_matches_its_layout() {
    let bytes = [
        0x12, 0x03, 0x01, 0x02, 0x03, 0x04, 0x03, 0xff, 0x02, 0x05, 0x00, 0x01, 0x00, 0x07, 0x08, 0x00,
    ];
    let header = Optical {
        version: OPTICAL_VERSION,
        kind: OpticalKind::Commit.into(),
        traffic_class: 3,
        src_edge: 0x0102,
        dst_edge: 0x0304,
        queue: SIGNALING_QUEUE,
        train: 2,
        core: 5,
        sequence: 0x0001_0007,
        inner_type: ETHERTYPE_IPV4,
    };
    assert_eq!(header.encode(), bytes);
    assert_eq!(Optical::decode(&bytes), Some(header));
}

#[test]
fn nine_bit_port_is_left_aligned() {
    let header = PacketOut { egress_port: 0x1fe };
    assert_eq!(header.encode(), [0xff, 0x00]);
    assert_eq!(PacketOut::decode(&[0xff, 0x7f]), Some(header), "padding is not read");
}

#[test]
fn forty_eight_and_sixty_four_bits_keep_every_bit() {
    let ethernet = Ethernet {
        dst: 0xffff_ffff_ffff,
        src: 0x0200_0000_0001,
        ether_type: ETHERTYPE_LINECARD,
    };
    assert_eq!(Ethernet::decode(&ethernet.encode()), Some(ethernet));
    let flow = FlowControl {
        queue: 7,
        op: FlowOp::Open.into(),
        open_ns: u64::MAX,
        close_ns: 1 << 63,
        value: 1,
    };
    assert_eq!(FlowControl::decode(&flow.encode()), Some(flow));
}

#[test]
fn fields_narrower_than_a_byte_stay_apart() {
    let ipv4 = Ipv4 {
        version: 4,
        ihl: 5,
        dscp: 0x2e,
        ecn: 1,
        flags: 2,
        frag_offset: 0x1fff,
        ..Ipv4::default()
    };
    let bytes = ipv4.encode();
    assert_eq!((bytes[0], bytes[1], bytes[6], bytes[7]), (0x45, 0xb9, 0x5f, 0xff));
    assert_eq!(Ipv4::decode(&bytes), Some(ipv4));
}

#[test]
fn bits_above_a_field_do_not_reach_its_neighbours() {
    let header = PacketIn { ingress_port: 0xffff };
    assert_eq!(header.encode(), [0xff, 0x80]);
}

#[test]
fn short_input_is_refused_and_longer_input_is_a_prefix() {
    let bytes = [0u8; Commit::SIZE + 3];
    assert_eq!(Commit::decode(&bytes[..Commit::SIZE - 1]), None);
    assert_eq!(Commit::decode(&bytes), Some(Commit::default()));
}

#[test]
fn codes_and_members_are_inverse() {
    for reason in DropReason::ALL {
        assert_eq!(DropReason::try_from(u8::from(reason)), Ok(reason));
        assert!(u32::from(u8::from(reason)) < MAX_DROP_REASONS, "{}", reason.name());
    }
    let error = LineCardKind::try_from(0).unwrap_err();
    assert_eq!(error.to_string(), "LineCardKind has no code 0");
}
