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
use crate::routed::gtp;

const INTERVAL_NS: RangeInclusive<u64> = 1000..=1_000_000_000;
const SIZE_BYTES: RangeInclusive<u64> = 1..=8_000_000;
const BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 40;
const TRAINS: RangeInclusive<u64> = 0..=254;
const CLASSES: RangeInclusive<usize> = 0..=7;
const CLASS: RangeInclusive<u64> = 0..=7;
const STAR_CLASS: RangeInclusive<u64> = 1..=7;
const WAVELENGTH: RangeInclusive<u64> = 0..=7;
/// A byte's part of a tag, 1 / weight in 1/65536, is a number of 32 bits over 0.
const MOST_WEIGHT: f64 = 1000.0;
const LEAST_WEIGHT: f64 = 0.001;
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

/// What waits at an edge for its wavelengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngressBuffer {
    /// Bytes at most, as links count them: for each wavelength where each packet is a train of its own and nothing else is asked for,
    /// for all of them together else.
    pub bytes: Bytes,
    /// Trains that wait for a wavelength at most, of each class where it is `fair`; `None`: only bytes count.
    pub trains: Option<u8>,
    /// Classes share a wavelength by their weights.
    pub fair: bool,
}

/// What has a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpsMatch {
    /// Packets with this DSCP.
    Dscp(u8),
    /// TCP without payload.
    Acknowledgements,
}

/// A class of traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpsClass {
    /// Its number.
    pub class: u8,
    /// What has it; `None`: what no other class matches, class 0.
    pub matches: Option<OpsMatch>,
    /// The wavelength on which its trains leave an edge.
    pub wavelength: u8,
    /// Its part of a wavelength by those of the others, where they share it fairly.
    pub weight: f64,
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
    let keys = ["scheme", "interval_ns", "size_bytes", "timer", "dither", "edges"];
    let fields = r.fields(value, parent.pointer("aggregation"), &keys);
    let schemes = [
        ("none", None),
        ("full", Some(Scheme::Full)),
        ("class", Some(Scheme::Class)),
        ("flow", Some(Scheme::Flow)),
    ];
    let Some(scheme) = r.choice(&fields, "scheme", &schemes) else {
        // A scheme that cannot be read has been reported; the other keys may be right.
        let is_none = r.optional(&fields, "scheme").and_then(Doc::as_str) == Some("none");
        for key in &keys[1..] {
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
    let interval = r.duration(&fields, "interval_ns", INTERVAL_NS);
    let timers = [
        ("periodic", TrainTimer::Periodic),
        ("first-packet", TrainTimer::FirstPacket),
    ];
    let has_timer = r.optional(&fields, "timer").is_some();
    let in_an_interval = rate.bytes_in(interval);
    let in_an_interval = in_an_interval.clamp(Bytes::new(*SIZE_BYTES.start()), Bytes::new(*SIZE_BYTES.end()));
    Some(Aggregation {
        scheme,
        interval,
        size: r
            .optional_bytes(&fields, "size_bytes", SIZE_BYTES)
            .unwrap_or(in_an_interval),
        timer: match has_timer {
            true => r.choice(&fields, "timer", &timers),
            false => TrainTimer::Periodic,
        },
        dither: r.optional_bool(&fields, "dither").unwrap_or(false),
        edges: r
            .optional_list(&fields, "edges", 1..=edges.len().max(1))
            .into_iter()
            .filter_map(|(value, pointer)| edge_number(r, edges, value, pointer))
            .collect(),
    })
}

pub(super) fn ingress(r: &mut Reader, parent: &Fields, rate: Rate) -> IngressBuffer {
    let otherwise = IngressBuffer {
        bytes: rate.bytes_in(BUFFERED),
        trains: None,
        fair: false,
    };
    let Some(value) = r.optional(parent, "ingress") else {
        return otherwise;
    };
    let fields = r.fields(value, parent.pointer("ingress"), &["bytes", "trains", "discipline"]);
    let has_discipline = r.optional(&fields, "discipline").is_some();
    IngressBuffer {
        bytes: r
            .optional_bytes(&fields, "bytes", BUFFER_BYTES)
            .unwrap_or(otherwise.bytes),
        trains: r.optional_integer(&fields, "trains", TRAINS).map(|trains| trains as u8),
        fair: has_discipline && r.choice(&fields, "discipline", &[("fifo", false), ("fair", true)]),
    }
}

pub(super) fn classes(r: &mut Reader, parent: &Fields) -> Vec<OpsClass> {
    let elements = r.optional_list(parent, "classes", CLASSES);
    elements
        .into_iter()
        .map(|(value, pointer)| class(r, value, pointer))
        .collect()
}

/// Those of a star, which are for its trains only.
pub(crate) fn star_classes(r: &mut Reader, parent: &Fields) -> Vec<OpsClass> {
    let elements = r.optional_list(parent, "classes", CLASSES);
    let read = |(value, pointer): (&Doc, String)| {
        let fields = r.fields(value, pointer, &["class", "match"]);
        let class = r.integer(&fields, "class", STAR_CLASS) as u8;
        OpsClass {
            class,
            matches: matches(r, &fields, class),
            wavelength: 0,
            weight: 1.0,
        }
    };
    elements.into_iter().map(read).collect()
}

fn class(r: &mut Reader, value: &Doc, pointer: String) -> OpsClass {
    let fields = r.fields(value, pointer, &["class", "match", "wavelength", "weight"]);
    let class = r.integer(&fields, "class", CLASS) as u8;
    OpsClass {
        class,
        matches: matches(r, &fields, class),
        wavelength: r.optional_integer(&fields, "wavelength", WAVELENGTH).unwrap_or(0) as u8,
        weight: r
            .optional_bounded(&fields, "weight", LEAST_WEIGHT..=MOST_WEIGHT)
            .unwrap_or(1.0),
    }
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
    let fields = r.fields(value, place.clone(), &["dscp", "acknowledgements"]);
    let dscp = r.optional_integer(&fields, "dscp", DSCP);
    let acknowledgements = r.optional_bool(&fields, "acknowledgements");
    match (dscp, acknowledgements) {
        (Some(dscp), None) => Some(OpsMatch::Dscp(dscp as u8)),
        (None, Some(true)) => Some(OpsMatch::Acknowledgements),
        _ => {
            r.report(
                place,
                "none or two criteria",
                "either 'dscp' or 'acknowledgements: true'",
            );
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
            let fields = r.fields(value, parent.pointer("macroflows"), &["satisfied", "share"]);
            Macroflows {
                satisfied: r.optional_bool(&fields, "satisfied").unwrap_or(false),
                share: share(r, &fields),
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

fn share(r: &mut Reader, parent: &Fields) -> Option<Share> {
    let value = r.optional(parent, "share")?;
    let keys = ["capacity_bps", "alpha", "beta", "knife_edge"];
    let fields = r.fields(value, parent.pointer("share"), &keys);
    Some(Share {
        capacity: r.rate(&fields, "capacity_bps", RATE_BPS),
        steps: gtp::steps(r, &fields).unwrap_or_default(),
        knife_edge: gtp::knife_edge(r, &fields),
    })
}

pub(super) fn resequencing(r: &mut Reader, parent: &Fields) -> Option<Duration> {
    let value = r.optional(parent, "resequencing")?;
    let fields = r.fields(value, parent.pointer("resequencing"), &["hold_ns"]);
    Some(r.duration(&fields, "hold_ns", HOLD_NS))
}
