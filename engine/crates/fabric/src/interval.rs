// SPDX-License-Identifier: Apache-2.0
//! The interval timers that a line card has for an output with XCP (docs/architecture.md, "XCP").

use slotwise_wire::{IntervalTick, IntervalTimer, TIMER_RETRY_NS};

#[derive(Clone, Copy)]
struct Timer {
    due_ns: u64,
    /// Smallest backlog since the last tick.
    least_bytes: u64,
}

/// The two timers of one output.
pub(crate) struct IntervalTimers {
    control: Timer,
    queue: Timer,
}

impl IntervalTimers {
    /// Both tick at `now_ns`.
    pub(crate) fn new(now_ns: u64) -> IntervalTimers {
        let timer = Timer {
            due_ns: now_ns,
            least_bytes: 0,
        };
        IntervalTimers {
            control: timer,
            queue: timer,
        }
    }

    /// Notes the backlog; to be called before a packet joins the queue, when the backlog is smallest.
    pub(crate) fn observe(&mut self, backlog_bytes: u64) {
        self.control.least_bytes = self.control.least_bytes.min(backlog_bytes);
        self.queue.least_bytes = self.queue.least_bytes.min(backlog_bytes);
    }

    /// When the next one expires.
    pub(crate) fn next_ns(&self) -> u64 {
        self.control.due_ns.min(self.queue.due_ns)
    }

    /// The tick of a timer that has expired by `now_ns`, the QUEUE timer first. Until it is set it ticks again.
    pub(crate) fn tick(&mut self, now_ns: u64, backlog_bytes: u64) -> Option<IntervalTick> {
        let candidates = [
            (IntervalTimer::Queue, &mut self.queue),
            (IntervalTimer::Control, &mut self.control),
        ];
        let (name, timer) = candidates.into_iter().find(|(_, timer)| timer.due_ns <= now_ns)?;
        let tick = IntervalTick {
            timer: name.into(),
            least_backlog_bytes: u32::try_from(timer.least_bytes.min(backlog_bytes)).unwrap_or(u32::MAX),
            local_ns: timer.due_ns,
        };
        *timer = Timer {
            due_ns: now_ns + u64::from(TIMER_RETRY_NS),
            least_bytes: backlog_bytes,
        };
        Some(tick)
    }

    /// Sets a timer.
    pub(crate) fn set(&mut self, timer: IntervalTimer, due_ns: u64) {
        match timer {
            IntervalTimer::Control => self.control.due_ns = due_ns,
            IntervalTimer::Queue => self.queue.due_ns = due_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_tick_until_they_are_set_and_report_the_smallest_backlog() {
        const QUEUE: u8 = IntervalTimer::Queue as u8;
        const CONTROL: u8 = IntervalTimer::Control as u8;
        let mut timers = IntervalTimers::new(0);
        let ticks = |timers: &mut IntervalTimers, now_ns, backlog| -> Vec<(u8, u64, u32)> {
            let tick = || timers.tick(now_ns, backlog);
            let all = std::iter::from_fn(tick);
            all.map(|tick| (tick.timer, tick.local_ns, tick.least_backlog_bytes))
                .collect()
        };
        assert_eq!(ticks(&mut timers, 0, 700), [(QUEUE, 0, 0), (CONTROL, 0, 0)]);
        timers.set(IntervalTimer::Queue, 2000);
        timers.observe(300);
        assert_eq!(timers.next_ns(), 2000);
        assert_eq!(ticks(&mut timers, 2000, 500), [(QUEUE, 2000, 300)]);
        timers.set(IntervalTimer::Queue, 2500);
        assert_eq!(ticks(&mut timers, 2500, 900), [(QUEUE, 2500, 500)]);
        assert_eq!(timers.next_ns(), u64::from(TIMER_RETRY_NS), "unanswered");
    }
}
