// SPDX-License-Identifier: Apache-2.0
//! The phases of a scenario with hosts, one after the other, and the view of them.

use std::time::{Duration, Instant};

use serde_json::json;
use slotwise_observe::live::{LiveView, Snapshot};
use slotwise_observe::progress::Progress;
use slotwise_observe::series::PeriodNow;
use slotwise_units as units;

use super::{Emulation, Running, VIEW_PERIOD};
use crate::web::Watch;
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

impl Emulation<'_> {
    pub(super) fn run_phases(&mut self, running: &mut Running) -> Result<(), RunError> {
        let mut view = LiveView::new();
        let mut progress = Progress::new(&self.network.scenario);
        let mut next_view = Instant::now() + VIEW_PERIOD;
        for (index, (name, duration_ms)) in self.network.phases().into_iter().enumerate() {
            let sent = Instant::now();
            if let Some(hosts) = &mut running.hosts {
                hosts.send(&json!({
                    "command": "phase",
                    "index": index,
                    "patience_ms": patience(duration_ms).as_millis() as u64,
                }))?;
            }
            loop {
                let before = running.frames.len();
                let next = self
                    .watch
                    .as_ref()
                    .map_or(next_view, |watch| watch.next().min(next_view));
                let over = self.listen(running, next.saturating_duration_since(Instant::now()))?;
                running.frames[before..].iter().for_each(|record| progress.add(record));
                self.tell_of_interfaces(running);
                if self.interrupted {
                    return Ok(());
                }
                if Instant::now() >= next_view {
                    next_view += VIEW_PERIOD;
                    let now = self.look(running, index, running.period.clone()).with(&mut progress);
                    self.hear(running);
                    view.show(&now, running.news.recent(), || running.fabric.drops());
                    self.events.snapshot(&now);
                    if let Some(first) = running.phases.first() {
                        running.moments.push(now.moment(first.start));
                    }
                }
                self.show_page(running, index);
                if over {
                    break;
                }
                overdue(&name, duration_ms, sent, Instant::now())?;
            }
        }
        Ok(())
    }

    /// What is to be seen now but for what was counted since the last look.
    fn look(&self, running: &Running, phase_index: usize, period: PeriodNow) -> Snapshot {
        let started: Vec<units::Instant> = running.phases.iter().map(|phase| phase.start).collect();
        let phases = self.network.phases();
        let lengths = phases
            .iter()
            .map(|(_, duration_ms)| units::Duration::from_ms(*duration_ms));
        let lengths: Vec<units::Duration> = lengths.collect();
        let (now, end) = schedule(&lengths, &started, running.now());
        Snapshot {
            now,
            end,
            phase_index,
            tables: period.tables,
            sessions: period.sessions,
            violations: running.fabric.violations(),
            lateness_p99: Some(running.fabric.lateness_p99()),
            first_light: running.fabric.first_light(),
            ..Snapshot::default()
        }
    }

    fn hear(&self, running: &mut Running) {
        let start = running.start();
        running.news.hear(&self.choices.changes, &[], start);
    }

    /// An update for the page, if there is one and it is due.
    pub(super) fn show_page(&mut self, running: &mut Running, phase: usize) {
        if !self.watch.as_ref().is_some_and(Watch::is_due) {
            return;
        }
        let period = std::mem::take(&mut running.new_period);
        let mut look = self.look(running, phase, period);
        look.drops = running.fabric.drops();
        self.hear(running);
        let Some(watch) = &mut self.watch else { return };
        watch.reach(self.calls.rest());
        watch.update(running.news.unsent(), |progress| look.with(progress));
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
