// SPDX-License-Identifier: Apache-2.0
//! State of optical packet switches beside that of their cards.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use super::cards::{FibreEnd, Output};
use super::entrance::Entrance;
use super::measure::SwitchMeter;
use super::steps::{AtSwitch, Step};
use super::watch::Watch;
use slotwise_net::ticket::{Owner, Tickets};

/// Ends of wavelengths for data, by number.
pub(super) const ENTRANCE: u8 = 0;
/// Ends of wavelengths for probes, by number.
pub(super) const PROBE_END: u8 = 1;

/// Everything that such a network has beside the cards of its nodes.
pub struct Ops {
    /// Wavelengths for data.
    pub(super) outputs: Vec<Output>,
    /// Before wavelengths for probes, in the order of the cards': their ports.
    pub(super) probe_queues: Vec<(Device, Port)>,
    /// Where those end.
    pub(super) entrances: Vec<Entrance>,
    /// Where wavelengths for probes end.
    pub(super) probe_ends: Vec<FibreEnd>,
    /// By switch.
    pub(super) switches: Vec<SwitchMeter>,
    pub(super) watch: Watch,
    /// Number of programs loaded by each edge so far.
    pub(super) programs: Vec<u32>,
    /// How often a train may be deflected.
    pub(super) deflections: u8,
    /// Number of this kind.
    pub(super) owner: Owner,
    /// Light in programs of switches.
    pub(super) at_switches: Tickets<AtSwitch>,
    /// Continuations after work.
    pub(super) steps: Tickets<Step>,
}

impl Ops {
    /// Whether a switch has deflected a train.
    pub(super) fn is_deflected(&self, label: &slotwise_wire::Label) -> bool {
        label.deflections_left < self.deflections
    }
}

/// A switch's number.
pub(super) fn switch_number(device: Device) -> Option<usize> {
    match device {
        Device::Switch(switch) => Some(usize::from(switch)),
        _ => None,
    }
}
