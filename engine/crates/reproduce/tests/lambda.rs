// SPDX-License-Identifier: Apache-2.0
//! `experiments/gtp-lambda-networks`, as far as it needs no P4 and no controller.

use std::fs;
use std::path::{Path, PathBuf};

use slotwise_observe::Recording;
use slotwise_reproduce::count::Counts;
use slotwise_reproduce::experiment::{Entry, Experiment};
use slotwise_reproduce::setup::{Network, Runner, RunnerError, Setup};
use slotwise_reproduce::work::{Options, plain_text, reproduce};
use slotwise_scenario::Scenario;

/// Runs no network.
struct Nobody;

impl Runner for Nobody {
    fn run(&self, network: &Network, _: u64, _: &mut dyn FnMut(u64)) -> Result<Recording, RunnerError> {
        Err(format!("'{}' is a network of packets", network.scenario.name).into())
    }

    fn inputs(&self, scenario: &Scenario) -> Result<Vec<u8>, RunnerError> {
        Err(format!("'{}' is a network of packets", scenario.name).into())
    }
}

fn experiment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments/gtp-lambda-networks")
}

/// A copy of the experiment without its quick form.
fn without_quick() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(experiment()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let kept = match (text.split_once("\nquick:\n"), text.split_once("\nentries:\n")) {
            (Some((before, _)), Some((_, entries))) => format!("{before}\nentries:\n{entries}"),
            _ => text,
        };
        fs::write(copy.path().join(path.file_name().unwrap()), kept).unwrap();
    }
    copy
}

/// What came out, and `facts.json`.
fn shown(directory: &Path, only: &[&str], quick: bool, jobs: usize) -> (Counts, serde_json::Value) {
    let out = tempfile::tempdir().unwrap();
    let options = Options {
        directory: directory.to_owned(),
        out: out.path().to_owned(),
        only: only.iter().map(|id| (*id).to_owned()).collect(),
        quick,
        jobs,
    };
    let counts = reproduce(&options, &Nobody, &|_| {}).unwrap();
    let facts = fs::read(options.results().join("facts.json")).unwrap();
    (counts, serde_json::from_slice(&facts).unwrap())
}

#[test]
fn all_entries_without_packets_run_shortened_and_all_facts_of_the_source_are_there() {
    let whole = Experiment::parse(&fs::read(experiment().join("experiment.yaml")).unwrap()).unwrap();
    let has_packets = |run: &str| {
        let spec = &whole.runs[run];
        let (setup, _) = spec
            .scenario(run, &plain_text(&experiment().join(&spec.scenario)).unwrap(), &[])
            .unwrap();
        setup.scenario().is_some()
    };
    let id_of = |entry: &Entry| entry.id.clone();
    let ids: Vec<String> = whole.entries.iter().map(id_of).collect();
    let (packets, rates): (Vec<&String>, Vec<&String>) = ids
        .iter()
        .partition(|&id| whole.needed(&[id.clone()]).unwrap().into_iter().any(has_packets));
    assert!(!packets.is_empty());
    let rates: Vec<&str> = rates.into_iter().map(String::as_str).collect();
    let (counts, facts) = shown(without_quick().path(), &rates, true, 2);
    let of = |outcome: &str| {
        let outcomes = facts.as_array().unwrap().iter().map(|fact| &fact["outcome"]);
        outcomes.filter(|&of| of == outcome).count()
    };
    assert_eq!((of("pass"), of("miss")), (0, 0), "nothing is judged");
    assert_eq!(of("not run"), counts.not_run);
    // 173 facts of the dissertation, some of them in several parts, and 10 of our own.
    let count_of = |entry: &Entry| entry.facts.len() + entry.formulas.len() + entry.not_run.len();
    assert!(whole.entries.iter().map(count_of).sum::<usize>() >= 173 + 10);
}

#[test]
fn the_analysis_of_the_dissertation_comes_out() {
    let (counts, facts) = shown(
        &experiment(),
        &["table-II.2", "t-proposition-1", "table-VIII.2", "figure-VII.3"],
        false,
        1,
    );
    assert_eq!((counts.published.passed, counts.published.missed), (5, 0), "{facts}");
    let (_, again) = shown(
        &experiment(),
        &["table-II.2", "t-proposition-1", "table-VIII.2", "figure-VII.3"],
        false,
        2,
    );
    assert_eq!(facts, again, "whatever the number of threads");
}

#[test]
fn what_is_no_network_is_refused_with_its_place() {
    let refused = |yaml: &str| Setup::parse(yaml.as_bytes(), 1).unwrap_err().to_string();
    let one = "fluid: {duration_ms: 1000, cases: [{name: one, shape: {pairs: [[1, 1]]}}]}";
    assert!(Setup::parse(one.as_bytes(), 1).is_ok());
    // Delays of hosts, and of lambdas: of the three no host has one RTT.
    for shape in ["[[1, 1]]", "[[1, 1], [1, 2], [2, 2]]"] {
        let twin = one
            .replacen("[[1, 1]]}", &format!("{shape}}}, rtt_ms: [10, 20, 30]"), 1)
            .replacen("cases", "packets: 0.1, cases", 1);
        assert!(Setup::parse(twin.as_bytes(), 1).unwrap().scenario().is_some());
    }
    for (from, to, wanted) in [
        ("[[1, 1]]", "[[0, 1]]", "node 0 in a pair; expected nodes from 1"),
        (
            "name: one,",
            "name: one, capacity_mbps: 0,",
            "fluid/cases, 'one': capacity",
        ),
        (
            "name: one,",
            "name: one, alpha: 1,",
            "step size 0: out of range; expected above 0 and below 1, got 1",
        ),
        ("name: one,", "name: one, alfa: 1,", "alfa"),
        ("duration_ms: 1000", "duration_ms: 10", "no period"),
        (
            "duration_ms: 1000",
            "duration_ms: 1000, load_window_ms: 150",
            "load_window_ms",
        ),
        (
            "duration_ms: 1000",
            "duration_ms: 1000, lost_grants: 1",
            "grant loss ratio",
        ),
        ("duration_ms: 1000", "duration_ms: 1000, rule: {crowd: all}", "all"),
        (
            "duration_ms: 1000",
            "duration_ms: 1000, packets: 2",
            "fluid/packets: out of range; expected",
        ),
        (
            "duration_ms: 1000",
            "duration_ms: 1000, packets: 0.1, load_window_ms: 100",
            "load_window_ms",
        ),
        (
            "cases: [{name: one, shape: {pairs: [[1, 1]]}",
            "packets: 0.1, cases: [{name: one, shape: {paths: [[0, 1, 2]]}",
            "which routers do not support",
        ),
        (
            "cases: [{name: one,",
            "packets: 0.1, cases: [{name: one, demands: [[1, 5]],",
            "flow sources do not support",
        ),
    ] {
        assert!(one.contains(from));
        let error = refused(&one.replacen(from, to, 1));
        assert!(error.contains(wanted), "{to}: {error}");
    }
}
