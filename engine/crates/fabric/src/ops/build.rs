// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches of a scenario, their edges, the fibres between them, and hosts.

use slotwise_p4::Port;
use slotwise_scenario::{Device, Ops, OpsFibre, Scenario};
use slotwise_units::{Bytes, Duration};
use slotwise_wire::{MAX_QUEUES, PORT_OPTICAL_BASE};

use super::cards::{Before, Card, FibreEnd, Output};
use super::direct::DirectLane;
use super::edge_trains::EdgeTrains;
use super::entrance::EdgeResequencer;
use super::measure::SwitchMeter;
use super::watch::Watch;
use super::{EDGE, SWITCH, switch_number};
use crate::build::intervals;
use crate::fabric::Fabric;
use crate::kind::{CardAt, Part};
use crate::node::NodeCard;
use crate::span::Span;
use slotwise_cards::aggregation::Aggregation;
use slotwise_cards::fifo::{Fifo, Limit};
use slotwise_cards::macroflows::Macroflows;
use slotwise_cards::optical_ram::{ByteTime, OpticalRam, RamSettings};
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
            cards: Vec::new(),
            probe_queues: Vec::new(),
            entrances: Vec::new(),
            probe_ends: Vec::new(),
            switches: (0..ops.switches.len()).map(|_| SwitchMeter::default()).collect(),
            trains: Vec::new(),
            resequencers: Vec::new(),
            watch: Watch::new(ops.edges.len()),
            deflections: ops.deflections,
            guard_ns: ops.guard.ns(),
            framing_bytes: usize::from(ops.framing_bytes),
        });
        for switch in 0..ops.switches.len() as u16 {
            let node = self.node(Device::Switch(switch));
            let card = SwitchCard::new(ops.conversion, Bytes::new(ops.framing_bytes.into()));
            self.nodes[node].own_card = NodeCard::Switch(Box::new(card));
        }
        self.add_edge_trains(ops, scenario.routed.packet_bytes);
        let shift = ops.fibre_shift();
        let ports = u16::from(ops.wavelengths) + u16::from(ops.probes.is_some());
        for fibre in ops.fibres() {
            let ends = fibre
                .ends
                .map(|(device, number)| (device, PORT_OPTICAL_BASE + (u16::from(number) << shift)));
            let mut cards = Vec::new();
            for (end, (from, to)) in [(ends[0], ends[1]), (ends[1], ends[0])].into_iter().enumerate() {
                for wavelength in 0..u16::from(ops.wavelengths) {
                    let at = |(device, first): (Device, Port)| FibreEnd {
                        device,
                        port: first + wavelength,
                    };
                    cards.push(self.add_ops_card(ops, (&fibre, end), (at(from), at(to))));
                }
                if let Some(probes) = ops.probes {
                    let at = |(device, first): (Device, Port)| FibreEnd {
                        device,
                        port: first + u16::from(ops.wavelengths),
                    };
                    cards.push(self.add_probe_card((probes.rate.bps(), fibre.delay.ns()), (at(from), at(to))));
                }
            }
            self.spans.push(Span {
                cards,
                ends,
                ports,
                is_up: true,
                is_cut: false,
            });
        }
        self.add_groups(scenario, |_| 1);
    }

    /// Cards of edges that make trains, hold them back or choose among outputs.
    fn add_edge_trains(&mut self, ops: &Ops, packet_bytes: u32) {
        for edge in 0..ops.edges.len() as u16 {
            let trains = ops.has_train_card(edge).then(|| {
                let aggregation = ops.aggregation.as_ref().filter(|_| ops.aggregates(edge));
                let aggregation = aggregation
                    .map(|aggregation| Aggregation::new(intervals(aggregation, self.seed, edge), MAX_QUEUES as u16));
                let macroflows = ops.macroflows.and(ops.probes).map(|probes| {
                    let queues = ops.queues().filter(|(to, _)| *to != edge);
                    let places = (u64::from(edge), ops.edges.len() as u64);
                    let floor_bps = ops.floor(packet_bytes, &probes).bps();
                    Macroflows::new(queues.map(|(_, queue)| queue), probes.period.ns(), floor_bps, places)
                });
                let card = TrainCard::new(ops.ingress.bytes.get(), aggregation, macroflows);
                let probe_port = PORT_OPTICAL_BASE + u16::from(ops.wavelengths);
                EdgeTrains::new(card, (ops.ingress.trains, ops.ingress.fair), probe_port)
            });
            self.ops.trains.push(trains);
            let resequencer = ops.resequencing.map(Duration::ns).map(EdgeResequencer::new);
            self.ops.resequencers.push(resequencer);
            self.schedule_train_card(edge);
        }
    }

    /// The card before a wavelength of a fibre, from its end 0 or 1.
    fn add_ops_card(
        &mut self,
        ops: &Ops,
        (fibre, end): (&OpsFibre, usize),
        (from, to): (FibreEnd, FibreEnd),
    ) -> CardAt {
        let rate_bps = ops.rate_of(fibre).bps();
        let byte_time = ByteTime::of_rate(rate_bps);
        let (lane, entrance) = self.add_entrance(to);
        let direct = fibre.direct.map(|direct| {
            let wavelength = from.port & ((1 << ops.fibre_shift()) - 1);
            let number = (direct as u64) << 16 | (end as u64) << 8 | u64::from(wavelength);
            DirectLane::new(self.seed, &ops.direct[direct], end, number)
        });
        let is_switch = switch_number(from.device).is_some();
        let card = (!is_switch).then_some(self.ops.cards.len());
        self.ops.outputs.push(Output { from, to, card });
        let before = match from.device {
            Device::Switch(_) => {
                let mut ram = OpticalRam::new(RamSettings {
                    byte_time,
                    ram_bytes: ops.ram.get(),
                    guard_ns: ops.guard.ns(),
                });
                if ops.probes.is_some() {
                    ram.start_timers(0);
                }
                let wavelength = Wavelength {
                    lane: lane as u32,
                    delay: fibre.delay,
                    byte_time,
                    to_edge: switch_number(to.device).is_none(),
                };
                return self.add_output_of_switch(from, ram, wavelength);
            }
            Device::OpsEdge(edge) if ops.has_train_card(edge) => {
                let mut trains = TrainQueue::default();
                if ops.macroflows.is_some() {
                    trains.start_timers(0);
                }
                Before::Trains(trains)
            }
            // Whole packets wait there, before their first bit leaves.
            _ => {
                let link = (rate_bps, fibre.delay.ns());
                let limit = Limit::Bytes(ops.ingress.bytes.get());
                Before::Queue(Fifo::new(lane, link, limit, usize::from(ops.framing_bytes)))
            }
        };
        if let Some(number) = fibre.direct {
            let card = self.ops.cards.len();
            let entrance = &mut self.ops.entrances[entrance];
            entrance.direct = Some(card);
            entrance.is_second = ops.earlier_between(number) > 0;
        }
        self.add_card_of_ops(Card {
            from,
            to,
            before,
            lane,
            entrance,
            direct,
            delay_ns: fibre.delay.ns(),
            byte_time,
            is_dark: false,
        })
    }
}
