// SPDX-License-Identifier: Apache-2.0
//! Reads: an element of a request becomes selections on the pipeline, and what they find becomes entities.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use slotwise_p4::{ActionCall, Bits, MeterConfig, Pipeline};

use super::entry_read::{self, DirectKind, EntryQuery, FoundEntries};
use super::{Books, EntryId, Replication, action, cells, key, meter, replication_type, the_entity};
use crate::entity::direct::Count;
use crate::error::ApiError;
use crate::p4info::{Array, P4Info, find};
use crate::proto::p4::v1::{self, entity::Entity};

/// Cells, members or entries of books in one slice of a read.
const SLICE: usize = 128;

/// One element of a read request, checked: what is left of it to be read.
#[derive(Debug)]
pub(crate) struct Query(VecDeque<Selection>);

/// What to get, from where on. Ids are P4Info's.
#[derive(Debug)]
pub(crate) enum Selection {
    Entries(EntryQuery),
    Counter {
        id: u32,
        cells: Range<usize>,
    },
    Meter {
        id: u32,
        cells: Range<usize>,
    },
    Register {
        id: u32,
        cells: Range<usize>,
    },
    Members {
        profile: u32,
        ids: Ids,
    },
    /// Given whole; so many members have been read.
    ValueSet {
        id: u32,
        members: Vec<Vec<Bits>>,
    },
    /// What the pipeline does not know.
    Groups {
        profile: u32,
        ids: Ids,
    },
    Multicast {
        ids: Ids,
    },
    Clones {
        ids: Ids,
    },
    Digest {
        id: u32,
    },
}

/// Ids that are still to be looked at.
type Ids = RangeInclusive<u32>;

/// What a slice found in the pipeline.
#[derive(Debug)]
pub(crate) enum Finding {
    Entries(FoundEntries),
    Counters(Range<usize>, Vec<(u64, u64)>),
    Meters(Range<usize>, Vec<Option<MeterConfig>>),
    Registers(Range<usize>, Vec<Bits>),
    Members(Vec<(u32, ActionCall)>),
    ValueSet(Vec<Vec<Bits>>),
    InBooks,
}

/// One id, or all if it is 0.
fn ids(id: u32) -> Ids {
    if id == 0 { 0..=u32::MAX } else { id..=id }
}

/// Takes the first cells away.
fn first_cells(cells: &mut Range<usize>) -> Range<usize> {
    let first = cells.start..cells.end.min(cells.start + SLICE);
    cells.start = first.end;
    first
}

/// What is left of `ids` after a slice whose last one is `last`, if it was full.
fn after(ids: &Ids, last: Option<u32>) -> Ids {
    match last.and_then(|last| last.checked_add(1)) {
        Some(next) => next..=*ids.end(),
        None => Ids::new(1, 0),
    }
}

impl Query {
    /// Checks one element of a read request.
    pub fn new(info: &P4Info, entity: &v1::Entity) -> Result<Query, ApiError> {
        let selections: Vec<_> = match the_entity(Some(entity), "read request")? {
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
                select_cells("counter", counters, entry.counter_id, entry.index, |id, cells| {
                    Selection::Counter { id, cells }
                })?
            }
            Entity::MeterEntry(entry) => {
                meter::refuse_counters(entry.counter_data.as_ref())?;
                let meters = info.objects.meters.values().map(|meter| &meter.array);
                select_cells("meter", meters, entry.meter_id, entry.index, |id, cells| {
                    Selection::Meter { id, cells }
                })?
            }
            Entity::RegisterEntry(entry) => {
                let served = info
                    .objects
                    .registers
                    .values()
                    .filter(|register| register.shape.is_some());
                let registers = served.map(|register| &register.array);
                select_cells("register", registers, entry.register_id, entry.index, |id, cells| {
                    Selection::Register { id, cells }
                })?
            }
            Entity::ActionProfileMember(member) => {
                let (id, member) = (member.action_profile_id, member.member_id);
                let profiles = all_or_one(&info.objects.profiles, "action profile", id, member != 0)?;
                profiles
                    .map(|profile| Selection::Members {
                        profile: profile.id,
                        ids: ids(member),
                    })
                    .collect()
            }
            Entity::ActionProfileGroup(group) => {
                let (id, group) = (group.action_profile_id, group.group_id);
                let profiles = all_or_one(&info.objects.profiles, "action profile", id, group != 0)?;
                profiles
                    .map(|profile| Selection::Groups {
                        profile: profile.id,
                        ids: ids(group),
                    })
                    .collect()
            }
            Entity::PacketReplicationEngineEntry(entry) => match &entry.r#type {
                None => vec![Selection::Multicast { ids: ids(0) }, Selection::Clones { ids: ids(0) }],
                Some(_) => vec![match replication_type(entry)? {
                    Replication::MulticastGroupEntry(entry) => Selection::Multicast {
                        ids: ids(entry.multicast_group_id),
                    },
                    Replication::CloneSessionEntry(entry) => Selection::Clones {
                        ids: ids(entry.session_id),
                    },
                }],
            },
            Entity::ValueSetEntry(entry) => {
                if !entry.members.is_empty() {
                    return Err(ApiError::invalid("read of a value set; expected no members"));
                }
                let sets = all_or_one(&info.objects.value_sets, "value set", entry.value_set_id, false)?;
                sets.map(|set| Selection::ValueSet {
                    id: set.id,
                    members: Vec::new(),
                })
                .collect()
            }
            Entity::DigestEntry(entry) => {
                let digests = all_or_one(&info.objects.digests, "digest", entry.digest_id, false)?;
                digests.map(|digest| Selection::Digest { id: digest.id }).collect()
            }
            Entity::ExternEntry(_) if !info.objects.has_externs => Vec::new(),
            Entity::ExternEntry(_) => return Err(ApiError::unimplemented("entries of externs are not supported")),
        };
        Ok(Query(selections.into()))
    }

    /// What is to be read next.
    pub fn next(&mut self) -> Option<Selection> {
        self.0.pop_front()
    }

    /// Puts back what has not been read to its end.
    pub fn put_back(&mut self, selection: Selection) {
        self.0.push_front(selection);
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
            "read of every {kind} (ID 0); expected no other ID"
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
    selection: impl Fn(u32, Range<usize>) -> Selection,
) -> Result<Vec<Selection>, ApiError> {
    if id == 0 && index.is_some() {
        return Err(ApiError::invalid(format!(
            "read of every {kind} (ID 0); expected no index"
        )));
    }
    let wanted: Vec<&Array> = arrays.filter(|array| id == 0 || array.id == id).collect();
    if id != 0 && wanted.is_empty() {
        return Err(ApiError::not_found(format!("no {kind} with ID {id:#010x}")));
    }
    let select = |array: &Array| {
        let cells = cells::range(array, index).map_err(|error| error.at(format_args!("{kind} {}", array.name)))?;
        Ok(selection(array.id, cells))
    };
    wanted.into_iter().map(select).collect()
}

impl Selection {
    /// Whether the pipeline is asked, or only the books.
    pub fn asks_pipeline(&self) -> bool {
        !matches!(
            self,
            Selection::Groups { .. }
                | Selection::Multicast { .. }
                | Selection::Clones { .. }
                | Selection::Digest { .. }
        )
    }

    /// Asks the pipeline for the next slice: a few tens of microseconds, however much there is.
    pub fn run(&mut self, info: &P4Info, pipeline: &Pipeline) -> Result<Finding, ApiError> {
        let objects = &info.objects;
        Ok(match self {
            Selection::Entries(query) => Finding::Entries(query.run(info, pipeline)?),
            Selection::Counter { id, cells } => {
                let (name, first) = (&objects.counters[id].name, first_cells(cells));
                let found = first.clone().map(|index| pipeline.counter_read(name, index));
                Finding::Counters(first, found.collect::<Result<_, _>>()?)
            }
            Selection::Meter { id, cells } => {
                let (name, first) = (&objects.meters[id].array.name, first_cells(cells));
                let found = first.clone().map(|index| pipeline.meter_read(name, index));
                Finding::Meters(first, found.collect::<Result<_, _>>()?)
            }
            Selection::Register { id, cells } => {
                let (name, first) = (&objects.registers[id].array.name, first_cells(cells));
                let found = first.clone().map(|index| pipeline.register_read(name, index));
                Finding::Registers(first, found.collect::<Result<_, _>>()?)
            }
            Selection::Members { profile, ids } => {
                let name = &objects.profiles[profile].name;
                let mut members = pipeline.member_page(name, *ids.start(), SLICE)?;
                let is_full = members.len() == SLICE;
                members.retain(|(id, _)| ids.contains(id));
                *ids = after(ids, members.last().map(|(id, _)| *id).filter(|_| is_full));
                Finding::Members(members)
            }
            Selection::ValueSet { id, members } => {
                let name = &objects.value_sets[id].name;
                Finding::ValueSet(pipeline.value_set_page(name, members.len(), SLICE)?)
            }
            Selection::Groups { .. }
            | Selection::Multicast { .. }
            | Selection::Clones { .. }
            | Selection::Digest { .. } => Finding::InBooks,
        })
    }

    /// Turns a slice's answer into entities. Gives back what is left to be read.
    pub fn encode(
        mut self,
        info: &P4Info,
        books: &Books,
        finding: Finding,
        give: &mut dyn FnMut(Entity),
    ) -> Result<Option<Selection>, ApiError> {
        let at = |index: usize| Some(v1::Index { index: index as i64 });
        let is_over = match (&mut self, finding) {
            (Selection::Entries(query), Finding::Entries(found)) => query.encode(info, books, found, give)?,
            (Selection::Counter { id, cells }, Finding::Counters(indices, counts)) => {
                for (index, (packets, bytes)) in indices.zip(counts) {
                    let data = Some(Count { packets, bytes }.encode());
                    give(Entity::CounterEntry(v1::CounterEntry {
                        counter_id: *id,
                        index: at(index),
                        data,
                    }));
                }
                cells.start >= cells.end
            }
            (Selection::Meter { id, cells }, Finding::Meters(indices, configs)) => {
                for (index, config) in indices.zip(configs) {
                    let config = config.as_ref().map(meter::encode);
                    let (meter_id, index) = (*id, at(index));
                    give(Entity::MeterEntry(v1::MeterEntry {
                        meter_id,
                        index,
                        config,
                        counter_data: None,
                    }));
                }
                cells.start >= cells.end
            }
            (Selection::Register { id, cells }, Finding::Registers(indices, values)) => {
                let shape = info
                    .objects
                    .registers
                    .get(id)
                    .and_then(|register| register.shape.as_ref());
                for (index, value) in indices.zip(values) {
                    let data = shape.and_then(|shape| shape.encode(&mut [value].iter()));
                    give(Entity::RegisterEntry(v1::RegisterEntry {
                        register_id: *id,
                        index: at(index),
                        data,
                    }));
                }
                cells.start >= cells.end
            }
            // A selector with action sets gives the sets, not what they are made of.
            (Selection::Members { profile, .. }, _) if books.has_one_shots(*profile) => true,
            (Selection::Members { profile, ids }, Finding::Members(members)) => {
                for (member_id, call) in members {
                    let action = action::encode(info, &call);
                    let action_profile_id = *profile;
                    give(Entity::ActionProfileMember(v1::ActionProfileMember {
                        action_profile_id,
                        member_id,
                        action,
                    }));
                }
                ids.is_empty()
            }
            (Selection::ValueSet { id, members }, Finding::ValueSet(mut more)) => {
                let is_over = more.len() < SLICE;
                members.append(&mut more);
                if is_over {
                    give(Entity::ValueSetEntry(encode_value_set(
                        info,
                        *id,
                        std::mem::take(members),
                    )));
                }
                is_over
            }
            (selection, _) => selection.encode_books(books, give),
        };
        Ok((!is_over).then_some(self))
    }

    /// Whether what has been read so far has to be read on before anything is written: it is one entity.
    pub fn is_half_an_entity(&self) -> bool {
        matches!(self, Selection::ValueSet { .. })
    }

    /// Gives the next slice of what only the books have. True if that was all.
    fn encode_books(&mut self, books: &Books, give: &mut dyn FnMut(Entity)) -> bool {
        let mut give_replication = |kind| {
            let entry = v1::PacketReplicationEngineEntry { r#type: Some(kind) };
            give(Entity::PacketReplicationEngineEntry(entry));
        };
        match self {
            Selection::Groups { profile, ids } => {
                let groups = books.groups.range((*profile, *ids.start())..=(*profile, *ids.end()));
                let slice = groups.take(SLICE).map(|((_, id), group)| (*id, group));
                give_slice(ids, slice, |group| give(Entity::ActionProfileGroup(group.clone())))
            }
            Selection::Multicast { ids } => {
                let slice = books
                    .multicast
                    .range(ids.clone())
                    .take(SLICE)
                    .map(|(id, entry)| (*id, entry));
                give_slice(ids, slice, |entry| {
                    give_replication(Replication::MulticastGroupEntry(entry.clone()));
                })
            }
            Selection::Clones { ids } => {
                let slice = books
                    .clones
                    .range(ids.clone())
                    .take(SLICE)
                    .map(|(id, entry)| (*id, entry));
                give_slice(ids, slice, |entry| {
                    give_replication(Replication::CloneSessionEntry(entry.clone()));
                })
            }
            Selection::Digest { id } => {
                if let Some(config) = books.digests.get(id) {
                    give(Entity::DigestEntry(v1::DigestEntry {
                        digest_id: *id,
                        config: Some(*config),
                    }));
                }
                true
            }
            _ => true,
        }
    }
}

/// Gives at most [`SLICE`] entries of books by their ids, and leaves those after them. True if none can be left.
fn give_slice<'a, T: 'a>(
    ids: &mut Ids,
    slice: impl Iterator<Item = (u32, &'a T)>,
    mut give: impl FnMut(&'a T),
) -> bool {
    let (mut count, mut last) = (0, None);
    for (id, entry) in slice {
        give(entry);
        (count, last) = (count + 1, Some(id));
    }
    *ids = after(ids, last.filter(|_| count == SLICE));
    ids.is_empty()
}

fn encode_value_set(info: &P4Info, id: u32, members: Vec<Vec<Bits>>) -> v1::ValueSetEntry {
    let fields = &info.objects.value_sets[&id].fields;
    let member = |values: Vec<Bits>| {
        let values = values.into_iter().map(slotwise_p4::KeyField::Exact).collect();
        v1::ValueSetMember {
            r#match: key::encode_key(fields, &key::canonical_key(values)),
        }
    };
    v1::ValueSetEntry {
        value_set_id: id,
        members: members.into_iter().map(member).collect(),
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
