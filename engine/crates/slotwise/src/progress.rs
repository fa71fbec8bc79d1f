// SPDX-License-Identifier: Apache-2.0
//! Feeds the live view from the frames of a run.

use slotwise_fabric::FrameRecord;
use slotwise_scenario::Scenario;

use crate::live::{PairNow, PhaseNow, Snapshot};
use crate::per_star::voqs_between;

/// Sums since the last snapshot.
pub struct Progress {
    edges: usize,
    voqs: usize,
    frame_ns: u64,
    phases: Vec<PhaseNow>,
    frames: u64,
    slots: Vec<u64>,
    bytes: Vec<u64>,
    /// By core.
    star_bytes: Vec<u64>,
}

impl Progress {
    /// Nothing so far.
    pub fn new(scenario: &Scenario) -> Progress {
        let edges = scenario.edges.len();
        let count = scenario.phases.len();
        Progress {
            edges,
            voqs: usize::from(scenario.voq_count()),
            frame_ns: scenario.frame.frame_ns(),
            phases: scenario
                .phases
                .iter()
                .enumerate()
                .map(|(k, phase)| PhaseNow {
                    number: k + 1,
                    of: count,
                    name: phase.name.clone(),
                })
                .collect(),
            frames: 0,
            slots: vec![0; edges * edges],
            bytes: vec![0; edges * edges],
            star_bytes: vec![0; scenario.cores.len()],
        }
    }

    /// Counts a frame.
    pub fn add(&mut self, record: &FrameRecord) {
        self.frames += 1;
        for from in 0..self.edges {
            for to in 0..self.edges {
                let cells = voqs_between(record, (self.edges, self.voqs), from, to);
                for (cell, star) in cells.zip(&mut self.star_bytes) {
                    self.slots[from * self.edges + to] += u64::from(cell.granted_slots);
                    self.bytes[from * self.edges + to] += cell.delivered_bytes;
                    *star += cell.delivered_bytes;
                }
            }
        }
    }

    /// What has happened since the last snapshot; `phase` is an index.
    pub fn snapshot(&mut self, now_ns: u64, end_ns: u64, phase: usize) -> Snapshot {
        let frames = self.frames.max(1) as f64;
        let seconds = frames * self.frame_ns as f64 / 1e9;
        let sums = self.slots.iter().zip(&self.bytes);
        let pairs = sums.map(|(&slots, &bytes)| PairNow {
            slots: slots as f64 / frames,
            goodput_bps: bytes as f64 * 8.0 / seconds,
        });
        let snapshot = Snapshot {
            now_ns,
            end_ns,
            phase: self.phases.get(phase).cloned().unwrap_or_default(),
            edges: self.edges,
            pairs: pairs.collect(),
            stars: self
                .star_bytes
                .iter()
                .map(|&bytes| bytes as f64 * 8.0 / seconds)
                .collect(),
            ..Snapshot::default()
        };
        self.frames = 0;
        self.slots.fill(0);
        self.bytes.fill(0);
        self.star_bytes.fill(0);
        snapshot
    }
}
