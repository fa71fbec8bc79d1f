// SPDX-License-Identifier: Apache-2.0
//! JSON Schema of the plain form of a file: `schema/base.json` has what depends on the network type, sections have their keys.

use crate::clocks::Clocks;
use crate::doc::Doc;
use crate::model::{Core, Edge, Frame, Hosts, Queues};
use crate::ops::{AggregationKeys, OpsKeys, StarClass};
use crate::optics::Optics;
use crate::section::Section;
use crate::{ring, routed};

/// Everything that no section declares. A mapping with the key `$section` stands for the section of this name, with the further keys
/// and properties of the mapping.
pub(crate) const BASE: &str = include_str!("schema/base.json");
const SECTION: &str = "$section";
/// Characters of a line.
const WIDTH: usize = 200;

/// Name of a section, and its schema.
type Named = (&'static str, fn() -> Doc);

/// Schemas of sections by name.
const SECTIONS: &[Named] = &[
    ("aggregation", AggregationKeys::described),
    ("clocks", Clocks::described),
    ("core", Core::schema),
    ("edge", Edge::schema),
    ("flow_gtp", routed::GtpFlowKeys::described),
    ("flow_tcp", routed::Tcp::described),
    ("frame", Frame::described),
    ("host_gtp", routed::GtpHostKeys::described),
    ("hosts", Hosts::described),
    ("ops", OpsKeys::described),
    ("optics", Optics::described),
    ("queues", Queues::described),
    ("star_class", StarClass::schema),
    ("ring", ring::RingKeys::described),
];

/// The JSON Schema of scenario files in their plain form, as text.
pub fn schema() -> String {
    let mut base = Doc::read(BASE.as_bytes()).expect("the base is JSON, which is YAML");
    insert(&mut base);
    let mut text = String::new();
    print(&base, 0, &mut text);
    text + "\n"
}

/// Puts sections in place of their names.
fn insert(schema: &mut Doc) {
    for inner in schema.values_mut() {
        insert(inner);
    }
    let name = schema.get(SECTION).and_then(Doc::as_str);
    let Some(name) = name else { return };
    let (_, section) = SECTIONS.iter().find(|(known, _)| *known == name).expect(name);
    let mut more = std::mem::replace(schema, section());
    more.remove(|key| key == SECTION);
    merge(schema, more);
}

/// Adds keys to a mapping, and to the mappings within; null removes one.
fn merge(schema: &mut Doc, mut more: Doc) {
    for key in more.names() {
        match (schema.get_mut(&key), more.get_mut(&key)) {
            (_, Some(value)) if value.to_json() == "null" => schema.remove(|known| known == key),
            (Some(known), Some(value)) if known.is_mapping() => merge(known, std::mem::replace(value, Doc::mapping(0))),
            (_, Some(value)) => schema.set(&key, std::mem::replace(value, Doc::mapping(0))),
            (_, None) => {}
        }
    }
}

/// A value on one line if it fits, else an entry a line.
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
