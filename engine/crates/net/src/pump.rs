// SPDX-License-Identifier: Apache-2.0
//! Work of an event is done.

use slotwise_cards::card::Pass;
use slotwise_cards::packet::{Frame, Origin};
use slotwise_p4::Port;
use slotwise_scenario::Device;

use crate::Net;
use crate::around::Around;
use crate::control_event::ControlMessage;
use crate::effects::Effects;
use crate::work::{Ask, Passed, Step, Work};

impl Net {
    /// Sends a packet through P4 of a device, after the work that this activation has added. What comes out is complete before
    /// anything that this activation adds later.
    pub(crate) fn ask(&mut self, to: (Device, Port), frame: Frame, origin: Origin) {
        self.stack.add(Work::Ask(Ask::new(to, frame, origin)));
    }

    /// As [`Net::ask`], with a continuation that depends on what came out.
    pub(super) fn ask_and_go_on(&mut self, ask: Ask) {
        self.stack.add(Work::Ask(ask));
    }

    /// As [`Net::ask_and_go_on`], as the last act of an event: at once, as this is the next item in any case.
    #[expect(
        clippy::inline_always,
        reason = "a call moves its arguments once more, for every packet"
    )]
    #[inline(always)]
    pub fn enter<A: Around>(&mut self, around: &mut A, ask: Ask) {
        if self.has_asked() {
            return self.ask_and_go_on(ask);
        }
        if self.may_pass(ask.device, ask.port) {
            self.pass(around, ask);
        }
    }

    /// Continues this activation after the work that it has added.
    pub(super) fn then(&mut self, step: Step) {
        self.stack.add(Work::Step(step));
    }

    /// As [`Net::then`], but at once if this activation has added nothing.
    pub fn go_on<A: Around>(&mut self, around: &mut A, step: Step) {
        match self.stack.has_added() {
            true => self.then(step),
            false => self.step(around, step),
        }
    }

    /// Continues after a pass and what came out of it.
    pub(super) fn passed<A: Around>(&mut self, around: &mut A, passed: Passed, pass: Pass) {
        match passed {
            Passed::Nothing => {}
            Passed::Card { node, then } => self.card_goes_on(around, node, then, pass),
            Passed::Own(ticket) => around.passed(&mut Effects::on(self), ticket, pass),
        }
    }

    /// True if this activation has added work: the rest of it must be a continuation.
    #[inline]
    pub(super) fn has_asked(&self) -> bool {
        self.stack.has_added()
    }

    fn step<A: Around>(&mut self, around: &mut A, step: Step) {
        match step {
            Step::Own(ticket) => around.goes_on(&mut Effects::on(self), ticket),
            Step::SetDark { span, first } => self.set_cards_of_span_dark(around, span, first),
            Step::DeviceDown { device } => self.remove_program(device),
        }
    }

    fn remove_program(&mut self, device: Device) {
        *self.pipeline_slot(device) = None;
        self.tell(device, ControlMessage::Device { is_up: false });
    }

    /// Completes the work of an event.
    #[inline]
    pub fn pump<A: Around>(&mut self, around: &mut A) {
        if !self.stack.is_empty() {
            self.pump_all(around);
        }
    }

    fn pump_all<A: Around>(&mut self, around: &mut A) {
        while let Some(work) = self.stack.next() {
            match work {
                Work::Ask(ask) => match self.may_pass(ask.device, ask.port) {
                    true => self.pass(around, ask),
                    false => self.stack.clear(),
                },
                Work::Output {
                    device,
                    port,
                    frame,
                    origin,
                } => self.send(around, device, port, frame, origin),
                Work::Digest { device, name, fields } => self.tell(device, ControlMessage::Digest { name, fields }),
                Work::Action { node, action } => self.act(around, node, action),
                Work::Passed(passed, pass) => self.passed(around, passed, pass),
                Work::Step(step) => self.step(around, step),
            }
        }
    }
}
