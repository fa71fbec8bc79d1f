// SPDX-License-Identifier: Apache-2.0
//! Reads: an element of a request becomes selections on the pipeline, and what they find becomes entities.

use std::ops::Range;

use slotwise_p4::{ActionCall, Bits, MeterConfig, Pipeline};

use super::entry_read::{self, DirectKind, EntryQuery, FoundEntries};
use super::{Books, EntryId, Replication, action, cells, key, meter, replication_type, the_entity};
use crate::entity::direct::Count;
use crate::error::ApiError;
use crate::p4info::{Array, P4Info, find};
use crate::proto::p4::v1::{self, entity::Entity};

/// One element of a read request, checked.
#[derive(Debug)]
pub(crate) struct Query(Vec<Selection>);

/// What to get. Names are P4Info's.
#[derive(Debug)]
enum Selection {
    Entries(EntryQuery),
    Counter {
        id: u32,
        name: String,
        cells: Range<usize>,
    },
    Meter {
        id: u32,
        name: String,
        cells: Range<usize>,
    },
    Register {
        id: u32,
        name: String,
        cells: Range<usize>,
    },
    /// Id 0: all.
    Members {
        profile: u32,
        name: String,
        member: u32,
    },
    ValueSet {
        id: u32,
        name: String,
    },
    /// What the pipeline does not know; id 0: all.
    Groups {
        profile: u32,
        group: u32,
    },
    Multicast {
        group: u32,
    },
    Clones {
        session: u32,
    },
    Digest {
        id: u32,
    },
}

/// What a selection found in the pipeline.
#[derive(Debug)]
enum Finding {
    Entries(FoundEntries),
    Counters(Vec<(u64, u64)>),
    Meters(Vec<Option<MeterConfig>>),
    Registers(Vec<Bits>),
    Members(Vec<(u32, ActionCall)>),
    ValueSet(Vec<Vec<Bits>>),
    InBooks,
}

/// What a query found in the pipeline.
#[derive(Debug)]
pub(crate) struct Found(Vec<Finding>);

impl Query {
    /// Checks one element of a read request.
    pub fn new(info: &P4Info, entity: &v1::Entity) -> Result<Query, ApiError> {
        let selections = match the_entity(Some(entity), "read request")? {
            Entity::TableEntry(entry) => entries(entry_read::select(info, entry)?),
            Entity::DirectCounterEntry(entry) => entries(entry_read::select_direct(
                info,
                entry.table_entry.as_ref(),
                DirectKind::Counter,
            )?),
            Entity::DirectMeterEntry(entry) => {
                meter::refuse_counters(entry.counter_data.as_ref())?;
                entries(entry_read::select_direct(
                    info,
                    entry.table_entry.as_ref(),
                    DirectKind::Meter,
                )?)
            }
            Entity::CounterEntry(entry) => {
                let counters = info.objects.counters.values();
                select_cells("counter", counters, entry.counter_id, entry.index, |id, name, cells| {
                    Selection::Counter { id, name, cells }
                })?
            }
            Entity::MeterEntry(entry) => {
                meter::refuse_counters(entry.counter_data.as_ref())?;
                let meters = info.objects.meters.values().map(|meter| &meter.array);
                select_cells("meter", meters, entry.meter_id, entry.index, |id, name, cells| {
                    Selection::Meter { id, name, cells }
                })?
            }
            Entity::RegisterEntry(entry) => {
                let served = info
                    .objects
                    .registers
                    .values()
                    .filter(|register| register.shape.is_some());
                let registers = served.map(|register| &register.array);
                select_cells(
                    "register",
                    registers,
                    entry.register_id,
                    entry.index,
                    |id, name, cells| Selection::Register { id, name, cells },
                )?
            }
            Entity::ActionProfileMember(member) => {
                let (id, member) = (member.action_profile_id, member.member_id);
                let profiles = all_or_one(&info.objects.profiles, "action profile", id, member != 0)?;
                profiles
                    .map(|profile| Selection::Members {
                        profile: profile.id,
                        name: profile.name.clone(),
                        member,
                    })
                    .collect()
            }
            Entity::ActionProfileGroup(group) => {
                let (id, group) = (group.action_profile_id, group.group_id);
                let profiles = all_or_one(&info.objects.profiles, "action profile", id, group != 0)?;
                profiles
                    .map(|profile| Selection::Groups {
                        profile: profile.id,
                        group,
                    })
                    .collect()
            }
            Entity::PacketReplicationEngineEntry(entry) => match &entry.r#type {
                None => vec![Selection::Multicast { group: 0 }, Selection::Clones { session: 0 }],
                Some(_) => vec![match replication_type(entry)? {
                    Replication::MulticastGroupEntry(entry) => Selection::Multicast {
                        group: entry.multicast_group_id,
                    },
                    Replication::CloneSessionEntry(entry) => Selection::Clones {
                        session: entry.session_id,
                    },
                }],
            },
            Entity::ValueSetEntry(entry) => {
                if !entry.members.is_empty() {
                    return Err(ApiError::invalid("value sets are read whole: leave members unset"));
                }
                let sets = all_or_one(&info.objects.value_sets, "value set", entry.value_set_id, false)?;
                sets.map(|set| Selection::ValueSet {
                    id: set.id,
                    name: set.name.clone(),
                })
                .collect()
            }
            Entity::DigestEntry(entry) => {
                let digests = all_or_one(&info.objects.digests, "digest", entry.digest_id, false)?;
                digests.map(|digest| Selection::Digest { id: digest.id }).collect()
            }
            Entity::ExternEntry(_) if !info.objects.has_externs => Vec::new(),
            Entity::ExternEntry(_) => return Err(ApiError::unimplemented("entries of externs are not served")),
        };
        Ok(Query(selections))
    }

    /// Asks the pipeline.
    pub fn run(&self, pipeline: &Pipeline) -> Result<Found, ApiError> {
        self.0
            .iter()
            .map(|selection| selection.run(pipeline))
            .collect::<Result<_, _>>()
            .map(Found)
    }

    /// Turns an answer into entities.
    pub fn encode(&self, info: &P4Info, books: &Books, found: Found, out: &mut Vec<v1::Entity>) {
        let mut give = |entity| out.push(v1::Entity { entity: Some(entity) });
        for (selection, finding) in self.0.iter().zip(found.0) {
            selection.encode(info, books, finding, &mut give);
        }
    }
}

fn entries(queries: Vec<EntryQuery>) -> Vec<Selection> {
    queries.into_iter().map(Selection::Entries).collect()
}

/// The object with this id, or all if it is 0; `is_part`: the request names a part of an object.
fn all_or_one<'a, T>(
    objects: &'a std::collections::BTreeMap<u32, T>,
    kind: &str,
    id: u32,
    is_part: bool,
) -> Result<Box<dyn Iterator<Item = &'a T> + 'a>, ApiError> {
    match id {
        0 if is_part => Err(ApiError::invalid(format!(
            "a read of every {kind} (id 0) takes no other id"
        ))),
        0 => Ok(Box::new(objects.values())),
        id => Ok(Box::new(std::iter::once(find(objects, kind, id)?))),
    }
}

fn select_cells<'a>(
    kind: &str,
    arrays: impl Iterator<Item = &'a Array>,
    id: u32,
    index: Option<v1::Index>,
    selection: impl Fn(u32, String, Range<usize>) -> Selection,
) -> Result<Vec<Selection>, ApiError> {
    if id == 0 && index.is_some() {
        return Err(ApiError::invalid(format!(
            "a read of every {kind} (id 0) takes no index"
        )));
    }
    let wanted: Vec<&Array> = arrays.filter(|array| id == 0 || array.id == id).collect();
    if id != 0 && wanted.is_empty() {
        return Err(ApiError::not_found(format!(
            "there is no {kind} with id {id:#010x} to be read"
        )));
    }
    let select = |array: &Array| {
        let cells = cells::range(array, index).map_err(|error| error.at(format_args!("{kind} {}", array.name)))?;
        Ok(selection(array.id, array.name.clone(), cells))
    };
    wanted.into_iter().map(select).collect()
}

impl Selection {
    fn run(&self, pipeline: &Pipeline) -> Result<Finding, ApiError> {
        Ok(match self {
            Selection::Entries(query) => Finding::Entries(query.run(pipeline)?),
            Selection::Counter { name, cells, .. } => {
                let cells = cells.clone().map(|index| pipeline.counter_read(name, index));
                Finding::Counters(cells.collect::<Result<_, _>>()?)
            }
            Selection::Meter { name, cells, .. } => {
                let cells = cells.clone().map(|index| pipeline.meter_read(name, index));
                Finding::Meters(cells.collect::<Result<_, _>>()?)
            }
            Selection::Register { name, cells, .. } => {
                let cells = cells.clone().map(|index| pipeline.register_read(name, index));
                Finding::Registers(cells.collect::<Result<_, _>>()?)
            }
            Selection::Members { name, member: 0, .. } => Finding::Members(pipeline.members(name)?),
            Selection::Members { name, member, .. } => Finding::Members(
                pipeline
                    .member(name, *member)?
                    .map(|action| (*member, action))
                    .into_iter()
                    .collect(),
            ),
            Selection::ValueSet { name, .. } => Finding::ValueSet(pipeline.value_set_read(name)?),
            Selection::Groups { .. }
            | Selection::Multicast { .. }
            | Selection::Clones { .. }
            | Selection::Digest { .. } => Finding::InBooks,
        })
    }

    fn encode(&self, info: &P4Info, books: &Books, finding: Finding, give: &mut dyn FnMut(Entity)) {
        let at = |index: usize| Some(v1::Index { index: index as i64 });
        match (self, finding) {
            (Selection::Entries(query), Finding::Entries(found)) => query.encode(info, books, found, give),
            (Selection::Counter { id, cells, .. }, Finding::Counters(counts)) => {
                for (index, (packets, bytes)) in cells.clone().zip(counts) {
                    let data = Some(Count { packets, bytes }.encode());
                    give(Entity::CounterEntry(v1::CounterEntry {
                        counter_id: *id,
                        index: at(index),
                        data,
                    }));
                }
            }
            (Selection::Meter { id, cells, .. }, Finding::Meters(configs)) => {
                for (index, config) in cells.clone().zip(configs) {
                    let config = config.as_ref().map(meter::encode);
                    let (meter_id, index) = (*id, at(index));
                    give(Entity::MeterEntry(v1::MeterEntry {
                        meter_id,
                        index,
                        config,
                        counter_data: None,
                    }));
                }
            }
            (Selection::Register { id, cells, .. }, Finding::Registers(values)) => {
                let shape = info
                    .objects
                    .registers
                    .get(id)
                    .and_then(|register| register.shape.as_ref());
                for (index, value) in cells.clone().zip(values) {
                    let data = shape.and_then(|shape| shape.encode(&mut [value].iter()));
                    give(Entity::RegisterEntry(v1::RegisterEntry {
                        register_id: *id,
                        index: at(index),
                        data,
                    }));
                }
            }
            // A selector with action sets gives the sets, not what they are made of.
            (Selection::Members { profile, .. }, _) if books.has_one_shots(info, *profile) => {}
            (Selection::Members { profile, .. }, Finding::Members(members)) => {
                for (member_id, call) in members {
                    let action = action::encode(info, &call);
                    let action_profile_id = *profile;
                    give(Entity::ActionProfileMember(v1::ActionProfileMember {
                        action_profile_id,
                        member_id,
                        action,
                    }));
                }
            }
            (Selection::ValueSet { id, .. }, Finding::ValueSet(members)) => {
                let fields = &info.objects.value_sets[id].fields;
                let member = |values: Vec<Bits>| {
                    let values = values.into_iter().map(slotwise_p4::KeyField::Exact).collect();
                    v1::ValueSetMember {
                        r#match: key::encode_key(fields, &key::canonical_key(values)),
                    }
                };
                let members = members.into_iter().map(member).collect();
                give(Entity::ValueSetEntry(v1::ValueSetEntry {
                    value_set_id: *id,
                    members,
                }));
            }
            (_, _) => self.encode_books(books, give),
        }
    }

    fn encode_books(&self, books: &Books, give: &mut dyn FnMut(Entity)) {
        let is_wanted = |wanted: u32, id: u32| wanted == 0 || wanted == id;
        let mut give_replication = |kind| {
            let entry = v1::PacketReplicationEngineEntry { r#type: Some(kind) };
            give(Entity::PacketReplicationEngineEntry(entry));
        };
        match self {
            Selection::Groups { profile, group } => {
                let groups = books.groups.range((*profile, 0)..=(*profile, u32::MAX));
                let wanted = groups.filter(|((_, id), _)| is_wanted(*group, *id));
                wanted.for_each(|(_, group)| give(Entity::ActionProfileGroup(group.clone())));
            }
            Selection::Multicast { group } => {
                let wanted = books.multicast.iter().filter(|(id, _)| is_wanted(*group, **id));
                wanted.for_each(|(_, entry)| give_replication(Replication::MulticastGroupEntry(entry.clone())));
            }
            Selection::Clones { session } => {
                let wanted = books.clones.iter().filter(|(id, _)| is_wanted(*session, **id));
                wanted.for_each(|(_, entry)| give_replication(Replication::CloneSessionEntry(entry.clone())));
            }
            Selection::Digest { id } => {
                if let Some(config) = books.digests.get(id) {
                    give(Entity::DigestEntry(v1::DigestEntry {
                        digest_id: *id,
                        config: Some(*config),
                    }));
                }
            }
            _ => {}
        }
    }
}

/// The entry's id, for what the books have on it.
pub(super) fn entry_id(table: u32, entry: &slotwise_p4::EntryState) -> EntryId {
    EntryId::Match {
        table,
        key: entry.key.clone(),
        priority: entry.priority,
    }
}
