// SPDX-License-Identifier: Apache-2.0
//! Integers wider than a machine word: little-endian 64-bit limbs, two's complement.

use std::cmp::Ordering;

/// All ones in the low `bits` bits; `bits` is at most 64.
pub(crate) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 }
}

/// Limbs that hold `bits` bits, at least one.
pub(crate) fn limbs_for(bits: u32) -> usize {
    (bits as usize).div_ceil(64).max(1)
}

/// Sign-extends the low `bits` (1..=64) bits of `word`.
pub(crate) fn sign_extend_word(word: u64, bits: u32) -> u64 {
    let shift = 64 - bits;
    (((word << shift) as i64) >> shift) as u64
}

/// Clears everything above the low `bits` bits.
pub(crate) fn truncate(limbs: &mut [u64], bits: u32) {
    for (index, limb) in limbs.iter_mut().enumerate() {
        let below = index as u32 * 64;
        *limb &= if bits <= below { 0 } else { mask(bits - below) };
    }
}

/// Copies the sign of a `bits`-wide number into everything above it.
pub(crate) fn sign_extend(limbs: &mut [u64], bits: u32) {
    let sign = bits - 1;
    let Some(&top) = limbs.get((sign / 64) as usize) else {
        return;
    };
    if top >> (sign % 64) & 1 == 0 {
        truncate(limbs, bits);
        return;
    }
    for (index, limb) in limbs.iter_mut().enumerate() {
        let below = index as u32 * 64;
        *limb |= if bits <= below { u64::MAX } else { !mask(bits - below) };
    }
}

/// True if the number is negative.
pub(crate) fn is_negative(limbs: &[u64]) -> bool {
    limbs.last().is_some_and(|&top| top >> 63 == 1)
}

/// `left += right`, wrapping; both of the same length.
pub(crate) fn add(left: &mut [u64], right: &[u64]) {
    let mut carry = false;
    for (l, &r) in left.iter_mut().zip(right) {
        let (sum, c1) = l.overflowing_add(r);
        let (sum, c2) = sum.overflowing_add(u64::from(carry));
        *l = sum;
        carry = c1 | c2;
    }
}

/// `left -= right`, wrapping; both of the same length.
pub(crate) fn sub(left: &mut [u64], right: &[u64]) {
    let mut borrow = false;
    for (l, &r) in left.iter_mut().zip(right) {
        let (difference, b1) = l.overflowing_sub(r);
        let (difference, b2) = difference.overflowing_sub(u64::from(borrow));
        *l = difference;
        borrow = b1 | b2;
    }
}

/// `out = left * right`, wrapping; all of the same length, `out` starts at zero.
pub(crate) fn mul(left: &[u64], right: &[u64], out: &mut [u64]) {
    for (i, &l) in left.iter().enumerate() {
        let mut carry = 0u128;
        for (o, &r) in out[i..].iter_mut().zip(right) {
            let sum = u128::from(l) * u128::from(r) + u128::from(*o) + carry;
            *o = sum as u64;
            carry = sum >> 64;
        }
    }
}

/// `limbs <<= amount`, wrapping.
pub(crate) fn shl(limbs: &mut [u64], amount: u64) {
    let n = limbs.len();
    let (whole, part) = (amount / 64, (amount % 64) as u32);
    let whole = usize::try_from(whole).unwrap_or(n).min(n);
    for i in (0..n).rev() {
        let high = if i >= whole { limbs[i - whole] } else { 0 };
        let low = if i > whole { limbs[i - whole - 1] } else { 0 };
        limbs[i] = if part == 0 {
            high
        } else {
            high << part | low >> (64 - part)
        };
    }
}

/// `limbs >>= amount`, arithmetic.
pub(crate) fn shr(limbs: &mut [u64], amount: u64) {
    let n = limbs.len();
    let fill = if is_negative(limbs) { u64::MAX } else { 0 };
    let (whole, part) = (amount / 64, (amount % 64) as u32);
    let whole = usize::try_from(whole).unwrap_or(n).min(n);
    for i in 0..n {
        let low = limbs.get(i + whole).copied().unwrap_or(fill);
        let high = limbs.get(i + whole + 1).copied().unwrap_or(fill);
        limbs[i] = if part == 0 {
            low
        } else {
            low >> part | high << (64 - part)
        };
    }
}

/// Signed comparison; both of the same length.
pub(crate) fn compare_signed(left: &[u64], right: &[u64]) -> Ordering {
    match (is_negative(left), is_negative(right)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => compare_unsigned(left, right),
    }
}

/// Unsigned comparison; both of the same length.
pub(crate) fn compare_unsigned(left: &[u64], right: &[u64]) -> Ordering {
    left.iter().rev().cmp(right.iter().rev())
}

/// Bits needed to write the number without leading zeros; 0 for zero.
pub(crate) fn bit_length(limbs: &[u64]) -> u32 {
    limbs
        .iter()
        .rposition(|&limb| limb != 0)
        .map_or(0, |top| top as u32 * 64 + 64 - limbs[top].leading_zeros())
}

/// Big-endian bytes to limbs; zero-extended, or `None` if a set bit does not fit.
pub(crate) fn from_be_bytes(bytes: &[u8], limbs: usize) -> Option<Vec<u64>> {
    let mut out = vec![0; limbs];
    for (index, &byte) in bytes.iter().rev().enumerate() {
        match out.get_mut(index / 8) {
            Some(limb) => *limb |= u64::from(byte) << (index % 8 * 8),
            None if byte == 0 => {}
            None => return None,
        }
    }
    Some(out)
}

/// The shortest big-endian bytes of the number; one zero byte for zero.
pub(crate) fn to_be_bytes(limbs: &[u64]) -> Vec<u8> {
    let length = (bit_length(limbs) as usize).div_ceil(8).max(1);
    (0..length).rev().map(|i| (limbs[i / 8] >> (i % 8 * 8)) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_masks_at_both_ends() {
        assert_eq!(mask(0), 0);
        assert_eq!(mask(64), u64::MAX);
        assert_eq!(sign_extend_word(0x80, 8), -128i64 as u64);
        assert_eq!(sign_extend_word(0x7f, 8), 127);
    }

    #[test]
    fn carries_and_borrows_cross_limbs() {
        let mut a = [u64::MAX, 0];
        add(&mut a, &[1, 0]);
        assert_eq!(a, [0, 1]);
        sub(&mut a, &[1, 0]);
        assert_eq!(a, [u64::MAX, 0]);
    }

    #[test]
    fn product_of_words_has_two_limbs() {
        let mut out = [0, 0];
        mul(&[u64::MAX, 0], &[u64::MAX, 0], &mut out);
        assert_eq!(out, [1, u64::MAX - 1]);
    }

    #[test]
    fn shifts_keep_sign_and_drop_what_leaves() {
        let mut a = [1, 0];
        shl(&mut a, 127);
        assert_eq!(a, [0, 1 << 63]);
        shr(&mut a, 127);
        assert_eq!(a, [u64::MAX, u64::MAX]);
        shl(&mut a, u64::MAX);
        assert_eq!(a, [0, 0]);
    }

    #[test]
    fn sign_extension_over_limbs() {
        let mut a = [0, 1 << 3];
        sign_extend(&mut a, 68);
        assert_eq!(a, [0, u64::MAX << 3]);
        let mut b = [5, 7];
        sign_extend(&mut b, 64);
        assert_eq!(b, [5, 0]);
    }

    #[test]
    fn bytes_round_trip() {
        let limbs = from_be_bytes(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 2).unwrap();
        assert_eq!(to_be_bytes(&limbs), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(to_be_bytes(&[0, 0]), [0]);
        assert_eq!(from_be_bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 0], 1), None);
    }
}
