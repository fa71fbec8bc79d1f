// SPDX-License-Identifier: Apache-2.0
//! Stars in time slots: edges, cores, line cards and their light; guards, T_d, clocks, records of frames. Nothing outside of
//! this folder knows of slots.

mod build;
mod cards;
mod faults;
pub(crate) mod fibre;
mod first_light;
mod light;
mod numbering;
mod synchronization;
mod telemetry;
mod ticks;
mod view;
mod wellness;

use slotwise_scenario::Scenario;
use slotwise_wire::{PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD};

use crate::invariants::Invariant;
use crate::kinds::star::fibre::FibrePair;
use crate::net::kind::{End, Kind, NodeKind};
use crate::world::Fabric;
pub(crate) use cards::core_of;
pub use first_light::FirstLight;
pub(crate) use numbering::Numbers;
use slotwise_cards::slotted::Slots;
pub(crate) use telemetry::Telemetry;
pub use telemetry::{Delivered, FrameRecord, VoqRecord};
pub(crate) use wellness::Watch;

/// Stars.
pub(crate) static KIND: Kind = Kind {
    is_in: Scenario::has_star,
    build: |fabric, plan| fabric.add_star(plan.scenario, plan.frame_records),
    checks: &[
        Invariant::COLLISION,
        Invariant::GUARD,
        Invariant::UNGRANTED,
        Invariant::DUPLICATE,
    ],
    checks_inside: &[],
};

static EDGE: NodeKind = NodeKind {
    inner_ports: &[PORT_LINECARD, PORT_CORE_CONTROL, PORT_CPU],
    starts: Fabric::edge_starts,
    stops: Fabric::edge_stops,
    ..NodeKind::PLAIN
};

static CORE: NodeKind = NodeKind {
    inner_ports: &[PORT_LINECARD, PORT_CORE_CONTROL, PORT_CPU],
    has_cards: false,
    starts: Fabric::restart_card,
    stops: |fabric, device| {
        let core = device.number();
        let lost = fabric.core_losses(core).map_or(0, |losses| losses.p4);
        fabric.star.cores[usize::from(core)].p4_lost_before = lost;
    },
    overdue: Fabric::light_is_overdue,
};

/// The end of a fibre at its core: light passes it, and what counts is its head.
static AT_CORE: End = End {
    arrive: Fabric::light_at_core,
};

/// The end of a fibre at its edge: what counts is the tail.
static AT_EDGE: End = End {
    arrive: Fabric::light_at_edge,
};

impl Invariant {
    /// No two packets at once in one core output, nor in one input that edges share.
    pub const COLLISION: Invariant = Invariant::new("collision", "collisions");
    /// No packet in a guard or across a slot's end at a core.
    pub const GUARD: Invariant = Invariant::new("guard", "guard-time violations");
    /// No packet lost in a core, and none at an edge that it is not for.
    pub const UNGRANTED: Invariant = Invariant::new("ungranted", "transmissions outside a grant");
}

/// How a scenario cuts time.
fn slots_of(scenario: &Scenario) -> Slots {
    let frame = &scenario.frame;
    Slots {
        epoch: scenario.epoch(),
        count: u64::from(frame.slots),
        slot: frame.slot,
        guard: frame.guard,
        signaling: u64::from(scenario.signaling_slots()),
    }
}

/// All that a network has of stars.
pub(crate) struct Star {
    pub(crate) slots: Slots,
    pub(crate) edges: Vec<Edge>,
    pub(crate) cores: Vec<Core>,
    pub(crate) fibres: Vec<FibrePair>,
    pub(crate) numbers: Numbers,
    pub(crate) telemetry: Telemetry,
    pub(crate) first_light: FirstLight,
}

impl Star {
    /// Of a scenario; no edges and cores yet.
    pub(crate) fn of(scenario: &Scenario, frame_records: bool) -> Star {
        let telemetry = Telemetry::new(
            scenario.edges.len(),
            scenario.voq_count(),
            scenario.edges.iter().map(|edge| edge.fibres.len()).sum(),
            (scenario.epoch().ns(), scenario.frame.length().ns()),
            frame_records,
        );
        Star::new(slots_of(scenario), telemetry)
    }

    fn new(slots: Slots, telemetry: Telemetry) -> Star {
        Star {
            slots,
            edges: Vec::new(),
            cores: Vec::new(),
            fibres: Vec::new(),
            numbers: Numbers::default(),
            telemetry,
            first_light: FirstLight::default(),
        }
    }
}

pub(crate) struct Edge {
    /// Fibre pairs by core.
    pub(crate) fibres: Vec<Option<usize>>,
    /// Programs that it has been given so far. Each numbers its packets anew, so this names the latest one.
    pub(crate) programs: u32,
}

pub(crate) struct Core {
    pub(crate) master: u16,
    /// Fibre pairs that meet in each port.
    pub(crate) ports: Vec<Vec<usize>>,
    /// What P4 had counted as lost before it started anew.
    pub(crate) p4_lost_before: u64,
}

impl Core {
    pub(crate) fn new(scenario: &Scenario, core: &slotwise_scenario::Core) -> Core {
        let fibres = scenario.edges.iter().filter_map(|edge| edge.fibre_to(core.id));
        let ports = fibres.map(|fibre| usize::from(fibre.port) + 1).max().unwrap_or(0);
        Core {
            master: core.master,
            ports: vec![Vec::new(); ports],
            p4_lost_before: 0,
        }
    }
}
