// SPDX-License-Identifier: Apache-2.0
//! What is on its way outside of lanes: messages of the controller, of switches outside, and late ones.

use slotwise_scenario::Device;

use crate::lane::OwnEnd;
use crate::ticket::Tickets;
use slotwise_cards::packet::Frame;

/// The way of a control message.
#[derive(Clone, Copy)]
pub enum Way {
    /// By light, to an end of a lane.
    Light(OwnEnd),
    /// From a switch to the controller.
    In(Device),
    /// From the controller to a switch.
    Out(Device),
}

/// A message with its way.
pub enum Parcel {
    /// Of the controller, to a device.
    PacketOut {
        /// The switch.
        device: Device,
        /// Packet with its controller header.
        frame: Frame,
    },
    /// A control message that a fault has kept, or its copy.
    Late {
        /// Path of the message.
        way: Way,
        /// The message.
        frame: Frame,
    },
    /// It has left a switch outside of the net.
    FromSwitch {
        /// The switch.
        device: Device,
        /// Output port.
        port: u16,
        /// Number of the original packet, or 0.
        id: u64,
        /// The packet.
        frame: Frame,
    },
}

/// Parcels by number.
pub(crate) type Parcels = Tickets<Parcel>;
