// SPDX-License-Identifier: Apache-2.0
//! Outputs of an edge, and how light enters a wavelength.

use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::PORT_OPTICAL_BASE;

use crate::card::{Action, Actions, Broken, Expiry, Record};
use crate::drawn_delay::DrawnDelay;
use crate::fifo::Fifo;
use crate::message::train::{self as message, InLight};
use crate::timer::Timer;
use crate::train::Train;
use crate::train_queue::{Labelled, TrainQueue};
use crate::wavelength::{Wavelength, counted};
use crate::{DropCause, Port};

/// Queue before a wavelength.
pub(super) enum Before {
    /// Queue of packets, each a burst, which waits until it may begin to leave.
    Queue(Fifo),
    /// Queue of bursts that share memory.
    Bursts(TrainQueue),
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
    /// True while P4 is asked with a tick.
    pub(super) is_asking: bool,
    /// Expiry of an interval timer.
    pub(super) timer: Timer,
}

impl Output {
    pub(super) fn new(before: Before, wavelength: Wavelength) -> Output {
        Output {
            before,
            wavelength,
            direct: None,
            is_dark: false,
            is_asking: false,
            timer: Timer::default(),
        }
    }

    /// Sets the timer to the next tick.
    pub(super) fn set_timer(&mut self, now: Instant, port: Port, out: &mut Actions) {
        if let Before::Bursts(queue) = &self.before
            && let Some(next) = queue.next_tick()
        {
            let at = next.max(now + Duration::from_ns(1));
            self.timer.set(at, (port, Expiry::First), out);
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
            Before::Bursts(queue) => {
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
        burst: Train,
        (framing, program): (Bytes, u32),
        out: &mut Actions,
    ) {
        let wavelength = self.wavelength;
        let end = now + wavelength.duration(burst.bytes);
        let whole = self.direct.as_mut().map(|direct| {
            // Bursts may overlap at the far end, where delays differ, but not here.
            if direct.meets(now, end) {
                let broken = Broken::WavelengthCollision;
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

/// Outputs by port, from [`PORT_OPTICAL_BASE`] on.
#[derive(Default)]
pub(super) struct Outputs {
    outputs: Vec<Option<Output>>,
}

impl Outputs {
    pub(super) fn add(&mut self, port: Port, output: Output) {
        let place = usize::from(port - PORT_OPTICAL_BASE);
        if place >= self.outputs.len() {
            self.outputs.resize_with(place + 1, || None);
        }
        self.outputs[place] = Some(output);
    }

    #[inline]
    pub(super) fn get(&mut self, port: Port) -> Option<&mut Output> {
        let place = port.checked_sub(PORT_OPTICAL_BASE)?;
        self.outputs.get_mut(usize::from(place))?.as_mut()
    }

    /// All places, with or without an output.
    pub(super) fn ports(&self) -> impl Iterator<Item = Port> + use<> {
        PORT_OPTICAL_BASE..PORT_OPTICAL_BASE + self.outputs.len() as Port
    }
}
