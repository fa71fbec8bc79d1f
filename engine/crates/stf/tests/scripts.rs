// SPDX-License-Identifier: Apache-2.0
//! The scripts in `passing` pass, those in `failing` say what their `.expected` files say.

use slotwise_p4::{Executor, Pipeline, PipelineConfig, Program, TimestampUnit};
use slotwise_stf::{Report, RunError, Runner, Schema, parse};
use std::fs;
use std::sync::Arc;

fn read(path: &str) -> String {
    let path = format!("{}/tests/{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// On both executors, which must say the same.
fn run(program: &str, script: &str) -> (Result<Report, RunError>, Vec<String>) {
    let [jit, interpreter] = [Executor::Jit, Executor::Interpreter].map(|executor| run_on(executor, program, script));
    assert_eq!(format!("{jit:?}"), format!("{interpreter:?}"));
    jit
}

fn run_on(executor: Executor, program: &str, script: &str) -> (Result<Report, RunError>, Vec<String>) {
    let json = read(&format!("programs/{program}.json"));
    let p4info = read(&format!("programs/{program}.p4info.txtpb"));
    let schema = Schema::new(&slotwise_p4runtime::parse_p4info(p4info.as_bytes(), false).unwrap());
    let program = Arc::new(Program::from_json(json.as_bytes()).unwrap());
    let mut pipeline = Pipeline::new(program, config(executor));
    let mut said = Vec::new();
    let script = parse(script).unwrap();
    let report =
        Runner::new(&schema, &mut pipeline).run(&script, &mut |line, text| said.push(format!("{line}: {text}")));
    (report, said)
}

fn config(executor: Executor) -> PipelineConfig {
    PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Microseconds,
        seed: 0,
        executor,
    }
}

#[test]
fn every_way_to_match() {
    let (report, _) = run("matching", &read("passing/matching.stf"));
    let report = report.unwrap();
    assert_eq!(report.failures, []);
    assert_eq!((report.packets_in, report.packets_out), (25, 21));
}

#[test]
fn keys_that_are_slices() {
    let p4info =
        read("programs/matching.p4info.txtpb").replacen("name: \"hdr.probe.b\"", "name: \"hdr.probe.b[15:0]\"", 1);
    let schema = Schema::new(&slotwise_p4runtime::parse_p4info(p4info.as_bytes(), false).unwrap());
    let program = Arc::new(Program::from_json(read("programs/matching.json").as_bytes()).unwrap());
    for name in ["hdr.probe.b[15:0]", "probe.b[15 : 0]", "b[15:0]"] {
        let script = format!(
            "add exact_table a:5 {name}:0x1234 counted(value:7)\n\
             packet 0 01 05 1234 00000000 00\nexpect 1 01 05 1234 00000000 07 $\n"
        );
        let mut pipeline = Pipeline::new(program.clone(), config(Executor::Interpreter));
        let script = parse(&script).unwrap();
        let report = Runner::new(&schema, &mut pipeline)
            .run(&script, &mut |_, _| {})
            .unwrap();
        assert_eq!(report.failures, []);
    }
    assert!(parse("add exact_table b[15:]:1 drop()").is_err());
    assert!(parse("add exact_table b[15:0:1]:1 drop()").is_err());
}

#[test]
fn ports_that_a_test_does_not_name_count_unless_it_is_told_otherwise() {
    let script = parse("add exact_table a:5 counted(value:1)\npacket 0 01 05 0000 00000000 00\n").unwrap();
    let p4info = slotwise_p4runtime::parse_p4info(read("programs/matching.p4info.txtpb").as_bytes(), false).unwrap();
    let schema = Schema::new(&p4info);
    let program = Arc::new(Program::from_json(read("programs/matching.json").as_bytes()).unwrap());
    let failures = [false, true].map(|named_only| {
        let mut pipeline = Pipeline::new(program.clone(), config(Executor::Interpreter));
        let mut runner = Runner::new(&schema, &mut pipeline);
        runner.set_named_ports_only(named_only);
        runner.run(&script, &mut |_, _| {}).unwrap().failures.len()
    });
    assert_eq!(failures, [1, 0]);
}

#[test]
fn copies_and_state() {
    let (report, said) = run("copies", &read("passing/copies.stf"));
    assert_eq!(report.unwrap().failures, []);
    let said: Vec<&str> = said.iter().map(|line| line.split_once(": ").unwrap().1).collect();
    assert_eq!(
        said,
        [
            "clone session 3: port 7",
            "clone session 3: unknown",
            "clone session 4: multicast group 9",
            "TestIngress.memory[2] = 0xcafe",
            "TestIngress.memory[2] = 0x12345678",
            "TestIngress.seen[9] = 7 packets, 8 bytes",
            "TestIngress.police[1]: 1/s, burst 1; 2/s, burst 2",
            "TestIngress.police[15]: 1000000/s, burst 1; 2500000/s, burst 1",
            "dropped a packet with op = 255",
        ]
    );
}

#[test]
fn an_action_drops_with_a_copy_of_the_standard_metadata() {
    let (report, _) = run("drops", &read("passing/drops.stf"));
    assert_eq!(report.unwrap().failures, []);
}

#[test]
fn differences_are_readable() {
    let (report, _) = run("matching", &read("failing/matching.stf"));
    let found: String = report
        .unwrap()
        .failures
        .iter()
        .map(|failure| format!("{}: {}\n", failure.line, failure.text))
        .collect();
    assert_eq!(found, read("failing/matching.expected"), "found:\n{found}");
}

/// The reason why a statement of `matching` or `copies` cannot be executed.
fn refusal(program: &str, script: &str) -> String {
    run(program, script).0.unwrap_err().to_string()
}

#[test]
fn statements_that_cannot_be_executed() {
    for (program, script, wanted) in [
        (
            "matching",
            "add nowhere a:1 drop()",
            "line 1: no table `nowhere`; expected one of TestIngress.exact_table,",
        ),
        (
            "matching",
            "wait\nadd _table a:1 drop()",
            "line 2: ambiguous table `_table`: `TestIngress.exact_table` or",
        ),
        (
            "matching",
            "add exact_table z:1 drop()",
            "line 1: no key field `z`; expected one of a, hdr.probe.b",
        ),
        (
            "matching",
            "add exact_table a:1 a:2 drop()",
            "line 1: duplicate key field `a`",
        ),
        (
            "matching",
            "add exact_table a:1 fly()",
            "line 1: no action `fly`; expected one of TestIngress.counted,",
        ),
        ("matching", "add exact_table a:1 counted()", "missing parameter `value`"),
        (
            "matching",
            "add exact_table a:1 counted(value:1, value:2)",
            "duplicate parameter `value`",
        ),
        (
            "matching",
            "add exact_table a:1 drop(value:1)",
            "unknown parameter `value`",
        ),
        (
            "matching",
            "add exact_table a:0x1* drop()",
            "key field `a`: `*` is not allowed",
        ),
        (
            "matching",
            "add exact_table a:256 drop()",
            "value of `a` does not fit in 8 bits",
        ),
        (
            "matching",
            "add exact_table a:1 drop()\nadd exact_table a:1 drop()",
            "line 2: table `TestIngress.exact_table` already has this entry",
        ),
        (
            "matching",
            "add lpm_table address:0x0a000000/33 drop()",
            "prefix of 33 bits exceeds the field width of 32",
        ),
        (
            "matching",
            "add lpm_table address:0x0a* drop()",
            "invalid prefix; expected 32 bits with the `*` at the end",
        ),
        (
            "matching",
            "add range_table b:9->8 drop()",
            "range of `hdr.probe.b` is empty",
        ),
        (
            "matching",
            "add ternary_table b:1->2 drop()",
            "invalid match for a TERNARY field",
        ),
        (
            "matching",
            "no_packet",
            "line 1: `no_packet` without a packet before it",
        ),
        (
            "matching",
            "check_counter hits($x) packets == 1",
            "unknown entry ID; expected an earlier `add` with `= x`",
        ),
        ("copies", "check_counter seen(16) packets == 1", "16"),
        (
            "copies",
            "check_counter unseen(1)",
            "no counter `unseen`; expected one of TestIngress.seen",
        ),
        (
            "copies",
            "register_write memory 1 0x100000000",
            "does not fit in 32 bits",
        ),
        ("copies", "mc_node_associate 1 0", "unknown node 0; 0 were created"),
        (
            "copies",
            "mc_node_create 0 1\nmc_node_associate 1 0",
            "unknown multicast group 1",
        ),
        ("copies", "mc_mgrp_create 0", "expected 1..=65535"),
        ("copies", "mirroring_delete 5", "no clone session 5"),
        ("copies", "meter_set_rates police 1 2:1 1:1", "line 1: "),
    ] {
        let found = refusal(program, script);
        assert!(found.contains(wanted), "{script}: {found}");
    }
}
