// SPDX-License-Identifier: Apache-2.0
//! Light: into fibres, through cores, out of fibres, with the invariants that it must keep.

use slotwise_p4::Port;
use slotwise_scenario::{Device, optical_port};
use slotwise_units::{Duration, Instant, Rate};
use slotwise_wire::{FaultCode, Optical, OpticalKind, PORT_OPTICAL_BASE};

use super::{Core, Edge};
use crate::api::ControlMessage;
use crate::capture::CapturePoint;
use crate::drops::{DropCause, Place};
use crate::external::Crossing;
use crate::fabric::Fabric;
use crate::faults::{LightWay, Way};
use crate::invariants::Invariant;
use crate::kind::{CardAt, OF_STAR};
use crate::link::{LightChange, Passage};
use crate::node::NodeCard;
use crate::pump::Passed;
use slotwise_cards::card::Then;
use slotwise_cards::message;
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Packet, UNBORN};
use slotwise_cards::transmission_ns;

/// Control messages that an edge's line card takes, by fibre.
static TO_EDGE: LightWay = LightWay {
    place: |fabric, card| fabric.star.cards[card].place(),
    arrive: |fabric, card, frame| {
        let (edge, core) = (fabric.star.cards[card].edge, fabric.star.cards[card].core);
        let origin = Origin::Fibre {
            card,
            optical: message::optical(&frame),
            born_ns: UNBORN,
        };
        fabric.ask(Device::Edge(edge), optical_port(core), frame, origin);
    },
};

/// The latest program of the edge that a packet comes from; 0 if there is none.
fn program_of(edges: &[Edge], packet: Option<Optical>) -> u32 {
    let source = packet.and_then(|packet| edges.get(usize::from(packet.src_edge)));
    source.map_or(0, |edge| edge.programs)
}

impl Fabric {
    /// Both ends see at once what has become of the light of a fibre.
    pub(crate) fn light_changed(&mut self, fibre: usize, changed: LightChange) {
        let (edge, core) = (self.star.fibres[fibre].edge, self.star.fibres[fibre].core);
        if let Some(is_weak) = changed.is_weak {
            self.alarm(fibre, FaultCode::Power, !is_weak);
        }
        let Some(is_up) = changed.is_up else { return };
        self.alarm(fibre, FaultCode::LossOfSignal, is_up);
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
    pub(crate) fn send_into_fibre(&mut self, card: usize, queue: u16, mut packet: Packet, duration_ns: u64) {
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        self.stamp(card, &mut packet.frame, self.now_ns, false);
        self.watch_train(card, &packet.frame);
        let (from, to) = (Device::Edge(edge), Device::Core(core));
        self.capture(CapturePoint::Fibre { from, to }, &packet.frame);
        // The signaling queue is no VOQ and has no record.
        if let Some(record) = self.star.telemetry.voq(card, edge, queue) {
            record.sent_bytes += packet.frame.len() as u64;
        }
        let program = self.star.edges[usize::from(edge)].programs;
        let fibre = &mut self.star.fibres[card];
        let passage = fibre.enter_to_core(packet.frame.len(), duration_ns);
        let (lane, at_ns) = (fibre.to_core.lane, self.now_ns + fibre.delay_ns);
        let flying = Flying {
            packet,
            duration_ns,
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
        let (port, times) = (usize::from(port - PORT_OPTICAL_BASE), (start.ns(), duration.ns()));
        let (fibres, born_ns) = (star.cores[core].ports[port].len(), packet.born_ns);
        for index in 0..fibres - 1 {
            let fibre = self.star.cores[core].ports[port][index];
            let frame = self.out.frames.copy_of(&packet.frame);
            self.enter_to_edge(fibre, Packet { frame, born_ns }, times, program);
        }
        let last = self.star.cores[core].ports[port][fibres - 1];
        self.enter_to_edge(last, packet, times, program);
    }

    fn enter_to_edge(&mut self, fibre: usize, packet: Packet, (start_ns, duration_ns): (u64, u64), program: u32) {
        let pair = &mut self.star.fibres[fibre];
        let (from, to) = (Device::Core(pair.core), Device::Edge(pair.edge));
        let passage = pair.enter_to_edge(packet.frame.len(), duration_ns);
        let at_ns = self.now_ns.max(start_ns + duration_ns + pair.delay_ns);
        let lane = pair.to_edge.lane;
        self.capture(CapturePoint::Fibre { from, to }, &packet.frame);
        let flying = Flying {
            packet,
            duration_ns,
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
        let card = CardAt::of_node(&OF_STAR, node, port);
        self.perform(card);
        if let Some((frame, origin)) = entering {
            let then = Then::Light;
            self.enter((device, port), frame, origin, Passed::Card { card, then });
        }
    }

    /// Place behind a port of a core, by the first of its fibres.
    pub(crate) fn place_behind(&self, core: u16, port: Port) -> Place {
        let star = &*self.star;
        let fibres = star.cores[usize::from(core)]
            .ports
            .get(usize::from(port - PORT_OPTICAL_BASE));
        match fibres.and_then(|fibres| fibres.first()) {
            Some(&fibre) => Place::Fibre {
                from: Device::Core(core),
                to: Device::Edge(star.fibres[fibre].edge),
            },
            None => Place::Device(Device::Core(core)),
        }
    }

    /// Rate or delay of a pair of fibres has changed.
    pub(super) fn fibre_changed(&mut self, fibre: usize) {
        let star = &*self.star;
        let pair = &star.fibres[fibre];
        let (edge, core, port) = (pair.edge, pair.core, pair.port);
        let (rate, delay) = (Rate::from_bps(pair.rate_bps), Duration::from_ns(pair.delay_ns));
        let Core { master, ports, .. } = &star.cores[usize::from(core)];
        let (is_masters, is_first) = (*master == edge, ports[usize::from(port)][0] == fibre);
        let card = self.core_card_mut(core);
        if is_first {
            card.set_rate(optical_port(port), rate);
        }
        if let Some(control) = card.control().filter(|_| is_masters) {
            control.set_delay(delay);
        }
    }

    /// Whether the light of a fibre is for an edge behind the same port of the core: a splitter sends it to all.
    fn shares_port(&self, fibre: usize, edge: u16) -> bool {
        let pair = &self.star.fibres[fibre];
        let sharing = &self.star.cores[usize::from(pair.core)].ports[usize::from(pair.port)];
        sharing.iter().any(|other| self.star.fibres[*other].edge == edge)
    }

    /// A core outside has not sent on in time what was light when it arrived. At an edge that is nothing special: beacons and requests
    /// end there.
    pub(super) fn light_is_overdue(&mut self, crossing: &Crossing) {
        let Origin::Light { duration_ns, .. } = crossing.origin else {
            return;
        };
        let (arrived, duration) = (Instant::from_ns(crossing.arrived_ns), Duration::from_ns(duration_ns));
        if self
            .core_card_mut(crossing.device.number())
            .is_overdue(arrived, duration)
        {
            let place = Place::Device(crossing.device);
            self.invariants
                .violated(Invariant::UNGRANTED, crossing.arrived_ns, place, crossing.optical);
        }
    }

    /// The tail of a packet reaches an edge.
    pub(crate) fn light_at_edge(&mut self, fibre: usize, flying: Flying) {
        let Packet { mut frame, born_ns } = flying.packet;
        let (core, edge) = (self.star.fibres[fibre].core, self.star.fibres[fibre].edge);
        let duration_ns = transmission_ns(frame.len() as u64, self.star.fibres[fibre].rate_bps);
        self.stamp(fibre, &mut frame, self.now_ns.saturating_sub(duration_ns), true);
        let optical = message::optical(&frame);
        let place = Place::Device(Device::Edge(edge));
        if let Some(packet) = optical {
            if packet.dst_edge != edge {
                if !self.shares_port(fibre, packet.dst_edge) {
                    self.invariants
                        .violated(Invariant::UNGRANTED, self.now_ns, place, optical);
                }
            } else if !self.star.numbers.is_new(&packet, flying.program) {
                self.invariants
                    .violated(Invariant::DUPLICATE, self.now_ns, place, optical);
            }
        }
        let is_control = optical.is_some_and(|packet| packet.kind != u8::from(OpticalKind::Data));
        if is_control && !self.passes_faults(Way::light(&TO_EDGE, fibre), &mut frame) {
            return self.out.frames.give_back(frame);
        }
        let origin = Origin::Fibre {
            card: fibre,
            optical,
            born_ns,
        };
        let to = (Device::Edge(edge), optical_port(core));
        self.enter(to, frame, origin, Passed::Nothing);
    }
}
