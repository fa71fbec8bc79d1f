// SPDX-License-Identifier: Apache-2.0
//! State of a ring.

use slotwise_p4::RegisterCell;
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::RINGLETS;

use super::cards::Arrival;
use super::watch::Watch;
use slotwise_net::ticket::Tickets;

/// Everything that a ring has.
pub struct Ring {
    /// Registers of the phases of links in the program of each station, once looked up.
    pub(super) phase_cells: Vec<[Option<RegisterCell>; RINGLETS as usize]>,
    pub(super) watch: Watch,
    /// When a packet has been held back for too long.
    pub(super) hol_timer_ns: u64,
    /// When a link or a station was last found to be broken, or was mended.
    pub(super) broken: Instant,
    /// Data in programs of stations.
    pub(super) arrivals: Tickets<Arrival>,
}

/// A station's name for the network.
pub(super) fn device(station: u16) -> Device {
    Device::Station(station)
}
