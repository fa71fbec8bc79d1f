// SPDX-License-Identifier: Apache-2.0
//! One entry with everything that belongs to it, and how long it has been idle.

use slotwise_units::{Duration, Instant};

use super::Result;
use super::tables::{pack_key, unpack_action, unpack_key};
use crate::api::{ActionCall, ConfigError, KeyField};
use crate::config::Indirect;
use crate::ir::Table;
use crate::meter::MeterConfig;
use crate::pipeline::Pipeline;
use crate::table::{Effect, Entry};

/// What an entry does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryTarget {
    /// An action of the table.
    Action(ActionCall),
    /// Of a table with an action profile.
    Indirect(Indirect),
}

/// An entry as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryState {
    /// One field a key component, in order.
    pub key: Vec<KeyField>,
    /// As in [`crate::TableEntry`].
    pub priority: i32,
    /// What it does.
    pub target: EntryTarget,
    /// Packets that hit it.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Rates of its direct meter; `None`: always green.
    pub meter: Option<MeterConfig>,
    /// Nanoseconds since its last hit, or since it was added.
    pub idle: Duration,
}

/// Where a reading of a table's entries in pages goes on; the default begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryCursor {
    /// Next place to look at.
    place: u32,
    /// Entries added from this one on are not of this reading; known from the first page on.
    end_sequence: Option<u64>,
}

/// Most of a page's work, whose unit is an entry of the usual size. Larger entries count as several.
const PAGE_COST: usize = 64;
/// Empty places that cost as much as an entry.
const EMPTY_PLACES: usize = 16;
/// Words of a key or of arguments that an entry of the usual size has.
const USUAL_WORDS: usize = 16;

/// Words that unpacking an entry copies, at least one.
fn words(entry: &Entry) -> usize {
    let args = match &entry.effect {
        Effect::Action(action) => action.args.len(),
        Effect::Member(_) | Effect::Group(_) => 0,
    };
    1 + args + 2 * entry.cold.key.value.len()
}

impl Pipeline {
    /// Number of entries of a table, const ones included.
    pub fn table_len(&self, table: &str) -> Result<usize> {
        Ok(self.tables[self.table_index(table)?].entries.len())
    }

    /// Some entries from `cursor` on, and where to go on; `None` when there are no more. A page takes a few tens of
    /// microseconds, however many entries there are. Each entry that was there at the first page and is still there when its
    /// turn comes is given once, as it is then; entries added later are left out.
    pub fn entry_page(&self, table: &str, cursor: EntryCursor) -> Result<(Vec<EntryState>, Option<EntryCursor>)> {
        let index = self.table_index(table)?;
        let shape = &self.ir.tables[index];
        let entries = &self.tables[index].entries;
        let end_sequence = cursor.end_sequence.unwrap_or_else(|| entries.next_sequence());
        let mut page = Vec::new();
        let mut cost = 0;
        for place in cursor.place..entries.places() {
            if cost >= PAGE_COST * EMPTY_PLACES {
                let end_sequence = Some(end_sequence);
                return Ok((page, Some(EntryCursor { place, end_sequence })));
            }
            cost += 1;
            if let Some(entry) = entries.get(place).filter(|entry| entry.cold.sequence < end_sequence) {
                cost += EMPTY_PLACES * words(entry).div_ceil(USUAL_WORDS);
                page.push(self.unpack_state(shape, entry));
            }
        }
        Ok((page, None))
    }

    /// Tells the time between packets; it never goes back.
    pub fn advance_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// The latest time that it was told, by a packet or by [`Pipeline::advance_time`].
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The entry with this key and priority.
    pub fn entry_state(&self, table: &str, key: &[KeyField], priority: i32) -> Result<EntryState> {
        let (shape, entry) = self.find_entry(table, key, priority)?;
        Ok(self.unpack_state(shape, entry))
    }

    /// All entries, in order of insertion, const entries included.
    pub fn entry_states(&self, table: &str) -> Result<Vec<EntryState>> {
        let index = self.table_index(table)?;
        let shape = &self.ir.tables[index];
        let entries = self.tables[index].entries.iter_in_order();
        Ok(entries.map(|entry| self.unpack_state(shape, entry)).collect())
    }

    /// Nanoseconds since the last hit of an entry, or since it was added.
    pub fn entry_idle(&self, table: &str, key: &[KeyField], priority: i32) -> Result<Duration> {
        let (_, entry) = self.find_entry(table, key, priority)?;
        Ok(self.now.saturating_since(entry.cold.last_hit))
    }

    fn find_entry(&self, table: &str, key: &[KeyField], priority: i32) -> Result<(&Table, &Entry)> {
        let index = self.table_index(table)?;
        let shape = &self.ir.tables[index];
        let key = pack_key(shape, key, priority)?;
        let entries = &self.tables[index].entries;
        let found = entries.find(&key).and_then(|found| entries.get(found));
        match found {
            Some(entry) => Ok((shape, entry)),
            None => Err(ConfigError::NotFound(format!("table `{table}` has no such entry"))),
        }
    }

    fn unpack_state(&self, shape: &Table, entry: &Entry) -> EntryState {
        let target = match &entry.effect {
            Effect::Action(action) => EntryTarget::Action(unpack_action(&self.ir, shape, action)),
            Effect::Member(member) => EntryTarget::Indirect(Indirect::Member(*member)),
            Effect::Group(group) => EntryTarget::Indirect(Indirect::Group(*group)),
        };
        let (key, priority) = unpack_key(shape, &entry.cold.key);
        EntryState {
            key,
            priority,
            target,
            packets: entry.packets,
            bytes: entry.bytes,
            meter: entry.cold.meter.config(),
            idle: self.now.saturating_since(entry.cold.last_hit),
        }
    }
}
