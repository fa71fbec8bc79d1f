// SPDX-License-Identifier: Apache-2.0
//! Clock of slots before one fibre: local time, T_d, and when slots start.

use slotwise_units::{Duration, Instant};
use slotwise_wire::{Ethernet, FlowControl, FlowOp, Optical, OpticalKind, Stamp};

use super::{Jump, LocalClock, Slots};
use crate::DropCause;
use crate::gates::SlotStart;
use crate::message;
use crate::packet::Frame;
use crate::time_difference::TimeDifference;

const STAMP_AT: usize = Ethernet::SIZE + Optical::SIZE;

/// A card has an oscillator beside its clock: a jump of the clock by so much in a slot is none of the oscillator's. Less
/// is far below the margin that gates keep, and is measured away.
const NOTICED: Duration = Duration::from_ns(100);

/// Number of settings of a clock with different timers.
pub(super) const GENERATIONS: u16 = 1 << 10;

/// Next start of a slot, for a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NextStart {
    /// Network time.
    pub(super) at: Instant,
    /// Number of the setting that it follows from. A timer of another one is stale.
    pub(super) generation: u16,
}

/// Effect of a jump on a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Jumped {
    /// It is network time.
    Ideal,
    /// T_d still holds, if it is set.
    Goes,
    /// T_d is lost.
    Lost,
}

/// Clock of slots.
pub(super) struct SlotClock {
    slots: Slots,
    clock: LocalClock,
    /// T_d: how much earlier than at the core its slots start. Without one there are no slots.
    time_difference: Option<TimeDifference>,
    /// The clock has jumped or is new: no T_d is right before an invitation was answered by it.
    must_answer: bool,
    /// Time of the tick that P4 wants to answer an invitation with.
    answer: Option<Instant>,
    next_slot: u64,
    generation: u16,
}

impl SlotClock {
    /// A clock with a T_d, or without one.
    pub(super) fn new(slots: Slots, clock: LocalClock, time_difference: Option<Duration>) -> SlotClock {
        SlotClock {
            slots,
            clock,
            time_difference: time_difference.map(TimeDifference::constant),
            must_answer: false,
            answer: None,
            next_slot: 0,
            generation: 0,
        }
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(super) fn has_slots(&self) -> bool {
        self.time_difference.is_some()
    }

    pub(super) fn local(&mut self, now: Instant) -> Instant {
        self.clock.local(now)
    }

    /// Local start of a slot; `None` without T_d.
    fn start(&self, slot: u64) -> Option<Instant> {
        let time = self.time_difference?;
        Some(time.local_start(self.slots.start(slot), self.slots.frame()))
    }

    /// Next start of a slot, now or later.
    pub(super) fn next_start(&mut self, now: Instant) -> Option<NextStart> {
        let local = self.start(self.next_slot)?;
        Some(NextStart {
            at: self.clock.network(local).max(now),
            generation: self.generation,
        })
    }

    /// A slot starts, unless the timer is stale.
    pub(super) fn starts(&mut self, now: Instant, generation: u16) -> Option<SlotStart> {
        if generation != self.generation {
            return None;
        }
        let slot = self.next_slot;
        let local = self.start(slot)?;
        let last_frame = now.since_start().saturating_sub(self.slots.frame());
        self.clock.forget_before(Instant::ZERO + last_frame);
        self.next_slot = slot + 1;
        Some(SlotStart { slot, local })
    }

    /// Slot at the core while light that leaves now reaches it.
    pub(super) fn slot_at_core(&self, now: Instant, delay: Duration) -> u64 {
        (now + delay).saturating_since(self.slots.epoch) / self.slots.slot
    }

    /// Turns gate times of a message, which are local, into network time.
    pub(super) fn in_network_time(&mut self, message: &mut FlowControl) {
        let opens = message.op == u8::from(FlowOp::Open) || message.op == u8::from(FlowOp::OpenAndTick);
        if opens {
            for at_ns in [&mut message.open_ns, &mut message.close_ns] {
                *at_ns = self.clock.network(Instant::from_ns(*at_ns)).ns();
            }
        }
    }

    /// Applies a T_d set by P4. Returns true if it is the first T_d: then the next slot is the first one.
    pub(super) fn set(&mut self, now: Instant, message: &FlowControl) -> Result<bool, DropCause> {
        let local = self.clock.local(now);
        if self.must_answer {
            return Err(DropCause::Stopped);
        }
        let set = TimeDifference::from_message(message, local, self.slots.frame()).ok_or(DropCause::Malformed)?;
        let was_lost = self.time_difference.replace(set).is_none();
        if was_lost {
            let since = set.at_core(local).checked_since(self.slots.epoch);
            self.next_slot = since.map_or(0, |since| since / self.slots.slot + 1);
        }
        self.sets_anew();
        Ok(was_lost)
    }

    /// P4 takes T_d away.
    pub(super) fn stop(&mut self) {
        self.time_difference = None;
        self.sets_anew();
    }

    /// Loses T_d, measured by another clock than this one is now. True if it differs from network time.
    pub(super) fn lose(&mut self) -> bool {
        let is_own = self.clock.is_own();
        if is_own {
            self.answer = None;
            self.must_answer = true;
            self.stop();
        }
        is_own
    }

    /// The clock jumps.
    pub(super) fn jumps(&mut self, jump: Jump) -> Jumped {
        if !self.clock.is_own() {
            return Jumped::Ideal;
        }
        self.clock.jumps(jump);
        if jump.size() >= NOTICED {
            self.lose();
            return Jumped::Lost;
        }
        if self.has_slots() {
            self.sets_anew();
        }
        Jumped::Goes
    }

    fn sets_anew(&mut self) {
        self.generation = (self.generation + 1) % GENERATIONS;
    }

    /// P4 answers an invitation with a tick at a time.
    pub(super) fn is_to_answer(&mut self, at: Instant) {
        self.must_answer = false;
        self.answer = Some(at);
    }

    /// Local time of the answer if it is due.
    pub(super) fn answers(&mut self, now: Instant) -> Option<Instant> {
        self.answer.take_if(|at| *at == now)?;
        Some(self.local(now))
    }

    /// Writes when the first bit left, or came, where a message has a place for it.
    pub(super) fn stamp(&mut self, frame: &mut Frame, first_bit: Instant, came: bool) {
        let stamped = |kind| kind == u8::from(OpticalKind::Invitation) || kind == u8::from(OpticalKind::Sync);
        if !message::optical(frame).is_some_and(|optical| stamped(optical.kind)) {
            return;
        }
        let Some(mut stamp) = frame.get(STAMP_AT..).and_then(Stamp::decode) else {
            return;
        };
        let local_ns = self.local(first_bit).ns();
        *(if came {
            &mut stamp.received_ns
        } else {
            &mut stamp.sent_ns
        }) = local_ns;
        frame[STAMP_AT..STAMP_AT + Stamp::SIZE].copy_from_slice(&stamp.encode());
    }
}
