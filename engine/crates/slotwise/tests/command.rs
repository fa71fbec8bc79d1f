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
