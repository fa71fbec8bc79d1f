// SPDX-License-Identifier: Apache-2.0
//! SetForwardingPipelineConfig and GetForwardingPipelineConfig.

use crate::support;

use slotwise_p4runtime::proto::p4::config::v1 as config;
use slotwise_p4runtime::proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

#[tokio::test]
async fn what_cannot_run_is_refused_and_the_old_program_stays() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    primary.write(vec![insert(mac_entry(&TABLES, 1, &[3]))]).await.unwrap();

    let good = WIDER.config(8);
    let mut wrong_ids = good.clone();
    wrong_ids.p4info.as_mut().unwrap().tables[0]
        .preamble
        .as_mut()
        .unwrap()
        .id = 0;
    let mut wrong_width = good.clone();
    wrong_width.p4info.as_mut().unwrap().tables[0].match_fields[0].bitwidth = -1;
    let mut wrong_size = good.clone();
    wrong_size.p4info.as_mut().unwrap().counters[0].size = i64::MAX;
    let mut half_a_byte = good.clone();
    half_a_byte.p4info.as_mut().unwrap().controller_packet_metadata[0]
        .metadata
        .pop();
    // An INSERT with a counter would have been half done.
    let mut no_such_counter = good.clone();
    let p4info = no_such_counter.p4info.as_mut().unwrap();
    let without = |table: &&mut config::Table| table.direct_resource_ids.is_empty();
    let table = p4info.tables.iter_mut().find(without).unwrap();
    table.direct_resource_ids.push(77);
    p4info.direct_counters.push(config::DirectCounter {
        preamble: Some(config::Preamble {
            id: 77,
            name: "nowhere".to_owned(),
            ..config::Preamble::default()
        }),
        direct_table_id: table.preamble.as_ref().unwrap().id,
        ..config::DirectCounter::default()
    });
    let configs = [
        ("a direct counter that the program does not have", no_such_counter),
        (
            "not JSON",
            ForwardingPipelineConfig {
                p4_device_config: b"{".to_vec(),
                ..good.clone()
            },
        ),
        (
            "no JSON",
            ForwardingPipelineConfig {
                p4_device_config: Vec::new(),
                ..good.clone()
            },
        ),
        (
            "no P4Info",
            ForwardingPipelineConfig {
                p4info: None,
                ..good.clone()
            },
        ),
        (
            "another program's P4Info",
            ForwardingPipelineConfig {
                p4info: good.p4info.clone(),
                ..TABLES.config(8)
            },
        ),
        ("id 0", wrong_ids),
        ("width -1", wrong_width),
        ("counter larger than the program's", wrong_size),
        ("controller header of 9 bits", half_a_byte),
    ];
    for (what, config) in configs {
        for action in [
            ConfigAction::Verify,
            ConfigAction::VerifyAndSave,
            ConfigAction::VerifyAndCommit,
            ConfigAction::ReconcileAndCommit,
        ] {
            let status = primary.set_config(action, Some(config.clone())).await.unwrap_err();
            assert_eq!(status.code(), Code::InvalidArgument, "{what}: {status:?}");
        }
    }
    for action in [
        ConfigAction::Verify,
        ConfigAction::VerifyAndCommit,
        ConfigAction::Unspecified,
    ] {
        let status = primary.set_config(action, None).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
    }

    let entry = TableEntry {
        table_id: TABLES.table("mac"),
        ..TableEntry::default()
    };
    assert_eq!(primary.read_entries(entry).await.len(), 1);
    assert_eq!(primary.get_config(ResponseType::All).await, Some(TABLES.config(7)));
}

/// The configuration of `tables.p4` whose MAC addresses controllers give in another width.
fn translated(bitwidth: i32) -> ForwardingPipelineConfig {
    let mut config = TABLES.config(3);
    let tables = &mut config.p4info.as_mut().unwrap().tables;
    let mac = tables
        .iter_mut()
        .find(|table| table.preamble.as_ref().unwrap().id == TABLES.table("mac"));
    mac.unwrap().match_fields[0].bitwidth = bitwidth;
    config
}

#[tokio::test]
async fn translated_numbers_have_the_width_that_p4info_gives() {
    let bench = Bench::start();
    let mut primary = Primary::of(&bench.server, 1, 1).await;
    let status = primary
        .set_config(ConfigAction::VerifyAndCommit, Some(translated(0)))
        .await
        .unwrap_err();
    assert_eq!(
        status.code(),
        Code::InvalidArgument,
        "no width and no string: {status:?}"
    );

    primary
        .set_config(ConfigAction::VerifyAndCommit, Some(translated(64)))
        .await
        .unwrap();
    let wide = |value: &[u8]| TableEntry {
        r#match: vec![exact(1, value)],
        ..mac_entry(&TABLES, 5, &[2])
    };
    primary
        .write(vec![insert(wide(&[0, 0, 0, 0, 0, 0, 0, 5]))])
        .await
        .unwrap();
    let found = primary.read_entries(table("mac")).await;
    assert_eq!(found[0].r#match, vec![exact(1, &[5])]);
    let beyond = primary.write(vec![insert(wide(&[1; 8]))]).await.unwrap_err();
    assert_eq!(
        batch_codes(&beyond),
        [Code::InvalidArgument],
        "a number that the data plane has no bits for"
    );
}

#[tokio::test]
async fn verify_changes_nothing() {
    let bench = Bench::start();
    let mut primary = Primary::of(&bench.server, 1, 1).await;
    assert_eq!(primary.get_config(ResponseType::All).await, None);
    primary
        .set_config(ConfigAction::Verify, Some(TABLES.config(1)))
        .await
        .unwrap();
    assert_eq!(primary.get_config(ResponseType::All).await, None);
}

#[tokio::test]
async fn a_saved_configuration_takes_writes_and_comes_into_force_at_commit() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    assert_eq!(
        primary.set_config(ConfigAction::Commit, None).await.unwrap_err().code(),
        Code::NotFound
    );

    primary
        .set_config(ConfigAction::VerifyAndSave, Some(WIDER.config(9)))
        .await
        .unwrap();
    let extra = TableEntry {
        table_id: WIDER.table("extra"),
        r#match: vec![exact(1, &[5])],
        action: action(WIDER.action("drop"), &[]),
        ..TableEntry::default()
    };
    primary
        .write(vec![insert(extra.clone()), insert(mac_entry(&WIDER, 1, &[3]))])
        .await
        .unwrap();
    bench.inject(1, 4, &frame(1, 0x0800, b"x"));
    let at_cpu = primary.stream.next().await.unwrap();
    assert!(
        matches!(at_cpu, stream_message_response::Update::Packet(_)),
        "the old pipeline, whose mac table is empty, is still the one that runs"
    );

    let with_config = primary.set_config(ConfigAction::Commit, Some(WIDER.config(9))).await;
    assert_eq!(with_config.unwrap_err().code(), Code::InvalidArgument);
    primary.set_config(ConfigAction::Commit, None).await.unwrap();
    bench.inject(1, 4, &frame(1, 0x0800, b"x"));
    assert_eq!(bench.left.recv().await.unwrap(), (1, 3, frame(1, 0x0800, b"x")));
    let read = TableEntry {
        table_id: WIDER.table("extra"),
        ..TableEntry::default()
    };
    assert_eq!(primary.read_entries(read).await, [extra]);
    assert_eq!(
        primary.set_config(ConfigAction::Commit, None).await.unwrap_err().code(),
        Code::NotFound
    );
}

#[tokio::test]
async fn reconciling_keeps_entries_defaults_counters_and_metadata() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let entry = TableEntry {
        metadata: b"mine".to_vec(),
        ..mac_entry(&TABLES, 1, &[3])
    };
    let default = TableEntry {
        table_id: TABLES.table("route"),
        action: action(TABLES.action("forward"), &[&[9]]),
        is_default_action: true,
        ..TableEntry::default()
    };
    let counter = CounterEntry {
        counter_id: TABLES.counter(),
        index: Some(Index { index: 2 }),
        data: Some(CounterData {
            byte_count: 100,
            packet_count: 3,
        }),
    };
    let set_counter = update(update::Type::Modify, entity::Entity::CounterEntry(counter));
    primary
        .write(vec![insert(entry.clone()), modify(default.clone()), set_counter])
        .await
        .unwrap();

    primary
        .set_config(ConfigAction::ReconcileAndCommit, Some(WIDER.config(8)))
        .await
        .unwrap();
    let read = |table| TableEntry {
        table_id: WIDER.table(table),
        ..TableEntry::default()
    };
    assert_eq!(primary.read_entries(read("mac")).await, [entry]);
    let read_default = TableEntry {
        is_default_action: true,
        ..read("route")
    };
    assert_eq!(primary.read_entries(read_default).await, [default]);
    let cell = CounterEntry { data: None, ..counter };
    let read_cell = primary.read(vec![entity::Entity::CounterEntry(cell)]).await.unwrap();
    assert_eq!(read_cell, [entity::Entity::CounterEntry(counter)]);
    assert_eq!(primary.get_config(ResponseType::All).await, Some(WIDER.config(8)));
}

#[tokio::test]
async fn reconciling_refuses_what_it_would_lose() {
    let bench = Bench::start();
    let mut primary = bench.ready(&WIDER).await;
    let to_fewer_tables = primary
        .set_config(ConfigAction::ReconcileAndCommit, Some(TABLES.config(8)))
        .await;
    assert_eq!(to_fewer_tables.unwrap_err().code(), Code::InvalidArgument);
    primary
        .set_config(ConfigAction::VerifyAndCommit, Some(STATEFUL.config(9)))
        .await
        .unwrap();
    let from_registers = primary
        .set_config(ConfigAction::ReconcileAndCommit, Some(WIDER.config(8)))
        .await;
    assert_eq!(from_registers.unwrap_err().code(), Code::InvalidArgument);
    primary
        .write(vec![insert(mac_entry(&STATEFUL, 1, &[3]))])
        .await
        .unwrap();
    primary
        .set_config(ConfigAction::ReconcileAndCommit, Some(STATEFUL.config(10)))
        .await
        .unwrap();
    assert_eq!(
        primary
            .get_config(ResponseType::CookieOnly)
            .await
            .unwrap()
            .cookie
            .unwrap()
            .cookie,
        10
    );
    let read = TableEntry {
        table_id: STATEFUL.table("mac"),
        ..TableEntry::default()
    };
    assert_eq!(
        primary.read_entries(read).await.len(),
        1,
        "the same program again keeps everything"
    );
}

#[tokio::test]
async fn a_commit_clears_the_forwarding_state() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    primary.write(vec![insert(mac_entry(&TABLES, 1, &[3]))]).await.unwrap();
    primary
        .set_config(ConfigAction::VerifyAndCommit, Some(TABLES.config(8)))
        .await
        .unwrap();
    let read = TableEntry {
        table_id: TABLES.table("mac"),
        ..TableEntry::default()
    };
    assert_eq!(primary.read_entries(read).await, []);
}

#[tokio::test]
async fn answers_have_the_parts_asked_for() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let full = TABLES.config(7);
    let cookie = full.cookie;
    let parts = [
        (ResponseType::All, full.clone()),
        (
            ResponseType::CookieOnly,
            ForwardingPipelineConfig {
                cookie,
                ..ForwardingPipelineConfig::default()
            },
        ),
        (
            ResponseType::P4infoAndCookie,
            ForwardingPipelineConfig {
                p4_device_config: Vec::new(),
                ..full.clone()
            },
        ),
        (
            ResponseType::DeviceConfigAndCookie,
            ForwardingPipelineConfig {
                p4info: None,
                ..full.clone()
            },
        ),
    ];
    for (kind, expected) in parts {
        assert_eq!(primary.get_config(kind).await, Some(expected), "{kind:?}");
    }
}
