// SPDX-License-Identifier: Apache-2.0
//! Measurements of a run: tables with one row per period and link, queue or flow. Each table is declared beside its recorder.

mod benchmark;
mod lambda;
mod table;

use serde::Deserialize;
use slotwise_scenario::Scenario;

use crate::recorders::{fluid, gtp, ops, ring, routed, shares, sharing, star, waits, workloads};

pub use benchmark::BenchmarkCase;
pub use lambda::{NetworkPeriod, Number, SessionPeriod};
pub use table::{Column, Declaration, Period, Row, Shown, Table};
pub(crate) use table::{deviation, mean, ratio, table};

/// Lists the tables of a recording: name, field, and the value that a row is made from.
macro_rules! tables {
    ($($table:ident $field:ident: $row:ty;)+) => {
        /// Name of a table of a recording.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum TableName {
            $(#[doc = concat!("Table `", stringify!($field), "`.")] $table,)+
        }

        impl TableName {
            /// All tables.
            pub const ALL: &'static [TableName] = &[$(TableName::$table),+];

            /// Returns the name of its file, without `.parquet`.
            pub fn name(self) -> &'static str {
                match self {
                    $(TableName::$table => stringify!($field),)+
                }
            }

            /// Returns its key and columns.
            pub fn declaration(self) -> &'static Declaration {
                match self {
                    $(TableName::$table => <$row as Row>::DECLARATION,)+
                }
            }
        }

        /// Tables of a run; those of other types of networks are empty.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Recording {
            $(#[doc = concat!("Table `", stringify!($field), "`.")] pub $field: Table,)+
        }

        impl Default for Recording {
            fn default() -> Recording {
                Recording {
                    $($field: TableName::$table.empty(),)+
                }
            }
        }

        impl Recording {
            /// Returns a table.
            pub fn table(&self, name: TableName) -> &Table {
                match name {
                    $(TableName::$table => &self.$field,)+
                }
            }

            /// Returns a table, to be filled.
            pub fn table_mut(&mut self, name: TableName) -> &mut Table {
                match name {
                    $(TableName::$table => &mut self.$field,)+
                }
            }
        }
    };
}

tables! {
    Stations stations: ring::StationPeriod<'static>;
    Outputs outputs: ops::OutputPeriod;
    Links links: routed::LinkPeriod<'static>;
    Flows flows: routed::FlowPeriod;
    Reordering reordering: routed::OrderPeriod;
    Switches switches: ops::SwitchPeriod<'static>;
    Bursts bursts: ops::TrainPeriod<'static>;
    Gtp gtp: gtp::GtpPeriod<'static>;
    Delays delays: waits::Waited;
    Fairness fairness: shares::PairPeriod;
    Convergence convergence: ring::Reaction;
    Queues queues: star::QueuePeriod<'static>;
    Ports ports: star::PortPeriod;
    Access access: star::AccessPeriod;
    Control control: star::ControlPeriod;
    Clocks clocks: star::ClockPeriod;
    Baseline baseline: BenchmarkCase;
    Sessions sessions: SessionPeriod;
    Distances distances: NetworkPeriod;
    Numbers numbers: Number;
    Workloads workloads: workloads::WorkloadPeriod;
    Completions completions: workloads::FlowCompletion;
}

impl TableName {
    /// Returns a table without rows.
    pub fn empty(self) -> Table {
        Table::new(self.declaration())
    }

    /// Returns the table of the report and the stream with its rows; `None` if no column is shown there.
    pub fn shown_as(self) -> Option<&'static str> {
        let Declaration { shown_as, columns, .. } = self.declaration();
        let is_shown = columns.iter().any(|column| column.shown.is_some());
        is_shown.then_some(if shown_as.is_empty() { self.name() } else { shown_as })
    }
}

impl Recording {
    /// Adds a row.
    pub fn add<R: Row>(&mut self, name: &str, period: &Period, row: &R) {
        self.table_mut(R::TABLE).add(name, period, row);
    }

    /// Returns the tables with their names.
    pub fn tables(&self) -> impl DoubleEndedIterator<Item = (TableName, &Table)> {
        TableName::ALL.iter().map(|name| (*name, self.table(*name)))
    }

    /// Adds the rows of another recording of the same run.
    #[must_use]
    pub fn with(mut self, mut other: Recording) -> Recording {
        for name in TableName::ALL {
            let rows = std::mem::replace(other.table_mut(*name), name.empty());
            self.table_mut(*name).append(rows);
        }
        self
    }
}

/// Returns the names in a table of a network's recording.
pub fn names(scenario: &Scenario, table: TableName) -> Vec<String> {
    let (ring, ops) = (&scenario.ring, &scenario.ops);
    match table {
        TableName::Links => {
            let probes = ops.iter().flat_map(ops::probe_names);
            routed::link_names(scenario).into_iter().chain(probes).collect()
        }
        TableName::Flows => {
            let of_phases = star::flow_names(scenario).into_iter();
            of_phases.chain(routed::flow_names(scenario)).collect()
        }
        TableName::Convergence | TableName::Reordering | TableName::Gtp => routed::flow_names(scenario),
        TableName::Stations | TableName::Delays => ring.iter().flat_map(ring::link_names).collect(),
        TableName::Outputs => ops.iter().flat_map(ops::output_names).collect(),
        TableName::Switches => ops.iter().flat_map(|ops| ops.switches.clone()).collect(),
        TableName::Bursts => {
            let edges = ops.iter().flat_map(|ops| &ops.edges);
            edges.map(|edge| edge.name.clone()).collect()
        }
        TableName::Fairness => {
            let of_ring = ring.iter().flat_map(|of| ring::pair_names(scenario, of));
            let of_mesh = ops.iter().flat_map(|of| fluid::pair_names(scenario, of));
            of_ring.chain(of_mesh).collect()
        }
        TableName::Sessions => sharing::session_names(scenario),
        TableName::Distances => match sharing::session_names(scenario).is_empty() {
            true => Vec::new(),
            false => vec![scenario.name.clone()],
        },
        TableName::Queues => star::queue_names(scenario),
        TableName::Ports => star::port_names(scenario),
        TableName::Access => star::access_names(scenario),
        TableName::Control => star::core_names(scenario),
        TableName::Clocks => star::clock_names(scenario),
        TableName::Workloads | TableName::Completions => scenario
            .workloads
            .iter()
            .map(|workload| workload.name.clone())
            .collect(),
        TableName::Baseline | TableName::Numbers => Vec::new(),
    }
}
