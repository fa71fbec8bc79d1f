// SPDX-License-Identifier: Apache-2.0
//! Meters, direct meters and registers; batches that are all or nothing.

use crate::support;

use slotwise_p4runtime::proto::p4::v1::entity::Entity as E;
use slotwise_p4runtime::proto::p4::v1::write_request::Atomicity;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;
use update::Type::{Delete, Insert, Modify};

fn id(name: &str) -> u32 {
    ENTITIES.id(name)
}

fn rates(cir: i64, pir: i64) -> Option<MeterConfig> {
    Some(MeterConfig {
        cir,
        cburst: 10,
        pir,
        pburst: 20,
        eburst: 0,
    })
}

fn at(index: i64) -> Option<Index> {
    Some(Index { index })
}

fn meter(index: Option<Index>, config: Option<MeterConfig>) -> E {
    E::MeterEntry(MeterEntry {
        meter_id: id("port_meter"),
        index,
        config,
        counter_data: None,
    })
}

fn host(mac: u8) -> TableEntry {
    TableEntry {
        table_id: id("hosts"),
        r#match: vec![exact(1, &[mac])],
        action: action(id("metered"), &[&[3]]),
        ..TableEntry::default()
    }
}

fn direct_meter(table_entry: Option<TableEntry>, config: Option<MeterConfig>) -> E {
    E::DirectMeterEntry(DirectMeterEntry {
        table_entry,
        config,
        counter_data: None,
    })
}

fn register(index: Option<Index>, value: Option<&[u8]>) -> E {
    let data = value.map(|value| P4Data {
        data: Some(p4_data::Data::Bitstring(value.to_vec())),
    });
    E::RegisterEntry(RegisterEntry {
        register_id: id("last_source"),
        index,
        data,
    })
}

#[tokio::test]
async fn meters_are_set_and_reset() {
    let bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    primary
        .write(vec![update(Modify, meter(at(3), rates(1, 2)))])
        .await
        .unwrap();
    assert_eq!(
        primary.read(vec![meter(at(3), None)]).await.unwrap(),
        [meter(at(3), rates(1, 2))]
    );
    assert_eq!(
        primary.read(vec![meter(at(4), None)]).await.unwrap(),
        [meter(at(4), None)]
    );
    let all = E::MeterEntry(MeterEntry::default());
    assert_eq!(primary.read(vec![all]).await.unwrap().len(), 16);
    primary
        .write(vec![update(Modify, meter(None, rates(5, 5)))])
        .await
        .unwrap();
    assert_eq!(
        primary.read(vec![meter(at(15), None)]).await.unwrap(),
        [meter(at(15), rates(5, 5))]
    );
    primary.write(vec![update(Modify, meter(None, None))]).await.unwrap();
    assert_eq!(
        primary.read(vec![meter(at(3), None)]).await.unwrap(),
        [meter(at(3), None)]
    );

    let counted = MeterEntry {
        meter_id: id("port_meter"),
        counter_data: Some(MeterCounterData::default()),
        ..MeterEntry::default()
    };
    let excess = Some(MeterConfig {
        eburst: 1,
        ..rates(1, 2).unwrap()
    });
    let refused = [
        (update(Insert, meter(at(1), None)), Code::InvalidArgument),
        (update(Modify, meter(at(-1), None)), Code::InvalidArgument),
        (update(Modify, meter(at(16), None)), Code::OutOfRange),
        (update(Modify, meter(at(1), rates(-1, 2))), Code::InvalidArgument),
        (update(Modify, meter(at(1), rates(3, 2))), Code::InvalidArgument),
        (update(Modify, meter(at(1), excess)), Code::InvalidArgument),
        (update(Modify, E::MeterEntry(counted)), Code::Unimplemented),
    ];
    let (updates, expected): (Vec<_>, Vec<_>) = refused.into_iter().unzip();
    assert_eq!(batch_codes(&primary.write(updates).await.unwrap_err()), expected);
}

#[tokio::test]
async fn direct_meters_live_with_their_entries() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    // Two packets at once, no more: the bench's time stands still.
    let config = Some(MeterConfig {
        cir: 1,
        cburst: 2,
        pir: 1,
        pburst: 2,
        eburst: 0,
    });
    let metered = TableEntry {
        meter_config: config,
        ..host(1)
    };
    primary.write(vec![insert(metered.clone())]).await.unwrap();
    for _ in 0..3 {
        bench.inject(1, 4, &frame(1, 0x0800, &[0; 46]));
    }
    let read = TableEntry {
        meter_config: Some(MeterConfig::default()),
        counter_data: Some(CounterData::default()),
        ..host(1)
    };
    let read = TableEntry { action: None, ..read };
    for _ in 0..2 {
        assert_eq!(bench.left.recv().await.unwrap().1, 3);
    }
    let found = primary.read_entries(read.clone()).await;
    assert_eq!(found[0].meter_config, config);
    assert_eq!(found[0].counter_data.unwrap().packet_count, 3);

    let key = TableEntry {
        action: None,
        ..host(1)
    };
    let slower = direct_meter(
        Some(key.clone()),
        rates(1, 1).map(|it| MeterConfig { cburst: 20, ..it }),
    );
    primary.write(vec![update(Modify, slower.clone())]).await.unwrap();
    for wildcard in [direct_meter(None, None), direct_meter(Some(key.clone()), None)] {
        assert_eq!(primary.read(vec![wildcard]).await.unwrap(), vec![slower.clone()]);
    }
    primary.write(vec![modify(host(1))]).await.unwrap();
    let found = primary.read_entries(read).await;
    assert_eq!(found[0].meter_config, None, "MODIFY without rates makes it green");
    assert_eq!(
        found[0].counter_data.unwrap().packet_count,
        3,
        "MODIFY without a count leaves it"
    );
    let other = TableEntry {
        r#match: vec![exact(1, &[9])],
        ..key.clone()
    };
    let refused = vec![
        update(Modify, direct_meter(Some(other), None)),
        update(Delete, direct_meter(Some(key), None)),
        update(Modify, direct_meter(None, None)),
    ];
    let expected = [Code::NotFound, Code::InvalidArgument, Code::InvalidArgument];
    assert_eq!(batch_codes(&primary.write(refused).await.unwrap_err()), expected);
}

#[tokio::test]
async fn a_modify_without_an_action_resets_a_direct_meter_and_leaves_the_rest() {
    let bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let written = TableEntry {
        metadata: b"mine".to_vec(),
        idle_timeout_ns: 1_000_000_000,
        ..host(1)
    };
    let metered = TableEntry {
        meter_config: rates(1, 2),
        ..written.clone()
    };
    let empty = TableEntry {
        action: None,
        ..host(1)
    };
    let counted = TableEntry {
        counter_data: Some(CounterData {
            packet_count: 7,
            byte_count: 700,
        }),
        ..empty.clone()
    };
    let with_resources = |entry: &TableEntry| TableEntry {
        meter_config: Some(MeterConfig::default()),
        counter_data: Some(CounterData::default()),
        ..entry.clone()
    };
    for change in [&empty, &counted] {
        primary.write(vec![insert(metered.clone())]).await.unwrap();
        primary.write(vec![modify(change.clone())]).await.unwrap();
        let expected = TableEntry {
            counter_data: Some(change.counter_data.unwrap_or_default()),
            ..written.clone()
        };
        let found = primary.read_entries(with_resources(&empty)).await;
        assert_eq!(found, [expected]);
        primary.write(vec![delete(empty.clone())]).await.unwrap();
    }
}

#[tokio::test]
async fn registers_are_read_and_written() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    bench.inject(1, 4, &frame(1, 0x0800, &[0; 46]));
    primary
        .write(vec![update(Modify, register(at(2), Some(&[0, 1, 2])))])
        .await
        .unwrap();
    let found = primary.read(vec![register(None, None)]).await.unwrap();
    let cell = |index| {
        let value: &[u8] = match index {
            2 => &[1, 2],
            4 => &[99],
            _ => &[0],
        };
        register(at(index), Some(value))
    };
    assert_eq!(found, (0..8).map(cell).collect::<Vec<_>>());
    let refused = vec![
        update(Modify, register(at(8), Some(&[1]))),
        update(Modify, register(at(1), Some(&[1; 7]))),
        update(Modify, register(at(1), None)),
        update(Insert, register(at(1), Some(&[1]))),
    ];
    let expected = [
        Code::OutOfRange,
        Code::OutOfRange,
        Code::InvalidArgument,
        Code::InvalidArgument,
    ];
    assert_eq!(batch_codes(&primary.write(refused).await.unwrap_err()), expected);
    assert!(bench.left.try_recv().is_err(), "the packet went to the controller");
}

#[tokio::test]
async fn an_atomic_batch_is_all_or_nothing() {
    let bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let metered = TableEntry {
        meter_config: rates(1, 1),
        metadata: b"first".to_vec(),
        ..host(1)
    };
    primary.write(vec![insert(metered.clone())]).await.unwrap();
    let everything = || {
        vec![
            E::TableEntry(TableEntry {
                meter_config: Some(MeterConfig::default()),
                ..TableEntry::default()
            }),
            meter(None, None),
            register(None, None),
        ]
    };
    let before = primary.read(everything()).await.unwrap();
    let changes = vec![
        modify(host(1)),
        insert(host(2)),
        delete(host(1)),
        update(Modify, meter(None, rates(7, 7))),
        update(Modify, register(at(1), Some(&[7]))),
    ];
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let mut failing = changes.clone();
        failing.insert(3, insert(host(2)));
        let status = primary.write_atomically(failing, atomicity).await.unwrap_err();
        let aborted = Code::Aborted;
        assert_eq!(
            batch_codes(&status),
            [aborted, aborted, aborted, Code::AlreadyExists, aborted, aborted]
        );
        assert_eq!(primary.read(everything()).await.unwrap(), before);
        let mut malformed = changes.clone();
        malformed.push(update(Modify, meter(at(99), None)));
        let status = primary.write_atomically(malformed, atomicity).await.unwrap_err();
        assert_eq!(batch_codes(&status)[4..], [aborted, Code::OutOfRange]);
        assert_eq!(primary.read(everything()).await.unwrap(), before);
    }
    primary
        .write_atomically(changes, Atomicity::DataplaneAtomic)
        .await
        .unwrap();
    assert_eq!(primary.read_entries(TableEntry::default()).await, [host(2)]);
}

/// The default entry of `hosts`, with what of it is read or written.
fn default_host(counter_data: Option<CounterData>, meter_config: Option<MeterConfig>) -> TableEntry {
    TableEntry {
        table_id: id("hosts"),
        is_default_action: true,
        counter_data,
        meter_config,
        ..TableEntry::default()
    }
}

#[tokio::test]
async fn the_default_entry_has_direct_resources_of_its_own() {
    let mut bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    primary.write(vec![insert(host(1))]).await.unwrap();
    for host in [9, 9, 1] {
        bench.inject(1, 4, &frame(host, 0x0800, &[0; 46]));
    }
    assert_eq!(bench.left.recv().await.unwrap().1, 3, "the others are dropped before");
    let asked = default_host(Some(CounterData::default()), Some(MeterConfig::default()));
    let count = |packet_count| {
        Some(CounterData {
            packet_count,
            byte_count: packet_count * 60,
        })
    };
    let found = primary.read_entries(asked.clone()).await;
    assert_eq!((found[0].counter_data, found[0].meter_config), (count(2), None));

    let key = default_host(None, None);
    let counter = |data| {
        E::DirectCounterEntry(DirectCounterEntry {
            table_entry: Some(default_host(None, None)),
            data,
        })
    };
    let written = vec![
        update(Modify, counter(count(7))),
        update(Modify, direct_meter(Some(key.clone()), rates(1, 2))),
    ];
    primary.write(written).await.unwrap();
    assert_eq!(primary.read(vec![counter(None)]).await.unwrap(), [counter(count(7))]);
    assert_eq!(
        primary.read(vec![direct_meter(Some(key.clone()), None)]).await.unwrap(),
        [direct_meter(Some(key.clone()), rates(1, 2))]
    );

    let refused = TableEntry {
        action: action(id("drop"), &[]),
        ..default_host(count(-1), rates(3, 4))
    };
    assert_eq!(
        batch_codes(&primary.write(vec![modify(refused)]).await.unwrap_err()),
        [Code::InvalidArgument]
    );
    let dropping = TableEntry {
        action: action(id("drop"), &[]),
        ..default_host(None, rates(3, 4))
    };
    primary.write(vec![modify(dropping)]).await.unwrap();
    let found = primary.read_entries(asked.clone()).await;
    assert_eq!(
        (found[0].counter_data, found[0].meter_config),
        (count(7), rates(3, 4)),
        "MODIFY without a count leaves it"
    );
    primary.write(vec![modify(default_host(None, None))]).await.unwrap();
    let found = primary.read_entries(asked).await;
    assert_eq!(
        (found[0].counter_data, found[0].meter_config),
        (count(0), None),
        "without an action it is as it was at first"
    );
}

#[tokio::test]
async fn a_failed_batch_leaves_the_default_entry_as_it_was() {
    let bench = Bench::start();
    let mut primary = bench.ready(&ENTITIES).await;
    let before = TableEntry {
        action: action(id("drop"), &[]),
        ..default_host(
            Some(CounterData {
                packet_count: 3,
                byte_count: 5,
            }),
            rates(3, 4),
        )
    };
    primary.write(vec![modify(before.clone())]).await.unwrap();
    let batch = vec![
        modify(default_host(None, None)),
        update(Modify, direct_meter(Some(default_host(None, None)), rates(8, 9))),
        // There is none.
        delete(host(5)),
    ];
    primary
        .write_atomically(batch, Atomicity::RollbackOnError)
        .await
        .unwrap_err();
    let asked = default_host(Some(CounterData::default()), Some(MeterConfig::default()));
    let found = primary.read_entries(asked).await;
    assert_eq!(
        (found[0].counter_data, found[0].meter_config, &found[0].action),
        (before.counter_data, before.meter_config, &before.action)
    );
}
