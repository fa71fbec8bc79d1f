// SPDX-License-Identifier: Apache-2.0
//! Small programs, in BMv2's JSON as p4c writes it.

use super::support::{config, fresh};
use serde_json::{Value, json};
use slotwise_p4::{Pipeline, Program};
use std::sync::Arc;

/// Parts of a program beside the header `tag` of the bytes `kind` and `result`, and standard metadata. By default the parser
/// extracts the tag. Ingress sends to port 1, and the deparser emits all headers.
#[derive(Default)]
pub struct Small {
    /// Types of headers: name, and fields with their widths.
    pub types: Vec<(&'static str, Value)>,
    /// Fields of the metadata `meta`.
    pub metadata: Vec<(&'static str, u32)>,
    /// Names and types.
    pub headers: Vec<(&'static str, &'static str)>,
    /// Name and type of the two elements, `NAME[0]` and `NAME[1]`.
    pub stacks: Vec<(&'static str, &'static str)>,
    /// Names of unions of a header `a` of type `a_t` and a header `b` of type `b_t`.
    pub unions: Vec<&'static str>,
    /// A stack of these unions.
    pub union_stack: Option<(&'static str, Vec<&'static str>)>,
    pub states: Vec<Value>,
    /// Primitives of ingress and egress.
    pub ingress: Vec<Value>,
    pub egress: Vec<Value>,
    /// Tables that ingress applies before its primitives.
    pub tables: Vec<Value>,
    /// Actions of these tables, from id 10 on.
    pub actions: Vec<Value>,
    /// Other members.
    pub rest: Vec<(&'static str, Value)>,
}

pub fn header(name: &str) -> Value {
    json!({"type": "header", "value": name})
}

pub fn field(header: &str, field: &str) -> Value {
    json!({"type": "field", "value": [header, field]})
}

pub fn standard(name: &str) -> Value {
    field("standard_metadata", name)
}

pub fn hex(value: u64) -> Value {
    json!({"type": "hexstr", "value": format!("{value:#04x}")})
}

/// The field of a stack's last element.
pub fn last(stack: &str, field: &str) -> Value {
    json!({"type": "stack_field", "value": [stack, field]})
}

pub fn expression(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

pub fn primitive(op: &str, parameters: &[Value]) -> Value {
    json!({"op": op, "parameters": parameters})
}

pub fn assign(target: Value, value: Value) -> Value {
    primitive("assign", &[target, value])
}

pub fn extract(name: &str) -> Value {
    primitive("extract", &[json!({"type": "regular", "value": name})])
}

pub fn extract_next(stack: &str) -> Value {
    primitive("extract", &[json!({"type": "stack", "value": stack})])
}

/// A state of a parser; `next` has values and states.
pub fn state(name: &str, ops: &[Value], key: &[Value], next: &[(Option<&str>, Option<&str>)]) -> Value {
    let transition = |&(value, next): &(Option<&str>, Option<&str>)| match value {
        Some(value) => json!({"type": "hexstr", "value": value, "mask": null, "next_state": next}),
        None => json!({"type": "default", "value": null, "mask": null, "next_state": next}),
    };
    let transitions: Vec<Value> = next.iter().map(transition).collect();
    json!({"name": name, "parser_ops": ops, "transition_key": key, "transitions": transitions})
}

/// Fields of standard metadata and their widths.
const STANDARD: [(&str, u32); 8] = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("ingress_global_timestamp", 48),
    ("parser_error", 32),
    ("_padding", 5),
];

fn fields(widths: &[(&str, u32)]) -> Value {
    let fields: Vec<Value> = widths.iter().map(|(name, width)| json!([name, width, false])).collect();
    fields.into()
}

impl Small {
    pub fn json(&self) -> Value {
        let tag = fields(&[("kind", 8), ("result", 8)]);
        let types = [
            ("tag_t", tag),
            ("standard_metadata", fields(&STANDARD)),
            ("meta_t", fields(&self.metadata)),
            ("a_t", fields(&[("v", 8)])),
            ("b_t", fields(&[("v", 16)])),
        ];
        let header_types = types
            .iter()
            .chain(&self.types)
            .map(|(name, fields)| json!({"name": name, "fields": fields, "max_length": 9}));
        let header_types: Vec<Value> = header_types.collect();

        let mut headers: Vec<Value> = Vec::new();
        let mut add = |name: &str, header_type: &str, metadata: bool| {
            let id = headers.len();
            headers.push(json!({"name": name, "id": id, "header_type": header_type, "metadata": metadata}));
            id
        };
        add("standard_metadata", "standard_metadata", true);
        add("meta", "meta_t", true);
        add("tag", "tag_t", false);
        for (name, header_type) in &self.headers {
            add(name, header_type, false);
        }
        let stack = |(name, header_type): &(&str, &str)| {
            let ids = [0, 1].map(|index| add(&format!("{name}[{index}]"), header_type, false));
            json!({"name": name, "header_type": header_type, "size": 2, "header_ids": ids})
        };
        let stacks: Vec<Value> = self.stacks.iter().map(stack).collect();
        let union = |(id, name): (usize, &&str)| {
            let ids = [("a", "a_t"), ("b", "b_t")].map(|(member, kind)| add(&format!("{name}.{member}"), kind, false));
            json!({"name": name, "id": id, "union_type": "u_t", "header_ids": ids})
        };
        let unions: Vec<Value> = self.unions.iter().enumerate().map(union).collect();
        let union_stacks: Vec<Value> = self
            .union_stack
            .iter()
            .map(|(name, elements)| {
                let id = |name: &&str| self.unions.iter().position(|union| union == name);
                let ids: Vec<Option<usize>> = elements.iter().map(id).collect();
                json!({"name": name, "union_type": "u_t", "size": ids.len(), "header_union_ids": ids})
            })
            .collect();
        let order: Vec<Value> = headers[2..].iter().map(|header| header["name"].clone()).collect();

        let states = match self.states.as_slice() {
            [] => vec![state("start", &[extract("tag")], &[], &[(None, None)])],
            states => states.to_vec(),
        };
        let send = assign(standard("egress_spec"), hex(1));
        let ingress: Vec<Value> = [send].into_iter().chain(self.ingress.clone()).collect();
        let mut actions = vec![
            json!({"name": "in", "id": 0, "runtime_data": [], "primitives": ingress}),
            json!({"name": "out", "id": 1, "runtime_data": [], "primitives": self.egress}),
        ];
        actions.extend(self.actions.clone());
        let control = |name: &str, action: usize, tables: &[Value]| {
            let calls = json!([{"name": "go", "id": 0, "action_id": action, "next_node": null}]);
            let first = tables.first().map_or(json!("go"), |table| table["name"].clone());
            json!({"name": name, "id": action, "init_table": first, "tables": tables, "conditionals": [], "action_calls": calls})
        };
        let mut json = json!({
            "__meta__": {"version": [2, 23]},
            "header_types": header_types, "headers": headers, "header_stacks": stacks,
            "header_union_types": [{"name": "u_t", "headers": [["a", "a_t"], ["b", "b_t"]]}],
            "header_unions": unions, "header_union_stacks": union_stacks,
            "errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2], ["StackOutOfBounds", 3], ["HeaderTooShort", 4],
                ["ParserTimeout", 5], ["ParserInvalidArgument", 6], ["Other", 7]],
            "parsers": [{"name": "parser", "init_state": "start", "parse_states": states}],
            "deparsers": [{"name": "deparser", "order": order}],
            "actions": actions,
            "pipelines": [control("ingress", 0, &self.tables), control("egress", 1, &[])],
        });
        for (member, value) in &self.rest {
            json[member] = value.clone();
        }
        json
    }

    /// Returns a pipeline of the program.
    pub fn pipeline(&self, bmv2_compatible: bool) -> Pipeline {
        let json = self.json().to_string();
        let program = Program::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let mut pipeline = fresh(Arc::new(program), config());
        pipeline.set_bmv2_compatible(bmv2_compatible);
        pipeline
    }
}
