// SPDX-License-Identifier: Apache-2.0
//! Three-color meters: with two rates as BMv2 has them, with one rate and an excess burst as in RFC 2697 section 3.

use slotwise_units::{Duration, Instant};

/// Rates of a meter, in its unit (bytes or packets).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeterConfig {
    /// Committed rate, units per second.
    pub committed_rate: u64,
    /// Committed burst, units.
    pub committed_burst: u64,
    /// Peak rate, units per second; at least the committed one.
    pub peak_rate: u64,
    /// Peak burst, units.
    pub peak_burst: u64,
    /// Not 0: a meter with one rate, whose yellow is what the committed burst has no room for; the peak is as the
    /// committed one then.
    pub excess_burst: u64,
}

/// Colors as BMv2 numbers them.
pub(crate) const GREEN: u64 = 0;
pub(crate) const YELLOW: u64 = 1;
pub(crate) const RED: u64 = 2;

/// One cell of a meter array; green until it is configured.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    buckets: Option<Buckets>,
}

#[derive(Debug, Clone, Copy)]
enum Buckets {
    TwoRates {
        committed: Bucket,
        peak: Bucket,
    },
    /// The excess bucket has no rate of its own.
    OneRate {
        committed: Bucket,
        excess: Bucket,
    },
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: u64,
    burst: u64,
    tokens: u64,
    /// Up to when tokens have been added.
    filled: Instant,
}

const NS_PER_S: u128 = 1_000_000_000;

impl Bucket {
    fn new(rate: u64, burst: u64, now: Instant) -> Bucket {
        Bucket {
            rate,
            burst,
            tokens: burst,
            filled: now,
        }
    }

    /// Adds the tokens of the time that has passed; gives those for which there was no room.
    fn fill(&mut self, now: Instant) -> u64 {
        let elapsed = u128::from(now.saturating_since(self.filled).ns());
        let tokens = elapsed * u128::from(self.rate) / NS_PER_S;
        let Ok(tokens) = u64::try_from(tokens) else {
            self.filled = now;
            return self.add(u64::MAX);
        };
        if tokens > 0 {
            // Time that did not make a whole token yet stays on the account.
            self.filled += Duration::from_ns((u128::from(tokens) * NS_PER_S / u128::from(self.rate)) as u64);
        }
        self.add(tokens)
    }

    fn add(&mut self, tokens: u64) -> u64 {
        let added = tokens.min(self.burst - self.tokens);
        self.tokens += added;
        tokens - added
    }

    fn take(&mut self, amount: u64) -> bool {
        let enough = self.tokens >= amount;
        if enough {
            self.tokens -= amount;
        }
        enough
    }
}

impl Meter {
    /// Sets the rates, with full buckets; `None` makes it green again.
    pub fn configure(&mut self, config: Option<MeterConfig>, now: Instant) {
        self.buckets = config.map(|c| {
            let committed = Bucket::new(c.committed_rate, c.committed_burst, now);
            match c.excess_burst {
                0 => Buckets::TwoRates {
                    committed,
                    peak: Bucket::new(c.peak_rate, c.peak_burst, now),
                },
                burst => Buckets::OneRate {
                    committed,
                    excess: Bucket::new(0, burst, now),
                },
            }
        });
    }

    /// The rates in force.
    pub fn config(&self) -> Option<MeterConfig> {
        let (committed, peak, excess_burst) = match self.buckets? {
            Buckets::TwoRates { committed, peak } => (committed, peak, 0),
            Buckets::OneRate { committed, excess } => (committed, committed, excess.burst),
        };
        Some(MeterConfig {
            committed_rate: committed.rate,
            committed_burst: committed.burst,
            peak_rate: peak.rate,
            peak_burst: peak.burst,
            excess_burst,
        })
    }

    /// Whether it has rates.
    pub fn is_configured(&self) -> bool {
        self.buckets.is_some()
    }

    /// The color of `amount` units now.
    pub fn execute(&mut self, amount: u64, now: Instant) -> u64 {
        match &mut self.buckets {
            None => GREEN,
            Some(Buckets::TwoRates { committed, peak }) => {
                committed.fill(now);
                peak.fill(now);
                // BMv2 asks the peak bucket first and lets a yellow packet keep what it took there.
                if !peak.take(amount) {
                    RED
                } else if !committed.take(amount) {
                    YELLOW
                } else {
                    GREEN
                }
            }
            Some(Buckets::OneRate { committed, excess }) => {
                excess.add(committed.fill(now));
                if committed.take(amount) {
                    GREEN
                } else if excess.take(amount) {
                    YELLOW
                } else {
                    RED
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unconfigured_is_green() {
        assert_eq!(Meter::default().execute(1_000_000, Instant::ZERO), GREEN);
    }

    #[test]
    fn colors_follow_both_buckets_and_refill() {
        let mut meter = Meter::default();
        let config = MeterConfig {
            committed_rate: 1000,
            committed_burst: 100,
            peak_rate: 2000,
            peak_burst: 200,
            excess_burst: 0,
        };
        meter.configure(Some(config), Instant::ZERO);
        assert_eq!(meter.config(), Some(config));
        assert_eq!(meter.execute(100, Instant::ZERO), GREEN);
        assert_eq!(meter.execute(100, Instant::ZERO), YELLOW);
        assert_eq!(meter.execute(1, Instant::ZERO), RED);
        // 10 ms bring 20 tokens to the peak bucket and 10 to the other.
        assert_eq!(meter.execute(10, Instant::from_ns(10_000_000)), GREEN);
        assert_eq!(meter.execute(10, Instant::from_ns(10_000_000)), YELLOW);
        assert_eq!(meter.execute(1, Instant::from_ns(10_000_000)), RED);
    }

    #[test]
    fn fractions_of_a_token_are_not_lost() {
        let mut meter = Meter::default();
        let config = MeterConfig {
            committed_rate: 1,
            committed_burst: 1,
            peak_rate: 1,
            peak_burst: 1,
            excess_burst: 0,
        };
        meter.configure(Some(config), Instant::ZERO);
        assert_eq!(meter.execute(1, Instant::ZERO), GREEN);
        for now_ms in 1..1000 {
            assert_eq!(meter.execute(1, Instant::from_ns(now_ms * 1_000_000)), RED);
        }
        assert_eq!(meter.execute(1, Instant::from_ns(1_000_000_000)), GREEN);
    }

    #[test]
    fn with_one_rate_the_excess_bucket_takes_what_the_other_has_no_room_for() {
        let mut meter = Meter::default();
        let config = MeterConfig {
            committed_rate: 1000,
            committed_burst: 100,
            peak_rate: 1000,
            peak_burst: 100,
            excess_burst: 50,
        };
        meter.configure(Some(config), Instant::ZERO);
        assert_eq!(meter.config(), Some(config));
        assert_eq!(meter.execute(100, Instant::ZERO), GREEN);
        assert_eq!(meter.execute(50, Instant::ZERO), YELLOW);
        assert_eq!(meter.execute(1, Instant::ZERO), RED);
        // 100 ms fill the committed bucket, and the next 20 ms bring the excess bucket 20.
        assert_eq!(meter.execute(101, Instant::from_ns(120_000_000)), RED);
        assert_eq!(meter.execute(100, Instant::from_ns(120_000_000)), GREEN);
        assert_eq!(meter.execute(21, Instant::from_ns(120_000_000)), RED);
        assert_eq!(meter.execute(20, Instant::from_ns(120_000_000)), YELLOW);
        // Long after, both are full, and no fuller.
        let later = Instant::MAX;
        assert_eq!(meter.execute(51, later), GREEN);
        assert_eq!(meter.execute(50, later), YELLOW);
        assert_eq!(meter.execute(49, later), GREEN);
        assert_eq!(meter.execute(1, later), RED);
    }
}
