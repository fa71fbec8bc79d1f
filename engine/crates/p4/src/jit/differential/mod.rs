// SPDX-License-Identifier: Apache-2.0
//! The interpreter and the JIT beside each other, on generated programs, entries and packets.
//!
//! Every program is made of a seed, written as BMv2 JSON and loaded like any other. Both executors get the same
//! entries and packets, and must then agree on everything: frames, digests, logs, the last packet's whole state,
//! registers, counters, meters, tables. `JIT_PROGRAMS=n` runs so many programs instead of the few of every test run,
//! `JIT_SEED=n` starts with another one; a failure names the seed that shows it.

mod controls;
mod decisions;
mod expressions;
mod hostile;
mod parser;
mod program;

use slotwise_units::Instant;

use crate::api::{
    ActionCall, Bits, Executor, KeyField, Output, PipelineConfig, Port, Replica, TableEntry, TimestampUnit,
};
use crate::ir::{Ir, MatchKind, Table};
use crate::pipeline::{CloneSession, Pipeline};
use crate::value::{limbs_for, to_be_bytes, truncate};
use crate::{Indirect, MeterConfig, Program, WeightedMember};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// Programs of every test run.
const PROGRAMS: u64 = 30;
const PACKETS: usize = 40;
const ENTRIES: usize = 12;
/// Of an action profile.
const MEMBERS: u32 = 4;
const GROUPS: u32 = 3;

/// The source of all choices.
pub(super) struct Dice(Pcg64Mcg);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(Pcg64Mcg::seed_from_u64(seed))
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A width, often one at which something changes.
    pub fn width(&mut self, most: u32) -> u32 {
        const EDGES: [u32; 16] = [1, 4, 7, 8, 9, 16, 31, 32, 33, 48, 63, 64, 65, 80, 128, 130];
        let width = if self.chance(60) {
            *self.pick(&EDGES)
        } else {
            1 + self.below(most as usize) as u32
        };
        width.min(most)
    }

    /// A value of `width` bits, often a small or an extreme one.
    pub fn value(&mut self, width: u32) -> Vec<u64> {
        let kind = self.below(4);
        let mut limbs: Vec<u64> = (0..limbs_for(width))
            .map(|index| match kind {
                0 if index == 0 => self.0.random_range(0..4),
                0 => 0,
                1 => u64::MAX,
                _ => self.0.random(),
            })
            .collect();
        truncate(&mut limbs, width);
        limbs
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Recorder {
    packets: Vec<(Port, Vec<u8>)>,
    digests: Vec<(String, Vec<Bits>)>,
    logs: Vec<String>,
}

impl Output for Recorder {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        self.packets.push((port, frame.to_vec()));
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        self.digests.push((name.to_owned(), fields.to_vec()));
    }

    fn log(&mut self, message: &str) {
        self.logs.push(message.to_owned());
    }
}

fn key_field(dice: &mut Dice, kind: MatchKind, width: u32) -> KeyField {
    let value = dice.value(width);
    let masked = |mask: &[u64]| {
        let limbs: Vec<u64> = value.iter().zip(mask).map(|(v, m)| v & m).collect();
        to_be_bytes(&limbs)
    };
    match kind {
        MatchKind::Exact => KeyField::Exact(to_be_bytes(&value)),
        MatchKind::Lpm => {
            let prefix_len = dice.below(width as usize + 1) as u32;
            let mut mask = vec![u64::MAX; limbs_for(width)];
            crate::value::shl(&mut mask, u64::from(width - prefix_len));
            truncate(&mut mask, width);
            let value = masked(&mask);
            KeyField::Lpm { value, prefix_len }
        }
        MatchKind::Ternary => {
            let mask = dice.value(width);
            let value = masked(&mask);
            KeyField::Ternary {
                value,
                mask: to_be_bytes(&mask),
            }
        }
        MatchKind::Range => {
            let (a, b) = (value[0], dice.value(width)[0]);
            KeyField::Range {
                low: to_be_bytes(&[a.min(b)]),
                high: to_be_bytes(&[a.max(b)]),
            }
        }
    }
}

fn call(dice: &mut Dice, ir: &Ir, table: &Table) -> ActionCall {
    let action = &ir.actions[*dice.pick(&table.actions)];
    let args = action.params.iter().map(|p| to_be_bytes(&dice.value(p.width)));
    ActionCall {
        name: action.name.clone(),
        args: args.collect(),
    }
}

/// Does the same to both pipelines, and expects the same answer.
fn both<T: PartialEq + std::fmt::Debug>(
    pipelines: &mut [Pipeline; 2],
    mut change: impl FnMut(&mut Pipeline) -> T,
) -> T {
    let [interpreter, jit] = pipelines;
    let expected = change(interpreter);
    assert_eq!(change(jit), expected);
    expected
}

/// Rates at which some packets have each color.
fn rates(dice: &mut Dice) -> MeterConfig {
    let one_rate = dice.chance(30);
    MeterConfig {
        committed_rate: 1000,
        committed_burst: 100,
        peak_rate: if one_rate { 1000 } else { 2000 },
        peak_burst: if one_rate { 100 } else { 150 },
        excess_burst: if one_rate { 50 } else { 0 },
    }
}

/// Writes the members and groups of a table's action profile; what entries use stays.
fn share_actions(dice: &mut Dice, ir: &Ir, table: &Table, profile: &str, pipelines: &mut [Pipeline; 2]) {
    for member in 0..MEMBERS {
        let action = call(dice, ir, table);
        both(pipelines, |p| p.member_set(profile, member, &action)).expect("the action is the table's");
    }
    for group in 0..GROUPS {
        let members: Vec<WeightedMember> = (0..dice.below(4))
            .map(|_| WeightedMember {
                member: dice.below(MEMBERS as usize) as u32,
                weight: 1 + dice.below(3) as u32,
            })
            .collect();
        // Without a selector there are no groups.
        let _ = both(pipelines, |p| p.group_set(profile, group, &members));
    }
}

/// Writes to tables and everything else that a controller can write to.
fn configure(dice: &mut Dice, ir: &Ir, pipelines: &mut [Pipeline; 2]) {
    for table in &ir.tables {
        let is_const = table.entries.is_some() && dice.chance(60);
        both(pipelines, |p| p.table_set_const(&table.name, is_const)).expect("the program has the table");
        if let Some(profile) = table.profile {
            share_actions(dice, ir, table, &ir.profiles[profile].name, pipelines);
        }
        for _ in 0..if table.key.is_empty() { 0 } else { ENTRIES } {
            let prioritized = matches!(table.kind, MatchKind::Ternary | MatchKind::Range);
            let key = table.key.iter().map(|p| key_field(dice, p.kind, p.source.width));
            let key = key.collect();
            let priority = if prioritized { 1 + dice.below(5) as i32 } else { 0 };
            let action = call(dice, ir, table);
            let entry = TableEntry { key, priority, action };
            let delete = dice.chance(10);
            let target = match dice.chance(50) {
                true => Indirect::Member(dice.below(MEMBERS as usize) as u32),
                false => Indirect::Group(dice.below(GROUPS as usize) as u32),
            };
            // It may be there already, the table may be const, or the profile may have no groups.
            let _ = both(pipelines, |p| match table.profile {
                None => p.table_insert(&table.name, entry.clone()),
                Some(_) => p.indirect_insert(&table.name, &entry.key, priority, target),
            });
            if table.direct_meter.is_some() && dice.chance(70) {
                let rates = Some(rates(dice));
                let _ = both(pipelines, |p| p.direct_meter_write(&table.name, &entry, rates));
            }
            if delete {
                let _ = both(pipelines, |p| p.table_delete(&table.name, &entry));
            }
        }
        if dice.chance(50) {
            let action = call(dice, ir, table);
            let _ = both(pipelines, |p| p.table_set_default(&table.name, Some(action.clone())));
        }
        if table.direct_meter.is_some() && dice.chance(50) {
            let rates = Some(rates(dice));
            both(pipelines, |p| p.default_meter_write(&table.name, rates)).expect("the table has a meter");
        }
    }
    for meter in ir.meters.iter().filter(|m| m.direct_target.is_none()) {
        let rates = Some(rates(dice));
        both(pipelines, |p| p.meter_write(&meter.name, 0, rates)).expect("the meter has a cell");
    }
    let replicas = vec![Replica { port: 1, instance: 7 }, Replica { port: 2, instance: 8 }];
    both(pipelines, |p| p.multicast_group_set(3, replicas.clone())).expect("the ports are valid");
    let session = CloneSession {
        replicas,
        max_bytes: Some(20),
    };
    both(pipelines, |p| p.clone_session_set(5, session.clone())).expect("the ports are valid");
    for set in &ir.value_sets {
        let members: Vec<Vec<Bits>> = (0..3)
            .map(|_| set.widths.iter().map(|&w| to_be_bytes(&dice.value(w))).collect())
            .collect();
        both(pipelines, |p| p.value_set_write(&set.name, &members)).expect("the members fit");
    }
}

fn frame(dice: &mut Dice) -> Vec<u8> {
    let length = dice.below(120);
    let bytes = (0..length).map(|_| match dice.below(3) {
        0 => dice.below(4) as u8,
        1 => *dice.pick(&[0, 0x7f, 0x80, 0xff]),
        _ => dice.below(256) as u8,
    });
    bytes.collect()
}

/// Everything that lasts from packet to packet.
fn lasting_state(pipeline: &Pipeline) -> String {
    format!(
        "{:?} {:?} {:?} {}",
        pipeline.persistent, pipeline.tables, pipeline.profiles, pipeline.aborted_packets
    )
}

/// For the interpreter and for the JIT.
fn pipelines(program: &Arc<Program>, seed: u64) -> [Pipeline; 2] {
    [Executor::Interpreter, Executor::Jit].map(|executor| {
        let config = PipelineConfig {
            cpu_port: 510,
            drop_port: 511,
            timestamp_unit: TimestampUnit::Nanoseconds,
            seed,
            executor,
        };
        Pipeline::new(Arc::clone(program), config)
    })
}

/// Runs one program on both; false if the loader refuses it.
fn compare(seed: u64) -> bool {
    let mut dice = Dice::new(seed);
    let json = program::generate(&mut dice);
    let Ok(program) = Program::from_json(json.to_string().as_bytes()) else {
        return false;
    };
    let program = Arc::new(program);
    let mut pipelines = pipelines(&program, seed);
    assert_eq!(pipelines[1].executor(), Executor::Jit, "{:?}", program.code());
    for pipeline in &mut pipelines {
        pipeline.set_bmv2_compatible(seed % 3 == 2);
    }
    configure(&mut dice, &program.ir, &mut pipelines);
    for packet in 0..PACKETS {
        let (port, frame) = (dice.below(8) as Port, frame(&mut dice));
        both(&mut pipelines, |pipeline| {
            let (mut recorder, now) = (Recorder::default(), Instant::from_ns(packet as u64 * 1_000_000));
            // Whether a frame may stay where it is makes no difference.
            if (packet % 2 == 0) == (pipeline.executor() == Executor::Jit) {
                let mut given = frame.clone();
                pipeline.process_given(now, port, &mut given, &mut recorder);
                assert!(!recorder.packets.is_empty() || given == frame, "nothing came out");
            } else {
                pipeline.process(now, port, &frame, &mut recorder);
            }
            (recorder, pipeline.last_packet())
        });
        if packet == PACKETS / 2 {
            configure(&mut dice, &program.ir, &mut pipelines);
        }
    }
    both(&mut pipelines, |pipeline| lasting_state(pipeline));
    true
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}")),
    )
}

#[test]
fn interpreter_and_jit_agree() {
    /// Names the seed of a program that makes the test fail.
    struct Named(u64);
    impl Drop for Named {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!(
                    "the program of seed {} shows it: JIT_PROGRAMS=1 JIT_SEED={}",
                    self.0, self.0
                );
            }
        }
    }

    let programs = setting("JIT_PROGRAMS").unwrap_or(PROGRAMS);
    let first = setting("JIT_SEED").unwrap_or(0);
    let mut loaded = 0;
    for seed in first..first.saturating_add(programs) {
        let _named = Named(seed);
        loaded += u64::from(compare(seed));
    }
    assert!(
        programs < 10 || loaded > programs / 2,
        "only {loaded} of {programs} programs load"
    );
}
