// SPDX-License-Identifier: Apache-2.0
//! Figures of a benchmark that were kept with their date and machine: a run that is not made again.

use serde::Deserialize;
use slotwise_scenario::ScenarioError;

use slotwise_observe::record::{BenchmarkCase, Recording};

use crate::lambda::ONCE;

/// The file that the controller's benchmark of schedulers keeps, `controller/bench/results/scheduling.json`.
#[derive(Debug, Deserialize)]
struct File {
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    results: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    scheduler: String,
    size: String,
    load: String,
    start: String,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

/// Whether a file is one of kept figures.
pub(crate) fn is_one(yaml: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "runs")]
        _runs: Vec<serde_yaml_ng::Value>,
    }
    serde_yaml_ng::from_slice::<Head>(yaml).is_ok()
}

/// The newest figures of each case, `SCHEDULER SIZE LOAD START`, as a recording with one row each.
///
/// # Errors
/// [`ScenarioError::Syntax`] if a figure is missing.
pub(crate) fn recording(yaml: &[u8]) -> Result<Recording, ScenarioError> {
    let file: File = serde_yaml_ng::from_slice(yaml).map_err(|error| ScenarioError::Syntax(error.to_string()))?;
    let mut newest = std::collections::BTreeMap::new();
    for case in file.runs.into_iter().flat_map(|run| run.results) {
        let name = format!("{} {} {} {}", case.scheduler, case.size, case.load, case.start);
        let times = BenchmarkCase {
            p50: case.p50_us,
            p99: case.p99_us,
            max: case.max_us,
        };
        newest.insert(name, times);
    }
    let mut recording = Recording::default();
    for (name, row) in newest {
        recording.add(&name, &ONCE, &row);
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_figure_of_a_case_counts() {
        let case = |p99: u32| {
            format!(
                r#"{{"scheduler": "fair", "size": "4x20", "load": "heavy", "start": "full", "samples": 9, "p50_us": 1, "p99_us": {p99}, "max_us": 9}}"#
            )
        };
        let text = format!(
            r#"{{"runs": [{{"date": "d", "results": [{}]}}, {{"date": "e", "results": [{}]}}]}}"#,
            case(3),
            case(2)
        );
        assert!(is_one(text.as_bytes()));
        let kept = recording(text.as_bytes()).unwrap().baseline;
        assert_eq!(kept.names, ["fair 4x20 heavy full"]);
        assert_eq!(
            kept.series("fair 4x20 heavy full", kept.column("p99_us").unwrap()),
            [(1.0, 2.0)]
        );
        assert!(recording(br#"{"runs": [{"results": [{"scheduler": "fair"}]}]}"#).is_err());
        assert!(!is_one(b"version: 1"));
    }
}
