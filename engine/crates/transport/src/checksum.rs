// SPDX-License-Identifier: Apache-2.0
//! The Internet checksum (RFC 1071).

use std::net::Ipv4Addr;

/// Adds `bytes`, read as big-endian 16-bit words, to `sum`. Only the last piece may have an odd length.
fn add(sum: u64, bytes: &[u8]) -> u64 {
    // Words of 32 bits in the machine's order, of which 64 bits hold the sum of any packet's, and that without a carry from one word to
    // the next; the sum is turned round at the end (RFC 1071 section 2 B and C).
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let halves = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        (word & 0xffff_ffff) + (word >> 32)
    };
    let whole: u64 = words.iter().map(halves).sum();
    sum + u64::from(u16::from_be(fold(whole + halves(&last))))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of an IPv4 header whose checksum field is zero; 0 over a header that is intact.
pub(crate) fn internet(bytes: &[u8]) -> u16 {
    !fold(add(0, bytes))
}

/// The checksum of a TCP or UDP message with its pseudo-header (RFC 9293 section 3.1); 0 over one that
/// is intact. `protocol` is the transport's own number, whatever shim stands before it.
pub(crate) fn transport(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, message: &[u8]) -> u16 {
    let pseudo =
        u64::from(source.to_bits()) + u64::from(destination.to_bits()) + u64::from(protocol) + message.len() as u64;
    !fold(add(pseudo, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_example() {
        // Section 3: 0001 f203 f4f5 f6f7 add up to ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(internet(&bytes), !0xddf2);
    }

    #[test]
    fn carries_come_back_at_the_low_end() {
        for length in 0..40 {
            let bytes = vec![0xff; length * 2];
            assert_eq!(internet(&bytes), if length == 0 { 0xffff } else { 0 });
        }
        let bytes: Vec<u8> = (0..=255).rev().cycle().take(1480).collect();
        let sum: u64 = bytes
            .chunks(2)
            .map(|pair| u64::from(pair[0]) << 8 | u64::from(pair[1]))
            .sum();
        assert_eq!(internet(&bytes), !fold(sum));
    }

    #[test]
    fn a_message_with_its_checksum_sums_to_zero_whatever_its_length() {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        for length in 2..40u8 {
            let mut message: Vec<u8> = (0..length).map(|i| i.wrapping_mul(37)).collect();
            message[0..2].fill(0);
            let sum = transport(a, b, 6, &message);
            message[0..2].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(transport(a, b, 6, &message), 0, "length {length}");
        }
    }
}
