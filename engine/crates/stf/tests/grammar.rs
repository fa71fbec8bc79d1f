// SPDX-License-Identifier: Apache-2.0
//! What cannot be read is refused with its place, and nothing makes the parser panic.

use proptest::prelude::*;
use slotwise_stf::script::{Pattern, Statement};
use slotwise_stf::{parse, parse_tests};

#[test]
fn refusals_say_where_and_what() {
    for (script, wanted) in [
        ("pakcet 0 00", "1:1: unknown statement `pakcet`"),
        ("wait\n\n  expect", "3:3: expected a port"),
        ("packet 512 00", "1:8: port: expected a number in 0..=511"),
        ("packet 0 00 0g", "1:14: `g` is not a hexadecimal digit"),
        ("packet 0 000", "1:12: packet with an odd number of digits"),
        ("packet 0 # nothing", "1:8: empty packet"),
        ("expect 0 00$00", "1:12: `$` is only allowed at the end"),
        ("add t a:1 b(", "1:13: expected a parameter, found the end of the file"),
        (
            "add t a:1 b()\nadd t a:1",
            "2:10: expected a key field or an action, found the end of the file",
        ),
        ("add t a:0x b()", "1:9: missing digits"),
        ("add t a:1 b(c:0x1*)", "1:15: `*` is not allowed in an argument"),
        ("add t 4294967296 a:1 b()", "1:7: a priority: expected a number in"),
        ("add t a:1 b(c:1 d:2)", "1:17: expected `,`, found `d`"),
        ("wait wait", "1:6: expected the end of the line, found `wait`"),
        ("remove some", "1:1: expected `all` after `remove`"),
        ("check_counter c(1) packets ~ 3", "1:28: unexpected character `~`"),
        ("check_counter c(1) packets 3", "1:28: expected a comparison, found `3`"),
        (
            "meter_set_rates m 1 0.1234567:1 1:1",
            "1:21: rate: expected at most six decimal places",
        ),
        ("add \"t a:1 b()", "1:5: unterminated or empty quoted name"),
        ("add t a:1 b() = $", "1:17: `$` alone; expected the id of an entry"),
        (
            "check_counter c($$) packets == 3",
            "1:17: `$` alone; expected the id of an entry",
        ),
        ("add t a:1 b() c", "1:16: expected `(`, found the end of the file"),
        ("mc_node_create 0", "1:17: expected a port, found the end of the file"),
        (
            "wait\nrestart\nwait\nrestart",
            "2:1: `restart` is not allowed in a single test",
        ),
    ] {
        let found = parse(script).expect_err(script).to_string();
        assert!(found.starts_with(wanted), "{script}: {found}");
    }
}

#[test]
fn packets_and_patterns() {
    let script = parse("PACKET 3 0aB # comment\n c").unwrap_err();
    assert_eq!((script.line, script.column), (1, 12));
    let script = parse("packet 3 0a Bc # comment\nexpect 4 *1 0 $").unwrap();
    let expected = Pattern {
        nibbles: vec![None, Some(1), Some(0)],
        exact: true,
    };
    assert_eq!(
        script.statements[0].statement,
        Statement::Packet {
            port: 3,
            frame: vec![10, 0xbc]
        }
    );
    assert_eq!(
        script.statements[1].statement,
        Statement::Expect {
            port: 4,
            pattern: Some(expected)
        }
    );
}

#[test]
fn several_tests_in_one_file() {
    let tests = parse_tests("packet 0 00\nno_packet\nRESTART # second\n\npacket 1 01\n").unwrap();
    let lines: Vec<Vec<u32>> = tests
        .iter()
        .map(|test| test.statements.iter().map(|located| located.line).collect())
        .collect();
    assert_eq!(lines, [vec![1, 2], vec![5]]);
    assert_eq!(parse_tests("").unwrap().len(), 1);
    let error = parse_tests("restart wait").unwrap_err().to_string();
    assert!(error.starts_with("1:9: expected the end of the line"), "{error}");
}

#[test]
fn a_printed_script_reads_the_same() {
    for path in ["passing/matching.stf", "passing/copies.stf", "failing/matching.stf"] {
        let text = std::fs::read_to_string(format!("{}/tests/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let first = parse(&text).unwrap().to_string();
        let again = parse(&first).unwrap_or_else(|error| panic!("{path}: {error}\n{first}"));
        assert_eq!(again.to_string(), first, "{path}");
        assert!(again.statements.len() > 10, "{path}");
    }
    let text = "add t $v$[1].a:0x1*2 h.$valid$:0b*1 \"0 odd name\":0x0 a(b:0x12, c:0x0) d() = e\n";
    assert_eq!(parse(text).unwrap().to_string(), text);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn statements_in_pieces_are_read_or_refused(pieces in proptest::collection::vec(piece(), 0..40)) {
        let _ = parse(&pieces.concat());
    }
}

fn piece() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "packet ",
        "expect ",
        "add ",
        "setdefault ",
        "check_counter ",
        "mc_node_create ",
        "meter_set_rates ",
        "remove ",
        "\n",
        "t ",
        "a",
        ":",
        "0x1*",
        "0b",
        "1",
        "(",
        ")",
        ",",
        "=",
        "/",
        "&&&",
        "->",
        "$",
        "*",
        "\"",
        "#",
        ".",
        "[",
        "]",
        "é",
    ];
    prop_oneof![
        proptest::sample::select(WORDS).prop_map(str::to_owned),
        "[0-9a-f*]{1,9}"
    ]
}
