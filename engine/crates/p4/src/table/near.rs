// SPDX-License-Identifier: Apache-2.0
//! Which prefixes are worth trying, by the first bits of an address.
//!
//! A lookup that tries one prefix length after the other mostly fails: near an address there are prefixes of few lengths, and in a
//! large table each try waits for memory. For each value of the first bits there is therefore a cell that says which lengths its
//! prefixes have and, if they are few, has a line of the cache with the prefixes themselves.

use std::num::NonZeroU32;

/// Bits that are looked at: few in small tables, so that small tables are small.
const FEW_BITS: u32 = 8;
const MANY_BITS: u32 = 16;
/// From so many entries on a table gets [`MANY_BITS`].
const LARGE: usize = 512;
/// Masks that can be told apart.
pub(super) const MAX_LENGTHS: u32 = u64::BITS;
/// Prefixes of a line.
const LINE: usize = 4;

/// Where the prefix lies in a packed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// Word that has its first bits.
    pub word: usize,
    /// Bits of the word right of them.
    pub shift: u32,
    /// How many of its bits are in this word.
    pub bits: u32,
}

/// What is known of the prefixes that begin with a value of the first bits.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Their lengths, a bit each, as numbered by the table; of prefixes that are gone, too, while others have their length.
    lengths: u64,
    /// Number of the line.
    line: u32,
    content: Content,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Content {
    /// No prefix is at least as long as the first bits; there is no line.
    #[default]
    Nothing,
    /// The line has all of them.
    Line,
    /// They are too many for a line; there is none.
    Lengths,
}

/// A prefix at least as long as the first bits.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    value: u64,
    entry: u32,
    /// Number of its length and one.
    after_length: NonZeroU32,
}

impl Candidate {
    /// Index of its length's mask.
    fn length(&self) -> usize {
        self.after_length.get() as usize - 1
    }
}

/// Candidates of a cell, longest first.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([Option<Candidate>; LINE]);

/// What is to be done for a key.
pub(super) enum Lookup {
    /// This entry is it.
    Found(u32),
    /// Of these lengths each is to be tried.
    Try(u64),
}

/// The cells of a table.
#[derive(Debug)]
pub(super) struct Near {
    word: usize,
    shift: u32,
    bits: u32,
    cells: Vec<Cell>,
    lines: Vec<Line>,
    free_lines: Vec<u32>,
    /// Prefixes of less than a word have lines, as each of their lengths has a number; of others only lengths are kept.
    has_lines: bool,
    /// The masks of the lengths.
    masks: [u64; MAX_LENGTHS as usize],
    /// Lengths shorter than the first bits.
    short: u64,
}

impl Near {
    /// Without prefixes, for a table that is to have so many entries with keys of so many words.
    pub fn new(prefix: Prefix, key_words: usize, entries: usize) -> Near {
        let wanted = if entries < LARGE { FEW_BITS } else { MANY_BITS };
        let bits = wanted.min(prefix.bits);
        Near {
            word: prefix.word,
            shift: prefix.shift + prefix.bits - bits,
            bits,
            cells: vec![Cell::default(); 1 << bits],
            lines: Vec::new(),
            free_lines: Vec::new(),
            has_lines: key_words == 1 && prefix.bits < MAX_LENGTHS,
            masks: [0; MAX_LENGTHS as usize],
            short: 0,
        }
    }

    /// True if a table of so many entries should have a new one.
    pub fn outgrown(&self, prefix: Prefix, entries: usize) -> bool {
        entries >= LARGE && self.bits < MANY_BITS.min(prefix.bits)
    }

    fn index(&self, key: &[u64]) -> usize {
        (key[self.word] >> self.shift) as usize & (self.cells.len() - 1)
    }

    /// What to do for `key`.
    pub fn lookup(&self, key: &[u64]) -> Lookup {
        let cell = &self.cells[self.index(key)];
        match cell.content {
            Content::Lengths => return Lookup::Try(cell.lengths),
            Content::Nothing => {}
            Content::Line => {
                for candidate in self.lines[cell.line as usize].0.iter().map_while(|slot| slot.as_ref()) {
                    if key[0] & self.masks[candidate.length()] == candidate.value {
                        return Lookup::Found(candidate.entry);
                    }
                }
            }
        }
        Lookup::Try(cell.lengths & self.short)
    }

    /// Adds a prefix of length number `length`, which is `entry`.
    pub fn add(&mut self, value: &[u64], mask: &[u64], length: u32, entry: u32) {
        let first = self.index(value);
        let free = !self.index(mask) & (self.cells.len() - 1);
        for cell in &mut self.cells[first..=first | free] {
            cell.lengths |= 1 << length;
        }
        self.masks[length as usize] = mask[0];
        if free != 0 {
            self.short |= 1 << length;
            return;
        }
        self.short &= !(1 << length);
        let candidate = Candidate {
            value: value[0],
            entry,
            after_length: NonZeroU32::MIN.saturating_add(length),
        };
        self.add_candidate(first, candidate);
    }

    fn add_candidate(&mut self, index: usize, candidate: Candidate) {
        let cell = &mut self.cells[index];
        match cell.content {
            Content::Nothing if self.has_lines => {
                let line = Line([Some(candidate), None, None, None]);
                cell.content = Content::Line;
                cell.line = match self.free_lines.pop() {
                    Some(number) => {
                        self.lines[number as usize] = line;
                        number
                    }
                    None => {
                        self.lines.push(line);
                        self.lines.len() as u32 - 1
                    }
                };
            }
            Content::Line => {
                let masks = &self.masks;
                let Line(slots) = &mut self.lines[cell.line as usize];
                let bits = |candidate: &Candidate| masks[candidate.length()].count_ones();
                let at = slots.partition_point(|slot| slot.is_some_and(|it| bits(&it) >= bits(&candidate)));
                if slots[LINE - 1].is_some() {
                    cell.content = Content::Lengths;
                    self.free_lines.push(cell.line);
                } else {
                    slots[at..].rotate_right(1);
                    slots[at] = Some(candidate);
                }
            }
            Content::Nothing | Content::Lengths => cell.content = Content::Lengths,
        }
    }

    /// Removes a prefix.
    pub fn remove(&mut self, value: &[u64], entry: u32) {
        let index = self.index(value);
        let cell = &mut self.cells[index];
        if cell.content != Content::Line {
            return;
        }
        let Line(slots) = &mut self.lines[cell.line as usize];
        let Some(at) = slots.iter().position(|slot| slot.is_some_and(|it| it.entry == entry)) else {
            return;
        };
        slots[at..].rotate_left(1);
        slots[LINE - 1] = None;
        if slots[0].is_none() {
            cell.content = Content::Nothing;
            self.free_lines.push(cell.line);
        }
    }

    /// No prefix has this length any more.
    pub fn forget(&mut self, length: u32) {
        for cell in &mut self.cells {
            cell.lengths &= !(1 << length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_fill_a_line_of_the_cache() {
        assert_eq!(std::mem::size_of::<Line>(), 64);
        assert_eq!(std::mem::size_of::<Cell>(), 16);
    }
}
