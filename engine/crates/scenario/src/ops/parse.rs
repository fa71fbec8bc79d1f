// SPDX-License-Identifier: Apache-2.0
//! Reads what a file says of optical packet switches.

use std::ops::RangeInclusive;

use crate::doc::Doc;
use slotwise_units::{Bytes, Duration, Rate};
use slotwise_wire::limits::RATE_BPS;

use super::features::{AggregationKeys, CLASSES, MacroflowKeys, Resequencing};
use super::{
    Aggregation, DelayProcess, DirectLink, FRAME_OVERHEAD_BYTES, IngressBuffer, LABEL_OVERHEAD_BYTES, Macroflows, Ops,
    OpsClass, OpsLink, UNLIMITED, features,
};
use crate::parse::DELAY_NS;
use crate::reader::{Fields, Reader, shortened};
use crate::section::{Section as _, above, flag, integer, integers, list, name, nested, number, one_of, raw, section};

/// Propagation of light in glass.
const TIME_PER_KM: Duration = Duration::from_us(5);
const NS_PER_MS: f64 = 1e6;
const HOLD_MS: RangeInclusive<u64> = 1..=100_000;
const MAX_DRAWN_MS: f64 = 10_000.0;
const KM: RangeInclusive<u64> = 0..=200_000;
const SWITCHES: RangeInclusive<usize> = 0..=200;
const EDGES: RangeInclusive<usize> = 2..=200;
const LINKS: RangeInclusive<usize> = 0..=10_000;
const EACH: RangeInclusive<u64> = 1..=50;
const WAVELENGTHS: RangeInclusive<u64> = 1..=8;
const RAM_BYTES: RangeInclusive<u64> = 0..=1 << 30;
const GUARD_NS: RangeInclusive<u64> = 0..=1_000_000;
const PERIOD_NS: RangeInclusive<u64> = 1_000_000..=1_000_000_000;
const HOPS: RangeInclusive<u64> = 2..=255;
/// An edge fills a quarter of a second of its wavelength.
/// Time whose data an edge holds where no limit is given.
pub(super) const BUFFERED: Duration = Duration::from_ms(250);

/// Schema of a number of deflections.
const DEFLECTIONS: &str =
    r#"{"oneOf": [{"enum": ["none", "unlimited"]}, {"type": "integer", "minimum": 0, "maximum": 254}]}"#;
/// Schema of a probability of loss, for both directions or each.
const LOSS: &str = r##"{"oneOf": [
    {"$ref": "#/$defs/probability"},
    {"type": "array", "minItems": 2, "maxItems": 2, "items": {"$ref": "#/$defs/probability"}}
]}"##;
/// Schema of a word for macroflows.
const MACROFLOWS: &str = r#"{"enum": ["none", "pair"]}"#;

section! {
    /// Mesh of unslotted optical packet switches, edges and the fibres between them. A burst is one or more frames
    /// behind one label, switched as a unit. Hosts are groups at the edges.
    #[derive(Debug)]
    pub(crate) struct OpsKeys [r, fields, _context: ()] {
        /// Names of the switches. If empty, fibres connect edges directly (two-link model).
        switches: Vec<String> = "switches" or(Vec::new()), list(SWITCHES, name());
        /// Rate of a data wavelength in bit/s.
        rate: Rate = "rate_bps" required, integer(RATE_BPS);
        /// List of edges, or number of edges per switch (named `e0`, `e1` ...); 2 to 200 edges in total.
        edges: Vec<OpsEdge> = "edges" read(edges(r, &switches, fields)), one_of(nested::<EdgesOfSwitches>(), list(EDGES, nested::<OpsEdge>()));
        /// Fibres in both directions: between switches, connecting all of them; or between edges, one or two per
        /// pair, the primary one first.
        links: (Vec<OpsLink>, Vec<DirectLink>) = "links" read(links(r, (&switches, &edges), fields, rate)), list(LINKS, nested::<LinkKeys>());
        /// Burst assembly at edges.
        aggregation: Option<Aggregation> = "aggregation" read_optional(features::aggregation(r, fields, &edges, rate)), nested::<AggregationKeys>();
        /// Probe wavelength, and agents at the outputs of switches. Default: neither.
        probes: Option<Probes> = "probes" optional, nested::<Probes>();
        /// Data wavelengths per fibre. Edges send on wavelength 0 unless a class has another one
        /// (`classes[].wavelength`); switches use the others only for those classes, or with `wavelength_conversion`. Default:
        /// 1.
        wavelengths: u8 = "wavelengths" or(1), integer(WAVELENGTHS);
        /// If true, switches convert wavelengths. Default: false.
        conversion: bool = "wavelength_conversion" or(false), flag();
        /// Optical RAM per output of a switch in bytes as counted by links; 0: none. A burst is accepted if at most
        /// this much is still to be sent, including the rest of the burst in transmission and each burst's guard
        /// time. RAM for n packets is n * `packet_bytes`; with `framing_bytes: 30`, where labels count, n *
        /// (`packet_bytes` + 20): n packets wait behind one whose transmission has just started.
        ram: Bytes = "ram_bytes" read_optional(ram(r, &switches, fields)), integer(RAM_BYTES);
        /// Guard time behind each burst in ns; at least 1 if bursts have several frames and 20 IP bytes take less
        /// than 1 ns (above 160 Gb/s with 30 `framing_bytes`). Default: 0.
        guard: Duration = "guard_ns" or(Duration::ZERO), integer(GUARD_NS);
        /// Maximum deflections per burst. Default: `none`.
        deflections: u8 = "max_deflections" read_optional(deflections(r, fields)), raw(DEFLECTIONS);
        /// Maximum hops of a burst (switches and edges); at least those of the longest path between edges. Default:
        /// 32.
        hops: u8 = "max_hops" or(32), integer(HOPS);
        /// Target utilization of an output, as a fraction of its rate; below 1 it needs macroflows paced by agents.
        /// Default: 1.
        target: f64 = "target_utilization" or(1.0), above(0.0, 1.0);
        /// Bytes per frame that links do not count. Default: 50, so that only IP bytes of single-packet bursts count;
        /// with an aggregation 30 (also its maximum), so that labels count too.
        framing_bytes: u16 = "framing_bytes" or(uncounted(aggregation.is_some())), integer(0..=LABEL_OVERHEAD_BYTES);
        /// Queues of an edge in front of its wavelengths.
        ingress: IngressBuffer = "ingress" read_optional(IngressBuffer::under_or_empty(r, fields, "ingress", rate)), nested::<IngressBuffer>();
        /// Traffic classes. Packets that match no class have class 0, which may be listed without `match`.
        classes: Vec<OpsClass> = "classes" or(Vec::new()), list(CLASSES, nested::<OpsClass>());
        /// Macroflows: edges pace their traffic per edge pair and class at rates carried by probes (`pair`); needs
        /// `probes`. Default: `none`.
        macroflows: Option<Macroflows> = "macroflows" read_optional(features::macroflows(r, fields, probes)), one_of(raw(MACROFLOWS), nested::<MacroflowKeys>());
        /// Resequencing: edges hold TCP packets that overtook others of their queue until those arrive. Default: no
        /// resequencing.
        resequencing: Option<Resequencing> = "resequencing" optional, nested::<Resequencing>();
    }
    rules r#"
    {
      "if": {"required": ["switches"], "properties": {"switches": {"minItems": 1}}},
      "then": {
        "required": ["ram_bytes"],
        "properties": {
          "links": {"items": {"properties": {"rate_bps": {"not": {}}, "loss": {"not": {}}, "delay": {"not": {}}}}},
          "edges": {"if": {"type": "array"}, "then": {"items": {"required": ["switch", "delay_ns"]}}}
        }
      },
      "else": {
        "properties": {
          "edges": {"type": "array", "items": {"properties": {"switch": {"not": {}}, "delay_ns": {"not": {}}}}},
          "probes": {"not": {}}
        }
      }
    }
    "#
}

section! {
    /// As many edges at each switch.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct EdgesOfSwitches {
        /// Edges per switch.
        each: u64 = "edges_per_switch" filled("1"), integer(EACH);
        /// Propagation delay of the edges' fibres in ns.
        delay: Duration = "delay_ns" filled("1000"), integer(DELAY_NS);
    }
}

section! {
    /// Edge.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct OpsEdge [r, fields, switches: &'c [String]] {
        /// Name of the edge.
        pub name: String = "name" required, name();
        /// Switch of the edge. Required if there are switches.
        pub switch: Option<u16> = "switch" read_optional(home(r, switches, fields)), name();
        /// Propagation delay of the edge's fibre in ns. Required if there are switches.
        pub delay: Duration = "delay_ns" read_optional(delay_to(r, switches, fields)), integer(DELAY_NS);
    }
}

section! {
    /// Fibre between two switches, or between two edges.
    #[derive(Debug)]
     struct LinkKeys [r, fields, ends: Ends<'c>] {
        /// Two switches, each pair once; or two edges.
        between: [u16; 2] = "between" read(between(r, fields, ends)), list(2..=2, name());
        /// Length in km (5 us per km).
        km: Option<u64> = "km" optional, integer(KM);
        /// Propagation delay in ns.
        delay: Option<Duration> = "delay_ns" optional, integer(DELAY_NS);
        /// Between edges: rate of a data wavelength in bit/s. Default: `rate_bps` of `ops`.
        rate: Option<Rate> = "rate_bps" optional, integer(RATE_BPS);
        /// Between edges: probability of losing a burst at the end of the fibre, for both directions, or separately
        /// from the first and from the second edge. Default: 0.
        loss: [f64; 2] = "loss" read_optional(loss(r, fields)), raw(LOSS);
        /// Between edges: additional propagation delay of a burst, sampled when its last bit enters. It is drawn from
        /// the positive part of a normal distribution and constant for a hold time.
        more_delay: Option<DelayKeys> = "delay" read_optional(more_delay(r, fields)), nested::<DelayKeys>();
    }
    rules r#"{"oneOf": [{"required": ["km"]}, {"required": ["delay_ns"]}]}"#
}

section! {
    /// Between edges: additional propagation delay of a burst, sampled when its last bit enters. It is drawn from the
    /// positive part of a normal distribution and constant for a hold time.
    #[derive(Debug)]
     struct DelayKeys {
        /// Minimum and maximum hold time in ms, drawn uniformly.
        hold_ms: Vec<u64> = "hold_ms" required, integers(2, HOLD_MS);
        /// Mean of the distribution in ms.
        mean_ms: f64 = "mean_ms" required, number(0.0..=MAX_DRAWN_MS);
        /// Standard deviation in ms; `mean_ms` and `deviation_ms` add up to at least 0.000001.
        deviation_ms: f64 = "deviation_ms" required, number(0.0..=MAX_DRAWN_MS);
    }
}

section! {
    /// Probe wavelength, and agents at the outputs of switches. Default: neither.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Probes {
        /// Rate of the probe wavelength in bit/s.
        pub rate: Rate = "rate_bps" required, integer(RATE_BPS);
        /// Time between two probes of a macroflow in ns; also the interval of the agents.
        pub period: Duration = "period_ns" required, integer(PERIOD_NS);
    }
}

/// Names at the ends of fibres, and what they have where they say nothing.
#[derive(Clone, Copy)]
enum Ends<'a> {
    Switches(&'a [String]),
    Edges(&'a [OpsEdge]),
}

pub(super) fn ops(r: &mut Reader, parent: &Fields) -> Option<Ops> {
    let keys = OpsKeys::under(r, parent, "ops", ())?;
    let (links, direct) = keys.links;
    Some(Ops {
        switches: keys.switches,
        links,
        edges: keys.edges,
        direct,
        wavelengths: keys.wavelengths,
        conversion: keys.conversion,
        rate: keys.rate,
        probes: keys.probes,
        ram: keys.ram,
        guard: keys.guard,
        deflections: keys.deflections,
        hops: keys.hops,
        target: keys.target,
        framing_bytes: keys.framing_bytes,
        ingress: keys.ingress,
        aggregation: keys.aggregation,
        classes: keys.classes,
        macroflows: keys.macroflows,
        resequencing: keys.resequencing.map(|resequencing| resequencing.hold),
    })
}

/// Bytes of a frame that links do not count: bursts of several frames have one label, which they count.
fn uncounted(has_aggregation: bool) -> u16 {
    match has_aggregation {
        true => FRAME_OVERHEAD_BYTES as u16,
        false => LABEL_OVERHEAD_BYTES as u16,
    }
}

fn ram(r: &mut Reader, switches: &[String], fields: &Fields) -> Bytes {
    match switches.is_empty() {
        true => Bytes::ZERO,
        false => r.bytes(fields, "ram_bytes", RAM_BYTES),
    }
}

/// A switch under `key`; 0 if there is none, which is reported.
fn switch(r: &mut Reader, switches: &[String], fields: &Fields, key: &str) -> u16 {
    let position = |name: &str| switches.iter().position(|known| known == name);
    r.parsed(fields, key, "the name of a switch", position).unwrap_or(0) as u16
}

/// The edge that a value names; `None` if there is none, which is reported.
pub(super) fn edge_number(r: &mut Reader, edges: &[OpsEdge], value: &Doc, pointer: String) -> Option<u16> {
    let found = edges.iter().position(|edge| Some(edge.name.as_str()) == value.as_str());
    if found.is_none() {
        r.report(pointer, "unknown edge", "the name of an edge");
    }
    found.map(|number| number as u16)
}

/// Fibres between switches; where there are none, between edges.
fn links(
    r: &mut Reader,
    (switches, edges): (&[String], &[OpsEdge]),
    fields: &Fields,
    rate: Rate,
) -> (Vec<OpsLink>, Vec<DirectLink>) {
    let elements = r.list(fields, "links", LINKS);
    if switches.is_empty() && edges.is_empty() {
        // What is wrong with them has been said; there is nothing that a link could name.
        return (Vec::new(), Vec::new());
    }
    if !switches.is_empty() {
        let read = |(value, pointer)| link(r, switches, value, pointer);
        return (elements.into_iter().map(read).collect(), Vec::new());
    }
    let read = |(value, pointer)| direct_link(r, edges, (value, pointer), rate);
    (Vec::new(), elements.into_iter().map(read).collect())
}

fn link(r: &mut Reader, switches: &[String], value: &Doc, pointer: String) -> OpsLink {
    // Only fibres between edges have the others.
    let fields = r.fields(value, pointer.clone(), &LinkKeys::keys()[..3]);
    let keys = LinkKeys::of_fields(r, &fields, Ends::Switches(switches));
    OpsLink {
        between: keys.between,
        delay: length(r, &keys, pointer),
    }
}

fn between(r: &mut Reader, fields: &Fields, names: Ends) -> [u16; 2] {
    let ends = r.list(fields, "between", 2..=2);
    let mut between = [0; 2];
    for (end, (value, pointer)) in between.iter_mut().zip(ends) {
        let switches = match names {
            Ends::Switches(switches) => switches,
            Ends::Edges(edges) => {
                *end = edge_number(r, edges, value, pointer).unwrap_or(0);
                continue;
            }
        };
        let found = switches.iter().position(|known| Some(known.as_str()) == value.as_str());
        match found {
            Some(number) => *end = number as u16,
            None => r.report(
                pointer,
                format!("found {}", value.describe()),
                format!("the name of a switch: {}", shortened(switches)),
            ),
        }
    }
    between
}

fn length(r: &mut Reader, keys: &LinkKeys, place: String) -> Duration {
    if keys.km.is_some() == keys.delay.is_some() {
        r.report(place, "none or two of 'km' and 'delay_ns'", "exactly one of them");
    }
    keys.delay.or(keys.km.map(|km| km * TIME_PER_KM)).unwrap_or_default()
}

fn direct_link(r: &mut Reader, edges: &[OpsEdge], (value, pointer): (&Doc, String), rate: Rate) -> DirectLink {
    let keys = LinkKeys::of(r, value, pointer.clone(), Ends::Edges(edges));
    let delay = keys
        .more_delay
        .as_ref()
        .map(|delay| delay_process(r, delay, format!("{pointer}/delay")));
    DirectLink {
        between: keys.between,
        propagation: length(r, &keys, pointer),
        rate: keys.rate.unwrap_or(rate),
        loss: keys.loss,
        delay,
    }
}

/// A probability for both ways, or one for each.
fn loss(r: &mut Reader, parent: &Fields) -> [f64; 2] {
    let is_list = r.optional(parent, "loss").is_some_and(Doc::is_list);
    if !is_list {
        return [r.optional_probability(parent, "loss").unwrap_or(0.0); 2];
    }
    let mut both = [0.0; 2];
    for (loss, (value, pointer)) in both.iter_mut().zip(r.list(parent, "loss", 2..=2)) {
        match value.as_f64() {
            Some(number) if (0.0..=1.0).contains(&number) => *loss = number,
            _ => r.report(pointer, "not a probability", "a number from 0 to 1"),
        }
    }
    both
}

fn more_delay(r: &mut Reader, parent: &Fields) -> Option<DelayKeys> {
    // A quantity under this key is the propagation delay.
    let value = r.optional(parent, "delay").filter(|value| !value.is_scalar())?;
    Some(DelayKeys::of(r, value, parent.pointer("delay"), ()))
}

fn delay_process(r: &mut Reader, keys: &DelayKeys, place: String) -> DelayProcess {
    let mut hold = [Duration::from_ms(1); 2];
    for (held, ms) in hold.iter_mut().zip(&keys.hold_ms) {
        *held = Duration::from_ms(*ms);
    }
    if hold[0] > hold[1] {
        r.report(format!("{place}/hold_ms"), "empty range", "[shortest, longest]");
    }
    // What is drawn is cut off to whole ns until one is left; below this that may take for ever.
    if (keys.mean_ms + keys.deviation_ms) * NS_PER_MS < 1.0 {
        r.report(
            place,
            "delay distribution is below 1 ns",
            "mean_ms plus deviation_ms of at least 0.000001",
        );
    }
    DelayProcess {
        hold,
        mean_ms: keys.mean_ms,
        deviation_ms: keys.deviation_ms,
    }
}

/// A list, or as many at each switch.
fn edges(r: &mut Reader, switches: &[String], parent: &Fields) -> Vec<OpsEdge> {
    let is_each = r.optional(parent, "edges").filter(|value| value.is_mapping());
    let Some(value) = is_each else {
        let elements = r.list(parent, "edges", EDGES);
        let read = |(value, pointer)| edge(r, switches, value, pointer);
        return elements.into_iter().map(read).collect();
    };
    let place = parent.pointer("edges");
    let EdgesOfSwitches { each, delay } = EdgesOfSwitches::of(r, value, place.clone(), ());
    let each = each as usize;
    let count = each * switches.len();
    if !EDGES.contains(&count) {
        let expected = format!("from {} to {}", EDGES.start(), EDGES.end());
        r.report(
            format!("{place}/edges_per_switch"),
            format!("{count} edges in total"),
            expected,
        );
        return Vec::new();
    }
    let edge = |number: usize| OpsEdge {
        name: format!("e{number}"),
        switch: Some((number / each) as u16),
        delay,
    };
    (0..count).map(edge).collect()
}

fn edge(r: &mut Reader, switches: &[String], value: &Doc, pointer: String) -> OpsEdge {
    let keys = OpsEdge::keys();
    let known = match switches.is_empty() {
        true => &keys[..1],
        false => keys,
    };
    let fields = r.fields(value, pointer, known);
    OpsEdge::of_fields(r, &fields, switches)
}

/// The switch of an edge, if there are switches.
fn home(r: &mut Reader, switches: &[String], fields: &Fields) -> Option<u16> {
    (!switches.is_empty()).then(|| switch(r, switches, fields, "switch"))
}

fn delay_to(r: &mut Reader, switches: &[String], fields: &Fields) -> Duration {
    match switches.is_empty() {
        true => Duration::ZERO,
        false => r.duration(fields, "delay_ns", DELAY_NS),
    }
}

fn deflections(r: &mut Reader, fields: &Fields) -> u8 {
    match r.optional(fields, "max_deflections") {
        None => 0,
        Some(value) if value.as_str() == Some("none") => 0,
        Some(value) if value.as_str() == Some("unlimited") => UNLIMITED,
        Some(value) => match value.as_u64() {
            Some(number @ 0..=254) => number as u8,
            _ => {
                let expected = "none, unlimited, or an integer from 0 to 254";
                r.report(fields.pointer("max_deflections"), "invalid value", expected);
                0
            }
        },
    }
}
