// SPDX-License-Identifier: Apache-2.0
//! Amounts that add up, and the amount of data.

/// Arithmetic of a newtype over `u64` whose values are amounts: they add up, and parts of them are amounts again. As with `u64`,
/// a result out of range panics in builds with overflow checks.
macro_rules! amount {
    ($name:ident) => {
        impl $name {
            /// The amount 0.
            pub const ZERO: $name = $name(0);
            /// The largest amount; stands for "no limit".
            pub const MAX: $name = $name(u64::MAX);

            /// Returns whether the amount is 0.
            #[inline]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }

            /// Returns the sum, at most [`Self::MAX`].
            #[inline]
            pub const fn saturating_add(self, other: $name) -> $name {
                $name(self.0.saturating_add(other.0))
            }

            /// Returns the difference, at least 0.
            #[inline]
            pub const fn saturating_sub(self, other: $name) -> $name {
                $name(self.0.saturating_sub(other.0))
            }

            /// Returns the product, at most [`Self::MAX`].
            #[inline]
            pub const fn saturating_mul(self, factor: u64) -> $name {
                $name(self.0.saturating_mul(factor))
            }

            /// Returns the sum; `None` if it is out of range.
            #[inline]
            pub const fn checked_add(self, other: $name) -> Option<$name> {
                match self.0.checked_add(other.0) {
                    Some(sum) => Some($name(sum)),
                    None => None,
                }
            }

            /// Returns the difference; `None` if it is negative.
            #[inline]
            pub const fn checked_sub(self, other: $name) -> Option<$name> {
                match self.0.checked_sub(other.0) {
                    Some(difference) => Some($name(difference)),
                    None => None,
                }
            }

            /// Returns how often `other` (over 0) is contained, rounded up.
            #[inline]
            pub const fn div_ceil(self, other: $name) -> u64 {
                self.0.div_ceil(other.0)
            }

            /// Returns the least multiple of `other` (over 0) that is not below the amount.
            #[inline]
            pub const fn next_multiple_of(self, other: $name) -> $name {
                $name(self.0.next_multiple_of(other.0))
            }

            /// Returns the distance of two amounts.
            #[inline]
            pub const fn abs_diff(self, other: $name) -> $name {
                $name(self.0.abs_diff(other.0))
            }
        }

        impl std::ops::Add for $name {
            type Output = $name;
            #[inline]
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0)
            }
        }

        impl std::ops::Sub for $name {
            type Output = $name;
            #[inline]
            fn sub(self, other: $name) -> $name {
                $name(self.0 - other.0)
            }
        }

        impl std::ops::AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: $name) {
                self.0 += other.0;
            }
        }

        impl std::ops::SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: $name) {
                self.0 -= other.0;
            }
        }

        impl std::ops::Mul<u64> for $name {
            type Output = $name;
            #[inline]
            fn mul(self, factor: u64) -> $name {
                $name(self.0 * factor)
            }
        }

        impl std::ops::Mul<$name> for u64 {
            type Output = $name;
            #[inline]
            fn mul(self, amount: $name) -> $name {
                $name(self * amount.0)
            }
        }

        impl std::ops::Div<u64> for $name {
            type Output = $name;
            #[inline]
            fn div(self, parts: u64) -> $name {
                $name(self.0 / parts)
            }
        }

        /// Returns how often `other` is contained, rounded down.
        impl std::ops::Div for $name {
            type Output = u64;
            #[inline]
            fn div(self, other: $name) -> u64 {
                self.0 / other.0
            }
        }

        impl std::ops::Rem for $name {
            type Output = $name;
            #[inline]
            fn rem(self, other: $name) -> $name {
                $name(self.0 % other.0)
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = $name>>(amounts: I) -> $name {
                $name(amounts.map(|amount| amount.0).sum())
            }
        }
    };
}
pub(crate) use amount;

/// An amount of data, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[repr(transparent)]
pub struct Bytes(u64);

amount!(Bytes);

impl Bytes {
    /// Makes an amount of a number of bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// Returns the length of something in memory.
    #[inline]
    pub const fn of(length: usize) -> Bytes {
        Bytes(length as u64)
    }

    /// Returns the number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bits.
    #[inline]
    pub const fn bits(self) -> u128 {
        self.0 as u128 * 8
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}
