// SPDX-License-Identifier: Apache-2.0
//! Ticks of the interval timers of a queue: questions to P4, one at a time.

use slotwise_units::{Duration, Instant};
use slotwise_wire::{FlowControl, IntervalTick};

use crate::card::{Actions, Expiry, Then, TimerId};
use crate::interval::IntervalTimers;
use crate::linecard::QueueState;
use crate::message::interval_tick;
use crate::timer::Timer;
use crate::{DropCause, Port};

/// Queue with the interval timers of an XCP agent.
pub trait IntervalQueue {
    /// Interval timers; `None` without an agent.
    fn timers(&self) -> Option<&IntervalTimers>;

    /// Interval timers, mutable; `None` without an agent.
    fn timers_mut(&mut self) -> Option<&mut IntervalTimers>;

    /// State of the queue at a time, for a tick.
    fn state(&mut self, now: Instant) -> QueueState;

    /// Hook before a tick is sent to P4.
    fn before_tick(&self, _port: Port, _tick: &IntervalTick, _out: &mut Actions) {}

    /// Expiry of the next timer.
    fn next_tick(&self) -> Option<Instant> {
        self.timers().map(IntervalTimers::next)
    }

    /// Tick of a timer that has expired by now, with the state of the queue.
    fn tick(&mut self, now: Instant) -> Option<(IntervalTick, QueueState)> {
        self.timers()?;
        let state = self.state(now);
        let tick = self.timers_mut()?.tick(now, state.backlog_bytes)?;
        Some((tick, state))
    }

    /// Applies a flow-control message, the answer to a tick; ignores other messages.
    fn control(&mut self, now: Instant, message: &FlowControl) -> Result<(), DropCause> {
        IntervalTimers::apply(self.timers_mut(), now, message)
    }
}

/// Timer of a card for the ticks of one queue.
pub struct Ticks {
    port: Port,
    id: TimerId,
    timer: Timer,
    /// True while a question to P4 is open.
    is_asking: bool,
}

impl Ticks {
    /// Creates the timer of a queue behind a port, which the network has set to the first tick.
    pub fn new(port: Port, id: TimerId, queue: &impl IntervalQueue) -> Ticks {
        Ticks {
            port,
            id,
            timer: Timer::set_to(queue.next_tick()),
            is_asking: false,
        }
    }

    /// Applies a message of P4, which may set an interval timer at once or later. Returns false for any other message.
    pub fn told(
        &mut self,
        now: Instant,
        queue: &mut impl IntervalQueue,
        message: &FlowControl,
        out: &mut Actions,
    ) -> bool {
        let is_set = queue.control(now, message).is_ok();
        if is_set && !self.is_asking {
            self.set(now, queue, out);
        }
        is_set
    }

    /// Handles the expiry of the timer.
    pub fn due(&mut self, now: Instant, queue: &mut impl IntervalQueue, out: &mut Actions) {
        if self.timer.expires(now) {
            self.ask(now, queue, out);
        }
    }

    /// Continues after a question.
    pub fn goes_on(&mut self, now: Instant, queue: &mut impl IntervalQueue, out: &mut Actions) {
        self.is_asking = false;
        self.ask(now, queue, out);
    }

    fn ask(&mut self, now: Instant, queue: &mut impl IntervalQueue, out: &mut Actions) {
        let port = self.port;
        match queue.tick(now) {
            Some((tick, state)) => {
                self.is_asking = true;
                queue.before_tick(port, &tick, out);
                let then = Then::Ticks { timer: self.id };
                out.ask(&interval_tick(port, &tick, port, &state), None, then);
            }
            None => self.set(now, queue, out),
        }
    }

    /// Sets the timer to the next tick if that is earlier.
    fn set(&mut self, now: Instant, queue: &impl IntervalQueue, out: &mut Actions) {
        if let Some(next) = queue.next_tick() {
            let at = next.max(now + Duration::from_ns(1));
            self.timer.set(at, (self.id, Expiry::First), out);
        }
    }
}
