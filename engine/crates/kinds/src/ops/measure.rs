// SPDX-License-Identifier: Apache-2.0
//! What outputs and switches did, for whoever writes it down.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use slotwise_p4::{Pipeline, Port};
use slotwise_scenario::Device;
use slotwise_units::{Bytes, Duration};
use slotwise_wire::{DropReason, TrainFate};

use super::cards::FibreEnd;
use super::parts::{Ops, switch_number};
use super::watch::OpsTrains;
use crate::kind::{View, ViewMut};
use slotwise_cards::burst_queue::BurstUse;
use slotwise_cards::edge_card::{EdgeCard, OutputUse};
use slotwise_cards::fifo::FifoUse;
use slotwise_cards::optical_ram::RamUse;
use slotwise_cards::switch_card::SwitchCard;
use slotwise_net::drops::Place;
use slotwise_net::effects::{Effects, Look};

/// What an edge that makes trains, or holds them back, did since it was last asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpsEdgeUse {
    /// Maximum backlog, as links count bytes.
    pub most_held: Bytes,
    /// Maximum time from a probe to the resulting rate; 0 without probes.
    pub probe_round_trip: Duration,
    /// Trains that are in none of [`ViewMut::take_waits`]: those that wait for the rate of their macroflow now, and those that were
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
    Trains(BurstUse),
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
    /// Drops that its programs had counted of all else when it was last asked: packet-outs, ticks, probes.
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

impl View<'_, Ops> {
    /// Wavelengths for data.
    pub fn outputs(&self) -> Vec<OpsOutput> {
        let output = |output: &super::cards::Output| OpsOutput {
            from: (output.from.device, output.from.port),
            to: (output.to.device, output.to.port),
        };
        self.kind.outputs.iter().map(output).collect()
    }

    /// Fate of the trains of an edge since the start.
    pub fn trains(&self, edge: u16) -> OpsTrains {
        OpsTrains {
            resequenced: resequenced(self.look, edge),
            ..self.kind.watch.trains(edge)
        }
    }
}

impl ViewMut<'_, Ops> {
    /// Use of one of [`View::outputs`] since the last call.
    pub fn take_output_use(&mut self, output: usize) -> Option<OpsOutputUse> {
        let now = self.fx.now();
        let FibreEnd { device, port } = self.kind.outputs.get(output)?.from;
        if let Some(card) = self.fx.card_mut::<SwitchCard>(device) {
            return card.take_use(port).map(OpsOutputUse::Ram);
        }
        let card = self.fx.card_mut::<EdgeCard>(device)?;
        Some(match card.take_output_use(now, port)? {
            OutputUse::Queue(used) => OpsOutputUse::Queue(used),
            OutputUse::Bursts(used) => OpsOutputUse::Trains(used),
        })
    }

    /// What stands before a wavelength for probes did since the last call: each way of each fibre, in their order; `None` if there are no more.
    pub fn take_probe_use(&mut self, way: usize) -> Option<FifoUse> {
        let (device, port) = *self.kind.probe_queues.get(way)?;
        let now = self.fx.now();
        let used = self.fx.links_mut(device).take_use(now, port);
        Some(used.unwrap_or_default())
    }

    /// What an edge did since the last call; `None` of one where each packet goes before its output at once.
    pub fn take_edge_use(&mut self, edge: u16) -> Option<OpsEdgeUse> {
        let card = self.fx.card_mut::<EdgeCard>(Device::OpsEdge(edge))?;
        let used = card.take_memory_use()?;
        Some(OpsEdgeUse {
            most_held: used.most_held,
            probe_round_trip: used.probe_round_trip,
            unserved_trains: used.unserved_bursts,
        })
    }

    /// How long trains waited in macroflows of an edge that left since the last call, ns; `None` if it has none.
    pub fn take_waits(&mut self, edge: u16) -> Option<Histogram<u64>> {
        self.fx.card_mut::<EdgeCard>(Device::OpsEdge(edge))?.take_waits()
    }

    /// Use of an optical packet switch since the last call. What came in light and did not go on must be just what it has counted as
    /// dropped of that.
    pub fn take_switch_use(&mut self, device: Device) -> Option<OpsSwitchUse> {
        let switch = switch_number(device)?;
        let counted = counted_by(self.fx.look(), device);
        let beside_light = self.fx.look().beside_light(device);
        let meter = self.kind.switches.get_mut(switch)?;
        let mut fresh = counted.since(&meter.counted);
        fresh.add(std::mem::take(&mut meter.before));
        let before = std::mem::replace(&mut meter.beside_light, beside_light);
        let lost = std::mem::take(&mut meter.lost) + (beside_light - before);
        meter.counted = counted;
        if lost != fresh.drops.values().sum::<u64>() {
            let (now, place) = (self.fx.now(), Place::Device(device));
            self.invariants.violated(Ops::UNEXPLAINED, now, place, None);
        }
        Some(fresh)
    }

    /// Fate of the trains of an edge since the last call, and the number in transit now.
    pub fn take_trains(&mut self, edge: u16) -> OpsTrains {
        let resequenced = resequenced(self.fx.look(), edge);
        self.kind.watch.take(edge, resequenced)
    }
}

/// Packets that have waited at an edge for those before them.
fn resequenced(look: Look<'_>, edge: u16) -> u64 {
    let card = look.card::<EdgeCard>(Device::OpsEdge(edge));
    card.map_or(0, EdgeCard::resequenced)
}

fn counted_by(look: Look<'_>, device: Device) -> OpsSwitchUse {
    let drops = look.p4_drops(device).unwrap_or_default().into_iter();
    let drops = drops.filter(|drop| drop.reason != DropReason::NoSignaling);
    OpsSwitchUse {
        drops: drops.map(|drop| (drop.reason, drop.packets)).collect(),
        trains: look.pipeline(device).map(trains_of).unwrap_or_default(),
    }
}

impl Ops {
    /// A switch stops, and its counters will be gone.
    pub(super) fn switch_stops(&mut self, fx: &mut Effects<'_>, device: Device) {
        let counted = counted_by(fx.look(), device);
        let meter = &mut self.switches[usize::from(device.number())];
        let fresh = counted.since(&meter.counted);
        meter.before.add(fresh);
        (meter.counted, meter.is_stopped) = (OpsSwitchUse::default(), true);
        self.reset_node(fx, device);
    }

    /// A switch has a program whose counters begin. The counts of a program that it replaces are unknown.
    pub(super) fn switch_starts(&mut self, fx: &mut Effects<'_>, device: Device) {
        let meter = &mut self.switches[usize::from(device.number())];
        if !std::mem::take(&mut meter.is_stopped) {
            (meter.lost, meter.beside_light) = (0, fx.look().beside_light(device));
        }
        meter.counted = OpsSwitchUse::default();
        self.reset_node(fx, device);
    }
}
