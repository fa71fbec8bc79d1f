// SPDX-License-Identifier: Apache-2.0
//! Seeded randomness: one generator for each thing that draws, so that none disturbs another.

use rand::{RngCore, SeedableRng};
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

/// An exponentially distributed time with this mean. Fixed point throughout: the same on every machine.
pub(crate) fn exponential_ns(generator: &mut impl RngCore, mean_ns: u64) -> u64 {
    // ln 2 * 2^32, rounded.
    const LN_2_Q32: u128 = 2_977_044_472;
    let minus_log2_q32 = (64u128 << 32) - log2_q32(generator.next_u64().max(1));
    // Two factors in Q32: 64 fractional bits to drop.
    ((((u128::from(mean_ns) * minus_log2_q32) >> 16) * LN_2_Q32) >> 48) as u64
}

/// log2 in Q32 of a positive number: each squaring of the mantissa yields one bit.
fn log2_q32(value: u64) -> u128 {
    let mut mantissa = u128::from(value << value.leading_zeros());
    let mut log2 = u128::from(63 - value.leading_zeros());
    for _ in 0..32 {
        mantissa = (mantissa * mantissa) >> 63;
        let bit = mantissa >> 64;
        mantissa >>= bit;
        log2 = log2 << 1 | bit;
    }
    log2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_exact_to_the_last_bits() {
        for value in [1u64, 2, 3, 1000, 1 << 40, u64::MAX] {
            let exact = (value as f64).log2() * 2f64.powi(32);
            let difference = log2_q32(value) as f64 - exact;
            assert!((-2.0..=1.0).contains(&difference), "{value}: {difference}");
        }
    }

    #[test]
    fn exponential_times_have_their_mean_and_tail() {
        let mut generator = generator(1, Stream::Source, 0);
        let times: Vec<u64> = (0..100_000).map(|_| exponential_ns(&mut generator, 10_000)).collect();
        let mean = times.iter().sum::<u64>() / times.len() as u64;
        assert!((9_900..10_100).contains(&mean), "mean {mean}");
        // P(t > mean) = 1/e.
        let above = times.iter().filter(|time| **time > 10_000).count();
        assert!((36_000..37_600).contains(&above), "{above} above the mean");
    }
}
