// SPDX-License-Identifier: Apache-2.0
//! Link between a core and its master.

use slotwise_units::{Duration, Instant};

use crate::card::{Action, Actions, Lane};
use crate::packet::{Flying, Frame, Packet};

/// One end of the link between a core and its master. It runs beside the fibre of the master and takes as long: the slot 0
/// of the master reaches the core when that of the core starts, after the tick of the core.
#[derive(Debug)]
pub struct ControlLink {
    lane: Lane,
    delay: Duration,
}

impl ControlLink {
    /// A link into a lane. The delay is that of the fibre.
    pub fn new(lane: Lane, delay: Duration) -> ControlLink {
        ControlLink { lane, delay }
    }

    /// Changes the delay, as that of the fibre has changed.
    pub fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// Sends a message to the far end.
    pub fn sends(&self, now: Instant, frame: Frame, out: &mut Actions) {
        out.push(Action::Enter {
            lane: self.lane,
            at: now + self.delay,
            flying: Flying::plain(Packet::unborn(frame)),
        });
    }
}
