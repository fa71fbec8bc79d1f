// SPDX-License-Identifier: Apache-2.0
//! Reads what a file says of optical packet switches.

use std::ops::RangeInclusive;

use crate::doc::Doc;
use slotwise_units::{Bytes, Duration, Rate};
use slotwise_wire::limits::RATE_BPS;

use super::{
    DelayProcess, DirectLink, FRAME_OVERHEAD_BYTES, LABEL_OVERHEAD_BYTES, Ops, OpsEdge, OpsLink, Probes, UNLIMITED,
    features,
};
use crate::parse::DELAY_NS;
use crate::reader::{Fields, Reader, shortened};

/// Propagation of light in glass.
const TIME_PER_KM: Duration = Duration::from_us(5);
const NS_PER_MS: f64 = 1e6;
const HOLD_MS: RangeInclusive<u64> = 1..=100_000;
const MOST_DRAWN_MS: f64 = 10_000.0;
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

const KEYS: [&str; 18] = [
    "switches",
    "links",
    "edges",
    "wavelengths",
    "conversion",
    "rate_bps",
    "probes",
    "ram_bytes",
    "guard_ns",
    "deflections",
    "hops",
    "target",
    "framing_bytes",
    "ingress",
    "aggregation",
    "classes",
    "macroflows",
    "resequencing",
];

pub(super) fn ops(r: &mut Reader, parent: &Fields) -> Option<Ops> {
    let value = r.optional(parent, "ops")?;
    let fields = r.fields(value, parent.pointer("ops"), &KEYS);
    let switches: Vec<String> = r
        .optional_list(&fields, "switches", SWITCHES)
        .into_iter()
        .map(|(v, p)| r.name_value(v, p))
        .collect();
    let rate = r.rate(&fields, "rate_bps", RATE_BPS);
    let edges = edges(r, &switches, &fields);
    let (links, direct) = links(r, (&switches, &edges), &fields, rate);
    let aggregation = features::aggregation(r, &fields, &edges, rate);
    let probes = probes(r, &fields);
    let framing_bytes = match aggregation {
        // Trains of several frames have one label, which links count.
        Some(_) => FRAME_OVERHEAD_BYTES,
        None => LABEL_OVERHEAD_BYTES,
    };
    Some(Ops {
        links,
        direct,
        edges,
        wavelengths: r.optional_integer(&fields, "wavelengths", WAVELENGTHS).unwrap_or(1) as u8,
        conversion: r.optional_bool(&fields, "conversion").unwrap_or(false),
        rate,
        probes,
        ram: match switches.is_empty() {
            true => Bytes::ZERO,
            false => r.bytes(&fields, "ram_bytes", RAM_BYTES),
        },
        guard: r.optional_duration(&fields, "guard_ns", GUARD_NS).unwrap_or_default(),
        deflections: deflections(r, &fields),
        hops: r.optional_integer(&fields, "hops", HOPS).unwrap_or(32) as u8,
        target: r.optional_number(&fields, "target", 0.0, 1.0).unwrap_or(1.0),
        framing_bytes: r
            .optional_integer(&fields, "framing_bytes", 0..=LABEL_OVERHEAD_BYTES)
            .unwrap_or(framing_bytes) as u16,
        ingress: features::ingress(r, &fields, rate),
        aggregation,
        classes: features::classes(r, &fields),
        macroflows: features::macroflows(r, &fields, probes),
        resequencing: features::resequencing(r, &fields),
        switches,
    })
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
    if switches.is_empty() {
        let direct = elements.into_iter();
        return (
            Vec::new(),
            direct.map(|(v, p)| direct_link(r, edges, (v, p), rate)).collect(),
        );
    }
    (
        elements.into_iter().map(|(v, p)| link(r, switches, v, p)).collect(),
        Vec::new(),
    )
}

fn link(r: &mut Reader, switches: &[String], value: &Doc, pointer: String) -> OpsLink {
    let place = pointer.clone();
    let fields = r.fields(value, pointer, &["between", "km", "delay_ns"]);
    let ends = r.list(&fields, "between", 2..=2);
    let mut between = [0; 2];
    for (end, (value, pointer)) in between.iter_mut().zip(ends) {
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
    let delay = length(r, &fields, place);
    OpsLink { between, delay }
}

fn length(r: &mut Reader, fields: &Fields, place: String) -> Duration {
    let km = r.optional_integer(fields, "km", KM);
    let delay = r.optional_duration(fields, "delay_ns", DELAY_NS);
    if km.is_some() == delay.is_some() {
        r.report(place, "none or two of 'km' and 'delay_ns'", "exactly one of them");
    }
    delay.or(km.map(|km| km * TIME_PER_KM)).unwrap_or_default()
}

fn direct_link(r: &mut Reader, edges: &[OpsEdge], (value, pointer): (&Doc, String), rate: Rate) -> DirectLink {
    let place = pointer.clone();
    let keys = ["between", "km", "delay_ns", "rate_bps", "loss", "delay"];
    let fields = r.fields(value, pointer, &keys);
    let ends = r.list(&fields, "between", 2..=2);
    let mut between = [0; 2];
    for (end, (value, pointer)) in between.iter_mut().zip(ends) {
        *end = edge_number(r, edges, value, pointer).unwrap_or(0);
    }
    DirectLink {
        between,
        propagation: length(r, &fields, place),
        rate: r.optional_rate(&fields, "rate_bps", RATE_BPS).unwrap_or(rate),
        loss: loss(r, &fields),
        delay: delay_process(r, &fields),
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

fn delay_process(r: &mut Reader, parent: &Fields) -> Option<DelayProcess> {
    // A quantity under this key is the propagation delay.
    let value = r.optional(parent, "delay").filter(|value| !value.is_scalar())?;
    let place = parent.pointer("delay");
    let fields = r.fields(value, place.clone(), &["hold_ms", "mean_ms", "deviation_ms"]);
    let mut hold = [Duration::from_ms(1); 2];
    for (held, ms) in hold.iter_mut().zip(r.integers(&fields, "hold_ms", 2, &HOLD_MS)) {
        *held = Duration::from_ms(ms);
    }
    if hold[0] > hold[1] {
        r.report(fields.pointer("hold_ms"), "empty range", "[shortest, longest]");
    }
    let mut number = |key: &str| {
        if r.required(&fields, key).is_none() {
            return 0.0;
        }
        r.optional_bounded(&fields, key, 0.0..=MOST_DRAWN_MS).unwrap_or(0.0)
    };
    let (mean_ms, deviation_ms) = (number("mean_ms"), number("deviation_ms"));
    // What is drawn is cut off to whole ns until one is left; below this that may take for ever.
    if (mean_ms + deviation_ms) * NS_PER_MS < 1.0 {
        r.report(
            place,
            "delay distribution is below 1 ns",
            "mean_ms plus deviation_ms of at least 0.000001",
        );
    }
    Some(DelayProcess {
        hold,
        mean_ms,
        deviation_ms,
    })
}

/// A list, or as many at each switch.
fn edges(r: &mut Reader, switches: &[String], parent: &Fields) -> Vec<OpsEdge> {
    let is_each = r.optional(parent, "edges").filter(|value| value.is_mapping());
    let Some(value) = is_each else {
        let elements = r.list(parent, "edges", EDGES);
        return elements.into_iter().map(|(v, p)| edge(r, switches, v, p)).collect();
    };
    let fields = r.fields(value, parent.pointer("edges"), &["each", "delay_ns"]);
    let each = r.integer(&fields, "each", EACH) as usize;
    let delay = r.duration(&fields, "delay_ns", DELAY_NS);
    let count = each * switches.len();
    if !EDGES.contains(&count) {
        let expected = format!("from {} to {}", EDGES.start(), EDGES.end());
        r.report(fields.pointer("each"), format!("{count} edges in total"), expected);
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
    if switches.is_empty() {
        let fields = r.fields(value, pointer, &["name"]);
        return OpsEdge {
            name: r.name(&fields, "name"),
            switch: None,
            delay: Duration::ZERO,
        };
    }
    let fields = r.fields(value, pointer, &["name", "switch", "delay_ns"]);
    OpsEdge {
        name: r.name(&fields, "name"),
        switch: Some(switch(r, switches, &fields, "switch")),
        delay: r.duration(&fields, "delay_ns", DELAY_NS),
    }
}

fn probes(r: &mut Reader, parent: &Fields) -> Option<Probes> {
    let value = r.optional(parent, "probes")?;
    let fields = r.fields(value, parent.pointer("probes"), &["rate_bps", "period_ns"]);
    Some(Probes {
        rate: r.rate(&fields, "rate_bps", RATE_BPS),
        period: r.duration(&fields, "period_ns", PERIOD_NS),
    })
}

fn deflections(r: &mut Reader, fields: &Fields) -> u8 {
    match r.optional(fields, "deflections") {
        None => 0,
        Some(value) if value.as_str() == Some("none") => 0,
        Some(value) if value.as_str() == Some("unlimited") => UNLIMITED,
        Some(value) => match value.as_u64() {
            Some(number @ 0..=254) => number as u8,
            _ => {
                let expected = "none, unlimited, or an integer from 0 to 254";
                r.report(fields.pointer("deflections"), "invalid value", expected);
                0
            }
        },
    }
}
