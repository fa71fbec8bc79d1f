// SPDX-License-Identifier: Apache-2.0
//! Light: into fibres, through cores, out of fibres, with the invariants that it must keep.

use slotwise_p4::Port;
use slotwise_scenario::{Device, optical_port};
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{Optical, OpticalKind, PORT_OPTICAL_BASE};

use super::cards::core_card;
use super::fibre::{FibrePair, LightChange, Passage};
use super::parts::{Core, Edge, Star};
use slotwise_cards::card::Then;
use slotwise_cards::message;
use slotwise_cards::packet::{Flying, Frame, Origin, Packet, UNBORN};
use slotwise_cards::slotted::{self, Arrived, FibreState};
use slotwise_net::capture::CapturePoint;
use slotwise_net::control_event::ControlMessage;
use slotwise_net::drops::{DropCause, Place};
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::outside::Crossing;
use slotwise_net::work::{Ask, Passed};

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

impl Star {
    /// Both ends see at once what has become of the light of a fibre.
    pub(super) fn light_changed(&mut self, fx: &mut Effects<'_>, fibre: usize, changed: LightChange) {
        self.fibre_changed(fx, fibre);
        let (edge, core) = (self.fibres[fibre].edge, self.fibres[fibre].core);
        let Some(is_up) = changed.is_up else { return };
        let port = optical_port(core);
        fx.tell(Device::Edge(edge), ControlMessage::Link { port, is_up });
        // A core's port sees light while any of its fibres carries some.
        let port = self.fibres[fibre].port;
        let sharing = self.cores[usize::from(core)].ports[usize::from(port)].iter();
        if sharing
            .filter(|other| **other != fibre)
            .all(|other| !self.fibres[*other].is_up())
        {
            let port = optical_port(port);
            fx.tell(Device::Core(core), ControlMessage::Link { port, is_up });
        }
    }

    /// Light enters the fibre to a core.
    pub(super) fn send_into_fibre(
        &mut self,
        fx: &mut Effects<'_>,
        (node, fibre): (usize, usize),
        queue: u16,
        packet: Packet,
        duration: Duration,
    ) {
        let pair = &mut self.fibres[fibre];
        let (edge, core) = (pair.edge, pair.core);
        let (from, to) = (Device::Edge(edge), Device::Core(core));
        fx.capture(CapturePoint::Fibre { from, to }, &packet.frame);
        // The signaling queue is no VOQ and has no record.
        if let Some(record) = self.telemetry.voq(fibre, edge, queue) {
            record.sent += Bytes::of(packet.frame.len());
        }
        let program = self.edges[usize::from(edge)].programs;
        let passage = pair.enter_to_core(packet.frame.len(), duration.ns());
        let (lane, at) = (pair.to_core.lane, fx.now() + Duration::from_ns(pair.delay_ns));
        let flying = Flying {
            packet,
            duration,
            program,
        };
        pass_fibre(fx, (node, passage), (from, to), (lane, at), flying);
    }

    /// Light leaves a core by all fibres of a port. What source it names is taken to have numbered it now if it came by no fibre.
    pub(super) fn split_light(
        &mut self,
        fx: &mut Effects<'_>,
        (node, port): (usize, Port),
        packet: Packet,
        (start, duration): (Instant, Duration),
        program: Option<u32>,
    ) {
        let program = program.unwrap_or_else(|| program_of(&self.edges, message::optical(&packet.frame)));
        let core = usize::from(fx.device(node).number());
        let (port, times) = (usize::from(port - PORT_OPTICAL_BASE), (start, duration));
        let (fibres, born) = (self.cores[core].ports[port].len(), packet.born);
        for index in 0..fibres - 1 {
            let fibre = self.cores[core].ports[port][index];
            let frame = fx.copy_of(&packet.frame);
            self.enter_to_edge(fx, (node, fibre), Packet { frame, born }, times, program);
        }
        let last = self.cores[core].ports[port][fibres - 1];
        self.enter_to_edge(fx, (node, last), packet, times, program);
    }

    fn enter_to_edge(
        &mut self,
        fx: &mut Effects<'_>,
        (node, fibre): (usize, usize),
        packet: Packet,
        (start, duration): (Instant, Duration),
        program: u32,
    ) {
        let pair = &mut self.fibres[fibre];
        let (from, to) = (Device::Core(pair.core), Device::Edge(pair.edge));
        let passage = pair.enter_to_edge(packet.frame.len(), duration.ns());
        let at = fx.now().max(start + duration + Duration::from_ns(pair.delay_ns));
        let lane = pair.to_edge.lane;
        fx.capture(CapturePoint::Fibre { from, to }, &packet.frame);
        let flying = Flying {
            packet,
            duration,
            program,
        };
        pass_fibre(fx, (node, passage), (from, to), (lane, at), flying);
    }

    /// The head of a packet reaches a core.
    pub(super) fn light_at_core(&mut self, fx: &mut Effects<'_>, fibre: usize, flying: Flying) -> Option<Ask> {
        let pair = &self.fibres[fibre];
        let (device, port, edge) = (Device::Core(pair.core), optical_port(pair.port), pair.edge);
        let node = fx.node(device);
        let program = fx.look().program_at(node);
        let (frame, origin) = fx.call(self, node, |card: &mut slotted::Core, now, out| {
            card.arrives(now, (port, edge), flying, program, out)
        })?;
        let then = Then::Light;
        Some(Ask {
            device,
            port,
            frame,
            origin,
            then: Passed::Card { node, then },
        })
    }

    /// Passes the state of a pair of fibres on to the cards at both ends.
    fn fibre_changed(&mut self, fx: &mut Effects<'_>, fibre: usize) {
        let (pair, state) = (&self.fibres[fibre], state_of(&self.fibres[fibre]));
        let (edge, core, port) = (pair.edge, pair.core, pair.port);
        let Core { master, ports, .. } = &self.cores[usize::from(core)];
        let (is_masters, is_first) = (*master == edge, ports[usize::from(port)][0] == fibre);
        let card = core_card(fx, core);
        if is_first {
            card.set_rate(optical_port(port), state.rate);
        }
        if let Some(control) = card.control().filter(|_| is_masters) {
            control.set_delay(state.delay);
        }
        self.call_edge(fx, edge, |card, now, out| {
            card.fibre_changed(now, optical_port(core), state, out);
        });
    }

    /// A core outside has not sent on in time what was light when it arrived. At an edge that is nothing special: beacons and requests
    /// end there.
    pub(super) fn light_is_overdue(&mut self, fx: &mut Effects<'_>, crossing: &Crossing) {
        let Origin::Light { duration, .. } = crossing.origin else {
            return;
        };
        if core_card(fx, crossing.device.number()).is_overdue(crossing.arrived, duration) {
            let place = Place::Device(crossing.device);
            fx.broken_at(crossing.arrived, Invariant::UNGRANTED, place, crossing.optical);
        }
    }

    /// The tail of a packet reaches an edge.
    pub(super) fn light_at_edge(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) -> Option<Ask> {
        let fibre = end.number as usize;
        let (core, edge) = (self.fibres[fibre].core, self.fibres[fibre].edge);
        let (born, program) = (flying.packet.born, flying.program);
        let Arrived { mut frame, optical } = self.call_edge(fx, edge, |card, now, out| {
            card.arrives(now, optical_port(core), flying, out)
        });
        if let Some(packet) = optical.filter(|packet| packet.dst_edge == edge)
            && !self.numbers.is_new(&packet, program)
        {
            fx.broken(Invariant::DUPLICATE, Place::Device(Device::Edge(edge)), optical);
        }
        let is_control = optical.is_some_and(|packet| packet.kind != u8::from(OpticalKind::Data));
        if is_control && !fx.treat((Device::Edge(edge), end), Place::LineCard { edge, core }, &mut frame) {
            fx.give_back(frame);
            return None;
        }
        let origin = Origin::Fibre {
            card: fibre,
            optical,
            born,
        };
        Some(Ask::new((Device::Edge(edge), optical_port(core)), frame, origin))
    }

    /// A late control message is at an edge.
    pub(super) fn message_at_edge(&mut self, fx: &mut Effects<'_>, fibre: usize, frame: Frame) {
        let (edge, core) = (self.fibres[fibre].edge, self.fibres[fibre].core);
        let origin = Origin::Fibre {
            card: fibre,
            optical: message::optical(&frame),
            born: UNBORN,
        };
        fx.ask((Device::Edge(edge), optical_port(core)), frame, origin);
    }
}

fn pass_fibre(
    fx: &mut Effects<'_>,
    (node, passage): (usize, Passage),
    (from, to): (Device, Device),
    (lane, at): (usize, Instant),
    flying: Flying,
) {
    let cause = match passage {
        Passage::Through => return fx.enter_lane(node, lane, at, flying),
        Passage::Lost => DropCause::LinkLoss,
        Passage::Down => DropCause::LinkDown,
    };
    fx.drop(Place::Fibre { from, to }, cause, flying.packet.frame);
}
