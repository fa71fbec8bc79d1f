// SPDX-License-Identifier: Apache-2.0
//! Bursts before a fibre: packets are put together between slots, and each burst leaves whole in one slot. P4 chooses the VOQ
//! where it waits for that.
//!
//! ```text
//! P4 ── FIRST, MIDDLE ──> open burst ── TRAIN_TICK ──> P4 ── TRAIN_LABEL ──> VOQ ── slot ──> light
//! ```

use slotwise_units::{Bytes, Instant};
use slotwise_wire::{Optical, OpticalKind, TrainPart};

use crate::assembly::{Assembly, Joining, Then};
use crate::burst::{Burst, payload_bytes};
use crate::burst_memory::BurstMemory;
use crate::card::{Action, Actions, Pass};
use crate::linecard::LineCard;
use crate::message::burst::burst_label;
use crate::message::{ToCard, optical};
use crate::packet::{Frame, Packet};
use crate::{DropCause, Port};

/// Bytes of a burst that P4 believes a tick of.
const MOST: Bytes = Bytes::new(0xff_ffff);

/// Frame of a burst that has left, if more of the burst follows.
type Leaving = (u16, u32, u64);

/// Open bursts before a fibre, and the burst that leaves.
pub struct Bursts {
    port: Port,
    assembly: Assembly,
    /// Size of a burst: what an open slot carries.
    most: Bytes,
    /// Longest frame on the fibre.
    most_of_frame: Bytes,
    /// Queue, sequence number and slot of the frame that left last, if its burst goes on.
    leaving: Option<Leaving>,
}

impl Bursts {
    /// Bursts before a port. `most` is what an open slot carries, `most_of_frame` the longest frame on the fibre.
    pub fn new(port: Port, card: BurstMemory, most: Bytes, most_of_frame: Bytes) -> Bursts {
        Bursts {
            port,
            assembly: Assembly::new(card, port),
            most: most.min(MOST),
            most_of_frame,
            leaving: None,
        }
    }

    /// Gives back what waits for P4 or for more packets.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Frame> + use<> {
        self.leaving = None;
        let frames = self.assembly.card.take_all().into_iter().flat_map(|burst| burst.frames);
        frames.map(|packet| packet.frame)
    }

    /// A packet joins the open burst of its queue; given back if it is of no burst.
    pub(super) fn takes(&mut self, now: Instant, packet: Packet, out: &mut Actions) -> Option<Packet> {
        let parts = [TrainPart::First, TrainPart::Middle].map(u8::from);
        let is_data = u8::from(OpticalKind::Data);
        let of_burst =
            optical(&packet.frame).filter(|optical| optical.kind == is_data && parts.contains(&optical.train));
        let Some(optical) = of_burst else {
            return Some(packet);
        };
        let (port, bytes) = (self.port, Bytes::of(packet.frame.len()));
        let cause = match self.assembly.card.aggregates(optical.queue) {
            false => Some(DropCause::NoSuchQueue),
            true if bytes > self.most_of_frame => Some(DropCause::TooLong),
            true => None,
        };
        if let Some(cause) = cause {
            let frame = packet.frame;
            out.push(Action::Drop { port, cause, frame });
            return None;
        }
        let is_over = self.assembly.card.open_bytes(optical.queue) + bytes > self.most;
        let closes = is_over || optical.train == parts[0];
        let carried = payload_bytes(&packet.frame);
        let joining = Joining {
            port,
            queue: optical.queue,
            packet,
            bytes: (bytes, carried),
        };
        self.assembly.take(now, joining, closes, out);
        None
    }

    /// P4 was asked for the VOQ of a burst.
    pub(super) fn goes_on(&mut self, now: Instant, then: Then, pass: Pass, out: &mut Actions) {
        if self.assembly.goes_on(now, then, pass, out) {
            self.close_next(now, out);
        }
    }

    /// Takes the VOQ of a burst, as P4 has chosen it. True if a queue has it now, false if it is lost; `None` if that is nothing for this card.
    pub(super) fn is_told(
        &mut self,
        now: Instant,
        message: &ToCard,
        queues: &mut LineCard,
        out: &mut Actions,
    ) -> Option<bool> {
        let (answer, _) = burst_label(message)?;
        let (voq, Burst { frames, .. }) = self.assembly.card.answer_in_star(&answer).ok()?;
        let queued = queues.enqueue_burst(now, voq, frames);
        let is_queued = queued.is_ok();
        if let Err((cause, frames)) = queued {
            let port = self.port;
            out.list.extend(frames.into_iter().map(|packet| {
                let frame = packet.frame;
                Action::Drop { port, cause, frame }
            }));
        }
        Some(is_queued)
    }

    /// Closes the bursts whose interval is over.
    pub(super) fn close_due(&mut self, now: Instant, out: &mut Actions) {
        self.assembly.expires(now);
        self.close_next(now, out);
    }

    /// Closes a burst that is due, and the next one after the answer of P4.
    fn close_next(&mut self, now: Instant, out: &mut Actions) {
        if !self.assembly.close_due(now, out) {
            self.assembly.set_timer(now, out);
        }
    }

    /// A frame leaves in a slot: those of a burst follow each other, in one slot, in order. Its header if that is not so.
    pub(super) fn is_split(&mut self, slot: u64, frame: &[u8]) -> Option<Optical> {
        let optical = optical(frame)?;
        let part = TrainPart::try_from(optical.train).unwrap_or(TrainPart::None);
        let expected = self.leaving.take();
        let follows = expected == Some((optical.queue, optical.sequence.wrapping_sub(1), slot));
        let is_whole = match part {
            TrainPart::Middle | TrainPart::Last => follows,
            TrainPart::None | TrainPart::First | TrainPart::Only => expected.is_none(),
        };
        if matches!(part, TrainPart::First | TrainPart::Middle) {
            self.leaving = Some((optical.queue, optical.sequence, slot));
        }
        (!is_whole).then_some(optical)
    }
}
