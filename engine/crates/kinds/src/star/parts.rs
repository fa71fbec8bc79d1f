// SPDX-License-Identifier: Apache-2.0
//! State of stars.

use slotwise_cards::slotted::Slots;
use slotwise_scenario::Scenario;

use super::fibre::FibrePair;
use super::grant_latency::GrantLatency;
use super::numbering::Numbers;
use super::telemetry::Telemetry;
use super::wellness::Watch;

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
pub struct Star {
    pub(super) slots: Slots,
    pub(super) edges: Vec<Edge>,
    pub(super) cores: Vec<Core>,
    pub(super) fibres: Vec<FibrePair>,
    pub(super) numbers: Numbers,
    pub(super) telemetry: Telemetry,
    pub(super) grant_latency: GrantLatency,
    /// Ended faults from which the stars have not recovered yet.
    pub(super) watches: Vec<Watch>,
    /// When each edge's last request left for the controller.
    pub(super) requests_ns: Vec<Option<u64>>,
}

impl Star {
    /// Of a scenario; no edges and cores yet.
    pub(super) fn of(scenario: &Scenario, frame_records: bool) -> Star {
        let telemetry = Telemetry::new(
            scenario.edges.len(),
            scenario.voq_count(),
            scenario.edges.iter().map(|edge| edge.fibres.len()).sum(),
            (scenario.epoch(), scenario.frame.length()),
            frame_records,
        );
        Star {
            requests_ns: vec![None; scenario.edges.len()],
            ..Star::new(slots_of(scenario), telemetry)
        }
    }

    fn new(slots: Slots, telemetry: Telemetry) -> Star {
        Star {
            slots,
            edges: Vec::new(),
            cores: Vec::new(),
            fibres: Vec::new(),
            numbers: Numbers::default(),
            telemetry,
            grant_latency: GrantLatency::default(),
            watches: Vec::new(),
            requests_ns: Vec::new(),
        }
    }
}

pub(super) struct Edge {
    /// Fibre pairs by core.
    pub(super) fibres: Vec<Option<usize>>,
    /// Programs that it has been given so far. Each numbers its packets anew, so this names the latest one.
    pub(super) programs: u32,
}

pub(super) struct Core {
    pub(super) master: u16,
    /// Fibre pairs that meet in each port.
    pub(super) ports: Vec<Vec<usize>>,
    /// What P4 had counted as lost before it started anew.
    pub(super) p4_lost_before: u64,
}

impl Core {
    pub(super) fn new(scenario: &Scenario, core: &slotwise_scenario::Core) -> Core {
        let fibres = scenario.edges.iter().filter_map(|edge| edge.fibre_to(core.id));
        let ports = fibres.map(|fibre| usize::from(fibre.port) + 1).max().unwrap_or(0);
        Core {
            master: core.master,
            ports: vec![Vec::new(); ports],
            p4_lost_before: 0,
        }
    }
}
