// SPDX-License-Identifier: Apache-2.0
//! Calls of the cards that switches own, and what becomes of their actions.

use slotwise_cards::card::{Action, Actions, Broken, Card, Expiry, Pass, Then, TimerId};
use slotwise_cards::message::ToCard;
use slotwise_cards::packet::{Frame, Origin, Packet};
use slotwise_cards::station::StationCard;
use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::PORT_LINECARD;

use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::kind::CardAt;
use crate::node::NodeCard;
use crate::pump::{Passed, Work};

/// The rule that a card has found to be broken.
fn invariant(broken: Broken) -> Invariant {
    match broken {
        Broken::AddRate => Invariant::ADD_RATE,
        Broken::TransitOverflow => Invariant::INSERTION,
    }
}

impl Fabric {
    /// Calls the card that a node owns, and performs its actions.
    fn call_card<T: Default>(
        &mut self,
        node: usize,
        call: impl FnOnce(&mut StationCard, Instant, &mut Actions) -> T,
    ) -> T {
        let now = Instant::from_ns(self.now_ns);
        let mut actions = std::mem::take(&mut self.actions);
        let result = match &mut self.nodes[node].own_card {
            NodeCard::None => T::default(),
            NodeCard::Station(card) => call(card, now, &mut actions),
        };
        for action in actions.drain(..) {
            if self.has_asked() {
                let node = node as u32;
                self.stack.add(Work::Action { node, action });
            } else {
                self.act(node, action);
            }
        }
        // Its memory is used again.
        self.actions = actions;
        result
    }

    /// A packet leaves a switch by a port of its card.
    pub(crate) fn own_card_sends(&mut self, (node, port): (usize, Port), frame: Frame, origin: Origin) {
        let born_ns = origin.born_ns();
        let packet = Packet { frame, born_ns };
        self.call_card(node, |card, now, out| card.sends(now, port, packet, origin, out));
    }

    /// P4 tells a card something; false if that is nothing for it.
    pub(crate) fn tell_own_card(&mut self, node: usize, message: &ToCard) -> bool {
        self.call_card(node, |card, now, out| card.told(now, message, out))
    }

    /// A timer of a card has expired.
    pub(crate) fn own_card_due(&mut self, (node, timer): (usize, TimerId), expiry: Expiry) {
        let has_program = self.runs(self.nodes[node].device);
        self.call_card(node, |card, now, out| card.due(now, timer, expiry, has_program, out));
    }

    /// P4 has answered a question of a card, or will later.
    pub(crate) fn own_card_goes_on(&mut self, node: usize, then: Then, pass: Pass) {
        self.call_card(node, |card, now, out| card.goes_on(now, then, pass, out));
    }

    /// The link behind a port of a card carries packets from now on or not.
    pub(crate) fn set_own_card_dark(&mut self, (node, port): (usize, Port), is_dark: bool) {
        self.note_dark_station();
        self.call_card(node, |card, now, out| card.set_dark(now, port, is_dark, out));
    }

    /// A switch stops, or has a new program.
    pub(crate) fn restart_card(&mut self, device: Device) {
        let node = self.node(device);
        self.call_card(node, |card, now, out| card.restarts(now, out));
    }

    /// Performs an action of the card of a node.
    pub(crate) fn act(&mut self, node: usize, action: Action) {
        match action {
            Action::Enter { lane, at, flying } => self.lanes[lane as usize].enter(&mut self.events, at.ns(), flying),
            Action::Ask { message, then } => {
                let frame = self.pool.copy_of(message.bytes());
                let to = (self.nodes[node].device, PORT_LINECARD);
                let node = node as u32;
                self.ask_and_go_on(to, frame, Origin::Local, Passed::Card { node, then });
            }
            Action::Timer { timer, at, expiry } => {
                let timer = CardAt::of_node(node, timer);
                let event = match expiry {
                    Expiry::First => Event::timer(timer),
                    Expiry::Last => Event::wake(timer),
                };
                self.events.schedule(at.ns(), event);
            }
            Action::Drop { port, cause, frame } => self.drop(self.place_before(node, port), cause, frame),
            Action::Unread { port, bytes } => {
                self.drops
                    .add(self.place_before(node, port), DropCause::Malformed, bytes)
            }
            Action::Broken { port, broken } => {
                let place = self.place_before(node, port);
                self.invariants.violated(invariant(broken), self.now_ns, place, None);
            }
            Action::Seen(record) => self.seen_on_ring(node, &record),
        }
    }

    fn place_before(&self, node: usize, port: Port) -> Place {
        let device = self.nodes[node].device;
        Place::Port { device, port }
    }
}
