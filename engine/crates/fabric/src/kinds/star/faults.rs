// SPDX-License-Identifier: Apache-2.0
//! What programs that start and switches that stop do to a star, and what faults do to its fibres and clocks.

use slotwise_cards::slotted::{self, Jump};
use slotwise_scenario::Device;
use slotwise_units::Duration;

use crate::world::Fabric;

impl Fabric {
    pub(super) fn edge_starts(&mut self, device: Device) {
        let edge = device.number();
        self.loses_demand(edge);
        let star = &mut *self.star;
        let programs = &mut star.edges[usize::from(edge)].programs;
        *programs += 1;
        star.numbers.program_starts(edge, *programs);
        self.call_edge(edge, slotted::Edge::starts);
    }

    pub(super) fn edge_stops(&mut self, device: Device) {
        let edge = device.number();
        self.loses_demand(edge);
        self.call_edge(edge, slotted::Edge::stops);
    }

    /// Cuts a fibre or mends it. False if it was so already.
    pub(crate) fn cut_link(&mut self, (edge, core): (u16, u16), cut: bool) -> bool {
        let fibre = self.star.edges[usize::from(edge)].fibres[usize::from(core)];
        let Some(fibre) = fibre.filter(|fibre| self.star.fibres[*fibre].is_cut() != cut) else {
            return false;
        };
        let changed = self.star.fibres[fibre].set_cut(cut);
        self.light_changed(fibre, changed);
        true
    }

    /// The clocks of an edge's line cards jump.
    pub(crate) fn step_clocks(&mut self, edge: u16, step_ns: i64) {
        let size = Duration::from_ns(step_ns.unsigned_abs());
        let jump = if step_ns < 0 {
            Jump::Back(size)
        } else {
            Jump::Ahead(size)
        };
        self.call_edge(edge, |card, now, out| card.clocks_jump(now, jump, out));
    }
}
