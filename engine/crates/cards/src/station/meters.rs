// SPDX-License-Identifier: Apache-2.0
//! Use of a ring's link by its station.

use hdrhistogram::Histogram;
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::RingPhase;

use crate::measure::delays;
use crate::transit_first::Origin;

/// Traffic of a station on the link of a ringlet since the last call, and its backlog. Bytes are those on the ring.
#[derive(Debug, Clone, PartialEq)]
pub struct RingLinkUse {
    /// Packets of hosts of this station.
    pub added_packets: u64,
    /// Their bytes.
    pub added_bytes: Bytes,
    /// Packets of other stations.
    pub transit_packets: u64,
    /// Their bytes.
    pub transit_bytes: Bytes,
    /// Messages.
    pub message_packets: u64,
    /// Their bytes.
    pub message_bytes: Bytes,
    /// Time that all of it takes.
    pub busy: Duration,
    /// Packets of hosts of this station that came to the card, those that it lost included.
    pub offered_packets: u64,
    /// Bytes of these.
    pub accepted_bytes: Bytes,
    /// Packets dropped by the card: buffer full, packet too long, or link dark.
    pub dropped_packets: u64,
    /// Packets of other stations among these.
    pub dropped_transit_packets: u64,
    /// Time as the head of a congested span, by whole intervals.
    pub congested: Duration,
    /// Times that it became one.
    pub onsets: u64,
    /// Times among these since a packet was held back for too long.
    pub timer_onsets: u64,
    /// Delay of added packets from first in the add queue to the first bit on the ring, ns.
    pub hol_delays: Histogram<u64>,
    /// Delay of the same since the station accepted them, ns.
    pub access_delays: Histogram<u64>,
    /// Longest time that a packet in transit waited for the link.
    pub longest_transit: Duration,
    /// Time of packets that this station has added to either ringlet and that have left the ring, from acceptance by the station to the
    /// last bit at their destination, ns. They are given with ringlet 0.
    pub crossings: Histogram<u64>,
    /// Bytes of hosts' packets that wait.
    pub buffered_bytes: Bytes,
    /// Most of them that waited at once.
    pub most_buffered_bytes: Bytes,
}

impl Default for RingLinkUse {
    fn default() -> Self {
        RingLinkUse {
            added_packets: 0,
            added_bytes: Bytes::ZERO,
            transit_packets: 0,
            transit_bytes: Bytes::ZERO,
            message_packets: 0,
            message_bytes: Bytes::ZERO,
            busy: Duration::ZERO,
            offered_packets: 0,
            accepted_bytes: Bytes::ZERO,
            dropped_packets: 0,
            dropped_transit_packets: 0,
            congested: Duration::ZERO,
            onsets: 0,
            timer_onsets: 0,
            hol_delays: delays(),
            access_delays: delays(),
            longest_transit: Duration::ZERO,
            crossings: delays(),
            buffered_bytes: Bytes::ZERO,
            most_buffered_bytes: Bytes::ZERO,
        }
    }
}

/// Counts for a [`RingLinkUse`].
#[derive(Default)]
pub struct Meters {
    counted: RingLinkUse,
    is_congested: bool,
}

impl Meters {
    pub fn sent(&mut self, now: Instant, origin: Origin, bytes: Bytes, duration: Duration) {
        let counted = &mut self.counted;
        counted.busy += duration;
        match origin {
            Origin::Transit { arrived } => {
                counted.transit_packets += 1;
                counted.transit_bytes += bytes;
                counted.longest_transit = counted.longest_transit.max(now - arrived);
            }
            Origin::Message => {
                counted.message_packets += 1;
                counted.message_bytes += bytes;
            }
            Origin::Added(added) => {
                counted.added_packets += 1;
                counted.added_bytes += bytes;
                // They grow as they need.
                let _ = counted.hol_delays.record((now - added.first).ns());
                let _ = counted.access_delays.record((now - added.accepted).ns());
            }
        }
    }

    /// A host's packet has come.
    pub fn offered(&mut self, bytes: Bytes) {
        self.counted.offered_packets += 1;
        self.counted.accepted_bytes += bytes;
    }

    /// The card has lost a packet, of so many bytes if it is of a host of this station.
    pub fn dropped(&mut self, own_bytes: Option<Bytes>) {
        self.counted.dropped_packets += 1;
        match own_bytes {
            // A packet that pushes out an earlier one takes its place.
            Some(bytes) => self.counted.accepted_bytes = self.counted.accepted_bytes.saturating_sub(bytes),
            None => self.counted.dropped_transit_packets += 1,
        }
    }

    /// Counts so far; counting starts again.
    pub fn take(&mut self) -> RingLinkUse {
        std::mem::take(&mut self.counted)
    }

    /// An interval has ended with the station in this phase.
    pub fn phase(&mut self, phase: RingPhase, interval: Duration, is_held_back: bool) {
        let is_congested = phase == RingPhase::Congested;
        if is_congested {
            self.counted.congested += interval;
            self.counted.onsets += u64::from(!self.is_congested);
            self.counted.timer_onsets += u64::from(!self.is_congested && is_held_back);
        }
        self.is_congested = is_congested;
    }
}
