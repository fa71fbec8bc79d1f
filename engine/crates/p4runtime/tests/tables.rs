// SPDX-License-Identifier: Apache-2.0
//! Write and Read of table entries, counters and direct counters: what is taken, and each way to be refused.

mod support;

use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

fn table(name: &str) -> TableEntry {
    TableEntry {
        table_id: TABLES.table(name),
        ..TableEntry::default()
    }
}

fn route(matches: Vec<FieldMatch>) -> TableEntry {
    TableEntry {
        r#match: matches,
        action: action(TABLES.action("forward"), &[&[1]]),
        ..table("route")
    }
}

fn acl(priority: i32, matches: Vec<FieldMatch>) -> TableEntry {
    TableEntry {
        r#match: matches,
        priority,
        action: action(TABLES.action("drop"), &[]),
        ..table("acl")
    }
}

fn default_of(name: &str, action: Option<TableAction>) -> TableEntry {
    TableEntry {
        is_default_action: true,
        action,
        ..table(name)
    }
}

fn counter_cell(index: Option<i64>, data: Option<(i64, i64)>) -> entity::Entity {
    entity::Entity::CounterEntry(CounterEntry {
        counter_id: TABLES.counter(),
        index: index.map(|index| Index { index }),
        data: data.map(|(packet_count, byte_count)| CounterData {
            packet_count,
            byte_count,
        }),
    })
}

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
            Code::Unimplemented,
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
    assert_eq!(primary.read_entries(table("mac")).await, [canonical.clone()]);
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
    assert_eq!(primary.read_entries(one_key).await, [canonical.clone()]);
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
    assert_eq!(primary.read_entries(table("acl")).await, [changed.clone()]);
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
async fn defaults_are_modified_and_reset() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let original = default_of("route", action(TABLES.action("drop"), &[]));
    assert_eq!(
        primary.read_entries(default_of("route", None)).await,
        [original.clone()]
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
async fn counters_count_and_are_set() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    let entry = TableEntry {
        counter_data: Some(CounterData {
            byte_count: 50,
            packet_count: 2,
        }),
        ..mac_entry(&TABLES, 1, &[3])
    };
    primary.write(vec![insert(entry.clone())]).await.unwrap();
    let sent = frame(1, 0x0800, &[0; 46]);
    bench.inject(1, 4, &sent);
    bench.left.recv().await.unwrap();
    let expected = CounterData {
        byte_count: 50 + sent.len() as i64,
        packet_count: 3,
    };

    let with_counter = TableEntry {
        counter_data: Some(CounterData::default()),
        ..table("mac")
    };
    assert_eq!(primary.read_entries(with_counter).await[0].counter_data, Some(expected));
    assert_eq!(
        primary.read_entries(table("mac")).await[0].counter_data,
        None,
        "not asked for"
    );
    let key = |mac: u8| TableEntry {
        r#match: vec![exact(1, &[mac])],
        ..table("mac")
    };
    let direct = |table_entry, data| entity::Entity::DirectCounterEntry(DirectCounterEntry { table_entry, data });
    for selection in [None, Some(table("mac")), Some(key(1))] {
        let found = primary.read(vec![direct(selection, None)]).await.unwrap();
        assert_eq!(found, [direct(Some(key(1)), Some(expected))]);
    }
    let zero = Some(CounterData::default());
    primary
        .write(vec![update(update::Type::Modify, direct(Some(key(1)), zero))])
        .await
        .unwrap();
    assert_eq!(
        primary.read(vec![direct(Some(key(1)), None)]).await.unwrap(),
        [direct(Some(key(1)), zero)]
    );
    for (kind, entity, code) in [
        (update::Type::Modify, direct(Some(key(9)), zero), Code::NotFound),
        (update::Type::Insert, direct(Some(key(1)), zero), Code::InvalidArgument),
        (
            update::Type::Modify,
            direct(Some(table("route")), zero),
            Code::InvalidArgument,
        ),
        (update::Type::Modify, direct(None, zero), Code::InvalidArgument),
    ] {
        let status = primary.write(vec![update(kind, entity)]).await.unwrap_err();
        assert_eq!(batch_codes(&status), [code]);
    }

    let cell = primary.read(vec![counter_cell(Some(4), None)]).await.unwrap();
    assert_eq!(cell, [counter_cell(Some(4), Some((1, sent.len() as i64)))]);
    let all = update(update::Type::Modify, counter_cell(None, Some((7, 9))));
    primary.write(vec![all]).await.unwrap();
    let everything = entity::Entity::CounterEntry(CounterEntry::default());
    let cells = primary.read(vec![everything]).await.unwrap();
    assert_eq!(cells.len(), 512);
    assert_eq!(cells[511], counter_cell(Some(511), Some((7, 9))));
}

#[tokio::test]
async fn a_read_gives_what_it_can_and_names_what_it_cannot() {
    let bench = Bench::start();
    let mut primary = bench.ready(&TABLES).await;
    primary.write(vec![insert(mac_entry(&TABLES, 1, &[3]))]).await.unwrap();
    let requests = [
        (entity::Entity::TableEntry(table("mac")), Code::Ok),
        (
            entity::Entity::TableEntry(TableEntry {
                table_id: 1,
                ..TableEntry::default()
            }),
            Code::NotFound,
        ),
        (
            entity::Entity::TableEntry(TableEntry {
                priority: 1,
                ..TableEntry::default()
            }),
            Code::InvalidArgument,
        ),
        (counter_cell(Some(512), None), Code::OutOfRange),
        (entity::Entity::MeterEntry(MeterEntry::default()), Code::Ok),
        (
            entity::Entity::ActionProfileMember(ActionProfileMember::default()),
            Code::Ok,
        ),
    ];
    let (entities, codes): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
    let entities = entities.into_iter().map(|entity| Entity { entity: Some(entity) });
    let entities = entities.chain([Entity { entity: None }]).collect();
    let request = ReadRequest {
        device_id: 1,
        role: String::new(),
        entities,
    };
    let mut responses = primary.client.read(request).await.unwrap().into_inner();
    assert_eq!(responses.message().await.unwrap().unwrap().entities.len(), 1);
    let status = responses.message().await.unwrap_err();
    assert_eq!(batch_codes(&status), [codes, vec![Code::InvalidArgument]].concat());
}
