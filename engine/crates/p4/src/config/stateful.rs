// SPDX-License-Identifier: Apache-2.0
//! Counters, meters, registers and value sets.

use super::tables::{limbs, pack_key};
use super::{Result, in_range, invalid, named, not_found};
use crate::api::{Bits, TableEntry};
use crate::meter::MeterConfig;
use crate::pipeline::Pipeline;
use crate::value::{limbs_for, to_be_bytes};

/// What belongs to a default entry besides its action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultResources {
    /// Packets that hit no entry.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Rates of its direct meter.
    pub meter: Option<MeterConfig>,
}

/// Which direct resources a program gives to the entries of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectResources {
    /// A direct counter.
    pub counter: bool,
    /// A direct meter.
    pub meter: bool,
}

/// The place of a cell of up to 64 bits among the registers of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterCell(usize);

impl Pipeline {
    fn counter_index(&self, counter: &str, index: usize) -> Result<usize> {
        let position = named(&self.ir.counters, |c| &c.name, "counter", counter)?;
        in_range(index, self.ir.counters[position].size, counter)?;
        Ok(position)
    }

    /// (packets, bytes) of an indirect counter's cell.
    pub fn counter_read(&self, counter: &str, index: usize) -> Result<(u64, u64)> {
        Ok(self.persistent.counters[self.counter_index(counter, index)?][index])
    }

    /// Sets an indirect counter's cell.
    pub fn counter_write(&mut self, counter: &str, index: usize, packets: u64, bytes: u64) -> Result<()> {
        let position = self.counter_index(counter, index)?;
        self.persistent.counters[position][index] = (packets, bytes);
        Ok(())
    }

    fn needs_counter(&self, table: &str) -> Result<usize> {
        let index = self.table_index(table)?;
        if self.ir.tables[index].counters {
            Ok(index)
        } else {
            not_found(format!("table `{table}` has no direct counter"))
        }
    }

    /// (packets, bytes) of an entry's direct counter.
    pub fn direct_counter_read(&self, table: &str, entry: &TableEntry) -> Result<(u64, u64)> {
        self.needs_counter(table)?;
        let entry = self.entry(table, entry)?;
        Ok((entry.packets, entry.bytes))
    }

    /// Sets an entry's direct counter.
    pub fn direct_counter_write(&mut self, table: &str, entry: &TableEntry, packets: u64, bytes: u64) -> Result<()> {
        let index = self.needs_counter(table)?;
        let key = pack_key(&self.ir.tables[index], &entry.key, entry.priority)?;
        let entry = self.entry_mut(index, &key)?;
        (entry.packets, entry.bytes) = (packets, bytes);
        Ok(())
    }

    fn meter_index(&self, meter: &str, index: usize) -> Result<usize> {
        let position = named(&self.ir.meters, |m| &m.name, "meter", meter)?;
        if self.ir.meters[position].direct_target.is_some() {
            return not_found(format!("`{meter}` is a direct meter"));
        }
        in_range(index, self.ir.meters[position].size, meter)?;
        Ok(position)
    }

    /// The rates of an indirect meter's cell; `None` if it has none and everything is green.
    pub fn meter_read(&self, meter: &str, index: usize) -> Result<Option<MeterConfig>> {
        Ok(self.persistent.meters[self.meter_index(meter, index)?][index].config())
    }

    /// Sets the rates of an indirect meter's cell and fills its buckets.
    pub fn meter_write(&mut self, meter: &str, index: usize, config: Option<MeterConfig>) -> Result<()> {
        let position = self.meter_index(meter, index)?;
        check_meter(config)?;
        self.persistent.meters[position][index].configure(config, self.now);
        Ok(())
    }

    fn needs_meter(&self, table: &str) -> Result<usize> {
        let index = self.table_index(table)?;
        match self.ir.tables[index].direct_meter {
            Some(_) => Ok(index),
            None => not_found(format!("table `{table}` has no direct meter")),
        }
    }

    /// The rates of an entry's direct meter.
    pub fn direct_meter_read(&self, table: &str, entry: &TableEntry) -> Result<Option<MeterConfig>> {
        self.needs_meter(table)?;
        Ok(self.entry(table, entry)?.cold.meter.config())
    }

    /// Sets the rates of an entry's direct meter and fills its buckets.
    pub fn direct_meter_write(&mut self, table: &str, entry: &TableEntry, config: Option<MeterConfig>) -> Result<()> {
        let index = self.needs_meter(table)?;
        check_meter(config)?;
        let key = pack_key(&self.ir.tables[index], &entry.key, entry.priority)?;
        let now = self.now;
        self.entry_mut(index, &key)?.cold.meter.configure(config, now);
        Ok(())
    }

    /// Direct counter and meter of a table's default entry; zeros and `None` where the table has none.
    pub fn default_resources(&self, table: &str) -> Result<DefaultResources> {
        let miss = &self.tables[self.table_index(table)?].miss;
        Ok(DefaultResources {
            packets: miss.packets,
            bytes: miss.bytes,
            meter: miss.meter.config(),
        })
    }

    /// Sets the direct counter of a table's default entry.
    pub fn default_counter_write(&mut self, table: &str, packets: u64, bytes: u64) -> Result<()> {
        let index = self.needs_counter(table)?;
        let miss = &mut self.tables[index].miss;
        (miss.packets, miss.bytes) = (packets, bytes);
        Ok(())
    }

    /// Sets the rates of the direct meter of a table's default entry and fills its buckets. Without rates, a miss leaves
    /// the meter's result as it was.
    pub fn default_meter_write(&mut self, table: &str, config: Option<MeterConfig>) -> Result<()> {
        let index = self.needs_meter(table)?;
        check_meter(config)?;
        let now = self.now;
        self.tables[index].miss.meter.configure(config, now);
        Ok(())
    }

    fn register_place(&self, register: &str, index: usize) -> Result<(usize, std::ops::Range<usize>)> {
        let position = named(&self.ir.registers, |r| &r.name, "register", register)?;
        let array = &self.ir.registers[position];
        in_range(index, array.size, register)?;
        let first = array.first + index * limbs_for(array.width);
        Ok((position, first..first + limbs_for(array.width)))
    }

    /// A cell of a register.
    pub fn register_read(&self, register: &str, index: usize) -> Result<Bits> {
        let (_, cell) = self.register_place(register, index)?;
        Ok(to_be_bytes(&self.persistent.registers[cell]))
    }

    /// Where a cell of a register stands, for who reads it often; `None` if the program has none, or it has more than 64 bits.
    pub fn register_cell(&self, register: &str, index: usize) -> Option<RegisterCell> {
        let (_, cell) = self.register_place(register, index).ok()?;
        (cell.len() == 1).then_some(RegisterCell(cell.start))
    }

    /// What a cell holds that this pipeline, or another of its program, gave.
    pub fn register_word(&self, cell: RegisterCell) -> Option<u64> {
        self.persistent.registers.get(cell.0).copied()
    }

    /// Sets a cell of a register.
    pub fn register_write(&mut self, register: &str, index: usize, value: &[u8]) -> Result<()> {
        let (position, cell) = self.register_place(register, index)?;
        let value = limbs(value, self.ir.registers[position].width, register)?;
        self.persistent.registers[cell].copy_from_slice(&value);
        Ok(())
    }

    /// Replaces the members of a value set; each has one value for each part of the `select` key, in order.
    pub fn value_set_write(&mut self, value_set: &str, members: &[Vec<Bits>]) -> Result<()> {
        let position = named(&self.ir.value_sets, |v| &v.name, "value set", value_set)?;
        let widths = &self.ir.value_sets[position].widths;
        let mut packed = Vec::new();
        for member in members {
            if member.len() != widths.len() {
                return invalid(format!("members of `{value_set}` have {} parts", widths.len()));
            }
            let mut words = Vec::new();
            for (part, &width) in member.iter().zip(widths) {
                words.append(&mut limbs(part, width, value_set)?);
            }
            packed.push(words);
        }
        let bytes = |members: &[Vec<u64>]| -> u64 {
            let member = |words: &Vec<u64>| (size_of_val(words) + size_of_val(words.as_slice())) as u64;
            members.iter().map(member).sum()
        };
        self.held.change(bytes(&self.value_sets[position]), bytes(&packed))?;
        self.value_sets[position] = packed;
        Ok(())
    }

    /// The members of a value set.
    pub fn value_set_read(&self, value_set: &str) -> Result<Vec<Vec<Bits>>> {
        self.value_set_page(value_set, 0, usize::MAX)
    }

    /// At most `limit` members of a value set, from the `from`th on.
    pub fn value_set_page(&self, value_set: &str, from: usize, limit: usize) -> Result<Vec<Vec<Bits>>> {
        let position = named(&self.ir.value_sets, |v| &v.name, "value set", value_set)?;
        let widths = &self.ir.value_sets[position].widths;
        let unpack = |words: &Vec<u64>| {
            let mut rest = words.as_slice();
            let part = |&width: &u32| {
                let (part, after) = rest.split_at(limbs_for(width));
                rest = after;
                to_be_bytes(part)
            };
            widths.iter().map(part).collect()
        };
        let members = self.value_sets[position].iter().skip(from).take(limit);
        Ok(members.map(unpack).collect())
    }

    /// What of direct resources the entries of a table have.
    pub fn direct_resources(&self, table: &str) -> Result<DirectResources> {
        let table = &self.ir.tables[self.table_index(table)?];
        Ok(DirectResources {
            counter: table.counters,
            meter: table.direct_meter.is_some(),
        })
    }
}

fn check_meter(config: Option<MeterConfig>) -> Result<()> {
    match config {
        Some(config)
            if config.excess_burst > 0
                && (config.peak_rate, config.peak_burst) != (config.committed_rate, config.committed_burst) =>
        {
            invalid("a meter with an excess burst has one rate: peak and committed are the same")
        }
        Some(config) if config.peak_rate < config.committed_rate => {
            invalid("the peak rate of a meter is at least its committed rate")
        }
        _ => Ok(()),
    }
}
