// SPDX-License-Identifier: Apache-2.0
//! Measurements of workloads: flows in progress, and completion times.

use slotwise_kinds::{FlowProgress, WorkloadUse, World, framing};
use slotwise_scenario::{Paths, Scenario};
use slotwise_units::{Duration, Instant};
use slotwise_workload::{Completions, Flow, Statistics, ideal};

use crate::record::{Period, Recording, table};
use crate::workloads::{FlowName, MAX_NAMED, WorkloadReport};

/// Period where the scenario has none.
const PERIOD: Duration = Duration::from_ms(100);

/// A workload with the counts of its flows since the last period and since the start.
struct Recorded {
    name: String,
    kind: &'static str,
    hosts: usize,
    transport: &'static str,
    packet_bytes: u32,
    completions: Completions,
    /// Slowdowns of the flows that completed in the period.
    slowdowns: Vec<f64>,
    used: WorkloadUse,
    unfinished: Vec<FlowName>,
}

/// Records workloads. The caller runs the network to [`WorkloadRecorder::next`], calls [`WorkloadRecorder::sample`], and repeats both.
pub struct WorkloadRecorder {
    recording: Recording,
    workloads: Vec<Recorded>,
    paths: Paths,
    /// Origin of times in the record.
    start: Instant,
    end: Instant,
    period: Duration,
    /// End of the last period.
    at: Instant,
    /// True if each flow has a row.
    has_rows: bool,
}

impl WorkloadRecorder {
    /// Creates the recorder of a scenario's network at time 0; `None` without workloads. With `has_rows` each flow has a row.
    pub fn new(scenario: &Scenario, has_rows: bool) -> Option<WorkloadRecorder> {
        let workloads = scenario.workloads.iter().map(|workload| Recorded {
            name: workload.name.clone(),
            kind: workload.kind(),
            hosts: workload.hosts.len(),
            transport: workload.transport.name(),
            packet_bytes: workload.packet_bytes,
            completions: Completions::default(),
            slowdowns: Vec::new(),
            used: WorkloadUse::default(),
            unfinished: Vec::new(),
        });
        (!scenario.workloads.is_empty()).then(|| WorkloadRecorder {
            recording: Recording::default(),
            workloads: workloads.collect(),
            paths: Paths::of(scenario),
            start: scenario.epoch(),
            end: scenario.end(),
            period: match scenario.has_groups() {
                true => Duration::from_ms(scenario.routed.sample_ms),
                false => PERIOD,
            },
            at: scenario.epoch(),
            has_rows,
        })
    }

    /// Network time of the next sample; `None` after the end of the run.
    pub fn next(&self) -> Option<Instant> {
        (self.at < self.end).then(|| (self.at + self.period).min(self.end))
    }

    /// Records the current sample.
    pub fn sample(&mut self, network: &mut World) {
        for flow in network.take_ended_flows() {
            self.completed(&flow);
        }
        let now = network.now();
        let period = Period {
            end: now - self.start,
            length: now - self.at,
        };
        self.at = now;
        for (workload, used) in self.workloads.iter_mut().zip(network.workload_uses()) {
            let before = std::mem::replace(&mut workload.used, *used);
            workload.slowdowns.sort_unstable_by(f64::total_cmp);
            let row = WorkloadPeriod {
                in_progress: used.started - used.arrived,
                started: used.started - before.started,
                completed: used.arrived - before.arrived,
                slowdown: Statistics::of_sorted(&workload.slowdowns),
            };
            workload.slowdowns.clear();
            self.recording.add(&workload.name, &period, &row);
        }
    }

    /// Adds a completed flow.
    fn completed(&mut self, flow: &FlowProgress) {
        let row = self.row(flow);
        let workload = &mut self.workloads[flow.workload];
        workload.completions.started(&of_network(flow));
        if let (Some(end), Some(time), Some(ideal)) = (flow.last_in, row.time, row.ideal) {
            workload.completions.completed(&of_network(flow), end, (time, ideal));
            workload.slowdowns.push(time.ns() as f64 / ideal.ns().max(1) as f64);
        }
        self.add_row(flow, &row);
    }

    fn row(&mut self, flow: &FlowProgress) -> FlowCompletion {
        let framing = framing(flow.transport, self.workloads[flow.workload].packet_bytes);
        let path = self.paths.between(flow.from, flow.to);
        FlowCompletion {
            flow: *flow,
            origin: self.start,
            time: flow
                .last_in
                .zip(flow.first_out)
                .map(|(last_in, first_out)| last_in - first_out),
            ideal: path.map(|path| ideal(&path, flow.flow.size, framing)),
        }
    }

    fn add_row(&mut self, flow: &FlowProgress, row: &FlowCompletion) {
        if self.has_rows {
            let at = flow.last_in.unwrap_or(self.at);
            let period = Period {
                end: at.saturating_since(self.start),
                length: Duration::ZERO,
            };
            self.recording.add(&self.workloads[flow.workload].name, &period, row);
        }
    }

    /// Ends the record, with the flows in progress: those that have not arrived are unfinished.
    pub fn end(&mut self, network: &mut World) {
        for flow in network.take_ended_flows() {
            self.completed(&flow);
        }
        for flow in network.flows_in_progress() {
            if flow.last_in.is_some() {
                self.completed(&flow);
                continue;
            }
            let row = self.row(&flow);
            let workload = &mut self.workloads[flow.workload];
            workload.completions.started(&of_network(&flow));
            if workload.unfinished.len() < MAX_NAMED {
                workload.unfinished.push(FlowName::of(&flow));
            }
            self.add_row(&flow, &row);
        }
        for (workload, coflow) in network.refused_coflows() {
            self.workloads[workload].completions.refused(coflow, self.at);
        }
        for (workload, used) in self.workloads.iter_mut().zip(network.workload_uses()) {
            workload.used = *used;
        }
    }

    /// Returns the record so far.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Completions of each workload, for the report.
    pub fn reports(&self) -> Vec<WorkloadReport> {
        let report = |workload: &Recorded| {
            let Recorded {
                name, kind, transport, ..
            } = workload;
            WorkloadReport {
                name: name.clone(),
                kind: (*kind).to_owned(),
                transport: (*transport).to_owned(),
                hosts: workload.hosts,
                refused: workload.used.refused,
                unfinished_flows: workload.unfinished.clone(),
                ..WorkloadReport::of(&workload.completions.summary())
            }
        };
        self.workloads.iter().map(report).collect()
    }

    /// All that was written down.
    pub fn finish(self) -> Recording {
        self.recording
    }
}

/// A flow whose start is network time, as its end is: times of coflows are between the two.
fn of_network(flow: &FlowProgress) -> Flow {
    Flow {
        start: flow.start,
        ..flow.flow
    }
}

/// A workload in a period.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkloadPeriod {
    in_progress: u64,
    started: u64,
    completed: u64,
    slowdown: Option<Statistics>,
}

impl WorkloadPeriod {
    fn slowdown(&self, of: impl Fn(&Statistics) -> f64) -> f64 {
        self.slowdown.as_ref().map_or(0.0, of)
    }
}

table! {
    /// Workloads; a row per workload and period. Slowdowns are those of flows that completed in the period and are acknowledged;
    /// 0 without such flows.
    Workloads by workload = |p, w: WorkloadPeriod| {
        in_progress "flows in progress at the end of the period" show(series, whole, line) = w.in_progress as f64;
        started "flows that started" show(series, whole) = w.started as f64;
        completed "flows whose last byte arrived" show(series, whole, line) = w.completed as f64;
        mean_slowdown "mean slowdown" show(series) = w.slowdown(|slowdown| slowdown.mean);
        median_slowdown "median slowdown" show(series) = w.slowdown(|slowdown| slowdown.p50);
        p99_slowdown "0.99 quantile of the slowdown" show(series, line) = w.slowdown(|slowdown| slowdown.p99);
    }
}

/// A flow that has ended, or is unfinished at the end of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowCompletion {
    flow: FlowProgress,
    /// Start of the first phase.
    origin: Instant,
    /// Completion time.
    time: Option<Duration>,
    /// Completion time of the same flow alone.
    ideal: Option<Duration>,
}

impl FlowCompletion {
    /// Milliseconds from the start of the first phase; NaN without a time.
    fn ms(&self, at: Option<Instant>) -> f64 {
        at.map_or(f64::NAN, |at| at.saturating_since(self.origin).milliseconds())
    }

    fn slowdown(&self) -> f64 {
        let times = self.time.zip(self.ideal);
        times.map_or(f64::NAN, |(time, ideal)| time.ns() as f64 / ideal.ns().max(1) as f64)
    }
}

fn milliseconds(time: Option<Duration>) -> f64 {
    time.map_or(f64::NAN, Duration::milliseconds)
}

table! {
    /// Flows of workloads (docs/workloads.md#completion-times); a row per flow that has started, in the order of their ends.
    /// Flows that are unfinished at the end of the run come last; their missing times are NaN.
    Completions by workload at "arrival of the last byte, from the start of the first phase; of an unfinished flow, the end of the run" = |p, f: FlowCompletion| {
        number "number of the flow in its workload" as exact = f.flow.flow.number as f64;
        from "number of the sending host" = f.flow.from as f64;
        to "number of the receiving host" = f.flow.to as f64;
        size_bytes "data" [bytes] as exact = f.flow.flow.size.get() as f64;
        start_ms "start" [ms] as exact = f.ms(Some(f.flow.start));
        first_out_ms "first bit of data out of the sending host" [ms] as exact = f.ms(f.flow.first_out);
        last_in_ms "arrival of the last byte" [ms] as exact = f.ms(f.flow.last_in);
        acknowledged_ms "arrival of the last acknowledgment; NaN also for datagrams" [ms] as exact = f.ms(f.flow.acknowledged);
        fct_ms "completion time: from the first bit out to the last byte in" [ms] as exact = milliseconds(f.time);
        ideal_ms "completion time of the same flow alone in an idle network" [ms] as exact = milliseconds(f.ideal);
        slowdown "fct_ms divided by ideal_ms" as exact = f.slowdown();
        retransmissions "retransmitted segments" = f.flow.retransmissions as f64;
        timeouts "retransmission timeouts" = f.flow.timeouts as f64;
        hops "routers on the path of the last packet, by its hop limit" = f64::from(f.flow.hops);
        coflow "number of the coflow; NaN without one" as exact = f.flow.flow.coflow.map_or(f64::NAN, |coflow| coflow.0 as f64);
    }
}
