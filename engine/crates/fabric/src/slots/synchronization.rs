// SPDX-License-Identifier: Apache-2.0
//! Errors of synchronization: how far the slots of edges are from those of their cores.

use slotwise_units::Instant;

use crate::fabric::Fabric;
use crate::link::FibrePair;

/// How far the slots of an edge were from the core's, as its light reaches the core.
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
#[derive(Default)]
pub(crate) struct SyncErrors {
    all: SyncError,
    /// Since [`Fabric::take_sync_errors`] was called.
    recent: SyncError,
}

impl SyncErrors {
    /// A slot starts: light that leaves now reaches the core at a time, the slot of the core starts at another.
    pub(super) fn add(&mut self, at_core: Instant, reaches: Instant) {
        let error_ns = at_core.ns() as i64 - reaches.ns() as i64;
        self.all.add(error_ns);
        self.recent.add(error_ns);
    }
}

impl Fabric {
    /// How well each edge's slots met the core's since the run began, by line card.
    pub fn sync_errors(&self) -> Vec<(u16, u16, SyncError)> {
        let fibres = self.star.fibres.iter().zip(&self.star.sync_errors);
        fibres
            .map(|(pair, errors)| (pair.edge, pair.core, errors.all))
            .collect()
    }

    /// How far the slots of each line card were from the core's since the last call; [`Fabric::sync_errors`] stays.
    pub fn take_sync_errors(&mut self) -> Vec<(u16, u16, SyncError)> {
        let star = &mut *self.star;
        let fibres = star.fibres.iter().zip(&mut star.sync_errors);
        let take =
            |(pair, errors): (&FibrePair, &mut SyncErrors)| (pair.edge, pair.core, std::mem::take(&mut errors.recent));
        fibres.map(take).collect()
    }

    /// Forgets what [`Fabric::sync_errors`] has counted.
    pub fn reset_sync_errors(&mut self) {
        let errors = self.star.sync_errors.iter_mut();
        errors.for_each(|errors| errors.all = SyncError::default());
    }
}
