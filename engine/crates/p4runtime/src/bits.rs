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

/// Reads a value of type `bit<width>`; gives it in canonical form. The value of `bit<0>` may have no bytes, too.
pub(crate) fn parse(bytes: &[u8], width: u32) -> Result<Bits, ApiError> {
    if bytes.is_empty() && width > 0 {
        return Err(ApiError::out_of_range(format!(
            "empty binary string; expected bit<{width}>"
        )));
    }
    let value = canonical(bytes);
    let length = bit_length(&value);
    if length > u64::from(width) {
        return Err(ApiError::out_of_range(format!(
            "value too large; expected bit<{width}>, got {length} bits"
        )));
    }
    Ok(value)
}

/// Digits of the longest decimal number that is read; p4c's BMv2 backend stops at 2048 bits.
const MAX_DIGITS: usize = 1024;

/// Reads a number in decimal, without sign and leading zeros, as controllers write values that are strings for them; gives it in
/// canonical form.
pub(crate) fn parse_decimal(text: &[u8]) -> Result<Bits, ApiError> {
    let is_number = match text {
        [b'0'] => true,
        [b'0', ..] | [] => false,
        _ => text.len() <= MAX_DIGITS && text.iter().all(u8::is_ascii_digit),
    };
    if !is_number {
        return Err(ApiError::invalid(
            "invalid sdn_string; expected a decimal number without leading zeros",
        ));
    }
    let mut value = vec![0u8];
    for digit in text {
        let mut carry = u32::from(digit - b'0');
        for byte in value.iter_mut().rev() {
            let sum = u32::from(*byte) * 10 + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        if carry > 0 {
            value.insert(0, carry as u8);
        }
    }
    Ok(value)
}

/// The decimal number of a value, as [`parse_decimal`] reads it.
pub(crate) fn decimal(bytes: &[u8]) -> Vec<u8> {
    let mut rest = canonical(bytes);
    let mut digits = Vec::new();
    while rest != [0] || digits.is_empty() {
        let mut remainder = 0;
        for byte in &mut rest {
            let part = remainder << 8 | u32::from(*byte);
            (*byte, remainder) = ((part / 10) as u8, part % 10);
        }
        digits.push(b'0' + remainder as u8);
        rest = canonical(&rest);
    }
    digits.reverse();
    digits
}

/// The shortest two's complement string of a `width`-bit value, at least one byte.
pub(crate) fn canonical_signed(bytes: &[u8], width: u32) -> Bits {
    let mut value = extend_sign(bytes, width);
    let is_redundant = |value: &Bits| match value[..] {
        [0, next, ..] => next & 0x80 == 0,
        [0xff, next, ..] => next & 0x80 != 0,
        _ => false,
    };
    while is_redundant(&value) {
        value.remove(0);
    }
    value
}

/// Reads a value of type `int<width>`; gives its lowest `width` bits, canonical as a `bit<width>`.
pub(crate) fn parse_signed(bytes: &[u8], width: u32) -> Result<Bits, ApiError> {
    let (Some(first), Ok(given)) = (bytes.first(), u32::try_from(bytes.len() * 8)) else {
        return Err(ApiError::out_of_range(format!(
            "binary string of {} bytes; expected int<{width}>",
            bytes.len()
        )));
    };
    // As many bytes as either side has, so that both are compared in full.
    let wide = width.max(given).div_ceil(8) as usize;
    let filler = if first & 0x80 != 0 { 0xff } else { 0 };
    let mut padded = vec![filler; wide - bytes.len()];
    padded.extend_from_slice(bytes);
    let low = padded[wide - width.div_ceil(8) as usize..].to_vec();
    let back = extend_sign(&low, width);
    let mut back_padded = vec![if back[0] & 0x80 != 0 { 0xff } else { 0 }; wide - back.len()];
    back_padded.extend_from_slice(&back);
    if back_padded != padded {
        return Err(ApiError::out_of_range(format!(
            "the value does not fit in int<{width}>"
        )));
    }
    let mut unsigned = low;
    unsigned[0] &= 0xff >> (unsigned.len() as u32 * 8 - width);
    Ok(canonical(&unsigned))
}

/// The whole bytes of a `width`-bit two's complement value; `bytes` has any length.
fn extend_sign(bytes: &[u8], width: u32) -> Bits {
    let length = width.div_ceil(8) as usize;
    let mut value = vec![0; length.saturating_sub(bytes.len())];
    value.extend_from_slice(&bytes[bytes.len().saturating_sub(length)..]);
    let unused = length as u32 * 8 - width;
    let is_negative = value[0] >> (7 - unused) & 1 == 1;
    let unused_bits = !(0xffu8 >> unused);
    value[0] = if is_negative {
        value[0] | unused_bits
    } else {
        value[0] & !unused_bits
    };
    value
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
    if width == 0 {
        return vec![0];
    }
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
    fn a_value_without_bits_is_zero() {
        assert_eq!(parse(&[], 0).unwrap(), [0]);
        assert_eq!(parse(&[0], 0).unwrap(), [0]);
        assert_eq!(parse(&[1], 0).unwrap_err().code, tonic::Code::OutOfRange);
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
    fn decimal_numbers_are_read_and_written() {
        let all_ones = u128::MAX.to_string();
        for (text, value) in [
            ("0", vec![0]),
            ("9", vec![9]),
            ("255", vec![0xff]),
            ("256", vec![1, 0]),
            ("100000", vec![1, 0x86, 0xa0]),
            (&all_ones, vec![0xff; 16]),
        ] {
            assert_eq!(parse_decimal(text.as_bytes()).unwrap(), value, "{text}");
            assert_eq!(decimal(&value), text.as_bytes(), "{text}");
        }
        assert_eq!(decimal(&[0, 0, 7]), b"7");
        let long = "1".repeat(MAX_DIGITS);
        assert_eq!(decimal(&parse_decimal(long.as_bytes()).unwrap()), long.as_bytes());
        for text in ["", "00", "07", "-1", "+1", " 1", "0x1", "veth0", &format!("{long}1")] {
            let error = parse_decimal(text.as_bytes()).unwrap_err();
            assert_eq!(error.code, tonic::Code::InvalidArgument, "{text}");
        }
    }

    #[test]
    fn signed_values_keep_their_sign() {
        assert_eq!(canonical_signed(&[0x0f, 0xff], 12), [0xff]);
        assert_eq!(canonical_signed(&[0x08, 0x00], 12), [0xf8, 0]);
        assert_eq!(canonical_signed(&[0, 0x80], 12), [0, 0x80]);
        assert_eq!(canonical_signed(&[0], 12), [0]);
        for (bytes, width, expected) in [
            (&[0xff][..], 12, Some(&[0x0f, 0xff][..])),
            (&[0xff, 0xff, 0xff, 0x80], 8, Some(&[0x80])),
            (&[0, 0x80], 8, None),
            (&[0x7f], 8, Some(&[0x7f])),
            (&[0xf8, 0], 12, Some(&[8, 0])),
            (&[0xf7, 0xff], 12, None),
            (&[], 12, None),
        ] {
            assert_eq!(
                parse_signed(bytes, width).ok().as_deref(),
                expected,
                "{bytes:?} as int<{width}>"
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
        assert_eq!(all_ones(0), [0]);
        assert_eq!(all_ones(9), [1, 0xff]);
        assert_eq!(all_ones(16), [0xff, 0xff]);
    }
}
