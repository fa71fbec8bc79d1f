// SPDX-License-Identifier: Apache-2.0
//! Big-endian bit fields in byte slices. A field lies within eight bytes: the generator sees to it.

/// Reads `width` (1..=64) bits at bit `offset` of `bytes`.
#[expect(
    clippy::inline_always,
    reason = "with constant places, which the callers have, it is a few instructions"
)]
#[inline(always)]
pub(crate) fn get(bytes: &[u8], offset: usize, width: usize) -> u64 {
    let end = offset + width - 1;
    let value = bytes[offset / 8..=end / 8]
        .iter()
        .fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    value >> (7 - end % 8) & mask(width)
}

/// Writes the low `width` (1..=64) bits of `value` at bit `offset` of `bytes`; the other bits stay.
#[expect(
    clippy::inline_always,
    reason = "with constant places, which the callers have, it is a few instructions"
)]
#[inline(always)]
pub(crate) fn put(bytes: &mut [u8], offset: usize, width: usize, value: u64) {
    let end = offset + width - 1;
    let shift = 7 - end % 8;
    let mut mask = mask(width) << shift;
    let mut bits = value << shift & mask;
    for byte in bytes[offset / 8..=end / 8].iter_mut().rev() {
        *byte = *byte & !(mask as u8) | bits as u8;
        mask >>= 8;
        bits >>= 8;
    }
}

const fn mask(width: usize) -> u64 {
    u64::MAX >> (64 - width)
}
