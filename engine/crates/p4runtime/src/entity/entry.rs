// SPDX-License-Identifier: Apache-2.0
//! Writes to table entries and default entries.

use slotwise_p4::{ActionCall, ConfigError, EntryState, EntryTarget, Indirect, KeyField, TableEntry};
use slotwise_units::Duration;

use super::direct::{Count, Resources};
use super::one_shot::{self, ActionSet, OneShot};
use super::{Books, EntryId, Operation, State, Undo, action, charge, meter};
use crate::error::ApiError;
use crate::p4info::{P4Info, Table};
use crate::proto::p4::v1::{self, table_action, update};

/// What P4Runtime wants kept with an entry and the pipeline does not need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub controller_metadata: u64,
    pub metadata: Vec<u8>,
    /// 0: never.
    pub idle_timeout: Duration,
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
            idle_timeout: Duration::from_ns(u64::try_from(entry.idle_timeout_ns).unwrap_or(0)),
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
        entry.idle_timeout_ns = i64::try_from(self.idle_timeout.ns()).unwrap_or(i64::MAX);
    }

    /// Whether a read with this note as filter takes an entry with `other`; default values take all.
    pub fn takes(&self, other: &Note) -> bool {
        (self.controller_metadata == 0 || self.controller_metadata == other.controller_metadata)
            && (self.metadata.is_empty() || self.metadata == other.metadata)
    }
}

/// What an entry is to do.
#[derive(Debug)]
pub(super) enum Target {
    Action(ActionCall),
    Indirect(Indirect),
    OneShot(ActionSet),
}

/// The error of an entry that found no place, with P4Info's size of the table where that is another.
fn not_inserted(table: &Table, error: ConfigError) -> ApiError {
    match error {
        ConfigError::TableFull { max_size, .. } if i64::try_from(max_size) != Ok(table.size) => {
            let Table { name, size, .. } = table;
            ApiError::exhausted(format!(
                "table `{name}` is full (max_size {max_size} in the program's JSON; P4Info: {size})"
            ))
        }
        error => error.into(),
    }
}

/// The action profile of a table with action sets.
fn profile_of(table: &Table) -> u32 {
    table
        .profile
        .expect("action sets are planned for tables with an action profile")
}

/// Inserts, modifies or deletes an entry with a key.
struct WriteEntry {
    kind: update::Type,
    table: u32,
    key: Vec<KeyField>,
    priority: i32,
    /// `None`: MODIFY leaves it as it is.
    target: Option<Target>,
    resources: Resources,
    /// `None`: MODIFY leaves it as it is.
    note: Option<Note>,
}

impl WriteEntry {
    fn table<'a>(&self, state: &State<'a>) -> &'a Table {
        &state.info.tables[&self.table]
    }

    fn id(&self) -> EntryId {
        EntryId::Match {
            table: self.table,
            key: self.key.clone(),
            priority: self.priority,
        }
    }

    fn insert(&self, state: &mut State<'_>, target: Target) -> Result<(), ApiError> {
        let table = self.table(state);
        match target {
            Target::Action(action) => {
                let entry = TableEntry {
                    key: self.key.clone(),
                    priority: self.priority,
                    action,
                };
                let inserted = state.pipeline.table_insert(&table.name, entry);
                inserted.map_err(|error| not_inserted(table, error))?;
            }
            Target::Indirect(target) => {
                one_shot::refuse_mix(state, table, false)?;
                let inserted = state
                    .pipeline
                    .indirect_insert(&table.name, &self.key, self.priority, target);
                inserted.map_err(|error| not_inserted(table, error))?;
            }
            Target::OneShot(set) => {
                one_shot::refuse_mix(state, table, true)?;
                let bytes = charge::one_shot(&self.id(), &set);
                state.books.charge(0, bytes)?;
                let one_shot = self.insert_set(state, set).inspect_err(|_| {
                    state.books.charge_again(bytes, 0);
                })?;
                state.books.put_one_shot(profile_of(table), self.id(), Some(one_shot));
            }
        }
        Ok(())
    }

    /// Inserts an entry with a group of its own.
    fn insert_set(&self, state: &mut State<'_>, set: ActionSet) -> Result<OneShot, ApiError> {
        let table = self.table(state);
        let one_shot = OneShot::install(state, table, set)?;
        let target = Indirect::Group(one_shot.group());
        let inserted = state
            .pipeline
            .indirect_insert(&table.name, &self.key, self.priority, target);
        match inserted {
            Ok(()) => Ok(one_shot),
            Err(error) => {
                one_shot.remove(state, table);
                Err(not_inserted(table, error))
            }
        }
    }

    fn modify(&self, state: &mut State<'_>, target: Option<Target>) -> Result<(), ApiError> {
        let table = self.table(state);
        match target {
            None => drop(state.pipeline.entry_idle(&table.name, &self.key, self.priority)?),
            Some(Target::Action(action)) => {
                let entry = TableEntry {
                    key: self.key.clone(),
                    priority: self.priority,
                    action,
                };
                state.pipeline.table_modify(&table.name, entry)?;
            }
            Some(Target::Indirect(target)) => {
                one_shot::refuse_mix(state, table, false)?;
                state
                    .pipeline
                    .indirect_modify(&table.name, &self.key, self.priority, target)?;
            }
            Some(Target::OneShot(set)) => {
                one_shot::refuse_mix(state, table, true)?;
                let id = self.id();
                let old = state.books.one_shots.get(&id).cloned();
                let old = old.ok_or_else(|| ApiError::not_found("the table has no such entry"))?;
                let (before, after) = (charge::one_shot(&id, old.set()), charge::one_shot(&id, &set));
                state.books.charge(before, after)?;
                let (in_place, outcome) = old.replace(state, table, set)?;
                state.books.charge_again(after, charge::one_shot(&id, in_place.set()));
                state.books.put_one_shot(profile_of(table), id, Some(in_place));
                outcome?;
            }
        }
        Ok(())
    }

    fn delete(&self, state: &mut State<'_>) -> Result<(), ApiError> {
        let table = self.table(state);
        // The pipeline ignores the action of an entry that it deletes.
        let action = ActionCall {
            name: String::new(),
            args: Vec::new(),
        };
        let entry = TableEntry {
            key: self.key.clone(),
            priority: self.priority,
            action,
        };
        state.pipeline.table_delete(&table.name, &entry)?;
        if let Some(profile) = table.profile
            && let Some(one_shot) = state.books.put_one_shot(profile, self.id(), None)
        {
            state
                .books
                .charge_again(charge::one_shot(&self.id(), one_shot.set()), 0);
            one_shot.remove(state, table);
        }
        Ok(())
    }

    /// The update that makes an entry of `before`, whatever is there now.
    fn back_to(mut self, before: Option<(EntryState, Option<ActionSet>)>, state: &State<'_>) -> WriteEntry {
        let table = self.table(state);
        let is_there = state.pipeline.entry_idle(&table.name, &self.key, self.priority).is_ok();
        let Some((entry, set)) = before else {
            self.kind = update::Type::Delete;
            return self;
        };
        self.kind = if is_there {
            update::Type::Modify
        } else {
            update::Type::Insert
        };
        self.resources = Resources {
            count: table.has_direct_counter.then_some(Count {
                packets: entry.packets,
                bytes: entry.bytes,
            }),
            meter: table.direct_meter.map(|_| entry.meter),
        };
        if !table.is_const {
            self.target = Some(match (set, entry.target) {
                (Some(set), _) => Target::OneShot(set),
                (None, EntryTarget::Action(action)) => Target::Action(action),
                (None, EntryTarget::Indirect(target)) => Target::Indirect(target),
            });
        }
        self
    }
}

impl Operation for WriteEntry {
    fn undo(&self, state: &State<'_>) -> Undo {
        let id = self.id();
        let entry = state
            .pipeline
            .entry_state(&self.table(state).name, &self.key, self.priority)
            .ok();
        let before = entry.map(|entry| (entry, state.books.one_shots.get(&id).map(|it| it.set().clone())));
        let back = WriteEntry {
            kind: update::Type::Unspecified,
            table: self.table,
            key: self.key.clone(),
            priority: self.priority,
            target: None,
            resources: Resources::default(),
            note: Some(state.books.notes.get(&id).cloned().unwrap_or_default()),
        };
        Box::new(move |state| {
            // What was there before fits again: everything after it has been taken back.
            let _ = Box::new(back.back_to(before, state)).apply(state);
        })
    }

    fn apply(mut self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let (note_before, note_after) = self.note_bytes(state);
        state.books.charge(note_before, note_after)?;
        self.write(state).inspect_err(|_| {
            state.books.charge_again(note_after, note_before);
        })?;
        match self.note.take() {
            None => {}
            Some(note) if note != Note::default() => drop(state.books.notes.insert(self.id(), note)),
            Some(_) if state.books.notes.is_empty() => {}
            Some(_) => drop(state.books.notes.remove(&self.id())),
        }
        Ok(())
    }
}

impl WriteEntry {
    /// What the note takes that is there, and the new one.
    fn note_bytes(&self, state: &State<'_>) -> (u64, u64) {
        let notes = &state.books.notes;
        let Some(note) = &self.note else { return (0, 0) };
        if notes.is_empty() && *note == Note::default() {
            return (0, 0);
        }
        let id = self.id();
        let before = notes.get(&id).map_or(0, |before| charge::note(&id, before));
        (before, charge::note(&id, note))
    }

    /// Does it, but for the note.
    fn write(&mut self, state: &mut State<'_>) -> Result<(), ApiError> {
        // The entry is written before what belongs to it, which may be refused.
        let undo = (self.resources != Resources::default()).then(|| self.undo(state));
        match (self.kind, self.target.take()) {
            (update::Type::Delete, _) => self.delete(state)?,
            (update::Type::Insert, Some(target)) => self.insert(state, target)?,
            (_, target) => self.modify(state, target)?,
        }
        let table = self.table(state);
        let written = self
            .resources
            .write(state.pipeline, &table.name, &self.key, self.priority);
        if let Err(error) = written {
            if let Some(undo) = undo {
                undo(state);
            }
            return Err(error);
        }
        // Without a note the entry's timer goes on.
        if table.has_idle_timeout && self.note.is_some() {
            state.touched.entries.insert(self.id());
        }
        Ok(())
    }
}

/// Sets or resets a default action.
struct WriteDefault {
    table: u32,
    action: Option<ActionCall>,
    resources: Resources,
    note: Note,
}

impl Operation for WriteDefault {
    fn undo(&self, state: &State<'_>) -> Undo {
        let table = self.table;
        let id = EntryId::Default { table };
        let name = &state.info.tables[&table].name;
        let back = WriteDefault {
            table,
            action: state.pipeline.table_default(name).ok().flatten(),
            resources: self.resources.before(state.pipeline, name, &id).unwrap_or_default(),
            note: state.books.notes.get(&id).cloned().unwrap_or_default(),
        };
        Box::new(move |state| {
            // It was the default before.
            let _ = Box::new(back).apply(state);
        })
    }

    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError> {
        let id = EntryId::Default { table: self.table };
        let before = state.books.notes.get(&id).map_or(0, |before| charge::note(&id, before));
        let after = charge::note(&id, &self.note);
        state.books.charge(before, after)?;
        let note = self.note.clone();
        self.write(state).inspect_err(|_| {
            state.books.charge_again(after, before);
        })?;
        Books::put(
            &mut state.books.notes,
            id,
            Some(note).filter(|note| *note != Note::default()),
        );
        Ok(())
    }
}

impl WriteDefault {
    /// Does it, but for the note.
    fn write(self, state: &mut State<'_>) -> Result<(), ApiError> {
        let undo = (self.resources != Resources::default()).then(|| self.undo(state));
        let name = &state.info.tables[&self.table].name;
        state.pipeline.table_set_default(name, self.action)?;
        if let Err(error) = self.resources.write_default(state.pipeline, name) {
            if let Some(undo) = undo {
                undo(state);
            }
            return Err(error);
        }
        Ok(())
    }
}

/// Checks an update of a table entry.
pub(super) fn plan(
    info: &P4Info,
    table: &Table,
    kind: update::Type,
    entry: &v1::TableEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    if entry.is_const {
        return Err(ApiError::invalid("is_const is read-only"));
    }
    let id = EntryId::parse(table, entry)?;
    let EntryId::Match { key, priority, .. } = id else {
        return plan_default(info, table, kind, entry);
    };
    let mut write = WriteEntry {
        kind,
        table: table.id,
        key,
        priority,
        target: None,
        resources: Resources::default(),
        note: Some(Note::default()),
    };
    if kind != update::Type::Delete {
        write.target = entry
            .action
            .as_ref()
            .map(|action| parse_target(info, table, action))
            .transpose()?;
        write.resources = parse_resources(table, kind, entry)?;
        write.note = Some(Note::of(entry));
        check_idle_timeout(table, entry)?;
    }
    // Section 9.1.2: without an action, and unless it changes a direct resource, MODIFY is a no-op. Metadata and timeout are left
    // alone beside a direct resource, too, since protobuf does not tell unset ones from empty ones.
    if kind == update::Type::Modify && write.target.is_none() {
        write.note = write.note.filter(|note| *note != Note::default());
    }
    let changes_action = kind != update::Type::Modify || write.target.is_some();
    if table.is_const && changes_action {
        return Err(ApiError::denied("the table's entries are const"));
    }
    if kind == update::Type::Insert && write.target.is_none() {
        return Err(ApiError::invalid("INSERT without an action"));
    }
    Ok(Box::new(write))
}

fn plan_default(
    info: &P4Info,
    table: &Table,
    kind: update::Type,
    entry: &v1::TableEntry,
) -> Result<Box<dyn Operation>, ApiError> {
    if kind != update::Type::Modify {
        return Err(ApiError::invalid(
            "the default entry always exists; expected MODIFY (without an action to reset it)",
        ));
    }
    let action = match entry.action.as_ref() {
        None => None,
        Some(action) => Some(direct_action(action).and_then(|action| action::parse(info, table, action, true))?),
    };
    if table.has_const_default || table.profile.is_some() {
        return Err(ApiError::denied("the default action is const"));
    }
    if entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some() {
        return Err(ApiError::invalid("the default entry has no idle timeout"));
    }
    let mut resources = parse_resources(table, kind, entry)?;
    let mut note = Note::of(entry);
    if action.is_none() {
        // It is reset, with everything that belongs to it.
        resources = Resources {
            count: table.has_direct_counter.then_some(Count { packets: 0, bytes: 0 }),
            meter: table.direct_meter.map(|_| None),
        };
        note = Note::default();
    }
    Ok(Box::new(WriteDefault {
        table: table.id,
        action,
        resources,
        note,
    }))
}

fn parse_target(info: &P4Info, table: &Table, action: &v1::TableAction) -> Result<Target, ApiError> {
    let Some(profile) = table.profile else {
        return Ok(Target::Action(action::parse(
            info,
            table,
            direct_action(action)?,
            false,
        )?));
    };
    match &action.r#type {
        Some(table_action::Type::ActionProfileMemberId(0) | table_action::Type::ActionProfileGroupId(0)) => {
            Err(ApiError::invalid("invalid member or group ID 0"))
        }
        Some(table_action::Type::ActionProfileMemberId(id)) => Ok(Target::Indirect(Indirect::Member(*id))),
        Some(table_action::Type::ActionProfileGroupId(id)) => Ok(Target::Indirect(Indirect::Group(*id))),
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            ActionSet::parse(info, table, info.profile(profile)?, set).map(Target::OneShot)
        }
        _ => Err(ApiError::invalid(
            "the table uses an action profile; expected a member, a group or an action set",
        )),
    }
}

fn direct_action(action: &v1::TableAction) -> Result<&v1::Action, ApiError> {
    match &action.r#type {
        Some(table_action::Type::Action(action)) => Ok(action),
        _ => Err(ApiError::invalid(
            "the table has no action profile; expected an action with parameters",
        )),
    }
}

/// New values of the direct resources; what the table does not have is INVALID_ARGUMENT.
fn parse_resources(table: &Table, kind: update::Type, entry: &v1::TableEntry) -> Result<Resources, ApiError> {
    let mut resources = Resources::default();
    match table.direct_meter {
        None if entry.meter_config.is_some() || entry.meter_counter_data.is_some() => {
            return Err(ApiError::invalid("the table has no direct meter"));
        }
        None => {}
        Some(meter_kind) => {
            meter::refuse_counters(entry.meter_counter_data.as_ref())?;
            let config = entry
                .meter_config
                .as_ref()
                .map(|config| meter::parse(meter_kind, config))
                .transpose()?;
            // A new entry's meter is green as it is; MODIFY without rates makes it so.
            if config.is_some() || kind == update::Type::Modify {
                resources.meter = Some(config);
            }
        }
    }
    if let Some(data) = &entry.counter_data {
        if !table.has_direct_counter {
            return Err(ApiError::invalid("the table has no direct counter"));
        }
        resources.count = Some(Count::parse(data)?);
    }
    Ok(resources)
}

fn check_idle_timeout(table: &Table, entry: &v1::TableEntry) -> Result<(), ApiError> {
    if entry.time_since_last_hit.is_some() {
        return Err(ApiError::invalid("time_since_last_hit is read-only"));
    }
    match entry.idle_timeout_ns {
        0 => Ok(()),
        _ if !table.has_idle_timeout => Err(ApiError::invalid("the table has no idle timeouts")),
        ..0 => Err(ApiError::invalid("idle_timeout_ns is negative")),
        _ => Ok(()),
    }
}
