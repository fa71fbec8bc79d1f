// SPDX-License-Identifier: Apache-2.0
//! An optical packet network without slots: its switches, edges and fibres.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde_yaml_ng::Value;
use slotwise_wire::limits::RATE_BPS;
use slotwise_wire::{Ethernet, Label, MAX_CORES, MAX_FIBRES, Optical};

use crate::address::Device;
use crate::model::Scenario;
use crate::own::{OwnNodes, Section};
use crate::parse::DELAY_NS;
use crate::reader::{Fields, Reader};

/// What an IP packet grows by when it is a train of its own.
pub const LABEL_OVERHEAD_BYTES: u64 = (Ethernet::SIZE + Label::SIZE + Optical::SIZE) as u64;
/// Of `deflections`: as often as it takes.
pub const UNLIMITED: u8 = u8::MAX;

const NS_PER_KM: u64 = 5000;
const KM: RangeInclusive<u64> = 0..=200_000;
const SWITCHES: RangeInclusive<usize> = 1..=200;
const EDGES: RangeInclusive<usize> = 2..=200;
const LINKS: RangeInclusive<usize> = 0..=10_000;
const EACH: RangeInclusive<u64> = 1..=50;
const WAVELENGTHS: RangeInclusive<u64> = 1..=8;
const RAM_BYTES: RangeInclusive<u64> = 0..=1 << 30;
const BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 40;
const GUARD_NS: RangeInclusive<u64> = 0..=1_000_000;
const PERIOD_NS: RangeInclusive<u64> = 1_000_000..=1_000_000_000;
const HOPS: RangeInclusive<u64> = 2..=255;
/// An edge fills a quarter of a second of its wavelength.
const BUFFERS_A_SECOND: u64 = 4;

/// Optical packet switches, edges and the fibres between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Ops {
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Fibres between switches.
    pub links: Vec<OpsLink>,
    /// Edges, each with a fibre to a switch.
    pub edges: Vec<OpsEdge>,
    /// Wavelengths for data of each fibre.
    pub wavelengths: u8,
    /// Whether switches change a train's wavelength.
    pub conversion: bool,
    /// Rate of a wavelength for data.
    pub rate_bps: u64,
    /// The wavelength for probes; `None`: there is none, and no agent.
    pub probes: Option<Probes>,
    /// Optical RAM before each output of a switch, a wavelength's own; 0: none.
    pub ram_bytes: u64,
    /// Kept free behind each train.
    pub guard_ns: u64,
    /// How often a train may be deflected; [`UNLIMITED`] for as often as it takes.
    pub deflections: u8,
    /// How many switches and edges a train may reach.
    pub hops: u8,
    /// Part of an output's rate that its agent aims at; over 0 and up to 1.
    pub target: f64,
    /// Bytes of each frame that links do not count.
    pub framing_bytes: u16,
    /// Bytes that wait at an edge for a wavelength of its fibre at most.
    pub buffer_bytes: u64,
}

/// A fibre between two switches, both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpsLink {
    /// The switches, by number.
    pub between: [u16; 2],
    /// Propagation delay.
    pub delay_ns: u64,
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpsEdge {
    /// Its name.
    pub name: String,
    /// Its switch, by number.
    pub switch: u16,
    /// Propagation delay of its fibre.
    pub delay_ns: u64,
}

/// The wavelength for probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probes {
    /// Its rate.
    pub rate_bps: u64,
    /// Time between two probes of a macroflow, and interval of the agents.
    pub period_ns: u64,
}

/// A fibre: two nodes, and its number at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpsFibre {
    /// Its ends: node, and number of the fibre there.
    pub ends: [(Device, u8); 2],
    /// Propagation delay.
    pub delay_ns: u64,
}

impl Ops {
    /// Ports of a fibre are 2 to this: one a wavelength, that of probes behind them.
    pub fn fibre_shift(&self) -> u8 {
        let ports = u32::from(self.wavelengths) + u32::from(self.probes.is_some());
        ports.next_power_of_two().trailing_zeros() as u8
    }

    /// All fibres: those between switches, then those of the edges. A switch's are numbered in this order, an edge has number 0.
    pub fn fibres(&self) -> Vec<OpsFibre> {
        let mut next = vec![0u8; self.switches.len()];
        let mut at = |switch: u16| {
            let number = &mut next[usize::from(switch)];
            let fibre = (Device::Switch(switch), *number);
            *number = number.saturating_add(1);
            fibre
        };
        let links = self.links.iter().map(|link| OpsFibre {
            ends: link.between.map(&mut at),
            delay_ns: link.delay_ns,
        });
        let mut fibres: Vec<OpsFibre> = links.collect();
        fibres.extend(self.edges.iter().enumerate().map(|(number, edge)| OpsFibre {
            ends: [(Device::OpsEdge(number as u16), 0), at(edge.switch)],
            delay_ns: edge.delay_ns,
        }));
        fibres
    }

    /// The name of a node.
    pub fn node_name(&self, device: Device) -> &str {
        let number = usize::from(device.number());
        match device {
            Device::OpsEdge(_) => &self.edges[number].name,
            _ => &self.switches[number],
        }
    }

    /// The name of a fibre, `FROM-TO`.
    pub fn span_name(&self, fibre: &OpsFibre) -> String {
        let [from, to] = fibre.ends.map(|(device, _)| self.node_name(device));
        format!("{from}-{to}")
    }

    /// Bytes of the longest train, as links count them.
    pub fn longest_bytes(&self, packet_bytes: u32) -> u64 {
        (u64::from(packet_bytes) + LABEL_OVERHEAD_BYTES).saturating_sub(u64::from(self.framing_bytes))
    }
}

impl Scenario {
    /// Whether there are optical packet switches.
    pub fn has_ops(&self) -> bool {
        self.ops.is_some()
    }
}

/// The section `ops`.
pub(crate) static SECTION: Section = Section {
    key: "ops",
    called: "a network of optical packet switches",
    hosts_at: "edge",
    device: Device::OpsEdge,
    read: |r, fields, scenario| scenario.ops = ops(r, fields),
    check,
    nodes: |scenario| {
        let ops = scenario.ops.as_ref()?;
        Some(OwnNodes {
            list: "/ops/edges",
            names: ops.edges.iter().map(|edge| edge.name.clone()).collect(),
            spans: ops.fibres().iter().map(|fibre| ops.span_name(fibre)).collect(),
        })
    },
};

const KEYS: [&str; 15] = [
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
];

fn ops(r: &mut Reader, parent: &Fields) -> Option<Ops> {
    let value = r.optional(parent, "ops")?;
    let fields = r.fields(value, parent.pointer("ops"), &KEYS);
    let switches: Vec<String> = r
        .list(&fields, "switches", SWITCHES)
        .into_iter()
        .map(|(v, p)| r.name_value(v, p))
        .collect();
    let rate_bps = r.integer(&fields, "rate_bps", RATE_BPS);
    if let Some(value) = r.optional(&fields, "aggregation") {
        let fields = r.fields(value, fields.pointer("aggregation"), &["scheme"]);
        // The only one so far: each packet is a train.
        r.choice(&fields, "scheme", &[("none", ())]);
    }
    Some(Ops {
        links: r
            .list(&fields, "links", LINKS)
            .into_iter()
            .map(|(v, p)| link(r, &switches, v, p))
            .collect(),
        edges: edges(r, &switches, &fields),
        wavelengths: r.optional_integer(&fields, "wavelengths", WAVELENGTHS).unwrap_or(1) as u8,
        conversion: r.optional_bool(&fields, "conversion").unwrap_or(false),
        rate_bps,
        probes: probes(r, &fields),
        ram_bytes: r.integer(&fields, "ram_bytes", RAM_BYTES),
        guard_ns: r.optional_integer(&fields, "guard_ns", GUARD_NS).unwrap_or(0),
        deflections: deflections(r, &fields),
        hops: r.optional_integer(&fields, "hops", HOPS).unwrap_or(32) as u8,
        target: r.optional_number(&fields, "target", 0.0, 1.0).unwrap_or(1.0),
        framing_bytes: r
            .optional_integer(&fields, "framing_bytes", 0..=LABEL_OVERHEAD_BYTES)
            .unwrap_or(LABEL_OVERHEAD_BYTES) as u16,
        buffer_bytes: ingress(r, &fields).unwrap_or(rate_bps / 8 / BUFFERS_A_SECOND),
        switches,
    })
}

/// A switch under `key`; 0 if there is none, which is reported.
fn switch(r: &mut Reader, switches: &[String], fields: &Fields, key: &str) -> u16 {
    let position = |name: &str| switches.iter().position(|known| known == name);
    r.parsed(fields, key, "the name of a switch", position).unwrap_or(0) as u16
}

fn link(r: &mut Reader, switches: &[String], value: &Value, pointer: String) -> OpsLink {
    let place = pointer.clone();
    let fields = r.fields(value, pointer, &["between", "km", "delay_ns"]);
    let ends = r.list(&fields, "between", 2..=2);
    let mut between = [0; 2];
    for (end, (value, pointer)) in between.iter_mut().zip(ends) {
        let found = switches.iter().position(|known| Some(known.as_str()) == value.as_str());
        match found {
            Some(number) => *end = number as u16,
            None => r.report(pointer, "there is no such switch", "the name of a switch"),
        }
    }
    let km = r.optional_integer(&fields, "km", KM);
    let delay_ns = r.optional_integer(&fields, "delay_ns", DELAY_NS);
    if km.is_some() == delay_ns.is_some() {
        r.report(place, "no length or two", "either 'km' or 'delay_ns'");
    }
    OpsLink {
        between,
        delay_ns: delay_ns.or(km.map(|km| km * NS_PER_KM)).unwrap_or(0),
    }
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
    let delay_ns = r.integer(&fields, "delay_ns", DELAY_NS);
    let count = each * switches.len();
    if !EDGES.contains(&count) {
        let expected = format!("from {} to {}", EDGES.start(), EDGES.end());
        r.report(fields.pointer("each"), format!("{count} edges in all"), expected);
        return Vec::new();
    }
    let edge = |number: usize| OpsEdge {
        name: format!("e{number}"),
        switch: (number / each) as u16,
        delay_ns,
    };
    (0..count).map(edge).collect()
}

fn edge(r: &mut Reader, switches: &[String], value: &Value, pointer: String) -> OpsEdge {
    let fields = r.fields(value, pointer, &["name", "switch", "delay_ns"]);
    OpsEdge {
        name: r.name(&fields, "name"),
        switch: switch(r, switches, &fields, "switch"),
        delay_ns: r.integer(&fields, "delay_ns", DELAY_NS),
    }
}

fn probes(r: &mut Reader, parent: &Fields) -> Option<Probes> {
    let value = r.optional(parent, "probes")?;
    let fields = r.fields(value, parent.pointer("probes"), &["rate_bps", "period_ns"]);
    Some(Probes {
        rate_bps: r.integer(&fields, "rate_bps", RATE_BPS),
        period_ns: r.integer(&fields, "period_ns", PERIOD_NS),
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
                r.report(fields.pointer("deflections"), "no such number", expected);
                0
            }
        },
    }
}

fn ingress(r: &mut Reader, parent: &Fields) -> Option<u64> {
    let value = r.optional(parent, "ingress")?;
    let fields = r.fields(value, parent.pointer("ingress"), &["bytes"]);
    Some(r.integer(&fields, "bytes", BUFFER_BYTES))
}

/// Whether its parts fit together.
fn check(scenario: &Scenario, r: &mut Reader) {
    let Some(ops) = &scenario.ops else { return };
    let mut names = BTreeSet::new();
    let switches = ops.switches.iter().enumerate();
    let switches = switches.map(|(index, name)| (format!("/ops/switches/{index}"), name));
    let edges = ops.edges.iter().enumerate();
    let edges = edges.map(|(index, edge)| (format!("/ops/edges/{index}"), &edge.name));
    for (place, name) in switches.chain(edges) {
        if !names.insert(name) {
            r.report(place, format!("second '{name}'"), "a name of its own");
        }
    }
    let mut pairs = BTreeSet::new();
    for (index, link) in ops.links.iter().enumerate() {
        let [a, b] = link.between;
        let place = format!("/ops/links/{index}/between");
        if a == b {
            r.report(place, "a fibre from a switch to itself", "two switches");
        } else if !pairs.insert([a.min(b), a.max(b)]) {
            r.report(place, "second fibre between two switches", "each pair once");
        }
    }
    let mut spans = BTreeSet::new();
    for (index, fibre) in ops.fibres().iter().enumerate() {
        let name = ops.span_name(fibre);
        if !spans.insert(name.clone()) {
            let place = match index.checked_sub(ops.links.len()) {
                None => format!("/ops/links/{index}"),
                Some(edge) => format!("/ops/edges/{edge}"),
            };
            r.report(
                place,
                format!("second span '{name}'"),
                "names that give each span one of its own",
            );
        }
    }
    let ports = u64::from(ops.wavelengths) + u64::from(ops.probes.is_some());
    if ports > u64::from(MAX_CORES) {
        let reason = format!("{ports} wavelengths, and an edge has {MAX_CORES} ports for them");
        r.report(
            "/ops/wavelengths".into(),
            reason,
            format!("at most {MAX_CORES} with that for probes"),
        );
    }
    let most = usize::from(MAX_FIBRES >> ops.fibre_shift());
    for (index, name) in ops.switches.iter().enumerate() {
        let here = |node: u16| usize::from(node) == index;
        let links = ops
            .links
            .iter()
            .flat_map(|link| link.between)
            .filter(|node| here(*node));
        let fibres = links.count() + ops.edges.iter().filter(|edge| here(edge.switch)).count();
        if fibres > most {
            let reason = format!("switch '{name}' has {fibres} fibres");
            r.report(format!("/ops/switches/{index}"), reason, format!("at most {most}"));
        }
    }
    if !is_connected(ops) {
        let expected = "links by which each edge reaches each other one";
        r.report("/ops/links".into(), "the switches are not all linked", expected);
    }
    let packet_bytes = u64::from(scenario.routed.packet_bytes);
    if ops.buffer_bytes < packet_bytes {
        let reason = format!("{} bytes hold no packet of {packet_bytes}", ops.buffer_bytes);
        let place = if ops.buffer_bytes == ops.rate_bps / 8 / BUFFERS_A_SECOND {
            "/ops/rate_bps"
        } else {
            "/ops/ingress/bytes"
        };
        r.report(place.into(), reason, format!("room for at least {packet_bytes}"));
    }
}

/// Whether links lead from each switch to each other one.
fn is_connected(ops: &Ops) -> bool {
    let mut reached = BTreeSet::from([0]);
    let mut frontier = vec![0];
    while let Some(here) = frontier.pop() {
        for [a, b] in ops.links.iter().map(|link| link.between) {
            let next = match here {
                _ if here == a => b,
                _ if here == b => a,
                _ => continue,
            };
            if reached.insert(next) {
                frontier.push(next);
            }
        }
    }
    reached.len() == ops.switches.len()
}
