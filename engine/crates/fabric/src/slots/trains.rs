// SPDX-License-Identifier: Apache-2.0
//! Trains of a star: between slots its line cards put packets together, each train leaves whole in one slot, and P4 says in which
//! VOQ it waits for that.
//!
//! ```text
//! P4 ── FIRST, MIDDLE ──> open train ── TRAIN_TICK ──> P4 ── TRAIN_LABEL ──> VOQ ── slot ──> light
//! ```

use slotwise_scenario::{Fibre, Scenario, optical_port};
use slotwise_units::Instant;
use slotwise_wire::{OpticalKind, SIGNALING_QUEUE, TrainPart};

use crate::build::intervals;
use crate::drops::{DropCause, Place};
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::pump::Pass;
use slotwise_cards::aggregation::Aggregation;
use slotwise_cards::assembly::{Assembly, Joining, Then};
use slotwise_cards::card::Actions;
use slotwise_cards::message::train::train_label;
use slotwise_cards::message::{ToCard, optical};
use slotwise_cards::packet::{Frame, Packet};
use slotwise_cards::train::{Train, payload_bytes};
use slotwise_cards::train_card::TrainCard;

/// Bytes of a train that P4 believes a tick of.
const MOST_BYTES: u64 = 0xff_ffff;

/// What a line card has open, and the train that it sends.
pub(crate) struct StarTrains {
    assembly: Assembly,
    /// Of a train: what an open slot carries.
    most_bytes: u64,
    /// Longest frame on the fibre.
    most_frame_bytes: u64,
    /// Queue, sequence number and slot of the frame that left last, if its train goes on.
    leaving: Option<(u16, u32, u64)>,
}

impl StarTrains {
    /// Of the card before a fibre of an edge; `None` where edges make no trains.
    pub(super) fn of(scenario: &Scenario, edge: u16, fibre: &Fibre) -> Option<StarTrains> {
        let aggregation = scenario.aggregation.as_ref()?;
        let intervals = intervals(aggregation, scenario.seed, edge);
        let voqs = scenario.card_voqs(fibre.core);
        // Each VOQ's open train has as much room as the VOQ.
        let limit_bytes = scenario.queues.limit.get() * voqs.len() as u64;
        let most_bytes = fibre.rate.bytes_in(scenario.frame.open()).get();
        // Packets for one edge may join trains of several queues, by class or flow.
        let card = TrainCard::new(limit_bytes, Some(Aggregation::new(intervals, SIGNALING_QUEUE)), None);
        Some(StarTrains {
            assembly: Assembly::new(card, optical_port(fibre.core)),
            most_bytes: most_bytes.min(MOST_BYTES),
            most_frame_bytes: scenario.wire_mtu().get(),
            leaving: None,
        })
    }

    /// Gives back what waits for P4 or for more packets.
    pub(super) fn take_all(&mut self) -> Vec<Frame> {
        self.leaving = None;
        let frames = self.assembly.card.take_all().into_iter().flat_map(|train| train.frames);
        frames.map(|packet| packet.frame).collect()
    }
}

impl Fabric {
    fn star_trains(&mut self, card: usize) -> Option<&mut StarTrains> {
        self.star.cards[card].trains.as_mut()
    }

    /// A packet joins the open train of its queue; given back if it is of no train.
    pub(super) fn join_star_train(&mut self, card: usize, packet: Packet) -> Option<Packet> {
        let place = self.star.cards[card].place();
        let Some(trains) = self.star.cards[card].trains.as_mut() else {
            return Some(packet);
        };
        let parts = [TrainPart::First, TrainPart::Middle].map(u8::from);
        let is_data = u8::from(OpticalKind::Data);
        let of_train =
            optical(&packet.frame).filter(|optical| optical.kind == is_data && parts.contains(&optical.train));
        let Some(optical) = of_train else {
            return Some(packet);
        };
        let bytes = packet.frame.len() as u64;
        let cause = match trains.assembly.card.aggregates(optical.queue) {
            false => Some(DropCause::NoSuchQueue),
            true if bytes > trains.most_frame_bytes => Some(DropCause::TooLong),
            true => None,
        };
        if let Some(cause) = cause {
            self.drop(place, cause, packet.frame);
            return None;
        }
        let is_over = trains.assembly.card.open_bytes(optical.queue) + bytes > trains.most_bytes;
        let closes = is_over || optical.train == parts[0];
        let (core, carried) = (self.star.cards[card].core, payload_bytes(&packet.frame));
        let joining = Joining {
            port: optical_port(core),
            queue: optical.queue,
            packet,
            bytes: (bytes, carried),
        };
        self.call_assembly(card, |assembly, now, out| assembly.take(now, joining, closes, out));
        None
    }

    /// Calls what assembles the trains of a line card, and performs its actions.
    fn call_assembly<T: Default>(
        &mut self,
        card: usize,
        call: impl FnOnce(&mut Assembly, Instant, &mut Actions) -> T,
    ) -> T {
        let now = Instant::from_ns(self.now_ns);
        let trains = self.star.cards[card].trains.as_mut();
        let result = trains.map_or_else(T::default, |trains| call(&mut trains.assembly, now, &mut self.out));
        let card = self.line_card(card);
        self.perform(card);
        result
    }

    /// P4 was asked for the VOQ of a train.
    pub(crate) fn star_trains_go_on(&mut self, card: usize, then: Then, pass: Pass) {
        let closes = self.call_assembly(card, |assembly, now, out| assembly.goes_on(now, then, pass, out));
        if closes {
            self.close_next_star_train(card);
        }
    }

    fn drop_star_train(&mut self, place: Place, cause: DropCause, frames: Vec<Packet>) {
        for packet in frames {
            self.drop(place, cause, packet.frame);
        }
    }

    /// P4 says where a train waits; false if that is nothing for this card.
    pub(super) fn take_train_answer(&mut self, card: usize, message: &ToCard) -> bool {
        let (now_ns, place) = (self.now_ns, self.star.cards[card].place());
        let answer = train_label(message);
        let Some((answer, trains)) = answer.zip(self.star_trains(card)) else {
            return false;
        };
        let Ok((voq, Train { frames, .. })) = trains.assembly.card.answer_in_star(&answer.0) else {
            return false;
        };
        match self.star.cards[card].gates.queues.enqueue_train(now_ns, voq, frames) {
            Ok(()) => self.drain_card(card),
            Err((cause, frames)) => self.drop_star_train(place, cause, frames),
        }
        true
    }

    /// Closes the trains whose interval is over.
    pub(super) fn close_due_trains(&mut self, card: usize) {
        self.call_assembly(card, |assembly, now, _| assembly.expires(now));
        self.close_next_star_train(card);
    }

    /// Closes a train that is due, and the next one after P4's answer.
    fn close_next_star_train(&mut self, card: usize) {
        self.call_assembly(card, |assembly, now, out| {
            if !assembly.close_due(now, out) {
                assembly.set_timer(now, out);
            }
        });
    }

    /// A frame leaves a card: those of a train follow each other, in one slot, in order.
    pub(super) fn watch_train(&mut self, card: usize, frame: &[u8]) {
        if self.star.cards[card].trains.is_none() {
            return;
        }
        let at_core_ns = self.now_ns + self.star.fibres[card].delay_ns;
        let slots = &self.star.slots;
        let slot = at_core_ns.saturating_sub(slots.epoch_ns) / slots.slot_ns;
        let (now_ns, place) = (self.now_ns, self.star.cards[card].place());
        let Some(trains) = self.star_trains(card) else { return };
        let Some(optical) = optical(frame) else { return };
        let part = TrainPart::try_from(optical.train).unwrap_or(TrainPart::None);
        let expected = trains.leaving.take();
        let follows = expected == Some((optical.queue, optical.sequence.wrapping_sub(1), slot));
        let is_whole = match part {
            TrainPart::Middle | TrainPart::Last => follows,
            TrainPart::None | TrainPart::First | TrainPart::Only => expected.is_none(),
        };
        if matches!(part, TrainPart::First | TrainPart::Middle) {
            trains.leaving = Some((optical.queue, optical.sequence, slot));
        }
        if !is_whole {
            self.invariants.violated(Invariant::SPLIT, now_ns, place, Some(optical));
        }
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::{FlowControl, FlowOp};

    use super::*;
    use crate::api::{FabricOptions, HostMode};
    use crate::testing::optical_frame;
    use slotwise_cards::linecard::LineCard;

    const CARD: usize = 0;
    const SLOT_NS: u64 = 100_000;
    /// A frame of 1000 bytes at 1 Gb/s.
    const FRAME_NS: u64 = 8000;

    fn fabric() -> Fabric {
        let text = include_bytes!("../../../../../schema/examples/valid/star-trains.yaml");
        let options = FabricOptions {
            seed: 1,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        };
        Fabric::new(&Scenario::parse(text).unwrap(), options)
    }

    fn packet(queue: u16, sequence: u32) -> Packet {
        Packet::unborn(optical_frame(queue, sequence))
    }

    /// A train of three frames for VOQ 1.
    fn train() -> Vec<Packet> {
        let mut train = Train::default();
        for sequence in 0..3 {
            train.add(packet(1, sequence), 1000);
        }
        train.mark();
        train.frames
    }

    /// Opens the gate of a VOQ for so many frames from the start of a slot on.
    fn open(fabric: &mut Fabric, queue: u16, slot: u64, frames: u64) {
        let open_ns = fabric.star.slots.epoch_ns + slot * SLOT_NS;
        let message = FlowControl {
            queue,
            op: FlowOp::Open.into(),
            open_ns,
            close_ns: open_ns + frames * FRAME_NS,
            value: 0,
        };
        assert!(
            fabric.star.cards[CARD]
                .gates
                .queues
                .control(fabric.now_ns, &message)
                .is_ok()
        );
        fabric.drain_card(CARD);
    }

    /// How often trains of a card that takes them in like this were seen split, in a slot for two frames, then two for five.
    fn splits(take_in: fn(&mut LineCard, u64)) -> u64 {
        let mut fabric = fabric();
        take_in(&mut fabric.star.cards[CARD].gates.queues, 0);
        for (slot, frames) in [(1, 2), (2, 5), (3, 5)] {
            open(&mut fabric, 0, slot, frames);
            open(&mut fabric, 1, slot, frames);
            let epoch_ns = fabric.star.slots.epoch_ns;
            fabric.run_until(epoch_ns + (slot + 1) * SLOT_NS - 1);
        }
        let queues = &fabric.star.cards[CARD].gates.queues;
        let left = |voq| queues.voq_state(fabric.now_ns, voq).backlog_bytes;
        assert_eq!(left(0) + left(1), 0, "all has left");
        fabric.invariants().count(Invariant::SPLIT)
    }

    #[test]
    fn a_card_that_breaks_trains_is_seen_and_one_that_does_not_is_not() {
        let whole = |card: &mut LineCard, now_ns| assert!(card.enqueue_train(now_ns, 1, train()).is_ok());
        assert_eq!(splits(whole), 0);
        // Two frames in one slot, the last one in the next.
        let by_frames = |card: &mut LineCard, now_ns| {
            for frame in train() {
                assert!(card.enqueue(now_ns, frame).is_ok());
            }
        };
        assert_eq!(splits(by_frames), 1);
        let with_others_among = |card: &mut LineCard, now_ns| {
            for frame in train() {
                assert!(card.enqueue(now_ns, frame).is_ok());
                assert!(card.enqueue(now_ns, packet(0, 7)).is_ok());
            }
        };
        assert!(splits(with_others_among) > 0);
        let out_of_order = |card: &mut LineCard, now_ns| {
            let mut frames = train();
            frames.swap(1, 2);
            assert!(card.enqueue_train(now_ns, 1, frames).is_ok());
        };
        assert!(splits(out_of_order) > 0);
        let without_end = |card: &mut LineCard, now_ns| {
            let mut frames = train();
            frames.truncate(2);
            assert!(card.enqueue_train(now_ns, 1, frames).is_ok());
            assert!(card.enqueue(now_ns, packet(1, 9)).is_ok());
        };
        assert_eq!(splits(without_end), 1);
        let twice = |card: &mut LineCard, now_ns| {
            let mut frames = train();
            let again = Packet::unborn(frames[0].frame.clone());
            frames.insert(1, again);
            assert!(card.enqueue_train(now_ns, 1, frames).is_ok());
        };
        assert!(splits(twice) > 0);
    }
}
