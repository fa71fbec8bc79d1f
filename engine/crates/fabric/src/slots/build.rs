// SPDX-License-Identifier: Apache-2.0
//! Stars of a scenario: edges, cores, fibres, the edges' hosts.

use slotwise_scenario::{Device, Edge as EdgeOfScenario, Fibre, HostId, Scenario, optical_port};
use slotwise_wire::{Ethernet, PORT_CORE_CONTROL};

use super::cards::{CONTROL, LINE_CARD};
use super::trains::StarTrains;
use super::{AT_CORE, AT_EDGE, CORE, Card, Core, EDGE, Edge, Star, SyncError};
use crate::access::Host;
use crate::build::NS_PER_MS;
use crate::event::Event;
use crate::fabric::{Change, Fabric};
use crate::kind::{CardAt, OF_STAR, Part};
use crate::lane::LaneEnd;
use crate::link::FibrePair;
use crate::node::NodeCard;
use slotwise_cards::card::Lane;
use slotwise_cards::fifo::{Fifo, Limit};
use slotwise_cards::gates::{Frame, Gates, Ticks};
use slotwise_cards::linecard::LineCard;
use slotwise_cards::slotted::{self, ControlLink};
use slotwise_cards::transmission_ns;
use slotwise_units::Duration;

impl Fabric {
    /// Edges, cores, what joins them, and the edges' hosts.
    pub(super) fn add_star(&mut self, scenario: &Scenario, frame_records: bool) {
        self.star = Part::of(Star::of(scenario, frame_records));
        let changes = scenario.link_changes.iter();
        self.changes
            .extend(changes.map(|change| (change.at_ms * NS_PER_MS, Change::Fibre(*change))));
        let edges = scenario.edges.iter().map(|edge| Device::Edge(edge.id));
        let cores = scenario.cores.iter().map(|core| Device::Core(core.id));
        self.add_nodes(&EDGE, edges);
        self.add_nodes(&CORE, cores);
        for _ in &scenario.edges {
            self.star.edges.push(Edge {
                cards: vec![None; scenario.cores.len()],
                programs: 0,
            });
        }
        for core in &scenario.cores {
            self.star.cores.push(Core::new(scenario, core));
            let node = self.node(Device::Core(core.id));
            let (card, first) = slotted::Core::new(self.star.slots.at_cores());
            self.nodes[node].own_card = NodeCard::SlottedCore(Box::new(card));
            let CardAt { card, .. } = CardAt::of_node(&OF_STAR, node, 0);
            self.events.schedule(first.ns(), Event::CoreSlot { card });
        }
        for edge in &scenario.edges {
            self.add_hosts(scenario, edge);
            for fibre in &edge.fibres {
                self.add_fibre(scenario, edge.id, fibre);
            }
        }
        for core in &scenario.cores {
            self.add_control(core.id, core.master);
            let node = self.node(Device::Core(core.id));
            for (fibres, port) in self.star.cores[usize::from(core.id)].ports.iter().zip(0..) {
                if !fibres.is_empty() {
                    let port = optical_port(port);
                    self.nodes[node].set_card(port, CardAt::of_node(&OF_STAR, node, port));
                }
            }
        }
    }

    /// Links a core with its master, both ways.
    fn add_control(&mut self, core: u16, master: u16) {
        let port = PORT_CORE_CONTROL;
        let ends = [Device::Core(core), Device::Edge(master)];
        let [to_core, to_master] = ends.map(|device| self.add_lane(LaneEnd::Port { device, port }));
        self.star.cores[usize::from(core)].control = to_core;
        let delay = Duration::from_ns(self.star.fibres[self.fibre_between(master, core)].delay_ns);
        self.core_card_mut(core)
            .set_control(ControlLink::new(to_master as Lane, delay));
        let [at_core, at_master] = ends.map(|device| self.node(device));
        self.nodes[at_core].set_card(port, CardAt::of_node(&OF_STAR, at_core, port));
        self.nodes[at_master].set_card(port, CardAt::new(&CONTROL, usize::from(core)));
    }

    fn add_hosts(&mut self, scenario: &Scenario, edge: &EdgeOfScenario) {
        let hosts = &scenario.hosts;
        let (rate_bps, delay_ns) = (hosts.access_rate.bps(), hosts.access_delay.ns());
        let limit = Limit::Ns(transmission_ns(scenario.queues.limit.get(), rate_bps));
        let device = Device::Edge(edge.id);
        for index in 0..edge.hosts {
            let id = HostId { edge: edge.id, index };
            let port = id.access_port();
            let up = self.add_lane(LaneEnd::Port { device, port });
            let up = Fifo::new(up, (rate_bps, delay_ns), limit, 0).up_to(hosts.mtu as usize + Ethernet::SIZE);
            let down = self.add_lane(LaneEnd::Host(self.hosts.len()));
            let down = Fifo::new(down, (rate_bps, delay_ns), limit, 0);
            self.add_link(down, device, port);
            self.add_host(Host {
                id: Some(id),
                device,
                port,
                uplink: up,
            });
        }
    }

    fn add_fibre(&mut self, scenario: &Scenario, edge: u16, fibre: &Fibre) {
        let index = self.star.cards.len();
        self.star.edges[usize::from(edge)].cards[usize::from(fibre.core)] = Some(index);
        let node = self.node(Device::Edge(edge));
        let port = optical_port(fibre.core);
        let card = CardAt::of_node(&LINE_CARD, node, port);
        self.nodes[node].set_card(port, card);
        self.star.cores[usize::from(fibre.core)].ports[usize::from(fibre.port)].push(index);
        self.core_card_mut(fibre.core)
            .add_fibre(optical_port(fibre.port), edge, fibre.rate);
        let lanes = [&AT_CORE, &AT_EDGE].map(|end| self.add_lane(LaneEnd::own(end, index)));
        let pair = FibrePair::new(self.seed, edge, fibre, lanes);
        self.star
            .fibres
            .push(pair.with_optics(scenario.optics, scenario.edges_at_port(fibre)));
        let (clock, time_difference) = Fabric::own_time(self.seed, scenario, edge, fibre);
        let (voqs, limit_bytes) = (scenario.card_voqs(fibre.core), scenario.queues.limit.get());
        let queues = LineCard::new(voqs, limit_bytes, scenario.wire_mtu().get());
        let slots = Frame {
            slots: self.star.slots.count,
            slot: Duration::from_ns(self.star.slots.slot_ns),
            signaling: self.star.slots.signaling,
        };
        let ticks = Ticks {
            report_slot: u64::from(scenario.signaling_slot(edge)),
            first_slot: scenario.first_slot_ticks(fibre.core, edge),
            signaling: scenario.signaling_ticks(fibre.core),
        };
        self.star.cards.push(Card {
            edge,
            core: fibre.core,
            gates: Gates::new(port, queues, slots, ticks),
            trains: StarTrains::of(scenario, edge, fibre),
            clock,
            time_difference,
            sync_error: SyncError::default(),
            recent_sync_error: SyncError::default(),
            answer_ns: None,
            must_answer: false,
            next_slot: 0,
            generation: 0,
        });
        self.schedule_card_tick(index);
        if scenario.has_xcp() {
            let epoch_ns = self.star.slots.epoch_ns;
            self.star.cards[index].gates.queues.start_timers(epoch_ns);
            self.events.schedule(epoch_ns, Event::timer(card));
        }
    }
}
