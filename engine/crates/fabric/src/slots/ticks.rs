// SPDX-License-Identifier: Apache-2.0
//! What happens at the start of a slot, at a core and at a line card.

use slotwise_scenario::{Device, optical_port};
use slotwise_wire::SlotTick;

use super::cards::LINE_CARD;
use super::steps::Step;
use crate::drops::DropCause;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::kind::CardAt;
use slotwise_cards::message;
use slotwise_cards::packet::Origin;

/// A slot that starts at a card.
#[derive(Clone, Copy)]
pub(crate) struct SlotStart {
    card: usize,
    /// Since the epoch.
    slot: u64,
    local_ns: u64,
}

impl Fabric {
    pub(crate) fn core_tick(&mut self, core: u16, slot: u64) {
        let next_ns = self.star.slots.epoch_ns + (slot + 1) * self.star.slots.slot_ns;
        self.events.schedule(next_ns, Event::CoreTick { core, slot: slot + 1 });
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
        if self.runs(Device::Core(core)) {
            // A core's control unit serves no single port.
            let tick = self.tick(slot, 0, self.now_ns);
            self.star.cores[usize::from(core)].knows_slot = true;
            self.notify_p4(Device::Core(core), &message::slot_tick(0, &tick), Origin::Local);
        }
    }

    fn frame_starts(&mut self, card: usize, slot: u64) {
        let star = &mut *self.star;
        star.telemetry.frame_starts(card, slot / star.slots.count);
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

    /// Switches outside may answer a tick when its slot is over, but the next signaling slot leads to another edge: what is left of
    /// the last one is dropped.
    fn lose_late(&mut self, card: usize) {
        if self.external.is_none() {
            return;
        }
        let place = self.star.cards[card].place();
        for frame in self.star.cards[card].queues.take_late(self.now_ns) {
            self.drops.add(place, DropCause::Late, frame.len());
            self.pool.give_back(frame);
        }
    }

    /// The origin of the ticks of a slot that starts now.
    fn tick_origin(&self) -> Origin {
        match self.external {
            None => Origin::Local,
            Some(_) => Origin::Tick {
                until_ns: self.now_ns + self.star.slots.slot_ns,
            },
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
        if !self.runs(Device::Edge(edge)) {
            return;
        }
        self.lose_late(card);
        let start = SlotStart { card, slot, local_ns };
        if slot_of_frame == self.star.cards[card].report_slot {
            self.report_queues(start, 0);
        } else {
            self.tick_slot(start);
        }
    }

    /// Ticks of a slot, as many as messages may have to be sent in it.
    fn tick_slot(&mut self, start: SlotStart) {
        let SlotStart { card, slot, local_ns } = start;
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        let slot_of_frame = slot % self.star.slots.count;
        let origin = self.tick_origin();
        let repeats = match slot_of_frame {
            0 => self.star.cards[card].first_slot_ticks,
            later if later < self.star.slots.signaling => self.star.cards[card].signaling_ticks,
            _ => 0,
        };
        for repeat in 0..=repeats {
            let tick = message::slot_tick(optical_port(core), &self.tick(slot, repeat, local_ns));
            self.notify_p4(Device::Edge(edge), &tick, origin);
        }
    }

    /// Interval timers of a card's VOQs, one after P4's answer to the other; then trains that are due.
    pub(crate) fn card_timer(&mut self, card: usize) {
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        while let Some((voq, tick)) = self.star.cards[card].queues.tick(self.now_ns) {
            let state = self.star.cards[card].queues.voq_state(self.now_ns, voq);
            let tick = message::interval_tick(optical_port(core), &tick, voq, &state);
            if self.runs(Device::Edge(edge)) {
                self.notify_p4(Device::Edge(edge), &tick, Origin::Local);
                return self.star_then(Step::CardTimer { card });
            }
        }
        if let Some(at_ns) = self.star.cards[card].queues.next_tick_ns() {
            self.events.schedule(at_ns, Event::timer(CardAt::new(&LINE_CARD, card)));
        }
        self.close_due_trains(card);
    }

    /// Reports the VOQs of a card from one on, each after P4 has had the one before; then the slot ticks.
    pub(super) fn report_queues(&mut self, start: SlotStart, reported: u16) {
        let card = start.card;
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        let mut voqs = self.star.cards[card].queues.voq_numbers();
        let Some(voq) = voqs.nth(usize::from(reported)) else {
            return self.tick_slot(start);
        };
        let state = self.star.cards[card].queues.voq_state(self.now_ns, voq);
        if let Some(record) = self.star.telemetry.voq(card, edge, voq) {
            record.demand_bytes += state.backlog_bytes;
        }
        let report = message::queue_report(optical_port(core), voq, &state);
        self.notify_p4(Device::Edge(edge), &report, Origin::Local);
        let reported = reported + 1;
        self.star_then(Step::ReportQueues { start, reported });
    }
}
