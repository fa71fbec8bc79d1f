// SPDX-License-Identifier: Apache-2.0
//! A fluid network looked at every period, beside the oracle.

use slotwise_units::{Duration, Instant};

use super::Fluid;
use crate::oracle::max_min;

/// What a period was like.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// End of the period.
    pub at: Instant,
    /// Mean rate of each session over the period; 0 for one that was not there.
    pub rates: Vec<f64>,
    /// Max-min rate of each session among those that are there just before its end.
    pub fair: Vec<f64>,
}

impl Sample {
    /// D: the 2-norm of what rates are off (VII.1.C), in the unit of the rates.
    pub fn distance(&self) -> f64 {
        let off = self.rates.iter().zip(&self.fair);
        off.map(|(rate, fair)| (rate - fair).powi(2)).sum::<f64>().sqrt()
    }

    /// D0: D if all rates were 0.
    pub fn distance_from_zero(&self) -> f64 {
        self.fair.iter().map(|fair| fair * fair).sum::<f64>().sqrt()
    }
}

/// Samples without end, one a period.
#[derive(Debug, Clone)]
pub struct Samples {
    fluid: Fluid,
    period: Duration,
    /// What each session had sent at the end of the last period.
    sent: Vec<f64>,
    fair: Vec<f64>,
    /// For which joins, leaves and demands `fair` was solved.
    changes: Option<u64>,
}

impl Samples {
    /// Samples a network from its present time on, each `period` (at least 1 ns).
    pub fn new(mut fluid: Fluid, period: Duration) -> Samples {
        let sent = (0..fluid.sessions()).map(|session| fluid.sent(session)).collect();
        Samples {
            fair: vec![0.0; fluid.sessions()],
            fluid,
            period: period.max(Duration::from_ns(1)),
            sent,
            changes: None,
        }
    }

    /// The network.
    pub fn fluid(&mut self) -> &mut Fluid {
        &mut self.fluid
    }

    fn solve(&mut self) {
        if self.changes == Some(self.fluid.changes()) {
            return;
        }
        self.changes = Some(self.fluid.changes());
        let (there, network) = self.fluid.present();
        self.fair.fill(0.0);
        for (session, rate) in there.into_iter().zip(max_min(&network).rates) {
            self.fair[session] = rate;
        }
    }
}

impl Iterator for Samples {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        let at = self.fluid.now() + self.period;
        // What changes at the very end is of the next period.
        self.fluid.run_until(at - Duration::from_ns(1));
        self.solve();
        self.fluid.run_until(at);
        let mean = |(session, sent): (usize, &mut f64)| {
            let now = self.fluid.sent(session);
            let before = std::mem::replace(sent, now);
            (now - before) / self.period.ns() as f64
        };
        let rates = self.sent.iter_mut().enumerate().map(mean).collect();
        Some(Sample {
            at,
            rates,
            fair: self.fair.clone(),
        })
    }
}
