// SPDX-License-Identifier: Apache-2.0
//! The command as a process: `scripts/check` relies on this file to have cargo build the command with the tests.

use std::process::{Command, Output};

fn slotwise(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slotwise"))
        .args(arguments)
        .output()
        .expect("the command starts")
}

#[test]
fn the_version_is_that_of_the_package() {
    let output = slotwise(&["--version"]);
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(printed.trim(), format!("slotwise {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn an_unknown_command_ends_with_status_2_and_names_it() {
    let output = slotwise(&["no-such-command"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'no-such-command'"));
}

const REPORT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../schema/examples/stream-report.json"
);

#[test]
fn diff_tells_equal_different_and_unreadable_results_apart_by_its_status() {
    let place = tempfile::tempdir().expect("a directory");
    let other = place.path().join("other.json");
    let text = std::fs::read_to_string(REPORT).expect("the example");
    let changed = text.replacen("\"seed\": 1", "\"seed\": 2", 1);
    assert_ne!(changed, text);
    std::fs::write(&other, changed).expect("it is written");
    let other = other.to_str().expect("UTF-8");
    assert_eq!(slotwise(&["diff", REPORT, REPORT]).status.code(), Some(0));
    let different = slotwise(&["diff", REPORT, other]);
    assert_eq!(different.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&different.stdout), "seed: 1, 2\n");
    assert_eq!(
        slotwise(&["diff", REPORT, other, "--ignore", "seed"]).status.code(),
        Some(0)
    );
    assert_eq!(
        slotwise(&["diff", REPORT, other, "--absolute", "1"]).status.code(),
        Some(0)
    );
    let unreadable = slotwise(&["diff", REPORT, "no-such-file"]);
    assert_eq!(unreadable.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unreadable.stderr).starts_with("slotwise: no-such-file: "));
}
