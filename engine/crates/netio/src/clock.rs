// SPDX-License-Identifier: Apache-2.0
//! The wall clock as fabric time.

use nix::time::{ClockId, clock_gettime};
use slotwise_units::Instant;

/// CLOCK_MONOTONIC, counted from a start.
#[derive(Debug, Clone, Copy)]
pub struct WallClock {
    start_ns: u64,
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has CLOCK_MONOTONIC");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

impl WallClock {
    /// A clock that is 0 now.
    pub fn start() -> WallClock {
        WallClock {
            start_ns: monotonic_ns(),
        }
    }

    /// The time since the start.
    pub fn now(&self) -> Instant {
        Instant::from_ns(monotonic_ns() - self.start_ns)
    }

    /// Sleeps until [`WallClock::now`] would return `wake`; a signal may end it earlier.
    pub fn sleep_until(&self, wake: Instant) {
        let wake_ns = self.start_ns + wake.ns();
        let time = libc::timespec {
            tv_sec: (wake_ns / 1_000_000_000) as _,
            tv_nsec: (wake_ns % 1_000_000_000) as _,
        };
        // SAFETY: the pointer is to a live local; what is left is not asked for.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const time,
                std::ptr::null_mut(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_goes_back() {
        let clock = WallClock::start();
        let readings: Vec<Instant> = (0..1000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
    }
}
