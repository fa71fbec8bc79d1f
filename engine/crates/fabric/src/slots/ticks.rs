// SPDX-License-Identifier: Apache-2.0
//! What happens at the start of a slot, at a core and at a line card.

use slotwise_cards::gates::{SlotStart, Then};
use slotwise_scenario::Device;
use slotwise_units::Instant;

use crate::event::Event;
use crate::fabric::Fabric;

impl Fabric {
    /// A slot starts at the core of a node.
    pub(crate) fn slot_starts_at_core(&mut self, node: usize, slot: u64) {
        let core = self.nodes[node].device.number();
        if slot.is_multiple_of(self.star.slots.count) {
            // A card without slots is in the core's frame.
            let without: Vec<usize> = (0..self.star.cards.len())
                .filter(|card| self.star.cards[*card].core == core && self.star.cards[*card].time_difference.is_none())
                .collect();
            for card in without {
                self.frame_starts(card, slot);
            }
        }
        self.lose_overdue_light(self.now_ns);
        self.look_after_faults();
    }

    fn frame_starts(&mut self, card: usize, slot: u64) {
        let star = &mut *self.star;
        star.telemetry.frame_starts(card, slot / star.slots.count);
    }

    pub(crate) fn schedule_card_tick(&mut self, card: usize) {
        let (slot, generation) = (self.star.cards[card].next_slot, self.star.cards[card].generation);
        let Some(local_ns) = self.card_slot_start_ns(card, slot) else {
            return;
        };
        let at_ns = self.star.cards[card].clock.fabric_ns(local_ns).max(self.now_ns);
        let card = card as u32;
        self.events.schedule(at_ns, Event::CardTick { card, generation });
    }

    pub(crate) fn card_tick(&mut self, card: usize, generation: u32) {
        if self.star.cards[card].generation != generation {
            return;
        }
        let slot = self.star.cards[card].next_slot;
        let edge = self.star.cards[card].edge;
        let Some(local_ns) = self.card_slot_start_ns(card, slot) else {
            return;
        };
        let last_frame_ns = self.now_ns.saturating_sub(self.star.slots.frame_ns());
        self.star.cards[card].clock.forget_before(last_frame_ns);
        self.note_sync_error(card, slot);
        self.star.cards[card].next_slot = slot + 1;
        self.schedule_card_tick(card);

        let slot_of_frame = slot % self.star.slots.count;
        if slot_of_frame == 0 {
            self.frame_starts(card, slot);
        }
        let program = self.program_at(self.node(Device::Edge(edge)));
        let local = Instant::from_ns(local_ns);
        let start = SlotStart { slot, local };
        let now = Instant::from_ns(self.now_ns);
        self.star.cards[card]
            .gates
            .slot_starts(now, start, program, &mut self.out);
        self.perform_last(self.line_card(card));
    }

    /// Interval timers of a card's VOQs, one after P4's answer to the other; then trains that are due.
    pub(crate) fn card_timer(&mut self, card: usize) {
        let program = self.program_at(self.node(Device::Edge(self.star.cards[card].edge)));
        let asks = self.call_gates(card, |gates, _, now, out| gates.tick_timers(now, program, out));
        if asks {
            return;
        }
        if let Some(at) = self.star.cards[card].gates.next_tick() {
            let timer = Event::timer(self.line_card(card));
            self.events.schedule(at.ns(), timer);
        }
        self.close_due_trains(card);
    }

    /// A line card goes on after a question.
    pub(crate) fn gates_go_on(&mut self, card: usize, then: Then) {
        let program = self.program_at(self.node(Device::Edge(self.star.cards[card].edge)));
        match then {
            Then::Report { start, reported } => self.call_gates(card, |gates, _, now, out| {
                gates.report(now, start, reported, program, out);
            }),
            Then::Timer => self.card_timer(card),
        }
    }

    /// A VOQ is reported to P4.
    pub(crate) fn note_report(&mut self, card: usize, voq: u16, backlog_bytes: u64) {
        let edge = self.star.cards[card].edge;
        if let Some(record) = self.star.telemetry.voq(card, edge, voq) {
            record.demand_bytes += backlog_bytes;
        }
    }
}
