// SPDX-License-Identifier: Apache-2.0
//! Runs of lambda networks described without packets: the fluid mode of `slotwise-lambda` beside its oracle, or the oracle alone.

mod build;
mod fluid;
mod oracle;
mod twin;

use serde::Deserialize;
use slotwise_observe::record::{Number, Period, Recording, TableName};
use slotwise_scenario::{Scenario, ScenarioError};
use slotwise_units::Duration;

use crate::setup::{Runner, RunnerError};

/// Time of rows without a time.
pub(crate) const ONCE: Period = Period {
    end: Duration::from_s(1),
    length: Duration::from_s(1),
};

/// What such a run is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Networks in fluid mode.
    #[serde(default)]
    fluid: Option<fluid::Cases>,
    /// The oracle and the rule alone.
    #[serde(default)]
    oracle: Option<oracle::Checks>,
}

/// Whether a file is one.
pub(crate) fn is_one(yaml: &[u8]) -> bool {
    let is_key = |key: &serde_yaml_ng::Value| key == "fluid" || key == "oracle";
    let mapping: Result<serde_yaml_ng::Mapping, _> = serde_yaml_ng::from_slice(yaml);
    mapping.is_ok_and(|mapping| mapping.keys().any(is_key))
}

fn wrong(reason: impl std::fmt::Display) -> ScenarioError {
    ScenarioError::Syntax(reason.to_string())
}

impl Study {
    /// Reads one, and checks all that does not depend on the seed by making each network once.
    ///
    /// # Errors
    /// [`ScenarioError::Syntax`] with what is wrong.
    pub(crate) fn parse(yaml: &[u8]) -> Result<Study, ScenarioError> {
        let study: Study = serde_yaml_ng::from_slice(yaml).map_err(wrong)?;
        if let Some(cases) = &study.fluid {
            cases.check().map_err(wrong)?;
        }
        if let Some(checks) = &study.oracle {
            checks.numbers(study.seed()).map_err(wrong)?;
        }
        Ok(study)
    }

    /// Its first seed.
    pub(crate) fn seed(&self) -> u64 {
        self.fluid.as_ref().map_or(1, |cases| cases.seed)
    }

    /// Simulated time of each case, ms; 1 of what has none.
    pub(crate) fn duration_ms(&self) -> u64 {
        self.fluid.as_ref().map_or(1, fluid::Cases::duration_ms)
    }

    /// How long it takes beside others, roughly.
    pub(crate) fn cost(&self) -> u128 {
        self.fluid.as_ref().map_or(1, fluid::Cases::cost)
    }

    /// A network with packets that it runs, if it runs any: all have the same programs.
    pub(crate) fn network(&self) -> Option<Scenario> {
        self.fluid.as_ref().and_then(|cases| cases.first_twin().ok())
    }

    /// The same in a shorter time, joins and leaves included.
    pub(crate) fn scaled_to(&self, total_ms: u64) -> Study {
        Study {
            fluid: self.fluid.as_ref().map(|cases| cases.scaled_to(total_ms)),
            oracle: self.oracle.clone(),
        }
    }

    /// The names in a table of its recording.
    pub(crate) fn names(&self, table: TableName) -> Vec<String> {
        match (table, &self.fluid, &self.oracle) {
            (TableName::Sessions, Some(cases), _) => cases.session_names(),
            (TableName::Distances, Some(cases), _) => cases.names(),
            (TableName::Numbers, _, Some(checks)) => checks.names(),
            _ => Vec::new(),
        }
    }

    /// Runs it; `progress` hears of the simulated time, ms.
    ///
    /// # Errors
    /// When a network that the seed draws cannot be, or one with packets cannot be run.
    pub(crate) fn run(
        &self,
        seed: u64,
        runner: &dyn Runner,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Recording, RunnerError> {
        let mut recording = Recording::default();
        if let Some(cases) = &self.fluid {
            cases.run((seed, runner), progress, &mut recording)?;
        }
        if let Some(checks) = &self.oracle {
            for (name, value) in checks.numbers(seed)? {
                recording.add(&name, &ONCE, &Number(value));
            }
        }
        progress(self.duration_ms());
        Ok(recording)
    }
}
