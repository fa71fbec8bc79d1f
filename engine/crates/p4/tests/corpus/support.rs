// SPDX-License-Identifier: Apache-2.0
//! What the tests share: test programs, a recording output, short ways to write entries.

use slotwise_p4::{
    ActionCall, Bits, KeyField, Output, Pipeline, PipelineConfig, Port, Program, TableEntry, TimestampUnit, Waited,
};
use slotwise_units::Instant;
use std::collections::VecDeque;
use std::sync::Arc;

/// Everything that came out, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recorder {
    pub packets: Vec<(Port, Vec<u8>)>,
    pub digests: Vec<(String, Vec<Bits>)>,
    pub logs: Vec<String>,
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

/// JSON of a program in `tests/programs`.
pub fn program_json(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/programs/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub fn config() -> PipelineConfig {
    PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 1,
        executor: crate::EXECUTOR,
    }
}

/// A pipeline that runs on the executor that this binary tests.
pub fn fresh(program: Arc<Program>, config: PipelineConfig) -> Pipeline {
    let pipeline = Pipeline::new(program, config);
    if cfg!(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )) {
        assert_eq!(pipeline.executor(), crate::EXECUTOR);
    }
    pipeline
}

/// A fresh pipeline of a program in `tests/programs`.
pub fn pipeline(name: &str) -> Pipeline {
    let program = Program::from_json(&program_json(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    fresh(Arc::new(program), config())
}

/// Runs one frame that comes in on port 3 at 5 µs.
pub fn run(pipeline: &mut Pipeline, frame: &[u8]) -> Recorder {
    let mut recorder = Recorder::default();
    pipeline.process(Instant::from_ns(5_000), 3, frame, &mut recorder);
    recorder
}

/// As [`run`], with a queue between ingress and egress, for so many runs through egress at most.
pub fn run_apart(pipeline: &mut Pipeline, frame: &[u8], most: usize) -> Recorder {
    let mut recorder = Recorder::default();
    let mut queued = Vec::new();
    pipeline.process_ingress(Instant::from_ns(5_000), 3, frame, &mut recorder, &mut queued);
    let mut queue: VecDeque<_> = queued.drain(..).collect();
    for _ in 0..most {
        let Some(packet) = queue.pop_front() else { break };
        let waited = Waited {
            enqueued: Instant::from_ns(5_000),
            enqueue_depth: 0,
            dequeue_depth: 0,
            queue_id: packet.priority(),
        };
        pipeline.process_egress(Instant::from_ns(5_000), packet, waited, &mut recorder, &mut queued);
        queue.extend(queued.drain(..));
    }
    recorder
}

/// Runs one frame and returns the only one that comes out, which must leave by port 1.
pub fn answer(pipeline: &mut Pipeline, frame: &[u8]) -> Vec<u8> {
    let mut recorder = run(pipeline, frame);
    assert_eq!(recorder.packets.len(), 1, "{recorder:?}");
    let (port, frame) = recorder.packets.remove(0);
    assert_eq!(port, 1);
    frame
}

pub fn bits(value: u64) -> Bits {
    value.to_be_bytes().to_vec()
}

pub fn call(name: &str, args: &[u64]) -> ActionCall {
    ActionCall {
        name: name.to_owned(),
        args: args.iter().map(|&a| bits(a)).collect(),
    }
}

pub fn entry(key: Vec<KeyField>, priority: i32, action: ActionCall) -> TableEntry {
    TableEntry { key, priority, action }
}

pub fn exact(value: u64) -> KeyField {
    KeyField::Exact(bits(value))
}

pub fn lpm(value: u64, prefix_len: u32) -> KeyField {
    KeyField::Lpm {
        value: bits(value),
        prefix_len,
    }
}

pub fn ternary(value: u64, mask: u64) -> KeyField {
    KeyField::Ternary {
        value: bits(value),
        mask: bits(mask),
    }
}

pub fn range(low: u64, high: u64) -> KeyField {
    KeyField::Range {
        low: bits(low),
        high: bits(high),
    }
}
