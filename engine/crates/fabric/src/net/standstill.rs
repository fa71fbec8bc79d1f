// SPDX-License-Identifier: Apache-2.0
//! Time that does not go on: events that schedule each other at one instant, without an end.

/// More events than any network has at one time: it takes some seconds to get there.
pub(crate) const MOST_AT_ONCE: u64 = 10_000_000;

use slotwise_units::Instant;

/// Why a network runs no further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "simulated time stuck at {at}: more than {events} events at this time, last: {last}; this is a bug in the engine"
)]
pub struct Standstill {
    /// Simulated time.
    pub at: Instant,
    /// Events that took place at this time.
    pub events: u64,
    /// The next one, and where it would have taken place.
    pub last: String,
}

/// Counts what happens at one time.
pub(crate) struct AtOnce {
    pub(crate) most: u64,
    pub(super) count: u64,
    pub(crate) found: Option<Standstill>,
}

impl Default for AtOnce {
    fn default() -> AtOnce {
        AtOnce {
            most: MOST_AT_ONCE,
            count: 0,
            found: None,
        }
    }
}
