// SPDX-License-Identifier: Apache-2.0
//! Continuations of cards and entrances, after P4 has been asked.

use slotwise_scenario::Device;
use slotwise_wire::Label;

use crate::drops::DropCause;
use crate::fabric::Fabric;
use crate::pump::{self, Pass};
use slotwise_cards::message::train as message;
use slotwise_cards::packet::Flying;
use slotwise_cards::train_queue::Labelled;

/// Continuation after a pass and everything that came out of it.
pub(crate) enum Passed {
    /// Light has passed a switch.
    AtSwitch {
        switch: usize,
        /// Label of the first frame of a train.
        label: Option<Label>,
        program: u32,
    },
}

/// Continuation after everything that was asked.
pub(crate) enum Step {
    /// The next interval timer of an output.
    OutputTimer { card: usize },
    /// The next macroflow of an edge that ticks.
    TickMacroflows { edge: u16 },
    /// The next train that a macroflow may send.
    Release { edge: u16 },
    /// The next train that is lost before an output.
    LoseAtOutput {
        card: usize,
        cause: DropCause,
        is_busy: bool,
        lost: std::vec::IntoIter<Labelled>,
    },
    /// The frames that are lost in the wavelength behind a card.
    LoseInLane { card: usize, cause: DropCause },
    /// The next card of a node that is reset.
    Reset { device: Device, first: usize },
    /// The program of an edge starts its numbers of trains again.
    Renumber { edge: u16 },
    /// A frame at an edge, after the train before it.
    Enter { entrance: usize, flying: Flying },
    /// Time when a resequencer is looked after.
    Resequence { edge: usize, at_ns: u64 },
}

impl Fabric {
    pub(super) fn ops_then(&mut self, step: Step) {
        self.then(pump::Step::Ops(step));
    }

    pub(super) fn ops_go_on(&mut self, step: Step) {
        self.go_on(pump::Step::Ops(step));
    }

    pub(crate) fn ops_passed(&mut self, passed: Passed, pass: Pass) {
        match passed {
            Passed::AtSwitch { switch, label, program } => {
                self.light_left_switch(switch, label.as_ref(), program, pass);
            }
        }
    }

    pub(crate) fn ops_step(&mut self, step: Step) {
        match step {
            Step::OutputTimer { card } => self.output_timer(card),
            Step::TickMacroflows { edge } => self.tick_macroflows(edge),
            Step::Release { edge } => self.release_trains(edge),
            Step::LoseAtOutput {
                card,
                cause,
                is_busy,
                lost,
            } => self.lose_at_output(card, cause, is_busy, lost),
            Step::LoseInLane { card, cause } => self.lose_in_lane(card, cause),
            Step::Reset { device, first } => self.reset_ops_cards(device, first),
            Step::Renumber { edge } => self.ops.watch.restarts(edge),
            Step::Enter { entrance, flying } => {
                let in_light = message::read(&flying.packet.frame);
                self.light_enters_edge(entrance, in_light.as_ref(), flying);
            }
            Step::Resequence { edge, at_ns } => self.schedule_resequencer(edge, at_ns),
        }
    }
}
