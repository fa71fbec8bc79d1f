// SPDX-License-Identifier: Apache-2.0
//! Names of before are refused with those of now, with place and line.

use std::fs;
use std::path::Path;

use slotwise_scenario::Scenario;

/// Text of now, and the same of before.
const RENAMED: [(&str, &str); 35] = [
    ("acks: ", "acknowledgements: "),
    ("at: ", "router: "),
    ("at: ", "station: "),
    ("at: ", "edge: "),
    ("bucket_depth_bytes: ", "bucket_bytes: "),
    ("bursts: ", "trains: "),
    ("changes:", "link_changes:"),
    ("changes:", "scheduler_changes:"),
    ("clear_intervals: ", "calm_intervals: "),
    ("concurrent_increase: ", "crowd: "),
    ("correction_intervals: ", "wait_intervals: "),
    ("edges_per_switch: ", "each: "),
    ("flows:", "traffic:"),
    ("flows_per_pair: ", "each: "),
    ("hysteresis: ", "relief: "),
    ("initial_rate_bps: ", "begin_bps: "),
    ("max_deflections: ", "deflections: "),
    ("max_hops: ", "hops: "),
    ("max_ns: ", "most_ns: "),
    ("max_window_segments: ", "window_packets: "),
    ("min_ns: ", "least_ns: "),
    ("monitor_intervals: ", "watch_intervals: "),
    ("near_target: ", "knife_edge: "),
    ("open: true\n", "half: true\n"),
    ("packet_stats: ", "measure: "),
    ("rto_granularity_ms: ", "rto_tick_ms: "),
    ("source_limit_bps: ", "limit_bps: "),
    ("start_jitter_ms: ", "spread_ms: "),
    ("target_utilization: ", "target: "),
    ("wavelength_conversion: ", "conversion: "),
    ("xcp_capacity_bps: ", "xcp_bps: "),
    ("as-published", "as-printed"),
    ("scfq", "fair"),
    ("link-down", "link-cut"),
    ("ops-edge-restart", "opsedge-restart"),
];

fn files() -> Vec<String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut files = Vec::new();
    for directory in ["schema/examples/valid", "topologies"] {
        for entry in fs::read_dir(repository.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                files.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn names_of_before_are_refused_with_place_and_line() {
    let files = files();
    for (now, before) in RENAMED {
        let name = |text: &str| {
            text.trim_end()
                .trim_end_matches(" true")
                .trim_end_matches(':')
                .to_owned()
        };
        let message = format!("'{}' was renamed to '{}'", name(before), name(now));
        let places = files
            .iter()
            .flat_map(|text| text.match_indices(now).map(move |(at, _)| (text, at)));
        let mut refused = places.map(|(text, at)| {
            let written = format!("{}{before}{}", &text[..at], &text[at + now.len()..]);
            let line =
                1 + text[..at].lines().count() - usize::from(!text[..at].ends_with('\n') && !text[..at].is_empty());
            let error = Scenario::parse(written.as_bytes()).err();
            let lines = error
                .map(|error| error.located(written.as_bytes()).to_string())
                .unwrap_or_default();
            lines
                .lines()
                .any(|told| told.starts_with(&format!("line {line}: /")) && told.contains(&message))
        });
        assert!(refused.any(|is_refused| is_refused), "{before}");
    }
}

#[test]
fn a_flow_with_a_kind_is_told_where_the_kind_stands_now() {
    let text = "edges: 2\nduration: 1 s\nflows:\n- {kind: udp, from: all, to: all, rate_bps: 1000000}\n";
    let error = Scenario::parse(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.located(text.as_bytes()).to_string(),
        "line 4: /phases/0/flows/0/kind: 'kind' was renamed to the kind itself; expected the key of the kind, with its settings: \
         tcp, udp, file, web"
    );
}
