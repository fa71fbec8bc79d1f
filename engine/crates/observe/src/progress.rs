// SPDX-License-Identifier: Apache-2.0
//! Feeds the live view from the frames of a run.

use slotwise_kinds::FrameRecord;
use slotwise_scenario::Scenario;
use slotwise_units::{Bytes, Duration};

use crate::live::{PairNow, PhaseNow, Snapshot};
use crate::per_star::voqs_between;

/// A pair of edges, over the frames since the last snapshot.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    granted_slots: u64,
    delivered_bytes: Bytes,
    /// Of the last frame, which stays.
    in_force_slots: u64,
    demand_bytes: Bytes,
}

/// Sums since the last snapshot.
pub struct Progress {
    edges: usize,
    voqs: usize,
    frame: Duration,
    phases: Vec<PhaseNow>,
    frames: u64,
    pairs: Vec<Sums>,
    /// By core.
    star_bytes: Vec<Bytes>,
}

impl Progress {
    /// Nothing so far.
    pub fn new(scenario: &Scenario) -> Progress {
        let edges = scenario.edges.len();
        let count = scenario.phases.len();
        Progress {
            edges,
            voqs: usize::from(scenario.voq_count()),
            frame: scenario.frame.length(),
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
            pairs: vec![Sums::default(); edges * edges],
            star_bytes: vec![Bytes::ZERO; scenario.cores.len()],
        }
    }

    /// Counts a frame.
    pub fn add(&mut self, record: &FrameRecord) {
        self.frames += 1;
        for from in 0..self.edges {
            for to in 0..self.edges {
                let cells = voqs_between(record, (self.edges, self.voqs), from, to);
                let pair = &mut self.pairs[from * self.edges + to];
                (pair.in_force_slots, pair.demand_bytes) = (0, Bytes::ZERO);
                for (cell, star) in cells.zip(&mut self.star_bytes) {
                    pair.in_force_slots += u64::from(cell.granted_slots);
                    pair.demand_bytes += cell.demand;
                    let delivered = cell.delivered;
                    pair.delivered_bytes += delivered;
                    *star += delivered;
                }
                pair.granted_slots += pair.in_force_slots;
            }
        }
    }

    /// A snapshot with what has happened since the last one, which is forgotten.
    pub fn count_into(&mut self, now: Snapshot) -> Snapshot {
        let frames = self.frames.max(1) as f64;
        let seconds = frames * self.frame.ns() as f64 / 1e9;
        let pairs = self.pairs.iter().map(|sums| PairNow {
            slots: sums.granted_slots as f64 / frames,
            goodput_bps: sums.delivered_bytes.get() as f64 * 8.0 / seconds,
            demand_bytes: sums.demand_bytes,
            in_force_slots: sums.in_force_slots,
            granted_slots: sums.granted_slots,
            delivered_bytes: sums.delivered_bytes,
        });
        let stars = self.star_bytes.iter();
        let snapshot = Snapshot {
            phase: self.phases.get(now.phase_index).cloned().unwrap_or_default(),
            edges: self.edges,
            frames: self.frames,
            pairs: pairs.collect(),
            stars: stars.map(|bytes| bytes.get() as f64 * 8.0 / seconds).collect(),
            ..now
        };
        self.frames = 0;
        for sums in &mut self.pairs {
            (sums.granted_slots, sums.delivered_bytes) = (0, Bytes::ZERO);
        }
        self.star_bytes.fill(Bytes::ZERO);
        snapshot
    }
}
