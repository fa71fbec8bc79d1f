// SPDX-License-Identifier: Apache-2.0
//! Numbers of any width, with "don't care" digits.

/// Longest number that is read, in digits: wider than any field that p4c compiles.
const MAX_DIGITS: usize = 4096;

/// A number as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// Value, big-endian without leading zeros; `*` digits are 0.
    pub value: Vec<u8>,
    /// With `*` digits: which bits count, big-endian without leading zeros.
    pub mask: Option<Vec<u8>>,
    /// Bits that the written digits stand for; `None` for decimal numbers.
    pub written_bits: Option<u32>,
}

impl Number {
    /// Reads `123`, `0xff`, `0b101`; `*` is a digit of the latter two.
    pub(crate) fn parse(text: &str) -> Result<Number, String> {
        if text.len() > MAX_DIGITS + 2 {
            return Err(format!("number too long; expected at most {MAX_DIGITS} digits"));
        }
        let based = [("0x", 4), ("0X", 4), ("0b", 1), ("0B", 1)]
            .into_iter()
            .find_map(|(prefix, bits)| Some((text.strip_prefix(prefix)?, bits)));
        match based {
            Some((digits, bits)) => Number::with_base(digits, bits),
            None => Number::decimal(text),
        }
    }

    fn with_base(digits: &str, bits: u32) -> Result<Number, String> {
        if digits.is_empty() {
            return Err("missing digits".to_owned());
        }
        let all = (1u8 << bits) - 1;
        let (mut value, mut mask) = (Vec::new(), Vec::new());
        for digit in digits.chars() {
            let (v, m) = match digit {
                '*' => (0, 0),
                _ => match digit.to_digit(1 << bits) {
                    Some(v) => (v as u8, all),
                    None => return Err(format!("invalid digit `{digit}`")),
                },
            };
            value.push(v);
            mask.push(m);
        }
        let has_stars = digits.contains('*');
        Ok(Number {
            value: packed(&value, bits),
            mask: has_stars.then(|| packed(&mask, bits)),
            written_bits: Some(digits.len() as u32 * bits),
        })
    }

    fn decimal(digits: &str) -> Result<Number, String> {
        // Little-endian bytes; each digit multiplies by ten.
        let mut bytes: Vec<u8> = Vec::new();
        for digit in digits.chars() {
            let Some(digit) = digit.to_digit(10) else {
                return Err(format!("invalid number `{digits}`"));
            };
            let mut carry = digit;
            for byte in &mut bytes {
                carry += u32::from(*byte) * 10;
                *byte = carry as u8;
                carry >>= 8;
            }
            if carry > 0 {
                bytes.push(carry as u8);
            }
        }
        bytes.reverse();
        Ok(Number {
            value: bytes,
            mask: None,
            written_bits: None,
        })
    }

    /// As an integer; `None` if it has `*` digits or is too large.
    pub fn to_u64(&self) -> Option<u64> {
        if self.mask.is_some() || self.value.len() > 8 {
            return None;
        }
        Some(self.value.iter().fold(0, |acc, byte| acc << 8 | u64::from(*byte)))
    }
}

/// Digits of `bits` bits each, most significant first, as bytes without leading zeros.
fn packed(digits: &[u8], bits: u32) -> Vec<u8> {
    let per_byte = (8 / bits) as usize;
    let mut bytes: Vec<u8> = digits
        .rchunks(per_byte)
        .map(|chunk| chunk.iter().fold(0, |acc, digit| acc << bits | digit))
        .collect();
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes.reverse();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_base() {
        for (text, value) in [
            ("0", 0),
            ("65536", 65536),
            ("0x1F0", 0x1f0),
            ("0b101", 5),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(Number::parse(text).unwrap().to_u64(), Some(value), "{text}");
        }
        assert_eq!(
            Number::parse("18446744073709551616").unwrap().value,
            [1, 0, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn stars_are_not_in_the_mask() {
        let number = Number::parse("0x*1*").unwrap();
        assert_eq!(
            (number.value, number.mask, number.written_bits),
            (vec![0x10], Some(vec![0xf0]), Some(12))
        );
        let number = Number::parse("0b**********1").unwrap();
        assert_eq!((number.value, number.mask), (vec![1], Some(vec![1])));
    }

    #[test]
    fn not_numbers() {
        for text in ["0x", "0b", "0b2", "12a", "0xg", &"9".repeat(5000)] {
            assert!(Number::parse(text).is_err(), "{text}");
        }
    }
}
