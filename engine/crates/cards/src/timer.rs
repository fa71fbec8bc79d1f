// SPDX-License-Identifier: Apache-2.0
//! Timer of a card, which runs until the earliest time that it is set to.

use slotwise_units::Instant;

use crate::card::{Action, Actions, Expiry, TimerId};

/// A timer that knows when it expires next, so that it is set no more often than needed.
#[derive(Debug, Default)]
pub struct Timer {
    at: Option<Instant>,
}

impl Timer {
    /// A timer that the network has set already.
    pub fn set_to(at: Option<Instant>) -> Timer {
        Timer { at }
    }

    /// Sets the timer to a time if that is earlier.
    #[inline]
    pub fn set(&mut self, at: Instant, (timer, expiry): (TimerId, Expiry), out: &mut Actions) {
        if self.at.is_none_or(|known| at < known) {
            self.at = Some(at);
            out.push(Action::Timer { timer, at, expiry });
        }
    }

    /// Handles its expiry; false if it is set to a later time now, or to none.
    #[inline]
    pub fn expires(&mut self, now: Instant) -> bool {
        let is_due = self.at.is_some_and(|at| at <= now);
        if is_due {
            self.at = None;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_timer_is_set_again_for_an_earlier_time_only() {
        let (mut timer, mut out) = (Timer::default(), Actions::default());
        for ns in [50, 60, 50, 40] {
            timer.set(at(ns), (3, Expiry::Last), &mut out);
        }
        let set = out.list.iter().map(|action| match action {
            Action::Timer {
                timer: 3,
                at,
                expiry: Expiry::Last,
            } => at.ns(),
            other => panic!("a timer, not {other:?}"),
        });
        assert_eq!(set.collect::<Vec<u64>>(), [50, 40]);
        assert!(!timer.expires(at(39)) && timer.expires(at(40)) && !timer.expires(at(50)));
        assert!(Timer::set_to(Some(at(7))).expires(at(7)));
    }
}
