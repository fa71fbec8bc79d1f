// SPDX-License-Identifier: Apache-2.0
//! What callers hand to a pipeline and get from it.

/// A port of the switch, 0..=511 as in BMv2.
pub type Port = u16;

/// Where and why a BMv2 JSON could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It is no program that can be run.
    #[error("{path}: {reason}")]
    Invalid {
        /// JSON pointer to the place, e.g. `/parsers/0/parse_states/3/transitions`; empty for the whole file.
        path: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// It would take more memory than [`crate::Limits`] allow.
    #[error(
        "{path}: program too large at this point; expected at most {limit_bytes} bytes of memory, got {needed_bytes}"
    )]
    TooLarge {
        /// JSON pointer to what is one too many; empty for the whole file.
        path: String,
        /// Bytes that all would take up to this place, it included.
        needed_bytes: u64,
        /// As the limits say.
        limit_bytes: u64,
    },
    /// Together with what there is it would take more than a [`crate::Memory`] has.
    #[error(transparent)]
    OutOfMemory(crate::OutOfMemory),
}

impl LoadError {
    /// JSON pointer to the place; empty for the whole file.
    pub fn path(&self) -> &str {
        match self {
            LoadError::Invalid { path, .. } | LoadError::TooLarge { path, .. } => path,
            LoadError::OutOfMemory(_) => "",
        }
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

/// What runs a pipeline's packets. Both do the same, bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Executor {
    /// Machine code, made when the program's first pipeline is. Where the host or the program cannot be compiled
    /// for (see [`crate::Pipeline::executor`]), the interpreter takes its place.
    #[default]
    Jit,
    /// Works through the program. Runs on every host, and starts at once.
    Interpreter,
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
    /// What runs the packets, if it can: see [`crate::Pipeline::executor`].
    pub executor: Executor,
}

/// An arbitrary-width unsigned value, big-endian, without a fixed length (leading zeros allowed).
pub type Bits = Vec<u8>;

/// One field of a match key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyField {
    /// The field equals the value.
    Exact(Bits),
    /// The field's leading `prefix_len` bits equal the value's; the value's other bits are zero.
    Lpm {
        /// Prefix, in the field's full width.
        value: Bits,
        /// 0 ..= the field's width.
        prefix_len: u32,
    },
    /// `field & mask == value` (an absent field is `mask` all zero); value bits outside the mask are zero.
    Ternary {
        /// Wanted bits.
        value: Bits,
        /// Which bits are compared.
        mask: Bits,
    },
    /// Both ends included.
    Range {
        /// Smallest.
        low: Bits,
        /// Largest.
        high: Bits,
    },
    /// Exact, or anything.
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
    /// Larger wins (P4Runtime): positive in tables with ternary, optional or range keys, 0 in others.
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
    /// No room in a table.
    #[error("table `{table}` is full (max_size {max_size} in the program's JSON)")]
    TableFull {
        /// Its name.
        table: String,
        /// Entries that the program allows.
        max_size: usize,
    },
    /// No room in something else, or no memory left.
    #[error("{0}")]
    Exhausted(String),
    /// Const table or entry, not allowed action.
    #[error("{0}")]
    Denied(String),
}

impl From<crate::OutOfMemory> for ConfigError {
    fn from(error: crate::OutOfMemory) -> ConfigError {
        ConfigError::Exhausted(error.to_string())
    }
}

/// A copy of a packet that multicast and cloning make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    /// Where it goes.
    pub port: Port,
    /// Its `egress_rid`.
    pub instance: u16,
}

/// Receives what a packet became.
pub trait Output {
    /// A frame leaves by `port`.
    fn packet(&mut self, port: Port, frame: &[u8]);
    /// The same. Who keeps frames may take this one's memory, and leave other memory for the next one.
    fn give_packet(&mut self, port: Port, frame: &mut Vec<u8>) {
        self.packet(port, frame);
    }
    /// A digest (P4Runtime name, fields in order).
    fn digest(&mut self, _name: &str, _fields: &[Bits]) {}
    /// What the program says with `log_msg`.
    fn log(&mut self, _message: &str) {}
}
