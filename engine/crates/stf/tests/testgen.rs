// SPDX-License-Identifier: Apache-2.0
//! What P4Testgen says of our programs (`scripts/testgen --keep`): all its packets come out as it expects.

use slotwise_p4::{Executor, Pipeline, PipelineConfig, Program, TimestampUnit};
use slotwise_stf::{Runner, Schema, parse_tests};
use std::fs;
use std::sync::Arc;

/// The number of tests that passed; all must, on both executors.
fn passed(program: &str) -> usize {
    let directory = env!("CARGO_MANIFEST_DIR");
    let read = |path: String| fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let compiled = |kind: &str| read(format!("{directory}/../../../p4src/p4c-out/{program}.{kind}"));
    let schema = Schema::new(&slotwise_p4runtime::parse_p4info(compiled("p4info.txtpb").as_bytes(), false).unwrap());
    let compiled = Arc::new(Program::from_json(compiled("json").as_bytes()).unwrap());
    let tests = parse_tests(&read(format!("{directory}/tests/testgen/{program}.stf"))).unwrap();
    for test in &tests {
        for executor in [Executor::Jit, Executor::Interpreter] {
            let config = PipelineConfig {
                cpu_port: 510,
                drop_port: 511,
                timestamp_unit: TimestampUnit::Microseconds,
                seed: 0,
                executor,
            };
            let mut pipeline = Pipeline::new(compiled.clone(), config);
            let mut runner = Runner::new(&schema, &mut pipeline);
            runner.set_clock_stands(true);
            let report = runner.run(test, &mut |_, _| {}).unwrap();
            assert_eq!(report.failures, [], "{program}.stf, {executor:?}");
            assert_eq!(report.packets_in, 1, "{program}.stf");
        }
    }
    tests.len()
}

#[test]
fn tests_of_the_core() {
    assert!(passed("core") > 30);
}

#[test]
fn tests_of_optical_packet_switches() {
    assert!(passed("ops") > 100);
}

#[test]
fn tests_of_rings() {
    assert!(passed("ring") > 100);
}

#[test]
fn tests_of_routers() {
    assert!(passed("router") > 100);
}
