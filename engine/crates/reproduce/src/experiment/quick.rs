// SPDX-License-Identifier: Apache-2.0
//! What an experiment has for those who want to see it in little time.

use serde::Deserialize;
use serde_yaml_ng::Value;

use super::{Experiment, ExperimentError, mismatch};

/// A part of an experiment that is made in little time, with one seed each; the facts of its runs are judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// What is run unless entries are named; then all is that they need.
    pub runs: Vec<String>,
    /// Values that replace those of each run's scenario, as `set` of a run does.
    #[serde(default)]
    pub set: Vec<(String, Value)>,
    /// Quantities are measured from this time on, s, since runs are shortened by `set`. Without times runs are whole.
    #[serde(default)]
    pub from_s: Option<f64>,
    /// Up to and with this time, s.
    #[serde(default)]
    pub to_s: Option<f64>,
}

impl Quick {
    /// When quantities of shortened runs are measured, s.
    pub(crate) fn time_s(&self) -> Option<(f64, f64)> {
        self.from_s.zip(self.to_s)
    }

    /// Whether `experiment` can be run so.
    pub(super) fn check(&self, experiment: &Experiment) -> Result<(), ExperimentError> {
        let unknown = self.runs.iter().find(|run| !experiment.runs.contains_key(*run));
        if let Some(run) = unknown {
            let reason = format!("unknown run '{run}'");
            return Err(mismatch("quick", reason, experiment.run_names().join(", ")));
        }
        let has_half = self.from_s.is_some() != self.to_s.is_some();
        if has_half || self.time_s().is_some_and(|(from_s, to_s)| from_s >= to_s) {
            return Err(mismatch(
                "quick",
                "empty time range",
                "the smaller number first, or no time range",
            ));
        }
        Ok(())
    }
}
