// SPDX-License-Identifier: Apache-2.0
//! Cards of a star: where they are, and what is before and behind them.

use slotwise_cards::card::Actions;
use slotwise_cards::slotted;
use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::{PORT_LINECARD, PORT_OPTICAL_BASE};

use crate::drops::Place;
use crate::net::node::NodeCard;
use crate::world::Fabric;

/// Core behind an optical port of an edge.
pub(crate) fn core_of(port: Port) -> Option<u16> {
    (PORT_OPTICAL_BASE..PORT_LINECARD)
        .contains(&port)
        .then(|| port - PORT_OPTICAL_BASE)
}

impl Fabric {
    /// The fibre behind an optical port of an edge.
    pub(crate) fn fibre_before(&self, node: usize, port: Port) -> usize {
        let core = core_of(port).expect("a line card is before a fibre");
        self.fibre_between(self.nodes[node].device.number(), core)
    }

    /// The fibre between an edge and a core that has one.
    pub(super) fn fibre_between(&self, edge: u16, core: u16) -> usize {
        let fibre = self.star.edges[usize::from(edge)].fibres[usize::from(core)];
        fibre.expect("a line card is before a fibre")
    }

    /// The card of an edge.
    pub(super) fn slotted_edge(&self, edge: u16) -> &slotted::Edge {
        match &self.nodes[self.node(Device::Edge(edge))].own_card {
            NodeCard::SlottedEdge(card) => card,
            _ => unreachable!("edges are added with their cards"),
        }
    }

    /// Returns the card of an edge, to be changed.
    pub(super) fn slotted_edge_mut(&mut self, edge: u16) -> &mut slotted::Edge {
        let node = self.node(Device::Edge(edge));
        match &mut self.nodes[node].own_card {
            NodeCard::SlottedEdge(card) => card,
            _ => unreachable!("edges are added with their cards"),
        }
    }

    /// Calls the card of an edge, and performs its actions.
    pub(super) fn call_edge<T>(
        &mut self,
        edge: u16,
        call: impl FnOnce(&mut slotted::Edge, Instant, &mut Actions) -> T,
    ) -> T {
        let (now, node) = (Instant::from_ns(self.now_ns), self.node(Device::Edge(edge)));
        let NodeCard::SlottedEdge(card) = &mut self.nodes[node].own_card else {
            unreachable!("edges are added with their cards")
        };
        let result = call(card, now, &mut self.out);
        self.perform(node);
        result
    }

    /// The card of a core.
    pub(super) fn slotted_core(&self, core: u16) -> &slotted::Core {
        match &self.nodes[self.node(Device::Core(core))].own_card {
            NodeCard::SlottedCore(card) => card,
            _ => unreachable!("cores are added with their cards"),
        }
    }

    /// Returns the card of a core, to be changed.
    pub(super) fn slotted_core_mut(&mut self, core: u16) -> &mut slotted::Core {
        let node = self.node(Device::Core(core));
        match &mut self.nodes[node].own_card {
            NodeCard::SlottedCore(card) => card,
            _ => unreachable!("cores are added with their cards"),
        }
    }

    /// Place behind a port of a core, by the first of its fibres.
    pub(crate) fn place_behind(&self, core: u16, port: Port) -> Place {
        let star = &*self.star;
        let fibres = star.cores[usize::from(core)]
            .ports
            .get(usize::from(port - PORT_OPTICAL_BASE));
        match fibres.and_then(|fibres| fibres.first()) {
            Some(&fibre) => Place::Fibre {
                from: Device::Core(core),
                to: Device::Edge(star.fibres[fibre].edge),
            },
            None => Place::Device(Device::Core(core)),
        }
    }
}
