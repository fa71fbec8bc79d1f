// SPDX-License-Identifier: Apache-2.0
//! A line card's own time: when its slots start, what it stamps on messages, and what it tells P4 when it loses it.

use slotwise_scenario::{Device, optical_port};
use slotwise_wire::{
    ANSWER_SLOT, Ethernet, FaultCode, FlowControl, FlowOp, MAX_PHASE_NS, Optical, OpticalKind, SlotTick, Stamp,
};

use super::{Card, Clock};
use crate::drops::DropCause;
use crate::event::Event;
use crate::fabric::Fabric;
use slotwise_cards::message;
use slotwise_cards::packet::Frame;
use slotwise_cards::packet::Origin;

const STAMP_AT: usize = Ethernet::SIZE + Optical::SIZE;
/// How old the moment may be for which a T_d is given.
const MAX_AGE_NS: u64 = 10_000_000_000;
/// T_d changes by at most this part of a frame in a frame: no clock is so bad.
const MAX_CHANGE_PART: u64 = 1_000;

/// T_d as a line card goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeDifference {
    /// At `reference_ns`.
    value_ns: i64,
    /// Local time.
    reference_ns: u64,
    /// Change in 2^-16 ns a frame.
    change_q16: i64,
}

impl TimeDifference {
    /// One that stays.
    pub(crate) fn constant(value_ns: i64) -> TimeDifference {
        TimeDifference {
            value_ns,
            reference_ns: 0,
            change_q16: 0,
        }
    }

    /// What P4 set, if a card can obey it.
    pub(crate) fn from_message(message: &FlowControl, now_ns: u64, frame_ns: u64) -> Option<TimeDifference> {
        let limit = MAX_PHASE_NS as i64;
        let change_limit = ((frame_ns / MAX_CHANGE_PART) << 16) as i64;
        let set = TimeDifference {
            value_ns: message.value as i64,
            reference_ns: message.open_ns,
            change_q16: message.close_ns as i64,
        };
        let recent = set.change_q16 == 0
            || now_ns
                .checked_sub(set.reference_ns)
                .is_some_and(|age_ns| age_ns <= MAX_AGE_NS);
        let sane = (-limit..=limit).contains(&set.value_ns) && (-change_limit..=change_limit).contains(&set.change_q16);
        (recent && sane).then_some(set)
    }

    /// T_d if it stays as it is.
    pub(crate) fn steady_ns(&self) -> Option<i64> {
        (self.change_q16 == 0).then_some(self.value_ns)
    }

    /// T_d at a local time.
    fn at_ns(&self, local_ns: i128, frame_ns: u64) -> i64 {
        let age_ns = local_ns - i128::from(self.reference_ns);
        let change_ns = (i128::from(self.change_q16) * age_ns / i128::from(frame_ns)) >> 16;
        self.value_ns + change_ns as i64
    }
}

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
        let known = TimeDifference::constant(fibre.t_d_ns() as i64);
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
            self.pool.give_back(frame);
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

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_NS: u64 = 5_000_000;

    fn message(value: i64, reference_ns: u64, change_q16: i64) -> FlowControl {
        FlowControl {
            op: FlowOp::SetPhase.into(),
            open_ns: reference_ns,
            close_ns: change_q16 as u64,
            value: value as u64,
            ..FlowControl::default()
        }
    }

    #[test]
    fn a_time_difference_goes_on_as_it_changes() {
        // 250 ns a frame: 50 ppm.
        let set = TimeDifference::from_message(&message(-700, 20_000_000, 250 << 16), 21_000_000, FRAME_NS).unwrap();
        assert_eq!(set.at_ns(20_000_000, FRAME_NS), -700);
        assert_eq!(set.at_ns(25_000_000, FRAME_NS), -450);
        assert_eq!(set.at_ns(15_000_000, FRAME_NS), -950);
        assert_eq!(TimeDifference::constant(9).at_ns(i128::from(u64::MAX), FRAME_NS), 9);
    }

    #[test]
    fn what_no_clock_does_is_refused() {
        let refused = |message| TimeDifference::from_message(&message, 20_000_000, FRAME_NS).is_none();
        let limit = MAX_PHASE_NS as i64;
        assert!(!refused(message(limit, 0, 0)));
        assert!(refused(message(limit + 1, 0, 0)));
        assert!(refused(message(i64::MIN, 0, 0)));
        assert!(refused(message(0, 20_000_001, 1)), "a moment to come");
        assert!(refused(message(0, 20_000_000, i64::MIN)));
        assert!(refused(message(0, 20_000_000, 5_001 << 16)), "a thousandth of a frame");
    }
}
