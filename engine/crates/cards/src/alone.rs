// SPDX-License-Identifier: Apache-2.0
//! One card by itself, for a driver that puts it between the interfaces of a switch and a link.
//!
//! ```text
//! switch, PORT_LINECARD ──> told ──┐                   ┌──> poll: ToSwitch ──> switch, PORT_LINECARD
//! switch, port          ──> sends ─┴──> poll(now) ─────┴──> poll: Link     ──> link
//! ```
//!
//! After each of these calls, and at [`Alone::next_at`], poll until nothing is due. The driver passes frames from the
//! link to the switch itself.

use std::collections::{BTreeMap, VecDeque};

use slotwise_units::Instant;

use crate::card::{Action, Actions, Card, Expiry, Pass, Program, TimerId};
use crate::message::ToCard;
use crate::packet::{Frame, Origin, Packet};
use crate::{DropCause, Port};
use slotwise_random::Chance;

/// Frame that a card puts out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// To the switch, by the port of line cards.
    ToSwitch(Frame),
    /// Into the link, or at its far end if it takes time.
    Link(Frame),
}

/// A card whose switch is elsewhere and answers later.
pub struct Alone<C> {
    /// The card.
    pub card: C,
    /// Timers that run, by time, order at that time, and age.
    timers: BTreeMap<(Instant, Expiry, u64), TimerId>,
    /// Packets on the link, by arrival and age.
    in_flight: BTreeMap<(Instant, u64), Frame>,
    to_switch: VecDeque<Frame>,
    /// Entries of both maps so far.
    age: u64,
    /// Loss of packets at the link's end.
    loss: Option<Chance>,
    lost: u64,
    drops: BTreeMap<DropCause, u64>,
}

impl<C: Card> Alone<C> {
    /// A card with running timers.
    pub fn new(card: C, timers: impl IntoIterator<Item = (Instant, TimerId)>) -> Alone<C> {
        let mut alone = Alone {
            card,
            timers: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            to_switch: VecDeque::new(),
            age: 0,
            loss: None,
            lost: 0,
            drops: BTreeMap::new(),
        };
        for (at, timer) in timers {
            alone.set_timer(at, Expiry::First, timer);
        }
        alone
    }

    /// The same before a link that loses packets.
    #[must_use]
    pub fn losing(mut self, loss: Chance) -> Alone<C> {
        self.loss = Some(loss);
        self
    }

    fn age(&mut self) -> u64 {
        self.age += 1;
        self.age
    }

    fn set_timer(&mut self, at: Instant, expiry: Expiry, timer: TimerId) {
        let age = self.age();
        self.timers.insert((at, expiry, age), timer);
    }

    /// Takes a frame that left the switch by a port.
    pub fn sends(&mut self, now: Instant, port: Port, frame: Frame) {
        let mut out = Actions::default();
        self.card
            .sends(now, port, Packet::unborn(frame), Origin::Local, &mut out);
        self.perform(now, out);
    }

    /// Takes a frame that left the switch by the port of line cards. One for the card of another port is left alone.
    pub fn told(&mut self, now: Instant, port: Port, frame: &[u8]) {
        let mut out = Actions::default();
        let is_known = match ToCard::read(frame) {
            Some(message) if message.port != port && message.flow_control().is_some() => return,
            Some(message) => self.card.told(now, &message, &mut out),
            None => false,
        };
        if !is_known {
            self.count(DropCause::Malformed);
        }
        self.perform(now, out);
    }

    fn count(&mut self, cause: DropCause) {
        *self.drops.entry(cause).or_default() += 1;
    }

    fn perform(&mut self, now: Instant, actions: Actions) {
        let mut todo: Vec<Action> = actions.list.into_iter().rev().collect();
        while let Some(action) = todo.pop() {
            match action {
                Action::Enter { at, flying, .. } => {
                    let age = self.age();
                    self.in_flight.insert((at, age), flying.packet.frame);
                }
                Action::Ask { frame, then, .. } => {
                    self.to_switch.push_back(frame);
                    let mut out = Actions::default();
                    self.card.goes_on(now, then, Pass::Later, &mut out);
                    todo.extend(out.list.into_iter().rev());
                }
                Action::Light { packet, .. } | Action::Split { packet, .. } => {
                    let age = self.age();
                    self.in_flight.insert((now, age), packet.frame);
                }
                Action::Timer { timer, at, expiry } => self.set_timer(at, expiry, timer),
                Action::Drop { cause, .. } | Action::Refuse { cause, .. } => self.count(cause),
                // Links of a card alone are constant, nothing arrives through it, and there is no network to check.
                Action::Recall { .. }
                | Action::Cut { .. }
                | Action::Arrives { .. }
                | Action::Retime { .. }
                | Action::Broken { .. }
                | Action::Seen(_) => {}
            }
        }
    }

    /// The next frame that is due at `now`, messages first.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        loop {
            if let Some(message) = self.to_switch.pop_front() {
                return Some(Output::ToSwitch(message));
            }
            let expired = self.timers.first_entry().filter(|timer| timer.key().0 <= now);
            if let Some(timer) = expired {
                let ((_, expiry, _), timer) = timer.remove_entry();
                let mut out = Actions::default();
                self.card.due(now, timer, expiry, Program::Outside, &mut out);
                self.perform(now, out);
                continue;
            }
            let arrived = self.in_flight.first_entry().filter(|frame| frame.key().0 <= now)?;
            let frame = arrived.remove();
            if !self.loss.as_mut().is_some_and(Chance::comes) {
                return Some(Output::Link(frame));
            }
            self.lost += 1;
        }
    }

    /// Time of the next due action; exact once [`Alone::poll`] has returned nothing.
    pub fn next_at(&self) -> Option<Instant> {
        let timer = self.timers.first_key_value().map(|((at, _, _), _)| *at);
        let frame = self.in_flight.first_key_value().map(|((at, _), _)| *at);
        timer.into_iter().chain(frame).min()
    }

    /// Packets that the link lost, since the start.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Frames that the card lost, by reason, since the start.
    pub fn drops(&self) -> &BTreeMap<DropCause, u64> {
        &self.drops
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::{
        ETHERTYPE_LINECARD, Ethernet, FlowControl, FlowOp, IntervalTick, IntervalTimer, LINECARD_VERSION, LineCardKind,
        Linecard, QueueReport, TIMER_RETRY_NS,
    };

    use super::*;
    use slotwise_units::{Bytes, Duration, Rate};

    use crate::interval::MIN_INTERVAL;
    use crate::links::Links;
    use slotwise_random::{Chance, Stream, generator};

    const MS: u64 = 1_000_000;
    const PORT: Port = 3;

    /// 8 Mb/s: 1 ms for 1000 bytes; the link takes 10 ms.
    fn card() -> Alone<Links> {
        let link = (Rate::from_bps(8_000_000), Duration::from_ms(10));
        Alone::before_link(PORT, link, Bytes::new(2000), Instant::ZERO)
    }

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn control(card: &mut Alone<Links>, now_ns: u64, frame: &[u8]) {
        card.told(at(now_ns), PORT, frame);
    }

    fn malformed(card: &Alone<Links>) -> u64 {
        card.drops().get(&DropCause::Malformed).copied().unwrap_or(0)
    }

    fn frame() -> Vec<u8> {
        vec![7; Ethernet::SIZE + 1000]
    }

    fn ticks(card: &mut Alone<Links>, now_ns: u64) -> Vec<(u8, u64)> {
        let mut found = Vec::new();
        while let Some(Output::ToSwitch(tick)) = card.poll(at(now_ns)) {
            let header = Ethernet::SIZE + Linecard::SIZE;
            let linecard = Linecard::decode(&tick[Ethernet::SIZE..]).unwrap();
            assert_eq!(
                (linecard.port, linecard.kind),
                (PORT, LineCardKind::IntervalTick.into())
            );
            let report = QueueReport::decode(&tick[header + IntervalTick::SIZE..]).unwrap();
            assert_eq!(report.queue, PORT);
            let tick = IntervalTick::decode(&tick[header..]).unwrap();
            found.push((tick.timer, tick.local_ns));
        }
        found
    }

    fn answer(port: u16, queue: u16, op: FlowOp, value: u64) -> Vec<u8> {
        let ethernet = Ethernet {
            ether_type: ETHERTYPE_LINECARD,
            ..Ethernet::default()
        };
        let linecard = Linecard {
            version: LINECARD_VERSION,
            kind: LineCardKind::FlowControl.into(),
            port,
        };
        let control = FlowControl {
            queue,
            op: op.into(),
            open_ns: 0,
            close_ns: 0,
            value,
        };
        [&ethernet.encode()[..], &linecard.encode(), &control.encode()].concat()
    }

    #[test]
    fn packets_leave_at_the_links_rate_after_its_delay() {
        let mut card = card();
        ticks(&mut card, 0);
        for _ in 0..4 {
            card.sends(Instant::ZERO, PORT, frame());
        }
        assert_eq!(card.drops().get(&DropCause::QueueFull), Some(&1));
        for leaves_ms in [11, 12, 13] {
            assert_eq!(card.next_at().map(Instant::ns), Some(leaves_ms * MS));
            assert_eq!(card.poll(at(leaves_ms * MS - 1)), None);
            assert_eq!(card.poll(at(leaves_ms * MS)), Some(Output::Link(frame())));
        }
        let used = card.card.take_use(at(20 * MS), PORT).unwrap();
        assert_eq!((used.sent_packets, used.dropped_packets, used.most_packets), (3, 1, 2));
    }

    #[test]
    fn a_link_loses_by_its_seed_what_was_sent_and_no_more() {
        let arrive = |loss, seed| {
            let mut card = card().losing(Chance::new(loss, generator(seed, Stream::RoutedLoss, u64::from(PORT))));
            ticks(&mut card, 0);
            let mut arrived = Vec::new();
            for number in 0..4000u64 {
                let now_ns = number * MS;
                let frame = [&[7; Ethernet::SIZE][..], &number.to_be_bytes()].concat();
                card.sends(at(now_ns), PORT, frame);
                while let Some(output) = card.poll(at(now_ns)) {
                    if let Output::Link(frame) = output {
                        let number = &frame[Ethernet::SIZE..];
                        arrived.push(u64::from_be_bytes(number.try_into().unwrap()));
                    }
                }
            }
            (arrived, card.lost())
        };
        let (all, lost) = arrive(0.0, 1);
        assert_eq!((all.len(), lost), (3989, 0), "the others are in transmission");
        let (some, lost) = arrive(0.01, 1);
        assert_eq!(some.len() as u64 + lost, 3989);
        assert!((20..60).contains(&lost), "{lost} of 3989");
        assert!(some.is_sorted());
        assert_eq!(arrive(0.01, 1).0, some);
        assert_ne!(arrive(0.01, 2).0, some);
        assert_eq!(arrive(1.0, 1), (Vec::new(), 3989));
    }

    #[test]
    fn an_answer_counts_from_its_tick_however_late_it_comes() {
        const CONTROL: u8 = IntervalTimer::Control as u8;
        const QUEUE: u8 = IntervalTimer::Queue as u8;
        let mut card = card();
        assert_eq!(ticks(&mut card, 0), [(QUEUE, 0), (CONTROL, 0)]);
        control(&mut card, MS, &answer(PORT, PORT, FlowOp::SetControlTimer, 50 * MS));
        control(&mut card, MS, &answer(PORT, PORT, FlowOp::SetQueueTimer, 20 * MS));
        assert_eq!(card.next_at().map(Instant::ns), Some(20 * MS));
        assert_eq!(ticks(&mut card, 21 * MS), [(QUEUE, 20 * MS)]);
        assert_eq!(ticks(&mut card, 50 * MS), [(CONTROL, 50 * MS)]);
        control(&mut card, 90 * MS, &answer(PORT, PORT, FlowOp::SetControlTimer, MS));
        assert_eq!(
            card.next_at().map(Instant::ns),
            Some(90 * MS + MIN_INTERVAL.ns()),
            "never in the past, never at once"
        );
    }

    #[test]
    fn frames_for_others_change_nothing() {
        let mut card = card();
        ticks(&mut card, 0);
        let wrong = [
            answer(PORT, PORT, FlowOp::Open, 1),
            answer(PORT, PORT, FlowOp::SetControlTimer, 0),
            answer(PORT, PORT, FlowOp::SetControlTimer, u64::MAX),
            answer(PORT, PORT + 1, FlowOp::SetControlTimer, 1),
            answer(PORT, PORT, FlowOp::SetControlTimer, 1)[..40].to_vec(),
            Vec::new(),
        ];
        control(&mut card, MS, &answer(PORT + 1, PORT + 1, FlowOp::SetControlTimer, 1));
        assert_eq!(malformed(&card), 0, "another card's");
        for frame in &wrong[..] {
            control(&mut card, MS, frame);
        }
        // The largest value from time 0 is a time; it only is far away.
        assert_eq!(malformed(&card), wrong.len() as u64 - 1);
        control(&mut card, MS, &answer(PORT, PORT, FlowOp::SetControlTimer, 5 * MS));
        assert_eq!(card.next_at().map(Instant::ns), Some(5 * MS), "and it listens still");
        assert!(ticks(&mut card, u64::from(TIMER_RETRY_NS)).len() >= 2);
    }
}
