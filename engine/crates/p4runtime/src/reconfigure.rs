// SPDX-License-Identifier: Apache-2.0
//! RECONCILE_AND_COMMIT: a new program takes over the tables, default actions and counters of the old one.

use slotwise_p4::Pipeline;

use crate::error::ApiError;
use crate::p4info::{P4Info, Table};
use crate::read::Notes;
use crate::table::EntryId;

/// Refuses changes that state cannot survive.
pub(crate) fn check(from: &P4Info, to: &P4Info) -> Result<(), ApiError> {
    if from.has_registers {
        return Err(ApiError::invalid(
            "the program in force has registers; their contents cannot be carried over",
        ));
    }
    for old in from.tables.values() {
        let same_key = |new: &Table| {
            let shape = |table: &Table| -> Vec<_> {
                let field =
                    |field: &crate::p4info::MatchField| (field.field.name.clone(), field.field.width, field.kind);
                table.fields.iter().map(field).collect()
            };
            new.name == old.name && shape(new) == shape(old)
        };
        if !to.tables.values().any(same_key) {
            return Err(ApiError::invalid(format!(
                "the new program has no table {} with the same key",
                old.name
            )));
        }
    }
    Ok(())
}

/// Notes under the new program's table ids.
pub(crate) fn carry_notes(from: &P4Info, to: &P4Info, notes: &Notes) -> Notes {
    let new_id = |old: u32| {
        let name = &from.tables.get(&old)?.name;
        to.tables
            .values()
            .find(|table| table.name == *name)
            .map(|table| table.id)
    };
    notes
        .iter()
        .filter_map(|(id, note)| {
            let table = new_id(id.table())?;
            let id = match id {
                EntryId::Default { .. } => EntryId::Default { table },
                EntryId::Match { key, priority, .. } => EntryId::Match {
                    table,
                    key: key.clone(),
                    priority: *priority,
                },
            };
            Some((id, note.clone()))
        })
        .collect()
}

/// Fills a fresh pipeline with the state of the one in force, which stays as it is.
pub(crate) fn copy_state(from: &P4Info, old: &Pipeline, to: &P4Info, new: &mut Pipeline) -> Result<(), ApiError> {
    for table in from.tables.values() {
        let at_table = |error| ApiError::from(error).at(format_args!("table {}", table.name));
        if !table.has_const_default {
            let action = old.table_default(&table.name).map_err(at_table)?;
            new.table_set_default(&table.name, action)
                .map_err(preserved)
                .map_err(|error| error.at(&table.name))?;
        }
        if table.is_const {
            continue;
        }
        for initial in new.table_entries(&table.name).map_err(at_table)? {
            new.table_delete(&table.name, &initial)
                .map_err(preserved)
                .map_err(|error| error.at(&table.name))?;
        }
        for entry in old.table_entries(&table.name).map_err(at_table)? {
            new.table_insert(&table.name, entry)
                .map_err(preserved)
                .map_err(|error| error.at(&table.name))?;
        }
    }
    for counter in to.counters.values() {
        let Some(source) = from.counters.values().find(|source| source.name == counter.name) else {
            continue;
        };
        for index in 0..counter.size.min(source.size) {
            let (packets, bytes) = old.counter_read(&counter.name, index)?;
            new.counter_write(&counter.name, index, packets, bytes)?;
        }
    }
    Ok(())
}

fn preserved(error: slotwise_p4::ConfigError) -> ApiError {
    ApiError::invalid(format!("state cannot be carried over: {error}"))
}
