// SPDX-License-Identifier: Apache-2.0
//! New demand of a queue: the first packet after it has been empty.

use slotwise_units::{Bytes, Duration, Instant};

/// A VOQ's demand: when its present burst began, and how long it had been empty then.
#[derive(Default)]
pub struct Demand {
    empty_since: Instant,
    began: Option<NewDemand>,
}

/// The first packet of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewDemand {
    /// Time of arrival.
    pub at: Instant,
    /// Length of the empty time before it.
    pub after: Duration,
}

impl Demand {
    /// A packet came and found a backlog.
    #[inline]
    pub fn arrived(&mut self, now: Instant, backlog: Bytes) {
        if backlog.is_zero() {
            self.began = Some(NewDemand {
                at: now,
                after: now.saturating_since(self.empty_since),
            });
        }
    }

    /// Demand that has no light yet.
    pub fn unserved(&self) -> Option<NewDemand> {
        self.began
    }

    /// A packet leaves and a backlog stays; the new demand if it is the first one of its burst.
    #[inline]
    pub fn sent(&mut self, now: Instant, backlog: Bytes) -> Option<NewDemand> {
        if backlog.is_zero() {
            self.empty_since = now;
        }
        self.began.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_burst_begins_once() {
        let mut demand = Demand::default();
        demand.arrived(at(100), Bytes::new(0));
        demand.arrived(at(110), Bytes::new(50));
        assert_eq!(
            demand.sent(at(150), Bytes::new(60)),
            Some(NewDemand {
                at: at(100),
                after: Duration::from_ns(100)
            })
        );
        assert_eq!(demand.sent(at(160), Bytes::new(0)), None);
        demand.arrived(at(200), Bytes::new(0));
        assert_eq!(
            demand.sent(at(200), Bytes::new(0)),
            Some(NewDemand {
                at: at(200),
                after: Duration::from_ns(40)
            })
        );
    }
}
