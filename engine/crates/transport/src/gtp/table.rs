// SPDX-License-Identifier: Apache-2.0
//! A host's flow table: what its sessions did in the interval, and what they may do in the next (VI.2).

use slotwise_lambda::{Claim, Draws, Rule, Steps, grants};
use slotwise_units::{Bytes, Duration, Instant, Rate};

/// A session in the flow table of one host, in one role.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// IP packets sent, or received and known to be lost, since the interval began.
    count: Bytes,
    /// What the last calculation granted; 0 before the first.
    pub(super) granted: Rate,
    /// How fast it rises; `None`: as the host's sessions do.
    steps: Option<Steps>,
    /// Of a session that is to look as if it had sent at a rate for ever: that, until an interval is all its own.
    begin: Option<Begin>,
    /// Whether nothing has been measured of it yet.
    is_new: bool,
}

#[derive(Clone, Copy, Debug)]
struct Begin {
    rate: Rate,
    /// When its first packet was counted.
    counted: Option<Instant>,
}

impl Account {
    /// Of a session that begins at `begin`, granted that already; 0: at nothing, as sessions do.
    pub(super) fn new(steps: Option<Steps>, begin: Rate) -> Account {
        Account {
            count: Bytes::ZERO,
            granted: begin,
            steps,
            begin: (begin > Rate::ZERO).then_some(Begin {
                rate: begin,
                counted: None,
            }),
            is_new: begin == Rate::ZERO,
        }
    }

    /// Counts an IP packet.
    pub(super) fn count(&mut self, now: Instant, size: Bytes) {
        self.count += size;
        if let Some(begin) = &mut self.begin {
            begin.counted.get_or_insert(now);
        }
    }

    /// Adds what would have come in the part of the interval in which nothing could be counted yet.
    fn complete(&mut self, now: Instant, elapsed: Duration) {
        let Some(begin) = self.begin else {
            return;
        };
        let began = now - elapsed;
        let missing = begin.counted.map_or(elapsed, |at| at.saturating_since(began));
        self.count += begin.rate.bytes_in(missing);
        if missing.is_zero() {
            self.begin = None;
        }
    }
}

/// Calculates for both roles of a host.
#[derive(Clone, Debug)]
pub(super) struct FlowTable {
    capacity: Rate,
    rule: Rule,
    steps: Steps,
    draws: Draws,
}

impl FlowTable {
    pub(super) fn new(capacity: Rate, rule: Rule, steps: Steps, seed: u64) -> FlowTable {
        FlowTable {
            capacity,
            rule,
            steps,
            draws: Draws::new(seed, 0),
        }
    }

    pub(super) fn set_capacity(&mut self, capacity: Rate) {
        self.capacity = capacity;
    }

    /// An interval of `elapsed`, above 0, is over at `now` for all sessions of one role.
    pub(super) fn calculate<'a>(
        &mut self,
        (now, elapsed): (Instant, Duration),
        accounts: impl Iterator<Item = &'a mut Account>,
    ) {
        let mut accounts: Vec<&mut Account> = accounts.collect();
        for account in &mut accounts {
            account.complete(now, elapsed);
        }
        let claims: Vec<Claim> = accounts
            .iter()
            .map(|account| Claim {
                measured: account.count.get() as f64 * 8e9 / elapsed.ns() as f64,
                weight: 1.0,
                steps: account.steps.unwrap_or(self.steps),
                // Who is first among equals is drawn anew each time.
                rank: self.draws.below(1 << 32) as u32,
                is_new: account.is_new && account.count.is_zero(),
            })
            .collect();
        let granted = grants(self.capacity.bps() as f64, self.rule, &claims);
        let granted = granted.expect("the capacity is above 0, and counts by a time above 0 are finite");
        for (account, grant) in accounts.into_iter().zip(granted) {
            account.granted = Rate::from_bps(grant as u64);
            account.is_new &= account.count.is_zero();
            account.count = Bytes::ZERO;
        }
    }
}
