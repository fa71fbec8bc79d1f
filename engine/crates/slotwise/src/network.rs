// SPDX-License-Identifier: Apache-2.0
//! What a run is of: a star, or a network of routers.

use slotwise_fabric::{Fabric, FabricOptions, HostMode};
use slotwise_reproduce::routed::RoutedRecorder;
use slotwise_scenario::{Device, FlowGroup, LinkChange, NotLive, RoutedScenario, Scenario, ScenarioError, TooShort};

use crate::controller::ControllerPlan;
use crate::lockstep::RunPlan;
use crate::routers;

/// What joins two switches, both ways, and may be cut by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fibre {
    /// An edge and a core.
    OfStar {
        /// The edge.
        edge: u16,
        /// The core.
        core: u16,
    },
    /// Two routers, by the number of a link between them.
    OfRouters {
        /// The link.
        link: usize,
    },
}

impl Fibre {
    /// Mends it, or cuts it: nothing passes then.
    pub fn set_up(self, fabric: &mut Fabric, is_up: bool) {
        match self {
            Fibre::OfStar { edge, core } => fabric.apply_link_change(&LinkChange {
                at_ms: 0,
                core,
                edge,
                rate_bps: None,
                delay_ns: None,
                loss: None,
                attenuation_mdb: None,
                up: Some(is_up),
            }),
            Fibre::OfRouters { link } => fabric.set_link_up(link, is_up),
        }
    }
}

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

    /// What its controller is told, whose switches are the fabric's own or BMv2 processes.
    pub fn controller(&self, fabric: &Fabric, has_bmv2: bool) -> ControllerPlan {
        match self {
            Network::Star(scenario) => ControllerPlan::of_star(scenario, has_bmv2),
            Network::Routers(scenario) => ControllerPlan::of_routers(scenario, fabric),
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

    /// What may be cut by hand, by each of its names: a fibre of a star by those of both ends, a link between routers by its own.
    pub fn fibres(&self) -> Vec<(String, Fibre)> {
        match self {
            Network::Star(scenario) => {
                let edges = scenario.edges.iter();
                let ends = edges.flat_map(|edge| edge.fibres.iter().map(|fibre| (edge.id, fibre.core)));
                let names = ends.flat_map(|(edge, core)| {
                    let fibre = Fibre::OfStar { edge, core };
                    let (edge, core) = (Device::Edge(edge), Device::Core(core));
                    [(format!("{edge}-{core}"), fibre), (format!("{core}-{edge}"), fibre)]
                });
                names.collect()
            }
            Network::Routers(scenario) => {
                let links = scenario.links.iter().enumerate();
                links
                    .map(|(link, of)| (of.name.clone(), Fibre::OfRouters { link }))
                    .collect()
            }
        }
    }

    /// Numbers of the traffic's entries of a phase that hosts of Linux cannot play: in a live run the engine does.
    pub fn entries_by_engine(&self, phase: usize) -> Vec<usize> {
        let others = |is_of_linux: Vec<bool>| {
            let entries = is_of_linux.into_iter().enumerate();
            entries
                .filter_map(|(entry, is_of_linux)| (!is_of_linux).then_some(entry))
                .collect()
        };
        others(match self {
            Network::Star(scenario) => {
                let traffic = scenario.phases[phase].traffic.iter();
                traffic.map(|traffic| traffic.kind.is_of_linux()).collect()
            }
            Network::Routers(scenario) => scenario.flows.iter().map(FlowGroup::is_of_linux).collect(),
        })
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
