// SPDX-License-Identifier: Apache-2.0
//! A rate that a queue is let out at: a leaky bucket one packet deep.

use crate::transmission_ns;

/// When the next packet may leave.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacer {
    /// 0 is unlimited.
    rate_bps: u64,
    until_ns: u64,
}

impl Pacer {
    /// The first time from `now_ns` on at which a packet may leave.
    #[inline]
    pub fn next_ns(&self, now_ns: u64) -> u64 {
        self.until_ns.max(now_ns)
    }

    /// A packet of so many bytes leaves now.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, bytes: u64) {
        if self.rate_bps > 0 {
            self.until_ns = now_ns + transmission_ns(bytes, self.rate_bps);
        }
    }

    /// Another rate counts from now on, 0 for none; what has been paid of the last packet is paid.
    pub fn set_rate(&mut self, now_ns: u64, rate_bps: u64) {
        let left_ns = self.until_ns.saturating_sub(now_ns);
        if left_ns > 0 {
            let left = u128::from(left_ns) * u128::from(self.rate_bps);
            let left_ns = left.checked_div(u128::from(rate_bps)).unwrap_or(0);
            self.until_ns = now_ns.saturating_add(u64::try_from(left_ns).unwrap_or(u64::MAX));
        }
        self.rate_bps = rate_bps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_waits_until_the_one_before_it_is_paid() {
        let mut pacer = Pacer::default();
        pacer.sent(0, 1000);
        assert_eq!(pacer.next_ns(0), 0, "no rate");
        pacer.set_rate(0, 8_000_000);
        pacer.sent(0, 1000);
        assert_eq!((pacer.next_ns(0), pacer.next_ns(2_000_000)), (1_000_000, 2_000_000));
        pacer.set_rate(250_000, 4_000_000);
        assert_eq!(pacer.next_ns(0), 1_750_000, "three quarters at half the rate");
        pacer.set_rate(250_000, 1);
        pacer.set_rate(250_000, u64::MAX);
        assert_eq!(pacer.next_ns(250_000), 250_000);
    }
}
