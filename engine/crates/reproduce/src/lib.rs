// SPDX-License-Identifier: Apache-2.0
//! Measurements of networks, and the repetition of published ones.
//!
//! ```text
//! experiment.yaml -> runs x seeds -> run (fabric, P4, controller) -> columns (Parquet) -> facts, plots -> report.html
//! ```
//!
//! Everything but [`work`], which reads and writes files and starts threads, is pure. Networks are run by who has a controller
//! ([`setup::Runner`]). A run's columns depend on its scenario, its seed, the P4 programs and the controller only.

mod after;
pub mod columns;
pub mod count;
pub mod experiment;
mod fact;
mod fluid;
mod formula;
mod gtp;
mod html;
mod job;
mod kept;
mod lambda;
mod marker;
mod ops;
mod plot;
mod quantities;
mod record;
mod ring;
pub mod routed;
pub mod setup;
mod shapes;
mod shares;
mod sharing;
pub mod star;
pub mod stats;
mod sweep;
mod waits;
pub mod work;

pub use after::AfterFault;
pub use fact::{Judged, Outcome, Statement};
pub use gtp::GTP_COLUMNS;
pub use plot::PlotError;
pub use record::{
    ACCESS_COLUMNS, CLOCK_COLUMNS, CONTROL_COLUMNS, Column, DELAY_COLUMNS, DISTANCE_COLUMNS, FAIRNESS_COLUMNS, FLOW_COLUMNS,
    KEPT_COLUMNS, LINK_COLUMNS, NUMBER_COLUMNS, ORDER_COLUMNS, OUTPUT_COLUMNS, PORT_COLUMNS, QUEUE_COLUMNS, REACTION_COLUMNS,
    Recording, SESSION_COLUMNS, STATION_COLUMNS, SWITCH_COLUMNS, TRAIN_COLUMNS, Table, TableName,
};
pub use shares::Fairness;
pub use sharing::SessionPeriod;
pub use sweep::{Axis, Given, Measured, Sweep};
