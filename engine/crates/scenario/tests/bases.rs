// SPDX-License-Identifier: Apache-2.0
//! Files that start from others, and flows by matrices.

use std::collections::BTreeMap;
use std::path::Path;

use slotwise_scenario::{Party, Scenario, ScenarioError, ScenarioFile};

/// Reads `main` with other files beside it.
fn source(main: &str, others: &[(&str, &str)]) -> Result<ScenarioFile, ScenarioError> {
    let others: BTreeMap<&str, &str> = others.iter().copied().collect();
    ScenarioFile::read(main.as_bytes(), "main", |path: &Path| {
        let path = path.to_str().unwrap();
        let text = others.get(path).ok_or_else(|| format!("{path}: no such file"))?;
        Ok(text.as_bytes().to_vec())
    })
}

fn read(main: &str, others: &[(&str, &str)]) -> Scenario {
    source(main, others)
        .and_then(|source| source.scenario())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn refused(main: &str, others: &[(&str, &str)]) -> String {
    source(main, others)
        .and_then(|source| source.scenario())
        .unwrap_err()
        .to_string()
}

const STAR: &str =
    "name: star\nedges: 2\nframe: {slots: 20, slot: 250 us}\nduration: 1 s\nflows:\n- {from: all, to: all}\n";

#[test]
fn a_file_has_the_values_of_its_base_where_it_has_no_others() {
    let main = "base: star.yaml\nseed: 7\nframe: {slots: 40}\nduration_ms: 500\nedges: 3\n";
    let alone = "name: main\nedges: 3\nseed: 7\nframe: {slots: 40, slot: 250 us}\nduration: 500 ms\nflows:\n- {from: all, to: all}\n";
    assert_eq!(read(main, &[("star.yaml", STAR)]), read(alone, &[]));
}

#[test]
fn null_removes_a_value_and_a_list_replaces_one() {
    let base = format!("{STAR}faults:\n- {{kind: core-down, every: 100 ms, for: 10 ms}}\n");
    let one = read("base: b.yaml\nname: star\nfaults: ~\n", &[("b.yaml", &base)]);
    assert_eq!(one, read(STAR, &[]));
    let other = "base: b.yaml\nname: star\nfaults: [{kind: core-down, every: 200 ms, for: 10 ms}]\n";
    assert_eq!(read(other, &[("b.yaml", &base)]).faults[0].every_ms, 200);
}

#[test]
fn bases_have_bases_relative_to_their_own_directories() {
    let others = [
        ("a/one.yaml", "base: ../b/two.yaml\nseed: 3\n"),
        ("a/../b/two.yaml", STAR),
    ];
    let scenario = read("base: a/one.yaml\n", &others);
    assert_eq!(
        (scenario.seed, scenario.edges.len(), scenario.name.as_str()),
        (3, 2, "main")
    );
}

#[test]
fn a_problem_names_both_files_with_lines() {
    let base = STAR.replace("slots: 20", "slots: 0");
    let problem = refused("seed: 1\nbase: star.yaml\n", &[("star.yaml", &base)]);
    assert!(
        problem.starts_with("line 2 (star.yaml, line 3): /frame/slots: found 0; expected an integer"),
        "{problem}"
    );
    let problem = refused("seed: 1\nbase: star.yaml\nframe:\n  slots: 0\n", &[("star.yaml", STAR)]);
    assert!(problem.starts_with("line 4: /frame/slots: found 0"), "{problem}");
    let problem = refused("base: star.yaml\n", &[("star.yaml", "a: [\n")]);
    assert!(
        problem.starts_with("line 1 (base star.yaml): not YAML: line 2"),
        "{problem}"
    );
}

#[test]
fn a_base_that_cannot_be_is_refused() {
    let round = [("main.yaml", "base: main.yaml\n")];
    assert_eq!(
        refused("base: main.yaml\n", &round),
        "line 1: /base: circular bases, or too many of them; expected a chain of at most 8 files"
    );
    assert_eq!(
        refused("base: none.yaml\n", &[]),
        "line 1 (base none.yaml): none.yaml: no such file"
    );
    for path in ["/etc/star.yaml", "5", "[a]", "''"] {
        let problem = refused(&format!("base: {path}\n"), &[]);
        assert!(
            problem.contains("/base: found") && problem.contains("relative to the directory"),
            "{problem}"
        );
    }
    let alone = Scenario::parse(b"base: star.yaml\n").unwrap_err().to_string();
    assert!(alone.contains("without a directory"), "{alone}");
}

const RING: &str =
    "ring: {stations: s0..s3, links: {rate: 1 Gbit/s, delay: 10 us}, mode: explicit}\nduration: 100 ms\n";

fn flows(entry: &str, files: &[(&str, &str)]) -> Vec<(usize, usize, u64)> {
    let scenario = read(&format!("{RING}flows:\n- {entry}\n"), files);
    let flow = |flow: &slotwise_scenario::FlowGroup| {
        let place = |party| match party {
            Party::Group(index) => index,
            Party::Star(_) => panic!("no star"),
        };
        let rate = match flow.source {
            slotwise_scenario::Source::Udp { rate, .. } => rate.bps(),
            _ => u64::from(flow.each),
        };
        (place(flow.from), place(flow.to), rate)
    };
    scenario.routed.flows.iter().map(flow).collect()
}

#[test]
fn a_matrix_gives_rates_or_numbers_of_flows() {
    let files = [("m.csv", "0, 1, 0.5, 0\n0 0 2 0\n\n0,0,0,1\n0,0,0,0\n")];
    let udp = "{from: h0..h3, pairs: {file: m.csv}, udp: {rate: 10 Mbit/s, process: poisson}}";
    let wanted = [
        (0, 1, 10_000_000),
        (0, 2, 5_000_000),
        (1, 2, 20_000_000),
        (2, 3, 10_000_000),
    ];
    assert_eq!(flows(udp, &files), wanted);
    let files = [("m.csv", "0,1\n3,0\n")];
    assert_eq!(
        flows("{from: h0..h1, to: h2..h3, pairs: {file: m.csv}}", &files),
        [(0, 3, 1), (1, 2, 3)]
    );
}

#[test]
fn drawn_weights_add_up_to_the_rate_of_each_sender() {
    for pairs in [
        "{skew: 0.7}",
        "{hotspot: {hosts: 2, fraction: 0.5}}",
        "{hotspot: {fraction: 1}}",
    ] {
        let entry = format!("{{from: h0..h3, pairs: {pairs}, udp: {{rate: 9 Mbit/s, process: constant}}}}");
        let flows = flows(&entry, &[]);
        for sender in 0..4 {
            let sum: u64 = flows.iter().filter(|flow| flow.0 == sender).map(|flow| flow.2).sum();
            assert!(sum.abs_diff(9_000_000) <= 3, "{pairs}: {sum}");
        }
    }
    let entry = "{from: h0..h3, pairs: {skew: 0.7}, udp: {rate: 9 Mbit/s, process: constant}}";
    let large = flows(entry, &[]).into_iter().filter(|flow| flow.2 == 7_200_000).count();
    assert_eq!(large, 4, "0.7 and a third of 0.3 to one receiver each");
}

#[test]
fn a_matrix_of_a_wrong_size_is_refused_with_its_line() {
    let refused = |matrix: &str| {
        let main = format!("{RING}flows:\n- {{from: h0..h3, pairs: {{file: m.csv}}}}\n");
        refused(&main, &[("m.csv", matrix)])
    };
    assert_eq!(
        refused("0,1,1,1\n1,0,1,1\n"),
        "line 4: /flows/0/pairs: matrix of 2 rows; expected 4 rows, one per sender"
    );
    assert_eq!(
        refused("0,1,1,1\n\n1,0,1\n1,1,0,1\n1,1,1,0\n"),
        "line 4 (m.csv, line 3): /flows/0/pairs/matrix/1: row of 3 numbers; expected 4 numbers, one per receiver"
    );
    assert!(
        refused("1,1,1,1\n1,0,1,1\n1,1,0,1\n1,1,1,0\n")
            .contains("m.csv, line 1): /flows/0/pairs/matrix/0/0: found 1; expected 0")
    );
    assert!(refused("0,x,1,1\n1,0,1,1\n1,1,0,1\n1,1,1,0\n").contains("found 'x'; expected a number from 0"));
    assert!(refused("0,1.5,1,1\n1,0,1,1\n1,1,0,1\n1,1,1,0\n").contains("/flows_per_pair: found 1.5"));
}

#[test]
fn patterns_that_do_not_fit_are_refused() {
    for (entry, expected) in [
        ("{from: h0..h3, pairs: {skew: 0.5}}", "expected 'udp' with a rate"),
        (
            "{from: h0..h3, to: h0, pairs: {skew: 0.5}, udp: {rate: 1 Mbit/s, process: poisson}}",
            "expected no 'to'",
        ),
        (
            "{from: h0..h3, pairs: {skew: 2}}",
            "/flows/0/pairs/skew: found 2; expected a number from 0 to 1",
        ),
        ("{from: h0..h3, pairs: {}}", "expected one of skew, hotspot and file"),
        ("{from: h0..h3, pairs: {skw: 1}}", "unknown key 'skw'"),
        (
            "{from: h0..h3, pairs: {hotspot: {hosts: 4, fraction: 1}}, udp: {rate: 1 Mbit/s, process: poisson}}",
            "from 1 to 3",
        ),
    ] {
        let problem = refused(&format!("{RING}flows:\n- {entry}\n"), &[]);
        assert!(problem.contains(expected) && problem.starts_with("line 4"), "{problem}");
    }
}
