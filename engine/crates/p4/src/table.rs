// SPDX-License-Identifier: Apache-2.0
//! Entries of a table, and how a key finds its entry.
//!
//! Entries with one mask share a hash table on the masked key. Exact tables have one mask, LPM tables one for each
//! prefix length in use, ternary tables one for each combination in use. Masks are tried in order of their best
//! priority, so a lookup ends as soon as nothing better can come; in LPM tables, the first bits of an address say which
//! lengths are worth trying, or even which prefixes ([`near`]). Ternary tables of many masks intersect bitmaps instead ([`bitmaps`]). Range entries are
//! scanned in order of priority.

mod bitmaps;
mod near;

use slotwise_units::Instant;

use crate::ir::MatchKind;
use crate::meter::Meter;
use bitmaps::{Bitmaps, MAX_ENTRIES};
use hashbrown::HashTable;
pub(crate) use near::Prefix;
use near::{Lookup, MAX_LENGTHS, Near};
use smallvec::SmallVec;

/// Ternary tables with more masks use bitmaps, unless they have more entries than this.
const MAX_MASKS: usize = 8;

/// An action with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryAction {
    /// Index into the table's actions.
    pub action: usize,
    pub args: SmallVec<[u64; 2]>,
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

/// An entry in place: what every hit touches, in one line of the cache, and the rest elsewhere.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Entry {
    pub effect: Effect,
    pub packets: u64,
    pub bytes: u64,
    pub cold: Box<Cold>,
}

/// What packets need of an entry now and then, or never.
#[derive(Debug)]
pub(crate) struct Cold {
    pub key: EntryKey,
    /// Order of insertion.
    pub sequence: u64,
    /// When a packet hit it last, where the table has idle timeouts; or when it was added.
    pub last_hit: Instant,
    /// Direct meter.
    pub meter: Meter,
}

/// Entries with one mask.
#[derive(Debug)]
struct Group {
    mask: Vec<u64>,
    /// Number of the mask in [`Near`]; from [`MAX_LENGTHS`] on it is not there, and always tried.
    number: u32,
    best_priority: i32,
    /// Masked key to the entries that have it, best first.
    chains: HashTable<Chain>,
}

/// The entries with one masked key. Nearly always it is one, which needs no memory elsewhere.
#[derive(Debug)]
struct Chain {
    /// First word of the masked key: that of most tables.
    first_word: u64,
    best: u32,
    /// Best first.
    #[allow(clippy::box_collection)] // nearly always there is nothing, which should be small
    others: Option<Box<Vec<u32>>>,
}

impl Chain {
    fn others(&self) -> &[u32] {
        self.others.as_ref().map_or(&[], |others| others.as_slice())
    }

    fn others_mut(&mut self) -> &mut Vec<u32> {
        self.others.get_or_insert_default()
    }
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
    /// LPM tables.
    prefix: Option<Prefix>,
    near: Option<Near>,
    /// Ternary tables of many masks.
    bitmaps: Option<Bitmaps>,
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
    if key[0] & mask[0] != chain.first_word {
        return false;
    }
    let value = &values[chain.best as usize * key.len()..][..key.len()];
    let rest = key.iter().zip(mask).zip(value).skip(1);
    rest.into_iter().all(|((k, m), v)| k & m == *v)
}

impl Entries {
    /// `prefix`: where the prefix of an LPM table is.
    pub fn new(kind: MatchKind, key_words: usize, prefix: Option<Prefix>) -> Entries {
        Entries {
            kind,
            key_words,
            prefix,
            near: prefix.map(|prefix| Near::new(prefix, key_words, 0)),
            bitmaps: None,
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

    /// Places for entries: an entry keeps its place, below this number, as long as it is there.
    pub fn places(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Above that of every entry so far.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The entry that `key` hits.
    pub fn lookup(&self, key: &[u64]) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        if self.kind == MatchKind::Range {
            return self
                .scan
                .iter()
                .copied()
                .find(|&i| entry_at(&self.slots, i).is_some_and(|e| e.cold.key.matches(key)));
        }
        let mut best: Option<(i32, u64, u32)> = None;
        if let Some(bitmaps) = &self.bitmaps {
            bitmaps.matches(key, |index| self.keep_better(&mut best, index));
            return best.map(|(.., index)| index);
        }
        let lengths = match self.near.as_ref().map(|near| near.lookup(key)) {
            Some(Lookup::Found(index)) => return Some(index),
            Some(Lookup::Try(lengths)) => lengths,
            None => u64::MAX,
        };
        for group in &self.groups {
            if group.number < MAX_LENGTHS && lengths >> group.number & 1 == 0 {
                continue;
            }
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
            self.keep_better(&mut best, index);
        }
        best.map(|(.., index)| index)
    }

    /// Puts the entry in the place of `best` if it ranks before it: priority, order of insertion, number.
    fn keep_better(&self, best: &mut Option<(i32, u64, u32)>, index: u32) {
        let Some(entry) = entry_at(&self.slots, index) else {
            return;
        };
        // Of equal priority, the one inserted first.
        let better = best.is_none_or(|(priority, sequence, _)| {
            entry.cold.key.priority > priority || entry.cold.key.priority == priority && entry.cold.sequence < sequence
        });
        if better {
            *best = Some((entry.cold.key.priority, entry.cold.sequence, index));
        }
    }

    pub fn get(&self, index: u32) -> Option<&Entry> {
        entry_at(&self.slots, index)
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// The entry with exactly this key and priority.
    pub fn find(&self, key: &EntryKey) -> Option<u32> {
        let same = |&index: &u32| entry_at(&self.slots, index).is_some_and(|e| e.cold.key.same_match(key));
        if self.kind == MatchKind::Range {
            return self.scan.iter().copied().find(same);
        }
        let group = self.groups.iter().find(|g| g.mask == key.mask)?;
        let hash = hash_masked(&key.value, &group.mask);
        let chain = group
            .chains
            .find(hash, |chain| chain_has(&self.values, chain, &key.value, &group.mask))?;
        [chain.best]
            .into_iter()
            .chain(chain.others().iter().copied())
            .find(same)
    }

    /// Adds an entry whose key is not there yet.
    pub fn insert(&mut self, key: EntryKey, effect: Effect, now: Instant) {
        let index = self.free.pop().unwrap_or(self.slots.len() as u32);
        let entry = Entry {
            effect,
            packets: 0,
            bytes: 0,
            cold: Box::new(Cold {
                key: key.clone(),
                sequence: self.next_sequence,
                last_hit: now,
                meter: Meter::default(),
            }),
        };
        self.next_sequence += 1;
        self.len += 1;
        match self.slots.get_mut(index as usize) {
            Some(slot) => *slot = Some(entry),
            None => self.slots.push(Some(entry)),
        }
        self.values.resize(self.slots.len() * self.key_words, 0);
        self.values[index as usize * self.key_words..][..self.key_words].copy_from_slice(&key.value);
        let slots = &self.slots;
        let values = &self.values;
        let ranks_before = |other: &u32| entry_at(slots, *other).is_some_and(|e| e.cold.key.priority >= key.priority);
        if self.kind == MatchKind::Range {
            let at = self.scan.partition_point(ranks_before);
            self.scan.insert(at, index);
            return;
        }
        let position = self.groups.iter().position(|g| g.mask == key.mask).unwrap_or_else(|| {
            let chains = HashTable::new();
            let free = |number: &u32| self.groups.iter().all(|g| g.number != *number);
            let number = (0..MAX_LENGTHS).find(free).unwrap_or(MAX_LENGTHS);
            self.groups.push(Group {
                mask: key.mask.clone(),
                number,
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
                let at = chain.others().partition_point(ranks_before);
                chain.others_mut().insert(at, index);
            }
            Some(chain) => {
                let best = chain.best;
                chain.others_mut().insert(0, best);
                chain.best = index;
            }
            None => {
                let words = key.value.len();
                let rehash = |chain: &Chain| hash_masked(&values[chain.best as usize * words..][..words], mask);
                let chain = Chain {
                    first_word: key.value[0],
                    best: index,
                    others: None,
                };
                group.chains.insert_unique(hash, chain, rehash);
            }
        }
        self.index_insertion(index, &key, position);
        self.sort_groups();
    }

    /// Keeps what speeds lookups up in step with a new entry.
    fn index_insertion(&mut self, index: u32, key: &EntryKey, position: usize) {
        if let Some((prefix, near)) = self.prefix.zip(self.near.as_mut()) {
            if near.outgrown(prefix, self.len) {
                let mut wider = Near::new(prefix, self.key_words, self.len);
                for group in self.groups.iter().filter(|group| group.number < MAX_LENGTHS) {
                    for chain in &group.chains {
                        let value = &self.values[chain.best as usize * self.key_words..][..self.key_words];
                        wider.add(value, &group.mask, group.number, chain.best);
                    }
                }
                *near = wider;
            } else if self.groups[position].number < MAX_LENGTHS {
                near.add(&key.value, &key.mask, self.groups[position].number, index);
            }
        }
        if self.kind != MatchKind::Ternary {
            return;
        }
        match &mut self.bitmaps {
            Some(bitmaps) if (index as usize) < bitmaps.capacity() => bitmaps.add(index, &key.value, &key.mask),
            Some(_) => self.make_bitmaps(),
            None if self.groups.len() > MAX_MASKS => self.make_bitmaps(),
            None => {}
        }
    }

    /// Makes the bitmaps of all entries, or none if they would be too large.
    fn make_bitmaps(&mut self) {
        self.bitmaps = None;
        if self.slots.len() > MAX_ENTRIES {
            return;
        }
        let mut bitmaps = Bitmaps::new(self.slots.len());
        for (index, entry) in (0..).zip(&self.slots) {
            if let Some(entry) = entry {
                bitmaps.add(index, &entry.cold.key.value, &entry.cold.key.mask);
            }
        }
        self.bitmaps = Some(bitmaps);
    }

    /// Removes an entry.
    pub fn remove(&mut self, index: u32) {
        let Some(key) = entry_at(&self.slots, index).map(|e| e.cold.key.clone()) else {
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
                    chain.others_mut().retain(|&i| i != index);
                } else if chain.others().is_empty() {
                    found.remove();
                } else {
                    chain.best = chain.others_mut().remove(0);
                }
            }
            if group.chains.is_empty() {
                let number = self.groups.remove(position).number;
                if let Some(near) = self.near.as_mut().filter(|_| number < MAX_LENGTHS) {
                    near.forget(number);
                }
            } else if self.kind == MatchKind::Ternary && key.priority == group.best_priority {
                let best = |chain: &Chain| entry_at(slots, chain.best).map(|e| e.cold.key.priority);
                group.best_priority = group.chains.iter().filter_map(best).max().unwrap_or(i32::MIN);
                self.sort_groups();
            }
        }
        if let Some(near) = &mut self.near {
            near.remove(&key.value, index);
        }
        if let Some(bitmaps) = &mut self.bitmaps {
            bitmaps.remove(index);
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
        entries.sort_by_key(|e| e.cold.sequence);
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
mod tests;
