// SPDX-License-Identifier: Apache-2.0
//! Write and Read of table entries: what is written is read back, in canonical form.

use crate::support;

use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

#[tokio::test]
async fn entries_read_back_as_written_in_canonical_form() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let tag = TABLES.action("tag");
    let written = [
        TableEntry {
            r#match: vec![exact(1, &[0, 0, 0, 0, 0, 0, 7])],
            metadata: b"cookie".to_vec(),
            ..mac_entry(&TABLES, 7, &[0, 1, 0xff])
        },
        route(vec![lpm(1, &[10, 0, 0, 0], 8)]),
        route(vec![]),
        acl(
            3,
            vec![optional(3, &[0, 5]), ternary(1, &[0], &[0, 0xff]), range(2, &[1], &[2])],
        ),
        acl(4, vec![]),
        TableEntry {
            action: action(tag, &[&[0], &[0xf]]),
            ..acl(9, vec![range(2, &[0], &[9])])
        },
    ];
    primary
        .write(written.iter().cloned().map(insert).collect())
        .await
        .unwrap();

    let canonical = TableEntry {
        metadata: b"cookie".to_vec(),
        ..mac_entry(&TABLES, 7, &[1, 0xff])
    };
    assert_eq!(primary.read_entries(table("mac")).await, vec![canonical.clone()]);
    assert_eq!(
        primary.read_entries(table("route")).await,
        [written[1].clone(), written[2].clone()]
    );
    let reordered = acl(
        3,
        vec![ternary(1, &[0], &[0xff]), range(2, &[1], &[2]), optional(3, &[5])],
    );
    assert_eq!(
        primary.read_entries(table("acl")).await,
        [reordered, written[4].clone(), written[5].clone()]
    );

    let one_key = TableEntry {
        r#match: vec![exact(1, &[7])],
        ..table("mac")
    };
    assert_eq!(primary.read_entries(one_key).await, vec![canonical.clone()]);
    let other_key = TableEntry {
        r#match: vec![exact(1, &[8])],
        ..table("mac")
    };
    assert_eq!(primary.read_entries(other_key).await, []);
    assert_eq!(
        primary
            .read_entries(TableEntry {
                priority: 4,
                ..table("acl")
            })
            .await,
        [written[4].clone()]
    );
    let by_action = TableEntry {
        action: action(tag, &[]),
        ..table("acl")
    };
    assert_eq!(primary.read_entries(by_action).await, [written[5].clone()]);
    let by_metadata = TableEntry {
        metadata: b"cookie".to_vec(),
        ..TableEntry::default()
    };
    assert_eq!(primary.read_entries(by_metadata).await, [canonical]);
    assert_eq!(
        primary.read_entries(TableEntry::default()).await.len(),
        6 + 2,
        "all, const entries too"
    );
}

#[tokio::test]
async fn modify_and_delete_name_their_entry_by_key_and_priority() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    primary
        .write(vec![insert(acl(1, vec![])), insert(acl(2, vec![]))])
        .await
        .unwrap();
    let changed = TableEntry {
        action: action(TABLES.action("NoAction"), &[]),
        metadata: b"new".to_vec(),
        ..acl(2, vec![])
    };
    let untouched = TableEntry {
        action: None,
        ..acl(1, vec![])
    };
    let nonsense = TableEntry {
        action: action(77, &[]),
        idle_timeout_ns: 5,
        ..acl(1, vec![])
    };
    primary
        .write(vec![modify(changed.clone()), modify(untouched)])
        .await
        .unwrap();
    assert_eq!(
        primary.read_entries(table("acl")).await,
        [acl(1, vec![]), changed.clone()]
    );
    primary.write(vec![delete(nonsense)]).await.unwrap();
    assert_eq!(primary.read_entries(table("acl")).await, vec![changed.clone()]);
    primary
        .write(vec![delete(changed.clone()), insert(acl(2, vec![]))])
        .await
        .unwrap();
    assert_eq!(
        primary.read_entries(table("acl")).await,
        [acl(2, vec![])],
        "metadata went with the entry"
    );
}

#[tokio::test]
async fn a_modify_without_an_action_leaves_metadata_in_every_atomicity() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    #[expect(
        deprecated,
        reason = "clients of P4Runtime 1.3 and before still use controller_metadata"
    )]
    let noted = TableEntry {
        metadata: b"mine".to_vec(),
        controller_metadata: 77,
        ..acl(1, vec![])
    };
    let empty = TableEntry {
        action: None,
        ..acl(1, vec![])
    };
    primary.write(vec![insert(noted.clone())]).await.unwrap();
    for atomicity in [
        write_request::Atomicity::ContinueOnError,
        write_request::Atomicity::RollbackOnError,
        write_request::Atomicity::DataplaneAtomic,
    ] {
        primary
            .write_atomically(vec![modify(empty.clone()), modify(empty.clone())], atomicity)
            .await
            .unwrap();
        assert_eq!(
            primary.read_entries(table("acl")).await,
            [noted.clone()],
            "{atomicity:?}"
        );
    }
    let renamed = TableEntry {
        metadata: b"other".to_vec(),
        ..empty.clone()
    };
    primary.write(vec![modify(renamed)]).await.unwrap();
    let written = TableEntry {
        metadata: b"other".to_vec(),
        ..acl(1, vec![])
    };
    assert_eq!(
        primary.read_entries(table("acl")).await,
        [written],
        "given metadata are written"
    );
    primary.write(vec![modify(acl(1, vec![]))]).await.unwrap();
    assert_eq!(
        primary.read_entries(table("acl")).await,
        [acl(1, vec![])],
        "with an action the message is the whole entry"
    );
    primary.write(vec![delete(empty.clone())]).await.unwrap();
    assert_eq!(
        batch_codes(&primary.write(vec![modify(empty)]).await.unwrap_err()),
        [Code::NotFound]
    );
}

#[tokio::test]
async fn defaults_are_modified_and_reset() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let original = default_of("route", action(TABLES.action("drop"), &[]));
    assert_eq!(
        primary.read_entries(default_of("route", None)).await,
        vec![original.clone()]
    );
    let changed = TableEntry {
        metadata: b"mine".to_vec(),
        ..default_of("route", action(TABLES.action("forward"), &[&[5]]))
    };
    primary.write(vec![modify(changed.clone())]).await.unwrap();
    assert_eq!(primary.read_entries(default_of("route", None)).await, [changed]);
    primary.write(vec![modify(default_of("route", None))]).await.unwrap();
    assert_eq!(primary.read_entries(default_of("route", None)).await, [original]);
    let all = TableEntry {
        is_default_action: true,
        ..TableEntry::default()
    };
    assert_eq!(primary.read_entries(all).await.len(), TABLES.p4info().tables.len());
}

#[tokio::test]
async fn const_entries_are_read_as_such() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let entries = primary.read_entries(table("kinds")).await;
    let tag = TableEntry {
        r#match: vec![exact(1, &[3])],
        action: action(TABLES.action("tag"), &[&[1, 0x23], &[4]]),
        is_const: true,
        ..table("kinds")
    };
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0], tag);
}

#[tokio::test]
async fn initial_entries_that_p4info_does_not_call_const_can_be_changed() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let mut config = TABLES.config(8);
    let tables = &mut config.p4info.as_mut().unwrap().tables;
    let kinds = tables.iter_mut().find(|table| table.is_const_table).unwrap();
    kinds.is_const_table = false;
    primary
        .set_config(ConfigAction::VerifyAndCommit, Some(config))
        .await
        .unwrap();
    let entries = primary.read_entries(table("kinds")).await;
    let mut first = TableEntry {
        r#match: vec![exact(1, &[3])],
        action: action(TABLES.action("tag"), &[&[1, 0x23], &[4]]),
        ..table("kinds")
    };
    assert_eq!(entries[0], first);
    first.action = action(TABLES.action("drop"), &[]);
    primary.write(vec![modify(first.clone())]).await.unwrap();
    assert!(primary.read_entries(table("kinds")).await.contains(&first));
    primary.write(vec![delete(first.clone())]).await.unwrap();
    assert_eq!(primary.read_entries(table("kinds")).await, entries[1..]);
    primary.write(vec![insert(first)]).await.unwrap();
}
