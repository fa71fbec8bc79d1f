// SPDX-License-Identifier: Apache-2.0
//! Flows in a closed loop: each host has a number of flows in progress.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_pcg::Pcg64;
use slotwise_random::exponential;
use slotwise_units::{Duration, Instant};

use crate::error::WorkloadError;
use crate::flow::{Flow, HostIndex, Workload};
use crate::pairs::{Pairs, Pattern};
use crate::sizes::Sizes;

/// A closed loop: when a flow completes, its host starts another one after a pause.
pub struct ClosedLoop {
    sizes: Sizes,
    pairs: Pairs,
    mean_pause: Duration,
    end: Instant,
    /// Flows that have not started, by start and number: at most one per flow in progress that a host may have.
    waiting: BTreeMap<(Instant, u64), Flow>,
    number: u64,
    rng: Pcg64,
}

impl ClosedLoop {
    /// Makes a loop with `flows_per_host` flows in progress from each host, and exponential pauses with a mean; no flow starts from
    /// `end` on. Each seed gives other flows.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        sizes: Sizes,
        (pattern, hosts): (&Pattern, u32),
        (flows_per_host, mean_pause): (u32, Duration),
        end: Instant,
        seed: u64,
    ) -> Result<ClosedLoop, WorkloadError> {
        sizes.check()?;
        if flows_per_host == 0 {
            return Err(WorkloadError::range("flows per host", "at least 1", flows_per_host));
        }
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut closed = ClosedLoop {
            pairs: Pairs::new(pattern, hosts, &mut rng)?,
            sizes,
            mean_pause,
            end,
            waiting: BTreeMap::new(),
            number: 0,
            rng,
        };
        for host in (0..hosts).map(HostIndex) {
            for _ in 0..flows_per_host {
                closed.schedule(Instant::ZERO, host);
            }
        }
        Ok(closed)
    }

    /// Draws a flow of a host after a pause from `now` on. A host without destinations has none.
    fn schedule(&mut self, now: Instant, source: HostIndex) {
        let pause = exponential(&mut self.rng, self.mean_pause.ns() as f64);
        let start = now.saturating_add(Duration::from_ns(pause));
        let Some(destination) = self.pairs.destination(source, start, &mut self.rng) else {
            return;
        };
        if start >= self.end {
            return;
        }
        let flow = Flow {
            number: self.number,
            start,
            source,
            destination,
            size: self.sizes.draw(&mut self.rng),
            coflow: None,
        };
        self.waiting.insert((start, flow.number), flow);
        self.number += 1;
    }
}

impl Workload for ClosedLoop {
    fn next_start(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((start, _), _)| *start)
    }

    fn next_flow(&mut self) -> Option<Flow> {
        self.waiting.pop_first().map(|(_, flow)| flow)
    }

    fn completed(&mut self, now: Instant, flow: &Flow) {
        self.schedule(now, flow.source);
    }
}
