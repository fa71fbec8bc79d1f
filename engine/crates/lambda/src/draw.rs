// SPDX-License-Identifier: Apache-2.0
//! Seeded draws: a pure function of what they are for, so that none disturbs another.

/// A stream of draws for one purpose.
#[derive(Debug, Clone)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The `index`-th stream of a seed.
    pub fn new(seed: u64, index: u64) -> Draws {
        Draws {
            state: mix(mix(seed) ^ index),
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(1);
        mix(self.state)
    }

    /// In [from, to).
    pub fn uniform(&mut self, from: f64, to: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        from + part * (to - from)
    }

    /// In 0..n, for n from 1 to 2^32.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Of an exponential distribution.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform(0.0, 1.0))
    }
}

/// A draw of 32 bits for one session in one calculation of one node.
pub(crate) fn rank(seed: u64, node: usize, calculation: u64, session: usize) -> u32 {
    let of_calculation = mix(mix(seed ^ node as u64).wrapping_add(calculation));
    (mix(of_calculation ^ session as u64) >> 32) as u32
}

/// SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
