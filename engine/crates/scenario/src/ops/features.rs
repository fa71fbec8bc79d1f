// SPDX-License-Identifier: Apache-2.0
//! What edges of optical packet switches do with packets: trains, queues, classes, macroflows, order.

use std::ops::RangeInclusive;

use crate::doc::Doc;
use slotwise_lambda::{KnifeEdge, Steps};
use slotwise_units::{Bytes, Duration, Rate};
use slotwise_wire::limits::RATE_BPS;

use super::parse::{BUFFERED, edge_number};
use super::{OpsEdge, Probes};
use crate::parse::DSCP;
use crate::reader::{Fields, Reader};
use crate::routed::gtp::{self, KNIFE_EDGES, MAX_STEP};
use crate::section::{Section as _, above, flag, integer, list, name, nested, number, section, shaped, word};

const INTERVAL_NS: RangeInclusive<u64> = 1000..=1_000_000_000;
const SIZE_BYTES: RangeInclusive<u64> = 1..=8_000_000;
const BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 40;
const TRAINS: RangeInclusive<u64> = 0..=254;
pub(super) const CLASSES: RangeInclusive<usize> = 0..=7;
const CLASS: RangeInclusive<u64> = 0..=7;
const STAR_CLASS: RangeInclusive<u64> = 1..=7;
const WAVELENGTH: RangeInclusive<u64> = 0..=7;
/// A byte's part of a tag, 1 / weight in 1/65536, is a number of 32 bits over 0.
const MAX_WEIGHT: f64 = 1000.0;
const MIN_WEIGHT: f64 = 0.001;
const SCHEMES: [(&str, Option<Scheme>); 4] = [
    ("none", None),
    ("full", Some(Scheme::Full)),
    ("class", Some(Scheme::Class)),
    ("flow", Some(Scheme::Flow)),
];
const TIMERS: [(&str, TrainTimer); 2] = [
    ("periodic", TrainTimer::Periodic),
    ("first-packet", TrainTimer::FirstPacket),
];
const HOLD_NS: RangeInclusive<u64> = 1..=1_000_000_000;

/// Which packets of an edge become a train together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Those for one edge.
    Full,
    /// Those for one edge, of one class.
    Class,
    /// Those of one flow.
    Flow,
}

impl Scheme {
    /// The name in a scenario file and for the controller.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Full => "full",
            Scheme::Class => "class",
            Scheme::Flow => "flow",
        }
    }
}

/// When a train is closed that has not reached its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainTimer {
    /// At the end of intervals that follow each other, from a phase of its queue on that is drawn once.
    Periodic,
    /// An interval after its first packet.
    FirstPacket,
}

/// How packets become trains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregation {
    /// Which packets go together.
    pub scheme: Scheme,
    /// Longest time until a train is closed.
    pub interval: Duration,
    /// IP bytes of a train at most, but for one of a single packet.
    pub size: Bytes,
    /// From when on the interval counts.
    pub timer: TrainTimer,
    /// Each interval is drawn from 0.9 to 1.1 of its length.
    pub dither: bool,
    /// The edges that do it, by number; empty: all.
    pub edges: Vec<u16>,
}

section! {
    /// Queues of an edge in front of its wavelengths.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct IngressBuffer [_r, fields, rate: Rate] {
        /// Queue limit in bytes as counted by links: per wavelength; with an aggregation, `bursts` or macroflows per
        /// edge. Default: 0.25 s of a wavelength.
        pub bytes: Bytes = "bytes" or(rate.bytes_in(BUFFERED)), integer(BUFFER_BYTES);
        /// Maximum queued bursts per wavelength, with `scfq` per class, excluding the burst in transmission. Further
        /// bursts take the alternate fibre if there is one, else they are dropped. Default: unlimited.
        pub trains: Option<u8> = "bursts" optional, integer(TRAINS);
        /// Queue discipline. `scfq`: classes share a wavelength by weight (start-time fair queueing); needs `bursts`
        /// and an aggregation. Default: `fifo`.
        pub fair: bool = "discipline" or(false), word([("fifo", false), ("scfq", true)]);
    }
}

/// What has a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpsMatch {
    /// Packets with this DSCP.
    Dscp(u8),
    /// TCP without payload.
    Acknowledgements,
}

section! {
    /// Traffic class.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct OpsClass [r, fields, _context: ()] {
        /// Unique number of the class.
        pub class: u8 = "class" required, integer(CLASS);
        /// Packets of the class. Required except for class 0.
        pub matches: Option<OpsMatch> = "match" read_optional(matches(r, fields, class)), nested::<MatchKeys>();
        /// Wavelength of the class's bursts at the edge. Default: 0.
        pub wavelength: u8 = "wavelength" or(0), integer(WAVELENGTH);
        /// Weight of the class in sharing a wavelength; needs `discipline: scfq` in `ingress`. Default: 1.
        pub weight: f64 = "weight" or(1.0), number(MIN_WEIGHT..=MAX_WEIGHT);
    }
    rules r#"
    {
      "if": {"properties": {"class": {"const": 0}}},
      "then": {"properties": {"match": {"not": {}}}},
      "else": {"required": ["match"]}
    }
    "#
}

section! {
    /// Traffic class of a star.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct StarClass [r, fields, _context: ()] {
        /// Unique number of the class.
        class: u8 = "class" required, integer(STAR_CLASS);
        /// Packets of the class.
        matches: Option<OpsMatch> = "match" read(matches(r, fields, class)), nested::<MatchKeys>();
    }
}

section! {
    /// Packets of the class.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
     struct MatchKeys {
        /// Packets with this DSCP.
        dscp: Option<u8> = "dscp" optional, integer(DSCP);
        /// TCP packets without payload, with any DSCP. The first matching class in the list applies.
        acknowledgements: Option<bool> = "acks" optional, shaped(flag(), r#"{"const": true}"#);
    }
    rules r#"{"minProperties": 1, "maxProperties": 1}"#
}

section! {
    /// Macroflows with settings.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct MacroflowKeys {
        /// If true, edges flag demand-limited macroflows, which did not use their rate, as satisfied. Default: false.
        satisfied: bool = "satisfied" or(false), flag();
        /// Sharing of each edge's capacity among its macroflows by the GTP rule, for sending and receiving
        /// separately. Default: agents of outputs set the rates.
        share: Option<ShareKeys> = "share" optional, nested::<ShareKeys>();
    }
}

section! {
    /// Sharing of each edge's capacity among its macroflows by the GTP rule, for sending and receiving separately.
    /// Default: agents of outputs set the rates.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) struct ShareKeys {
        /// Capacity of an edge in each direction in bit/s as counted by links: at most the rate of its wavelengths,
        /// 34359738360, and 2147483647 bytes per period; at least one packet per period for each macroflow.
        capacity: Rate = "capacity_bps" required, integer(RATE_BPS);
        /// Rate increase of a macroflow per period, as a fraction of the gap to its target rate. Default: 0.15.
        alpha: Option<f64> = "alpha" optional, above(0.0, MAX_STEP);
        /// Minimum increase, as a fraction of the maximum one. Default: 0.2.
        beta: Option<f64> = "beta" optional, above(0.0, MAX_STEP);
        /// Near-target rule for a macroflow just below its target rate: beyond it (`as-published`), or the target at
        /// most (`capped`). Default: `as-published`.
        knife_edge: KnifeEdge = "near_target" or(KnifeEdge::default()), word(KNIFE_EDGES);
    }
}

section! {
    /// Resequencing: edges hold TCP packets that overtook others of their queue until those arrive. Default: no
    /// resequencing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Resequencing {
        /// Maximum hold time in ns.
        pub(super) hold: Duration = "hold_ns" required, integer(HOLD_NS);
    }
}

section! {
    /// Burst assembly at edges.
    #[derive(Debug)]
    pub(crate) struct AggregationKeys [r, fields, edges: &'c [OpsEdge]] {
        /// Assembly scheme: one burst per packet (`none`), or bursts of packets to the same edge (`full`), to the
        /// same edge and class (`class`), or of the same flow (`flow`).
        scheme: Option<Scheme> = "scheme" required, word(SCHEMES);
        /// Assembly interval in ns; its end closes the burst. Required unless `scheme` is `none`.
        interval: Duration = "interval_ns" read_optional(interval(r, fields, scheme)), integer(INTERVAL_NS);
        /// Maximum burst size in IP bytes; a packet that would exceed it starts the next burst. Default: what a
        /// wavelength carries in one interval.
        size: Option<Bytes> = "size_bytes" optional, integer(SIZE_BYTES);
        /// Assembly timer. `periodic`: intervals follow each other, from a phase per queue drawn from the seed, and
        /// restart when a full burst is closed. `first-packet`: an interval starts with the first packet of a burst.
        /// Default: `periodic`.
        timer: TrainTimer = "timer" or(TrainTimer::Periodic), word(TIMERS);
        /// If true, each interval is drawn from 0.9 to 1.1 times `interval_ns`. Default: false.
        dither: bool = "dither" or(false), flag();
        /// Edges that assemble bursts; the others send one burst per packet. Default: all edges.
        edges: Vec<u16> = "edges" read_optional(assembling(r, fields, edges)), list(1..=200, name());
    }
    rules r#"
    {
      "if": {"properties": {"scheme": {"const": "none"}}},
      "then": {"properties": {"interval_ns": {"not": {}}, "size_bytes": {"not": {}}, "timer": {"not": {}}, "dither": {"not": {}}, "edges": {"not": {}}}},
      "else": {"required": ["interval_ns"]}
    }
    "#
}

/// Macroflows, one of each pair of edges and class.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Macroflows {
    /// Edges say of a macroflow that it has not used what it was given.
    pub satisfied: bool,
    /// Edges share what they have among them by GTP's rule; `None`: agents of outputs tell their rates.
    pub share: Option<Share>,
}

/// How each edge shares its capacity, in each direction, among macroflows (docs/lambda.md).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// What those of one direction share, as links count bytes.
    pub capacity: Rate,
    /// How fast they rise.
    pub steps: Steps,
    /// What one gets that is just below its target.
    pub knife_edge: KnifeEdge,
}

pub(crate) fn aggregation(r: &mut Reader, parent: &Fields, edges: &[OpsEdge], rate: Rate) -> Option<Aggregation> {
    let value = r.optional(parent, "aggregation")?;
    let keys = AggregationKeys::of(r, value, parent.pointer("aggregation"), edges);
    let in_an_interval = rate.bytes_in(keys.interval);
    let in_an_interval = in_an_interval.clamp(Bytes::new(*SIZE_BYTES.start()), Bytes::new(*SIZE_BYTES.end()));
    let Some(scheme) = keys.scheme else {
        // A scheme that cannot be read has been reported; the other keys may be right.
        let is_none = value.get("scheme").and_then(Doc::as_str) == Some("none");
        let fields = Fields::of(value, parent.pointer("aggregation"));
        for key in &AggregationKeys::keys()[1..] {
            if is_none && r.optional(&fields, key).is_some() {
                r.report(
                    fields.pointer(key),
                    "without a scheme each packet is a burst",
                    "no other key without a scheme",
                );
            }
        }
        return None;
    };
    Some(Aggregation {
        scheme,
        interval: keys.interval,
        size: keys.size.unwrap_or(in_an_interval),
        timer: keys.timer,
        dither: keys.dither,
        edges: keys.edges,
    })
}

fn interval(r: &mut Reader, fields: &Fields, scheme: Option<Scheme>) -> Duration {
    match scheme {
        None => Duration::ZERO,
        Some(_) => r.duration(fields, "interval_ns", INTERVAL_NS),
    }
}

fn assembling(r: &mut Reader, fields: &Fields, edges: &[OpsEdge]) -> Vec<u16> {
    let elements = r.optional_list(fields, "edges", 1..=edges.len().max(1));
    let read = |(value, pointer)| edge_number(r, edges, value, pointer);
    elements.into_iter().filter_map(read).collect()
}

/// Those of a star, which are for its bursts only.
pub(crate) fn star_classes(r: &mut Reader, parent: &Fields) -> Vec<OpsClass> {
    let elements = r.optional_list(parent, "classes", CLASSES);
    let read = |(value, pointer): (&Doc, String)| {
        let StarClass { class, matches } = StarClass::of(r, value, pointer, ());
        OpsClass {
            class,
            matches,
            wavelength: 0,
            weight: 1.0,
        }
    };
    elements.into_iter().map(read).collect()
}

/// Class 0 is what is left.
fn matches(r: &mut Reader, parent: &Fields, class: u8) -> Option<OpsMatch> {
    let value = if class == 0 {
        if r.optional(parent, "match").is_some() {
            r.report(parent.pointer("match"), "class 0 is the default class", "no 'match'");
        }
        return None;
    } else {
        r.required(parent, "match")?
    };
    let place = parent.pointer("match");
    let keys = MatchKeys::of(r, value, place.clone(), ());
    match (keys.dscp, keys.acknowledgements) {
        (Some(dscp), None) => Some(OpsMatch::Dscp(dscp)),
        (None, Some(true)) => Some(OpsMatch::Acknowledgements),
        _ => {
            r.report(place, "none or two criteria", "either 'dscp' or 'acks: true'");
            None
        }
    }
}

pub(super) fn macroflows(r: &mut Reader, parent: &Fields, probes: Option<Probes>) -> Option<Macroflows> {
    let value = r.optional(parent, "macroflows")?;
    let found = match value.as_str() {
        Some("none") => return None,
        Some("pair") => Macroflows::default(),
        Some(_) => {
            r.report(
                parent.pointer("macroflows"),
                "unknown macroflow mode",
                "none, pair, or a mapping",
            );
            return None;
        }
        None => {
            let keys = MacroflowKeys::of(r, value, parent.pointer("macroflows"), ());
            Macroflows {
                satisfied: keys.satisfied,
                share: keys.share.map(|share| Share {
                    capacity: share.capacity,
                    steps: gtp::steps(share.alpha, share.beta).unwrap_or_default(),
                    knife_edge: share.knife_edge,
                }),
            }
        }
    };
    if probes.is_none() {
        r.report(
            parent.pointer("macroflows"),
            "without probes macroflows receive no rates",
            "'probes' too",
        );
    }
    Some(found)
}
