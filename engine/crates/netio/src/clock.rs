// SPDX-License-Identifier: Apache-2.0
//! The wall clock as fabric time, and scheduling priority.

use nix::time::{ClockId, clock_gettime};

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
        WallClock { start_ns: monotonic_ns() }
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        monotonic_ns() - self.start_ns
    }
}

/// Gives the calling thread real-time priority (SCHED_FIFO), so that slots are on time on a busy machine.
///
/// # Errors
/// What the kernel said; a loop without the priority is late more often but correct.
pub fn be_realtime(priority: i32) -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a live local; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_goes_back() {
        let clock = WallClock::start();
        let readings: Vec<u64> = (0..1000).map(|_| clock.now_ns()).collect();
        assert!(readings.is_sorted());
    }
}
