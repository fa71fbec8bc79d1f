// SPDX-License-Identifier: Apache-2.0
//! Seeded randomness: a stream for each purpose, with one generator for each thing that draws, so that none disturbs another.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{RngCore, SeedableRng};

/// Purpose of a generator.
#[derive(Clone, Copy)]
pub enum Stream {
    /// Losses of a fibre, to the core.
    FibreToCore = 1,
    /// Losses of a fibre, to the edge.
    FibreToEdge = 2,
    /// Packets of a source.
    Source = 3,
    /// P4 programs.
    Pipeline = 4,
    /// Lengths of web transfers.
    Connection = 5,
    /// Drift of a clock.
    Clock = 6,
    /// Users of a web flow.
    Web = 7,
    /// Times and places of faults.
    Fault = 8,
    /// Treatment of control messages by faults.
    Messages = 9,
    /// Intervals of bursts.
    Train = 10,
    /// Losses of a fibre between edges.
    LaneLoss = 11,
    /// Delays of a fibre between edges.
    LaneDelay = 12,
    /// Start of a GTP session.
    Gtp = 13,
    /// Losses of a link between routers.
    RoutedLoss = 14,
    /// Admission of packets to a queue.
    Admission = 15,
    /// Flows of a workload.
    Workload = 16,
}

/// Event that happens with a probability each time.
pub struct Chance {
    /// A draw of 64 bits is below this with the probability.
    threshold: u128,
    random: Pcg64Mcg,
}

impl Chance {
    /// With a probability in [0, 1].
    pub fn new(probability: f64, random: Pcg64Mcg) -> Chance {
        let mut chance = Chance { threshold: 0, random };
        chance.set(probability);
        chance
    }

    /// Another probability from now on.
    pub fn set(&mut self, probability: f64) {
        self.threshold = (probability * 2f64.powi(64)) as u128;
    }

    /// Returns true if it happens this time; nothing is drawn if it never does.
    #[inline]
    pub fn comes(&mut self) -> bool {
        self.threshold > 0 && u128::from(self.random.next_u64()) < self.threshold
    }
}

/// The generator of the `index`-th thing of its kind.
pub fn generator(seed: u64, stream: Stream, index: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(derived_seed(seed, stream, index))
}

/// A seed of its own for the `index`-th thing of its kind.
pub fn derived_seed(seed: u64, stream: Stream, index: u64) -> u64 {
    mix(mix(mix(seed) ^ stream as u64) ^ index)
}

/// SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
