// SPDX-License-Identifier: Apache-2.0
//! Tables whose entries the program gives: the code knows them, and compares instead of looking up.
//!
//! A decision in a P4 program is a table with const entries. While entries and default action are those of the program, the
//! code first jumps by fields of which most entries want one value, then compares with the entries that are left, best first.
//! When a controller has changed them, it looks up as everywhere.

use super::controls::Places;
use super::emitter::{Args, Emitter, Result, Unsupported, plain};
use super::runtime::Context;
use crate::config::tables::program_entries;
use crate::control::LiveTable;
use crate::ir::{KeyPart, MatchKind, Table, TableId};
use crate::table::EntryKey;
use crate::value::mask;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I8;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Switch;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

/// Tables of more entries, or of longer keys in all, are looked up.
const MAX_ENTRIES: usize = 256;
const MAX_WORDS: usize = 1024;

/// Fewer entries with a value of their own in a field are compared one by one.
const MIN_JUMPS: usize = 3;

/// Jumps on the way to an entry.
const MAX_JUMPS: usize = 8;

/// An entry may be compared with in several places, on average in so many.
const MAX_PLACES: usize = 8;

/// An entry, and where the code goes when it hits.
struct Row {
    key: EntryKey,
    target: Block,
}

/// What all comparisons with a key have in common.
struct Search<'k> {
    key: &'k [Value],
    parts: &'k [KeyPart],
    miss: Block,
    /// Comparisons that may still be made.
    budget: usize,
    /// Jumps that led to this place in the code.
    jumps: usize,
}

/// Whether to compare instead of looking up. Nothing of an entry may change with packets.
fn is_known(table: &Table) -> bool {
    let entries = table.entries.as_ref().map_or(0, Vec::len);
    (1..=MAX_ENTRIES).contains(&entries)
        && entries * table.key_words <= MAX_WORDS
        && table.kind != MatchKind::Range
        && !table.counters
        && !table.idle_timeouts
        && table.direct_meter.is_none()
        && table.profile.is_none()
}

/// The entries as they rank, best first.
fn ranked(table: &Table) -> Vec<(EntryKey, &crate::ir::DefaultEntry)> {
    let mut entries: Vec<_> = program_entries(table).collect();
    // Of equal priority, and of equal keys, the first counts.
    entries.sort_by_key(|(key, _)| std::cmp::Reverse(key.priority));
    entries
}

/// The part's bits in its word of the key.
fn bits(part: &KeyPart) -> u64 {
    mask(part.source.width) << part.shift
}

impl Row {
    /// Bits of a word that have yet to be compared.
    fn open(&self, known: &[u64], word: usize) -> u64 {
        self.key.mask[word] & !known[word]
    }

    fn wants_whole(&self, part: &KeyPart) -> bool {
        self.key.mask[part.word] & bits(part) == bits(part)
    }
}

/// The field to jump by: that of which most entries want one value.
fn field<'k>(parts: &'k [KeyPart], rows: &[&Row], known: &[u64]) -> Option<&'k KeyPart> {
    let fits = |part: &&KeyPart| (1..=64).contains(&part.source.width) && known[part.word] & bits(part) == 0;
    let wanting = |part: &KeyPart| rows.iter().filter(|row| row.wants_whole(part)).count();
    let counted = parts.iter().filter(fits).map(|part| (wanting(part), part));
    let (most, part) = counted.rev().max_by_key(|(count, _)| *count)?;
    (most >= MIN_JUMPS).then_some(part)
}

impl<'ir> Emitter<'_, 'ir> {
    /// Applies a table whose entries are known, while they are; the code goes on for when they are not.
    pub fn decide(&mut self, id: TableId, places: &mut Places) -> Result<()> {
        let table: &'ir Table = &self.ir.tables[id];
        let Some(has_decided) = self.has_decided.filter(|_| is_known(table) && self.is_small()) else {
            return Ok(());
        };
        has_decided.set(true);
        let (as_loaded, changed, miss) = (self.block(), self.block(), self.block());
        let tables = self.context_field(offset_of!(Context, first_table));
        let flag = id * size_of::<LiveTable>() + offset_of!(LiveTable, is_as_loaded);
        let flag = i32::try_from(flag).map_err(Unsupported::new)?;
        let is_as_loaded = self.builder.ins().load(I8, plain(), tables, flag);
        self.branch(is_as_loaded, as_loaded, changed);
        self.switch_to(as_loaded);

        // What does the same is there once.
        let mut targets = BTreeMap::new();
        let mut rows = Vec::new();
        for (key, action) in ranked(table) {
            let effect = (action.action, action.args.as_slice());
            let target = *targets.entry(effect).or_insert_with(|| self.block());
            rows.push(Row { key, target });
        }
        let key = self.key_words(table)?;
        let mut search = Search {
            key: &key,
            parts: &table.key,
            miss,
            budget: MAX_PLACES * rows.len(),
            jumps: 0,
        };
        let all: Vec<&Row> = rows.iter().collect();
        self.compare_with(&all, &vec![0; key.len()], &mut search)?;

        for ((action, args), block) in targets {
            self.switch_to(block);
            self.args = Args::Constant(args);
            let next = self.place(table.next.after(Some(action), true), places);
            self.run_to(table.actions[action], next, places.end)?;
        }
        self.switch_to(miss);
        let default = table.default.as_ref();
        let next = table.next.after(default.map(|default| default.action), false);
        let next = self.place(next, places);
        match default {
            Some(default) => {
                self.args = Args::Constant(&default.args);
                self.run_to(table.actions[default.action], next, places.end)?;
            }
            None => self.jump(next),
        }
        self.switch_to(changed);
        Ok(())
    }

    /// Goes where the first of the rows that matches leads; the `known` bits of the key are as all of them want.
    fn compare_with(&mut self, mut rows: &[&Row], known: &[u64], search: &mut Search) -> Result<()> {
        while let Some((first, rest)) = rows.split_first() {
            self.check_size()?;
            if (0..known.len()).all(|word| first.open(known, word) == 0) {
                self.jump(first.target);
                return Ok(());
            }
            if let Some(part) = field(search.parts, rows, known).filter(|_| search.jumps < MAX_JUMPS) {
                let wanted = rows.iter().filter(|row| row.wants_whole(part));
                let values: BTreeSet<u64> = wanted.map(|row| row.key.value[part.word] & bits(part)).collect();
                let comparisons = (values.len() + 1) * rows.len();
                if comparisons <= search.budget {
                    search.budget -= comparisons;
                    search.jumps += 1;
                    self.jump_by(part, values, rows, known, search)?;
                    search.jumps -= 1;
                    return Ok(());
                }
            }
            let mut different = self.constant(0);
            for (word, &value) in search.key.iter().enumerate() {
                let open = first.open(known, word);
                if open != 0 {
                    let part = self.masked(value, open);
                    let wanted = self.constant(first.key.value[word] & open);
                    let difference = self.builder.ins().bxor(part, wanted);
                    different = self.builder.ins().bor(different, difference);
                }
            }
            let matched = self.builder.ins().icmp_imm(IntCC::Equal, different, 0);
            let on = self.block();
            self.branch(matched, first.target, on);
            self.switch_to(on);
            rows = rest;
        }
        self.jump(search.miss);
        Ok(())
    }

    /// Jumps by the value of a field, and compares with what is left for each of the values that rows want.
    fn jump_by(
        &mut self,
        part: &KeyPart,
        values: BTreeSet<u64>,
        rows: &[&Row],
        known: &[u64],
        search: &mut Search,
    ) -> Result<()> {
        let field = self
            .builder
            .ins()
            .ushr_imm(search.key[part.word], i64::from(part.shift));
        let field = self.masked(field, mask(part.source.width));
        let mut switch = Switch::new();
        let cases: Vec<(u64, Block)> = values.into_iter().map(|value| (value, self.block())).collect();
        for &(value, block) in &cases {
            switch.set_entry(u128::from(value >> part.shift), block);
        }
        let none = self.block();
        switch.emit(&mut self.builder, field, none);

        let mut known_then = known.to_vec();
        known_then[part.word] |= bits(part);
        for (value, block) in cases {
            let matches = |row: &&&Row| (row.key.value[part.word] ^ value) & row.key.mask[part.word] & bits(part) == 0;
            let left: Vec<&Row> = rows.iter().filter(matches).copied().collect();
            self.switch_to(block);
            self.compare_with(&left, &known_then, search)?;
        }
        let left: Vec<&Row> = rows.iter().filter(|row| !row.wants_whole(part)).copied().collect();
        self.switch_to(none);
        self.compare_with(&left, known, search)
    }
}
