// SPDX-License-Identifier: Apache-2.0
//! Invariants of a ring, observed on its links: packets on it, by source.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use slotwise_units::Bytes;
use slotwise_wire::{RINGLETS, Ring, RingClass, RingData};

use slotwise_cards::measure::delays;

const CLASSES: usize = RingClass::ALL.len();
/// Bits of an add queue's number below the class.
const CLASS_SHIFT: u32 = 8;

/// A packet on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OnRing {
    sequence: u32,
    /// When its station took it from a host.
    pub(super) accepted_ns: u64,
}

/// What is known of a packet that is taken off.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It was on the ring, and all that went before it is over.
    Once(OnRing),
    /// So many that went the same way before it never arrived.
    After { lost: usize },
    /// Nobody has added it, or it was taken off already.
    Never,
}

/// Packets on a ring. Those of one source, ringlet and add queue go one way and stay in order.
#[derive(Default)]
pub(super) struct Watch {
    stations: usize,
    on_ring: Vec<VecDeque<OnRing>>,
    /// By source: from the station's taking it to its last bit at its destination, ns.
    delays: Vec<Histogram<u64>>,
    /// Bytes that have left the ring where they should, by source, then by destination.
    delivered_bytes: Vec<Bytes>,
}

impl Watch {
    pub(super) fn new(stations: usize) -> Watch {
        let queues = stations * usize::from(RINGLETS) * CLASSES * stations;
        Watch {
            stations,
            on_ring: (0..queues).map(|_| VecDeque::new()).collect(),
            delays: vec![delays(); stations],
            delivered_bytes: vec![Bytes::ZERO; stations * stations],
        }
    }

    /// How many stations there are.
    pub(super) fn stations(&self) -> usize {
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
    pub(super) fn enters(&mut self, ring: &Ring, data: &RingData, accepted_ns: u64) {
        let sequence = data.sequence;
        if let Some(queue) = self.queue(ring, data) {
            queue.push_back(OnRing { sequence, accepted_ns });
        }
    }

    /// It is taken off, or lost.
    pub(super) fn leaves(&mut self, ring: &Ring, data: &RingData) -> Taken {
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
    pub(super) fn forget(&mut self, ring: &Ring, data: &RingData) {
        if let Some(queue) = self.queue(ring, data) {
            queue.retain(|on_ring| on_ring.sequence != data.sequence);
        }
    }

    /// A packet of so many bytes has left the ring at its destination, so long after it was accepted.
    pub(super) fn delivered(&mut self, ring: &Ring, bytes: Bytes, delay_ns: u64) {
        if let Some(delay) = self.delays.get_mut(usize::from(ring.source)) {
            // It grows as it needs.
            let _ = delay.record(delay_ns);
        }
        if let Some(place) = self.pair(ring.source, ring.destination) {
            self.delivered_bytes[place] += bytes;
        }
    }

    /// Bytes that have gone from one station to another so far; 0 if there is no such station.
    pub(super) fn delivered_bytes(&self, source: u16, destination: u16) -> Bytes {
        let place = self.pair(source, destination);
        place.map_or(Bytes::ZERO, |place| self.delivered_bytes[place])
    }

    fn pair(&self, source: u16, destination: u16) -> Option<usize> {
        let (source, destination) = (usize::from(source), usize::from(destination));
        let is_known = source < self.stations && destination < self.stations;
        is_known.then_some(source * self.stations + destination)
    }

    pub(super) fn take_delays(&mut self, source: u16) -> Histogram<u64> {
        let of_source = self.delays.get_mut(usize::from(source));
        of_source.map_or_else(delays, |taken| std::mem::replace(taken, delays()))
    }

    /// Whether a packet that arrives at a station by a ringlet has come straight from its source: each station takes one of the TTL.
    pub(super) fn is_on_its_way(&self, ring: &Ring, station: u16, ringlet: u8) -> bool {
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

#[cfg(test)]
mod tests {
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
}
