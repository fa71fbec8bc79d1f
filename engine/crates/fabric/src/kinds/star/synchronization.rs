// SPDX-License-Identifier: Apache-2.0
//! Errors of synchronization of all edges.

use slotwise_cards::slotted::{SyncError, SyncErrors};

use crate::world::Fabric;
use slotwise_scenario::optical_port;

impl Fabric {
    /// Errors of each edge since the run began, by line card: edge, core, errors.
    pub fn sync_errors(&self) -> Vec<(u16, u16, SyncError)> {
        let fibres = self.star.fibres.iter();
        let errors = |edge, core| self.slotted_edge(edge).sync_errors(optical_port(core));
        fibres
            .map(|pair| {
                let all = errors(pair.edge, pair.core).map(|errors| errors.all);
                (pair.edge, pair.core, all.unwrap_or_default())
            })
            .collect()
    }

    /// Errors of each line card since the last call; [`Fabric::sync_errors`] stays.
    pub fn take_sync_errors(&mut self) -> Vec<(u16, u16, SyncError)> {
        self.each_sync_errors(|errors| std::mem::take(&mut errors.recent))
    }

    /// Forgets what [`Fabric::sync_errors`] has counted.
    pub fn reset_sync_errors(&mut self) {
        self.each_sync_errors(|errors| std::mem::take(&mut errors.all));
    }

    fn each_sync_errors(&mut self, of: impl Fn(&mut SyncErrors) -> SyncError) -> Vec<(u16, u16, SyncError)> {
        let fibres = self.star.fibres.iter().map(|pair| (pair.edge, pair.core));
        let fibres: Vec<_> = fibres.collect();
        let mut each = |(edge, core)| {
            let errors = self.slotted_edge_mut(edge).sync_errors_mut(optical_port(core));
            (edge, core, errors.map(&of).unwrap_or_default())
        };
        fibres.into_iter().map(&mut each).collect()
    }
}
