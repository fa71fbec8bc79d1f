// SPDX-License-Identifier: Apache-2.0
//! Which prefix lengths are worth trying, by the first bits of an address.
//!
//! A lookup that tries one length after the other mostly fails: near an address there are prefixes of few lengths.

/// Bits that are looked at: few in small tables, so that small tables are small.
const FEW_BITS: u32 = 8;
const MANY_BITS: u32 = 16;
/// From so many entries on a table gets [`MANY_BITS`].
const LARGE: usize = 4096;

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

/// For each value of the first bits, the lengths (a bit each, as numbered by the table) of the prefixes that have it.
#[derive(Debug)]
pub(super) struct Lengths {
    word: usize,
    shift: u32,
    bits: u32,
    present: Vec<u64>,
}

impl Lengths {
    /// Without prefixes, for a table that is to have so many entries.
    pub fn new(prefix: Prefix, entries: usize) -> Lengths {
        let wanted = if entries < LARGE { FEW_BITS } else { MANY_BITS };
        let bits = wanted.min(prefix.bits);
        Lengths {
            word: prefix.word,
            shift: prefix.shift + prefix.bits - bits,
            bits,
            present: vec![0; 1 << bits],
        }
    }

    /// True if a table of so many entries should have a new one.
    pub fn outgrown(&self, prefix: Prefix, entries: usize) -> bool {
        entries >= LARGE && self.bits < MANY_BITS.min(prefix.bits)
    }

    fn index(&self, key: &[u64]) -> usize {
        (key[self.word] >> self.shift) as usize & (self.present.len() - 1)
    }

    /// The lengths of the prefixes that `key` may have.
    pub fn of(&self, key: &[u64]) -> u64 {
        self.present[self.index(key)]
    }

    /// Adds a prefix of length number `length`.
    pub fn add(&mut self, value: &[u64], mask: &[u64], length: u32) {
        let first = self.index(value);
        let free = !self.index(mask) & (self.present.len() - 1);
        for lengths in &mut self.present[first..=first | free] {
            *lengths |= 1 << length;
        }
    }

    /// No prefix has this length any more.
    pub fn forget(&mut self, length: u32) {
        for lengths in &mut self.present {
            *lengths &= !(1 << length);
        }
    }
}
