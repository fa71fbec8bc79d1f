// SPDX-License-Identifier: Apache-2.0
//! A host's flow table: what its sessions did in the interval, and what they may do in the next (VI.2).

use slotwise_lambda::{Claim, Draws, Rule, Steps, grants};

/// A session in the flow table of one host, in one role.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// IP bytes sent, or received and known to be lost, since the interval began.
    interval_bytes: u64,
    /// What the last calculation granted; 0 before the first.
    pub(super) granted_bps: u64,
    /// How fast it rises; `None`: as the host's sessions do.
    steps: Option<Steps>,
    /// Of a session that is to look as if it had sent at a rate for ever (b/s): that, until an interval is all its own.
    begin: Option<Begin>,
    /// Whether nothing has been measured of it yet.
    is_new: bool,
}

#[derive(Clone, Copy, Debug)]
struct Begin {
    rate_bps: u64,
    /// When its first bytes were counted.
    counted_ns: Option<u64>,
}

impl Account {
    /// Of a session that begins at `begin_bps`, granted that already; 0: at nothing, as sessions do.
    pub(super) fn new(steps: Option<Steps>, begin_bps: u64) -> Account {
        Account {
            interval_bytes: 0,
            granted_bps: begin_bps,
            steps,
            begin: (begin_bps > 0).then_some(Begin {
                rate_bps: begin_bps,
                counted_ns: None,
            }),
            is_new: begin_bps == 0,
        }
    }

    /// Counts IP bytes.
    pub(super) fn count(&mut self, now_ns: u64, bytes: u64) {
        self.interval_bytes += bytes;
        if let Some(begin) = &mut self.begin {
            begin.counted_ns.get_or_insert(now_ns);
        }
    }

    /// Adds what would have come in the part of the interval in which nothing could be counted yet.
    fn complete(&mut self, now_ns: u64, elapsed_ns: u64) {
        let Some(begin) = self.begin else {
            return;
        };
        let began_ns = now_ns - elapsed_ns;
        let missing_ns = begin
            .counted_ns
            .map_or(elapsed_ns, |at_ns| at_ns.saturating_sub(began_ns));
        let missing_bytes = u128::from(begin.rate_bps) * u128::from(missing_ns) / 8_000_000_000;
        self.interval_bytes += missing_bytes as u64;
        if missing_ns == 0 {
            self.begin = None;
        }
    }
}

/// Calculates for both roles of a host.
#[derive(Clone, Debug)]
pub(super) struct FlowTable {
    capacity_bps: f64,
    rule: Rule,
    steps: Steps,
    draws: Draws,
}

impl FlowTable {
    pub(super) fn new(capacity_bps: u64, rule: Rule, steps: Steps, seed: u64) -> FlowTable {
        FlowTable {
            capacity_bps: capacity_bps as f64,
            rule,
            steps,
            draws: Draws::new(seed, 0),
        }
    }

    pub(super) fn set_capacity(&mut self, capacity_bps: u64) {
        self.capacity_bps = capacity_bps as f64;
    }

    /// An interval of `elapsed_ns`, above 0, is over at `now_ns` for all sessions of one role.
    pub(super) fn calculate<'a>(
        &mut self,
        (now_ns, elapsed_ns): (u64, u64),
        accounts: impl Iterator<Item = &'a mut Account>,
    ) {
        let mut accounts: Vec<&mut Account> = accounts.collect();
        for account in &mut accounts {
            account.complete(now_ns, elapsed_ns);
        }
        let claims: Vec<Claim> = accounts
            .iter()
            .map(|account| Claim {
                measured: account.interval_bytes as f64 * 8e9 / elapsed_ns as f64,
                weight: 1.0,
                steps: account.steps.unwrap_or(self.steps),
                // Who is first among equals is drawn anew each time.
                rank: self.draws.below(1 << 32) as u32,
                is_new: account.is_new && account.interval_bytes == 0,
            })
            .collect();
        let granted = grants(self.capacity_bps, self.rule, &claims);
        let granted = granted.expect("the capacity is above 0, and counts by a time above 0 are finite");
        for (account, grant) in accounts.into_iter().zip(granted) {
            account.granted_bps = grant as u64;
            account.is_new &= account.interval_bytes == 0;
            account.interval_bytes = 0;
        }
    }
}
