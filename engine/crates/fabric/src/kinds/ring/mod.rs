// SPDX-License-Identifier: Apache-2.0
//! What packet rings have: the cards of their stations, what is on its way on a ring, and what is checked and measured of it.

mod build;
mod cards;
mod measure;
mod watch;

use slotwise_p4::RegisterCell;
use slotwise_scenario::{Device, Scenario};
use slotwise_wire::RINGLETS;

pub(crate) use cards::Arrival;
pub use measure::RingLinkState;
use watch::Watch;

use crate::invariants::Invariant;
use crate::net::kind::{Kind, NodeKind};
use crate::world::Fabric;

/// Packet rings.
pub(crate) static KIND: Kind = Kind {
    is_in: Scenario::has_ring,
    build: |fabric, plan| {
        if let Some(ring) = &plan.scenario.ring {
            fabric.add_ring(plan.scenario, ring);
        }
    },
    checks: &[
        Invariant::DUPLICATE,
        Invariant::ASTRAY,
        Invariant::TRANSIT_LOSS,
        Invariant::ROUND,
        Invariant::ADD_RATE,
        Invariant::INSERTION,
    ],
    checks_inside: &[],
};

/// Stations. What waits in the cards of one is gone with its program, and so are its limits.
static STATION: NodeKind = NodeKind {
    starts: Fabric::reset_station,
    stops: Fabric::reset_station,
    ..NodeKind::PLAIN
};

impl Invariant {
    /// On a ring no packet lost by a station that it passes.
    pub const TRANSIT_LOSS: Invariant = Invariant::new("transit_loss", "transit losses");
    /// No packet at a station of a ring twice.
    pub const ROUND: Invariant = Invariant::new("round", "loops");
    /// Nothing added to a ring beyond what P4 told the card, and its bucket.
    pub const ADD_RATE: Invariant = Invariant::new("add_rate", "add-rate violations");
    /// Never more than two of the longest frames in an insertion buffer of a ring.
    pub const INSERTION: Invariant = Invariant::new("insertion", "transit-buffer overflows");
}

/// Everything that a ring has.
pub(crate) struct Ring {
    /// Registers of the phases of links in the program of each station, once looked up.
    pub(crate) phase_cells: Vec<[Option<RegisterCell>; RINGLETS as usize]>,
    pub(crate) watch: Watch,
    /// When a packet has been held back for too long.
    pub(crate) hol_timer_ns: u64,
    /// When a link or a station was last found to be broken, or was mended.
    pub(crate) broken_ns: u64,
}

/// A station's name for the network.
pub(crate) fn device(station: u16) -> Device {
    Device::Station(station)
}
