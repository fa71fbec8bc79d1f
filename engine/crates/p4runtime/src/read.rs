// SPDX-License-Identifier: Apache-2.0
//! Read: a request becomes queries on the engine's pipeline, and what they find becomes entities.

use std::collections::BTreeMap;
use std::ops::Range;

use slotwise_p4::{ActionCall, ConfigError, KeyField, Pipeline, TableEntry};

use crate::error::ApiError;
use crate::p4info::{P4Info, Table};
use crate::proto::p4::v1::{self, entity::Entity, table_action};
use crate::table::{self, EntryId};
use crate::write::{Note, counter_cells, entity_kind};

/// Notes of all entries that have one.
pub(crate) type Notes = BTreeMap<EntryId, Note>;

/// One element of a read request, checked.
#[derive(Debug)]
pub(crate) struct Query {
    selections: Vec<Selection>,
    /// Only entries with this note: a default value takes all.
    note: Note,
}

/// What to get from the pipeline.
#[derive(Debug)]
enum Selection {
    Entries {
        table: u32,
        name: String,
        filter: Filter,
        counters: Counters,
    },
    Default {
        table: u32,
        name: String,
    },
    Counter {
        id: u32,
        name: String,
        cells: Range<usize>,
    },
}

/// How direct counters are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counters {
    No,
    WithEntry,
    Alone,
}

#[derive(Debug, Default)]
struct Filter {
    key: Option<Vec<KeyField>>,
    priority: i32,
    action: Option<String>,
}

impl Filter {
    fn takes(&self, entry: &TableEntry) -> bool {
        (self.priority == 0 || entry.priority == self.priority)
            && self.action.as_ref().is_none_or(|action| *action == entry.action.name)
            && self.key.as_ref().is_none_or(|key| *key == entry.key)
    }
}

/// What the pipeline gave.
#[derive(Debug)]
pub(crate) enum Found {
    Entry {
        table: u32,
        entry: TableEntry,
    },
    EntryWithCounter {
        table: u32,
        entry: TableEntry,
        count: (u64, u64),
    },
    DirectCounter {
        table: u32,
        entry: TableEntry,
        count: (u64, u64),
    },
    Default {
        table: u32,
        action: Option<ActionCall>,
    },
    Counter {
        id: u32,
        index: usize,
        count: (u64, u64),
    },
}

impl Query {
    /// Checks one element of a read request.
    pub fn new(info: &P4Info, entity: &v1::Entity) -> Result<Query, ApiError> {
        let entity = entity
            .entity
            .as_ref()
            .ok_or_else(|| ApiError::invalid("read request without an entity"))?;
        let mut note = Note::default();
        let selections = match entity {
            Entity::TableEntry(entry) => {
                note = Note::of(entry);
                select_entries(info, entry)?
            }
            Entity::CounterEntry(entry) => select_counters(info, entry)?,
            Entity::DirectCounterEntry(entry) => select_direct_counters(info, entry.table_entry.as_ref())?,
            // Nothing can have been written to the packet replication engine.
            Entity::PacketReplicationEngineEntry(_) => Vec::new(),
            other if !info.unserved.contains(entity_kind(other)) => Vec::new(),
            other => {
                return Err(ApiError::unimplemented(format!(
                    "{} entities are not served",
                    entity_kind(other)
                )));
            }
        };
        Ok(Query { selections, note })
    }

    /// Asks the pipeline.
    pub fn run(&self, pipeline: &Pipeline) -> Result<Vec<Found>, ConfigError> {
        let mut found = Vec::new();
        for selection in &self.selections {
            selection.run(pipeline, &mut found)?;
        }
        Ok(found)
    }

    /// Turns an answer into an entity; `None` if the note filter leaves it out.
    pub fn encode(&self, info: &P4Info, notes: &Notes, found: Found) -> Option<v1::Entity> {
        let data = |(packets, bytes): (u64, u64)| {
            let clamp = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
            v1::CounterData {
                packet_count: clamp(packets),
                byte_count: clamp(bytes),
            }
        };
        let entity = match found {
            Found::Entry { table, entry } => Entity::TableEntry(self.encode_entry(info, notes, table, entry)?),
            Found::EntryWithCounter { table, entry, count } => {
                let mut entry = self.encode_entry(info, notes, table, entry)?;
                entry.counter_data = Some(data(count));
                Entity::TableEntry(entry)
            }
            Found::DirectCounter { table, entry, count } => {
                let id = EntryId::Match {
                    table,
                    key: entry.key,
                    priority: entry.priority,
                };
                let table_entry = Some(id.encode(&info.tables[&table]));
                Entity::DirectCounterEntry(v1::DirectCounterEntry {
                    table_entry,
                    data: Some(data(count)),
                })
            }
            Found::Default { table, action } => {
                let id = EntryId::Default { table };
                Entity::TableEntry(self.encode_parts(info, notes, id, action.as_ref())?)
            }
            Found::Counter { id, index, count } => Entity::CounterEntry(v1::CounterEntry {
                counter_id: id,
                index: Some(v1::Index { index: index as i64 }),
                data: Some(data(count)),
            }),
        };
        Some(v1::Entity { entity: Some(entity) })
    }

    fn encode_entry(&self, info: &P4Info, notes: &Notes, table: u32, entry: TableEntry) -> Option<v1::TableEntry> {
        let id = EntryId::Match {
            table,
            key: entry.key,
            priority: entry.priority,
        };
        let mut encoded = self.encode_parts(info, notes, id, Some(&entry.action))?;
        encoded.is_const = info.tables[&table].is_const;
        Some(encoded)
    }

    fn encode_parts(
        &self,
        info: &P4Info,
        notes: &Notes,
        id: EntryId,
        action: Option<&ActionCall>,
    ) -> Option<v1::TableEntry> {
        let note = notes.get(&id).cloned().unwrap_or_default();
        if !self.note.takes(&note) {
            return None;
        }
        let mut entry = id.encode(&info.tables[&id.table()]);
        entry.action = action.and_then(|action| table::encode_action(info, action));
        note.put(&mut entry);
        Some(entry)
    }
}

impl Selection {
    fn run(&self, pipeline: &Pipeline, found: &mut Vec<Found>) -> Result<(), ConfigError> {
        match self {
            Selection::Entries {
                table,
                name,
                filter,
                counters,
            } => {
                let table = *table;
                let before = found.len();
                for mut entry in pipeline.table_entries(name)? {
                    entry.key = table::canonical_key(entry.key);
                    if !filter.takes(&entry) {
                        continue;
                    }
                    found.push(match counters {
                        Counters::No => Found::Entry { table, entry },
                        Counters::WithEntry => {
                            let count = pipeline.direct_counter_read(name, &entry)?;
                            Found::EntryWithCounter { table, entry, count }
                        }
                        Counters::Alone => {
                            let count = pipeline.direct_counter_read(name, &entry)?;
                            Found::DirectCounter { table, entry, count }
                        }
                    });
                }
                if *counters == Counters::Alone && filter.key.is_some() && found.len() == before {
                    return Err(ConfigError::NotFound(format!("table {name} has no such entry")));
                }
            }
            Selection::Default { table, name } => {
                found.push(Found::Default {
                    table: *table,
                    action: pipeline.table_default(name)?,
                });
            }
            Selection::Counter { id, name, cells } => {
                for index in cells.clone() {
                    found.push(Found::Counter {
                        id: *id,
                        index,
                        count: pipeline.counter_read(name, index)?,
                    });
                }
            }
        }
        Ok(())
    }
}

fn select_entries(info: &P4Info, entry: &v1::TableEntry) -> Result<Vec<Selection>, ApiError> {
    let select = |table: &Table, filter: Filter| {
        let name = table.name.clone();
        if entry.is_default_action {
            return Selection::Default { table: table.id, name };
        }
        let with_counter = entry.counter_data.is_some() && table.has_direct_counter;
        let counters = if with_counter {
            Counters::WithEntry
        } else {
            Counters::No
        };
        Selection::Entries {
            table: table.id,
            name,
            filter,
            counters,
        }
    };
    if entry.table_id == 0 {
        if !entry.r#match.is_empty() || entry.action.is_some() || entry.priority != 0 {
            return Err(ApiError::invalid(
                "a read of all tables (table_id 0) takes no match, action or priority",
            ));
        }
        return Ok(info
            .tables
            .values()
            .map(|table| select(table, Filter::default()))
            .collect());
    }
    let table = info.table(entry.table_id)?;
    let filter = filter(info, table, entry).map_err(|error| error.at(format_args!("table {}", table.name)))?;
    Ok(vec![select(table, filter)])
}

fn filter(info: &P4Info, table: &Table, entry: &v1::TableEntry) -> Result<Filter, ApiError> {
    let key = if entry.r#match.is_empty() {
        None
    } else {
        Some(table::parse_key(table, &entry.r#match)?)
    };
    if entry.is_default_action && (key.is_some() || entry.priority != 0) {
        return Err(ApiError::invalid(
            "the default entry has neither match fields nor priority",
        ));
    }
    let action = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        None => None,
        Some(table_action::Type::Action(action)) if table.actions.contains_key(&action.action_id) => {
            Some(info.actions[&action.action_id].name.clone())
        }
        Some(_) => {
            return Err(ApiError::invalid(
                "entries are filtered by the id of one of the table's actions",
            ));
        }
    };
    Ok(Filter {
        key,
        priority: entry.priority,
        action,
    })
}

fn select_counters(info: &P4Info, entry: &v1::CounterEntry) -> Result<Vec<Selection>, ApiError> {
    if entry.counter_id == 0 {
        if entry.index.is_some() {
            return Err(ApiError::invalid(
                "a read of all counters (counter_id 0) takes no index",
            ));
        }
        let all = info.counters.values().map(|counter| Selection::Counter {
            id: counter.id,
            name: counter.name.clone(),
            cells: 0..counter.size,
        });
        return Ok(all.collect());
    }
    let counter = info.counter(entry.counter_id)?;
    let cells =
        counter_cells(counter.size, entry.index).map_err(|error| error.at(format_args!("counter {}", counter.name)))?;
    Ok(vec![Selection::Counter {
        id: counter.id,
        name: counter.name.clone(),
        cells,
    }])
}

fn select_direct_counters(info: &P4Info, entry: Option<&v1::TableEntry>) -> Result<Vec<Selection>, ApiError> {
    let select = |table: &Table, filter: Filter| Selection::Entries {
        table: table.id,
        name: table.name.clone(),
        filter,
        counters: Counters::Alone,
    };
    let Some(entry) = entry.filter(|entry| entry.table_id != 0) else {
        let with_counter = info.tables.values().filter(|table| table.has_direct_counter);
        return Ok(with_counter.map(|table| select(table, Filter::default())).collect());
    };
    let table = info.table(entry.table_id)?;
    let at_table = |error: ApiError| error.at(format_args!("table {}", table.name));
    if !table.has_direct_counter {
        return Err(at_table(ApiError::invalid("the table has no direct counter")));
    }
    if entry.is_default_action {
        return Err(at_table(ApiError::unimplemented(
            "the default entry's direct counter is not served",
        )));
    }
    Ok(vec![select(table, filter(info, table, entry).map_err(at_table)?)])
}
