// SPDX-License-Identifier: Apache-2.0
//! P4 entities: what Write and Read do with each kind.
//!
//! A write is checked against P4Info first ([`plan`]), on the server's threads, and becomes an [`Operation`] that the
//! owner of the pipeline applies. A read becomes a [`Query`] in the same way.

mod action;
mod cells;
mod charge;
mod direct;
mod entry;
mod entry_read;
mod group;
mod key;
mod member;
mod meter;
mod one_shot;
mod port;
mod query;
mod replication;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use slotwise_p4::{Held, Pipeline, Port};

use crate::error::ApiError;
use crate::p4info::P4Info;
use crate::proto::p4::v1::digest_entry::Config as DigestConfig;
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::p4::v1::{self, entity::Entity, update};

pub(crate) use entry::Note;
pub(crate) use group::refresh as refresh_ports;
pub(crate) use key::{EntryId, canonical_key};
use one_shot::ActionSet;
pub(crate) use one_shot::OneShot;
pub(crate) use query::{Finding, Query, Selection};

/// What P4Runtime wants kept and the pipeline does not.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Memory for it.
    held: Held,
    /// Of all entries that have one.
    pub notes: BTreeMap<EntryId, Note>,
    /// By action profile and group id, in canonical form.
    pub groups: BTreeMap<(u32, u32), v1::ActionProfileGroup>,
    pub one_shots: BTreeMap<EntryId, OneShot>,
    /// How many of them each action profile has; those without are not there.
    one_shot_counts: BTreeMap<u32, usize>,
    /// Ids of members and groups that one-shots used and gave back.
    free_ids: Vec<u32>,
    /// How many ids they have used so far.
    used_ids: u32,
    pub multicast: BTreeMap<u32, v1::MulticastGroupEntry>,
    pub clones: BTreeMap<u32, v1::CloneSessionEntry>,
    pub digests: BTreeMap<u32, DigestConfig>,
}

/// What operations work on.
pub(crate) struct State<'a> {
    pub info: &'a P4Info,
    pub pipeline: &'a mut Pipeline,
    pub books: &'a mut Books,
    /// Ports without a link.
    pub down: &'a BTreeSet<Port>,
    pub touched: Touched,
}

/// What changed of the things that make notifications.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Entries of tables with idle timeouts.
    pub entries: BTreeSet<EntryId>,
    pub digests: bool,
}

/// Takes an operation back.
pub(crate) type Undo = Box<dyn FnOnce(&mut State<'_>)>;

/// One update, checked against P4Info.
pub(crate) trait Operation: Send {
    /// What brings back the state as it is now.
    fn undo(&self, state: &State<'_>) -> Undo;
    /// Does it, entirely or not at all.
    fn apply(self: Box<Self>, state: &mut State<'_>) -> Result<(), ApiError>;
}

/// Applies a whole batch. What the plan refused is passed on; with `all_or_none`, the first error takes everything back
/// and each other update is ABORTED.
pub(crate) fn apply_batch(
    batch: Vec<Result<Box<dyn Operation>, ApiError>>,
    all_or_none: bool,
    state: &mut State<'_>,
) -> Vec<Option<ApiError>> {
    // What is taken back finds its memory again, whoever else wants some.
    state.pipeline.keep_freed_memory(true);
    state.books.held.keep_freed(true);
    let outcomes = apply_updates(batch, all_or_none, state);
    state.pipeline.keep_freed_memory(false);
    state.books.held.keep_freed(false);
    outcomes
}

fn apply_updates(
    batch: Vec<Result<Box<dyn Operation>, ApiError>>,
    all_or_none: bool,
    state: &mut State<'_>,
) -> Vec<Option<ApiError>> {
    if !all_or_none {
        let apply = |planned: Result<Box<dyn Operation>, ApiError>| planned.and_then(|it| it.apply(state)).err();
        return batch.into_iter().map(apply).collect();
    }
    let mut undos = Vec::with_capacity(batch.len());
    let mut outcomes: Vec<_> = batch.iter().map(|planned| planned.as_ref().err().cloned()).collect();
    let mut failed = outcomes.iter().any(Option::is_some);
    for (planned, outcome) in batch.into_iter().zip(&mut outcomes) {
        let Ok(operation) = planned else { continue };
        if failed {
            break;
        }
        let undo = operation.undo(state);
        match operation.apply(state) {
            Ok(()) => undos.push(undo),
            Err(error) => {
                *outcome = Some(error);
                failed = true;
            }
        }
    }
    if failed {
        undos.into_iter().rev().for_each(|undo| undo(state));
        for outcome in &mut outcomes {
            outcome.get_or_insert_with(|| ApiError::aborted("another update of the batch failed; nothing has changed"));
        }
    }
    outcomes
}

/// Checks one update.
pub(crate) fn plan(info: &P4Info, update: &v1::Update) -> Result<Box<dyn Operation>, ApiError> {
    let kind = update.r#type();
    if kind == update::Type::Unspecified {
        return Err(ApiError::invalid("update type is not set to INSERT, MODIFY or DELETE"));
    }
    match the_entity(update.entity.as_ref(), "update")? {
        Entity::TableEntry(entry) => {
            let table = info.table(entry.table_id)?;
            entry::plan(info, table, kind, entry).map_err(|error| error.at(format_args!("table {}", table.name)))
        }
        Entity::ActionProfileMember(member) => member::plan(info, kind, member),
        Entity::ActionProfileGroup(group) => group::plan(info, kind, group),
        Entity::MeterEntry(meter) => cells::plan_meter(info, kind, meter),
        Entity::DirectMeterEntry(meter) => direct::plan_meter(info, kind, meter),
        Entity::CounterEntry(counter) => cells::plan_counter(info, kind, counter),
        Entity::DirectCounterEntry(counter) => direct::plan_counter(info, kind, counter),
        Entity::PacketReplicationEngineEntry(entry) => replication::plan(kind, entry),
        Entity::ValueSetEntry(set) => settings::plan_value_set(info, kind, set),
        Entity::RegisterEntry(register) => cells::plan_register(info, kind, register),
        Entity::DigestEntry(digest) => settings::plan_digest(info, kind, digest),
        Entity::ExternEntry(_) => Err(ApiError::unimplemented("externs with entries are not supported")),
    }
}

/// The entity of an update or of an element of a read.
pub(crate) fn the_entity<'a>(entity: Option<&'a v1::Entity>, what: &str) -> Result<&'a Entity, ApiError> {
    let entity = entity.and_then(|entity| entity.entity.as_ref());
    entity.ok_or_else(|| ApiError::invalid(format!("{what} without an entity")))
}

/// The P4Info id of the object that an entity belongs to; 0 for all objects, and for packet replication.
pub(crate) fn object_id(entity: &Entity) -> u32 {
    let of_table = |entry: Option<&v1::TableEntry>| entry.map_or(0, |entry| entry.table_id);
    match entity {
        Entity::ExternEntry(entry) => entry.extern_id,
        Entity::TableEntry(entry) => entry.table_id,
        Entity::ActionProfileMember(member) => member.action_profile_id,
        Entity::ActionProfileGroup(group) => group.action_profile_id,
        Entity::MeterEntry(entry) => entry.meter_id,
        Entity::DirectMeterEntry(entry) => of_table(entry.table_entry.as_ref()),
        Entity::CounterEntry(entry) => entry.counter_id,
        Entity::DirectCounterEntry(entry) => of_table(entry.table_entry.as_ref()),
        Entity::PacketReplicationEngineEntry(_) => 0,
        Entity::ValueSetEntry(entry) => entry.value_set_id,
        Entity::RegisterEntry(entry) => entry.register_id,
        Entity::DigestEntry(entry) => entry.digest_id,
    }
}

/// INVALID_ARGUMENT unless it is a MODIFY: for what is always there.
fn only_modify(kind: update::Type, what: &str) -> Result<(), ApiError> {
    if kind == update::Type::Modify {
        return Ok(());
    }
    Err(ApiError::invalid(format!("{what} always exists; expected MODIFY")))
}

impl Books {
    /// An id for a member or group of a one-shot; a selector with one-shots has no other members and groups.
    fn fresh_id(&mut self) -> Result<u32, ApiError> {
        if let Some(id) = self.free_ids.pop() {
            return Ok(id);
        }
        let id = self
            .used_ids
            .checked_add(1)
            .ok_or_else(|| ApiError::exhausted("no IDs left for action sets"))?;
        self.used_ids = id;
        Ok(id)
    }

    fn free_id(&mut self, id: u32) {
        self.free_ids.push(id);
    }

    /// Whether the entries of an action profile's tables are written with action sets.
    pub fn has_one_shots(&self, profile: u32) -> bool {
        self.one_shot_counts.contains_key(&profile)
    }

    /// An entry of a table of `profile` has this action set now, or none any more, which gives back the one that it had.
    pub fn put_one_shot(&mut self, profile: u32, id: EntryId, one_shot: Option<OneShot>) -> Option<OneShot> {
        let count = self.one_shot_counts.entry(profile).or_default();
        *count += usize::from(one_shot.is_some());
        let before = match one_shot {
            Some(one_shot) => self.one_shots.insert(id, one_shot),
            None => self.one_shots.remove(&id),
        };
        *count -= usize::from(before.is_some());
        if *count == 0 {
            self.one_shot_counts.remove(&profile);
        }
        before
    }

    /// As if no entry had an action set.
    pub fn forget_one_shots(&mut self) {
        self.one_shots.clear();
        self.one_shot_counts.clear();
    }

    /// Puts a value under a key, or removes what is there.
    fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
        match value {
            Some(value) => drop(map.insert(key, value)),
            None => drop(map.remove(&key)),
        }
    }
}

/// Which entry of the packet replication engine is meant.
fn replication_type(entry: &v1::PacketReplicationEngineEntry) -> Result<&Replication, ApiError> {
    let kind = entry.r#type.as_ref();
    kind.ok_or_else(|| ApiError::invalid("neither multicast_group_entry nor clone_session_entry is set"))
}
