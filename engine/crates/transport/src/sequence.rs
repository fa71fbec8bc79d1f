// SPDX-License-Identifier: Apache-2.0
//! Sequence numbers. Inside, a number is u64 and counts from the initial sequence number (the SYN is 0, the
//! first byte 1), so that comparison is plain; only the wire has 32 bits (RFC 9293 section 3.4).

/// The 32 bits of `number` on the wire.
pub(crate) fn to_wire(initial: u32, number: u64) -> u32 {
    initial.wrapping_add(number as u32)
}

/// The number nearest to `reference` that `wire` can stand for; `None` if that is before the SYN.
pub(crate) fn from_wire(initial: u32, reference: u64, wire: u32) -> Option<u64> {
    let distance = wire.wrapping_sub(to_wire(initial, reference)) as i32;
    reference.checked_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_wrap() {
        let initial = 0xffff_ff00;
        for number in [0, 1, 0xff, 0x100, 0x1_0000_0000, 0x5_1234_5678] {
            let wire = to_wire(initial, number);
            assert_eq!(from_wire(initial, number, wire), Some(number));
            assert_eq!(from_wire(initial, number + 1000, wire), Some(number));
            assert_eq!(from_wire(initial, number.saturating_sub(1000), wire), Some(number));
        }
    }

    #[test]
    fn nothing_is_before_the_syn() {
        assert_eq!(from_wire(500, 0, 499), None);
    }
}
