// SPDX-License-Identifier: Apache-2.0
//! When the fabric's thread rests.
//!
//! Being woken costs a machine tens of microseconds, a virtual one more, so a thread with a CPU of its own looks at the clock and at
//! its ports instead of sleeping. But the kernel stops real-time threads for 50 ms when they have had 950 ms of a second, and
//! other threads of that CPU want some time. So it rests a little more than that, preferably while nothing is due.

/// Part of the time that is rest, in percent.
const REST_PERCENT: u64 = 9;
/// A rest ends so long before the next event: waking up takes time.
const WAKE_NS: u64 = 15_000;
/// Shortest rest worth its two system calls.
const SHORTEST_NS: u64 = 10_000;
/// A rest is cut in pieces, since frames of hosts may come that nobody would be woken by.
const LONGEST_NS: u64 = 250_000;
/// With so much owed it rests although something is due, so as not to be stopped for longer.
const MOST_OWED_NS: i64 = 10_000_000;
/// Rest in advance counts up to this: the kernel counts by the second.
const MOST_SAVED_NS: i64 = 3_000_000;

/// A rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// When it ends.
    pub until_ns: u64,
    /// Whatever comes: it is owed.
    pub is_forced: bool,
}

/// Says when to rest.
pub struct Pace {
    last_ns: u64,
    /// Rest due, negative if there was more of it.
    owed_ns: i64,
}

impl Pace {
    /// Nothing is owed at `now_ns`.
    pub fn new(now_ns: u64) -> Pace {
        Pace {
            last_ns: now_ns,
            owed_ns: 0,
        }
    }

    /// Until when to rest, with nothing due before `next_ns`; `None` to go on.
    pub fn rest(&mut self, now_ns: u64, next_ns: u64) -> Option<Rest> {
        self.owed_ns += ((now_ns - self.last_ns) * REST_PERCENT / 100) as i64;
        self.last_ns = now_ns;
        let longest_ns = now_ns + LONGEST_NS;
        if self.owed_ns > MOST_OWED_NS {
            return Some(Rest {
                until_ns: next_ns.saturating_sub(WAKE_NS).clamp(now_ns + SHORTEST_NS, longest_ns),
                is_forced: true,
            });
        }
        let until_ns = next_ns.saturating_sub(WAKE_NS).min(longest_ns);
        (self.owed_ns > 0 && until_ns >= now_ns + SHORTEST_NS).then_some(Rest {
            until_ns,
            is_forced: false,
        })
    }

    /// It rested that long.
    pub fn rested(&mut self, rest_ns: u64) {
        self.owed_ns = (self.owed_ns - rest_ns as i64).max(-MOST_SAVED_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_while_nothing_is_due_and_only_as_much_as_is_owed() {
        let mut pace = Pace::new(0);
        assert_eq!(pace.rest(0, 1_000_000), None, "nothing is owed");
        assert_eq!(pace.rest(100_000, 110_000), None, "an event is near");
        let idle = |until_ns| {
            Some(Rest {
                until_ns,
                is_forced: false,
            })
        };
        assert_eq!(pace.rest(200_000, 300_000), idle(300_000 - WAKE_NS));
        pace.rested(100_000);
        assert_eq!(
            pace.rest(300_000, 10_000_000),
            None,
            "9 % of 300 us were less than that"
        );
        assert_eq!(pace.rest(2_000_000, 10_000_000), idle(2_000_000 + LONGEST_NS));
    }

    #[test]
    fn a_thread_that_is_never_idle_is_made_to_rest() {
        let mut pace = Pace::new(0);
        let mut slept_ns = 0;
        let mut now_ns = 0;
        while now_ns < 2_000_000_000 {
            now_ns += 50_000;
            if let Some(Rest { until_ns, is_forced }) = pace.rest(now_ns, now_ns) {
                assert!(is_forced, "hosts that always send would keep it from resting");
                slept_ns += until_ns - now_ns;
                pace.rested(until_ns - now_ns);
                now_ns = until_ns;
            }
        }
        assert!(
            slept_ns > 2_000_000_000 / 20,
            "{slept_ns} ns of 2 s: the kernel would stop it"
        );
    }

    #[test]
    fn much_rest_is_not_saved_up() {
        let mut pace = Pace::new(0);
        pace.rested(10_000_000_000);
        let owed_again_ns = MOST_SAVED_NS as u64 * 100 / REST_PERCENT + 1_000;
        assert!(pace.rest(owed_again_ns, owed_again_ns + 100_000).is_some());
    }
}
