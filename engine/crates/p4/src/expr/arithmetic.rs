// SPDX-License-Identifier: Apache-2.0
//! What the operators do.

use super::{Binary, Unary, WideBinary};
use crate::value::{self, mask, sign_extend_word};

pub(super) fn unary(op: Unary, value: u64) -> u64 {
    match op {
        Unary::Not => !value,
        Unary::IsZero => u64::from(value == 0),
        Unary::IsNotZero => u64::from(value != 0),
        Unary::SignExtend(bits) => sign_extend_word(value, bits),
        Unary::AtMost(max) => value.min(max),
        Unary::ClampUnsigned(max) => {
            if (value as i64) < 0 {
                0
            } else {
                value.min(max)
            }
        }
        Unary::ClampSigned(bits) => {
            let max = mask(bits - 1) as i64;
            (value as i64).clamp(-max - 1, max) as u64
        }
    }
}

pub(super) fn binary(op: Binary, left: u64, right: u64) -> u64 {
    match op {
        Binary::Add => left.wrapping_add(right),
        Binary::Sub => left.wrapping_sub(right),
        Binary::Mul => left.wrapping_mul(right),
        Binary::Div => left.checked_div(right).unwrap_or(0),
        Binary::Mod => left.checked_rem(right).unwrap_or(0),
        Binary::And => left & right,
        Binary::Or => left | right,
        Binary::Xor => left ^ right,
        Binary::Shl => {
            if right < 64 {
                left << right
            } else {
                0
            }
        }
        Binary::Shr => {
            if right < 64 {
                left >> right
            } else {
                0
            }
        }
        Binary::ShrSigned => ((left as i64) >> right.min(63)) as u64,
        Binary::LogicalAnd => u64::from(left != 0 && right != 0),
        Binary::LogicalOr => u64::from(left != 0 || right != 0),
        Binary::Unsigned(comparison) => u64::from(comparison.holds(left.cmp(&right))),
        Binary::Signed(comparison) => u64::from(comparison.holds((left as i64).cmp(&(right as i64)))),
    }
}

pub(super) fn wide_binary(op: WideBinary, left: &mut [u64], right: &[u64]) {
    match op {
        WideBinary::Add => value::add(left, right),
        WideBinary::Sub => value::sub(left, right),
        WideBinary::And => left.iter_mut().zip(right).for_each(|(l, r)| *l &= r),
        WideBinary::Or => left.iter_mut().zip(right).for_each(|(l, r)| *l |= r),
        WideBinary::Xor => left.iter_mut().zip(right).for_each(|(l, r)| *l ^= r),
    }
}

/// Cuts a signed number to what `bits` bits hold, signed or not.
pub(super) fn clamp(limbs: &mut [u64], bits: u32, signed: bool) {
    let negative = value::is_negative(limbs);
    let magnitude_bits = if signed { bits - 1 } else { bits };
    let fits = if negative {
        limbs.iter().rev().enumerate().all(|(from_top, &limb)| {
            let below = (limbs.len() - 1 - from_top) as u32 * 64;
            let low = if magnitude_bits <= below {
                0
            } else {
                mask(magnitude_bits - below)
            };
            limb | low == u64::MAX
        })
    } else {
        value::bit_length(limbs) <= magnitude_bits
    };
    if negative && !signed {
        limbs.fill(0);
    } else if !fits {
        limbs.fill(u64::MAX);
        value::truncate(limbs, magnitude_bits);
        if negative {
            for limb in limbs.iter_mut() {
                *limb = !*limb;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_by_more_than_a_word() {
        assert_eq!(binary(Binary::Shl, 1, 64), 0);
        assert_eq!(binary(Binary::Shr, u64::MAX, 64), 0);
        assert_eq!(binary(Binary::ShrSigned, u64::MAX, 200), u64::MAX);
    }

    #[test]
    fn clamps() {
        assert_eq!(unary(Unary::ClampUnsigned(255), -5i64 as u64), 0);
        assert_eq!(unary(Unary::ClampUnsigned(255), 300), 255);
        assert_eq!(unary(Unary::ClampSigned(8), 300), 127);
        assert_eq!(unary(Unary::ClampSigned(8), -300i64 as u64), -128i64 as u64);
        let mut wide = [0, 1];
        clamp(&mut wide, 64, false);
        assert_eq!(wide, [u64::MAX, 0]);
        let mut negative = [0, u64::MAX];
        clamp(&mut negative, 64, true);
        assert_eq!(negative, [1 << 63, u64::MAX]);
    }

    #[test]
    fn division_by_zero_gives_zero() {
        assert_eq!(binary(Binary::Div, 7, 0), 0);
        assert_eq!(binary(Binary::Mod, 7, 0), 0);
    }
}
