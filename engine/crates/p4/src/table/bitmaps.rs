// SPDX-License-Identifier: Apache-2.0
//! Ternary entries as bitmaps: for each byte of the key and each value of it, the entries that it agrees with.
//!
//! The entries that a key matches are the intersection of one bitmap for each byte (the bit vector scheme of Lakshman
//! and Stiliadis, SIGCOMM 1998, with bytes as dimensions): it costs the same whatever masks the entries have.

/// Bytes of a key of up to eight words.
const MAX_COLUMNS: usize = 64;
const VALUES: usize = 256;

/// The bitmaps of a table's entries. Entries are named by their number in the table.
#[derive(Debug)]
pub(super) struct Bitmaps {
    /// Words of a bitmap.
    words: usize,
    /// Entries that exist.
    live: Vec<u64>,
    /// For each byte of the key, its bitmaps one after the other; empty where no entry looks at the byte.
    columns: Vec<Vec<u64>>,
}

fn byte(key: &[u64], column: usize) -> usize {
    (key[column / 8] >> (column % 8 * 8)) as usize & (VALUES - 1)
}

impl Bitmaps {
    /// True if keys of so many words can be looked up.
    pub fn support(key_words: usize) -> bool {
        key_words * 8 <= MAX_COLUMNS
    }

    /// For entries with numbers below `entries`.
    pub fn new(key_words: usize, entries: usize) -> Bitmaps {
        let words = entries.div_ceil(64).next_power_of_two();
        Bitmaps {
            words,
            live: vec![0; words],
            columns: vec![Vec::new(); key_words * 8],
        }
    }

    /// Entries have numbers below this.
    pub fn capacity(&self) -> usize {
        self.words * 64
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: u32, value: &[u64], mask: &[u64]) {
        let (word, bit) = (entry as usize / 64, 1u64 << (entry % 64));
        self.live[word] |= bit;
        for (index, column) in self.columns.iter_mut().enumerate() {
            let (value, mask) = (byte(value, index), byte(mask, index));
            if mask == 0 {
                continue;
            }
            if column.is_empty() {
                // Whoever does not look at the byte agrees with all its values.
                column.resize(VALUES * self.words, u64::MAX);
            }
            for other in (0..VALUES).filter(|other| other & mask != value) {
                column[other * self.words + word] &= !bit;
            }
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, entry: u32) {
        let (word, bit) = (entry as usize / 64, 1u64 << (entry % 64));
        self.live[word] &= !bit;
        for column in self.columns.iter_mut().filter(|column| !column.is_empty()) {
            for value in 0..VALUES {
                column[value * self.words + word] |= bit;
            }
        }
    }

    /// Calls `found` with each entry that `key` matches.
    pub fn matches(&self, key: &[u64], mut found: impl FnMut(u32)) {
        let mut rows: [&[u64]; MAX_COLUMNS] = [&[]; MAX_COLUMNS];
        let mut count = 0;
        for (index, column) in self.columns.iter().enumerate() {
            if !column.is_empty() {
                rows[count] = &column[byte(key, index) * self.words..][..self.words];
                count += 1;
            }
        }
        for (word, &live) in self.live.iter().enumerate() {
            let mut matching = live;
            for row in &rows[..count] {
                if matching == 0 {
                    break;
                }
                matching &= row[word];
            }
            while matching != 0 {
                found(word as u32 * 64 + matching.trailing_zeros());
                matching &= matching - 1;
            }
        }
    }
}
