// SPDX-License-Identifier: Apache-2.0
//! What the cards and stations of a ring did, for whoever writes it down.

use slotwise_p4::Pipeline;
use slotwise_units::{Bytes, Instant};
use slotwise_wire::RingPhase;

use super::parts::{Ring, device};
use crate::kind::{View, ViewMut};
use slotwise_cards::station::{Interval, RingLinkUse, StationCard};
use slotwise_net::effects::Effects;

/// The register of `ring.p4` that says so.
const PHASE: &str = "ring_phase";
/// Of an estimate in P4, fractions of a byte/s.
const ESTIMATE_SHIFT: u32 = 8;

/// What a station's program knows of the link of a ringlet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingLinkState {
    /// Whether it is the head of a congested span, or was until lately.
    pub phase: RingPhase,
    /// Estimate of what the link carries, byte/s.
    pub link_rate: u64,
    /// What it tells others as a head, by weight, byte/s; NO_LIMIT is none.
    pub told_rate: u32,
    /// Stations that put something on the link.
    pub active_stations: u16,
    /// Lowest rate, by weight, that it may add, byte/s; NO_LIMIT is none.
    pub least_limit: u32,
}

impl ViewMut<'_, Ring> {
    /// What a station put on the link of a ringlet (0 or 1) since the last call; `None` if there is no such link.
    pub fn take_link_use(&mut self, station: u16, ringlet: u8) -> Option<RingLinkUse> {
        let card = self.fx.card_mut::<StationCard>(device(station))?;
        let mut used = card.take_use(ringlet)?;
        if ringlet == 0 {
            used.crossings = self.kind.watch.take_delays(station);
        }
        Some(used)
    }
}

impl View<'_, Ring> {
    /// Bytes that have gone over the ring from one station to another since the start, with the ring's headers; 0 if there are no such stations.
    pub fn delivered_bytes(&self, source: u16, destination: u16) -> Bytes {
        self.kind.watch.delivered_bytes(source, destination)
    }

    /// Start of the present period in which all links of the ring are up and all stations run; `None` outside of such a period.
    pub fn whole_since(&self) -> Option<Instant> {
        let is_lit = self.look.cards::<StationCard>().all(StationCard::is_lit);
        let mut stations = (0..self.kind.watch.stations()).map(|station| device(station as u16));
        (is_lit && stations.all(|station| self.look.runs(station))).then_some(self.kind.broken)
    }

    /// What a station's own program knows of the link of a ringlet (0 or 1); `None` if there is no such link or program.
    pub fn link_state(&self, station: u16, ringlet: u8) -> Option<RingLinkState> {
        let card = self.look.card::<StationCard>(device(station))?;
        let pipeline = self.look.pipeline(device(station)).filter(|_| card.has_link(ringlet))?;
        let link = usize::from(ringlet);
        let phase = phase(pipeline, link)?;
        let held = number(pipeline, "limits_held", link)? as usize;
        // They are in order, the highest rate first.
        let least_limit = match held.checked_sub(1) {
            None => slotwise_wire::NO_LIMIT,
            Some(last) => {
                let entry = link * usize::from(slotwise_wire::FAIRNESS_ENTRIES) + last;
                number(pipeline, "limit_rate", entry)? as u32
            }
        };
        Some(RingLinkState {
            phase,
            link_rate: number(pipeline, "link_rate", link)? >> ESTIMATE_SHIFT,
            told_rate: number(pipeline, "told_rates", link)? as u32,
            active_stations: number(pipeline, "active_stations", link)? as u16,
            least_limit,
        })
    }
}

impl Ring {
    /// Notes whether the program of a station takes it for the head of a congested span. It is asked at each interval's end.
    pub(super) fn note_phase(&mut self, fx: &mut Effects<'_>, node: usize, interval: &Interval) {
        let ringlet = usize::from(interval.ringlet);
        let station = usize::from(fx.device(node).number());
        let (Some(card), Some(pipeline)) = fx.card_and_program::<StationCard>(node) else {
            return;
        };
        let cell = &mut self.phase_cells[station][ringlet];
        if cell.is_none() {
            *cell = pipeline.register_cell(PHASE, ringlet);
        }
        let word = cell.and_then(|cell| pipeline.register_word(cell));
        let phase = word.and_then(|word| RingPhase::try_from(word as u8).ok());
        if let Some(phase) = phase {
            card.note_phase(interval, phase, interval.hol_delay.ns() > self.hol_timer_ns);
        }
    }
}

fn phase(pipeline: &Pipeline, link: usize) -> Option<RingPhase> {
    RingPhase::try_from(number(pipeline, PHASE, link)? as u8).ok()
}

fn number(pipeline: &Pipeline, register: &str, index: usize) -> Option<u64> {
    pipeline.register_word(pipeline.register_cell(register, index)?)
}
