// SPDX-License-Identifier: Apache-2.0
//! What is left in a switch after a case: counters and digests.

use crate::entities::canonical;
use crate::model::{Counter, Model};
use slotwise_p4::{Bits, Pipeline, TableEntry};
use slotwise_stf::Schema;
use slotwise_stf::script::{Cell, Condition, Relation, Statement, Unit};
use std::collections::BTreeSet;

/// Name and fields of each digest that was sent at least once: a switch does not repeat what is known already.
pub type Digests = BTreeSet<(String, Vec<Bits>)>;

/// Packets and bytes.
pub type Count = (u64, u64);

/// Where a counter is.
#[derive(Debug, Clone)]
pub enum CounterPlace {
    Cell { counter: String, index: usize },
    Entry { table: String, entry: TableEntry },
}

/// A counter that is compared, and how scripts name it.
#[derive(Debug, Clone)]
pub struct Counted {
    pub place: CounterPlace,
    pub name: String,
    pub cell: Cell,
    pub counts_packets: bool,
    pub counts_bytes: bool,
}

/// Counters and digests after the packets of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// In the order of [`counters`]; `None`: not compared.
    pub counts: Vec<Option<Count>>,
    /// `None`: not compared.
    pub digests: Option<Digests>,
}

/// A digest as both switches have it: values without leading zeros.
pub fn digest(name: &str, fields: &[Bits]) -> (String, Vec<Bits>) {
    (name.to_owned(), fields.iter().map(|field| canonical(field)).collect())
}

/// The counters of a program with the entries of a case.
pub fn counters(model: &Model, schema: &Schema, setup: &[Statement]) -> Result<Vec<Counted>, String> {
    let mut all = Vec::new();
    for Counter { name, size, units, .. } in model.counters.iter().filter(|counter| counter.table.is_none()) {
        all.extend((0..*size).map(|index| Counted {
            place: CounterPlace::Cell {
                counter: name.clone(),
                index,
            },
            name: name.clone(),
            cell: Cell::Index(index as u32),
            counts_packets: units.0,
            counts_bytes: units.1,
        }));
    }
    for statement in setup {
        let Statement::Add { id: Some(id), .. } = statement else {
            continue;
        };
        let (table, entry, _) = schema.entry(statement)?;
        let direct = model
            .counters
            .iter()
            .find(|counter| counter.table.as_ref() == Some(&table));
        all.extend(direct.map(|Counter { name, units, .. }| Counted {
            place: CounterPlace::Entry { table, entry },
            name: name.clone(),
            cell: Cell::Entry(id.clone()),
            counts_packets: units.0,
            counts_bytes: units.1,
        }));
    }
    Ok(all)
}

impl Counted {
    /// Its value on the engine; what it does not count is 0.
    pub fn read(&self, pipeline: &Pipeline) -> Result<Count, String> {
        let read = match &self.place {
            CounterPlace::Cell { counter, index } => pipeline.counter_read(counter, *index),
            CounterPlace::Entry { table, entry } => pipeline.direct_counter_read(table, entry),
        };
        read.map(|count| self.counted(count)).map_err(|error| error.to_string())
    }

    /// Leaves out what it does not count.
    pub fn counted(&self, (packets, bytes): Count) -> Count {
        (
            if self.counts_packets { packets } else { 0 },
            if self.counts_bytes { bytes } else { 0 },
        )
    }

    /// Statements that hold if it has this value.
    pub fn checks(&self, (packets, bytes): Count) -> impl Iterator<Item = Statement> + '_ {
        let units = [
            (self.counts_packets, Unit::Packets, packets),
            (self.counts_bytes, Unit::Bytes, bytes),
        ];
        units
            .into_iter()
            .filter(|(is_counted, ..)| *is_counted)
            .map(|(_, unit, value)| Statement::CheckCounter {
                counter: self.name.clone(),
                cell: self.cell.clone(),
                condition: Some(Condition {
                    unit,
                    relation: Relation::Equal,
                    value,
                }),
            })
    }
}

impl Aftermath {
    /// What all runs agree about.
    pub fn common(runs: &[Aftermath]) -> Aftermath {
        let Some((first, others)) = runs.split_first() else {
            return Aftermath::default();
        };
        let agreed =
            |(at, count): (usize, &Option<Count>)| count.filter(|_| others.iter().all(|it| it.counts[at] == *count));
        Aftermath {
            counts: first.counts.iter().enumerate().map(agreed).collect(),
            digests: first
                .digests
                .clone()
                .filter(|_| others.iter().all(|other| other.digests == first.digests)),
        }
    }

    /// Whether another switch has what is compared.
    pub fn is_met_by(&self, other: &Aftermath) -> bool {
        let counts = self.counts.iter().zip(&other.counts);
        counts
            .into_iter()
            .all(|(wanted, got)| wanted.is_none() || got.is_none() || wanted == got)
            && (self.digests.is_none() || self.digests == other.digests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aftermath(counts: &[Count], digests: &[u8]) -> Aftermath {
        Aftermath {
            counts: counts.iter().copied().map(Some).collect(),
            digests: Some(digests.iter().map(|value| digest("d", &[vec![0, *value]])).collect()),
        }
    }

    #[test]
    fn only_what_all_runs_agree_about_is_compared() {
        let common = Aftermath::common(&[aftermath(&[(1, 2), (3, 4)], &[5]), aftermath(&[(1, 2), (3, 5)], &[5])]);
        assert_eq!(common.counts, [Some((1, 2)), None]);
        assert!(common.is_met_by(&aftermath(&[(1, 2), (9, 9)], &[5])));
        assert!(!common.is_met_by(&aftermath(&[(1, 3), (3, 4)], &[5])));
        assert!(!common.is_met_by(&aftermath(&[(1, 2), (3, 4)], &[])));
        let chance = Aftermath::common(&[aftermath(&[], &[1]), aftermath(&[], &[2])]);
        assert!(chance.is_met_by(&aftermath(&[], &[3])));
    }
}
