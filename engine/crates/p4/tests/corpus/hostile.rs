// SPDX-License-Identifier: Apache-2.0
//! Nothing from outside makes the engine panic: frames, JSON, entries.

use super::support::{Recorder, call, config, fresh, pipeline, program_json};
use proptest::prelude::*;
use serde_json::Value;
use slotwise_p4::{CloneSession, KeyField, LoadError, Pipeline, Program, Replica, TableEntry};
use slotwise_units::Instant;
use std::sync::Arc;

const PROGRAMS: [&str; 5] = ["arithmetic", "parsing", "matching", "replication", "state"];

/// All values of a JSON document, by JSON pointer.
fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                // What the loader does not read cannot break it.
                if key != "source_info" {
                    pointers(
                        member,
                        format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                        found,
                    );
                }
            }
        }
        _ => {}
    }
    found.push(at);
}

/// What a value may be replaced with.
fn replacement() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(Value::Bool(true)),
        any::<u16>().prop_map(Value::from),
        (0..4u8).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::from(-1)),
        Just(Value::from(u64::MAX)),
        Just(Value::from("")),
        Just(Value::from("hdr")),
        any::<u32>().prop_map(|n| Value::from(format!("0x{n:x}"))),
        Just(Value::from("-0x1")),
        Just(Value::Array(Vec::new())),
        Just(Value::Object(serde_json::Map::new())),
    ]
}

/// Loads the JSON, and runs some frames if it can be loaded.
fn load_and_run(json: &Value) {
    let text = serde_json::to_vec(json).expect("a JSON value can be written");
    match Program::from_json(&text) {
        Ok(program) => {
            let mut pipeline = fresh(Arc::new(program), config());
            replicate(&mut pipeline);
            for first in 0..12u8 {
                let frame: Vec<u8> = std::iter::once(first)
                    .chain((0..80u8).map(|i| i.wrapping_mul(41)))
                    .collect();
                pipeline.process(Instant::from_ns(1), 3, &frame, &mut Recorder::default());
            }
        }
        Err(error) => {
            let place = match error.path() {
                "" => Some(json),
                path => json.pointer(path),
            };
            assert!(place.is_some(), "no such place: {error}");
        }
    }
}

fn replicate(pipeline: &mut Pipeline) {
    let replicas = vec![Replica { port: 2, instance: 1 }, Replica { port: 600, instance: 2 }];
    let session = CloneSession {
        replicas: replicas.clone(),
        max_bytes: Some(5),
    };
    for session_id in [5, 6] {
        pipeline
            .clone_session_set(session_id, session.clone())
            .expect("a valid session");
    }
    pipeline.multicast_group_set(17, replicas).expect("a valid group");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_frame(program in 0..PROGRAMS.len(), frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..8)) {
        let mut pipeline = pipeline(PROGRAMS[program]);
        replicate(&mut pipeline);
        for (port, mut frame) in (0..).zip(frames) {
            pipeline.process(Instant::from_ns(u64::from(port)), port, &frame, &mut Recorder::default());
            if let Some(first) = frame.first_mut() {
                *first %= 16;
            }
            pipeline.process(Instant::from_ns(u64::from(port)), port, &frame, &mut Recorder::default());
        }
    }

    #[test]
    fn any_change_of_the_json(
        program in 0..PROGRAMS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), replacement()), 1..3),
    ) {
        let mut json: Value = serde_json::from_slice(&program_json(PROGRAMS[program])).expect("p4c writes JSON");
        for (index, value) in changes {
            let mut found = Vec::new();
            pointers(&json, String::new(), &mut found);
            let pointer = index.get(&found).clone();
            *json.pointer_mut(&pointer).expect("a pointer that was just found") = value;
        }
        load_and_run(&json);
    }

    #[test]
    fn any_cut_of_the_json(program in 0..PROGRAMS.len(), cut in any::<prop::sample::Index>(), byte: u8) {
        let mut text = program_json(PROGRAMS[program]);
        let at = cut.index(text.len());
        prop_assert!(Program::from_json(&text[..at]).is_err());
        text[at] = byte;
        let _ = Program::from_json(&text);
    }

    #[test]
    fn any_entry(
        fields in prop::collection::vec((0..5u8, prop::collection::vec(any::<u8>(), 0..18), any::<u8>()), 0..4),
        priority in -1..3i32,
        args in prop::collection::vec(any::<u64>(), 0..3),
    ) {
        let mut pipeline = pipeline("matching");
        let field = |(kind, bytes, number): (u8, Vec<u8>, u8)| match kind {
            0 => KeyField::Exact(bytes),
            1 => KeyField::Lpm { value: bytes, prefix_len: u32::from(number) },
            2 => KeyField::Ternary { value: bytes.clone(), mask: bytes },
            3 => KeyField::Range { low: bytes, high: vec![number] },
            _ => KeyField::Optional((number > 9).then_some(bytes)),
        };
        let key: Vec<KeyField> = fields.into_iter().map(field).collect();
        for table in ["exact", "lpm", "ternary", "range", "const", "profile", "selector"] {
            let table = format!("TestIngress.{table}_table");
            let entry = TableEntry { key: key.clone(), priority, action: call("TestIngress.answer", &args) };
            let before = pipeline.table_entries(&table).expect("the table is there").len();
            let added = usize::from(pipeline.table_insert(&table, entry.clone()).is_ok());
            prop_assert_eq!(pipeline.table_entries(&table).expect("the table is there").len(), before + added);
            prop_assert_eq!(pipeline.table_delete(&table, &entry).is_ok(), added == 1);
        }
    }
}

#[test]
fn numbers_that_would_take_all_memory_are_refused() {
    for (pointer, value) in [
        ("/register_arrays/0/size", 1u64 << 60),
        ("/register_arrays/0/bitwidth", 1 << 30),
        ("/counter_arrays/0/size", 1 << 60),
        ("/header_types/2/fields/0/1", 1 << 40),
    ] {
        let mut json: Value = serde_json::from_slice(&program_json("state")).expect("p4c writes JSON");
        *json.pointer_mut(pointer).expect("the program has it") = value.into();
        let text = serde_json::to_vec(&json).expect("a JSON value can be written");
        let error = Program::from_json(&text).unwrap_err();
        assert_eq!(error.path(), pointer);
    }
}

#[test]
fn errors_name_the_place_and_what_would_be_right() {
    let reason = |pointer: &str, value: Value| {
        let mut json: Value = serde_json::from_slice(&program_json("state")).expect("p4c writes JSON");
        *json.pointer_mut(pointer).expect("the program has it") = value;
        match Program::from_json(&serde_json::to_vec(&json).expect("a JSON value can be written")) {
            Err(LoadError::Invalid { path, reason }) => (path, reason),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        reason("/actions/0/primitives/0/op", "frobnicate".into()),
        (
            "/actions/0/primitives/0/op".into(),
            "primitive `frobnicate` is not supported".into()
        )
    );
    assert_eq!(
        reason("/__meta__/version", serde_json::json!([2, 6])),
        (
            "/__meta__/version".into(),
            "expected a version from 2.7 on, below 3.0; found 2.6".into()
        )
    );
    assert_eq!(
        reason("/parsers/0/init_state", "nowhere".into()),
        ("/parsers/0/init_state".into(), "no such parser state".into())
    );
    assert_eq!(
        reason("/pipelines", Value::Null),
        ("".into(), "missing member `pipelines`".into())
    );
}
