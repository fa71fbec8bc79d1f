// SPDX-License-Identifier: Apache-2.0
//! Observation of networks: measurements as columns; report, stream, terminal and events of a run.
//!
//! A run's columns depend on its scenario, its seed, the P4 programs and the controller only.

// They panic when the output is closed; `slotwise_cli::notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod bursts;
pub mod changes;
pub mod columns;
pub mod compared;
pub mod diff;
pub mod events;
pub mod facts;
pub mod faults;
pub mod flow;
pub mod lateness;
pub mod live;
pub mod news;
pub mod outputs;
pub mod per_star;
pub mod progress;
pub mod read;
pub mod record;
pub mod recorders;
pub mod reference;
pub mod report;
mod screen;
pub mod series;
pub mod sessions;
pub mod shares;
pub mod stats;
pub mod stream;
pub mod summary;
pub mod time_left;
pub mod unfinished;
pub mod workloads;

pub use record::{Recording, Table, TableName};
