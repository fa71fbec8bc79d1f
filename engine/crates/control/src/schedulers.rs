// SPDX-License-Identifier: Apache-2.0
//! Schedulers that gave no schedule, by the statistics of all controller processes of a run.

use std::collections::BTreeMap;

use serde_json::Value;

/// Frames of a scheduler over all processes.
#[derive(Debug, Default)]
struct Record {
    frames: u64,
    failures: u64,
    first: Option<String>,
    last: Option<String>,
}

impl Record {
    /// Reasons of the failures: the first one, and the last one if it differs.
    fn reasons(&self) -> String {
        let first = self.first.as_deref().unwrap_or("unknown reason");
        match self.last.as_deref().filter(|last| *last != first) {
            Some(last) => format!("{first}; last: {last}"),
            None => first.to_owned(),
        }
    }
}

/// Failures of schedulers in a run.
#[derive(Debug, Default, PartialEq)]
pub struct Unscheduled {
    /// Schedulers that never gave a schedule.
    pub failures: Vec<String>,
    /// Schedulers that gave none in some of their frames.
    pub notes: Vec<String>,
}

/// Returns how often schedulers failed, by the statistics of the processes of a run's controller in their order.
pub fn unscheduled<'v>(processes: impl IntoIterator<Item = &'v Value>) -> Unscheduled {
    let mut records: BTreeMap<&str, Record> = BTreeMap::new();
    for process in processes {
        for called in listed(process, "schedulers") {
            records.entry(name_of(called)).or_default().frames += called["frames"].as_u64().unwrap_or_default();
        }
        for failed in listed(process, "failed_schedulers") {
            let record = records.entry(name_of(failed)).or_default();
            let reason = |key: &str| failed[key].as_str().map(str::to_owned);
            record.failures += failed["failures"].as_u64().unwrap_or_default();
            record.first = record.first.take().or_else(|| reason("first_failure"));
            record.last = reason("last_failure").or(record.last.take());
        }
    }
    let mut found = Unscheduled::default();
    for (name, record) in records.iter().filter(|(_, record)| record.failures > 0) {
        let (frames, failures, reasons) = (record.frames, record.failures, record.reasons());
        if failures == frames {
            found.failures.push(format!(
                "scheduler '{name}': no schedule in any of its {frames} frames: {reasons}"
            ));
        } else {
            found.notes.push(format!(
                "scheduler '{name}': no schedule in {failures} of its {frames} frames, the previous one stayed active: {reasons}"
            ));
        }
    }
    found
}

fn listed<'v>(process: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    process[key].as_array().into_iter().flatten()
}

fn name_of(scheduler: &Value) -> &str {
    scheduler["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn process(schedulers: &[(&str, u64)], failed: &[(&str, u64, &str, &str)]) -> Value {
        let called = schedulers
            .iter()
            .map(|(name, frames)| json!({"name": name, "frames": frames}));
        let frames = |wanted: &str| schedulers.iter().find(|(name, _)| *name == wanted).unwrap().1;
        let failed = failed.iter().map(|(name, failures, first, last)| {
            json!({"name": name, "frames": frames(name), "failures": failures, "first_failure": first, "last_failure": last})
        });
        json!({"schedulers": called.collect::<Vec<_>>(), "failed_schedulers": failed.collect::<Vec<_>>()})
    }

    #[test]
    fn a_run_without_failures_has_nothing_to_report() {
        let external = Value::Null;
        assert_eq!(unscheduled([&external]), Unscheduled::default());
        assert_eq!(unscheduled([&process(&[("fair", 7)], &[])]), Unscheduled::default());
    }

    #[test]
    fn a_scheduler_that_never_gave_a_schedule_fails_the_run_and_others_are_noted() {
        let found = unscheduled([&process(
            &[("late", 9), ("mine", 7)],
            &[("late", 2, "too late", "too late"), ("mine", 7, "no class", "closed")],
        )]);
        assert_eq!(
            found.failures,
            ["scheduler 'mine': no schedule in any of its 7 frames: no class; last: closed"]
        );
        assert_eq!(
            found.notes,
            ["scheduler 'late': no schedule in 2 of its 9 frames, the previous one stayed active: too late"]
        );
    }

    #[test]
    fn failures_of_a_process_that_has_gone_count() {
        let gone = process(&[("mine", 7)], &[("mine", 7, "no class", "closed")]);
        let after = process(&[("fair", 100)], &[]);
        assert_eq!(
            unscheduled([&gone, &after]).failures,
            ["scheduler 'mine': no schedule in any of its 7 frames: no class; last: closed"]
        );
        let again = process(&[("mine", 3)], &[("mine", 3, "no file", "stopped")]);
        assert_eq!(
            unscheduled([&gone, &after, &again]).failures,
            ["scheduler 'mine': no schedule in any of its 10 frames: no class; last: stopped"]
        );
    }

    #[test]
    fn a_scheduler_that_worked_in_another_process_does_not_fail_the_run() {
        let gone = process(&[("mine", 1)], &[("mine", 1, "slow start", "slow start")]);
        let after = process(&[("mine", 20)], &[]);
        let found = unscheduled([&gone, &after]);
        assert_eq!(found.failures, [""; 0]);
        assert_eq!(
            found.notes,
            ["scheduler 'mine': no schedule in 1 of its 21 frames, the previous one stayed active: slow start"]
        );
    }
}
