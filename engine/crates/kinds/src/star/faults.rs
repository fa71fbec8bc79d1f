// SPDX-License-Identifier: Apache-2.0
//! What programs that start and switches that stop do to a star, and what faults do to its fibres and clocks.

use slotwise_cards::slotted::{self, Jump};
use slotwise_scenario::{Device, LinkChange};
use slotwise_units::SignedDuration;

use super::parts::Star;
use slotwise_net::effects::Effects;

impl Star {
    pub(super) fn edge_starts(&mut self, fx: &mut Effects<'_>, edge: u16) {
        self.loses_demand(fx.look(), edge);
        let programs = &mut self.edges[usize::from(edge)].programs;
        *programs += 1;
        self.numbers.program_starts(edge, *programs);
        self.call_edge(fx, edge, slotted::Edge::starts);
    }

    pub(super) fn edge_stops(&mut self, fx: &mut Effects<'_>, edge: u16) {
        self.loses_demand(fx.look(), edge);
        self.call_edge(fx, edge, slotted::Edge::stops);
    }

    /// Changes a pair of fibres, if there is one between these.
    pub(super) fn change_link(&mut self, fx: &mut Effects<'_>, change: &LinkChange) {
        let edge = self.edges.get(usize::from(change.edge));
        let fibre = edge.and_then(|edge| edge.fibres.get(usize::from(change.core)));
        if let Some(fibre) = fibre.copied().flatten() {
            let changed = self.fibres[fibre].change(change);
            self.light_changed(fx, fibre, changed);
        }
    }

    /// Cuts a fibre or mends it. False if it was so already.
    pub(super) fn cut_link(&mut self, fx: &mut Effects<'_>, (edge, core): (u16, u16), is_cut: bool) -> bool {
        let fibre = self.edges[usize::from(edge)].fibres[usize::from(core)];
        let Some(fibre) = fibre.filter(|fibre| self.fibres[*fibre].is_cut() != is_cut) else {
            return false;
        };
        let changed = self.fibres[fibre].set_cut(is_cut);
        self.light_changed(fx, fibre, changed);
        true
    }

    /// The clocks of an edge's line cards jump.
    pub(super) fn clocks_jump(&mut self, fx: &mut Effects<'_>, edge: Device, step: SignedDuration) {
        let jump = if step < SignedDuration::ZERO {
            Jump::Back(step.abs())
        } else {
            Jump::Ahead(step.abs())
        };
        self.call_edge(fx, edge.number(), |card, now, out| card.clocks_jump(now, jump, out));
    }
}
