// SPDX-License-Identifier: Apache-2.0
//! `slotwise list`, names of scenarios, completion and manual pages.

use std::fs;
use std::process::{Command, Output};

fn slotwise(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotwise"));
    command.args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = slotwise(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_is_listed_can_be_checked_by_its_name() {
    let listed = printed(&["list"]);
    let names: Vec<&str> = listed
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(
        names.contains(&"star4") && names.contains(&"ipt-ring/oc-48"),
        "{listed}"
    );
    for name in names {
        printed(&["check", name]);
    }
    for name in ["ipt-ring", "star"] {
        let line = format!("  {name} ");
        assert!(
            listed.lines().any(|listed| listed.starts_with(&line)),
            "{line}: {listed}"
        );
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    let output = slotwise(&["check", "star44"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("closest: 'star4'"), "{said}");
    // A path is opened.
    let output = slotwise(&["check", "star44.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("star44.yaml: No such file"), "{said}");
}

#[test]
fn one_file_is_not_written_by_two() {
    let output = slotwise(&["simulate", "star4", "--events", "/dev/null", "--report", "/dev/null"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("--events and --report: same file /dev/null; expected two files"),
        "{said}"
    );
}

#[test]
fn shells_complete_what_is_shown_and_nothing_else() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completion", shell]);
        for word in ["simulate", "sample-frames", "completion"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(!script.contains("run-task"), "{shell}");
    }
    let script = tempfile::NamedTempFile::new().unwrap();
    fs::write(script.path(), printed(&["completion", "bash"])).unwrap();
    let typed = "source \"$1\"; COMP_WORDS=(slotwise simulate --sample-fr); COMP_CWORD=2; \
                 _slotwise slotwise --sample-fr simulate; echo \"${COMPREPLY[@]}\"";
    let bash = Command::new("bash")
        .args(["-c", typed, "bash"])
        .arg(script.path())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&bash.stdout).trim(),
        "--sample-frames",
        "{bash:?}"
    );
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man");
    printed(&["man", pages.to_str().unwrap()]);
    let mut names: Vec<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in ["slotwise.1", "slotwise-simulate.1", "slotwise-line-card-gates.1"] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("run-task")), "{names:?}");
    let page = fs::read_to_string(pages.join("slotwise-simulate.1")).unwrap();
    assert!(page.contains("columns") && page.contains(".TH"), "{page}");
}
