// SPDX-License-Identifier: Apache-2.0
//! The interval timers that a line card has for an output with XCP (docs/architecture.md, "XCP").

use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::{FlowControl, FlowOp, IntervalTick, IntervalTimer, TIMER_RETRY_NS};

use crate::DropCause;

/// Shortest time from an answer to the next tick: whatever it is told, a card leaves time for packets.
pub const MIN_INTERVAL: Duration = Duration::from_us(100);

/// Time without an answer after which a timer ticks again.
const RETRY: Duration = Duration::from_ns(TIMER_RETRY_NS as u64);

#[derive(Clone, Copy)]
struct Timer {
    due: Instant,
    /// When it last expired: what an answer counts from.
    ticked: Instant,
    /// Smallest backlog since the last tick.
    least: Bytes,
}

/// The two timers of one output.
pub struct IntervalTimers {
    control: Timer,
    queue: Timer,
}

impl IntervalTimers {
    /// Both tick now.
    pub fn new(now: Instant) -> IntervalTimers {
        let timer = Timer {
            due: now,
            ticked: now,
            least: Bytes::ZERO,
        };
        IntervalTimers {
            control: timer,
            queue: timer,
        }
    }

    /// Notes the backlog; to be called before a packet joins the queue, when the backlog is smallest.
    #[inline]
    pub fn observe(&mut self, backlog: Bytes) {
        self.control.least = self.control.least.min(backlog);
        self.queue.least = self.queue.least.min(backlog);
    }

    /// Time at which the next one expires.
    #[inline]
    pub fn next(&self) -> Instant {
        self.control.due.min(self.queue.due)
    }

    /// The tick of a timer that has expired by `now`, the QUEUE timer first. Until it is set it ticks again.
    pub fn tick(&mut self, now: Instant, backlog: Bytes) -> Option<IntervalTick> {
        let candidates = [
            (IntervalTimer::Queue, &mut self.queue),
            (IntervalTimer::Control, &mut self.control),
        ];
        let (name, timer) = candidates.into_iter().find(|(_, timer)| timer.due <= now)?;
        let tick = IntervalTick {
            timer: name.into(),
            least_backlog_bytes: u32::try_from(timer.least.min(backlog).get()).unwrap_or(u32::MAX),
            local_ns: timer.due.ns(),
        };
        *timer = Timer {
            due: now + RETRY,
            ticked: timer.due,
            least: backlog,
        };
        Some(tick)
    }

    /// Sets a timer as the answer to its last tick says, which may come later than that: the next tick is `value` after the
    /// last, and not too soon from now. False if that is no time to come.
    pub fn answer(&mut self, timer: IntervalTimer, now: Instant, value: Duration) -> bool {
        let timer = match timer {
            IntervalTimer::Control => &mut self.control,
            IntervalTimer::Queue => &mut self.queue,
        };
        let due = timer.ticked.checked_add(value).filter(|_| !value.is_zero());
        if let Some(due) = due {
            timer.due = due.max(now + MIN_INTERVAL);
        }
        due.is_some()
    }

    /// Applies a flow-control message, the answer to a tick, to its timer; ignores other messages.
    pub fn apply(timers: Option<&mut IntervalTimers>, now: Instant, message: &FlowControl) -> Result<(), DropCause> {
        let timer = match FlowOp::try_from(message.op) {
            Ok(FlowOp::SetControlTimer) => IntervalTimer::Control,
            Ok(FlowOp::SetQueueTimer) => IntervalTimer::Queue,
            _ => return Err(DropCause::Malformed),
        };
        let is_set = timers.is_some_and(|timers| timers.answer(timer, now, Duration::from_ns(message.value)));
        is_set.then_some(()).ok_or(DropCause::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn timers_tick_until_they_are_set_and_report_the_smallest_backlog() {
        const QUEUE: u8 = IntervalTimer::Queue as u8;
        const CONTROL: u8 = IntervalTimer::Control as u8;
        let mut timers = IntervalTimers::new(Instant::ZERO);
        let ticks = |timers: &mut IntervalTimers, now_ns, backlog| -> Vec<(u8, u64, u32)> {
            let tick = || timers.tick(at(now_ns), Bytes::new(backlog));
            let all = std::iter::from_fn(tick);
            all.map(|tick| (tick.timer, tick.local_ns, tick.least_backlog_bytes))
                .collect()
        };
        assert_eq!(ticks(&mut timers, 0, 700), [(QUEUE, 0, 0), (CONTROL, 0, 0)]);
        assert!(timers.answer(IntervalTimer::Queue, at(0), Duration::from_ns(200_000)));
        timers.observe(Bytes::new(300));
        assert_eq!(timers.next().ns(), 200_000);
        assert_eq!(ticks(&mut timers, 200_000, 500), [(QUEUE, 200_000, 300)]);
        assert!(timers.answer(IntervalTimer::Queue, at(200_000), Duration::from_ns(100_000)));
        assert_eq!(ticks(&mut timers, 300_000, 900), [(QUEUE, 300_000, 500)]);
        assert_eq!(timers.next().ns(), u64::from(TIMER_RETRY_NS), "unanswered");
    }

    #[test]
    fn an_answer_counts_from_its_tick_however_late_it_comes() {
        const MS: u64 = 1_000_000;
        let mut timers = IntervalTimers::new(Instant::ZERO);
        while timers.tick(at(MS), Bytes::ZERO).is_some() {}
        assert!(timers.answer(IntervalTimer::Queue, at(2 * MS), Duration::from_ns(20 * MS)));
        assert!(timers.answer(IntervalTimer::Control, at(3 * MS), Duration::from_ns(50 * MS)));
        assert_eq!(timers.next().ns(), 20 * MS);
        // Its driver is late, its timer is not.
        assert_eq!(timers.tick(at(21 * MS), Bytes::ZERO).unwrap().local_ns, 20 * MS);
        assert!(timers.answer(IntervalTimer::Queue, at(22 * MS), Duration::from_ns(MS)));
        assert_eq!(
            timers.next().ns(),
            22 * MS + MIN_INTERVAL.ns(),
            "never in the past, never at once"
        );
        assert!(!timers.answer(IntervalTimer::Queue, at(22 * MS), Duration::from_ns(0)));
        assert!(!timers.answer(IntervalTimer::Queue, at(22 * MS), Duration::from_ns(u64::MAX)));
    }
}
