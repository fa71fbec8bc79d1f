// SPDX-License-Identifier: Apache-2.0
//! Programs as other compilers and other versions of p4c write them, made of those of this p4c.

use super::support::{answer, call, config, entry, exact, fresh, program_json, run_apart, ternary};
use serde_json::{Value, json};
use slotwise_p4::{CloneSession, ConfigError, Indirect, Pipeline, Program, Replica, WeightedMember};
use std::sync::Arc;

const ANSWER: &str = "TestIngress.answer";

fn matching() -> Value {
    serde_json::from_slice(&program_json("matching")).expect("p4c writes JSON")
}

fn load(json: &Value) -> Pipeline {
    let program = Program::from_json(json.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    fresh(Arc::new(program), config())
}

/// The table with this name.
fn table<'a>(json: &'a mut Value, name: &str) -> &'a mut Value {
    let tables = json.pointer_mut("/pipelines/0/tables").and_then(Value::as_array_mut);
    let mut tables = tables.expect("tables").iter_mut();
    tables.find(|table| table["name"] == name).expect("the program has it")
}

/// All actions with this name: p4c makes one for each table.
fn actions<'a>(json: &'a mut Value, name: &'a str) -> impl Iterator<Item = &'a mut Value> {
    let actions = json["actions"].as_array_mut().expect("actions").iter_mut();
    actions.filter(move |action| action["name"] == name)
}

fn field(name: &str) -> Value {
    json!({"type": "field", "value": ["key", name]})
}

fn hex(value: u64) -> Value {
    json!({"type": "hexstr", "value": format!("{value:#x}")})
}

fn primitive(op: &str, parameters: &[Value]) -> Value {
    json!({"op": op, "parameters": parameters})
}

/// A frame that has table 1 look up `a`, and its answer and color.
fn ask(pipeline: &mut Pipeline, table: u8, a: u8, b: u16, c: u32) -> (u16, u8) {
    let mut frame = vec![table, a];
    frame.extend(b.to_be_bytes());
    frame.extend(c.to_be_bytes());
    frame.extend([0; 19]);
    let out = answer(pipeline, &frame);
    (u16::from_be_bytes([out[24], out[25]]), out[26])
}

#[test]
fn primitives_of_older_compilers() {
    let given = json!({"type": "runtime_data", "value": 0});
    for (primitives, wanted) in [
        (
            vec![primitive("modify_field", &[field("answer"), given.clone()])],
            0x1234,
        ),
        (
            vec![primitive("add", &[field("answer"), given.clone(), hex(0xf001)])],
            0x0235,
        ),
        (
            vec![primitive("subtract", &[field("answer"), hex(1), given.clone()])],
            0xedcd,
        ),
        (
            vec![primitive("bit_and", &[field("answer"), given.clone(), hex(0xff)])],
            0x34,
        ),
        (
            vec![primitive("bit_or", &[field("answer"), given.clone(), hex(0xff)])],
            0x12ff,
        ),
        (
            vec![primitive("bit_xor", &[field("answer"), given.clone(), hex(0xff)])],
            0x12cb,
        ),
        (
            vec![primitive("shift_left", &[field("answer"), given.clone(), hex(4)])],
            0x2340,
        ),
        (
            vec![primitive("shift_right", &[field("answer"), given.clone(), hex(4)])],
            0x0123,
        ),
        (
            vec![
                primitive("modify_field", &[field("answer"), hex(5)]),
                primitive("no_op", &[]),
                primitive("add_to_field", &[field("answer"), given.clone()]),
                primitive("subtract_from_field", &[field("answer"), hex(1)]),
            ],
            0x1238,
        ),
        (
            vec![
                primitive("_jump", &[hex(2)]),
                primitive("no_op", &[]),
                primitive("modify_field", &[field("answer"), hex(7)]),
                primitive(
                    "copy_header",
                    &[
                        json!({"type": "header", "value": "key"}),
                        json!({"type": "header", "value": "key"}),
                    ],
                ),
                primitive("remove_header", &[json!({"type": "header", "value": "key"})]),
                primitive("add_header_fast", &[json!({"type": "header", "value": "key"})]),
            ],
            7,
        ),
    ] {
        let mut json = matching();
        json["__meta__"]["version"] = json!([2, 7]);
        for action in actions(&mut json, ANSWER) {
            action["primitives"] = json!(primitives);
        }
        let mut pipeline = load(&json);
        let entry = entry(vec![exact(9), exact(0)], 0, call(ANSWER, &[0x1234]));
        pipeline.table_insert("TestIngress.exact_table", entry).unwrap();
        assert_eq!(ask(&mut pipeline, 1, 9, 0, 0).0, wanted, "{primitives:?}");
    }
}

#[test]
fn drop_of_older_compilers() {
    let mut json = matching();
    for action in actions(&mut json, ANSWER) {
        action["primitives"] = json!([primitive("drop", &[])]);
    }
    // The default action of this table.
    let out = super::support::run(&mut load(&json), &[&[1, 9][..], &[0; 25]].concat());
    assert_eq!(out.packets, []);
}

#[test]
fn keys_on_the_validity_of_a_header() {
    let mut json = matching();
    let key = &mut table(&mut json, "TestIngress.exact_table")["key"][1];
    *key = json!({"match_type": "valid", "name": "hdr.key", "target": "key", "mask": null});
    let mut pipeline = load(&json);
    let name = "TestIngress.exact_table";
    for (valid, value) in [(0, 10), (1, 11)] {
        let entry = entry(vec![exact(9), exact(valid)], 0, call(ANSWER, &[value]));
        pipeline.table_insert(name, entry).unwrap();
    }
    assert_eq!(ask(&mut pipeline, 1, 9, 0, 0).0, 11);
}

#[test]
fn parameters_without_bits() {
    let mut json = matching();
    let mut ids = Vec::new();
    for action in actions(&mut json, ANSWER) {
        ids.push(action["id"].clone());
        let nothing = json!({"name": "nothing", "bitwidth": 0});
        action["runtime_data"]
            .as_array_mut()
            .expect("an array")
            .insert(0, nothing);
        action["primitives"] = json!([
            primitive(
                "assign",
                &[field("answer"), json!({"type": "runtime_data", "value": 1})]
            ),
            primitive("assign", &[field("color"), json!({"type": "runtime_data", "value": 0})]),
        ]);
    }
    for table in json["pipelines"][0]["tables"].as_array_mut().expect("tables") {
        let mut entries = table["entries"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let calls = entries.iter_mut().map(|entry| &mut entry["action_entry"]);
        for call in calls
            .chain([&mut table["default_entry"]])
            .filter(|call| ids.contains(&call["action_id"]))
        {
            call["action_data"]
                .as_array_mut()
                .expect("an array")
                .insert(0, json!("0x0"));
        }
        if !entries.is_empty() {
            table["entries"] = entries.into();
        }
    }
    let mut pipeline = load(&json);
    let name = "TestIngress.exact_table";
    assert_eq!(ask(&mut pipeline, 1, 9, 0, 0), (0xdead, 0xa0));
    assert_eq!(ask(&mut pipeline, 5, 0, 0x1234, 0).0, 1);
    for (a, nothing) in [(1, vec![]), (2, vec![0])] {
        let mut call = call(ANSWER, &[0, 77]);
        call.args[0] = nothing;
        pipeline
            .table_insert(name, entry(vec![exact(a), exact(0)], 0, call))
            .unwrap();
        assert_eq!(ask(&mut pipeline, 1, a as u8, 0, 0).0, 77);
    }
    let refused = entry(vec![exact(3), exact(0)], 0, call(ANSWER, &[1, 77]));
    assert!(matches!(
        pipeline.table_insert(name, refused),
        Err(ConfigError::Invalid(_))
    ));
}

#[test]
fn initial_entries_that_are_not_const_can_be_changed() {
    let mut pipeline = load(&matching());
    let name = "TestIngress.const_table";
    let entries = pipeline.table_entries(name).unwrap();
    assert_eq!(ask(&mut pipeline, 5, 0, 0x1234, 0).0, 1);
    let mut first = entries[0].clone();
    first.action = call(ANSWER, &[50]);
    assert!(matches!(
        pipeline.table_modify(name, first.clone()),
        Err(ConfigError::Denied(_))
    ));
    assert!(matches!(
        pipeline.table_delete(name, &first),
        Err(ConfigError::Denied(_))
    ));

    pipeline.table_set_const(name, false).unwrap();
    pipeline.table_modify(name, first.clone()).unwrap();
    assert_eq!(ask(&mut pipeline, 5, 0, 0x1234, 0).0, 50);
    pipeline.table_delete(name, &first).unwrap();
    assert_eq!(ask(&mut pipeline, 5, 0, 0x1234, 0).0, 2);
    let own = entry(vec![ternary(0x1234, 0xffff)], 9, call(ANSWER, &[60]));
    pipeline.table_insert(name, own.clone()).unwrap();
    assert_eq!(ask(&mut pipeline, 5, 0, 0x1234, 0).0, 60);
    assert_eq!(pipeline.table_entries(name).unwrap().len(), entries.len());

    pipeline.table_set_const(name, true).unwrap();
    assert!(matches!(pipeline.table_delete(name, &own), Err(ConfigError::Denied(_))));
    assert!(pipeline.table_set_const("nowhere", false).is_err());
}

#[test]
fn tables_without_a_key_count_what_runs_their_const_default_action() {
    let mut json = matching();
    let plain = table(&mut json, "tbl_matching101");
    assert_eq!(plain["default_entry"]["action_entry_const"], json!(true));
    plain["with_counters"] = json!(true);
    let mut pipeline = load(&json);
    for count in 1..=3 {
        ask(&mut pipeline, 8, 0, 0, 0);
        let found = pipeline.default_resources("tbl_matching101").unwrap();
        assert_eq!((found.packets, found.bytes), (count, count * 27));
    }
}

#[test]
fn a_selector_leaves_out_fields_of_headers_that_are_not_valid() {
    let profile = "TestIngress.choices";
    let chosen = |input: &[Value]| -> Vec<u16> {
        let mut json = matching();
        let header = json!({"name": "absent", "id": 900, "header_type": "key_t", "metadata": false});
        json["headers"].as_array_mut().expect("headers").push(header);
        json["pipelines"][0]["action_profiles"][1]["selector"]["input"] = json!(input);
        let mut pipeline = load(&json);
        for member in 0..8 {
            pipeline
                .member_set(profile, member, &call(ANSWER, &[u64::from(member)]))
                .unwrap();
        }
        let group: Vec<_> = (0..8).map(|member| WeightedMember { member, weight: 1 }).collect();
        pipeline.group_set(profile, 1, &group).unwrap();
        let key = [exact(9)];
        pipeline
            .indirect_insert("TestIngress.selector_table", &key, 0, Indirect::Group(1))
            .unwrap();
        (0..64).map(|c| ask(&mut pipeline, 7, 9, 0, c).0).collect()
    };
    let absent = json!({"type": "field", "value": ["absent", "c"]});
    let alone = chosen(&[field("c")]);
    assert!(alone.iter().any(|&member| member != alone[0]));
    assert_eq!(chosen(&[field("c"), absent.clone()]), alone);
    assert_eq!(chosen(&[absent, field("c")]), alone);
    // What is valid counts, and its order.
    assert_ne!(chosen(&[field("c"), field("a")]), alone);
}

/// Resubmits each packet of operation 9 for ever, each time after a loop of 50,000 turns and a line of log.
fn loops_and_resubmits() -> Value {
    let length = json!({"type": "field", "value": ["standard_metadata", "packet_length"]});
    let one_less = json!({"op": "-", "left": length, "right": hex(1)});
    let said = json!({"type": "string", "value": "round"});
    let mut json: Value = serde_json::from_slice(&program_json("replication")).expect("p4c writes JSON");
    for action in actions(&mut json, "replication50") {
        let resubmit = action["primitives"][0].clone();
        action["primitives"] = json!([
            primitive("assign", &[length.clone(), hex(50_000)]),
            primitive(
                "assign",
                &[length.clone(), json!({"type": "expression", "value": one_less})]
            ),
            primitive("_jump_if_zero", &[length.clone(), hex(4)]),
            primitive("_jump", &[hex(1)]),
            primitive(
                "log_msg",
                &[said.clone(), json!({"type": "parameters_vector", "value": []})]
            ),
            resubmit,
        ]);
    }
    json
}

/// In egress, each packet of operation 12, which is also cloned to session 5, makes some hundred thousand units of work, and each of
/// operation 13, which is recirculated for ever. Each says so.
fn toils_in_egress() -> Value {
    let mut json = loops_and_resubmits();
    let toil = |json: &mut Value, name: &str| {
        let loops = json["actions"].as_array().expect("actions").iter();
        let mut loops = loops.filter(|action| action["name"] == "replication50");
        let toil = loops.next().expect("the program has it")["primitives"].clone();
        let toil: Vec<Value> = toil.as_array().expect("primitives")[..5].to_vec();
        for action in actions(json, name) {
            let last = action["primitives"].as_array().and_then(|them| them.last().cloned());
            action["primitives"] = toil.iter().cloned().chain(last).collect();
        }
    };
    toil(&mut json, "replication81");
    toil(&mut json, "replication85");
    json
}

#[test]
fn work_of_copies_between_queues_is_bounded_together_and_that_of_one_each_round() {
    let frame = |operation: u8| [&[operation][..], &[0; 19]].concat();
    let (json, copies) = (toils_in_egress(), 200);
    let toiled = |copies: u16, pipeline: &mut Pipeline| {
        let replicas = (0..copies).map(|instance| Replica { port: 8, instance }).collect();
        let session = CloneSession {
            replicas,
            max_bytes: None,
        };
        pipeline.clone_session_set(5, session).unwrap();
        let before = pipeline.work();
        let said = run_apart(pipeline, &frame(12), 10_000).logs.len();
        (said as u64, pipeline.work() - before)
    };
    let mut pipeline = load(&json);
    let (few, work) = toiled(1, &mut pipeline);
    assert_eq!((few, pipeline.aborted_packets()), (2, 0));
    let one = work / 2;
    let (many, work) = toiled(copies, &mut pipeline);
    // Those of a packet, and the last one's, which is alone.
    assert!(work < (1 << 25) + 2 * one, "{work} of {one} each");
    assert!(many < u64::from(copies) && many >= (1 << 25) / one - 1, "{many}");
    assert_eq!(many + pipeline.aborted_packets(), u64::from(copies) + 1);

    let mut pipeline = load(&json);
    let rounds = (1 << 25) / one;
    let said = run_apart(&mut pipeline, &frame(13), rounds as usize).logs.len();
    assert!(
        pipeline.work() > 1 << 25,
        "as many rounds as one packet has no work for"
    );
    assert_eq!((said as u64, pipeline.aborted_packets()), (2 * rounds, 0));
}

#[test]
fn loops_of_all_rounds_together_are_bounded() {
    let mut pipeline = load(&loops_and_resubmits());
    let frame = |operation: u8| [&[operation][..], &[0; 19]].concat();
    let out = super::support::run(&mut pipeline, &frame(9));
    assert_eq!((out.packets.len(), pipeline.aborted_packets()), (0, 1));
    // A round is some hundred thousand units of work, of 33 million.
    assert!((10..200).contains(&out.logs.len()), "{} rounds", out.logs.len());
    assert_eq!(super::support::run(&mut pipeline, &frame(0)).packets.len(), 1);

    // While packets are traced they are interpreted.
    pipeline.set_tracing(true);
    let traced = super::support::run(&mut pipeline, &frame(9));
    assert_eq!(traced.logs.len(), out.logs.len());
    let end = pipeline.take_trace().last().map(ToString::to_string);
    let end = end.unwrap_or_default();
    assert!(end.contains("work limit per packet exceeded"), "{end}");
}
