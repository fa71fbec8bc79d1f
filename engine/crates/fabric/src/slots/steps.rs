// SPDX-License-Identifier: Apache-2.0
//! Continuations of line cards, after P4 has been asked.

use super::light::AtCore;
use crate::fabric::Fabric;
use crate::pump::{self, Pass};
use slotwise_cards::packet::Packet;

/// Continuation after a pass and everything that came out of it.
pub(crate) enum Passed {
    /// Light has passed a core.
    AtCore(AtCore),
    /// The program of an edge was asked for the VOQ of a train.
    Voq { card: usize },
}

/// Continuation after everything that was asked.
pub(crate) enum Step {
    /// A packet joins an open train.
    Join { card: usize, queue: u16, packet: Packet },
    /// The next train that is due at a card.
    CloseDue { card: usize },
}

impl Fabric {
    pub(super) fn star_then(&mut self, step: Step) {
        self.then(pump::Step::Star(step));
    }

    pub(super) fn star_go_on(&mut self, step: Step) {
        self.go_on(pump::Step::Star(step));
    }

    pub(crate) fn star_passed(&mut self, passed: Passed, pass: Pass) {
        match passed {
            Passed::AtCore(light) => self.light_left_core(&light, pass),
            Passed::Voq { card } => self.drop_unanswered_star_train(card, pass),
        }
    }

    pub(crate) fn star_step(&mut self, step: Step) {
        match step {
            Step::Join { card, queue, packet } => self.join_open_star_train(card, queue, packet),
            Step::CloseDue { card } => self.close_next_star_train(card),
        }
    }
}
