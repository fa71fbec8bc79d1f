// SPDX-License-Identifier: Apache-2.0
//! `slotwise workload`: statistics, lists, errors.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn workload(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotwise"));
    command
        .arg("workload")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

/// The printed lines by their first words.
fn printed(directory: &Path, arguments: &[&str]) -> String {
    let output = workload(directory, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn line<'a>(printed: &'a str, word: &str) -> &'a str {
    printed
        .lines()
        .find(|line| line.starts_with(word))
        .unwrap_or_else(|| panic!("{word}: {printed}"))
}

fn error(directory: &Path, arguments: &[&str]) -> String {
    let output = workload(directory, arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap().trim().to_owned()
}

#[test]
fn a_list_has_the_flows_that_were_generated() {
    let directory = tempfile::tempdir().unwrap();
    let options = [
        "--sizes",
        "websearch",
        "--load",
        "0.5",
        "--hosts",
        "8",
        "--duration",
        "100 ms",
    ];
    let generated = printed(
        directory.path(),
        &[&["poisson", "--csv", "flows.csv"], &options[..]].concat(),
    );
    let listed = printed(
        directory.path(),
        &["list", "flows.csv", "--hosts", "8", "--csv", "again.csv"],
    );
    for word in ["flows", "sizes", "starts", "gaps"] {
        assert_eq!(line(&generated, word), line(&listed, word));
    }
    let read = |name| fs::read(directory.path().join(name)).unwrap();
    assert_eq!(read("flows.csv"), read("again.csv"));
    let same = printed(directory.path(), &[&["poisson", "--seed", "2"], &options[..]].concat());
    assert_ne!(line(&same, "flows"), line(&generated, "flows"));
}

#[test]
fn a_collective_prints_its_time() {
    let directory = tempfile::tempdir().unwrap();
    let ring = printed(directory.path(), &["collective", "ring", "--size", "16 MB"]);
    // 30 steps of 1 MB at 10 Gb/s.
    assert_eq!(
        line(&ring, "coflows   1 completed"),
        "coflows   1 completed, us: mean 24000.0, p50 24000.0, p99 24000.0, max 24000.0"
    );
}

#[test]
fn a_coflow_trace_prints_its_totals() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("trace"), "4 1\n1 7 2 0 1 2 2:3.0 0:1\n").unwrap();
    let trace = printed(directory.path(), &["coflows", "trace", "--ideal"]);
    assert_eq!(line(&trace, "trace"), "trace     4 hosts, 1 coflows, last arrival 7 ms");
    assert!(trace.contains("4 flows (mappers x reducers), 4000000 bytes"), "{trace}");
    assert_eq!(line(&trace, "flows"), "flows     3, 3500000 bytes");
    // Host 2 receives 3 MB.
    assert_eq!(
        line(&trace, "bounds"),
        "bounds    least times by the fullest link, us: mean 2400.0, max 2400.0"
    );
    assert!(line(&trace, "coflows   1 completed").contains("mean 2400.0"), "{trace}");
}

#[test]
fn tables_have_means_and_licences() {
    let directory = tempfile::tempdir().unwrap();
    let tables = printed(directory.path(), &["tables"]);
    assert!(line(&tables, "websearch").contains(" 1875927.9  steps "), "{tables}");
    let licences = printed(directory.path(), &["tables", "--licences"]);
    assert!(licences.contains("Regents of the University of California") && licences.contains("Max Planck Institute"));
}

#[test]
fn errors_name_place_problem_and_expectation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("table.csv"), "10,0.5\n5,1\n").unwrap();
    fs::write(path.join("flows.csv"), "start_ns,from,to,size_bytes\n0,1,99,5\n").unwrap();
    let poisson = ["poisson", "--load", "0.5", "--sizes"];
    for (arguments, message) in [
        (
            &[&poisson[..], &["table.csv"]].concat()[..],
            "slotwise: table.csv: line 2: size does not rise; expected more than 10, got 5",
        ),
        (
            &[&poisson[..], &["nothing"]].concat()[..],
            "slotwise: 'sizes': unknown table 'nothing'; expected a file or one of websearch, datamining, hadoop, rpc, coco, w3, w4",
        ),
        (
            &["list", "flows.csv"][..],
            "slotwise: flows.csv: line 2: unknown host '99'; expected 0 to 15",
        ),
        (
            &[&poisson[..], &["w3", "--pairs", "ring"]].concat()[..],
            "slotwise: --pairs: unknown pattern 'ring'; expected all, permutation, shift:N, groups:N, hotspot:N:FRACTION, skew:FRACTION or a file",
        ),
        (
            &["coflows", "flows.csv"][..],
            "slotwise: flows.csv: line 1: invalid first line; expected the numbers of hosts, 1 to 1000000, and coflows, got 'start_ns,from,to,size_bytes'",
        ),
        (
            &["pcap", "missing"][..],
            "slotwise: missing: No such file or directory (os error 2)",
        ),
    ] {
        assert_eq!(error(path, arguments), message);
    }
}
