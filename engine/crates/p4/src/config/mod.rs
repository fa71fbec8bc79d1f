// SPDX-License-Identifier: Apache-2.0
//! What a controller reads and writes.

mod entry;
mod profiles;
mod replication;
mod stateful;
pub(crate) mod tables;

use crate::api::ConfigError;
use crate::ir::{Ir, Table};

pub use entry::{EntryCursor, EntryState, EntryTarget};
pub use profiles::{Indirect, MAX_GROUP_SIZE, WeightedMember};
pub use stateful::{DefaultResources, DirectResources, RegisterCell};

/// What a place in a map takes, whose leaves are half empty, with the allocation of its value.
const PLACE_BYTES: u64 = 128;

type Result<T> = std::result::Result<T, ConfigError>;

fn invalid<T>(what: impl Into<String>) -> Result<T> {
    Err(ConfigError::Invalid(what.into()))
}

fn not_found<T>(what: impl Into<String>) -> Result<T> {
    Err(ConfigError::NotFound(what.into()))
}

/// Words of the arguments of that of a table's actions which has most.
fn arg_words(ir: &Ir, table: &Table) -> usize {
    let words = table.actions.iter().map(|&action| ir.actions[action].arg_words);
    words.max().unwrap_or(0)
}

/// The position of the object with this name.
fn named<T>(objects: &[T], name: impl Fn(&T) -> &str, kind: &str, wanted: &str) -> Result<usize> {
    match objects.iter().position(|object| name(object) == wanted) {
        Some(position) => Ok(position),
        None => not_found(format!("no {kind} `{wanted}`")),
    }
}

/// Checks an index into an array.
fn in_range(index: usize, size: usize, name: &str) -> Result<()> {
    if index < size {
        Ok(())
    } else {
        invalid(format!("`{name}` has {size} cells; {index} is out of range"))
    }
}
