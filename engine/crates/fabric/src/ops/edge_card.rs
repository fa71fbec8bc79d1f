// SPDX-License-Identifier: Apache-2.0
//! The cards before outputs of edges whose packets each are a train.

use slotwise_wire::Label;

use super::cards::Before;
use super::watch::TrainId;
use crate::drops::DropCause;
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::kind::Discipline;
use slotwise_cards::message::train::{self as message, InLight};
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet};
use slotwise_cards::train::payload_bytes;

/// Outputs of edges.
pub(super) static EDGE_QUEUE: Discipline = Discipline {
    is_link: true,
    set_dark: Fabric::set_ops_dark,
    ..Discipline::new("edge queue", Fabric::enqueue_at_edge)
};

impl Fabric {
    /// Whether the controller has sent what leaves an edge: that is no train, whatever it looks like. A switch outside may answer so late
    /// that it is not known any more what it has made of what.
    pub(super) fn is_of_controller(&self, origin: Origin) -> bool {
        matches!(origin, Origin::Local) && self.external.is_none()
    }

    /// A packet of an edge goes into a fibre.
    fn enqueue_at_edge(&mut self, index: usize, frame: Frame, origin: Origin) {
        let now_ns = self.now_ns;
        let bytes = self.ops.counted_bytes(&frame);
        let train = match message::read(&frame) {
            Some(InLight::First(label, _)) => Some(label),
            _ => None,
        };
        let source = self.ops.cards[index].from.device.number();
        let place = self.ops.cards[index].from.place();
        let program = self.ops.watch.program(source);
        let Some(label) = train.filter(|label| label.src_edge == source && !self.is_of_controller(origin)) else {
            return self.drop(place, DropCause::NoSuchQueue, frame);
        };
        let packet_bytes = payload_bytes(&frame).saturating_sub(Label::SIZE as u64);
        self.ops.watch.sized(source, 1, packet_bytes);
        if !self.ops.watch.formed(source, label.train) {
            self.invariants.violated(Invariant::DUPLICATE, now_ns, place, None);
        }
        let ops = &mut *self.ops;
        let card = &mut ops.cards[index];
        let Before::Queue(queue) = &mut card.before else { return };
        let taken = if card.is_dark {
            queue.lose(frame.len());
            Err(DropCause::LinkDown)
        } else {
            queue.enqueue(now_ns, frame.len())
        };
        match taken {
            Ok(departure) => {
                let duration_ns = card.byte_time.ns(bytes);
                let at_ns = card.arrival_ns(departure.start_ns, duration_ns);
                let id = TrainId::of(&label, program);
                ops.watch.left(id, departure.start_ns + duration_ns);
                let born_ns = origin.born_ns();
                let flying = Flying {
                    packet: Packet { frame, born_ns },
                    duration_ns,
                    program,
                };
                self.lanes[card.lane].enter(&mut self.events, at_ns, flying);
            }
            Err(cause) => {
                self.lose_train(&frame, program);
                self.drop(place, cause, frame);
            }
        }
    }
}
