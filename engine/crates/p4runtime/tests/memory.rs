// SPDX-License-Identifier: Apache-2.0
//! The memory that all programs of a server have together, with what controllers add.

use crate::support;

use serde_json::Value;
use slotwise_p4runtime::proto::p4::v1::entity::Entity as E;
use slotwise_p4runtime::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

const MIB: u64 = 1 << 20;
/// Of the program with a large array.
const ARRAY_BYTES: u64 = 16 * MIB;
const COUNTER_BYTES: u64 = 16;

/// The program with a counter of so many bytes.
fn large() -> ForwardingPipelineConfig {
    let mut config = TABLES.config(7);
    let mut json: Value = serde_json::from_slice(&config.p4_device_config).unwrap();
    let arrays = json["counter_arrays"].as_array_mut().unwrap();
    let array = arrays.iter_mut().find(|array| array["is_direct"] != true).unwrap();
    array["size"] = (ARRAY_BYTES / COUNTER_BYTES).into();
    config.p4_device_config = serde_json::to_vec(&json).unwrap();
    config
}

/// A server with memory for so many large programs, and some more.
fn bench(programs: u64) -> Bench {
    let mut config = server_config(false);
    config.limits.memory_bytes = programs * ARRAY_BYTES + 12 * MIB;
    Bench::with(config)
}

/// What comes of a large program for a device.
async fn set(primary: &mut Primary, action: ConfigAction) -> Code {
    let config = (action != ConfigAction::Commit).then(large);
    let outcome = primary.set_config(action, config).await;
    outcome.map_or_else(|status| status.code(), |_| Code::Ok)
}

#[tokio::test]
async fn programs_in_force_saved_and_being_verified_count_for_all_devices() {
    let bench = bench(2);
    let mut first = Primary::of(&bench.server, 1, 1).await;
    let mut second = Primary::of(&bench.server, 2, 1).await;
    assert_eq!(set(&mut first, ConfigAction::VerifyAndCommit).await, Code::Ok);
    assert_eq!(set(&mut first, ConfigAction::VerifyAndSave).await, Code::Ok);
    assert_eq!(set(&mut second, ConfigAction::Verify).await, Code::ResourceExhausted);
    assert_eq!(set(&mut first, ConfigAction::Commit).await, Code::Ok);
    for _ in 0..3 {
        assert_eq!(set(&mut second, ConfigAction::Verify).await, Code::Ok);
    }
    assert_eq!(set(&mut second, ConfigAction::VerifyAndCommit).await, Code::Ok);
    assert_eq!(set(&mut first, ConfigAction::Verify).await, Code::ResourceExhausted);
    // There is no memory to have the old and the new one at once.
    assert_eq!(
        set(&mut first, ConfigAction::VerifyAndCommit).await,
        Code::ResourceExhausted
    );
}

/// Writes until there is no more memory; gives how many writes were taken.
async fn fill(primary: &mut Primary, entity: impl Fn(u32) -> E) -> u32 {
    for number in 1..200 {
        if let Err(status) = primary.write(vec![update(update::Type::Insert, entity(number))]).await {
            assert_eq!(batch_codes(&status), [Code::ResourceExhausted]);
            return number - 1;
        }
    }
    panic!("there is no end of it");
}

fn replicas(count: u32) -> Vec<Replica> {
    let replica = |instance| Replica {
        port_kind: Some(replica::PortKind::Port(vec![1])),
        instance,
        backup_replicas: Vec::new(),
    };
    (0..count).map(replica).collect()
}

#[tokio::test]
async fn what_controllers_add_counts_until_it_is_deleted() {
    let multicast = |group| {
        let entry = MulticastGroupEntry {
            multicast_group_id: group,
            replicas: replicas(4096),
            metadata: Vec::new(),
        };
        E::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
            r#type: Some(Replication::MulticastGroupEntry(entry)),
        })
    };
    let session = |session_id| {
        let entry = CloneSessionEntry {
            session_id,
            replicas: replicas(4096),
            ..CloneSessionEntry::default()
        };
        E::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
            r#type: Some(Replication::CloneSessionEntry(entry)),
        })
    };
    let entry = |number: u32| {
        E::TableEntry(TableEntry {
            metadata: vec![1; 1 << 19],
            ..mac_entry(&TABLES, number as u8, &[1])
        })
    };
    let entities: [&dyn Fn(u32) -> E; 3] = [&multicast, &session, &entry];
    for entity in entities {
        let bench = bench(1);
        let mut primary = Primary::of(&bench.server, 1, 1).await;
        assert_eq!(set(&mut primary, ConfigAction::VerifyAndCommit).await, Code::Ok);
        let count = fill(&mut primary, entity).await;
        assert!(count > 1);
        // The same again changes nothing, and one batch can have the memory of what it deletes.
        let replaced = vec![
            update(update::Type::Delete, entity(1)),
            update(update::Type::Insert, entity(1)),
            update(update::Type::Modify, entity(2)),
        ];
        primary.write(replaced).await.unwrap();
        // What is taken back has its memory again.
        let failing = vec![
            update(update::Type::Delete, entity(1)),
            update(update::Type::Delete, entity(250)),
        ];
        primary
            .write_atomically(failing, write_request::Atomicity::RollbackOnError)
            .await
            .unwrap_err();
        primary
            .write(vec![update(update::Type::Modify, entity(1))])
            .await
            .unwrap();
        for number in 1..=count {
            primary
                .write(vec![update(update::Type::Delete, entity(number))])
                .await
                .unwrap();
        }
        assert_eq!(fill(&mut primary, entity).await, count);
    }
}
