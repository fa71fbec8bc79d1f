// SPDX-License-Identifier: Apache-2.0
//! Messages for the programs in `tests/programs`, and what comes back.
#![allow(dead_code, reason = "each test file uses a part")]

use prost::Message;
use slotwise_p4runtime::proto::google::rpc;
use slotwise_p4runtime::proto::p4::config::v1 as config;
pub use slotwise_p4runtime::proto::p4::config::v1::p4_new_type_translation::{SdnString, SdnType};
use slotwise_p4runtime::proto::p4::v1::*;
use tonic::{Code, Status};

use super::{Program, TABLES};

/// An update of a write, not of a stream.
pub type Update_ = slotwise_p4runtime::proto::p4::v1::Update;

pub fn update(kind: update::Type, entity: entity::Entity) -> Update_ {
    Update_ {
        r#type: kind.into(),
        entity: Some(Entity { entity: Some(entity) }),
    }
}

pub fn insert(entry: TableEntry) -> Update_ {
    update(update::Type::Insert, entity::Entity::TableEntry(entry))
}

pub fn modify(entry: TableEntry) -> Update_ {
    update(update::Type::Modify, entity::Entity::TableEntry(entry))
}

pub fn delete(entry: TableEntry) -> Update_ {
    update(update::Type::Delete, entity::Entity::TableEntry(entry))
}

pub fn exact(field_id: u32, value: &[u8]) -> FieldMatch {
    let exact = field_match::Exact { value: value.to_vec() };
    FieldMatch {
        field_id,
        field_match_type: Some(field_match::FieldMatchType::Exact(exact)),
    }
}

pub fn lpm(field_id: u32, value: &[u8], prefix_len: i32) -> FieldMatch {
    let lpm = field_match::Lpm {
        value: value.to_vec(),
        prefix_len,
    };
    FieldMatch {
        field_id,
        field_match_type: Some(field_match::FieldMatchType::Lpm(lpm)),
    }
}

pub fn ternary(field_id: u32, value: &[u8], mask: &[u8]) -> FieldMatch {
    let ternary = field_match::Ternary {
        value: value.to_vec(),
        mask: mask.to_vec(),
    };
    FieldMatch {
        field_id,
        field_match_type: Some(field_match::FieldMatchType::Ternary(ternary)),
    }
}

pub fn range(field_id: u32, low: &[u8], high: &[u8]) -> FieldMatch {
    let range = field_match::Range {
        low: low.to_vec(),
        high: high.to_vec(),
    };
    FieldMatch {
        field_id,
        field_match_type: Some(field_match::FieldMatchType::Range(range)),
    }
}

pub fn optional(field_id: u32, value: &[u8]) -> FieldMatch {
    let optional = field_match::Optional { value: value.to_vec() };
    FieldMatch {
        field_id,
        field_match_type: Some(field_match::FieldMatchType::Optional(optional)),
    }
}

pub fn action(action_id: u32, params: &[&[u8]]) -> Option<TableAction> {
    let params = params.iter().enumerate();
    let params = params.map(|(index, value)| action::Param {
        param_id: index as u32 + 1,
        value: value.to_vec(),
    });
    let action = Action {
        action_id,
        params: params.collect(),
    };
    Some(TableAction {
        r#type: Some(table_action::Type::Action(action)),
    })
}

/// Entry of `mac`: destination to port.
pub fn mac_entry(program: &Program, mac: u8, port: &[u8]) -> TableEntry {
    TableEntry {
        table_id: program.table("mac"),
        r#match: vec![exact(1, &[mac])],
        action: action(program.action("forward"), &[port]),
        ..TableEntry::default()
    }
}

/// The codes of a batch, from the status's details.
pub fn batch_codes(status: &Status) -> Vec<Code> {
    assert_eq!(status.code(), Code::Unknown, "{status:?}");
    let details = rpc::Status::decode(status.details()).unwrap();
    assert_eq!(
        (details.code, details.message.as_str()),
        (status.code().into(), status.message())
    );
    let code = |any: &prost_types::Any| {
        assert_eq!(any.type_url, "type.googleapis.com/p4.v1.Error");
        Code::from(Error::decode(any.value.as_slice()).unwrap().canonical_code)
    };
    details.details.iter().map(code).collect()
}

/// Gives P4Info a type that controllers see as `sdn_type`; the name of the type.
pub fn translated_type(info: &mut config::P4Info, sdn_type: SdnType) -> Option<config::P4NamedType> {
    let translation = config::P4NewTypeTranslation {
        uri: String::new(),
        sdn_type: Some(sdn_type),
    };
    let new_type = config::P4NewTypeSpec {
        representation: Some(config::p4_new_type_spec::Representation::TranslatedType(translation)),
        ..Default::default()
    };
    let name = "translated_t".to_owned();
    let types = info.type_info.get_or_insert_default();
    types.new_types.insert(name.clone(), new_type);
    Some(config::P4NamedType { name })
}

/// An Ethernet frame to a destination MAC.
pub fn frame(dst: u8, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 0, 0, dst, 0, 0, 0, 0, 0, 99];
    frame.extend_from_slice(&ether_type.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// An entry of one of `TABLES` tables, without anything in it.
pub fn table(name: &str) -> TableEntry {
    TableEntry {
        table_id: TABLES.table(name),
        ..TableEntry::default()
    }
}

/// An entry of `route`.
pub fn route(matches: Vec<FieldMatch>) -> TableEntry {
    TableEntry {
        r#match: matches,
        action: action(TABLES.action("forward"), &[&[1]]),
        ..table("route")
    }
}

/// An entry of `acl` that drops.
pub fn acl(priority: i32, matches: Vec<FieldMatch>) -> TableEntry {
    TableEntry {
        r#match: matches,
        priority,
        action: action(TABLES.action("drop"), &[]),
        ..table("acl")
    }
}

/// A table's default entry.
pub fn default_of(name: &str, action: Option<TableAction>) -> TableEntry {
    TableEntry {
        is_default_action: true,
        action,
        ..table(name)
    }
}

/// One cell of the port counter, or all.
pub fn counter_cell(index: Option<i64>, data: Option<(i64, i64)>) -> entity::Entity {
    entity::Entity::CounterEntry(CounterEntry {
        counter_id: TABLES.counter(),
        index: index.map(|index| Index { index }),
        data: data.map(|(packet_count, byte_count)| CounterData {
            packet_count,
            byte_count,
        }),
    })
}
