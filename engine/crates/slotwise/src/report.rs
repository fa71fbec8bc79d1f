// SPDX-License-Identifier: Apache-2.0
//! What a run leaves behind: `report.json` (schema/report.schema.json) and a summary a person can read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::choices::{By, ControllerChange};
use crate::facts::HotPair;
use crate::faults::FaultReport;
use crate::lateness::{Beat, Lateness};
use crate::per_star::StarReport;
use crate::sessions::{self, DistanceSeries, SessionSeries};
use crate::shares::{self, PairShare};
use crate::stream::NetworkShape;
use crate::trains::{self, SwitchTrains};

/// Version of the report's format.
pub const REPORT_VERSION: u32 = 1;

/// A whole run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub version: u32,
    /// `emulate` or `simulate`.
    pub command: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed in force.
    pub seed: u64,
    /// Fabric time that the run covered.
    pub duration_ns: u64,
    /// What network it was.
    pub network: NetworkShape,
    /// Slots a frame, slot and guard length, of a star.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameShape>,
    /// What ran.
    pub versions: Versions,
    /// The scheduler that the controller began with, with all its settings; `null` if the controller was somebody else's.
    pub scheduler: Option<Value>,
    /// What the controller was told to do otherwise, in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ControllerChange>,
    /// Whether everything that had to hold did.
    pub verdict: Verdict,
    /// Violations by check; all zero in a good run.
    pub invariants: Invariants,
    /// How late the fabric's events were against the wall clock (`emulate` only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// By what that is counted, in the summary.
    #[serde(skip)]
    pub beat: Beat,
    /// How well the slots of edges with clocks of their own met the core's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub synchronization: Vec<Synchronization>,
    /// Each star, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stars: Vec<StarReport>,
    /// How long new demand waited for light, in a star.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_light: Option<FirstLight>,
    /// How the switches answered, where they are processes outside the fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_answers: Option<SwitchAnswers>,
    /// Each phase with what its flows reached.
    pub phases: Vec<PhaseReport>,
    /// Each pair of stations of a ring between which flows go, where it is known what it should get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<PairShare>,
    /// How fast the schedule followed each edge pair that asked for most of the capacity.
    pub hot_pairs: Vec<HotPair>,
    /// The controller's statistics resource, as it answered at the end.
    pub controller: Value,
    /// Times the controller ended by itself and was started again.
    pub controller_restarts: u32,
    /// Faults on purpose, if there were any.
    #[serde(skip_serializing_if = "FaultReport::is_empty")]
    pub faults: FaultReport,
    /// Packets dropped, by place and reason.
    pub drops: Vec<DropCount>,
    /// Per frame and edge pair, or per period and link.
    pub series: Series,
}

/// From the first packet into a VOQ that had been empty for a frame until its first bit is at the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstLight {
    /// Number of times that new demand got light.
    pub count: u64,
    /// Number of times that it got none: it was lost, or still waits. These are in no quantile.
    pub unserved: u64,
    /// Median of the wait.
    pub p50_ns: u64,
    /// Its 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl FirstLight {
    /// The line of a summary; empty if no demand was new.
    fn summary(&self, frame_ns: u64) -> String {
        let frames = |ns: u64| ns as f64 / frame_ns as f64;
        let mut said = Vec::new();
        if self.count > 0 {
            said.push(format!(
                "p50 {:.2}, p99 {:.2}, max {:.2} frames after the first packet, {} times that an empty queue filled",
                frames(self.p50_ns),
                frames(self.p99_ns),
                frames(self.max_ns),
                self.count
            ));
        }
        if self.unserved > 0 {
            said.push(format!("{} times unserved", self.unserved));
        }
        match said.is_empty() {
            true => String::new(),
            false => format!("  first light  {}\n", said.join("; ")),
        }
    }
}

/// One edge's slots against the core's, as its light reaches the core; errors are expected less actual time.
#[derive(Debug, Clone, Serialize)]
pub struct Synchronization {
    /// The edge.
    pub edge: u16,
    /// The core whose star it is about.
    pub core: u16,
    /// Slots that it started, from when it joined.
    pub slots: u64,
    /// Earliest.
    pub max_ns: i64,
    /// Latest.
    pub min_ns: i64,
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
    pub slot_ns: u64,
    /// Guard at the start of a slot.
    pub guard_ns: u64,
}

/// What ran.
#[derive(Debug, Clone, Serialize)]
pub struct Versions {
    /// Of this program.
    pub engine: &'static str,
    /// Digests of the P4 programs by name; none if somebody else's controller loads them.
    pub programs: BTreeMap<&'static str, String>,
}

/// Pass or fail, with reasons.
#[derive(Debug, Default, Serialize)]
pub struct Verdict {
    /// True if `failures` is empty.
    pub ok: bool,
    /// One sentence each.
    pub failures: Vec<String>,
    /// What a person should know although it is no failure.
    pub notes: Vec<String>,
}

/// Violations counted by the fabric.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Invariants {
    /// How often, by the name of the check; those of this kind of network.
    #[serde(flatten)]
    pub counts: BTreeMap<&'static str, u64>,
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
        (total > 0).then(|| format!("{total} invariant violations; the first: {}", self.first.join("; ")))
    }

    /// Sum over the checks.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// How long switches outside the fabric had light: from its arrival in fabric time to its leaving.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchAnswers {
    /// Packets of light that left a switch.
    pub light: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Packets that a switch was too slow to take.
    pub not_taken: u64,
}

/// One phase.
#[derive(Debug, Serialize)]
pub struct PhaseReport {
    /// Its name in the scenario.
    pub name: String,
    /// Start in fabric time.
    pub start_ns: u64,
    /// End in fabric time.
    pub end_ns: u64,
    /// Flows as their ends measured them.
    pub flows: Vec<Value>,
    /// Files moved, with their digests.
    pub files: Vec<Value>,
    /// How many flows hosts of Linux played whose results are lost, as the run ended before they did.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_flows: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A drop counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropCount {
    /// Node.
    pub place: String,
    /// Reason.
    pub reason: String,
    /// Packets.
    pub packets: u64,
}

/// Columns by frame (of pairs), or by period (of links); every vector has one value a frame or period.
#[derive(Debug, Default, Serialize)]
pub struct Series {
    /// Start of each frame in milliseconds of fabric time.
    pub frame_ms: Vec<f64>,
    /// Ordered edge pairs.
    pub pairs: Vec<PairSeries>,
    /// End of each period in milliseconds of fabric time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time_ms: Vec<f64>,
    /// Links between routers or of a ring, one direction each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSeries>,
    /// Optical packet switches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trains: Vec<SwitchTrains>,
    /// Sessions of GTP over routers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionSeries>,
    /// How far all of these were from max-min rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<DistanceSeries>,
    /// What else was measured by period: flows over the whole run, optical packet switches, sessions of GTP.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableSeries>,
    /// What was seen of the whole while the run went on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
}

/// Things of one sort and what they did in each period.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct TableSeries {
    /// `flows`, `switches` or `gtp`.
    pub table: &'static str,
    /// Names of the things.
    pub names: Vec<String>,
    /// By the column's name, then by thing: one value a period, as in `slotwise simulate --columns`.
    pub columns: BTreeMap<&'static str, Vec<Vec<f64>>>,
}

/// The whole at one time, as it was known then.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Fabric time in milliseconds.
    pub time_ms: f64,
    /// Violated invariants so far.
    pub violations: u64,
    /// 99th percentile of the slots' lateness so far, if there is a wall clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    /// How long new demand has waited for light so far, in a star.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_light: Option<FirstLight>,
}

/// One direction of a link between routers or of a ring. What only rings have is empty elsewhere.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct LinkSeries {
    /// Its name.
    pub name: String,
    /// Rate of a ring's link, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// Bits sent, by what its rates of the period let through.
    pub utilization: Vec<f64>,
    /// IP bytes waiting at the end of the period.
    pub queue_bytes: Vec<u64>,
    /// Packets that found the buffer full, came while the link was dark, or waited when link or router failed.
    pub dropped_packets: Vec<u64>,
    /// What the ring's station put on it, bit/s.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added_bps: Vec<u64>,
    /// Lowest rate that this station may add itself at the end of the period, by weight, bit/s; at most the link's rate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limit_bps: Vec<u64>,
    /// Stations that share it while it is congested, else 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub active_stations: Vec<u64>,
    /// Of a wavelength of an optical packet switch, the most that was to be sent yet when a train came, bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ram_bytes: Vec<u64>,
}

/// One ordered edge pair.
#[derive(Debug, Default, Clone, Serialize)]
pub struct PairSeries {
    /// Source edge.
    pub from: u16,
    /// Destination edge.
    pub to: u16,
    /// Backlog of the VOQ when it was last reported in the frame.
    pub demand_bytes: Vec<u64>,
    /// Slots for which the gate was opened.
    pub granted_slots: Vec<u32>,
    /// Bytes of hosts' packets that reached the far edge.
    pub delivered_bytes: Vec<u64>,
}

impl Report {
    /// The summary.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let seconds = self.duration_ns as f64 / 1e9;
        let _ = writeln!(
            text,
            "{} {}: {:.1} s of fabric time, seed {}",
            self.command, self.scenario, seconds, self.seed
        );
        let counted = |(name, label): &(&str, &str)| {
            let count = self.invariants.counts.get(name)?;
            Some(format!("{label} {count}"))
        };
        let counts: Vec<String> = self.invariants.called.iter().filter_map(counted).collect();
        let _ = writeln!(text, "  invariants   {}", counts.join(", "));
        if let Some(lateness) = &self.lateness {
            text += &lateness.summary(self.beat);
        }
        if let (Some(light), Some(frame)) = (&self.first_light, &self.frame) {
            text += &light.summary(u64::from(frame.slots) * frame.slot_ns);
        }
        let worst = |it: &Synchronization| it.max_ns.max(-it.min_ns);
        if let Some(clock) = self.synchronization.iter().max_by_key(|it| worst(it)) {
            let core = match self.stars.len() {
                0 => String::new(),
                _ => format!(" to core {}", clock.core),
            };
            let _ = writeln!(
                text,
                "  clocks       slots off the core's by {} ns at most, at edge {}{core} (mean {:.1} ns over {} slots)",
                worst(clock),
                clock.edge,
                clock.mean_ns,
                clock.slots
            );
        }
        if let Some(s) = &self.switch_answers {
            let _ = writeln!(
                text,
                "  switches     answered light in p50 {:.0} us, p99 {:.0} us, max {:.0} us; {} packets not taken",
                s.p50_ns as f64 / 1e3,
                s.p99_ns as f64 / 1e3,
                s.max_ns as f64 / 1e3,
                s.not_taken
            );
        }
        for star in &self.stars {
            let _ = writeln!(
                text,
                "  star         core {}, master edge {}: {:.1} Mb/s delivered, {} slots granted, {} packets lost in the core",
                star.core,
                star.master,
                star.delivered_bytes as f64 * 8e3 / self.duration_ns.max(1) as f64,
                star.granted_slots,
                star.lost_packets
            );
        }
        let has_star = self.frame.is_some();
        for phase in &self.phases {
            let length_ns = phase.end_ns.saturating_sub(phase.start_ns).max(1);
            // Of routers alone there is one phase, the run.
            let flows: Vec<&Value> = phase
                .flows
                .iter()
                .filter(|flow| !(has_star && is_of_run(flow)))
                .collect();
            let (delivered, between) = match has_star {
                true => (self.delivered_bytes(phase.start_ns, phase.end_ns), "between edges"),
                false => (bytes_of(&flows), "to hosts"),
            };
            if flows.is_empty() && !has_star {
                // What hosts send of their own nobody here has counted.
                let length_s = length_ns as f64 / 1e9;
                let said = lost(phase.lost_flows).unwrap_or_else(|| "no flows of the scenario".into());
                let _ = writeln!(text, "  phase        {:<10} {length_s:>5.1} s  {said}", phase.name);
                continue;
            }
            let _ = writeln!(
                text,
                "  phase        {:<10} {:>5.1} s  {:>7.1} Mb/s delivered {between}, {} flows{}{}",
                phase.name,
                length_ns as f64 / 1e9,
                delivered as f64 * 8e3 / length_ns as f64,
                flows.len(),
                silence(&flows),
                lost(phase.lost_flows).map_or_else(String::new, |said| format!("; {said}"))
            );
            for file in &phase.files {
                let _ = writeln!(
                    text,
                    "  file         {} bytes {} -> {} in {:.1} s, SHA-256 {}",
                    file["bytes"],
                    file["from"].as_str().unwrap_or("?"),
                    file["to"].as_str().unwrap_or("?"),
                    file["seconds"].as_f64().unwrap_or(f64::NAN),
                    if file["intact"] == true {
                        "equal at both ends"
                    } else {
                        "DIFFERS"
                    }
                );
            }
        }
        let of_run = self.phases.iter().flat_map(|phase| &phase.flows);
        let of_run: Vec<&Value> = of_run.filter(|flow| has_star && is_of_run(flow)).collect();
        if !of_run.is_empty() {
            let _ = writeln!(
                text,
                "  whole run    {seconds:>16.1} s  {:>7.1} Mb/s delivered to hosts, {} flows{}",
                bytes_of(&of_run) as f64 * 8e3 / self.duration_ns.max(1) as f64,
                of_run.len(),
                silence(&of_run)
            );
        }
        text += &shares::summary(&self.shares);
        text += &trains::summary(&self.series.trains);
        text += &sessions::summary(&self.series.sessions, self.series.distance.as_ref());
        for pair in &self.hot_pairs {
            let _ = writeln!(text, "  hot pair     {pair}");
        }
        let scheduling = &self.controller["scheduling_ns"];
        if let Some(p99) = scheduling["p99"].as_f64() {
            let _ = writeln!(
                text,
                "  scheduling   p50 {:.0} us, p99 {:.0} us, max {:.0} us a frame",
                scheduling["p50"].as_f64().unwrap_or(f64::NAN) / 1e3,
                p99 / 1e3,
                scheduling["max"].as_f64().unwrap_or(f64::NAN) / 1e3
            );
        }
        if let Some(scheduler) = &self.scheduler {
            let _ = writeln!(text, "  scheduler    {}", scheduler_text(scheduler));
        }
        let start_ns = self.phases.first().map_or(0, |phase| phase.start_ns);
        for change in &self.changes {
            let at_s = change.at_ns.saturating_sub(start_ns) as f64 / 1e9;
            let by = match change.by {
                By::Scenario => "the scenario",
                By::Rest => "REST",
            };
            let what = change.what.text();
            let _ = writeln!(text, "  from {at_s:>5.1} s {what} (by {by})");
        }
        for kind in &self.faults.kinds {
            let ms = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| format!("{:.2}", ns as f64 / 1e6));
            let _ = writeln!(
                text,
                "  {:<20} {} times, {} messages; recovered in p50 {} ms, p99 {} ms, max {} ms; {} never",
                kind.kind,
                kind.injected,
                kind.messages,
                ms(kind.p50_ns),
                ms(kind.p99_ns),
                ms(kind.max_ns),
                kind.not_recovered
            );
            if let Some(fairness) = &kind.fairness {
                let _ = writeln!(
                    text,
                    "  {:<20} then {} times within {:.1} % of RIAS (p50), {:.1} % (max), Jain's index {:.4} or more",
                    "",
                    fairness.measured,
                    fairness.p50_distance * 100.0,
                    fairness.max_distance * 100.0,
                    fairness.min_jain.unwrap_or(0.0)
                );
            }
        }
        for kind in &self.faults.absent {
            let _ = writeln!(text, "  {kind:<20} 0 times: none happened in this run");
        }
        text += &listed("note", &self.verdict.notes);
        text += &listed("FAILED", &self.verdict.failures);
        let _ = writeln!(text, "  verdict      {}", if self.verdict.ok { "ok" } else { "failed" });
        text
    }

    fn delivered_bytes(&self, start_ns: u64, end_ns: u64) -> u64 {
        let (start_ms, end_ms) = (start_ns as f64 / 1e6, end_ns as f64 / 1e6);
        let frames = self
            .series
            .frame_ms
            .iter()
            .enumerate()
            .filter(|(_, ms)| (start_ms..end_ms).contains(*ms));
        frames
            .map(|(k, _)| {
                self.series
                    .pairs
                    .iter()
                    .map(|pair| pair.delivered_bytes.get(k).copied().unwrap_or(0))
                    .sum::<u64>()
            })
            .sum()
    }
}

/// More notes, or failures, than this are counted in the summary.
const MOST_SHOWN: usize = 20;

/// A line for each of the first ones, and their number if there are more.
fn listed(kind: &str, said: &[String]) -> String {
    let mut text = String::new();
    for line in said.iter().take(MOST_SHOWN) {
        let _ = writeln!(text, "  {kind:<12} {line}");
    }
    if said.len() > MOST_SHOWN {
        let _ = writeln!(
            text,
            "  {kind:<12} and {} more, which the report has",
            said.len() - MOST_SHOWN
        );
    }
    text
}

/// Whether a flow lasts as long as the run: it is in the report with the last phase, and none of that phase's traffic. Such flows have names.
pub fn is_of_run(flow: &Value) -> bool {
    flow["name"].is_string()
}

fn bytes_of(flows: &[&Value]) -> u64 {
    flows.iter().filter_map(|flow| flow["bytes"].as_u64()).sum()
}

/// How many flows got nothing, if any did; a source may have sent nothing.
fn silence(flows: &[&Value]) -> String {
    match flows.iter().filter(|flow| flow["bytes"] == 0).count() {
        0 => String::new(),
        count => format!(", {count} of them got nothing"),
    }
}

/// What is said of flows whose results are lost, if there are any.
fn lost(flows: usize) -> Option<String> {
    let flows = match flows {
        0 => return None,
        1 => "a flow".to_owned(),
        count => format!("{count} flows"),
    };
    Some(format!(
        "the results of {flows} of Linux are lost, as the run ended early"
    ))
}

/// A master that was shut down or taken back.
pub fn shutdown_text(shutdown: &Value) -> String {
    let done = if shutdown["down"] == true {
        "shut down"
    } else {
        "taken back"
    };
    format!("master of core {} {done}", shutdown["core"])
}

/// A scheduler with its settings, e.g. `islip, iterations 4`.
pub fn scheduler_text(scheduler: &Value) -> String {
    let settings = scheduler["settings"].as_object().into_iter().flatten();
    let settings = settings.map(|(name, value)| match value.as_str() {
        Some("") => format!("no {name}"),
        Some(text) => format!("{name} {text}"),
        None => format!("{name} {value}"),
    });
    let name = scheduler["name"].as_str().unwrap_or("?").to_owned();
    std::iter::once(name).chain(settings).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FirstLight, MOST_SHOWN, listed, lost, silence};

    #[test]
    fn a_flood_of_failures_is_counted() {
        let failures = |count: usize| (0..count).map(|number| format!("failure {number}")).collect::<Vec<_>>();
        assert_eq!(listed("FAILED", &failures(1)), "  FAILED       failure 0\n");
        assert_eq!(listed("note", &failures(MOST_SHOWN)).lines().count(), MOST_SHOWN);
        let flood = listed("note", &failures(5000));
        assert_eq!(flood.lines().count(), MOST_SHOWN + 1);
        assert!(flood.ends_with("\n  note         and 4980 more, which the report has\n"));
    }

    #[test]
    fn demand_without_light_is_in_the_summary_beside_the_quantiles() {
        let mut light = FirstLight {
            count: 0,
            unserved: 0,
            p50_ns: 1_000_000,
            p99_ns: 2_000_000,
            max_ns: 4_000_000,
        };
        assert_eq!(light.summary(4_000_000), "");
        light.unserved = 3;
        assert_eq!(light.summary(4_000_000), "  first light  3 times unserved\n");
        light.count = 7;
        assert_eq!(
            light.summary(4_000_000),
            "  first light  p50 0.25, p99 0.50, max 1.00 frames after the first packet, 7 times that an empty queue filled; 3 times unserved\n"
        );
    }

    #[test]
    fn results_that_an_early_end_lost_are_counted() {
        assert_eq!(lost(0), None);
        assert_eq!(
            lost(5).unwrap(),
            "the results of 5 flows of Linux are lost, as the run ended early"
        );
    }

    #[test]
    fn flows_that_got_nothing_are_counted() {
        assert_eq!(silence(&[&json!({"bytes": 1})]), "");
        let flows = [json!({"bytes": 0}), json!({"bytes": 5}), json!({"bytes": 0})];
        assert_eq!(silence(&flows.iter().collect::<Vec<_>>()), ", 2 of them got nothing");
    }
}
