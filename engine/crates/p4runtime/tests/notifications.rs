// SPDX-License-Identifier: Apache-2.0
//! What the switch says by itself: digests and idle timeouts. And roles, which decide who hears it.

use crate::support;

use prost::Message;
use slotwise_p4runtime::proto::p4::v1::entity::Entity as E;
use slotwise_p4runtime::proto::p4::v1::stream_message_request::Update as Request;
use slotwise_p4runtime::proto::p4::v1::stream_message_response::Update as Response;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;
use update::Type::{Delete, Insert, Modify};

const MS: u64 = 1_000_000;

fn id(name: &str) -> u32 {
    ENTITIES.id(name)
}

fn digest(config: Option<(u64, i32, u64)>) -> E {
    let config = config.map(|(max_timeout_ns, max_list_size, ack_timeout_ns)| digest_entry::Config {
        max_timeout_ns: max_timeout_ns as i64,
        max_list_size,
        ack_timeout_ns: ack_timeout_ns as i64,
    });
    E::DigestEntry(DigestEntry {
        digest_id: id("learn_t"),
        config,
    })
}

/// Packets to MAC 7 are learned and go to port 2.
fn learning() -> Update_ {
    insert(TableEntry {
        table_id: id("rules"),
        r#match: vec![ternary(1, &[7], &[0xff])],
        priority: 1,
        action: action(id("learn"), &[&[2]]),
        ..TableEntry::default()
    })
}

/// A packet to MAC 7 from this one, through the switch.
async fn learn(bench: &mut Bench, source: u8) {
    let mut packet = frame(7, 0x0800, &[0; 46]);
    packet[11] = source;
    bench.inject(1, 4, &packet);
    bench.left.recv().await.unwrap();
}

/// The next message, which is a digest list: its id and the sources learned.
async fn next_list(stream: &mut Stream) -> (u64, Vec<u8>) {
    let Response::Digest(list) = stream.next().await.unwrap() else {
        panic!("expected a digest list")
    };
    assert_eq!(list.digest_id, id("learn_t"));
    assert!(list.timestamp > 0);
    let source = |data: &P4Data| {
        let Some(p4_data::Data::Struct(members)) = &data.data else {
            panic!("expected a struct")
        };
        let bits = |index: usize| match &members.members[index].data {
            Some(p4_data::Data::Bitstring(bits)) => bits.clone(),
            other => panic!("expected bits, got {other:?}"),
        };
        assert_eq!(bits(1), [4], "the port");
        bits(0)[0]
    };
    (list.list_id, list.data.iter().map(source).collect())
}

#[tokio::test]
async fn digests_come_in_lists_and_not_twice_until_acknowledged() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    primary.write(vec![learning()]).await.unwrap();
    learn(&mut bench, 1).await;
    primary
        .write(vec![update(Insert, digest(Some((10 * MS, 2, 1000 * MS))))])
        .await
        .unwrap();
    for source in [2, 2, 3] {
        learn(&mut bench, source).await;
    }
    let (first, sources) = next_list(&mut primary.stream).await;
    assert_eq!(sources, [2, 3], "1 came before it was asked for");
    for source in [2, 4] {
        learn(&mut bench, source).await;
    }
    bench.tick(10 * MS);
    assert_eq!(
        next_list(&mut primary.stream).await.1,
        [4],
        "2 has not been acknowledged"
    );
    let ack = DigestListAck {
        digest_id: id("learn_t"),
        list_id: first,
    };
    primary.stream.send(Request::DigestAck(ack)).await;
    // An answer to a later message: the acknowledgement has arrived.
    primary.stream.send(Request::DigestAck(DigestListAck::default())).await;
    let Response::Error(error) = primary.stream.next().await.unwrap() else {
        panic!("expected an error")
    };
    assert_eq!(Code::from(error.canonical_code), Code::NotFound);
    for source in [2, 4, 5] {
        learn(&mut bench, source).await;
    }
    assert_eq!(next_list(&mut primary.stream).await.1, [2, 5]);

    let written = digest(Some((10 * MS, 2, 1000 * MS)));
    for wildcard in [E::DigestEntry(DigestEntry::default()), digest(None)] {
        assert_eq!(primary.read(vec![wildcard]).await.unwrap(), vec![written.clone()]);
    }
    let refused = vec![
        update(Insert, digest(Some((0, 0, 0)))),
        update(Modify, digest(Some((0, -1, 0)))),
        update(Delete, digest(None)),
        update(Modify, digest(Some((0, 0, 0)))),
    ];
    let expected = [Code::AlreadyExists, Code::InvalidArgument, Code::Ok, Code::NotFound];
    assert_eq!(batch_codes(&primary.write(refused).await.unwrap_err()), expected);
}

#[tokio::test]
async fn a_shorter_timeout_holds_for_digests_that_wait() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let config = |timeout_ms: u64| digest(Some((timeout_ms * MS, 0, 1000 * MS)));
    let updates = vec![learning(), update(Insert, config(3_600_000))];
    primary.write(updates).await.unwrap();
    learn(&mut bench, 1).await;
    bench.tick(5 * MS);
    primary.write(vec![update(Modify, config(10))]).await.unwrap();
    bench.tick(10 * MS);
    assert_eq!(next_list(&mut primary.stream).await.1, [1]);
}

/// An entry that is reported when it has been idle for so long.
fn host(mac: u8, idle_timeout_ns: u64) -> TableEntry {
    TableEntry {
        table_id: id("hosts"),
        r#match: vec![exact(1, &[mac])],
        action: action(id("metered"), &[&[3]]),
        idle_timeout_ns: idle_timeout_ns as i64,
        metadata: b"mine".to_vec(),
        ..TableEntry::default()
    }
}

async fn next_idle(stream: &mut Stream) -> Vec<TableEntry> {
    let Response::IdleTimeoutNotification(idle) = stream.next().await.unwrap() else {
        panic!("expected idle entries")
    };
    assert!(idle.timestamp > 0);
    idle.table_entry
}

#[tokio::test]
async fn idle_entries_are_reported_each_timeout_until_a_packet_hits_them() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let entries = [host(1, 50 * MS), host(2, 50 * MS), host(3, 0)];
    primary.write(entries.into_iter().map(insert).collect()).await.unwrap();
    bench.tick(30 * MS);
    bench.inject(1, 4, &frame(2, 0x0800, &[0; 46]));
    bench.left.recv().await.unwrap();
    bench.tick(50 * MS);
    let reported = |mac: u8| TableEntry {
        action: None,
        ..host(mac, 50 * MS)
    };
    assert_eq!(next_idle(&mut primary.stream).await, [reported(1)]);
    bench.tick(80 * MS);
    assert_eq!(next_idle(&mut primary.stream).await, [reported(2)]);
    let read = TableEntry {
        table_id: id("hosts"),
        time_since_last_hit: Some(table_entry::IdleTimeout::default()),
        ..TableEntry::default()
    };
    let found = primary.read_entries(read).await;
    let elapsed: Vec<_> = found
        .iter()
        .map(|entry| entry.time_since_last_hit.unwrap().elapsed_ns as u64)
        .collect();
    assert_eq!(elapsed, [80 * MS, 50 * MS, 80 * MS]);
    let mut timeouts = found.iter().map(|entry| entry.idle_timeout_ns as u64);
    assert!(timeouts.by_ref().eq([50 * MS, 50 * MS, 0]));

    primary
        .write(vec![delete(host(1, 0)), modify(host(2, 0)), modify(host(3, 10 * MS))])
        .await
        .unwrap();
    bench.tick(300 * MS);
    assert_eq!(
        next_idle(&mut primary.stream).await,
        [TableEntry {
            action: None,
            ..host(3, 10 * MS)
        }]
    );
    let rule = TableEntry {
        table_id: id("routes"),
        action: action(id("drop"), &[]),
        ..TableEntry::default()
    };
    let refused = vec![
        insert(host(9, u64::MAX)),
        insert(TableEntry {
            idle_timeout_ns: 1,
            ..rule.clone()
        }),
        insert(TableEntry {
            time_since_last_hit: Some(table_entry::IdleTimeout::default()),
            ..host(9, 0)
        }),
        modify(TableEntry {
            idle_timeout_ns: 1,
            is_default_action: true,
            ..rule
        }),
    ];
    assert_eq!(
        batch_codes(&primary.write(refused).await.unwrap_err()),
        [Code::InvalidArgument; 4]
    );
}

#[tokio::test]
async fn a_modify_without_an_action_leaves_the_idle_timer_alone() {
    let bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let empty = TableEntry {
        action: None,
        metadata: Vec::new(),
        ..host(1, 0)
    };
    let entries = [host(1, 50 * MS), host(2, 50 * MS)];
    primary.write(entries.into_iter().map(insert).collect()).await.unwrap();
    bench.tick(30 * MS);
    primary.write(vec![modify(empty)]).await.unwrap();
    bench.tick(50 * MS);
    let reported = |mac: u8| TableEntry {
        action: None,
        ..host(mac, 50 * MS)
    };
    assert_eq!(next_idle(&mut primary.stream).await, [reported(1), reported(2)]);
}

/// `stratum.P4RoleConfig`
#[derive(Clone, PartialEq, Message)]
struct RoleConfig {
    #[prost(uint32, repeated, tag = "1")]
    exclusive_p4_ids: Vec<u32>,
    #[prost(uint32, repeated, tag = "2")]
    shared_p4_ids: Vec<u32>,
    #[prost(bool, tag = "4")]
    receives_packet_ins: bool,
    #[prost(bool, tag = "5")]
    can_push_pipeline: bool,
}

fn arbitration(name: &str, config: &RoleConfig) -> Request {
    let type_url = "type.googleapis.com/stratum.P4RoleConfig".to_owned();
    let config = Some(prost_types::Any {
        type_url,
        value: config.encode_to_vec(),
    });
    Request::Arbitration(MasterArbitrationUpdate {
        device_id: 1,
        role: Some(Role {
            name: name.to_owned(),
            config,
            ..Role::default()
        }),
        election_id: Some(Uint128 { high: 0, low: 1 }),
        ..MasterArbitrationUpdate::default()
    })
}

#[tokio::test]
async fn a_role_does_and_hears_what_its_config_names() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let mut client = bench.client().await;
    let mut hosts = Stream::open(&mut client).await;
    let config = RoleConfig {
        exclusive_p4_ids: vec![id("hosts")],
        ..RoleConfig::default()
    };
    let request = arbitration("hosts", &config);
    hosts.send(request).await;
    let Response::Arbitration(answer) = hosts.next().await.unwrap() else {
        panic!("expected an arbitration")
    };
    let role = Role {
        name: "hosts".to_owned(),
        ..Role::default()
    };
    assert_eq!((answer.role, answer.status.unwrap().code), (Some(role), 0));

    let election_id = Some(Uint128 { high: 0, low: 1 });
    let request = WriteRequest {
        device_id: 1,
        role: "hosts".to_owned(),
        election_id,
        updates: vec![
            insert(host(1, 50 * MS)),
            learning(),
            update(Insert, digest(Some((0, 1, 0)))),
        ],
        ..WriteRequest::default()
    };
    let status = client.write(request).await.unwrap_err();
    assert_eq!(
        batch_codes(&status),
        [Code::Ok, Code::PermissionDenied, Code::PermissionDenied]
    );
    let set = SetForwardingPipelineConfigRequest {
        device_id: 1,
        role: "hosts".to_owned(),
        election_id,
        action: set_forwarding_pipeline_config_request::Action::VerifyAndCommit.into(),
        config: Some(ENTITIES.config(9)),
        ..SetForwardingPipelineConfigRequest::default()
    };
    let status = client.set_forwarding_pipeline_config(set).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);

    primary
        .write(vec![learning(), update(Insert, digest(Some((0, 1, 0))))])
        .await
        .unwrap();
    let table_entry = Some(E::TableEntry(TableEntry::default()));
    let entities = vec![Entity { entity: table_entry }];
    let request = ReadRequest {
        device_id: 1,
        role: "hosts".to_owned(),
        entities,
    };
    let mut found = client.read(request).await.unwrap().into_inner();
    let entities = found.message().await.unwrap().unwrap().entities;
    assert_eq!(
        entities,
        [Entity {
            entity: Some(E::TableEntry(host(1, 50 * MS)))
        }]
    );

    learn(&mut bench, 1).await;
    bench.inject(1, 4, &frame(9, 0x0800, &[0; 46]));
    bench.tick(60 * MS);
    assert_eq!(
        next_idle(&mut hosts).await.len(),
        1,
        "neither digest nor packet-in was for this role"
    );
    // Roles learn digests beside the rest.
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(match primary.stream.next().await.unwrap() {
            Response::Digest(list) => format!("digest of {}", list.data.len()),
            Response::Packet(_) => "packet-in".to_owned(),
            Response::IdleTimeoutNotification(idle) => format!("idle {}", idle.table_entry.len()),
            other => panic!("unexpected {other:?}"),
        });
    }
    heard.sort();
    assert_eq!(heard, ["digest of 1", "idle 1", "packet-in"]);

    let mut rival = Stream::open(&mut client).await;
    let shared = RoleConfig {
        shared_p4_ids: vec![id("hosts")],
        ..RoleConfig::default()
    };
    rival.send(arbitration("rival", &shared)).await;
    assert_eq!(rival.next().await.unwrap_err().code(), Code::InvalidArgument);

    hosts.close().await;
    let mut rival = Stream::open(&mut client).await;
    rival.send(arbitration("rival", &shared)).await;
    assert_eq!(rival.advisory().await.0, Code::Ok, "nobody has it for itself any more");
    let mut late = Stream::open(&mut client).await;
    late.send(arbitration("hosts", &config)).await;
    assert_eq!(late.next().await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn each_role_hears_a_digest_once_until_it_acknowledges_it() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let written = vec![learning(), update(Insert, digest(Some((0, 1, 1000 * MS))))];
    primary.write(written).await.unwrap();
    learn(&mut bench, 1).await;
    let (first, sources) = next_list(&mut primary.stream).await;
    assert_eq!(sources, [1]);

    let mut client = bench.client().await;
    let mut other = Stream::open(&mut client).await;
    other.arbitrate(1, "other", Some(1)).await;
    other.advisory().await;
    learn(&mut bench, 1).await;
    assert_eq!(next_list(&mut other).await.1, [1], "the new role has not heard of 1");
    learn(&mut bench, 2).await;
    assert_eq!(next_list(&mut other).await.1, [2]);
    assert_eq!(next_list(&mut primary.stream).await.1, [2], "it has not acknowledged 1");

    // The same primary says again who it is; and one role acknowledges what both have.
    other.arbitrate(1, "other", Some(1)).await;
    other.advisory().await;
    let ack = DigestListAck {
        digest_id: id("learn_t"),
        list_id: first,
    };
    primary.stream.send(Request::DigestAck(ack)).await;
    primary.stream.send(Request::DigestAck(DigestListAck::default())).await;
    assert!(matches!(primary.stream.next().await.unwrap(), Response::Error(_)));
    for source in [1, 3] {
        learn(&mut bench, source).await;
    }
    assert_eq!(next_list(&mut primary.stream).await.1, [1]);
    assert_eq!(next_list(&mut primary.stream).await.1, [3]);
    assert_eq!(next_list(&mut other).await.1, [3]);
}
