// SPDX-License-Identifier: Apache-2.0
//! What a run is of: a network of routers, a star with its controller, or figures that a benchmark kept.

use std::error::Error;

use slotwise_scenario::{Scenario, ScenarioError, TooShort};

use crate::experiment::TableName;
use crate::kept;
use crate::record::Recording;
use crate::{routed, star};

/// The network of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Setup {
    /// Routers; measured each `sample_ms` of the scenario.
    Routed(Scenario),
    /// Edges around a photonic core, and a controller that schedules its slots.
    Star(Star),
    /// Measured elsewhere, and not again.
    Kept(Box<Recording>),
}

/// A star to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Star {
    /// The star.
    pub scenario: Scenario,
    /// Period of measurement in frames, at least 1.
    pub sample_frames: u32,
}

/// Runs stars. It has what the experiment has not: the controller, which is a program of its own.
pub trait StarRunner: Sync {
    /// Runs a star and measures it ([`star::Recorder`]); `progress` hears of the simulated time, in ms.
    ///
    /// # Errors
    /// When the controller cannot be started or fails, or when an invariant was broken.
    fn run(
        &self,
        star: &Star,
        seed: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Recording, Box<dyn Error + Send + Sync>>;

    /// Whatever its results depend on beside the scenario: P4 programs, the controller.
    ///
    /// # Errors
    /// When it is not there.
    fn inputs(&self) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>>;
}

impl Setup {
    /// Reads a scenario of either kind.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(yaml: &[u8], sample_frames: u32) -> Result<Setup, ScenarioError> {
        if kept::is_one(yaml) {
            return kept::recording(yaml).map(|recording| Setup::Kept(Box::new(recording)));
        }
        let scenario = Scenario::parse(yaml)?;
        if !scenario.has_star() {
            return Ok(Setup::Routed(scenario));
        }
        Ok(Setup::Star(Star {
            scenario,
            sample_frames,
        }))
    }

    /// The scenario's seed.
    pub fn seed(&self) -> u64 {
        match self {
            Setup::Routed(routed) => routed.seed,
            Setup::Star(star) => star.scenario.seed,
            Setup::Kept(_) => 0,
        }
    }

    /// Length of the run.
    pub fn duration_ms(&self) -> u64 {
        match self {
            Setup::Routed(routed) => routed.duration_ms(),
            Setup::Star(star) => star.scenario.duration_ms(),
            Setup::Kept(_) => 0,
        }
    }

    /// Says which run takes long: simulated time and the fastest link.
    pub(crate) fn cost(&self) -> u128 {
        let fastest_bps = match self {
            Setup::Routed(scenario) => scenario.routed.links.iter().map(|link| link.rate_bps).max(),
            Setup::Star(star) => {
                let fibres = star.scenario.edges.iter().flat_map(|edge| &edge.fibres);
                fibres.map(|fibre| fibre.rate_bps).max()
            }
            Setup::Kept(_) => None,
        };
        u128::from(self.duration_ms()) * u128::from(fastest_bps.unwrap_or(0))
    }

    /// The same run in a shorter time.
    ///
    /// # Errors
    /// When a phase would have no time.
    pub fn scaled_to(&self, total_ms: u64) -> Result<Setup, TooShort> {
        Ok(match self {
            Setup::Routed(routed) => Setup::Routed(routed.scaled_to(total_ms)?),
            Setup::Star(star) => Setup::Star(Star {
                scenario: star.scenario.scaled_to(total_ms)?,
                sample_frames: star.sample_frames,
            }),
            Setup::Kept(recording) => Setup::Kept(recording.clone()),
        })
    }

    /// The names that a table of its recording has.
    pub fn names(&self, table: TableName) -> Vec<String> {
        match (self, table) {
            (Setup::Routed(scenario), TableName::Links) => routed::link_names(scenario),
            (Setup::Routed(scenario), TableName::Flows) => routed::flow_names(scenario),
            (Setup::Kept(recording), TableName::Kept) => recording.kept.names.clone(),
            (Setup::Routed(_) | Setup::Kept(_), _) | (Setup::Star(_), TableName::Links) => Vec::new(),
            (Setup::Star(star), table) => star::names(&star.scenario, table),
        }
    }
}
