// SPDX-License-Identifier: Apache-2.0
//! RECONCILE_AND_COMMIT: a new program takes over the forwarding state of the old one. Objects are the same if their names
//! are; what would be lost, or would mean something else, is refused before anything changes.

use std::collections::BTreeMap;

use slotwise_p4::{DefaultResources, EntryTarget, MeterConfig, Pipeline, TableEntry};

use crate::entity::{self, Books, EntryId, State};
use crate::error::ApiError;
use crate::p4info::{Array, P4Info, Profile, Table};

fn lost(what: impl std::fmt::Display) -> ApiError {
    ApiError::invalid(format!("the new program has no {what}"))
}

/// Refuses changes that state cannot survive.
pub(crate) fn check(from: &P4Info, to: &P4Info) -> Result<(), ApiError> {
    for old in from.tables.values() {
        let same_key = |new: &Table| {
            let shape = |table: &Table| -> Vec<_> {
                let field = |field: &crate::p4info::MatchField| {
                    let crate::p4info::Field {
                        name, width, is_text, ..
                    } = &field.field;
                    (name.clone(), *width, *is_text, field.kind)
                };
                table.fields.iter().map(field).collect()
            };
            new.name == old.name
                && shape(new) == shape(old)
                && (!old.has_direct_counter || new.has_direct_counter)
                && (old.direct_meter.is_none() || new.direct_meter == old.direct_meter)
                && (!old.has_idle_timeout || new.has_idle_timeout)
        };
        if !to.tables.values().any(same_key) {
            let table = &old.name;
            return Err(lost(format_args!(
                "table {table} with the same key and direct resources"
            )));
        }
    }
    let (old, new) = (&from.objects, &to.objects);
    check_arrays("counter", old.counters.values(), new.counters.values())?;
    check_arrays(
        "meter",
        old.meters.values().map(|it| &it.array),
        new.meters.values().map(|it| &it.array),
    )?;
    check_arrays(
        "register",
        old.registers.values().map(|it| &it.array),
        new.registers.values().map(|it| &it.array),
    )?;
    for profile in old.profiles.values() {
        // Action sets are kept as they were written, with the ids of their actions.
        let other_actions = |new: &Profile| action_ids(from, profile) != action_ids(to, new);
        if named_profile(to, &profile.name).is_none_or(other_actions) {
            return Err(lost(format_args!(
                "action profile {} with the same actions",
                profile.name
            )));
        }
    }
    for set in old.value_sets.values() {
        if !new
            .value_sets
            .values()
            .any(|it| it.name == set.name && it.size >= set.size)
        {
            return Err(lost(format_args!("value set {} of this size", set.name)));
        }
    }
    match old.digest_ids.keys().find(|name| !new.digest_ids.contains_key(*name)) {
        Some(name) => Err(lost(format_args!("digest {name}"))),
        None => Ok(()),
    }
}

fn check_arrays<'a>(
    kind: &str,
    old: impl Iterator<Item = &'a Array>,
    new: impl Iterator<Item = &'a Array>,
) -> Result<(), ApiError> {
    let sizes: BTreeMap<_, _> = new.map(|array| (&array.name, array.size)).collect();
    for array in old {
        if sizes.get(&array.name).is_none_or(|size| *size < array.size) {
            return Err(lost(format_args!("{kind} {} of {} cells", array.name, array.size)));
        }
    }
    Ok(())
}

fn named_profile<'a>(info: &'a P4Info, name: &str) -> Option<&'a Profile> {
    info.objects.profiles.values().find(|profile| profile.name == name)
}

fn action_ids(info: &P4Info, profile: &Profile) -> Vec<u32> {
    let table = profile.table.and_then(|table| info.tables.get(&table));
    table
        .into_iter()
        .flat_map(|table| table.actions.keys().copied())
        .collect()
}

/// What P4Runtime keeps, under the new program's ids.
pub(crate) fn carry_books(from: &P4Info, to: &P4Info, books: &Books) -> Result<Books, ApiError> {
    let new_table = |old: u32| {
        let name = &from.tables.get(&old)?.name;
        to.tables
            .values()
            .find(|table| table.name == *name)
            .map(|table| table.id)
    };
    let new_profile = |old: u32| named_profile(to, &from.objects.profiles.get(&old)?.name).map(|profile| profile.id);
    let new_digest = |old: u32| {
        let (name, _) = from.objects.digest_ids.iter().find(|(_, id)| **id == old)?;
        to.objects.digest_ids.get(name).copied()
    };
    let new_id = |id: EntryId| {
        Some(match id {
            EntryId::Default { table } => EntryId::Default {
                table: new_table(table)?,
            },
            EntryId::Match { table, key, priority } => EntryId::Match {
                table: new_table(table)?,
                key,
                priority,
            },
        })
    };
    let mut carried = books.try_clone()?;
    carried.notes = books
        .notes
        .clone()
        .into_iter()
        .filter_map(|(id, note)| Some((new_id(id)?, note)))
        .collect();
    carried.forget_one_shots();
    for (id, one_shot) in books.one_shots.clone() {
        if let Some(id) = new_id(id)
            && let Some(profile) = to.tables[&id.table()].profile
        {
            carried.put_one_shot(profile, id, Some(one_shot));
        }
    }
    carried.groups = BTreeMap::new();
    for ((profile, id), group) in books.groups.clone() {
        if let Some(action_profile_id) = new_profile(profile) {
            let group = crate::proto::p4::v1::ActionProfileGroup {
                action_profile_id,
                ..group
            };
            carried.groups.insert((action_profile_id, id), group);
        }
    }
    let digests = books.digests.iter();
    carried.digests = digests
        .filter_map(|(&id, &config)| Some((new_digest(id)?, config)))
        .collect();
    Ok(carried)
}

/// Fills a fresh pipeline with the state of the one in force, which stays as it is. The books of `new` are carried
/// already.
pub(crate) fn copy_state(from: &P4Info, old: &Pipeline, new: &mut State<'_>) -> Result<(), ApiError> {
    let at = |error: ApiError| error.at("state cannot be preserved");
    copy_objects(from, old, new.pipeline).map_err(at)?;
    entity::refresh_ports(new).map_err(at)?;
    for table in from.tables.values() {
        copy_table(table, old, new.pipeline).map_err(|error| at(error.at(&table.name)))?;
    }
    Ok(())
}

fn copy_objects(from: &P4Info, old: &Pipeline, new: &mut Pipeline) -> Result<(), ApiError> {
    for profile in from.objects.profiles.values() {
        for (member, action) in old.members(&profile.name)? {
            new.member_set(&profile.name, member, &action)?;
        }
    }
    for Array { name, size, .. } in from.objects.counters.values() {
        for index in 0..*size {
            let (packets, bytes) = old.counter_read(name, index)?;
            new.counter_write(name, index, packets, bytes)?;
        }
    }
    for Array { name, size, .. } in from.objects.meters.values().map(|meter| &meter.array) {
        for index in 0..*size {
            new.meter_write(name, index, old.meter_read(name, index)?)?;
        }
    }
    for Array { name, size, .. } in from.objects.registers.values().map(|register| &register.array) {
        for index in 0..*size {
            new.register_write(name, index, &old.register_read(name, index)?)?;
        }
    }
    for value_set in from.objects.value_sets.values() {
        new.value_set_write(&value_set.name, &old.value_set_read(&value_set.name)?)?;
    }
    Ok(())
}

fn copy_table(table: &Table, old: &Pipeline, new: &mut Pipeline) -> Result<(), ApiError> {
    let name = &table.name;
    if !table.has_const_default && table.profile.is_none() {
        new.table_set_default(name, old.table_default(name)?)?;
    }
    let DefaultResources { packets, bytes, meter } = old.default_resources(name)?;
    if table.has_direct_counter {
        new.default_counter_write(name, packets, bytes)?;
    }
    if table.direct_meter.is_some() {
        new.default_meter_write(name, meter)?;
    }
    if !table.is_const && table.profile.is_none() {
        for initial in new.table_entries(name)? {
            new.table_delete(name, &initial)?;
        }
    }
    for entry in old.entry_states(name)? {
        let (key, priority) = (entry.key, entry.priority);
        let direct = TableEntry {
            key: key.clone(),
            priority,
            action: match &entry.target {
                EntryTarget::Action(action) => action.clone(),
                EntryTarget::Indirect(_) => slotwise_p4::ActionCall {
                    name: String::new(),
                    args: Vec::new(),
                },
            },
        };
        match entry.target {
            _ if table.is_const => {}
            EntryTarget::Action(_) => new.table_insert(name, direct.clone())?,
            EntryTarget::Indirect(target) => new.indirect_insert(name, &key, priority, target)?,
        }
        if table.has_direct_counter {
            new.direct_counter_write(name, &direct, entry.packets, entry.bytes)?;
        }
        let meter: Option<MeterConfig> = entry.meter;
        if table.direct_meter.is_some() {
            new.direct_meter_write(name, &direct, meter)?;
        }
    }
    Ok(())
}
