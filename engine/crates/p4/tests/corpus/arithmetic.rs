// SPDX-License-Identifier: Apache-2.0
//! Every operator of P4, against Rust's own integers.

use super::support::{answer, pipeline};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
struct Operands {
    a8: u8,
    b8: u8,
    a32: u32,
    b32: u32,
    a64: u64,
    b64: u64,
    a128: u128,
    b128: u128,
}

impl Operands {
    fn frame(&self) -> Vec<u8> {
        let mut frame = vec![self.a8, self.b8];
        frame.extend(self.a32.to_be_bytes());
        frame.extend(self.b32.to_be_bytes());
        frame.extend(self.a64.to_be_bytes());
        frame.extend(self.b64.to_be_bytes());
        frame.extend(self.a128.to_be_bytes());
        frame.extend(self.b128.to_be_bytes());
        frame
    }

    /// What the program answers, field by field.
    fn expected(&self) -> Vec<(&'static str, Vec<u8>)> {
        let Operands {
            a8,
            b8,
            a32,
            b32,
            a64,
            b64,
            a128,
            b128,
        } = *self;
        let (sa8, sb8) = (a8 as i8, b8 as i8);
        let flags = |one: bool, two: bool, three: bool| u8::from(one) << 2 | u8::from(two) << 1 | u8::from(three);
        let shl32 = a32.checked_shl(a8.into()).unwrap_or(0);
        let shr32 = a32.checked_shr(b8.into()).unwrap_or(0);
        let be8 = |value: u8| vec![value];
        let be32 = |value: u32| value.to_be_bytes().to_vec();
        let be64 = |value: u64| value.to_be_bytes().to_vec();
        let be128 = |value: u128| value.to_be_bytes().to_vec();
        vec![
            ("add8", be8(a8.wrapping_add(b8))),
            ("sub8", be8(a8.wrapping_sub(b8))),
            ("sat_add8", be8(a8.saturating_add(b8))),
            ("sat_sub8", be8(a8.saturating_sub(b8))),
            ("signed_shift8", be8((sa8 >> 3) as u8)),
            ("signed_less8", be8(u8::from(sa8 < sb8))),
            ("signed_sat_add8", be8(sa8.saturating_add(sb8) as u8)),
            ("signed_sat_sub8", be8(sa8.saturating_sub(sb8) as u8)),
            ("mul32", be32(a32.wrapping_mul(b32))),
            ("not32", be32(!a32)),
            ("logic32", be32((a32 & b32) | (a32 ^ 0x0f0f0f0f))),
            ("shl32", be32(shl32)),
            ("shr32", be32(shr32)),
            ("mux32", be32(if a8 > b8 { a32 } else { b32 })),
            ("slice32", ((a32 >> 8) as u16).to_be_bytes().to_vec()),
            ("widened", be32(i32::from(sa8) as u32)),
            ("negative32", be32(a32.wrapping_neg())),
            ("add64", be64(a64.wrapping_add(b64))),
            ("sub64", be64(a64.wrapping_sub(b64))),
            ("mul64", be64(a64.wrapping_mul(b64))),
            ("sat_add64", be64(a64.saturating_add(b64))),
            ("sat_sub64", be64(a64.saturating_sub(b64))),
            ("concat64", be64(u64::from(a32) << 32 | u64::from(b32))),
            ("compare64", be8(flags(a64 > b64, a64 == b64, a64 as i64 > b64 as i64))),
            ("signed_sat_add64", be64((a64 as i64).saturating_add(b64 as i64) as u64)),
            ("add128", be128(a128.wrapping_add(b128))),
            ("sub128", be128(a128.wrapping_sub(b128))),
            ("mul128", be128(a128.wrapping_mul(b128))),
            ("shl128", be128(a128.checked_shl(a8.into()).unwrap_or(0))),
            ("shr128", be128(a128.checked_shr(b8.into()).unwrap_or(0))),
            ("xor128", be128(a128 ^ !b128)),
            ("sat_sub128", be128(a128.saturating_sub(b128))),
            ("slice128", be64((a128 >> 36) as u64)),
            (
                "compare128",
                be8(flags(a128 > b128, a128 != b128, a128 as i128 <= b128 as i128)),
            ),
        ]
    }
}

fn check(operands: Operands) {
    let mut pipeline = pipeline("arithmetic");
    let frame = answer(&mut pipeline, &operands.frame());
    let mut rest = frame.as_slice();
    for (name, expected) in operands.expected() {
        let (found, after) = rest.split_at(expected.len());
        assert_eq!(found, expected, "{name} of {operands:x?}");
        rest = after;
    }
    assert!(rest.is_empty());
}

#[test]
fn edges_of_every_width() {
    let (small, large) = ([0, 1, 0x7f, 0x80, 0xff], [0, 1, u128::MAX >> 1, 1 << 127, u128::MAX]);
    for (a, wide_a) in small.into_iter().zip(large) {
        for (b, wide_b) in small.into_iter().zip(large) {
            check(Operands {
                a8: a,
                b8: b,
                a32: (wide_a >> 96) as u32,
                b32: (wide_b >> 96) as u32,
                a64: (wide_a >> 64) as u64,
                b64: (wide_b >> 64) as u64,
                a128: wide_a,
                b128: wide_b,
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_operands(bytes in any::<[u8; 10]>(), a64: u64, b64: u64, a128: u128, b128: u128) {
        check(Operands {
            a8: bytes[0],
            b8: bytes[1],
            a32: u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]),
            b32: u32::from_be_bytes([bytes[6], bytes[7], bytes[8], bytes[9]]),
            a64,
            b64,
            a128,
            b128,
        });
    }
}
