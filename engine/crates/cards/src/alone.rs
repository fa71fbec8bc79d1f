// SPDX-License-Identifier: Apache-2.0
//! One card by itself, for a driver that puts it between the interfaces of a switch and a link.
//!
//! ```text
//! switch, PORT_LINECARD ──> told ──┐                   ┌──> poll: ToSwitch ──> switch, PORT_LINECARD
//! switch, port          ──> sends ─┴──> poll(now) ─────┴──> poll: Link     ──> link
//! ```
//!
//! After each call that gives it something, or when [`Alone::next_at`] has come, poll until there is nothing. What comes
//! from the link goes straight to the switch; that is the driver's.

use std::collections::{BTreeMap, VecDeque};

use slotwise_units::Instant;

use crate::card::{Action, Actions, Card, Expiry, Pass, Program, TimerId};
use crate::message::{Message, ToCard};
use crate::packet::{Frame, Origin, Packet};
use crate::random::Chance;
use crate::{DropCause, Port};

/// Frame that a card puts out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// To the switch, by the port of line cards.
    ToSwitch(Message),
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
    to_switch: VecDeque<Message>,
    /// Entries of both maps so far.
    age: u64,
    /// Of a packet at the link's end.
    loss: Option<Chance>,
    lost: u64,
    drops: BTreeMap<DropCause, u64>,
}

impl<C: Card> Alone<C> {
    /// A card of which these timers run.
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
        let mut out = Actions::new();
        self.card
            .sends(now, port, Packet::unborn(frame), Origin::Local, &mut out);
        self.perform(now, out);
    }

    /// Takes a frame that left the switch by the port of line cards. One for the card of another port is left alone.
    pub fn told(&mut self, now: Instant, port: Port, frame: &[u8]) {
        let mut out = Actions::new();
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
        let mut todo: Vec<Action> = actions.into_iter().rev().collect();
        while let Some(action) = todo.pop() {
            match action {
                Action::Enter { at, flying, .. } => {
                    let age = self.age();
                    self.in_flight.insert((at, age), flying.packet.frame);
                }
                Action::Ask { message, then } => {
                    self.to_switch.push_back(message);
                    let mut out = Actions::new();
                    self.card.goes_on(now, then, Pass::Later, &mut out);
                    todo.extend(out.into_iter().rev());
                }
                Action::Timer { timer, at, expiry } => self.set_timer(at, expiry, timer),
                Action::Drop { cause, .. } => self.count(cause),
                Action::Unread { .. } => self.count(DropCause::Malformed),
                // Links of a card alone do not change, and nobody checks a network.
                Action::Recall { .. } | Action::Retime { .. } | Action::Broken { .. } | Action::Seen(_) => {}
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
                let mut out = Actions::new();
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

    /// When something is due next, as things stand; right once [`Alone::poll`] gave nothing.
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
