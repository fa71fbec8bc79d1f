// SPDX-License-Identifier: Apache-2.0
//! Ternary entries as bitmaps: for each byte of the key and each value of it, the entries that it agrees with.
//!
//! The entries that a key matches are the intersection of one bitmap for each byte (the bit vector scheme of Lakshman
//! and Stiliadis, SIGCOMM 1998, with bytes as dimensions): it costs the same whatever masks the entries have.

const VALUES: usize = 256;
/// Words of bitmaps that are intersected at once; bitmaps are multiples of it.
const BLOCK: usize = 8;

/// The bitmaps of a table's entries. Entries are named by their number in the table.
#[derive(Debug)]
pub(super) struct Bitmaps {
    /// Words of a bitmap.
    words: usize,
    /// Entries that exist.
    live: Vec<u64>,
    /// Bytes that some entry looks at.
    columns: Vec<Column>,
}

/// A byte of the key.
#[derive(Debug)]
struct Column {
    word: usize,
    shift: u32,
    /// A bitmap for each value, one after the other.
    rows: Vec<u64>,
}

impl Column {
    fn byte(&self, key: &[u64]) -> usize {
        (key[self.word] >> self.shift) as usize & (VALUES - 1)
    }
}

impl Bitmaps {
    /// For entries with numbers below `entries`.
    pub fn new(entries: usize) -> Bitmaps {
        let words = entries.div_ceil(64).next_power_of_two().max(BLOCK);
        Bitmaps {
            words,
            live: vec![0; words],
            columns: Vec::new(),
        }
    }

    /// Entries have numbers below this.
    pub fn capacity(&self) -> usize {
        self.words * 64
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: u32, value: &[u64], mask: &[u64]) {
        let (at, bit) = (entry as usize / 64, 1u64 << (entry % 64));
        self.live[at] |= bit;
        for (word, &part) in mask.iter().enumerate() {
            for shift in (0..64).step_by(8).filter(|shift| part >> shift & 0xff != 0) {
                let column = self.column(word, shift);
                let (value, mask) = (column.byte(value), column.byte(mask));
                let words = column.rows.len() / VALUES;
                for other in (0..VALUES).filter(|other| other & mask != value) {
                    column.rows[other * words + at] &= !bit;
                }
            }
        }
    }

    /// The column of a byte, which is new if no entry looked at the byte yet.
    fn column(&mut self, word: usize, shift: u32) -> &mut Column {
        let same = |column: &Column| (column.word, column.shift) == (word, shift);
        let position = self.columns.iter().position(same).unwrap_or_else(|| {
            // Whoever does not look at the byte agrees with all its values.
            let rows = vec![u64::MAX; VALUES * self.words];
            self.columns.push(Column { word, shift, rows });
            self.columns.len() - 1
        });
        &mut self.columns[position]
    }

    /// Removes an entry.
    pub fn remove(&mut self, entry: u32) {
        let (at, bit) = (entry as usize / 64, 1u64 << (entry % 64));
        self.live[at] &= !bit;
        for column in &mut self.columns {
            for value in 0..VALUES {
                column.rows[value * self.words + at] |= bit;
            }
        }
    }

    /// Calls `found` with each entry that `key` matches.
    pub fn matches(&self, key: &[u64], mut found: impl FnMut(u32)) {
        for (start, live) in (0..).step_by(BLOCK).zip(self.live.as_chunks::<BLOCK>().0) {
            let mut matching = *live;
            for column in &self.columns {
                let row = &column.rows[column.byte(key) * self.words + start..][..BLOCK];
                matching.iter_mut().zip(row).for_each(|(m, r)| *m &= r);
            }
            for (word, mut matching) in (start..).zip(matching) {
                while matching != 0 {
                    found(word as u32 * 64 + matching.trailing_zeros());
                    matching &= matching - 1;
                }
            }
        }
    }
}
