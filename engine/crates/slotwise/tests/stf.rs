// SPDX-License-Identifier: Apache-2.0
//! `slotwise stf`: exit status, differences, traces.

use std::process::{Command, Output};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../stf/tests");

fn stf(program: &str, arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotwise"));
    command.current_dir(PROGRAMS).arg("stf");
    command
        .args([
            format!("programs/{program}.json"),
            format!("programs/{program}.p4info.txtpb"),
        ])
        .args(arguments);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output, said)
}

#[test]
fn passed_and_failed() {
    let (output, said) = stf("matching", &["passing/matching.stf"]);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("passed: passing/matching.stf (25 packets in, 21 out)"),
        "{said}"
    );
    let (output, said) = stf("matching", &["passing/matching.stf", "failing/matching.stf"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("failing/matching.stf:6: packet 1 on port 1, caused by line 5: differs at byte 3\n"),
        "{said}"
    );
}

#[test]
fn several_tests_in_one_file() {
    let (output, said) = stf("drops", &["passing/restart.stf"]);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("passed: passing/restart.stf (2 of 2 tests, 2 packets in, 1 out)"),
        "{said}"
    );
}

#[test]
fn traces_name_lines_tables_and_entries() {
    let (output, said) = stf("matching", &["--trace", "passing/matching.stf"]);
    assert!(output.status.success(), "{said}");
    let steps = [
        "if (hdr.probe.op == 1): true",
        "table TestIngress.exact_table (a=0x5, hdr.probe.b=0x102): hit entry a:0x5 hdr.probe.b:0x102 => TestIngress.counted(0x11)",
        "action TestIngress.counted(value=0x11)",
    ];
    for step in steps {
        let found = said
            .lines()
            .any(|line| line.contains(step) && line.contains(" matching.p4:"));
        assert!(found, "{step}: {said}");
    }
}

#[test]
fn says_what_is_wrong_and_fails() {
    for (program, test, message) in [
        ("nowhere", "passing/matching.stf", "programs/nowhere.json: No such file"),
        (
            "copies",
            "passing/matching.stf",
            "passing/matching.stf: line 11: no table",
        ),
        (
            "copies",
            "programs/matching.p4",
            "programs/matching.p4:1:1: expected a statement",
        ),
    ] {
        let (output, said) = stf(program, &[test]);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(message), "{message}: {said}");
    }
}
