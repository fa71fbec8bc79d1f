// SPDX-License-Identifier: Apache-2.0
//! Programs of shapes that no compiler makes: whatever is large without bound. Each grows until it is interpreted; before and
//! after, both executors agree, on a stack that is not large.

use slotwise_units::Instant;

use super::{Dice, Recorder, both, configure, frame, lasting_state, pipelines, program};
use crate::Program;
use crate::api::{Executor, Port};
use serde_json::{Value, json};
use std::sync::Arc;

/// Of the thread that runs the packets: a fourth of what threads have otherwise.
const STACK_BYTES: usize = 512 << 10;
const PACKETS: usize = 6;

type Shape = fn(&mut Value, usize);

fn items<'a>(json: &'a mut Value, pointer: &str) -> &'a mut Vec<Value> {
    let place = json.pointer_mut(pointer).and_then(Value::as_array_mut);
    place.expect("the generator makes it")
}

/// A `select` over so many wide parts of the packet ahead, each of which lies in the frame.
fn wide_select(json: &mut Value, size: usize) {
    let state = &mut json["parsers"][0]["parse_states"][0];
    state["parser_ops"] = json!([]);
    state["transition_key"] = vec![json!({"type": "lookahead", "value": [3, 700]}); size].into();
    state["transitions"] = json!([{"type": "default", "value": null, "mask": null, "next_state": null}]);
}

/// A `select` over so many fields, whose values are all there at a time, for a value set to be compared with.
fn long_select(json: &mut Value, size: usize) {
    json["parse_vsets"] = json!([{"name": "set", "compressed_bitwidth": size.min(1024) * 8, "max_size": 4}]);
    let state = &mut json["parsers"][0]["parse_states"][0];
    state["transition_key"] = vec![json!({"type": "lookahead", "value": [0, 8]}); size].into();
    let case = json!({"type": "parse_vset", "value": "set", "mask": null, "next_state": null});
    let other = json!({"type": "default", "value": null, "mask": null, "next_state": null});
    state["transitions"] = if size <= 1024 {
        json!([case, other])
    } else {
        json!([other])
    };
}

/// So many tables in a row whose keys are long.
fn long_keys(json: &mut Value, size: usize) {
    items(json, "/header_types").push(json!({"name": "long", "id": 900, "fields": [["f", 8000, false]]}));
    items(json, "/headers").push(json!({"name": "long", "id": 900, "header_type": "long", "metadata": true}));
    let action = json["actions"][0].clone();
    let pipeline = &mut json["pipelines"][0];
    let first = std::mem::take(&mut pipeline["init_table"]);
    pipeline["init_table"] = json!("long 0");
    let next = |index: usize| match index + 1 == size {
        true => first.clone(),
        false => json!(format!("long {}", index + 1)),
    };
    let table = |index: usize| {
        let mut next_tables = json!({});
        next_tables[action["name"].as_str().expect("a name")] = next(index);
        json!({"name": format!("long {index}"), "match_type": "exact", "type": "simple", "max_size": 4, "action_ids": [action["id"]],
            "key": [{"match_type": "exact", "target": ["long", "f"], "mask": null}], "next_tables": next_tables,
            "base_default_next": next(index)})
    };
    items(pipeline, "/tables").extend((0..size).map(table));
}

/// An action of so many statements, each of which takes many instructions.
fn long_action(json: &mut Value, size: usize) {
    let fields: Vec<Value> = (0..60).map(|index| json!([format!("f{index}"), 8, false])).collect();
    items(json, "/header_types").push(json!({"name": "long", "id": 900, "fields": fields}));
    items(json, "/headers").push(json!({"name": "long", "id": 900, "header_type": "long", "metadata": false}));
    let change = |op: &str| json!({"op": op, "parameters": [{"type": "header", "value": "long"}]});
    let changes = [change("add_header"), change("remove_header")];
    json["actions"][0]["primitives"] = (0..size).map(|index| changes[index % 2].clone()).collect();
}

/// A union of so many headers, of which many are made valid.
fn large_union(json: &mut Value, size: usize) {
    let ids: Vec<usize> = (1000..1000 + size).collect();
    items(json, "/header_types").push(json!({"name": "large", "id": 900, "fields": [["f", 8, false]]}));
    let header = |id: &usize| json!({"name": id.to_string(), "id": id, "header_type": "large", "metadata": false});
    items(json, "/headers").extend(ids.iter().map(header));
    let members: Vec<Value> = ids.iter().map(|id| json!([id.to_string(), "large"])).collect();
    items(json, "/header_union_types").push(json!({"name": "large", "headers": members}));
    let union = json!({"name": "large", "id": 900, "union_type": "large", "header_ids": ids});
    items(json, "/header_unions").push(union);
    let add = |id: &usize| json!({"op": "add_header", "parameters": [{"type": "header", "value": id.to_string()}]});
    let primitives: Vec<Value> = ids.iter().map(add).collect();
    json["actions"][0]["primitives"] = primitives.into();
}

/// Whether the shape was compiled at this size. The packets run on a small stack.
fn compare(name: &str, shape: Shape, size: usize) -> bool {
    let mut dice = Dice::new(7);
    let mut json = program::generate(&mut dice);
    shape(&mut json, size);
    let program = Program::from_json(json.to_string().as_bytes()).unwrap_or_else(|e| panic!("{name} {size}: {e}"));
    let program = Arc::new(program);
    let mut pipelines = pipelines(&program, 7);
    configure(&mut dice, &program.ir, &mut pipelines);
    let compiled = pipelines[1].executor() == Executor::Jit;
    let run = move || {
        for packet in 0..PACKETS {
            let (port, mut frame) = (dice.below(8) as Port, frame(&mut dice));
            frame.resize(frame.len() + 128, 1);
            both(&mut pipelines, |pipeline| {
                let mut recorder = Recorder::default();
                pipeline.process(Instant::from_ns(packet as u64 * 1_000_000), port, &frame, &mut recorder);
                (recorder, pipeline.last_packet())
            });
        }
        both(&mut pipelines, |pipeline| lasting_state(pipeline));
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    let ended = thread.expect("a thread can be started").join();
    assert!(ended.is_ok(), "{name} of size {size}");
    compiled
}

#[test]
fn what_is_too_large_is_interpreted() {
    let shapes: [(&str, Shape, [usize; 3]); 5] = [
        ("wide select", wide_select, [2, 500, 20_000]),
        ("long select", long_select, [2, 1000, 60_000]),
        ("long keys", long_keys, [2, 40, 800]),
        ("long action", long_action, [20, 400, 20_000]),
        ("large union", large_union, [10, 200, 5000]),
    ];
    for (name, shape, sizes) in shapes {
        let compiled = sizes.map(|size| compare(name, shape, size));
        assert!(compiled[0] && !compiled[2], "{name}: {compiled:?}");
    }
}
