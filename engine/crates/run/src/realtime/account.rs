// SPDX-License-Identifier: Apache-2.0
//! Where the fabric's thread was, kept for a moment, so that a late slot can be told what made it late.

use std::collections::VecDeque;

use slotwise_netio::ThreadUse;

use slotwise_observe::lateness::Cause;

/// What the thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Something; if a slot is late then, this is why.
    Busy(Cause),
    /// It rests until the wall clock says this.
    Rest {
        /// When it wants to be woken.
        until_ns: u64,
    },
}

/// From this length on it is worth two system calls to learn whether the thread had the CPU.
const LONG_NS: u64 = 15_000;

/// Spans looked back at. A busy loop makes some six in 10 us; long spans are what matters.
const REMEMBERED: usize = 256;

/// Time with one cause.
#[derive(Debug, Clone, Copy)]
struct Span {
    start_ns: u64,
    end_ns: u64,
    cause: Cause,
}

/// The thread's account of its time.
pub struct Account<U> {
    usage: U,
    activity: Activity,
    since_ns: u64,
    spans: VecDeque<Span>,
    /// When the kernel was last asked, and what it said.
    asked_ns: u64,
    used: ThreadUse,
    /// Of the time since then, at rest.
    rested_ns: u64,
}

impl<U: FnMut() -> ThreadUse> Account<U> {
    /// Begins with events; `usage` asks the kernel for what the thread has used.
    pub fn new(now_ns: u64, mut usage: U) -> Account<U> {
        Account {
            used: usage(),
            usage,
            activity: Activity::Busy(Cause::Events),
            since_ns: now_ns,
            spans: VecDeque::with_capacity(REMEMBERED),
            asked_ns: now_ns,
            rested_ns: 0,
        }
    }

    /// From now on the thread does something else.
    pub fn turn_to(&mut self, now_ns: u64, activity: Activity) {
        let start_ns = self.since_ns;
        match self.activity {
            Activity::Rest { until_ns } => {
                self.rested_ns += now_ns - start_ns;
                self.note(until_ns.clamp(start_ns, now_ns), now_ns, Cause::WokenLate);
            }
            Activity::Busy(cause) if now_ns - start_ns < LONG_NS => self.note(start_ns, now_ns, cause),
            Activity::Busy(cause) => self.note_long(start_ns, now_ns, cause),
        }
        self.activity = activity;
        self.since_ns = now_ns;
    }

    /// A span that long was either work, or somebody else had the CPU.
    fn note_long(&mut self, start_ns: u64, now_ns: u64, cause: Cause) {
        let used = (self.usage)();
        let had_ns = used.cpu.ns().saturating_sub(self.used.cpu.ns()) + self.rested_ns;
        let without_ns = (now_ns - self.asked_ns).saturating_sub(had_ns).min(now_ns - start_ns);
        let other = if used.preemptions > self.used.preemptions {
            Cause::Preempted
        } else {
            Cause::Stopped
        };
        self.note(start_ns, now_ns - without_ns, cause);
        self.note(now_ns - without_ns, now_ns, other);
        self.used = used;
        self.asked_ns = now_ns;
        self.rested_ns = 0;
    }

    fn note(&mut self, start_ns: u64, end_ns: u64, cause: Cause) {
        if end_ns == start_ns {
            return;
        }
        if self.spans.len() == REMEMBERED {
            self.spans.pop_front();
        }
        self.spans.push_back(Span {
            start_ns,
            end_ns,
            cause,
        });
    }

    /// What took most of the time since `due_ns`; the last of equals.
    pub fn blame(&self, due_ns: u64) -> Cause {
        let mut sums_ns = [0; Cause::ALL.len()];
        for span in self.spans.iter().rev().take_while(|span| span.end_ns > due_ns) {
            sums_ns[span.cause as usize] += span.end_ns - span.start_ns.max(due_ns);
        }
        let causes = Cause::ALL.into_iter();
        causes
            .max_by_key(|&cause| sums_ns[cause as usize])
            .expect("there are causes")
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Duration;

    use super::*;

    const EVENTS: Activity = Activity::Busy(Cause::Events);
    const SEND: Activity = Activity::Busy(Cause::Send);

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
        Account::new(0, usage)
    }

    #[test]
    fn what_took_longest_is_to_blame() {
        let mut account = account(&[(0, 0)]);
        account.turn_to(1_000, SEND);
        account.turn_to(8_000, EVENTS);
        account.turn_to(9_000, SEND);
        assert_eq!(account.blame(0), Cause::Send);
        assert_eq!(account.blame(8_000), Cause::Events, "only what came later counts");
    }

    #[test]
    fn long_work_is_told_from_a_cpu_that_others_had() {
        let mut account = account(&[(0, 0), (90_000, 0), (100_000, 0), (110_000, 1)]);
        account.turn_to(100_000, EVENTS);
        assert_eq!(account.blame(0), Cause::Events, "it had the CPU for 90 of 100 us");
        account.turn_to(300_000, EVENTS);
        assert_eq!(account.blame(100_000), Cause::Stopped);
        account.turn_to(500_000, EVENTS);
        assert_eq!(account.blame(300_000), Cause::Preempted);
        assert_eq!(account.blame(0), Cause::Stopped, "of two equals");
    }

    #[test]
    fn rest_is_no_delay_but_waking_up_late_is() {
        let mut account = account(&[(0, 0), (20_000, 0)]);
        account.turn_to(0, Activity::Rest { until_ns: 100_000 });
        account.turn_to(130_000, EVENTS);
        assert_eq!(account.blame(0), Cause::WokenLate);
        account.turn_to(150_000, EVENTS);
        assert_eq!(
            account.blame(130_000),
            Cause::Events,
            "idle time is not counted as stopped time"
        );
    }
}
