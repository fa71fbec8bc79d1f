// SPDX-License-Identifier: Apache-2.0
//! What programs that start and switches that stop do to a star, and what faults do to its fibres and clocks.

use slotwise_scenario::Device;

use super::trains::StarTrains;
use crate::drops::{DropCause, Place};
use crate::fabric::Fabric;

/// A line card has an oscillator beside its clock: a jump of the clock by so much in a slot is none of the oscillator's. Less is
/// far below the margin that gates keep, and is measured away.
const NOTICED_STEP_NS: u64 = 100;

impl Fabric {
    pub(super) fn edge_starts(&mut self, device: Device) {
        let edge = device.number();
        self.reset_edge(edge);
        let star = &mut *self.star;
        let programs = &mut star.edges[usize::from(edge)].programs;
        *programs += 1;
        star.numbers.program_starts(edge, *programs);
        self.tell_of_darkness(edge);
    }

    pub(super) fn edge_stops(&mut self, device: Device) {
        let edge = device.number();
        self.reset_edge(edge);
        for card in 0..self.star.cards.len() {
            if self.star.cards[card].edge == edge && self.star.cards[card].clock.is_own() {
                self.lose_time(card);
            }
        }
    }

    /// What waits in the line cards of an edge is gone.
    fn reset_edge(&mut self, edge: u16) {
        for index in 0..self.star.cards.len() {
            if self.star.cards[index].edge != edge {
                continue;
            }
            self.loses_demand(index);
            let card = &mut self.star.cards[index];
            let place = Place::LineCard { edge, core: card.core };
            let open = card.trains.as_mut().map_or_else(Vec::new, StarTrains::take_all);
            for frame in card.gates.queues.reset().into_iter().chain(open) {
                self.drops.add(place, DropCause::PipelineReplaced, frame.len());
                self.out.frames.give_back(frame);
            }
        }
    }

    /// Cuts a fibre or mends it. False if it was so already.
    pub(crate) fn cut_link(&mut self, (edge, core): (u16, u16), cut: bool) -> bool {
        let fibre = self.star.edges[usize::from(edge)].cards[usize::from(core)];
        let Some(fibre) = fibre.filter(|fibre| self.star.fibres[*fibre].is_cut() != cut) else {
            return false;
        };
        let changed = self.star.fibres[fibre].set_cut(cut);
        self.light_changed(fibre, changed);
        true
    }

    /// The clocks of an edge's line cards jump.
    pub(crate) fn step_clocks(&mut self, edge: u16, step_ns: i64) {
        for card in 0..self.star.cards.len() {
            if self.star.cards[card].edge != edge || !self.star.cards[card].clock.is_own() {
                continue;
            }
            self.star.cards[card].clock.step(step_ns);
            if step_ns.unsigned_abs() >= NOTICED_STEP_NS {
                self.lose_time(card);
                self.stop(card);
            } else if self.star.cards[card].time_difference.is_some() {
                self.star.cards[card].generation += 1;
                self.schedule_card_tick(card);
            }
        }
    }

    /// A line card's clock is not the one any more by which T_d was measured.
    fn lose_time(&mut self, card: usize) {
        let card = &mut self.star.cards[card];
        card.time_difference = None;
        card.answer_ns = None;
        card.generation += 1;
        card.must_answer = true;
    }
}
