// SPDX-License-Identifier: Apache-2.0
//! Access of kinds of networks to the net.

use slotwise_cards::card::{Actions, Program, Record};
use slotwise_cards::links::Links;
use slotwise_cards::packet::{Flying, Frame, Origin, Packet};
use slotwise_p4::{Pipeline, Port};
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::Optical;

use crate::Net;
use crate::around::Beyond;
use crate::capture::CapturePoint;
use crate::control_event::ControlMessage;
use crate::drops::P4Drop;
use crate::drops::{DropCause, Place};
use crate::event::By;
use crate::fault::FaultRecord;
use crate::invariants::Invariant;
use crate::journal::{InBurst, Note};
use crate::lane::{LaneEnd, OwnEnd};
use crate::node::{NodeCard, OwnCard};
use crate::outside::Crossing;
use crate::parcel::Way;
use crate::ticket::{Owner, Ticket};
use crate::work::Step;

/// The net to be looked at.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    net: &'a Net,
}

impl<'a> Look<'a> {
    /// Read-only access to a net.
    pub fn at(net: &'a Net) -> Look<'a> {
        Look { net }
    }

    /// Simulated time.
    pub fn now(self) -> Instant {
        Instant::from_ns(self.net.now_ns)
    }

    /// The kind of networks that a node is of.
    #[inline]
    pub fn owner(self, node: usize) -> Owner {
        self.net.nodes[node].owner
    }

    /// The card of a device, if it has one of this type.
    pub fn card<C: OwnCard>(self, device: Device) -> Option<&'a C> {
        C::of(&self.net.nodes.get(device)?.own_card)
    }

    /// The cards of this type.
    pub fn cards<C: OwnCard + 'a>(self) -> impl Iterator<Item = &'a C> {
        self.net.nodes.iter().filter_map(|node| C::of(&node.own_card))
    }

    /// The program of a device, for its registers and counters.
    pub fn pipeline(self, device: Device) -> Option<&'a Pipeline> {
        self.net.nodes.get(device)?.pipeline.as_ref()
    }

    /// Drops that the programs of a device have counted of what did not come in light.
    pub fn beside_light(self, device: Device) -> u64 {
        self.net.nodes.get(device).map_or(0, |node| node.beside_light)
    }

    /// True if a device has a program and takes frames.
    pub fn runs(self, device: Device) -> bool {
        self.net.runs(device)
    }

    /// Drops counted by the program of a device; `None` without such a counter.
    pub fn p4_drops(self, device: Device) -> Option<Vec<P4Drop>> {
        self.net.p4_drops(device)
    }

    /// The program at a node: none, or one that answers now or later.
    pub fn program_at(self, node: usize) -> Program {
        self.net.nodes.program_at(node)
    }

    /// Place before a port of a node.
    pub fn place_before(self, node: usize, port: Port) -> Place {
        self.net.nodes[node].place_before(port)
    }

    /// A fault by its number.
    pub fn fault(self, fault: usize) -> &'a FaultRecord {
        &self.net.journal.faults[fault]
    }

    /// Packets in a lane, by time of arrival.
    pub fn flying(self, lane: usize) -> impl DoubleEndedIterator<Item = &'a Flying> {
        self.net.lanes[lane].flying()
    }

    /// The end of a lane, where its owner does more than P4 does.
    pub fn own_end(self, lane: usize) -> Option<OwnEnd> {
        match self.net.lanes[lane].end {
            LaneEnd::Own(end) => Some(end),
            _ => None,
        }
    }
}

/// The net in the hands of a kind of networks.
pub struct Effects<'a> {
    net: &'a mut Net,
}

impl<'a> Effects<'a> {
    /// Access to a net.
    #[inline]
    pub fn on(net: &'a mut Net) -> Effects<'a> {
        Effects { net }
    }

    /// The net to be looked at.
    #[inline]
    pub fn look(&self) -> Look<'_> {
        Look { net: self.net }
    }

    /// Simulated time.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_ns(self.net.now_ns)
    }

    /// Number of the node of a device.
    #[inline]
    pub fn node(&self, device: Device) -> usize {
        self.net.nodes.number(device)
    }

    /// Device of a node.
    #[inline]
    pub fn device(&self, node: usize) -> Device {
        self.net.nodes[node].device
    }

    /// The card of a device, to be changed, if it has one of this type.
    #[inline]
    pub fn card_mut<C: OwnCard>(&mut self, device: Device) -> Option<&mut C> {
        C::of_mut(&mut self.net.nodes.get_mut(device)?.own_card)
    }

    /// The card of a node with its program.
    pub fn card_and_program<C: OwnCard>(&mut self, node: usize) -> (Option<&mut C>, Option<&Pipeline>) {
        let node = &mut self.net.nodes[node];
        (C::of_mut(&mut node.own_card), node.pipeline.as_ref())
    }

    /// Calls the card of a node, which must be of this type, and performs its actions.
    pub fn call<C: OwnCard, T>(
        &mut self,
        beyond: &mut impl Beyond,
        node: usize,
        call: impl FnOnce(&mut C, Instant, &mut Actions) -> T,
    ) -> T {
        let now = self.now();
        let card = C::of_mut(&mut self.net.nodes[node].own_card);
        let card = card.expect("nodes are added with the cards of their kind");
        let result = call(card, now, &mut self.net.out);
        self.net.perform(beyond, node);
        result
    }

    /// Calls the card of a node and performs its actions.
    pub fn call_card(
        &mut self,
        beyond: &mut impl Beyond,
        node: usize,
        call: impl FnOnce(&mut NodeCard, Instant, &mut Actions),
    ) {
        self.net.call_card(beyond, node, call);
    }

    /// Calls the card before links of a node, and performs its actions.
    pub fn call_links(
        &mut self,
        beyond: &mut impl Beyond,
        node: usize,
        call: impl FnOnce(&mut Links, Instant, &mut Actions),
    ) {
        self.net.call_links(beyond, node, call);
    }

    /// The queues before the links of a device.
    pub fn links_mut(&mut self, device: Device) -> &mut Links {
        let node = self.net.nodes.number(device);
        &mut self.net.nodes[node].links
    }

    /// Sends a packet of a node into a lane.
    #[inline]
    pub fn enter_lane(&mut self, node: usize, lane: usize, at: Instant, flying: Flying) {
        self.net.enter_lane(By::node(node), lane, at, flying);
    }

    /// Removes packets from a lane by `is_lost`, with the program that numbered each.
    pub fn take_out(&mut self, lane: usize, is_lost: impl Fn(Instant, &Flying) -> bool) -> Vec<(Packet, u32)> {
        self.net.lanes[lane].take_out(&mut self.net.queue, is_lost)
    }

    /// Sends a packet through P4 of a device, after the work that this activation has added.
    pub fn ask(&mut self, to: (Device, Port), frame: Frame, origin: Origin) {
        self.net.ask(to, frame, origin);
    }

    /// True if this activation has added work: the rest of it must be a continuation.
    #[inline]
    pub fn has_asked(&self) -> bool {
        self.net.has_asked()
    }

    /// Continues this activation after the work that it has added.
    pub fn then(&mut self, ticket: Ticket) {
        self.net.then(Step::Own(ticket));
    }

    /// Takes one packet that a switch outside has not forwarded in time.
    pub fn take_overdue(&mut self) -> Option<Crossing> {
        let now = self.now();
        self.net.nodes.outside.as_mut()?.take_overdue(now)
    }

    /// A frame of these bytes, of the pool.
    pub fn copy_of(&mut self, bytes: &[u8]) -> Frame {
        self.net.copy_of(bytes)
    }

    /// Returns the memory of a consumed frame to the pool.
    pub fn give_back(&mut self, frame: Frame) {
        self.net.give_back(frame);
    }

    /// Loses a packet.
    pub fn drop(&mut self, place: Place, cause: DropCause, frame: Frame) {
        self.net.drop(place, cause, frame);
    }

    /// Notes that a rule is broken.
    pub fn broken(&mut self, invariant: Invariant, place: Place, packet: Option<Optical>) {
        self.net.broken(invariant, place, packet);
    }

    /// Notes that a rule was broken at a time.
    pub fn broken_at(&mut self, at: Instant, invariant: Invariant, place: Place, packet: Option<Optical>) {
        self.net.note(Note::Broken {
            invariant,
            at,
            place,
            packet,
        });
    }

    /// Captures a frame, if captures are made.
    #[inline]
    pub fn capture(&mut self, point: CapturePoint, frame: &[u8]) {
        self.net.capture(point, frame);
    }

    /// Adds a message of a device for the controller.
    pub fn tell(&mut self, device: Device, message: ControlMessage) {
        self.net.tell(device, message);
    }

    /// Applies active faults to a control message that arrives by light; false if it does not arrive now.
    pub fn treat(&mut self, (device, end): (Device, OwnEnd), place: Place, frame: &mut Frame) -> bool {
        self.net.treat(device, Way::Light(end), place, frame)
    }

    /// Notes the recovery from a fault.
    pub fn recovered(&mut self, fault: usize) {
        self.net.journal.faults[fault].recovered = Some(self.now());
    }

    /// Adds a record for checks and measurements over several nodes.
    #[inline]
    pub fn record(&mut self, node: usize, record: Record) {
        self.net.note(Note::Seen { node, record });
    }

    /// Notes the fate of a packet in a burst.
    pub fn in_burst(&mut self, packet: &[u8], burst: u64, is_lost: bool) {
        let packet = self.net.copy_of(packet);
        self.net.note(Note::InBurst(InBurst { packet, burst, is_lost }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeKind;
    use slotwise_cards::card::{Card, Expiry, Pass, Then, TimerId};
    use slotwise_cards::message::ToCard;

    /// A card that does nothing.
    struct Idle;

    impl Card for Idle {
        fn sends(&mut self, _: Instant, _: Port, _: Packet, _: Origin, _: &mut Actions) {}

        fn told(&mut self, _: Instant, _: &ToCard, _: &mut Actions) -> bool {
            false
        }

        fn goes_on(&mut self, _: Instant, _: Then, _: Pass, _: &mut Actions) {}

        fn due(&mut self, _: Instant, _: TimerId, _: Expiry, _: Program, _: &mut Actions) {}

        fn set_dark(&mut self, _: Instant, _: Port, _: bool, _: &mut Actions) {}

        fn restarts(&mut self, _: Instant, _: &mut Actions) {}
    }

    impl OwnCard for Idle {}

    #[test]
    fn a_device_that_is_not_there_has_no_card() {
        let mut net = Net::new(1, None);
        net.add_nodes(0, &NodeKind::PLAIN, [Device::Router(0), Device::Router(1)].into_iter());
        for node in 0..2 {
            net.nodes[node].own_card = Idle.boxed();
        }
        let mut fx = Effects::on(&mut net);
        assert!(fx.card_mut::<Idle>(Device::Router(1)).is_some());
        for absent in [Device::Router(2), Device::Station(0), Device::Edge(1)] {
            assert!(fx.card_mut::<Idle>(absent).is_none(), "{absent}");
            assert!(fx.look().card::<Idle>(absent).is_none(), "{absent}");
        }
    }
}
