// SPDX-License-Identifier: Apache-2.0
//! Control messages outside of lanes, and faults that treat them.

use rand::Rng;
use slotwise_scenario::{Device, FaultKind, Treatment};
use slotwise_units::{Duration, Instant};
use slotwise_wire::PORT_CPU;

use crate::Net;
use crate::around::Around;
use crate::control_event::ControlMessage;
use crate::drops::{DropCause, Place};
use crate::effects::Effects;
use crate::event::{By, Event};
use crate::parcel::{Parcel, Way};
use slotwise_cards::packet::{Frame, Origin};

impl Net {
    /// A fault begins to treat messages, or ends.
    pub fn set_treatment(&mut self, fault: usize, is_in_force: bool) {
        if is_in_force {
            self.messages.in_force.push(fault);
        } else {
            self.messages.in_force.retain(|in_force| *in_force != fault);
        }
    }

    /// Applies active faults to a control message at a device; false if it does not arrive now. `place` is the place of its loss.
    pub(crate) fn treat(&mut self, device: Device, way: Way, place: Place, frame: &mut Frame) -> bool {
        if self.messages.in_force.is_empty() {
            return true;
        }
        let node = self.nodes.number(device);
        for position in 0..self.messages.in_force.len() {
            let index = self.messages.in_force[position];
            let FaultKind::Messages { treatment, share } = self.journal.faults[index].kind else {
                continue;
            };
            if !self.messages.random(node).random_bool(share) {
                continue;
            }
            self.journal.faults[index].messages += 1;
            match (treatment, way) {
                (Treatment::Lost, _) | (Treatment::Corrupted, Way::Light(_)) => {
                    self.journal.drops.add(place, DropCause::Fault, frame.len());
                    return false;
                }
                (Treatment::Corrupted, _) => self.messages.corrupt(node, frame),
                (Treatment::Duplicated, _) => self.arrive_late(node, way, frame),
                (Treatment::Reordered, _) => {
                    self.arrive_late(node, way, frame);
                    return false;
                }
            }
        }
        true
    }

    fn arrive_late(&mut self, node: usize, way: Way, frame: &Frame) {
        let late = Duration::from_ns(self.messages.lateness(node));
        let frame = self.out.frames.copy_of(frame);
        self.dispatch_parcel(By::node(node), self.now() + late, Parcel::Late { way, frame });
    }

    /// A frame has left a switch by its CPU port.
    pub(crate) fn packet_in<A: Around>(&mut self, around: &mut A, device: Device, mut frame: Frame) {
        if self.treat(device, Way::In(device), Place::Device(device), &mut frame) {
            self.send_packet_in(around, device, frame);
        } else {
            self.give_back(frame);
        }
    }

    pub(crate) fn send_packet_in<A: Around>(&mut self, around: &mut A, device: Device, frame: Frame) {
        if !self.journal.faults.is_empty() {
            around.reports(self.now(), &frame);
        }
        self.tell(device, ControlMessage::Packet(frame));
    }

    /// Schedules the delivery of a parcel at `at`.
    pub fn dispatch_parcel(&mut self, by: By, at: Instant, parcel: Parcel) {
        let number = self.parcels.insert(parcel);
        self.schedule(by, at, Event::Parcel(number));
    }

    /// A parcel is there.
    pub fn parcel_arrives<A: Around>(&mut self, around: &mut A, number: u32) {
        match self.parcels.take(number) {
            Some(Parcel::PacketOut { device, mut frame }) => {
                match self.treat(device, Way::Out(device), Place::Device(device), &mut frame) {
                    true => self.ask((device, PORT_CPU), frame, Origin::Local),
                    false => self.give_back(frame),
                }
            }
            Some(Parcel::Late { way, frame }) => match way {
                Way::Light(end) => around.comes_late(&mut Effects::on(self), end, frame),
                Way::In(device) => self.send_packet_in(around, device, frame),
                Way::Out(device) => self.ask((device, PORT_CPU), frame, Origin::Local),
            },
            Some(Parcel::FromSwitch {
                device,
                port,
                id,
                frame,
            }) => {
                if let Some(outside) = &mut self.nodes.outside {
                    let origin = outside.take_origin(device, id);
                    self.send(around, device, port, frame, origin);
                }
            }
            None => {}
        }
    }
}
