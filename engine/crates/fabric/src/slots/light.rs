// SPDX-License-Identifier: Apache-2.0
//! Light: into fibres, through cores, out of fibres, with the invariants that it must keep.

use slotwise_scenario::{Device, optical_port};
use slotwise_wire::{FaultCode, Optical, OpticalKind};

use super::Edge;
use crate::api::ControlMessage;
use crate::capture::CapturePoint;
use crate::drops::{DropCause, Place};
use crate::external::Crossing;
use crate::fabric::Fabric;
use crate::faults::{LightWay, Way};
use crate::invariants::Invariant;
use crate::link::{LightChange, Passage};
use crate::pump::{Pass, Passed};
use slotwise_cards::message;
use slotwise_cards::packet::Flying;
use slotwise_cards::packet::Origin;
use slotwise_cards::packet::{Frame, Packet, UNBORN};
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

/// Light that has passed the program of a core, for the checks after its pass.
pub(crate) struct AtCore {
    core: u16,
    in_slot: bool,
    optical: Option<Optical>,
    /// Until when the output that it is for carried a packet as it came.
    wanted_until_ns: Option<u64>,
}

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
        let sharing = self.star.cores[usize::from(core)].ports[usize::from(port)]
            .fibres
            .iter();
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

    /// Light leaves a port of a core for all edges behind it. An output carries one packet at a time.
    pub(super) fn send_light(&mut self, (core, port): (u16, usize), frame: Frame, origin: Origin) {
        // All fibres of a core have one rate.
        let star = &mut *self.star;
        let output = &mut star.cores[usize::from(core)].ports[port];
        let first = &star.fibres[output.fibres[0]];
        let (start_ns, duration_ns, program) = match origin {
            Origin::Light {
                arrived_ns,
                duration_ns,
                program,
                ..
            } => (arrived_ns, duration_ns, program),
            // It came by no fibre: what source it names is taken to have numbered it now.
            _ => {
                let duration_ns = transmission_ns(frame.len() as u64, first.rate_bps);
                let program = program_of(&star.edges, message::optical(&frame));
                (self.now_ns, duration_ns, program)
            }
        };
        if output.busy_until_ns > start_ns {
            let place = Place::Fibre {
                from: Device::Core(core),
                to: Device::Edge(first.edge),
            };
            self.invariants
                .violated(Invariant::COLLISION, self.now_ns, place, message::optical(&frame));
            return self.drop(place, DropCause::Collision, frame);
        }
        output.busy_until_ns = start_ns + duration_ns;
        let (fibres, born_ns) = (output.fibres.len(), origin.born_ns());
        for index in 0..fibres - 1 {
            let fibre = self.star.cores[usize::from(core)].ports[port].fibres[index];
            let frame = self.out.frames.copy_of(&frame);
            self.enter_to_edge(fibre, Packet { frame, born_ns }, (start_ns, duration_ns), program);
        }
        let last = self.star.cores[usize::from(core)].ports[port].fibres[fibres - 1];
        self.enter_to_edge(last, Packet { frame, born_ns }, (start_ns, duration_ns), program);
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

    /// The head of a packet reaches a core. Slot and guard are judged by the fabric's own clock.
    pub(crate) fn light_at_core(&mut self, fibre: usize, flying: Flying) {
        let Flying {
            packet: Packet { frame, born_ns },
            duration_ns,
            program,
        } = flying;
        let (core, port) = (self.star.fibres[fibre].core, self.star.fibres[fibre].port);
        let optical = message::optical(&frame);
        let place = Place::Device(Device::Core(core));
        let in_slot = self.is_in_slot(self.now_ns, duration_ns);
        if !in_slot {
            self.invariants.violated(Invariant::GUARD, self.now_ns, place, optical);
        }
        if self.meets_other_light(fibre, duration_ns) {
            self.invariants
                .violated(Invariant::COLLISION, self.now_ns, place, optical);
            return self.drop(place, DropCause::Collision, frame);
        }
        // Before the pass, as the pass makes outputs busy.
        let wanted_until_ns = optical.and_then(|optical| self.output_busy_until_ns(core, optical.dst_edge));
        let then = AtCore {
            core,
            in_slot,
            optical,
            wanted_until_ns,
        };
        let origin = Origin::Light {
            arrived_ns: self.now_ns,
            duration_ns,
            program,
            born_ns,
            input: optical_port(port),
        };
        let to = (Device::Core(core), optical_port(port));
        self.enter(to, frame, origin, Passed::AtCore(then));
    }

    /// Light has passed a core, or was dropped by it.
    pub(crate) fn light_left_core(&mut self, light: &AtCore, pass: Pass) {
        let &AtCore { core, in_slot, .. } = light;
        let device = Device::Core(core);
        if pass != (Pass::Done { outputs: 0 }) || !self.runs(device) {
            return;
        }
        let (place, core) = (Place::Device(device), &mut self.star.cores[usize::from(core)]);
        core.lost += 1;
        // What comes between a program's start and its first tick is lost and breaks no rule.
        if !core.knows_slot {
            return;
        }
        let meets_other = light.wanted_until_ns.is_some_and(|until_ns| until_ns > self.now_ns);
        let broken = match (meets_other, in_slot) {
            (true, _) => Invariant::COLLISION,
            (false, true) => Invariant::UNGRANTED,
            (false, false) => return,
        };
        self.invariants.violated(broken, self.now_ns, place, light.optical);
    }

    /// Light enters a core's port: whether light of another fibre is entering there.
    fn meets_other_light(&mut self, fibre: usize, duration_ns: u64) -> bool {
        let star = &mut *self.star;
        let pair = &star.fibres[fibre];
        let port = &mut star.cores[usize::from(pair.core)].ports[usize::from(pair.port)];
        let meets = port
            .entering
            .is_some_and(|(other, until_ns)| other != fibre && until_ns > self.now_ns);
        if !meets {
            port.entering = Some((fibre, self.now_ns + duration_ns));
        }
        meets
    }

    /// Until when the output that leads to an edge carries a packet.
    fn output_busy_until_ns(&self, core: u16, edge: u16) -> Option<u64> {
        let fibre = (*self.star.edges.get(usize::from(edge))?.cards.get(usize::from(core))?)?;
        let port = usize::from(self.star.fibres[fibre].port);
        Some(self.star.cores[usize::from(core)].ports[port].busy_until_ns)
    }

    /// Whether the light of a fibre is for an edge behind the same port of the core: a splitter sends it to all.
    fn shares_port(&self, fibre: usize, edge: u16) -> bool {
        let pair = &self.star.fibres[fibre];
        let sharing = &self.star.cores[usize::from(pair.core)].ports[usize::from(pair.port)].fibres;
        sharing.iter().any(|other| self.star.fibres[*other].edge == edge)
    }

    /// Whether light whose head reaches a core at `at_ns` keeps clear of the guard and of the slot's end.
    pub(crate) fn is_in_slot(&self, at_ns: u64, duration_ns: u64) -> bool {
        at_ns.checked_sub(self.star.slots.epoch_ns).is_some_and(|since_ns| {
            let offset_ns = since_ns % self.star.slots.slot_ns;
            offset_ns >= self.star.slots.guard_ns && offset_ns + duration_ns <= self.star.slots.slot_ns
        })
    }

    /// A core outside has not sent on in time what was light when it arrived. At an edge that is nothing special: beacons and requests
    /// end there.
    pub(super) fn light_is_overdue(&mut self, crossing: &Crossing) {
        let Origin::Light { duration_ns, .. } = crossing.origin else {
            return;
        };
        self.star.cores[usize::from(crossing.device.number())].lost += 1;
        if self.is_in_slot(crossing.arrived_ns, duration_ns) {
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
