// SPDX-License-Identifier: Apache-2.0
//! Stars of a scenario: edges, cores, fibres, the edges' hosts.

use slotwise_scenario::{Device, Edge as EdgeOfScenario, Fibre, HostId, Scenario, Signaling, optical_port};
use slotwise_wire::{Ethernet, PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD, SIGNALING_QUEUE};

use super::fibre::FibrePair;
use super::light::state_of;
use super::parts::{Core, Edge, Star};
use crate::build::Change;
use crate::build::{Build, NS_PER_MS, intervals};
use crate::hosts::Host;
use slotwise_cards::admission::Admission;
use slotwise_cards::aggregation::Aggregation;
use slotwise_cards::burst_memory::BurstMemory;
use slotwise_cards::card::{Expiry, Lane};
use slotwise_cards::fifo::Fifo;
use slotwise_cards::gates::Ticks;
use slotwise_cards::linecard::LineCard;
use slotwise_cards::slotted::{self, Bursts, ControlLink, Drift, FibreSettings, LocalClock};
use slotwise_net::drops::Place;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::LaneEnd;
use slotwise_net::node::NodeKind;
use slotwise_random::{Stream, generator};
use slotwise_units::Duration;

/// Longest time by which a message is late, in frames: more than a commit takes.
const MAX_LATE_FRAMES: u64 = 8;

static EDGE: NodeKind = NodeKind {
    inner_ports: &[PORT_LINECARD, PORT_CORE_CONTROL, PORT_CPU],
    ..NodeKind::PLAIN
};

static CORE: NodeKind = NodeKind {
    inner_ports: &[PORT_LINECARD, PORT_CORE_CONTROL, PORT_CPU],
    has_cards: false,
    lost_light: Some(Invariant::UNGRANTED),
    ..NodeKind::PLAIN
};

/// The end of a fibre at its core, by its number: light passes it, and what counts is its head.
pub(super) const AT_CORE: u8 = 0;
/// The end of a fibre at its edge: what counts is the tail.
pub(super) const AT_EDGE: u8 = 1;

impl Star {
    /// Edges, cores, what joins them, and the edges' hosts.
    pub(super) fn added_to(build: &mut Build, scenario: &Scenario, frame_records: bool) -> Star {
        let mut star = Star::of(scenario, frame_records);
        build.set_most_late(MAX_LATE_FRAMES * star.slots.frame());
        for change in &scenario.link_changes {
            build.add_change(change.at_ms * NS_PER_MS, Change::Fibre(*change));
        }
        build.add_nodes(&EDGE, scenario.edges.iter().map(|edge| Device::Edge(edge.id)));
        build.add_nodes(&CORE, scenario.cores.iter().map(|core| Device::Core(core.id)));
        // Edges that join by invitation report alarms. Out of band there is no other sign of light.
        let has_alarms = scenario.joins_by_invitation() || scenario.frame.signaling == Signaling::OutOfBand;
        for edge in &scenario.edges {
            let card = slotted::Edge::new(edge.id, star.slots, has_alarms);
            build.set_card(Device::Edge(edge.id), card);
            star.edges.push(Edge {
                fibres: vec![None; scenario.cores.len()],
                programs: 0,
            });
        }
        for core in &scenario.cores {
            star.cores.push(Core::new(scenario, core));
            let (card, first) = slotted::Core::new(star.slots);
            let device = Device::Core(core.id);
            build.set_card(device, card);
            build.set_timer(device, 0, first.ns(), Expiry::CoreSlot);
        }
        for edge in &scenario.edges {
            add_hosts(build, scenario, edge);
            for fibre in &edge.fibres {
                star.add_fibre(build, scenario, edge.id, fibre);
            }
        }
        for core in &scenario.cores {
            star.add_control(build, core.id, core.master);
            star.add_ports(build, core.id);
        }
        star
    }

    /// Joins a core with its master, in both directions.
    fn add_control(&mut self, build: &mut Build, core: u16, master: u16) {
        let port = PORT_CORE_CONTROL;
        let ends = [Device::Core(core), Device::Edge(master)];
        let [to_core, to_master] = ends.map(|device| build.add_lane(LaneEnd::Port { device, port }));
        let delay = Duration::from_ns(self.fibres[self.fibre_between(master, core)].delay_ns);
        let [at_core, at_master] = ends;
        build
            .card::<slotted::Core>(at_core)
            .set_control(ControlLink::new(to_master as Lane, delay));
        let control = ControlLink::new(to_core as Lane, delay);
        build
            .card::<slotted::Edge>(at_master)
            .set_control(optical_port(core), control);
        for device in ends {
            build.set_card_before(device, port);
        }
        build.set_place(at_core, port, Place::Device(at_core));
    }

    /// Sets the edges that share ports of a core.
    fn add_ports(&mut self, build: &mut Build, core: u16) {
        for (port, fibres) in self.cores[usize::from(core)].ports.iter().enumerate() {
            let edges: Vec<u16> = fibres.iter().map(|fibre| self.fibres[*fibre].edge).collect();
            for edge in &edges {
                let card = build.card::<slotted::Edge>(Device::Edge(*edge));
                card.set_sharing(optical_port(core), edges.clone());
            }
            if !edges.is_empty() {
                build.set_card_before(Device::Core(core), optical_port(port as u16));
            }
        }
    }

    fn add_fibre(&mut self, build: &mut Build, scenario: &Scenario, edge: u16, fibre: &Fibre) {
        let index = self.fibres.len();
        self.edges[usize::from(edge)].fibres[usize::from(fibre.core)] = Some(index);
        let (at_edge, at_core) = (Device::Edge(edge), Device::Core(fibre.core));
        let (port, core_port) = (optical_port(fibre.core), optical_port(fibre.port));
        build.set_card_before(at_edge, port);
        let card = Place::LineCard { edge, core: fibre.core };
        build.set_place(at_edge, port, card);
        // The place behind a port that edges share has the name of the first of them.
        let behind = Place::Fibre {
            from: at_core,
            to: at_edge,
        };
        build.set_place(at_core, core_port, behind);
        self.cores[usize::from(fibre.core)].ports[usize::from(fibre.port)].push(index);
        build
            .card::<slotted::Core>(at_core)
            .add_fibre(core_port, edge, fibre.rate);
        let lanes = [AT_CORE, AT_EDGE].map(|sort| build.add_own_lane(sort, index));
        let pair = FibrePair::new(build.seed(), edge, fibre, lanes);
        let pair = pair.with_optics(scenario.optics, scenario.edges_at_port(fibre));
        let (clock, time_difference) = own_time(build.seed(), scenario, edge, fibre);
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
            bursts: bursts_before(scenario, edge, fibre),
        };
        self.fibres.push(pair);
        self.call_edge(&mut build.effects(), edge, |card, now, out| {
            card.add_fibre(now, settings, out);
        });
    }
}

fn add_hosts(build: &mut Build, scenario: &Scenario, edge: &EdgeOfScenario) {
    let hosts = &scenario.hosts;
    let link = (hosts.access_rate, hosts.access_delay);
    let admission = || Admission::time(hosts.access_rate.time(scenario.queues.limit));
    let device = Device::Edge(edge.id);
    for index in 0..edge.hosts {
        let id = HostId { edge: edge.id, index };
        let port = id.access_port();
        let up = build.add_lane(LaneEnd::Port { device, port });
        let up = Fifo::new(up, link, admission(), 0).up_to(hosts.mtu as usize + Ethernet::SIZE);
        let down = build.add_lane(LaneEnd::Host(build.hosts().len()));
        let down = Fifo::new(down, link, admission(), 0);
        build.add_link(down, device, port);
        build.add_host(Host {
            id: Some(id),
            device,
            node: build.node(device),
            port,
            uplink: up,
        });
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
fn bursts_before(scenario: &Scenario, edge: u16, fibre: &Fibre) -> Option<Bursts> {
    let aggregation = scenario.aggregation.as_ref()?;
    let intervals = intervals(aggregation, scenario.seed, edge);
    let voqs = scenario.card_voqs(fibre.core);
    // The open burst of each VOQ has as much room as the VOQ.
    let limit = scenario.queues.limit * voqs.len() as u64;
    // Packets for one edge may join bursts of several queues, by class or flow.
    let card = BurstMemory::new(limit, Some(Aggregation::new(intervals, SIGNALING_QUEUE)), None);
    let most = fibre.rate.bytes_in(scenario.frame.open());
    Some(Bursts::new(optical_port(fibre.core), card, most, scenario.wire_mtu()))
}
