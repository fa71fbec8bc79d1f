// SPDX-License-Identifier: Apache-2.0
//! The cards before wavelengths for data: what they have in common.

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::{Bytes, Instant};
use slotwise_wire::{IntervalTick, Label};

use super::direct::DirectLane;
use super::edge_card::EDGE_QUEUE;
use super::edge_trains::TRAIN_OUTPUT;
use super::entrance::Entrance;
use super::steps::Step;
use super::switch_number;
use super::watch::TrainId;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::kind::{CardAt, Discipline, OF_NODE};
use crate::lane::LaneEnd;
use crate::node::NodeCard;
use slotwise_cards::fifo::Fifo;
use slotwise_cards::linecard::QueueState;
use slotwise_cards::message::interval_tick;
use slotwise_cards::message::train::{self as message, InLight};
use slotwise_cards::optical_ram::{ByteTime, OpticalRam};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::switch_card::SwitchCard;
use slotwise_cards::train_queue::TrainQueue;
use slotwise_cards::wavelength::Wavelength;

/// Of an output's agent, all that came for it in its interval, dropped or not.
const AGENT_BYTES: &str = "xcp_bytes";

/// An end of a wavelength of a fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FibreEnd {
    pub(super) device: Device,
    pub(super) port: Port,
}

impl FibreEnd {
    pub(super) fn place(self) -> Place {
        let FibreEnd { device, port } = self;
        Place::Port { device, port }
    }
}

/// A wavelength for data, one way.
#[derive(Clone, Copy)]
pub(super) struct Output {
    pub(super) from: FibreEnd,
    pub(super) to: FibreEnd,
    /// The card before it at an edge; a switch has one card for all.
    pub(super) card: Option<usize>,
}

/// What stands before a wavelength at an edge.
pub(super) enum Before {
    /// At an edge where each packet is a train: packets that wait until they may begin to leave.
    Queue(Fifo),
    /// At an edge that makes trains, holds them back or chooses among outputs.
    Trains(TrainQueue),
}

impl Before {
    fn discipline(&self) -> &'static Discipline {
        match self {
            Before::Queue(_) => &EDGE_QUEUE,
            Before::Trains(_) => &TRAIN_OUTPUT,
        }
    }

    /// When the next interval timer expires.
    fn next_tick_ns(&self) -> Option<u64> {
        match self {
            Before::Queue(_) => None,
            Before::Trains(trains) => trains.next_tick_ns(),
        }
    }

    /// The tick of one that has expired by `now_ns`, with what waits.
    fn tick(&mut self, now_ns: u64) -> Option<(IntervalTick, QueueState)> {
        match self {
            Before::Queue(_) => None,
            Before::Trains(trains) => trains.tick(now_ns),
        }
    }
}

/// The card before a wavelength for data of an edge, and the wavelength.
pub(super) struct Card {
    pub(super) from: FibreEnd,
    pub(super) to: FibreEnd,
    pub(super) before: Before,
    pub(super) lane: usize,
    /// Number of the entrance where the wavelength ends.
    pub(super) entrance: usize,
    /// Of a fibre between edges: what is drawn for it.
    pub(super) direct: Option<DirectLane>,
    pub(super) delay_ns: u64,
    pub(super) byte_time: ByteTime,
    pub(super) is_dark: bool,
}

impl Card {
    /// When a frame that begins to leave arrives: its head at a switch, its tail at an edge.
    pub(super) fn arrival_ns(&self, start_ns: u64, duration_ns: u64) -> u64 {
        let tail_ns = if switch_number(self.to.device).is_some() {
            0
        } else {
            duration_ns
        };
        start_ns + self.delay_ns + tail_ns
    }
}

impl Fabric {
    /// Adds the output of a switch.
    pub(super) fn add_output_of_switch(&mut self, from: FibreEnd, ram: OpticalRam, wavelength: Wavelength) -> CardAt {
        let FibreEnd { device, port } = from;
        let node = self.node(device);
        let NodeCard::Switch(card) = &mut self.nodes[node].own_card else {
            unreachable!("switches are added with their cards");
        };
        let first = card.add_output(port, ram, wavelength);
        let at = CardAt::of_node(&OF_NODE, node, port);
        self.nodes[node].set_card(port, at);
        if let Some(first) = first {
            self.events.schedule(first.ns(), Event::timer(at));
        }
        at
    }

    /// The card of an optical packet switch.
    pub(super) fn switch_card(&mut self, device: Device) -> Option<&mut SwitchCard> {
        let node = self.node(device);
        match &mut self.nodes[node].own_card {
            NodeCard::Switch(card) => Some(card),
            _ => None,
        }
    }

    /// Adds the card before a wavelength of an edge.
    pub(super) fn add_card_of_ops(&mut self, card: Card) -> CardAt {
        let index = self.ops.cards.len();
        let at = CardAt::new(card.before.discipline(), index);
        let (node, port) = (self.node(card.from.device), card.from.port);
        self.nodes[node].set_card(port, at);
        if let Some(at_ns) = card.before.next_tick_ns() {
            self.events.schedule(at_ns, Event::timer(at));
        }
        self.ops.cards.push(card);
        at
    }

    /// Interval timers of an output, whose queue has the port's number.
    pub(super) fn output_timer(&mut self, index: usize) {
        let FibreEnd { device, port } = self.ops.cards[index].from;
        let now_ns = self.now_ns;
        if let Some((tick, state)) = self.ops.cards[index].before.tick(now_ns) {
            let tick = interval_tick(port, &tick, port, &state);
            self.notify_p4(device, &tick, Origin::Local);
            // The answer may set the timer again.
            return self.ops_then(Step::OutputTimer { card: index });
        }
        let before = &self.ops.cards[index].before;
        if let Some(at_ns) = before.next_tick_ns() {
            let card = CardAt::new(before.discipline(), index);
            self.events.schedule(at_ns.max(now_ns + 1), Event::timer(card));
        }
    }

    /// Tells the card of a switch what the agent of an output has counted in the interval that ends, before P4 begins the next one.
    pub(crate) fn agents_interval_ends(&mut self, node: usize, port: Port) {
        let now = Instant::from_ns(self.now_ns);
        let node = &mut self.nodes[node];
        let pipeline = node.pipeline.as_ref();
        let counted = pipeline.and_then(|pipeline| pipeline.register_read(AGENT_BYTES, usize::from(port)).ok());
        if let (Some(counted), NodeCard::Switch(card)) = (counted, &mut node.own_card) {
            let bytes = counted.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
            card.interval_ends(now, port, Bytes::new(bytes));
        }
    }

    /// A train is not on its way any more.
    pub(super) fn lose_train(&mut self, frame: &[u8], program: u32) {
        if let Some(InLight::First(label, _)) = message::read(frame) {
            self.lose_labelled_train(&label, program);
        }
    }

    /// The same of the train of a label.
    pub(crate) fn lose_labelled_train(&mut self, label: &Label, program: u32) {
        let is_deflected = self.ops.is_deflected(label);
        self.ops.watch.lost(TrainId::of(label, program), is_deflected);
    }

    /// Lets a wavelength carry frames or not: what has not begun to leave is lost.
    pub(super) fn set_ops_dark(&mut self, index: usize, is_dark: bool) {
        self.ops.cards[index].is_dark = is_dark;
        if is_dark {
            self.lose_waiting_trains(index, DropCause::LinkDown);
        }
    }

    /// Loses what waits in a card.
    fn lose_waiting_trains(&mut self, index: usize, cause: DropCause) {
        let now_ns = self.now_ns;
        let card = &mut self.ops.cards[index];
        match &mut card.before {
            Before::Queue(queue) => {
                queue.drop_waiting(now_ns);
            }
            Before::Trains(_) => self.lose_waiting_at_output(index, cause),
        }
        self.ops_go_on(Step::LoseInLane { card: index, cause });
    }

    /// Loses what has not begun to leave by the wavelength behind a card.
    pub(super) fn lose_in_lane(&mut self, index: usize, cause: DropCause) {
        let card = &self.ops.cards[index];
        // A train that has begun comes as a whole.
        if card.direct.is_none() {
            let by_tail = switch_number(card.to.device).is_none();
            self.cut_lane(card.lane, card.from.place(), cause, (card.delay_ns, by_tail));
        }
    }

    /// Loses what has not begun to leave by a wavelength, of this delay, where frames arrive with their tail or their head.
    pub(crate) fn cut_lane(&mut self, lane: usize, place: Place, cause: DropCause, (delay_ns, by_tail): (u64, bool)) {
        let begun_ns = self.now_ns + delay_ns;
        let has_not_begun = |at_ns: u64, flying: &Flying| {
            let tail_ns = if by_tail { flying.duration_ns } else { 0 };
            at_ns > begun_ns + tail_ns
        };
        let LaneEnd::Own { number, .. } = self.lanes[lane].end else {
            return;
        };
        let entrance = number as usize;
        let lost = self.lanes[lane].take_out(&mut self.events, has_not_begun);
        for (packet, program) in lost {
            self.lose_train(&packet.frame, program);
            self.drop(place, cause, packet.frame);
        }
        if let Some(train) = self.last_in_lane(lane, entrance) {
            self.ops.watch.cut(train);
        }
        self.ops.entrances[entrance].was_dark = true;
        self.deliver_what_came(entrance);
    }

    /// The train whose label was the last one to enter a wavelength, if more of it may be to come.
    fn last_in_lane(&self, lane: usize, entrance: usize) -> Option<TrainId> {
        let label = |flying: &Flying| match message::read(&flying.packet.frame) {
            Some(InLight::First(label, _)) => Some(TrainId::of(&label, flying.program)),
            _ => None,
        };
        let last = self.lanes[lane].flying().rev().find_map(label);
        last.or_else(|| self.ops.entrances[entrance].under_way())
    }

    /// What waits in the cards of a node is gone.
    pub(super) fn reset_ops_node(&mut self, device: Device) {
        self.restart_card(device);
        self.ops_go_on(Step::Reset { device, first: 0 });
    }

    /// The same of the cards from one on, and of what the node itself has.
    pub(super) fn reset_ops_cards(&mut self, device: Device, first: usize) {
        for index in first..self.ops.cards.len() {
            if self.ops.cards[index].from.device != device {
                continue;
            }
            self.lose_waiting_trains(index, DropCause::PipelineReplaced);
            if self.has_asked() {
                let first = index + 1;
                return self.ops_then(Step::Reset { device, first });
            }
        }
        let ops = &mut *self.ops;
        let ends = ops.entrances.iter().filter(|entrance| entrance.at.device == device);
        for train in ends.filter_map(Entrance::under_way) {
            ops.watch.cut(train);
        }
        if let Device::OpsEdge(_) = device {
            self.reset_edge_trains(device);
            self.reset_resequencer(device);
        }
    }
}
