// SPDX-License-Identifier: Apache-2.0
//! Stars of a scenario: edges, cores, fibres, the edges' hosts.

use slotwise_scenario::{Device, Edge as EdgeOfScenario, Fibre, HostId, Scenario, Signaling, optical_port};
use slotwise_wire::{Ethernet, PORT_CORE_CONTROL, SIGNALING_QUEUE};

use super::light::state_of;
use super::{AT_CORE, AT_EDGE, CORE, Core, EDGE, Edge, Star};
use crate::hosts::Host;
use crate::kinds::star::fibre::FibrePair;
use crate::net::build::{NS_PER_MS, intervals};
use crate::net::event::{CardTimer, Event};
use crate::net::kind::Part;
use crate::net::lane::LaneEnd;
use crate::net::node::{Before, NodeCard};
use crate::world::{Change, Fabric};
use slotwise_cards::aggregation::Aggregation;
use slotwise_cards::card::Lane;
use slotwise_cards::fifo::{Fifo, Limit};
use slotwise_cards::gates::Ticks;
use slotwise_cards::linecard::LineCard;
use slotwise_cards::random::{Stream, generator};
use slotwise_cards::slotted::{self, ControlLink, Drift, FibreSettings, LocalClock, Trains};
use slotwise_cards::train_card::TrainCard;
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
        // Edges that join by invitation report alarms. Out of band there is no other sign of light.
        let has_alarms = scenario.joins_by_invitation() || scenario.frame.signaling == Signaling::OutOfBand;
        for edge in &scenario.edges {
            let node = self.node(Device::Edge(edge.id));
            let card = slotted::Edge::new(edge.id, self.star.slots, has_alarms);
            self.nodes[node].own_card = NodeCard::SlottedEdge(Box::new(card));
            self.star.edges.push(Edge {
                fibres: vec![None; scenario.cores.len()],
                programs: 0,
            });
        }
        for core in &scenario.cores {
            self.star.cores.push(Core::new(scenario, core));
            let node = self.node(Device::Core(core.id));
            let (card, first) = slotted::Core::new(self.star.slots);
            self.nodes[node].own_card = NodeCard::SlottedCore(Box::new(card));
            let timer = CardTimer::new(node, 0);
            self.events.schedule(first.ns(), Event::CoreSlot(timer));
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
            for port in 0..self.star.cores[usize::from(core.id)].ports.len() {
                let star = &*self.star;
                let fibres = star.cores[usize::from(core.id)].ports[port].iter();
                let edges: Vec<u16> = fibres.map(|fibre| star.fibres[*fibre].edge).collect();
                for edge in &edges {
                    let port = optical_port(core.id);
                    self.slotted_edge_mut(*edge).set_sharing(port, edges.clone());
                }
                if !edges.is_empty() {
                    let port = optical_port(port as u16);
                    self.nodes[node].set_before(port, Before::Card);
                }
            }
        }
    }

    /// Links a core with its master, in both directions.
    fn add_control(&mut self, core: u16, master: u16) {
        let port = PORT_CORE_CONTROL;
        let ends = [Device::Core(core), Device::Edge(master)];
        let [to_core, to_master] = ends.map(|device| self.add_lane(LaneEnd::Port { device, port }));
        let delay = Duration::from_ns(self.star.fibres[self.fibre_between(master, core)].delay_ns);
        self.slotted_core_mut(core)
            .set_control(ControlLink::new(to_master as Lane, delay));
        let control = ControlLink::new(to_core as Lane, delay);
        self.slotted_edge_mut(master).set_control(optical_port(core), control);
        let [at_core, at_master] = ends.map(|device| self.node(device));
        self.nodes[at_core].set_before(port, Before::Card);
        self.nodes[at_master].set_before(port, Before::Card);
    }

    fn add_hosts(&mut self, scenario: &Scenario, edge: &EdgeOfScenario) {
        let hosts = &scenario.hosts;
        let link = (hosts.access_rate, hosts.access_delay);
        let limit = Limit::Time(hosts.access_rate.time(scenario.queues.limit));
        let device = Device::Edge(edge.id);
        for index in 0..edge.hosts {
            let id = HostId { edge: edge.id, index };
            let port = id.access_port();
            let up = self.add_lane(LaneEnd::Port { device, port });
            let up = Fifo::new(up, link, limit, 0).up_to(hosts.mtu as usize + Ethernet::SIZE);
            let down = self.add_lane(LaneEnd::Host(self.hosts.len()));
            let down = Fifo::new(down, link, limit, 0);
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
        let index = self.star.fibres.len();
        self.star.edges[usize::from(edge)].fibres[usize::from(fibre.core)] = Some(index);
        let node = self.node(Device::Edge(edge));
        let port = optical_port(fibre.core);
        self.nodes[node].set_before(port, Before::Card);
        self.star.cores[usize::from(fibre.core)].ports[usize::from(fibre.port)].push(index);
        self.slotted_core_mut(fibre.core)
            .add_fibre(optical_port(fibre.port), edge, fibre.rate);
        let lanes = [&AT_CORE, &AT_EDGE].map(|end| self.add_lane(LaneEnd::own(end, index)));
        let pair = FibrePair::new(self.seed, edge, fibre, lanes);
        let pair = pair.with_optics(scenario.optics, scenario.edges_at_port(fibre));
        let (clock, time_difference) = own_time(self.seed, scenario, edge, fibre);
        let settings = FibreSettings {
            port,
            state: state_of(&pair),
            queues: queues_before(scenario, fibre),
            ticks: Ticks {
                report_slot: u64::from(scenario.signaling_slot(edge)),
                first_slot: scenario.first_slot_ticks(fibre.core, edge),
                signaling: scenario.signaling_ticks(fibre.core),
            },
            clock,
            time_difference,
            trains: trains_before(scenario, edge, fibre),
        };
        self.star.fibres.push(pair);
        self.call_edge(edge, |card, now, out| card.add_fibre(now, settings, out));
    }
}

/// Clock of an edge before a fibre and its T_d when the run starts.
fn own_time(seed: u64, scenario: &Scenario, edge: u16, fibre: &Fibre) -> (LocalClock, Option<Duration>) {
    let is_master = scenario.cores[usize::from(fibre.core)].master == edge;
    match scenario.clocks {
        Some(clocks) if !is_master => {
            let number = u64::from(fibre.core) << 16 | u64::from(edge);
            let drift = Drift {
                max_offset: clocks.max_offset,
                max_drift_ppb: clocks.max_drift_ppb,
                walk_ppb: clocks.walk_ppb,
                step: clocks.step,
            };
            (
                LocalClock::drifting(drift, generator(seed, Stream::Clock, number)),
                None,
            )
        }
        _ => (LocalClock::ideal(), Some(fibre.t_d())),
    }
}

/// Queues of an edge before a fibre.
fn queues_before(scenario: &Scenario, fibre: &Fibre) -> LineCard {
    let (voqs, limit) = (scenario.card_voqs(fibre.core), scenario.queues.limit);
    let mut queues = LineCard::new(voqs, limit, scenario.wire_mtu());
    if scenario.has_xcp() {
        queues.start_timers(scenario.epoch());
    }
    queues
}

/// Bursts of an edge before a fibre; `None` where edges make none.
fn trains_before(scenario: &Scenario, edge: u16, fibre: &Fibre) -> Option<Trains> {
    let aggregation = scenario.aggregation.as_ref()?;
    let intervals = intervals(aggregation, scenario.seed, edge);
    let voqs = scenario.card_voqs(fibre.core);
    // The open burst of each VOQ has as much room as the VOQ.
    let limit = scenario.queues.limit * voqs.len() as u64;
    // Packets for one edge may join bursts of several queues, by class or flow.
    let card = TrainCard::new(limit, Some(Aggregation::new(intervals, SIGNALING_QUEUE)), None);
    let most = fibre.rate.bytes_in(scenario.frame.open());
    Some(Trains::new(optical_port(fibre.core), card, most, scenario.wire_mtu()))
}
