// SPDX-License-Identifier: Apache-2.0
//! Where the fabric's thread was, kept for a moment, so that a late slot can be told what made it late.

use std::collections::VecDeque;

use slotwise_netio::ThreadUse;
use slotwise_units::{Duration, Instant};

use slotwise_observe::lateness::Cause;

/// What the thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Something; if a slot is late then, this is why.
    Busy(Cause),
    /// It rests until the wall clock says this.
    Rest {
        /// Time at which it wants to be woken.
        until: Instant,
    },
}

/// From this length on it is worth two system calls to learn whether the thread had the CPU.
const LONG: Duration = Duration::from_us(15);

/// Spans looked back at. A busy loop makes some six in 10 us; long spans are what matters.
const REMEMBERED: usize = 256;

/// Time with one cause.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: Instant,
    end: Instant,
    cause: Cause,
}

/// The thread's account of its time.
pub struct Account<U> {
    usage: U,
    activity: Activity,
    since: Instant,
    spans: VecDeque<Span>,
    /// When the kernel was last asked, and what it said.
    asked: Instant,
    used: ThreadUse,
    /// Of the time since then, at rest.
    rested: Duration,
}

impl<U: FnMut() -> ThreadUse> Account<U> {
    /// Begins with events; `usage` asks the kernel for what the thread has used.
    pub fn new(now: Instant, mut usage: U) -> Account<U> {
        Account {
            used: usage(),
            usage,
            activity: Activity::Busy(Cause::Events),
            since: now,
            spans: VecDeque::with_capacity(REMEMBERED),
            asked: now,
            rested: Duration::ZERO,
        }
    }

    /// From now on the thread does something else.
    pub fn turn_to(&mut self, now: Instant, activity: Activity) {
        let start = self.since;
        match self.activity {
            Activity::Rest { until } => {
                self.rested += now - start;
                self.note(until.clamp(start, now), now, Cause::WokenLate);
            }
            Activity::Busy(cause) if now - start < LONG => self.note(start, now, cause),
            Activity::Busy(cause) => self.note_long(start, now, cause),
        }
        self.activity = activity;
        self.since = now;
    }

    /// A span that long was either work, or somebody else had the CPU.
    fn note_long(&mut self, start: Instant, now: Instant, cause: Cause) {
        let used = (self.usage)();
        let had = used.cpu.saturating_sub(self.used.cpu) + self.rested;
        let without = (now - self.asked).saturating_sub(had).min(now - start);
        let other = if used.preemptions > self.used.preemptions {
            Cause::Preempted
        } else {
            Cause::Stopped
        };
        self.note(start, now - without, cause);
        self.note(now - without, now, other);
        self.used = used;
        self.asked = now;
        self.rested = Duration::ZERO;
    }

    fn note(&mut self, start: Instant, end: Instant, cause: Cause) {
        if end == start {
            return;
        }
        if self.spans.len() == REMEMBERED {
            self.spans.pop_front();
        }
        self.spans.push_back(Span { start, end, cause });
    }

    /// What took most of the time since `due`; the last of equals.
    pub fn blame(&self, due: Instant) -> Cause {
        let mut sums = [Duration::ZERO; Cause::ALL.len()];
        for span in self.spans.iter().rev().take_while(|span| span.end > due) {
            sums[span.cause as usize] += span.end - span.start.max(due);
        }
        let causes = Cause::ALL.into_iter();
        causes
            .max_by_key(|&cause| sums[cause as usize])
            .expect("there are causes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: Activity = Activity::Busy(Cause::Events);
    const SEND: Activity = Activity::Busy(Cause::Send);

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    /// An account whose kernel says one of `answers` after the other.
    fn account(answers: &[(u64, u64)]) -> Account<impl FnMut() -> ThreadUse> {
        let mut answers = answers.to_vec().into_iter();
        let usage = move || {
            let (cpu_ns, preemptions) = answers.next().expect("it asks no more often");
            ThreadUse {
                cpu: Duration::from_ns(cpu_ns),
                preemptions,
                faults: 0,
            }
        };
        Account::new(Instant::ZERO, usage)
    }

    #[test]
    fn what_took_longest_is_to_blame() {
        let mut account = account(&[(0, 0)]);
        account.turn_to(at(1_000), SEND);
        account.turn_to(at(8_000), EVENTS);
        account.turn_to(at(9_000), SEND);
        assert_eq!(account.blame(at(0)), Cause::Send);
        assert_eq!(account.blame(at(8_000)), Cause::Events, "only what came later counts");
    }

    #[test]
    fn long_work_is_told_from_a_cpu_that_others_had() {
        let mut account = account(&[(0, 0), (90_000, 0), (100_000, 0), (110_000, 1)]);
        account.turn_to(at(100_000), EVENTS);
        assert_eq!(account.blame(at(0)), Cause::Events, "it had the CPU for 90 of 100 us");
        account.turn_to(at(300_000), EVENTS);
        assert_eq!(account.blame(at(100_000)), Cause::Stopped);
        account.turn_to(at(500_000), EVENTS);
        assert_eq!(account.blame(at(300_000)), Cause::Preempted);
        assert_eq!(account.blame(at(0)), Cause::Stopped, "of two equals");
    }

    #[test]
    fn rest_is_no_delay_but_waking_up_late_is() {
        let mut account = account(&[(0, 0), (20_000, 0)]);
        account.turn_to(at(0), Activity::Rest { until: at(100_000) });
        account.turn_to(at(130_000), EVENTS);
        assert_eq!(account.blame(at(0)), Cause::WokenLate);
        account.turn_to(at(150_000), EVENTS);
        assert_eq!(
            account.blame(at(130_000)),
            Cause::Events,
            "idle time is not counted as stopped time"
        );
    }
}
