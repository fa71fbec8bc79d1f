// SPDX-License-Identifier: Apache-2.0
//! GTP: how hosts share their links, and its sessions (`docs/lambda.md`).

use std::ops::RangeInclusive;

use slotwise_lambda::{Crowd, KnifeEdge, Rule, Start, Steps};
use slotwise_units::{Bytes, Rate};

use crate::parse::{FILE_BYTES, FLOW_RATE_BPS, RATE_BPS};
use crate::reader::{Fields, Reader};
use crate::section::{Section as _, above, integer, section, word};

const INTERVAL_MS: RangeInclusive<u64> = 1..=10_000;
/// The default of table VII.1.
const DEFAULT_INTERVAL_MS: u64 = 50;
/// Largest alpha or beta.
pub(crate) const MAX_STEP: f64 = 0.999;
pub(crate) const KNIFE_EDGES: [(&str, KnifeEdge); 2] =
    [("as-published", KnifeEdge::AsPrinted), ("capped", KnifeEdge::Capped)];
const CROWDS: [(&str, Crowd); 3] = [
    ("as-published", Crowd::AsPrinted),
    ("newcomers-share", Crowd::NewcomersShare),
    ("rises-share", Crowd::RisesShare),
];
const STARTS: [(&str, Start); 2] = [("as-published", Start::AsPrinted), ("fair-share", Start::FairShare)];

/// How a host shares its link, each direction, among its sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GtpHost {
    /// What its sessions of one direction share, IP b/s.
    pub capacity: Rate,
    /// Time between calculations.
    pub interval_ms: u64,
    /// How fast sessions rise.
    pub steps: Steps,
    /// What is granted.
    pub rule: Rule,
}

/// What a flow of GTP asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GtpFlow {
    /// Amount; `None`: until the end.
    pub bytes: Option<Bytes>,
    /// The most that its source can send, IP b/s; `None`: as much as it may.
    pub limit: Option<Rate>,
    /// How fast it rises at both hosts; `None`: as their sessions do.
    pub steps: Option<Steps>,
    /// It begins as if it had sent at this rate for ever, IP b/s; 0: at nothing.
    pub begin: Rate,
}

impl GtpHost {
    /// The thesis's choices (table VII.1) for a link of this rate.
    pub fn of_link(rate: Rate) -> GtpHost {
        GtpHost {
            capacity: rate,
            interval_ms: DEFAULT_INTERVAL_MS,
            steps: Steps::default(),
            rule: Rule::default(),
        }
    }
}

impl GtpFlow {
    /// Session with these keys.
    pub(super) fn of(keys: GtpFlowKeys) -> GtpFlow {
        GtpFlow {
            bytes: keys.bytes,
            limit: keys.limit,
            steps: steps(keys.alpha, keys.beta),
            begin: keys.begin,
        }
    }
}

section! {
    /// Rate allocation of the Group Transport Protocol (GTP) at a host's access link, in each direction separately
    /// (docs/lambda.md).
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct GtpHostKeys [_r, fields, rate: Rate] {
        /// Capacity shared by the sessions of one direction in bit/s of IP packets; at most the link rate. Default:
        /// the link rate.
        capacity: Rate = "capacity_bps" or(rate), integer(RATE_BPS);
        /// Time between rate calculations in ms. Default: 50.
        interval_ms: u64 = "interval_ms" or(DEFAULT_INTERVAL_MS), integer(INTERVAL_MS);
        /// Rate increase of a session per calculation, as a fraction of the gap to its target rate. Default: 0.15.
        alpha: Option<f64> = "alpha" optional, above(0.0, MAX_STEP);
        /// Minimum increase, as a fraction of the maximum one. Default: 0.2.
        beta: Option<f64> = "beta" optional, above(0.0, MAX_STEP);
        /// Near-target rule for a session just below its target rate: up to alpha times beta beyond it
        /// (`as-published`), or the target at most (`capped`). Default: `as-published`.
        knife_edge: KnifeEdge = "near_target" or(KnifeEdge::default()), word(KNIFE_EDGES);
        /// Limit on concurrent increases: per session (`as-published`), one step shared by the new sessions
        /// (`newcomers-share`), or one shared by all increasing sessions (`rises-share`). Default: `as-published`.
        crowd: Crowd = "concurrent_increase" or(Crowd::default()), word(CROWDS);
        /// First rate of a session: one step from 0 (`as-published`), or as much of its fair share as the others leave
        /// (`fair-share`). Default: `as-published`.
        start: Start = "start" or(Start::default()), word(STARTS);
    }
}

section! {
    /// GTP session (receiver-driven, over UDP) instead of a TCP stream. In emulation, the engine generates it.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct GtpFlowKeys {
        /// Bytes requested by each flow. Default: until the end of the run.
        bytes: Option<Bytes> = "bytes" optional, integer(FILE_BYTES);
        /// Source limit in bit/s of IP packets. Default: the granted rate.
        limit: Option<Rate> = "source_limit_bps" optional, integer(FLOW_RATE_BPS);
        /// Alpha of the session at both hosts, overriding theirs. Default with `beta`: 0.15.
        alpha: Option<f64> = "alpha" optional, above(0.0, MAX_STEP);
        /// Beta of the session at both hosts, overriding theirs. Default with `alpha`: 0.2.
        beta: Option<f64> = "beta" optional, above(0.0, MAX_STEP);
        /// Initial rate in bit/s of IP packets, as if granted by both hosts without a time limit. Default: 0.
        begin: Rate = "initial_rate_bps" or(Rate::default()), integer(FLOW_RATE_BPS);
    }
}

/// What stands under `gtp` of a group of hosts whose links have this rate.
pub(super) fn host(r: &mut Reader, parent: &Fields, rate: Rate) -> GtpHost {
    let keys = GtpHostKeys::under_or_empty(r, parent, "gtp", rate);
    if keys.capacity > rate {
        r.report(
            format!("{}/capacity_bps", parent.pointer("gtp")),
            format!("{} exceed the {rate} of the link", keys.capacity),
            format!("at most {}", rate.bps()),
        );
    }
    GtpHost {
        capacity: keys.capacity,
        interval_ms: keys.interval_ms,
        steps: steps(keys.alpha, keys.beta).unwrap_or_default(),
        rule: Rule {
            knife_edge: keys.knife_edge,
            crowd: keys.crowd,
            start: keys.start,
        },
    }
}

/// Steps of `alpha` and `beta`, of which a missing one has its default; `None` if both are missing.
pub(crate) fn steps(alpha: Option<f64>, beta: Option<f64>) -> Option<Steps> {
    alpha.or(beta)?;
    let default = Steps::default();
    Steps::new(alpha.unwrap_or(default.alpha()), beta.unwrap_or(default.beta())).ok()
}
