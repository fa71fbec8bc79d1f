// SPDX-License-Identifier: Apache-2.0
//! A run of a network, whatever its clock: virtual time ([`crate::virtual_time`]), or the wall clock ([`crate::emulate`]).
//!
//! ```text
//! signals, terminal, page,        orders             snapshots
//! controller, hosts        ------------------> clock ---------------> run ---> terminal, page, events, report
//! ```
//!
//! Threads and processes on the left send orders, which the clock receives while time passes. Observers on the right get
//! snapshots in between.

use std::collections::BTreeMap;
use std::time;

use serde_json::Value;
use slotwise_control::choices::Choices;
use slotwise_control::home::Home;
use slotwise_control::processes::Earlier;
use slotwise_control::rest::Rest;
use slotwise_kinds::{FaultRecord, FrameRecord, World};
use slotwise_observe::Recording;
use slotwise_observe::changes::ControllerChange;
use slotwise_observe::events::Events;
use slotwise_observe::lateness::Lateness;
use slotwise_observe::live::{LiveView, Snapshot};
use slotwise_observe::news::Newsroom;
use slotwise_observe::progress::Progress;
use slotwise_observe::recorders::AfterFault;
use slotwise_observe::report::{DropCount, Moment, SwitchAnswers};
use slotwise_observe::workloads::WorkloadReport;
use slotwise_scenario::Scenario;
use slotwise_units::{Duration, Instant};

use crate::run::{PhaseRun, RunArgs, report};
use crate::view::until_interrupted;
use crate::web::Watch;
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Running.
    Going,
    /// Complete.
    Over,
    /// Interrupted.
    Interrupted,
}

/// Reader of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Terminal, events and report.
    Terminal,
    /// Page: each period once.
    Page,
}

/// Time of a run, with its network.
pub trait Clock {
    /// Lets time pass until the next snapshot of the network is due; by the wall clock at most until `page` is due. Handles orders
    /// that arrive meanwhile, and adds events to `news`.
    ///
    /// # Errors
    /// The run cannot continue.
    fn advance(&mut self, news: &mut Newsroom, page: Option<time::Instant>) -> Result<State, RunError>;

    /// Returns the time of the network.
    fn now(&self) -> Instant;

    /// Returns the frames of a star that have ended since the last call, from the first phase on.
    fn frames(&mut self) -> Vec<FrameRecord>;

    /// Returns true, once per snapshot, if one is due for terminal, events and report.
    fn sample_is_due(&mut self) -> bool;

    /// Returns the state of the network, without the counts per frame.
    fn look(&mut self, reader: Reader) -> Snapshot;

    /// Returns the packets dropped so far.
    fn drops(&self) -> Vec<DropCount>;

    /// Returns the changes reported to the controller, and the faults.
    fn happened(&self) -> (&[ControllerChange], &[FaultRecord]);

    /// Returns the time at which the first phase began or will begin, if that is known.
    fn start(&self) -> Option<Instant>;

    /// Returns the address of the controller's REST server, if there is one.
    fn rest(&self) -> Option<&Rest>;

    /// Ends controller and network, after `ended`. Adds the remaining frames to `frames`.
    ///
    /// # Errors
    /// No network is left to report on.
    fn end(self, ended: Result<State, RunError>, frames: &mut Vec<FrameRecord>) -> Result<Ended, RunError>;
}

/// Results of an ended run.
pub struct Ended {
    /// The network.
    pub fabric: World,
    /// Phases that were run, the scenario's first ones.
    pub phases: Vec<PhaseRun>,
    /// Lateness, if there was a wall clock.
    pub lateness: Option<Lateness>,
    /// Latency of switches outside the process.
    pub switch_answers: Option<SwitchAnswers>,
    /// Orders to the controller.
    pub choices: Choices,
    /// Statistics of the controller process at the end.
    pub controller: Value,
    /// Statistics of the controller processes before it, and notes of those that are unknown.
    pub earlier: Earlier,
    /// Times that it was started again.
    pub controller_restarts: u32,
    /// Fairness of a ring after faults.
    pub after_faults: Vec<AfterFault>,
    /// Completions of workloads.
    pub workloads: Vec<WorkloadReport>,
    /// Recorded tables.
    pub recording: Recording,
    /// Failures apart from the network's own.
    pub failures: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Observers of a run.
pub struct Spectators {
    /// The terminal; without it nothing is sampled.
    pub view: Option<LiveView>,
    /// Readers of events.
    pub events: Events,
    /// The page.
    pub watch: Option<Watch>,
}

impl Spectators {
    /// No observers.
    pub fn none() -> Spectators {
        Spectators {
            view: None,
            events: Events::default(),
            watch: None,
        }
    }
}

/// A run under way.
pub struct Run<C> {
    clock: C,
    spectators: Spectators,
    news: Newsroom,
    progress: Progress,
    frames: Vec<FrameRecord>,
    samples: Vec<Moment>,
}

impl<C: Clock> Run<C> {
    /// Creates the run of a scenario, before its start.
    pub fn new(clock: C, scenario: &Scenario, spectators: Spectators) -> Run<C> {
        Run {
            clock,
            news: Newsroom::new(spectators.watch.is_some()),
            spectators,
            progress: Progress::new(scenario),
            frames: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Runs to the next snapshot of the network, and passes it to the observers.
    ///
    /// # Errors
    /// The run cannot continue.
    pub fn advance(&mut self) -> Result<State, RunError> {
        let page = self.spectators.watch.as_ref().map(Watch::next);
        let state = self.clock.advance(&mut self.news, page);
        for record in self.clock.frames() {
            self.progress.add(&record);
            if let Some(watch) = &mut self.spectators.watch {
                watch.add(&record);
            }
            self.frames.push(record);
        }
        let state = state?;
        self.sample();
        self.show_page();
        Ok(state)
    }

    /// Returns the time since the first phase began.
    pub fn since_start(&self) -> Duration {
        self.clock.now().saturating_since(start(&self.clock))
    }

    fn sample(&mut self) {
        let is_due = self.clock.sample_is_due();
        let Some(view) = self.spectators.view.as_mut().filter(|_| is_due) else {
            return;
        };
        let now = self.clock.look(Reader::Terminal).with(&mut self.progress);
        hear(&mut self.news, &self.clock);
        view.show(&now, self.news.recent(), || self.clock.drops());
        self.spectators.events.snapshot(&now);
        if let Some(start) = self.clock.start() {
            self.samples.push(now.moment(start));
        }
    }

    /// An update for the page, if there is one and it is due.
    fn show_page(&mut self) {
        let Some(watch) = self.spectators.watch.as_mut().filter(|watch| watch.is_due()) else {
            return;
        };
        let mut look = self.clock.look(Reader::Page);
        look.drops = self.clock.drops();
        hear(&mut self.news, &self.clock);
        watch.reach(self.clock.rest());
        watch.update(self.news.unsent(), |progress| look.with(progress));
    }

    /// Runs to the end.
    fn run(&mut self) -> Result<State, RunError> {
        loop {
            match self.advance()? {
                State::Going => {}
                ended => return Ok(ended),
            }
        }
    }

    /// Runs to the end, creates the report, and shows it until an interrupt. Returns true if the run passed. The report of a run
    /// that is interrupted, or whose controller ends, covers the time before.
    ///
    /// # Errors
    /// No network is left to report on.
    pub fn finish(
        mut self,
        command: &'static str,
        (args, home, scenario): (&RunArgs, &Home, &Scenario),
        programs: BTreeMap<&'static str, String>,
        interrupts: &Interrupts,
    ) -> Result<bool, RunError> {
        let ended = self.run();
        let heard = interrupts.count();
        let is_interrupted = heard > 0 && !matches!(ended, Ok(State::Over));
        let ended = self.clock.end(ended, &mut self.frames)?;
        let report = report((command, scenario), ended, (self.frames, self.samples), programs);
        let mut spectators = self.spectators;
        let is_well = args.finish(home, &report, &mut spectators.events);
        if let Some(watch) = spectators.watch.filter(|_| !is_interrupted) {
            watch.end(&report);
            until_interrupted(interrupts, heard);
        }
        Ok(is_well)
    }

    /// Ends a run without a report.
    ///
    /// # Errors
    /// No network is left.
    pub fn end(mut self, ended: Result<State, RunError>) -> Result<Ended, RunError> {
        self.clock.end(ended, &mut self.frames)
    }
}

/// Origin of a run's times.
fn start(clock: &impl Clock) -> Instant {
    clock.start().unwrap_or(Instant::ZERO)
}

fn hear(news: &mut Newsroom, clock: &impl Clock) {
    let (changes, faults) = clock.happened();
    news.hear(changes, faults, start(clock));
}
