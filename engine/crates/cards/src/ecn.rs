// SPDX-License-Identifier: Apache-2.0
//! Congestion marks of IPv4 packets (RFC 3168).

use slotwise_wire::{ETHERTYPE_IPV4, Ethernet, Ipv4};

use crate::packet::Frame;

/// Congestion experienced.
pub const CE: u8 = 3;
const ECN_BITS: u8 = 3;
/// Type of service and checksum in the IPv4 header.
const SERVICE: usize = 1;
const CHECKSUM: usize = 10;

/// Marks a packet whose transport reacts to marks (ECT); others stay as they are. The checksum stays right (RFC 1624).
pub fn mark(frame: &mut Frame) {
    let Some((ethernet, packet)) = frame.split_at_mut_checked(Ethernet::SIZE) else {
        return;
    };
    let is_ip = ethernet[Ethernet::SIZE - 2..] == ETHERTYPE_IPV4.to_be_bytes();
    let Some(header) = packet.first_chunk_mut::<{ Ipv4::SIZE }>().filter(|_| is_ip) else {
        return;
    };
    let codepoint = header[SERVICE] & ECN_BITS;
    if codepoint == 0 || codepoint == CE {
        return;
    }
    header[SERVICE] |= CE;
    // The word with the type of service has become larger by this, and the sum of its complement smaller.
    let sum = u16::from_be_bytes([header[CHECKSUM], header[CHECKSUM + 1]]);
    let (less, borrows) = sum.overflowing_sub(u16::from(CE - codepoint));
    let sum = less - u16::from(borrows);
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with an ECN codepoint and a right checksum.
    fn packet(ecn: u8, identification: u16) -> Frame {
        let ethernet = Ethernet {
            ether_type: ETHERTYPE_IPV4,
            ..Ethernet::default()
        };
        let mut ip = Ipv4 {
            version: 4,
            ihl: 5,
            dscp: 46,
            ecn,
            total_len: 40,
            identification,
            ttl: 64,
            protocol: 6,
            src: 0x0a00_0001,
            dst: 0x0a00_0002,
            ..Ipv4::default()
        };
        ip.checksum = !sum(&ip.encode());
        let mut frame = ethernet.encode().to_vec();
        frame.extend_from_slice(&ip.encode());
        frame
    }

    /// One's complement sum: all ones over a header whose checksum is right.
    fn sum(header: &[u8]) -> u16 {
        let words = header
            .chunks_exact(2)
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum = words.sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn marks_change_packets_that_react_to_them_and_keep_the_checksum_right() {
        // All values of the checksum come up, also those at which it wraps.
        for identification in 0..=u16::MAX {
            for (before, after) in [(1, CE), (2, CE), (CE, CE), (0, 0)] {
                let mut frame = packet(before, identification);
                mark(&mut frame);
                let header = &frame[Ethernet::SIZE..];
                let ip = Ipv4::decode(header).unwrap();
                assert_eq!((ip.ecn, ip.dscp), (after, 46));
                assert_eq!(sum(header), u16::MAX, "{identification} {before}");
            }
        }
    }

    #[test]
    fn other_frames_stay_as_they_are() {
        for length in 0..Ethernet::SIZE + Ipv4::SIZE {
            let mut frame = packet(2, 1);
            frame.truncate(length);
            let before = frame.clone();
            mark(&mut frame);
            assert_eq!(frame, before);
        }
        let mut optical = packet(2, 1);
        optical[Ethernet::SIZE - 1] ^= 1;
        let before = optical.clone();
        mark(&mut optical);
        assert_eq!(optical, before);
    }
}
