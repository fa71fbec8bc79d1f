// SPDX-License-Identifier: Apache-2.0
//! Continuations of entrances and resets, after P4 has been asked.

use slotwise_scenario::Device;
use slotwise_wire::Label;

use crate::net::pump::{self, Pass};
use crate::world::Fabric;
use slotwise_cards::message::train as message;
use slotwise_cards::packet::Flying;

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
    /// Trains that were under way to a node that is reset.
    Reset { device: Device },
    /// The program of an edge starts its numbers of trains again.
    Renumber { edge: u16 },
    /// A frame at an edge, after the train before it.
    Enter { entrance: usize, flying: Flying },
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
            Step::Reset { device } => self.cut_under_way(device),
            Step::Renumber { edge } => self.renumber(edge),
            Step::Enter { entrance, flying } => {
                let in_light = message::read(&flying.packet.frame);
                self.light_enters_edge(entrance, in_light.as_ref(), flying);
            }
        }
    }
}
