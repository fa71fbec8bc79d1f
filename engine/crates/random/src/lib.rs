// SPDX-License-Identifier: Apache-2.0
//! Draws from distributions, and generators by seed and purpose, the same bits on every machine: integers from the
//! generator, elementary functions from `libm`.
//!
//! ```
//! use rand_pcg::Pcg64;
//! use rand_pcg::rand_core::SeedableRng;
//! use slotwise_random::exponential;
//!
//! let gap = exponential(&mut Pcg64::seed_from_u64(1), 1_000.0);
//! assert_eq!(gap, exponential(&mut Pcg64::seed_from_u64(1), 1_000.0));
//! ```

mod stream;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::RngCore;

pub use stream::{Chance, Stream, derived_seed, generator};

/// Returns a uniform number in (0, 1], in steps of 2^-53.
pub fn uniform(rng: &mut Pcg64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((rng.next_u64() >> 11) + 1) as f64 * STEP
}

/// Returns an exponential number with mean `mean`, rounded to the nearest: rounding down would make short gaps shorter on average.
pub fn exponential(rng: &mut Pcg64, mean: f64) -> u64 {
    libm::round(-libm::log(uniform(rng)) * mean) as u64
}

/// A Pareto distribution by its mean; `shape` > 1 (at most 2 the variance is infinite).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    smallest: f64,
    inverse_shape: f64,
}

impl Pareto {
    /// Makes the distribution with a mean and a shape over 1.
    pub fn new(mean: u64, shape: f64) -> Self {
        Self {
            smallest: mean as f64 * (shape - 1.0) / shape,
            inverse_shape: 1.0 / shape,
        }
    }

    /// Returns a number, rounded down.
    pub fn draw(&self, rng: &mut Pcg64) -> u64 {
        (self.smallest / libm::pow(uniform(rng), self.inverse_shape)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn means_and_tails_are_those_of_the_distributions() {
        let mut rng = Pcg64::seed_from_u64(5);
        let n = 200_000;
        let draws: Vec<u64> = (0..n).map(|_| exponential(&mut rng, 1e6)).collect();
        let mean = draws.iter().sum::<u64>() / n;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        // P(X > 2 mean) = e^-2 = 0.1353.
        let tail = draws.iter().filter(|d| **d > 2_000_000).count() as f64 / n as f64;
        assert!((tail - 0.1353).abs() < 0.003, "{tail}");

        let pareto = Pareto::new(3_000, 1.5);
        let draws: Vec<u64> = (0..n).map(|_| pareto.draw(&mut rng)).collect();
        // Smallest 1000; P(X > 4000) = (1/4)^1.5 = 0.125.
        assert!(draws.iter().all(|d| *d >= 1000));
        let tail = draws.iter().filter(|d| **d > 4000).count() as f64 / n as f64;
        assert!((tail - 0.125).abs() < 0.003, "{tail}");
    }
}
