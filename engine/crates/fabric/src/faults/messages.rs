// SPDX-License-Identifier: Apache-2.0
//! What faults do to control messages: light of signaling where an edge takes it, messages on a ring where a station does, packet-ins and
//! packet-outs.
//!
//! Light carries a frame check sequence as all Ethernet does, so a line card drops what is corrupted. What the controller's
//! connection carries arrives with its wrong bits: the programs at both ends have to bear them.

use rand::Rng;
use slotwise_scenario::{Device, FaultKind, Treatment};
use slotwise_wire::{Ethernet, Optical, OpticalKind, PORT_CPU, PacketIn};

use crate::api::ControlMessage;
use crate::drops::{DropCause, Place};
use crate::net::parcel::Parcel;
use crate::world::Fabric;
use slotwise_cards::packet::Frame;
use slotwise_cards::packet::Origin;

/// Longest time by which a message is late, in frames: more than a commit takes.
const MAX_LATE_FRAMES: u64 = 8;
/// The same where there are no frames.
const MAX_LATE_NS: u64 = 1_000_000;
const MAX_WRONG_BITS: u32 = 4;
/// Header of packet-ins and packet-outs: a field of P4Runtime's own message, which stays as it is.
const CONTROLLER_HEADER: usize = PacketIn::SIZE;

/// The way of a control message.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// By light, to where a kind of networks takes it, by a number of its own.
    Light { way: &'static LightWay, number: u32 },
    /// From a switch to the controller.
    In(Device),
    /// From the controller to a switch.
    Out(Device),
}

/// Where control messages come by light.
pub(crate) struct LightWay {
    /// Where one is lost.
    pub(crate) place: fn(&Fabric, usize) -> Place,
    /// One that was late is there.
    pub(crate) arrive: fn(&mut Fabric, usize, Frame),
}

impl Way {
    pub(crate) fn light(way: &'static LightWay, number: usize) -> Way {
        let number = number as u32;
        Way::Light { way, number }
    }
}

impl Fabric {
    /// Does to a control message what the faults in force say; false if it does not arrive now.
    pub(crate) fn passes_faults(&mut self, way: Way, frame: &mut Frame) -> bool {
        for position in 0..self.faults.treatments.len() {
            let index = self.faults.treatments[position];
            let FaultKind::Messages { treatment, share } = self.faults.records[index].kind else {
                continue;
            };
            if !self.faults.random.random_bool(share) {
                continue;
            }
            self.faults.records[index].messages += 1;
            match (treatment, way) {
                (Treatment::Lost, _) | (Treatment::Corrupted, Way::Light { .. }) => {
                    let place = match way {
                        Way::Light { way, number } => (way.place)(self, number as usize),
                        Way::In(device) | Way::Out(device) => Place::Device(device),
                    };
                    self.drops.add(place, DropCause::Fault, frame.len());
                    return false;
                }
                (Treatment::Corrupted, _) => self.corrupt(frame),
                (Treatment::Duplicated, _) => self.arrive_late(way, frame),
                (Treatment::Reordered, _) => {
                    self.arrive_late(way, frame);
                    return false;
                }
            }
        }
        true
    }

    fn corrupt(&mut self, frame: &mut Frame) {
        let random = &mut self.faults.random;
        for _ in 0..random.random_range(1..=MAX_WRONG_BITS) {
            if frame.len() > CONTROLLER_HEADER {
                let byte = random.random_range(CONTROLLER_HEADER..frame.len());
                frame[byte] ^= 1 << random.random_range(0..8);
            }
        }
    }

    fn arrive_late(&mut self, way: Way, frame: &Frame) {
        let star = self.star.get();
        let most_ns = star.map_or(MAX_LATE_NS, |star| MAX_LATE_FRAMES * star.slots.frame().ns());
        let late_ns = self.faults.random.random_range(1..=most_ns);
        let frame = self.out.frames.copy_of(frame);
        self.dispatch_parcel(self.now_ns + late_ns, Parcel::Late { way, frame });
    }

    pub(crate) fn late_message(&mut self, way: Way, frame: Frame) {
        match way {
            Way::Light { way, number } => (way.arrive)(self, number as usize, frame),
            Way::In(device) => self.send_packet_in(device, frame),
            Way::Out(device) => self.ask(device, PORT_CPU, frame, Origin::Local),
        }
    }

    /// A frame has left a switch by its CPU port.
    pub(crate) fn packet_in(&mut self, device: Device, mut frame: Frame) {
        if self.passes_faults(Way::In(device), &mut frame) {
            self.send_packet_in(device, frame);
        } else {
            self.out.frames.give_back(frame);
        }
    }

    fn send_packet_in(&mut self, device: Device, frame: Frame) {
        self.note_request(&frame);
        self.tell(device, ControlMessage::Packet(frame));
    }

    fn note_request(&mut self, frame: &[u8]) {
        if self.faults.records.is_empty() {
            return;
        }
        let optical = frame
            .get(CONTROLLER_HEADER + Ethernet::SIZE..)
            .and_then(Optical::decode);
        let request = optical.filter(|optical| optical.kind == u8::from(OpticalKind::Request));
        let of_edge = request.and_then(|optical| self.faults.requests_ns.get_mut(usize::from(optical.src_edge)));
        if let Some(at_ns) = of_edge {
            *at_ns = Some(self.now_ns);
        }
    }
}
