// SPDX-License-Identifier: Apache-2.0
//! Card between an edge and a fibre in time slots: queues and gates, reports, slot ticks and interval timers.
//!
//! Its owner has the clock and starts slots. The card reports its queues before its report slot, one after P4 has had
//! the other, then ticks, as often as messages may have to be sent in the slot.

use slotwise_units::{Duration, Instant, Rate};
use slotwise_wire::{SIGNALING_QUEUE, SlotTick};

use crate::card::{Action, Actions, Expiry, Program, Record, Then as CardThen};
use crate::linecard::{LineCard, Next};
use crate::message;
use crate::packet::{Origin, Packet};
use crate::{DropCause, Port};

/// Slots of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Their number.
    pub slots: u64,
    /// Length of one.
    pub slot: Duration,
    /// First slots, which carry nothing but signaling.
    pub signaling: u64,
}

/// Ticks of a card beside the first one of each slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// The slot of a frame before which it reports its queues.
    pub report_slot: u64,
    /// Ticks with `repeat >= 1` at the start of slot 0.
    pub first_slot: u16,
    /// The same at the start of each later signaling slot.
    pub signaling: u16,
}

/// Slot that starts at a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotStart {
    /// Its number since the epoch.
    pub slot: u64,
    /// Local time of the start.
    pub local: Instant,
}

/// Continuation of a card after a question to P4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The next VOQ that is reported before a slot.
    Report {
        /// The slot.
        start: SlotStart,
        /// VOQs that have been reported.
        reported: u16,
    },
    /// The next interval timer.
    Timer,
}

/// Queues and gates before one fibre, and their messages to P4.
pub struct Gates {
    port: Port,
    frame: Frame,
    ticks: Ticks,
    /// The queues.
    pub queues: LineCard,
    wake: Option<Instant>,
}

impl Gates {
    /// The card before an optical port.
    pub fn new(port: Port, queues: LineCard, frame: Frame, ticks: Ticks) -> Gates {
        Gates {
            port,
            frame,
            ticks,
            queues,
            wake: None,
        }
    }

    /// A slot starts here. A switch outside may answer a tick when its slot is over, but the next signaling slot leads to
    /// another edge: what is left of the last one is dropped.
    pub fn slot_starts(&mut self, now: Instant, start: SlotStart, program: Program, out: &mut Actions) {
        match program {
            Program::None => return,
            Program::Inside => {}
            Program::Outside => {
                for frame in self.queues.take_late(now) {
                    let (port, cause) = (self.port, DropCause::Late);
                    out.push(Action::Drop { port, cause, frame });
                }
            }
        }
        if start.slot % self.frame.slots == self.ticks.report_slot {
            self.report(now, start, 0, program, out);
        } else {
            self.tick(now, start, program, out);
        }
    }

    /// Reports the VOQs from one on, each after P4 has had the one before; then the slot ticks.
    pub fn report(&mut self, now: Instant, start: SlotStart, reported: u16, program: Program, out: &mut Actions) {
        let Some(voq) = self.queues.voq_numbers().nth(usize::from(reported)) else {
            return self.tick(now, start, program, out);
        };
        let state = self.queues.voq_state(now, voq);
        let (port, backlog) = (self.port, state.backlog_bytes);
        out.push(Action::Seen(Record::Reported { port, voq, backlog }));
        let message = message::queue_report(port, voq, &state);
        let reported = reported + 1;
        out.ask(&message, None, CardThen::Gates(port, Then::Report { start, reported }));
    }

    /// Ticks of a slot. Of a switch outside, messages made of them are of use until its end.
    fn tick(&mut self, now: Instant, start: SlotStart, program: Program, out: &mut Actions) {
        let slot_of_frame = start.slot % self.frame.slots;
        let repeats = match slot_of_frame {
            0 => self.ticks.first_slot,
            later if later < self.frame.signaling => self.ticks.signaling,
            _ => 0,
        };
        let until = (program == Program::Outside).then(|| now + self.frame.slot);
        for repeat in 0..=repeats {
            let tick = SlotTick {
                frame: (start.slot / self.frame.slots) as u32,
                slot: slot_of_frame as u16,
                repeat,
                local_ns: start.local.ns(),
            };
            out.ask(&message::slot_tick(self.port, &tick), until, CardThen::Nothing);
        }
    }

    /// Asks P4 with the tick of an interval timer that has expired, one after its answer to the other; false if none has.
    pub fn tick_timers(&mut self, now: Instant, program: Program, out: &mut Actions) -> bool {
        let port = self.port;
        while let Some((voq, tick)) = self.queues.tick(now) {
            if program != Program::None {
                let state = self.queues.voq_state(now, voq);
                let message = message::interval_tick(port, &tick, voq, &state);
                out.ask(&message, None, CardThen::Gates(port, Then::Timer));
                return true;
            }
        }
        false
    }

    /// Expiry of the next interval timer.
    pub fn next_tick(&self) -> Option<Instant> {
        self.queues.next_tick()
    }

    /// Takes a packet into the queue that it names.
    pub fn sends(&mut self, now: Instant, packet: Packet, from: Origin, rate: Rate, out: &mut Actions) {
        let queued = match from {
            Origin::Tick { until } => self.queues.enqueue_until(now, packet, until),
            _ => self.queues.enqueue(now, packet),
        };
        match queued {
            Ok(()) => self.drain(now, rate, out),
            Err((cause, packet)) => {
                let (port, frame) = (self.port, packet.frame);
                out.push(Action::Drop { port, cause, frame });
            }
        }
    }

    /// Sends what may leave into a fibre of a rate, and asks to be woken when more may.
    pub fn drain(&mut self, now: Instant, rate: Rate, out: &mut Actions) {
        let port = self.port;
        loop {
            match self.queues.poll(now, rate) {
                Next::Send {
                    packet,
                    queue,
                    duration,
                    new_demand,
                } => out.push(Action::Light {
                    port,
                    queue,
                    packet,
                    duration,
                    new_demand: new_demand.filter(|_| queue != SIGNALING_QUEUE),
                }),
                Next::At(at) => {
                    if self.wake.is_none_or(|known| at < known) {
                        self.wake = Some(at);
                        let (timer, expiry) = (port, Expiry::Last);
                        out.push(Action::Timer { timer, at, expiry });
                    }
                    return;
                }
                Next::Idle => return,
            }
        }
    }

    /// Drains the queues if they were to be looked at now.
    pub fn wakes(&mut self, now: Instant, rate: Rate, out: &mut Actions) {
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
            self.drain(now, rate, out);
        }
    }
}
