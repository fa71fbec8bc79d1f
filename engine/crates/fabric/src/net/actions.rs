// SPDX-License-Identifier: Apache-2.0
//! Calls of the cards that switches own, and what becomes of their actions.

use slotwise_cards::card::{Action, Actions, Broken, Card, Expiry, Pass, Program, Record, Then, TimerId};
use slotwise_cards::links::{self, Links};
use slotwise_cards::message::ToCard;
use slotwise_cards::packet::{Frame, Origin, Packet};
use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::PORT_LINECARD;

use crate::drops::Place;
use crate::invariants::Invariant;
use crate::kinds::star::core_of;
use crate::net::event::{CardTimer, Event};
use crate::net::node::{Before, NodeCard, NodePort};
use crate::net::pump::{Passed, Work};
use crate::world::Fabric;

/// The rule that a card has found to be broken.
fn invariant(broken: Broken) -> Invariant {
    match broken {
        Broken::Collision => Invariant::COLLISION,
        Broken::Guard => Invariant::GUARD,
        Broken::Ungranted => Invariant::UNGRANTED,
        Broken::Split => Invariant::SPLIT,
        Broken::AddRate => Invariant::ADD_RATE,
        Broken::TransitOverflow => Invariant::INSERTION,
        Broken::Label => Invariant::LABEL,
        Broken::Ram => Invariant::RAM,
        Broken::IngressLimit => Invariant::INGRESS,
        Broken::WavelengthCollision => Invariant::LANE,
    }
}

impl Fabric {
    /// Calls the card that a node owns, and performs its actions.
    fn call_card<T>(&mut self, node: usize, call: impl FnOnce(&mut NodeCard, Instant, &mut Actions) -> T) -> T {
        let now = Instant::from_ns(self.now_ns);
        let result = call(&mut self.nodes[node].own_card, now, &mut self.out);
        self.perform(node);
        result
    }

    /// Calls the card before links of a node, and performs its actions.
    pub(crate) fn call_links<T>(
        &mut self,
        node: usize,
        call: impl FnOnce(&mut Links, Instant, &mut Actions) -> T,
    ) -> T {
        let now = Instant::from_ns(self.now_ns);
        let result = call(&mut self.nodes[node].links, now, &mut self.out);
        self.perform(node);
        result
    }

    /// Performs the actions of the card that was called last, in order; what follows a question waits until that is complete.
    #[inline]
    pub(crate) fn perform(&mut self, node: usize) {
        match self.out.list.len() {
            0 => {}
            1 => {
                // Most slots of a star have no other: it is not moved.
                if let (Some(&Action::Timer { timer, at, expiry }), false) = (self.out.list.last(), self.has_asked()) {
                    self.out.list.clear();
                    self.set_card_timer(node, (timer, expiry), at);
                } else if let Some(action) = self.out.list.pop() {
                    self.perform_one(node, action);
                }
            }
            2 => {
                if let (Some(second), Some(first)) = (self.out.list.pop(), self.out.list.pop()) {
                    self.perform_one(node, first);
                    self.perform_one(node, second);
                }
            }
            _ => self.perform_all(node),
        }
    }

    /// As [`Fabric::perform`], as the last act of an event: a question that is the last action, and the only one, enters P4 at once.
    #[inline]
    pub(crate) fn perform_last(&mut self, node: usize) {
        if let Some(Action::Ask { .. }) = self.out.list.last()
            && let Some(Action::Ask { frame, until, then }) = self.out.list.pop()
        {
            self.perform(node);
            let (to, origin, then) = self.question(node, until, then);
            return self.enter(to, frame, origin, then);
        }
        self.perform(node);
    }

    fn perform_all(&mut self, node: usize) {
        let mut actions = std::mem::take(&mut self.out.list);
        for action in actions.drain(..) {
            self.perform_one(node, action);
        }
        // Its memory is used again.
        self.out.list = actions;
    }

    #[expect(
        clippy::inline_always,
        reason = "a call moves its arguments once more, for every packet"
    )]
    #[inline(always)]
    fn perform_one(&mut self, node: usize, action: Action) {
        // A question is added as the work that it is.
        if self.has_asked() && !matches!(action, Action::Ask { .. } | Action::Arrives { .. }) {
            self.stack.add(Work::Action { node, action });
        } else {
            self.act(node, action);
        }
    }

    /// Destination, origin and continuation of a card's question.
    #[inline]
    fn question(&self, node: usize, until: Option<Instant>, then: Then) -> ((Device, Port), Origin, Passed) {
        let origin = until.map_or(Origin::Local, |until| Origin::Tick { until });
        let then = match then {
            Then::Nothing => Passed::Nothing,
            then => Passed::Card { node, then },
        };
        ((self.nodes[node].device, PORT_LINECARD), origin, then)
    }

    /// A packet leaves a switch by a port of its card.
    pub(crate) fn own_card_sends(&mut self, (node, port): (usize, Port), frame: Frame, origin: Origin) {
        let born = origin.born();
        let packet = Packet { frame, born };
        self.call_card(node, |card, now, out| card.sends(now, port, packet, origin, out));
    }

    /// Gives a message of P4 to the card before its port; false if that is nothing for it.
    pub(crate) fn give_to_card(&mut self, node: usize, message: &ToCard) -> bool {
        match self.nodes[node].before(message.port) {
            Some(Before::Link) => self.call_links(node, |links, now, out| links.told(now, message, out)),
            Some(Before::Card) => self.call_card(node, |card, now, out| card.told(now, message, out)),
            None => false,
        }
    }

    /// A timer of a card has expired.
    pub(crate) fn card_due(&mut self, timer: CardTimer, expiry: Expiry) {
        let (node, timer) = timer.parts();
        let (now, program) = (Instant::from_ns(self.now_ns), self.program_at(node));
        if links::port_of(timer).is_some() {
            return self.call_links(node, |links, now, out| links.due(now, timer, expiry, program, out));
        }
        let card = &mut self.nodes[node].own_card;
        card.due(now, timer, expiry, program, &mut self.out);
        self.perform_last(node);
    }

    /// P4 has answered a question of a card, or will later.
    pub(crate) fn card_goes_on(&mut self, node: usize, then: Then, pass: Pass) {
        match then {
            Then::Link { .. } => self.call_links(node, |links, now, out| links.goes_on(now, then, pass, out)),
            _ => self.call_card(node, |card, now, out| card.goes_on(now, then, pass, out)),
        }
    }

    /// Program at a node: none, or one that answers now or later.
    pub(crate) fn program_at(&self, node: usize) -> Program {
        match &self.external {
            None if self.nodes[node].pipeline.is_some() => Program::Inside,
            Some(external) if external.running => Program::Outside,
            _ => Program::None,
        }
    }

    /// Lets the link behind a port of a card carry packets or not.
    pub(crate) fn set_dark(&mut self, NodePort { node, port }: NodePort, is_dark: bool) {
        if self.nodes[node].before(port) == Some(Before::Link) {
            return self.call_links(node, |links, now, out| links.set_dark(now, port, is_dark, out));
        }
        if let NodeCard::Station(_) = self.nodes[node].own_card {
            self.note_dark_station();
        }
        self.call_card(node, |card, now, out| card.set_dark(now, port, is_dark, out));
    }

    /// A switch stops, or has a new program.
    pub(crate) fn restart_card(&mut self, device: Device) {
        let node = self.node(device);
        self.call_card(node, Card::restarts);
    }

    /// Performs an action of a card.
    #[expect(
        clippy::inline_always,
        reason = "a call moves its arguments once more, for every packet"
    )]
    #[inline(always)]
    pub(crate) fn act(&mut self, node: usize, action: Action) {
        match action {
            Action::Enter { lane, at, flying } => self.lanes[lane as usize].enter(&mut self.events, at.ns(), flying),
            Action::Timer { timer, at, expiry } => self.set_card_timer(node, (timer, expiry), at),
            Action::Ask { frame, until, then } => {
                let (to, origin, then) = self.question(node, until, then);
                self.ask_and_go_on(to, frame, origin, then);
            }
            action => self.act_seldom(node, action),
        }
    }

    #[inline]
    fn set_card_timer(&mut self, node: usize, (timer, expiry): (TimerId, Expiry), at: Instant) {
        let timer = CardTimer::new(node, timer);
        self.events.schedule(at.ns(), Event::expiry(timer, expiry));
    }

    /// Performs an action that is not one of every packet.
    fn act_seldom(&mut self, node: usize, action: Action) {
        match action {
            Action::Retime { lane, arrivals } => self.lanes[lane as usize].retime(&mut self.events, &arrivals),
            Action::Recall {
                lane,
                count,
                port,
                cause,
            } => {
                let place = self.place_before(node, port);
                for packet in self.lanes[lane as usize].drop_last(&mut self.events, count) {
                    self.drop(place, cause, packet.frame);
                }
            }
            Action::Cut {
                lane,
                port,
                cause,
                delay,
                by_tail,
            } => self.cut_lane(lane as usize, self.place_before(node, port), cause, (delay, by_tail)),
            Action::Arrives { port, packet } => {
                let Packet { frame, born } = packet;
                self.ask(self.nodes[node].device, port, frame, Origin::Lane { born });
            }
            Action::Light {
                port,
                queue,
                packet,
                duration,
                new_demand,
            } => {
                let fibre = self.fibre_before(node, port);
                if let Some(demand) = new_demand {
                    self.light_for(fibre, demand);
                }
                self.send_into_fibre(fibre, queue, packet, duration);
            }
            Action::Split {
                port,
                packet,
                start,
                duration,
                program,
            } => self.split_light((node, port), packet, (start, duration), program),
            Action::Drop { port, cause, frame } => self.drop(self.place_before(node, port), cause, frame),
            Action::Refuse { port, cause, bytes } => self.drops.add(self.place_before(node, port), cause, bytes),
            Action::Broken { port, broken, packet } => {
                let place = self.place_before(node, port);
                self.invariants.violated(invariant(broken), self.now_ns, place, packet);
            }
            Action::Seen(record) => self.seen(node, &record),
            action @ (Action::Enter { .. } | Action::Timer { .. } | Action::Ask { .. }) => self.act(node, action),
        }
    }

    /// Feeds checks and measurements of the whole network.
    fn seen(&mut self, node: usize, record: &Record) {
        match record {
            Record::Added {
                headers: (ring, data),
                accepted,
            } => self.ring.watch.enters(ring, data, accepted.ns()),
            Record::Forgotten { headers: (ring, data) } => self.ring.watch.forget(ring, data),
            &Record::CoreSlot { slot } => self.slot_starts_at_core(node, slot),
            Record::Interval(interval) => self.note_phase(node, interval),
            &Record::Reported { port, voq, backlog } => self.note_report((node, port), voq, backlog.get()),
            &Record::Granted { port, voq } => self.note_grant((node, port), voq),
            &Record::EdgeFrame { port, frame } => self.frame_starts(self.fibre_before(node, port), frame),
            record => self.ops_seen(node, record),
        }
    }

    /// Place before a port of a node.
    pub(crate) fn place_before(&self, node: usize, port: Port) -> Place {
        let node = &self.nodes[node];
        let device = node.device;
        if port == PORT_LINECARD {
            return Place::Device(device);
        }
        if let (Device::Edge(edge), Some(core)) = (device, core_of(port)) {
            return Place::LineCard { edge, core };
        }
        if let Device::Core(core) = device {
            return self.place_behind(core, port);
        }
        let host = node.host(port).and_then(|host| self.hosts[host].id);
        host.map_or(Place::Port { device, port }, Place::Downlink)
    }
}
