// SPDX-License-Identifier: Apache-2.0
//! What happens at each event, and where each frame goes next.

use slotwise_p4::Port;
use slotwise_scenario::{Device, LinkChange};
use slotwise_wire::{Optical, PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD, PORT_OPTICAL_BASE};

use crate::api::{ControlEvent, ControlMessage};
use crate::capture::CapturePoint;
use crate::drops::{DropCause, Place};
use crate::event::{Event, Order};
use crate::fabric::{Change, Fabric};
use crate::faults::Way;
use crate::invariants::Invariant;
use crate::lane::LaneEnd;
use crate::message;
use crate::node::PortTo;
use crate::packet::{Frame, Packet, UNBORN};
use crate::parcel::Parcel;

/// What a packet was before it entered a pipeline, as far as its way out depends on it.
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    /// Light in a core; its head came at `arrived_ns`. `program` is the one of its edge that numbered it.
    Light {
        arrived_ns: u64,
        duration_ns: u64,
        program: u32,
        born_ns: u64,
    },
    /// From a fibre to an edge.
    Fibre {
        card: usize,
        optical: Option<Optical>,
        born_ns: u64,
    },
    /// By a lane to a port where nothing more counts of it.
    Lane { born_ns: u64 },
    /// The tick of a slot, whose messages may leave until then.
    Tick { until_ns: u64 },
    /// Anything else.
    Local,
}

impl Origin {
    /// When what comes out was born: as what went in was.
    pub(crate) fn born_ns(self) -> u64 {
        match self {
            Origin::Light { born_ns, .. } | Origin::Fibre { born_ns, .. } | Origin::Lane { born_ns } => born_ns,
            Origin::Tick { .. } | Origin::Local => UNBORN,
        }
    }
}

/// Whether light passes this port; it is captured in the fibre then.
fn is_fibre(device: Device, port: Port) -> bool {
    matches!(device, Device::Edge(_) | Device::Core(_)) && (PORT_OPTICAL_BASE..PORT_LINECARD).contains(&port)
}

impl Fabric {
    pub(crate) fn handle(&mut self, order: Order, event: Event) {
        match event {
            Event::Change(index) => self.change(index as usize),
            Event::FaultBegins(index) => self.fault_begins(index as usize),
            Event::FaultEnds(index) => self.fault_ends(index as usize),
            Event::LookAfterFaults => self.look_after_flows(),
            Event::CoreTick { core, slot } => self.core_tick(core, slot),
            Event::CardTick { card, generation } => self.card_tick(card as usize, generation),
            Event::CardAlarm { card, code, over } => self.card_alarm(card as usize, code, over),
            Event::CardAnswer { card } => self.card_answer(card as usize),
            Event::CardTimer { card } => self.card_timer(card as usize),
            Event::FifoTimer { fifo } => self.fifo_timer(fifo as usize),
            Event::Arrival { lane } => self.arrival(lane as usize, order),
            Event::Parcel(number) => self.parcel(number),
            Event::Source(index) => self.source(index as usize),
            Event::HostTimer(host) => {
                if let Some(traffic) = &mut self.traffic {
                    traffic.timeout(host as usize, self.now_ns);
                }
                self.drain_hosts();
            }
            Event::RingTick { card } => self.ring_tick(card as usize),
            Event::RingWake { card } => self.ring_wake(card as usize),
            Event::CardWake { card } => {
                let card = card as usize;
                if self.star.cards[card].wake_ns == Some(self.now_ns) {
                    self.star.cards[card].wake_ns = None;
                    self.drain_card(card);
                }
            }
        }
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
            LaneEnd::Port { device, port } => {
                let Packet { frame, born_ns } = flying.packet;
                self.run_p4(device, port, &frame, Origin::Lane { born_ns });
                self.pool.give_back(frame);
            }
            LaneEnd::Host(host) => self.at_host(host, flying.packet),
            LaneEnd::Core { fibre } => self.light_at_core(fibre, flying),
            LaneEnd::Edge { fibre } => self.light_at_edge(fibre, flying),
            LaneEnd::Station { station, ringlet } => self.at_station(station, ringlet, flying.packet),
            LaneEnd::Outside => self.pool.give_back(flying.packet.frame),
        }
    }

    fn parcel(&mut self, number: u32) {
        match self.parcels.take(number) {
            Some(Parcel::PacketOut { device, mut frame }) => {
                if self.passes_faults(Way::Out(device), &mut frame) {
                    self.run_p4(device, PORT_CPU, &frame, Origin::Local);
                }
                self.pool.give_back(frame);
            }
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
            Change::Fifo {
                card,
                rate_bps,
                delay_ns,
            } => self.change_fifo(card, rate_bps, delay_ns),
        }
    }

    pub(crate) fn change_link(&mut self, change: &LinkChange) {
        if let Some(fibre) = self.star.edges[usize::from(change.edge)].cards[usize::from(change.core)] {
            let changed = self.star.fibres[fibre].change(change);
            self.light_changed(fibre, changed);
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

    /// Interval timers of a card with one queue, whose number is the port's.
    fn fifo_timer(&mut self, card: usize) {
        let Some((device, port)) = self.fifos[card].port else {
            return;
        };
        while let Some((tick, state)) = self.fifos[card].queue.tick(self.now_ns) {
            let tick = message::interval_tick(port, &tick, port, &state);
            self.run_p4(device, PORT_LINECARD, &tick, Origin::Local);
        }
        if let Some(at_ns) = self.fifos[card].queue.next_tick_ns() {
            let at_ns = at_ns.max(self.now_ns + 1);
            self.events.schedule(at_ns, Event::FifoTimer { fifo: card as u32 });
        }
    }

    /// Runs a packet through a device and sends on what comes out; says how many packets that were. One outside answers later.
    pub(crate) fn run_p4(&mut self, device: Device, port: Port, frame: &[u8], origin: Origin) -> usize {
        if !is_fibre(device, port) {
            self.capture_port(device, port, frame);
        }
        if self.external.is_some() {
            self.give_external(device, port, frame, origin);
            return 0;
        }
        let node = self.node(device);
        let Some(pipeline) = &mut self.nodes[node].pipeline else {
            self.drops
                .add(Place::Device(device), DropCause::NoPipeline, frame.len());
            return 0;
        };
        self.p4_passes += 1;
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.run(&mut self.pool, pipeline, self.now_ns, (port, frame));
        let count = outbox.packets.len();
        for (port, frame) in outbox.packets.drain(..) {
            self.send(device, port, frame, origin);
        }
        for (name, fields) in outbox.digests.drain(..) {
            self.tell(device, ControlMessage::Digest { name, fields });
        }
        self.outbox = outbox;
        count
    }

    /// A packet leaves a device by a port.
    fn send(&mut self, device: Device, port: Port, frame: Frame, origin: Origin) {
        if !is_fibre(device, port) {
            self.capture_port(device, port, &frame);
        }
        match (port, device) {
            (PORT_CPU, _) => return self.packet_in(device, frame),
            (PORT_LINECARD, Device::Edge(_) | Device::Router(_) | Device::Station(_)) => {
                self.tell_card(device, &frame);
                return self.pool.give_back(frame);
            }
            (PORT_CORE_CONTROL, _) => return self.send_by_control(device, frame),
            _ => {}
        }
        match self.nodes[self.node(device)].port(port) {
            PortTo::Card(card) => self.enqueue(card, frame, origin),
            PortTo::Fifo(card) => self.enqueue_fifo(card, frame, origin),
            PortTo::Ring(card) => self.enqueue_ring(card, frame, origin),
            PortTo::Fibres(port) => self.send_light(device, port, frame, origin),
            PortTo::Nowhere => self.send_nowhere(device, frame, origin),
        }
    }

    /// A message of P4 to a line card.
    fn tell_card(&mut self, device: Device, bytes: &[u8]) {
        let port = message::card_port(bytes).unwrap_or_default();
        match (self.nodes[self.node(device)].port(port), message::flow_control(bytes)) {
            (PortTo::Ring(card), _) => self.set_ring_limits(card, bytes),
            (PortTo::Card(card), Some(message)) => self.apply_to_card(card, message, bytes.len()),
            (PortTo::Fifo(card), Some(message))
                if message.queue == port && self.fifos[card].queue.control(self.now_ns, &message).is_ok() => {}
            _ => self.count_drop(Place::Device(device), DropCause::Malformed, bytes.len()),
        }
    }

    /// Loses a packet.
    pub(crate) fn drop(&mut self, place: Place, cause: DropCause, frame: Frame) {
        self.count_drop(place, cause, frame.len());
        self.pool.give_back(frame);
    }

    fn count_drop(&mut self, place: Place, cause: DropCause, bytes: usize) {
        self.drops.add(place, cause, bytes);
        let is_astray = matches!(
            cause,
            DropCause::NoSuchPort | DropCause::NotForHost | DropCause::Malformed
        );
        if is_astray && place.is_beside_stars() {
            self.invariants.violated(Invariant::Astray, self.now_ns, place, None);
        }
    }

    fn capture_port(&mut self, device: Device, port: Port, frame: &[u8]) {
        if self.captures.is_some() {
            let point = self.nodes[self.node(device)].capture_point(port);
            self.capture(point, frame);
        }
    }

    pub(crate) fn capture(&mut self, point: CapturePoint, frame: &[u8]) {
        if let Some(captures) = &mut self.captures {
            captures.record(point, self.now_ns, frame);
        }
    }
}
