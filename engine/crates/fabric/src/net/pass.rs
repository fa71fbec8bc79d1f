// SPDX-License-Identifier: Apache-2.0
//! What happens at each event, and where each frame goes next.

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_wire::{PORT_CPU, PORT_LINECARD, PORT_OPTICAL_BASE};

use crate::api::{ControlEvent, ControlMessage};
use crate::capture::CapturePoint;
use crate::drops::{DropCause, Place};
use crate::faults::Way;
use crate::invariants::Invariant;
use crate::net::event::{Event, Order};
use crate::net::lane::LaneEnd;
use crate::net::node::Before;
use crate::net::parcel::Parcel;
use crate::net::pump::{Ask, Pass, Passed, Work};
use crate::world::{Change, Fabric};
use slotwise_cards::card::Expiry;
use slotwise_cards::message::ToCard;
use slotwise_cards::packet::{Flying, Frame, Origin, Packet};

/// Whether light passes this port; it is captured in the fibre then.
fn is_fibre(device: Device, port: Port) -> bool {
    device.kind().is_slotted && (PORT_OPTICAL_BASE..PORT_LINECARD).contains(&port)
}

impl Fabric {
    pub(crate) fn handle(&mut self, order: Order, event: Event) {
        match event {
            Event::Change(index) => self.change(index as usize),
            Event::FaultBegins(index) => self.fault_begins(index as usize),
            Event::FaultEnds(index) => self.fault_ends(index as usize),
            Event::LookAfterFaults => self.look_after_flows(),
            Event::CoreSlot(timer) => self.card_due(timer, Expiry::CoreSlot),
            Event::EdgeSlot(timer) => self.card_due(timer, Expiry::EdgeSlot),
            Event::Timer(timer) => self.card_due(timer, Expiry::First),
            Event::Wake(timer) => self.card_due(timer, Expiry::Last),
            Event::Arrival { lane } => self.arrival(lane as usize, order),
            Event::Parcel(number) => self.parcel(number),
            Event::Source(index) => self.source(index as usize),
            Event::HostTimer(host) => {
                if let Some(traffic) = &mut self.traffic {
                    traffic.timeout(host as usize, self.now_ns);
                }
                self.drain_hosts();
            }
        }
        self.pump();
        self.events.settle();
    }

    /// The head of a lane is at its end.
    fn arrival(&mut self, lane: usize, order: Order) {
        let lane = &mut self.lanes[lane];
        let end = lane.end;
        let Some(flying) = lane.arrive(&mut self.events, self.now_ns, order) else {
            return;
        };
        match end {
            LaneEnd::Port { device, port } => self.packet_arrives(device, port, flying),
            LaneEnd::Host(host) => self.at_host(host, flying.packet),
            LaneEnd::Own { end, number } => (end.arrive)(self, number as usize, flying),
        }
    }

    /// A packet has come to a port of a switch.
    pub(crate) fn packet_arrives(&mut self, device: Device, port: Port, flying: Flying) {
        let Packet { frame, born } = flying.packet;
        self.enter((device, port), frame, Origin::Lane { born }, Passed::Nothing);
    }

    fn parcel(&mut self, number: u32) {
        match self.parcels.take(number) {
            Some(Parcel::PacketOut { device, mut frame }) => match self.passes_faults(Way::Out(device), &mut frame) {
                true => self.ask(device, PORT_CPU, frame, Origin::Local),
                false => self.out.frames.give_back(frame),
            },
            Some(Parcel::Late { way, frame }) => self.late_message(way, frame),
            Some(Parcel::FromSwitch {
                device,
                port,
                id,
                frame,
            }) => {
                if let Some(external) = &mut self.external {
                    let origin = external.take_origin(device, id);
                    self.send(device, port, frame, origin);
                }
            }
            None => {}
        }
    }

    fn change(&mut self, index: usize) {
        match self.changes[index].1 {
            Change::Fibre(change) => self.change_link(&change),
            Change::Span { span, is_up } => self.set_span_up(span, is_up),
            Change::Link {
                port,
                rate_bps,
                delay_ns,
            } => self.change_link_at(port, rate_bps, delay_ns),
            Change::Uplink { host, delay_ns } => self.change_uplink(host, delay_ns),
        }
    }

    /// For the controller, or the agent that stands between it and the device.
    pub(crate) fn tell(&mut self, device: Device, message: ControlMessage) {
        self.control.push_back(ControlEvent {
            at_ns: self.now_ns,
            device_id: device.id(),
            message,
        });
    }

    /// Runs a packet through P4 of a device. What comes out becomes work: packets, digests, then the continuation.
    #[inline(never)]
    pub(crate) fn pass(&mut self, ask: Ask) {
        let Ask {
            device,
            port,
            mut frame,
            origin,
            then,
        } = ask;
        if !is_fibre(device, port) {
            self.capture_port(device, port, &frame);
        }
        if self.external.is_some() {
            self.give_external(device, port, frame, origin);
            return self.passed(then, Pass::Later);
        }
        let node = self.node(device);
        let dropped_before = self.dropped_beside_light(device, origin);
        let Some(pipeline) = &mut self.nodes[node].pipeline else {
            self.drop(Place::Device(device), DropCause::NoPipeline, frame);
            return self.passed(then, Pass::Done { outputs: 0 });
        };
        self.p4_passes += 1;
        self.outbox
            .run(&mut self.out.frames, pipeline, (self.now_ns, port), &mut frame);
        self.out.frames.give_back(frame);
        if let Some(before) = dropped_before {
            self.note_beside_light(device, before);
        }
        let outputs = self.add_outputs(device, origin);
        match (then, self.has_asked()) {
            (Passed::Nothing, _) => {}
            (then, true) => self.stack.add(Work::Passed(then, Pass::Done { outputs })),
            (then, false) => self.passed(then, Pass::Done { outputs }),
        }
    }

    /// Makes work of what P4 has put out. Returns the number of packets.
    fn add_outputs(&mut self, device: Device, origin: Origin) -> usize {
        let outputs = self.outbox.packets.len();
        // Most passes put out one packet, or nothing.
        match (outputs, self.outbox.digests.is_empty()) {
            (0, true) => return 0,
            (1, true) => {
                if let Some((port, frame)) = self.outbox.packets.pop() {
                    // It is the next item in any case.
                    self.send(device, port, frame, origin);
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
    pub(crate) fn send(&mut self, device: Device, port: Port, frame: Frame, origin: Origin) {
        if !is_fibre(device, port) {
            self.capture_port(device, port, &frame);
        }
        if port == PORT_CPU {
            return self.packet_in(device, frame);
        }
        let number = self.node(device);
        let node = &self.nodes[number];
        if port == PORT_LINECARD && node.kind.has_cards {
            self.tell_card(device, &frame);
            return self.out.frames.give_back(frame);
        }
        match node.before(port) {
            Some(Before::Link) => self.enqueue_at_link((number, port), frame, origin),
            Some(Before::Card) => self.own_card_sends((number, port), frame, origin),
            None => self.send_nowhere(device, frame, origin),
        }
    }

    /// P4 sent a packet to a port that leads nowhere.
    pub(crate) fn send_nowhere(&mut self, device: Device, frame: Frame, origin: Origin) {
        if let Origin::Light { .. } = origin {
            self.light_goes_nowhere(device, &frame);
        }
        self.drop(Place::Device(device), DropCause::NoSuchPort, frame);
    }

    /// A message of P4 to a card.
    fn tell_card(&mut self, device: Device, frame: &[u8]) {
        let node = self.node(device);
        let is_obeyed = ToCard::read(frame).is_some_and(|message| self.give_to_card(node, &message));
        if !is_obeyed {
            self.count_drop(Place::Device(device), DropCause::Malformed, frame.len());
        }
    }

    /// Loses a packet.
    pub(crate) fn drop(&mut self, place: Place, cause: DropCause, frame: Frame) {
        self.count_drop(place, cause, frame.len());
        self.out.frames.give_back(frame);
    }

    pub(crate) fn count_drop(&mut self, place: Place, cause: DropCause, bytes: usize) {
        self.drops.add(place, cause, bytes);
        let is_astray = matches!(
            cause,
            DropCause::NoSuchPort | DropCause::NotForHost | DropCause::Malformed
        );
        if is_astray && place.is_beside_stars() {
            self.invariants.violated(Invariant::ASTRAY, self.now_ns, place, None);
        }
    }

    #[inline]
    fn capture_port(&mut self, device: Device, port: Port, frame: &[u8]) {
        if self.captures.is_some() {
            self.capture_at(device, port, frame);
        }
    }

    #[cold]
    fn capture_at(&mut self, device: Device, port: Port, frame: &[u8]) {
        let point = self.nodes[self.node(device)].capture_point(port);
        self.capture(point, frame);
    }

    pub(crate) fn capture(&mut self, point: CapturePoint, frame: &[u8]) {
        if let Some(captures) = &mut self.captures {
            captures.record(point, self.now_ns, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use slotwise_scenario::Scenario;

    use super::*;
    use crate::{FabricOptions, HostMode};

    #[test]
    fn outputs_of_a_pass_go_on_in_the_order_in_which_they_left() {
        let scenario = Scenario::parse(include_bytes!("../../../../../schema/examples/valid/pair.yaml")).unwrap();
        let options = FabricOptions {
            seed: 1,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        };
        let mut fabric = Fabric::new(&scenario, options);
        for port in [7, 3, 5] {
            let frame = fabric.out.frames.copy_of(&[0; 60]);
            fabric.outbox.packets.push((port, frame));
        }
        assert_eq!(fabric.add_outputs(Device::Edge(0), Origin::Local), 3);
        let ports = std::iter::from_fn(|| fabric.stack.next()).filter_map(|work| match work {
            Work::Output { port, .. } => Some(port),
            _ => None,
        });
        assert_eq!(ports.collect::<Vec<Port>>(), [7, 3, 5]);
    }
}
