// SPDX-License-Identifier: Apache-2.0
//! P4Runtime binary strings: big-endian, shortest form out, any length in as long as the value fits.

use slotwise_p4::Bits;

use crate::error::ApiError;

/// The shortest string of this value, at least one byte.
pub(crate) fn canonical(bytes: &[u8]) -> Bits {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    match &bytes[zeros..] {
        [] => vec![0],
        rest => rest.to_vec(),
    }
}

/// Reads a value of type `bit<width>`; gives it in canonical form.
pub(crate) fn parse(bytes: &[u8], width: u32) -> Result<Bits, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::out_of_range(format!(
            "empty binary string where bit<{width}> is wanted"
        )));
    }
    let value = canonical(bytes);
    let length = bit_length(&value);
    if length > u64::from(width) {
        return Err(ApiError::out_of_range(format!(
            "value needs {length} bits where bit<{width}> is wanted"
        )));
    }
    Ok(value)
}

/// Number of bits from the highest set one down.
fn bit_length(canonical: &[u8]) -> u64 {
    canonical.len() as u64 * 8 - u64::from(canonical[0].leading_zeros())
}

/// Whether no bit of `value` is set outside `mask`. Both canonical.
pub(crate) fn is_within(value: &[u8], mask: &[u8]) -> bool {
    let is_zero = value == [0];
    let fits = value.len() <= mask.len();
    is_zero
        || fits
            && value
                .iter()
                .rev()
                .zip(mask.iter().rev())
                .all(|(value, mask)| value & !mask == 0)
}

/// Whether the lowest `count` bits of a canonical value are zero.
pub(crate) fn low_bits_are_zero(value: &[u8], count: u32) -> bool {
    let whole = (count / 8) as usize;
    let rest = count % 8;
    let mut from_low = value.iter().rev();
    from_low.by_ref().take(whole).all(|&byte| byte == 0)
        && from_low.next().is_none_or(|&byte| byte & ((1u8 << rest) - 1) == 0)
}

/// Order by value. Both canonical.
pub(crate) fn is_at_most(low: &[u8], high: &[u8]) -> bool {
    (low.len(), low) <= (high.len(), high)
}

/// The largest value of type `bit<width>`, canonical.
pub(crate) fn all_ones(width: u32) -> Bits {
    let mut value = vec![0xff; width.div_ceil(8) as usize];
    if !width.is_multiple_of(8) {
        value[0] = (1 << (width % 8)) - 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_in_shortest_out() {
        assert_eq!(parse(&[0, 0, 0x63], 8).unwrap(), [0x63]);
        assert_eq!(parse(&[0, 0], 9).unwrap(), [0]);
        assert_eq!(parse(&[1, 0xff], 9).unwrap(), [1, 0xff]);
    }

    #[test]
    fn the_specifications_invalid_examples_are_refused() {
        for (bytes, width) in [
            (&[1u8, 0x63][..], 8),
            (&[], 8),
            (&[1, 0, 0x63], 16),
            (&[0x10, 0x63], 12),
            (&[0, 0x40, 0x63], 12),
        ] {
            assert_eq!(
                parse(bytes, width).unwrap_err().code,
                tonic::Code::OutOfRange,
                "{bytes:?} as bit<{width}>"
            );
        }
    }

    #[test]
    fn masks_prefixes_and_order() {
        assert!(is_within(&[0x0a], &[0xff, 0x0f]));
        assert!(!is_within(&[0x1a], &[0xff, 0x0f]));
        assert!(!is_within(&[1, 0], &[0xff]));
        assert!(is_within(&[0], &[0]));
        assert!(low_bits_are_zero(&[10, 0, 0, 0], 24));
        assert!(!low_bits_are_zero(&[10, 0, 0, 0], 26));
        assert!(low_bits_are_zero(&[0], 128));
        assert!(is_at_most(&[0xff], &[1, 0]));
        assert!(!is_at_most(&[2], &[1]));
        assert_eq!(all_ones(9), [1, 0xff]);
        assert_eq!(all_ones(16), [0xff, 0xff]);
    }
}
