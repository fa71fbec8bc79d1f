// SPDX-License-Identifier: Apache-2.0
//! Rules of P4-16 and v1model that BMv2 breaks, and BMv2's behaviour on request.

use super::small::{
    Small, assign, expression, extract, extract_next, field, header, hex, last, primitive, standard, state,
};
use super::support::{answer, run};
use serde_json::{Value, json};
use slotwise_p4::{CloneSession, Pipeline, Replica};

const NO_ERROR: u8 = 0;
const NO_MATCH: u8 = 2;
const STACK_OUT_OF_BOUNDS: u8 = 3;
const OTHER: u8 = 7;

/// The result is the parser's error.
fn tell_error() -> Vec<Value> {
    vec![assign(field("tag", "result"), standard("parser_error"))]
}

#[test]
fn a_select_without_a_match_rejects_with_no_match_unless_it_is_to_be_as_in_bmv2() {
    let start = |next: &[(Option<&str>, Option<&str>)]| {
        let body = state("body", &[extract("x")], &[], &[(None, None)]);
        let start = state("start", &[extract("tag")], &[field("tag", "kind")], next);
        Small {
            headers: vec![("x", "a_t")],
            states: vec![start, body],
            ingress: tell_error(),
            ..Small::default()
        }
    };
    let cases = [(Some("0x01"), Some("body")), (Some("0x02"), None)];
    let open = start(&cases);
    for (bmv2_compatible, error) in [(false, NO_MATCH), (true, NO_ERROR)] {
        let mut pipeline = open.pipeline(bmv2_compatible);
        assert_eq!(answer(&mut pipeline, &[1, 0xff, 0xaa, 0xee]), [1, NO_ERROR, 0xaa, 0xee]);
        assert_eq!(answer(&mut pipeline, &[2, 0xff, 0xee]), [2, NO_ERROR, 0xee]);
        assert_eq!(answer(&mut pipeline, &[3, 0xff, 0xee]), [3, error, 0xee]);
    }
    let closed = start(&[cases[0], (None, None)]);
    assert_eq!(
        answer(&mut closed.pipeline(false), &[3, 0xff, 0xee]),
        [3, NO_ERROR, 0xee]
    );
}

#[test]
fn a_value_set_without_a_match_rejects_with_no_match() {
    let mut start = state("start", &[extract("tag")], &[field("tag", "kind")], &[]);
    start["transitions"] = json!([{"type": "parse_vset", "value": "set", "mask": null, "next_state": null}]);
    let mut pipeline = Small {
        states: vec![start],
        ingress: tell_error(),
        rest: vec![(
            "parse_vsets",
            json!([{"name": "set", "compressed_bitwidth": 8, "max_size": 4}]),
        )],
        ..Small::default()
    }
    .pipeline(false);
    assert_eq!(answer(&mut pipeline, &[3, 0xff]), [3, NO_MATCH]);
    pipeline.value_set_write("set", &[vec![vec![3]]]).unwrap();
    assert_eq!(answer(&mut pipeline, &[3, 0xff]), [3, NO_ERROR]);
}

/// Kind 1 has `u.a`, 2 `u.b`, and what is in `u` leaves.
fn with_union(parser_ops: &[Value], ingress: &[Value]) -> Small {
    let alternative = |name, member: &str| {
        let ops: Vec<Value> = [extract(member)].into_iter().chain(parser_ops.to_vec()).collect();
        state(name, &ops, &[], &[(None, None)])
    };
    let cases = [(Some("0x01"), Some("one")), (Some("0x02"), Some("two")), (None, None)];
    Small {
        headers: vec![("single", "a_t")],
        stacks: vec![("s", "a_t")],
        unions: vec!["u", "w"],
        states: vec![
            state("start", &[extract("tag")], &[field("tag", "kind")], &cases),
            alternative("one", "u.a"),
            alternative("two", "u.b"),
        ],
        ingress: ingress.to_vec(),
        ..Small::default()
    }
}

/// Which members of `u` leave, for P4 and for BMv2.
fn left(small: &Small) -> [[bool; 2]; 2] {
    [false, true].map(|bmv2_compatible| {
        let mut pipeline = small.pipeline(bmv2_compatible);
        [&[1, 0, 0xaa, 0xee][..], &[2, 0, 0xbb, 0xbb, 0xee]].map(|frame| {
            let out = answer(&mut pipeline, frame);
            assert_eq!(out.last(), Some(&0xee));
            out.len() == frame.len()
        })
    })
}

#[test]
fn a_member_made_invalid_makes_its_union_invalid_unless_it_is_to_be_as_in_bmv2() {
    let remove = |name: &str| primitive("remove_header", &[header(name)]);
    let copy = |to: &str, from: Value| primitive("assign_header", &[header(to), from]);
    let element = |index| {
        expression(
            "dereference_header_stack",
            json!({"type": "header_stack", "value": "s"}),
            index,
        )
    };
    for change in [
        remove("u.a"),
        copy("u.a", header("single")),
        copy("u.a", element(hex(1))),
        copy("u.a", element(hex(9))),
    ] {
        let by_ingress = with_union(&[], &[change.clone()]);
        assert_eq!(left(&by_ingress), [[false, false], [false, true]], "{change}");
        let by_parser = with_union(&[primitive("primitive", &[change.clone()])], &[]);
        assert_eq!(left(&by_parser), [[false, false], [false, true]], "{change}");
    }
    assert_eq!(
        left(&with_union(&[], &[remove("u.b")])),
        [[false, false], [true, false]]
    );
    // What is done to others, and what p4c makes of a copy of a union: a copy of each member.
    for changes in [
        vec![remove("w.a"), remove("single")],
        vec![copy("w.a", header("single"))],
        vec![
            copy("w.a", header("u.a")),
            copy("w.b", header("u.b")),
            copy("u.a", header("w.a")),
            copy("u.b", header("w.b")),
            remove("w.a"),
            remove("w.b"),
        ],
    ] {
        assert_eq!(left(&with_union(&[], &changes)), [[true, true]; 2], "{changes:?}");
    }
    // An invalid member of another union says nothing about the others.
    assert_eq!(
        left(&with_union(&[], &[copy("u.a", header("w.a"))])),
        [[false, true]; 2]
    );
}

fn cloning(parser_key: Value, value: &str, ops: &[Value]) -> Small {
    let mut ingress = vec![assign(field("meta", "m"), hex(9))];
    ingress.push(primitive("clone_ingress_pkt_to_egress", &[hex(5), hex(1)]));
    let valid = expression("valid", Value::Null, header("x"));
    let tag: Vec<Value> = [extract("tag")].into_iter().chain(ops.to_vec()).collect();
    Small {
        metadata: vec![("m", 8)],
        headers: vec![("x", "a_t")],
        states: vec![
            state(
                "start",
                &tag,
                &[parser_key],
                &[(Some(value), Some("body")), (None, None)],
            ),
            state("body", &[extract("x")], &[], &[(None, None)]),
        ],
        ingress,
        egress: vec![assign(field("tag", "result"), expression("b2d", Value::Null, valid))],
        rest: vec![(
            "field_lists",
            json!([{"id": 1, "name": "kept", "elements": [field("meta", "m")]}]),
        )],
        ..Small::default()
    }
}

/// Results of the packet and of its clone.
fn results(small: &Small, bmv2_compatible: bool) -> [u8; 2] {
    let mut pipeline = small.pipeline(bmv2_compatible);
    let replicas = vec![Replica { port: 7, instance: 1 }];
    let session = CloneSession {
        replicas,
        max_bytes: None,
    };
    pipeline.clone_session_set(5, session).unwrap();
    let mut packets = run(&mut pipeline, &[1, 0xff, 0xaa, 0xee, 0xee]).packets;
    packets.sort();
    let ports: Vec<u16> = packets.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [1, 7]);
    [0, 1].map(|packet| packets[packet].1[1])
}

#[test]
fn the_parser_finds_in_an_ingress_clone_what_ingress_says_of_it_unless_it_is_to_be_as_in_bmv2() {
    let cases = [
        (standard("packet_length"), "0x00000005", [1, 1], [1, 0]),
        // From simple_switch.md: this one may tell them apart.
        (standard("instance_type"), "0x00000001", [0, 1], [0, 0]),
        (standard("ingress_global_timestamp"), "0x000000001388", [1, 1], [1, 0]),
        (standard("ingress_port"), "0x0003", [1, 1], [1, 1]),
        (field("meta", "m"), "0x09", [0, 1], [0, 0]),
    ];
    for (parser_key, value, wanted, as_bmv2) in cases {
        let small = cloning(parser_key.clone(), value, &[]);
        assert_eq!(results(&small, false), wanted, "{parser_key}");
        assert_eq!(results(&small, true), as_bmv2, "{parser_key}");
    }
}

#[test]
fn an_egress_clone_keeps_its_ingress_port_unless_it_is_to_be_as_in_bmv2() {
    let is_first = expression("==", standard("instance_type"), hex(0));
    let clones = Small {
        egress: vec![
            assign(field("tag", "result"), standard("ingress_port")),
            primitive("_jump_if_zero", &[is_first, hex(3)]),
            primitive("clone_egress_pkt_to_egress", &[hex(5), hex(1)]),
        ],
        ..Small::default()
    };
    assert_eq!(results(&clones, false), [3, 3]);
    assert_eq!(results(&clones, true), [3, 0]);
}

/// Two elements of `s`, `u.b`, two bytes of `v`, one of `x`.
fn with_many_headers(parser_ops: &[Value], ingress: &[Value]) -> Small {
    let variable = |name: &str, bits| primitive("extract_VL", &[json!({"type": "regular", "value": name}), hex(bits)]);
    let mut ops = vec![
        extract("tag"),
        extract_next("s"),
        extract_next("s"),
        extract("u.b"),
        variable("v", 16),
        variable("y", 0),
        extract("x"),
    ];
    ops.extend(parser_ops.to_vec());
    let length = expression("&", standard("packet_length"), hex(0xff));
    Small {
        types: vec![("v_t", json!([["n", 8, false], ["d", "*"]]))],
        headers: vec![("x", "a_t"), ("z", "a_t"), ("v", "v_t"), ("y", "v_t")],
        stacks: vec![("s", "a_t"), ("t", "a_t")],
        unions: vec!["u", "w"],
        states: vec![state("start", &ops, &[], &[(None, None)])],
        ingress: ingress.to_vec(),
        egress: vec![assign(field("tag", "result"), length)],
        ..Small::default()
    }
}

#[test]
fn packet_length_is_that_of_valid_headers_and_payload_unless_it_is_to_be_as_in_bmv2() {
    let frame: [u8; 13] = [0, 0, 1, 2, 3, 4, 0, 6, 7, 0, 9, 0xee, 0xee];
    let stack = |name: &str| json!({"type": "header_stack", "value": name});
    let union = |name: &str| json!({"type": "header_union", "value": name});
    let copy = |to: &str, from: &str| primitive("assign_header", &[header(to), header(from)]);
    let add = |name: &str| primitive("add_header", &[header(name)]);
    let remove = |name: &str| primitive("remove_header", &[header(name)]);
    // What comes or goes, the length then, and what BMv2 makes of it.
    let cases = [
        (copy("z", "x"), 14, 13),
        (copy("x", "z"), 12, 13),
        (add("z"), 14, 14),
        (primitive("add_header_fast", &[header("z")]), 14, 13),
        (remove("x"), 12, 12),
        (remove("v"), 10, 10),
        (primitive("push", &[stack("s"), hex(1)]), 12, 13),
        (primitive("pop", &[stack("s"), hex(2)]), 11, 13),
        (primitive("assign_header_stack", &[stack("t"), stack("s")]), 15, 13),
        (add("u.a"), 12, 14),
        (remove("u.b"), 11, 11),
        (primitive("assign_union", &[union("w"), union("u")]), 15, 13),
        (primitive("assign_union", &[union("u"), union("w")]), 11, 13),
        (primitive("assign_VL", &[field("y", "d"), field("v", "d")]), 15, 13),
    ];
    for (change, length, as_bmv2) in cases {
        for by_parser in [false, true] {
            let small = match by_parser {
                true => with_many_headers(&[primitive("primitive", &[change.clone()])], &[]),
                false => with_many_headers(&[], &[change.clone()]),
            };
            let out = answer(&mut small.pipeline(false), &frame);
            assert_eq!((out.len(), usize::from(out[1])), (length, length), "{change}");
            let out = answer(&mut small.pipeline(true), &frame);
            assert_eq!((out.len(), out[1]), (length, as_bmv2), "{change}");
        }
    }
    // What is passed over, and what has been extracted before, does not leave.
    for op in [primitive("advance", &[hex(8)]), extract("x")] {
        let out = answer(&mut with_many_headers(&[op], &[]).pipeline(false), &frame);
        assert_eq!((out.len(), out[1]), (12, 12));
    }
}

/// `s` is empty in kind 0, and has one element in others.
fn reading_last(op: &Value) -> Small {
    let then = |name, ops: &[Value]| state(name, ops, &[], &[(None, None)]);
    Small {
        types: vec![
            ("v_t", json!([["n", 8, false], ["d", "*"]])),
            ("w_t", json!([["v", 128, false]])),
        ],
        metadata: vec![("m", 8), ("wide", 128)],
        headers: vec![("x", "a_t"), ("v", "v_t")],
        stacks: vec![("s", "a_t"), ("wides", "w_t")],
        states: vec![
            state(
                "start",
                &[extract("tag")],
                &[field("tag", "kind")],
                &[(Some("0x00"), Some("empty")), (None, Some("one"))],
            ),
            then("empty", std::slice::from_ref(op)),
            then("one", &[extract_next("s"), extract_next("wides"), op.clone()]),
        ],
        ingress: tell_error(),
        ..Small::default()
    }
}

/// The parser's error without an element, and with one of zeros.
fn errors(op: &Value) -> [u8; 2] {
    let mut pipeline = reading_last(op).pipeline(false);
    [0, 1].map(|kind| {
        let frame = [&[kind, 0xff][..], &[0; 17], &[0xee]].concat();
        answer(&mut pipeline, &frame)[1]
    })
}

#[test]
fn the_last_of_an_empty_stack_rejects_in_whatever_expression() {
    let value = || last("s", "v");
    let meta = || field("meta", "m");
    let is_zero = || expression("==", value(), hex(0));
    let verify = |condition: Value| primitive("verify", &[condition, hex(u64::from(OTHER))]);
    let sum = expression("+", hex(8), value());
    let stack = json!({"type": "header_stack", "value": "s"});
    let index = expression("last_stack_index", Value::Null, stack.clone());
    let element = expression("dereference_header_stack", stack.clone(), index.clone());
    let set = |target: Value, value: Value| primitive("set", &[target, value]);
    let in_primitive = |primitive_: Value| primitive("primitive", &[primitive_]);
    for op in [
        set(meta(), value()),
        set(meta(), sum.clone()),
        set(value(), hex(1)),
        set(field("meta", "wide"), last("wides", "v")),
        set(field("meta", "wide"), expression("+", last("wides", "v"), hex(1))),
        set(meta(), expression("b2d", Value::Null, is_zero())),
        verify(is_zero()),
        primitive("advance", &[expression("*", hex(8), value())]),
        primitive(
            "extract_VL",
            &[
                json!({"type": "regular", "value": "v"}),
                expression("*", hex(8), value()),
            ],
        ),
        in_primitive(assign(meta(), value())),
        in_primitive(assign(value(), hex(1))),
        in_primitive(primitive("assign_header", &[header("x"), element])),
        in_primitive(primitive(
            "log_msg",
            &[
                json!({"type": "string", "value": "{}"}),
                json!({"type": "parameters_vector", "value": [sum]}),
            ],
        )),
    ] {
        assert_eq!(errors(&op), [STACK_OUT_OF_BOUNDS, NO_ERROR], "{op}");
    }
    // The index alone is no element.
    assert_eq!(errors(&set(meta(), index)), [NO_ERROR; 2]);
}

#[test]
fn the_last_of_an_empty_stack_does_not_count_where_it_is_not_evaluated() {
    let has_one = || expression("!=", field("tag", "kind"), hex(0));
    let has_none = || expression("==", field("tag", "kind"), hex(0));
    let is_zero = || expression("==", last("s", "v"), hex(0));
    let choose = |condition: Value, left: Value, right: Value| json!({"type": "expression", "value": {"op": "?", "cond": condition, "left": left, "right": right}});
    let verify = |condition: Value| primitive("verify", &[condition, hex(u64::from(OTHER))]);
    let set = |value: Value| primitive("set", &[field("meta", "m"), value]);
    for (op, wanted) in [
        (verify(expression("and", has_one(), is_zero())), [OTHER, NO_ERROR]),
        (
            verify(expression("and", has_none(), is_zero())),
            [STACK_OUT_OF_BOUNDS, OTHER],
        ),
        (verify(expression("or", has_none(), is_zero())), [NO_ERROR; 2]),
        (
            verify(expression("or", has_one(), is_zero())),
            [STACK_OUT_OF_BOUNDS, NO_ERROR],
        ),
        (
            verify(expression("and", is_zero(), has_one())),
            [STACK_OUT_OF_BOUNDS, NO_ERROR],
        ),
        (
            verify(expression("or", has_none(), expression("and", has_one(), is_zero()))),
            [NO_ERROR; 2],
        ),
        (set(choose(has_one(), last("s", "v"), hex(1))), [NO_ERROR; 2]),
        (
            set(choose(has_none(), last("s", "v"), hex(1))),
            [STACK_OUT_OF_BOUNDS, NO_ERROR],
        ),
        (set(choose(has_none(), hex(1), last("s", "v"))), [NO_ERROR; 2]),
        (set(choose(is_zero(), hex(1), hex(2))), [STACK_OUT_OF_BOUNDS, NO_ERROR]),
    ] {
        assert_eq!(errors(&op), wanted, "{op}");
    }
}

fn learning(ingress: &[Value]) -> Small {
    let list = |id: u64, name: &str, fields: &[Value]| json!({"id": id, "name": name, "elements": fields});
    Small {
        metadata: vec![("m", 8)],
        ingress: ingress.to_vec(),
        rest: vec![(
            "learn_lists",
            json!([
                list(1, "one_t", &[field("tag", "kind"), field("meta", "m")]),
                list(2, "other_t", &[field("meta", "m")]),
            ]),
        )],
        ..Small::default()
    }
}

fn learned(small: &Small, bmv2_compatible: bool) -> Vec<(String, Vec<Vec<u8>>)> {
    let mut pipeline: Pipeline = small.pipeline(bmv2_compatible);
    run(&mut pipeline, &[5, 0, 0xee]).digests
}

#[test]
fn each_digest_is_sent_with_the_values_of_its_call_unless_it_is_to_be_as_in_bmv2() {
    let digest = |id| primitive("generate_digest", &[hex(1), hex(id)]);
    let set = |value: Value| assign(field("meta", "m"), value);
    let message = |name: &str, fields: &[u8]| (name.to_owned(), fields.iter().map(|&value| vec![value]).collect());
    let two_kinds = learning(&[set(hex(3)), digest(1), set(hex(4)), digest(2), set(hex(6))]);
    assert_eq!(
        learned(&two_kinds, false),
        [message("one_t", &[5, 3]), message("other_t", &[4])]
    );
    assert_eq!(learned(&two_kinds, true), [message("other_t", &[6])]);
    let one_kind = learning(&[digest(2), set(hex(9)), digest(2), digest(7)]);
    assert_eq!(
        learned(&one_kind, false),
        [message("other_t", &[0]), message("other_t", &[9])]
    );
    assert_eq!(learned(&one_kind, true), [], "the last one is no digest");
    let more = expression("+", field("meta", "m"), hex(1));
    let is_last = expression("==", field("meta", "m"), hex(3));
    let in_a_loop = learning(&[
        set(more),
        digest(2),
        primitive("_jump_if_zero", &[is_last, hex(1)]),
        set(hex(8)),
    ]);
    assert_eq!(
        learned(&in_a_loop, false),
        [1, 2, 3].map(|value| message("other_t", &[value]))
    );
    assert_eq!(learned(&in_a_loop, true), [message("other_t", &[8])]);
    // A packet that is dropped is told of, too; egress sends none.
    let mut dropped = learning(&[digest(2), primitive("mark_to_drop", &[header("standard_metadata")])]);
    assert_eq!(learned(&dropped, false), [message("other_t", &[0])]);
    dropped.ingress.clear();
    dropped.egress = vec![digest(2)];
    assert_eq!(learned(&dropped, false), []);
    assert_eq!(learned(&dropped, true), []);
}

#[test]
fn long_digests_without_end_are_bounded() {
    let digest = primitive("generate_digest", &[hex(1), hex(1)]);
    let mut forever = learning(&[digest, primitive("_jump", &[hex(1)])]);
    let fields = vec![field("meta", "wide"); 8];
    forever.metadata.push(("wide", 8192));
    forever.rest = vec![("learn_lists", json!([{"id": 1, "name": "long_t", "elements": fields}]))];
    let mut pipeline = forever.pipeline(false);
    let out = run(&mut pipeline, &[5, 0]);
    assert_eq!((out.packets.len(), pipeline.aborted_packets()), (0, 1));
    let most = (1 << 25) / (8 * 8192 / 64);
    assert!((1..=most).contains(&out.digests.len()), "{}", out.digests.len());
}

#[test]
fn an_element_of_a_stack_of_unions_can_be_asked_whether_it_is_valid() {
    // So p4c writes `u[0].isValid()`.
    let valid = |name| expression("valid_union", Value::Null, json!({"type": "header", "value": name}));
    let result = expression("+", expression("b2d", Value::Null, valid("u[0]")), hex(4));
    let mut small = Small {
        unions: vec!["u[0]", "u[1]"],
        union_stack: Some(("u", vec!["u[0]", "u[1]"])),
        states: vec![
            state(
                "start",
                &[extract("tag")],
                &[field("tag", "kind")],
                &[(Some("0x01"), Some("one")), (None, None)],
            ),
            state(
                "one",
                &[primitive(
                    "extract",
                    &[json!({"type": "union_stack", "value": ["u", "a"]})],
                )],
                &[],
                &[(None, None)],
            ),
        ],
        ingress: vec![assign(field("tag", "result"), result)],
        ..Small::default()
    };
    let mut pipeline = small.pipeline(false);
    assert_eq!(answer(&mut pipeline, &[0, 0, 0xee]), [0, 4, 0xee]);
    assert_eq!(answer(&mut pipeline, &[1, 0, 0xee]), [1, 5, 0xee]);
    // Of a header it is no question.
    small.ingress = vec![assign(
        field("tag", "result"),
        expression("b2d", Value::Null, valid("tag")),
    )];
    let error = slotwise_p4::Program::from_json(small.json().to_string().as_bytes()).unwrap_err();
    assert!(
        error.to_string().ends_with("expected a header union, found a header"),
        "{error}"
    );
}
