// SPDX-License-Identifier: Apache-2.0
//! Spans: the links that go dark together, both ways between two switches.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::node::NodePort;

/// Links between two ports, or of all wavelengths of a fibre.
pub struct Span {
    /// Ports before its lanes.
    pub ports_before: Vec<NodePort>,
    /// First ports at both ends.
    pub ends: [(Device, Port); 2],
    /// Of each end; they follow each other.
    pub ports: u16,
    /// What the scenario's changes say.
    pub is_up: bool,
    /// What a fault on purpose says: neither mends what the other broke.
    pub is_cut: bool,
}

impl Span {
    /// True if it carries packets.
    pub(crate) fn is_light(&self) -> bool {
        self.is_up && !self.is_cut
    }
}
