// SPDX-License-Identifier: Apache-2.0
//! Bytes that limits allow a station to add, computed apart from its queues.

use slotwise_units::{Bytes, Instant};

use crate::transit_first::AddLimit;

const NS_PER_S: i128 = 1_000_000_000;

/// Remaining allowance below a limit, in 10^-9 bytes.
struct Allowance {
    limit: AddLimit,
    left: i128,
    at: Instant,
}

/// An amount in the unit of an allowance.
fn nanobytes(bytes: Bytes) -> i128 {
    i128::from(bytes.get()) * NS_PER_S
}

impl Allowance {
    fn advance(&mut self, now: Instant, depth: i128) {
        let more = i128::from((now - self.at).ns()) * i128::from(self.limit.rate);
        self.left = (self.left + more).min(depth);
        self.at = now;
    }
}

/// Allowances under the limits that P4 set, computed independently of the card.
pub struct Allowances {
    depth: i128,
    held: Vec<Allowance>,
    /// Traffic that any limit concerns, below the highest of them, however limits change. It begins anew only when
    /// there was none.
    all: Option<Allowance>,
}

impl Allowances {
    pub fn new(bucket: Bytes) -> Allowances {
        Allowances {
            depth: nanobytes(bucket),
            held: Vec::new(),
            all: None,
        }
    }

    fn advance(&mut self, now: Instant) {
        for allowance in self.held.iter_mut().chain(&mut self.all) {
            allowance.advance(now, self.depth);
        }
    }

    /// These limits hold from now on; each has what the nearest one before had left, and no more than any that does not hold any longer.
    pub fn set(&mut self, now: Instant, limits: &[AddLimit]) {
        self.advance(now);
        let told = limits.iter().copied().filter(|limit| limit.is_one());
        self.set_all(now, told.clone());
        let held = self.held.iter().map(|held| held.limit.hops);
        if held.eq(told.clone().map(|limit| limit.hops)) {
            for (held, limit) in self.held.iter_mut().zip(told) {
                held.limit = limit;
            }
            return;
        }
        let before = std::mem::take(&mut self.held);
        let goes = |held: &&Allowance| !told.clone().any(|limit| limit.hops == held.limit.hops);
        let most = before
            .iter()
            .filter(goes)
            .map(|held| held.left)
            .min()
            .unwrap_or(self.depth);
        for limit in told.clone() {
            let nearest = before
                .iter()
                .min_by_key(|allowance| allowance.limit.hops.abs_diff(limit.hops));
            let left = nearest.map_or(self.depth, |allowance| allowance.left).min(most);
            self.held.push(Allowance { limit, left, at: now });
        }
    }

    fn set_all(&mut self, now: Instant, told: impl Iterator<Item = AddLimit>) {
        let left = self.all.take().map_or(self.depth, |all| all.left);
        self.all = told
            .max_by_key(|limit| limit.rate)
            .map(|limit| Allowance { limit, left, at: now });
    }

    /// A packet of an add queue begins to leave. False if a limit forbids it.
    pub fn take(&mut self, now: Instant, queue: u16, bytes: Bytes) -> bool {
        self.advance(now);
        let concerned = self.held.iter_mut().filter(|held| held.limit.concerns(queue));
        let mut concerned = concerned.peekable();
        let all = self.all.as_mut().filter(|_| concerned.peek().is_some());
        let mut is_allowed = true;
        for allowance in concerned.chain(all) {
            allowance.left -= nanobytes(bytes);
            is_allowed &= allowance.left >= 0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::NO_LIMIT;

    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn more_than_a_bucket_and_its_rate_is_not_allowed() {
        let mut allowances = Allowances::new(Bytes::new(3000));
        assert!(allowances.take(at(0), 3, Bytes::new(1 << 20)), "there is no limit");
        let limit = |hops, rate| AddLimit { hops, rate };
        allowances.set(at(0), &[limit(1, 1_000_000), limit(0, NO_LIMIT)]);
        assert!(allowances.take(at(0), 1, Bytes::new(1 << 20)), "it goes less far");
        assert!(allowances.take(at(0), 512 + 3, Bytes::new(1 << 20)), "it is not fair");
        assert!(allowances.take(at(0), 3, Bytes::new(3000)));
        // A byte a microsecond.
        assert!(allowances.take(at(500_000), 2, Bytes::new(500)));
        allowances.set(at(500_000), &[limit(1, 2_000_000)]);
        assert!(
            !allowances.take(at(500_000), 256 + 2, Bytes::new(1)),
            "a new rate fills no bucket"
        );
    }

    #[test]
    fn limits_that_come_and_go_allow_no_more_than_the_highest_one_would() {
        let mut allowances = Allowances::new(Bytes::new(3000));
        let limit = |hops, rate| AddLimit { hops, rate };
        allowances.set(at(0), &[limit(1, 1_000_000), limit(3, 500_000)]);
        assert!(allowances.take(at(0), 5, Bytes::new(3000)));
        allowances.set(at(1_000_000), &[limit(2, 1_000_000)]);
        // As if each new limit had a bucket of its own: a wrong rule in the card would do the same here.
        for held in &mut allowances.held {
            held.left = 3000 * NS_PER_S;
        }
        assert!(
            allowances.take(at(1_000_000), 5, Bytes::new(1000)),
            "a byte a microsecond"
        );
        assert!(!allowances.take(at(1_000_000), 5, Bytes::new(1)));
        // No limit; another begins with a whole bucket.
        allowances.set(at(1_000_000), &[]);
        assert!(allowances.take(at(1_000_000), 5, Bytes::new(1 << 20)));
        allowances.set(at(1_000_000), &[limit(2, 1_000_000)]);
        assert!(
            allowances.take(at(1_000_000), 5, Bytes::new(3000)) && !allowances.take(at(1_000_000), 5, Bytes::new(1))
        );
    }
}
