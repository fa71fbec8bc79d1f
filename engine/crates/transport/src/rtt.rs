// SPDX-License-Identifier: Apache-2.0
//! Round-trip times and the retransmission timeout (RFC 6298).

use std::collections::VecDeque;

use crate::endpoint::ConfigError;

/// Bounds of the retransmission timeout, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first measurement (RFC 6298 rule 2.1).
    pub initial_ns: u64,
    /// Rule 2.4 says 1 s; Linux has 200 ms.
    pub min_ns: u64,
    /// Rule 2.5: at least 60 s.
    pub max_ns: u64,
    /// The G of rules 2.2 and 2.3, at least: how much later than the mean an answer may come. Linux has 200 ms.
    pub granularity_ns: u64,
    /// Tick of the clock by which the timeout is reckoned: measurements are rounded to the nearest one, at least one, and timeouts up.
    /// Old stacks have 10 ms (ns-2) to 500 ms (BSD); 1: none.
    pub tick_ns: u64,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            initial_ns: 1_000_000_000,
            min_ns: 1_000_000_000,
            max_ns: 60_000_000_000,
            granularity_ns: 1,
            tick_ns: 1,
        }
    }
}

impl RtoConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        const DAY_NS: u64 = 86_400_000_000_000;
        ConfigError::check("rto.max_ns", self.max_ns, 1..=DAY_NS)?;
        ConfigError::check("rto.min_ns", self.min_ns, 0..=self.max_ns)?;
        ConfigError::check("rto.granularity_ns", self.granularity_ns, 1..=self.max_ns)?;
        ConfigError::check("rto.tick_ns", self.tick_ns, 1..=self.max_ns)?;
        ConfigError::check("rto.initial_ns", self.initial_ns, 1..=self.max_ns)
    }
}

/// Mean and variation of round-trip times.
#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt_ns: u64,
    rttvar_ns: u64,
}

impl Smoothed {
    /// With one more measurement (rules 2.2 and 2.3).
    fn after(before: Option<Smoothed>, rtt_ns: u64) -> Smoothed {
        match before {
            None => Smoothed {
                srtt_ns: rtt_ns,
                rttvar_ns: rtt_ns / 2,
            },
            Some(Smoothed { srtt_ns, rttvar_ns }) => Smoothed {
                srtt_ns: (7 * srtt_ns + rtt_ns) / 8,
                rttvar_ns: (3 * rttvar_ns + srtt_ns.abs_diff(rtt_ns)) / 4,
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
    base_rto_ns: u64,
    backoffs: u32,
}

impl RttEstimator {
    /// No measurement yet.
    pub fn new(config: RtoConfig) -> Self {
        Self {
            config,
            smoothed: None,
            coarse: None,
            base_rto_ns: config.initial_ns,
            backoffs: 0,
        }
    }

    /// Takes a measurement of `rtt_ns` (rules 2.2 and 2.3) and ends any back-off.
    pub fn sample(&mut self, rtt_ns: u64) {
        let Smoothed {
            mut srtt_ns,
            mut rttvar_ns,
        } = Smoothed::after(self.smoothed, rtt_ns);
        self.smoothed = Some(Smoothed { srtt_ns, rttvar_ns });
        let tick_ns = self.config.tick_ns;
        if tick_ns > 1 {
            let ticks = ((rtt_ns + tick_ns / 2) / tick_ns).max(1);
            Smoothed { srtt_ns, rttvar_ns } = *self.coarse.insert(Smoothed::after(self.coarse, ticks * tick_ns));
        }
        let rto_ns = srtt_ns + (4 * rttvar_ns).max(self.config.granularity_ns).max(tick_ns);
        self.base_rto_ns = rto_ns.next_multiple_of(tick_ns).max(self.config.min_ns);
        self.backoffs = 0;
    }

    /// Smoothed round-trip time, ns.
    pub fn srtt_ns(&self) -> Option<u64> {
        self.smoothed.map(|smoothed| smoothed.srtt_ns)
    }

    /// Its variation, ns.
    pub fn rttvar_ns(&self) -> Option<u64> {
        self.smoothed.map(|smoothed| smoothed.rttvar_ns)
    }

    /// The timeout now, ns.
    pub fn rto_ns(&self) -> u64 {
        self.base_rto_ns
            .saturating_mul(1u64.checked_shl(self.backoffs).unwrap_or(u64::MAX))
            .min(self.config.max_ns)
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
        self.base_rto_ns = self.base_rto_ns.max(3_000_000_000);
        self.backoffs = 0;
    }
}

/// When each segment in flight was sent, so that every acknowledgment of segments sent once is a measurement
/// to the nanosecond; no timestamp option is needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendTimes {
    /// (end of the segment, time sent); the time is none when any of it was sent again (Karn).
    sent: VecDeque<(u64, Option<u64>)>,
}

impl SendTimes {
    /// A segment that ends before `end` was sent for the first time.
    pub(crate) fn sent(&mut self, end: u64, now_ns: u64) {
        self.sent.push_back((end, Some(now_ns)));
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

    /// Everything below `acknowledged` arrived at `now_ns`. The measurement, unless a part was sent twice.
    pub(crate) fn acknowledged(&mut self, acknowledged: u64, now_ns: u64) -> Option<u64> {
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
        last.filter(|_| !ambiguous).map(|sent| now_ns.saturating_sub(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn estimator(min_ns: u64) -> RttEstimator {
        RttEstimator::new(RtoConfig {
            min_ns,
            ..RtoConfig::default()
        })
    }

    #[test]
    fn the_numbers_of_rfc_6298() {
        let mut rtt = estimator(0);
        assert_eq!(rtt.rto_ns(), 1000 * MS, "rule 2.1");
        rtt.sample(100 * MS);
        assert_eq!((rtt.srtt_ns(), rtt.rttvar_ns()), (Some(100 * MS), Some(50 * MS)));
        assert_eq!(rtt.rto_ns(), 300 * MS, "rule 2.2: R + 4 R/2");
        rtt.sample(200 * MS);
        // Rule 2.3: rttvar first, from the old srtt: 3/4 50 + 1/4 100; srtt = 7/8 100 + 1/8 200.
        assert_eq!(rtt.rttvar_ns(), Some(62_500_000));
        assert_eq!(rtt.srtt_ns(), Some(112_500_000));
        assert_eq!(rtt.rto_ns(), 362_500_000);
    }

    #[test]
    fn a_coarse_clock_measures_whole_ticks_and_rounds_the_timeout_up() {
        let mut rtt = RttEstimator::new(RtoConfig {
            min_ns: 0,
            tick_ns: 10 * MS,
            ..RtoConfig::default()
        });
        rtt.sample(64 * MS);
        // 6 ticks: 60 + 4 x 30.
        assert_eq!(rtt.rto_ns(), 180 * MS);
        assert_eq!(rtt.srtt_ns(), Some(64 * MS), "who paces needs more than ticks");
        rtt.sample(66 * MS);
        // 7 ticks: rttvar 3/4 30 + 1/4 10 = 25, srtt 61.25: 161.25, up to whole ticks.
        assert_eq!(rtt.rto_ns(), 170 * MS);
        let mut short = RttEstimator::new(RtoConfig {
            min_ns: 0,
            tick_ns: 10 * MS,
            ..RtoConfig::default()
        });
        for _ in 0..100 {
            short.sample(MS);
        }
        assert_eq!(short.rto_ns(), 20 * MS, "one tick measured, and one of granularity");
    }

    #[test]
    fn the_timeout_has_a_floor_doubles_and_has_a_ceiling() {
        let mut rtt = estimator(1000 * MS);
        rtt.sample(MS);
        assert_eq!(rtt.rto_ns(), 1000 * MS, "rule 2.4");
        for expected_s in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto_ns(), expected_s * 1000 * MS);
        }
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto_ns(), 60_000 * MS);
        rtt.sample(MS);
        assert_eq!(rtt.rto_ns(), 1000 * MS, "a measurement ends the back-off");
    }

    #[test]
    fn a_segment_that_was_sent_twice_measures_nothing() {
        let mut times = SendTimes::default();
        for i in 1..=4 {
            times.sent(i * 100, i * MS);
        }
        times.resent(100, 200);
        assert_eq!(times.acknowledged(100, 11 * MS), Some(10 * MS));
        assert_eq!(times.acknowledged(300, 20 * MS), None, "covers a retransmission");
        assert_eq!(times.acknowledged(400, 20 * MS), Some(16 * MS));
        assert_eq!(times.acknowledged(400, 30 * MS), None, "nothing new");
    }
}
