// SPDX-License-Identifier: Apache-2.0
//! Errors of synchronization of all edges.

use slotwise_cards::slotted::{self, SyncError, SyncErrors};

use super::cards::edge_card;
use super::parts::Star;
use crate::kind::{View, ViewMut};
use slotwise_scenario::{Device, optical_port};

impl View<'_, Star> {
    /// Errors of each edge since the run began, by line card: edge, core, errors.
    pub fn sync_errors(&self) -> Vec<(u16, u16, SyncError)> {
        let fibres = self.kind.fibres.iter();
        let errors = |edge, core| edge_card(self.look, edge).sync_errors(optical_port(core));
        fibres
            .map(|pair| {
                let all = errors(pair.edge, pair.core).map(|errors| errors.all);
                (pair.edge, pair.core, all.unwrap_or_default())
            })
            .collect()
    }
}

impl ViewMut<'_, Star> {
    /// Errors of each line card since the last call; [`View::sync_errors`] stays.
    pub fn take_sync_errors(&mut self) -> Vec<(u16, u16, SyncError)> {
        self.each_sync_errors(|errors| std::mem::take(&mut errors.recent))
    }

    /// Forgets what [`View::sync_errors`] has counted.
    pub fn reset_sync_errors(&mut self) {
        self.each_sync_errors(|errors| std::mem::take(&mut errors.all));
    }

    fn each_sync_errors(&mut self, of: impl Fn(&mut SyncErrors) -> SyncError) -> Vec<(u16, u16, SyncError)> {
        let mut all = Vec::new();
        for pair in &self.kind.fibres {
            let card = self.fx.card_mut::<slotted::Edge>(Device::Edge(pair.edge));
            let errors = card.and_then(|card| card.sync_errors_mut(optical_port(pair.core)));
            all.push((pair.edge, pair.core, errors.map(&of).unwrap_or_default()));
        }
        all
    }
}
