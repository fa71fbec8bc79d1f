// SPDX-License-Identifier: Apache-2.0
//! Where what the pipeline makes goes: frames to interfaces, their capture and the controller, digests to the controller.

use std::collections::BTreeMap;

use pcap_file::PcapError;
use slotwise_netio::Senders;
use slotwise_p4::{Bits, Output, Port};
use slotwise_p4runtime::DeviceHub;

use super::capture::{Capture, Direction};

/// What a switch is connected to, apart from its interfaces.
pub struct Surroundings {
    /// From port number to place among the interfaces.
    places: BTreeMap<Port, usize>,
    pub device_id: u64,
    pub cpu_port: Port,
    pub hub: DeviceHub,
    capture: Option<Capture>,
    /// Why the capture ended.
    failure: Option<PcapError>,
}

impl Surroundings {
    /// `numbers` are the ports of the interfaces, by place.
    pub fn new(numbers: &[Port], device_id: u64, cpu_port: Port, hub: DeviceHub, capture: Option<Capture>) -> Self {
        Surroundings {
            places: numbers.iter().enumerate().map(|(place, &port)| (port, place)).collect(),
            device_id,
            cpu_port,
            hub,
            capture,
            failure: None,
        }
    }

    /// Captures a frame. A capture that cannot go on ends; [`Surroundings::check`] tells.
    pub fn record(&mut self, place: usize, direction: Direction, now_ns: u64, frame: &[u8]) {
        if let Some(capture) = &mut self.capture
            && let Err(error) = capture.record(place, direction, now_ns, frame)
        {
            self.failure = Some(error);
            self.capture = None;
        }
    }

    /// The error that ended the capture, once.
    pub fn check(&mut self) -> Result<(), PcapError> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// Delivers at once what comes of one packet.
pub struct Delivery<'a> {
    pub surroundings: &'a mut Surroundings,
    pub senders: &'a mut Senders,
    pub now_ns: u64,
}

impl Output for Delivery<'_> {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        let around = &mut *self.surroundings;
        if port == around.cpu_port {
            // Without a controller, or with one that does not keep up, the packet is lost as on any switch.
            let _ = around.hub.packet_in(around.device_id, frame);
        } else if let Some(&place) = around.places.get(&port) {
            self.senders.send(place, frame);
            around.record(place, Direction::Out, self.now_ns, frame);
        }
        // Else no cable is in that port.
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        let around = &mut *self.surroundings;
        around.hub.digest(around.device_id, name, fields, self.now_ns);
    }
}
