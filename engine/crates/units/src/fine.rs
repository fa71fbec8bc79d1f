// SPDX-License-Identifier: Apache-2.0
//! Points in time finer than a nanosecond, for what follows one another at a rate.

use crate::{Bytes, Instant, Rate};

/// A point in time in 2^-16 ns since the start of the run: what rounding takes of a time between packets does not add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

#[cfg(test)]
mod tests {
    use super::*;

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
