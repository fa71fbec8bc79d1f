// SPDX-License-Identifier: Apache-2.0
//! Stars in time slots: edges, cores, line cards and their light; guards, T_d, clocks, records of frames. Nothing outside of
//! this folder knows of slots.

mod build;
mod cards;
mod clock;
mod faults;
mod first_light;
mod light;
mod numbering;
mod synchronization;
mod telemetry;
mod ticks;
mod trains;
mod view;
mod wellness;

use slotwise_scenario::{Scenario, Signaling};
use slotwise_units::{Duration, Instant};
use slotwise_wire::{PORT_CORE_CONTROL, PORT_CPU, PORT_LINECARD};

use crate::drops::Place;
use crate::fabric::Fabric;
use crate::invariants::Invariant;
use crate::kind::{End, Kind, NodeKind};
use crate::link::FibrePair;
pub(crate) use cards::core_of;
pub(crate) use clock::Clock;
pub use first_light::FirstLight;
pub(crate) use numbering::Numbers;
use slotwise_cards::gates::Gates;
use slotwise_cards::slotted;
use slotwise_cards::time_difference::TimeDifference;
pub use synchronization::SyncError;
pub(crate) use telemetry::Telemetry;
pub use telemetry::{Delivered, FrameRecord, VoqRecord};
use trains::StarTrains;
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

/// How time is cut.
pub(crate) struct Slots {
    pub(crate) epoch_ns: u64,
    /// Of a frame.
    pub(crate) count: u64,
    pub(crate) slot_ns: u64,
    pub(crate) guard_ns: u64,
    /// First slots of a frame, which carry nothing but signaling.
    pub(crate) signaling: u64,
    /// Whether line cards raise alarms: edges that join by invitation report them, and out of band nothing else tells of light.
    pub(crate) has_alarms: bool,
}

impl Slots {
    pub(crate) fn of(scenario: &Scenario) -> Slots {
        let frame = &scenario.frame;
        Slots {
            epoch_ns: scenario.epoch().ns(),
            count: u64::from(frame.slots),
            slot_ns: frame.slot.ns(),
            guard_ns: frame.guard.ns(),
            signaling: u64::from(scenario.signaling_slots()),
            has_alarms: scenario.joins_by_invitation() || frame.signaling == Signaling::OutOfBand,
        }
    }

    pub(crate) fn frame_ns(&self) -> u64 {
        self.count * self.slot_ns
    }

    /// The same for cards.
    fn at_cores(&self) -> slotted::Slots {
        slotted::Slots {
            epoch: Instant::from_ns(self.epoch_ns),
            count: self.count,
            slot: Duration::from_ns(self.slot_ns),
            guard: Duration::from_ns(self.guard_ns),
            signaling: self.signaling,
        }
    }
}

/// All that a network has of stars.
pub(crate) struct Star {
    pub(crate) slots: Slots,
    pub(crate) edges: Vec<Edge>,
    pub(crate) cores: Vec<Core>,
    /// By fibre.
    pub(crate) cards: Vec<Card>,
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
        Star::new(Slots::of(scenario), telemetry)
    }

    fn new(slots: Slots, telemetry: Telemetry) -> Star {
        Star {
            slots,
            edges: Vec::new(),
            cores: Vec::new(),
            cards: Vec::new(),
            fibres: Vec::new(),
            numbers: Numbers::default(),
            telemetry,
            first_light: FirstLight::default(),
        }
    }
}

pub(crate) struct Edge {
    /// Line cards (and fibre pairs) by core.
    pub(crate) cards: Vec<Option<usize>>,
    /// Programs that it has been given so far. Each numbers its packets anew, so this names the latest one.
    pub(crate) programs: u32,
}

pub(crate) struct Core {
    pub(crate) master: u16,
    /// Fibre pairs that meet in each port.
    pub(crate) ports: Vec<Vec<usize>>,
    /// Lane of the control link to the core.
    pub(crate) control: usize,
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
            control: 0,
            p4_lost_before: 0,
        }
    }
}

/// A line card in its place; it serves the fibre pair of the same index.
pub(crate) struct Card {
    pub(crate) edge: u16,
    pub(crate) core: u16,
    pub(crate) gates: Gates,
    /// Where edges make trains.
    pub(crate) trains: Option<StarTrains>,
    pub(crate) clock: Clock,
    /// T_d: how much earlier than at the core its slots start. Without one the card has no slots.
    pub(crate) time_difference: Option<TimeDifference>,
    pub(crate) sync_error: SyncError,
    /// Since [`Fabric::take_sync_errors`] was called.
    pub(crate) recent_sync_error: SyncError,
    /// When P4 wants a tick to answer an invitation.
    pub(crate) answer_ns: Option<u64>,
    /// Its clock has jumped or is new: no T_d is right before an invitation was answered by it.
    pub(crate) must_answer: bool,
    pub(crate) next_slot: u64,
    pub(crate) generation: u32,
}

impl Card {
    pub(crate) fn place(&self) -> Place {
        Place::LineCard {
            edge: self.edge,
            core: self.core,
        }
    }
}
