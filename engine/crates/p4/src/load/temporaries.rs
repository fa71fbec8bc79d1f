// SPDX-License-Identifier: Apache-2.0
//! Which metadata a new packet need not find at zero.
//!
//! p4c makes a field of metadata of every temporary, hundreds in a large program, and a packet that starts by zeroing them all
//! pays for statements that it never comes to. A field is *temporary* if each action that reads it has written it before, and
//! nothing but actions reads it: no packet can see what an earlier one left there.

use super::headers::HeaderNames;
use crate::ir::Layout;
use crate::value::limbs_for;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A header's name and a field's.
type Name<'a> = (&'a str, &'a str);

/// The words of a packet that must be as in [`Layout::initial`] when it starts; the others hold temporaries.
pub(super) fn words_to_reset(root: &Value, layout: &Layout, names: &HeaderNames) -> Vec<Range<usize>> {
    let mut needed = vec![true; layout.initial.len()];
    for (header, field) in temporaries(root, layout, names) {
        if let Some(&id) = names.headers.get(header) {
            let header = &layout.headers[id];
            let fields = &layout.types[header.header_type].fields;
            if let Some(field) = fields.iter().find(|f| f.name == field && !f.variable) {
                let start = header.base + field.offset;
                needed[start..start + limbs_for(field.width)].fill(false);
            }
        }
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for word in (0..needed.len()).filter(|&word| needed[word]) {
        match ranges.last_mut() {
            // A short gap costs less than another copy.
            Some(last) if word - last.end < SHORTEST_GAP => last.end = word + 1,
            _ => ranges.push(word..word + 1),
        }
    }
    ranges
}

const SHORTEST_GAP: usize = 32;

/// Metadata that the switch itself reads.
const ARCHITECTURE: [&str; 3] = ["standard_metadata", "intrinsic_metadata", "queueing_metadata"];

fn temporaries<'a>(root: &'a Value, layout: &Layout, names: &HeaderNames) -> BTreeSet<Name<'a>> {
    let is_metadata = |name: &str| {
        names
            .headers
            .get(name)
            .is_some_and(|&id| layout.initial[layout.headers[id].base] != 0)
    };
    // What a calculation reads is read where it is used.
    let calculations: BTreeMap<&str, BTreeSet<Name>> = items(root, "calculations")
        .filter_map(|calculation| Some((calculation.get("name")?.as_str()?, mentioned(calculation))))
        .collect();
    let mut written = BTreeSet::new();
    let mut seen_before = BTreeSet::new();
    let empty = serde_json::Map::new();
    for (section, value) in root.as_object().unwrap_or(&empty) {
        match section.as_str() {
            "actions" | "calculations" => {}
            "checksums" => {
                seen_before.extend(mentioned(value));
                let used = items(root, "checksums").filter_map(|c| calculations.get(c.get("calculation")?.as_str()?));
                seen_before.extend(used.flatten());
            }
            _ => seen_before.extend(mentioned(value)),
        }
    }
    for action in items(root, "actions") {
        let mut flow = Flow::of(action);
        for (index, primitive) in items(action, "primitives").enumerate() {
            flow.reaches(index);
            let parameters: Vec<&Value> = items(primitive, "parameters").collect();
            let target = (op(primitive) == "assign")
                .then(|| name(parameters.first()?.get("value")?))
                .flatten();
            for parameter in parameters.iter().skip(usize::from(target.is_some())) {
                let used = parameter
                    .get("value")
                    .and_then(Value::as_str)
                    .and_then(|name| calculations.get(name));
                let read = mentioned(parameter);
                let read = read.iter().chain(used.into_iter().flatten());
                seen_before.extend(read.filter(|name| !flow.written.contains(*name)));
            }
            flow.passes(primitive);
            if let Some(target) = target {
                flow.writes(target);
                written.insert(target);
            }
        }
    }
    let whole = whole_headers(root);
    let is_read_elsewhere =
        |name: &Name| whole.contains(name.0) || ARCHITECTURE.contains(&name.0) || seen_before.contains(name);
    written.retain(|name| is_metadata(name.0) && !is_read_elsewhere(name));
    written
}

/// Fields that are surely written before a primitive of an action, on each path that leads to it.
struct Flow<'a> {
    written: BTreeSet<Name<'a>>,
    /// Fields written before jumps, by the primitives that the jumps lead to.
    joins: BTreeMap<usize, BTreeSet<Name<'a>>>,
    /// True if the primitive before leads to this one.
    falls_through: bool,
    /// True if paths are followed. Otherwise no write counts that stands behind a jump.
    follows_jumps: bool,
    has_jumped: bool,
}

/// Bound of the jumps times primitives of an action whose paths are followed, as each jump keeps a set.
const MOST_PATHS: usize = 1 << 20;

impl<'a> Flow<'a> {
    /// The start of an action.
    fn of(action: &'a Value) -> Flow<'a> {
        let (mut jumps, mut length, mut are_forward) = (0, 0, true);
        for (index, primitive) in items(action, "primitives").enumerate() {
            length = index + 1;
            if is_jump(primitive) {
                jumps += 1;
                // A loop would have to be followed more than once.
                are_forward &= destination(primitive).is_some_and(|to| to > index);
            }
        }
        Flow {
            written: BTreeSet::new(),
            joins: BTreeMap::new(),
            falls_through: true,
            follows_jumps: are_forward && jumps * length <= MOST_PATHS,
            has_jumped: false,
        }
    }

    /// The primitive of this number is next.
    fn reaches(&mut self, index: usize) {
        if let Some(join) = self.joins.remove(&index) {
            match self.falls_through {
                true => self.written.retain(|name| join.contains(name)),
                false => self.written = join,
            }
            self.falls_through = true;
        }
    }

    /// Goes on after a primitive.
    fn passes(&mut self, primitive: &'a Value) {
        if !is_jump(primitive) {
            return;
        }
        self.has_jumped = true;
        if let Some(to) = destination(primitive).filter(|_| self.follows_jumps) {
            match self.joins.get_mut(&to) {
                Some(join) => join.retain(|name| self.written.contains(name)),
                None => drop(self.joins.insert(to, self.written.clone())),
            }
            if op(primitive) == "_jump" {
                self.falls_through = false;
                self.written.clear();
            }
        }
    }

    fn writes(&mut self, target: Name<'a>) {
        if self.follows_jumps || !self.has_jumped {
            self.written.insert(target);
        }
    }
}

fn op(primitive: &Value) -> &str {
    primitive.get("op").and_then(Value::as_str).unwrap_or_default()
}

fn is_jump(primitive: &Value) -> bool {
    op(primitive).starts_with("_jump")
}

/// Primitive that a jump leads to, by the last of its parameters.
fn destination(jump: &Value) -> Option<usize> {
    let last = items(jump, "parameters").last()?;
    usize::from_str_radix(last.get("value")?.as_str()?.strip_prefix("0x")?, 16).ok()
}

pub(super) fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn name(value: &Value) -> Option<Name<'_>> {
    match value.as_array()?.as_slice() {
        [header, field] => Some((header.as_str()?, field.as_str()?)),
        _ => None,
    }
}

/// The headers that are used as a whole, in an assignment for example.
pub(super) fn whole_headers(value: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    walk(value, |value| {
        if value.get("type").and_then(Value::as_str) == Some("header") {
            found.extend(value.get("value").and_then(Value::as_str));
        }
    });
    found
}

/// All pairs of strings: whatever else they are, each field that is named is one of them.
pub(super) fn mentioned(value: &Value) -> BTreeSet<Name<'_>> {
    let mut found = BTreeSet::new();
    walk(value, |value| found.extend(name(value)));
    found
}

fn walk<'a>(value: &'a Value, mut visit: impl FnMut(&'a Value)) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        visit(value);
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Budget, Held};
    use crate::load::headers;
    use crate::load::json::Place;
    use serde_json::json;

    fn field(name: &str) -> Value {
        json!({"type": "field", "value": ["meta", name]})
    }

    fn assign(target: &str, source: Value) -> Value {
        json!({"op": "assign", "parameters": [field(target), source]})
    }

    /// The temporaries of a program with these primitives in one action, and with what else it has.
    fn found(primitives: Value, rest: Value) -> Vec<String> {
        let mut program = json!({
            "header_types": [{"name": "meta_t", "fields": [["a", 8, false], ["b", 8, false], ["c", 8, false]]}],
            "headers": [{"name": "meta", "id": 0, "header_type": "meta_t", "metadata": true},
                        {"name": "packet", "id": 1, "header_type": "meta_t", "metadata": false}],
            "actions": [{"name": "act", "primitives": primitives}],
        });
        program
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        let (layout, names) = headers::load(&Place::root(
            &program,
            &Budget::new(&crate::Limits::default(), Held::unlimited()),
        ))
        .unwrap();
        temporaries(&program, &layout, &names)
            .into_iter()
            .map(|name| name.1.to_owned())
            .collect()
    }

    #[test]
    fn what_every_action_writes_before_it_reads_it_is_temporary() {
        let sum = json!({"type": "expression", "value": {"op": "+", "left": field("a"), "right": field("b")}});
        let straight = json!([
            assign("a", json!({"type": "hexstr", "value": "0x1"})),
            assign("b", field("a")),
            assign("c", sum)
        ]);
        assert_eq!(found(straight, json!({})), ["a", "b", "c"]);
        let by_calculation = json!([assign("a", field("b")),
            {"op": "modify_field_with_hash_based_offset", "parameters": [field("c"), {"type": "hexstr", "value": "0x0"},
                {"type": "calculation", "value": "calc"}, {"type": "hexstr", "value": "0x10"}]}]);
        let calculation = json!({"calculations": [{"name": "calc", "id": 0, "algo": "crc16", "input": [field("a")]}]});
        assert_eq!(found(by_calculation, calculation), ["a"]);
    }

    #[test]
    fn what_something_else_may_read_is_not() {
        let write = || json!([assign("a", field("b"))]);
        assert_eq!(
            found(json!([assign("a", field("a"))]), json!({})),
            [""; 0],
            "read first"
        );
        assert_eq!(
            found(json!([assign("a", field("b")), assign("b", field("a"))]), json!({})),
            ["a"],
            "one of two read first"
        );
        let to = |to: usize| json!({"type": "hexstr", "value": format!("{to:#x}")});
        let jump = |at: usize| json!({"op": "_jump_if_zero", "parameters": [field("b"), to(at)]});
        let always = |at: usize| json!({"op": "_jump", "parameters": [to(at)]});
        let skipped = json!([jump(2), assign("a", field("b")), assign("c", field("a"))]);
        assert_eq!(found(skipped, json!({})), ["c"], "the write may be jumped over");
        let behind = json!([jump(1), assign("a", field("b")), assign("c", field("a"))]);
        assert_eq!(found(behind, json!({})), ["a", "c"], "the jump leads to the write");
        let one = || assign("a", json!({"type": "hexstr", "value": "0x1"}));
        let both = json!([jump(3), one(), always(4), one(), assign("c", field("a"))]);
        assert_eq!(found(both, json!({})), ["a", "c"], "written on both paths");
        let one_of_two = json!([
            jump(3),
            one(),
            always(4),
            assign("c", field("b")),
            assign("c", field("a"))
        ]);
        assert_eq!(found(one_of_two, json!({})), ["c"], "written on one of two paths");
        let again = json!([jump(2), assign("c", field("a")), one(), always(1)]);
        assert_eq!(found(again, json!({})), ["c"], "a loop comes to the read first");
        let looped = json!([jump(2), one(), assign("c", field("a")), always(1)]);
        assert_eq!(found(looped, json!({})), ["c"], "paths of loops are not followed");
        for rest in [
            json!({"pipelines": [{"tables": [{"key": [{"target": ["meta", "a"]}]}]}]}),
            json!({"parsers": [{"parse_states": [{"parser_ops": [{"op": "set", "parameters": [field("a")]}]}]}]}),
            json!({"field_lists": [{"elements": [field("a")]}]}),
            json!({"field_aliases": [["standard_metadata.priority", ["meta", "a"]]]}),
            json!({"calculations": [{"name": "calc", "input": [field("a")]}], "checksums": [{"calculation": "calc"}]}),
        ] {
            assert_eq!(found(write(), rest.clone()), [""; 0], "{rest}");
        }
        let whole = json!([assign("a", field("b")), {"op": "assign_header", "parameters": [
            {"type": "header", "value": "packet"}, {"type": "header", "value": "meta"}]}]);
        assert_eq!(found(whole, json!({})), [""; 0], "copied as a whole");
        let header = json!([{"op": "assign", "parameters": [{"type": "field", "value": ["packet", "a"]}, field("b")]}]);
        assert_eq!(
            found(header, json!({})),
            [""; 0],
            "a header's field, which an invalid header has at zero"
        );
    }

    #[test]
    fn long_runs_of_temporaries_are_left_out() {
        let fields: Vec<Value> = (0..60).map(|i| json!([format!("f{i}"), 8, false])).collect();
        let constant = || json!({"type": "hexstr", "value": "0x1"});
        let writes: Vec<Value> = (2..50).map(|i| assign(&format!("f{i}"), constant())).collect();
        let program = json!({
            "header_types": [{"name": "meta_t", "fields": fields}],
            "headers": [{"name": "meta", "id": 0, "header_type": "meta_t", "metadata": true}],
            "actions": [{"name": "act", "primitives": writes}],
        });
        let (layout, names) = headers::load(&Place::root(
            &program,
            &Budget::new(&crate::Limits::default(), Held::unlimited()),
        ))
        .unwrap();
        assert_eq!(words_to_reset(&program, &layout, &names), [0..3, 51..61]);
    }
}
