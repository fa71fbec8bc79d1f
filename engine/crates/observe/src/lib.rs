// SPDX-License-Identifier: Apache-2.0
//! Observation of networks: what a run measures, as columns.
//!
//! A run's columns depend on its scenario, its seed, the P4 programs and the controller only.

pub mod columns;
pub mod record;
pub mod recorders;
pub mod stats;

pub use record::{Recording, Table, TableName};
