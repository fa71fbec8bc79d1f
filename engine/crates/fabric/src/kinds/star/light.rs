// SPDX-License-Identifier: Apache-2.0
//! Light: into fibres, through cores, out of fibres, with the invariants that it must keep.

use slotwise_p4::Port;
use slotwise_scenario::{Device, optical_port};
use slotwise_units::{Duration, Instant, Rate};
use slotwise_wire::{Optical, OpticalKind, PORT_OPTICAL_BASE};

use super::{Core, Edge};
use crate::api::ControlMessage;
use crate::capture::CapturePoint;
use crate::drops::{DropCause, Place};
use crate::faults::{LightWay, Way};
use crate::invariants::Invariant;
use crate::kinds::star::fibre::{FibrePair, LightChange, Passage};
use crate::net::node::NodeCard;
use crate::net::outside::Crossing;
use crate::net::pump::Passed;
use crate::world::Fabric;
use slotwise_cards::card::Then;
use slotwise_cards::message;
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Packet, UNBORN};
use slotwise_cards::slotted::{Arrived, FibreState};

/// Control messages that an edge's line card takes, by fibre.
static TO_EDGE: LightWay = LightWay {
    place: |fabric, fibre| Place::LineCard {
        edge: fabric.star.fibres[fibre].edge,
        core: fabric.star.fibres[fibre].core,
    },
    arrive: |fabric, card, frame| {
        let (edge, core) = (fabric.star.fibres[card].edge, fabric.star.fibres[card].core);
        let origin = Origin::Fibre {
            card,
            optical: message::optical(&frame),
            born: UNBORN,
        };
        fabric.ask(Device::Edge(edge), optical_port(core), frame, origin);
    },
};

/// The latest program of the edge that a packet comes from; 0 if there is none.
fn program_of(edges: &[Edge], packet: Option<Optical>) -> u32 {
    let source = packet.and_then(|packet| edges.get(usize::from(packet.src_edge)));
    source.map_or(0, |edge| edge.programs)
}

/// State of a pair of fibres, for the cards at its ends.
pub(super) fn state_of(pair: &FibrePair) -> FibreState {
    FibreState {
        rate: Rate::from_bps(pair.rate_bps),
        delay: Duration::from_ns(pair.delay_ns),
        is_up: pair.is_up(),
        is_weak: pair.is_weak(),
    }
}

impl Fabric {
    /// Both ends see at once what has become of the light of a fibre.
    pub(crate) fn light_changed(&mut self, fibre: usize, changed: LightChange) {
        self.fibre_changed(fibre);
        let (edge, core) = (self.star.fibres[fibre].edge, self.star.fibres[fibre].core);
        let Some(is_up) = changed.is_up else { return };
        let port = optical_port(core);
        self.tell(Device::Edge(edge), ControlMessage::Link { port, is_up });
        // A core's port sees light while any of its fibres carries some.
        let port = self.star.fibres[fibre].port;
        let sharing = self.star.cores[usize::from(core)].ports[usize::from(port)].iter();
        if sharing
            .filter(|other| **other != fibre)
            .all(|other| !self.star.fibres[*other].is_up())
        {
            let port = optical_port(port);
            self.tell(Device::Core(core), ControlMessage::Link { port, is_up });
        }
    }

    /// Light enters the fibre to a core.
    pub(crate) fn send_into_fibre(&mut self, card: usize, queue: u16, packet: Packet, duration: Duration) {
        let (edge, core) = (self.star.fibres[card].edge, self.star.fibres[card].core);
        let (from, to) = (Device::Edge(edge), Device::Core(core));
        self.capture(CapturePoint::Fibre { from, to }, &packet.frame);
        // The signaling queue is no VOQ and has no record.
        if let Some(record) = self.star.telemetry.voq(card, edge, queue) {
            record.sent_bytes += packet.frame.len() as u64;
        }
        let program = self.star.edges[usize::from(edge)].programs;
        let fibre = &mut self.star.fibres[card];
        let passage = fibre.enter_to_core(packet.frame.len(), duration.ns());
        let (lane, at_ns) = (fibre.to_core.lane, self.now_ns + fibre.delay_ns);
        let flying = Flying {
            packet,
            duration,
            program,
        };
        self.pass_fibre(passage, (from, to), (lane, at_ns), flying);
    }

    /// Light leaves a core by all fibres of a port. What source it names is taken to have numbered it now if it came by no fibre.
    pub(crate) fn split_light(
        &mut self,
        (node, port): (usize, Port),
        packet: Packet,
        (start, duration): (Instant, Duration),
        program: Option<u32>,
    ) {
        let star = &*self.star;
        let program = program.unwrap_or_else(|| program_of(&star.edges, message::optical(&packet.frame)));
        let core = usize::from(self.nodes[node].device.number());
        let (port, times) = (usize::from(port - PORT_OPTICAL_BASE), (start, duration));
        let (fibres, born) = (star.cores[core].ports[port].len(), packet.born);
        for index in 0..fibres - 1 {
            let fibre = self.star.cores[core].ports[port][index];
            let frame = self.out.frames.copy_of(&packet.frame);
            self.enter_to_edge(fibre, Packet { frame, born }, times, program);
        }
        let last = self.star.cores[core].ports[port][fibres - 1];
        self.enter_to_edge(last, packet, times, program);
    }

    fn enter_to_edge(&mut self, fibre: usize, packet: Packet, (start, duration): (Instant, Duration), program: u32) {
        let pair = &mut self.star.fibres[fibre];
        let (from, to) = (Device::Core(pair.core), Device::Edge(pair.edge));
        let passage = pair.enter_to_edge(packet.frame.len(), duration.ns());
        let at_ns = self.now_ns.max((start + duration).ns() + pair.delay_ns);
        let lane = pair.to_edge.lane;
        self.capture(CapturePoint::Fibre { from, to }, &packet.frame);
        let flying = Flying {
            packet,
            duration,
            program,
        };
        self.pass_fibre(passage, (from, to), (lane, at_ns), flying);
    }

    /// P4 sent light to a port that leads nowhere.
    pub(crate) fn light_goes_nowhere(&mut self, device: Device, frame: &[u8]) {
        let (place, packet) = (Place::Device(device), message::optical(frame));
        self.invariants
            .violated(Invariant::UNGRANTED, self.now_ns, place, packet);
    }

    fn pass_fibre(
        &mut self,
        passage: Passage,
        (from, to): (Device, Device),
        (lane, at_ns): (usize, u64),
        flying: Flying,
    ) {
        let cause = match passage {
            Passage::Through => return self.lanes[lane].enter(&mut self.events, at_ns, flying),
            Passage::Lost => DropCause::LinkLoss,
            Passage::Down => DropCause::LinkDown,
        };
        self.drop(Place::Fibre { from, to }, cause, flying.packet.frame);
    }

    /// The head of a packet reaches a core.
    pub(crate) fn light_at_core(&mut self, fibre: usize, flying: Flying) {
        let pair = &self.star.fibres[fibre];
        let (device, port, edge) = (Device::Core(pair.core), optical_port(pair.port), pair.edge);
        let node = self.node(device);
        let (now, program) = (Instant::from_ns(self.now_ns), self.program_at(node));
        let NodeCard::SlottedCore(card) = &mut self.nodes[node].own_card else {
            unreachable!("cores are added with their cards")
        };
        let entering = card.arrives(now, (port, edge), flying, program, &mut self.out);
        self.perform(node);
        if let Some((frame, origin)) = entering {
            let then = Then::Light;
            self.enter((device, port), frame, origin, Passed::Card { node, then });
        }
    }

    /// Passes the state of a pair of fibres on to the cards at both ends.
    pub(super) fn fibre_changed(&mut self, fibre: usize) {
        let star = &*self.star;
        let (pair, state) = (&star.fibres[fibre], state_of(&star.fibres[fibre]));
        let (edge, core, port) = (pair.edge, pair.core, pair.port);
        let Core { master, ports, .. } = &star.cores[usize::from(core)];
        let (is_masters, is_first) = (*master == edge, ports[usize::from(port)][0] == fibre);
        let card = self.slotted_core_mut(core);
        if is_first {
            card.set_rate(optical_port(port), state.rate);
        }
        if let Some(control) = card.control().filter(|_| is_masters) {
            control.set_delay(state.delay);
        }
        self.call_edge(edge, |card, now, out| {
            card.fibre_changed(now, optical_port(core), state, out);
        });
    }

    /// A core outside has not sent on in time what was light when it arrived. At an edge that is nothing special: beacons and requests
    /// end there.
    pub(super) fn light_is_overdue(&mut self, crossing: &Crossing) {
        let Origin::Light { duration, .. } = crossing.origin else {
            return;
        };
        let arrived = Instant::from_ns(crossing.arrived_ns);
        if self
            .slotted_core_mut(crossing.device.number())
            .is_overdue(arrived, duration)
        {
            let place = Place::Device(crossing.device);
            self.invariants
                .violated(Invariant::UNGRANTED, crossing.arrived_ns, place, crossing.optical);
        }
    }

    /// The tail of a packet reaches an edge.
    pub(crate) fn light_at_edge(&mut self, fibre: usize, flying: Flying) {
        let (core, edge) = (self.star.fibres[fibre].core, self.star.fibres[fibre].edge);
        let (born, program) = (flying.packet.born, flying.program);
        let Arrived { mut frame, optical } = self.call_edge(edge, |card, now, out| {
            card.arrives(now, optical_port(core), flying, out)
        });
        if let Some(packet) = optical.filter(|packet| packet.dst_edge == edge)
            && !self.star.numbers.is_new(&packet, program)
        {
            let place = Place::Device(Device::Edge(edge));
            self.invariants
                .violated(Invariant::DUPLICATE, self.now_ns, place, optical);
        }
        let is_control = optical.is_some_and(|packet| packet.kind != u8::from(OpticalKind::Data));
        if is_control && !self.passes_faults(Way::light(&TO_EDGE, fibre), &mut frame) {
            return self.out.frames.give_back(frame);
        }
        let origin = Origin::Fibre {
            card: fibre,
            optical,
            born,
        };
        let to = (Device::Edge(edge), optical_port(core));
        self.enter(to, frame, origin, Passed::Nothing);
    }
}
