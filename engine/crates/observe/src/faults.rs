// SPDX-License-Identifier: Apache-2.0
//! Faults on purpose in the report: how many of each kind, and how long the network took to be well again.

use crate::recorders::AfterFault;
use crate::stats::quantile;
use serde::{Deserialize, Serialize};
use slotwise_kinds::{FaultRecord, World};
use slotwise_scenario::Faults;
use slotwise_units::{Duration, Instant, SignedDuration};

/// Faults of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FaultReport {
    /// In order of the kinds' names.
    pub kinds: Vec<FaultSummary>,
    /// Each fault that took place, in order of time.
    pub rows: Vec<FaultRow>,
    /// Kinds that the scenario has and of which none took place; for the summary.
    #[serde(skip)]
    pub absent: Vec<&'static str>,
}

impl FaultReport {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Notes of faults without recovery and of kinds without faults; the run began at a time.
    pub fn notes(&self, start: Instant) -> Vec<String> {
        let lasting = |kind: &FaultSummary| {
            let mut rows = self.rows.iter().filter(|row| row.kind == kind.kind);
            let first = rows.find(|row| row.recovery_ns.is_none())?;
            let at_s = first.start_ns.saturating_since(start).seconds();
            let (count, injected) = (kind.not_recovered, kind.injected);
            let what = fault_text(&first.kind, (first.edge, first.core), &first.routers);
            Some(format!(
                "faults: {}: {count} of {injected} without recovery by the end of the run (first: {what}, {at_s:.3} s)",
                kind.kind
            ))
        };
        let lasting = self.kinds.iter().filter_map(lasting);
        let absent = self
            .absent
            .iter()
            .map(|kind| format!("faults: {kind}: none injected before the end of the run"));
        lasting.chain(absent).collect()
    }
}

/// Faults of one kind. Times are from a fault's end until the network was well again; null if it never was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultSummary {
    /// As in the scenario.
    pub kind: String,
    /// Faults that took place.
    pub injected: u64,
    /// Control messages that they hit.
    pub messages: u64,
    /// Faults after which the network was not well by the end of the run.
    pub not_recovered: u64,
    /// Median.
    pub p50_ns: Option<Duration>,
    /// 99th percentile.
    pub p99_ns: Option<Duration>,
    /// Largest.
    pub max_ns: Option<Duration>,
    /// How fair a ring was after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<FairnessSummary>,
}

/// How fair a ring was after those faults of a kind after which there was time to measure it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FairnessSummary {
    /// How many those are.
    pub measured: u64,
    /// Median of their distances.
    pub p50_distance: f64,
    /// Largest of them.
    pub max_distance: f64,
    /// Least of their indices; `null` if nothing came each time.
    pub min_jain: Option<f64>,
}

/// How fair a ring was after a fault: the rates of its pairs of stations by what they should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FairnessRow {
    /// What rates are over, from when the network was well again.
    pub window_ns: Duration,
    /// The largest |rate - wanted| / wanted.
    pub distance: f64,
    /// Jain's index of rate / wanted; `null` if nothing came.
    pub jain: Option<f64>,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultRow {
    /// As in the scenario.
    pub kind: String,
    /// The edge that it happened to.
    pub edge: Option<u16>,
    /// The core that it happened to.
    pub core: Option<u16>,
    /// The router or station that it happened to, or those at both ends of the link, `router0` first in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<String>,
    /// When it began, fabric time.
    pub start_ns: Instant,
    /// When it was over.
    pub end_ns: Instant,
    /// By how much a clock jumped.
    pub step_ns: SignedDuration,
    /// Whether the controller was killed in the middle of a turn.
    pub mid_step: bool,
    /// Control messages that it hit.
    pub messages: u64,
    /// From its end until the network was well again.
    pub recovery_ns: Option<Duration>,
    /// How fair a ring was then, if there was time to measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<FairnessRow>,
}

/// A fault for a person: what failed, and where.
pub fn fault_text(kind: &str, (edge, core): (Option<u16>, Option<u16>), routers: &[String]) -> String {
    let edge = edge.map(|edge| format!("edge {edge}"));
    let core = core.map(|core| format!("core {core}"));
    let places: Vec<String> = edge.into_iter().chain(core).chain(routers.iter().cloned()).collect();
    match places.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind} at {}", places.join(" and ")),
    }
}

/// What became of the faults of a run, which has those of `planned`, and how fair a ring was after them.
pub fn fault_report(fabric: &World, planned: &[Faults], after: &[AfterFault]) -> FaultReport {
    let happened = fabric.faults().iter().enumerate().filter(|(_, fault)| fault.happened);
    let found = |index| after.iter().find(|after| after.fault == index);
    let mut rows: Vec<FaultRow> = happened.map(|(index, fault)| row(fault, found(index))).collect();
    rows.sort_by(|a, b| (a.start_ns, &a.kind).cmp(&(b.start_ns, &b.kind)));
    let mut names: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let absent = absent(planned, &names);
    let kinds = names.into_iter().map(|kind| summary(kind, &rows)).collect();
    FaultReport { kinds, rows, absent }
}

/// Kinds that were planned and are not among those that took place, each once, by name.
fn absent(planned: &[Faults], happened: &[&str]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = planned.iter().map(|faults| faults.kind.name()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !happened.contains(name));
    names
}

fn row(fault: &FaultRecord, after: Option<&AfterFault>) -> FaultRow {
    FaultRow {
        kind: fault.kind.name().to_owned(),
        edge: fault.edge(),
        core: fault.core(),
        routers: fault.beside_stars().map(|device| device.to_string()).collect(),
        start_ns: fault.start,
        end_ns: fault.end,
        step_ns: fault.step,
        mid_step: fault.mid_step,
        messages: fault.messages,
        recovery_ns: fault.recovery(),
        fairness: after.map(|after| FairnessRow {
            window_ns: after.window,
            distance: after.fairness.distance,
            jain: after.fairness.jain,
        }),
    }
}

fn summary(kind: &str, rows: &[FaultRow]) -> FaultSummary {
    let of_kind = || rows.iter().filter(|row| row.kind == kind);
    let mut times: Vec<Duration> = of_kind().filter_map(|row| row.recovery_ns).collect();
    times.sort_unstable();
    let injected = of_kind().count() as u64;
    FaultSummary {
        kind: kind.to_owned(),
        injected,
        messages: of_kind().map(|row| row.messages).sum(),
        not_recovered: injected - times.len() as u64,
        p50_ns: percentile(&times, 50),
        p99_ns: percentile(&times, 99),
        max_ns: times.last().copied(),
        fairness: fairness(of_kind().filter_map(|row| row.fairness.as_ref())),
    }
}

/// Of what was measured after faults of a kind; `None` of nothing.
fn fairness<'r>(rows: impl Iterator<Item = &'r FairnessRow>) -> Option<FairnessSummary> {
    let (distances, indices): (Vec<f64>, Vec<Option<f64>>) = rows.map(|row| (row.distance, row.jain)).unzip();
    let indices: Vec<f64> = indices.into_iter().flatten().collect();
    Some(FairnessSummary {
        measured: distances.len() as u64,
        p50_distance: quantile(&distances, 0.5)?,
        max_distance: quantile(&distances, 1.0)?,
        min_jain: quantile(&indices, 0.0),
    })
}

/// The smallest value that is not below `percent` % of them (nearest rank).
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    rank.checked_sub(1).map(|index| sorted[index])
}

#[cfg(test)]
mod tests {
    use slotwise_scenario::{Device, FaultKind};

    use super::*;

    #[test]
    fn kinds_that_never_happened_are_known() {
        let planned = |kind| Faults {
            kind,
            every_ms: 1,
            for_ms: 1,
            edge: None,
        };
        let restart = |device: Device| FaultKind::Restart(device.kind());
        let cut = planned(FaultKind::LinkDown);
        let all = [
            planned(restart(Device::Edge(0))),
            cut,
            planned(restart(Device::Core(0))),
            cut,
        ];
        assert_eq!(absent(&all, &["core-down"]), ["edge-restart", "link-down"]);
        assert_eq!(absent(&[], &[]), [""; 0]);
    }

    #[test]
    fn a_summary_counts_what_recovered_and_what_did_not() {
        let row = |kind: &str, recovery_ns: Option<u64>| FaultRow {
            kind: kind.to_owned(),
            edge: None,
            core: None,
            routers: Vec::new(),
            start_ns: Instant::ZERO,
            end_ns: Instant::ZERO,
            step_ns: SignedDuration::ZERO,
            mid_step: false,
            messages: 2,
            recovery_ns: recovery_ns.map(Duration::from_ns),
            fairness: None,
        };
        let mut rows: Vec<FaultRow> = (1..=100).rev().map(|n| row("link-down", Some(n))).collect();
        rows.push(row("link-down", None));
        rows.push(row("core-down", None));
        let cuts = summary("link-down", &rows);
        assert_eq!((cuts.injected, cuts.messages, cuts.not_recovered), (101, 202, 1));
        assert_eq!(
            [cuts.p50_ns, cuts.p99_ns, cuts.max_ns],
            [50, 99, 100].map(|ns| Some(Duration::from_ns(ns)))
        );
        let downs = summary("core-down", &rows);
        assert_eq!((downs.not_recovered, downs.p50_ns, downs.max_ns), (1, None, None));
        assert_eq!(downs.fairness, None, "nothing was measured");
    }

    #[test]
    fn faults_without_recovery_and_kinds_without_faults_are_noted() {
        let row = |kind: &str, start, recovery_ns: Option<u64>| FaultRow {
            kind: kind.to_owned(),
            edge: Some(2),
            core: Some(0),
            routers: Vec::new(),
            start_ns: start,
            end_ns: start,
            step_ns: SignedDuration::ZERO,
            mid_step: false,
            messages: 0,
            recovery_ns: recovery_ns.map(Duration::from_ns),
            fairness: None,
        };
        let s = |s| Instant::ZERO + Duration::from_s(s);
        let rows = vec![
            row("core-down", s(2), Some(5)),
            row("link-down", s(3), Some(5)),
            row("link-down", s(4), None),
            row("link-down", s(5), None),
        ];
        let kinds = ["core-down", "link-down"].map(|kind| summary(kind, &rows));
        let report = FaultReport {
            kinds: kinds.into(),
            rows,
            absent: vec!["edge-restart"],
        };
        assert_eq!(
            report.notes(s(1)),
            [
                "faults: link-down: 2 of 3 without recovery by the end of the run (first: link-down at edge 2 and core 0, 3.000 s)",
                "faults: edge-restart: none injected before the end of the run"
            ]
        );
        assert_eq!(FaultReport::default().notes(Instant::ZERO), [""; 0]);
    }

    #[test]
    fn fairness_is_of_faults_after_which_it_was_measured() {
        let row = |distance, jain| FairnessRow {
            window_ns: Duration::from_ns(1),
            distance,
            jain,
        };
        let rows = [row(0.5, Some(0.9)), row(0.1, Some(0.7)), row(1.0, None)];
        let expected = FairnessSummary {
            measured: 3,
            p50_distance: 0.5,
            max_distance: 1.0,
            min_jain: Some(0.7),
        };
        assert_eq!(fairness(rows.iter()), Some(expected));
    }
}
