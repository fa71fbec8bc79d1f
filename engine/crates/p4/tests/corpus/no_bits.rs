// SPDX-License-Identifier: Apache-2.0
//! Fields of no bits (`bit<0>`): they are there, are always 0, and are not on the wire.

use super::small::{Small, assign, expression, extract, field, hex, primitive, standard, state};
use super::support::{answer, bits, call, entry, exact, lpm, range, run, ternary};
use serde_json::{Value, json};
use slotwise_p4::KeyField;

fn none() -> Value {
    field("meta", "none")
}

/// The tag, then `z` of three bytes with a field of no bits wherever one can be.
fn with_empty_fields(ingress: &[Value]) -> Small {
    let fields = json!([
        ["before", 0, false],
        ["v", 8, false],
        ["middle", 0, true],
        ["w", 12, false],
        ["inside", 0, false],
        ["p", 4, false],
        ["after", 0, false],
    ]);
    let ops = [
        extract("tag"),
        primitive("set", &[none(), json!({"type": "lookahead", "value": [4, 0]})]),
        extract("z"),
        extract("nothing"),
    ];
    Small {
        types: vec![("z_t", fields), ("nothing_t", json!([["nothing", 0, false]]))],
        metadata: vec![("none", 0), ("word", 64)],
        headers: vec![("z", "z_t"), ("nothing", "nothing_t")],
        states: vec![state("start", &ops, &[], &[(None, None)])],
        ingress: ingress.to_vec(),
        ..Small::default()
    }
}

const FRAME: [u8; 6] = [7, 0xff, 0x12, 0x34, 0x56, 0xee];

#[test]
fn fields_without_bits_are_zero_and_not_on_the_wire() {
    let result = || field("tag", "result");
    let ones = || json!({"type": "hexstr", "value": "0xffffffffffffffffffff"});
    let with = |value: Value| expression("+", value, hex(3));
    let names = ["before", "middle", "inside", "after"];
    let mut small = with_empty_fields(&[]);
    small.ingress = names.iter().map(|name| assign(field("z", name), ones())).collect();
    small.ingress.push(assign(none(), standard("packet_length")));
    let sum = names
        .iter()
        .fold(none(), |sum, name| expression("+", sum, field("z", name)));
    small.ingress.push(assign(result(), with(sum)));
    assert_eq!(
        answer(&mut small.pipeline(false), &FRAME),
        [7, 3, 0x12, 0x34, 0x56, 0xee]
    );
    for (value, wanted) in [
        (with(field("nothing", "nothing")), 3),
        (expression("~", Value::Null, none()), 0xff),
        (expression("-", none(), hex(1)), 0xff),
        (expression("<<", hex(1), none()), 1),
        (expression("two_comp_mod", ones(), hex(0)), 0),
        (expression("usat_cast", ones(), hex(0)), 0),
        (expression("&", ones(), hex(0)), 0),
        (
            expression("b2d", Value::Null, expression("==", none(), field("z", "middle"))),
            1,
        ),
        (
            expression("b2d", Value::Null, expression("d2b", Value::Null, none())),
            0,
        ),
    ] {
        let mut pipeline = with_empty_fields(&[assign(result(), value.clone())]).pipeline(false);
        assert_eq!(answer(&mut pipeline, &FRAME)[1], wanted, "{value}");
    }
}

#[test]
fn other_uses_of_fields_without_bits_find_zero() {
    let array = json!({"type": "register_array", "value": "cells"});
    let mut small = with_empty_fields(&[
        primitive("register_write", &[array.clone(), hex(0), none()]),
        primitive("register_read", &[field("z", "middle"), array.clone(), hex(1)]),
        primitive("register_read", &[none(), array, none()]),
        primitive("generate_digest", &[hex(1), hex(1)]),
        primitive(
            "modify_field_with_hash_based_offset",
            &[
                field("z", "after"),
                hex(0),
                json!({"type": "calculation", "value": "sum"}),
                hex(0x1_0000),
            ],
        ),
        assign(
            field("tag", "result"),
            expression("+", field("z", "after"), field("z", "middle")),
        ),
    ]);
    let elements = [none(), field("z", "middle"), field("z", "w")];
    small.rest = vec![
        ("register_arrays", json!([{"name": "cells", "size": 2, "bitwidth": 8}])),
        (
            "learn_lists",
            json!([{"id": 1, "name": "learned", "elements": elements}]),
        ),
        (
            "calculations",
            json!([{"name": "sum", "algo": "csum16", "input": elements}]),
        ),
        (
            "checksums",
            json!([{"name": "check", "type": "generic", "target": ["z", "before"], "calculation": "sum",
            "verify": false, "update": true}]),
        ),
    ];
    let mut pipeline = small.pipeline(false);
    pipeline.register_write("cells", 0, &[0xff]).unwrap();
    pipeline.register_write("cells", 1, &[0xff]).unwrap();
    let out = run(&mut pipeline, &FRAME);
    assert_eq!(out.packets, [(1, vec![7, 0, 0x12, 0x34, 0x56, 0xee])]);
    assert_eq!(
        out.digests,
        [("learned".to_owned(), vec![vec![0], vec![0], vec![3, 0x45]])]
    );
    assert_eq!(pipeline.register_read("cells", 0).unwrap(), [0]);
}

/// A table whose hit gives the tag a result.
fn table(kind: &str, key: &[(&str, [&str; 2])], entries: Value) -> Value {
    let part = |(kind, target): &(&str, [&str; 2])| json!({"match_type": kind, "name": target.join("."), "target": target, "mask": null});
    let key: Vec<Value> = key.iter().map(part).collect();
    let mut table = json!({"name": "table", "match_type": kind, "type": "simple", "max_size": 16, "key": key,
        "action_ids": [10, 11], "next_tables": {"hit": "go", "miss": "go"}, "base_default_next": "go",
        "default_entry": {"action_id": 11, "action_const": false, "action_data": [], "action_entry_const": false}});
    if !entries.is_null() {
        table["entries"] = entries;
    }
    table
}

fn with_table(table: Value) -> Small {
    let result = assign(field("tag", "result"), json!({"type": "runtime_data", "value": 0}));
    Small {
        tables: vec![table],
        actions: vec![
            json!({"name": "hit", "id": 10, "runtime_data": [{"name": "result", "bitwidth": 8}], "primitives": [result]}),
            json!({"name": "miss", "id": 11, "runtime_data": [], "primitives": []}),
        ],
        ..with_empty_fields(&[])
    }
}

#[test]
fn keys_may_have_parts_without_bits() {
    let (empty, kind, word) = (["meta", "none"], ["tag", "kind"], ["meta", "word"]);
    let any = || KeyField::Ternary {
        value: vec![],
        mask: vec![],
    };
    let cases: Vec<(&str, Vec<(&str, [&str; 2])>, Vec<KeyField>)> = vec![
        ("exact", vec![("exact", empty)], vec![exact(0)]),
        (
            "exact",
            vec![("exact", empty), ("exact", kind)],
            vec![exact(0), exact(7)],
        ),
        (
            "exact",
            vec![("exact", word), ("exact", ["z", "after"]), ("exact", kind)],
            vec![exact(0), exact(0), exact(7)],
        ),
        ("lpm", vec![("lpm", empty)], vec![lpm(0, 0)]),
        ("lpm", vec![("lpm", empty), ("exact", kind)], vec![lpm(0, 0), exact(7)]),
        ("lpm", vec![("exact", empty), ("lpm", kind)], vec![exact(0), lpm(4, 6)]),
        ("ternary", vec![("ternary", empty)], vec![ternary(0, 0)]),
        (
            "ternary",
            vec![("ternary", empty), ("ternary", kind)],
            vec![any(), ternary(7, 7)],
        ),
        (
            "ternary",
            vec![("optional", empty), ("exact", kind)],
            vec![KeyField::Optional(Some(bits(0))), exact(7)],
        ),
        ("range", vec![("range", empty)], vec![range(0, 0)]),
        (
            "range",
            vec![("range", empty), ("range", kind)],
            vec![range(0, 0), range(6, 8)],
        ),
    ];
    for (strongest, key, fields) in cases {
        let mut pipeline = with_table(table(strongest, &key, Value::Null)).pipeline(false);
        assert_eq!(answer(&mut pipeline, &FRAME)[1], 0xff, "{key:?}");
        let priority = i32::from(matches!(strongest, "ternary" | "range"));
        let added = entry(fields, priority, call("hit", &[5]));
        pipeline.table_insert("table", added.clone()).unwrap();
        assert_eq!(answer(&mut pipeline, &FRAME)[1], 5, "{key:?}");
        if key.len() > 1 {
            let other = [&[9][..], &FRAME[1..]].concat();
            assert_eq!(answer(&mut pipeline, &other)[1], 0xff, "{key:?}");
        }
        pipeline.table_delete("table", &added).unwrap();
        assert_eq!(answer(&mut pipeline, &FRAME)[1], 0xff, "{key:?}");
    }
    let mut pipeline = with_table(table("exact", &[("exact", empty)], Value::Null)).pipeline(false);
    assert!(
        pipeline
            .table_insert("table", entry(vec![exact(1)], 0, call("hit", &[5])))
            .is_err()
    );
}

#[test]
fn entries_of_the_program_may_have_parts_without_bits() {
    let part = |value: u64| json!({"match_type": "exact", "key": format!("{value:#04x}")});
    let entries: Vec<Value> = (5..9)
        .map(|kind| {
            let action = json!({"action_id": 10, "action_data": [format!("{:#04x}", kind + 0x10)]});
            json!({"match_key": [part(0), part(kind), part(0)], "priority": 1, "action_entry": action})
        })
        .collect();
    let key = [
        ("exact", ["meta", "none"]),
        ("exact", ["tag", "kind"]),
        ("exact", ["z", "inside"]),
    ];
    let mut pipeline = with_table(table("exact", &key, json!(entries))).pipeline(false);
    for (kind, result) in [(4, 0xff), (5, 0x15), (7, 0x17), (8, 0x18), (9, 0xff)] {
        let frame = [&[kind][..], &FRAME[1..]].concat();
        assert_eq!(answer(&mut pipeline, &frame)[1], result);
    }
}

#[test]
fn a_select_may_have_parts_without_bits() {
    let start = |key: &[Value], value| {
        let next = [(Some(value), Some("body")), (None, None)];
        Small {
            metadata: vec![("none", 0)],
            headers: vec![("x", "a_t")],
            states: vec![
                state("start", &[extract("tag")], key, &next),
                state("body", &[extract("x")], &[], &[(None, None)]),
            ],
            ingress: vec![assign(
                field("tag", "result"),
                expression(
                    "b2d",
                    Value::Null,
                    expression("valid", Value::Null, json!({"type": "header", "value": "x"})),
                ),
            )],
            ..Small::default()
        }
    };
    let ahead = json!({"type": "lookahead", "value": [8, 0]});
    for (key, value, wanted) in [
        (vec![none()], "0x0", 1),
        (vec![none(), field("tag", "kind"), none()], "0x07", 1),
        (vec![none(), field("tag", "kind"), ahead.clone()], "0x08", 0),
        (vec![ahead], "0x0", 1),
    ] {
        let mut pipeline = start(&key, value).pipeline(false);
        assert_eq!(answer(&mut pipeline, &FRAME)[1], wanted, "{key:?}");
    }
}
