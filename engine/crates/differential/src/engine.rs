// SPDX-License-Identifier: Apache-2.0
//! A case on the engine, and what of its outputs another switch must repeat.

use crate::aftermath::{self, Aftermath, Counted, Digests};
use crate::generate::Case;
use slotwise_p4::{
    Bits, Executor, LoadError, Output, Pipeline, PipelineConfig, Port, Program, TimestampUnit, TraceEvent,
};
use slotwise_stf::script::Pattern;
use slotwise_stf::{Runner, Schema};
use slotwise_units::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What comes out for one packet, by port, in order.
pub type Outputs = BTreeMap<Port, Vec<Vec<u8>>>;

/// What must come out for one packet.
pub enum Wanted {
    /// By port, in order.
    Packets(BTreeMap<Port, Vec<Pattern>>),
    /// How many packets come, or where they go, depends on time or chance.
    Unknown,
}

#[derive(Default)]
struct Collector {
    outputs: Outputs,
    digests: Digests,
}

impl Output for Collector {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        self.outputs.entry(port).or_default().push(frame.to_vec());
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        self.digests.insert(aftermath::digest(name, fields));
    }
}

/// What must come of a case.
pub struct Expectation {
    /// For each packet.
    pub packets: Vec<Wanted>,
    /// After all.
    pub aftermath: Aftermath,
}

/// Runs of a case whose agreement shows what does not depend on chance.
const RUNS: u64 = 32;

/// A program as it is, and with other leftovers in its headers for each run.
pub struct Engine {
    schema: Schema,
    programs: Vec<Arc<Program>>,
}

impl Engine {
    pub fn new(json: &[u8], schema: Schema) -> Result<Engine, LoadError> {
        let program = |run| {
            let program = Program::from_json(json)?;
            Ok(Arc::new(if run == 0 {
                program
            } else {
                program.with_undefined_headers(run)
            }))
        };
        Ok(Engine {
            programs: (0..RUNS).map(program).collect::<Result<_, LoadError>>()?,
            schema,
        })
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Leaves out statements that are refused, such as an entry that is there already, and packets that cannot be
    /// compared: without an end, with outputs that nobody knows, or, but for the first one, with a parser error. The
    /// headers of such a packet are as the one before has left them in simple_switch; of the first they are zero.
    pub fn comparable(&self, case: Case) -> Result<Case, String> {
        let mut pipeline = pipeline(&self.programs[0], 0);
        let mut runner = Runner::new(&self.schema, &mut pipeline);
        let setup = case
            .setup
            .into_iter()
            .filter(|statement| runner.command(statement).is_ok())
            .collect();
        pipeline.set_tracing(true);
        let mut packets = Vec::new();
        for (port, frame) in case.packets {
            let before = pipeline.aborted_packets();
            pipeline.process(Instant::ZERO, port, &frame, &mut Collector::default());
            let is_error =
                |event: &TraceEvent| matches!(event, TraceEvent::ParserEnd { error, .. } if error != "NoError");
            let has_error = pipeline.take_trace().iter().any(is_error);
            if pipeline.aborted_packets() == before && (packets.is_empty() || !has_error) {
                packets.push((port, frame));
            }
        }
        let mut case = Case { setup, packets };
        loop {
            let wanted = self.wanted(&case, &[])?.packets;
            let Some(unknown) = wanted.iter().position(|wanted| matches!(wanted, Wanted::Unknown)) else {
                return Ok(case);
            };
            // State that it changed is known now, so that later ones may be.
            case.packets.remove(unknown);
        }
    }

    /// What each packet of the case must give, and what must be left, `counters` among it.
    pub fn wanted(&self, case: &Case, counters: &[Counted]) -> Result<Expectation, String> {
        let runs = (0..RUNS).map(|run| self.run(case, counters, run));
        let (outputs, aftermaths): (Vec<_>, Vec<_>) = runs.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let packets = 0..case.packets.len();
        Ok(Expectation {
            packets: packets
                .map(|packet| outputs.iter().map(|run| &run[packet]).collect())
                .map(common)
                .collect(),
            aftermath: Aftermath::common(&aftermaths),
        })
    }

    /// Each run has its own clock, `random()` and leftovers.
    fn run(&self, case: &Case, counters: &[Counted], run: u64) -> Result<(Vec<Outputs>, Aftermath), String> {
        let mut pipeline = pipeline(&self.programs[run as usize], run);
        let mut runner = Runner::new(&self.schema, &mut pipeline);
        for statement in &case.setup {
            runner.command(statement)?;
        }
        let mut now_ns = 1_234_567_000 + run * 98_765_432_101;
        let mut outputs = Vec::new();
        let mut collector = Collector::default();
        for (port, frame) in &case.packets {
            pipeline.process(Instant::from_ns(now_ns), *port, frame, &mut collector);
            outputs.push(std::mem::take(&mut collector.outputs));
            now_ns += 1_000_000 + run * 77_777_000;
        }
        let counts = counters.iter().map(|counter| counter.read(&pipeline).map(Some));
        let aftermath = Aftermath {
            counts: counts.collect::<Result<_, _>>()?,
            digests: Some(collector.digests),
        };
        Ok((outputs, aftermath))
    }
}

fn pipeline(program: &Arc<Program>, seed: u64) -> Pipeline {
    let config = PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Microseconds,
        seed,
        executor: Executor::default(),
    };
    let mut pipeline = Pipeline::new(program.clone(), config);
    pipeline.set_bmv2_compatible(true);
    pipeline
}

/// What all runs agree about.
fn common(runs: Vec<&Outputs>) -> Wanted {
    let counts = |outputs: &Outputs| {
        outputs
            .iter()
            .map(|(port, frames)| (*port, frames.len()))
            .collect::<Vec<_>>()
    };
    if runs.windows(2).any(|pair| counts(pair[0]) != counts(pair[1])) {
        return Wanted::Unknown;
    }
    let mut wanted = BTreeMap::new();
    for (port, frames) in runs[0] {
        let patterns =
            (0..frames.len()).map(|number| pattern(runs.iter().map(|run| run[port][number].as_slice()).collect()));
        match patterns.collect::<Option<Vec<_>>>() {
            Some(patterns) => wanted.insert(*port, patterns),
            None => return Wanted::Unknown,
        };
    }
    Wanted::Packets(wanted)
}

fn nibbles(frame: &[u8]) -> Vec<u8> {
    frame.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect()
}

fn pattern(frames: Vec<&[u8]>) -> Option<Pattern> {
    let all: Vec<Vec<u8>> = frames.into_iter().map(nibbles).collect();
    let first = &all[0];
    let common = |at: usize| all.iter().all(|nibbles| nibbles[at] == first[at]).then_some(first[at]);
    all.iter().all(|nibbles| nibbles.len() == first.len()).then(|| Pattern {
        nibbles: (0..first.len()).map(common).collect(),
        exact: true,
    })
}

/// What a script expects that says what another switch did: its packet, without what is not compared.
pub fn expectation(wanted: &Wanted, port: Port, number: usize, frame: &[u8]) -> Pattern {
    let ours = match wanted {
        Wanted::Packets(ports) => ports.get(&port).and_then(|patterns| patterns.get(number)),
        Wanted::Unknown => None,
    };
    let nibbles = frame.iter().flat_map(|byte| [byte >> 4, byte & 15]).enumerate();
    let is_compared = |at: usize| ours.is_none_or(|ours| !matches!(ours.nibbles.get(at), Some(None)));
    Pattern {
        nibbles: nibbles.map(|(at, nibble)| is_compared(at).then_some(nibble)).collect(),
        exact: true,
    }
}

/// The packet is as the pattern says.
pub fn fits(pattern: &Pattern, frame: &[u8]) -> bool {
    let nibbles = frame.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    pattern.nibbles.len() == frame.len() * 2
        && pattern
            .nibbles
            .iter()
            .zip(nibbles)
            .all(|(wanted, got)| wanted.is_none_or(|wanted| wanted == got))
}

/// The first packet for which the other switch did something else.
pub fn first_difference(wanted: &[Wanted], got: &[Outputs]) -> Option<usize> {
    for (number, (wanted, got)) in wanted.iter().zip(got).enumerate() {
        // What comes after may depend on what is not known here.
        let Wanted::Packets(wanted) = wanted else { return None };
        let same = wanted.len() == got.len()
            && wanted.iter().zip(got).all(|((port, patterns), (got_port, frames))| {
                port == got_port
                    && patterns.len() == frames.len()
                    && patterns.iter().zip(frames).all(|(pattern, frame)| fits(pattern, frame))
            });
        if !same {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(port: Port, frames: &[&[u8]]) -> Outputs {
        Outputs::from([(port, frames.iter().map(|frame| frame.to_vec()).collect())])
    }

    #[test]
    fn only_what_all_runs_agree_about_is_compared() {
        let wanted = [common(vec![
            &outputs(1, &[&[0x12, 0x34]]),
            &outputs(1, &[&[0x12, 0x35]]),
        ])];
        assert_eq!(first_difference(&wanted, &[outputs(1, &[&[0x12, 0x3f]])]), None);
        for other in [
            outputs(1, &[&[0x13, 0x34]]),
            outputs(2, &[&[0x12, 0x34]]),
            outputs(1, &[&[0x12]]),
            Outputs::new(),
        ] {
            assert_eq!(first_difference(&wanted, &[other]), Some(0));
        }
        let copies = [common(vec![&outputs(1, &[&[1], &[2]])])];
        assert_eq!(first_difference(&copies, &[outputs(1, &[&[2], &[1]])]), Some(0));
        let unknown = common(vec![&outputs(1, &[&[1]]), &outputs(2, &[&[1]])]);
        assert_eq!(first_difference(&[unknown], &[Outputs::new()]), None);
    }
}
