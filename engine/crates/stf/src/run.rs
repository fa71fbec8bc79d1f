// SPDX-License-Identifier: Apache-2.0
//! Execution of a script.

use crate::compare::{Expected, Sent, compare};
use crate::error::RunError;
use crate::replication::Replication;
use crate::schema::{Schema, find};
use crate::script::{Cell, Condition, Element, Located, Rate, Relation, Script, Statement, Unit};
use slotwise_p4::{
    ActionCall, Bits, ConfigError, Indirect, MeterConfig, Output, Pipeline, Port, TableEntry, WeightedMember,
};
use slotwise_units::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// Between a command and the next packet: meters fill up.
const AFTER_COMMAND: Duration = Duration::from_ns(1_000_000_000);
/// Between two packets.
const BETWEEN_PACKETS: Duration = Duration::from_ns(1_000);

/// What a run found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// By line; empty: the test passed.
    pub failures: Vec<Failure>,
    /// Packets that went in.
    pub packets_in: usize,
    /// Packets that came out.
    pub packets_out: usize,
}

/// Something that is not as the script wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Line of the script, from 1.
    pub line: u32,
    /// What differs, on one or several lines, without a line feed at the end.
    pub text: String,
}

/// Runs scripts on a pipeline, which keeps its state from one to the next.
pub struct Runner<'a> {
    schema: &'a Schema,
    pipeline: &'a mut Pipeline,
    now: Instant,
    replication: Replication,
    /// Entries with an id: table and entry.
    ids: BTreeMap<String, (String, TableEntry)>,
    sent: Vec<Sent>,
    next_member: u32,
    named_ports_only: bool,
    clock_stands: bool,
}

type Step<T> = Result<T, String>;

impl<'a> Runner<'a> {
    /// A runner for a pipeline of the program that `schema` describes. Entries that the program brings along are const where
    /// the schema says so.
    pub fn new(schema: &'a Schema, pipeline: &'a mut Pipeline) -> Runner<'a> {
        for table in &schema.tables {
            // A table that is not there is told by the statement that names it.
            let _ = pipeline.table_set_const(&table.name, table.is_const);
        }
        Runner {
            schema,
            pipeline,
            now: Instant::ZERO,
            replication: Replication::default(),
            ids: BTreeMap::new(),
            sent: Vec::new(),
            next_member: 1,
            named_ports_only: false,
            clock_stands: false,
        }
    }

    /// Whether only ports that some `packet` or `expect` names have a cable, as in the reference runner: what goes out by
    /// others is not compared. Otherwise a packet that nothing expects makes the test fail on any port.
    pub fn set_named_ports_only(&mut self, on: bool) {
        self.named_ports_only = on;
    }

    /// Whether all packets come at time 0: P4Testgen's tests expect what a program does whose timestamps are 0.
    pub fn set_clock_stands(&mut self, on: bool) {
        self.clock_stands = on;
    }

    /// Executes all statements, then compares. `say` gets what commands that read have found, what the program logs,
    /// and what packets did if the pipeline traces them.
    pub fn run(&mut self, script: &Script, say: &mut dyn FnMut(u32, &str)) -> Result<Report, RunError> {
        let mut expected = Vec::new();
        let mut failures = Vec::new();
        let mut packets_in = 0;
        let mut last_packet = None;
        let mut pause = AFTER_COMMAND;
        let named: BTreeSet<Port> = script
            .statements
            .iter()
            .filter_map(|located| match located.statement {
                Statement::Packet { port, .. } | Statement::Expect { port, .. } => Some(port),
                _ => None,
            })
            .collect();
        for Located { line, statement } in &script.statements {
            let line = *line;
            match statement {
                Statement::Packet { port, frame } => {
                    if !self.clock_stands {
                        self.now += pause;
                    }
                    pause = BETWEEN_PACKETS;
                    packets_in += 1;
                    last_packet = Some(line);
                    self.packet(line, *port, frame, say);
                }
                Statement::Expect { port, pattern } => expected.push(Expected {
                    line,
                    port: *port,
                    pattern: pattern.as_ref(),
                }),
                Statement::NoPacket => {
                    let Some(cause) = last_packet else {
                        return Err(RunError {
                            line,
                            reason: "`no_packet` without a packet before it".to_owned(),
                        });
                    };
                    let came = self.sent.iter().filter(|sent| sent.cause == cause).count();
                    if came > 0 {
                        let text = format!("packet of line {cause}: expected no output packet, got {came}");
                        failures.push(Failure { line, text });
                    }
                }
                Statement::CheckCounter {
                    counter,
                    cell,
                    condition,
                } => {
                    let checked = self.check_counter(counter, cell, condition.as_ref());
                    let failure = checked.map_err(|reason| RunError { line, reason })?;
                    failures.extend(failure.map(|text| Failure { line, text }));
                }
                command => {
                    pause = AFTER_COMMAND;
                    let found = self.command(command).map_err(|reason| RunError { line, reason })?;
                    if let Some(found) = found {
                        say(line, &found);
                    }
                }
            }
        }
        let mut sent = std::mem::take(&mut self.sent);
        let packets_out = sent.len();
        if self.named_ports_only {
            sent.retain(|sent| named.contains(&sent.port));
        }
        failures.extend(compare(&expected, &sent));
        failures.sort_by_key(|failure| failure.line);
        Ok(Report {
            failures,
            packets_in,
            packets_out,
        })
    }

    fn packet(&mut self, line: u32, port: Port, frame: &[u8], say: &mut dyn FnMut(u32, &str)) {
        let mut outputs = Outputs {
            cause: line,
            sent: &mut self.sent,
            say,
        };
        self.pipeline.process(self.now, port, frame, &mut outputs);
        for event in self.pipeline.take_trace() {
            say(line, &event.to_string());
        }
    }

    /// Executes a statement that is neither packet nor check, nor `expect`; what it has found is returned. An error
    /// says why it cannot be executed; nothing has changed then.
    pub fn command(&mut self, statement: &Statement) -> Step<Option<String>> {
        match statement {
            Statement::Add { table, id, .. } => {
                let (name, entry, others) = self.schema.entry(statement)?;
                match &self.schema.table(table)?.profile {
                    Some(profile) => self.insert_indirect(&name, profile, &entry, &others),
                    None if others.is_empty() => self.pipeline.table_insert(&name, entry.clone()),
                    None => return Err(format!("table `{name}` has no selector to choose among actions")),
                }
                .map_err(|error| error.to_string())?;
                if let Some(id) = id {
                    self.ids.insert(id.clone(), (name, entry));
                }
            }
            Statement::SetDefault { .. } => {
                let (table, action) = self.schema.default_action(statement)?;
                self.pipeline
                    .table_set_default(&table, Some(action))
                    .map_err(|error| error.to_string())?;
            }
            Statement::RemoveAll => self.remove_all().map_err(|error| error.to_string())?,
            Statement::CounterRead(cell) => return self.counter(cell).map(Some),
            Statement::CounterWrite { cell, packets, bytes } => {
                let (name, _) = find("counter", &cell.name, self.schema.counters.iter(), |c| &c.0)?;
                let written = self.pipeline.counter_write(name, cell.index as usize, *packets, *bytes);
                written.map_err(|error| error.to_string())?;
            }
            Statement::RegisterRead(cell) => return self.register(cell).map(Some),
            Statement::RegisterWrite { cell, value } => {
                let (name, _) = find("register", &cell.name, self.schema.registers.iter(), |r| &r.0)?;
                let written = self.pipeline.register_write(name, cell.index as usize, &value.value);
                written.map_err(|error| error.to_string())?;
            }
            Statement::RegisterReset(name) => {
                let (name, size) = find("register", name, self.schema.registers.iter(), |r| &r.0)?;
                for index in 0..*size {
                    let written = self.pipeline.register_write(name, index as usize, &[]);
                    written.map_err(|error| error.to_string())?;
                }
            }
            Statement::MeterGetRates(cell) => return self.meter(cell).map(Some),
            Statement::MeterSetRates { meter, index, rates } => self.set_meters(meter, *index, rates)?,
            replication => return self.replication.execute(replication, self.pipeline),
        }
        Ok(None)
    }

    /// An entry of a table with an action profile gets members of its own, and a group if there are several.
    fn insert_indirect(
        &mut self,
        table: &str,
        profile: &str,
        entry: &TableEntry,
        others: &[ActionCall],
    ) -> Result<(), ConfigError> {
        let first = self.next_member;
        let members = first..first + 1 + others.len() as u32;
        let actions = std::iter::once(&entry.action).chain(others);
        let inserted = members
            .clone()
            .zip(actions)
            .try_for_each(|(member, action)| self.pipeline.member_set(profile, member, action))
            .and_then(|()| {
                let target = if others.is_empty() {
                    Indirect::Member(first)
                } else {
                    let weighted = members.clone().map(|member| WeightedMember { member, weight: 1 });
                    self.pipeline.group_set(profile, first, &weighted.collect::<Vec<_>>())?;
                    Indirect::Group(first)
                };
                self.pipeline.indirect_insert(table, &entry.key, entry.priority, target)
            });
        if inserted.is_ok() {
            self.next_member = members.end;
            return Ok(());
        }
        // What was not made cannot be removed.
        let _ = self.pipeline.group_remove(profile, first);
        for member in members {
            let _ = self.pipeline.member_remove(profile, member);
        }
        inserted
    }

    fn remove_all(&mut self) -> Result<(), ConfigError> {
        for table in self.schema.tables.iter().filter(|table| !table.is_const) {
            for entry in self.pipeline.table_entries(&table.name)? {
                self.pipeline.table_delete(&table.name, &entry)?;
            }
        }
        Ok(())
    }

    fn check_counter(&self, counter: &str, cell: &Cell, condition: Option<&Condition>) -> Step<Option<String>> {
        let (packets, bytes) = match cell {
            Cell::Index(index) => {
                let (name, _) = find("counter", counter, self.schema.counters.iter(), |c| &c.0)?;
                self.pipeline.counter_read(name, *index as usize)
            }
            Cell::Entry(id) => {
                find("direct counter", counter, self.schema.direct_counters.iter(), |c| &c.0)?;
                let Some((table, entry)) = self.ids.get(id) else {
                    return Err(format!("unknown entry ID; expected an earlier `add` with `= {id}`"));
                };
                self.pipeline.direct_counter_read(table, entry)
            }
        }
        .map_err(|error| error.to_string())?;
        let Some(Condition { unit, relation, value }) = condition else {
            return Ok(None);
        };
        let (found, unit) = match unit {
            Unit::Packets => (packets, "packets"),
            Unit::Bytes => (bytes, "bytes"),
        };
        let (holds, relation) = match relation {
            Relation::Equal => (found == *value, "=="),
            Relation::NotEqual => (found != *value, "!="),
            Relation::Less => (found < *value, "<"),
            Relation::AtMost => (found <= *value, "<="),
            Relation::Greater => (found > *value, ">"),
            Relation::AtLeast => (found >= *value, ">="),
        };
        Ok((!holds).then(|| format!("counter {counter}: expected {unit} {relation} {value}, got {found}")))
    }

    fn counter(&self, cell: &Element) -> Step<String> {
        let (name, _) = find("counter", &cell.name, self.schema.counters.iter(), |c| &c.0)?;
        let read = self.pipeline.counter_read(name, cell.index as usize);
        let (packets, bytes) = read.map_err(|error| error.to_string())?;
        Ok(format!("{name}[{}] = {packets} packets, {bytes} bytes", cell.index))
    }

    fn register(&self, cell: &Element) -> Step<String> {
        let (name, _) = find("register", &cell.name, self.schema.registers.iter(), |r| &r.0)?;
        let value: Bits = self
            .pipeline
            .register_read(name, cell.index as usize)
            .map_err(|error| error.to_string())?;
        let digits = value
            .iter()
            .fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
        let digits = digits.trim_start_matches('0');
        Ok(format!(
            "{name}[{}] = 0x{}",
            cell.index,
            if digits.is_empty() { "0" } else { digits }
        ))
    }

    fn meter(&self, cell: &Element) -> Step<String> {
        let (name, _) = find("meter", &cell.name, self.schema.meters.iter(), |m| &m.0)?;
        let rates = self
            .pipeline
            .meter_read(name, cell.index as usize)
            .map_err(|error| error.to_string())?;
        Ok(match rates {
            None => format!("{name}[{}]: no rates", cell.index),
            Some(rates) => format!(
                "{name}[{}]: {}/s, burst {}; {}/s, burst {}",
                cell.index, rates.committed_rate, rates.committed_burst, rates.peak_rate, rates.peak_burst
            ),
        })
    }

    fn set_meters(&mut self, meter: &str, index: Option<u32>, [committed, peak]: &[Rate; 2]) -> Step<()> {
        let (name, size) = find("meter", meter, self.schema.meters.iter(), |m| &m.0)?;
        let config = MeterConfig {
            committed_rate: committed.per_second,
            committed_burst: committed.burst,
            peak_rate: peak.per_second,
            peak_burst: peak.burst,
            excess_burst: 0,
        };
        let cells = match index {
            Some(index) => u64::from(index)..u64::from(index) + 1,
            None => 0..*size,
        };
        for cell in cells {
            let written = self.pipeline.meter_write(name, cell as usize, Some(config));
            written.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

struct Outputs<'a> {
    cause: u32,
    sent: &'a mut Vec<Sent>,
    say: &'a mut dyn FnMut(u32, &str),
}

impl Output for Outputs<'_> {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        self.sent.push(Sent {
            port,
            frame: frame.to_vec(),
            cause: self.cause,
        });
    }

    fn log(&mut self, message: &str) {
        (self.say)(self.cause, message);
    }
}
