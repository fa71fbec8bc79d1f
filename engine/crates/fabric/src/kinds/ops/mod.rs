// SPDX-License-Identifier: Apache-2.0
//! What networks of optical packet switches have: the cards of their fibres, what is on its way, and what is checked and measured of it.

mod build;
mod cards;
mod entrance;
mod measure;
mod probes;
mod steps;
mod watch;

use slotwise_p4::Port;
use slotwise_scenario::{Device, Scenario};

use cards::{FibreEnd, Output};
use entrance::Entrance;
use measure::SwitchMeter;
pub use measure::{OpsEdgeUse, OpsOutput, OpsOutputUse, OpsSwitchUse};
pub use slotwise_cards::train_queue::TrainUse;
pub(crate) use steps::{Passed, Step};
use watch::Watch;
pub use watch::{OpsTrains, OpsTransit};

use crate::invariants::Invariant;
use crate::net::kind::{Kind, NodeKind};
use crate::world::Fabric;

/// Networks of optical packet switches.
pub(crate) static KIND: Kind = Kind {
    is_in: Scenario::has_ops,
    build: |fabric, plan| {
        if let Some(ops) = &plan.scenario.ops {
            fabric.add_ops(plan.scenario, ops);
        }
    },
    checks: &[
        Invariant::LANE,
        Invariant::RAM,
        Invariant::DUPLICATE,
        Invariant::SPLIT,
        Invariant::UNEXPLAINED,
        Invariant::LABEL,
        Invariant::ASTRAY,
        Invariant::INGRESS,
    ],
    checks_inside: &[Invariant::LANE, Invariant::UNEXPLAINED, Invariant::LABEL],
};

/// Switches. What waits in the cards of one is gone with its program.
static SWITCH: NodeKind = NodeKind {
    starts: Fabric::ops_switch_starts,
    stops: Fabric::ops_switch_stops,
    overdue: Fabric::train_is_overdue,
    ..NodeKind::PLAIN
};

/// Edges. A program numbers trains anew.
static EDGE: NodeKind = NodeKind {
    starts: |fabric, device| {
        fabric.reset_ops_node(device);
        fabric.ops_go_on(Step::Renumber { edge: device.number() });
    },
    stops: Fabric::reset_ops_node,
    ..NodeKind::PLAIN
};

impl Invariant {
    /// No two frames at once on a lane: one wavelength of a fibre, one way.
    pub const LANE: Invariant = Invariant::new("lane", "wavelength collisions");
    /// No train taken while more is to be sent before it than the optical RAM holds.
    pub const RAM: Invariant = Invariant::new("ram", "optical RAM overflows");
    /// No frame of a train without its label before it, and none of another train among them.
    pub const SPLIT: Invariant = Invariant::new("split", "broken bursts");
    /// Packets that came in light to a switch and did not go on are just those that it has counted as dropped.
    pub const UNEXPLAINED: Invariant = Invariant::new("unexplained", "unaccounted losses");
    /// A switch changes of a label what it may: one hop less, one deflection less at most, and the wavelength where it converts.
    pub const LABEL: Invariant = Invariant::new("label", "invalid label rewrites");
    /// Never more trains waiting before an output of an edge, or of a class before it, than may.
    pub const INGRESS: Invariant = Invariant::new("ingress", "ingress limit violations");
}

/// Everything that such a network has beside the cards of its nodes.
pub(crate) struct Ops {
    /// Wavelengths for data.
    outputs: Vec<Output>,
    /// Before wavelengths for probes, in the order of the cards': their ports.
    probe_queues: Vec<(Device, Port)>,
    /// Where those end.
    entrances: Vec<Entrance>,
    /// Where wavelengths for probes end.
    probe_ends: Vec<FibreEnd>,
    /// By switch.
    switches: Vec<SwitchMeter>,
    watch: Watch,
    /// How often a train may be deflected.
    deflections: u8,
}

impl Ops {
    /// Whether a switch has deflected a train.
    fn is_deflected(&self, label: &slotwise_wire::Label) -> bool {
        label.deflections_left < self.deflections
    }
}

/// A switch's number.
fn switch_number(device: Device) -> Option<usize> {
    match device {
        Device::Switch(switch) => Some(usize::from(switch)),
        _ => None,
    }
}
