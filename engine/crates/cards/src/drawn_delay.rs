// SPDX-License-Identifier: Apache-2.0
//! Random delay of a link of the two-link model: each draw holds for a random time.

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use slotwise_units::{Duration, Instant};

const NS_PER_MS: f64 = 1e6;

/// Distribution of a delay, and how long it holds.
#[derive(Debug, Clone, Copy)]
pub struct DelayProcess {
    /// Shortest and longest time for which a delay holds.
    pub hold: [Duration; 2],
    /// Mean of the normal distribution whose positive part is drawn from, ms.
    pub mean_ms: f64,
    /// Its standard deviation, ms.
    pub deviation_ms: f64,
}

/// A delay that holds until it is drawn again.
pub struct DrawnDelay {
    process: DelayProcess,
    random: Pcg64Mcg,
    delay: Duration,
    until: Instant,
}

impl DrawnDelay {
    /// Draws the first delay.
    pub fn new(process: DelayProcess, mut random: Pcg64Mcg) -> DrawnDelay {
        let delay = process.draw(&mut random);
        let until = Instant::ZERO + process.hold(&mut random);
        DrawnDelay {
            process,
            random,
            delay,
            until,
        }
    }

    /// Delay at a time that is not before that of any earlier call.
    pub fn at(&mut self, now: Instant) -> Duration {
        while self.until <= now {
            self.delay = self.process.draw(&mut self.random);
            self.until += self.process.hold(&mut self.random);
        }
        self.delay
    }
}

impl DelayProcess {
    /// A positive draw, by the polar method (G. Marsaglia, 1964).
    fn draw(&self, random: &mut Pcg64Mcg) -> Duration {
        loop {
            let [u, v] = [(); 2].map(|()| random.random_range(-1.0..1.0f64));
            let square = u * u + v * v;
            if square >= 1.0 || square == 0.0 {
                continue;
            }
            let normal = u * (-2.0 * libm::log(square) / square).sqrt();
            let delay_ns = ((self.mean_ms + self.deviation_ms * normal) * NS_PER_MS) as u64;
            if delay_ns > 0 {
                return Duration::from_ns(delay_ns);
            }
        }
    }

    fn hold(&self, random: &mut Pcg64Mcg) -> Duration {
        let [shortest, longest] = self.hold.map(Duration::ns);
        Duration::from_ns(random.random_range(shortest..=longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_random::{Stream, generator};

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn delay(mean_ms: f64, number: u64) -> DrawnDelay {
        let process = DelayProcess {
            hold: [1, 100].map(Duration::from_ms),
            mean_ms,
            deviation_ms: 4.0,
        };
        DrawnDelay::new(process, generator(7, Stream::LaneDelay, number))
    }

    /// Mean and standard deviation of the draws of so many ms, in ms, and the number of changes.
    fn drawn(mean_ms: f64, length_ms: u64) -> (f64, f64, u64) {
        let mut delay = delay(mean_ms, 0);
        let (mut draws, mut last) = (Vec::new(), Duration::ZERO);
        for now_ms in 0..length_ms {
            let drawn = delay.at(ms(now_ms));
            if drawn != last {
                draws.push(drawn.milliseconds());
                last = drawn;
            }
        }
        let count = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / count;
        (mean, square.sqrt(), draws.len() as u64)
    }

    #[test]
    fn a_delay_is_the_positive_part_of_a_normal_one_and_holds_some_fifty_milliseconds() {
        // Of the positive part, ms: 5.82 and 3.35 at 5, 3.19 and 2.41 at 0, 20 and 4 at 20.
        for (mean_ms, mean, deviation) in [(5.0, 5.82, 3.35), (0.0, 3.19, 2.41), (20.0, 20.0, 4.0)] {
            let (found, spread, changes) = drawn(mean_ms, 1_000_000);
            assert!(
                (found - mean).abs() < 0.1 && (spread - deviation).abs() < 0.1,
                "{mean_ms}: {found} {spread}"
            );
            assert!((19_400..20_200).contains(&changes), "1,000,000 ms by 50.5: {changes}");
        }
    }

    #[test]
    fn a_delay_is_a_step() {
        let mut delay = delay(5.0, 0);
        let first = delay.at(ms(0));
        assert_eq!(
            delay.at(Instant::from_ns(999_999)),
            first,
            "it holds for a millisecond at least"
        );
        assert_ne!(delay.at(ms(101)), first, "and for a hundred at most");
        assert_ne!(self::delay(5.0, 1).at(ms(0)), first, "each draws apart");
    }
}
