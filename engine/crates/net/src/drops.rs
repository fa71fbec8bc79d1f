// SPDX-License-Identifier: Apache-2.0
//! Frames lost outside P4, by location and cause. P4's `drops` counters have its own losses.

use std::collections::BTreeMap;
use std::fmt;

pub use slotwise_cards::DropCause;
use slotwise_scenario::{Device, HostId};
use slotwise_units::Bytes;
use slotwise_wire::DropReason;

/// Where something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A switch.
    Device(Device),
    /// The line card of an edge that serves the fibre to a core.
    LineCard {
        /// Number of the edge.
        edge: u16,
        /// Number of the core.
        core: u16,
    },
    /// One direction of a fibre.
    Fibre {
        /// Where light enters.
        from: Device,
        /// Where it leaves.
        to: Device,
    },
    /// The access link of a host, from host to edge.
    Uplink(HostId),
    /// The access link of a host, from edge to host.
    Downlink(HostId),
    /// A host.
    Host(HostId),
    /// A port of a router or station, or of an edge to a router: the card before its link.
    Port {
        /// The router, station or edge.
        device: Device,
        /// Its port.
        port: u16,
    },
    /// The host at a port of a router or station, or the link from it.
    HostAt {
        /// The router or station.
        device: Device,
        /// Its port.
        port: u16,
    },
}

impl Place {
    /// Whether it is a router or station, or its link, or a host there.
    pub(crate) fn is_beside_stars(self) -> bool {
        let (Place::Device(device) | Place::Port { device, .. } | Place::HostAt { device, .. }) = self else {
            return false;
        };
        !device.kind().is_slotted
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Device(device) => write!(f, "{device}"),
            Place::LineCard { edge, core } => write!(f, "edge{edge}/card{core}"),
            Place::Fibre { from, to } => write!(f, "{from}->{to}"),
            Place::Port { device, port } => write!(f, "{device}/port{port}"),
            Place::HostAt { device, port } => write!(f, "host at {device}/port{port}"),
            Place::Uplink(host) => write!(f, "{host}->edge{}", host.edge),
            Place::Downlink(host) => write!(f, "edge{}->{host}", host.edge),
            Place::Host(host) => write!(f, "{host}"),
        }
    }
}

/// How many frames were lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DropCount {
    /// Frames.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

/// Losses by place and cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops {
    counts: BTreeMap<(Place, DropCause), DropCount>,
}

impl Drops {
    /// Counts a lost frame.
    pub(crate) fn add(&mut self, place: Place, cause: DropCause, bytes: usize) {
        let count = self.counts.entry((place, cause)).or_default();
        count.packets += 1;
        count.bytes += Bytes::of(bytes);
    }

    /// What one place lost for one cause.
    pub fn get(&self, place: Place, cause: DropCause) -> DropCount {
        self.counts.get(&(place, cause)).copied().unwrap_or_default()
    }

    /// All losses, by place, then cause.
    pub fn iter(&self) -> impl Iterator<Item = (Place, DropCause, DropCount)> + '_ {
        self.counts
            .iter()
            .map(|((place, cause), count)| (*place, *cause, *count))
    }
}

/// A cell of a device's `drops` counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct P4Drop {
    /// Why P4 dropped.
    pub reason: DropReason,
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
}
