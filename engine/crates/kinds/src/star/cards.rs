// SPDX-License-Identifier: Apache-2.0
//! Cards of a star: where they are, and what is before and behind them.

use slotwise_cards::card::Actions;
use slotwise_cards::slotted;
use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::PORT_OPTICAL_BASE;

use super::parts::Star;
use slotwise_net::effects::{Effects, Look};

/// The card of an edge.
pub(super) fn edge_card(look: Look<'_>, edge: u16) -> &slotted::Edge {
    let card = look.card(Device::Edge(edge));
    card.expect("edges are added with their cards")
}

/// The card of a core, to be changed.
pub(super) fn core_card<'a>(fx: &'a mut Effects<'_>, core: u16) -> &'a mut slotted::Core {
    let card = fx.card_mut(Device::Core(core));
    card.expect("cores are added with their cards")
}

impl Star {
    /// The fibre behind an optical port of an edge.
    #[inline]
    pub(super) fn fibre_before(&self, edge: Device, port: Port) -> usize {
        self.fibre_between(edge.number(), port - PORT_OPTICAL_BASE)
    }

    /// The fibre between an edge and a core that has one.
    pub(super) fn fibre_between(&self, edge: u16, core: u16) -> usize {
        let fibre = self.edges[usize::from(edge)].fibres[usize::from(core)];
        fibre.expect("a line card is before a fibre")
    }

    /// Calls the card of an edge, and performs its actions.
    pub(super) fn call_edge<T>(
        &mut self,
        fx: &mut Effects<'_>,
        edge: u16,
        call: impl FnOnce(&mut slotted::Edge, Instant, &mut Actions) -> T,
    ) -> T {
        let node = fx.node(Device::Edge(edge));
        fx.call(self, node, call)
    }
}
