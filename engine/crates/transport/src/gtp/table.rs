// SPDX-License-Identifier: Apache-2.0
//! A host's flow table: what its sessions did in the interval, and what they may do in the next (VI.2).

use slotwise_lambda::{Claim, Draws, Rule, Steps, grants};

/// A session in the flow table of one host, in one role.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// IP bytes sent, or received and known to be lost, since the interval began.
    pub(super) interval_bytes: u64,
    /// What the last calculation granted; 0 before the first.
    pub(super) granted_bps: u64,
    /// How fast it rises; `None`: as the host's sessions do.
    steps: Option<Steps>,
    /// Whether nothing has been measured of it yet.
    is_new: bool,
}

impl Account {
    pub(super) fn new(steps: Option<Steps>) -> Account {
        Account {
            interval_bytes: 0,
            granted_bps: 0,
            steps,
            is_new: true,
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

    /// An interval of `elapsed_ns`, above 0, is over for all sessions of one role.
    pub(super) fn calculate<'a>(&mut self, elapsed_ns: u64, accounts: impl Iterator<Item = &'a mut Account>) {
        let accounts: Vec<&mut Account> = accounts.collect();
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
