// SPDX-License-Identifier: Apache-2.0
//! The line card of an edge that makes bursts: what is open, what P4 has not labelled yet, what macroflows hold back, and how many
//! bytes all of that has together with what waits for outputs. It decides nothing; P4 tells it.

use std::collections::BTreeMap;

use slotwise_units::{Bytes, Instant};
use slotwise_wire::{Label, TRAIN_REFUSED, TrainLabel, TrainTick};

use crate::DropCause;
use crate::aggregation::{Aggregation, Closed};
use crate::burst::Burst;
use crate::burst_queue::Labelled;
use crate::macroflows::Macroflows;
use crate::packet::Packet;

/// Maximum number of dropped bytes that P4 accepts for one burst.
const MAX_LOST: Bytes = Bytes::new(0x7fff_ffff);

/// Answer of P4 about a burst.
#[derive(Debug)]
pub enum Answer {
    /// The burst goes to an output.
    Labelled {
        /// Its queue.
        queue: u16,
        /// The burst.
        labelled: Labelled,
    },
    /// The burst is blocked.
    Refused(Burst),
}

/// Memory for bursts before the outputs of an edge.
pub struct BurstMemory {
    /// `None`: P4 sends each packet with a label.
    aggregation: Option<Aggregation>,
    /// Reason that labelled bursts are held back, if any.
    pub macroflows: Option<Macroflows>,
    /// All that waits, as links count it.
    held_bytes: Bytes,
    /// Maximum of this since the last call.
    most_held_bytes: Bytes,
    limit: Bytes,
    /// Closed, and P4 is asked for their labels: one, but where the switch is outside and answers later.
    asked: Vec<Closed>,
    /// Bytes of packets for which there was no room, by queue, since its last tick.
    lost_bytes: BTreeMap<u16, Bytes>,
}

impl BurstMemory {
    /// Creates a memory of some bytes.
    pub fn new(limit: Bytes, aggregation: Option<Aggregation>, macroflows: Option<Macroflows>) -> BurstMemory {
        BurstMemory {
            aggregation,
            macroflows,
            held_bytes: Bytes::ZERO,
            most_held_bytes: Bytes::ZERO,
            limit,
            asked: Vec::new(),
            lost_bytes: BTreeMap::new(),
        }
    }

    /// Returns true if packets of a queue are assembled.
    pub fn aggregates(&self, queue: u16) -> bool {
        self.aggregation
            .as_ref()
            .is_some_and(|aggregation| aggregation.has(queue))
    }

    /// Reserves memory for some bytes; false if it is full.
    pub fn take_in(&mut self, bytes: Bytes) -> bool {
        let has_room = self.held_bytes + bytes <= self.limit;
        if has_room {
            self.hold(bytes);
        }
        has_room
    }

    fn hold(&mut self, bytes: Bytes) {
        self.held_bytes += bytes;
        self.most_held_bytes = self.most_held_bytes.max(self.held_bytes);
    }

    /// Maximum backlog since the last call.
    pub fn take_most_held_bytes(&mut self) -> Bytes {
        std::mem::replace(&mut self.most_held_bytes, self.held_bytes)
    }

    /// Releases the memory of some bytes.
    pub fn let_go(&mut self, bytes: Bytes) {
        self.held_bytes -= bytes;
    }

    /// Returns the burst that must be closed before a frame joins the bursts of a queue.
    pub fn close_before(&mut self, now: Instant, queue: u16, is_first: bool) -> Option<Closed> {
        let aggregation = self.aggregation.as_mut()?;
        let is_over = is_first || aggregation.is_full(queue);
        is_over.then(|| aggregation.close_early(now, queue)).flatten()
    }

    /// A frame joins the open burst of a queue that packets are put together in, or opens one. `bytes` are those that links count,
    /// `payload_bytes` those of the packet.
    pub fn join(
        &mut self,
        now: Instant,
        queue: u16,
        packet: Packet,
        (bytes, payload_bytes): (Bytes, Bytes),
    ) -> Result<(), (DropCause, Packet)> {
        if !self.take_in(bytes) {
            *self.lost_bytes.entry(queue).or_default() += payload_bytes;
            return Err((DropCause::QueueFull, packet));
        }
        match &mut self.aggregation {
            Some(aggregation) => aggregation.join(now, queue, packet, bytes),
            None => return Err((DropCause::NoSuchQueue, packet)),
        }
        Ok(())
    }

    /// Returns the next burst to be closed by `now`.
    pub fn close_due(&mut self, now: Instant) -> Option<Closed> {
        self.aggregation.as_mut()?.close_due(now)
    }

    /// Time of the next message to P4: for a burst, or for the period of a macroflow.
    pub fn next_tick(&self) -> Option<Instant> {
        let burst = self.aggregation.as_ref().and_then(Aggregation::next);
        let period = self.macroflows.as_ref().and_then(Macroflows::next_tick);
        burst.into_iter().chain(period).min()
    }

    /// Stores a closed burst that waits for its label. Returns the message to P4.
    pub fn ask(&mut self, now: Instant, closed: Closed) -> TrainTick {
        let lost_bytes = self.lost_bytes.remove(&closed.queue).unwrap_or_default();
        let tick = TrainTick {
            queue: closed.queue,
            packets: closed.burst.frames.len() as u16,
            bytes: closed.burst.bytes.get() as u32,
            first_bytes: closed.first_bytes.get() as u32,
            lost_bytes: lost_bytes.min(MAX_LOST).get() as u32,
            local_ns: now.ns(),
        };
        self.asked.push(closed);
        tick
    }

    /// Returns the burst of an answer: the oldest of its queue, if its number of packets agrees and it `fits`.
    fn take_asked(&mut self, answer: &TrainLabel, fits: impl Fn(&Burst) -> bool) -> Option<Closed> {
        let place = self.asked.iter().position(|asked| asked.queue == answer.queue)?;
        let burst = &self.asked[place].burst;
        let is_meant = usize::from(answer.packets) == burst.frames.len() && fits(burst);
        is_meant.then(|| self.asked.remove(place))
    }

    /// P4's answer in a star, where bursts have no label: the burst, with its parts, and the VOQ that it is for. What does not fit
    /// the burst that it is about changes nothing.
    pub fn answer_in_star(&mut self, answer: &TrainLabel) -> Result<(u16, Burst), DropCause> {
        let voq = u16::try_from(answer.tag).map_err(|_| DropCause::Malformed)?;
        let asked = self.take_asked(answer, |_| answer.flags == 0);
        let Closed { mut burst, .. } = asked.ok_or(DropCause::Malformed)?;
        self.let_go(burst.bytes);
        burst.mark();
        Ok((voq, burst))
    }

    /// Bytes of the open burst of a queue, as links count them.
    pub fn open_bytes(&self, queue: u16) -> Bytes {
        let aggregation = self.aggregation.as_ref();
        aggregation.map_or(Bytes::ZERO, |aggregation| aggregation.open_bytes(queue))
    }

    /// P4's answer. What does not fit the burst that it is about, the oldest of its queue, changes nothing.
    pub fn answer(&mut self, answer: &TrainLabel, label: Option<&Label>) -> Result<Answer, DropCause> {
        let is_refused = answer.flags & TRAIN_REFUSED != 0;
        let asked = self.take_asked(answer, |burst| {
            let describes_it = label.is_some_and(|label| {
                let length = burst.bytes + Bytes::of(Label::SIZE);
                (Bytes::new(label.length.into()), usize::from(label.packets)) == (length, burst.frames.len())
            });
            is_refused || describes_it
        });
        let Closed { queue, mut burst, .. } = asked.ok_or(DropCause::Malformed)?;
        let Some(label) = label.filter(|_| answer.flags & TRAIN_REFUSED == 0) else {
            self.let_go(burst.bytes);
            return Ok(Answer::Refused(burst));
        };
        burst.put_label(label);
        // Room for labels is not asked for: a burst that is made is not thrown away for one.
        self.hold(Bytes::of(Label::SIZE));
        let labelled = Labelled {
            burst,
            class: answer.traffic_class,
            tag: answer.tag,
        };
        Ok(Answer::Labelled { queue, labelled })
    }

    /// Returns the burst of the last question, if P4 did not answer.
    pub fn take_unanswered(&mut self) -> Option<Burst> {
        let Closed { burst, .. } = self.asked.pop()?;
        self.let_go(burst.bytes);
        Some(burst)
    }

    /// Removes and returns open bursts and those of macroflows.
    pub fn take_all(&mut self) -> Vec<Burst> {
        self.lost_bytes.clear();
        let open = self.aggregation.as_mut().map_or_else(Vec::new, Aggregation::take_all);
        let held = self.macroflows.as_mut().map_or_else(Vec::new, Macroflows::take_waiting);
        let held = held.into_iter().map(|held| held.labelled.burst);
        let asked = std::mem::take(&mut self.asked).into_iter().map(|closed| closed.burst);
        let all: Vec<Burst> = open.into_iter().chain(asked).chain(held).collect();
        self.let_go(all.iter().map(|burst| burst.bytes).sum());
        all
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Duration;
    use slotwise_wire::{LABEL_VERSION, LabelKind};

    use super::*;
    use crate::aggregation::{BurstTimer, Intervals};
    use crate::packet::optical_frame;

    const LIMIT: Bytes = Bytes::new(5000);

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn card() -> BurstMemory {
        let intervals = Intervals {
            interval: Duration::from_us(1),
            timer: BurstTimer::FirstPacket,
            dither: false,
            seed: 1,
            edge: 0,
        };
        BurstMemory::new(LIMIT, Some(Aggregation::new(intervals, 4)), None)
    }

    fn join(card: &mut BurstMemory, now_ns: u64, queue: u16) -> bool {
        let packet = Packet::unborn(optical_frame(queue, 0));
        card.join(at(now_ns), queue, packet, (Bytes::new(970), Bytes::new(970)))
            .is_ok()
    }

    /// Answer of P4 to a tick.
    fn label(tick: &TrainTick) -> (TrainLabel, Label) {
        let answer = TrainLabel {
            queue: tick.queue,
            packets: tick.packets,
            traffic_class: 3,
            tag: 77,
            ..TrainLabel::default()
        };
        let label = Label {
            version: LABEL_VERSION,
            kind: LabelKind::Train.into(),
            packets: tick.packets,
            length: tick.bytes + Label::SIZE as u32,
            ..Label::default()
        };
        (answer, label)
    }

    #[test]
    fn a_burst_is_closed_asked_for_and_labelled() {
        let mut card = card();
        assert!(card.aggregates(3) && !card.aggregates(4));
        assert!(card.close_before(at(0), 2, true).is_none(), "none is open");
        assert!(join(&mut card, 0, 2) && card.close_before(at(0), 2, false).is_none() && join(&mut card, 5, 2));
        assert_eq!((card.next_tick(), card.held_bytes.get()), (Some(at(1000)), 1940));
        let closed = card.close_due(at(1000)).unwrap();
        let tick = card.ask(at(1000), closed);
        assert_eq!(
            (tick.queue, tick.packets, tick.bytes, tick.first_bytes),
            (2, 2, 1940, 970)
        );
        let (answer, label) = label(&tick);
        let Ok(Answer::Labelled { queue, labelled }) = card.answer(&answer, Some(&label)) else {
            panic!("a good answer")
        };
        assert_eq!(
            (queue, labelled.class, labelled.tag, labelled.burst.bytes.get()),
            (2, 3, 77, 1960)
        );
        assert_eq!(card.held_bytes.get(), 1960);
        card.let_go(Bytes::new(1960));
        assert!(card.take_unanswered().is_none());
        assert_eq!(
            [card.take_most_held_bytes(), card.take_most_held_bytes()].map(Bytes::get),
            [1960, 0]
        );
    }

    #[test]
    fn an_answer_about_another_burst_changes_nothing() {
        let mut card = card();
        join(&mut card, 0, 2);
        let closed = card.close_before(at(0), 2, true).unwrap();
        let tick = card.ask(at(0), closed);
        let (answer, label) = label(&tick);
        let others = [
            (TrainLabel { queue: 1, ..answer }, Some(label)),
            (TrainLabel { packets: 2, ..answer }, Some(label)),
            (answer, Some(Label { length: 1, ..label })),
            (answer, Some(Label { packets: 9, ..label })),
            (answer, None),
        ];
        for (answer, label) in others {
            assert_eq!(card.answer(&answer, label.as_ref()).unwrap_err(), DropCause::Malformed);
        }
        assert!(matches!(
            card.answer(&answer, Some(&label)),
            Ok(Answer::Labelled { .. })
        ));
        assert_eq!(
            card.answer(&answer, Some(&label)).unwrap_err(),
            DropCause::Malformed,
            "twice"
        );
    }

    #[test]
    fn a_burst_without_room_or_answer_is_let_go() {
        let mut card = card();
        for _ in 0..2 {
            join(&mut card, 0, 2);
            let closed = card.close_before(at(0), 2, true).unwrap();
            let tick = card.ask(at(0), closed);
            let (mut answer, _) = label(&tick);
            answer.flags = TRAIN_REFUSED;
            assert!(matches!(card.answer(&answer, None), Ok(Answer::Refused(_))));
        }
        join(&mut card, 0, 2);
        let closed = card.close_before(at(0), 2, true).unwrap();
        card.ask(at(0), closed);
        assert_eq!(card.take_unanswered().unwrap().frames.len(), 1);
        assert_eq!(card.held_bytes, Bytes::ZERO);
    }

    #[test]
    fn what_finds_no_room_is_told_with_the_next_burst() {
        let mut card = card();
        let taken = (0..7).filter(|_| join(&mut card, 0, 1)).count();
        assert_eq!(taken, 5, "4850 bytes of 5000");
        assert!(!join(&mut card, 0, 3), "queues share the room");
        let closed = card.close_before(at(0), 1, true).unwrap();
        assert_eq!(card.ask(at(0), closed).lost_bytes, 2 * 970);
        assert_eq!(card.take_unanswered().unwrap().frames.len(), 5);
        join(&mut card, 0, 1);
        let closed = card.close_before(at(0), 1, true).unwrap();
        assert_eq!(card.ask(at(0), closed).lost_bytes, 0);
        card.take_unanswered();
        join(&mut card, 0, 0);
        assert_eq!(
            (card.take_all().len(), card.held_bytes.get(), card.lost_bytes.len()),
            (1, 0, 0)
        );
    }
}
