// SPDX-License-Identifier: Apache-2.0
//! Search for readers of the packet's length after ingress: computing it takes time.

use super::temporaries::{items, mentioned, whole_headers};
use crate::ir::{FieldRef, Layout, Node, Pipeline, Table};
use serde_json::Value;
use std::collections::BTreeSet;

/// Returns false only if neither egress nor its actions nor any calculation names `field`.
pub(super) fn is_read(root: &Value, layout: &Layout, field: FieldRef, egress: &Pipeline, tables: &[Table]) -> bool {
    let header = &layout.headers[field.header];
    let fields = &layout.types[header.header_type].fields;
    let Some(found) = fields.iter().find(|f| header.base + f.offset == field.slot) else {
        return true;
    };
    let reads = |part: &Value| {
        mentioned(part).contains(&(header.name.as_str(), found.name.as_str()))
            || whole_headers(part).contains(header.name.as_str())
    };
    let control = items(root, "pipelines").filter(|control| control.get("name").is_some_and(|name| name == "egress"));
    let actions = egress.nodes.iter().flat_map(|node| match node {
        Node::Table(table) => tables[*table].actions.as_slice(),
        Node::Action { action, .. } => std::slice::from_ref(action),
        Node::If { .. } => &[],
    });
    // Each once; they are in the order of the JSON.
    let actions: BTreeSet<usize> = actions.copied().collect();
    let actions = actions
        .into_iter()
        .filter_map(|action| root.get("actions")?.get(action));
    let primitives = actions.flat_map(|action| items(action, "primitives"));
    // Its parameter names the header, but it reads no field.
    let primitives = primitives.filter(|primitive| primitive.get("op").is_none_or(|op| op != "mark_to_drop"));
    let calculated = ["calculations", "checksums"]
        .into_iter()
        .filter_map(|section| root.get(section));
    control.chain(primitives).chain(calculated).any(reads)
}
