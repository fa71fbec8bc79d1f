// SPDX-License-Identifier: Apache-2.0
//! Controller processes of a run: statistics of those that exited, and the longest wait for an answer.

use std::time::{Duration, Instant};

use serde_json::Value;
use slotwise_units::Instant as Moment;

use crate::controller::ControllerError;

/// Period after which a live run requests the statistics of its controller. An answer that takes longer is noted.
pub const POLL_PERIOD: Duration = Duration::from_secs(1);

/// Controller processes of a run that exited, in their order.
#[derive(Debug, Default)]
pub struct Earlier {
    /// Statistics as the processes answered last; none of those that did not.
    processes: Vec<Option<Value>>,
    /// Notes of unknown statistics.
    pub notes: Vec<String>,
}

impl Earlier {
    /// Adds a process killed at `gone`: its statistics, or why they are unknown.
    pub fn add(&mut self, gone: Moment, statistics: Result<Value, String>) {
        if let Err(reason) = &statistics {
            let gone_s = gone.since_start().seconds();
            self.notes.push(format!(
                "controller: statistics of the process killed at {gone_s:.3} s unknown: {reason}"
            ));
        }
        self.processes.push(statistics.ok());
    }

    /// Adds a process that exited by itself, with its last statistics if there are any.
    pub fn exited(&mut self, statistics: Option<Value>) {
        self.processes.push(statistics);
    }

    /// Statistics of all processes that are known.
    pub fn statistics(&self) -> impl Iterator<Item = &Value> {
        self.processes.iter().flatten()
    }

    /// Takes the last process, and returns its statistics if they are known.
    pub fn take_last(&mut self) -> Option<Value> {
        self.processes.pop().flatten()
    }
}

/// Statistics of the current process, requested periodically.
#[derive(Debug, Default)]
pub struct Poll {
    /// Counts processes: answers of those before are ignored.
    generation: u64,
    /// Time of the next request; none without a process, or before an answer.
    next: Option<Instant>,
    /// Time of the first request without an answer, also in time of the run.
    waiting: Option<(Instant, Moment)>,
    /// The last answer, with its time in the run.
    known: Option<(Value, Moment)>,
    /// The longest wait, with its start in the run.
    longest: Option<(Duration, Moment)>,
}

impl Poll {
    /// A process is ready: it is asked at once.
    pub fn ready(&mut self, now: Instant) {
        self.forget();
        self.next = Some(now);
    }

    fn forget(&mut self) {
        *self = Poll {
            generation: self.generation + 1,
            longest: self.longest,
            ..Poll::default()
        };
    }

    /// Returns the number of the process if a request is due, which is made at `at` in the run.
    pub fn due(&mut self, now: Instant, at: Moment) -> Option<u64> {
        self.next.filter(|next| *next <= now)?;
        Some(self.ask(now, at))
    }

    /// Returns the number of the process, which is asked now whether that is due or not.
    pub fn ask(&mut self, now: Instant, at: Moment) -> u64 {
        self.next = None;
        self.waiting.get_or_insert((now, at));
        self.generation
    }

    /// The process of this number has answered a request, or has not.
    pub fn answered(&mut self, generation: u64, (now, at): (Instant, Moment), answer: Result<Value, ControllerError>) {
        if generation != self.generation {
            return;
        }
        self.next = Some(now + POLL_PERIOD);
        if let Ok(statistics) = answer {
            self.known = Some((statistics, at));
            self.waited(now);
        }
    }

    /// Nothing answers any more at `now`: a wait that has begun is over.
    pub fn waited(&mut self, now: Instant) {
        let waited = self
            .waiting
            .take()
            .map(|(since, at)| (now.saturating_duration_since(since), at));
        if let Some((wait, at)) = waited
            && wait > self.longest.map_or(Duration::ZERO, |(longest, _)| longest)
        {
            self.longest = Some((wait, at));
        }
    }

    /// The process has gone, or answers no more. Returns its last statistics, and up to when they are known, in words.
    pub fn gone(&mut self) -> (Option<Value>, String) {
        let known = self.known.take();
        self.forget();
        let until = known.as_ref().map_or_else(
            || "statistics unknown".to_owned(),
            |(_, at)| format!("statistics known up to {:.1} s", at.since_start().seconds()),
        );
        (known.map(|(statistics, _)| statistics), until)
    }

    /// Notes the longest wait for an answer if that is longer than a period.
    pub fn note(&self) -> Option<String> {
        let (wait, at) = self.longest.filter(|(wait, _)| *wait > POLL_PERIOD)?;
        Some(format!(
            "controller: no answer for {:.1} s at {:.1} s (longest wait)",
            wait.as_secs_f64(),
            at.since_start().seconds()
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn s(seconds: f64) -> Moment {
        Moment::from_ns((seconds * 1e9) as u64)
    }

    fn at(start: Instant, s: f64) -> Instant {
        start + Duration::from_secs_f64(s)
    }

    fn refused() -> ControllerError {
        ControllerError::Refused {
            what: "statistics".into(),
            reason: "no response in time".into(),
        }
    }

    #[test]
    fn statistics_that_could_not_be_read_are_named() {
        let mut earlier = Earlier::default();
        earlier.add(s(1.0), Ok(json!({"frames_scheduled": 3})));
        earlier.add(s(2.0), Err("no response in time".into()));
        earlier.exited(None);
        assert!(earlier.statistics().eq([&json!({"frames_scheduled": 3})]));
        assert_eq!(
            earlier.notes,
            ["controller: statistics of the process killed at 2.000 s unknown: no response in time"]
        );
        assert_eq!(earlier.take_last(), None, "of the last process nothing is known");
    }

    #[test]
    fn a_process_is_asked_once_a_period_and_its_last_answer_stays_known() {
        let start = Instant::now();
        let mut poll = Poll::default();
        assert_eq!(poll.due(start, Moment::ZERO), None, "there is no process yet");
        poll.ready(start);
        let process = poll.due(start, Moment::ZERO).unwrap();
        assert_eq!(poll.due(at(start, 5.0), s(5.0)), None, "one request at a time");
        poll.answered(process, (at(start, 0.1), s(1.0)), Ok(json!({"frames": 1})));
        assert_eq!(poll.due(at(start, 1.0), s(1.0)), None);
        assert_eq!(poll.due(at(start, 1.1), s(1.0)), Some(process));
        poll.answered(process, (at(start, 1.2), s(2.0)), Ok(json!({"frames": 2})));
        let known = (Some(json!({"frames": 2})), "statistics known up to 2.0 s".to_owned());
        assert_eq!(poll.gone(), known);
        assert_eq!(poll.due(at(start, 60.0), s(60.0)), None, "there is no process any more");
        assert_eq!(poll.note(), None, "it answered in time as long as it was there");
        poll.ready(at(start, 61.0));
        poll.answered(process, (at(start, 62.0), s(62.0)), Ok(json!({"frames": 3})));
        assert_eq!(poll.gone(), (None, "statistics unknown".to_owned()));
    }

    #[test]
    fn the_longest_wait_is_noted_if_it_was_longer_than_a_period() {
        let start = Instant::now();
        let mut poll = Poll::default();
        poll.ready(start);
        let mut ask = |asked_s: f64, answered_s: f64, answer: Result<Value, ControllerError>| {
            let process = poll.due(at(start, asked_s), s(asked_s)).unwrap();
            poll.answered(process, (at(start, answered_s), s(answered_s)), answer);
            poll.note()
        };
        assert_eq!(ask(0.0, 1.0, Ok(json!({}))), None);
        assert_eq!(
            ask(2.0, 5.5, Ok(json!({}))).unwrap(),
            "controller: no answer for 3.5 s at 2.0 s (longest wait)"
        );
        // A wait goes on over requests that failed, and until the end.
        assert!(ask(7.0, 8.5, Err(refused())).unwrap().contains("for 3.5 s"));
        assert!(ask(10.0, 11.0, Err(refused())).unwrap().contains("for 3.5 s"));
        poll.waited(at(start, 12.0));
        assert_eq!(
            poll.note().unwrap(),
            "controller: no answer for 5.0 s at 7.0 s (longest wait)"
        );
    }
}
