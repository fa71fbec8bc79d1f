// SPDX-License-Identifier: Apache-2.0
//! A line card's own time: when its slots start, what it stamps on messages, and what it tells P4 when it loses it.

use slotwise_scenario::{Device, optical_port};
use slotwise_wire::{ANSWER_SLOT, Ethernet, FaultCode, FlowControl, FlowOp, Optical, OpticalKind, SlotTick, Stamp};

use slotwise_cards::time_difference::TimeDifference;

use super::{Card, Clock};
use crate::drops::DropCause;
use crate::event::Event;
use crate::fabric::Fabric;
use slotwise_cards::message;
use slotwise_cards::packet::Frame;
use slotwise_cards::packet::Origin;

const STAMP_AT: usize = Ethernet::SIZE + Optical::SIZE;
/// How far the slots of an edge were from the core's, as its light reaches the core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncError {
    /// Slots that were started.
    pub slots: u64,
    /// Most that one came too early: expected less actual time, as in table 3.2 of the AAPN thesis.
    pub max_ns: i64,
    /// Least; negative when one came too late.
    pub min_ns: i64,
    /// Sum over all slots.
    pub sum_ns: i64,
}

impl SyncError {
    fn add(&mut self, error_ns: i64) {
        (self.max_ns, self.min_ns) = match self.slots {
            0 => (error_ns, error_ns),
            _ => (self.max_ns.max(error_ns), self.min_ns.min(error_ns)),
        };
        self.slots += 1;
        self.sum_ns += error_ns;
    }
}

impl Fabric {
    /// A card's clock and its T_d when the run starts.
    pub(crate) fn own_time(
        seed: u64,
        scenario: &slotwise_scenario::Scenario,
        edge: u16,
        fibre: &slotwise_scenario::Fibre,
    ) -> (Clock, Option<TimeDifference>) {
        let known = TimeDifference::constant(fibre.t_d().ns() as i64);
        let is_master = scenario.cores[usize::from(fibre.core)].master == edge;
        match scenario.clocks {
            Some(clocks) if !is_master => {
                let number = u64::from(fibre.core) << 16 | u64::from(edge);
                (Clock::drifting(seed, number, clocks), None)
            }
            _ => (Clock::ideal(), Some(known)),
        }
    }

    /// When a card's slot starts, by its own clock; `None` while it has no T_d.
    pub(crate) fn card_slot_start_ns(&self, card: usize, slot: u64) -> Option<u64> {
        let time = self.star.cards[card].time_difference?;
        let at_core_ns = i128::from(self.star.slots.epoch_ns + slot * self.star.slots.slot_ns);
        let near_ns = at_core_ns - i128::from(time.value_ns);
        let start_ns = at_core_ns - i128::from(time.at_ns(near_ns, self.star.slots.frame_ns()));
        Some(u64::try_from(start_ns).unwrap_or(0))
    }

    pub(crate) fn local_ns(&mut self, card: usize) -> u64 {
        self.star.cards[card].clock.local_ns(self.now_ns)
    }

    /// A card starts a slot: notes how well. The fibre's delay is as it is now.
    pub(crate) fn note_sync_error(&mut self, card: usize, slot: u64) {
        let at_core_ns = self.star.slots.epoch_ns + slot * self.star.slots.slot_ns;
        let light_ns = self.now_ns + self.star.fibres[card].delay_ns;
        let error_ns = at_core_ns as i64 - light_ns as i64;
        self.star.cards[card].sync_error.add(error_ns);
        self.star.cards[card].recent_sync_error.add(error_ns);
    }

    /// Gate times of a message are the card's own; its queues have fabric time.
    pub(crate) fn in_fabric_time(&mut self, card: usize, message: &mut FlowControl) {
        let opens = message.op == u8::from(FlowOp::Open) || message.op == u8::from(FlowOp::OpenAndTick);
        if opens {
            let clock = &mut self.star.cards[card].clock;
            message.open_ns = clock.fabric_ns(message.open_ns);
            message.close_ns = clock.fabric_ns(message.close_ns);
        }
    }

    /// P4 set T_d. A card that had none starts with the next slot.
    pub(crate) fn set_phase(&mut self, card: usize, message: &FlowControl) -> Result<(), DropCause> {
        let local_ns = self.local_ns(card);
        if self.star.cards[card].must_answer {
            return Err(DropCause::Stopped);
        }
        let set =
            TimeDifference::from_message(message, local_ns, self.star.slots.frame_ns()).ok_or(DropCause::Malformed)?;
        let was_lost = self.star.cards[card].time_difference.replace(set).is_none();
        if was_lost {
            let since_epoch_ns = i128::from(local_ns) + i128::from(set.value_ns) - i128::from(self.star.slots.epoch_ns);
            let slot = since_epoch_ns.div_euclid(i128::from(self.star.slots.slot_ns)) + 1;
            self.star.cards[card].next_slot = u64::try_from(slot).unwrap_or(0);
            // It may have become so while nobody listened.
            if self.star.fibres[card].is_weak() {
                self.alarm(card, FaultCode::Power, false);
            }
        }
        self.star.cards[card].generation += 1;
        self.schedule_card_tick(card);
        Ok(())
    }

    /// P4 took T_d away: the card is silent, and says why.
    pub(crate) fn stop(&mut self, card: usize) {
        let place = self.star.cards[card].place();
        self.star.cards[card].time_difference = None;
        self.star.cards[card].generation += 1;
        for frame in self.star.cards[card].gates.queues.stop() {
            self.drops.add(place, DropCause::Stopped, frame.len());
            self.out.frames.give_back(frame);
        }
        self.alarm(card, FaultCode::SyncError, false);
    }

    /// Tells P4 of a fault, right after what happens now.
    pub(crate) fn alarm(&mut self, card: usize, code: FaultCode, over: bool) {
        if self.star.slots.has_alarms {
            let card = card as u32;
            self.events.schedule(self.now_ns, Event::CardAlarm { card, code, over });
        }
    }

    /// An edge's new program has not heard which of its fibres have no light.
    pub(crate) fn tell_of_darkness(&mut self, edge: u16) {
        for card in 0..self.star.cards.len() {
            if self.star.cards[card].edge == edge && !self.star.fibres[card].is_up() {
                self.alarm(card, FaultCode::LossOfSignal, false);
            }
        }
    }

    pub(crate) fn card_alarm(&mut self, card: usize, code: FaultCode, over: bool) {
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        let alarm = message::alarm(optical_port(core), code, over);
        self.notify_p4(Device::Edge(edge), &alarm, Origin::Local);
    }

    /// P4 asked for a tick at a time; the gate is open then.
    pub(crate) fn card_answer(&mut self, card: usize) {
        let (edge, core) = (self.star.cards[card].edge, self.star.cards[card].core);
        if self.star.cards[card]
            .answer_ns
            .take_if(|at_ns| *at_ns == self.now_ns)
            .is_none()
        {
            return;
        }
        let tick = SlotTick {
            frame: 0,
            slot: ANSWER_SLOT,
            repeat: 1,
            local_ns: self.local_ns(card),
        };
        let tick = message::slot_tick(optical_port(core), &tick);
        self.notify_p4(Device::Edge(edge), &tick, Origin::Local);
    }

    /// Writes when the first bit left, or came, where a message has a place for it.
    pub(crate) fn stamp(&mut self, card: usize, frame: &mut Frame, first_bit_ns: u64, came: bool) {
        let stamped = |kind| kind == u8::from(OpticalKind::Invitation) || kind == u8::from(OpticalKind::Sync);
        if !message::optical(frame).is_some_and(|optical| stamped(optical.kind)) {
            return;
        }
        let Some(mut stamp) = frame.get(STAMP_AT..).and_then(Stamp::decode) else {
            return;
        };
        let local_ns = self.star.cards[card].clock.local_ns(first_bit_ns);
        *(if came {
            &mut stamp.received_ns
        } else {
            &mut stamp.sent_ns
        }) = local_ns;
        frame[STAMP_AT..STAMP_AT + Stamp::SIZE].copy_from_slice(&stamp.encode());
    }

    /// How well each edge's slots met the core's since the run began, by line card.
    pub fn sync_errors(&self) -> Vec<(u16, u16, SyncError)> {
        let error = |card: &Card| (card.edge, card.core, card.sync_error);
        self.star.cards.iter().map(error).collect()
    }

    /// How far the slots of each line card were from the core's since the last call; [`Fabric::sync_errors`] stays.
    pub fn take_sync_errors(&mut self) -> Vec<(u16, u16, SyncError)> {
        let take = |card: &mut Card| (card.edge, card.core, std::mem::take(&mut card.recent_sync_error));
        self.star.cards.iter_mut().map(take).collect()
    }

    /// Forgets what [`Fabric::sync_errors`] has counted.
    pub fn reset_sync_errors(&mut self) {
        self.star
            .cards
            .iter_mut()
            .for_each(|card| card.sync_error = SyncError::default());
    }
}
