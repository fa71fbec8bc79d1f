// SPDX-License-Identifier: Apache-2.0
//! Continuations of entrances and resets, after P4 has been asked.

use slotwise_scenario::Device;
use slotwise_wire::Label;

use super::parts::Ops;
use slotwise_cards::message::burst as message;
use slotwise_cards::packet::Flying;
use slotwise_net::effects::Effects;
use slotwise_net::ticket::Ticket;

/// Light that passes a switch.
pub(super) struct AtSwitch {
    pub(super) switch: usize,
    /// Label of the first frame of a train.
    pub(super) label: Option<Label>,
    pub(super) program: u32,
}

/// Continuation after everything that was asked.
pub(super) enum Step {
    /// Trains that were under way to a node that is reset.
    Reset { device: Device },
    /// The program of an edge starts its numbers of trains again.
    Renumber { edge: u16 },
    /// A frame at an edge, after the train before it.
    Enter { entrance: usize, flying: Flying },
}

impl Ops {
    /// Continues this activation after the work that it has added.
    pub(super) fn then(&mut self, fx: &mut Effects<'_>, step: Step) {
        let (owner, number) = (self.owner, self.steps.insert(step));
        fx.then(Ticket { owner, number });
    }

    /// As [`Ops::then`], but at once if this activation has added nothing.
    pub(super) fn go_on(&mut self, fx: &mut Effects<'_>, step: Step) {
        match fx.has_asked() {
            true => self.then(fx, step),
            false => self.step(fx, step),
        }
    }

    pub(super) fn step(&mut self, fx: &mut Effects<'_>, step: Step) {
        match step {
            Step::Reset { device } => self.cut_under_way(device),
            Step::Renumber { edge } => self.renumber(fx, edge),
            Step::Enter { entrance, flying } => {
                let in_light = message::read(&flying.packet.frame);
                self.light_enters_edge(fx, entrance, in_light.as_ref(), flying);
            }
        }
    }
}
