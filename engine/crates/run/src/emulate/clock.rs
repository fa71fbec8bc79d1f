// SPDX-License-Identifier: Apache-2.0
//! The wall clock of a live run, and the sequence of its scenario's phases.

use std::time::{Duration, Instant};

use serde_json::json;
use slotwise_control::rest::Rest;
use slotwise_kinds::{FaultRecord, FrameRecord};
use slotwise_observe::changes::ControllerChange;
use slotwise_observe::live::Snapshot;
use slotwise_observe::news::Newsroom;
use slotwise_observe::report::DropCount;
use slotwise_units as units;

use super::{Emulation, Running, VIEW_PERIOD};
use crate::driver::{Clock, Ended, Reader, State};
use slotwise_cli::RunError;

/// The host agent gives up a phase that takes this many times its duration, and not less than the least time.
const PATIENCE: u32 = 10;
const LEAST_PATIENCE: Duration = Duration::from_secs(30);
/// Time for the agent to report a phase that it gave up.
const REPORT_PATIENCE: Duration = Duration::from_secs(10);

/// Time after which the host agent gives up a phase.
fn patience(duration_ms: u64) -> Duration {
    Duration::from_millis(duration_ms)
        .saturating_mul(PATIENCE)
        .max(LEAST_PATIENCE)
}

/// Error for a phase sent to the host agent at `sent` whose end it has not reported in time by `now`.
fn overdue(phase: &str, duration_ms: u64, sent: Instant, now: Instant) -> Result<(), String> {
    let patience = patience(duration_ms) + REPORT_PATIENCE;
    match now.saturating_duration_since(sent) > patience {
        false => Ok(()),
        true => Err(format!(
            "hosts: no answer in time: phase '{phase}' of {:.1} s not over after {} s",
            duration_ms as f64 / 1e3,
            patience.as_secs()
        )),
    }
}

/// A live run, whose network is on a thread of its own ([`crate::realtime`]).
pub(super) struct Wall<'a> {
    emulation: Emulation<'a>,
    running: Running,
    /// Phase whose flows hosts generate.
    phase: usize,
    /// Time at which hosts were ordered to start it.
    sent: Option<Instant>,
    is_phase_over: bool,
    next_sample: Instant,
}

impl<'a> Wall<'a> {
    pub(super) fn new(emulation: Emulation<'a>, running: Running) -> Wall<'a> {
        Wall {
            emulation,
            running,
            phase: 0,
            sent: None,
            is_phase_over: false,
            next_sample: Instant::now() + VIEW_PERIOD,
        }
    }

    /// Starts the next phase at the hosts, if the one before is over. Returns its start.
    fn begin_phase(&mut self, duration_ms: u64) -> Result<Instant, RunError> {
        if let Some(sent) = self.sent {
            return Ok(sent);
        }
        if let Some(hosts) = &mut self.running.hosts {
            hosts.send(&json!({
                "command": "phase",
                "index": self.phase,
                "patience_ms": patience(duration_ms).as_millis() as u64,
            }))?;
        }
        Ok(*self.sent.insert(Instant::now()))
    }
}

impl Clock for Wall<'_> {
    fn advance(&mut self, news: &mut Newsroom, page: Option<Instant>) -> Result<State, RunError> {
        let phases = self.emulation.network.phases();
        if std::mem::take(&mut self.is_phase_over) {
            (self.phase, self.sent) = (self.phase + 1, None);
        }
        let (name, duration_ms) = &phases[self.phase];
        let sent = self.begin_phase(*duration_ms)?;
        let next = page.map_or(self.next_sample, |page| page.min(self.next_sample));
        let patience = next.saturating_duration_since(Instant::now());
        self.is_phase_over = self.emulation.listen(&mut self.running, news, patience)?;
        self.emulation.tell_of_interfaces(&self.running);
        let has_hosts = self.running.hosts.is_some();
        if self.emulation.interrupts.count() > 0 {
            // In a run with attached interfaces, the user ends it in this manner.
            return Ok(if has_hosts { State::Interrupted } else { State::Over });
        }
        if self.is_phase_over && self.phase + 1 == phases.len() {
            return Ok(State::Over);
        }
        if has_hosts && !self.is_phase_over {
            overdue(name, *duration_ms, sent, Instant::now())?;
        }
        Ok(State::Going)
    }

    fn now(&self) -> units::Instant {
        self.running.now()
    }

    fn frames(&mut self) -> Vec<FrameRecord> {
        let frames = self.running.fabric.frames();
        match self.running.phases.is_empty() {
            true => {
                frames.for_each(drop);
                Vec::new()
            }
            false => frames.collect(),
        }
    }

    fn sample_is_due(&mut self) -> bool {
        let is_due = Instant::now() >= self.next_sample;
        if is_due {
            self.next_sample += VIEW_PERIOD;
        }
        is_due
    }

    fn look(&mut self, reader: Reader) -> Snapshot {
        let running = &mut self.running;
        let period = match reader {
            Reader::Terminal => running.period.clone(),
            Reader::Page => std::mem::take(&mut running.new_period),
        };
        let started: Vec<units::Instant> = running.phases.iter().map(|phase| phase.start).collect();
        let phases = self.emulation.network.phases();
        let lengths = phases
            .iter()
            .map(|(_, duration_ms)| units::Duration::from_ms(*duration_ms));
        let lengths: Vec<units::Duration> = lengths.collect();
        let (now, end) = schedule(&lengths, &started, running.now());
        Snapshot {
            now,
            end,
            phase_index: self.phase,
            tables: period.tables,
            sessions: period.sessions,
            violations: running.fabric.violations(),
            lateness_p99: Some(running.fabric.lateness_p99()),
            grant_latency: running.fabric.grant_latency(),
            ..Snapshot::default()
        }
    }

    fn drops(&self) -> Vec<DropCount> {
        self.running.fabric.drops()
    }

    fn happened(&self) -> (&[ControllerChange], &[FaultRecord]) {
        (&self.emulation.choices.changes, &[])
    }

    fn start(&self) -> Option<units::Instant> {
        self.running.phases.first().map(|phase| phase.start)
    }

    fn rest(&self) -> Option<&Rest> {
        self.emulation.calls.rest()
    }

    /// Reports the run up to an error, unless no network is left.
    fn end(self, ended: Result<State, RunError>, frames: &mut Vec<FrameRecord>) -> Result<Ended, RunError> {
        let Wall {
            mut emulation, running, ..
        } = self;
        let failure = match ended {
            Ok(State::Interrupted) => Some("interrupted".to_owned()),
            Ok(_) => None,
            Err(error) if running.fabric.has_ended() => return Err(emulation.cause(running, error)),
            Err(error) => Some(error.to_string()),
        };
        emulation.finish(running, failure, frames)
    }
}

/// How long a run has lasted and will have lasted at its end, as things stand now, if its first phases have started and all are to
/// be as long as planned. A phase goes on until its files have arrived.
fn schedule(
    planned: &[units::Duration],
    started: &[units::Instant],
    now: units::Instant,
) -> (units::Duration, units::Duration) {
    let (Some(&first), Some(&last)) = (started.first(), started.last()) else {
        return (units::Duration::ZERO, planned.iter().copied().sum());
    };
    let (begun, to_come) = planned.split_at(started.len());
    let this = begun[begun.len() - 1].max(now - last);
    (
        now - first,
        last - first + this + to_come.iter().copied().sum::<units::Duration>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_does_not_answer_has_a_bound_by_the_phase() {
        let sent = Instant::now();
        let after = |s| sent + Duration::from_secs(s);
        assert_eq!(patience(1), Duration::from_secs(30));
        assert_eq!(
            overdue("short", 1, sent, after(40)),
            Ok(()),
            "the agent itself gives up"
        );
        assert_eq!(
            overdue("short", 1, sent, after(41)).unwrap_err(),
            "hosts: no answer in time: phase 'short' of 0.0 s not over after 40 s"
        );
        assert_eq!(overdue("long", 60_000, sent, after(610)), Ok(()));
        assert!(overdue("long", 60_000, sent, after(611)).is_err());
        assert!(overdue("endless", u64::MAX, sent, after(1 << 30)).is_ok());
    }

    #[test]
    fn a_run_never_lasts_longer_than_it_is_said_to() {
        let planned = [6, 6, 10].map(units::Duration::from_s);
        let second = |s| units::Instant::ZERO + units::Duration::from_s(s);
        let at = |started_s: &[u64], now_s: u64| {
            let started: Vec<units::Instant> = started_s.iter().map(|s| second(*s)).collect();
            let (now, end) = schedule(&planned, &started, second(now_s));
            (now / units::Duration::from_s(1), end / units::Duration::from_s(1))
        };
        assert_eq!(at(&[], 3), (0, 22));
        assert_eq!(at(&[4], 7), (3, 22));
        assert_eq!(at(&[4, 11], 12), (8, 23), "the first took 7 s");
        assert_eq!(at(&[4, 11, 18], 30), (26, 26), "the last takes longer than planned");
    }
}
