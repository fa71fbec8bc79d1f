// SPDX-License-Identifier: Apache-2.0
//! Tables that the program gives entries: keys so small that all of their values are tried.

use slotwise_units::Instant;

use super::expressions::hex;
use super::program::STANDARD;
use super::{Dice, Recorder, both, lasting_state, pipelines};
use crate::Program;
use crate::api::{ActionCall, Executor};
use crate::jit::Code;
use crate::value::mask;
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::Arc;

/// What is in a frame: the key, the answer, and how it came about. The wide field is all zeros or all ones.
const FIELDS: [(&str, u32); 6] = [("a", 2), ("b", 3), ("c", 3), ("wide", 72), ("answer", 8), ("how", 8)];
const KEY_FIELDS: usize = 4;
const PROGRAMS: u64 = 80;

fn field(name: &str) -> Value {
    json!({"type": "field", "value": ["packet", name]})
}

fn set(name: &str, value: Value) -> Value {
    json!({"op": "assign", "parameters": [field(name), value]})
}

fn number(value: u64) -> Value {
    json!({"type": "hexstr", "value": hex(&[value])})
}

/// Part of an entry's key, and whether its kind leaves values open.
fn part(dice: &mut Dice, kind: &str, width: u32) -> Value {
    let ones = vec![mask(width.min(64)); width.div_ceil(64) as usize];
    let value = match width > 64 {
        true if dice.chance(50) => vec![u64::MAX, mask(width - 64)],
        true => vec![0, 0],
        false => dice.value(width),
    };
    match kind {
        "ternary" => {
            let some = dice.value(width);
            let mask = match dice.below(3) {
                0 => vec![0; value.len()],
                1 if width > 64 => vec![u64::MAX, mask(width - 64)],
                1 => ones,
                _ => some,
            };
            json!({"match_type": kind, "key": hex(&value), "mask": hex(&mask)})
        }
        "lpm" => {
            let length = dice.below(width as usize + 1);
            json!({"match_type": kind, "key": hex(&value), "prefix_length": length})
        }
        _ => json!({"match_type": kind, "key": hex(&value)}),
    }
}

/// A table of random entries, with two actions, the second without an argument; what follows says how the answer came about.
fn generate(dice: &mut Dice) -> Value {
    let strongest = *dice.pick(&["exact", "lpm", "ternary"]);
    let first = dice.below(KEY_FIELDS);
    let kinds: Vec<(&str, u32, &str)> = (first..KEY_FIELDS)
        .map(|at| {
            let kind = match (at == first, strongest) {
                (true, kind) | (false, kind @ "ternary") => kind,
                _ => "exact",
            };
            (FIELDS[at].0, FIELDS[at].1, kind)
        })
        .collect();
    let key: Vec<Value> = kinds
        .iter()
        .map(|(name, _, kind)| json!({"match_type": kind, "name": name, "target": ["packet", name], "mask": null}))
        .collect();
    let entries: Vec<Value> = (0..1 + dice.below(40))
        .map(|order| {
            let match_key: Vec<Value> = kinds.iter().map(|(_, width, kind)| part(dice, kind, *width)).collect();
            let action = match dice.chance(80) {
                // Several entries have the same.
                true => json!({"action_id": 0, "action_data": [hex(&[dice.below(6) as u64])]}),
                false => json!({"action_id": 1, "action_data": []}),
            };
            json!({"match_key": match_key, "priority": order + 1, "action_entry": action})
        })
        .collect();
    let next = match dice.chance(50) {
        true => json!({"__HIT__": "first", "__MISS__": "second"}),
        false => json!({"give": "first", "take": "second"}),
    };
    let after = |name: &str, action: usize| {
        json!({"name": name, "match_type": "exact", "type": "simple", "max_size": 1, "key": [], "action_ids": [action],
            "next_tables": {name: null}, "base_default_next": null,
            "default_entry": {"action_id": action, "action_const": true, "action_data": [], "action_entry_const": true}})
    };
    let mut table = json!({"name": "table", "match_type": strongest, "type": "simple", "max_size": 64, "key": key, "action_ids": [0, 1],
        "next_tables": next, "base_default_next": "second", "entries": entries});
    if dice.chance(60) {
        table["default_entry"] =
            json!({"action_id": 0, "action_const": false, "action_data": ["0x63"], "action_entry_const": false});
    }
    let fields: Vec<Value> = FIELDS.iter().map(|(name, width)| json!([name, width, false])).collect();
    let standard: Vec<Value> = STANDARD
        .iter()
        .map(|(name, width)| json!([name, width, false]))
        .collect();
    let argument = json!({"type": "runtime_data", "value": 0});
    json!({
        "__meta__": {"version": [2, 23]},
        "header_types": [{"name": "standard_metadata", "id": 0, "fields": standard}, {"name": "packet_t", "id": 1, "fields": fields}],
        "headers": [{"name": "standard_metadata", "id": 0, "header_type": "standard_metadata", "metadata": true},
            {"name": "packet", "id": 1, "header_type": "packet_t", "metadata": false}],
        "errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2], ["StackOutOfBounds", 3], ["HeaderTooShort", 4],
            ["ParserTimeout", 5], ["ParserInvalidArgument", 6]],
        "parsers": [{"name": "parser", "init_state": "start", "parse_states": [{"name": "start", "transition_key": [],
            "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "packet"}]}],
            "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}]}]}],
        "deparsers": [{"name": "deparser", "order": ["packet"], "primitives": []}],
        "actions": [
            {"name": "give", "id": 0, "runtime_data": [{"name": "answer", "bitwidth": 8}], "primitives": [set("answer", argument)]},
            {"name": "take", "id": 1, "runtime_data": [], "primitives": [set("answer", number(0xff))]},
            {"name": "first", "id": 2, "runtime_data": [], "primitives": [set("how", number(1))]},
            {"name": "second", "id": 3, "runtime_data": [], "primitives": [set("how", number(2))]}],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "table", "tables": [table, after("first", 2), after("second", 3)],
                "conditionals": [], "action_profiles": []},
            {"name": "egress", "id": 1, "init_table": null, "tables": [], "conditionals": [], "action_profiles": []}],
    })
}

/// Runs every key through both executors; returns how the answers came about.
fn try_all(pipelines: &mut [crate::Pipeline; 2]) -> [usize; 3] {
    let mut ways = [0; 3];
    for key in 0..=255 {
        for wide in [0, 0xff] {
            let frame = [[key].as_slice(), &[wide; 9], &[0, 0]].concat();
            let recorder = both(pipelines, |pipeline| {
                let mut recorder = Recorder::default();
                pipeline.process(Instant::ZERO, 1, &frame, &mut recorder);
                recorder
            });
            ways[usize::from(recorder.packets[0].1[11])] += 1;
        }
    }
    ways
}

#[test]
fn entries_of_the_program_are_found_by_branches_as_by_lookup() {
    let mut ways = [0; 3];
    for seed in 0..PROGRAMS {
        let mut dice = Dice::new(seed);
        let program = Program::from_json(generate(&mut dice).to_string().as_bytes());
        let program = Arc::new(program.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
        let mut pipelines = pipelines(&program, seed);
        assert_eq!(pipelines[1].executor(), Executor::Jit);
        let found = try_all(&mut pipelines);
        for (sum, found) in ways.iter_mut().zip(found) {
            *sum += found;
        }
        // The controller changes the default action, then entries.
        let answer = ActionCall {
            name: "give".to_owned(),
            args: vec![vec![0x62]],
        };
        both(&mut pipelines, |p| p.table_set_default("table", Some(answer.clone()))).expect("the default is not const");
        try_all(&mut pipelines);
        both(&mut pipelines, |p| p.table_set_default("table", None)).expect("the program's");
        both(&mut pipelines, |p| p.table_set_const("table", false)).expect("the program has the table");
        let entry = both(&mut pipelines, |p| p.table_entries("table"))
            .expect("the program has the table")
            .swap_remove(0);
        both(&mut pipelines, |p| p.table_delete("table", &entry)).expect("the entry is there");
        try_all(&mut pipelines);
        both(&mut pipelines, |pipeline| lasting_state(pipeline));
    }
    assert_eq!(ways[0], 0);
    assert!(ways.iter().skip(1).all(|&ways| ways > 2000), "{ways:?}");
}

/// A table that names all values of a byte, each with an argument of its own for an action of long expressions.
fn long_copies(dice: &mut Dice) -> Value {
    const DOUBLINGS: usize = 8;
    let mut json = generate(dice);
    let argument = json!({"type": "runtime_data", "value": 0});
    let double = |half: Value| json!({"type": "expression", "value": {"op": "+", "left": half, "right": half}});
    let long = (0..DOUBLINGS).fold(argument, |half, _| double(half));
    let truncated = json!({"type": "expression", "value": {"op": "&", "left": long, "right": number(0xff)}});
    json["actions"][0]["primitives"] = vec![set("answer", truncated); 8].into();
    let table = &mut json["pipelines"][0]["tables"][0];
    let key = ["a", "b", "c"]
        .map(|name| json!({"match_type": "exact", "name": name, "target": ["packet", name], "mask": null}));
    let entry = |value: u64| {
        let match_key =
            [value >> 6, value >> 3 & 7, value & 7].map(|part| json!({"match_type": "exact", "key": hex(&[part])}));
        json!({"match_key": match_key, "priority": 1, "action_entry": {"action_id": 0, "action_data": [hex(&[value])]}})
    };
    table["match_type"] = json!("exact");
    table["max_size"] = json!(256);
    table["key"] = json!(key);
    table["entries"] = (0..256).map(entry).collect();
    json
}

#[test]
fn what_is_too_large_with_copies_of_actions_is_compiled_without() {
    let program = Program::from_json(long_copies(&mut Dice::new(1)).to_string().as_bytes()).unwrap();
    let code = |has_decided| Code::with(&program.ir, has_decided).map(drop);
    let has_decided = Cell::new(false);
    assert!(code(Some(&has_decided)).is_err() && has_decided.get() && code(None).is_ok());
    let mut pipelines = pipelines(&Arc::new(program), 1);
    assert_eq!(pipelines[1].executor(), Executor::Jit);
    try_all(&mut pipelines);
}
