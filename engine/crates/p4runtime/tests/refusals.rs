// SPDX-License-Identifier: Apache-2.0
//! Each way in which an update can be wrong, and what it is refused with.

use crate::support;

use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

#[tokio::test]
async fn every_malformed_update_has_its_code_and_changes_nothing() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let forward = TABLES.action("forward");
    let good = mac_entry(&TABLES, 1, &[3]);
    let with_action = |action| TableEntry { action, ..good.clone() };
    let param = |param_id, value: &[u8]| action::Param {
        param_id,
        value: value.to_vec(),
    };
    let raw_action = |params| {
        let action = Action {
            action_id: forward,
            params,
        };
        with_action(Some(TableAction {
            r#type: Some(table_action::Type::Action(action)),
        }))
    };
    let mac = |field: FieldMatch| TableEntry {
        r#match: vec![field],
        ..good.clone()
    };
    let cases: Vec<(&str, Update_, Code)> = vec![
        (
            "no type",
            update(update::Type::Unspecified, entity::Entity::TableEntry(good.clone())),
            Code::InvalidArgument,
        ),
        (
            "no entity",
            Update_ {
                r#type: 1,
                entity: None,
            },
            Code::InvalidArgument,
        ),
        (
            "no such table",
            insert(TableEntry {
                table_id: 12345,
                ..good.clone()
            }),
            Code::NotFound,
        ),
        ("no action", insert(with_action(None)), Code::InvalidArgument),
        (
            "action of nobody",
            insert(with_action(action(1, &[]))),
            Code::InvalidArgument,
        ),
        (
            "another table's action",
            insert(with_action(action(TABLES.action("tag"), &[&[1], &[1]]))),
            Code::InvalidArgument,
        ),
        (
            "default-only action",
            insert(with_action(action(TABLES.action("NoAction"), &[]))),
            Code::PermissionDenied,
        ),
        (
            "parameter missing",
            insert(with_action(action(forward, &[]))),
            Code::InvalidArgument,
        ),
        (
            "parameter twice",
            insert(raw_action(vec![param(1, &[1]), param(1, &[1])])),
            Code::InvalidArgument,
        ),
        (
            "parameter unknown",
            insert(raw_action(vec![param(9, &[1])])),
            Code::InvalidArgument,
        ),
        (
            "parameter of 10 bits",
            insert(mac_entry(&TABLES, 1, &[2, 0])),
            Code::OutOfRange,
        ),
        ("parameter empty", insert(mac_entry(&TABLES, 1, &[])), Code::OutOfRange),
        (
            "key missing",
            insert(TableEntry {
                r#match: vec![],
                ..good.clone()
            }),
            Code::InvalidArgument,
        ),
        ("key field unknown", insert(mac(exact(2, &[1]))), Code::InvalidArgument),
        (
            "key of 49 bits",
            insert(mac(exact(1, &[1, 0, 0, 0, 0, 0, 0]))),
            Code::OutOfRange,
        ),
        ("key empty", insert(mac(exact(1, &[]))), Code::OutOfRange),
        (
            "ternary for exact",
            insert(mac(ternary(1, &[1], &[1]))),
            Code::InvalidArgument,
        ),
        (
            "no match value",
            insert(mac(FieldMatch {
                field_id: 1,
                field_match_type: None,
            })),
            Code::InvalidArgument,
        ),
        (
            "key field twice",
            insert(TableEntry {
                r#match: vec![exact(1, &[1]), exact(1, &[1])],
                ..good.clone()
            }),
            Code::InvalidArgument,
        ),
        (
            "priority for exact",
            insert(TableEntry {
                priority: 1,
                ..good.clone()
            }),
            Code::InvalidArgument,
        ),
        ("no priority for ternary", insert(acl(0, vec![])), Code::InvalidArgument),
        ("negative priority", insert(acl(-1, vec![])), Code::InvalidArgument),
        (
            "prefix of 0",
            insert(route(vec![lpm(1, &[0], 0)])),
            Code::InvalidArgument,
        ),
        (
            "prefix of 33",
            insert(route(vec![lpm(1, &[0], 33)])),
            Code::InvalidArgument,
        ),
        (
            "bits beyond the prefix",
            insert(route(vec![lpm(1, &[10, 0, 0, 1], 8)])),
            Code::InvalidArgument,
        ),
        (
            "mask of zero",
            insert(acl(1, vec![ternary(1, &[0], &[0])])),
            Code::InvalidArgument,
        ),
        (
            "value outside the mask",
            insert(acl(1, vec![ternary(1, &[3], &[1])])),
            Code::InvalidArgument,
        ),
        (
            "range upside down",
            insert(acl(1, vec![range(2, &[2], &[1])])),
            Code::InvalidArgument,
        ),
        (
            "range of everything",
            insert(acl(1, vec![range(2, &[0], &[0xff, 0xff])])),
            Code::InvalidArgument,
        ),
        (
            "optional of 13 bits",
            insert(acl(1, vec![optional(3, &[0x10, 0])])),
            Code::OutOfRange,
        ),
        (
            "is_const",
            insert(TableEntry {
                is_const: true,
                ..good.clone()
            }),
            Code::InvalidArgument,
        ),
        (
            "meter where there is none",
            insert(TableEntry {
                meter_config: Some(MeterConfig::default()),
                ..good.clone()
            }),
            Code::InvalidArgument,
        ),
        (
            "idle timeout where there is none",
            insert(TableEntry {
                idle_timeout_ns: 1,
                ..good.clone()
            }),
            Code::InvalidArgument,
        ),
        (
            "counter where there is none",
            insert(TableEntry {
                counter_data: Some(CounterData::default()),
                ..route(vec![lpm(1, &[1], 32)])
            }),
            Code::InvalidArgument,
        ),
        ("modify what is not there", modify(good.clone()), Code::NotFound),
        ("delete what is not there", delete(good.clone()), Code::NotFound),
        (
            "const entry",
            insert(TableEntry {
                r#match: vec![exact(1, &[1])],
                action: action(TABLES.action("drop"), &[]),
                ..table("kinds")
            }),
            Code::PermissionDenied,
        ),
        (
            "const entry deleted",
            delete(TableEntry {
                r#match: vec![exact(1, &[3])],
                ..table("kinds")
            }),
            Code::PermissionDenied,
        ),
        (
            "default inserted",
            insert(default_of("mac", action(forward, &[&[1]]))),
            Code::InvalidArgument,
        ),
        (
            "default deleted",
            delete(default_of("mac", None)),
            Code::InvalidArgument,
        ),
        (
            "const default",
            modify(default_of("acl", action(TABLES.action("drop"), &[]))),
            Code::PermissionDenied,
        ),
        (
            "table-only action as default",
            modify(default_of("route", action(TABLES.action("tag"), &[&[1], &[1]]))),
            Code::PermissionDenied,
        ),
        (
            "default with a key",
            modify(TableEntry {
                r#match: vec![exact(1, &[1])],
                ..default_of("mac", None)
            }),
            Code::InvalidArgument,
        ),
        (
            "entry of a table without key",
            insert(TableEntry {
                action: action(TABLES.action("drop"), &[]),
                ..table("fallback")
            }),
            Code::InvalidArgument,
        ),
        (
            "register",
            update(
                update::Type::Modify,
                entity::Entity::RegisterEntry(RegisterEntry::default()),
            ),
            Code::NotFound,
        ),
        (
            "counter inserted",
            update(update::Type::Insert, counter_cell(Some(1), Some((1, 1)))),
            Code::InvalidArgument,
        ),
        (
            "counter cell -1",
            update(update::Type::Modify, counter_cell(Some(-1), Some((1, 1)))),
            Code::InvalidArgument,
        ),
        (
            "counter cell 512",
            update(update::Type::Modify, counter_cell(Some(512), Some((1, 1)))),
            Code::OutOfRange,
        ),
        (
            "negative count",
            update(update::Type::Modify, counter_cell(Some(1), Some((-1, 1)))),
            Code::InvalidArgument,
        ),
    ];
    let (updates, expected): (Vec<_>, Vec<_>) = cases.iter().map(|(_, update, code)| (update.clone(), *code)).unzip();
    let status = primary.write(updates).await.unwrap_err();
    for ((what, ..), (code, expected)) in cases.iter().zip(batch_codes(&status).into_iter().zip(expected)) {
        assert_eq!(code, expected, "{what}");
    }
    let kinds = primary.read_entries(table("kinds")).await.len();
    assert_eq!(
        primary.read_entries(TableEntry::default()).await.len(),
        kinds,
        "only the const entries are there"
    );
}

#[tokio::test]
async fn a_batch_goes_on_after_an_error_and_reports_in_order() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let updates = vec![
        insert(mac_entry(&TABLES, 1, &[1])),
        insert(mac_entry(&TABLES, 1, &[2])),
        insert(mac_entry(&TABLES, 2, &[])),
        insert(mac_entry(&TABLES, 3, &[3])),
        insert(mac_entry(&TABLES, 4, &[4])),
        insert(mac_entry(&TABLES, 5, &[5])),
        insert(mac_entry(&TABLES, 6, &[6])),
    ];
    let status = primary.write(updates).await.unwrap_err();
    let expected = [
        Code::Ok,
        Code::AlreadyExists,
        Code::OutOfRange,
        Code::Ok,
        Code::Ok,
        Code::Ok,
        Code::ResourceExhausted,
    ];
    assert_eq!(batch_codes(&status), expected);
    assert_eq!(primary.read_entries(table("mac")).await.len(), 4);
}

#[tokio::test]
async fn a_full_table_names_the_programs_size_and_that_of_p4info_where_they_differ() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    for (p4info_size, expected) in [
        (
            4,
            "table `TablesIngress.mac` is full (max_size 4 in the program's JSON)",
        ),
        (
            64,
            "table `TablesIngress.mac` is full (max_size 4 in the program's JSON; P4Info: 64)",
        ),
    ] {
        let mut config = TABLES.config(8);
        let tables = &mut config.p4info.as_mut().unwrap().tables;
        tables.iter_mut().for_each(|table| table.size = p4info_size);
        primary
            .set_config(ConfigAction::VerifyAndCommit, Some(config))
            .await
            .unwrap();
        let updates = (1..=5).map(|mac| insert(mac_entry(&TABLES, mac, &[1])));
        let refused = primary.write(updates.collect()).await.unwrap_err();
        let message = format!("1 of 5 updates failed; first: {expected}");
        assert_eq!(refused.message(), message);
    }
}
