// SPDX-License-Identifier: Apache-2.0
//! P4 pipelines from p4c's BMv2 JSON: load, configure, run packets. Pure: no sockets, clocks, threads or entropy.
//!
//! ```text
//! JSON bytes -> Program::from_json -> Arc<Program> -> Pipeline::new -> process(now, port, frame) -> outputs
//! ```
//!
//! The program becomes an intermediate representation (`ir`) in which every index and width has been checked, so that
//! running it cannot fail: `load` makes it, `parser`, `control` and `action` run it, `config` is the controller's side.

mod action;
mod api;
mod calculation;
mod codec;
mod config;
mod control;
mod expr;
mod hash;
mod ir;
mod load;
mod meter;
mod parser;
mod pipeline;
mod profile;
mod state;
mod table;
mod value;

pub use api::{
    ActionCall, Bits, ConfigError, KeyField, LoadError, Output, PipelineConfig, Port, Replica, TableEntry,
    TimestampUnit,
};
pub use config::{Indirect, WeightedMember};
pub use meter::MeterConfig;
pub use pipeline::{CloneSession, Pipeline};
use std::sync::Arc;

/// A validated program. Immutable; shared by all its pipelines.
#[derive(Debug)]
pub struct Program {
    ir: Arc<ir::Ir>,
}

impl Program {
    /// Loads p4c's BMv2 JSON (versions 2.18 and later).
    pub fn from_json(json: &[u8]) -> Result<Program, LoadError> {
        Ok(Program { ir: Arc::new(load::load(json)?) })
    }
}
