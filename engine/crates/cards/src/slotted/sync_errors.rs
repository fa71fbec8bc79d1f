// SPDX-License-Identifier: Apache-2.0
//! Errors of synchronization: difference between the slots of an edge and those of a core.

use slotwise_units::Instant;

/// Difference between the slots of an edge and the core's, as its light reaches the core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncError {
    /// Slots that were started.
    pub slots: u64,
    /// Most that one came too early: expected less actual time, as in table 3.2 of the AAPN thesis.
    pub max_ns: i64,
    /// Least; negative when one came too late.
    pub min_ns: i64,
    /// Sum over all slots.
    pub sum_ns: i64,
}

impl SyncError {
    fn add(&mut self, error_ns: i64) {
        (self.max_ns, self.min_ns) = match self.slots {
            0 => (error_ns, error_ns),
            _ => (self.max_ns.max(error_ns), self.min_ns.min(error_ns)),
        };
        self.slots += 1;
        self.sum_ns += error_ns;
    }
}

/// Errors before a fibre.
#[derive(Debug, Default)]
pub struct SyncErrors {
    /// Since the run began, or since they were forgotten.
    pub all: SyncError,
    /// Since they were taken.
    pub recent: SyncError,
}

impl SyncErrors {
    /// Notes the start of a slot: light that leaves now reaches the core at a time, and the slot of the core starts at another.
    pub(super) fn add(&mut self, at_core: Instant, reaches: Instant) {
        let error_ns = at_core.ns() as i64 - reaches.ns() as i64;
        self.all.add(error_ns);
        self.recent.add(error_ns);
    }
}
