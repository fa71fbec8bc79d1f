// SPDX-License-Identifier: Apache-2.0
//! Round-trip times and the retransmission timeout (RFC 6298).

use std::collections::VecDeque;

use slotwise_units::{Duration, Instant};

use crate::endpoint::ConfigError;

/// Bounds of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first measurement (RFC 6298 rule 2.1).
    pub initial: Duration,
    /// Rule 2.4 says 1 s; Linux has 200 ms.
    pub min: Duration,
    /// Rule 2.5: at least 60 s.
    pub max: Duration,
    /// The G of rules 2.2 and 2.3, at least: how much later than the mean an answer may come. Linux has 200 ms.
    pub granularity: Duration,
    /// Tick of the clock by which the timeout is reckoned: measurements are rounded to the nearest one, at least one, and timeouts up.
    /// Old stacks have 10 ms (ns-2) to 500 ms (BSD); 1 ns: none.
    pub tick: Duration,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_s(1),
            min: Duration::from_s(1),
            max: Duration::from_s(60),
            granularity: Duration::from_ns(1),
            tick: Duration::from_ns(1),
        }
    }
}

impl RtoConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        const DAY: Duration = Duration::from_s(86_400);
        let max_ns = self.max.ns();
        ConfigError::check("rto.max_ns", max_ns, 1..=DAY.ns())?;
        ConfigError::check("rto.min_ns", self.min.ns(), 0..=max_ns)?;
        ConfigError::check("rto.granularity_ns", self.granularity.ns(), 1..=max_ns)?;
        ConfigError::check("rto.tick_ns", self.tick.ns(), 1..=max_ns)?;
        ConfigError::check("rto.initial_ns", self.initial.ns(), 1..=max_ns)
    }
}

/// Mean and variation of round-trip times.
#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt: Duration,
    rttvar: Duration,
}

impl Smoothed {
    /// With one more measurement (rules 2.2 and 2.3).
    fn after(before: Option<Smoothed>, rtt: Duration) -> Smoothed {
        match before {
            None => Smoothed {
                srtt: rtt,
                rttvar: rtt / 2,
            },
            Some(Smoothed { srtt, rttvar }) => Smoothed {
                srtt: (7 * srtt + rtt) / 8,
                rttvar: (3 * rttvar + srtt.abs_diff(rtt)) / 4,
            },
        }
    }
}

/// The estimator of RFC 6298 section 2.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    /// To the nanosecond.
    smoothed: Option<Smoothed>,
    /// The same of measurements in whole ticks.
    coarse: Option<Smoothed>,
    base_rto: Duration,
    backoffs: u32,
}

impl RttEstimator {
    /// No measurement yet.
    pub fn new(config: RtoConfig) -> Self {
        Self {
            config,
            smoothed: None,
            coarse: None,
            base_rto: config.initial,
            backoffs: 0,
        }
    }

    /// Takes a measurement of `rtt` (rules 2.2 and 2.3) and ends any back-off.
    pub fn sample(&mut self, rtt: Duration) {
        let Smoothed { mut srtt, mut rttvar } = Smoothed::after(self.smoothed, rtt);
        self.smoothed = Some(Smoothed { srtt, rttvar });
        let tick = self.config.tick;
        if tick > Duration::from_ns(1) {
            let ticks = ((rtt + tick / 2) / tick).max(1);
            Smoothed { srtt, rttvar } = *self.coarse.insert(Smoothed::after(self.coarse, ticks * tick));
        }
        let rto = srtt + (4 * rttvar).max(self.config.granularity).max(tick);
        self.base_rto = rto.next_multiple_of(tick).max(self.config.min);
        self.backoffs = 0;
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    /// Its variation.
    pub fn rttvar(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.rttvar)
    }

    /// The timeout now.
    pub fn rto(&self) -> Duration {
        self.base_rto
            .saturating_mul(1u64.checked_shl(self.backoffs).unwrap_or(u64::MAX))
            .min(self.config.max)
    }

    /// Doubles the timeout after it went off (rule 5.5).
    pub fn back_off(&mut self) {
        self.backoffs += 1;
    }

    /// Ends the back-off without a measurement: the peer answers.
    pub fn end_back_off(&mut self) {
        self.backoffs = 0;
    }

    /// Rule 5.7: after a lost SYN, data starts with 3 s at least unless the handshake measured a time.
    pub fn handshake_timed_out(&mut self) {
        self.base_rto = self.base_rto.max(Duration::from_s(3));
        self.backoffs = 0;
    }
}

/// When each segment in flight was sent, so that every acknowledgment of segments sent once is a measurement
/// to the nanosecond; no timestamp option is needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendTimes {
    /// (end of the segment, time sent); the time is none when any of it was sent again (Karn).
    sent: VecDeque<(u64, Option<Instant>)>,
}

impl SendTimes {
    /// A segment that ends before `end` was sent for the first time.
    pub(crate) fn sent(&mut self, end: u64, now: Instant) {
        self.sent.push_back((end, Some(now)));
    }

    /// Bytes from `start` to `end` were sent again.
    pub(crate) fn resent(&mut self, start: u64, end: u64) {
        let first = self.sent.partition_point(|(e, _)| *e <= start);
        for (e, time) in self.sent.iter_mut().skip(first) {
            *time = None;
            if *e >= end {
                break;
            }
        }
    }

    /// Everything below `acknowledged` arrived at `now`. The measurement, unless a part was sent twice.
    pub(crate) fn acknowledged(&mut self, acknowledged: u64, now: Instant) -> Option<Duration> {
        let mut last = None;
        let mut ambiguous = false;
        while let Some((end, time)) = self.sent.front().copied() {
            if end > acknowledged {
                break;
            }
            ambiguous |= time.is_none();
            last = time;
            self.sent.pop_front();
        }
        last.filter(|_| !ambiguous).map(|sent| now.saturating_since(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_ms(1);

    fn estimator(min: Duration) -> RttEstimator {
        RttEstimator::new(RtoConfig {
            min,
            ..RtoConfig::default()
        })
    }

    #[test]
    fn the_numbers_of_rfc_6298() {
        let mut rtt = estimator(Duration::ZERO);
        assert_eq!(rtt.rto(), 1000 * MS, "rule 2.1");
        rtt.sample(100 * MS);
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(100 * MS), Some(50 * MS)));
        assert_eq!(rtt.rto(), 300 * MS, "rule 2.2: R + 4 R/2");
        rtt.sample(200 * MS);
        // Rule 2.3: rttvar first, from the old srtt: 3/4 50 + 1/4 100; srtt = 7/8 100 + 1/8 200.
        assert_eq!(rtt.rttvar(), Some(Duration::from_us(62_500)));
        assert_eq!(rtt.srtt(), Some(Duration::from_us(112_500)));
        assert_eq!(rtt.rto(), Duration::from_us(362_500));
    }

    #[test]
    fn a_coarse_clock_measures_whole_ticks_and_rounds_the_timeout_up() {
        let mut rtt = RttEstimator::new(RtoConfig {
            min: Duration::ZERO,
            tick: 10 * MS,
            ..RtoConfig::default()
        });
        rtt.sample(64 * MS);
        // 6 ticks: 60 + 4 x 30.
        assert_eq!(rtt.rto(), 180 * MS);
        assert_eq!(rtt.srtt(), Some(64 * MS), "who paces needs more than ticks");
        rtt.sample(66 * MS);
        // 7 ticks: rttvar 3/4 30 + 1/4 10 = 25, srtt 61.25: 161.25, up to whole ticks.
        assert_eq!(rtt.rto(), 170 * MS);
        let mut short = RttEstimator::new(RtoConfig {
            min: Duration::ZERO,
            tick: 10 * MS,
            ..RtoConfig::default()
        });
        for _ in 0..100 {
            short.sample(MS);
        }
        assert_eq!(short.rto(), 20 * MS, "one tick measured, and one of granularity");
    }

    #[test]
    fn the_timeout_has_a_floor_doubles_and_has_a_ceiling() {
        let mut rtt = estimator(1000 * MS);
        rtt.sample(MS);
        assert_eq!(rtt.rto(), 1000 * MS, "rule 2.4");
        for expected_s in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), expected_s * 1000 * MS);
        }
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), 60_000 * MS);
        rtt.sample(MS);
        assert_eq!(rtt.rto(), 1000 * MS, "a measurement ends the back-off");
    }

    #[test]
    fn a_segment_that_was_sent_twice_measures_nothing() {
        let mut times = SendTimes::default();
        for i in 1..=4 {
            times.sent(i * 100, Instant::ZERO + i * MS);
        }
        times.resent(100, 200);
        assert_eq!(times.acknowledged(100, Instant::ZERO + 11 * MS), Some(10 * MS));
        assert_eq!(
            times.acknowledged(300, Instant::ZERO + 20 * MS),
            None,
            "covers a retransmission"
        );
        assert_eq!(times.acknowledged(400, Instant::ZERO + 20 * MS), Some(16 * MS));
        assert_eq!(times.acknowledged(400, Instant::ZERO + 30 * MS), None, "nothing new");
    }
}
