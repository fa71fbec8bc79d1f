// SPDX-License-Identifier: Apache-2.0
//! What must hold in every run, checked from packets and the fabric's own clock, apart from P4. Each kind of network has checks
//! of its own.

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
    /// No (source edge, its program, queue, sequence) twice, nor (source, ringlet, queue, sequence) of a ring.
    Duplicate,
    /// No packet sent to a port that there is not, or to a host that it is not for, and no message that no card can read.
    Astray,
    /// On a ring no packet lost by a station that it passes.
    TransitLoss,
    /// No packet at a station of a ring twice.
    Round,
    /// Nothing added to a ring beyond what P4 told the card, and its bucket.
    AddRate,
    /// Never more than two of the longest frames in an insertion buffer of a ring.
    Insertion,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Invariant; 9] = [
        Invariant::Collision,
        Invariant::Guard,
        Invariant::Ungranted,
        Invariant::Duplicate,
        Invariant::Astray,
        Invariant::TransitLoss,
        Invariant::Round,
        Invariant::AddRate,
        Invariant::Insertion,
    ];
    /// Those of stars.
    pub(crate) const OF_STARS: &'static [Invariant] = &[
        Invariant::Collision,
        Invariant::Guard,
        Invariant::Ungranted,
        Invariant::Duplicate,
    ];
    /// Those of networks of routers whose tables nobody gets wrong.
    pub(crate) const OF_ROUTERS: &'static [Invariant] = &[Invariant::Astray];
    /// Those of rings.
    pub(crate) const OF_RINGS: &'static [Invariant] = &[
        Invariant::Duplicate,
        Invariant::Astray,
        Invariant::TransitLoss,
        Invariant::Round,
        Invariant::AddRate,
        Invariant::Insertion,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Invariant::Collision => "collision",
            Invariant::Guard => "guard",
            Invariant::Ungranted => "ungranted",
            Invariant::Duplicate => "duplicate",
            Invariant::Astray => "astray",
            Invariant::TransitLoss => "transit_loss",
            Invariant::Round => "round",
            Invariant::AddRate => "add_rate",
            Invariant::Insertion => "insertion",
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
    checked: Vec<Invariant>,
    records: [Record; Invariant::ALL.len()],
}

impl Invariants {
    /// Of a network for which these are checked.
    pub(crate) fn of(checked: impl IntoIterator<Item = Invariant>) -> Invariants {
        Invariants {
            checked: checked.into_iter().collect(),
            ..Invariants::default()
        }
    }

    /// The rules that are checked.
    pub fn checked(&self) -> &[Invariant] {
        &self.checked
    }

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

    /// Notes that a rule was broken, if it is one of this network.
    pub(crate) fn violated(&mut self, invariant: Invariant, at_ns: u64, place: Place, packet: Option<Optical>) {
        if !self.checked.contains(&invariant) {
            return;
        }
        let record = &mut self.records[invariant as usize];
        record.count += 1;
        if record.first.len() < KEPT {
            record.first.push(Violation { at_ns, place, packet });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_violations_are_kept_and_all_counted() {
        let mut invariants = Invariants::of(Invariant::OF_STARS.iter().copied());
        assert!(invariants.held());
        for at_ns in 0..100 {
            let place = Place::LineCard { edge: 0, core: 0 };
            invariants.violated(Invariant::Guard, at_ns, place, None);
            invariants.violated(Invariant::Astray, at_ns, place, None);
        }
        assert!(!invariants.held());
        assert_eq!(invariants.count(Invariant::Guard), 100);
        assert_eq!(invariants.count(Invariant::Collision), 0);
        assert_eq!(invariants.count(Invariant::Astray), 0, "it is not checked");
        assert_eq!(invariants.first(Invariant::Guard).len(), KEPT);
        assert_eq!(invariants.first(Invariant::Guard)[0].at_ns, 0);
    }
}
