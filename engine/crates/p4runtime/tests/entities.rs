// SPDX-License-Identifier: Apache-2.0
//! Entities other than table entries: what is written is read back, wildcards find it, and packets feel it.

use crate::support;

use slotwise_p4runtime::proto::p4::v1::entity::Entity as E;
use slotwise_p4runtime::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;
use update::Type::{Delete, Insert, Modify};

fn id(name: &str) -> u32 {
    ENTITIES.id(name)
}

async fn ready(bench: &Bench) -> Primary {
    bench.ready(&ENTITIES).await
}

/// One code for each update of a batch that is refused in part.
async fn codes(primary: &mut Primary, updates: Vec<Update_>) -> Vec<Code> {
    batch_codes(&primary.write(updates).await.unwrap_err())
}

fn replicas(places: &[(u8, u32)]) -> Vec<Replica> {
    let replica = |&(port, instance): &(u8, u32)| Replica {
        port_kind: Some(replica::PortKind::Port(vec![port])),
        instance,
        backup_replicas: Vec::new(),
    };
    places.iter().map(replica).collect()
}

fn multicast(multicast_group_id: u32, replicas: Vec<Replica>) -> E {
    let entry = MulticastGroupEntry {
        multicast_group_id,
        replicas,
        metadata: b"mine".to_vec(),
    };
    E::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(Replication::MulticastGroupEntry(entry)),
    })
}

fn session(session_id: u32, replicas: Vec<Replica>, packet_length_bytes: i32) -> E {
    let entry = CloneSessionEntry {
        session_id,
        replicas,
        class_of_service: 3,
        packet_length_bytes,
    };
    E::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(Replication::CloneSessionEntry(entry)),
    })
}

/// An entry of `rules` for the last byte of a destination.
fn rule(dst: u8, action_name: &str, params: &[&[u8]]) -> TableEntry {
    TableEntry {
        table_id: id("rules"),
        r#match: vec![ternary(1, &[dst], &[0xff])],
        priority: 1,
        action: action(id(action_name), params),
        ..TableEntry::default()
    }
}

#[tokio::test]
async fn multicast_groups_copy_packets() {
    let mut bench = Bench::start();
    let mut primary = ready(&bench).await;
    let group = multicast(5, replicas(&[(1, 1), (2, 2), (1, 3)]));
    let updates = vec![update(Insert, group.clone()), insert(rule(7, "flood", &[&[5]]))];
    primary.write(updates).await.unwrap();
    bench.inject(1, 4, &frame(7, 0x0800, &[0; 46]));
    let mut left = Vec::new();
    for _ in 0..3 {
        let (_, port, sent) = bench.left.recv().await.unwrap();
        left.push((port, sent[11]));
    }
    assert_eq!(left, [(1, 1), (2, 2), (1, 3)], "port and instance");

    let all = multicast(0, vec![]);
    let everything = E::PacketReplicationEngineEntry(PacketReplicationEngineEntry::default());
    for wildcard in [all, everything] {
        assert_eq!(primary.read(vec![wildcard]).await.unwrap(), vec![group.clone()]);
    }
    let refused = vec![
        update(Insert, group.clone()),
        update(Modify, multicast(6, replicas(&[]))),
        update(Insert, multicast(0, replicas(&[]))),
        update(Insert, multicast(6, replicas(&[(1, 1), (1, 1)]))),
        update(Insert, multicast(6, replicas(&[(1, 65536)]))),
        update(Insert, multicast(6, vec![Replica::default()])),
        update(Insert, multicast(65536, replicas(&[]))),
    ];
    let expected = [Code::AlreadyExists, Code::NotFound];
    let expected = [&expected[..], &[Code::InvalidArgument; 5][..]].concat();
    assert_eq!(codes(&mut primary, refused).await, expected);
    primary.write(vec![update(Delete, multicast(5, vec![]))]).await.unwrap();
    assert_eq!(primary.read(vec![multicast(0, vec![])]).await.unwrap(), []);
}

#[tokio::test]
async fn clone_sessions_copy_and_cut_packets() {
    let mut bench = Bench::start();
    let mut primary = ready(&bench).await;
    let mirror = session(9, replicas(&[(3, 4)]), 20);
    let updates = vec![update(Insert, mirror.clone()), insert(rule(7, "mirror", &[&[2], &[9]]))];
    primary.write(updates).await.unwrap();
    let sent = frame(7, 0x0800, &[0; 46]);
    bench.inject(1, 4, &sent);
    let (_, port, original) = bench.left.recv().await.unwrap();
    assert_eq!((port, original), (2, sent));
    let (_, port, copy) = bench.left.recv().await.unwrap();
    assert_eq!((port, copy.len(), copy[11]), (3, 20, 4));
    assert_eq!(
        primary.read(vec![session(0, vec![], 0)]).await.unwrap(),
        vec![mirror.clone()]
    );
    let refused = vec![
        update(Insert, mirror),
        update(Insert, session(0, replicas(&[]), 0)),
        update(Insert, session(8, replicas(&[]), -1)),
        update(Delete, session(8, vec![], 0)),
    ];
    let expected = [
        Code::AlreadyExists,
        Code::InvalidArgument,
        Code::InvalidArgument,
        Code::NotFound,
    ];
    assert_eq!(codes(&mut primary, refused).await, expected);
}

fn member(profile: &str, member_id: u32, port: Option<u8>) -> E {
    let forward = |port: u8| {
        let params = vec![action::Param {
            param_id: 1,
            value: vec![port],
        }];
        Action {
            action_id: id("forward"),
            params,
        }
    };
    E::ActionProfileMember(ActionProfileMember {
        action_profile_id: id(profile),
        member_id,
        action: port.map(forward),
    })
}

fn group(group_id: u32, members: &[(u32, u8)]) -> E {
    let member = |&(member_id, watch): &(u32, u8)| action_profile_group::Member {
        member_id,
        weight: 1,
        watch_kind: (watch > 0).then(|| action_profile_group::member::WatchKind::WatchPort(vec![watch])),
    };
    let members = members.iter().map(member).collect();
    E::ActionProfileGroup(ActionProfileGroup {
        action_profile_id: id("uplinks"),
        group_id,
        members,
        max_size: 4,
    })
}

fn indirect(table: &str, target: table_action::Type) -> TableEntry {
    TableEntry {
        table_id: id(table),
        r#match: vec![exact(1, &[99])],
        action: Some(TableAction { r#type: Some(target) }),
        ..TableEntry::default()
    }
}

#[tokio::test]
async fn members_are_shared_and_stay_while_they_are_used() {
    let mut bench = Bench::start();
    let mut primary = ready(&bench).await;
    let entry = indirect("by_path", table_action::Type::ActionProfileMemberId(1));
    assert_eq!(codes(&mut primary, vec![insert(entry.clone())]).await, [Code::NotFound]);
    let one = member("paths", 1, Some(3));
    primary
        .write(vec![update(Insert, one.clone()), insert(entry.clone())])
        .await
        .unwrap();
    bench.inject(1, 4, &frame(1, 0x0800, &[0; 46]));
    assert_eq!(bench.left.recv().await.unwrap().1, 3);
    let five = member("paths", 1, Some(5));
    primary.write(vec![update(Modify, five.clone())]).await.unwrap();
    bench.inject(1, 4, &frame(1, 0x0800, &[0; 46]));
    assert_eq!(bench.left.recv().await.unwrap().1, 5);

    let all = E::ActionProfileMember(ActionProfileMember::default());
    for wildcard in [all, member("paths", 0, None), member("paths", 1, None)] {
        assert_eq!(primary.read(vec![wildcard]).await.unwrap(), vec![five.clone()]);
    }
    assert_eq!(
        primary
            .read_entries(TableEntry {
                table_id: id("by_path"),
                ..TableEntry::default()
            })
            .await,
        vec![entry.clone()]
    );
    let direct = TableEntry {
        action: action(id("forward"), &[&[1]]),
        ..entry.clone()
    };
    let refused = vec![
        update(Delete, member("paths", 1, None)),
        update(Insert, one),
        update(Modify, member("paths", 2, Some(1))),
        update(Insert, member("paths", 0, Some(1))),
        update(Insert, member("paths", 3, None)),
        modify(direct),
        modify(indirect("by_path", table_action::Type::ActionProfileGroupId(7))),
    ];
    let expected = [
        Code::FailedPrecondition,
        Code::AlreadyExists,
        Code::NotFound,
        Code::InvalidArgument,
        Code::InvalidArgument,
        Code::InvalidArgument,
        Code::NotFound,
    ];
    assert_eq!(codes(&mut primary, refused).await, expected);
    let updates = vec![delete(entry), update(Delete, member("paths", 1, None))];
    primary.write(updates).await.unwrap();
    let full: Vec<_> = (1..=9).map(|id| update(Insert, member("paths", id, Some(1)))).collect();
    assert_eq!(
        codes(&mut primary, full).await[7..],
        [Code::Ok, Code::ResourceExhausted]
    );
}

/// Frames of different flows, of the type that is parsed further.
fn flow(number: u8) -> Vec<u8> {
    frame(1, 0x88b5, &[1, 2, 3, 4, 0, number])
}

async fn ports_of_flows(bench: &mut Bench) -> std::collections::BTreeSet<u16> {
    let mut ports = std::collections::BTreeSet::new();
    for number in 0..32 {
        bench.inject(1, 4, &flow(number));
        ports.insert(bench.left.recv().await.unwrap().1);
    }
    ports
}

fn tagged_types(types: &[&[u8]]) -> E {
    let member = |value: &&[u8]| ValueSetMember {
        r#match: vec![exact(1, value)],
    };
    E::ValueSetEntry(ValueSetEntry {
        value_set_id: id("tagged_types"),
        members: types.iter().map(member).collect(),
    })
}

#[tokio::test]
async fn groups_spread_flows_and_leave_out_ports_that_are_down() {
    let mut bench = Bench::start();
    let mut primary = ready(&bench).await;
    let whole = group(1, &[(1, 0), (2, 7), (3, 0)]);
    let entry = indirect("by_uplink", table_action::Type::ActionProfileGroupId(1));
    let members = (1..=3).map(|id| update(Insert, member("uplinks", id, Some(id as u8 + 5))));
    let rest = [
        update(Modify, tagged_types(&[&[0x88, 0xb5]])),
        update(Insert, whole.clone()),
        insert(entry),
    ];
    primary.write(members.chain(rest).collect()).await.unwrap();
    assert_eq!(ports_of_flows(&mut bench).await, [6, 7, 8].into());

    bench.port_status(1, 7, false);
    while ports_of_flows(&mut bench).await.contains(&7) {}
    assert_eq!(ports_of_flows(&mut bench).await, [6, 8].into());
    let all = E::ActionProfileGroup(ActionProfileGroup::default());
    for wildcard in [all.clone(), group(0, &[]), group(1, &[])] {
        assert_eq!(
            primary.read(vec![wildcard]).await.unwrap(),
            vec![whole.clone()],
            "as it was written"
        );
    }
    let watched = update(Delete, member("uplinks", 2, None));
    assert_eq!(codes(&mut primary, vec![watched]).await, [Code::FailedPrecondition]);
    bench.port_status(1, 7, true);
    while !ports_of_flows(&mut bench).await.contains(&7) {}

    let too_large = ActionProfileGroup {
        max_size: 5,
        group_id: 2,
        action_profile_id: id("uplinks"),
        members: vec![],
    };
    let resized = ActionProfileGroup {
        max_size: 3,
        group_id: 1,
        ..too_large.clone()
    };
    let refused = vec![
        update(Delete, group(1, &[])),
        update(Insert, group(2, &[(9, 0)])),
        update(Insert, group(2, &[(1, 0), (1, 0)])),
        update(Insert, E::ActionProfileGroup(too_large)),
        update(Modify, E::ActionProfileGroup(resized)),
        update(Insert, group(0, &[])),
        insert(indirect("by_uplink", one_shot(&[1]))),
    ];
    let expected = [Code::FailedPrecondition, Code::NotFound];
    let expected = [&expected[..], &[Code::InvalidArgument; 5][..]].concat();
    assert_eq!(codes(&mut primary, refused).await, expected);
}

fn one_shot(ports: &[u8]) -> table_action::Type {
    let action = |port: &u8| ActionProfileAction {
        action: Some(Action {
            action_id: id("forward"),
            params: vec![action::Param {
                param_id: 1,
                value: vec![*port],
            }],
        }),
        weight: 1,
        watch_kind: None,
    };
    table_action::Type::ActionProfileActionSet(ActionProfileActionSet {
        action_profile_actions: ports.iter().map(action).collect(),
        ..ActionProfileActionSet::default()
    })
}

#[tokio::test]
async fn one_shots_bring_their_own_group() {
    let mut bench = Bench::start();
    let mut primary = ready(&bench).await;
    let entry = indirect("by_uplink", one_shot(&[6, 7]));
    let types = update(Modify, tagged_types(&[&[0x88, 0xb5]]));
    primary.write(vec![types, insert(entry.clone())]).await.unwrap();
    assert_eq!(ports_of_flows(&mut bench).await, [6, 7].into());
    let read = TableEntry {
        table_id: id("by_uplink"),
        ..TableEntry::default()
    };
    assert_eq!(primary.read_entries(read.clone()).await, vec![entry.clone()]);
    let members = E::ActionProfileMember(ActionProfileMember::default());
    let groups = E::ActionProfileGroup(ActionProfileGroup::default());
    assert_eq!(
        primary.read(vec![members, groups]).await.unwrap(),
        [],
        "they are the set's own"
    );

    let changed = indirect("by_uplink", one_shot(&[8, 8, 9]));
    primary.write(vec![modify(changed.clone())]).await.unwrap();
    assert_eq!(ports_of_flows(&mut bench).await, [8, 9].into());
    // The selector holds 8 members and groups 4.
    let other = TableEntry {
        r#match: vec![exact(1, &[98])],
        ..indirect("by_uplink", one_shot(&[1, 1, 1, 1]))
    };
    primary.write(vec![insert(other.clone())]).await.unwrap();
    let refused = vec![
        modify(indirect("by_uplink", one_shot(&[1, 2, 3, 4, 5]))),
        insert(TableEntry {
            r#match: vec![exact(1, &[97])],
            ..indirect("by_uplink", one_shot(&[1, 2]))
        }),
        insert(changed.clone()),
        update(Insert, member("uplinks", 1, Some(1))),
        update(Insert, group(1, &[])),
        insert(TableEntry {
            r#match: vec![exact(1, &[97])],
            ..indirect("by_path", one_shot(&[1]))
        }),
    ];
    let expected = [Code::InvalidArgument, Code::ResourceExhausted];
    let actual = codes(&mut primary, refused).await;
    assert_eq!(actual[..2], expected);
    assert!(actual[2] == Code::AlreadyExists || actual[2] == Code::ResourceExhausted);
    assert_eq!(actual[3..], [Code::InvalidArgument; 3]);
    assert_eq!(
        ports_of_flows(&mut bench).await,
        [8, 9].into(),
        "what was refused changed nothing"
    );
    primary
        .write(vec![delete(changed.clone()), delete(other)])
        .await
        .unwrap();
    primary.write(vec![update(Insert, group(1, &[]))]).await.unwrap();
    assert_eq!(
        codes(&mut primary, vec![insert(changed)]).await,
        [Code::InvalidArgument]
    );
    primary
        .write(vec![update(Insert, member("uplinks", 1, Some(1)))])
        .await
        .unwrap();
}

#[tokio::test]
async fn value_sets_steer_the_parser() {
    let mut bench = Bench::start();
    let mut primary = ready(&bench).await;
    let route = TableEntry {
        table_id: id("routes"),
        action: action(id("forward"), &[&[3]]),
        ..TableEntry::default()
    };
    primary.write(vec![insert(route)]).await.unwrap();
    let set = tagged_types(&[&[0x88, 0xb5], &[0, 9]]);
    primary.write(vec![update(Modify, set)]).await.unwrap();
    bench.inject(1, 4, &flow(1));
    assert_eq!(bench.left.recv().await.unwrap().1, 3);
    let canonical = tagged_types(&[&[0x88, 0xb5], &[9]]);
    let wildcard = E::ValueSetEntry(ValueSetEntry::default());
    assert_eq!(primary.read(vec![wildcard]).await.unwrap(), [canonical]);
    let refused = vec![
        update(Insert, tagged_types(&[])),
        update(Modify, tagged_types(&[&[1], &[1]])),
        update(Modify, tagged_types(&[&[1], &[2], &[3], &[4], &[5]])),
        update(Modify, tagged_types(&[&[1, 0, 0]])),
    ];
    let expected = [
        Code::InvalidArgument,
        Code::AlreadyExists,
        Code::ResourceExhausted,
        Code::OutOfRange,
    ];
    assert_eq!(codes(&mut primary, refused).await, expected);
}
