// SPDX-License-Identifier: Apache-2.0
//! Units as types: instants, durations, rates and bytes of simulated networks.
//!
//! Each is a whole number in one unit, so that sums are exact and runs repeat to the bit. A number becomes a value where it
//! comes from outside (a scenario, a wire, the operating system) and a number again where it goes there.
//!
//! ```
//! use slotwise_units::{Bytes, Duration, Instant, Rate};
//!
//! let rate = Rate::from_bps(1_000_000_000);
//! let arrives = Instant::ZERO + rate.time(Bytes::new(1250)) + Duration::from_us(50);
//! assert_eq!(arrives, Instant::from_ns(60_000));
//! ```
//!
//! [`Dimension`] reads and prints them as people write them.

mod fine;
mod quantity;
mod rate;
mod time;
mod written;

pub use fine::{DataTime, FineData, FineInstant};
pub use quantity::Bytes;
pub use rate::Rate;
pub use time::{Duration, Instant, SignedDuration};
pub use written::{Dimension, NotAQuantity};
