// SPDX-License-Identifier: Apache-2.0
//! The Internet checksum (RFC 1071).

use std::net::Ipv4Addr;

/// Adds `bytes`, read as big-endian 16-bit words, to `sum`. Only the last piece may have an odd length.
fn add(sum: u64, bytes: &[u8]) -> u64 {
    // Words of 32 bits in the machine's order; the sum is turned round at the end (RFC 1071 section 2 B).
    let chunks = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    let whole: u64 = chunks
        .map(|c| u64::from(u32::from_ne_bytes([c[0], c[1], c[2], c[3]])))
        .sum();
    let folded = fold(whole + u64::from(u32::from_ne_bytes(last)));
    sum + u64::from(u16::from_be(folded))
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
