// SPDX-License-Identifier: Apache-2.0
//! Messages of devices for the controller.

use slotwise_p4::{Bits, Port};
use slotwise_units::Instant;

use slotwise_cards::packet::Frame;

/// What a device has for the controller, or for its own agent of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlEvent {
    /// When it left the device.
    pub at: Instant,
    /// P4Runtime device id.
    pub device_id: u64,
    /// What it is.
    pub message: ControlMessage,
}

/// A message for the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlMessage {
    /// What left by the CPU port, controller header included.
    Packet(Frame),
    /// A digest.
    Digest {
        /// Its P4Runtime name.
        name: String,
        /// Its fields in order.
        fields: Vec<Bits>,
    },
    /// A port's link came or went; all are up at first.
    Link {
        /// The port.
        port: Port,
        /// Whether light passes now.
        is_up: bool,
    },
    /// The device stopped, and all that it knew is lost, or it is there again.
    Device {
        /// Whether it is there now.
        is_up: bool,
    },
}
