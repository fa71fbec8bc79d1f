// SPDX-License-Identifier: Apache-2.0
//! Cards of optical packet switches and of their edges in the network, and what their records are fed to.

use slotwise_cards::card::Record;
use slotwise_cards::edge_card::EdgeCard;
use slotwise_cards::message::train::{self as message, InLight};
use slotwise_cards::packet::{Flying, Packet};
use slotwise_cards::switch_card::SwitchCard;
use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::Label;

use super::entrance::Entrance;
use super::steps::Step;
use super::watch::TrainId;
use crate::drops::{DropCause, Place};
use crate::invariants::Invariant;
use crate::net::event::{CardTimer, Event};
use crate::net::lane::LaneEnd;
use crate::net::node::{Before, NodeCard, NodePort};
use crate::world::Fabric;

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

/// A wavelength for data in one direction.
#[derive(Clone, Copy)]
pub(super) struct Output {
    pub(super) from: FibreEnd,
    pub(super) to: FibreEnd,
}

impl Fabric {
    /// The card of an optical packet switch.
    #[inline]
    pub(super) fn switch_card(&mut self, device: Device) -> Option<&mut SwitchCard> {
        let node = self.node(device);
        match &mut self.nodes.get_mut(node)?.own_card {
            NodeCard::Switch(card) => Some(card),
            _ => None,
        }
    }

    /// The card of an edge of optical packet switches.
    #[inline]
    pub(super) fn edge_card(&mut self, device: Device) -> Option<&mut EdgeCard> {
        let node = self.node(device);
        match &mut self.nodes.get_mut(node)?.own_card {
            NodeCard::Edge(card) => Some(card),
            _ => None,
        }
    }

    /// An output has been added to the card of its node, with the first expiry of its timer.
    pub(super) fn add_ops_output(&mut self, from: FibreEnd, first: Option<Instant>) -> NodePort {
        let FibreEnd { device, port } = from;
        let node = self.node(device);
        self.nodes[node].set_before(port, Before::Card);
        if let Some(first) = first {
            let timer = Event::Timer(CardTimer::new(node, port));
            self.events.schedule(first.ns(), timer);
        }
        NodePort { node, port }
    }

    /// Performs the actions of the card of an edge, which was called last.
    pub(super) fn perform_at_edge(&mut self, device: Device) {
        self.perform(self.node(device));
    }

    /// Feeds checks and measurements with a record of a card.
    pub(crate) fn ops_seen(&mut self, node: usize, record: &Record) {
        match record {
            &Record::AgentInterval { port } => self.agents_interval_ends(node, port),
            Record::BurstFormed {
                port,
                label,
                packets,
                bytes,
            } => self.burst_formed(node, *port, label, (*packets, *bytes)),
            Record::BurstRefused => {
                let edge = self.nodes[node].device.number();
                self.ops.watch.refused(edge);
            }
            Record::BurstLeft { label, program, left } => {
                self.ops.watch.left(TrainId::of(label, *program), left.ns());
            }
            Record::BurstLost { label, program } => self.lose_labelled_train(label, *program),
            _ => {}
        }
    }

    /// An edge has made a train, and numbered it.
    fn burst_formed(&mut self, node: usize, port: Port, label: &Label, (packets, bytes): (u64, Bytes)) {
        let source = self.nodes[node].device.number();
        let is_new = self.ops.watch.formed(source, label.train);
        self.ops.watch.sized(source, packets, bytes.get());
        if !is_new || label.src_edge != source {
            let place = self.place_before(node, port);
            self.invariants.violated(Invariant::DUPLICATE, self.now_ns, place, None);
        }
    }

    /// Gives the card of a switch the agent's count of the interval that ends, before P4 begins the next one.
    fn agents_interval_ends(&mut self, node: usize, port: Port) {
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
    pub(super) fn lose_labelled_train(&mut self, label: &Label, program: u32) {
        let is_deflected = self.ops.is_deflected(label);
        self.ops.watch.lost(TrainId::of(label, program), is_deflected);
    }

    /// Loses what has not begun to leave by a wavelength, where frames arrive with their tail or their head.
    pub(crate) fn cut_lane(&mut self, lane: usize, place: Place, cause: DropCause, (delay, by_tail): (Duration, bool)) {
        let begun_ns = self.now_ns + delay.ns();
        let has_not_begun = |at_ns: u64, flying: &Flying| {
            let tail_ns = if by_tail { flying.duration.ns() } else { 0 };
            at_ns > begun_ns + tail_ns
        };
        let LaneEnd::Own { number, .. } = self.lanes[lane].end else {
            return;
        };
        let entrance = number as usize;
        let lost = self.lanes[lane].take_out(&mut self.events, has_not_begun);
        for (Packet { frame, .. }, program) in lost {
            self.lose_train(&frame, program);
            self.drop(place, cause, frame);
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

    /// Loses all that waits in the card of a node, and all that was under way to it.
    pub(super) fn reset_ops_node(&mut self, device: Device) {
        self.restart_card(device);
        self.ops_go_on(Step::Reset { device });
    }

    /// Trains that were under way to a node that is reset are not whole.
    pub(super) fn cut_under_way(&mut self, device: Device) {
        let ops = &mut *self.ops;
        let ends = ops.entrances.iter().filter(|entrance| entrance.at.device == device);
        for train in ends.filter_map(Entrance::under_way) {
            ops.watch.cut(train);
        }
    }

    /// The program of an edge starts its numbers of trains again.
    pub(super) fn renumber(&mut self, edge: u16) {
        self.ops.watch.restarts(edge);
        let program = self.ops.watch.program(edge);
        if let Some(card) = self.edge_card(Device::OpsEdge(edge)) {
            card.set_program(program);
        }
    }
}
