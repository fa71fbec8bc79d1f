// SPDX-License-Identifier: Apache-2.0
//! Statistics of the flows that a workload offers.

use std::collections::HashSet;

use slotwise_units::{Bytes, Duration, Instant, Rate};

use crate::flow::{CoflowId, Flow};

/// Statistics of the flows of a workload, whether or not a network carries them.
#[derive(Clone, Debug, Default)]
pub struct Offered {
    flows: u64,
    data: Bytes,
    smallest: Option<Bytes>,
    largest: Bytes,
    first: Option<Instant>,
    last: Instant,
    /// Sum of the squares of the times between starts, in s².
    squares: f64,
    coflows: HashSet<CoflowId>,
}

impl Offered {
    /// Adds a flow; flows come in order of their starts.
    pub fn add(&mut self, flow: &Flow) {
        if self.first.is_some() {
            self.squares += flow.start.saturating_since(self.last).seconds().powi(2);
        }
        self.first.get_or_insert(flow.start);
        self.last = flow.start;
        self.flows += 1;
        self.data = self.data.saturating_add(flow.size);
        self.smallest = Some(self.smallest.map_or(flow.size, |smallest| smallest.min(flow.size)));
        self.largest = self.largest.max(flow.size);
        self.coflows.extend(flow.coflow);
    }

    /// Returns the number of flows.
    pub fn flows(&self) -> u64 {
        self.flows
    }

    /// Returns the data of all flows, at most [`Bytes::MAX`].
    pub fn data(&self) -> Bytes {
        self.data
    }

    /// Returns the number of coflows.
    pub fn coflows(&self) -> u64 {
        self.coflows.len() as u64
    }

    /// Returns the smallest and the largest size; `None` without flows.
    pub fn sizes(&self) -> Option<(Bytes, Bytes)> {
        Some((self.smallest?, self.largest))
    }

    /// Returns the first and the last start; `None` without flows.
    pub fn starts(&self) -> Option<(Instant, Instant)> {
        Some((self.first?, self.last))
    }

    /// Returns the mean size, bytes; `None` without flows.
    pub fn mean_size(&self) -> Option<f64> {
        (self.flows > 0).then(|| self.data.get() as f64 / self.flows as f64)
    }

    /// Returns the squared coefficient of variation of the times between starts: 1 in a Poisson process, 0 if they are equal. `None`
    /// if there are fewer than three flows or all start together.
    pub fn gap_variation(&self) -> Option<f64> {
        let gaps = self.flows.checked_sub(1).filter(|gaps| *gaps > 1)? as f64;
        let mean = self.last.saturating_since(self.first?).seconds() / gaps;
        (mean > 0.0).then(|| self.squares / gaps / mean.powi(2) - 1.0)
    }

    /// Returns the load in a time above 0: the data divided by what links of this capacity, above 0, carry.
    pub fn load(&self, capacity: Rate, time: Duration) -> f64 {
        self.data.bits() as f64 / (capacity.bps() as f64 * time.seconds())
    }
}
