// SPDX-License-Identifier: Apache-2.0
//! Counters and direct counters; reads of which a part fails.

use crate::support;

use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

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
