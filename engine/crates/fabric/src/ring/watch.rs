// SPDX-License-Identifier: Apache-2.0
//! What must hold on a ring, seen from its wires: what is on it, by who added it; and how much may be added.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use slotwise_wire::{RINGLETS, Ring, RingClass, RingData};

use crate::measure::delays;
use slotwise_cards::transit_first::AddLimit;

const CLASSES: usize = RingClass::ALL.len();
/// Bits of an add queue's number below the class.
const CLASS_SHIFT: u32 = 8;
const NS_PER_S: i128 = 1_000_000_000;

/// A packet on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnRing {
    sequence: u32,
    /// When its station took it from a host.
    pub(crate) accepted_ns: u64,
}

/// What is known of a packet that is taken off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It was on the ring, and all that went before it is over.
    Once(OnRing),
    /// So many that went the same way before it never arrived.
    After { lost: usize },
    /// Nobody has added it, or it was taken off already.
    Never,
}

/// Packets on a ring. Those of one source, ringlet and add queue go one way and stay in order.
#[derive(Default)]
pub(crate) struct Watch {
    stations: usize,
    on_ring: Vec<VecDeque<OnRing>>,
    /// By source: from the station's taking it to its last bit at its destination, ns.
    delays: Vec<Histogram<u64>>,
    /// Bytes that have left the ring where they should, by source, then by destination.
    delivered_bytes: Vec<u64>,
}

impl Watch {
    pub(crate) fn new(stations: usize) -> Watch {
        let queues = stations * usize::from(RINGLETS) * CLASSES * stations;
        Watch {
            stations,
            on_ring: (0..queues).map(|_| VecDeque::new()).collect(),
            delays: vec![delays(); stations],
            delivered_bytes: vec![0; stations * stations],
        }
    }

    /// How many stations there are.
    pub(crate) fn stations(&self) -> usize {
        self.stations
    }

    fn queue(&mut self, ring: &Ring, data: &RingData) -> Option<&mut VecDeque<OnRing>> {
        let (class, hops) = (usize::from(data.queue >> CLASS_SHIFT), usize::from(data.queue & 0xff));
        let (source, ringlet) = (usize::from(ring.source), usize::from(ring.ringlet));
        let is_known =
            source < self.stations && ringlet < usize::from(RINGLETS) && class < CLASSES && hops < self.stations;
        let ringlets = source * usize::from(RINGLETS) + ringlet;
        let index = (ringlets * CLASSES + class) * self.stations + hops;
        self.on_ring.get_mut(index).filter(|_| is_known)
    }

    /// A packet has been put on the ring by its source.
    pub(crate) fn enters(&mut self, ring: &Ring, data: &RingData, accepted_ns: u64) {
        let sequence = data.sequence;
        if let Some(queue) = self.queue(ring, data) {
            queue.push_back(OnRing { sequence, accepted_ns });
        }
    }

    /// It is taken off, or lost.
    pub(crate) fn leaves(&mut self, ring: &Ring, data: &RingData) -> Taken {
        let Some(queue) = self.queue(ring, data) else {
            return Taken::Never;
        };
        match queue.iter().position(|on_ring| on_ring.sequence == data.sequence) {
            None => Taken::Never,
            Some(0) => queue.pop_front().map_or(Taken::Never, Taken::Once),
            Some(lost) => {
                queue.drain(..=lost);
                Taken::After { lost }
            }
        }
    }

    /// It is gone where that may be: what is around it is not judged.
    pub(crate) fn forget(&mut self, ring: &Ring, data: &RingData) {
        if let Some(queue) = self.queue(ring, data) {
            queue.retain(|on_ring| on_ring.sequence != data.sequence);
        }
    }

    /// A packet of so many bytes has left the ring at its destination, so long after it was accepted.
    pub(crate) fn delivered(&mut self, ring: &Ring, bytes: u64, delay_ns: u64) {
        if let Some(delay) = self.delays.get_mut(usize::from(ring.source)) {
            // It grows as it needs.
            let _ = delay.record(delay_ns);
        }
        if let Some(place) = self.pair(ring.source, ring.destination) {
            self.delivered_bytes[place] += bytes;
        }
    }

    /// Bytes that have gone from one station to another so far; 0 if there is no such station.
    pub(crate) fn delivered_bytes(&self, source: u16, destination: u16) -> u64 {
        let place = self.pair(source, destination);
        place.map_or(0, |place| self.delivered_bytes[place])
    }

    fn pair(&self, source: u16, destination: u16) -> Option<usize> {
        let (source, destination) = (usize::from(source), usize::from(destination));
        let is_known = source < self.stations && destination < self.stations;
        is_known.then_some(source * self.stations + destination)
    }

    pub(crate) fn take_delays(&mut self, source: u16) -> Histogram<u64> {
        let of_source = self.delays.get_mut(usize::from(source));
        of_source.map_or_else(delays, |taken| std::mem::replace(taken, delays()))
    }

    /// Whether a packet that arrives at a station by a ringlet has come straight from its source: each station takes one of the TTL.
    pub(crate) fn is_on_its_way(&self, ring: &Ring, station: u16, ringlet: u8) -> bool {
        let (stations, source, station) = (self.stations, usize::from(ring.source), usize::from(station));
        if source >= stations {
            return false;
        }
        let ahead = match ringlet {
            0 => station + stations - source,
            _ => source + stations - station,
        };
        let hops = match ahead % stations {
            0 => stations,
            hops => hops,
        };
        usize::from(ring.ttl) + hops == stations + 1
    }
}

/// What may be added still below a limit, in 10^-9 bytes.
struct Allowance {
    limit: AddLimit,
    left: i128,
    at_ns: u64,
}

impl Allowance {
    fn advance(&mut self, now_ns: u64, depth: i128) {
        let more = i128::from(now_ns - self.at_ns) * i128::from(self.limit.rate);
        self.left = (self.left + more).min(depth);
        self.at_ns = now_ns;
    }
}

/// What the limits that P4 told a card allow, reckoned apart from the card.
pub(crate) struct Allowances {
    depth: i128,
    held: Vec<Allowance>,
    /// Whatever becomes of limits that come and go: all that any of them is about, below the highest of them. It begins anew only when
    /// there was none.
    all: Option<Allowance>,
}

impl Allowances {
    pub(crate) fn new(bucket_bytes: u64) -> Allowances {
        Allowances {
            depth: i128::from(bucket_bytes) * NS_PER_S,
            held: Vec::new(),
            all: None,
        }
    }

    fn advance(&mut self, now_ns: u64) {
        for allowance in self.held.iter_mut().chain(&mut self.all) {
            allowance.advance(now_ns, self.depth);
        }
    }

    /// These limits hold from now on; each has what the nearest one before had left, and no more than any that does not hold any longer.
    pub(crate) fn set(&mut self, now_ns: u64, limits: &[AddLimit]) {
        self.advance(now_ns);
        let told = limits.iter().copied().filter(|limit| limit.is_one());
        self.set_all(now_ns, told.clone());
        let held = self.held.iter().map(|held| held.limit.hops);
        if held.eq(told.clone().map(|limit| limit.hops)) {
            for (held, limit) in self.held.iter_mut().zip(told) {
                held.limit = limit;
            }
            return;
        }
        let before = std::mem::take(&mut self.held);
        let goes = |held: &&Allowance| !told.clone().any(|limit| limit.hops == held.limit.hops);
        let most = before
            .iter()
            .filter(goes)
            .map(|held| held.left)
            .min()
            .unwrap_or(self.depth);
        for limit in told.clone() {
            let nearest = before
                .iter()
                .min_by_key(|allowance| allowance.limit.hops.abs_diff(limit.hops));
            let left = nearest.map_or(self.depth, |allowance| allowance.left).min(most);
            self.held.push(Allowance {
                limit,
                left,
                at_ns: now_ns,
            });
        }
    }

    fn set_all(&mut self, now_ns: u64, told: impl Iterator<Item = AddLimit>) {
        let left = self.all.take().map_or(self.depth, |all| all.left);
        self.all = told.max_by_key(|limit| limit.rate).map(|limit| Allowance {
            limit,
            left,
            at_ns: now_ns,
        });
    }

    /// A packet of an add queue begins to leave. False if a limit forbids it.
    pub(crate) fn take(&mut self, now_ns: u64, queue: u16, bytes: u64) -> bool {
        self.advance(now_ns);
        let concerned = self.held.iter_mut().filter(|held| held.limit.concerns(queue));
        let mut concerned = concerned.peekable();
        let all = self.all.as_mut().filter(|_| concerned.peek().is_some());
        let mut is_allowed = true;
        for allowance in concerned.chain(all) {
            allowance.left -= i128::from(bytes) * NS_PER_S;
            is_allowed &= allowance.left >= 0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use slotwise_wire::NO_LIMIT;

    use super::*;

    fn packet(source: u16, ringlet: u8, hops: u16, sequence: u32) -> (Ring, RingData) {
        let ring = Ring {
            ttl: 8,
            source,
            ringlet,
            ..Ring::default()
        };
        let data = RingData {
            queue: hops,
            sequence,
            ..RingData::default()
        };
        (ring, data)
    }

    #[test]
    fn what_is_lost_or_comes_twice_is_seen() {
        let mut watch = Watch::new(8);
        for sequence in 1..=4 {
            let (ring, data) = packet(3, 1, 2, sequence);
            watch.enters(&ring, &data, u64::from(sequence));
        }
        let mut leaves = |sequence| {
            let (ring, data) = packet(3, 1, 2, sequence);
            watch.leaves(&ring, &data)
        };
        let first = OnRing {
            sequence: 1,
            accepted_ns: 1,
        };
        assert_eq!(leaves(1), Taken::Once(first));
        assert_eq!(leaves(1), Taken::Never);
        assert_eq!(leaves(4), Taken::After { lost: 2 });
        assert_eq!(leaves(2), Taken::Never);
        let (ring, data) = packet(8, 0, 1, 1);
        assert_eq!(watch.leaves(&ring, &data), Taken::Never, "there is no such station");
    }

    #[test]
    fn the_ttl_says_how_far_a_packet_has_come() {
        let watch = Watch::new(8);
        let comes = |source, ttl, station, ringlet| {
            let ring = Ring {
                source,
                ttl,
                ..Ring::default()
            };
            watch.is_on_its_way(&ring, station, ringlet)
        };
        assert!(comes(6, 8, 7, 0) && comes(6, 7, 0, 0) && comes(6, 1, 6, 0));
        assert!(comes(1, 8, 0, 1) && comes(1, 7, 7, 1));
        assert!(!comes(6, 8, 0, 0), "as if it had left one station out");
        assert!(!comes(6, 7, 7, 0), "as after a loop");
        assert!(!comes(8, 8, 0, 0));
    }

    #[test]
    fn more_than_a_bucket_and_its_rate_is_not_allowed() {
        let mut allowances = Allowances::new(3000);
        assert!(allowances.take(0, 3, 1 << 20), "there is no limit");
        let limit = |hops, rate| AddLimit { hops, rate };
        allowances.set(0, &[limit(1, 1_000_000), limit(0, NO_LIMIT)]);
        assert!(allowances.take(0, 1, 1 << 20), "it goes less far");
        assert!(allowances.take(0, 512 + 3, 1 << 20), "it is not fair");
        assert!(allowances.take(0, 3, 3000));
        // A byte a microsecond.
        assert!(allowances.take(500_000, 2, 500));
        allowances.set(500_000, &[limit(1, 2_000_000)]);
        assert!(!allowances.take(500_000, 256 + 2, 1), "a new rate fills no bucket");
    }

    #[test]
    fn limits_that_come_and_go_allow_no_more_than_the_highest_one_would() {
        let mut allowances = Allowances::new(3000);
        let limit = |hops, rate| AddLimit { hops, rate };
        allowances.set(0, &[limit(1, 1_000_000), limit(3, 500_000)]);
        assert!(allowances.take(0, 5, 3000));
        allowances.set(1_000_000, &[limit(2, 1_000_000)]);
        // As if each new limit had a bucket of its own, which is what a wrong rule in the card would do here as well.
        for held in &mut allowances.held {
            held.left = 3000 * NS_PER_S;
        }
        assert!(allowances.take(1_000_000, 5, 1000), "a byte a microsecond");
        assert!(!allowances.take(1_000_000, 5, 1));
        // There is none, and another begins with a whole bucket.
        allowances.set(1_000_000, &[]);
        assert!(allowances.take(1_000_000, 5, 1 << 20));
        allowances.set(1_000_000, &[limit(2, 1_000_000)]);
        assert!(allowances.take(1_000_000, 5, 3000) && !allowances.take(1_000_000, 5, 1));
    }
}
