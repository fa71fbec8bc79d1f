// SPDX-License-Identifier: Apache-2.0
//! What outputs and switches did, for whoever writes it down.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use slotwise_p4::{Pipeline, Port};
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::{DropReason, TrainFate};

use super::cards::FibreEnd;
use super::switch_number;
use super::watch::OpsTrains;
use crate::drops::Place;
use crate::invariants::Invariant;
use crate::net::node::NodeCard;
use crate::world::Fabric;
use slotwise_cards::edge_card::{EdgeCard, OutputUse};
use slotwise_cards::fifo::FifoUse;
use slotwise_cards::optical_ram::RamUse;
use slotwise_cards::packet::Origin;
use slotwise_cards::train_queue::TrainUse;

/// What an edge that makes trains, or holds them back, did since it was last asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpsEdgeUse {
    /// Most bytes, as links count them, that waited in it at once.
    pub most_held_bytes: u64,
    /// Longest time from a probe to the rate that it brought, ns; 0 of none.
    pub probe_round_trip_ns: u64,
    /// Trains that are in none of [`Fabric::take_ops_waits`]: those that wait for the rate of their macroflow now, and those that were
    /// lost as they waited.
    pub unserved_trains: u64,
}

/// A wavelength for data of a fibre, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpsOutput {
    /// Where it begins, and by which port.
    pub from: (Device, Port),
    /// Where it ends.
    pub to: (Device, Port),
}

/// What stands before a wavelength did since it was last asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpsOutputUse {
    /// At a switch.
    Ram(RamUse),
    /// At an edge where each packet is a train.
    Queue(FifoUse),
    /// At an edge that makes trains, holds them back or chooses among outputs.
    Trains(TrainUse),
}

/// What a switch did since it was last asked, by its counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpsSwitchUse {
    /// Frames that it dropped, by reason; what an agent does not wait for is none.
    pub drops: BTreeMap<DropReason, u64>,
    /// Trains by fate, in the order of [`TrainFate`].
    pub trains: [u64; TrainFate::ALL.len()],
}

/// What is known of a switch's counters.
#[derive(Default)]
pub(super) struct SwitchMeter {
    /// Frames that came in light and did not go on, since it was last asked.
    pub(super) lost: u64,
    /// Drops that its program has counted of all else meanwhile: packet-outs, ticks, probes.
    beside_light: u64,
    /// What its program had counted when it was last asked.
    counted: OpsSwitchUse,
    /// What programs that are gone had counted since then.
    before: OpsSwitchUse,
    is_stopped: bool,
}

impl OpsSwitchUse {
    fn since(&self, earlier: &OpsSwitchUse) -> OpsSwitchUse {
        let since = |reason: &DropReason, count: u64| count.saturating_sub(*earlier.drops.get(reason).unwrap_or(&0));
        let drops = self
            .drops
            .iter()
            .map(|(reason, count)| (*reason, since(reason, *count)));
        let mut trains = self.trains;
        for (fate, before) in trains.iter_mut().zip(earlier.trains) {
            *fate = fate.saturating_sub(before);
        }
        OpsSwitchUse {
            drops: drops.filter(|(_, count)| *count > 0).collect(),
            trains,
        }
    }

    fn add(&mut self, other: OpsSwitchUse) {
        for (reason, count) in other.drops {
            *self.drops.entry(reason).or_default() += count;
        }
        for (sum, count) in self.trains.iter_mut().zip(other.trains) {
            *sum += count;
        }
    }
}

const TRAINS: &str = "OpsIngress.trains";

fn trains_of(pipeline: &Pipeline) -> [u64; TrainFate::ALL.len()] {
    let count = |fate: TrainFate| pipeline.counter_read(TRAINS, usize::from(u8::from(fate)));
    TrainFate::ALL.map(|fate| count(fate).map_or(0, |(packets, _)| packets))
}

impl Fabric {
    /// Wavelengths for data; empty where there are no optical packet switches.
    pub fn ops_outputs(&self) -> Vec<OpsOutput> {
        let outputs = self.ops.get().map_or(&[][..], |ops| &ops.outputs);
        let output = |output: &super::Output| OpsOutput {
            from: (output.from.device, output.from.port),
            to: (output.to.device, output.to.port),
        };
        outputs.iter().map(output).collect()
    }

    /// What one of [`Fabric::ops_outputs`] did since the last call.
    pub fn take_ops_output_use(&mut self, output: usize) -> Option<OpsOutputUse> {
        let now = Instant::from_ns(self.now_ns);
        let FibreEnd { device, port } = self.ops.get()?.outputs.get(output)?.from;
        if let Some(card) = self.switch_card(device) {
            return card.take_use(port).map(OpsOutputUse::Ram);
        }
        Some(match self.edge_card(device)?.take_output_use(now, port)? {
            OutputUse::Queue(used) => OpsOutputUse::Queue(used),
            OutputUse::Bursts(used) => OpsOutputUse::Trains(used),
        })
    }

    /// What stands before a wavelength for probes did since the last call: each way of each fibre, in their order; `None` if there are no more.
    pub fn take_ops_probe_use(&mut self, way: usize) -> Option<FifoUse> {
        let port = *self.ops.get()?.probe_queues.get(way)?;
        Some(self.link_use(port))
    }

    /// What an edge did since the last call; `None` of one where each packet goes before its output at once.
    pub fn take_ops_edge_use(&mut self, edge: u16) -> Option<OpsEdgeUse> {
        let used = self.card_of_ops_edge(edge)?.take_memory_use()?;
        Some(OpsEdgeUse {
            most_held_bytes: used.most_held.get(),
            probe_round_trip_ns: used.probe_round_trip.ns(),
            unserved_trains: used.unserved_bursts,
        })
    }

    /// How long trains waited in macroflows of an edge that left since the last call, ns; `None` if it has none.
    pub fn take_ops_waits(&mut self, edge: u16) -> Option<Histogram<u64>> {
        self.card_of_ops_edge(edge)?.take_waits()
    }

    /// The card of an edge, if there are optical packet switches.
    fn card_of_ops_edge(&mut self, edge: u16) -> Option<&mut EdgeCard> {
        self.ops.get()?;
        self.edge_card(Device::OpsEdge(edge))
    }

    /// Packets that have waited at an edge for those before them.
    fn resequenced(&self, edge: u16) -> u64 {
        let node = self.nodes.get(self.node(Device::OpsEdge(edge)));
        match node.map(|node| &node.own_card) {
            Some(NodeCard::Edge(card)) => card.resequenced(),
            _ => 0,
        }
    }

    /// Use of an optical packet switch since the last call. What came in light and did not go on must be just what it has counted as
    /// dropped of that.
    pub fn take_ops_switch_use(&mut self, device: Device) -> Option<OpsSwitchUse> {
        let switch = switch_number(device).filter(|_| self.ops.get().is_some())?;
        let counted = self.counted_by(device);
        let meter = self.ops.switches.get_mut(switch)?;
        let mut fresh = counted.since(&meter.counted);
        fresh.add(std::mem::take(&mut meter.before));
        let lost = std::mem::take(&mut meter.lost) + std::mem::take(&mut meter.beside_light);
        meter.counted = counted;
        if lost != fresh.drops.values().sum::<u64>() {
            self.invariants
                .violated(Invariant::UNEXPLAINED, self.now_ns, Place::Device(device), None);
        }
        Some(fresh)
    }

    fn counted_by(&self, device: Device) -> OpsSwitchUse {
        let drops = self.p4_drops(device).unwrap_or_default().into_iter();
        let drops = drops.filter(|drop| drop.reason != DropReason::NoSignaling);
        let pipeline = &self.nodes[self.node(device)].pipeline;
        OpsSwitchUse {
            drops: drops.map(|drop| (drop.reason, drop.packets)).collect(),
            trains: pipeline.as_ref().map(trains_of).unwrap_or_default(),
        }
    }

    /// Drops that the program of a switch has counted before it is given something that does not come in light; `None` of anything else.
    pub(crate) fn dropped_beside_light(&self, device: Device, origin: Origin) -> Option<u64> {
        let is_beside = switch_number(device).is_some() && !matches!(origin, Origin::Light { .. });
        is_beside.then(|| self.counted_by(device).drops.values().sum())
    }

    /// Notes what a switch has counted as dropped since, of something that did not come in light.
    pub(crate) fn note_beside_light(&mut self, device: Device, before: u64) {
        let dropped: u64 = self.counted_by(device).drops.values().sum();
        self.ops.switches[usize::from(device.number())].beside_light += dropped.saturating_sub(before);
    }

    /// A switch stops, and its counters will be gone.
    pub(super) fn ops_switch_stops(&mut self, device: Device) {
        let counted = self.counted_by(device);
        let meter = &mut self.ops.switches[usize::from(device.number())];
        let fresh = counted.since(&meter.counted);
        meter.before.add(fresh);
        (meter.counted, meter.is_stopped) = (OpsSwitchUse::default(), true);
        self.reset_ops_node(device);
    }

    /// A switch has a program whose counters begin. The counts of a program that it replaces are unknown.
    pub(super) fn ops_switch_starts(&mut self, device: Device) {
        let meter = &mut self.ops.switches[usize::from(device.number())];
        if !std::mem::take(&mut meter.is_stopped) {
            (meter.lost, meter.beside_light) = (0, 0);
        }
        meter.counted = OpsSwitchUse::default();
        self.reset_ops_node(device);
    }

    /// What became of the trains of an edge of optical packet switches since the start.
    pub fn ops_trains(&self, edge: u16) -> OpsTrains {
        let ops = self.ops.get();
        ops.map_or_else(OpsTrains::default, |ops| OpsTrains {
            resequenced: self.resequenced(edge),
            ..ops.watch.trains(edge)
        })
    }

    /// The same since the last call, but for those that are on their way now.
    pub fn take_ops_trains(&mut self, edge: u16) -> OpsTrains {
        let resequenced = self.ops.get().map_or(0, |_| self.resequenced(edge));
        let ops = self.ops.get_mut();
        ops.map_or_else(OpsTrains::default, |ops| ops.watch.take(edge, resequenced))
    }
}
