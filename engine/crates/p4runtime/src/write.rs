// SPDX-License-Identifier: Apache-2.0
//! Write: each update is checked against P4Info and becomes one operation on the engine's pipeline.

use std::ops::Range;

use slotwise_p4::{ActionCall, ConfigError, KeyField, Pipeline, TableEntry};

use crate::error::ApiError;
use crate::p4info::{P4Info, Table};
use crate::proto::p4::v1::{self, entity::Entity, update};
use crate::table::{self, EntryId};

/// What P4Runtime wants kept with an entry and the pipeline does not need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub controller_metadata: u64,
    pub metadata: Vec<u8>,
}

impl Note {
    /// The note in an entry that a client sent.
    #[expect(
        deprecated,
        reason = "clients of P4Runtime 1.3 and before still use controller_metadata"
    )]
    pub fn of(entry: &v1::TableEntry) -> Note {
        Note {
            controller_metadata: entry.controller_metadata,
            metadata: entry.metadata.clone(),
        }
    }

    /// Puts the note into an entry for a client.
    #[expect(
        deprecated,
        reason = "clients of P4Runtime 1.3 and before still use controller_metadata"
    )]
    pub fn put(self, entry: &mut v1::TableEntry) {
        entry.controller_metadata = self.controller_metadata;
        entry.metadata = self.metadata;
    }

    /// Whether a read with this note as filter takes an entry with `other`; default values take all.
    pub fn takes(&self, other: &Note) -> bool {
        (self.controller_metadata == 0 || self.controller_metadata == other.controller_metadata)
            && (self.metadata.is_empty() || self.metadata == other.metadata)
    }
}

/// One update, checked.
#[derive(Debug)]
pub(crate) struct Planned {
    pub operation: Operation,
    /// Once the operation succeeded, the entry's note becomes this.
    pub note: Option<(EntryId, Note)>,
}

/// What the pipeline is asked to do.
#[derive(Debug)]
pub(crate) enum Operation {
    Insert {
        table: String,
        entry: TableEntry,
        count: Option<Count>,
    },
    Modify {
        table: String,
        entry: TableEntry,
        count: Option<Count>,
    },
    Delete {
        table: String,
        entry: TableEntry,
    },
    /// Leaves the action as it is; without a count, it only says whether the entry is there.
    SetDirectCounter {
        table: String,
        key: Vec<KeyField>,
        priority: i32,
        count: Option<Count>,
    },
    SetDefault {
        table: String,
        action: Option<ActionCall>,
    },
    SetCounter {
        counter: String,
        cells: Range<usize>,
        count: Count,
    },
    Nothing,
}

/// What a counter is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    fn parse(data: &v1::CounterData) -> Result<Count, ApiError> {
        let count = |value: i64| {
            u64::try_from(value).map_err(|_| ApiError::invalid(format!("counter value {value} is negative")))
        };
        Ok(Count {
            packets: count(data.packet_count)?,
            bytes: count(data.byte_count)?,
        })
    }

    fn write(self, pipeline: &mut Pipeline, table: &str, entry: &TableEntry) -> Result<(), ConfigError> {
        pipeline.direct_counter_write(table, entry, self.packets, self.bytes)
    }
}

impl Operation {
    /// Does it, entirely or not at all.
    pub fn apply(self, pipeline: &mut Pipeline) -> Result<(), ConfigError> {
        match self {
            Operation::Insert { table, entry, count } => {
                let counted = count.map(|count| (entry.clone(), count));
                pipeline.table_insert(&table, entry)?;
                counted.map_or(Ok(()), |(entry, count)| count.write(pipeline, &table, &entry))
            }
            Operation::Modify { table, entry, count } => {
                let counted = count.map(|count| (entry.clone(), count));
                pipeline.table_modify(&table, entry)?;
                counted.map_or(Ok(()), |(entry, count)| count.write(pipeline, &table, &entry))
            }
            Operation::Delete { table, entry } => pipeline.table_delete(&table, &entry),
            Operation::SetDirectCounter {
                table,
                key,
                priority,
                count,
            } => {
                let mut entries = pipeline.table_entries(&table)?.into_iter();
                let found =
                    entries.find(|entry| entry.priority == priority && table::canonical_key(entry.key.clone()) == key);
                let found = found.ok_or_else(|| ConfigError::NotFound(format!("table {table} has no such entry")))?;
                count.map_or(Ok(()), |count| count.write(pipeline, &table, &found))
            }
            Operation::SetDefault { table, action } => pipeline.table_set_default(&table, action),
            Operation::SetCounter {
                counter,
                mut cells,
                count: Count { packets, bytes },
            } => cells.try_for_each(|index| pipeline.counter_write(&counter, index, packets, bytes)),
            Operation::Nothing => Ok(()),
        }
    }
}

/// Checks one update.
pub(crate) fn plan(info: &P4Info, update: &v1::Update) -> Result<Planned, ApiError> {
    let kind = update.r#type();
    if kind == update::Type::Unspecified {
        return Err(ApiError::invalid("update type is not set to INSERT, MODIFY or DELETE"));
    }
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    match entity.ok_or_else(|| ApiError::invalid("update without an entity"))? {
        Entity::TableEntry(entry) => {
            let table = info.table(entry.table_id)?;
            plan_entry(info, table, kind, entry).map_err(|error| error.at(format_args!("table {}", table.name)))
        }
        Entity::CounterEntry(entry) => plan_counter(info, kind, entry),
        Entity::DirectCounterEntry(entry) => plan_direct_counter(info, kind, entry),
        other => Err(ApiError::unimplemented(format!(
            "{} entities are not served",
            entity_kind(other)
        ))),
    }
}

fn plan_entry(info: &P4Info, table: &Table, kind: update::Type, entry: &v1::TableEntry) -> Result<Planned, ApiError> {
    if entry.is_const {
        return Err(ApiError::invalid("is_const is for answers; it cannot be written"));
    }
    let id = EntryId::parse(table, entry)?;
    if kind == update::Type::Delete {
        return plan_delete(table, id);
    }
    let is_default = entry.is_default_action;
    let action = table::parse_action(info, table, entry.action.as_ref(), is_default)?;
    let count = direct_resources(table, entry)?;
    let note = Note::of(entry);
    let name = table.name.clone();
    let (key, priority) = match &id {
        EntryId::Default { .. } => {
            if kind == update::Type::Insert {
                return Err(ApiError::invalid("the default entry is always there: MODIFY it"));
            }
            if table.has_const_default {
                return Err(ApiError::denied("the default action is const"));
            }
            if count.is_some() {
                return Err(ApiError::unimplemented(
                    "the default entry's direct counter is not served",
                ));
            }
            let note = if action.is_some() { note } else { Note::default() };
            return Ok(Planned {
                operation: Operation::SetDefault { table: name, action },
                note: Some((id, note)),
            });
        }
        EntryId::Match { key, priority, .. } => (key.clone(), *priority),
    };
    if table.is_const && (kind == update::Type::Insert || action.is_some()) {
        return Err(ApiError::denied("the table's entries are const"));
    }
    let operation = match (kind, action) {
        (update::Type::Insert, None) => return Err(ApiError::invalid("an entry to insert needs an action")),
        (update::Type::Insert, Some(action)) => Operation::Insert {
            table: name,
            entry: TableEntry { key, priority, action },
            count,
        },
        (_, Some(action)) => Operation::Modify {
            table: name,
            entry: TableEntry { key, priority, action },
            count,
        },
        (_, None) => Operation::SetDirectCounter {
            table: name,
            key,
            priority,
            count,
        },
    };
    Ok(Planned {
        operation,
        note: Some((id, note)),
    })
}

fn plan_delete(table: &Table, id: EntryId) -> Result<Planned, ApiError> {
    let EntryId::Match { key, priority, .. } = &id else {
        return Err(ApiError::invalid(
            "the default entry cannot be deleted: MODIFY it without an action to reset it",
        ));
    };
    if table.is_const {
        return Err(ApiError::denied("the table's entries are const"));
    }
    // The pipeline ignores the action of an entry that it deletes.
    let action = ActionCall {
        name: String::new(),
        args: Vec::new(),
    };
    let entry = TableEntry {
        key: key.clone(),
        priority: *priority,
        action,
    };
    Ok(Planned {
        operation: Operation::Delete {
            table: table.name.clone(),
            entry,
        },
        note: Some((id, Note::default())),
    })
}

/// The direct counter's new value. What the table does not have is INVALID_ARGUMENT, what is not served UNIMPLEMENTED.
fn direct_resources(table: &Table, entry: &v1::TableEntry) -> Result<Option<Count>, ApiError> {
    let refuse = |what: &str, table_has_it: bool| {
        Err(if table_has_it {
            ApiError::unimplemented(format!("{what}s are not served"))
        } else {
            ApiError::invalid(format!("the table has no {what}"))
        })
    };
    if entry.meter_config.is_some() || entry.meter_counter_data.is_some() {
        return refuse("direct meter", table.has_direct_meter);
    }
    if entry.idle_timeout_ns != 0 {
        return refuse("idle timeout", table.has_idle_timeout);
    }
    match &entry.counter_data {
        Some(_) if !table.has_direct_counter => refuse("direct counter", false),
        Some(data) => Count::parse(data).map(Some),
        None => Ok(None),
    }
}

fn plan_counter(info: &P4Info, kind: update::Type, entry: &v1::CounterEntry) -> Result<Planned, ApiError> {
    let counter = info.counter(entry.counter_id)?;
    let cells =
        counter_cells(counter.size, entry.index).map_err(|error| error.at(format_args!("counter {}", counter.name)))?;
    if kind != update::Type::Modify {
        return Err(ApiError::invalid("a counter's cells are always there: MODIFY them"));
    }
    let operation = match &entry.data {
        None => Operation::Nothing,
        Some(data) => {
            let count = Count::parse(data).map_err(|error| error.at(format_args!("counter {}", counter.name)))?;
            Operation::SetCounter {
                counter: counter.name.clone(),
                cells,
                count,
            }
        }
    };
    Ok(Planned { operation, note: None })
}

/// The cells that an index means: one, or all if it is unset.
pub(crate) fn counter_cells(size: usize, index: Option<v1::Index>) -> Result<Range<usize>, ApiError> {
    let Some(v1::Index { index }) = index else {
        return Ok(0..size);
    };
    match usize::try_from(index) {
        Err(_) => Err(ApiError::invalid(format!("index {index} is negative"))),
        Ok(index) if index >= size => Err(ApiError::out_of_range(format!("index {index} is not below {size}"))),
        Ok(index) => Ok(index..index + 1),
    }
}

fn plan_direct_counter(info: &P4Info, kind: update::Type, entry: &v1::DirectCounterEntry) -> Result<Planned, ApiError> {
    if kind != update::Type::Modify {
        return Err(ApiError::invalid("a direct counter lives with its entry: MODIFY it"));
    }
    let table_entry = entry
        .table_entry
        .as_ref()
        .ok_or_else(|| ApiError::invalid("direct counter without a table entry"))?;
    let table = info.table(table_entry.table_id)?;
    let at_table = |error: ApiError| error.at(format_args!("table {}", table.name));
    if !table.has_direct_counter {
        return Err(at_table(ApiError::invalid("the table has no direct counter")));
    }
    let id = EntryId::parse(table, table_entry).map_err(at_table)?;
    let count = entry.data.as_ref().map(Count::parse).transpose().map_err(at_table)?;
    let EntryId::Match { key, priority, .. } = id else {
        return Err(at_table(ApiError::unimplemented(
            "the default entry's direct counter is not served",
        )));
    };
    let operation = Operation::SetDirectCounter {
        table: table.name.clone(),
        key,
        priority,
        count,
    };
    Ok(Planned { operation, note: None })
}

/// Name of an entity for messages.
pub(crate) fn entity_kind(entity: &Entity) -> &'static str {
    match entity {
        Entity::ExternEntry(_) => "extern",
        Entity::TableEntry(_) => "table entry",
        Entity::ActionProfileMember(_) | Entity::ActionProfileGroup(_) => "action profile",
        Entity::MeterEntry(_) => "meter",
        Entity::DirectMeterEntry(_) => "direct meter",
        Entity::CounterEntry(_) => "counter",
        Entity::DirectCounterEntry(_) => "direct counter",
        Entity::PacketReplicationEngineEntry(_) => "packet replication",
        Entity::ValueSetEntry(_) => "value set",
        Entity::RegisterEntry(_) => "register",
        Entity::DigestEntry(_) => "digest",
    }
}
