// SPDX-License-Identifier: Apache-2.0
//! Faults and what came of them.

use slotwise_scenario::{Device, FaultKind};
use slotwise_units::{Duration, Instant, SignedDuration};

/// One fault, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultRecord {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// The switch that it happened to, or those at both ends of the link.
    pub devices: Vec<Device>,
    /// That link, if it is none of fibres.
    pub span: Option<usize>,
    /// Start.
    pub start: Instant,
    /// End.
    pub end: Instant,
    /// By how much a clock jumped.
    pub step: SignedDuration,
    /// Whether the controller is killed in the middle of its next turn: it has written tables, and its packet-outs are lost.
    pub mid_step: bool,
    /// Control messages that it hit.
    pub messages: u64,
    /// Whether it took place; another fault may have had its victim already.
    pub happened: bool,
    /// Time of the recovery; `None` if the network had not recovered by the end of the run.
    pub recovered: Option<Instant>,
}

impl FaultRecord {
    /// Time from its end until the network had recovered.
    pub fn recovery(&self) -> Option<Duration> {
        self.recovered.map(|at| at - self.end)
    }

    /// The edge that it happened to, or at the end of the fibre.
    pub fn edge(&self) -> Option<u16> {
        self.in_star().find_map(|device| match device {
            Device::Edge(edge) => Some(edge),
            _ => None,
        })
    }

    /// The core that it happened to, or at the other end of the fibre.
    pub fn core(&self) -> Option<u16> {
        self.in_star().find_map(|device| match device {
            Device::Core(core) => Some(core),
            _ => None,
        })
    }

    fn in_star(&self) -> impl Iterator<Item = Device> {
        let devices = self.devices.iter().copied();
        devices.filter(|device| self.span.is_none() && device.kind().is_slotted)
    }

    /// The switch outside of stars that it happened to, or those at both ends of the link.
    pub fn beside_stars(&self) -> impl Iterator<Item = Device> {
        let devices = self.devices.iter().copied();
        devices.filter(|device| self.span.is_some() || !device.kind().is_slotted)
    }
}
