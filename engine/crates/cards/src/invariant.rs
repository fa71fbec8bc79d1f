// SPDX-License-Identifier: Apache-2.0
//! Rules that must hold in every run. Each is a constant beside the card that checks it, or in the folder of its kind of
//! networks.

/// A rule that must hold in every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invariant {
    name: &'static str,
    broken: &'static str,
}

impl Invariant {
    /// No (source edge, its program, queue, sequence) twice, nor (source, ringlet, queue, sequence) of a ring.
    pub const DUPLICATE: Invariant = Invariant::new("duplicate", "duplicate packets");
    /// No packet sent to a port that there is not, or to a host that it is not for, and no message that no card can read.
    pub const ASTRAY: Invariant = Invariant::new("astray", "misrouted packets");

    /// One by its name in reports, and what a summary calls packets that break it.
    pub const fn new(name: &'static str, broken: &'static str) -> Invariant {
        Invariant { name, broken }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// What packets that break it are called in a summary.
    pub fn broken(self) -> &'static str {
        self.broken
    }
}
