// SPDX-License-Identifier: Apache-2.0
//! JSON Schema of the plain form of a file, made from the declarations of its keys and sections.

use crate::doc::Doc;
use crate::model::Hosts;
use crate::own_scheduler::OwnSchedulerKeys;
use crate::routed::{self, HOST_GROUPS, HostGroup};
use crate::section::{Schema as _, Section, describe, list, nested, object, raw, text};
use crate::sources::{FlowWeb, GroupUdp};
use crate::{file, own, scheduler};

/// Characters of a line.
const WIDTH: usize = 200;

/// Texts with a pattern.
const PATTERNS: [(&str, &str, &str); 4] = [
    ("name", "", "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"),
    ("span_name", "", "^[A-Za-z0-9][A-Za-z0-9_.-]{0,128}$"),
    (
        "endpoint",
        "Endpoint: all hosts ('all'), all hosts of an edge ('edgeN'), or host K of edge E ('hE_K').",
        "^(all|edge(0|[1-9][0-9]{0,4})|h(0|[1-9][0-9]{0,4})_(0|[1-9][0-9]{0,4}))$",
    ),
    (
        "own_scheduler_name",
        "Name of a custom scheduler in 'schedulers'.",
        "^[a-z][a-z0-9-]{0,63}$",
    ),
];

/// Definitions: schemas of several keys, and those referenced by other files.
fn definitions() -> Doc {
    let mut definitions = Doc::mapping(0);
    for (name, schema) in scheduler::definitions() {
        definitions.set(&name, schema);
    }
    let groups = |least| list(least..=*HOST_GROUPS.end(), nested::<HostGroup>()).schema();
    let about = "Groups of hosts at one router, station or edge, each host on a separate access link; host i of group G is G.i.";
    let mixed = "Groups of hosts at one router, each host on a separate access link; host i of group G is G.i.";
    let mut star_hosts = Hosts::described();
    if let Some(properties) = star_hosts.get_mut("properties") {
        properties.set("groups", describe(&[mixed], groups(0)));
    }
    let sections = [
        ("own_scheduler", OwnSchedulerKeys::described()),
        ("host_groups", describe(&[about], groups(*HOST_GROUPS.start()))),
        ("star_hosts", star_hosts),
        ("flow_tcp", routed::Tcp::described()),
        ("host_gtp", routed::GtpHostKeys::described()),
        ("flow_gtp", routed::GtpFlowKeys::described()),
        ("flow_udp", GroupUdp::described()),
        ("flow_web", FlowWeb::described()),
    ];
    let own = own::SECTIONS.iter().map(|section| (section.key, (section.schema)()));
    let probability = raw(r#"{"type": "number", "minimum": 0, "maximum": 1}"#).schema();
    let sections = sections.into_iter().chain(own);
    for (name, schema) in sections.chain([("probability", probability)]) {
        definitions.set(name, schema);
    }
    for (name, about, pattern) in PATTERNS {
        let schema = object([("type", text("string")), ("pattern", text(pattern))]);
        definitions.set(name, describe(&[about], schema));
    }
    definitions
}

/// The JSON Schema of scenario files in their plain form, as text.
pub fn schema() -> String {
    let mut schema = file::schema();
    schema.set("$defs", definitions());
    let mut text = String::new();
    print(&schema, 0, &mut text);
    text + "\n"
}

/// Prints a value on one line if it fits, else one entry per line.
fn print(value: &Doc, indent: usize, text: &mut String) {
    let line = value.to_json();
    if line.len() + indent <= WIDTH || value.is_scalar() {
        *text += &line;
        return;
    }
    let inner = " ".repeat(indent + 2);
    let (open, close) = if value.is_mapping() { ('{', '}') } else { ('[', ']') };
    text.push(open);
    let entries = value.as_mapping().into_iter().flat_map(crate::doc::Mapping::iter);
    let entries = entries.map(|(key, value)| (format!("{}: ", key.to_json()), value));
    let elements = value.as_list().into_iter().flatten();
    let elements = elements.map(|element| (String::new(), element));
    for (index, (key, value)) in entries.chain(elements).enumerate() {
        *text += if index > 0 { ",\n" } else { "\n" };
        *text += &format!("{inner}{key}");
        print(value, indent + 2, text);
    }
    *text += &format!("\n{}{close}", " ".repeat(indent));
}
