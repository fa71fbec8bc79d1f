// SPDX-License-Identifier: Apache-2.0
//! What a run is of: a network with its controller, a lambda network without packets, or figures that a benchmark kept.

use std::error::Error;

use slotwise_observe::record::{Recording, TableName, names};
use slotwise_scenario::{Scenario, ScenarioError, TooShort};

use crate::kept;
use crate::lambda::{self, Study};

/// Divisor of the duration of a run in [`Setup::quick`].
const QUICK_PARTS: u64 = 50;

/// What a run measures.
#[derive(Debug, Clone, PartialEq)]
pub enum Setup {
    /// A network, of stars, of routers, or of both.
    Network(Box<Network>),
    /// A lambda network without packets.
    Lambda(Box<Study>),
    /// Measured elsewhere, and not again.
    Kept(Box<Recording>),
}

/// A network to be measured: a star every `sample_frames`, links of routers each `sample_ms` of the scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// The network.
    pub scenario: Scenario,
    /// Period of measurement of a star in frames, at least 1.
    pub sample_frames: u32,
}

/// What goes wrong where networks run.
pub type RunnerError = Box<dyn Error + Send + Sync>;

/// Runs networks. It has what the experiment has not: the P4 programs, and the controller, which is a program of its own.
pub trait Runner: Sync {
    /// Runs a network and measures it with [`slotwise_observe::recorders`]; `progress` hears of the simulated time, in ms.
    ///
    /// # Errors
    /// When the controller cannot be started or fails, or when an invariant was broken.
    fn run(&self, network: &Network, seed: u64, progress: &mut dyn FnMut(u64)) -> Result<Recording, RunnerError>;

    /// Whatever the results of a scenario depend on beside it: P4 programs, the controller.
    ///
    /// # Errors
    /// When it is not there.
    fn inputs(&self, scenario: &Scenario) -> Result<Vec<u8>, RunnerError>;
}

impl Setup {
    /// Reads a scenario, or what a benchmark kept.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(yaml: &[u8], sample_frames: u32) -> Result<Setup, ScenarioError> {
        if kept::is_one(yaml) {
            return kept::recording(yaml).map(|recording| Setup::Kept(Box::new(recording)));
        }
        if lambda::is_one(yaml) {
            return Study::parse(yaml).map(|study| Setup::Lambda(Box::new(study)));
        }
        let scenario = Scenario::parse(yaml)?;
        Ok(Setup::Network(Box::new(Network {
            scenario,
            sample_frames,
        })))
    }

    /// Its network, if it is one.
    pub fn network(&self) -> Option<&Network> {
        match self {
            Setup::Network(network) => Some(network),
            Setup::Lambda(_) | Setup::Kept(_) => None,
        }
    }

    /// A scenario that it runs, by which its programs are known; none of what runs none.
    pub fn scenario(&self) -> Option<Scenario> {
        match self {
            Setup::Network(network) => Some(network.scenario.clone()),
            Setup::Lambda(study) => study.network(),
            Setup::Kept(_) => None,
        }
    }

    /// The scenario's seed.
    pub fn seed(&self) -> u64 {
        match self {
            Setup::Network(network) => network.scenario.seed,
            Setup::Lambda(study) => study.seed(),
            Setup::Kept(_) => 0,
        }
    }

    /// Length of the run.
    pub fn duration_ms(&self) -> u64 {
        match self {
            Setup::Network(network) => network.scenario.duration_ms(),
            Setup::Lambda(study) => study.duration_ms(),
            Setup::Kept(_) => 0,
        }
    }

    /// Says which run takes long: simulated time and the fastest link.
    pub(crate) fn cost(&self) -> u128 {
        if let Setup::Lambda(study) = self {
            return study.cost();
        }
        let fastest_bps = self.network().and_then(|Network { scenario, .. }| {
            let fibres = scenario.edges.iter().flat_map(|edge| &edge.fibres);
            let links = scenario.routed.links.iter().map(|link| link.rate.bps());
            let of_ring = scenario.ring.iter().map(|ring| ring.rate.bps());
            let of_ops = scenario.ops.iter().map(|ops| ops.rate.bps());
            fibres
                .map(|fibre| fibre.rate.bps())
                .chain(links)
                .chain(of_ring)
                .chain(of_ops)
                .max()
        });
        u128::from(self.duration_ms()) * u128::from(fastest_bps.unwrap_or(0))
    }

    /// The same run in a shorter time.
    ///
    /// # Errors
    /// When a phase would have no time.
    pub fn scaled_to(&self, total_ms: u64) -> Result<Setup, TooShort> {
        Ok(match self {
            Setup::Network(network) => Setup::Network(Box::new(Network {
                scenario: network.scenario.scaled_to(total_ms)?,
                sample_frames: network.sample_frames,
            })),
            Setup::Lambda(study) => Setup::Lambda(Box::new(study.scaled_to(total_ms))),
            Setup::Kept(recording) => Setup::Kept(recording.clone()),
        })
    }

    /// Shortens the run to a fiftieth, at least 1 ms, for tests without results.
    ///
    /// # Errors
    /// When a phase would have no time.
    pub fn quick(&self) -> Result<Setup, TooShort> {
        self.scaled_to((self.duration_ms() / QUICK_PARTS).max(1))
    }

    /// The names that a table of its recording has.
    pub fn names(&self, table: TableName) -> Vec<String> {
        let scenario = match self {
            Setup::Network(network) => &network.scenario,
            Setup::Lambda(study) => return study.names(table),
            Setup::Kept(recording) if table == TableName::Baseline => return recording.baseline.names.clone(),
            Setup::Kept(_) => return Vec::new(),
        };
        names(scenario, table)
    }
}
