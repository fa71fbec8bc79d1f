// SPDX-License-Identifier: Apache-2.0
//! Reads of table entries, default entries, direct counters and direct meters.

use slotwise_p4::{
    ActionCall, ConfigError, DefaultResources, EntryCursor, EntryState, EntryTarget, Indirect, KeyField, MeterConfig,
    Pipeline,
};

use super::direct::Count;
use super::query::entry_id;
use super::{Books, EntryId, Note, action, canonical_key, key, meter};
use crate::error::ApiError;
use crate::p4info::{P4Info, Table};
use crate::proto::p4::v1::{self, entity::Entity, table_action};

/// Which entries of one table, and what of them.
#[derive(Debug)]
pub(crate) struct EntryQuery {
    table: u32,
    wanted: Wanted,
    /// The default entry, and no other.
    of_default: bool,
    filter: Filter,
    note: Note,
    /// Where to read on; `None`: there is no more.
    cursor: Option<EntryCursor>,
    has_found: bool,
}

/// Where keys have priorities, an entry is found by its key within microseconds in tables of up to so many entries. Larger
/// ones are read through, in slices.
const MAX_SEARCHED: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Entry { count: bool, meter: bool, last_hit: bool },
    Direct(DirectKind),
}

/// A direct resource read alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectKind {
    Counter,
    Meter,
}

#[derive(Debug, Default)]
struct Filter {
    key: Option<Vec<KeyField>>,
    priority: i32,
    action: Option<String>,
}

/// What the pipeline gave.
#[derive(Debug)]
pub(crate) enum FoundEntries {
    Entries(Vec<EntryState>),
    Default(Option<ActionCall>, DefaultResources),
}

impl Filter {
    fn takes(&self, entry: &EntryState) -> bool {
        let has_action = |wanted: &String| matches!(&entry.target, EntryTarget::Action(call) if call.name == *wanted);
        (self.priority == 0 || entry.priority == self.priority)
            && self.action.as_ref().is_none_or(has_action)
            && self.key.as_ref().is_none_or(|key| *key == entry.key)
    }
}

/// Reads of table entries.
pub(super) fn select(info: &P4Info, entry: &v1::TableEntry) -> Result<Vec<EntryQuery>, ApiError> {
    let query = |table: &Table, filter: Filter| EntryQuery {
        table: table.id,
        wanted: Wanted::Entry {
            count: entry.counter_data.is_some() && table.has_direct_counter,
            meter: entry.meter_config.is_some() && table.direct_meter.is_some(),
            last_hit: entry.time_since_last_hit.is_some() && table.has_idle_timeout,
        },
        of_default: entry.is_default_action,
        filter,
        note: Note::of(entry),
        cursor: Some(EntryCursor::default()),
        has_found: false,
    };
    if entry.table_id == 0 {
        if !entry.r#match.is_empty() || entry.action.is_some() || entry.priority != 0 {
            return Err(ApiError::invalid(
                "read of all tables (table_id 0); expected no match, action or priority",
            ));
        }
        return Ok(info
            .tables
            .values()
            .map(|table| query(table, Filter::default()))
            .collect());
    }
    let table = info.table(entry.table_id)?;
    let at_table = |error: ApiError| error.at(format_args!("table {}", table.name));
    meter::refuse_counters(entry.meter_counter_data.as_ref()).map_err(at_table)?;
    if entry.time_since_last_hit.is_some() && (entry.is_default_action || !table.has_idle_timeout) {
        return Err(at_table(ApiError::invalid("no idle timeouts")));
    }
    Ok(vec![query(table, filter(info, table, entry).map_err(at_table)?)])
}

/// Reads of direct resources without their entries.
pub(super) fn select_direct(
    info: &P4Info,
    entry: Option<&v1::TableEntry>,
    kind: DirectKind,
) -> Result<Vec<EntryQuery>, ApiError> {
    let has_it = |table: &Table| match kind {
        DirectKind::Counter => table.has_direct_counter,
        DirectKind::Meter => table.direct_meter.is_some(),
    };
    let query = |table: &Table, filter: Filter| EntryQuery {
        table: table.id,
        wanted: Wanted::Direct(kind),
        of_default: entry.is_some_and(|entry| entry.is_default_action),
        filter,
        note: Note::default(),
        cursor: Some(EntryCursor::default()),
        has_found: false,
    };
    let Some(entry) = entry.filter(|entry| entry.table_id != 0) else {
        let tables = info.tables.values().filter(|table| has_it(table));
        return Ok(tables.map(|table| query(table, Filter::default())).collect());
    };
    let table = info.table(entry.table_id)?;
    let at_table = |error: ApiError| error.at(format_args!("table {}", table.name));
    if !has_it(table) {
        return Err(at_table(ApiError::invalid("the table has no such direct resource")));
    }
    Ok(vec![query(table, filter(info, table, entry).map_err(at_table)?)])
}

fn filter(info: &P4Info, table: &Table, entry: &v1::TableEntry) -> Result<Filter, ApiError> {
    let key = if entry.r#match.is_empty() {
        None
    } else {
        Some(key::parse_key(&table.fields, &entry.r#match)?)
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

impl EntryQuery {
    /// The next slice.
    pub fn run(&mut self, info: &P4Info, pipeline: &Pipeline) -> Result<FoundEntries, ApiError> {
        let table = &info.tables[&self.table];
        let Some(cursor) = self.cursor.take() else {
            return Ok(FoundEntries::Entries(Vec::new()));
        };
        if self.of_default {
            return Ok(FoundEntries::Default(
                pipeline.table_default(&table.name)?,
                pipeline.default_resources(&table.name)?,
            ));
        }
        // With a priority, or where there is none, the key is the whole name of one entry.
        if let Some(key) = &self.filter.key
            && (table.needs_priority == (self.filter.priority > 0))
            && (!table.needs_priority || pipeline.table_len(&table.name)? <= MAX_SEARCHED)
        {
            match pipeline.entry_state(&table.name, key, self.filter.priority) {
                Ok(state) => return Ok(FoundEntries::Entries(vec![state])),
                Err(ConfigError::NotFound(_)) => return Ok(FoundEntries::Entries(Vec::new())),
                Err(_) => {}
            }
        }
        let (states, next) = pipeline.entry_page(&table.name, cursor)?;
        self.cursor = next;
        Ok(FoundEntries::Entries(states))
    }

    /// Turns a slice into entities. True if it was the last one.
    pub fn encode(
        &mut self,
        info: &P4Info,
        books: &Books,
        found: FoundEntries,
        give: &mut dyn FnMut(Entity),
    ) -> Result<bool, ApiError> {
        let table = &info.tables[&self.table];
        match found {
            FoundEntries::Default(call, resources) => {
                let id = EntryId::Default { table: self.table };
                let DefaultResources { packets, bytes, meter } = resources;
                let direct = Direct::new(Count { packets, bytes }, meter);
                let action = call
                    .and_then(|call| action::encode(info, &call))
                    .map(table_action::Type::Action);
                let shell = || {
                    let mut entry = self.start(table, books, &id)?;
                    entry.action = action.map(|action| v1::TableAction { r#type: Some(action) });
                    entry.is_const = table.has_const_default;
                    Some(entry)
                };
                self.encode_entity(table, &id, direct, shell).into_iter().for_each(give);
            }
            FoundEntries::Entries(states) => {
                for mut state in states {
                    state.key = canonical_key(state.key);
                    if !self.filter.takes(&state) {
                        continue;
                    }
                    self.has_found = true;
                    if let Some(entity) = self.encode_entry(info, table, books, state) {
                        give(entity);
                    }
                }
                let is_over = self.cursor.is_none();
                let is_of_one = self.filter.key.is_some() && matches!(self.wanted, Wanted::Direct(_));
                if is_over && is_of_one && !self.has_found {
                    return Err(ApiError::not_found(format!("table {} has no such entry", table.name)));
                }
            }
        }
        Ok(self.cursor.is_none())
    }

    /// Key and note; `None` if the note filter leaves the entry out.
    fn start(&self, table: &Table, books: &Books, id: &EntryId) -> Option<v1::TableEntry> {
        let note = books.notes.get(id).cloned().unwrap_or_default();
        if !self.note.takes(&note) {
            return None;
        }
        let mut entry = id.encode(table);
        note.put(&mut entry);
        Some(entry)
    }

    fn encode_entry(&self, info: &P4Info, table: &Table, books: &Books, state: EntryState) -> Option<Entity> {
        let id = entry_id(self.table, &state);
        let EntryState {
            packets,
            bytes,
            meter,
            target,
            idle,
            ..
        } = state;
        let shell = || {
            let mut entry = self.start(table, books, &id)?;
            let action = match target {
                EntryTarget::Action(call) => action::encode(info, &call).map(table_action::Type::Action),
                EntryTarget::Indirect(Indirect::Member(id)) => Some(table_action::Type::ActionProfileMemberId(id)),
                EntryTarget::Indirect(Indirect::Group(group)) => Some(match books.one_shots.get(&id) {
                    Some(one_shot) => table_action::Type::ActionProfileActionSet(one_shot.encode()),
                    None => table_action::Type::ActionProfileGroupId(group),
                }),
            };
            entry.action = action.map(|action| v1::TableAction { r#type: Some(action) });
            entry.is_const = table.is_const;
            if matches!(self.wanted, Wanted::Entry { last_hit: true, .. }) {
                let elapsed_ns = i64::try_from(idle.ns()).unwrap_or(i64::MAX);
                entry.time_since_last_hit = Some(v1::table_entry::IdleTimeout { elapsed_ns });
            }
            Some(entry)
        };
        self.encode_entity(table, &id, Direct::new(Count { packets, bytes }, meter), shell)
    }

    /// The entry that `shell` makes with what is wanted of its direct resources, or one of these alone.
    fn encode_entity(
        &self,
        table: &Table,
        id: &EntryId,
        direct: Direct,
        shell: impl FnOnce() -> Option<v1::TableEntry>,
    ) -> Option<Entity> {
        let Direct { count, rates } = direct;
        let table_entry = || Some(id.encode(table));
        Some(match self.wanted {
            Wanted::Direct(DirectKind::Meter) => Entity::DirectMeterEntry(v1::DirectMeterEntry {
                table_entry: table_entry(),
                config: rates,
                counter_data: None,
            }),
            Wanted::Direct(DirectKind::Counter) => Entity::DirectCounterEntry(v1::DirectCounterEntry {
                table_entry: table_entry(),
                data: Some(count),
            }),
            Wanted::Entry {
                count: with_count,
                meter: with_meter,
                ..
            } => {
                let mut entry = shell()?;
                entry.counter_data = with_count.then_some(count);
                entry.meter_config = rates.filter(|_| with_meter);
                Entity::TableEntry(entry)
            }
        })
    }
}

/// Direct resources of an entry, for an answer.
struct Direct {
    count: v1::CounterData,
    rates: Option<v1::MeterConfig>,
}

impl Direct {
    fn new(count: Count, config: Option<MeterConfig>) -> Direct {
        Direct {
            count: count.encode(),
            rates: config.as_ref().map(meter::encode),
        }
    }
}
