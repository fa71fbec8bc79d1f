// SPDX-License-Identifier: Apache-2.0
//! Summary of a run for a person: some ten lines, the same labels for each type of network, the verdict last.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::stats::jain;
use serde_json::Value;
use slotwise_units::{Bytes, Duration, Instant};

use crate::changes::By;
use crate::compared::{Compared, compared};
use crate::faults::FaultSummary;
use crate::flow::{DelayReport, FlowReport};
use crate::report::{GrantLatency, PhaseReport, Report, Synchronization, scheduler_text};
use crate::{bursts, sessions, shares, workloads};

/// Warnings, or failures, beyond this number are counted in the summary.
const MAX_SHOWN: usize = 20;
/// Drop reasons beyond this number are left out.
const MAX_REASONS: usize = 4;
/// Prefix of drop reasons that P4 programs count.
const COUNTED_BY_P4: &str = "p4:";
/// The only one without a loss: a tick of a line card that has no message to send.
const NO_LOSS: &str = "p4:NoSignaling";

/// A labelled line.
pub fn line(label: &str, value: impl Display) -> String {
    format!("  {label:<13} {value}\n")
}

/// Mb/s for a person.
fn mbps(bps: f64) -> f64 {
    bps / 1e6
}

fn rate_bps(bytes: Bytes, time: Duration) -> f64 {
    bytes.get() as f64 * 8e9 / time.ns().max(1) as f64
}

impl Report {
    /// Returns the summary.
    pub fn summary(&self) -> String {
        let time = match self.command.as_str() {
            "emulate" => "emulated",
            _ => "simulated",
        };
        let seconds = self.duration_ns.seconds();
        let mut text = format!(
            "{} {}: {seconds:.1} s {time}, seed {}\n",
            self.command, self.scenario, self.seed
        );
        text += &line("network", &self.about.network);
        if let Some(lateness) = &self.lateness {
            text += &lateness.summary(self.beat);
        }
        text += &self.throughput();
        text += &self.fairness();
        text += &workloads::summary(&self.workloads);
        text += &latency(&self.phases);
        if let (Some(wait), Some(frame)) = (&self.grant_latency, &self.frame) {
            text += &wait.summary(u64::from(frame.slots) * frame.slot_ns);
        }
        text += &self.stars();
        for pair in &self.hotspot_pairs {
            text += &line("hotspot", pair);
        }
        text += &bursts::summary(&self.series.bursts);
        text += &sessions::summary(&self.series.sessions, self.series.distance.as_ref());
        text += &self.utilization();
        text += &self.drops();
        text += &self.control();
        for kind in &self.faults.kinds {
            text += &fault(kind);
        }
        for kind in &self.faults.absent {
            text += &line("fault", format!("{kind}: 0 injected"));
        }
        text += &listed("warning", &self.verdict.notes);
        text += &listed("FAILED", &self.verdict.failures);
        text + &line("verdict", self.verdict_text())
    }

    /// Lines of the phases, and of flows over the whole run.
    fn throughput(&self) -> String {
        let has_star = self.frame.is_some();
        let mut text = String::new();
        for phase in &self.phases {
            let length = phase.end_ns.saturating_since(phase.start_ns).max(Duration::from_ns(1));
            let head = format!("{:<12} {:>5.1} s", phase.name, length.seconds());
            // Without a star the run is one phase.
            let flows: Vec<&FlowReport> = phase
                .flows
                .iter()
                .filter(|flow| !(has_star && flow.is_of_run()))
                .collect();
            if flows.is_empty() && !has_star && !self.workloads.is_empty() {
                continue;
            }
            if flows.is_empty() && !has_star {
                // Traffic that hosts generate themselves is not counted.
                let why = lost(phase.lost_flows).unwrap_or_else(|| "no flows in the scenario".into());
                text += &line("throughput", format!("{head}  {why}"));
                continue;
            }
            let (delivered, between) = match has_star {
                true => (self.delivered_bytes(phase.start_ns, phase.end_ns), "between edges"),
                false => (bytes_of(&flows), "to hosts"),
            };
            let rate = mbps(rate_bps(delivered, length));
            let lost = lost(phase.lost_flows).map_or_else(String::new, |lost| format!("; {lost}"));
            let flows = format!("{} flows{}{lost}", flows.len(), silence(&flows));
            text += &line("throughput", format!("{head}  {rate:>7.1} Mb/s {between}, {flows}"));
            text.extend(phase.files.iter().map(file));
        }
        let of_run = self.phases.iter().flat_map(|phase| &phase.flows);
        let of_run: Vec<&FlowReport> = of_run.filter(|flow| has_star && flow.is_of_run()).collect();
        if !of_run.is_empty() {
            let seconds = self.duration_ns.seconds();
            let rate = mbps(rate_bps(bytes_of(&of_run), self.duration_ns));
            let flows = format!("{} flows{}", of_run.len(), silence(&of_run));
            let whole = format!(
                "{:<12} {seconds:>5.1} s  {rate:>7.1} Mb/s to hosts, {flows}",
                "whole run"
            );
            text += &line("throughput", whole);
        }
        text
    }

    /// Lines on fairness: against the reference allocation where there is one, else between flows with the same demand.
    fn fairness(&self) -> String {
        if !self.shares.is_empty() {
            return shares::summary(&self.shares, "RIAS");
        }
        if !self.about.max_min.is_empty() {
            return shares::summary(&self.about.max_min, "max-min");
        }
        if !self.series.sessions.is_empty() {
            return String::new();
        }
        let phases = self.phases.iter().filter_map(|phase| {
            let Compared { rates_bps, kind } = compared(&phase.flows, &self.about.demands)?;
            let index = jain(&rates_bps)?;
            let least = rates_bps.iter().copied().fold(f64::INFINITY, f64::min);
            let most = rates_bps.iter().copied().fold(0.0, f64::max);
            let (phase, count) = (&phase.name, rates_bps.len());
            let range = format!("{:.1} to {:.1} Mb/s each", mbps(least), mbps(most));
            Some(line(
                "fairness",
                format!("{phase}: Jain's index {index:.3} over {count} {kind}, {range}"),
            ))
        });
        phases.collect()
    }

    /// Lines of overlaid stars, of clocks and of switches outside the process.
    fn stars(&self) -> String {
        let mut text = String::new();
        for star in &self.stars {
            let rate = mbps(rate_bps(star.delivered_bytes, self.duration_ns));
            let (core, master, slots, lost) = (star.core, star.master, star.granted_slots, star.lost_packets);
            let value = format!(
                "core {core}, master edge {master}: {rate:.1} Mb/s, {slots} slots granted, {lost} packets lost in the core"
            );
            text += &line("star", value);
        }
        let worst = |it: &Synchronization| it.max_ns.ns().max(-it.min_ns.ns());
        if let Some(clock) = self.synchronization.iter().max_by_key(|it| worst(it)) {
            let core = match self.stars.len() {
                0 => String::new(),
                _ => format!(", core {}", clock.core),
            };
            let (edge, max_ns, mean_ns, slots) = (clock.edge, worst(clock), clock.mean_ns, clock.slots);
            let value = format!(
                "slot timing error at the core: max {max_ns} ns (edge {edge}{core}), mean {mean_ns:.1} ns over {slots} slots"
            );
            text += &line("clocks", value);
        }
        if let Some(s) = &self.switch_answers {
            let us = |time: Duration| time.ns() as f64 / 1e3;
            let (p50, p99, max) = (us(s.p50_ns), us(s.p99_ns), us(s.max_ns));
            let value = format!(
                "latency p50 {p50:.0} us, p99 {p99:.0} us, max {max:.0} us; {} packets dropped",
                s.not_taken
            );
            text += &line("switches", value);
        }
        text
    }

    /// The line of links' mean utilization; empty for a star alone, where slots take the place of links.
    fn utilization(&self) -> String {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let links = self.series.links.iter().filter_map(|link| {
            let values: Vec<f64> = link.columns.get("utilization")?.iter().collect();
            (!values.is_empty()).then(|| (mean(&values), link.name.as_str()))
        });
        let links: Vec<(f64, &str)> = links.collect();
        let Some((most, name)) = links.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
            return String::new();
        };
        let of_all = mean(&links.iter().map(|(mean, _)| *mean).collect::<Vec<f64>>());
        let value = format!(
            "links {:.1} % on average, busiest {name} {:.1} %",
            100.0 * of_all,
            100.0 * most
        );
        line("utilization", value)
    }

    /// The line of dropped packets, by reason: those of queues and links, and those that P4 programs count.
    fn drops(&self) -> String {
        let mut by_reason: BTreeMap<String, u64> = BTreeMap::new();
        for drop in self.drops.iter().filter(|drop| drop.reason != NO_LOSS) {
            *by_reason.entry(reason_text(&drop.reason)).or_default() += drop.packets;
        }
        let mut reasons: Vec<(u64, String)> = by_reason.into_iter().map(|(reason, count)| (count, reason)).collect();
        reasons.retain(|(count, _)| *count > 0);
        reasons.sort_by(|(count, reason), (other, of_other)| other.cmp(count).then(reason.cmp(of_other)));
        let total: u64 = reasons.iter().map(|(count, _)| count).sum();
        if total == 0 {
            return line("drops", "none");
        }
        let named = reasons.iter().take(MAX_REASONS);
        let named: Vec<String> = named.map(|(count, reason)| format!("{reason} {count}")).collect();
        line("drops", format!("{total} packets: {}", named.join(", ")))
    }

    /// Lines on the controller: its scheduler, paths it changed, and changes made to it.
    fn control(&self) -> String {
        let mut text = String::new();
        if let Some(scheduler) = &self.scheduler {
            text += &line("scheduler", scheduler_text(scheduler));
        }
        let scheduling = &self.controller["scheduling_ns"];
        if let Some(p99) = scheduling["p99"].as_f64() {
            let us = |key: &str| scheduling[key].as_f64().unwrap_or(f64::NAN) / 1e3;
            let (p50, max) = (us("p50"), us("max"));
            text += &line(
                "scheduling",
                format!("p50 {p50:.0} us, p99 {:.0} us, max {max:.0} us per frame", p99 / 1e3),
            );
        }
        let reroutes = self.earlier_reroutes + self.controller["reroutes"].as_u64().unwrap_or_default();
        if let Some(count) = Some(reroutes).filter(|count| *count > 0) {
            text += &line("rerouting", format!("{count} path changes"));
        }
        let start = self.phases.first().map_or(Instant::ZERO, |phase| phase.start_ns);
        for change in &self.changes {
            let at_s = change.at_ns.saturating_since(start).seconds();
            let by = match change.by {
                By::Scenario => "the scenario",
                By::Rest => "REST",
            };
            text += &line("change", format!("at {at_s:.1} s: {} (by {by})", change.what.text()));
        }
        text
    }

    /// The outcome, and the invariants checked: those violated are counted.
    fn verdict_text(&self) -> String {
        let outcome = if self.verdict.ok { "ok" } else { "failed" };
        let violated = self.invariants.called.iter().filter_map(|(name, label)| {
            let count = *self.invariants.counts.get(*name)?;
            (count > 0).then(|| format!("{label} {count}"))
        });
        let violated: Vec<String> = violated.collect();
        let checked: Vec<&str> = self.invariants.called.iter().map(|(_, label)| *label).collect();
        let found = match violated.is_empty() {
            true => "no invariant violated".to_owned(),
            false => format!("invariants violated: {}", violated.join(", ")),
        };
        format!("{outcome}: {found} (checked: {})", checked.join(", "))
    }

    fn delivered_bytes(&self, start: Instant, end: Instant) -> Bytes {
        let [start_ms, end_ms] = [start, end].map(|at| at.since_start().milliseconds());
        let times = self.series.frame_ms.iter().enumerate();
        let frames = times.filter(|(_, ms)| (start_ms..end_ms).contains(*ms));
        let of_frame = |k: usize| {
            let pairs = self.series.pairs.iter();
            pairs
                .map(|pair| pair.delivered_bytes.get(k).copied().unwrap_or_default())
                .sum::<Bytes>()
        };
        frames.map(|(k, _)| of_frame(k)).sum()
    }
}

impl GrantLatency {
    /// Returns the line of a summary; empty if no demand was new.
    fn summary(&self, frame: Duration) -> String {
        let frames = |time: Duration| time.ns() as f64 / frame.ns() as f64;
        let mut parts = Vec::new();
        if self.count > 0 {
            parts.push(format!(
                "p50 {:.2}, p99 {:.2}, max {:.2} frames of {:.1} ms ({} idle queues became busy)",
                frames(self.p50_ns),
                frames(self.p99_ns),
                frames(self.max_ns),
                frame.milliseconds(),
                self.count
            ));
        }
        if self.unserved > 0 {
            parts.push(format!("{} still waiting or dropped", self.unserved));
        }
        match parts.is_empty() {
            true => String::new(),
            false => line("grant latency", parts.join("; ")),
        }
    }
}

/// Returns the line of flows' delay: end-to-end where it was measured, else TCP's round trip.
fn latency(phases: &[PhaseReport]) -> String {
    let flows = || phases.iter().flat_map(|phase| &phase.flows);
    let (mut packets, mut sum_ns, mut max_ns) = (0.0, 0.0, 0.0_f64);
    for flow in flows() {
        let received = flow.received_packets.unwrap_or(0) as f64;
        if let Some(Some(DelayReport { mean, max, .. })) = &flow.delay_ns
            && let Some(mean) = mean.as_f64()
        {
            packets += received;
            sum_ns += received * mean;
            max_ns = max_ns.max(max.ns() as f64);
        }
    }
    let ms = |ns: f64| ns / 1e6;
    if packets > 0.0 {
        let mean_ms = ms(sum_ns / packets);
        return line(
            "latency",
            format!("one-way delay: mean {mean_ms:.2} ms, max {:.2} ms", ms(max_ns)),
        );
    }
    let streams = flows().filter_map(|flow| flow.stream.as_ref().and_then(Option::as_ref));
    let round_trips = streams.filter_map(|stream| stream.srtt_ns.flatten());
    let round_trips = round_trips
        .filter(|time| *time > Duration::ZERO)
        .map(|time| time.ns() as f64);
    let mut round_trips: Vec<f64> = round_trips.collect();
    round_trips.sort_by(f64::total_cmp);
    match round_trips[..] {
        [] => String::new(),
        [.., max] => {
            let median_ms = ms(round_trips[round_trips.len() / 2]);
            let value = format!(
                "TCP round-trip time (smoothed, at the end of each flow): median {median_ms:.1} ms, max {:.1} ms",
                ms(max)
            );
            line("latency", value)
        }
    }
}

fn file(file: &Value) -> String {
    let end = |key: &str| file[key].as_str().unwrap_or("?").to_owned();
    let seconds = file["seconds"].as_f64().unwrap_or(f64::NAN);
    let digest = if file["intact"] == true { "verified" } else { "MISMATCH" };
    let value = format!(
        "{} bytes {} -> {} in {seconds:.1} s, SHA-256 {digest}",
        file["bytes"],
        end("from"),
        end("to")
    );
    line("file", value)
}

/// Returns a drop reason in words: `queue_full` and `p4:NoRoute` become "queue full" and "no route".
fn reason_text(reason: &str) -> String {
    let Some(name) = reason.strip_prefix(COUNTED_BY_P4) else {
        return reason.replace('_', " ");
    };
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// Returns the lines of one kind of fault.
fn fault(kind: &FaultSummary) -> String {
    let ms = |time: Option<Duration>| time.map_or("-".to_owned(), |time| format!("{:.2} ms", time.milliseconds()));
    let recovery = format!(
        "recovery p50 {}, p99 {}, max {}",
        ms(kind.p50_ns),
        ms(kind.p99_ns),
        ms(kind.max_ns)
    );
    let value = format!(
        "{}: {} injected, {} messages hit; {recovery}; {} not recovered",
        kind.kind, kind.injected, kind.messages, kind.not_recovered
    );
    let mut text = line("fault", value);
    if let Some(fairness) = &kind.fairness {
        let value = format!(
            "deviation from RIAS after {} of them: p50 {:.1} %, max {:.1} %; Jain's index at least {:.4}",
            fairness.measured,
            fairness.p50_distance * 100.0,
            fairness.max_distance * 100.0,
            fairness.min_jain.unwrap_or(0.0)
        );
        text += &line("", value);
    }
    text
}

/// Returns a line for each of the first texts, and the number of the others.
fn listed(label: &str, texts: &[String]) -> String {
    let mut text: String = texts.iter().take(MAX_SHOWN).map(|each| line(label, each)).collect();
    if texts.len() > MAX_SHOWN {
        text += &line(label, format!("and {} more in the report", texts.len() - MAX_SHOWN));
    }
    text
}

fn bytes_of(flows: &[&FlowReport]) -> Bytes {
    flows.iter().map(|flow| flow.bytes).sum()
}

/// Returns the number of flows that received nothing, if any; their sources may have sent nothing.
fn silence(flows: &[&FlowReport]) -> String {
    match flows.iter().filter(|flow| flow.bytes.is_zero()).count() {
        0 => String::new(),
        count => format!(", {count} received no data"),
    }
}

/// Returns the number of flows without results, if any.
fn lost(flows: usize) -> Option<String> {
    (flows > 0).then(|| format!("no results from {flows} Linux flows (run ended early)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::StreamReport;

    #[test]
    fn a_flood_of_failures_is_counted() {
        let failures = |count: usize| (0..count).map(|number| format!("failure {number}")).collect::<Vec<_>>();
        assert_eq!(listed("FAILED", &failures(1)), "  FAILED        failure 0\n");
        assert_eq!(listed("warning", &failures(MAX_SHOWN)).lines().count(), MAX_SHOWN);
        let flood = listed("warning", &failures(5000));
        assert_eq!(flood.lines().count(), MAX_SHOWN + 1);
        assert!(flood.ends_with("\n  warning       and 4980 more in the report\n"));
    }

    #[test]
    fn drop_reasons_are_words() {
        assert_eq!(reason_text("queue_full"), "queue full");
        assert_eq!(reason_text("p4:Contention"), "contention");
        assert_eq!(reason_text("p4:NotAMember"), "not a member");
    }

    #[test]
    fn unserved_demand_is_shown_with_the_quantiles() {
        let mut wait = GrantLatency {
            count: 0,
            unserved: 0,
            p50_ns: Duration::from_ms(1),
            p99_ns: Duration::from_ms(2),
            max_ns: Duration::from_ms(4),
        };
        assert_eq!(wait.summary(Duration::from_ms(4)), "");
        wait.unserved = 3;
        assert_eq!(
            wait.summary(Duration::from_ms(4)),
            "  grant latency 3 still waiting or dropped\n"
        );
        wait.count = 7;
        assert_eq!(
            wait.summary(Duration::from_ms(4)),
            "  grant latency p50 0.25, p99 0.50, max 1.00 frames of 4.0 ms (7 idle queues became busy); 3 still waiting or dropped\n"
        );
    }

    #[test]
    fn results_lost_by_an_early_end_are_counted() {
        assert_eq!(lost(0), None);
        assert_eq!(lost(5).unwrap(), "no results from 5 Linux flows (run ended early)");
    }

    #[test]
    fn flows_without_data_are_counted() {
        let flow = |bytes| FlowReport {
            bytes: Bytes::new(bytes),
            ..FlowReport::default()
        };
        assert_eq!(silence(&[&flow(1)]), "");
        assert_eq!(silence(&[&flow(0), &flow(5), &flow(0)]), ", 2 received no data");
    }

    #[test]
    fn latency_is_end_to_end_where_it_was_measured() {
        let of = |flows: Vec<FlowReport>| {
            latency(&[PhaseReport {
                name: "run".into(),
                start_ns: Instant::ZERO,
                end_ns: Instant::from_ns(1),
                flows,
                files: Vec::new(),
                lost_flows: 0,
            }])
        };
        let stream = |srtt_ns| {
            Some(Some(StreamReport {
                retransmissions: 0,
                timeouts: None,
                srtt_ns: Some(Some(Duration::from_ns(srtt_ns))),
                window_bytes: None,
            }))
        };
        let delayed = |received_packets, mean: u64, max| FlowReport {
            received_packets: Some(received_packets),
            delay_ns: Some(Some(DelayReport {
                min: None,
                mean: mean.into(),
                p99: None,
                max: Duration::from_ns(max),
            })),
            ..FlowReport::default()
        };
        let slow = delayed(1, 4_000_000, 5_000_000);
        let fast = FlowReport {
            stream: stream(9_000_000),
            ..delayed(3, 2_000_000, 3_000_000)
        };
        assert_eq!(
            of(vec![slow, fast]),
            "  latency       one-way delay: mean 2.50 ms, max 5.00 ms\n"
        );
        let tcp = |ns: u64| FlowReport {
            delay_ns: Some(None),
            stream: stream(ns),
            ..FlowReport::default()
        };
        assert_eq!(
            of(vec![tcp(9_000_000), tcp(2_000_000), tcp(0), tcp(4_000_000)]),
            "  latency       TCP round-trip time (smoothed, at the end of each flow): median 4.0 ms, max 9.0 ms\n"
        );
        assert_eq!(of(vec![FlowReport::default()]), "");
    }
}
