// SPDX-License-Identifier: Apache-2.0
//! Entries of a table, and how a key finds its entry.
//!
//! Entries with one mask share a hash table on the masked key. Exact tables have one mask, LPM tables one for each
//! prefix length in use, ternary tables one for each combination in use. Masks are tried in order of their best
//! priority, so a lookup ends as soon as nothing better can come. Range entries are scanned in order of priority.

use crate::ir::MatchKind;
use crate::meter::Meter;
use hashbrown::HashTable;

/// An action with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryAction {
    /// Index into the table's actions.
    pub action: usize,
    pub args: Vec<u64>,
}

/// What an entry does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    Action(EntryAction),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of it.
    Group(u32),
}

/// Which packets an entry matches, in the table's packed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryKey {
    pub value: Vec<u64>,
    pub mask: Vec<u64>,
    /// (word, shift, width, low, high) of each range part; its bits are zero in `mask`.
    pub ranges: Vec<RangePart>,
    /// Larger wins; for LPM the prefix length.
    pub priority: i32,
    /// Parts that were given as `Optional`, a bit each, to give them back so.
    pub optional: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangePart {
    pub word: usize,
    pub shift: u32,
    pub mask: u64,
    pub low: u64,
    pub high: u64,
}

/// An entry in place.
#[derive(Debug)]
pub(crate) struct Entry {
    pub key: EntryKey,
    pub effect: Effect,
    /// Order of insertion.
    pub sequence: u64,
    pub packets: u64,
    pub bytes: u64,
    /// When a packet hit it last, or when it was added.
    pub last_hit_ns: u64,
    /// Direct meter.
    pub meter: Meter,
}

/// Entries with one mask.
#[derive(Debug)]
struct Group {
    mask: Vec<u64>,
    best_priority: i32,
    /// Masked key to the entries that have it, best first.
    chains: HashTable<Chain>,
}

/// The entries with one masked key. Nearly always it is one, which needs no memory elsewhere.
#[derive(Debug)]
struct Chain {
    best: u32,
    /// Best first.
    others: Vec<u32>,
}

/// The entries of one table.
#[derive(Debug)]
pub(crate) struct Entries {
    kind: MatchKind,
    key_words: usize,
    slots: Vec<Option<Entry>>,
    /// Values of the keys, side by side, so that a lookup touches no entry but the one it finds.
    values: Vec<u64>,
    free: Vec<u32>,
    /// Best priority first.
    groups: Vec<Group>,
    /// Range tables: best first.
    scan: Vec<u32>,
    next_sequence: u64,
    len: usize,
}

fn hash(words: impl Iterator<Item = u64>) -> u64 {
    // Multiply and fold: the tables are filled by a trusted controller, so no secret is needed.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    words.fold(FACTOR, |acc, word| {
        let product = u128::from(acc ^ word) * u128::from(FACTOR);
        (product as u64) ^ (product >> 64) as u64
    })
}

fn hash_masked(key: &[u64], mask: &[u64]) -> u64 {
    hash(key.iter().zip(mask).map(|(k, m)| k & m))
}

fn entry_at(slots: &[Option<Entry>], index: u32) -> Option<&Entry> {
    slots.get(index as usize)?.as_ref()
}

/// The masked key equals the value of the chain's entries.
fn chain_has(values: &[u64], chain: &Chain, key: &[u64], mask: &[u64]) -> bool {
    let value = &values[chain.best as usize * key.len()..][..key.len()];
    key.iter().zip(mask).zip(value).all(|((k, m), v)| k & m == *v)
}

impl Entries {
    pub fn new(kind: MatchKind, key_words: usize) -> Entries {
        Entries {
            kind,
            key_words,
            slots: Vec::new(),
            values: Vec::new(),
            free: Vec::new(),
            groups: Vec::new(),
            scan: Vec::new(),
            next_sequence: 0,
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The entry that `key` hits.
    pub fn lookup(&self, key: &[u64]) -> Option<u32> {
        if self.kind == MatchKind::Range {
            return self
                .scan
                .iter()
                .copied()
                .find(|&i| entry_at(&self.slots, i).is_some_and(|e| e.key.matches(key)));
        }
        let mut best: Option<(i32, u64, u32)> = None;
        for group in &self.groups {
            if best.is_some_and(|(priority, ..)| priority > group.best_priority) {
                break;
            }
            let hash = hash_masked(key, &group.mask);
            let found = group
                .chains
                .find(hash, |chain| chain_has(&self.values, chain, key, &group.mask));
            let Some(&Chain { best: index, .. }) = found else {
                continue;
            };
            if self.kind != MatchKind::Ternary {
                return Some(index);
            }
            let Some(entry) = entry_at(&self.slots, index) else {
                continue;
            };
            // Of equal priority, the one inserted first.
            let better = best.is_none_or(|(priority, sequence, _)| {
                entry.key.priority > priority || entry.key.priority == priority && entry.sequence < sequence
            });
            if better {
                best = Some((entry.key.priority, entry.sequence, index));
            }
        }
        best.map(|(.., index)| index)
    }

    pub fn get(&self, index: u32) -> Option<&Entry> {
        entry_at(&self.slots, index)
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// The entry with exactly this key and priority.
    pub fn find(&self, key: &EntryKey) -> Option<u32> {
        let same = |&index: &u32| entry_at(&self.slots, index).is_some_and(|e| e.key.same_match(key));
        if self.kind == MatchKind::Range {
            return self.scan.iter().copied().find(same);
        }
        let group = self.groups.iter().find(|g| g.mask == key.mask)?;
        let hash = hash_masked(&key.value, &group.mask);
        let chain = group
            .chains
            .find(hash, |chain| chain_has(&self.values, chain, &key.value, &group.mask))?;
        [chain.best].into_iter().chain(chain.others.iter().copied()).find(same)
    }

    /// Adds an entry whose key is not there yet.
    pub fn insert(&mut self, key: EntryKey, effect: Effect, now_ns: u64) {
        let index = self.free.pop().unwrap_or(self.slots.len() as u32);
        let entry = Entry {
            key,
            effect,
            sequence: self.next_sequence,
            packets: 0,
            bytes: 0,
            last_hit_ns: now_ns,
            meter: Meter::default(),
        };
        self.next_sequence += 1;
        self.len += 1;
        let key = entry.key.clone();
        match self.slots.get_mut(index as usize) {
            Some(slot) => *slot = Some(entry),
            None => self.slots.push(Some(entry)),
        }
        self.values.resize(self.slots.len() * self.key_words, 0);
        self.values[index as usize * self.key_words..][..self.key_words].copy_from_slice(&key.value);
        let slots = &self.slots;
        let values = &self.values;
        let ranks_before = |other: &u32| entry_at(slots, *other).is_some_and(|e| e.key.priority >= key.priority);
        if self.kind == MatchKind::Range {
            let at = self.scan.partition_point(ranks_before);
            self.scan.insert(at, index);
            return;
        }
        let position = self.groups.iter().position(|g| g.mask == key.mask).unwrap_or_else(|| {
            let chains = HashTable::new();
            self.groups.push(Group {
                mask: key.mask.clone(),
                best_priority: key.priority,
                chains,
            });
            self.groups.len() - 1
        });
        let group = &mut self.groups[position];
        group.best_priority = group.best_priority.max(key.priority);
        let hash = hash_masked(&key.value, &group.mask);
        let mask = &group.mask;
        match group
            .chains
            .find_mut(hash, |chain| chain_has(values, chain, &key.value, mask))
        {
            Some(chain) if ranks_before(&chain.best) => {
                let at = chain.others.partition_point(ranks_before);
                chain.others.insert(at, index);
            }
            Some(chain) => {
                chain.others.insert(0, chain.best);
                chain.best = index;
            }
            None => {
                let words = key.value.len();
                let rehash = |chain: &Chain| hash_masked(&values[chain.best as usize * words..][..words], mask);
                let chain = Chain {
                    best: index,
                    others: Vec::new(),
                };
                group.chains.insert_unique(hash, chain, rehash);
            }
        }
        self.sort_groups();
    }

    /// Removes an entry.
    pub fn remove(&mut self, index: u32) {
        let Some(key) = entry_at(&self.slots, index).map(|e| e.key.clone()) else {
            return;
        };
        if self.kind == MatchKind::Range {
            self.scan.retain(|&i| i != index);
        } else if let Some(position) = self.groups.iter().position(|g| g.mask == key.mask) {
            let slots = &self.slots;
            let group = &mut self.groups[position];
            let mask = &group.mask;
            let hash = hash_masked(&key.value, mask);
            let values = &self.values;
            if let Ok(mut found) = group
                .chains
                .find_entry(hash, |chain| chain_has(values, chain, &key.value, mask))
            {
                let chain = found.get_mut();
                if chain.best != index {
                    chain.others.retain(|&i| i != index);
                } else if chain.others.is_empty() {
                    found.remove();
                } else {
                    chain.best = chain.others.remove(0);
                }
            }
            if group.chains.is_empty() {
                self.groups.remove(position);
            } else if self.kind == MatchKind::Ternary && key.priority == group.best_priority {
                let best = |chain: &Chain| entry_at(slots, chain.best).map(|e| e.key.priority);
                group.best_priority = group.chains.iter().filter_map(best).max().unwrap_or(i32::MIN);
                self.sort_groups();
            }
        }
        self.slots[index as usize] = None;
        self.free.push(index);
        self.len -= 1;
    }

    fn sort_groups(&mut self) {
        self.groups.sort_by_key(|g| std::cmp::Reverse(g.best_priority));
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().flatten()
    }

    /// All entries, in order of insertion.
    pub fn iter_in_order(&self) -> impl Iterator<Item = &Entry> {
        let mut entries: Vec<&Entry> = self.iter().collect();
        entries.sort_by_key(|e| e.sequence);
        entries.into_iter()
    }
}

impl EntryKey {
    fn matches(&self, key: &[u64]) -> bool {
        key.iter()
            .zip(&self.mask)
            .zip(&self.value)
            .all(|((k, m), v)| k & m == *v)
            && self.ranges.iter().all(|part| {
                let value = key[part.word] >> part.shift & part.mask;
                part.low <= value && value <= part.high
            })
    }

    fn same_match(&self, other: &EntryKey) -> bool {
        self.value == other.value
            && self.mask == other.mask
            && self.ranges == other.ranges
            && self.priority == other.priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                args: Vec::new(),
            }),
            0,
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
        let mut entries = Entries::new(MatchKind::Lpm, 1);
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

    #[test]
    fn highest_priority_wins_across_and_within_masks() {
        let mut entries = Entries::new(MatchKind::Ternary, 1);
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
        let mut entries = Entries::new(MatchKind::Ternary, 1);
        add(&mut entries, key(0x01, 0x0f, 7), 1);
        add(&mut entries, key(0x10, 0xf0, 7), 2);
        assert_eq!(hit(&entries, 0x11), Some(1));
    }

    #[test]
    fn ranges_are_inclusive_and_ordered() {
        let mut entries = Entries::new(MatchKind::Range, 1);
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
        let mut entries = Entries::new(MatchKind::Exact, 1);
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
}
