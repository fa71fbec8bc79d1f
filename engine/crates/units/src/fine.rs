// SPDX-License-Identifier: Apache-2.0
//! Amounts that are exact where whole nanoseconds and bytes are not: points in time, and products with a time.

use std::ops::AddAssign;

use crate::{Bytes, Duration, Instant, Rate};

/// A point in time in 2^-16 ns since the start of the run: what rounding takes of a time between packets does not add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct FineInstant(u128);

impl FineInstant {
    /// Parts of a nanosecond.
    const PARTS: u128 = 1 << 16;

    /// Makes the point of one in whole nanoseconds.
    #[inline]
    pub const fn of(instant: Instant) -> FineInstant {
        FineInstant(instant.ns() as u128 * FineInstant::PARTS)
    }

    /// Returns the point that is the time of the data later, in whole parts, rounded down; the rate is over 0.
    #[inline]
    pub const fn after(self, rate: Rate, bytes: Bytes) -> FineInstant {
        FineInstant(self.0 + bytes.get() as u128 * 8_000_000_000 * FineInstant::PARTS / rate.bps() as u128)
    }

    /// Returns the last nanosecond that is not later.
    #[inline]
    pub const fn rounded_down(self) -> Instant {
        Instant::from_ns((self.0 / FineInstant::PARTS) as u64)
    }

    /// Returns the first nanosecond that is not earlier.
    #[inline]
    pub const fn rounded_up(self) -> Instant {
        Instant::from_ns(self.0.div_ceil(FineInstant::PARTS) as u64)
    }
}

/// An amount of data in 10^-9 bits: what a rate lets through in whole nanoseconds, without rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct FineData(u128);

impl FineData {
    /// Returns what a rate lets through in a duration.
    #[inline]
    pub const fn of(rate: Rate, duration: Duration) -> FineData {
        FineData(rate.bps() as u128 * duration.ns() as u128)
    }

    /// Returns the number of 10^-9 bits.
    #[inline]
    pub const fn nanobits(self) -> u128 {
        self.0
    }
}

impl AddAssign for FineData {
    #[inline]
    fn add_assign(&mut self, other: FineData) {
        self.0 += other.0;
    }
}

/// An amount of data integrated over time, byte ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct DataTime(u128);

impl DataTime {
    /// Returns the integral of an amount that stays for a duration.
    #[inline]
    pub const fn of(bytes: Bytes, duration: Duration) -> DataTime {
        DataTime(bytes.get() as u128 * duration.ns() as u128)
    }

    /// Returns the number of byte nanoseconds.
    #[inline]
    pub const fn byte_ns(self) -> u128 {
        self.0
    }
}

impl AddAssign for DataTime {
    #[inline]
    fn add_assign(&mut self, other: DataTime) {
        self.0 += other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_a_time_add_up_without_rounding() {
        let (rate, bytes, third) = (Rate::from_bps(1), Bytes::new(7), Duration::from_ns(3));
        let (mut let_through, mut waited) = (FineData::default(), DataTime::default());
        for _ in 0..2 {
            let_through += FineData::of(rate, third);
            waited += DataTime::of(bytes, third);
        }
        assert_eq!((let_through.nanobits(), waited.byte_ns()), (6, 42));
        let most = u128::from(u64::MAX).pow(2);
        assert_eq!(FineData::of(Rate::MAX, Duration::MAX).nanobits(), most);
        assert_eq!(DataTime::of(Bytes::MAX, Duration::MAX).byte_ns(), most);
    }

    #[test]
    fn a_third_of_a_nanosecond_adds_up() {
        // 1250 bytes at 3 Gb/s take 3333.3 ns.
        let rate = Rate::from_bps(3_000_000_000);
        let start = Instant::from_ns(1_000);
        let after = |packets| (0..packets).fold(FineInstant::of(start), |at, _| at.after(rate, Bytes::new(1250)));
        assert_eq!(after(0).rounded_up(), start);
        assert_eq!(after(1).rounded_down(), Instant::from_ns(4_333));
        assert_eq!(after(1).rounded_up(), Instant::from_ns(4_334));
        // Packet by packet in whole nanoseconds it would be 3,334,000 or 3,333,000.
        assert_eq!(after(1_000).rounded_up(), Instant::from_ns(3_334_334));
    }
}
