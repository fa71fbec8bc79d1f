// SPDX-License-Identifier: Apache-2.0
//! Card of an optical packet switch: optical RAM before each output, through which bursts cut.
//!
//! ```text
//! light ── looks_at ──> P4 ── sends ──> optical RAM ──> wavelength
//! ```
//!
//! P4 reserves the outputs. The card does what follows from that, and checks that P4 has reserved no more than there is.
//! Interval timers of an output with an agent ask P4.

impl Invariant {
    /// No train taken while more is to be sent before it than the optical RAM holds.
    pub const RAM: Invariant = Invariant::new("ram", "optical RAM overflows");
    /// A switch changes of a label what it may: one hop less, one deflection less at most, and the wavelength where it converts.
    pub const LABEL: Invariant = Invariant::new("label", "invalid label rewrites");
}

#[cfg(test)]
mod tests;

use slotwise_units::{Bytes, Instant};
use slotwise_wire::{Label, PORT_OPTICAL_BASE};

use crate::card::{Action, Actions, Card, Expiry, Pass, Program, Then, TimerId};
use crate::message::ToCard;
use crate::message::burst::{self as message, InLight};
use crate::optical_ram::{OpticalRam, RamUse};
use crate::packet::{Origin, Packet};
use crate::ports::Ports;
use crate::ticks::{IntervalQueue, Ticks};
use crate::wavelength::{Wavelength, counted, lose};
use crate::{DropCause, Invariant, Port};

/// Output of a switch.
struct Output {
    ram: OpticalRam,
    wavelength: Wavelength,
    is_dark: bool,
    ticks: Ticks,
}

/// Card of an optical packet switch.
pub struct SwitchCard {
    /// Outputs with optical RAM by port; wavelengths for probes have none.
    outputs: Ports<Output>,
    /// True if P4 may change the wavelength of a burst.
    converts: bool,
    framing: Bytes,
    is_outside: bool,
    /// Label of the burst that P4 looks at.
    looked_at: Option<Label>,
}

/// True if a switch has changed no more of a label than allowed.
fn is_well_kept(came: &Label, out: &Label, converts: bool) -> bool {
    let same = Label {
        wavelength: came.wavelength,
        deflections_left: came.deflections_left,
        hops_left: came.hops_left,
        ..*out
    };
    let deflections = came.deflections_left.checked_sub(out.deflections_left);
    same == *came
        && (out.wavelength == came.wavelength || converts)
        && out.hops_left.checked_add(1) == Some(came.hops_left)
        && deflections.is_some_and(|taken| taken <= 1)
}

impl SwitchCard {
    /// A card without outputs. Of each frame links do not count `framing`.
    pub fn new(converts: bool, framing: Bytes) -> SwitchCard {
        SwitchCard {
            outputs: Ports::from(PORT_OPTICAL_BASE),
            converts,
            framing,
            is_outside: false,
            looked_at: None,
        }
    }

    /// Adds an output. Returns when its timer expires first, if it has any.
    pub fn add_output(&mut self, port: Port, ram: OpticalRam, wavelength: Wavelength) -> Option<Instant> {
        let first = ram.next_tick();
        let ticks = Ticks::new(port, port, &ram);
        let output = Output {
            ram,
            wavelength,
            is_dark: false,
            ticks,
        };
        self.outputs.add(port, output);
        first
    }

    /// The switch is outside from now on: it answers later, and its clock is another one.
    pub fn set_outside(&mut self) {
        self.is_outside = true;
    }

    /// Notes the label of the burst that P4 looks at. A switch outside answers later, perhaps after the next label.
    #[inline]
    pub fn looks_at(&mut self, label: Option<Label>) {
        self.looked_at = label.filter(|_| !self.is_outside);
    }

    /// Notes what came for an output in the interval of its agent that ends, bursts that were dropped among it.
    pub fn interval_ends(&mut self, now: Instant, port: Port, arrived: Bytes) {
        if let Some(output) = self.outputs.get_mut(port) {
            output.ram.interval_ends(now, arrived);
        }
    }

    /// Use of an output since the last call; `None` if there is no such output.
    pub fn take_use(&mut self, port: Port) -> Option<RamUse> {
        Some(self.outputs.get_mut(port)?.ram.take_use())
    }
}

impl Card for SwitchCard {
    /// Takes a frame of a burst. Packets of the controller or of a card are no bursts.
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions) {
        let SwitchCard {
            converts,
            framing,
            is_outside,
            looked_at,
            ..
        } = *self;
        let drop = |cause, packet: Packet, out: &mut Actions| {
            let frame = packet.frame;
            out.push(Action::Drop { port, cause, frame });
        };
        let Some(output) = self.outputs.get_mut(port) else {
            return drop(DropCause::NoSuchPort, packet, out);
        };
        let Origin::Light {
            arrived,
            input,
            duration,
            program,
            ..
        } = from
        else {
            return drop(DropCause::NoSuchQueue, packet, out);
        };
        let bytes = counted(&packet.frame, framing);
        let in_light = message::read(&packet.frame);
        if let (Some(came), Some(InLight::First(label, _))) = (&looked_at, &in_light)
            && !is_well_kept(came, label, converts)
        {
            let broken = Invariant::LABEL;
            out.push(Action::Broken {
                port,
                broken,
                packet: None,
            });
        }
        // A program outside has another clock.
        let is_full = is_outside && !output.ram.has_room(arrived);
        if output.is_dark || is_full {
            output.ram.lose();
            let cause = if output.is_dark {
                DropCause::LinkDown
            } else {
                DropCause::QueueFull
            };
            return lose(port, cause, packet.frame, program, out);
        }
        let taken = match in_light {
            Some(InLight::First(label, _)) => {
                Some(output.ram.label(arrived, input, Bytes::new(label.length.into()), bytes))
            }
            Some(InLight::Behind(_)) => output.ram.follow(arrived, input, bytes),
            None => None,
        };
        let Some(taken) = taken else {
            return drop(DropCause::NoSuchQueue, packet, out);
        };
        if taken.is_over {
            let broken = Invariant::RAM;
            out.push(Action::Broken {
                port,
                broken,
                packet: None,
            });
        }
        let at = output.wavelength.arrival(taken.start, duration).max(now);
        output.wavelength.enter((at, duration), packet, program, out);
    }

    /// P4 sets a timer of an output, at once or later; false for any other message.
    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        let port = message.port;
        let control = message.flow_control().filter(|control| control.queue == port);
        let Some((control, output)) = control.zip(self.outputs.get_mut(port)) else {
            return false;
        };
        output.ticks.told(now, &mut output.ram, &control, out)
    }

    fn goes_on(&mut self, now: Instant, then: Then, _: Pass, out: &mut Actions) {
        if let Then::Ticks { timer } = then
            && let Some(output) = self.outputs.get_mut(timer)
        {
            output.ticks.goes_on(now, &mut output.ram, out);
        }
    }

    fn due(&mut self, now: Instant, timer: TimerId, _: Expiry, _: Program, out: &mut Actions) {
        if let Some(output) = self.outputs.get_mut(timer) {
            output.ticks.due(now, &mut output.ram, out);
        }
    }

    fn set_dark(&mut self, now: Instant, port: Port, is_dark: bool, out: &mut Actions) {
        if let Some(output) = self.outputs.get_mut(port) {
            output.is_dark = is_dark;
            if is_dark {
                output.ram.drop_waiting(now);
                output.wavelength.cut(port, DropCause::LinkDown, out);
            }
        }
    }

    fn restarts(&mut self, now: Instant, out: &mut Actions) {
        for port in self.outputs.numbers() {
            if let Some(output) = self.outputs.get_mut(port) {
                output.ram.drop_waiting(now);
                output.ram.forget(now);
                output.wavelength.cut(port, DropCause::PipelineReplaced, out);
            }
        }
    }
}
