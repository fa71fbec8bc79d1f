// SPDX-License-Identifier: Apache-2.0
//! Defaults: what a file leaves out and is put in its tree before it is read, and the short forms of edges, cores and phases.

use slotwise_wire::limits;

use crate::doc::Doc;
use crate::model::{Edge, Fibre, Hosts, Queues};
use crate::ops::{self, EdgesOfSwitches};
use crate::own::NetworkSection;
use crate::parse::Parts;
use crate::reader::{Fields, Reader, is_name};
use crate::renamed::is_before;
use crate::ring::RingKeys;
use crate::routed::AT;
use crate::section::Section as _;
use crate::spelling::is_spelling;
use crate::workloads::WORKLOADS;

/// Name of a scenario whose file has none that could be a name.
pub(crate) const NAME: &str = "scenario";
/// Keys of a fibre that an edge without a list of fibres may have: those of all its fibres.
const OF_FIBRES: [&str; 5] = ["rate_bps", "delay_ns", "loss", "attenuation_mdb", "port"];
const CONTROLLER: [(&str, &str); 3] = [
    ("scheduler", "fair"),
    ("control_latency_ns", "200000"),
    ("beacon_hold_frames", "1"),
];
const GROUP: [(&str, &str); 4] = [
    ("count", "1"),
    ("rate_bps", "1000000000"),
    ("up_delay_ns", "1000"),
    ("down_delay_ns", "1000"),
];
/// Delay of the fibre of an edge of optical packet switches.
const EDGE_DELAY_NS: &str = "1000";
const PACKET: &str = "1500";
/// Half a token bucket of a ring, without the headers on the ring.
const RING_PACKET: &str = "1470";
const PACKETS: &str = "1000";
const SLOT_NS: u64 = 250_000;
/// Guard times in a slot.
const GUARDS: u64 = 25;
/// Slots of a frame for each edge: one for signaling, four for data.
const SLOTS_PER_EDGE: usize = 5;
/// Entries that the tables of switches hold: slots times cores, and slots times edges.
const MAX_SLOTS: usize = 4096;
const MAX_GRANTS: usize = 262_144;

/// Turns short forms into lists: a number of edges or cores, edges that differ in nothing but numbers, and the only phase of a star.
pub(crate) fn expand(doc: &mut Doc) {
    let parts = Parts::of(doc);
    if !doc.is_mapping() || !parts.star {
        return;
    }
    for (key, most) in [("edges", 1000), ("cores", 1000)] {
        let Some(value) = doc.get_mut(key) else { continue };
        let line = value.line();
        let one = match value.is_mapping() {
            true => value.clone(),
            false => Doc::mapping(line),
        };
        let count = if value.is_mapping() {
            value.get("count")
        } else {
            Some(&*value)
        };
        if let Some(count) = count.and_then(Doc::as_u64).filter(|count| *count <= most) {
            let mut one = one;
            one.remove(|key| key == "count");
            *value = Doc::list(vec![one; count as usize], line);
        }
    }
    let has_flows = doc.get(WORKLOADS).is_some() || doc.names().iter().any(|key| is_flows(key));
    if !parts.has_groups() && doc.get("phases").is_none() && has_flows {
        let mut phase = Doc::mapping(doc.line());
        doc.take_into(&mut phase, |key| is_flows(key) || is_spelling(key, "duration_ms"));
        doc.set("phases", Doc::list(vec![phase], doc.line()));
    }
}

/// Names workloads; a scenario with workloads may have no other flows.
fn workloads(doc: &mut Doc, parts: Parts) {
    let line = doc.line();
    if doc.get(WORKLOADS).is_none() {
        return;
    }
    for (index, workload) in elements(doc, &[WORKLOADS]).iter_mut().enumerate() {
        if workload.is_mapping() {
            fill(workload, &[("name", &format!("workload{index}"))]);
        }
    }
    if parts.has_groups() && !doc.names().iter().any(|key| is_flows(key)) {
        doc.set("flows", Doc::list(Vec::new(), line));
    }
    if parts.star {
        for phase in elements(doc, &["phases"]) {
            if phase.is_mapping() && !phase.names().iter().any(|key| is_flows(key)) {
                phase.set("flows", Doc::list(Vec::new(), phase.line()));
            }
        }
    }
}

/// Returns whether a key is that of flows, also in a file of before.
fn is_flows(key: &str) -> bool {
    key == "flows" || is_before(key, "flows")
}

/// Puts defaults where a file has nothing; `name` is that of a scenario without one.
pub(crate) fn complete(doc: &mut Doc, name: &str) {
    if !doc.is_mapping() {
        return;
    }
    let parts = Parts::of(doc);
    fill(doc, &[("version", "1"), ("seed", "1")]);
    workloads(doc, parts);
    if is_missing(doc, "name") {
        let name = if is_name(name) { name } else { NAME };
        doc.set("name", Doc::text(name, doc.line()));
    }
    if parts.has_groups() {
        let packet = if doc.get("ring").is_some() { RING_PACKET } else { PACKET };
        fill(doc, &[("packet_bytes", packet)]);
    }
    if let Some(ring) = doc.get_mut("ring") {
        RingKeys::fill(ring);
    }
    ops(doc);
    groups(doc, parts);
    for link in elements(doc, &["links"]) {
        name_by_ends(link);
        buffer(link);
    }
    if parts.star {
        star(doc);
    }
}

fn star(doc: &mut Doc) {
    let line = doc.line();
    if is_missing(doc, "cores") && doc.get("edges").is_some() {
        doc.set("cores", Doc::list(vec![Doc::mapping(line)], line));
    }
    for (index, core) in elements(doc, &["cores"]).iter_mut().enumerate() {
        let index = index.to_string();
        fill(core, &[("id", &index), ("master", &index)]);
    }
    let cores = elements(doc, &["cores"]).len();
    for (index, edge) in elements(doc, &["edges"]).iter_mut().enumerate() {
        fill(edge, &[("id", &index.to_string())]);
        Edge::fill(edge);
        if edge.is_mapping() && is_missing(edge, "fibres") {
            let mut fibre = Doc::mapping(edge.line());
            edge.take_into(&mut fibre, |key| OF_FIBRES.iter().any(|known| is_spelling(key, known)));
            Fibre::fill(&mut fibre);
            let fibres = (0..cores).map(|core| {
                let mut fibre = fibre.clone();
                fibre.set("core", Doc::scalar(core.to_string(), edge.line()));
                fibre
            });
            edge.set("fibres", Doc::list(fibres.collect(), edge.line()));
        }
    }
    let edges = elements(doc, &["edges"]).len();
    frame(section(doc, "frame"), cores.max(1), edges.max(1));
    Queues::fill(section(doc, "queues"));
    Hosts::fill(section(doc, "hosts"));
    fill(section(doc, "controller"), &CONTROLLER);
    let phases = elements(doc, &["phases"]);
    let is_only = phases.len() == 1;
    for (index, phase) in phases.iter_mut().enumerate() {
        let name = match is_only {
            true => "run".to_owned(),
            false => format!("phase{}", index + 1),
        };
        fill(phase, &[("name", &name)]);
    }
}

fn frame(frame: &mut Doc, cores: usize, edges: usize) {
    let slots = (SLOTS_PER_EDGE * edges).min(MAX_SLOTS / cores).min(MAX_GRANTS / edges);
    // A slot that is wrong is reported when it is read.
    let fields = Fields::of(frame, String::new());
    let slot = Reader::default().optional_integer(&fields, "slot_ns", limits::SLOT_NS);
    let guard = slot.unwrap_or(SLOT_NS) / GUARDS;
    fill(
        frame,
        &[
            ("slots", &slots.to_string()),
            ("slot_ns", &SLOT_NS.to_string()),
            ("guard_ns", &guard.to_string()),
        ],
    );
}

fn ops(doc: &mut Doc) {
    let Some(ops) = doc.get_mut("ops").filter(|ops| ops.get("switches").is_some()) else {
        return;
    };
    let edges = section(ops, "edges");
    if edges.is_mapping() {
        EdgesOfSwitches::fill(edges);
    }
    for edge in elements(ops, &["edges"]) {
        fill(edge, &[("delay_ns", EDGE_DELAY_NS)]);
    }
}

/// Groups of hosts: one at each node if there is no list of them.
fn groups(doc: &mut Doc, parts: Parts) {
    if !parts.has_groups() {
        return;
    }
    if !parts.star && is_missing(doc, "hosts") {
        let line = doc.line();
        let group = |(index, node): (usize, String)| {
            let mut group = Doc::mapping(line);
            group.set("name", Doc::scalar(format!("h{index}"), line));
            group.set(AT, Doc::text(&node, line));
            group
        };
        let groups = nodes(doc, parts.own).into_iter().enumerate().map(group);
        doc.set("hosts", Doc::list(groups.collect(), line));
    }
    let path: &[&str] = if parts.star { &["hosts", "groups"] } else { &["hosts"] };
    for group in elements(doc, path) {
        fill(group, &GROUP);
        buffer(group);
    }
}

/// Names of the nodes that hosts may be at.
fn nodes(doc: &mut Doc, own: Option<&NetworkSection>) -> Vec<String> {
    let switches = elements(doc, &["ops", "switches"]).len();
    let each = doc
        .at_mut(&["ops", "edges"])
        .and_then(|edges| edges.get("edges_per_switch")?.as_u64());
    if let (true, Some(each)) = (own.is_some_and(|own| own.key == ops::SECTION.key), each) {
        return (0..switches as u64 * each.min(1000))
            .map(|number| format!("e{number}"))
            .collect();
    }
    let path = own.map_or(&["routers"][..], |section| section.hosts_list);
    let name = |node: &mut Doc| node.get("name").unwrap_or(node).as_str().map(str::to_owned);
    elements(doc, path).iter_mut().filter_map(name).collect()
}

/// A buffer: `1000 packets` or an amount of data in place of the mapping.
fn buffer(doc: &mut Doc) {
    if !doc.is_mapping() {
        return;
    }
    let line = doc.line();
    let mut limit = Doc::mapping(line);
    match doc.get("buffer") {
        None => limit.set("packets", Doc::scalar(PACKETS.to_owned(), line)),
        Some(written) => match written.as_str() {
            None => return,
            Some(text) => match text.strip_suffix(" packets") {
                Some(count) => limit.set("packets", Doc::scalar(count.to_owned(), written.line())),
                None => limit.set("bytes", written.clone()),
            },
        },
    }
    doc.set("buffer", limit);
}

/// Names an entry without a name by its ends.
pub(crate) fn name_by_ends(entry: &mut Doc) {
    let end = |key| entry.get(key).and_then(Doc::as_str);
    if let (true, Some(from), Some(to)) = (is_missing(entry, "name"), end("from"), end("to")) {
        let name = Doc::text(&format!("{from}-{to}"), entry.line());
        entry.set("name", name);
    }
}

/// Puts values under keys of a mapping that it has in no spelling.
pub(crate) fn fill(doc: &mut Doc, defaults: &[(&str, &str)]) {
    for (key, value) in defaults {
        if is_missing(doc, key) {
            doc.set(key, Doc::scalar((*value).to_owned(), doc.line()));
        }
    }
}

fn is_missing(doc: &Doc, key: &str) -> bool {
    let mapping = doc.as_mapping();
    mapping.is_some_and(|mapping| {
        !mapping
            .keys()
            .filter_map(Doc::as_str)
            .any(|written| is_spelling(written, key))
    })
}

/// The mapping under `key`, put there if there is none.
fn section<'d>(doc: &'d mut Doc, key: &str) -> &'d mut Doc {
    if is_missing(doc, key) {
        doc.set(key, Doc::mapping(doc.line()));
    }
    doc.get_mut(key).expect("it is there")
}

fn elements<'d>(doc: &'d mut Doc, path: &[&str]) -> &'d mut [Doc] {
    doc.at_mut(path).and_then(Doc::as_list_mut).unwrap_or_default()
}
