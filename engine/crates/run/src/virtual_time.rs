// SPDX-License-Identifier: Apache-2.0
//! Virtual time: the network stands still while its controller computes, and while the run is held.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time;

use serde_json::Value;
use slotwise_control::controller::Addresses;
use slotwise_control::home::Home;
use slotwise_control::lockstep::{RunPlan, Session, wrong_bytes};
use slotwise_control::rest::Rest;
use slotwise_kinds::{FaultRecord, FrameRecord, World};
use slotwise_observe::changes::ControllerChange;
use slotwise_observe::live::Snapshot;
use slotwise_observe::news::Newsroom;
use slotwise_observe::recorders::routed::RoutedRecorder;
use slotwise_observe::recorders::star;
use slotwise_observe::recorders::workloads::WorkloadRecorder;
use slotwise_observe::report::DropCount;
use slotwise_observe::series::{self, PeriodNow};
use slotwise_observe::workloads::WorkloadReport;
use slotwise_observe::{Recording, columns, outputs};
use slotwise_scenario::Scenario;
use slotwise_units::{Duration, Instant};

use crate::commands::Order;
use crate::driver::{Clock, Ended, Reader, State};
use crate::flows::{PhaseBytes, Players, add_phase_flows, add_whole_flows, strange_bytes};
use crate::hold::{Hold, HoldOrder};
use crate::run::{PhaseRun, drops, finish_captures, grant_latency, invariants, poll_frame};
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;
use slotwise_cli::notes::{note, say};

/// Time between two samples of a star, in frames.
const SAMPLE_FRAMES: u64 = 100;
/// Time between two polls of controller and clients in a held run.
const HELD_PERIOD: time::Duration = time::Duration::from_millis(5);

/// Outputs of a run other than its report.
#[derive(Debug, Default)]
pub struct Results {
    /// Sampling period of a star, in frames; without it a star is not recorded.
    pub sample_frames: Option<u32>,
    /// Directory of the recorded tables.
    pub columns: Option<PathBuf>,
    /// Directory of captures.
    pub captures: Option<PathBuf>,
}

/// Orders to a run, and the times at which it is held.
pub struct Orders {
    /// Signals.
    pub interrupts: Interrupts,
    /// Orders of the page and the terminal.
    pub orders: Receiver<Order>,
    /// Times at which the run is held.
    pub hold: Hold,
}

impl Orders {
    /// No orders.
    pub fn none() -> Orders {
        Orders {
            interrupts: Interrupts::default(),
            orders: channel().1,
            hold: Hold::default(),
        }
    }
}

/// A network in virtual time with its controller.
pub struct VirtualTime<'a> {
    scenario: &'a Scenario,
    session: Session,
    star: Option<star::Recorder>,
    routed: Option<RoutedRecorder>,
    workloads: Option<WorkloadRecorder>,
    results: Results,
    outside: Orders,
    /// Time between two snapshots of the network.
    step: Duration,
    next_step: Instant,
    sample_period: Duration,
    next_sample: Instant,
    /// True if a step has ended since the last call. So holding a run between two steps does not change its samples.
    has_stepped: bool,
    phase_bytes: PhaseBytes,
}

impl<'a> VirtualTime<'a> {
    /// Starts the controller of a network at time 0, and waits until it has configured every switch.
    ///
    /// # Errors
    /// See [`Session::start`].
    pub fn start(
        home: &Home,
        scenario: &'a Scenario,
        (fabric, plan): (World, RunPlan),
        (addresses, log): (Addresses, Stdio),
        results: Results,
        outside: Orders,
    ) -> Result<VirtualTime<'a>, RunError> {
        let sample_frames = results.sample_frames.filter(|_| scenario.has_star());
        let star = sample_frames.map(|frames| star::Recorder::new(scenario, frames));
        let routed = scenario.has_groups().then(|| RoutedRecorder::new(scenario, &fabric));
        let workloads = WorkloadRecorder::new(scenario, results.sample_frames.is_some());
        let (step, sample_period) = match scenario.has_star() {
            true => (scenario.frame.length(), SAMPLE_FRAMES * scenario.frame.length()),
            false => (Duration::from_ms(scenario.routed.sample_ms), Duration::ZERO),
        };
        let session = Session::start(home, (fabric, plan), addresses, log, &outside.interrupts)?;
        Ok(VirtualTime {
            scenario,
            star,
            routed,
            workloads,
            results,
            outside,
            step,
            next_step: session.fabric.now() + step,
            sample_period,
            next_sample: Instant::ZERO + sample_period,
            has_stepped: false,
            session,
            phase_bytes: PhaseBytes::new(),
        })
    }

    /// Returns the address of the controller's REST server.
    pub fn rest_address(&self) -> &Rest {
        &self.session.rest
    }

    /// Runs up to and including `until`, or to an interrupt, and records the samples that are due.
    fn run_until(&mut self, until: Instant) -> Result<(), RunError> {
        while let Some(at) = self.next_record().filter(|at| *at <= until) {
            self.session.run_until(at)?;
            if self.now() < at {
                return Ok(());
            }
            if let Some(star) = self.star.as_mut().filter(|star| star.next() == Some(at)) {
                self.session.sample(star);
            }
            if let Some(routed) = self.routed.as_mut().filter(|routed| routed.next() == Some(at)) {
                routed.sample(&mut self.session.fabric);
            }
            if let Some(workloads) = self.workloads.as_mut().filter(|of| of.next() == Some(at)) {
                workloads.sample(&mut self.session.fabric);
            }
        }
        self.session.run_until(until)
    }

    /// Time of the next sample.
    fn next_record(&self) -> Option<Instant> {
        let star = self.star.as_ref().and_then(star::Recorder::next);
        let routed = self.routed.as_ref().and_then(RoutedRecorder::next);
        let workloads = self.workloads.as_ref().and_then(WorkloadRecorder::next);
        star.into_iter().chain(routed).chain(workloads).min()
    }

    /// Runs to the next time that needs an action outside the network.
    fn run_on(&mut self) -> Result<(), RunError> {
        let now = self.now();
        let ends = (0..self.scenario.phases.len()).map(|phase| (phase, self.scenario.phase_times(phase).1));
        let next_end = ends.filter(|(_, at)| *at > now).min_by_key(|(_, at)| *at);
        let next_step = next_end.map_or(self.scenario.end(), |(_, at)| at).min(self.next_step);
        let until = self.outside.hold.next().map_or(next_step, |at| at.min(next_step));
        let advanced = self.run_until(until);
        if let Some((phase, _)) = next_end.filter(|(_, at)| *at == self.now()) {
            let results = self.session.fabric.flow_results();
            let received = results.iter().map(|result| result.received_bytes);
            self.phase_bytes.insert(phase, received.collect());
        }
        if self.now() == next_step {
            self.next_step = next_step + self.step;
            self.has_stepped = true;
        }
        advanced
    }

    /// Waits for the next order while the run is held, unless the controller needs a turn.
    fn wait(&mut self, news: &mut Newsroom, patience: time::Duration) -> Result<(), RunError> {
        let patience = patience.min(HELD_PERIOD);
        match self.outside.orders.recv_timeout(patience) {
            Ok(order) => self.obey(order, news),
            Err(RecvTimeoutError::Timeout) => {}
            // A signal still ends it.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(patience),
        }
        // The controller gets a turn at this time if it needs one; time passes only with the next order.
        self.session.run_until(self.now())
    }

    fn obey(&mut self, order: Order, news: &mut Newsroom) {
        let hold = &mut self.outside.hold;
        match order {
            Order::Fibre(command) => {
                command.fibre.set_up(&mut self.session.fabric, command.is_up);
                let at = self.now().saturating_since(self.scenario.epoch());
                news.fibre(&command.name, command.is_up, at);
            }
            Order::Hold(order) if hold.accept(order) => self.obey_if_held(),
            Order::Hold(HoldOrder::End) => self.outside.interrupts.add(),
            Order::Hold(_) => note!("slotwise: the run is not held; expected 'end'"),
        }
    }

    fn obey_if_held(&mut self) {
        let now = self.now();
        let hold = &mut self.outside.hold;
        match hold.next_order() {
            Some(HoldOrder::End) => self.outside.interrupts.add(),
            Some(HoldOrder::Step(span)) => hold.release(Some(now.saturating_add(span))),
            Some(HoldOrder::Continue) => hold.release(None),
            None => {}
        }
    }
}

impl Clock for VirtualTime<'_> {
    fn advance(&mut self, news: &mut Newsroom, page: Option<time::Instant>) -> Result<State, RunError> {
        while let Ok(order) = self.outside.orders.try_recv() {
            self.obey(order, news);
        }
        self.obey_if_held();
        let advanced = match self.outside.hold.is_held() {
            true => self.wait(news, page.map_or(HELD_PERIOD, until)),
            false => self.run_on(),
        };
        self.session.listen();
        advanced?;
        self.session.answer()?;
        if self.outside.interrupts.count() > 0 {
            return Ok(State::Interrupted);
        }
        let now = self.now();
        if now >= self.scenario.end() {
            return Ok(State::Over);
        }
        if self.outside.hold.reach(now) {
            let at_ms = now.saturating_since(self.scenario.epoch()).milliseconds();
            say!("held at {at_ms} ms: 'step TIME', 'continue' or 'end'");
        }
        Ok(State::Going)
    }

    fn now(&self) -> Instant {
        self.session.fabric.now()
    }

    fn frames(&mut self) -> Vec<FrameRecord> {
        std::iter::from_fn(|| poll_frame(&mut self.session.fabric)).collect()
    }

    fn sample_is_due(&mut self) -> bool {
        let now = self.now();
        let has_stepped = std::mem::take(&mut self.has_stepped);
        let is_due = has_stepped && (now >= self.next_sample || now == self.scenario.end());
        if is_due {
            self.next_sample = now + self.sample_period;
        }
        is_due
    }

    fn look(&mut self, _: Reader) -> Snapshot {
        let (start, end) = (self.scenario.epoch(), self.scenario.end());
        let fabric = &self.session.fabric;
        let now = fabric.now();
        let phases = 0..self.scenario.phases.len();
        let begun = phases.rev().find(|&index| self.scenario.phase_times(index).0 < now);
        let mut period = self
            .routed
            .as_ref()
            .map_or_else(PeriodNow::default, series::last_period);
        let workloads = self.workloads.as_ref().and_then(series::last_workloads);
        period.tables.extend(workloads);
        Snapshot {
            now: now - start,
            end: end - start,
            phase_index: begun.unwrap_or(0),
            tables: period.tables,
            sessions: period.sessions,
            violations: invariants(fabric).total(),
            grant_latency: grant_latency(fabric),
            ..Snapshot::default()
        }
    }

    fn drops(&self) -> Vec<DropCount> {
        drops(&self.session.fabric)
    }

    fn happened(&self) -> (&[ControllerChange], &[FaultRecord]) {
        (&self.session.choices.changes, self.session.fabric.faults())
    }

    fn start(&self) -> Option<Instant> {
        Some(self.scenario.epoch())
    }

    fn rest(&self) -> Option<&Rest> {
        Some(&self.session.rest)
    }

    fn end(mut self, ended: Result<State, RunError>, _: &mut Vec<FrameRecord>) -> Result<Ended, RunError> {
        let mut notes = finish_captures(&mut self.session.fabric, self.results.captures.as_deref());
        let choices = std::mem::take(&mut self.session.choices);
        notes.extend(choices.overdue(self.session.since_start()));
        let mut failures = Vec::new();
        let statistics = ended.and_then(|state| {
            failures.extend((state == State::Interrupted).then(|| "interrupted".to_owned()));
            self.session.statistics()
        });
        let mut earlier = self.session.take_earlier();
        let (session, scenario) = (self.session, self.scenario);
        let (controller, mut fabric) = match statistics {
            Ok(statistics) => {
                let statistics = statistics.or_else(|| {
                    notes.push("controller: down at the end of the run because of a fault".to_owned());
                    earlier.take_last()
                });
                let (fabric, not_ended) = session.stop();
                notes.extend(not_ended);
                (statistics.map_or(Value::Null, deterministic), fabric)
            }
            Err(error) => {
                failures.push(error.to_string());
                failures.dedup();
                (Value::Null, session.abandon())
            }
        };
        failures.extend(wrong_bytes(&fabric));
        let mut phases = phases(scenario, fabric.now());
        add_phase_flows(&mut phases, (scenario, &fabric), &self.phase_bytes, Players::Engine);
        let mut after_faults = Vec::new();
        if let Some(routed) = &self.routed {
            failures.extend(strange_bytes(routed));
            after_faults = routed.after_faults().to_vec();
            add_whole_flows(&mut phases, scenario, routed, Players::Engine);
        }
        let workloads = self.workloads.as_mut().map_or_else(Vec::new, |workloads| {
            workloads.end(&mut fabric);
            workloads.reports()
        });
        notes.extend(workloads.iter().flat_map(WorkloadReport::warnings));
        let star = self.star.map(star::Recorder::finish).unwrap_or_default();
        let routed = self.routed.map(RoutedRecorder::finish);
        let others = routed.into_iter().chain(self.workloads.map(WorkloadRecorder::finish));
        let recording = others.fold(star, Recording::with);
        if let Some(directory) = &self.results.columns {
            failures.extend(write_columns(directory, &recording).err());
        }
        Ok(Ended {
            fabric,
            phases,
            lateness: None,
            switch_answers: None,
            choices,
            controller,
            earlier,
            controller_restarts: 0,
            after_faults,
            workloads,
            recording,
            failures,
            notes,
        })
    }
}

/// Returns the time left until then.
fn until(then: time::Instant) -> time::Duration {
    then.saturating_duration_since(time::Instant::now())
}

/// Phases that have begun by `now`.
fn phases(scenario: &Scenario, now: Instant) -> Vec<PhaseRun> {
    let times = (0..scenario.phases.len()).map(|index| scenario.phase_times(index));
    let begun = times.filter(|(start, _)| *start < now);
    let phase = |(start, end): (Instant, Instant)| PhaseRun {
        start,
        end: end.min(now),
        ..PhaseRun::default()
    };
    begun.map(phase).collect()
}

/// Writes the tables. An error names the path; all tables of an earlier run then remain.
fn write_columns(directory: &Path, recording: &Recording) -> Result<(), String> {
    let tables = recording.tables().filter(|(_, table)| !table.names.is_empty());
    outputs::write_files(tables.map(|(name, table)| {
        let write = move |file: &mut BufWriter<&File>| columns::write(table, file).map_err(io::Error::other);
        (directory.join(format!("{}.parquet", name.name())), write)
    }))
}

/// The controller's statistics without what depends on the machine.
fn deterministic(mut statistics: Value) -> Value {
    if let Some(fields) = statistics.as_object_mut() {
        fields.remove("scheduling_ns");
    }
    statistics
}
