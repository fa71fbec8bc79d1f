// SPDX-License-Identifier: Apache-2.0
//! Messages with bytes changed at random: whatever still decodes is taken or refused, and never panics.

use std::sync::Arc;

use proptest::prelude::*;
use prost::Message;
use slotwise_p4::{Pipeline, PipelineConfig, Program, TimestampUnit};

use crate::device::Installed;
use crate::p4info::{self, P4Info};
use crate::proto::p4::v1;
use crate::read::{Notes, Query};
use crate::write;

const JSON: &[u8] = include_bytes!("../tests/programs/tables.json");
const TEXT: &[u8] = include_bytes!("../tests/programs/tables.p4info.txtpb");

fn pipeline_config() -> PipelineConfig {
    PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 1,
    }
}

/// Positions (as fractions of the length) and new bytes.
fn changes() -> impl Strategy<Value = Vec<(f64, u8)>> {
    prop::collection::vec((0.0..1.0, any::<u8>()), 1..6)
}

fn changed(message: &impl Message, changes: &[(f64, u8)]) -> Vec<u8> {
    let mut bytes = message.encode_to_vec();
    for (place, byte) in changes {
        let index = (place * bytes.len() as f64) as usize;
        bytes[index] = *byte;
    }
    bytes
}

/// One update for each kind of match, with every field in use.
fn updates() -> Vec<v1::Update> {
    let info = p4info::parse(TEXT, false).unwrap();
    let bytes = |length: usize| vec![1; length];
    let field = |field: &crate::proto::p4::config::v1::MatchField| {
        use v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
        let kind = match field.bitwidth {
            48 | 4 => FieldMatchType::Exact(Exact { value: bytes(1) }),
            32 => FieldMatchType::Ternary(Ternary {
                value: bytes(4),
                mask: vec![0xff; 4],
            }),
            16 => FieldMatchType::Range(Range {
                low: bytes(1),
                high: bytes(2),
            }),
            12 => FieldMatchType::Optional(Optional { value: bytes(1) }),
            _ => FieldMatchType::Lpm(Lpm {
                value: bytes(4),
                prefix_len: 32,
            }),
        };
        v1::FieldMatch {
            field_id: field.id,
            field_match_type: Some(kind),
        }
    };
    info.tables
        .iter()
        .flat_map(|table| {
            let reference = table.action_refs[0].id;
            let action = info
                .actions
                .iter()
                .find(|action| action.preamble.as_ref().unwrap().id == reference)
                .unwrap();
            let params = action.params.iter().map(|param| v1::action::Param {
                param_id: param.id,
                value: bytes(1),
            });
            let action = v1::Action {
                action_id: reference,
                params: params.collect(),
            };
            let entry = v1::TableEntry {
                table_id: table.preamble.as_ref().unwrap().id,
                r#match: table.match_fields.iter().map(field).collect(),
                action: Some(v1::TableAction {
                    r#type: Some(v1::table_action::Type::Action(action)),
                }),
                priority: 3,
                counter_data: Some(v1::CounterData {
                    byte_count: 1,
                    packet_count: 1,
                }),
                metadata: bytes(3),
                ..v1::TableEntry::default()
            };
            [
                v1::update::Type::Insert,
                v1::update::Type::Modify,
                v1::update::Type::Delete,
            ]
            .map(|kind| v1::Update {
                r#type: kind.into(),
                entity: Some(v1::Entity {
                    entity: Some(v1::entity::Entity::TableEntry(entry.clone())),
                }),
            })
        })
        .collect()
}

proptest! {
    #[test]
    fn p4info(changes in changes()) {
        let bytes = changed(&p4info::parse(TEXT, false).unwrap(), &changes);
        if let Ok(p4info) = p4info::parse(&bytes, true) {
            let config = v1::ForwardingPipelineConfig { p4info: Some(p4info), p4_device_config: JSON.to_vec(), cookie: None };
            let _ = Installed::verify(config, &pipeline_config());
        }
    }

    #[test]
    fn text(changes in changes()) {
        let mut bytes = TEXT.to_vec();
        for (place, byte) in changes {
            let index = (place * bytes.len() as f64) as usize;
            bytes[index] = byte;
        }
        let _ = p4info::parse(&bytes, false);
    }

    #[test]
    fn batches(changes in changes()) {
        let info = P4Info::new(&p4info::parse(TEXT, false).unwrap()).unwrap();
        let mut pipeline = Pipeline::new(Arc::new(Program::from_json(JSON).unwrap()), pipeline_config());
        let request = v1::WriteRequest { updates: updates(), ..v1::WriteRequest::default() };
        let Ok(request) = v1::WriteRequest::decode(changed(&request, &changes).as_slice()) else { return Ok(()) };
        for update in &request.updates {
            if let Ok(planned) = write::plan(&info, update) {
                let _ = planned.operation.apply(&mut pipeline);
            }
            let Some(Ok(query)) = update.entity.as_ref().map(|entity| Query::new(&info, entity)) else { continue };
            for found in query.run(&pipeline).unwrap_or_default() {
                query.encode(&info, &Notes::new(), found);
            }
        }
    }
}
