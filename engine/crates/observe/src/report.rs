// SPDX-License-Identifier: Apache-2.0
//! Results of a run: `report.json` (schema/report.schema.json).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slotwise_units::{Bytes, Duration, Instant, Rate, SignedDuration};

use crate::bursts::SwitchBursts;
use crate::changes::ControllerChange;
use crate::compared::About;
use crate::facts::HotPair;
use crate::faults::FaultReport;
use crate::flow::FlowReport;
use crate::lateness::{Beat, Lateness};
use crate::per_star::StarReport;
use crate::sessions::{DistanceSeries, SessionSeries};
use crate::shares::PairShare;
use crate::stream::NetworkShape;
use crate::workloads::WorkloadReport;

/// Version of the report's format.
pub const REPORT_VERSION: u32 = 1;

/// A whole run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`REPORT_VERSION`].
    #[serde(deserialize_with = "crate::read::version")]
    pub version: u32,
    /// `emulate` or `simulate`.
    pub command: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed in force.
    pub seed: u64,
    /// Fabric time that the run covered.
    pub duration_ns: Duration,
    /// What network it was.
    pub network: NetworkShape,
    /// Slots a frame, slot and guard length, of a star.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameShape>,
    /// What ran.
    pub versions: Versions,
    /// The scheduler that the controller began with, with all its settings; `null` if the controller was somebody else's.
    pub scheduler: Option<Value>,
    /// What the controller was told to do otherwise, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ControllerChange>,
    /// Whether everything that had to hold did.
    pub verdict: Verdict,
    /// Violations by check; all zero in a good run.
    pub invariants: Invariants,
    /// How late the fabric's events were against the wall clock (`emulate` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// By what that is counted, in the summary.
    #[serde(skip)]
    pub beat: Beat,
    /// How well the slots of edges with clocks of their own met the core's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synchronization: Vec<Synchronization>,
    /// Each star, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stars: Vec<StarReport>,
    /// How long new demand waited for light, in a star.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_latency: Option<GrantLatency>,
    /// How the switches answered, where they are processes outside the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_answers: Option<SwitchAnswers>,
    /// Each phase with what its flows reached.
    pub phases: Vec<PhaseReport>,
    /// Each pair of stations of a ring between which flows go, where it is known what it should get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<PairShare>,
    /// How fast the schedule followed each edge pair that asked for most of the capacity.
    pub hotspot_pairs: Vec<HotPair>,
    /// Statistics resource of the controller process at the end, or as it was last known.
    pub controller: Value,
    /// Path changes of controller processes before it, for the summary.
    #[serde(skip)]
    pub earlier_reroutes: u64,
    /// Times the controller ended by itself and was started again.
    pub controller_restarts: u32,
    /// Completions of the flows of each workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadReport>,
    /// Faults on purpose, if there were any.
    #[serde(default, skip_serializing_if = "FaultReport::is_empty")]
    pub faults: FaultReport,
    /// Packets dropped, by place and reason.
    pub drops: Vec<DropCount>,
    /// Per frame and edge pair, or per period and link.
    pub series: Series,
    /// Facts of the scenario for the summary.
    #[serde(skip)]
    pub about: About,
}

/// From the first packet into a VOQ that had been empty for a frame until its first bit is at the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantLatency {
    /// Number of times that new demand got light.
    pub count: u64,
    /// Number of times that it got none: it was lost, or still waits. These are in no quantile.
    pub unserved: u64,
    /// Median of the wait.
    pub p50_ns: Duration,
    /// Its 99th percentile.
    pub p99_ns: Duration,
    /// The longest.
    pub max_ns: Duration,
}

/// One edge's slots against the core's, as its light reaches the core; errors are expected less actual time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Synchronization {
    /// The edge.
    pub edge: u16,
    /// The core whose star it is about.
    pub core: u16,
    /// Slots that it started, from when it joined.
    pub slots: u64,
    /// Earliest.
    pub max_ns: SignedDuration,
    /// Latest.
    pub min_ns: SignedDuration,
    /// Mean.
    pub mean_ns: f64,
}

/// The frame in force.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FrameShape {
    /// Slots a frame.
    pub slots: u32,
    /// Of these, slots for signaling.
    pub signaling_slots: u32,
    /// Slot length.
    pub slot_ns: Duration,
    /// Guard at the start of a slot.
    pub guard_ns: Duration,
}

/// What ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Versions {
    /// Of this program.
    pub engine: String,
    /// Digests of the P4 programs by name; none if somebody else's controller loads them.
    pub programs: BTreeMap<String, String>,
}

/// Pass or fail, with reasons.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// True if `failures` is empty.
    pub ok: bool,
    /// One sentence each.
    pub failures: Vec<String>,
    /// What a person should know although it is no failure.
    pub notes: Vec<String>,
}

/// Violations counted by the fabric.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invariants {
    /// How often, by the name of the check; those of this kind of network.
    #[serde(flatten)]
    pub counts: BTreeMap<String, u64>,
    /// The checks in the summary's order: their names, and what packets that break them are called.
    #[serde(skip)]
    pub called: Vec<(&'static str, &'static str)>,
    /// The first violations: when, where, what.
    pub first: Vec<String>,
}

impl Invariants {
    /// What is wrong if there are any.
    pub fn failure(&self) -> Option<String> {
        let total = self.total();
        (total > 0).then(|| format!("{total} invariant violations, first: {}", self.first.join("; ")))
    }

    /// Sum over the checks.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// How long switches outside the fabric had light: from its arrival in fabric time to its leaving.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SwitchAnswers {
    /// Packets of light that left a switch.
    pub light: u64,
    /// Median.
    pub p50_ns: Duration,
    /// 99th percentile.
    pub p99_ns: Duration,
    /// Largest.
    pub max_ns: Duration,
    /// Packets that a switch was too slow to take.
    pub not_taken: u64,
}

/// One phase.
#[derive(Debug, Serialize, Deserialize)]
pub struct PhaseReport {
    /// Its name in the scenario.
    pub name: String,
    /// Start in fabric time.
    pub start_ns: Instant,
    /// End in fabric time.
    pub end_ns: Instant,
    /// Flows as their ends measured them.
    pub flows: Vec<FlowReport>,
    /// Files moved, with their digests.
    pub files: Vec<Value>,
    /// How many flows hosts of Linux played whose results are lost, as the run ended before they did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_flows: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A drop counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropCount {
    /// Node.
    pub location: String,
    /// Reason.
    pub reason: String,
    /// Packets.
    pub packets: u64,
}

/// Columns by frame (of pairs), or by period (of links); every vector has one value a frame or period.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Start of each frame in milliseconds of fabric time.
    pub frame_ms: Vec<f64>,
    /// Ordered edge pairs.
    pub pairs: Vec<PairSeries>,
    /// End of each period in milliseconds of fabric time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_ms: Vec<f64>,
    /// Links between routers or of a ring, one direction each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSeries>,
    /// Optical packet switches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bursts: Vec<SwitchBursts>,
    /// Sessions of GTP over routers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionSeries>,
    /// How far all of these were from max-min rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<DistanceSeries>,
    /// What else was measured by period: flows over the whole run, optical packet switches, sessions of GTP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableSeries>,
    /// What was seen of the whole while the run went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Moment>,
}

/// Things of one sort and what they did in each period.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableSeries {
    /// `flows`, `switches` or `gtp`.
    pub table: String,
    /// Names of the things.
    pub names: Vec<String>,
    /// By the column's name, then by thing: one value a period, as in `slotwise simulate --columns`.
    pub columns: BTreeMap<String, Vec<Vec<f64>>>,
}

/// The whole at one time, as it was known then.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Fabric time in milliseconds.
    pub time_ms: f64,
    /// Violated invariants so far.
    pub violations: u64,
    /// 99th percentile of the slots' lateness so far, if there is a wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<Duration>,
    /// How long new demand has waited for light so far, in a star.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_latency: Option<GrantLatency>,
}

/// Link between routers, of a ring, or of optical packet switches, per direction.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// Its name.
    pub name: String,
    /// Rate of a ring's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<Rate>,
    /// Shown columns of the table, by name.
    #[serde(flatten)]
    pub columns: BTreeMap<String, Numbers>,
}

/// Numbers of a column, one per period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a list of numbers")]
pub enum Numbers {
    /// Integers.
    Whole(Vec<u64>),
    /// Others.
    Real(Vec<f64>),
}

impl Numbers {
    /// Returns their count.
    pub fn len(&self) -> usize {
        match self {
            Numbers::Whole(numbers) => numbers.len(),
            Numbers::Real(numbers) => numbers.len(),
        }
    }

    /// Returns true without numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all of them.
    pub fn iter(&self) -> impl Iterator<Item = f64> {
        let (whole, real) = match self {
            Numbers::Whole(numbers) => (numbers.as_slice(), &[][..]),
            Numbers::Real(numbers) => (&[][..], numbers.as_slice()),
        };
        whole.iter().map(|number| *number as f64).chain(real.iter().copied())
    }

    /// Returns one of them.
    pub fn get(&self, index: usize) -> Option<f64> {
        match self {
            Numbers::Whole(numbers) => numbers.get(index).map(|number| *number as f64),
            Numbers::Real(numbers) => numbers.get(index).copied(),
        }
    }
}

/// One ordered edge pair.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct PairSeries {
    /// Source edge.
    pub from: u16,
    /// Destination edge.
    pub to: u16,
    /// Backlog of the VOQ when it was last reported in the frame.
    pub demand_bytes: Vec<Bytes>,
    /// Slots for which the gate was opened.
    pub granted_slots: Vec<u32>,
    /// Bytes of hosts' packets that reached the far edge.
    pub delivered_bytes: Vec<Bytes>,
}

/// A master that was shut down or taken back.
pub fn shutdown_text(shutdown: &Value) -> String {
    let done = if shutdown["shut_down"] == true {
        "disabled"
    } else {
        "enabled"
    };
    format!("master of core {} {done}", shutdown["core"])
}

/// Returns a scheduler with its settings, e.g. `islip (iterations 4)`.
pub fn scheduler_text(scheduler: &Value) -> String {
    let settings = scheduler["settings"].as_object().into_iter().flatten();
    let settings = settings.map(|(name, value)| match value.as_str() {
        Some("") => format!("no {name}"),
        Some(text) => format!("{name} {text}"),
        None => format!("{name} {value}"),
    });
    let name = scheduler["name"].as_str().unwrap_or("?").to_owned();
    match settings.collect::<Vec<_>>().join(", ") {
        settings if settings.is_empty() => name,
        settings => format!("{name} ({settings})"),
    }
}
