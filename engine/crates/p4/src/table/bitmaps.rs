// SPDX-License-Identifier: Apache-2.0
//! Ternary entries as bitmaps: for each byte of the key and each value of it, the entries that it agrees with.
//!
//! The entries that a key matches are the intersection of one bitmap for each byte (the bit vector scheme of Lakshman
//! and Stiliadis, SIGCOMM 1998, with bytes as dimensions): it costs the same whatever masks the entries have. A summary of
//! each bitmap says which of its words are not zero, so that most words need no look (aggregated bit vectors: Baboescu and
//! Varghese, SIGCOMM 2001).

const VALUES: usize = 256;
/// Most words of a bitmap: a summary is one word itself.
const MAX_WORDS: usize = u64::BITS as usize;
/// Most entries of a table that has bitmaps.
pub(super) const MAX_ENTRIES: usize = MAX_WORDS * u64::BITS as usize;

/// The bitmaps of a table's entries. Entries are named by their number in the table.
#[derive(Debug)]
pub(super) struct Bitmaps {
    /// Words of a bitmap.
    words: usize,
    /// Entries that exist.
    live: Vec<u64>,
    /// Words of `live` that are not zero.
    live_summary: u64,
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
    /// The words of each value's bitmap that are not zero.
    summaries: Vec<u64>,
}

impl Column {
    fn byte(&self, key: &[u64]) -> usize {
        (key[self.word] >> self.shift) as usize & (VALUES - 1)
    }
}

impl Bitmaps {
    /// For entries with numbers below `entries`, which is [`MAX_ENTRIES`] at most.
    pub fn new(entries: usize) -> Bitmaps {
        let words = entries.div_ceil(64).next_power_of_two();
        Bitmaps {
            words,
            live: vec![0; words],
            live_summary: 0,
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
        self.live_summary |= 1 << at;
        for (word, &part) in mask.iter().enumerate() {
            for shift in (0..64).step_by(8).filter(|shift| part >> shift & 0xff != 0) {
                let column = self.column(word, shift);
                let (value, mask) = (column.byte(value), column.byte(mask));
                let words = column.rows.len() / VALUES;
                for other in (0..VALUES).filter(|other| other & mask != value) {
                    let word = &mut column.rows[other * words + at];
                    *word &= !bit;
                    if *word == 0 {
                        column.summaries[other] &= !(1 << at);
                    }
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
            let summaries = vec![u64::MAX; VALUES];
            self.columns.push(Column {
                word,
                shift,
                rows,
                summaries,
            });
            self.columns.len() - 1
        });
        &mut self.columns[position]
    }

    /// Removes an entry.
    pub fn remove(&mut self, entry: u32) {
        let (at, bit) = (entry as usize / 64, 1u64 << (entry % 64));
        self.live[at] &= !bit;
        if self.live[at] == 0 {
            self.live_summary &= !(1 << at);
        }
        for column in &mut self.columns {
            for value in 0..VALUES {
                column.rows[value * self.words + at] |= bit;
                column.summaries[value] |= 1 << at;
            }
        }
    }

    /// Calls `found` with each entry that `key` matches.
    pub fn matches(&self, key: &[u64], mut found: impl FnMut(u32)) {
        let summaries = self.columns.iter().map(|column| column.summaries[column.byte(key)]);
        let mut words = summaries.fold(self.live_summary, |all, summary| all & summary);
        while words != 0 {
            let at = words.trailing_zeros() as usize;
            words &= words - 1;
            let rows = self.columns.iter();
            let bits = rows.map(|column| column.rows[column.byte(key) * self.words + at]);
            let mut matching = bits.fold(self.live[at], |all, bits| all & bits);
            while matching != 0 {
                found(at as u32 * u64::BITS + matching.trailing_zeros());
                matching &= matching - 1;
            }
        }
    }
}
