// SPDX-License-Identifier: Apache-2.0
//! Overlaid stars: which queues, requests and ports belong to the star of a core.
//!
//! An edge has one fibre and one line card a core. Its VOQs are numbered over the whole edge: the one for edge d over
//! core c is c * edges + d, and the line card of core c has those of its core only.

use std::ops::Range;

use slotwise_wire::REQUEST_ENTRIES;

use crate::model::{Edge, Fibre, Scenario, Signaling};

/// The request messages that hold these VOQs.
pub fn request_blocks(voqs: Range<u16>) -> Range<u16> {
    voqs.start / REQUEST_ENTRIES..voqs.end.div_ceil(REQUEST_ENTRIES)
}

impl Edge {
    /// The edge's fibre to a core.
    pub fn fibre_to(&self, core: u16) -> Option<&Fibre> {
        self.fibres.iter().find(|fibre| fibre.core == core)
    }
}

impl Scenario {
    /// VOQs of an edge: one for each core and each edge.
    pub fn voq_count(&self) -> u16 {
        (self.cores.len() * self.edges.len()) as u16
    }

    /// VOQs of a line card for `core`: one for each edge, numbered as the edges.
    pub fn card_voqs(&self, core: u16) -> Range<u16> {
        let edges = self.edges.len() as u16;
        core * edges..(core + 1) * edges
    }

    /// The VOQ for edge `to` over `core`.
    pub fn voq(&self, core: u16, to: u16) -> u16 {
        self.card_voqs(core).start + to
    }

    /// Cores that both edges have a fibre to.
    pub fn common_cores(&self, one: u16, other: u16) -> Vec<u16> {
        let other = &self.edges[usize::from(other)];
        let cores = self.edges[usize::from(one)].fibres.iter().map(|fibre| fibre.core);
        cores.filter(|core| other.fibre_to(*core).is_some()).collect()
    }

    /// Edges that share a port with `edge` at each of these cores, itself included.
    pub fn sharing_port(&self, cores: &[u16], edge: u16) -> Vec<u16> {
        let port = |edge: &Edge, core: u16| edge.fibre_to(core).map(|fibre| fibre.port);
        let own = &self.edges[usize::from(edge)];
        let shares = |other: &&Edge| cores.iter().all(|&core| port(other, core) == port(own, core));
        self.edges.iter().filter(shares).map(|other| other.id).collect()
    }

    /// The request messages that hold the VOQs of a star. They may hold some of its neighbours', too.
    pub fn request_blocks(&self, core: u16) -> Range<u16> {
        request_blocks(self.card_voqs(core))
    }

    /// Ticks with `repeat >= 1` that an edge's card for `core` gets at the start of slot 0: one for each request block, and one
    /// for the commit beacon. Out of band a star's master makes all beacons then, slaves none. Where there are several stars
    /// slot 0 may also be a slave's, which is told or sends a message more if it joins by invitation.
    pub fn first_slot_ticks(&self, core: u16, edge: u16) -> u16 {
        let beacons = match self.frame.signaling {
            Signaling::InBand => 1,
            Signaling::OutOfBand if self.cores[usize::from(core)].master == edge => self.edges.len() as u16,
            Signaling::OutOfBand => 0,
        };
        let of_member = u16::from(self.joins_by_invitation() && self.cores.len() > 1);
        self.request_blocks(core).len() as u16 + beacons + of_member
    }

    /// The same at the start of each later signaling slot. Out of band one message is light.
    pub fn signaling_ticks(&self, core: u16) -> u16 {
        match self.frame.signaling {
            Signaling::InBand => self.request_blocks(core).len() as u16 + 1,
            Signaling::OutOfBand => 1,
        }
    }

    /// The slot in which an edge sends its requests, in every star.
    pub fn signaling_slot(&self, edge: u16) -> u32 {
        match self.frame.signaling {
            Signaling::InBand => u32::from(edge),
            Signaling::OutOfBand => 0,
        }
    }
}
