// SPDX-License-Identifier: Apache-2.0
//! The Internet checksum (RFC 1071): a sum of 16-bit words in one's complement.

/// A sum in the making.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds bytes; all but the last ones of a sum come in even numbers.
    pub(crate) fn add(self, bytes: &[u8]) -> Sum {
        // Four bytes at a time in the machine's order: one's complement sums of wider words fold to that of 16-bit words, and
        // swapping the bytes of each word swaps those of the sum (RFC 1071, section 2). 64 bits do not overflow below 16 GB.
        let (words, rest) = bytes.as_chunks::<4>();
        let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Sum(self.0 + sum + u64::from(u32::from_ne_bytes(last)))
    }

    /// Adds a 16-bit number.
    pub(crate) fn add_u16(self, value: u16) -> Sum {
        Sum(self.0 + u64::from(value.to_be()))
    }

    /// The sum itself, as a checksum field holds it.
    pub(crate) fn folded(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (sum as u16).to_ne_bytes()
    }

    /// Its complement: the checksum.
    pub(crate) fn checksum(self) -> [u8; 2] {
        self.folded().map(|byte| !byte)
    }

    /// True if what was added holds its own right checksum.
    pub(crate) fn is_valid(self) -> bool {
        self.folded() == [0xff; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().add(&bytes).folded(), [0xdd, 0xf2]);
        assert_eq!(Sum::default().add(&bytes).checksum(), [0x22, 0x0d]);
    }

    #[test]
    fn any_length_sums_as_16_bit_words_do() {
        let bytes: Vec<u8> = (0..100u32).map(|k| (k * 151 + 7) as u8).collect();
        for length in 0..bytes.len() {
            let mut expected = 0u32;
            for pair in bytes[..length].chunks(2) {
                expected += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
                expected = (expected & 0xffff) + (expected >> 16);
            }
            assert_eq!(
                Sum::default().add(&bytes[..length]).folded(),
                (expected as u16).to_be_bytes(),
                "{length} bytes"
            );
        }
    }
}
