// SPDX-License-Identifier: Apache-2.0
//! What loading a program allocates stays below what the program was charged for, whatever its shape, and what would
//! be too much is refused before it is allocated.

use serde_json::{Value, json};
use slotwise_p4::{
    ActionCall, ConfigError, Executor, KeyField, Limits, LoadError, Memory, Output, Pipeline, PipelineConfig, Port,
    Program, Replica, TableEntry, TimestampUnit,
};
use slotwise_units::Instant;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static PEAK: Cell<u64> = const { Cell::new(0) };
}

/// Counts what this thread holds.
struct Counting;

impl Counting {
    fn add(bytes: usize) {
        // Nothing is counted while the thread ends.
        let _ = NOW.try_with(|now| {
            now.set(now.get().wrapping_add(bytes as u64));
            let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
        });
    }
}

// SAFETY: everything is the system's allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counting::add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let _ = NOW.try_with(|now| now.set(now.get().wrapping_sub(layout.size() as u64)));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `run` gives, and how many bytes more than before were held while it ran.
fn peak<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let before = NOW.get();
    PEAK.set(before);
    let result = run();
    (result, PEAK.get().saturating_sub(before))
}

fn config(executor: Executor) -> PipelineConfig {
    PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 1,
        executor,
    }
}

/// Loads a program, makes a pipeline of it, and holds what both allocate against the charge, which it gives.
fn load(name: &str, json: &[u8]) -> u64 {
    let limits = Limits { memory_bytes: u64::MAX };
    let (charged, allocated) = peak(|| {
        let program = Program::from_json_within(json, &limits).unwrap_or_else(|error| panic!("{name}: {error}"));
        let charged = program.memory_bytes();
        drop(Pipeline::new(Arc::new(program), config(Executor::Interpreter)));
        charged
    });
    println!(
        "{name}: {} bytes of JSON, {allocated} allocated, {charged} charged",
        json.len()
    );
    assert!(
        allocated <= charged,
        "{name}: {allocated} bytes allocated, {charged} charged"
    );
    let error = Program::from_json_within(
        json,
        &Limits {
            memory_bytes: charged - 1,
        },
    )
    .unwrap_err();
    assert!(
        matches!(error, LoadError::TooLarge { limit_bytes, needed_bytes, .. }
            if limit_bytes == charged - 1 && needed_bytes == charged),
        "{name}: {error}"
    );
    assert!(Program::from_json_within(json, &Limits { memory_bytes: charged }).is_ok());
    charged
}

fn program() -> Value {
    let path = format!("{}/tests/programs/matching.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_slice(&text).expect("p4c writes JSON")
}

/// Adds items to an array of the program.
fn add(json: &mut Value, pointer: &str, items: impl IntoIterator<Item = Value>) {
    let place = json.pointer_mut(pointer).and_then(Value::as_array_mut);
    place.expect("an array of the program").extend(items);
}

/// The program with many values that the loader does not read.
fn unread(value: &Value) -> Value {
    let mut json = program();
    json["extern_instances"] = vec![value.clone(); 100_000].into();
    json
}

fn header_type(name: &str, fields: usize, bits: u32) -> Value {
    let fields: Vec<Value> = (0..fields).map(|i| json!([format!("f{i}"), bits, false])).collect();
    json!({"name": name, "id": 900, "fields": fields})
}

fn header(id: usize, of: &str) -> Value {
    json!({"name": id.to_string(), "id": id, "header_type": of, "metadata": false})
}

/// A union of many members.
fn union() -> Value {
    let mut json = program();
    let ids = 1000..11_000usize;
    add(&mut json, "/header_types", [header_type("small", 1, 8)]);
    add(&mut json, "/headers", ids.clone().map(|id| header(id, "small")));
    let members: Vec<Value> = ids.clone().map(|id| json!([id.to_string(), "small"])).collect();
    json["header_union_types"] = json!([{"name": "all", "headers": members}]);
    json["header_unions"] =
        json!([{"name": "all", "id": 0, "union_type": "all", "header_ids": ids.collect::<Vec<_>>()}]);
    json
}

/// A header of the widest fields.
fn wide() -> Value {
    let mut json = program();
    add(&mut json, "/header_types", [header_type("wide", 60, 8192)]);
    add(&mut json, "/headers", [header(900, "wide")]);
    json
}

/// Short constants in wide sums.
fn constants() -> Value {
    let mut json = wide();
    let field = |name: &str| json!({"type": "field", "value": ["900", name]});
    let sum = json!({"op": "+", "left": field("f1"), "right": {"type": "hexstr", "value": "0x1"}});
    let assign = json!({"op": "assign", "parameters": [field("f0"), {"type": "expression", "value": sum}]});
    add(&mut json, "/actions/0/primitives", vec![assign; 2000]);
    json
}

/// Entries and default actions whose short values have wide places.
fn entries() -> Value {
    let mut json = wide();
    let params: Vec<Value> = (0..200)
        .map(|i| json!({"name": format!("p{i}"), "bitwidth": 8192}))
        .collect();
    let action = json!({"name": "many", "id": 9000, "runtime_data": params, "primitives": []});
    add(&mut json, "/actions", [action]);
    let call = json!({"action_id": 9000, "action_data": vec!["0x0"; 200]});
    let key = |name: &str| json!({"match_type": "exact", "name": name, "target": ["900", name], "mask": null});
    let part = json!({"match_type": "exact", "key": "0x0"});
    let entry = json!({"match_key": [part, part], "priority": 1, "action_entry": call});
    let table = |index: usize| {
        json!({"name": format!("t{index}"), "match_type": "exact", "type": "simple", "max_size": 16,
            "key": [key("f0"), key("f1")], "action_ids": [9000], "base_default_next": null,
            "next_tables": {"many": null}, "entries": [entry], "default_entry": call})
    };
    add(&mut json, "/pipelines/0/tables", (0..20).map(table));
    json
}

/// Tables that begin with some memory each.
fn tables() -> Value {
    let mut json = program();
    add(&mut json, "/header_types", [header_type("small", 1, 32)]);
    add(&mut json, "/headers", [header(900, "small")]);
    let action = json["actions"][0].clone();
    let key = json!({"match_type": "lpm", "target": ["900", "f0"], "mask": null});
    let mut next = json!({});
    next[action["name"].as_str().expect("a name")] = Value::Null;
    let table = |index: usize| {
        json!({"name": format!("t{index}"), "match_type": "lpm", "type": "simple", "max_size": 16, "key": [key],
            "action_ids": [action["id"]], "base_default_next": null, "next_tables": next})
    };
    add(&mut json, "/pipelines/0/tables", (0..2000).map(table));
    json
}

fn meter(index: usize, size: u64) -> Value {
    json!({"name": format!("m{index}"), "size": size, "is_direct": false, "type": "bytes", "rate_count": 2})
}

/// Cells of all kinds.
fn arrays() -> Value {
    let mut json = program();
    let register = |i: usize| json!({"name": format!("r{i}"), "size": 100_000, "bitwidth": 65});
    json["register_arrays"] = (0..3).map(register).collect();
    let counter = |i: usize| json!({"name": format!("c{i}"), "size": 100_000, "is_direct": false});
    json["counter_arrays"] = (0..3).map(counter).collect();
    add(&mut json, "/meter_arrays", (0..3).map(|index| meter(index, 100_000)));
    json
}

#[test]
fn no_shape_takes_more_than_it_is_charged_for() {
    for (name, json) in [
        ("numbers", unread(&json!(0))),
        ("arrays", unread(&json!([]))),
        ("full arrays", unread(&json!([0]))),
        ("objects", unread(&json!({}))),
        ("full objects", unread(&json!({"": 0}))),
        ("strings", unread(&json!(""))),
        ("union", union()),
        ("wide fields", wide()),
        ("constants", constants()),
        ("entries", entries()),
        ("tables", tables()),
        ("cells", arrays()),
    ] {
        load(name, json.to_string().as_bytes());
    }
}

#[test]
fn our_programs_need_a_part_of_the_default() {
    for name in ["edge", "core", "router", "ring", "ops"] {
        let path = format!("{}/../../../p4src/p4c-out/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let json = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(load(name, &json) < Limits::default().memory_bytes / 2);
    }
}

#[test]
fn arrays_count_together_and_are_refused_before_they_are_there() {
    let mut json = program();
    add(&mut json, "/meter_arrays", (0..300).map(|index| meter(index, 1 << 20)));
    let json = json.to_string();
    let (error, allocated) = peak(|| Program::from_json(json.as_bytes()).unwrap_err());
    let LoadError::TooLarge {
        path,
        needed_bytes,
        limit_bytes,
    } = error
    else {
        panic!("{error}");
    };
    assert!(path.starts_with("/meter_arrays/") && path.ends_with("/size"), "{path}");
    assert!(needed_bytes > limit_bytes && limit_bytes == Limits::default().memory_bytes);
    assert!(allocated < 16 << 20, "{allocated}");
}

fn test_program(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/programs/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn route(number: u32) -> TableEntry {
    TableEntry {
        key: vec![KeyField::Lpm {
            value: (number << 8).to_be_bytes().to_vec(),
            prefix_len: 24,
        }],
        priority: 0,
        action: ActionCall {
            name: "TestIngress.forward".into(),
            args: vec![vec![1], vec![2; 6]],
        },
    }
}

fn rule(number: u32) -> TableEntry {
    let ternary = |value: Vec<u8>| KeyField::Ternary {
        mask: vec![0xff; value.len()],
        value,
    };
    let address = number.to_be_bytes().to_vec();
    TableEntry {
        key: vec![ternary(address.clone()), ternary(address), ternary(vec![6])],
        priority: 1 + number as i32,
        action: ActionCall {
            name: "TestIngress.drop".into(),
            args: Vec::new(),
        },
    }
}

#[test]
fn entries_that_are_added_stay_below_their_charge_and_give_it_back() {
    const ROUTES: u32 = 100_000;
    const RULES: u32 = 2000;
    let limits = Limits::default();
    let memory = Memory::of(u64::MAX);
    let program = Arc::new(Program::from_json_in(&test_program("router"), &limits, &memory).unwrap());
    let mut pipeline = Pipeline::new_in(program.clone(), config(Executor::Interpreter), &memory).unwrap();
    let empty = memory.used_bytes();
    let routes = (0..ROUTES).map(|number| ("TestIngress.routes", route(number)));
    let rules = (0..RULES).map(|number| ("TestIngress.access_list", rule(number)));
    let entries: Vec<_> = routes.chain(rules).collect();
    let ((), allocated) = peak(|| {
        for (table, entry) in &entries {
            pipeline.table_insert(table, entry.clone()).unwrap();
        }
    });
    let charged = memory.used_bytes() - empty;
    println!("{} entries: {allocated} allocated, {charged} charged", entries.len());
    assert!(allocated <= charged, "{allocated} allocated, {charged} charged");
    for (table, entry) in &entries {
        pipeline.table_delete(table, entry).unwrap();
    }
    assert_eq!(memory.used_bytes(), empty);
    drop((pipeline, program));
    assert_eq!(memory.used_bytes(), 0);
}

#[test]
fn programs_and_entries_share_one_memory() {
    let json = test_program("router");
    let alone = Program::from_json(&json).unwrap();
    let (program_bytes, pipeline_bytes) = (alone.memory_bytes(), alone.pipeline_bytes());
    let memory = Memory::of(program_bytes + pipeline_bytes + 10_000);
    let program = Arc::new(Program::from_json_in(&json, &Limits::default(), &memory).unwrap());
    let new = || Pipeline::new_in(program.clone(), config(Executor::Interpreter), &memory);
    let mut first = new().unwrap();
    let second = new().unwrap();
    assert_eq!(
        new().err().map(|error| error.needed_bytes),
        Some(program_bytes + 2 * pipeline_bytes)
    );
    let error = Program::from_json_in(&json, &Limits::default(), &memory).unwrap_err();
    assert!(matches!(error, LoadError::OutOfMemory(_)), "{error}");
    let mut insert = |number| first.table_insert("TestIngress.routes", route(number));
    let refused = (0..100).map(&mut insert).find_map(Result::err).unwrap();
    assert!(matches!(refused, ConfigError::Exhausted(_)), "{refused}");
    drop(second);
    insert(100).unwrap();
}

struct Nowhere(usize);

impl Output for Nowhere {
    fn packet(&mut self, _port: Port, frame: &[u8]) {
        self.0 += frame.len();
    }
}

#[test]
fn copies_of_a_packet_are_bounded_in_bytes() {
    const COPIES: u16 = 4096;
    const MOST_BYTES: u64 = 64 << 20;
    const KEPT_BYTES: u64 = 8 << 20;
    let program = Arc::new(Program::from_json(&test_program("replication")).unwrap());
    let mut pipeline = Pipeline::new(program, config(Executor::Interpreter));
    let replicas = (0..COPIES).map(|instance| Replica { port: 2, instance });
    pipeline.multicast_group_set(17, replicas.collect()).unwrap();
    // The program sends it to that group.
    let mut frame = vec![0; 60_000];
    frame[0] = 5;
    let before = NOW.get();
    let mut out = Nowhere(0);
    let ((), most) = peak(|| pipeline.process(Instant::ZERO, 1, &frame, &mut out));
    assert!(most <= MOST_BYTES + KEPT_BYTES, "{most} bytes");
    let kept = NOW.get() - before;
    assert!(kept <= KEPT_BYTES + (2 << 20), "{kept} bytes are kept");
    let copies = out.0 / frame.len();
    assert!(copies > 1000, "{copies} copies came through");
    assert_eq!(copies as u64 + pipeline.aborted_packets(), u64::from(COPIES));
    // Short ones all come through.
    let mut out = Nowhere(0);
    pipeline.process(Instant::ZERO, 1, &frame[..1500], &mut out);
    assert_eq!(out.0, 1500 * usize::from(COPIES));
}

#[test]
fn a_program_that_cannot_be_compiled_leaves_no_code_behind() {
    let mut json = program();
    let held_after = |json: &Value, executor| {
        let json = json.to_string();
        let before = NOW.get();
        let program = Program::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let pipeline = Pipeline::new(Arc::new(program), config(Executor::Jit));
        assert_eq!(pipeline.executor(), executor);
        drop(pipeline);
        NOW.get() - before
    };
    // What Cranelift keeps for ever, once.
    held_after(&json, Executor::Jit);
    assert_eq!(held_after(&json, Executor::Jit), 0);
    // The parser comes after the actions, which have code by then.
    let state = &mut json["parsers"][0]["parse_states"][0];
    state["transition_key"] = vec![json!({"type": "lookahead", "value": [0, 8000]}); 500].into();
    assert_eq!(held_after(&json, Executor::Interpreter), 0);
}
