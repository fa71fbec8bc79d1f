// SPDX-License-Identifier: Apache-2.0
//! Messages with bytes changed at random: whatever still decodes is taken or refused, and never panics. Batches that are
//! to be all or nothing leave no trace when they fail.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use prost::Message;
use slotwise_p4::{Memory, Pipeline, Program};

use crate::device::Installed;
use crate::entity::{self, Books, Query, State, Touched};
use crate::error::ApiError;
use crate::p4info::{self, P4Info};
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::v1::{self, entity::Entity, packet_replication_engine_entry::Type as Replication, update::Type};
use crate::testing::{ENTITIES_JSON, ENTITIES_P4INFO, pipeline_config, programs};

type Source = (&'static [u8], &'static [u8]);

const PROGRAMS: [Source; 2] = [
    (
        include_bytes!("../tests/programs/tables.json"),
        include_bytes!("../tests/programs/tables.p4info.txtpb"),
    ),
    (ENTITIES_JSON, ENTITIES_P4INFO),
];

/// Positions (as fractions of the length) and new bytes.
fn changes() -> impl Strategy<Value = Vec<(f64, u8)>> {
    prop::collection::vec((0.0..1.0, any::<u8>()), 0..6)
}

fn change(bytes: &mut [u8], changes: &[(f64, u8)]) {
    for (place, byte) in changes {
        let index = (place * bytes.len() as f64) as usize;
        bytes[index] = *byte;
    }
}

fn changed(message: &impl Message, changes: &[(f64, u8)]) -> Vec<u8> {
    let mut bytes = message.encode_to_vec();
    change(&mut bytes, changes);
    bytes
}

fn id(preamble: &Option<config::Preamble>) -> u32 {
    preamble.as_ref().unwrap().id
}

fn field(field: &config::MatchField) -> v1::FieldMatch {
    use config::match_field::{Match, MatchType};
    use v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
    let kind = match field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(kind).unwrap(),
        _ => MatchType::Exact,
    };
    let value = vec![1];
    let kind = match kind {
        MatchType::Ternary => FieldMatchType::Ternary(Ternary { value, mask: vec![3] }),
        MatchType::Range => FieldMatchType::Range(Range {
            low: value,
            high: vec![2],
        }),
        MatchType::Optional => FieldMatchType::Optional(Optional { value }),
        MatchType::Lpm => FieldMatchType::Lpm(Lpm {
            value: vec![1; 4],
            prefix_len: 32,
        }),
        MatchType::Exact | MatchType::Unspecified => FieldMatchType::Exact(Exact { value }),
    };
    v1::FieldMatch {
        field_id: field.id,
        field_match_type: Some(kind),
    }
}

fn action(info: &config::P4Info, table: &config::Table) -> v1::Action {
    let action_id = table.action_refs[0].id;
    let action = info
        .actions
        .iter()
        .find(|action| id(&action.preamble) == action_id)
        .unwrap();
    let param = |param: &config::action::Param| v1::action::Param {
        param_id: param.id,
        value: vec![1],
    };
    v1::Action {
        action_id,
        params: action.params.iter().map(param).collect(),
    }
}

fn table_entry(info: &config::P4Info, table: &config::Table) -> v1::TableEntry {
    use v1::table_action::Type;
    let has = |id: u32| table.direct_resource_ids.contains(&id);
    let profile = info
        .action_profiles
        .iter()
        .find(|profile| id(&profile.preamble) == table.implementation_id);
    let action = match profile {
        None => Type::Action(action(info, table)),
        Some(profile) if profile.with_selector => {
            let action = Some(action(info, table));
            let action = v1::ActionProfileAction {
                action,
                weight: 1,
                watch_kind: None,
            };
            let action_profile_actions = vec![action];
            Type::ActionProfileActionSet(v1::ActionProfileActionSet {
                action_profile_actions,
                ..Default::default()
            })
        }
        Some(_) => Type::ActionProfileMemberId(1),
    };
    v1::TableEntry {
        table_id: id(&table.preamble),
        r#match: table.match_fields.iter().map(field).collect(),
        action: Some(v1::TableAction { r#type: Some(action) }),
        priority: i32::from(table.match_fields.len() > 1 && profile.is_none()),
        counter_data: info
            .direct_counters
            .iter()
            .any(|it| has(id(&it.preamble)))
            .then(v1::CounterData::default),
        meter_config: info
            .direct_meters
            .iter()
            .any(|it| has(id(&it.preamble)))
            .then(v1::MeterConfig::default),
        idle_timeout_ns: i64::from(table.idle_timeout_behavior) * 1000,
        metadata: vec![1; 3],
        ..v1::TableEntry::default()
    }
}

/// Every kind of entity with every field in use, inserted or modified, then deleted.
fn updates(info: &config::P4Info) -> Vec<v1::Update> {
    let mut changing = Vec::new();
    let index = Some(v1::Index { index: 3 });
    for profile in &info.action_profiles {
        let table = info
            .tables
            .iter()
            .find(|table| id(&table.preamble) == profile.table_ids[0])
            .unwrap();
        let (action_profile_id, member_id) = (id(&profile.preamble), 1);
        let action = Some(action(info, table));
        changing.push((
            Type::Insert,
            Entity::ActionProfileMember(v1::ActionProfileMember {
                action_profile_id,
                member_id,
                action,
            }),
        ));
        let members = vec![v1::action_profile_group::Member {
            member_id,
            weight: 1,
            watch_kind: None,
        }];
        let group = v1::ActionProfileGroup {
            action_profile_id,
            group_id: 1,
            members,
            max_size: 4,
        };
        changing.push((Type::Insert, Entity::ActionProfileGroup(group)));
    }
    for table in &info.tables {
        let entry = table_entry(info, table);
        changing.push((Type::Insert, Entity::TableEntry(entry.clone())));
        changing.push((Type::Modify, Entity::TableEntry(entry.clone())));
        let table_entry = Some(v1::TableEntry { action: None, ..entry });
        let (data, config) = (Some(v1::CounterData::default()), Some(v1::MeterConfig::default()));
        if !table.direct_resource_ids.is_empty() {
            let counter = v1::DirectCounterEntry {
                table_entry: table_entry.clone(),
                data,
            };
            changing.push((Type::Modify, Entity::DirectCounterEntry(counter)));
            let meter = v1::DirectMeterEntry {
                table_entry,
                config,
                counter_data: None,
            };
            changing.push((Type::Modify, Entity::DirectMeterEntry(meter)));
        }
    }
    for counter in &info.counters {
        let (counter_id, data) = (
            id(&counter.preamble),
            Some(v1::CounterData {
                byte_count: 9,
                packet_count: 1,
            }),
        );
        changing.push((
            Type::Modify,
            Entity::CounterEntry(v1::CounterEntry {
                counter_id,
                index,
                data,
            }),
        ));
    }
    for meter in &info.meters {
        let config = Some(v1::MeterConfig {
            cir: 1,
            cburst: 1,
            pir: 2,
            pburst: 2,
            eburst: 0,
        });
        let meter_id = id(&meter.preamble);
        changing.push((
            Type::Modify,
            Entity::MeterEntry(v1::MeterEntry {
                meter_id,
                index,
                config,
                counter_data: None,
            }),
        ));
    }
    for register in &info.registers {
        let data = Some(v1::P4Data {
            data: Some(v1::p4_data::Data::Bitstring(vec![1; 6])),
        });
        let register_id = id(&register.preamble);
        changing.push((
            Type::Modify,
            Entity::RegisterEntry(v1::RegisterEntry {
                register_id,
                index,
                data,
            }),
        ));
    }
    for set in &info.value_sets {
        let members = vec![v1::ValueSetMember {
            r#match: set.r#match.iter().map(field).collect(),
        }];
        let value_set_id = id(&set.preamble);
        changing.push((
            Type::Modify,
            Entity::ValueSetEntry(v1::ValueSetEntry { value_set_id, members }),
        ));
    }
    for digest in &info.digests {
        let config = Some(v1::digest_entry::Config {
            max_timeout_ns: 9,
            max_list_size: 9,
            ack_timeout_ns: 9,
        });
        changing.push((
            Type::Insert,
            Entity::DigestEntry(v1::DigestEntry {
                digest_id: id(&digest.preamble),
                config,
            }),
        ));
    }
    let port_kind = Some(v1::replica::PortKind::Port(vec![2]));
    let backup_replicas = vec![v1::BackupReplica {
        port: vec![3],
        instance: 4,
    }];
    let replicas = vec![v1::Replica {
        port_kind,
        instance: 1,
        backup_replicas,
    }];
    let group = v1::MulticastGroupEntry {
        multicast_group_id: 1,
        replicas: replicas.clone(),
        metadata: vec![1; 3],
    };
    let session = v1::CloneSessionEntry {
        session_id: 1,
        replicas,
        class_of_service: 1,
        packet_length_bytes: 64,
    };
    for kind in [
        Replication::MulticastGroupEntry(group),
        Replication::CloneSessionEntry(session),
    ] {
        let entry = v1::PacketReplicationEngineEntry { r#type: Some(kind) };
        changing.push((Type::Insert, Entity::PacketReplicationEngineEntry(entry)));
    }
    let inserted: Vec<_> = changing
        .iter()
        .filter(|(kind, _)| *kind == Type::Insert)
        .cloned()
        .collect();
    let deleting = inserted.into_iter().rev().map(|(_, entity)| (Type::Delete, entity));
    let update = |(kind, entity): (Type, Entity)| v1::Update {
        r#type: kind.into(),
        entity: Some(v1::Entity { entity: Some(entity) }),
    };
    changing.iter().cloned().chain(deleting).map(update).collect()
}

/// Reads slice by slice, to the end.
fn read(
    mut query: Query,
    info: &P4Info,
    pipeline: &Pipeline,
    books: &Books,
    entities: &mut Vec<Entity>,
) -> Result<(), ApiError> {
    while let Some(mut selection) = query.next() {
        let finding = selection.run(info, pipeline)?;
        let rest = selection.encode(info, books, finding, &mut |entity| entities.push(entity))?;
        rest.into_iter().for_each(|rest| query.put_back(rest));
    }
    Ok(())
}

/// All that can be read, in an order that does not depend on the order of writes.
fn everything(info: &P4Info, pipeline: &Pipeline, books: &Books) -> Vec<String> {
    let with_all = v1::TableEntry {
        counter_data: Some(v1::CounterData::default()),
        meter_config: Some(v1::MeterConfig::default()),
        ..v1::TableEntry::default()
    };
    let default = v1::TableEntry {
        is_default_action: true,
        ..v1::TableEntry::default()
    };
    let wildcards = [
        Entity::TableEntry(with_all),
        Entity::TableEntry(default),
        Entity::ActionProfileMember(v1::ActionProfileMember::default()),
        Entity::ActionProfileGroup(v1::ActionProfileGroup::default()),
        Entity::MeterEntry(v1::MeterEntry::default()),
        Entity::DirectMeterEntry(v1::DirectMeterEntry::default()),
        Entity::CounterEntry(v1::CounterEntry::default()),
        Entity::DirectCounterEntry(v1::DirectCounterEntry::default()),
        Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry::default()),
        Entity::ValueSetEntry(v1::ValueSetEntry::default()),
        Entity::RegisterEntry(v1::RegisterEntry::default()),
        Entity::DigestEntry(v1::DigestEntry::default()),
    ];
    let mut entities = Vec::new();
    for entity in wildcards {
        let query = Query::new(info, &v1::Entity { entity: Some(entity) }).unwrap();
        read(query, info, pipeline, books, &mut entities).unwrap();
    }
    let mut lines: Vec<_> = entities.iter().map(|entity| format!("{entity:?}")).collect();
    lines.sort();
    lines
}

fn write(
    info: &P4Info,
    updates: &[v1::Update],
    all_or_none: bool,
    pipeline: &mut Pipeline,
    books: &mut Books,
) -> usize {
    let down = BTreeSet::from([2]);
    let batch = updates.iter().map(|update| entity::plan(info, update)).collect();
    let mut state = State {
        info,
        pipeline,
        books,
        down: &down,
        touched: Touched::default(),
    };
    entity::apply_batch(batch, all_or_none, &mut state)
        .iter()
        .flatten()
        .count()
}

#[test]
fn most_of_the_updates_are_right() {
    for (json, text) in PROGRAMS {
        let config = p4info::parse(text, false).unwrap();
        let info = P4Info::new(&config, &|_| None).unwrap();
        let mut pipeline = Pipeline::new(Arc::new(Program::from_json(json).unwrap()), pipeline_config());
        let updates = updates(&config);
        let failed = write(&info, &updates, false, &mut pipeline, &mut Books::default());
        assert!(failed * 2 < updates.len(), "{failed} of {}", updates.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn p4info(changes in changes()) {
        for (json, text) in PROGRAMS {
            let bytes = changed(&p4info::parse(text, false).unwrap(), &changes);
            if let Ok(p4info) = p4info::parse(&bytes, true) {
                let config = v1::ForwardingPipelineConfig { p4info: Some(p4info), p4_device_config: json.to_vec(), cookie: None };
                let _ = Installed::verify(config, &pipeline_config(), &programs(&Memory::unlimited()));
            }
        }
    }

    #[test]
    fn text(changes in changes()) {
        for (_, text) in PROGRAMS {
            let mut bytes = text.to_vec();
            change(&mut bytes, &changes);
            let _ = p4info::parse(&bytes, false);
        }
    }

    #[test]
    fn batches(changes in changes(), first in 0..99usize, all_or_none in any::<bool>()) {
        for (json, text) in PROGRAMS {
            let config = p4info::parse(text, false).unwrap();
            let info = P4Info::new(&config, &|_| None).unwrap();
            let mut pipeline = Pipeline::new(Arc::new(Program::from_json(json).unwrap()), pipeline_config());
            let mut books = Books::default();
            let updates = updates(&config);
            // Something is there when the changed batch comes.
            write(&info, &updates[..first.min(updates.len())], false, &mut pipeline, &mut books);
            let request = v1::WriteRequest { updates, ..v1::WriteRequest::default() };
            let Ok(request) = v1::WriteRequest::decode(changed(&request, &changes).as_slice()) else { continue };
            let before = everything(&info, &pipeline, &books);
            let failed = write(&info, &request.updates, all_or_none, &mut pipeline, &mut books);
            let after = everything(&info, &pipeline, &books);
            if all_or_none && failed > 0 {
                prop_assert_eq!(before, after);
            }
            for entity in request.updates.iter().filter_map(|update| update.entity.as_ref()) {
                if let Ok(query) = Query::new(&info, entity) {
                    let _ = read(query, &info, &pipeline, &books, &mut Vec::new());
                }
            }
        }
    }
}
