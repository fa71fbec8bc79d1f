// SPDX-License-Identifier: Apache-2.0
//! Assembly of bursts at an edge: packets join open bursts, and P4 is asked about each one that is closed.
//!
//! ```text
//! packet ──> open burst ── TRAIN_TICK ──> P4 ── TRAIN_LABEL ──> what the card has for it
//! ```

use slotwise_units::{Bytes, Instant};
use slotwise_wire::PORT_LINECARD;

use crate::aggregation::Closed;
use crate::burst_memory::BurstMemory;
use crate::card::{Action, Actions, Expiry, Pass, Then as CardThen, TimerId};
use crate::message::burst::burst_tick;
use crate::packet::Packet;
use crate::timer::Timer;
use crate::{DropCause, Port};

/// A packet about to join an open burst.
#[derive(Debug)]
pub struct Joining {
    /// Output port of the packet.
    pub port: Port,
    /// Its queue.
    pub queue: u16,
    /// The packet.
    pub packet: Packet,
    /// Its length, as links count it, and that of its payload.
    pub bytes: (Bytes, Bytes),
}

/// Continuation after a question about a closed burst.
#[derive(Debug)]
pub enum Then {
    /// The packet joins that the burst was closed for.
    Join(Box<Joining>),
    /// The next due burst is closed.
    CloseDue,
}

/// Open bursts, and those that P4 is asked about.
pub struct Assembly {
    /// Bursts and the memory that they share with others.
    pub card: BurstMemory,
    /// Port that questions name.
    port: Port,
    number: TimerId,
    timer: Timer,
}

impl Assembly {
    /// An empty one. Its questions name a port, which is also its timer.
    pub fn new(card: BurstMemory, port: Port) -> Assembly {
        Assembly {
            card,
            port,
            number: port,
            timer: Timer::default(),
        }
    }

    /// The same with another timer.
    #[must_use]
    pub fn with_timer(mut self, timer: TimerId) -> Assembly {
        self.number = timer;
        self
    }

    /// Takes a packet. `closes`: it begins a burst, or has no room in the open one.
    pub fn take(&mut self, now: Instant, joining: Joining, closes: bool, out: &mut Actions) {
        match self.card.close_before(now, joining.queue, closes) {
            Some(closed) => self.ask(now, closed, Then::Join(Box::new(joining)), out),
            None => self.join(now, joining, out),
        }
    }

    fn join(&mut self, now: Instant, joining: Joining, out: &mut Actions) {
        let Joining {
            port,
            queue,
            packet,
            bytes,
        } = joining;
        if let Err((cause, packet)) = self.card.join(now, queue, packet, bytes) {
            let frame = packet.frame;
            out.push(Action::Drop { port, cause, frame });
        }
        self.set_timer(now, out);
    }

    fn ask(&mut self, now: Instant, closed: Closed, then: Then, out: &mut Actions) {
        let message = burst_tick(self.port, &self.card.ask(now, closed));
        out.ask(&message, None, CardThen::Assembly(self.port, then));
    }

    /// Continues after a question: a burst without an answer is lost. True if the next one is to be closed that is due.
    pub fn goes_on(&mut self, now: Instant, then: Then, pass: Pass, out: &mut Actions) -> bool {
        let unanswered = match pass {
            Pass::Done { .. } => self.card.take_unanswered(),
            Pass::Later => None,
        };
        for packet in unanswered.into_iter().flat_map(|burst| burst.frames) {
            let (port, cause, frame) = (PORT_LINECARD, DropCause::Refused, packet.frame);
            out.push(Action::Drop { port, cause, frame });
        }
        match then {
            Then::Join(joining) => self.join(now, *joining, out),
            Then::CloseDue => return true,
        }
        false
    }

    /// The timer has expired.
    pub fn expires(&mut self, now: Instant) {
        self.timer.expires(now);
    }

    /// Closes a burst that is due; false if none is.
    pub fn close_due(&mut self, now: Instant, out: &mut Actions) -> bool {
        let closed = self.card.close_due(now);
        let is_due = closed.is_some();
        if let Some(closed) = closed {
            self.ask(now, closed, Then::CloseDue, out);
        }
        is_due
    }

    /// Sets the timer to what is due next, if that is earlier.
    pub fn set_timer(&mut self, now: Instant, out: &mut Actions) {
        if let Some(at) = self.card.next_tick() {
            self.timer.set(at.max(now), (self.number, Expiry::First), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Duration;
    use slotwise_wire::TrainLabel;

    use super::*;
    use crate::aggregation::{Aggregation, BurstTimer, Intervals};
    use crate::packet::optical_frame;

    const PORT: Port = 256;
    const INTERVAL: Duration = Duration::from_ms(1);

    fn assembly(limit: u64) -> Assembly {
        let intervals = Intervals {
            interval: INTERVAL,
            timer: BurstTimer::FirstPacket,
            dither: false,
            seed: 1,
            edge: 0,
        };
        let aggregation = Aggregation::new(intervals, 4);
        Assembly::new(BurstMemory::new(Bytes::new(limit), Some(aggregation), None), PORT)
    }

    fn take(assembly: &mut Assembly, now: Instant, closes: bool) -> Actions {
        let joining = Joining {
            port: PORT + 1,
            queue: 2,
            packet: Packet::unborn(optical_frame(2, 0)),
            bytes: (Bytes::new(1000), Bytes::new(900)),
        };
        let mut out = Actions::default();
        assembly.take(now, joining, closes, &mut out);
        out
    }

    fn question(out: Actions) -> Then {
        match <[Action; 1]>::try_from(out.list).unwrap() {
            [
                Action::Ask {
                    then: CardThen::Assembly(PORT, then),
                    ..
                },
            ] => then,
            other => panic!("a question, not {other:?}"),
        }
    }

    fn lost(out: &Actions) -> Vec<(Port, DropCause)> {
        let lost = |action: &Action| match action {
            Action::Drop { port, cause, .. } => Some((*port, *cause)),
            _ => None,
        };
        out.list.iter().filter_map(lost).collect()
    }

    #[test]
    fn a_burst_is_closed_for_a_packet_and_by_its_interval() {
        let mut assembly = assembly(10_000);
        let start = Instant::ZERO;
        let out = take(&mut assembly, start, false);
        let end = start + INTERVAL;
        assert!(matches!(out.list[..], [Action::Timer { timer: PORT, at, .. }] if at == end));
        assert!(take(&mut assembly, start, false).list.is_empty(), "the timer is set");
        let then = question(take(&mut assembly, start, true));
        let answer = TrainLabel {
            queue: 2,
            packets: 2,
            tag: 7,
            ..TrainLabel::default()
        };
        assert!(matches!(assembly.card.answer_in_star(&answer), Ok((7, burst)) if burst.frames.len() == 2));
        let mut out = Actions::default();
        assert!(!assembly.goes_on(start, then, Pass::Done { outputs: 1 }, &mut out));
        assert!(lost(&out).is_empty());
        assert_eq!(assembly.card.open_bytes(2).get(), 1000, "the packet has joined");
        assembly.expires(end);
        out.list.clear();
        assert!(assembly.close_due(end, &mut out));
        let then = question(out);
        let mut out = Actions::default();
        assert!(
            assembly.goes_on(end, then, Pass::Done { outputs: 0 }, &mut out),
            "others may be due"
        );
        assert_eq!(lost(&out), [(PORT_LINECARD, DropCause::Refused)], "P4 had no answer");
        assert!(!assembly.close_due(end, &mut out));
    }

    #[test]
    fn a_switch_outside_may_answer_later() {
        let mut assembly = assembly(10_000);
        take(&mut assembly, Instant::ZERO, false);
        let then = question(take(&mut assembly, Instant::ZERO, true));
        let mut out = Actions::default();
        assert!(!assembly.goes_on(Instant::ZERO, then, Pass::Later, &mut out));
        assert!(lost(&out).is_empty());
        let answer = TrainLabel {
            queue: 2,
            packets: 1,
            ..TrainLabel::default()
        };
        assert!(assembly.card.answer_in_star(&answer).is_ok());
    }

    #[test]
    fn a_packet_without_room_is_lost_at_its_port() {
        let mut assembly = assembly(1500);
        take(&mut assembly, Instant::ZERO, false);
        let out = take(&mut assembly, Instant::ZERO, false);
        assert_eq!(lost(&out), [(PORT + 1, DropCause::QueueFull)]);
    }
}
