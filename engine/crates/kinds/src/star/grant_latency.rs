// SPDX-License-Identifier: Apache-2.0
//! How long new demand waits for light: from the first packet into a VOQ that had been empty for a frame until its
//! first bit is at the core.

use hdrhistogram::Histogram;

use slotwise_cards::demand::NewDemand;
use slotwise_units::Duration;

use super::cards::edge_card;
use super::parts::Star;
use crate::kind::View;
use slotwise_net::effects::Look;

/// Over an hour waits nothing that is alive; longer waits count as that.
const LONGEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Waits of new demand, all VOQs together.
#[derive(Debug, Clone)]
pub struct GrantLatency {
    waits: Histogram<u64>,
    /// Demand that is gone, and had no light.
    lost: u64,
}

impl Default for GrantLatency {
    fn default() -> Self {
        GrantLatency {
            waits: Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
                .expect("bounds and digits are allowed"),
            lost: 0,
        }
    }
}

impl GrantLatency {
    pub(super) fn waited(&mut self, wait_ns: u64) {
        self.waits.saturating_record(wait_ns);
    }

    /// Number of waits: of demand that got light.
    pub fn count(&self) -> u64 {
        self.waits.len()
    }

    /// Quantile (0 to 1) of the waiting times, with three digits; 0 without any.
    pub fn quantile(&self, quantile: f64) -> Duration {
        Duration::from_ns(self.waits.value_at_quantile(quantile))
    }

    /// The longest wait.
    pub fn max(&self) -> Duration {
        Duration::from_ns(self.waits.max())
    }
}

impl<'a> View<'a, Star> {
    /// How long new demand waited for light since the start.
    pub fn grant_latency(&self) -> &'a GrantLatency {
        &self.kind.grant_latency
    }

    /// Number of times that demand was new and got no light: it was lost, or waits now.
    pub fn unserved_demand(&self) -> u64 {
        let edges = 0..self.kind.edges.len() as u16;
        let waiting = edges.map(|edge| edge_card(self.look, edge).unserved_demand());
        self.kind.grant_latency.lost + waiting.sum::<u64>()
    }
}

impl Star {
    /// Notes that all that waits in an edge is about to be lost.
    pub(super) fn loses_demand(&mut self, look: Look<'_>, edge: u16) {
        self.grant_latency.lost += edge_card(look, edge).unserved_demand();
    }

    pub(super) fn light_for(&mut self, now_ns: u64, fibre: usize, demand: NewDemand) {
        if demand.after < self.slots.frame() {
            return;
        }
        let fibre = &self.fibres[fibre];
        match fibre.is_up() {
            true => {
                let light_ns = now_ns + fibre.delay_ns;
                self.grant_latency.waited(light_ns - demand.at.ns());
            }
            false => self.grant_latency.lost += 1,
        }
    }
}
