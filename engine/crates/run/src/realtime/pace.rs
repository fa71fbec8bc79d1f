// SPDX-License-Identifier: Apache-2.0
//! When the fabric's thread rests.
//!
//! Being woken costs a machine tens of microseconds, a virtual one more, so a thread with a CPU of its own looks at the clock and at
//! its ports instead of sleeping. But the kernel stops real-time threads for 50 ms when they have had 950 ms of a second, and
//! other threads of that CPU want some time. So it rests a little more than that, preferably while nothing is due.

use slotwise_units::{Duration, Instant, SignedDuration};

/// Part of the time that is rest, in percent.
const REST_PERCENT: u64 = 9;
/// A rest ends so long before the next event: waking up takes time.
const WAKE: Duration = Duration::from_us(15);
/// Shortest rest worth its two system calls.
const SHORTEST: Duration = Duration::from_us(10);
/// A rest is cut in pieces, since frames of hosts may come that nobody would be woken by.
const LONGEST: Duration = Duration::from_us(250);
/// With so much owed it rests although something is due, so as not to be stopped for longer.
const MOST_OWED: SignedDuration = SignedDuration::from_ns(10_000_000);
/// Rest in advance counts up to this, less than nothing owed: the kernel counts by the second.
const LEAST_OWED: SignedDuration = SignedDuration::from_ns(-3_000_000);

/// A rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// Its end.
    pub until: Instant,
    /// Whatever comes: it is owed.
    pub is_forced: bool,
}

/// Says when to rest.
pub struct Pace {
    last: Instant,
    /// Rest due, negative if there was more of it.
    owed: SignedDuration,
}

impl Pace {
    /// Nothing is owed now.
    pub fn new(now: Instant) -> Pace {
        Pace {
            last: now,
            owed: SignedDuration::ZERO,
        }
    }

    /// Until when to rest, with nothing due before `next`; `None` to go on.
    pub fn rest(&mut self, now: Instant, next: Instant) -> Option<Rest> {
        self.owed += ((now - self.last) * REST_PERCENT / 100).signed();
        self.last = now;
        let longest = now + LONGEST;
        if self.owed > MOST_OWED {
            return Some(Rest {
                until: next.saturating_sub(WAKE).clamp(now + SHORTEST, longest),
                is_forced: true,
            });
        }
        let until = next.saturating_sub(WAKE).min(longest);
        (self.owed > SignedDuration::ZERO && until >= now + SHORTEST).then_some(Rest {
            until,
            is_forced: false,
        })
    }

    /// It rested that long.
    pub fn rested(&mut self, rest: Duration) {
        self.owed = (self.owed - rest.signed()).max(LEAST_OWED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn it_rests_while_nothing_is_due_and_only_as_much_as_is_owed() {
        let mut pace = Pace::new(Instant::ZERO);
        assert_eq!(pace.rest(at(0), at(1_000_000)), None, "nothing is owed");
        assert_eq!(pace.rest(at(100_000), at(110_000)), None, "an event is near");
        let idle = |until| {
            Some(Rest {
                until,
                is_forced: false,
            })
        };
        assert_eq!(pace.rest(at(200_000), at(300_000)), idle(at(300_000) - WAKE));
        pace.rested(Duration::from_us(100));
        assert_eq!(
            pace.rest(at(300_000), at(10_000_000)),
            None,
            "9 % of 300 us were less than that"
        );
        assert_eq!(pace.rest(at(2_000_000), at(10_000_000)), idle(at(2_000_000) + LONGEST));
    }

    #[test]
    fn a_thread_that_is_never_idle_is_made_to_rest() {
        let mut pace = Pace::new(Instant::ZERO);
        let mut slept = Duration::ZERO;
        let mut now = Instant::ZERO;
        while now < at(2_000_000_000) {
            now += Duration::from_us(50);
            if let Some(Rest { until, is_forced }) = pace.rest(now, now) {
                assert!(is_forced, "hosts that always send would keep it from resting");
                slept += until - now;
                pace.rested(until - now);
                now = until;
            }
        }
        assert!(
            slept > Duration::from_s(2) / 20,
            "{slept} of 2 s: the kernel would stop it"
        );
    }

    #[test]
    fn much_rest_is_not_saved_up() {
        let mut pace = Pace::new(Instant::ZERO);
        pace.rested(Duration::from_s(10));
        let owed_again = Instant::ZERO + LEAST_OWED.abs() * 100 / REST_PERCENT + Duration::from_us(1);
        assert!(pace.rest(owed_again, owed_again + Duration::from_us(100)).is_some());
    }
}
