// SPDX-License-Identifier: Apache-2.0
//! Cards of a star in time slots: of an edge and of a core.

mod bursts;
mod clock;
mod control;
mod core;
mod edge;
mod local_clock;
mod sync_errors;

use slotwise_units::{Duration, Instant};

pub use self::bursts::Bursts;
pub use self::control::ControlLink;
pub use self::core::Core;
pub use self::edge::{Arrived, Edge, FibreSettings, FibreState};
pub use self::local_clock::{Drift, Jump, LocalClock};
pub use self::sync_errors::{SyncError, SyncErrors};

/// Division of time at the cores of a star. Slots count from the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// Start of slot 0.
    pub epoch: Instant,
    /// Slots of a frame.
    pub count: u64,
    /// Length of a slot.
    pub slot: Duration,
    /// First part of a slot, which stays dark.
    pub guard: Duration,
    /// First slots of a frame, which carry nothing but signaling.
    pub signaling: u64,
}

impl Slots {
    /// Length of a frame.
    pub fn frame(&self) -> Duration {
        self.slot * self.count
    }

    /// Start of a slot at the cores.
    pub fn start(&self, slot: u64) -> Instant {
        self.epoch + self.slot * slot
    }

    /// True if light from a time on keeps clear of the guard and of the end of its slot.
    pub fn have_room(&self, at: Instant, duration: Duration) -> bool {
        at.checked_since(self.epoch).is_some_and(|since| {
            let offset = since % self.slot;
            offset >= self.guard && offset + duration <= self.slot
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_has_room_between_the_guard_and_the_end_of_a_slot() {
        let slots = Slots {
            epoch: Instant::from_ns(1000),
            count: 4,
            slot: Duration::from_ns(100),
            guard: Duration::from_ns(10),
            signaling: 1,
        };
        assert_eq!(slots.frame(), Duration::from_ns(400));
        assert_eq!(slots.start(3), Instant::from_ns(1300));
        let has_room = |at, duration| slots.have_room(Instant::from_ns(at), Duration::from_ns(duration));
        assert!(has_room(1110, 90) && has_room(1150, 50));
        assert!(!has_room(1109, 1), "guard");
        assert!(!has_room(1110, 91), "across the end");
        assert!(!has_room(999, 1), "before the epoch");
    }
}
