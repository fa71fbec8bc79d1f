// SPDX-License-Identifier: Apache-2.0
//! Events in the order in which they happen.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use slotwise_scenario::{Device, HostId};
use slotwise_wire::FaultCode;

use crate::faults::Way;
use crate::packet::{Frame, Packet};

/// Something that happens at one time in one place.
pub(crate) enum Event {
    /// A scheduled change, by its index in the scenario.
    LinkChange(usize),
    /// A fault on purpose begins, by its number.
    FaultBegins(usize),
    /// It is over.
    FaultEnds(usize),
    /// A control message that a fault has kept, or its copy.
    LateMessage { way: Way, frame: Frame },
    /// A slot starts at a core. Slots count from the epoch.
    CoreTick { core: u16, slot: u64 },
    /// A slot starts at a line card. `generation` tells whether the card's phase has changed since.
    CardTick { card: usize, slot: u64, generation: u32 },
    /// A line card tells P4 of a fault, or that it is over.
    CardAlarm { card: usize, code: FaultCode, over: bool },
    /// The tick that P4 asked a line card for.
    CardAnswer { card: usize },
    /// Interval timers of a line card may expire.
    CardTimer { card: usize },
    /// A host's packet has arrived at its edge.
    AtEdge { edge: u16, port: u16, packet: Packet },
    /// The head of a packet has reached a core.
    AtCore {
        fibre: usize,
        packet: Packet,
        duration_ns: u64,
        program: u32,
    },
    /// The tail of a packet has reached an edge.
    FromFibre { fibre: usize, packet: Packet, program: u32 },
    /// A frame has crossed the link between a master edge and its core.
    CoreControl { to: Device, frame: Frame },
    /// A message of the controller has reached a device.
    PacketOut { device: Device, frame: Frame },
    /// A frame has left a switch outside of the fabric.
    FromSwitch {
        device: Device,
        port: u16,
        id: u64,
        frame: Frame,
    },
    /// A packet has arrived at a host.
    AtHost { edge: u16, port: u16, packet: Packet },
    /// A source's turn.
    Source(usize),
    /// Timers of a host's streams.
    HostTimer(HostId),
    /// A line card may be able to send.
    CardWake { card: usize },
}

impl Event {
    /// Rank among events of one time: changes of the network, then clocks from the core outwards, then packets,
    /// and senders last, so that they see all that has arrived by then.
    fn rank(&self) -> u8 {
        match self {
            Event::LinkChange(_) | Event::FaultBegins(_) | Event::FaultEnds(_) => 0,
            Event::CoreTick { .. } => 1,
            Event::CardTick { .. } | Event::CardAlarm { .. } | Event::CardAnswer { .. } => 2,
            Event::CardTimer { .. } => 3,
            Event::AtEdge { .. }
            | Event::AtCore { .. }
            | Event::FromFibre { .. }
            | Event::CoreControl { .. }
            | Event::PacketOut { .. }
            | Event::LateMessage { .. }
            | Event::FromSwitch { .. }
            | Event::AtHost { .. }
            | Event::Source(_)
            | Event::HostTimer(_) => 4,
            Event::CardWake { .. } => 5,
        }
    }
}

struct Entry {
    key: (u64, u8, u64),
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    // `BinaryHeap` pops the greatest, and the earliest is wanted.
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// Pending events. Among events of one time and rank the one that was scheduled first comes first.
#[derive(Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Entry>,
    scheduled: u64,
}

impl EventQueue {
    pub(crate) fn schedule(&mut self, at_ns: u64, event: Event) {
        self.heap.push(Entry {
            key: (at_ns, event.rank(), self.scheduled),
            event,
        });
        self.scheduled += 1;
    }

    pub(crate) fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|entry| entry.key.0)
    }

    /// The next event if it is not after `limit_ns`, with its time.
    pub(crate) fn pop_until(&mut self, limit_ns: u64) -> Option<(u64, Event)> {
        if self.next_at()? > limit_ns {
            return None;
        }
        self.heap.pop().map(|entry| (entry.key.0, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_time_come_by_rank_then_by_age() {
        let mut queue = EventQueue::default();
        queue.schedule(7, Event::CardWake { card: 0 });
        queue.schedule(7, Event::Source(1));
        queue.schedule(7, Event::Source(0));
        queue.schedule(
            7,
            Event::CardTick {
                card: 0,
                slot: 0,
                generation: 0,
            },
        );
        queue.schedule(7, Event::CoreTick { core: 0, slot: 0 });
        queue.schedule(7, Event::LinkChange(0));
        queue.schedule(6, Event::CardWake { card: 9 });
        let mut order = Vec::new();
        while let Some((at_ns, event)) = queue.pop_until(7) {
            let detail = if let Event::Source(source) = event { source } else { 0 };
            order.push((at_ns, event.rank(), detail));
        }
        assert_eq!(
            order,
            [
                (6, 5, 0),
                (7, 0, 0),
                (7, 1, 0),
                (7, 2, 0),
                (7, 4, 1),
                (7, 4, 0),
                (7, 5, 0)
            ]
        );
    }

    #[test]
    fn nothing_comes_early() {
        let mut queue = EventQueue::default();
        queue.schedule(8, Event::Source(0));
        assert!(queue.pop_until(7).is_none());
        assert_eq!(queue.next_at(), Some(8));
        assert!(queue.pop_until(8).is_some());
    }
}
