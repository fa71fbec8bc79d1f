// SPDX-License-Identifier: Apache-2.0
//! The cards before wavelengths for data: what they have in common.

use slotwise_p4::Port;
use slotwise_scenario::Device;

use super::edge_card::EDGE_QUEUE;
use super::message::{self, InLight};
use super::switch_card::OPTICAL_RAM;
use super::switch_number;
use super::watch::TrainId;
use crate::drops::{DropCause, Place};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::fifo::Fifo;
use crate::kind::CardAt;
use crate::lane::Flying;
use crate::optical_ram::{ByteTime, OpticalRam};

/// An end of a wavelength of a fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FibreEnd {
    pub(super) device: Device,
    pub(super) port: Port,
}

impl FibreEnd {
    pub(super) fn place(self) -> Place {
        let FibreEnd { device, port } = self;
        Place::Port { device, port }
    }
}

/// What stands before a wavelength.
pub(super) enum Before {
    /// At a switch.
    Ram(OpticalRam),
    /// At an edge: packets that wait until they may begin to leave.
    Queue(Fifo),
}

/// The card before a wavelength for data, and the wavelength.
pub(super) struct Card {
    pub(super) from: FibreEnd,
    pub(super) to: FibreEnd,
    pub(super) before: Before,
    pub(super) lane: usize,
    delay_ns: u64,
    pub(super) byte_time: ByteTime,
    pub(super) is_dark: bool,
}

impl Card {
    /// When a frame that begins to leave arrives: its head at a switch, its tail at an edge.
    pub(super) fn arrival_ns(&self, start_ns: u64, duration_ns: u64) -> u64 {
        let tail_ns = if switch_number(self.to.device).is_some() {
            0
        } else {
            duration_ns
        };
        start_ns + self.delay_ns + tail_ns
    }
}

impl Fabric {
    /// Adds the card before a wavelength whose entrance was added last.
    pub(super) fn add_card_of_ops(
        &mut self,
        before: Before,
        (from, to): (FibreEnd, FibreEnd),
        (lane, delay_ns): (usize, u64),
        byte_time: ByteTime,
    ) -> CardAt {
        let index = self.ops.cards.len();
        let (of, first_tick_ns) = match &before {
            Before::Ram(ram) => (&OPTICAL_RAM, ram.next_tick_ns()),
            Before::Queue(_) => (&EDGE_QUEUE, None),
        };
        let card = CardAt::new(of, index);
        self.ops.cards.push(Card {
            from,
            to,
            before,
            lane,
            delay_ns,
            byte_time,
            is_dark: false,
        });
        let node = self.node(from.device);
        self.nodes[node].set_card(from.port, card);
        if let Some(at_ns) = first_tick_ns {
            self.events.schedule(at_ns, Event::timer(card));
        }
        card
    }

    /// A train is not on its way any more.
    pub(super) fn lose_train(&mut self, frame: &[u8], program: u32) {
        if let Some(InLight::First(label, _)) = message::read(frame) {
            self.ops.watch.lost(TrainId::of(&label, program));
        }
    }

    /// Lets a wavelength carry frames or not: what has not begun to leave is lost.
    pub(super) fn set_ops_dark(&mut self, index: usize, is_dark: bool) {
        self.ops.cards[index].is_dark = is_dark;
        if is_dark {
            self.lose_waiting_trains(index, DropCause::LinkDown);
        }
    }

    /// Loses what waits in a card.
    fn lose_waiting_trains(&mut self, index: usize, cause: DropCause) {
        let now_ns = self.now_ns;
        let card = &mut self.ops.cards[index];
        match &mut card.before {
            Before::Ram(ram) => ram.drop_waiting(now_ns),
            Before::Queue(queue) => queue.drop_waiting(now_ns),
        };
        let (card, place) = (&self.ops.cards[index], self.ops.cards[index].from.place());
        let has_not_begun = |at_ns: u64, flying: &Flying| at_ns > card.arrival_ns(now_ns, flying.duration_ns);
        let lost = self.lanes[card.lane].take_out(&mut self.events, has_not_begun);
        let to = card.to;
        for (packet, program) in lost {
            self.lose_train(&packet.frame, program);
            self.drop(place, cause, packet.frame);
        }
        if let Some(entrance) = self.ops.entrances.iter_mut().find(|entrance| entrance.at == to) {
            entrance.was_dark = true;
        }
    }

    /// What waits in the cards of a node is gone.
    pub(super) fn reset_ops_node(&mut self, device: Device) {
        for index in 0..self.ops.cards.len() {
            if self.ops.cards[index].from.device == device {
                self.lose_waiting_trains(index, DropCause::PipelineReplaced);
            }
        }
    }
}
