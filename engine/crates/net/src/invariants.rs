// SPDX-License-Identifier: Apache-2.0
//! Rules that must hold in every run, checked from packets and the network's own clock, apart from P4. Each kind of network has checks
//! of its own.

pub use slotwise_cards::Invariant;
use slotwise_units::Instant;
use slotwise_wire::Optical;

use crate::drops::Place;

/// Violations of one kind of which time and place are kept.
const KEPT: usize = 16;

/// One broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// Simulated time.
    pub at: Instant,
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
    checked: Vec<Invariant>,
    /// Of each of these.
    records: Vec<Record>,
}

impl Invariants {
    /// Of a network for which these are checked.
    pub fn of(checks: impl IntoIterator<Item = Invariant>) -> Invariants {
        let mut checked: Vec<Invariant> = Vec::new();
        for check in checks {
            if !checked.contains(&check) {
                checked.push(check);
            }
        }
        let records = vec![Record::default(); checked.len()];
        Invariants { checked, records }
    }

    /// Checks a rule no more.
    pub fn leave_out(&mut self, invariant: Invariant) {
        if let Some(place) = self.checked.iter().position(|checked| *checked == invariant) {
            self.checked.remove(place);
            self.records.remove(place);
        }
    }

    /// The rules that are checked.
    pub fn checked(&self) -> &[Invariant] {
        &self.checked
    }

    fn record(&self, invariant: Invariant) -> Option<&Record> {
        let place = self.checked.iter().position(|checked| *checked == invariant)?;
        self.records.get(place)
    }

    /// How often a rule was broken.
    pub fn count(&self, invariant: Invariant) -> u64 {
        self.record(invariant).map_or(0, |record| record.count)
    }

    /// The first violations of a rule, at most 16.
    pub fn first(&self, invariant: Invariant) -> &[Violation] {
        self.record(invariant).map_or(&[], |record| &record.first)
    }

    /// Whether no rule was broken.
    pub fn held(&self) -> bool {
        self.records.iter().all(|record| record.count == 0)
    }

    /// Notes that a rule was broken, if it is one of this network.
    pub fn violated(&mut self, invariant: Invariant, at: Instant, place: Place, packet: Option<Optical>) {
        let mut records = self.checked.iter().zip(&mut self.records);
        if let Some((_, record)) = records.find(|(checked, _)| **checked == invariant) {
            record.count += 1;
            if record.first.len() < KEPT {
                record.first.push(Violation { at, place, packet });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_violations_are_kept_and_all_counted() {
        let mut invariants = Invariants::of([Invariant::GUARD, Invariant::DUPLICATE, Invariant::DUPLICATE]);
        assert!(invariants.held());
        assert_eq!(
            invariants.checked(),
            [Invariant::GUARD, Invariant::DUPLICATE],
            "each once"
        );
        for at_ns in 0..100 {
            let place = Place::LineCard { edge: 0, core: 0 };
            let at = Instant::from_ns(at_ns);
            invariants.violated(Invariant::GUARD, at, place, None);
            invariants.violated(Invariant::ASTRAY, at, place, None);
        }
        assert!(!invariants.held());
        assert_eq!(invariants.count(Invariant::GUARD), 100);
        assert_eq!(invariants.count(Invariant::COLLISION), 0);
        assert_eq!(invariants.count(Invariant::ASTRAY), 0, "it is not checked");
        assert_eq!(invariants.first(Invariant::GUARD).len(), KEPT);
        assert_eq!(invariants.first(Invariant::GUARD)[0].at, Instant::ZERO);
    }
}
