// SPDX-License-Identifier: Apache-2.0
//! Seeded randomness: one generator for each thing that draws, so that none disturbs another.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// What a generator is for.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    FibreToCore = 1,
    FibreToEdge = 2,
    Source = 3,
    Pipeline = 4,
    Connection = 5,
    Clock = 6,
    Web = 7,
    Fault = 8,
    Messages = 9,
    Train = 10,
    LaneLoss = 11,
    LaneDelay = 12,
    Gtp = 13,
}

/// The generator of the `index`-th thing of its kind.
pub(crate) fn generator(seed: u64, stream: Stream, index: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(derived_seed(seed, stream, index))
}

/// A seed of its own for the `index`-th thing of its kind.
pub(crate) fn derived_seed(seed: u64, stream: Stream, index: u64) -> u64 {
    mix(mix(mix(seed) ^ stream as u64) ^ index)
}

/// SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
