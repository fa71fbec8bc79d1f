// SPDX-License-Identifier: Apache-2.0
//! An optical packet network without slots: its switches, edges and fibres.

mod check;
mod features;
mod notes;
mod parse;

use std::collections::BTreeMap;

use slotwise_units::{Bytes, Duration, Rate};
use slotwise_wire::{Ethernet, Ipv4, Label, MAX_CORES, Optical, PORT_OPTICAL_BASE};

use crate::address::Device;
use crate::model::Scenario;
use crate::own::{NetworkSection, OwnNodes};
pub use features::{Aggregation, IngressBuffer, Macroflows, OpsClass, OpsMatch, Scheme, Share, TrainTimer};
pub(crate) use features::{AggregationKeys, StarClass, aggregation, star_classes};
pub(crate) use notes::notes;
pub(crate) use parse::{EdgesOfSwitches, OpsKeys};
pub use parse::{OpsEdge, Probes};

const LABEL_BYTES: u64 = Label::SIZE as u64;
const IPV4_BYTES: u64 = Ipv4::SIZE as u64;
/// What an IP packet grows by in a train, its label apart.
pub(crate) const FRAME_OVERHEAD_BYTES: u64 = (Ethernet::SIZE + Optical::SIZE) as u64;
/// What an IP packet grows by when it is a train of its own.
pub(crate) const LABEL_OVERHEAD_BYTES: u64 = FRAME_OVERHEAD_BYTES + LABEL_BYTES;
/// Frames of a train: what a label can count.
const MOST_PACKETS: u64 = u16::MAX as u64;
/// Of `deflections`: as often as it takes.
pub const UNLIMITED: u8 = u8::MAX;

/// Optical packet switches, edges and the fibres between them; or edges alone, joined directly.
#[derive(Debug, Clone, PartialEq)]
pub struct Ops {
    /// Names of the switches; none where fibres join the edges directly.
    pub switches: Vec<String>,
    /// Fibres between switches.
    pub links: Vec<OpsLink>,
    /// Edges, each with a fibre to a switch, or with those of `direct`.
    pub edges: Vec<OpsEdge>,
    /// Fibres between edges, of two edges the first choice first.
    pub direct: Vec<DirectLink>,
    /// Wavelengths for data of each fibre.
    pub wavelengths: u8,
    /// Whether switches change a train's wavelength.
    pub conversion: bool,
    /// Rate of a wavelength for data.
    pub rate: Rate,
    /// The wavelength for probes; `None`: there is none, and no agent.
    pub probes: Option<Probes>,
    /// Optical RAM before each output of a switch, a wavelength's own; 0: none.
    pub ram: Bytes,
    /// Kept free behind each train.
    pub guard: Duration,
    /// How often a train may be deflected; [`UNLIMITED`] for as often as it takes.
    pub deflections: u8,
    /// How many switches and edges a train may reach.
    pub hops: u8,
    /// Part of an output's rate that its agent aims at; over 0 and up to 1.
    pub target: f64,
    /// Bytes of each frame that links do not count.
    pub framing_bytes: u16,
    /// What waits at an edge.
    pub ingress: IngressBuffer,
    /// What becomes a train; `None`: each packet is one.
    pub aggregation: Option<Aggregation>,
    /// Classes of traffic beside 0, which all else has.
    pub classes: Vec<OpsClass>,
    /// Edges pace macroflows, and probe for their rates.
    pub macroflows: Option<Macroflows>,
    /// How long an edge holds TCP packets that came before others of their queue; `None`: it does not.
    pub resequencing: Option<Duration>,
}

/// A fibre between two switches, both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpsLink {
    /// The switches, by number.
    pub between: [u16; 2],
    /// Propagation delay.
    pub delay: Duration,
}

/// A fibre between two edges, both ways: a link of the two-link model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirectLink {
    /// The edges, by number.
    pub between: [u16; 2],
    /// Propagation delay.
    pub propagation: Duration,
    /// Rate of each of its wavelengths for data.
    pub rate: Rate,
    /// Probability that a train is lost at the far end, from the first edge and from the second.
    pub loss: [f64; 2],
    /// What comes to the propagation delay.
    pub delay: Option<DelayProcess>,
}

/// A delay that holds for some time, and is drawn anew then: the positive part of a normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayProcess {
    /// It holds for a time between these, drawn uniformly.
    pub hold: [Duration; 2],
    /// Mean of the distribution, ms.
    pub mean_ms: f64,
    /// Its standard deviation, ms.
    pub deviation_ms: f64,
}

/// A fibre: two nodes, and its number at each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpsFibre {
    /// Its ends: node, and number of the fibre there.
    pub ends: [(Device, u8); 2],
    /// Propagation delay.
    pub delay: Duration,
    /// Its number among the fibres between edges, if it is one.
    pub direct: Option<usize>,
}

impl Ops {
    /// Ports of a fibre are 2 to this: one a wavelength, that of probes behind them.
    pub fn fibre_shift(&self) -> u8 {
        let ports = u32::from(self.wavelengths) + u32::from(self.probes.is_some());
        ports.next_power_of_two().trailing_zeros() as u8
    }

    /// All fibres: those between switches, then those of the edges, then those between edges. A node's are numbered in this order.
    pub fn fibres(&self) -> Vec<OpsFibre> {
        let mut next = BTreeMap::new();
        let mut at = |device: Device| {
            let number: &mut u8 = next.entry(device).or_default();
            let fibre = (device, *number);
            *number = number.saturating_add(1);
            fibre
        };
        let links = self.links.iter().map(|link| OpsFibre {
            ends: link.between.map(|switch| at(Device::Switch(switch))),
            delay: link.delay,
            direct: None,
        });
        let mut fibres: Vec<OpsFibre> = links.collect();
        let edges = (0..).map(Device::OpsEdge).zip(&self.edges);
        let attached = edges.filter_map(|(edge, attached)| Some((edge, Device::Switch(attached.switch?), attached)));
        fibres.extend(attached.map(|(edge, switch, attached)| OpsFibre {
            ends: [at(edge), at(switch)],
            delay: attached.delay,
            direct: None,
        }));
        let direct = self.direct.iter().enumerate();
        fibres.extend(direct.map(|(number, link)| OpsFibre {
            ends: link.between.map(|edge| at(Device::OpsEdge(edge))),
            delay: link.propagation,
            direct: Some(number),
        }));
        fibres
    }

    /// Rate of a wavelength for data of a fibre.
    pub fn rate_of(&self, fibre: &OpsFibre) -> Rate {
        fibre.direct.map_or(self.rate, |direct| self.direct[direct].rate)
    }

    /// Classes of traffic, class 0 among them: how many numbers they need.
    pub fn class_count(&self) -> u16 {
        let highest = self.classes.iter().map(|class| class.class).max();
        u16::from(highest.unwrap_or(0)) + 1
    }

    /// The queue of an edge for what goes to another edge and has a class.
    pub fn queue(&self, to: u16, class: u8) -> u16 {
        queue_number(usize::from(to * self.class_count()) + usize::from(class))
    }

    /// All of those, with the edges that they lead to.
    pub fn queues(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        let edges = 0..self.edges.len() as u16;
        edges.flat_map(move |to| (0..self.class_count()).map(move |class| (to, self.queue(to, class as u8))))
    }

    /// The queue of an edge for the flow of this number among those that have one of their own there.
    pub fn flow_queue(&self, number: usize) -> u16 {
        queue_number(self.edges.len() * usize::from(self.class_count()) + number)
    }

    /// Whether edges have more than a queue before each wavelength: they make trains, hold them back or choose among outputs.
    pub fn has_train_card(&self, edge: u16) -> bool {
        self.aggregates(edge) || self.ingress.trains.is_some() || self.macroflows.is_some() || !self.direct.is_empty()
    }

    /// The least rate of a macroflow, and its first one: a packet a period.
    pub fn floor(&self, packet_bytes: u32, probes: &Probes) -> Rate {
        Rate::of_rounded_up(Bytes::new(u64::from(packet_bytes)), probes.period)
    }

    /// Whether an edge puts packets together to trains.
    pub fn aggregates(&self, edge: u16) -> bool {
        let aggregation = self.aggregation.as_ref();
        aggregation.is_some_and(|aggregation| aggregation.edges.is_empty() || aggregation.edges.contains(&edge))
    }

    /// The name of a node.
    pub fn node_name(&self, device: Device) -> &str {
        let number = usize::from(device.number());
        match device {
            Device::OpsEdge(_) => &self.edges[number].name,
            _ => &self.switches[number],
        }
    }

    /// The name of a fibre, `FROM-TO`; of a further one between two edges `FROM-TO-NUMBER`, from 2 on.
    pub fn span_name(&self, fibre: &OpsFibre) -> String {
        let [name, _] = self.way_names(fibre);
        name
    }

    /// The names of both ways of a fibre, as that of the fibre.
    pub fn way_names(&self, fibre: &OpsFibre) -> [String; 2] {
        let [a, b] = fibre.ends.map(|(device, _)| self.node_name(device));
        let number = match fibre.direct.map_or(0, |direct| self.earlier_between(direct)) {
            0 => String::new(),
            before => format!("-{}", before + 1),
        };
        [format!("{a}-{b}{number}"), format!("{b}-{a}{number}")]
    }

    /// How many fibres join the same edges as one of `direct` and stand before it: none before their first choice.
    pub fn earlier_between(&self, direct: usize) -> usize {
        let between = self.direct[direct].between;
        let joins_them = |link: &&DirectLink| {
            let [from, to] = link.between;
            between == [from, to] || between == [to, from]
        };
        self.direct[..direct].iter().filter(joins_them).count()
    }

    /// Length of the longest train, as links count bytes.
    pub fn longest_train(&self, packet_bytes: u32) -> Bytes {
        let one = (u64::from(packet_bytes) + LABEL_OVERHEAD_BYTES).saturating_sub(u64::from(self.framing_bytes));
        let Some(aggregation) = &self.aggregation else {
            return Bytes::new(one);
        };
        let size = aggregation.size.get();
        // As many frames as there may be, of packets that are nothing but headers.
        let frames = (size / IPV4_BYTES + 1).min(MOST_PACKETS);
        let framing = FRAME_OVERHEAD_BYTES.saturating_sub(u64::from(self.framing_bytes));
        Bytes::new(one.max(size + frames * framing + LABEL_BYTES))
    }
}

/// The number of an edge's queue, by its place: those of ports are left out, since agents of outputs have them.
fn queue_number(place: usize) -> u16 {
    let ports = usize::from(PORT_OPTICAL_BASE)..usize::from(PORT_OPTICAL_BASE) + MAX_CORES as usize;
    let number = if place < ports.start {
        place
    } else {
        place + ports.len()
    };
    number as u16
}

impl Scenario {
    /// Whether there are optical packet switches.
    pub fn has_ops(&self) -> bool {
        self.ops.is_some()
    }
}

/// The section `ops`.
pub(crate) static SECTION: NetworkSection = NetworkSection {
    key: "ops",
    network: crate::file::NetworkType::Ops,
    schema: <OpsKeys as crate::section::Section>::described,
    called: "an OPS network",
    hosts_at: "edge",
    hosts_list: &["ops", "edges"],
    name_lists: &[&["ops", "switches"]],
    device: Device::OpsEdge,
    read: |r, fields, scenario| scenario.ops = parse::ops(r, fields),
    check: check::check,
    nodes: |scenario| {
        let ops = scenario.ops.as_ref()?;
        let ways = ops.fibres();
        let ways = ways
            .iter()
            .map(|fibre| ops.way_names(fibre))
            .map(|[there, back]| (there, back));
        let (spans, spans_back) = ways.unzip();
        Some(OwnNodes {
            names: ops.edges.iter().map(|edge| edge.name.clone()).collect(),
            spans,
            spans_back,
        })
    },
};
