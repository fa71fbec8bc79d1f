// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches of a scenario, their edges, the fibres between them, and hosts.

use slotwise_p4::Port;
use slotwise_scenario::{self as scenario, Device, OpsFibre, Scenario};
use slotwise_units::{Bytes, Instant};
use slotwise_wire::{DropReason, MAX_QUEUES, PORT_OPTICAL_BASE};

use super::cards::{FibreEnd, Output, set_output};
use super::measure::SwitchMeter;
use super::parts::{Ops, switch_number};
use super::watch::Watch;
use crate::build::{Build, intervals};
use slotwise_cards::admission::Admission;
use slotwise_cards::aggregation::Aggregation;
use slotwise_cards::burst_memory::BurstMemory;
use slotwise_cards::burst_queue::BurstQueue;
use slotwise_cards::drawn_delay::{DelayProcess, DrawnDelay};
use slotwise_cards::edge_card::{Direct, EdgeCard, IngressLimit};
use slotwise_cards::fifo::Fifo;
use slotwise_cards::macroflows::Macroflows;
use slotwise_cards::optical_ram::{ByteTime, OpticalRam, RamSettings};
use slotwise_cards::switch_card::SwitchCard;
use slotwise_cards::wavelength::Wavelength;
use slotwise_net::node::{NodeKind, NodePort};
use slotwise_net::span::Span;
use slotwise_net::ticket::Tickets;
use slotwise_random::{Chance, Stream, generator};

/// Switches.
static SWITCH: NodeKind = NodeKind {
    // What an agent does not wait for is none.
    counted_beside_light: Some(|reason| reason != DropReason::NoSignaling),
    ..NodeKind::PLAIN
};

impl Ops {
    /// Switches, edges, what joins them, and hosts.
    pub(super) fn added_to(build: &mut Build, scenario: &Scenario, ops: &scenario::Ops) -> Ops {
        let (switches, edges) = (0..ops.switches.len() as u16, 0..ops.edges.len() as u16);
        build.add_nodes(&SWITCH, switches.clone().map(Device::Switch));
        build.add_nodes(&NodeKind::PLAIN, edges.map(Device::OpsEdge));
        let mut network = Ops {
            outputs: Vec::new(),
            probe_queues: Vec::new(),
            entrances: Vec::new(),
            probe_ends: Vec::new(),
            switches: switches.clone().map(|_| SwitchMeter::default()).collect(),
            watch: Watch::new(ops.edges.len()),
            programs: vec![0; ops.edges.len()],
            deflections: ops.deflections,
            owner: build.owner(),
            at_switches: Tickets::default(),
            steps: Tickets::default(),
        };
        for switch in switches {
            let card = SwitchCard::new(ops.conversion, Bytes::new(ops.framing_bytes.into()));
            build.set_card(Device::Switch(switch), card);
        }
        network.add_edge_cards(build, ops, scenario.routed.packet_bytes);
        let shift = ops.fibre_shift();
        let ports = u16::from(ops.wavelengths) + u16::from(ops.probes.is_some());
        for fibre in ops.fibres() {
            let ends = fibre
                .ends
                .map(|(device, number)| (device, PORT_OPTICAL_BASE + (u16::from(number) << shift)));
            let mut ports_before = Vec::new();
            for (end, (from, to)) in [(ends[0], ends[1]), (ends[1], ends[0])].into_iter().enumerate() {
                for wavelength in 0..u16::from(ops.wavelengths) {
                    let at = |(device, first): (Device, Port)| FibreEnd {
                        device,
                        port: first + wavelength,
                    };
                    ports_before.push(network.add_output(build, ops, (&fibre, end), (at(from), at(to))));
                }
                if let Some(probes) = ops.probes {
                    let at = |(device, first): (Device, Port)| FibreEnd {
                        device,
                        port: first + u16::from(ops.wavelengths),
                    };
                    ports_before.push(network.add_probe_card(build, (probes.rate, fibre.delay), (at(from), at(to))));
                }
            }
            build.add_span(Span {
                ports_before,
                ends,
                ports,
                is_up: true,
                is_cut: false,
            });
        }
        build.add_groups(scenario, |_| 1);
        network
    }

    /// The cards of edges, without their outputs.
    fn add_edge_cards(&mut self, build: &mut Build, ops: &scenario::Ops, packet_bytes: u32) {
        for edge in 0..ops.edges.len() as u16 {
            let mut card = EdgeCard::new(edge, Bytes::new(ops.framing_bytes.into()), ops.guard);
            if ops.has_train_card(edge) {
                let limit = ops.ingress.trains.map(|bursts| IngressLimit {
                    bursts,
                    by_class: ops.ingress.fair,
                });
                let probe_port = PORT_OPTICAL_BASE + u16::from(ops.wavelengths);
                let memory = burst_memory(build.seed(), ops, edge, packet_bytes);
                card = card.with_bursts(memory, limit, probe_port);
            }
            if let Some(hold) = ops.resequencing {
                card = card.with_resequencer(hold);
            }
            let device = Device::OpsEdge(edge);
            build.set_card(device, card);
            let node = build.node(device);
            build
                .effects()
                .call(self, node, |card: &mut EdgeCard, now, out| card.starts(now, out));
        }
    }

    /// A wavelength of a fibre, from its end 0 or 1, and the output before it.
    fn add_output(
        &mut self,
        build: &mut Build,
        ops: &scenario::Ops,
        (fibre, end): (&OpsFibre, usize),
        (from, to): (FibreEnd, FibreEnd),
    ) -> NodePort {
        let rate = ops.rate_of(fibre);
        let byte_time = ByteTime::of_rate(rate);
        let (lane, entrance) = self.add_entrance(build, to);
        self.outputs.push(Output { from, to });
        let wavelength = Wavelength {
            lane: lane as u32,
            delay: fibre.delay,
            byte_time,
            to_edge: switch_number(to.device).is_none(),
        };
        let direct = fibre.direct.map(|direct| {
            let wavelength = from.port & ((1 << ops.fibre_shift()) - 1);
            let number = (direct as u64) << 16 | (end as u64) << 8 | u64::from(wavelength);
            let link = &ops.direct[direct];
            let entrance = &mut self.entrances[entrance];
            let loss = generator(build.seed(), Stream::LaneLoss, number);
            entrance.direct = Some(Chance::new(link.loss[end], loss));
            entrance.is_second = ops.earlier_between(direct) > 0;
            let random = generator(build.seed(), Stream::LaneDelay, number);
            Direct::new(link.delay.map(|delay| DrawnDelay::new(process(&delay), random)))
        });
        let first = if switch_number(from.device).is_some() {
            let card = build.card::<SwitchCard>(from.device);
            let mut ram = OpticalRam::new(RamSettings {
                byte_time,
                ram: ops.ram,
                guard: ops.guard,
            });
            if ops.probes.is_some() {
                ram.start_timers(Instant::ZERO);
            }
            card.add_output(from.port, ram, wavelength)
        } else {
            let card = build.card::<EdgeCard>(from.device);
            if ops.has_train_card(from.device.number()) {
                let mut bursts = BurstQueue::default();
                if ops.macroflows.is_some() {
                    bursts.start_timers(Instant::ZERO);
                }
                card.add_output(from.port, bursts, wavelength, direct)
            } else {
                // Whole packets wait there, before their first bit leaves.
                let limit = Admission::bytes(ops.ingress.bytes);
                let link = (rate, fibre.delay);
                let queue = Fifo::new(lane, link, limit, usize::from(ops.framing_bytes));
                card.add_queue(from.port, queue, wavelength);
                None
            }
        };
        set_output(build, from, first)
    }
}

/// The memory of an edge that makes trains, holds them back or chooses among outputs.
fn burst_memory(seed: u64, ops: &scenario::Ops, edge: u16, packet_bytes: u32) -> BurstMemory {
    let aggregation = ops.aggregation.as_ref().filter(|_| ops.aggregates(edge));
    let aggregation =
        aggregation.map(|aggregation| Aggregation::new(intervals(aggregation, seed, edge), MAX_QUEUES as u16));
    let macroflows = ops.macroflows.and(ops.probes).map(|probes| {
        let queues = ops.queues().filter(|(to, _)| *to != edge);
        let places = (u64::from(edge), ops.edges.len() as u64);
        let floor = ops.floor(packet_bytes, &probes);
        Macroflows::new(queues.map(|(_, queue)| queue), probes.period, floor, places)
    });
    BurstMemory::new(ops.ingress.bytes, aggregation, macroflows)
}

/// A delay of a scenario, as a card knows it.
fn process(delay: &slotwise_scenario::DelayProcess) -> DelayProcess {
    DelayProcess {
        hold: delay.hold,
        mean_ms: delay.mean_ms,
        deviation_ms: delay.deviation_ms,
    }
}
