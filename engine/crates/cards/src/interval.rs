// SPDX-License-Identifier: Apache-2.0
//! The interval timers that a line card has for an output with XCP (docs/architecture.md, "XCP").

use slotwise_wire::{FlowControl, FlowOp, IntervalTick, IntervalTimer, TIMER_RETRY_NS};

use crate::DropCause;

/// Shortest time from an answer to the next tick: whatever it is told, a card leaves time for packets.
pub const MIN_INTERVAL_NS: u64 = 100_000;

#[derive(Clone, Copy)]
struct Timer {
    due_ns: u64,
    /// When it last expired: what an answer counts from.
    ticked_ns: u64,
    /// Smallest backlog since the last tick.
    least_bytes: u64,
}

/// The two timers of one output.
pub struct IntervalTimers {
    control: Timer,
    queue: Timer,
}

impl IntervalTimers {
    /// Both tick at `now_ns`.
    pub fn new(now_ns: u64) -> IntervalTimers {
        let timer = Timer {
            due_ns: now_ns,
            ticked_ns: now_ns,
            least_bytes: 0,
        };
        IntervalTimers {
            control: timer,
            queue: timer,
        }
    }

    /// Notes the backlog; to be called before a packet joins the queue, when the backlog is smallest.
    #[inline]
    pub fn observe(&mut self, backlog_bytes: u64) {
        self.control.least_bytes = self.control.least_bytes.min(backlog_bytes);
        self.queue.least_bytes = self.queue.least_bytes.min(backlog_bytes);
    }

    /// When the next one expires.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.control.due_ns.min(self.queue.due_ns)
    }

    /// The tick of a timer that has expired by `now_ns`, the QUEUE timer first. Until it is set it ticks again.
    pub fn tick(&mut self, now_ns: u64, backlog_bytes: u64) -> Option<IntervalTick> {
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
            ticked_ns: timer.due_ns,
            least_bytes: backlog_bytes,
        };
        Some(tick)
    }

    /// Sets a timer as the answer to its last tick says, which may come later than that: the next tick is `value_ns` after the
    /// last, and not too soon from now. False if that is no time to come.
    pub fn answer(&mut self, timer: IntervalTimer, now_ns: u64, value_ns: u64) -> bool {
        let timer = match timer {
            IntervalTimer::Control => &mut self.control,
            IntervalTimer::Queue => &mut self.queue,
        };
        let due_ns = timer.ticked_ns.checked_add(value_ns).filter(|_| value_ns > 0);
        if let Some(due_ns) = due_ns {
            timer.due_ns = due_ns.max(now_ns + MIN_INTERVAL_NS);
        }
        due_ns.is_some()
    }

    /// Obeys a flow-control message, the answer to a tick, if there are timers. Anything else changes nothing.
    pub fn obey(timers: Option<&mut IntervalTimers>, now_ns: u64, message: &FlowControl) -> Result<(), DropCause> {
        let timer = match FlowOp::try_from(message.op) {
            Ok(FlowOp::SetControlTimer) => IntervalTimer::Control,
            Ok(FlowOp::SetQueueTimer) => IntervalTimer::Queue,
            _ => return Err(DropCause::Malformed),
        };
        let is_set = timers.is_some_and(|timers| timers.answer(timer, now_ns, message.value));
        is_set.then_some(()).ok_or(DropCause::Malformed)
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
        assert!(timers.answer(IntervalTimer::Queue, 0, 200_000));
        timers.observe(300);
        assert_eq!(timers.next_ns(), 200_000);
        assert_eq!(ticks(&mut timers, 200_000, 500), [(QUEUE, 200_000, 300)]);
        assert!(timers.answer(IntervalTimer::Queue, 200_000, 100_000));
        assert_eq!(ticks(&mut timers, 300_000, 900), [(QUEUE, 300_000, 500)]);
        assert_eq!(timers.next_ns(), u64::from(TIMER_RETRY_NS), "unanswered");
    }

    #[test]
    fn an_answer_counts_from_its_tick_however_late_it_comes() {
        const MS: u64 = 1_000_000;
        let mut timers = IntervalTimers::new(0);
        while timers.tick(MS, 0).is_some() {}
        assert!(timers.answer(IntervalTimer::Queue, 2 * MS, 20 * MS));
        assert!(timers.answer(IntervalTimer::Control, 3 * MS, 50 * MS));
        assert_eq!(timers.next_ns(), 20 * MS);
        // Its driver is late, its timer is not.
        assert_eq!(timers.tick(21 * MS, 0).unwrap().local_ns, 20 * MS);
        assert!(timers.answer(IntervalTimer::Queue, 22 * MS, MS));
        assert_eq!(
            timers.next_ns(),
            22 * MS + MIN_INTERVAL_NS,
            "never in the past, never at once"
        );
        assert!(!timers.answer(IntervalTimer::Queue, 22 * MS, 0));
        assert!(!timers.answer(IntervalTimer::Queue, 22 * MS, u64::MAX));
    }
}
