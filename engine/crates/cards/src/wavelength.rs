// SPDX-License-Identifier: Apache-2.0
//! Wavelength of a fibre in one direction, behind a port of an optical packet switch or of an edge.

use slotwise_units::{Bytes, Duration, Instant};

use crate::card::{Action, Actions, Lane, Record};
use crate::message::burst::{self as message, InLight};
use crate::optical_ram::ByteTime;
use crate::packet::{Flying, Frame, Packet};
use crate::{DropCause, Port};

/// A wavelength.
#[derive(Debug, Clone, Copy)]
pub struct Wavelength {
    /// Its lane.
    pub lane: Lane,
    /// Propagation delay.
    pub delay: Duration,
    /// Time of a byte.
    pub byte_time: ByteTime,
    /// True if it leads to an edge, where a frame arrives with its tail; at a switch it arrives with its head.
    pub to_edge: bool,
}

impl Wavelength {
    /// Arrival of a frame of this duration that begins to leave at a time.
    #[inline]
    pub fn arrival(&self, start: Instant, duration: Duration) -> Instant {
        let tail = if self.to_edge { duration } else { Duration::ZERO };
        start + self.delay + tail
    }

    /// Time that so many bytes take.
    #[inline]
    pub(crate) fn duration(&self, bytes: Bytes) -> Duration {
        self.byte_time.time(bytes)
    }

    /// A frame of this duration, of a burst of this program, enters and arrives at a time.
    #[inline]
    pub(crate) fn enter(&self, (at, duration): (Instant, Duration), packet: Packet, program: u32, out: &mut Actions) {
        out.push(Action::Enter {
            lane: self.lane,
            at,
            flying: Flying {
                packet,
                duration,
                program,
            },
        });
    }

    /// Loses the frames that have not begun to leave.
    pub fn cut(&self, port: Port, cause: DropCause, out: &mut Actions) {
        let Wavelength {
            lane, delay, to_edge, ..
        } = *self;
        out.push(Action::Cut {
            lane,
            port,
            cause,
            delay,
            by_tail: to_edge,
        });
    }
}

/// Bytes of a frame that links count: all but its framing.
#[inline]
pub(crate) fn counted(frame: &[u8], framing: Bytes) -> Bytes {
    Bytes::of(frame.len()).saturating_sub(framing)
}

/// Loses a frame before a port. With a label its burst is lost.
pub(crate) fn lose(port: Port, cause: DropCause, frame: Frame, program: u32, out: &mut Actions) {
    if let Some(InLight::First(label, _)) = message::read(&frame) {
        out.push(Action::Seen(Record::BurstLost { label, program }));
    }
    out.push(Action::Drop { port, cause, frame });
}
