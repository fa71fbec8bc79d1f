// SPDX-License-Identifier: Apache-2.0
//! Keys of a file, each declared once, with the network types that have it.

use std::ops::RangeInclusive;

use slotwise_wire::limits::SEED;
use slotwise_wire::{MAX_CORES, MAX_FIBRES};

use self::NetworkType::{Mixed, Ops, Ring, Routers, Star};
use crate::clocks::Clocks;
use crate::doc::Doc;
use crate::faults::{self, FAULTS, FaultKeys, FaultKind};
use crate::model::{Controller, Core, Edge, Frame, LinkChange, Queues};
use crate::ops::{AggregationKeys, StarClass};
use crate::optics::Optics;
use crate::own::SECTIONS;
use crate::parse::DURATION_MS;
use crate::phases::{PHASES, Phase};
use crate::routed::{self, FlowKeys, HostsChange, RouterLinkChange, SpanChange};
use crate::scheduler::SchedulerChange;
use crate::section::{
    Schema, Section as _, constant, defined, describe, integer, list, name, nested, object, raw, text,
};
use crate::tables::{TABLES, TableKeys};
use crate::workloads::{MAX_WORKLOADS, WORKLOADS, WorkloadKeys};

/// Network type of a file: by the sections that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkType {
    /// Edges around photonic cores.
    Star,
    /// Routers.
    Routers,
    /// A star with routers.
    Mixed,
    /// A packet ring.
    Ring,
    /// Optical packet switches.
    Ops,
}

const ALL: &[NetworkType] = &[Star, Routers, Mixed, Ring, Ops];
const NONE: &[NetworkType] = &[];
pub(crate) const STARS: &[NetworkType] = &[Star, Mixed];
pub(crate) const ROUTED: &[NetworkType] = &[Routers, Mixed];
/// Types with groups of hosts.
const GROUPED: &[NetworkType] = &[Routers, Mixed, Ring, Ops];
pub(crate) const CORES: RangeInclusive<usize> = 1..=MAX_CORES as usize;
pub(crate) const EDGES: RangeInclusive<usize> = 2..=MAX_FIBRES as usize;
pub(crate) const CHANGES: RangeInclusive<usize> = 0..=10_000;
const CLASSES: RangeInclusive<usize> = 0..=7;

impl NetworkType {
    fn name(self) -> &'static str {
        match self {
            Star => "A star.",
            Routers => "Routers.",
            Mixed => "A star with routers.",
            Ring => "A ring.",
            Ops => "Optical packet switches.",
        }
    }

    /// Keys that a file of this type may have.
    pub(crate) fn keys(self) -> Vec<&'static str> {
        let keys = keys().into_iter().filter(|key| key.of.contains(&self));
        keys.map(|key| key.key).collect()
    }

    /// Returns true if a network of this type can have a fault.
    pub(crate) fn may_have(self, fault: FaultKind) -> bool {
        match fault {
            FaultKind::ClockStep { .. } => STARS.contains(&self),
            FaultKind::Restart(kind) => kind.networks.contains(&self),
            _ => true,
        }
    }
}

/// Key of a file.
struct Key {
    key: &'static str,
    about: &'static str,
    /// Network types that have it.
    of: &'static [NetworkType],
    /// Network types that require it in the plain form.
    required: &'static [NetworkType],
    schema: Doc,
}

fn key(
    key: &'static str,
    of: &'static [NetworkType],
    required: &'static [NetworkType],
    about: &'static str,
    schema: impl Schema,
) -> Key {
    let schema = schema.schema();
    Key {
        key,
        about,
        of,
        required,
        schema,
    }
}

/// Keys in the order of the schema.
fn keys() -> Vec<Key> {
    vec![
        key("version", ALL, ALL, "Version of this format.", constant(1)),
        key("name", ALL, ALL, "Short name, used in reports and file names.", name()),
        key("seed", ALL, ALL, "Seed of every random choice.", integer(SEED)),
        key("frame", STARS, STARS, "", Described(Frame::described())),
        key(
            "cores",
            STARS,
            STARS,
            "Photonic cores, each the centre of a star. Queues per edge (cores times edges): at most 1023.",
            list(CORES, nested::<Core>()),
        ),
        key("edges", STARS, STARS, "Edge switches.", list(EDGES, nested::<Edge>())),
        key("queues", STARS, STARS, "", Described(Queues::described())),
        key("aggregation", STARS, NONE, "", Described(aggregation())),
        key(
            "classes",
            STARS,
            NONE,
            "Traffic classes of a star with bursts per class. Packets that match no class have class 0.",
            list(CLASSES, nested::<StarClass>()),
        ),
        key(
            "hosts",
            ALL,
            ALL,
            "Hosts. With a star: settings of the edges' hosts, and `groups` of hosts at routers. Otherwise: groups of hosts at routers, ring stations or OPS edges.",
            raw(
                r##"{"if": {"type": "array"}, "then": {"$ref": "#/$defs/host_groups"}, "else": {"$ref": "#/$defs/star_hosts"}}"##,
            ),
        ),
        key("controller", ALL, STARS, "", Described(Controller::described())),
        key(
            "phases",
            ALL,
            &[Star],
            "Consecutive parts of the run.",
            list(PHASES, nested::<Phase>()),
        ),
        key(
            "duration_ms",
            GROUPED,
            NONE,
            "Duration of a run without phases in ms.",
            integer(DURATION_MS),
        ),
        key(
            "sample_ms",
            GROUPED,
            NONE,
            "Sampling period of links and flows in ms; not in a star without routers. Default: 100.",
            integer(routed::SAMPLE_MS),
        ),
        key(
            "packet_bytes",
            GROUPED,
            GROUPED,
            "Size of a full IP packet of `flows` in bytes.",
            integer(routed::PACKET_BYTES),
        ),
        key(
            "routers",
            ROUTED,
            ROUTED,
            "Names of the routers.",
            list(routed::ROUTERS, name()),
        ),
        key("ring", &[Ring], &[Ring], "", defined("ring")),
        key("ops", &[Ops], &[Ops], "", defined("ops")),
        key(
            "links",
            ROUTED,
            ROUTED,
            "Unidirectional links between routers, or between a router and an edge.",
            list(routed::LINKS, nested::<routed::RoutedLink>()),
        ),
        key(
            "flows",
            GROUPED,
            GROUPED,
            "Flows over the whole run: one from each host of a group, or of an edge, to the host with the same number in another; flow i of group F is F.i. Required without a star. In a star without routers: `flows` of the phases, or of a file without phases.",
            list(routed::FLOWS, nested::<FlowKeys>()),
        ),
        key(
            WORKLOADS,
            ALL,
            NONE,
            "Workloads: flows that start and end during the run (docs/workloads.md). Simulation only.",
            list(0..=MAX_WORKLOADS, nested::<WorkloadKeys>()),
        ),
        key(
            "changes",
            ALL,
            NONE,
            "Scheduled changes of fibres and schedulers of a star, router links, ring spans, mesh fibres and access links of hosts; omitted values do not change.",
            list(CHANGES, Described(changes())),
        ),
        key("clocks", STARS, NONE, "", Described(Clocks::described())),
        key("optics", STARS, NONE, "", Described(Optics::described())),
        key(
            "faults",
            ALL,
            NONE,
            "Fault injection: faults drawn from the seed, in simulation only.",
            list(FAULTS, nested::<FaultKeys>()),
        ),
        key(
            "tables",
            ALL,
            NONE,
            "Entries of tables that no application of the controller writes.",
            list(TABLES, nested::<TableKeys>()),
        ),
        key(
            "schedulers",
            STARS,
            NONE,
            "Custom schedulers by name (docs/write-your-own.md).",
            raw(
                r##"{"type": "object", "maxProperties": 64, "propertyNames": {"$ref": "#/$defs/own_scheduler_name"}, "additionalProperties": {"$ref": "#/$defs/own_scheduler"}}"##,
            ),
        ),
    ]
}

/// Schema that exists already.
struct Described(Doc);

impl Schema for Described {
    fn schema(&self) -> Doc {
        self.0.clone()
    }
}

/// Schema of burst assembly in a star.
fn aggregation() -> Doc {
    let mut schema = AggregationKeys::schema();
    let properties = schema.get_mut("properties").expect("a section has properties");
    properties.remove(|key| key == "edges");
    let texts = [
        (
            "scheme",
            r#"{"description": "Assembly scheme: no assembly (`none`), or packets to the same edge (`full`) or to the same edge and class (`class`, with `classes`), in the virtual output queue (VOQ) of their edge.", "enum": ["none", "full", "class"]}"#,
        ),
        (
            "size_bytes",
            r#"{"description": "Maximum burst size in IP bytes; a packet that would exceed it starts the next burst. A burst never exceeds one open slot. Default: what the slowest fibre carries in one interval."}"#,
        ),
    ];
    for (key, text) in texts {
        let mut text = raw(text).schema();
        let property = properties.get_mut(key).expect("a key of the section");
        property.remove(|key| key == "description" || key == "enum");
        property.take_into(&mut text, |_| true);
        properties.set(key, text);
    }
    let about = "Burst assembly in a star: edges assemble packets to the same edge into bursts, each sent whole in one slot. Only with one core, without XCP and `clocks`. Default: packets are sent singly.";
    describe(&[about], schema)
}

/// Entries of `changes`, with their distinctive key, and the network types that have them.
fn changes_of() -> [(&'static [&'static str], &'static [NetworkType], Doc); 5] {
    [
        (&["core", "edge"], STARS, LinkChange::schema()),
        (&["scheduler"], STARS, SchedulerChange::schema()),
        (&["link"], ROUTED, RouterLinkChange::schema()),
        (&["span"], &[Ring, Ops], SpanChange::schema()),
        (&["hosts"], GROUPED, HostsChange::schema()),
    ]
}

fn changes() -> Doc {
    let entries = changes_of().map(|(.., schema)| schema);
    object([("oneOf", Doc::list(entries.into(), 0))])
}

/// Keys of the controller that not all network types have.
pub(crate) const CONTROLLER: [(&str, &[NetworkType]); 5] = [
    ("scheduler", STARS),
    ("beacon_hold_frames", STARS),
    ("xcp_capacity_bps", STARS),
    ("metric", ROUTED),
    ("lambda", &[Star, Mixed, Routers]),
];
/// Keys that a controller of a star has.
const OF_STARS: [&str; 3] = ["scheduler", "control_latency_ns", "beacon_hold_frames"];

fn never() -> Doc {
    raw(r#"{"not": {}}"#).schema()
}

fn texts<'k>(keys: impl IntoIterator<Item = &'k str>) -> Doc {
    Doc::list(keys.into_iter().map(text).collect(), 0)
}

fn properties(of: Vec<(&str, Doc)>) -> Doc {
    object([("properties", object(of))])
}

/// Rules of entries of a list: their properties.
fn items(of: Vec<(&str, Doc)>) -> Doc {
    object([("items", properties(of))])
}

/// Rules for files of a type.
fn rules(network: NetworkType) -> Doc {
    let everywhere = |key: &Key| ALL.iter().all(|one| key.required.contains(one));
    let keys = keys();
    let required = keys
        .iter()
        .filter(|key| key.required.contains(&network) && !everywhere(key));
    let mut rules = object([
        ("$comment", text(network.name())),
        ("required", texts(required.map(|key| key.key))),
    ]);
    let is_absent = |of: &[NetworkType]| !of.contains(&network);
    let absent = keys.iter().filter(|key| is_absent(key.of));
    let mut of: Vec<(&str, Doc)> = absent.map(|key| (key.key, never())).collect();
    let has_star = STARS.contains(&network);
    let kind = if has_star { "object" } else { "array" };
    let mut hosts = object([("type", text(kind))]);
    if network == Star {
        hosts.set("properties", object([("groups", never())]));
    }
    of.push(("hosts", hosts));
    let controller = CONTROLLER.iter().filter(|(_, of)| is_absent(of));
    let mut controller = properties(controller.map(|(key, _)| (*key, never())).collect());
    if has_star {
        controller.set("required", texts(OF_STARS));
    }
    of.push(("controller", controller));
    let changes = changes_of();
    let targets = changes.iter().filter(|(_, of, _)| is_absent(of));
    let targets = targets.flat_map(|(keys, ..)| keys.iter().map(|key| (*key, never())));
    of.push(("changes", items(targets.collect())));
    let faults = faults::kinds().into_iter().filter(|kind| !network.may_have(*kind));
    let absent = object([("not", object([("enum", texts(faults.map(FaultKind::name)))]))]);
    let mut faults = vec![("kind", absent)];
    faults.extend((!has_star).then(|| ("edge", never())));
    of.push(("faults", items(faults)));
    rules.set("properties", object(of));
    if network != Star {
        let by_phases = r#"{"if": {"not": {"required": ["phases"]}}, "then": {"required": ["duration_ms"]}, "else": {"properties": {"duration_ms": {"not": {}}}}}"#;
        raw(by_phases).schema().take_into(&mut rules, |_| true);
    }
    let of_type = [
        (!has_star).then_some(NO_WORKLOADS),
        (network == Ops).then_some(NO_SWITCHES),
    ];
    let of_type: Vec<Doc> = of_type.into_iter().flatten().map(|rule| raw(rule).schema()).collect();
    if !of_type.is_empty() {
        rules.set("allOf", Doc::list(of_type, 0));
    }
    rules
}

/// Condition of files whose only flows are those over the whole run.
const NO_WORKLOADS: &str =
    r#"{"if": {"not": {"required": ["workloads"]}}, "then": {"properties": {"flows": {"minItems": 1}}}}"#;

/// Condition of edges without switches between them, which have no faults.
const NO_SWITCHES: &str = r#"{
    "if": {"properties": {"ops": {"required": ["switches"], "properties": {"switches": {"minItems": 1}}}}},
    "else": {"properties": {"faults": {"items": {"properties": {"kind": {"not": {"const": "switch-restart"}}}}}}}
}"#;

const ABOUT: &str = "A network, the traffic of its hosts and the changes of its links. The sections present determine the network type: a star of edges around photonic cores (`cores`, `edges`), routers (`routers`), both together, a packet ring (`ring`), or optical packet switches (`ops`). Consistency between sections (a guard time shorter than a slot, endpoints that exist ...) is checked when a scenario is loaded.";
/// Condition of a star with routers: at least one of these sections.
pub(crate) const OF_STAR: [&str; 4] = ["frame", "cores", "edges", "queues"];
pub(crate) const OF_ROUTERS: [&str; 2] = ["routers", "links"];

/// Schema of the plain form of a file, without definitions.
pub(crate) fn schema() -> Doc {
    let required = |key: &&str| object([("required", texts([*key]))]);
    let any = |keys: &[&str]| object([("anyOf", Doc::list(keys.iter().map(required).collect(), 0))]);
    let by =
        |condition: Doc, then: Doc, otherwise: Doc| object([("if", condition), ("then", then), ("else", otherwise)]);
    let keys = keys();
    let of_all = keys.iter().filter(|key| key.required.len() == ALL.len());
    let mut schema = object([
        ("$schema", text("https://json-schema.org/draft/2020-12/schema")),
        ("$id", text("https://slotwise.org/schema/scenario.schema.json")),
        ("title", text("Slotwise scenario")),
        ("description", text(ABOUT)),
        ("type", text("object")),
        ("additionalProperties", Doc::scalar("false".into(), 0)),
        ("required", texts(of_all.map(|key| key.key))),
    ]);
    let others = SECTIONS.iter().rev().fold(rules(Star), |others, section| {
        by(required(&section.key), rules(section.network), others)
    });
    let routed = by(any(&OF_STAR), rules(Mixed), rules(Routers));
    by(any(&OF_ROUTERS), routed, others).take_into(&mut schema, |_| true);
    let properties = keys
        .into_iter()
        .map(|key| (key.key, describe(&[key.about], key.schema)));
    schema.set("properties", object(properties.collect::<Vec<_>>()));
    schema
}
