// SPDX-License-Identifier: Apache-2.0
//! Tests of lookups against the slow way to do them.

use super::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const PREFIX: Option<Prefix> = Some(Prefix {
    word: 0,
    shift: 0,
    bits: 16,
});

fn key(value: u64, mask: u64, priority: i32) -> EntryKey {
    EntryKey {
        value: vec![value],
        mask: vec![mask],
        ranges: Vec::new(),
        priority,
        optional: 0,
    }
}

fn add(entries: &mut Entries, key: EntryKey, action: usize) {
    assert_eq!(entries.find(&key), None);
    entries.insert(
        key,
        Effect::Action(EntryAction {
            action,
            args: SmallVec::new(),
        }),
        Instant::ZERO,
    );
}

fn hit(entries: &Entries, key: u64) -> Option<usize> {
    entries
        .lookup(&[key])
        .and_then(|i| entries.get(i))
        .map(|entry| match &entry.effect {
            Effect::Action(action) => action.action,
            other => panic!("{other:?}"),
        })
}

#[test]
fn longest_prefix_wins_whatever_the_order() {
    let mut entries = Entries::new(MatchKind::Lpm, 1, PREFIX);
    add(&mut entries, key(0x0a00, 0xff00, 8), 1);
    add(&mut entries, key(0, 0, 0), 0);
    add(&mut entries, key(0x0a10, 0xfff0, 12), 2);
    assert_eq!(hit(&entries, 0x0a15), Some(2));
    assert_eq!(hit(&entries, 0x0a25), Some(1));
    assert_eq!(hit(&entries, 0x0b00), Some(0));
    let index = entries.find(&key(0x0a10, 0xfff0, 12)).unwrap();
    entries.remove(index);
    assert_eq!(hit(&entries, 0x0a15), Some(1));
    assert_eq!(entries.len(), 2);
}

/// What `lookup` is to find, the slow way.
fn expected(entries: &Entries, key: u64) -> Option<usize> {
    let matching = entries.iter().filter(|entry| entry.cold.key.matches(&[key]));
    let best = matching.max_by_key(|entry| (entry.cold.key.priority, std::cmp::Reverse(entry.cold.sequence)));
    best.map(|entry| match &entry.effect {
        Effect::Action(action) => action.action,
        other => panic!("{other:?}"),
    })
}

/// Adds and removes entries that `draw` makes, and looks keys of `bits` bits up meanwhile.
fn exercise(mut entries: Entries, bits: u32, steps: usize, mut draw: impl FnMut(&mut Pcg64Mcg) -> EntryKey) {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for step in 0..steps {
        let drawn = draw(&mut random);
        match entries.find(&drawn) {
            Some(found) => entries.remove(found),
            None => add(&mut entries, drawn, step),
        }
        if step % (steps / 100) == 0 {
            let near = entries
                .iter()
                .nth(step % entries.len().max(1))
                .map_or(0, |e| e.cold.key.value[0]);
            for key in [random.random(), near, near | random.random::<u64>() >> 50, near + 1] {
                let key = key & crate::value::mask(bits);
                assert_eq!(
                    hit(&entries, key),
                    expected(&entries, key),
                    "key {key:#x} after {step} steps"
                );
            }
        }
    }
}

#[test]
fn prefixes_of_all_lengths() {
    for (bits, steps) in [(5, 1000), (16, 3000), (32, 6000), (64, 6000)] {
        let prefix = Prefix {
            word: 0,
            shift: 0,
            bits,
        };
        let entries = Entries::new(MatchKind::Lpm, 1, Some(prefix));
        exercise(entries, bits, steps, |random| {
            let length = random.random_range(0..=bits);
            let mask = crate::value::mask(bits) & !crate::value::mask(bits - length);
            let value: u64 = random.random();
            key(value & mask, mask, length as i32)
        });
    }
}

#[test]
fn ternary_entries_of_few_and_of_many_masks() {
    // Up to MAX_ENTRIES there are bitmaps, beyond that there are none again.
    let beyond = MAX_ENTRIES + 500;
    for (masks, values, steps) in [
        (3, 50, 1000),
        (40, 50, 1000),
        (u64::MAX, 50, 1000),
        (40, u64::MAX, beyond),
    ] {
        let entries = Entries::new(MatchKind::Ternary, 1, None);
        exercise(entries, 64, steps, |random| {
            let mask = random.random_range(0..masks).wrapping_mul(0x0101_0205_1020_4081);
            let value: u64 = random.random_range(0..values);
            key(
                value.wrapping_mul(0x10_1001_0101) & mask,
                mask,
                random.random_range(1..10),
            )
        });
    }
}

#[test]
fn highest_priority_wins_across_and_within_masks() {
    let mut entries = Entries::new(MatchKind::Ternary, 1, None);
    add(&mut entries, key(0x10, 0xf0, 5), 0);
    add(&mut entries, key(0x01, 0x0f, 7), 1);
    add(&mut entries, key(0x10, 0xf0, 9), 2);
    assert_eq!(hit(&entries, 0x11), Some(2));
    assert_eq!(hit(&entries, 0x21), Some(1));
    let index = entries.find(&key(0x10, 0xf0, 9)).unwrap();
    entries.remove(index);
    assert_eq!(hit(&entries, 0x11), Some(1));
    assert_eq!(hit(&entries, 0x12), Some(0));
}

#[test]
fn equal_priority_goes_to_the_first() {
    let mut entries = Entries::new(MatchKind::Ternary, 1, None);
    add(&mut entries, key(0x01, 0x0f, 7), 1);
    add(&mut entries, key(0x10, 0xf0, 7), 2);
    assert_eq!(hit(&entries, 0x11), Some(1));
}

#[test]
fn ranges_are_inclusive_and_ordered() {
    let mut entries = Entries::new(MatchKind::Range, 1, None);
    let range = |low, high, priority| EntryKey {
        value: vec![0],
        mask: vec![0],
        ranges: vec![RangePart {
            word: 0,
            shift: 0,
            mask: 0xffff,
            low,
            high,
        }],
        priority,
        optional: 0,
    };
    add(&mut entries, range(10, 20, 1), 1);
    add(&mut entries, range(15, 15, 2), 2);
    assert_eq!(hit(&entries, 10), Some(1));
    assert_eq!(hit(&entries, 15), Some(2));
    assert_eq!(hit(&entries, 20), Some(1));
    assert_eq!(hit(&entries, 21), None);
}

#[test]
fn freed_places_are_used_again() {
    let mut entries = Entries::new(MatchKind::Exact, 1, None);
    for round in 0..3 {
        for value in 0..100 {
            add(&mut entries, key(value, u64::MAX, 0), round);
        }
        for value in 0..100 {
            entries.remove(entries.find(&key(value, u64::MAX, 0)).unwrap());
        }
    }
    assert_eq!(entries.slots.len(), 100);
    assert_eq!(entries.iter_in_order().count(), 0);
}

#[test]
fn an_entry_is_a_line_of_the_cache() {
    assert_eq!(std::mem::size_of::<Option<Entry>>(), 64);
}
