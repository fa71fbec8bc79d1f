// SPDX-License-Identifier: Apache-2.0
//! Tables of a recording by name, and the names in them.

use serde::Deserialize;
use slotwise_scenario::Scenario;

use super::{Table, lambda};
use crate::recorders::{fluid, gtp, ops, ring, routed, sharing, star};

/// A table of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableName {
    /// Links between routers.
    Links,
    /// Stations of a ring.
    Stations,
    /// Wavelengths for data of optical packet switches.
    Outputs,
    /// Optical packet switches.
    Switches,
    /// Trains of their edges.
    Trains,
    /// Waits on a ring.
    Delays,
    /// What a ring gives, and should.
    Fairness,
    /// How soon a ring answers.
    Reactions,
    /// Flows.
    Flows,
    /// Order of flows' packets.
    Order,
    /// Sessions of GTP.
    Gtp,
    /// VOQs of a star.
    Queues,
    /// Ends of a star's fibres.
    Ports,
    /// Access links of a star.
    Access,
    /// Signaling of a star.
    Control,
    /// Edges that follow their master's clock.
    Clocks,
    /// Kept figures.
    Kept,
    /// Sessions of lambda networks.
    Sessions,
    /// Lambda networks beside their oracle.
    Distances,
    /// Single numbers of that oracle.
    Numbers,
}

impl TableName {
    /// An empty table of these columns.
    pub fn empty(self) -> Table {
        match self {
            TableName::Links => Table::links(),
            TableName::Stations => Table::stations(),
            TableName::Outputs => Table::outputs(),
            TableName::Switches => Table::switches(),
            TableName::Trains => Table::trains(),
            TableName::Delays => Table::delays(),
            TableName::Fairness => Table::fairness(),
            TableName::Reactions => Table::reactions(),
            TableName::Flows => Table::flows(),
            TableName::Order => Table::order(),
            TableName::Gtp => gtp::table(),
            TableName::Queues => Table::queues(),
            TableName::Ports => Table::ports(),
            TableName::Access => Table::access(),
            TableName::Control => Table::control(),
            TableName::Clocks => Table::clocks(),
            TableName::Kept => Table::kept(),
            TableName::Sessions => lambda::sessions(),
            TableName::Distances => lambda::distances(),
            TableName::Numbers => lambda::numbers(),
        }
    }
}

/// Names that a table of a network's recording has.
pub fn names(scenario: &Scenario, table: TableName) -> Vec<String> {
    let of_routers = match table {
        TableName::Links => {
            let probes = scenario.ops.iter().flat_map(ops::probe_names);
            routed::link_names(scenario).into_iter().chain(probes).collect()
        }
        TableName::Flows | TableName::Reactions | TableName::Order | TableName::Gtp => routed::flow_names(scenario),
        TableName::Stations | TableName::Delays => scenario.ring.iter().flat_map(ring::link_names).collect(),
        TableName::Outputs => scenario.ops.iter().flat_map(ops::output_names).collect(),
        TableName::Switches => scenario.ops.iter().flat_map(|ops| ops.switches.clone()).collect(),
        TableName::Trains => {
            let edges = scenario.ops.iter().flat_map(|ops| &ops.edges);
            edges.map(|edge| edge.name.clone()).collect()
        }
        TableName::Fairness => {
            let pairs = scenario.ring.iter().flat_map(|of| ring::pair_names(scenario, of));
            let of_mesh = scenario.ops.iter().flat_map(|of| fluid::pair_names(scenario, of));
            pairs.chain(of_mesh).collect()
        }
        TableName::Sessions => sharing::session_names(scenario),
        TableName::Distances => match sharing::session_names(scenario).is_empty() {
            true => Vec::new(),
            false => vec![scenario.name.clone()],
        },
        _ => Vec::new(),
    };
    star::names(scenario, table).into_iter().chain(of_routers).collect()
}
