// SPDX-License-Identifier: Apache-2.0
//! The phases of a scenario with hosts, one after the other, and the view of them.

use std::time::Instant;

use serde_json::json;
use slotwise_scenario::{Phase, Scenario};

use super::{Emulation, Running, VIEW_PERIOD};
use crate::live::{LiveView, Snapshot};
use crate::progress::Progress;
use crate::run::RunError;

const NS_PER_MS: u64 = 1_000_000;

impl Emulation<'_> {
    pub(super) fn run_phases(&mut self, running: &mut Running) -> Result<(), RunError> {
        let mut view = LiveView::new();
        let mut progress = Progress::new(self.scenario);
        let mut next_view = Instant::now() + VIEW_PERIOD;
        for (index, phase) in self.scenario.phases.iter().enumerate() {
            if let Some(hosts) = &mut running.hosts {
                hosts.send(&json!({"command": "phase", "index": index, "duration_ms": phase.duration_ms}))?;
            }
            loop {
                let before = running.frames.len();
                let over = self.listen(running, next_view.saturating_duration_since(Instant::now()))?;
                running.frames[before..].iter().for_each(|record| progress.add(record));
                if self.interrupted {
                    return Ok(());
                }
                if Instant::now() >= next_view {
                    next_view += VIEW_PERIOD;
                    view.show(&self.snapshot(running, &mut progress, index));
                }
                if over {
                    break;
                }
            }
        }
        Ok(())
    }

    fn snapshot(&self, running: &Running, progress: &mut Progress, phase: usize) -> Snapshot {
        let started_ns: Vec<u64> = running.phases.iter().map(|phase| phase.start_ns).collect();
        let (now_ns, end_ns) = schedule_ns(self.scenario, &started_ns, running.fabric.now_ns());
        Snapshot {
            violations: running.fabric.violations(),
            lateness_p99_ns: Some(running.fabric.lateness_p99_ns()),
            ..progress.snapshot(now_ns, end_ns, phase)
        }
    }
}

/// How long a run has lasted and will have lasted at its end, as things stand at `now_ns`, if its first phases started at `started_ns`.
/// A phase goes on until its files have arrived.
fn schedule_ns(scenario: &Scenario, started_ns: &[u64], now_ns: u64) -> (u64, u64) {
    let planned_ns = |phases: &[Phase]| phases.iter().map(|phase| phase.duration_ms * NS_PER_MS).sum::<u64>();
    let (Some(first_ns), Some(last_ns)) = (started_ns.first(), started_ns.last()) else {
        return (0, planned_ns(&scenario.phases));
    };
    let (begun, to_come) = scenario.phases.split_at(started_ns.len());
    let this_ns = planned_ns(&begun[begun.len() - 1..]).max(now_ns - last_ns);
    (now_ns - first_ns, last_ns - first_ns + this_ns + planned_ns(to_come))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_never_lasts_longer_than_it_is_said_to() {
        const S: u64 = 1_000_000_000;
        // 6, 6 and 10 s.
        let star = Scenario::parse(include_bytes!("../../../../../topologies/star4.yaml")).unwrap();
        let at = |started_s: &[u64], now_s: u64| {
            let started_ns: Vec<u64> = started_s.iter().map(|s| s * S).collect();
            let (now_ns, end_ns) = schedule_ns(&star, &started_ns, now_s * S);
            (now_ns / S, end_ns / S)
        };
        assert_eq!(at(&[], 3), (0, 22));
        assert_eq!(at(&[4], 7), (3, 22));
        assert_eq!(at(&[4, 11], 12), (8, 23), "the first took 7 s");
        assert_eq!(at(&[4, 11, 18], 30), (26, 26), "the last takes longer than planned");
    }
}
