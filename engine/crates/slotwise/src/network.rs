// SPDX-License-Identifier: Apache-2.0
//! What a run is of: a star, or a network of routers.

use slotwise_fabric::{Fabric, FabricOptions, HostMode};
use slotwise_reproduce::routed::RoutedRecorder;
use slotwise_scenario::{NotLive, RoutedScenario, Scenario, ScenarioError, TooShort};

use crate::lockstep::RunPlan;
use crate::routers;

/// A scenario of any kind.
pub enum Network {
    /// Edges around photonic cores.
    Star(Scenario),
    /// IP routers.
    Routers(RoutedScenario),
}

impl Network {
    /// Reads a file and checks all of it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(yaml: &[u8]) -> Result<Network, ScenarioError> {
        if RoutedScenario::is_one(yaml) {
            RoutedScenario::parse(yaml).map(Network::Routers)
        } else {
            Scenario::parse(yaml).map(Network::Star)
        }
    }

    /// The same run in a shorter or longer time.
    ///
    /// # Errors
    /// When it cannot be as short.
    pub fn scaled_to(self, total_ms: u64) -> Result<Network, TooShort> {
        match self {
            Network::Star(scenario) => scenario.scaled_to(total_ms).map(Network::Star),
            Network::Routers(scenario) => Ok(Network::Routers(scenario.scaled_to(total_ms))),
        }
    }

    /// Seed of every random choice.
    pub fn seed(&self) -> u64 {
        match self {
            Network::Star(scenario) => scenario.seed,
            Network::Routers(scenario) => scenario.seed,
        }
    }

    /// Chooses another seed.
    pub fn set_seed(&mut self, seed: u64) {
        match self {
            Network::Star(scenario) => scenario.seed = seed,
            Network::Routers(scenario) => scenario.seed = seed,
        }
    }

    /// Its network at time 0.
    pub fn fabric(&self, options: FabricOptions) -> Fabric {
        match self {
            Network::Star(scenario) => Fabric::new(scenario, options),
            Network::Routers(scenario) => Fabric::routed(scenario, options),
        }
    }

    /// What a run of it needs beside the fabric, which is its own.
    pub fn plan(&self, fabric: &Fabric) -> RunPlan {
        match self {
            Network::Star(scenario) => RunPlan::of_star(scenario),
            Network::Routers(scenario) => RunPlan::of_routers(scenario, fabric),
        }
    }

    /// The star, if it is one.
    pub fn star(&self) -> Option<&Scenario> {
        match self {
            Network::Star(scenario) => Some(scenario),
            Network::Routers(_) => None,
        }
    }

    /// What hosts of Linux with these congestion controls cannot play.
    pub fn not_live(&self, kernel: &[&str]) -> Option<NotLive> {
        match self {
            Network::Star(scenario) => scenario.not_live(kernel),
            Network::Routers(scenario) => scenario.not_live(kernel),
        }
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> u32 {
        match self {
            Network::Star(scenario) => scenario.edges.iter().map(|edge| u32::from(edge.hosts)).sum(),
            Network::Routers(scenario) => scenario.hosts.iter().map(|group| group.count).sum(),
        }
    }

    /// Name and length in ms of each phase, in their order.
    pub fn phases(&self) -> Vec<(String, u64)> {
        match self {
            Network::Star(scenario) => {
                let phases = scenario.phases.iter();
                phases.map(|phase| (phase.name.clone(), phase.duration_ms)).collect()
            }
            Network::Routers(scenario) => vec![(routers::PHASE.to_owned(), scenario.duration_ms)],
        }
    }

    /// What the fabric's lateness is measured by: a slot, or where there are none a millisecond.
    pub fn slot_ns(&self) -> u64 {
        match self {
            Network::Star(scenario) => scenario.frame.slot_ns,
            Network::Routers(_) => routers::PERIOD_NS,
        }
    }

    /// What writes down links while a live run goes on.
    pub fn recorder(&self, fabric: &Fabric) -> Option<RoutedRecorder> {
        match self {
            Network::Star(_) => None,
            Network::Routers(scenario) => Some(RoutedRecorder::live(scenario, fabric)),
        }
    }

    /// The same with nobody who sends anything, to look at.
    pub fn empty_fabric(&self) -> Fabric {
        self.fabric(FabricOptions {
            seed: self.seed(),
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        })
    }
}
