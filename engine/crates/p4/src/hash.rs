// SPDX-License-Identifier: Apache-2.0
//! Checksums and hashes, as v1model names them.

use crc::{CRC_16_ARC, CRC_16_IBM_3740, CRC_32_ISO_HDLC, Crc, Table};

/// A hash function over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Crc16,
    CrcCcitt,
    Crc32,
    Csum16,
    Xor16,
    Identity,
}

static CRC16: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_ARC);
static CRC_CCITT: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_3740);
// Sixteen bytes at a time.
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

impl Algorithm {
    /// By its name in the JSON. The `_custom` ones start out as the plain ones, as in BMv2.
    pub fn named(name: &str) -> Option<Algorithm> {
        Some(match name {
            "crc16" | "crc16_custom" => Algorithm::Crc16,
            "crcCCITT" => Algorithm::CrcCcitt,
            "crc32" | "crc32_custom" => Algorithm::Crc32,
            "csum16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "identity" => Algorithm::Identity,
            _ => return None,
        })
    }

    /// The hash of `data`.
    pub fn compute(self, data: &[u8]) -> u64 {
        match self {
            Algorithm::Crc16 => u64::from(CRC16.checksum(data)),
            Algorithm::CrcCcitt => u64::from(CRC_CCITT.checksum(data)),
            Algorithm::Crc32 => u64::from(CRC32.checksum(data)),
            Algorithm::Csum16 => u64::from(csum16(data)),
            Algorithm::Xor16 => data.chunks(2).map(pair).fold(0, |acc, p| acc ^ u64::from(p)),
            Algorithm::Identity => data.iter().take(8).fold(0, |acc, &b| acc << 8 | u64::from(b)),
        }
    }
}

/// Two bytes, the second zero if it is missing.
fn pair(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes.get(1).copied().unwrap_or(0)])
}

/// The Internet checksum (RFC 1071).
fn csum16(data: &[u8]) -> u16 {
    let mut sum: u64 = data.chunks(2).map(|p| u64::from(pair(p))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_catalogue() {
        let data = b"123456789";
        assert_eq!(Algorithm::Crc16.compute(data), 0xbb3d);
        assert_eq!(Algorithm::CrcCcitt.compute(data), 0x29b1);
        assert_eq!(Algorithm::Crc32.compute(data), 0xcbf43926);
    }

    #[test]
    fn internet_checksum_of_rfc_1071() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Algorithm::Csum16.compute(&data), u64::from(!0xddf2u16));
    }

    #[test]
    fn short_inputs() {
        assert_eq!(Algorithm::Xor16.compute(&[0x12, 0x34, 0x01]), 0x1334);
        assert_eq!(Algorithm::Identity.compute(&[1, 2]), 0x102);
        assert_eq!(
            Algorithm::Identity.compute(&[1, 2, 3, 4, 5, 6, 7, 8, 9]),
            0x0102030405060708
        );
        assert_eq!(Algorithm::Csum16.compute(&[]), 0xffff);
    }
}
