// SPDX-License-Identifier: Apache-2.0
//! What must hold in every run, checked from packets and the fabric's own clock, apart from P4.

use std::collections::BTreeMap;

use slotwise_wire::Optical;

use crate::drops::Place;

/// Violations of one kind of which time and place are kept.
const KEPT: usize = 16;

/// A rule of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// No two packets at once in one core output, nor in one input that edges share.
    Collision,
    /// No packet in a guard or across a slot's end at a core.
    Guard,
    /// No packet lost in a core, and none at an edge that it is not for.
    Ungranted,
    /// No (source edge, its program, queue, sequence) twice.
    Duplicate,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Invariant; 4] = [
        Invariant::Collision,
        Invariant::Guard,
        Invariant::Ungranted,
        Invariant::Duplicate,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Invariant::Collision => "collision",
            Invariant::Guard => "guard",
            Invariant::Ungranted => "ungranted",
            Invariant::Duplicate => "duplicate",
        }
    }
}

/// One broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// Fabric time.
    pub at_ns: u64,
    /// Where.
    pub place: Place,
    /// The packet's optical header, if it has one.
    pub packet: Option<Optical>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Record {
    count: u64,
    first: Vec<Violation>,
}

/// Violations so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invariants {
    records: [Record; Invariant::ALL.len()],
    /// By source edge, its program and queue.
    seen: BTreeMap<(u16, u32, u16), SequenceWindow>,
}

impl Invariants {
    /// How often a rule was broken.
    pub fn count(&self, invariant: Invariant) -> u64 {
        self.records[invariant as usize].count
    }

    /// The first violations of a rule, at most 16.
    pub fn first(&self, invariant: Invariant) -> &[Violation] {
        &self.records[invariant as usize].first
    }

    /// Whether no rule was broken.
    pub fn held(&self) -> bool {
        self.records.iter().all(|record| record.count == 0)
    }

    pub(crate) fn violated(&mut self, invariant: Invariant, at_ns: u64, place: Place, packet: Option<Optical>) {
        let record = &mut self.records[invariant as usize];
        record.count += 1;
        if record.first.len() < KEPT {
            record.first.push(Violation { at_ns, place, packet });
        }
    }

    /// Notes that a packet, numbered by the `program`-th one of its edge, has arrived; false if it had before.
    pub(crate) fn is_new(&mut self, packet: &Optical, program: u32) -> bool {
        self.seen
            .entry((packet.src_edge, program, packet.queue))
            .or_default()
            .insert(packet.sequence)
    }

    /// An edge's new program counts from 1 again. Packets of the one before may still be on their way.
    pub(crate) fn program_starts(&mut self, src_edge: u16, program: u32) {
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
        let mut invariants = Invariants::default();
        assert!(invariants.is_new(&packet(500), 1));
        invariants.program_starts(1, 2);
        assert!(invariants.is_new(&packet(1), 2));
        assert!(invariants.is_new(&packet(501), 1), "it was on its way");
        assert!(invariants.is_new(&packet(2), 2));
        assert!(!invariants.is_new(&packet(501), 1));
        assert!(!invariants.is_new(&packet(2), 2));
        invariants.program_starts(1, 3);
        assert_eq!(
            invariants.seen.len(),
            1,
            "of programs before the last but one nothing is kept"
        );
    }

    #[test]
    fn the_first_violations_are_kept_and_all_counted() {
        let mut invariants = Invariants::default();
        assert!(invariants.held());
        for at_ns in 0..100 {
            let place = Place::LineCard { edge: 0, core: 0 };
            invariants.violated(Invariant::Guard, at_ns, place, None);
        }
        assert!(!invariants.held());
        assert_eq!(invariants.count(Invariant::Guard), 100);
        assert_eq!(invariants.count(Invariant::Collision), 0);
        assert_eq!(invariants.first(Invariant::Guard).len(), KEPT);
        assert_eq!(invariants.first(Invariant::Guard)[0].at_ns, 0);
    }
}
