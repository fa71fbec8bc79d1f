// SPDX-License-Identifier: Apache-2.0
//! What a run is of: the network of a scenario, and what a run needs of it.

use slotwise_kinds::{HostMode, World, WorldOptions};
use slotwise_observe::recorders::routed::RoutedRecorder;
use slotwise_scenario::{Device, LinkChange, Scenario, ScenarioError, TooShort};

use crate::controller::{Clock, ControllerPlan};
use crate::lockstep::RunPlan;

/// What joins two switches, both ways, and may be cut by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fibre {
    /// An edge and a core.
    Star {
        /// The edge.
        edge: u16,
        /// The core.
        core: u16,
    },
    /// Two routers, by the number of a link between them.
    Routers {
        /// The link.
        link: usize,
    },
    /// Two nodes of a network with a section of its own, by the number of the span between them.
    Span {
        /// The span.
        span: usize,
    },
}

impl Fibre {
    /// Mends it, or cuts it: nothing passes then.
    pub fn set_up(self, fabric: &mut World, is_up: bool) {
        match self {
            Fibre::Star { edge, core } => fabric.apply_link_change(&LinkChange {
                at_ms: 0,
                core,
                edge,
                rate: None,
                delay: None,
                loss: None,
                attenuation_mdb: None,
                up: Some(is_up),
            }),
            Fibre::Routers { link } => fabric.set_link_up(link, is_up),
            Fibre::Span { span } => fabric.set_own_span_up(span, is_up),
        }
    }
}

/// The network of a scenario.
pub struct Network {
    /// The scenario.
    pub scenario: Scenario,
}

impl Network {
    /// Reads a file and checks all of it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(yaml: &[u8]) -> Result<Network, ScenarioError> {
        Scenario::parse(yaml).map(|scenario| Network { scenario })
    }

    /// The same run in a shorter or longer time.
    ///
    /// # Errors
    /// When it cannot be as short.
    pub fn scaled_to(self, total_ms: u64) -> Result<Network, TooShort> {
        let scenario = self.scenario.scaled_to(total_ms)?;
        Ok(Network { scenario })
    }

    /// It at time 0.
    pub fn fabric(&self, options: WorldOptions) -> World {
        World::new(&self.scenario, options)
    }

    /// What a run of it needs beside the fabric, which is its own.
    pub fn plan(&self, fabric: &World) -> RunPlan {
        RunPlan::of(&self.scenario, fabric)
    }

    /// What its controller is told, whose switches are the fabric's own or BMv2 processes.
    pub fn controller(&self, fabric: &World, has_bmv2: bool) -> ControllerPlan {
        ControllerPlan::of(&self.scenario, fabric, Clock::Wall, has_bmv2)
    }

    /// What may be cut by hand, by each of its names: a fibre of a star or between optical packet switches by those of both ends, a link
    /// of routers or a span of a ring by its own.
    pub fn fibres(&self) -> Vec<(String, Fibre)> {
        let edges = self.scenario.edges.iter();
        let ends = edges.flat_map(|edge| edge.fibres.iter().map(|fibre| (edge.id, fibre.core)));
        let fibres = ends.flat_map(|(edge, core)| {
            let fibre = Fibre::Star { edge, core };
            let (edge, core) = (Device::Edge(edge), Device::Core(core));
            [(format!("{edge}-{core}"), fibre), (format!("{core}-{edge}"), fibre)]
        });
        let links = self.scenario.routed.links.iter().enumerate();
        let links = links.map(|(link, of)| (of.name.clone(), Fibre::Routers { link }));
        let spans = self.scenario.own_spans().into_iter().enumerate();
        let spans = spans.map(|(span, name)| (name, Fibre::Span { span }));
        let back = self.scenario.own_spans_back().into_iter().enumerate();
        let back = back.map(|(span, name)| (name, Fibre::Span { span }));
        fibres.chain(links).chain(spans).chain(back).collect()
    }

    /// Name and length in ms of each phase, in their order.
    pub fn phases(&self) -> Vec<(String, u64)> {
        let phases = self.scenario.phases.iter();
        phases.map(|phase| (phase.name.clone(), phase.duration_ms)).collect()
    }

    /// What writes down links of routers and stations of a ring while a live run goes on, of which hosts play the flows of the scenario
    /// if `are_played`.
    pub fn recorder(&self, fabric: &World, are_played: bool) -> Option<RoutedRecorder> {
        self.scenario
            .has_groups()
            .then(|| RoutedRecorder::live(&self.scenario, fabric, are_played))
    }

    /// The same with nobody who sends anything, to look at.
    pub fn empty_fabric(&self) -> World {
        self.fabric(WorldOptions {
            seed: self.scenario.seed,
            host_mode: HostMode::External,
            captures: None,
            frame_records: false,
        })
    }
}
