// SPDX-License-Identifier: Apache-2.0
use tonic::Code;

use super::*;
use crate::proto::p4::config::v1 as config;
use crate::testing::entities;

fn weighed(method: &str, bytes: &[u8], cuts: usize) -> (Result<usize, Status>, Weigher) {
    let mut weigher = Weigher::of(method);
    weigher.begin(bytes.len());
    let mut taken = Ok(0);
    for piece in bytes.chunks(cuts) {
        taken = weigher.advance(piece);
    }
    (taken, weigher)
}

fn bound(name: &str) -> usize {
    let pool = DescriptorPool::decode(DESCRIPTORS).unwrap();
    struct_bytes(&pool.get_message_by_name(name).unwrap())
}

#[test]
fn structs_are_not_larger_than_they_are_taken_for() {
    let sizes = [
        ("p4.v1.Update", size_of::<v1::Update>()),
        ("p4.v1.Entity", size_of::<v1::Entity>()),
        ("p4.v1.TableEntry", size_of::<v1::TableEntry>()),
        ("p4.v1.FieldMatch", size_of::<v1::FieldMatch>()),
        ("p4.v1.Action.Param", size_of::<v1::action::Param>()),
        ("p4.v1.ActionProfileAction", size_of::<v1::ActionProfileAction>()),
        (
            "p4.v1.ActionProfileGroup.Member",
            size_of::<v1::action_profile_group::Member>(),
        ),
        ("p4.v1.Replica", size_of::<v1::Replica>()),
        ("p4.v1.BackupReplica", size_of::<v1::BackupReplica>()),
        ("p4.v1.ValueSetMember", size_of::<v1::ValueSetMember>()),
        ("p4.v1.PacketMetadata", size_of::<v1::PacketMetadata>()),
        ("p4.v1.P4Data", size_of::<v1::P4Data>()),
        ("p4.config.v1.Table", size_of::<config::Table>()),
        ("p4.config.v1.Action", size_of::<config::Action>()),
        ("p4.config.v1.MatchField", size_of::<config::MatchField>()),
        ("p4.config.v1.Register", size_of::<config::Register>()),
        ("p4.config.v1.P4DataTypeSpec", size_of::<config::P4DataTypeSpec>()),
    ];
    for (name, size) in sizes {
        let bound = bound(name);
        assert!(
            size <= bound && bound <= 2 * size,
            "{name}: {size} bytes, taken for {bound}"
        );
    }
}

#[test]
fn empty_updates_count_as_what_they_become() {
    let (taken, weigher) = weighed("Write", &[0x22, 0].repeat(1000), 7);
    let taken = taken.unwrap();
    let room = 1024 * size_of::<v1::Update>();
    assert!(taken >= room && taken <= 2 * room, "{taken}");
    assert!(weigher.finish().is_ok());
}

#[test]
fn more_updates_than_there_may_be_are_refused_as_they_come() {
    let mut weigher = Weigher::of("Write");
    weigher.begin(usize::MAX);
    weigher.advance(&[0x22, 0].repeat(MAX_UPDATES)).unwrap();
    let refused = weigher.advance(&[0x22, 0]).unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
}

#[test]
fn whatever_is_repeated_within_counts() {
    let param = v1::action::Param::default();
    let action = v1::Action {
        action_id: 1,
        params: vec![param; 10_000],
    };
    let entry = v1::TableEntry {
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(action)),
        }),
        ..v1::TableEntry::default()
    };
    let entity = Some(v1::entity::Entity::TableEntry(entry));
    let request = v1::ReadRequest {
        entities: vec![v1::Entity { entity }],
        ..v1::ReadRequest::default()
    };
    let (taken, weigher) = weighed("Read", &request.encode_to_vec(), 1000);
    assert!(taken.unwrap() >= 16_384 * size_of::<v1::action::Param>());
    assert!(weigher.finish().unwrap().is_none());
}

#[test]
fn the_head_is_known_however_it_is_cut() {
    let update = v1::Update {
        entity: Some(v1::Entity {
            entity: Some(v1::entity::Entity::TableEntry(v1::TableEntry::default())),
        }),
        ..v1::Update::default()
    };
    let mut request = v1::WriteRequest {
        device_id: 300,
        role: "r".repeat(200),
        election_id: Some(v1::Uint128 { high: 1, low: 1 << 40 }),
        updates: vec![update; 3],
        atomicity: 1,
        ..v1::WriteRequest::default()
    };
    let bytes = request.encode_to_vec();
    request.updates.clear();
    for cuts in 1..20 {
        let (_, weigher) = weighed("Write", &bytes, cuts);
        assert_eq!(weigher.finish().unwrap(), Some(Head::Write(request.clone())), "{cuts}");
    }
    let mut request = v1::SetForwardingPipelineConfigRequest {
        device_id: 1,
        role: "r".to_owned(),
        election_id: Some(v1::Uint128 { high: 0, low: 7 }),
        action: 3,
        config: Some(entities()),
        ..v1::SetForwardingPipelineConfigRequest::default()
    };
    let bytes = request.encode_to_vec();
    request.config = None;
    let (_, weigher) = weighed("SetForwardingPipelineConfig", &bytes, 1000);
    assert_eq!(weigher.finish().unwrap(), Some(Head::Config(request)));
}

#[test]
fn what_cannot_be_decoded_is_refused() {
    for bytes in [
        &[0x22, 5, 1][..],
        &[0],
        &[0x22],
        &[0x80],
        &[0x23, 0x24],
        &[0x22, 3, 0x12, 9, 0],
    ] {
        assert!(
            v1::WriteRequest::decode(bytes).is_err() || bytes == [0x23, 0x24],
            "{bytes:?}"
        );
        let (_, weigher) = weighed("Write", bytes, 1);
        assert_eq!(weigher.finish().unwrap_err().code(), Code::InvalidArgument, "{bytes:?}");
    }
}
