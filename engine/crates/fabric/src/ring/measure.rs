// SPDX-License-Identifier: Apache-2.0
//! What the cards and stations of a ring did, for whoever writes it down.

use hdrhistogram::Histogram;
use slotwise_p4::Pipeline;
use slotwise_wire::RingPhase;

use crate::fabric::Fabric;
use crate::measure::delays;
use slotwise_cards::transit_first::Origin;

/// The register of `ring.p4` that says so.
const PHASE: &str = "ring_phase";
/// Of an estimate in P4, fractions of a byte/s.
const ESTIMATE_SHIFT: u32 = 8;

/// What a station put on the link of a ringlet since it was last asked, and what waits there. Bytes are those on the ring.
#[derive(Debug, Clone, PartialEq)]
pub struct RingLinkUse {
    /// Packets of hosts of this station.
    pub added_packets: u64,
    /// Their bytes.
    pub added_bytes: u64,
    /// Packets of other stations.
    pub transit_packets: u64,
    /// Their bytes.
    pub transit_bytes: u64,
    /// Messages.
    pub message_packets: u64,
    /// Their bytes.
    pub message_bytes: u64,
    /// Time that all of it takes.
    pub busy_ns: u64,
    /// Packets of hosts of this station that came to the card, those that it lost included.
    pub offered_packets: u64,
    /// Bytes of those that it kept.
    pub accepted_bytes: u64,
    /// Packets that the card lost: its buffer was full, they were too long, or its link was dark.
    pub dropped_packets: u64,
    /// Of these, packets of other stations.
    pub dropped_transit_packets: u64,
    /// Time in which the station was the head of a congested span, by whole intervals.
    pub congested_ns: u64,
    /// How often it became one.
    pub onsets: u64,
    /// Of these, how often since a packet was held back for too long.
    pub timer_onsets: u64,
    /// Of added packets: from first in the add queue to the first bit on the ring, ns.
    pub hol_delays: Histogram<u64>,
    /// Of the same, from when the station took them, ns.
    pub access_delays: Histogram<u64>,
    /// Longest time that a packet in transit waited for the link, ns.
    pub longest_transit_ns: u64,
    /// Of packets that this station has added to either ringlet and that have left the ring: from when the station took them to the last
    /// bit at their destination, ns. They are given with ringlet 0.
    pub crossings: Histogram<u64>,
    /// Bytes of hosts' packets that wait.
    pub buffered_bytes: u64,
    /// Most of them that waited at once.
    pub most_buffered_bytes: u64,
}

impl Default for RingLinkUse {
    fn default() -> Self {
        RingLinkUse {
            added_packets: 0,
            added_bytes: 0,
            transit_packets: 0,
            transit_bytes: 0,
            message_packets: 0,
            message_bytes: 0,
            busy_ns: 0,
            offered_packets: 0,
            accepted_bytes: 0,
            dropped_packets: 0,
            dropped_transit_packets: 0,
            congested_ns: 0,
            onsets: 0,
            timer_onsets: 0,
            hol_delays: delays(),
            access_delays: delays(),
            longest_transit_ns: 0,
            crossings: delays(),
            buffered_bytes: 0,
            most_buffered_bytes: 0,
        }
    }
}

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

/// Counts for a [`RingLinkUse`].
#[derive(Default)]
pub(crate) struct Meters {
    counted: RingLinkUse,
    is_congested: bool,
}

impl Meters {
    pub(crate) fn sent(&mut self, now_ns: u64, origin: Origin, bytes: u64, duration_ns: u64) {
        let counted = &mut self.counted;
        counted.busy_ns += duration_ns;
        match origin {
            Origin::Transit { arrived_ns } => {
                counted.transit_packets += 1;
                counted.transit_bytes += bytes;
                counted.longest_transit_ns = counted.longest_transit_ns.max(now_ns - arrived_ns);
            }
            Origin::Message => {
                counted.message_packets += 1;
                counted.message_bytes += bytes;
            }
            Origin::Added(added) => {
                counted.added_packets += 1;
                counted.added_bytes += bytes;
                // They grow as they need.
                let _ = counted.hol_delays.record(now_ns - added.first_ns);
                let _ = counted.access_delays.record(now_ns - added.accepted_ns);
            }
        }
    }

    /// A host's packet has come.
    pub(crate) fn offered(&mut self, bytes: u64) {
        self.counted.offered_packets += 1;
        self.counted.accepted_bytes += bytes;
    }

    /// The card has lost a packet, of so many bytes if it is of a host of this station.
    pub(crate) fn dropped(&mut self, own_bytes: Option<u64>) {
        self.counted.dropped_packets += 1;
        match own_bytes {
            // What pushes out what was accepted earlier takes its place.
            Some(bytes) => self.counted.accepted_bytes = self.counted.accepted_bytes.saturating_sub(bytes),
            None => self.counted.dropped_transit_packets += 1,
        }
    }

    /// An interval has ended in which, or at whose end, the station was in this phase.
    pub(crate) fn phase(&mut self, phase: RingPhase, interval_ns: u64, is_held_back: bool) {
        let is_congested = phase == RingPhase::Congested;
        if is_congested {
            self.counted.congested_ns += interval_ns;
            self.counted.onsets += u64::from(!self.is_congested);
            self.counted.timer_onsets += u64::from(!self.is_congested && is_held_back);
        }
        self.is_congested = is_congested;
    }
}

impl Fabric {
    /// What a station put on the link of a ringlet (0 or 1) since the last call; `None` if there is no such link.
    pub fn take_ring_use(&mut self, station: u16, ringlet: u8) -> Option<RingLinkUse> {
        let index = self.ring.card(station, ringlet)?;
        let card = &mut self.ring.cards[index];
        let mut used = std::mem::take(&mut card.meters.counted);
        used.buffered_bytes = card.queues.buffered_bytes();
        used.most_buffered_bytes = card.queues.take_most_buffered_bytes();
        if ringlet == 0 {
            used.crossings = self.ring.watch.take_delays(station);
        }
        Some(used)
    }

    /// Bytes that have gone over the ring from one station to another since the start, with the ring's headers; 0 if there are no such stations.
    pub fn ring_delivered_bytes(&self, source: u16, destination: u16) -> u64 {
        let ring = self.ring.get();
        ring.map_or(0, |ring| ring.watch.delivered_bytes(source, destination))
    }

    /// Since when all links of the ring have had light and all stations a program, fabric time; `None` if it is not so now, or there is no
    /// ring.
    pub fn ring_whole_since(&self) -> Option<u64> {
        let ring = self.ring.get()?;
        let is_lit = ring.cards.iter().all(|card| !card.is_dark);
        let mut stations = (0..ring.watch.stations()).map(|station| super::device(station as u16));
        (is_lit && stations.all(|station| self.runs(station))).then_some(ring.broken_ns)
    }

    /// Whether the program of a card's station takes it for the head of a congested span. It is asked at each interval's end.
    pub(super) fn ring_phase(&mut self, card: usize) -> Option<RingPhase> {
        let node = self.node(self.ring.cards[card].device());
        let card = &mut self.ring.cards[card];
        let pipeline = self.nodes[node].pipeline.as_ref()?;
        let cell = match card.phase_cell {
            Some(cell) => cell,
            None => *card
                .phase_cell
                .insert(pipeline.register_cell(PHASE, usize::from(card.ringlet))?),
        };
        RingPhase::try_from(pipeline.register_word(cell)? as u8).ok()
    }

    /// What a station's own program knows of the link of a ringlet (0 or 1); `None` if there is no such link or program.
    pub fn ring_link_state(&self, station: u16, ringlet: u8) -> Option<RingLinkState> {
        self.ring.card(station, ringlet)?;
        let pipeline = self.nodes[self.node(super::device(station))].pipeline.as_ref()?;
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

fn phase(pipeline: &Pipeline, link: usize) -> Option<RingPhase> {
    RingPhase::try_from(number(pipeline, PHASE, link)? as u8).ok()
}

fn number(pipeline: &Pipeline, register: &str, index: usize) -> Option<u64> {
    pipeline.register_word(pipeline.register_cell(register, index)?)
}
