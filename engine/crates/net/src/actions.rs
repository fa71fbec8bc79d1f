// SPDX-License-Identifier: Apache-2.0
//! Calls of the cards that switches own, and what becomes of their actions.

use slotwise_cards::card::{Action, Actions, Card, Expiry, Pass, Then, TimerId};
use slotwise_cards::links::{self, Links};
use slotwise_cards::message::ToCard;
use slotwise_cards::packet::{Frame, Origin, Packet};
use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::{Duration, Instant, Rate};
use slotwise_wire::PORT_LINECARD;

use crate::Net;
use crate::around::{Around, Beyond};
use crate::effects::Effects;
use crate::event::{By, CardTimer, Event};
use crate::node::{Before, NodeCard, NodePort};
use crate::work::{Ask, Passed, Work};

impl Net {
    /// Calls the card that a node owns, and performs its actions.
    pub(super) fn call_card<T>(
        &mut self,
        beyond: &mut impl Beyond,
        node: usize,
        call: impl FnOnce(&mut NodeCard, Instant, &mut Actions) -> T,
    ) -> T {
        let now = Instant::from_ns(self.now_ns);
        let result = call(&mut self.nodes[node].own_card, now, &mut self.out);
        self.perform(beyond, node);
        result
    }

    /// Calls the card before links of a node, and performs its actions.
    pub(super) fn call_links<T>(
        &mut self,
        beyond: &mut impl Beyond,
        node: usize,
        call: impl FnOnce(&mut Links, Instant, &mut Actions) -> T,
    ) -> T {
        let now = Instant::from_ns(self.now_ns);
        let result = call(&mut self.nodes[node].links, now, &mut self.out);
        self.perform(beyond, node);
        result
    }

    /// Performs the actions of the card that was called last, in order; what follows a question waits until that is complete.
    #[inline]
    pub(super) fn perform<B: Beyond>(&mut self, beyond: &mut B, node: usize) {
        match self.out.list.len() {
            0 => {}
            1 => {
                // Most slots of a star have no other: it is not moved.
                if let (Some(&Action::Timer { timer, at, expiry }), false) = (self.out.list.last(), self.has_asked()) {
                    self.out.list.clear();
                    self.set_card_timer(node, (timer, expiry), at);
                } else if let Some(action) = self.out.list.pop() {
                    self.perform_one(beyond, node, action);
                }
            }
            2 => {
                if let (Some(second), Some(first)) = (self.out.list.pop(), self.out.list.pop()) {
                    self.perform_one(beyond, node, first);
                    self.perform_one(beyond, node, second);
                }
            }
            _ => self.perform_all(beyond, node),
        }
    }

    /// As [`Net::perform`], as the last act of an event: a question that is the last action, and the only one, enters P4 at once.
    #[inline]
    fn perform_last<A: Around>(&mut self, around: &mut A, node: usize) {
        if let Some(Action::Ask { .. }) = self.out.list.last()
            && let Some(Action::Ask { frame, until, then }) = self.out.list.pop()
        {
            self.perform(around, node);
            return self.enter(around, self.question(node, frame, until, then));
        }
        self.perform(around, node);
    }

    fn perform_all<B: Beyond>(&mut self, beyond: &mut B, node: usize) {
        let mut actions = std::mem::take(&mut self.out.list);
        for action in actions.drain(..) {
            self.perform_one(beyond, node, action);
        }
        // Its memory is used again.
        self.out.list = actions;
    }

    #[expect(
        clippy::inline_always,
        reason = "a call moves its arguments once more, for every packet"
    )]
    #[inline(always)]
    fn perform_one<B: Beyond>(&mut self, beyond: &mut B, node: usize, action: Action) {
        // A question is added as the work that it is.
        if self.has_asked() && !matches!(action, Action::Ask { .. } | Action::Arrives { .. }) {
            self.stack.add(Work::Action { node, action });
        } else {
            self.act(beyond, node, action);
        }
    }

    /// A card's question as a packet for P4, with its continuation.
    #[inline]
    fn question(&self, node: usize, frame: Frame, until: Option<Instant>, then: Then) -> Ask {
        Ask {
            device: self.nodes[node].device,
            port: PORT_LINECARD,
            frame,
            origin: until.map_or(Origin::Local, |until| Origin::Tick { until }),
            then: match then {
                Then::Nothing => Passed::Nothing,
                then => Passed::Card { node, then },
            },
        }
    }

    /// A packet leaves a switch by a port of its card.
    pub(super) fn own_card_sends<B: Beyond>(
        &mut self,
        beyond: &mut B,
        (node, port): (usize, Port),
        frame: Frame,
        origin: Origin,
    ) {
        let born = origin.born();
        let packet = Packet { frame, born };
        self.call_card(beyond, node, |card, now, out| {
            card.sends(now, port, packet, origin, out);
        });
    }

    /// Gives a message of P4 to the card before its port; false if that is nothing for it.
    pub(super) fn give_to_card<B: Beyond>(&mut self, beyond: &mut B, node: usize, message: &ToCard) -> bool {
        match self.nodes[node].before(message.port) {
            Some(Before::Link) => self.call_links(beyond, node, |links, now, out| links.told(now, message, out)),
            Some(Before::Card) => self.call_card(beyond, node, |card, now, out| card.told(now, message, out)),
            None => false,
        }
    }

    /// A timer of a card has expired.
    pub fn card_due<A: Around>(&mut self, around: &mut A, timer: CardTimer, expiry: Expiry) {
        let (node, timer) = timer.parts();
        let (now, program) = (Instant::from_ns(self.now_ns), self.nodes.program_at(node));
        if links::port_of(timer).is_some() {
            return self.call_links(around, node, |links, now, out| {
                links.due(now, timer, expiry, program, out);
            });
        }
        let card = &mut self.nodes[node].own_card;
        card.due(now, timer, expiry, program, &mut self.out);
        self.perform_last(around, node);
    }

    /// P4 has answered a question of a card, or will later.
    pub(super) fn card_goes_on<B: Beyond>(&mut self, beyond: &mut B, node: usize, then: Then, pass: Pass) {
        match then {
            Then::Ticks { timer } if links::port_of(timer).is_some() => {
                self.call_links(beyond, node, |links, now, out| links.goes_on(now, then, pass, out));
            }
            _ => self.call_card(beyond, node, |card, now, out| card.goes_on(now, then, pass, out)),
        }
    }

    /// Lets the link behind a port of a card carry packets or not.
    pub(super) fn set_dark<A: Around>(&mut self, around: &mut A, NodePort { node, port }: NodePort, is_dark: bool) {
        if self.nodes[node].before(port) == Some(Before::Link) {
            return self.call_links(around, node, |links, now, out| links.set_dark(now, port, is_dark, out));
        }
        around.changes_light(&mut Effects::on(self), node);
        self.call_card(around, node, |card, now, out| card.set_dark(now, port, is_dark, out));
    }

    /// Changes the link behind a port. Packets on it arrive at their times.
    pub fn change_link<B: Beyond>(
        &mut self,
        beyond: &mut B,
        (device, port): (Device, Port),
        change: (Option<Rate>, Option<Duration>),
    ) {
        let node = self.nodes.number(device);
        self.call_links(beyond, node, |links, now, out| links.change(now, port, change, out));
    }

    /// Performs an action of a card.
    #[expect(
        clippy::inline_always,
        reason = "a call moves its arguments once more, for every packet"
    )]
    #[inline(always)]
    pub(super) fn act<B: Beyond>(&mut self, beyond: &mut B, node: usize, action: Action) {
        match action {
            Action::Enter { lane, at, flying } => {
                self.lanes[lane as usize].enter(&mut self.queue, By::node(node), at.ns(), flying);
            }
            Action::Timer { timer, at, expiry } => self.set_card_timer(node, (timer, expiry), at),
            Action::Ask { frame, until, then } => {
                self.ask_and_go_on(self.question(node, frame, until, then));
            }
            action => self.act_seldom(beyond, node, action),
        }
    }

    #[inline]
    fn set_card_timer(&mut self, node: usize, (timer, expiry): (TimerId, Expiry), at: Instant) {
        let timer = CardTimer::new(node, timer);
        self.queue
            .schedule(By::node(node), at.ns(), Event::expiry(timer, expiry));
    }

    /// Performs an action that is not one of every packet.
    fn act_seldom<B: Beyond>(&mut self, beyond: &mut B, node: usize, action: Action) {
        match action {
            Action::Retime { lane, arrivals } => self.lanes[lane as usize].retime(&mut self.queue, &arrivals),
            Action::Recall {
                lane,
                count,
                port,
                cause,
            } => {
                let place = self.nodes[node].place_before(port);
                for packet in self.lanes[lane as usize].drop_last(&mut self.queue, count) {
                    self.drop(place, cause, packet.frame);
                }
            }
            Action::Arrives { port, packet } => {
                let Packet { frame, born } = packet;
                self.ask((self.nodes[node].device, port), frame, Origin::Lane { born });
            }
            Action::Drop { port, cause, frame } => self.drop(self.nodes[node].place_before(port), cause, frame),
            Action::Refuse { port, cause, bytes } => {
                self.journal
                    .drops
                    .add(self.nodes[node].place_before(port), cause, bytes);
            }
            Action::Broken { port, broken, packet } => {
                let place = self.nodes[node].place_before(port);
                self.broken(broken, place, packet);
            }
            action @ (Action::Light { .. } | Action::Split { .. } | Action::Cut { .. } | Action::Seen(_)) => {
                beyond.acts(&mut Effects::on(self), node, action);
            }
            action @ (Action::Enter { .. } | Action::Timer { .. } | Action::Ask { .. }) => {
                self.act(beyond, node, action);
            }
        }
    }
}
