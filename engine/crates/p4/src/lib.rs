// SPDX-License-Identifier: Apache-2.0
//! P4 pipelines from p4c's BMv2 JSON: load, configure, run packets. Pure: no sockets, clocks, threads or entropy.
//!
//! ```text
//! JSON bytes -> Program::from_json -> Arc<Program> -> Pipeline::new -> process(now, port, frame) -> outputs
//! ```
//!
//! The program becomes an intermediate representation (`ir`) in which every index and width has been checked, so that
//! running it cannot fail: `load` makes it, `parser`, `control` and `action` run it, `config` is the controller's side.
//! `jit` makes machine code of it, which runs packets several times as fast: see [`Executor`].
//!
//! `docs/limitations.md` lists where it differs from BMv2's simple_switch; [`Pipeline::set_bmv2_compatible`] chooses
//! BMv2's way where a program may rely on it.

mod action;
mod api;
mod calculation;
mod codec;
mod config;
mod control;
mod expr;
mod hash;
mod ir;
mod jit;
mod jobs;
mod limits;
mod load;
mod meter;
mod parser;
mod pipeline;
mod profile;
mod queueing;
mod stages;
mod state;
mod table;
mod trace;
mod value;
mod work;

pub use api::{
    ActionCall, Bits, ConfigError, Executor, KeyField, LoadError, Output, PipelineConfig, Port, Replica, TableEntry,
    TimestampUnit,
};
pub use config::{
    DefaultResources, DirectResources, EntryCursor, EntryState, EntryTarget, Indirect, MAX_GROUP_SIZE, RegisterCell,
    WeightedMember,
};
pub use limits::{Held, Limits, Memory, OutOfMemory};
pub use meter::MeterConfig;
pub use pipeline::{CloneSession, Pipeline};
pub use queueing::{Queued, Waited};
use std::sync::{Arc, OnceLock};
pub use trace::{Lookup, SourceLocation, TraceEvent};

/// A validated program. Immutable; shared by all its pipelines.
#[derive(Debug)]
pub struct Program {
    ir: Arc<ir::Ir>,
    memory_bytes: u64,
    /// The part that each pipeline takes again.
    pipeline_bytes: u64,
    /// What the program itself takes of the memory in which it was loaded.
    _held: Held,
    /// Machine code, or why there is none; made when it is first asked for.
    code: OnceLock<Result<Arc<jit::Code>, jit::Unsupported>>,
}

impl Program {
    /// Loads p4c's BMv2 JSON (versions 2.7 and later) within the default [`Limits`].
    pub fn from_json(json: &[u8]) -> Result<Program, LoadError> {
        Program::from_json_within(json, &Limits::default())
    }

    /// Loads p4c's BMv2 JSON (versions 2.7 and later). What would take more memory than the limits allow is refused with
    /// [`LoadError::TooLarge`] before it is allocated.
    pub fn from_json_within(json: &[u8], limits: &Limits) -> Result<Program, LoadError> {
        Program::from_json_in(json, limits, &Memory::unlimited())
    }

    /// As [`Program::from_json_within`], with memory that this and other programs share: also refused, with
    /// [`LoadError::OutOfMemory`], is what would take more than is left of it.
    pub fn from_json_in(json: &[u8], limits: &Limits, memory: &Memory) -> Result<Program, LoadError> {
        let (ir, budget) = load::load(json, limits, memory)?;
        let (memory_bytes, pipeline_bytes) = (budget.used(), budget.pipeline());
        let mut held = budget.into_held();
        // A pipeline takes its part when it is made.
        held.shrink(pipeline_bytes);
        Ok(Program {
            ir: Arc::new(ir),
            memory_bytes,
            pipeline_bytes,
            _held: held,
            code: OnceLock::new(),
        })
    }

    /// Most bytes of memory that loading this program and one pipeline of it take, as counted for [`Limits`].
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Most bytes of memory that a further pipeline of this program takes, without what a controller adds.
    pub fn pipeline_bytes(&self) -> u64 {
        self.pipeline_bytes
    }

    /// Widths in bits of the fields of the header type whose fields have these names, in order. `None` if there is no such
    /// type, or several that differ.
    pub fn header_widths(&self, names: &[&str]) -> Option<Vec<u32>> {
        let same_names = |header: &&ir::HeaderType| {
            header
                .fields
                .iter()
                .map(|field| field.name.as_str())
                .eq(names.iter().copied())
        };
        let widths = |header: &ir::HeaderType| -> Vec<u32> { header.fields.iter().map(|field| field.width).collect() };
        let mut found = self.ir.layout.types.iter().filter(same_names).map(widths);
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// Widths in bits of the fields of a table's key, in order. `None` if there is no such table.
    pub fn key_widths(&self, table: &str) -> Option<Vec<u32>> {
        let table = self.ir.tables.iter().find(|found| found.name == table)?;
        Some(table.key.iter().map(|part| part.source.width).collect())
    }

    fn code(&self) -> &Result<Arc<jit::Code>, jit::Unsupported> {
        self.code.get_or_init(|| jit::Code::compile(&self.ir).map(Arc::new))
    }

    /// For differential tests: packets start with arbitrary values in the headers instead of zeros, so what differs then
    /// depends on fields of headers that are not valid, which P4 leaves undefined. What an earlier packet would have left in
    /// temporaries is arbitrary, too; nothing may depend on it.
    #[must_use]
    pub fn with_undefined_headers(mut self, seed: u64) -> Program {
        use rand::{Rng, SeedableRng};
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
        if let Some(ir) = Arc::get_mut(&mut self.ir) {
            let ir::Layout {
                types,
                headers,
                initial,
                reset,
                ..
            } = &mut ir.layout;
            let valid: Vec<_> = headers.iter().map(|header| initial[header.base] != 0).collect();
            for (header, valid) in headers.iter().zip(valid) {
                for field in types[header.header_type]
                    .fields
                    .iter()
                    .filter(|field| !field.variable && field.width > 0)
                {
                    let start = header.base + field.offset;
                    // Metadata is valid from the start, and zero.
                    if valid && reset.iter().any(|words| words.contains(&start)) {
                        continue;
                    }
                    let words = &mut initial[start..start + value::limbs_for(field.width)];
                    words.fill_with(|| random.random());
                    value::truncate(words, field.width);
                    // Small values too: shifts by large ones all give zero.
                    value::shr(words, random.random_range(0..u64::from(field.width)));
                }
            }
        }
        self
    }
}
