// SPDX-License-Identifier: Apache-2.0
//! Faults begin and end.

use slotwise_scenario::{Device, FaultKind};

use super::FaultRecord;
use crate::api::ControlMessage;
use crate::drops::DropCause;
use crate::fabric::Fabric;

/// A line card has an oscillator beside its clock: a jump of the clock by so much in a slot is none of the oscillator's. Less is
/// far below the margin that gates keep, and is measured away.
const NOTICED_STEP_NS: u64 = 100;

impl Fabric {
    /// All faults of the run, those to come included; without simulated hosts there are none.
    pub fn faults(&self) -> &[FaultRecord] {
        &self.faults.records
    }

    pub(crate) fn fault_begins(&mut self, index: usize) {
        let FaultRecord {
            kind, edge, core, span, ..
        } = self.faults.records[index];
        let router = self.faults.records[index].routers.first().copied();
        let happened = match kind {
            FaultKind::RouterRestart | FaultKind::StationRestart => {
                router.is_some_and(|router| self.device_down(router))
            }
            FaultKind::LinkCut => match span {
                Some(span) => self.cut_span(span, true),
                None => self.cut_link(edge, core, true),
            },
            FaultKind::CoreDown => core.is_some_and(|core| self.device_down(Device::Core(core))),
            FaultKind::EdgeRestart => edge.is_some_and(|edge| self.device_down(Device::Edge(edge))),
            FaultKind::Messages { .. } => {
                self.faults.treatments.push(index);
                true
            }
            // The first is done by who runs the controller, the second when it ends, which is now.
            FaultKind::ControllerRestart | FaultKind::ClockStep { .. } => true,
        };
        self.faults.records[index].happened = happened;
    }

    pub(crate) fn fault_ends(&mut self, index: usize) {
        let FaultRecord {
            kind,
            edge,
            core,
            span,
            step_ns,
            happened,
            ..
        } = self.faults.records[index];
        if !happened {
            return;
        }
        let router = self.faults.records[index].routers.first().copied();
        match kind {
            FaultKind::RouterRestart | FaultKind::StationRestart => {
                router.into_iter().for_each(|router| self.device_up(router));
            }
            FaultKind::LinkCut => {
                match span {
                    Some(span) => self.cut_span(span, false),
                    None => self.cut_link(edge, core, false),
                };
            }
            FaultKind::CoreDown => core.into_iter().for_each(|core| self.device_up(Device::Core(core))),
            FaultKind::EdgeRestart => edge.into_iter().for_each(|edge| self.device_up(Device::Edge(edge))),
            FaultKind::Messages { .. } => self.faults.treatments.retain(|treatment| *treatment != index),
            FaultKind::ClockStep { .. } => edge.into_iter().for_each(|edge| self.step_clocks(edge, step_ns)),
            FaultKind::ControllerRestart => {}
        }
        let is_of_routers = span.is_some() || kind == FaultKind::RouterRestart;
        if is_of_routers || self.star.edges.is_empty() {
            self.watch_flows(index);
        } else {
            self.watch(index);
        }
    }

    /// Cuts a fibre or mends it. False if it was so already.
    fn cut_link(&mut self, edge: Option<u16>, core: Option<u16>, cut: bool) -> bool {
        let fibre = edge.zip(core).and_then(|(edge, core)| {
            let cards = &self.star.edges[usize::from(edge)].cards;
            cards[usize::from(core)]
        });
        let Some(fibre) = fibre.filter(|fibre| self.star.fibres[*fibre].is_cut() != cut) else {
            return false;
        };
        let changed = self.star.fibres[fibre].set_cut(cut);
        self.light_changed(fibre, changed);
        true
    }

    /// A switch stops: its program, tables and queues are gone. False if it was down already.
    fn device_down(&mut self, device: Device) -> bool {
        if self.pipeline_slot(device).is_none() {
            return false;
        }
        match device {
            Device::Edge(edge) => {
                *self.pipeline_slot(device) = None;
                self.reset_edge(edge);
                for card in 0..self.star.cards.len() {
                    if self.star.cards[card].edge == edge && self.star.cards[card].clock.is_own() {
                        self.lose_time(card);
                    }
                }
            }
            Device::Core(core) => {
                let lost = self.core_losses(core).map_or(0, |losses| losses.p4);
                self.star.cores[usize::from(core)].p4_lost_before = lost;
                *self.pipeline_slot(device) = None;
            }
            Device::Station(_) => {
                *self.pipeline_slot(device) = None;
                self.reset_station(device);
            }
            Device::Router(_) => {
                *self.pipeline_slot(device) = None;
                for card in self.nodes[self.node(device)].fifos().collect::<Vec<_>>() {
                    self.lose_what_waits(card, DropCause::PipelineReplaced);
                }
            }
        }
        self.tell(device, ControlMessage::Device { is_up: false });
        true
    }

    fn device_up(&mut self, device: Device) {
        self.tell(device, ControlMessage::Device { is_up: true });
    }

    /// The clocks of an edge's line cards jump.
    fn step_clocks(&mut self, edge: u16, step_ns: i64) {
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
