// SPDX-License-Identifier: Apache-2.0
//! A packet passes a switch: into P4, and out of it by a port.

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_wire::{PORT_CPU, PORT_LINECARD};

use crate::Net;
use crate::around::Around;
use crate::capture::CapturePoint;
use crate::drops::{DropCause, Place};
use crate::event::By;
use crate::node::{Before, is_fibre};
use crate::work::{Ask, Passed, Work};
use slotwise_cards::card::Pass;
use slotwise_cards::ecn;
use slotwise_cards::message::{self, ToCard};
use slotwise_cards::packet::{Flying, Frame, Origin, Packet};
use slotwise_units::Instant;
use slotwise_wire::DropReason;

impl Net {
    /// A packet has come to a port of a switch.
    #[inline]
    pub fn packet_arrives<A: Around>(&mut self, around: &mut A, to: (Device, Port), flying: Flying) {
        let Packet { frame, born } = flying.packet;
        self.enter(around, Ask::new(to, frame, Origin::Lane { born }));
    }

    /// Runs a packet through P4 of a device. What comes out becomes work: packets, digests, then the continuation.
    #[inline(never)]
    pub(super) fn pass<A: Around>(&mut self, around: &mut A, ask: Ask) {
        let Ask {
            device,
            port,
            mut frame,
            origin,
            then,
        } = ask;
        if self.journal.captures.is_some() && !is_fibre(device, port) {
            self.capture_at(device, port, &frame);
        }
        if self.nodes.outside.is_some() {
            self.give_outside(around, device, port, frame, origin);
            return self.passed(around, then, Pass::Later);
        }
        let number = self.nodes.number(device);
        let node = &self.nodes[number];
        let counted = node.kind.counted_beside_light;
        let counted = counted.filter(|_| !matches!(origin, Origin::Light { .. }));
        let before = counted.map(|is_counted| self.dropped(device, is_counted));
        let Some(pipeline) = &mut self.nodes[number].pipeline else {
            self.drop(Place::Device(device), DropCause::NoPipeline, frame);
            return self.passed(around, then, Pass::Done { outputs: 0 });
        };
        self.journal.passes += 1;
        self.outbox
            .run(&mut self.out.frames, pipeline, (self.now_ns, port), &mut frame);
        self.out.frames.give_back(frame);
        if let (Some(is_counted), Some(before)) = (counted, before) {
            let dropped = self.dropped(device, is_counted).saturating_sub(before);
            self.nodes[number].beside_light += dropped;
        }
        let outputs = self.add_outputs(around, device, origin);
        match (then, self.has_asked()) {
            (Passed::Nothing, _) => {}
            (then, true) => self.stack.add(Work::Passed(then, Pass::Done { outputs })),
            (then, false) => self.passed(around, then, Pass::Done { outputs }),
        }
    }

    /// Packets that the program of a device has counted as dropped, for reasons that are counted.
    fn dropped(&self, device: Device, is_counted: fn(DropReason) -> bool) -> u64 {
        let drops = self.p4_drops(device).unwrap_or_default().into_iter();
        let drops = drops.filter(|drop| is_counted(drop.reason));
        drops.map(|drop| drop.packets).sum()
    }

    /// Makes work of what P4 has put out. Returns the number of packets.
    fn add_outputs<A: Around>(&mut self, around: &mut A, device: Device, origin: Origin) -> usize {
        let outputs = self.outbox.packets.len();
        // Most passes put out one packet, or nothing.
        match (outputs, self.outbox.digests.is_empty()) {
            (0, true) => return 0,
            (1, true) => {
                if let Some((port, frame)) = self.outbox.packets.pop() {
                    // It is the next item in any case.
                    self.send(around, device, port, frame, origin);
                    return outputs;
                }
            }
            _ => {}
        }
        for (port, frame) in self.outbox.packets.drain(..) {
            self.stack.add(Work::Output {
                device,
                port,
                frame,
                origin,
            });
        }
        for (name, fields) in self.outbox.digests.drain(..) {
            self.stack.add(Work::Digest { device, name, fields });
        }
        outputs
    }

    /// A packet leaves a device by a port.
    pub(super) fn send<A: Around>(&mut self, around: &mut A, device: Device, port: Port, frame: Frame, origin: Origin) {
        if self.journal.captures.is_some() && !is_fibre(device, port) {
            self.capture_at(device, port, &frame);
        }
        if port == PORT_CPU {
            return self.packet_in(around, device, frame);
        }
        let number = self.nodes.number(device);
        let node = &self.nodes[number];
        if port == PORT_LINECARD && node.kind.has_cards {
            self.tell_card(around, number, &frame);
            return self.out.frames.give_back(frame);
        }
        match node.before(port) {
            Some(Before::Link) => self.enqueue_at_link(around, (number, port), frame, origin),
            Some(Before::Card) => self.own_card_sends(around, (number, port), frame, origin),
            None => self.send_nowhere(number, frame, origin),
        }
    }

    /// Puts a packet into the queue before a link. It enters the lane at once, as when it leaves is known.
    fn enqueue_at_link<A: Around>(
        &mut self,
        around: &mut A,
        (node, port): (usize, Port),
        mut frame: Frame,
        origin: Origin,
    ) {
        around.leaves(origin, frame.len());
        let now = Instant::from_ns(self.now_ns);
        match self.nodes[node].links.take(now, port, frame.len()) {
            Ok((lane, departure)) => {
                let born = origin.born();
                if departure.is_marked {
                    ecn::mark(&mut frame);
                }
                let flying = Flying::plain(Packet { frame, born });
                self.lanes[lane].enter(&mut self.queue, By::node(node), departure.arrive.ns(), flying);
            }
            Err(cause) => self.drop(self.nodes[node].place_before(port), cause, frame),
        }
    }

    /// P4 sent a packet to a port that leads nowhere.
    fn send_nowhere(&mut self, node: usize, frame: Frame, origin: Origin) {
        let node = &self.nodes[node];
        let (place, lost_light) = (Place::Device(node.device), node.kind.lost_light);
        if let (Origin::Light { .. }, Some(invariant)) = (origin, lost_light) {
            self.broken(invariant, place, message::optical(&frame));
        }
        self.drop(place, DropCause::NoSuchPort, frame);
    }

    /// A message of P4 to a card.
    fn tell_card<A: Around>(&mut self, around: &mut A, node: usize, frame: &[u8]) {
        let is_obeyed = ToCard::read(frame).is_some_and(|message| self.give_to_card(around, node, &message));
        if !is_obeyed {
            let place = Place::Device(self.nodes[node].device);
            self.count_drop(place, DropCause::Malformed, frame.len());
        }
    }

    #[cold]
    fn capture_at(&mut self, device: Device, port: Port, frame: &[u8]) {
        let point = self.nodes[self.nodes.number(device)].capture_point(port);
        self.capture(point, frame);
    }

    #[inline]
    pub(super) fn capture(&mut self, point: CapturePoint, frame: &[u8]) {
        if let Some(captures) = &mut self.journal.captures {
            captures.record(point, self.now_ns, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::around::Beyond;
    use crate::effects::Effects;
    use crate::lane::OwnEnd;
    use crate::node::NodeKind;
    use crate::outside::Crossing;
    use crate::ticket::Ticket;
    use slotwise_cards::card::Action;

    /// Surroundings for tests in which no call leaves the net.
    struct Nothing;

    impl Beyond for Nothing {
        fn acts(&mut self, _: &mut Effects<'_>, _: usize, _: Action) {}
    }

    impl Around for Nothing {
        fn leaves(&mut self, _: Origin, _: usize) {}
        fn comes_late(&mut self, _: &mut Effects<'_>, _: OwnEnd, _: Frame) {}
        fn changes_light(&mut self, _: &mut Effects<'_>, _: usize) {}
        fn overdue(&mut self, _: &mut Effects<'_>, _: &Crossing) {}
        fn reports(&mut self, _: Instant, _: &[u8]) {}
        fn passed(&mut self, _: &mut Effects<'_>, _: Ticket, _: Pass) {}
        fn goes_on(&mut self, _: &mut Effects<'_>, _: Ticket) {}
    }

    #[test]
    fn outputs_of_a_pass_go_on_in_the_order_in_which_they_left() {
        let mut net = Net::new(1, None);
        net.add_nodes(0, &NodeKind::PLAIN, [Device::Edge(0)].into_iter());
        for port in [7, 3, 5] {
            let frame = net.out.frames.copy_of(&[0; 60]);
            net.outbox.packets.push((port, frame));
        }
        assert_eq!(net.add_outputs(&mut Nothing, Device::Edge(0), Origin::Local), 3);
        let ports = std::iter::from_fn(|| net.stack.next()).filter_map(|work| match work {
            Work::Output { port, .. } => Some(port),
            _ => None,
        });
        assert_eq!(ports.collect::<Vec<Port>>(), [7, 3, 5]);
    }
}
