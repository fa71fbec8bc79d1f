// SPDX-License-Identifier: Apache-2.0
//! Tables: entries and default actions.

use slotwise_units::Instant;

use super::{Result, invalid, not_found};
use crate::Program;
use crate::api::{ActionCall, Bits, ConfigError, Executor, KeyField, PipelineConfig, TableEntry};
use crate::control::{LiveTable, Miss};
use crate::ir::{Action, DefaultEntry, Ir, KeyPart, MatchKind, Table};
use crate::limits::{Held, Memory, OutOfMemory, entry_bytes};
use crate::pipeline::Pipeline;
use crate::table::{Effect, Entries, Entry, EntryAction, EntryKey, Prefix, RangePart};
use crate::value::{bit_length, from_be_bytes, limbs_for, mask, to_be_bytes};
use smallvec::SmallVec;
use std::sync::Arc;

impl Pipeline {
    /// A fresh pipeline: const entries and defaults in place, registers zero.
    pub fn new(program: Arc<Program>, config: PipelineConfig) -> Pipeline {
        Pipeline::with(program, config, Held::unlimited())
    }

    /// As [`Pipeline::new`], with memory that it shares with others, for its arrays and for the entries, members and value
    /// sets that controllers write. What there is no memory for is refused. Groups and replicas are not counted: what a
    /// port's link changes of them has to be possible at any time, so that whoever changes it counts all that there may be.
    pub fn new_in(
        program: Arc<Program>,
        config: PipelineConfig,
        memory: &Memory,
    ) -> std::result::Result<Pipeline, OutOfMemory> {
        let held = memory.hold(program.pipeline_bytes)?;
        Ok(Pipeline::with(program, config, held))
    }

    /// While `on`, what is removed from the tables stays this pipeline's memory, so that it can be put back.
    pub fn keep_freed_memory(&mut self, on: bool) {
        self.held.keep_freed(on);
    }

    fn with(program: Arc<Program>, config: PipelineConfig, held: Held) -> Pipeline {
        let ir = Arc::clone(&program.ir);
        let tables = ir.tables.iter().map(fresh_table).collect();
        let code = match config.executor {
            Executor::Jit => program.code().as_ref().ok().map(Arc::clone),
            Executor::Interpreter => None,
        };
        Pipeline::assemble(ir, code, config, tables, held)
    }

    pub(crate) fn table_index(&self, name: &str) -> Result<usize> {
        super::named(&self.ir.tables, |t| &t.name, "table", name)
    }

    fn writable(&self, name: &str) -> Result<usize> {
        let index = self.table_index(name)?;
        if self.tables[index].entries_const {
            return Err(ConfigError::Denied(format!("table `{name}` has const entries")));
        }
        Ok(index)
    }

    /// Says whether the entries that the program gives a table are const: then the controller may not change, remove or add any.
    /// BMv2's JSON does not tell `entries` from `const entries`, so at first they are; P4Info's `is_const_table` tells.
    pub fn table_set_const(&mut self, table: &str, is_const: bool) -> Result<()> {
        let index = self.table_index(table)?;
        self.tables[index].entries_const = is_const;
        Ok(())
    }

    /// Adds an entry.
    pub fn table_insert(&mut self, table: &str, entry: TableEntry) -> Result<()> {
        let index = self.writable(table)?;
        let shape = &self.ir.tables[index];
        let key = pack_key(shape, &entry.key, entry.priority)?;
        let action = pack_action(&self.ir, shape, &entry.action)?;
        self.insert_effect(index, key, Effect::Action(action))
    }

    pub(crate) fn insert_effect(&mut self, index: usize, key: EntryKey, effect: Effect) -> Result<()> {
        let shape = &self.ir.tables[index];
        let entries = &mut self.tables[index].entries;
        check_effect(shape, &effect)?;
        if entries.find(&key).is_some() {
            return Err(ConfigError::AlreadyExists(format!(
                "table `{}` already has this entry",
                shape.name
            )));
        }
        if entries.len() >= shape.max_size {
            return Err(ConfigError::TableFull {
                table: shape.name.clone(),
                max_size: shape.max_size,
            });
        }
        self.held.grow(table_entry_bytes(&self.ir, index))?;
        if let Some(profile) = shape.profile {
            self.profiles[profile].hold(&effect);
        }
        entries.insert(key, effect, self.now);
        self.tables[index].is_as_loaded = false;
        Ok(())
    }

    /// Changes the action of the entry with this key and priority.
    pub fn table_modify(&mut self, table: &str, entry: TableEntry) -> Result<()> {
        let index = self.writable(table)?;
        let shape = &self.ir.tables[index];
        let key = pack_key(shape, &entry.key, entry.priority)?;
        let action = pack_action(&self.ir, shape, &entry.action)?;
        self.modify_effect(index, &key, Effect::Action(action))
    }

    pub(crate) fn modify_effect(&mut self, index: usize, key: &EntryKey, effect: Effect) -> Result<()> {
        check_effect(&self.ir.tables[index], &effect)?;
        let before = std::mem::replace(&mut self.entry_mut(index, key)?.effect, effect.clone());
        self.tables[index].is_as_loaded = false;
        if let Some(profile) = self.ir.tables[index].profile {
            self.profiles[profile].hold(&effect);
            self.profiles[profile].release(&before);
        }
        Ok(())
    }

    /// Removes the entry with this key and priority (its action is ignored).
    pub fn table_delete(&mut self, table: &str, entry: &TableEntry) -> Result<()> {
        let index = self.writable(table)?;
        let key = pack_key(&self.ir.tables[index], &entry.key, entry.priority)?;
        let entries = &mut self.tables[index].entries;
        match entries.find(&key) {
            Some(found) => {
                if let Some((profile, entry)) = self.ir.tables[index].profile.zip(entries.get(found)) {
                    self.profiles[profile].release(&entry.effect);
                }
                entries.remove(found);
                self.tables[index].is_as_loaded = false;
                self.held.shrink(table_entry_bytes(&self.ir, index));
                Ok(())
            }
            None => Err(no_entry(&self.ir.tables[index])),
        }
    }

    pub(crate) fn entry_mut(&mut self, index: usize, key: &EntryKey) -> Result<&mut Entry> {
        let entries = &mut self.tables[index].entries;
        let found = entries.find(key);
        found
            .and_then(|found| entries.get_mut(found))
            .ok_or_else(|| no_entry(&self.ir.tables[index]))
    }

    pub(crate) fn entry(&self, table: &str, entry: &TableEntry) -> Result<&Entry> {
        let index = self.table_index(table)?;
        let shape = &self.ir.tables[index];
        let key = pack_key(shape, &entry.key, entry.priority)?;
        let entries = &self.tables[index].entries;
        entries
            .find(&key)
            .and_then(|found| entries.get(found))
            .ok_or_else(|| no_entry(shape))
    }

    /// All entries, in order of insertion, const entries included. Where the table has an action profile, the action
    /// names are empty: see [`Pipeline::indirect_entries`].
    pub fn table_entries(&self, table: &str) -> Result<Vec<TableEntry>> {
        let index = self.table_index(table)?;
        let shape = &self.ir.tables[index];
        let unpack = |entry: &Entry| {
            let action = match &entry.effect {
                Effect::Action(action) => unpack_action(&self.ir, shape, action),
                Effect::Member(_) | Effect::Group(_) => ActionCall {
                    name: String::new(),
                    args: Vec::new(),
                },
            };
            unpack_entry(shape, &entry.cold.key, action)
        };
        Ok(self.tables[index].entries.iter_in_order().map(unpack).collect())
    }

    /// Sets the default action; `None` restores the program's.
    pub fn table_set_default(&mut self, table: &str, action: Option<ActionCall>) -> Result<()> {
        let index = self.table_index(table)?;
        let shape = &self.ir.tables[index];
        let program = shape.default.as_ref().map(|d| EntryAction {
            action: d.action,
            args: SmallVec::from_slice(&d.args),
        });
        let wanted = match action {
            Some(call) => Some(pack_action(&self.ir, shape, &call)?),
            None => program.clone(),
        };
        let action_changes = wanted.as_ref().map(|a| a.action) != program.as_ref().map(|a| a.action);
        if shape.const_default_entry && wanted != program || shape.const_default_action && action_changes {
            return Err(ConfigError::Denied(format!(
                "table `{table}` has a const default action"
            )));
        }
        self.tables[index].is_as_loaded &= wanted == program;
        self.tables[index].default = wanted;
        Ok(())
    }

    /// The default action in force.
    pub fn table_default(&self, table: &str) -> Result<Option<ActionCall>> {
        let index = self.table_index(table)?;
        let default = self.tables[index].default.as_ref();
        Ok(default.map(|action| unpack_action(&self.ir, &self.ir.tables[index], action)))
    }
}

/// What an entry of a table takes at most, whatever its action. Entries of the program are charged for as much, or more.
fn table_entry_bytes(ir: &Ir, index: usize) -> u64 {
    let table = &ir.tables[index];
    entry_bytes(table.key_words, super::arg_words(ir, table))
}

fn no_entry(table: &Table) -> ConfigError {
    ConfigError::NotFound(format!("table `{}` has no such entry", table.name))
}

fn check_effect(table: &Table, effect: &Effect) -> Result<()> {
    match (table.profile, effect) {
        (None, Effect::Action(_)) | (Some(_), Effect::Member(_) | Effect::Group(_)) => Ok(()),
        (None, _) => invalid(format!("table `{}` has no action profile", table.name)),
        (Some(_), _) => invalid(format!("entries of table `{}` need a member or group", table.name)),
    }
}

/// Where the prefix of an LPM table lies in its key.
fn prefix(table: &Table) -> Option<Prefix> {
    let part = table
        .key
        .iter()
        .find(|part| table.kind == MatchKind::Lpm && part.kind == MatchKind::Lpm)?;
    // The limb with the first bits is the last.
    let above = limbs_for(part.source.width) - 1;
    Some(Prefix {
        word: part.word + above,
        shift: part.shift,
        bits: part.source.width - above as u32 * 64,
    })
}

/// The entries that the program gives a table, in the table's packed form.
pub(crate) fn program_entries(table: &Table) -> impl Iterator<Item = (EntryKey, &DefaultEntry)> {
    // The loader made these of the table's own key, so they pack.
    table.entries.iter().flatten().filter_map(|entry| {
        let key = pack_parts(table, &entry.key, entry.priority).ok()?;
        Some((key, &entry.action))
    })
}

fn fresh_table(table: &Table) -> LiveTable {
    let mut entries = Entries::new(table.kind, table.key_words, prefix(table));
    for (key, action) in program_entries(table) {
        // Of duplicates the first stays.
        if entries.find(&key).is_none() {
            let action = EntryAction {
                action: action.action,
                args: SmallVec::from_slice(&action.args),
            };
            entries.insert(key, Effect::Action(action), Instant::ZERO);
        }
    }
    let default = table.default.as_ref().map(|d| EntryAction {
        action: d.action,
        args: SmallVec::from_slice(&d.args),
    });
    LiveTable {
        entries,
        default,
        miss: Miss::default(),
        entries_const: table.entries.is_some(),
        is_as_loaded: true,
    }
}

/// Checks and packs a key and its priority.
pub(crate) fn pack_key(table: &Table, key: &[KeyField], priority: i32) -> Result<EntryKey> {
    let prioritized = matches!(table.kind, MatchKind::Ternary | MatchKind::Range);
    if prioritized && priority <= 0 {
        return invalid(format!("entries of table `{}` need a positive priority", table.name));
    }
    if !prioritized && priority != 0 {
        return invalid(format!("entries of table `{}` must have priority 0", table.name));
    }
    pack_parts(table, key, priority)
}

fn pack_parts(table: &Table, key: &[KeyField], priority: i32) -> Result<EntryKey> {
    if key.len() != table.key.len() || key.is_empty() {
        return invalid(format!(
            "the key of table `{}` has {} fields, got {}",
            table.name,
            table.key.len(),
            key.len()
        ));
    }
    let words = table.key_words;
    let mut packed = EntryKey {
        value: vec![0; words],
        mask: vec![0; words],
        ranges: Vec::new(),
        priority,
        optional: 0,
    };
    for (index, (part, field)) in table.key.iter().zip(key).enumerate() {
        let width = part.source.width;
        let value = |bytes: &Bits| limbs(bytes, width, &part.name);
        let all = || ones(width);
        match (part.kind, field) {
            (MatchKind::Exact, KeyField::Exact(bytes)) => place(&mut packed, part, &value(bytes)?, &all()),
            (
                MatchKind::Lpm,
                KeyField::Lpm {
                    value: bytes,
                    prefix_len,
                },
            ) => {
                let prefix = prefix_mask(width, *prefix_len, &part.name)?;
                place_masked(&mut packed, part, &value(bytes)?, &prefix)?;
                if table.kind == MatchKind::Lpm {
                    packed.priority = *prefix_len as i32;
                }
            }
            (MatchKind::Ternary, KeyField::Ternary { value: bytes, mask }) => {
                place_masked(&mut packed, part, &value(bytes)?, &value(mask)?)?;
            }
            (MatchKind::Ternary, KeyField::Optional(given)) => {
                packed.optional |= 1u64.checked_shl(index as u32).unwrap_or(0);
                if let Some(bytes) = given {
                    place(&mut packed, part, &value(bytes)?, &all());
                }
            }
            (MatchKind::Range, KeyField::Range { low, high }) => {
                let (low, high) = (value(low)?[0], value(high)?[0]);
                if low > high {
                    return invalid(format!("range of `{}` is empty", part.name));
                }
                packed.ranges.push(RangePart {
                    word: part.word,
                    shift: part.shift,
                    mask: mask(width),
                    low,
                    high,
                });
            }
            (kind, _) => return invalid(format!("key field `{}` is {kind:?}", part.name)),
        }
    }
    Ok(packed)
}

fn ones(width: u32) -> Vec<u64> {
    let mut limbs = vec![u64::MAX; limbs_for(width)];
    crate::value::truncate(&mut limbs, width);
    limbs
}

/// Bytes as limbs of a `width`-bit value.
pub(crate) fn limbs(bytes: &[u8], width: u32, name: &str) -> Result<Vec<u64>> {
    match from_be_bytes(bytes, limbs_for(width)) {
        Some(limbs) if bit_length(&limbs) <= width => Ok(limbs),
        _ => invalid(format!("value of `{name}` does not fit in {width} bits")),
    }
}

fn prefix_mask(width: u32, prefix_len: u32, name: &str) -> Result<Vec<u64>> {
    if prefix_len > width {
        return invalid(format!("prefix of `{name}` is longer than {width} bits"));
    }
    let mut limbs = ones(width);
    crate::value::shl(&mut limbs, u64::from(width - prefix_len));
    crate::value::truncate(&mut limbs, width);
    Ok(limbs)
}

fn place(packed: &mut EntryKey, part: &KeyPart, value: &[u64], mask: &[u64]) {
    for (index, (value, mask)) in value.iter().zip(mask).enumerate() {
        packed.value[part.word + index] |= value << part.shift;
        packed.mask[part.word + index] |= mask << part.shift;
    }
}

fn place_masked(packed: &mut EntryKey, part: &KeyPart, value: &[u64], mask: &[u64]) -> Result<()> {
    if value.iter().zip(mask).any(|(v, m)| v & !m != 0) {
        return invalid(format!("value of `{}` has bits outside its mask", part.name));
    }
    place(packed, part, value, mask);
    Ok(())
}

/// Checks an action of a table and packs its arguments.
pub(crate) fn pack_action(ir: &Ir, table: &Table, call: &ActionCall) -> Result<EntryAction> {
    let Some(position) = table.actions.iter().position(|&a| ir.actions[a].name == call.name) else {
        return not_found(format!("table `{}` has no action `{}`", table.name, call.name));
    };
    let args = pack_args(&ir.actions[table.actions[position]], &call.args)?;
    Ok(EntryAction {
        action: position,
        args: SmallVec::from_slice(&args),
    })
}

fn pack_args(action: &Action, args: &[Bits]) -> Result<Vec<u64>> {
    if args.len() != action.params.len() {
        return invalid(format!(
            "action `{}` has {} parameters, got {}",
            action.name,
            action.params.len(),
            args.len()
        ));
    }
    let mut packed = Vec::new();
    for (arg, param) in args.iter().zip(&action.params) {
        packed.append(&mut limbs(arg, param.width, &param.name)?);
    }
    Ok(packed)
}

pub(crate) fn unpack_action(ir: &Ir, table: &Table, packed: &EntryAction) -> ActionCall {
    let action = &ir.actions[table.actions[packed.action]];
    let arg = |p: &crate::ir::Param| to_be_bytes(&packed.args[p.offset..p.offset + limbs_for(p.width)]);
    ActionCall {
        name: action.name.clone(),
        args: action.params.iter().map(arg).collect(),
    }
}

pub(crate) fn unpack_entry(table: &Table, key: &EntryKey, action: ActionCall) -> TableEntry {
    let (key, priority) = unpack_key(table, key);
    TableEntry { key, priority, action }
}

/// Key fields and priority of an entry.
pub(crate) fn unpack_key(table: &Table, key: &EntryKey) -> (Vec<KeyField>, i32) {
    let mut ranges = key.ranges.iter();
    let field = |(index, part): (usize, &KeyPart)| {
        let width = part.source.width;
        let cut = |words: &[u64]| -> Vec<u64> {
            (0..limbs_for(width))
                .map(|i| words[part.word + i] >> part.shift & mask(width.min(64)))
                .collect()
        };
        let (value, part_mask) = (to_be_bytes(&cut(&key.value)), cut(&key.mask));
        match part.kind {
            MatchKind::Exact => KeyField::Exact(value),
            MatchKind::Lpm => KeyField::Lpm {
                value,
                prefix_len: part_mask.iter().map(|limb| limb.count_ones()).sum(),
            },
            MatchKind::Ternary if key.optional >> index.min(63) & 1 == 1 => {
                KeyField::Optional((bit_length(&part_mask) > 0).then_some(value))
            }
            MatchKind::Ternary => KeyField::Ternary {
                value,
                mask: to_be_bytes(&part_mask),
            },
            MatchKind::Range => {
                let (low, high) = ranges.next().map_or((0, 0), |range| (range.low, range.high));
                KeyField::Range {
                    low: to_be_bytes(&[low]),
                    high: to_be_bytes(&[high]),
                }
            }
        }
    };
    let priority = if table.kind == MatchKind::Lpm { 0 } else { key.priority };
    (table.key.iter().enumerate().map(field).collect(), priority)
}
