// SPDX-License-Identifier: Apache-2.0
//! What happens in a run as JSON lines, for other tools (schema/event.schema.json).

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use slotwise_scenario::Scenario;

use crate::live::Snapshot;
use crate::outputs;
use crate::report::Report;
use slotwise_cli::RunError;
use slotwise_cli::notes::{note, printable};

/// Of the lines' form; a tool may refuse another one.
const VERSION: u32 = 1;

/// Where events go, if anywhere. A run does not end because they cannot be written: that is said once, and no more of them come.
#[derive(Default)]
pub struct Events {
    to: Option<(PathBuf, Box<dyn Write + Send>)>,
}

impl Events {
    /// Into a file, which is made anew, or to whoever reads a pipe; nowhere if there is none.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn into(path: Option<&Path>) -> Result<Events, RunError> {
        let open = |path: &Path| Ok::<_, RunError>((path.to_owned(), outputs::stream("--events", path)?));
        Ok(Events {
            to: path.map(open).transpose()?,
        })
    }

    /// A run begins.
    pub fn start(&mut self, command: &str, scenario: &Scenario) {
        let phases: Vec<&str> = scenario.phases.iter().map(|phase| phase.name.as_str()).collect();
        self.write(|| {
            json!({
                "event": "start", "version": VERSION, "command": command, "scenario": scenario.name, "seed": scenario.seed,
                "edges": scenario.edges.len(), "phases": phases,
            })
        });
    }

    /// How it is now.
    pub fn snapshot(&mut self, now: &Snapshot) {
        self.write(|| {
            let mut event = json!({
                "event": "snapshot", "now_ns": now.now, "end_ns": now.end, "phase": now.phase.name,
                "violations": now.violations,
            });
            if now.edges > 0 {
                let row = |of: fn(&crate::live::PairNow) -> f64| -> Vec<Vec<f64>> {
                    now.pairs.chunks(now.edges).map(|row| row.iter().map(of).collect()).collect()
                };
                event["slots"] = json!(row(|pair| pair.slots));
                event["goodput_bps"] = json!(row(|pair| pair.goodput_bps));
                event["star_bps"] = json!(now.stars);
            }
            let links = now.links();
            if !links.is_empty() {
                let link = |link: &crate::live::LinkNow| {
                    json!({"name": link.name, "utilization": link.utilization, "queue_bytes": link.queue_bytes})
                };
                event["links"] = links.iter().map(link).collect();
            }
            if !now.sessions.is_empty() {
                let session = |session: &crate::sessions::SessionNow| {
                    json!({"name": session.name, "rate_bps": session.rate_bps, "fair_bps": session.fair_bps})
                };
                event["sessions"] = now.sessions.iter().map(session).collect();
            }
            if let Some(lateness) = now.lateness_p99 {
                event["lateness_p99_ns"] = json!(lateness);
            }
            event
        });
    }

    /// Of an experiment: so much of its runs' time was simulated.
    pub fn simulated(&mut self, done_ms: u64, total_ms: u64) {
        self.write(|| json!({"event": "simulated", "done_ms": done_ms, "total_ms": total_ms}));
    }

    /// Of an experiment: a run is over.
    pub fn run(&mut self, run: &str, how: &str) {
        self.write(|| json!({"event": "run", "run": run, "how": how}));
    }

    /// A run is over and has come to a report; why that could not be written, if it could not.
    pub fn end(&mut self, report: &Report, not_written: &[String]) {
        let failures: Vec<&String> = report.verdict.failures.iter().chain(not_written).collect();
        let is_ok = report.verdict.ok && not_written.is_empty();
        self.write(|| json!({"event": "end", "ok": is_ok, "failures": failures}));
    }

    /// An experiment is over: how its facts came out, and where its report is. A fact that misses its band is a result, too.
    pub fn judged(&mut self, counts: &impl Serialize, report: &Path) {
        self.write(|| json!({"event": "end", "ok": true, "counts": counts, "report": report}));
    }

    fn write(&mut self, event: impl FnOnce() -> Value) {
        let Some((path, to)) = &mut self.to else {
            return;
        };
        let line = format!("{}\n", event());
        if let Err(error) = to.write_all(line.as_bytes()).and_then(|()| to.flush()) {
            note!(
                "slotwise: --events {}: cannot be written: {error}; no further events",
                printable(&path.display().to_string())
            );
            self.to = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_written_at_once_into_a_new_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("events");
        fs::write(&path, "before").unwrap();
        let mut events = Events::into(Some(&path)).unwrap();
        events.simulated(1, 2);
        events.run("a seed 1", "done");
        let lines = fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], json!({"event": "simulated", "done_ms": 1, "total_ms": 2}));
        assert_eq!(lines[1], json!({"event": "run", "run": "a seed 1", "how": "done"}));
    }

    #[test]
    fn a_full_disk_ends_the_events_and_nothing_else() {
        let mut events = Events::into(Some(Path::new("/dev/full"))).unwrap();
        events.simulated(1, 2);
        assert!(events.to.is_none());
        events.simulated(2, 2);
    }

    #[test]
    fn what_cannot_be_opened_is_said_with_the_option() {
        let error = Events::into(Some(Path::new("/nowhere/events"))).err().unwrap();
        assert!(
            error
                .to_string()
                .starts_with("--events /nowhere/events: cannot be written: "),
            "{error}"
        );
        assert!(Events::into(None).unwrap().to.is_none());
    }
}
