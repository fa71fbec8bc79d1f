// SPDX-License-Identifier: Apache-2.0
//! Measurements of routed networks and of stars, and the repetition of published ones.
//!
//! ```text
//! experiment.yaml -> runs x seeds -> run (fabric, P4) -> columns (Parquet) -> facts, plots -> report.html
//! ```
//!
//! Everything but [`work`], which reads and writes files and starts threads, is pure. A run's columns depend on its
//! scenario, its seed and the P4 program only.

pub mod columns;
pub mod count;
pub mod experiment;
mod fact;
mod html;
mod kept;
mod marker;
mod plot;
mod record;
pub mod routed;
mod router;
mod run;
pub mod setup;
pub mod star;
pub mod stats;
mod sweep;
pub mod work;

pub use fact::{Judged, Outcome};
pub use plot::PlotError;
pub use record::{
    ACCESS_COLUMNS, CLOCK_COLUMNS, CONTROL_COLUMNS, Column, FLOW_COLUMNS, KEPT_COLUMNS, LINK_COLUMNS, PORT_COLUMNS,
    QUEUE_COLUMNS, Recording, STATION_COLUMNS, Table,
};
pub use router::{RouterError, configure};
pub use run::{RunError, RunSummary, run};
pub use sweep::{Given, Measured, Sweep};
