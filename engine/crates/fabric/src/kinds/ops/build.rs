// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches of a scenario, their edges, the fibres between them, and hosts.

use slotwise_p4::Port;
use slotwise_scenario::{Device, Ops, OpsFibre, Scenario};
use slotwise_units::{Bytes, Instant};
use slotwise_wire::{MAX_QUEUES, PORT_OPTICAL_BASE};

use super::cards::{FibreEnd, Output};
use super::measure::SwitchMeter;
use super::watch::Watch;
use super::{EDGE, SWITCH, switch_number};
use crate::net::build::intervals;
use crate::net::kind::Part;
use crate::net::node::{NodeCard, NodePort};
use crate::net::span::Span;
use crate::world::Fabric;
use slotwise_cards::aggregation::Aggregation;
use slotwise_cards::drawn_delay::{DelayProcess, DrawnDelay};
use slotwise_cards::edge_card::{Direct, EdgeCard, IngressLimit};
use slotwise_cards::fifo::{Fifo, Limit};
use slotwise_cards::macroflows::Macroflows;
use slotwise_cards::optical_ram::{ByteTime, OpticalRam, RamSettings};
use slotwise_cards::random::{Chance, Stream, generator};
use slotwise_cards::switch_card::SwitchCard;
use slotwise_cards::train_card::TrainCard;
use slotwise_cards::train_queue::TrainQueue;
use slotwise_cards::wavelength::Wavelength;

impl Fabric {
    /// Switches, edges, what joins them, and hosts.
    pub(super) fn add_ops(&mut self, scenario: &Scenario, ops: &Ops) {
        self.add_nodes(
            &SWITCH,
            (0..ops.switches.len()).map(|number| Device::Switch(number as u16)),
        );
        self.add_nodes(&EDGE, (0..ops.edges.len()).map(|number| Device::OpsEdge(number as u16)));
        self.ops = Part::of(super::Ops {
            outputs: Vec::new(),
            probe_queues: Vec::new(),
            entrances: Vec::new(),
            probe_ends: Vec::new(),
            switches: (0..ops.switches.len()).map(|_| SwitchMeter::default()).collect(),
            watch: Watch::new(ops.edges.len()),
            deflections: ops.deflections,
        });
        for switch in 0..ops.switches.len() as u16 {
            let node = self.node(Device::Switch(switch));
            let card = SwitchCard::new(ops.conversion, Bytes::new(ops.framing_bytes.into()));
            self.nodes[node].own_card = NodeCard::Switch(Box::new(card));
        }
        self.add_edge_cards(ops, scenario.routed.packet_bytes);
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
                    ports_before.push(self.add_ops_card(ops, (&fibre, end), (at(from), at(to))));
                }
                if let Some(probes) = ops.probes {
                    let at = |(device, first): (Device, Port)| FibreEnd {
                        device,
                        port: first + u16::from(ops.wavelengths),
                    };
                    ports_before.push(self.add_probe_card((probes.rate, fibre.delay), (at(from), at(to))));
                }
            }
            self.spans.push(Span {
                ports_before,
                ends,
                ports,
                is_up: true,
                is_cut: false,
            });
        }
        self.add_groups(scenario, |_| 1);
    }

    /// The cards of edges, without their outputs.
    fn add_edge_cards(&mut self, ops: &Ops, packet_bytes: u32) {
        let now = Instant::from_ns(self.now_ns);
        for edge in 0..ops.edges.len() as u16 {
            let mut card = EdgeCard::new(edge, Bytes::new(ops.framing_bytes.into()), ops.guard);
            if ops.has_train_card(edge) {
                let limit = ops.ingress.trains.map(|bursts| IngressLimit {
                    bursts,
                    by_class: ops.ingress.fair,
                });
                let probe_port = PORT_OPTICAL_BASE + u16::from(ops.wavelengths);
                card = card.with_bursts(self.burst_memory(ops, edge, packet_bytes), limit, probe_port);
            }
            if let Some(hold) = ops.resequencing {
                card = card.with_resequencer(hold);
            }
            card.starts(now, &mut self.out);
            let device = Device::OpsEdge(edge);
            let node = self.node(device);
            self.nodes[node].own_card = NodeCard::Edge(Box::new(card));
            self.perform_at_edge(device);
        }
    }

    /// The memory of an edge that makes trains, holds them back or chooses among outputs.
    fn burst_memory(&self, ops: &Ops, edge: u16, packet_bytes: u32) -> TrainCard {
        let aggregation = ops.aggregation.as_ref().filter(|_| ops.aggregates(edge));
        let aggregation =
            aggregation.map(|aggregation| Aggregation::new(intervals(aggregation, self.seed, edge), MAX_QUEUES as u16));
        let macroflows = ops.macroflows.and(ops.probes).map(|probes| {
            let queues = ops.queues().filter(|(to, _)| *to != edge);
            let places = (u64::from(edge), ops.edges.len() as u64);
            let floor = ops.floor(packet_bytes, &probes);
            Macroflows::new(queues.map(|(_, queue)| queue), probes.period, floor, places)
        });
        TrainCard::new(ops.ingress.bytes, aggregation, macroflows)
    }

    /// A wavelength of a fibre, from its end 0 or 1, and the output before it.
    fn add_ops_card(
        &mut self,
        ops: &Ops,
        (fibre, end): (&OpsFibre, usize),
        (from, to): (FibreEnd, FibreEnd),
    ) -> NodePort {
        let rate = ops.rate_of(fibre);
        let byte_time = ByteTime::of_rate(rate);
        let (lane, entrance) = self.add_entrance(to);
        self.ops.outputs.push(Output { from, to });
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
            let entrance = &mut self.ops.entrances[entrance];
            let loss = generator(self.seed, Stream::LaneLoss, number);
            entrance.direct = Some(Chance::new(link.loss[end], loss));
            entrance.is_second = ops.earlier_between(direct) > 0;
            let random = generator(self.seed, Stream::LaneDelay, number);
            Direct::new(link.delay.map(|delay| DrawnDelay::new(process(&delay), random)))
        });
        let first = if let Some(card) = self.switch_card(from.device) {
            let mut ram = OpticalRam::new(RamSettings {
                byte_time,
                ram: ops.ram,
                guard: ops.guard,
            });
            if ops.probes.is_some() {
                ram.start_timers(Instant::ZERO);
            }
            card.add_output(from.port, ram, wavelength)
        } else if let Some(card) = self.edge_card(from.device) {
            if ops.has_train_card(from.device.number()) {
                let mut bursts = TrainQueue::default();
                if ops.macroflows.is_some() {
                    bursts.start_timers(Instant::ZERO);
                }
                card.add_output(from.port, bursts, wavelength, direct)
            } else {
                // Whole packets wait there, before their first bit leaves.
                let limit = Limit::Bytes(ops.ingress.bytes);
                let link = (rate, fibre.delay);
                let queue = Fifo::new(lane, link, limit, usize::from(ops.framing_bytes));
                card.add_queue(from.port, queue, wavelength);
                None
            }
        } else {
            None
        };
        self.add_ops_output(from, first)
    }
}

/// A delay of a scenario, as a card knows it.
fn process(delay: &slotwise_scenario::DelayProcess) -> DelayProcess {
    DelayProcess {
        hold: delay.hold,
        mean_ms: delay.mean_ms,
        deviation_ms: delay.deviation_ms,
    }
}
