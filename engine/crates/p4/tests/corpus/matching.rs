// SPDX-License-Identifier: Apache-2.0
//! Tables: match kinds, priorities, default actions, counters, meters, action profiles, and refused changes.

use super::support::{answer, bits, call, entry, exact, lpm, pipeline, range, ternary};
use slotwise_p4::{ConfigError, Indirect, KeyField, MeterConfig, Pipeline, WeightedMember};

#[derive(Clone, Copy, Default)]
struct Key {
    table: u8,
    a: u8,
    b: u16,
    c: u32,
    d: u128,
}

/// The answer and the color that the tables give.
fn look_up(pipeline: &mut Pipeline, key: Key) -> (u16, u8) {
    let mut frame = vec![key.table, key.a];
    frame.extend(key.b.to_be_bytes());
    frame.extend(key.c.to_be_bytes());
    frame.extend(key.d.to_be_bytes());
    frame.extend([0, 0, 0]);
    let out = answer(pipeline, &frame);
    (u16::from_be_bytes([out[24], out[25]]), out[26])
}

fn wide(value: u128) -> KeyField {
    KeyField::Exact(value.to_be_bytes().to_vec())
}

#[test]
fn exact_keys_of_any_width() {
    let mut pipeline = pipeline("matching");
    let table = "TestIngress.exact_table";
    let key = Key {
        table: 1,
        a: 5,
        d: 1 << 127 | 1,
        ..Key::default()
    };
    assert_eq!(look_up(&mut pipeline, key), (0xdead, 0xa0));
    let added = entry(vec![exact(5), wide(key.d)], 0, call("TestIngress.answer", &[42]));
    pipeline.table_insert(table, added.clone()).unwrap();
    assert_eq!(look_up(&mut pipeline, key), (42, 0xa0));
    assert_eq!(look_up(&mut pipeline, Key { d: 1, ..key }), (0xdead, 0xa0));
    assert_eq!(pipeline.direct_counter_read(table, &added).unwrap(), (1, 27));

    pipeline
        .table_modify(table, entry(added.key.clone(), 0, call("NoAction", &[])))
        .unwrap();
    assert_eq!(look_up(&mut pipeline, key), (0, 0xb0));
    pipeline.table_delete(table, &added).unwrap();
    assert_eq!(look_up(&mut pipeline, key), (0xdead, 0xa0));
}

#[test]
fn refused_changes_change_nothing() {
    let mut pipeline = pipeline("matching");
    let table = "TestIngress.exact_table";
    let good = entry(vec![exact(1), wide(1)], 0, call("TestIngress.answer", &[1]));
    pipeline.table_insert(table, good.clone()).unwrap();
    let refused = |result: Result<(), ConfigError>, kind: fn(String) -> ConfigError| {
        let error = result.unwrap_err();
        assert_eq!(
            std::mem::discriminant(&error),
            std::mem::discriminant(&kind(String::new())),
            "{error:?}"
        );
    };
    let answer_one = || call("TestIngress.answer", &[1]);
    refused(pipeline.table_insert(table, good.clone()), ConfigError::AlreadyExists);
    refused(pipeline.table_insert("no.table", good.clone()), ConfigError::NotFound);
    let key = || vec![exact(2), wide(2)];
    refused(
        pipeline.table_insert(table, entry(vec![exact(2)], 0, answer_one())),
        ConfigError::Invalid,
    );
    refused(
        pipeline.table_insert(table, entry(vec![exact(256), wide(2)], 0, answer_one())),
        ConfigError::Invalid,
    );
    refused(
        pipeline.table_insert(table, entry(vec![lpm(2, 8), wide(2)], 0, answer_one())),
        ConfigError::Invalid,
    );
    refused(
        pipeline.table_insert(table, entry(key(), 1, answer_one())),
        ConfigError::Invalid,
    );
    refused(
        pipeline.table_insert(table, entry(key(), 0, call("TestIngress.metered", &[1]))),
        ConfigError::NotFound,
    );
    refused(
        pipeline.table_insert(table, entry(key(), 0, call("TestIngress.answer", &[]))),
        ConfigError::Invalid,
    );
    refused(
        pipeline.table_insert(table, entry(key(), 0, call("TestIngress.answer", &[65536]))),
        ConfigError::Invalid,
    );
    refused(
        pipeline.table_modify(table, entry(key(), 0, answer_one())),
        ConfigError::NotFound,
    );
    refused(
        pipeline.table_delete(table, &entry(key(), 0, answer_one())),
        ConfigError::NotFound,
    );
    pipeline.table_insert(table, entry(key(), 0, answer_one())).unwrap();
    let third = entry(vec![exact(3), wide(3)], 0, answer_one());
    refused(pipeline.table_insert(table, third), |table| ConfigError::TableFull {
        table,
        max_size: 2,
    });
    refused(
        pipeline.table_insert("TestIngress.const_table", entry(vec![ternary(1, 1)], 9, answer_one())),
        ConfigError::Denied,
    );
    refused(
        pipeline.table_set_default("TestIngress.lpm_table", Some(answer_one())),
        ConfigError::Denied,
    );
    let entries = pipeline.table_entries(table).unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].action, call("TestIngress.answer", &[1]).canonical());
    assert_eq!(entries[0].key, [KeyField::Exact(vec![1]), KeyField::Exact(vec![1])]);
}

trait Canonical {
    fn canonical(self) -> Self;
}

impl Canonical for slotwise_p4::ActionCall {
    /// With the shortest byte strings, as entries are read back.
    fn canonical(mut self) -> Self {
        for arg in &mut self.args {
            let zeros = arg.iter().take_while(|&&b| b == 0).count().min(arg.len() - 1);
            arg.drain(..zeros);
        }
        self
    }
}

#[test]
fn the_longest_prefix_wins() {
    let mut pipeline = pipeline("matching");
    let table = "TestIngress.lpm_table";
    let mut add = |value, length, result| {
        let key = vec![exact(1), lpm(value, length)];
        pipeline
            .table_insert(table, entry(key, 0, call("TestIngress.answer", &[result])))
            .unwrap();
    };
    add(0x0a00_0000, 8, 8);
    add(0, 0, 1);
    add(0x0a01_0000, 16, 16);
    add(0x0a01_0203, 32, 32);
    let mut at = |a, c| {
        look_up(
            &mut pipeline,
            Key {
                table: 2,
                a,
                c,
                ..Key::default()
            },
        )
    };
    assert_eq!(at(1, 0x0a01_0203), (32, 0x11));
    assert_eq!(at(1, 0x0a01_0204), (16, 0x11));
    assert_eq!(at(1, 0x0a02_0204), (8, 0x11));
    assert_eq!(at(1, 0x0b02_0204), (1, 0x11));
    assert_eq!(at(2, 0x0a01_0203), (0, 0x22));
    let bad = entry(vec![exact(1), lpm(0x0a01_0203, 24)], 0, call("NoAction", &[]));
    assert!(matches!(
        pipeline.table_insert(table, bad),
        Err(ConfigError::Invalid(_))
    ));
    assert_eq!(
        pipeline.table_entries(table).unwrap()[1].key[1],
        KeyField::Lpm {
            value: vec![0],
            prefix_len: 0
        }
    );
}

#[test]
fn ternary_optional_and_prefix_together() {
    let mut pipeline = pipeline("matching");
    let table = "TestIngress.ternary_table";
    let any = KeyField::Optional(None);
    let five = KeyField::Optional(Some(bits(5)));
    let mut add = |key: Vec<KeyField>, priority, result| {
        let metered = call("TestIngress.metered", &[result]);
        pipeline.table_insert(table, entry(key, priority, metered)).unwrap();
    };
    add(vec![ternary(0x1200, 0xff00), lpm(0, 0), any.clone()], 10, 1);
    add(vec![ternary(0, 0), lpm(0x0a00_0000, 8), five.clone()], 20, 2);
    add(vec![ternary(0x1234, 0xffff), lpm(0, 0), any.clone()], 5, 3);
    let mut at = |a, b, c| {
        look_up(
            &mut pipeline,
            Key {
                table: 3,
                a,
                b,
                c,
                ..Key::default()
            },
        )
        .0
    };
    assert_eq!(at(5, 0x1234, 0x0a00_0001), 2);
    assert_eq!(at(6, 0x1234, 0x0a00_0001), 1);
    assert_eq!(at(5, 0x1334, 0x0b00_0001), 0);
    let entries = pipeline.table_entries(table).unwrap();
    assert_eq!(entries[0].key[2], any);
    assert_eq!(entries[1].key[2], KeyField::Optional(Some(vec![5])));
    let no_priority = entry(vec![ternary(1, 1), lpm(0, 0), any], 0, call("NoAction", &[]));
    assert!(matches!(
        pipeline.table_insert(table, no_priority),
        Err(ConfigError::Invalid(_))
    ));
}

#[test]
fn ranges_include_both_ends() {
    let mut pipeline = pipeline("matching");
    let table = "TestIngress.range_table";
    let mut add = |low, high, priority, result| {
        let key = vec![range(low, high), ternary(0, 0)];
        pipeline
            .table_insert(table, entry(key, priority, call("TestIngress.answer", &[result])))
            .unwrap();
    };
    add(10, 20, 1, 1);
    add(20, 30, 2, 2);
    let mut at = |b| {
        look_up(
            &mut pipeline,
            Key {
                table: 4,
                b,
                ..Key::default()
            },
        )
        .0
    };
    assert_eq!([at(9), at(10), at(19), at(20), at(30), at(31)], [0, 1, 1, 2, 2, 0]);
    let empty = entry(vec![range(5, 4), ternary(0, 0)], 1, call("NoAction", &[]));
    assert!(matches!(
        pipeline.table_insert(table, empty),
        Err(ConfigError::Invalid(_))
    ));
}

#[test]
fn const_entries_match_in_the_order_of_the_program() {
    let mut pipeline = pipeline("matching");
    let mut at = |b| {
        look_up(
            &mut pipeline,
            Key {
                table: 5,
                b,
                ..Key::default()
            },
        )
        .0
    };
    assert_eq!([at(0x1234), at(0x1299), at(0x33ee), at(0x3333)], [1, 1, 4, 3]);
    let priorities: Vec<i32> = pipeline
        .table_entries("TestIngress.const_table")
        .unwrap()
        .iter()
        .map(|e| e.priority)
        .collect();
    assert_eq!(priorities, [4, 3, 2, 1]);
}

#[test]
fn default_actions_change_and_come_back() {
    let mut pipeline = pipeline("matching");
    let table = "TestIngress.exact_table";
    let key = Key {
        table: 1,
        ..Key::default()
    };
    pipeline
        .table_set_default(table, Some(call("TestIngress.answer", &[7])))
        .unwrap();
    assert_eq!(look_up(&mut pipeline, key).0, 7);
    assert_eq!(
        pipeline.table_default(table).unwrap().unwrap(),
        call("TestIngress.answer", &[7]).canonical()
    );
    pipeline.table_set_default(table, None).unwrap();
    assert_eq!(look_up(&mut pipeline, key).0, 0xdead);
}

#[test]
fn the_default_entry_counts_misses_and_meters_them_if_it_has_rates() {
    let mut pipeline = pipeline("matching");
    let miss = |pipeline: &mut Pipeline, table| {
        look_up(
            pipeline,
            Key {
                table,
                ..Key::default()
            },
        )
    };
    let counted = "TestIngress.exact_table";
    miss(&mut pipeline, 1);
    miss(&mut pipeline, 1);
    let resources = pipeline.default_resources(counted).unwrap();
    assert_eq!((resources.packets, resources.meter), (2, None));
    assert!(resources.bytes > 0 && resources.bytes.is_multiple_of(2));
    pipeline.default_counter_write(counted, 7, 9).unwrap();
    let resources = pipeline.default_resources(counted).unwrap();
    assert_eq!((resources.packets, resources.bytes), (7, 9));

    let metered = "TestIngress.ternary_table";
    let rates = MeterConfig {
        committed_rate: 1,
        committed_burst: 1,
        peak_rate: 1,
        peak_burst: 1,
        excess_burst: 1,
    };
    assert_eq!(miss(&mut pipeline, 3).1, 0, "no meter touches the color");
    pipeline.default_meter_write(metered, Some(rates)).unwrap();
    assert_eq!(pipeline.default_resources(metered).unwrap().meter, Some(rates));
    let colors = [(); 3].map(|()| miss(&mut pipeline, 3).1);
    assert_eq!(colors, [0, 1, 2]);
    pipeline.default_meter_write(metered, None).unwrap();
    assert_eq!(miss(&mut pipeline, 3).1, 0);

    let two_rates = MeterConfig { peak_rate: 2, ..rates };
    assert!(pipeline.default_meter_write(metered, Some(two_rates)).is_err());
    assert!(pipeline.default_meter_write(counted, Some(rates)).is_err());
    assert!(pipeline.default_counter_write(metered, 1, 1).is_err());
    assert!(pipeline.default_resources("no_table").is_err());
}

#[test]
fn direct_and_indirect_meters_color_packets() {
    let mut pipeline = pipeline("matching");
    let table = "TestIngress.ternary_table";
    let key = vec![ternary(0, 0), lpm(0, 0), KeyField::Optional(None)];
    let metered = entry(key, 1, call("TestIngress.metered", &[1]));
    pipeline.table_insert(table, metered.clone()).unwrap();
    let config = MeterConfig {
        committed_rate: 1,
        committed_burst: 1,
        peak_rate: 1,
        peak_burst: 2,
        excess_burst: 0,
    };
    pipeline.direct_meter_write(table, &metered, Some(config)).unwrap();
    assert_eq!(pipeline.direct_meter_read(table, &metered).unwrap(), Some(config));
    let mut color = || {
        look_up(
            &mut pipeline,
            Key {
                table: 3,
                ..Key::default()
            },
        )
        .1
    };
    assert_eq!([color(), color(), color()], [0, 1, 2]);

    let bytes = MeterConfig {
        committed_rate: 1,
        committed_burst: 27,
        peak_rate: 1,
        peak_burst: 54,
        excess_burst: 0,
    };
    pipeline.meter_write("TestIngress.byte_meter", 2, Some(bytes)).unwrap();
    let mut color = |a| {
        look_up(
            &mut pipeline,
            Key {
                table: 8,
                a,
                ..Key::default()
            },
        )
        .1
    };
    assert_eq!([color(2), color(2), color(2), color(1)], [0, 1, 2, 0]);
    // Out of range: the color keeps its value, which starts at 0.
    assert_eq!(color(9), 0);
    assert!(pipeline.meter_write("TestIngress.byte_meter", 4, None).is_err());
}

#[test]
fn members_and_groups_of_action_profiles() {
    let mut pipeline = pipeline("matching");
    let (members, choices) = ("TestIngress.members", "TestIngress.choices");
    pipeline
        .member_set(members, 1, &call("TestIngress.answer", &[100]))
        .unwrap();
    let key = [exact(4)];
    pipeline
        .indirect_insert("TestIngress.profile_table", &key, 0, Indirect::Member(1))
        .unwrap();
    let by_member = Key {
        table: 6,
        a: 4,
        ..Key::default()
    };
    assert_eq!(look_up(&mut pipeline, by_member).0, 100);
    pipeline
        .member_set(members, 1, &call("TestIngress.answer", &[101]))
        .unwrap();
    assert_eq!(look_up(&mut pipeline, by_member).0, 101);
    assert!(pipeline.member_remove(members, 1).is_err());
    assert!(
        pipeline
            .indirect_insert("TestIngress.profile_table", &[exact(5)], 0, Indirect::Member(2))
            .is_err()
    );

    for member in 1..=3 {
        pipeline
            .member_set(choices, member, &call("TestIngress.answer", &[200 + u64::from(member)]))
            .unwrap();
    }
    let group = [1, 2, 3].map(|member| WeightedMember { member, weight: member });
    pipeline.group_set(choices, 7, &group).unwrap();
    assert_eq!(pipeline.groups(choices).unwrap(), [(7, group.to_vec())]);
    pipeline
        .indirect_insert("TestIngress.selector_table", &key, 0, Indirect::Group(7))
        .unwrap();
    let mut chosen = std::collections::BTreeMap::<u16, u32>::new();
    for c in 0..600 {
        let key = Key {
            table: 7,
            a: 4,
            c,
            ..Key::default()
        };
        let (first, again) = (look_up(&mut pipeline, key).0, look_up(&mut pipeline, key).0);
        assert_eq!(first, again);
        *chosen.entry(first).or_default() += 1;
    }
    assert_eq!(chosen.keys().copied().collect::<Vec<_>>(), [201, 202, 203]);
    assert!(chosen[&203] > chosen[&201] && chosen[&202] > chosen[&201], "{chosen:?}");
    assert!(pipeline.group_remove(choices, 7).is_err());
    let direct = entry(key.to_vec(), 0, call("TestIngress.answer", &[1]));
    assert!(pipeline.table_insert("TestIngress.selector_table", direct).is_err());
}
