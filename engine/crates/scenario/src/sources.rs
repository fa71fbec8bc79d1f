// SPDX-License-Identifier: Apache-2.0
//! What sources that do not take all they get are made of: arrival processes and users of the web.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Duration};

use crate::model::{OnOff, Process, Web};
use crate::reader::{Fields, Reader};

/// Keys under `udp` of a flow between edges' hosts.
pub(crate) const UDP_KEYS: [&str; 6] = [
    "rate_bps",
    "payload_bytes",
    "process",
    ON_OFF_KEYS[0],
    ON_OFF_KEYS[1],
    SHAPE,
];
/// Keys under `web` of a flow.
pub(crate) const WEB_KEYS: [&str; 7] = [
    "users",
    "mean_think_ns",
    OPEN,
    "mean_bytes",
    "sizes",
    SHAPE,
    "max_bytes",
];
/// UDP payload of a datagram; a stamp of the source has to fit in.
pub(crate) const PAYLOAD_BYTES: RangeInclusive<u64> = 64..=8972;

/// Users of a flow.
pub(crate) const USERS: RangeInclusive<u64> = 1..=64;

const ON_OFF_KEYS: [&str; 2] = ["mean_on_ns", "mean_off_ns"];
const SHAPE: &str = "shape";
const OPEN: &str = "open";
const HOUR_NS: u64 = 3_600_000_000_000;
const MEAN_NS: RangeInclusive<u64> = 1_000..=HOUR_NS;
const PAGE_BYTES: RangeInclusive<u64> = 1..=1_000_000_000_000;
/// Usual for lengths of bursts.
const ON_OFF_SHAPE: f64 = 1.5;
/// What measurements of pages found (Crovella, Bestavros, IEEE/ACM Trans. Networking 5(6), 1997: 1.0 to 1.3).
const WEB_SHAPE: f64 = 1.2;
/// Above this a Pareto distribution is all but constant.
const MAX_SHAPE: f64 = 100.0;

/// The arrival process under `process`.
pub(crate) fn process(r: &mut Reader, fields: &Fields) -> Process {
    let on_off = Process::OnOffPareto(OnOff {
        mean_on: Duration::from_ns(*MEAN_NS.start()),
        mean_off: Duration::from_ns(*MEAN_NS.start()),
        shape: ON_OFF_SHAPE,
    });
    let choices = [
        ("constant", Process::Constant),
        ("poisson", Process::Poisson),
        ("on-off-pareto", on_off),
    ];
    match r.choice(fields, "process", &choices) {
        Process::OnOffPareto(_) => Process::OnOffPareto(OnOff {
            mean_on: r.duration(fields, ON_OFF_KEYS[0], MEAN_NS),
            mean_off: r.duration(fields, ON_OFF_KEYS[1], MEAN_NS),
            shape: shape(r, fields).unwrap_or(ON_OFF_SHAPE),
        }),
        other => {
            for key in ON_OFF_KEYS.into_iter().chain([SHAPE]) {
                if r.optional(fields, key).is_some() {
                    let reason = format!("'{key}' does not apply to this process");
                    r.report(fields.pointer(key), reason, "it only with 'process: on-off-pareto'");
                }
            }
            other
        }
    }
}

/// How a user of the web behaves.
pub(crate) fn web(r: &mut Reader, fields: &Fields) -> Web {
    let sizes = [("pareto", true), ("exponential", false)];
    let is_pareto = r.optional(fields, "sizes").is_none() || r.choice(fields, "sizes", &sizes);
    let shape = shape(r, fields);
    if shape.is_some() && !is_pareto {
        let reason = "'shape' does not apply to these sizes";
        r.report(fields.pointer(SHAPE), reason, "it only with 'sizes: pareto'");
    }
    Web {
        mean_think: r.duration(fields, "mean_think_ns", MEAN_NS),
        open: r.optional_bool(fields, OPEN).unwrap_or(false),
        mean_size: r.bytes(fields, "mean_bytes", PAGE_BYTES),
        shape: is_pareto.then(|| shape.unwrap_or(WEB_SHAPE)),
        max_size: r
            .optional_bytes(fields, "max_bytes", PAGE_BYTES)
            .unwrap_or(Bytes::new(*PAGE_BYTES.end())),
    }
}

fn shape(r: &mut Reader, fields: &Fields) -> Option<f64> {
    r.optional_number(fields, SHAPE, 1.0, MAX_SHAPE)
}
