// SPDX-License-Identifier: Apache-2.0
//! Errors of synchronization: difference between the slots of an edge and those of a core.

use slotwise_units::{Instant, SignedDuration};

/// Difference between the slots of an edge and the core's, as its light reaches the core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncError {
    /// Slots that were started.
    pub slots: u64,
    /// Most that one came too early: expected less actual time, as in table 3.2 of the AAPN thesis.
    pub max: SignedDuration,
    /// Least; negative when one came too late.
    pub min: SignedDuration,
    /// Sum over all slots.
    pub sum: SignedDuration,
}

impl SyncError {
    fn add(&mut self, error: SignedDuration) {
        (self.max, self.min) = match self.slots {
            0 => (error, error),
            _ => (self.max.max(error), self.min.min(error)),
        };
        self.slots += 1;
        self.sum += error;
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
        let error = at_core.signed_since(reaches);
        self.all.add(error);
        self.recent.add(error);
    }
}
