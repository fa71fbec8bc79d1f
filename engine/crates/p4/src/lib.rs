//! P4 pipelines from p4c's BMv2 JSON: load, configure, run packets. Pure: no sockets, clocks, threads or entropy.
//!
//! ```text
//! JSON bytes -> Program::from_json -> Arc<Program> -> Pipeline::new -> process(now, port, frame) -> outputs
//! ```

use std::sync::Arc;

/// A port of the switch, 0..=511 as in BMv2.
pub type Port = u16;

/// Where and why a BMv2 JSON could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct LoadError {
    /// JSON pointer to the place, e.g. `/parsers/0/parse_states/3/transitions`.
    pub path: String,
    /// What is wrong and what would be right.
    pub reason: String,
}

/// A validated program. Immutable; shared by all its pipelines.
pub struct Program {}

impl Program {
    /// Loads p4c's BMv2 JSON (versions 2.18 and later).
    pub fn from_json(_json: &[u8]) -> Result<Program, LoadError> {
        todo!()
    }
}

/// Unit of `standard_metadata`'s and intrinsic timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampUnit {
    /// As BMv2.
    Microseconds,
    /// Ours.
    Nanoseconds,
}

/// What a pipeline needs to know beyond its program.
#[derive(Debug, Clone)]
pub struct PipelineConfig {
    /// Port whose packets carry controller headers.
    pub cpu_port: Port,
    /// `mark_to_drop` sends here (BMv2: 511).
    pub drop_port: Port,
    /// Unit of the program's timestamps.
    pub timestamp_unit: TimestampUnit,
    /// Seed of `random()`.
    pub seed: u64,
}

/// An arbitrary-width unsigned value, big-endian, without a fixed length (leading zeros allowed).
pub type Bits = Vec<u8>;

/// One field of a match key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyField {
    /// exact
    Exact(Bits),
    /// lpm
    Lpm { value: Bits, prefix_len: u32 },
    /// ternary (an absent field is `mask` all zero)
    Ternary { value: Bits, mask: Bits },
    /// range, both ends included
    Range { low: Bits, high: Bits },
    /// optional
    Optional(Option<Bits>),
}

/// An action by its fully qualified P4 name, with its arguments in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCall {
    /// Name as in P4Info's preamble, e.g. `EdgeIngress.set_voq`.
    pub name: String,
    /// One value a parameter.
    pub args: Vec<Bits>,
}

/// A table entry. Tables are named as in P4Info's preamble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// One field a key component, in order.
    pub key: Vec<KeyField>,
    /// Larger wins (P4Runtime); 0 where the table needs none.
    pub priority: i32,
    /// What to run.
    pub action: ActionCall,
}

/// Why a change was refused; nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such table, action, counter ...
    #[error("{0}")]
    NotFound(String),
    /// Already there.
    #[error("{0}")]
    AlreadyExists(String),
    /// Malformed key, width, argument, index.
    #[error("{0}")]
    Invalid(String),
    /// Table full.
    #[error("{0}")]
    Exhausted(String),
    /// Const table or entry, not allowed action.
    #[error("{0}")]
    Denied(String),
}

/// Receives what a packet became.
pub trait Output {
    /// A frame leaves by `port`.
    fn packet(&mut self, port: Port, frame: &[u8]);
    /// A digest (P4Runtime name, fields in order).
    fn digest(&mut self, _name: &str, _fields: &[Bits]) {}
}

/// One switch: a program with its tables, registers, counters.
pub struct Pipeline {}

impl Pipeline {
    /// A fresh pipeline: const entries and defaults in place, registers zero.
    pub fn new(_program: Arc<Program>, _config: PipelineConfig) -> Pipeline {
        todo!()
    }
    /// Runs one packet to its end: parser, ingress, replication, egress, deparser, with clones, resubmits,
    /// recirculations. `now_ns` must not decrease.
    pub fn process(&mut self, _now_ns: u64, _port: Port, _frame: &[u8], _out: &mut dyn Output) {
        todo!()
    }
    /// Adds an entry.
    pub fn table_insert(&mut self, _table: &str, _entry: TableEntry) -> Result<(), ConfigError> {
        todo!()
    }
    /// Changes the action of the entry with this key and priority.
    pub fn table_modify(&mut self, _table: &str, _entry: TableEntry) -> Result<(), ConfigError> {
        todo!()
    }
    /// Removes the entry with this key and priority (its action is ignored).
    pub fn table_delete(&mut self, _table: &str, _entry: &TableEntry) -> Result<(), ConfigError> {
        todo!()
    }
    /// All entries, in order of insertion, const entries included.
    pub fn table_entries(&self, _table: &str) -> Result<Vec<TableEntry>, ConfigError> {
        todo!()
    }
    /// Sets the default action; `None` restores the program's.
    pub fn table_set_default(&mut self, _table: &str, _action: Option<ActionCall>) -> Result<(), ConfigError> {
        todo!()
    }
    /// The default action in force.
    pub fn table_default(&self, _table: &str) -> Result<Option<ActionCall>, ConfigError> {
        todo!()
    }
    /// (packets, bytes) of an indirect counter's cell.
    pub fn counter_read(&self, _counter: &str, _index: usize) -> Result<(u64, u64), ConfigError> {
        todo!()
    }
    /// Sets an indirect counter's cell.
    pub fn counter_write(&mut self, _counter: &str, _index: usize, _packets: u64, _bytes: u64) -> Result<(), ConfigError> {
        todo!()
    }
    /// (packets, bytes) of an entry's direct counter.
    pub fn direct_counter_read(&self, _table: &str, _entry: &TableEntry) -> Result<(u64, u64), ConfigError> {
        todo!()
    }
}
