// SPDX-License-Identifier: Apache-2.0
//! A rate that a queue is let out at: a leaky bucket one packet deep.

use slotwise_units::{Bytes, Duration, FineData, Instant, Rate};

/// When the next packet may leave.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacer {
    /// 0 is unlimited.
    rate: Rate,
    until: Instant,
}

impl Pacer {
    /// Returns the first time from now on at which a packet may leave.
    #[inline]
    pub fn next(&self, now: Instant) -> Instant {
        self.until.max(now)
    }

    /// A packet of so many bytes leaves now.
    #[inline]
    pub fn sent(&mut self, now: Instant, bytes: Bytes) {
        if self.rate > Rate::ZERO {
            self.until = now.saturating_add(self.rate.time(bytes));
        }
    }

    /// Another rate counts from now on, 0 for none; what has been paid of the last packet is paid.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        let left = self.until.saturating_since(now);
        if !left.is_zero() {
            let left = FineData::of(self.rate, left).nanobits();
            let left_ns = left.checked_div(u128::from(rate.bps())).unwrap_or(0);
            let left = Duration::from_ns(u64::try_from(left_ns).unwrap_or(u64::MAX));
            self.until = now.saturating_add(left);
        }
        self.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_packet_waits_until_the_one_before_it_is_paid() {
        let mut pacer = Pacer::default();
        pacer.sent(at(0), Bytes::new(1000));
        assert_eq!(pacer.next(at(0)), at(0), "no rate");
        pacer.set_rate(at(0), Rate::from_bps(8_000_000));
        pacer.sent(at(0), Bytes::new(1000));
        assert_eq!(
            [at(0), at(2_000_000)].map(|now| pacer.next(now)),
            [at(1_000_000), at(2_000_000)]
        );
        pacer.set_rate(at(250_000), Rate::from_bps(4_000_000));
        assert_eq!(pacer.next(at(0)), at(1_750_000), "three quarters at half the rate");
        pacer.set_rate(at(250_000), Rate::from_bps(1));
        pacer.set_rate(at(250_000), Rate::MAX);
        assert_eq!(pacer.next(at(250_000)), at(250_000));
    }
}
