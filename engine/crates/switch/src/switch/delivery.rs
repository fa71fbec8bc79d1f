// SPDX-License-Identifier: Apache-2.0
//! Where what the pipeline makes goes: frames to interfaces, their capture and the controller, digests to the controller.

use std::collections::BTreeMap;

use slotwise_netio::Senders;
use slotwise_p4::{Bits, Output, Port};
use slotwise_p4runtime::DeviceHub;
use slotwise_units::Instant;

use super::capture::{Capture, Direction};
use super::log::Logs;

/// What a switch is connected to, apart from its interfaces.
pub struct Surroundings {
    /// From port number to place among the interfaces.
    pub places: BTreeMap<Port, usize>,
    pub device_id: u64,
    pub cpu_port: Option<Port>,
    pub hub: DeviceHub,
    pub capture: Option<Capture>,
    pub logs: Logs,
    /// Packet-outs of a switch without a CPU port.
    pub lost_packet_outs: u64,
}

impl Surroundings {
    /// Captures and logs a frame of the interface at `place`, which is behind `port`.
    pub fn record(&mut self, (place, port): (usize, Port), direction: Direction, now: Instant, frame: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.record(place, direction, now, frame);
        }
        let what = match direction {
            Direction::In => "in by",
            Direction::Out => "out by",
        };
        self.logs.packet(what, port, frame);
    }
}

/// Delivers at once what comes of one packet.
pub struct Delivery<'a> {
    pub surroundings: &'a mut Surroundings,
    pub senders: &'a mut Senders,
    pub now: Instant,
}

impl Output for Delivery<'_> {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        let around = &mut *self.surroundings;
        if Some(port) == around.cpu_port {
            // Without a controller, or with one that does not keep up, the packet is lost as on any switch.
            let _ = around.hub.packet_in(around.device_id, frame);
        } else if let Some(&place) = around.places.get(&port) {
            self.senders.send(place, frame);
            around.record((place, port), Direction::Out, self.now, frame);
        }
        // Else no cable is in that port.
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        let around = &mut *self.surroundings;
        around.hub.digest(around.device_id, name, fields, self.now);
    }

    fn log(&mut self, message: &str) {
        self.surroundings.logs.message(message);
    }
}
