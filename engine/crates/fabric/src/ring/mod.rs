// SPDX-License-Identifier: Apache-2.0
//! What packet rings have: the cards of their stations, what is on its way on a ring, and what is checked and measured of it.

mod cards;
mod measure;
mod watch;

use slotwise_p4::Port;
use slotwise_scenario::Device;
use slotwise_wire::{PORT_RING_EAST, PORT_RING_WEST};

pub(crate) use cards::Card;
pub use measure::{RingLinkState, RingLinkUse};
pub(crate) use watch::Watch;

/// Everything that a ring has; nothing where there is none.
#[derive(Default)]
pub(crate) struct Ring {
    /// By link between stations, that of ringlet 0 before that of ringlet 1.
    pub(crate) cards: Vec<Card>,
    pub(crate) watch: Watch,
}

impl Ring {
    fn card(&self, station: u16, ringlet: u8) -> Option<usize> {
        let is_it = |card: &Card| (card.station, card.ringlet) == (station, ringlet);
        self.cards.iter().position(is_it)
    }
}

/// By which port a ringlet leaves a station.
pub(crate) fn port_out(ringlet: u8) -> Port {
    if ringlet == 0 { PORT_RING_EAST } else { PORT_RING_WEST }
}

/// By which port it comes.
pub(crate) fn port_in(ringlet: u8) -> Port {
    port_out(1 - ringlet)
}

/// A station's name for the network.
pub(crate) fn device(station: u16) -> Device {
    Device::Station(station)
}
