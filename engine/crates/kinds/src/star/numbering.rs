// SPDX-License-Identifier: Apache-2.0
//! Which numbered packets have arrived: none may come twice.

use rustc_hash::FxHashMap;
use slotwise_wire::Optical;

/// Numbers seen so far.
#[derive(Default)]
pub(super) struct Numbers {
    /// By source edge, its program and queue. Nothing depends on its order.
    seen: FxHashMap<(u16, u32, u16), SequenceWindow>,
}

impl Numbers {
    /// Notes that a packet, numbered by the `program`-th one of its edge, has arrived; false if it had before.
    pub(super) fn is_new(&mut self, packet: &Optical, program: u32) -> bool {
        self.seen
            .entry((packet.src_edge, program, packet.queue))
            .or_default()
            .insert(packet.sequence)
    }

    /// An edge's new program counts from 1 again. Packets of the one before may still be on their way.
    pub(super) fn program_starts(&mut self, src_edge: u16, program: u32) {
        self.seen
            .retain(|(edge, of, _), _| *edge != src_edge || of + 1 >= program);
    }
}

/// The newest sequence number and which of the 128 up to it have been seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SequenceWindow {
    newest: u32,
    seen: u128,
}

impl SequenceWindow {
    /// False if `sequence` was there before, or is too old to tell.
    fn insert(&mut self, sequence: u32) -> bool {
        let ahead = sequence.wrapping_sub(self.newest) as i32;
        if self.seen == 0 || ahead > 0 {
            let shift = if self.seen == 0 { 128 } else { ahead as u32 };
            self.seen = self.seen.checked_shl(shift).unwrap_or(0) | 1;
            self.newest = sequence;
            return true;
        }
        let bit = 1u128.checked_shl(ahead.unsigned_abs()).unwrap_or(0);
        let new = bit != 0 && self.seen & bit == 0;
        self.seen |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sequence_number_is_new_once() {
        let mut window = SequenceWindow::default();
        for sequence in [1, 2, 5, 4, 3, 300, 299, 173] {
            assert!(window.insert(sequence), "{sequence} is new");
        }
        for sequence in [1, 3, 299, 300, 172] {
            assert!(!window.insert(sequence), "{sequence} is not new or too old");
        }
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut window = SequenceWindow::default();
        for sequence in [u32::MAX - 1, 0, u32::MAX, 1] {
            assert!(window.insert(sequence), "{sequence} is new");
        }
        assert!(!window.insert(u32::MAX));
    }

    #[test]
    fn each_program_of_an_edge_numbers_its_packets() {
        let packet = |sequence| Optical {
            src_edge: 1,
            sequence,
            ..Optical::default()
        };
        let mut numbers = Numbers::default();
        assert!(numbers.is_new(&packet(500), 1));
        numbers.program_starts(1, 2);
        assert!(numbers.is_new(&packet(1), 2));
        assert!(numbers.is_new(&packet(501), 1), "it was in flight");
        assert!(numbers.is_new(&packet(2), 2));
        assert!(!numbers.is_new(&packet(501), 1));
        assert!(!numbers.is_new(&packet(2), 2));
        numbers.program_starts(1, 3);
        assert_eq!(numbers.seen.len(), 1, "only the last two programs are remembered");
    }
}
