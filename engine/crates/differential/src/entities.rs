// SPDX-License-Identifier: Apache-2.0
//! Statements of a script as P4Runtime entities.

use crate::aftermath::CounterPlace;
use slotwise_p4::{ActionCall, KeyField, TableEntry};
use slotwise_p4runtime::proto::p4::config::v1 as config;
use slotwise_p4runtime::proto::p4::v1::{
    self, Entity, FieldMatch, Replica, Update, action, entity, field_match, packet_replication_engine_entry, replica,
    table_action, update,
};
use slotwise_stf::Schema;
use slotwise_stf::script::Statement;
use std::collections::BTreeMap;

/// The setup of a case as updates, in order.
pub fn updates(p4info: &config::P4Info, schema: &Schema, setup: &[Statement]) -> Result<Vec<Update>, String> {
    let mut updates = Vec::new();
    let mut nodes: Vec<Vec<Replica>> = Vec::new();
    let mut groups: BTreeMap<u32, Vec<Replica>> = BTreeMap::new();
    for statement in setup {
        match statement {
            Statement::Add { .. } => {
                let (table, entry, others) = schema.entry(statement)?;
                let member = updates.len() as u32 + 1;
                let entities = table_entry(p4info, &table, &entry, &others, member)?;
                updates.extend(entities.into_iter().map(insert));
            }
            Statement::SetDefault { .. } => {
                let (table, call) = schema.default_action(statement)?;
                let table = named(&p4info.tables, |table| &table.preamble, &table)?;
                let chosen = table_action::Type::Action(action(p4info, &call)?);
                let entry = entity::Entity::TableEntry(v1::TableEntry {
                    table_id: id(table.preamble.as_ref()),
                    is_default_action: true,
                    action: Some(v1::TableAction { r#type: Some(chosen) }),
                    ..Default::default()
                });
                updates.push(update(update::Type::Modify, entry));
            }
            Statement::MeterSetRates {
                meter,
                index: Some(index),
                rates: [committed, peak],
            } => {
                let meter = named(&p4info.meters, |meter| &meter.preamble, meter)?;
                let config = v1::MeterConfig {
                    cir: committed.per_second as i64,
                    cburst: committed.burst as i64,
                    pir: peak.per_second as i64,
                    pburst: peak.burst as i64,
                    ..Default::default()
                };
                let entry = entity::Entity::MeterEntry(v1::MeterEntry {
                    meter_id: id(meter.preamble.as_ref()),
                    index: Some(v1::Index {
                        index: i64::from(*index),
                    }),
                    config: Some(config),
                    ..Default::default()
                });
                updates.push(update(update::Type::Modify, entry));
            }
            Statement::GroupCreate(group) => drop(groups.insert(*group, Vec::new())),
            Statement::NodeCreate { instance, ports } => {
                nodes.push(ports.iter().map(|&port| replica(port, *instance)).collect());
            }
            Statement::NodeAssociate { group, node } => {
                let node = nodes.get(*node as usize).ok_or("no such node")?;
                groups
                    .get_mut(group)
                    .ok_or("no such group")?
                    .extend(node.iter().cloned());
            }
            Statement::MirroringAdd { session, port } => {
                let replicas = vec![replica(*port, 0)];
                let session = v1::CloneSessionEntry {
                    session_id: *session,
                    replicas,
                    ..Default::default()
                };
                updates.push(insert(replication(
                    packet_replication_engine_entry::Type::CloneSessionEntry(session),
                )));
            }
            other => return Err(format!("unsupported statement: {other:?}")),
        }
    }
    for (group, replicas) in groups {
        let group = v1::MulticastGroupEntry {
            multicast_group_id: group,
            replicas,
            ..Default::default()
        };
        updates.push(insert(replication(
            packet_replication_engine_entry::Type::MulticastGroupEntry(group),
        )));
    }
    for digest in &p4info.digests {
        // Each message at once, in a list of its own.
        let config = v1::digest_entry::Config {
            max_list_size: 1,
            ..Default::default()
        };
        updates.push(insert(entity::Entity::DigestEntry(v1::DigestEntry {
            digest_id: id(digest.preamble.as_ref()),
            config: Some(config),
        })));
    }
    Ok(updates)
}

fn update(kind: update::Type, entity: entity::Entity) -> Update {
    Update {
        r#type: kind.into(),
        entity: Some(Entity { entity: Some(entity) }),
    }
}

fn insert(entity: entity::Entity) -> Update {
    update(update::Type::Insert, entity)
}

/// What reads a counter: all cells of an indirect one, or an entry's direct one.
pub fn counter_read(p4info: &config::P4Info, place: &CounterPlace) -> Result<entity::Entity, String> {
    Ok(match place {
        CounterPlace::Cell { counter, index } => {
            let counter = named(&p4info.counters, |counter| &counter.preamble, counter)?;
            entity::Entity::CounterEntry(v1::CounterEntry {
                counter_id: id(counter.preamble.as_ref()),
                index: Some(v1::Index { index: *index as i64 }),
                data: None,
            })
        }
        CounterPlace::Entry { table, entry } => {
            let table = named(&p4info.tables, |it| &it.preamble, table)?;
            entity::Entity::DirectCounterEntry(v1::DirectCounterEntry {
                table_entry: Some(v1::TableEntry {
                    table_id: id(table.preamble.as_ref()),
                    r#match: matches(table, entry),
                    priority: entry.priority,
                    ..Default::default()
                }),
                data: None,
            })
        }
    })
}

fn replica(port: u16, instance: u16) -> Replica {
    #[allow(deprecated, reason = "the one kind that every version of the switch knows")]
    let port_kind = Some(replica::PortKind::EgressPort(port.into()));
    Replica {
        port_kind,
        instance: instance.into(),
        ..Default::default()
    }
}

fn replication(entry: packet_replication_engine_entry::Type) -> entity::Entity {
    entity::Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(entry) })
}

/// Without leading zeros, but at least one byte.
pub fn canonical(value: &[u8]) -> Vec<u8> {
    let start = value
        .iter()
        .position(|&byte| byte != 0)
        .unwrap_or(value.len().saturating_sub(1));
    match value.is_empty() {
        true => vec![0],
        false => value[start..].to_vec(),
    }
}

fn is_zero(value: &[u8]) -> bool {
    value.iter().all(|&byte| byte == 0)
}

/// All values that fit.
fn is_all_ones(value: &[u8], width: i32) -> bool {
    value.iter().map(|byte| byte.count_ones()).sum::<u32>() == width.unsigned_abs()
}

fn field_match(field: &config::MatchField, key: &KeyField) -> Option<FieldMatch> {
    let kind = match key {
        KeyField::Exact(value) => field_match::FieldMatchType::Exact(field_match::Exact {
            value: canonical(value),
        }),
        KeyField::Lpm { prefix_len: 0, .. } | KeyField::Optional(None) => return None,
        KeyField::Lpm { value, prefix_len } => field_match::FieldMatchType::Lpm(field_match::Lpm {
            value: canonical(value),
            prefix_len: *prefix_len as i32,
        }),
        KeyField::Ternary { mask, .. } if is_zero(mask) => return None,
        KeyField::Ternary { value, mask } => field_match::FieldMatchType::Ternary(field_match::Ternary {
            value: canonical(value),
            mask: canonical(mask),
        }),
        KeyField::Range { low, high } if is_zero(low) && is_all_ones(high, field.bitwidth) => return None,
        KeyField::Range { low, high } => field_match::FieldMatchType::Range(field_match::Range {
            low: canonical(low),
            high: canonical(high),
        }),
        KeyField::Optional(Some(value)) => field_match::FieldMatchType::Optional(field_match::Optional {
            value: canonical(value),
        }),
    };
    Some(FieldMatch {
        field_id: field.id,
        field_match_type: Some(kind),
    })
}

fn named<'a, T>(all: &'a [T], preamble: impl Fn(&T) -> &Option<config::Preamble>, name: &str) -> Result<&'a T, String> {
    let found = all
        .iter()
        .find(|item| preamble(item).as_ref().is_some_and(|preamble| preamble.name == name));
    found.ok_or_else(|| format!("P4Info has no {name}"))
}

fn id(preamble: Option<&config::Preamble>) -> u32 {
    preamble.map_or(0, |preamble| preamble.id)
}

/// The entry, after the member, or the group of members, that it names if the table has an action profile.
fn table_entry(
    p4info: &config::P4Info,
    table: &str,
    entry: &TableEntry,
    others: &[ActionCall],
    first_member: u32,
) -> Result<Vec<entity::Entity>, String> {
    let table = named(&p4info.tables, |table| &table.preamble, table)?;
    let mut entities = Vec::new();
    let chosen = match table.implementation_id {
        0 => table_action::Type::Action(action(p4info, &entry.action)?),
        profile => {
            let mut members = Vec::new();
            for (member, call) in (first_member..).zip(std::iter::once(&entry.action).chain(others)) {
                entities.push(entity::Entity::ActionProfileMember(v1::ActionProfileMember {
                    action_profile_id: profile,
                    member_id: member,
                    action: Some(action(p4info, call)?),
                }));
                members.push(v1::action_profile_group::Member {
                    member_id: member,
                    weight: 1,
                    ..Default::default()
                });
            }
            if others.is_empty() {
                table_action::Type::ActionProfileMemberId(first_member)
            } else {
                entities.push(entity::Entity::ActionProfileGroup(v1::ActionProfileGroup {
                    action_profile_id: profile,
                    group_id: first_member,
                    max_size: members.len() as i32,
                    members,
                }));
                table_action::Type::ActionProfileGroupId(first_member)
            }
        }
    };
    entities.push(entity::Entity::TableEntry(v1::TableEntry {
        table_id: id(table.preamble.as_ref()),
        r#match: matches(table, entry),
        action: Some(v1::TableAction { r#type: Some(chosen) }),
        priority: entry.priority,
        ..Default::default()
    }));
    Ok(entities)
}

fn matches(table: &config::Table, entry: &TableEntry) -> Vec<FieldMatch> {
    let fields = table.match_fields.iter().zip(&entry.key);
    fields.filter_map(|(field, key)| field_match(field, key)).collect()
}

fn action(p4info: &config::P4Info, call: &ActionCall) -> Result<v1::Action, String> {
    let action = named(&p4info.actions, |action| &action.preamble, &call.name)?;
    let params = action.params.iter().zip(&call.args);
    let params = params.map(|(param, value)| action::Param {
        param_id: param.id,
        value: canonical(value),
    });
    Ok(v1::Action {
        action_id: id(action.preamble.as_ref()),
        params: params.collect(),
    })
}
