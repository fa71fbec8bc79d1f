// SPDX-License-Identifier: Apache-2.0
//! GTP: how hosts share their links, and its sessions (`docs/lambda.md`).

use std::ops::RangeInclusive;

use slotwise_lambda::{Crowd, KnifeEdge, Rule, Start, Steps};
use slotwise_units::{Bytes, Rate};

use crate::parse::{FILE_BYTES, FLOW_RATE_BPS, RATE_BPS};
use crate::reader::{Fields, Reader};

const INTERVAL_MS: RangeInclusive<u64> = 1..=10_000;
/// The default of table VII.1.
const DEFAULT_INTERVAL_MS: u64 = 50;

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

/// What stands under `gtp` of a group of hosts whose links have this rate.
pub(super) fn host(r: &mut Reader, parent: &Fields, rate: Rate) -> GtpHost {
    let of_link = GtpHost::of_link(rate);
    let Some(value) = r.optional(parent, "gtp") else {
        return of_link;
    };
    let keys = [
        "capacity_bps",
        "interval_ms",
        "alpha",
        "beta",
        "knife_edge",
        "crowd",
        "start",
    ];
    let fields = r.fields(value, parent.pointer("gtp"), &keys);
    let capacity = r.optional_rate(&fields, "capacity_bps", RATE_BPS).unwrap_or(rate);
    if capacity > rate {
        r.report(
            fields.pointer("capacity_bps"),
            format!("{capacity} exceed the {rate} of the link"),
            format!("at most {}", rate.bps()),
        );
    }
    GtpHost {
        capacity,
        interval_ms: r
            .optional_integer(&fields, "interval_ms", INTERVAL_MS)
            .unwrap_or(of_link.interval_ms),
        steps: steps(r, &fields).unwrap_or(of_link.steps),
        rule: Rule {
            knife_edge: knife_edge(r, &fields),
            crowd: choice(
                r,
                &fields,
                "crowd",
                &[
                    ("as-printed", Crowd::AsPrinted),
                    ("newcomers-share", Crowd::NewcomersShare),
                    ("rises-share", Crowd::RisesShare),
                ],
            ),
            start: choice(
                r,
                &fields,
                "start",
                &[("as-printed", Start::AsPrinted), ("fair-share", Start::FairShare)],
            ),
        },
    }
}

/// What stands under `knife_edge`.
pub(crate) fn knife_edge(r: &mut Reader, fields: &Fields) -> KnifeEdge {
    let choices = [("as-printed", KnifeEdge::AsPrinted), ("capped", KnifeEdge::Capped)];
    choice(r, fields, "knife_edge", &choices)
}

/// One of `choices` under `key`; the default if nothing is there.
fn choice<T: Copy + Default>(r: &mut Reader, fields: &Fields, key: &str, choices: &[(&str, T)]) -> T {
    match r.optional(fields, key) {
        Some(_) => r.choice(fields, key, choices),
        None => T::default(),
    }
}

/// `alpha` and `beta`, of which a missing one has its default; `None` if both are missing.
pub(crate) fn steps(r: &mut Reader, fields: &Fields) -> Option<Steps> {
    let [alpha, beta] = ["alpha", "beta"].map(|key| r.optional_number(fields, key, 0.0, 0.999));
    alpha.or(beta)?;
    let default = Steps::default();
    Steps::new(alpha.unwrap_or(default.alpha()), beta.unwrap_or(default.beta())).ok()
}

/// What stands under `gtp` of a group of flows.
pub(super) fn flow(r: &mut Reader, parent: &Fields) -> Option<GtpFlow> {
    let value = r.optional(parent, "gtp")?;
    let fields = r.fields(
        value,
        parent.pointer("gtp"),
        &["bytes", "limit_bps", "alpha", "beta", "begin_bps"],
    );
    Some(GtpFlow {
        bytes: r.optional_bytes(&fields, "bytes", FILE_BYTES),
        limit: r.optional_rate(&fields, "limit_bps", FLOW_RATE_BPS),
        steps: steps(r, &fields),
        begin: r.optional_rate(&fields, "begin_bps", FLOW_RATE_BPS).unwrap_or_default(),
    })
}
