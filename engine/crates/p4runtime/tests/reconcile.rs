// SPDX-License-Identifier: Apache-2.0
//! RECONCILE_AND_COMMIT carries every kind of state over.

use crate::support;

use slotwise_p4runtime::proto::p4::config::v1::PkgInfo;
use slotwise_p4runtime::proto::p4::v1::entity::Entity as E;
use slotwise_p4runtime::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use update::Type::{Insert, Modify};

fn id(name: &str) -> u32 {
    ENTITIES.id(name)
}

fn action_of(name: &str, value: u8) -> Action {
    let params = vec![action::Param {
        param_id: 1,
        value: vec![value],
    }];
    Action {
        action_id: id(name),
        params,
    }
}

fn entry(table: &str, target: table_action::Type) -> TableEntry {
    TableEntry {
        table_id: id(table),
        r#match: vec![exact(1, &[99])],
        action: Some(TableAction { r#type: Some(target) }),
        metadata: b"mine".to_vec(),
        ..TableEntry::default()
    }
}

fn replicas(port: u8) -> Vec<Replica> {
    let port_kind = Some(replica::PortKind::Port(vec![port]));
    vec![Replica {
        port_kind,
        instance: 1,
        backup_replicas: Vec::new(),
    }]
}

fn replication(kind: Replication) -> E {
    E::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) })
}

/// One of each, in an order in which they can be written.
fn state() -> Vec<(update::Type, E)> {
    let rates = Some(MeterConfig {
        cir: 1,
        cburst: 2,
        pir: 3,
        pburst: 4,
        eburst: 0,
    });
    let count = Some(CounterData {
        byte_count: 7,
        packet_count: 5,
    });
    let host = TableEntry {
        meter_config: rates,
        counter_data: count,
        idle_timeout_ns: 50_000_000,
        ..entry("hosts", table_action::Type::Action(action_of("metered", 3)))
    };
    let set = ActionProfileAction {
        action: Some(action_of("forward", 4)),
        weight: 2,
        watch_kind: None,
    };
    let set = ActionProfileActionSet {
        action_profile_actions: vec![set],
        ..ActionProfileActionSet::default()
    };
    let member = ActionProfileMember {
        action_profile_id: id("paths"),
        member_id: 1,
        action: Some(action_of("forward", 2)),
    };
    let index = Some(Index { index: 3 });
    let data = Some(P4Data {
        data: Some(p4_data::Data::Bitstring(vec![9])),
    });
    let members = vec![ValueSetMember {
        r#match: vec![exact(1, &[0x88, 0xb5])],
    }];
    let config = Some(digest_entry::Config {
        max_timeout_ns: 1,
        max_list_size: 2,
        ack_timeout_ns: 3,
    });
    let multicast_group = MulticastGroupEntry {
        multicast_group_id: 5,
        replicas: replicas(1),
        metadata: vec![1],
    };
    let session = CloneSessionEntry {
        session_id: 6,
        replicas: replicas(2),
        ..CloneSessionEntry::default()
    };
    vec![
        (Insert, E::TableEntry(host)),
        (Insert, E::ActionProfileMember(member)),
        (
            Insert,
            E::TableEntry(entry("by_path", table_action::Type::ActionProfileMemberId(1))),
        ),
        (
            Insert,
            E::TableEntry(entry("by_uplink", table_action::Type::ActionProfileActionSet(set))),
        ),
        (
            Modify,
            E::MeterEntry(MeterEntry {
                meter_id: id("port_meter"),
                index,
                config: rates,
                counter_data: None,
            }),
        ),
        (
            Modify,
            E::CounterEntry(CounterEntry {
                counter_id: id("port_counter"),
                index,
                data: count,
            }),
        ),
        (
            Modify,
            E::RegisterEntry(RegisterEntry {
                register_id: id("last_source"),
                index,
                data,
            }),
        ),
        (
            Modify,
            E::ValueSetEntry(ValueSetEntry {
                value_set_id: id("tagged_types"),
                members,
            }),
        ),
        (
            Insert,
            E::DigestEntry(DigestEntry {
                digest_id: id("learn_t"),
                config,
            }),
        ),
        (Insert, replication(Replication::MulticastGroupEntry(multicast_group))),
        (Insert, replication(Replication::CloneSessionEntry(session))),
    ]
}

async fn everything(primary: &mut Primary) -> Vec<E> {
    let with_all = TableEntry {
        counter_data: Some(CounterData::default()),
        meter_config: Some(MeterConfig::default()),
        ..TableEntry::default()
    };
    let wildcards = vec![
        E::TableEntry(with_all),
        E::ActionProfileMember(ActionProfileMember::default()),
        E::MeterEntry(MeterEntry::default()),
        E::CounterEntry(CounterEntry::default()),
        E::RegisterEntry(RegisterEntry::default()),
        E::ValueSetEntry(ValueSetEntry::default()),
        E::DigestEntry(DigestEntry::default()),
        E::PacketReplicationEngineEntry(PacketReplicationEngineEntry::default()),
    ];
    primary.read(wildcards).await.unwrap()
}

#[tokio::test]
async fn everything_is_there_under_the_new_program() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let written = state();
    for (kind, entity) in &written {
        primary.write(vec![update(*kind, entity.clone())]).await.unwrap();
    }
    let before = everything(&mut primary).await;
    for (_, entity) in written {
        assert!(before.contains(&entity), "{entity:?}");
    }
    let mut config = ENTITIES.config(8);
    // Another program as far as anybody can tell.
    config.p4info.as_mut().unwrap().pkg_info = Some(PkgInfo {
        version: "2".to_owned(),
        ..PkgInfo::default()
    });
    primary
        .set_config(ConfigAction::ReconcileAndCommit, Some(config))
        .await
        .unwrap();
    assert_eq!(everything(&mut primary).await, before);

    bench.inject(1, 4, &frame(1, 0x88b5, &[1, 2, 3, 4, 0, 1]));
    assert_eq!(bench.left.recv().await.unwrap().1, 4, "the action set still forwards");
    bench.tick(60_000_000);
    let message = primary.stream.next().await.unwrap();
    assert!(
        matches!(message, stream_message_response::Update::IdleTimeoutNotification(_)),
        "{message:?}"
    );
}
