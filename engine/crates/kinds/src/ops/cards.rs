// SPDX-License-Identifier: Apache-2.0
//! Cards of optical packet switches and of their edges in the network, and what their records are fed to.

use slotwise_cards::card::{Card, Expiry, Record};
use slotwise_cards::edge_card::EdgeCard;
use slotwise_cards::message::burst::{self as message, InLight};
use slotwise_cards::packet::{Flying, Packet};
use slotwise_cards::switch_card::SwitchCard;
use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::Label;

use super::entrance::Entrance;
use super::parts::Ops;
use super::steps::Step;
use super::watch::TrainId;
use crate::build::Build;
use slotwise_net::drops::{DropCause, Place};
use slotwise_net::effects::{Effects, Look};
use slotwise_net::invariants::Invariant;
use slotwise_net::node::NodePort;

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

/// An output has been added to the card of its node, with the first expiry of its timer.
pub(super) fn set_output(build: &mut Build, from: FibreEnd, first: Option<Instant>) -> NodePort {
    let FibreEnd { device, port } = from;
    if let Some(first) = first {
        build.set_timer(device, port, first.ns(), Expiry::First);
    }
    build.set_card_before(device, port)
}

impl Ops {
    /// Feeds checks and measurements with a record of a node.
    pub(super) fn judge(&mut self, fx: &mut Effects<'_>, node: usize, record: &Record) {
        match record {
            Record::BurstFormed {
                port,
                label,
                packets,
                bytes,
            } => self.burst_formed(fx, node, *port, label, (*packets, *bytes)),
            Record::BurstRefused => self.watch.refused(fx.device(node).number()),
            Record::BurstLeft { label, program, left } => {
                self.watch.left(TrainId::of(label, *program), left.ns());
            }
            Record::BurstLost { label, program } => {
                let is_deflected = self.is_deflected(label);
                self.watch.lost(TrainId::of(label, *program), is_deflected);
            }
            Record::BurstArrived {
                port,
                label,
                program,
                is_deflected,
                is_lost,
            } => {
                let id = TrainId::of(label, *program);
                if *is_lost {
                    self.watch.lost_by_link(id, u64::from(label.packets), *is_deflected);
                } else if !self.watch.arrived(id, fx.now().ns(), *is_deflected) {
                    let place = fx.look().place_before(node, *port);
                    fx.broken(Invariant::DUPLICATE, place, None);
                }
            }
            Record::Renumbered => self.watch.restarts(fx.device(node).number()),
            _ => {}
        }
    }

    /// An edge has made a train, and numbered it.
    fn burst_formed(
        &mut self,
        fx: &mut Effects<'_>,
        node: usize,
        port: Port,
        label: &Label,
        (packets, bytes): (u64, Bytes),
    ) {
        let source = fx.device(node).number();
        let is_new = self.watch.formed(source, label.train);
        self.watch.sized(source, packets, bytes);
        if !is_new || label.src_edge != source {
            let place = fx.look().place_before(node, port);
            fx.broken(Invariant::DUPLICATE, place, None);
        }
    }

    /// Loses what has not begun to leave by a wavelength, where frames arrive with their tail or their head.
    pub(super) fn cut_lane(
        &mut self,
        fx: &mut Effects<'_>,
        (node, lane): (usize, usize),
        place: Place,
        cause: DropCause,
        (delay, by_tail): (Duration, bool),
    ) {
        let begun = fx.now() + delay;
        let has_not_begun = |at: Instant, flying: &Flying| {
            let tail = if by_tail { flying.duration } else { Duration::ZERO };
            at > begun + tail
        };
        let Some(end) = fx.look().own_end(lane) else {
            return;
        };
        let entrance = end.number as usize;
        for (Packet { frame, .. }, program) in fx.take_out(lane, has_not_begun) {
            if let Some(InLight::First(label, _)) = message::read(&frame) {
                fx.record(node, Record::BurstLost { label, program });
            }
            fx.drop(place, cause, frame);
        }
        if let Some(train) = self.last_in_lane(fx.look(), lane, entrance) {
            self.watch.cut(train);
        }
        self.entrances[entrance].was_dark = true;
        self.deliver_what_came(fx, entrance);
    }

    /// The train whose label was the last one to enter a wavelength, if more of it may be to come.
    fn last_in_lane(&self, look: Look<'_>, lane: usize, entrance: usize) -> Option<TrainId> {
        let label = |flying: &Flying| match message::read(&flying.packet.frame) {
            Some(InLight::First(label, _)) => Some(TrainId::of(&label, flying.program)),
            _ => None,
        };
        let last = look.flying(lane).rev().find_map(label);
        last.or_else(|| self.entrances[entrance].under_way())
    }

    /// Loses all that waits in the card of a node, and all that was under way to it.
    pub(super) fn reset_node(&mut self, fx: &mut Effects<'_>, device: Device) {
        fx.call_card(self, fx.node(device), Card::restarts);
        self.go_on(fx, Step::Reset { device });
    }

    /// Trains that were under way to a node that is reset are not whole.
    pub(super) fn cut_under_way(&mut self, device: Device) {
        let ends = self.entrances.iter().filter(|entrance| entrance.at.device == device);
        for train in ends.filter_map(Entrance::under_way) {
            self.watch.cut(train);
        }
    }

    /// The program of an edge starts its numbers of trains again.
    pub(super) fn renumber(&mut self, fx: &mut Effects<'_>, edge: u16) {
        let device = Device::OpsEdge(edge);
        fx.record(fx.node(device), Record::Renumbered);
        let program = &mut self.programs[usize::from(edge)];
        *program += 1;
        if let Some(card) = fx.card_mut::<EdgeCard>(device) {
            card.set_program(*program);
        }
    }
}

/// Gives the card of a switch the agent's count of the interval that ends, before P4 begins the next one.
pub(super) fn agents_interval_ends(fx: &mut Effects<'_>, node: usize, port: Port) {
    let now = fx.now();
    let (card, pipeline) = fx.card_and_program::<SwitchCard>(node);
    let counted = pipeline.and_then(|pipeline| pipeline.register_read(AGENT_BYTES, usize::from(port)).ok());
    if let (Some(counted), Some(card)) = (counted, card) {
        let bytes = counted.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
        card.interval_ends(now, port, Bytes::new(bytes));
    }
}
