// SPDX-License-Identifier: Apache-2.0
//! Rates, and the time that data takes at a rate: all transmission times are computed here.

use crate::{Bytes, Duration};

const NS_PER_S: u128 = 1_000_000_000;

/// A rate of data, bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Rate(u64);

impl Rate {
    /// The rate of what never sends.
    pub const ZERO: Rate = Rate(0);
    /// The highest rate; stands for "no limit".
    pub const MAX: Rate = Rate(u64::MAX);

    /// Makes a rate of bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// Returns the rate of data in a duration (over 0), rounded down. At most [`Rate::MAX`].
    #[inline]
    pub fn of(bytes: Bytes, duration: Duration) -> Rate {
        let bps = bytes.bits() * NS_PER_S / u128::from(duration.ns());
        Rate(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Returns the least rate at which data takes no longer than a duration (over 0). At most [`Rate::MAX`].
    #[inline]
    pub fn of_rounded_up(bytes: Bytes, duration: Duration) -> Rate {
        let bps = (bytes.bits() * NS_PER_S).div_ceil(u128::from(duration.ns()));
        Rate(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Returns the bits per second.
    #[inline]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Returns the product, at most [`Rate::MAX`].
    #[inline]
    pub const fn saturating_mul(self, factor: u64) -> Rate {
        Rate(self.0.saturating_mul(factor))
    }

    /// Returns the time that data takes, rounded up; the rate is over 0. At most [`Duration::MAX`].
    #[inline]
    pub fn time(self, bytes: Bytes) -> Duration {
        saturated((bytes.bits() * NS_PER_S).div_ceil(u128::from(self.0)))
    }

    /// Returns the time that data takes, rounded down; the rate is over 0. At most [`Duration::MAX`]. For times that are counted
    /// from one moment on, so that rounding does not add up.
    #[inline]
    pub fn time_rounded_down(self, bytes: Bytes) -> Duration {
        saturated(bytes.bits() * NS_PER_S / u128::from(self.0))
    }

    /// Returns the whole bytes that a duration has room for. At most [`Bytes::MAX`].
    #[inline]
    pub fn bytes_in(self, duration: Duration) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(duration.ns()) / (8 * NS_PER_S);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

#[inline]
fn saturated(ns: u128) -> Duration {
    Duration::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_is_rounded_up_to_whole_nanoseconds() {
        let rate = Rate::from_bps(10_000_000_000);
        assert_eq!(rate.time(Bytes::new(1500)), Duration::from_ns(1200));
        assert_eq!(rate.time(Bytes::new(1)), Duration::from_ns(1));
        assert_eq!(rate.time_rounded_down(Bytes::new(1)), Duration::ZERO);
        assert_eq!(Rate::from_bps(1).time(Bytes::MAX), Duration::MAX);
    }

    #[test]
    fn a_rate_is_rounded_as_asked() {
        let (bytes, duration) = (Bytes::new(1), Duration::from_s(3));
        assert_eq!(Rate::of(bytes, duration), Rate::from_bps(2));
        assert_eq!(Rate::of_rounded_up(bytes, duration), Rate::from_bps(3));
        assert_eq!(Rate::of(Bytes::MAX, Duration::from_ns(1)), Rate::MAX);
        assert_eq!(Rate::of_rounded_up(Bytes::MAX, Duration::from_ns(1)), Rate::MAX);
    }

    proptest! {
        #[test]
        fn what_takes_a_time_has_room_in_it(bps in 1..=1_000_000_000_000u64, bytes in 0..=1_000_000_000u64) {
            let (rate, bytes) = (Rate::from_bps(bps), Bytes::new(bytes));
            let time = rate.time(bytes);
            prop_assert!(rate.bytes_in(time) >= bytes);
            prop_assert!(time.is_zero() || rate.bytes_in(time - Duration::from_ns(1)) <= bytes);
            prop_assert!(time - rate.time_rounded_down(bytes) <= Duration::from_ns(1));
            if !time.is_zero() {
                prop_assert!(Rate::of(bytes, time) <= rate);
                prop_assert!(Rate::of_rounded_up(bytes, time).time(bytes) <= time);
            }
        }
    }
}
