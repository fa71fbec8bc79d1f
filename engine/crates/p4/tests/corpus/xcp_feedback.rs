// SPDX-License-Identifier: Apache-2.0
//! What the compiled `router.p4` grants packet by packet, against ns-2's rules in exact integers: the smaller of what is
//! asked and what is there, residues that are never given out twice, sums of the interval.

use super::xcp::Router;
use proptest::prelude::*;

const MAX_RTT_NS: u128 = 1_000_000_000;

/// A packet of a sender that has a round-trip time.
#[derive(Debug, Clone)]
struct Packet {
    ip_bytes: u16,
    rtt_ns: u32,
    x: u32,
    wanted: i32,
}

fn packet() -> impl Strategy<Value = Packet> {
    let wanted = prop_oneof![Just(i32::MAX), -2_000_000..2_000_000i32, any::<i32>()];
    (40..9000u16, 1..u32::MAX, 0.0..1.0f64, wanted).prop_map(|(ip_bytes, rtt_ns, part, wanted)| Packet {
        ip_bytes,
        rtt_ns,
        x: ((f64::from(rtt_ns) * 4.0 * part) as u32).max(1),
        wanted,
    })
}

/// A factor as the program keeps it: mantissa and shift.
fn factor() -> impl Strategy<Value = u64> {
    (1u64 << 30..1 << 32, 0..90u64).prop_map(|(mantissa, shift)| mantissa << 8 | shift)
}

/// An output between two interval ticks, as ns-2 has it.
struct Reference {
    positive_factor: u64,
    negative_factor: u64,
    positive_residue: i128,
    negative_residue: i128,
    bytes: u128,
    sum_x: u128,
    sum_rtt_x: u128,
}

impl Reference {
    fn grant(&mut self, packet: &Packet) -> i32 {
        let product = |factor: u64, weight: u64| (i128::from(factor >> 8) * i128::from(weight)) >> (factor & 0xff);
        self.bytes += u128::from(packet.ip_bytes);
        self.sum_x += u128::from(packet.x);
        self.sum_rtt_x += u128::from(packet.x) * u128::from(packet.rtt_ns).min(MAX_RTT_NS);
        let mut positive = product(self.positive_factor, packet.x.into()).min(self.positive_residue);
        let mut negative = product(self.negative_factor, packet.ip_bytes.into()).min(self.negative_residue);
        let wanted = i128::from(packet.wanted);
        let feedback = positive - negative;
        let granted = wanted.min(feedback).max(i32::MIN.into());
        if wanted < feedback {
            negative = (negative + feedback - wanted).min(self.negative_residue);
            positive = wanted + negative;
        }
        self.positive_residue = (self.positive_residue - positive).max(0);
        self.negative_residue -= negative;
        granted as i32
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grants_are_those_of_the_rules(
        positive_factor in factor(),
        negative_factor in factor(),
        positive_residue in 0..1i64 << 44,
        negative_residue in 0..1i64 << 44,
        packets in prop::collection::vec(packet(), 1..40),
    ) {
        let mut router = Router::new(1, 0);
        router.write("xcp_positive_factor", positive_factor);
        router.write("xcp_negative_factor", negative_factor);
        router.write("xcp_positive_residue", positive_residue as u64);
        router.write("xcp_negative_residue", negative_residue as u64);
        let mut reference = Reference {
            positive_factor,
            negative_factor,
            positive_residue: positive_residue.into(),
            negative_residue: negative_residue.into(),
            bytes: 0,
            sum_x: 0,
            sum_rtt_x: 0,
        };
        for packet in &packets {
            let granted = router.feedback(packet.ip_bytes, packet.rtt_ns, packet.x, packet.wanted);
            prop_assert_eq!(granted, reference.grant(packet), "{:?}", packet);
            prop_assert_eq!(i128::from(router.read("xcp_positive_residue")), reference.positive_residue);
            prop_assert_eq!(i128::from(router.read("xcp_negative_residue")), reference.negative_residue);
        }
        prop_assert_eq!(u128::from(router.read("xcp_bytes")), reference.bytes);
        prop_assert_eq!(u128::from(router.read("xcp_sum_x")), reference.sum_x);
        let (low, high) = (router.read("xcp_sum_rtt_x_low"), router.read("xcp_sum_rtt_x_high"));
        prop_assert_eq!(u128::from(low) + (u128::from(high) << 32), reference.sum_rtt_x);
    }
}
