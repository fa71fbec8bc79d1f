// SPDX-License-Identifier: Apache-2.0
//! Time of a run. It has nothing to do with the time of the machine: `std::time` is for what runs by a wall clock.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::quantity::amount;

/// A length of time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Duration(u64);

amount!(Duration);

impl Duration {
    /// Makes a duration of nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns)
    }

    /// Makes a duration of microseconds, below 2^64 ns.
    #[inline]
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000)
    }

    /// Makes a duration of milliseconds, below 2^64 ns.
    #[inline]
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms * 1_000_000)
    }

    /// Makes a duration of seconds, below 2^64 ns.
    #[inline]
    pub const fn from_s(s: u64) -> Duration {
        Duration(s * 1_000_000_000)
    }

    /// Returns the number of nanoseconds.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Returns the duration with a sign. It is below 2^63 ns.
    #[inline]
    pub const fn signed(self) -> SignedDuration {
        SignedDuration(self.0 as i64)
    }

    /// Returns the duration in seconds.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the duration in milliseconds.
    #[inline]
    pub fn milliseconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl std::fmt::Display for Duration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

/// A length of time with a sign, ns: how much later one point in time is than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct SignedDuration(i64);

impl SignedDuration {
    /// The length 0.
    pub const ZERO: SignedDuration = SignedDuration(0);

    /// Makes a signed duration of nanoseconds.
    #[inline]
    pub const fn from_ns(ns: i64) -> SignedDuration {
        SignedDuration(ns)
    }

    /// Returns the number of nanoseconds.
    #[inline]
    pub const fn ns(self) -> i64 {
        self.0
    }

    /// Returns the length without its sign.
    #[inline]
    pub const fn abs(self) -> Duration {
        Duration(self.0.unsigned_abs())
    }
}

impl std::fmt::Display for SignedDuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl Add for SignedDuration {
    type Output = SignedDuration;
    #[inline]
    fn add(self, other: SignedDuration) -> SignedDuration {
        SignedDuration(self.0 + other.0)
    }
}

impl Sub for SignedDuration {
    type Output = SignedDuration;
    #[inline]
    fn sub(self, other: SignedDuration) -> SignedDuration {
        SignedDuration(self.0 - other.0)
    }
}

impl AddAssign for SignedDuration {
    #[inline]
    fn add_assign(&mut self, other: SignedDuration) {
        self.0 += other.0;
    }
}

impl std::iter::Sum for SignedDuration {
    fn sum<I: Iterator<Item = SignedDuration>>(durations: I) -> SignedDuration {
        durations.fold(SignedDuration::ZERO, Add::add)
    }
}

/// A point in time, ns since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// The last point in time; stands for "never".
    pub const MAX: Instant = Instant(u64::MAX);

    /// Makes the point in time so many nanoseconds after the start.
    #[inline]
    pub const fn from_ns(ns: u64) -> Instant {
        Instant(ns)
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Returns the time since the start.
    #[inline]
    pub const fn since_start(self) -> Duration {
        Duration(self.0)
    }

    /// Returns how much later the point is than another. Both are below 2^63 ns.
    #[inline]
    pub const fn signed_since(self, other: Instant) -> SignedDuration {
        SignedDuration(self.0 as i64 - other.0 as i64)
    }

    /// Returns the time since an earlier point; 0 if that is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time since an earlier point; `None` if that is later.
    #[inline]
    pub const fn checked_since(self, earlier: Instant) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Some(Duration(ns)),
            None => None,
        }
    }

    /// Returns the point so much later, at most [`Instant::MAX`].
    #[inline]
    pub const fn saturating_add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(duration.0))
    }

    /// Returns the point so much later; `None` if it is out of range.
    #[inline]
    pub const fn checked_add(self, duration: Duration) -> Option<Instant> {
        match self.0.checked_add(duration.0) {
            Some(ns) => Some(Instant(ns)),
            None => None,
        }
    }

    /// Returns the point so much earlier, at least [`Instant::ZERO`].
    #[inline]
    pub const fn saturating_sub(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_sub(duration.0))
    }

    /// Returns the point so much earlier; `None` if it is before the start.
    #[inline]
    pub const fn checked_sub(self, duration: Duration) -> Option<Instant> {
        match self.0.checked_sub(duration.0) {
            Some(ns) => Some(Instant(ns)),
            None => None,
        }
    }
}

impl std::fmt::Display for Instant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration.0;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0 - duration.0)
    }
}

impl SubAssign<Duration> for Instant {
    #[inline]
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration.0;
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Returns the time since an earlier point. A later one panics in builds with overflow checks.
    #[inline]
    fn sub(self, earlier: Instant) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_durations_add_and_subtract() {
        let start = Instant::from_ns(70);
        assert_eq!(start + Duration::from_us(2), Instant::from_ns(2_070));
        assert_eq!(Instant::from_ns(2_070) - start, Duration::from_us(2));
        assert_eq!(start.saturating_since(Instant::from_ns(71)), Duration::ZERO);
        assert_eq!(start.checked_since(Instant::from_ns(71)), None);
        assert_eq!(start.checked_sub(Duration::from_ns(71)), None);
        assert_eq!(Instant::MAX.saturating_add(Duration::from_s(1)), Instant::MAX);
        assert_eq!(Instant::MAX.checked_add(Duration::from_ns(1)), None);
    }

    #[test]
    fn a_difference_of_instants_has_a_sign() {
        let (start, end) = (Instant::from_ns(70), Instant::from_ns(100));
        assert_eq!(end.signed_since(start), SignedDuration::from_ns(30));
        assert_eq!(start.signed_since(end), SignedDuration::from_ns(-30));
        assert_eq!(start.signed_since(end).abs(), end - start);
        let mut sum = start.signed_since(end) + SignedDuration::from_ns(1);
        sum += end.signed_since(start);
        assert_eq!(sum.to_string(), "1 ns");
        assert_eq!(sum - (end - start).signed(), SignedDuration::from_ns(-29));
        assert_eq!([sum; 3].into_iter().sum::<SignedDuration>().ns(), 3);
    }

    #[test]
    fn a_duration_counts_others() {
        let frame = Duration::from_ms(5);
        assert_eq!(frame / Duration::from_us(250), 20);
        assert_eq!(frame / 20, Duration::from_us(250));
        assert_eq!(frame % Duration::from_ms(3), Duration::from_ms(2));
        assert_eq!(frame.div_ceil(Duration::from_ms(3)), 2);
        assert_eq!([frame; 3].into_iter().sum::<Duration>(), 3 * frame);
    }
}
