// SPDX-License-Identifier: Apache-2.0
//! New demand of a queue: the first packet after it has been empty.

/// A VOQ's demand: when its present burst began, and how long it had been empty then.
#[derive(Default)]
pub struct Demand {
    empty_since_ns: u64,
    began: Option<NewDemand>,
}

/// The first packet of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewDemand {
    /// Time of arrival.
    pub at_ns: u64,
    /// Length of the empty time before it.
    pub after_ns: u64,
}

impl Demand {
    /// A packet came and found `backlog_bytes`.
    #[inline]
    pub fn arrived(&mut self, now_ns: u64, backlog_bytes: u64) {
        if backlog_bytes == 0 {
            self.began = Some(NewDemand {
                at_ns: now_ns,
                after_ns: now_ns.saturating_sub(self.empty_since_ns),
            });
        }
    }

    /// Demand that has no light yet.
    pub fn unserved(&self) -> Option<NewDemand> {
        self.began
    }

    /// A packet leaves and `backlog_bytes` stay; the new demand if it is the first one of its burst.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, backlog_bytes: u64) -> Option<NewDemand> {
        if backlog_bytes == 0 {
            self.empty_since_ns = now_ns;
        }
        self.began.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_begins_once() {
        let mut demand = Demand::default();
        demand.arrived(100, 0);
        demand.arrived(110, 50);
        assert_eq!(
            demand.sent(150, 60),
            Some(NewDemand {
                at_ns: 100,
                after_ns: 100
            })
        );
        assert_eq!(demand.sent(160, 0), None);
        demand.arrived(200, 0);
        assert_eq!(
            demand.sent(200, 0),
            Some(NewDemand {
                at_ns: 200,
                after_ns: 40
            })
        );
    }
}
