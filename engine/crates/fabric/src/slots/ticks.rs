// SPDX-License-Identifier: Apache-2.0
//! What happens at the start of a slot, at a core and at a line card.

use slotwise_scenario::{Device, optical_port};
use slotwise_wire::{PORT_LINECARD, SlotTick};

use crate::dispatch::Origin;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::message;

impl Fabric {
    pub(crate) fn core_tick(&mut self, core: u16, slot: u64) {
        let next_ns = self.star.slots.epoch_ns + (slot + 1) * self.star.slots.slot_ns;
        self.events.schedule(next_ns, Event::CoreTick { core, slot: slot + 1 });
        if slot % self.star.slots.count == 0 {
            // A card without slots is in the core's frame.
            let without: Vec<usize> = (0..self.star.cards.len())
                .filter(|card| self.star.cards[*card].core == core && self.star.cards[*card].time_difference.is_none())
                .collect();
            for card in without {
                self.star.telemetry.frame_starts(card, slot / self.star.slots.count);
            }
        }
        self.lose_overdue_light(self.now_ns);
        self.look_after_faults();
        if self.runs(Device::Core(core)) {
            // A core's control unit serves no single port.
            let tick = self.tick(slot, 0, self.now_ns);
            self.star.cores[usize::from(core)].knows_slot = true;
            self.run_p4(
                Device::Core(core),
                PORT_LINECARD,
                &message::slot_tick(0, &tick),
                Origin::Local,
            );
        }
    }

    fn tick(&self, slot: u64, repeat: u16, local_ns: u64) -> SlotTick {
        let frame = (slot / self.star.slots.count) as u32;
        SlotTick {
            frame,
            slot: (slot % self.star.slots.count) as u16,
            repeat,
            local_ns,
        }
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
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        let Some(local_ns) = self.card_slot_start_ns(card, slot) else {
            return;
        };
        self.star.cards[card]
            .clock
            .forget_before(self.now_ns.saturating_sub(self.star.slots.frame_ns()));
        self.note_sync_error(card, slot);
        self.star.cards[card].next_slot = slot + 1;
        self.schedule_card_tick(card);

        let slot_of_frame = slot % self.star.slots.count;
        if slot_of_frame == 0 {
            self.star.telemetry.frame_starts(card, slot / self.star.slots.count);
        }
        if !self.runs(Device::Edge(edge)) {
            return;
        }
        let origin = self.tick_origin(card);
        if slot_of_frame == self.star.cards[card].report_slot {
            self.report_queues(card);
        }
        let repeats = match slot_of_frame {
            0 => self.star.cards[card].first_slot_ticks,
            later if later < self.star.slots.signaling => self.star.cards[card].signaling_ticks,
            _ => 0,
        };
        for repeat in 0..=repeats {
            let tick = message::slot_tick(optical_port(core), &self.tick(slot, repeat, local_ns));
            self.run_p4(Device::Edge(edge), PORT_LINECARD, &tick, origin);
        }
    }

    /// Interval timers of a card's VOQs. P4 answers within the call, so the next time is known then.
    pub(crate) fn card_timer(&mut self, card: usize) {
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        while let Some((voq, tick)) = self.star.cards[card].queues.tick(self.now_ns) {
            let state = self.star.cards[card].queues.voq_state(self.now_ns, voq);
            let tick = message::interval_tick(optical_port(core), &tick, voq, &state);
            if self.runs(Device::Edge(edge)) {
                self.run_p4(Device::Edge(edge), PORT_LINECARD, &tick, Origin::Local);
            }
        }
        if let Some(at_ns) = self.star.cards[card].queues.next_tick_ns() {
            self.events.schedule(at_ns, Event::CardTimer { card: card as u32 });
        }
    }

    pub(super) fn report_queues(&mut self, card: usize) {
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        for voq in self.star.cards[card].queues.voq_numbers() {
            let state = self.star.cards[card].queues.voq_state(self.now_ns, voq);
            if let Some(record) = self.star.telemetry.voq(card, edge, voq) {
                record.demand_bytes += state.backlog_bytes;
            }
            let report = message::queue_report(optical_port(core), voq, &state);
            self.run_p4(Device::Edge(edge), PORT_LINECARD, &report, Origin::Local);
        }
    }
}
