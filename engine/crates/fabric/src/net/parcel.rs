// SPDX-License-Identifier: Apache-2.0
//! What is on its way outside of lanes: messages of the controller, of switches outside, and late ones.

use slotwise_scenario::Device;

use crate::faults::Way;
use crate::net::event::Event;
use crate::world::Fabric;
use slotwise_cards::packet::Frame;

/// A message with its way.
pub(crate) enum Parcel {
    /// Of the controller, to a device.
    PacketOut { device: Device, frame: Frame },
    /// A control message that a fault has kept, or its copy.
    Late { way: Way, frame: Frame },
    /// It has left a switch outside of the fabric.
    FromSwitch {
        device: Device,
        port: u16,
        id: u64,
        frame: Frame,
    },
}

/// Parcels by number; numbers are used again.
#[derive(Default)]
pub(crate) struct Parcels {
    places: Vec<Option<Parcel>>,
    free: Vec<u32>,
}

impl Parcels {
    fn insert(&mut self, parcel: Parcel) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[number as usize] = Some(parcel);
        number
    }

    pub(crate) fn take(&mut self, number: u32) -> Option<Parcel> {
        let parcel = self.places[number as usize].take()?;
        self.free.push(number);
        Some(parcel)
    }
}

impl Fabric {
    /// It is there at `at_ns`.
    pub(crate) fn dispatch_parcel(&mut self, at_ns: u64, parcel: Parcel) {
        let number = self.parcels.insert(parcel);
        self.events.schedule(at_ns, Event::Parcel(number));
    }
}
