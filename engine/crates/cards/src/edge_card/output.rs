// SPDX-License-Identifier: Apache-2.0
//! Outputs of an edge, and how light enters a wavelength.

use slotwise_units::{Bytes, Duration, Instant};

use crate::burst::Burst;
use crate::burst_queue::{BurstQueue, Labelled};
use crate::card::{Action, Actions, Record};
use crate::drawn_delay::DrawnDelay;
use crate::fifo::Fifo;
use crate::message::burst::{self as message, InLight};
use crate::ticks::Ticks;
use crate::wavelength::{Wavelength, counted};
use crate::{DropCause, Invariant, Port};

/// Queue before a wavelength.
pub(super) enum Before {
    /// Queue of packets, each a burst, which waits until it may begin to leave.
    Queue(Fifo),
    /// Queue of bursts that share memory, with its interval timers.
    Bursts(BurstQueue, Ticks),
}

/// Fibre between edges, over which a burst arrives as a whole.
#[derive(Default)]
pub struct Direct {
    delay: Option<DrawnDelay>,
    /// End of the last burst that entered.
    busy_until: Instant,
}

impl Direct {
    /// A fibre with an optional random delay beyond that of propagation.
    pub fn new(delay: Option<DrawnDelay>) -> Direct {
        let busy_until = Instant::ZERO;
        Direct { delay, busy_until }
    }

    /// A burst enters. True if another one has not entered as a whole.
    fn meets(&mut self, start: Instant, end: Instant) -> bool {
        let meets = self.busy_until > start;
        self.busy_until = self.busy_until.max(end);
        meets
    }
}

/// Output of an edge.
pub(super) struct Output {
    pub(super) before: Before,
    pub(super) wavelength: Wavelength,
    pub(super) direct: Option<Direct>,
    pub(super) is_dark: bool,
}

impl Output {
    pub(super) fn new(before: Before, wavelength: Wavelength) -> Output {
        Output {
            before,
            wavelength,
            direct: None,
            is_dark: false,
        }
    }

    /// Loses what has not begun to leave. Over a direct fibre a burst that has begun comes as a whole.
    pub(super) fn cut(&self, port: Port, cause: DropCause, out: &mut Actions) {
        if self.direct.is_none() {
            self.wavelength.cut(port, cause, out);
        }
    }

    /// Gives back the bursts that wait as the program is gone. What leaves was sent by it.
    pub(super) fn lose_waiting(&mut self, now: Instant) -> Vec<Labelled> {
        match &mut self.before {
            Before::Queue(queue) => {
                queue.drop_waiting(now);
                Vec::new()
            }
            Before::Bursts(queue, _) => {
                queue.forget();
                queue.take_waiting()
            }
        }
    }

    /// The frames of a burst enter the wavelength back to back from now on.
    pub(super) fn light(
        &mut self,
        now: Instant,
        port: Port,
        burst: Burst,
        (framing, program): (Bytes, u32),
        out: &mut Actions,
    ) {
        let wavelength = self.wavelength;
        let end = now + wavelength.duration(burst.bytes);
        let whole = self.direct.as_mut().map(|direct| {
            // Bursts may overlap at the far end, where delays differ, but not here.
            if direct.meets(now, end) {
                let broken = Invariant::LANE;
                out.push(Action::Broken {
                    port,
                    broken,
                    packet: None,
                });
            }
            let drawn = direct.delay.as_mut().map_or(Duration::ZERO, |delay| delay.at(end));
            end + wavelength.delay + drawn
        });
        let mut start = now;
        for packet in burst.frames {
            let duration = wavelength.duration(counted(&packet.frame, framing));
            let at = whole.unwrap_or_else(|| wavelength.arrival(start, duration));
            start += duration;
            if let Some(InLight::First(label, _)) = message::read(&packet.frame) {
                // The label comes with the first frame, but over a direct fibre with the last one.
                let left = whole.map_or(start, |_| end);
                out.push(Action::Seen(Record::BurstLeft { label, program, left }));
            }
            wavelength.enter((at, duration), packet, program, out);
        }
    }
}
