// SPDX-License-Identifier: Apache-2.0
//! Events in the order in which they happen.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use slotwise_cards::card::{Expiry, TimerId};

/// A timer of a card, by the number of its switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CardTimer(u32);

impl CardTimer {
    pub(crate) fn new(node: usize, timer: TimerId) -> CardTimer {
        CardTimer((node as u32) << TimerId::BITS | u32::from(timer))
    }

    /// Number of the switch, and the timer.
    pub(crate) fn parts(self) -> (usize, TimerId) {
        ((self.0 >> TimerId::BITS) as usize, self.0 as TimerId)
    }
}

/// Something that happens at one time in one place. Indices only, so that the queue moves little. With a tag of four bytes an event is
/// copied in words that are read again as they were written; with one of a byte each copy waited for the stores before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Event {
    /// A scheduled change, by its number.
    Change(u32),
    /// A fault on purpose begins, by its number.
    FaultBegins(u32),
    /// It is over.
    FaultEnds(u32),
    /// Whether the network is well again after a fault.
    LookAfterFaults,
    /// A slot starts at a core, by a timer of its card.
    CoreSlot(CardTimer),
    /// A slot starts at an edge, or its card has a message for P4, by a timer of the card.
    EdgeSlot(CardTimer),
    /// A card may have a message for P4: an interval has ended.
    Timer(CardTimer),
    /// The head of a lane arrives.
    Arrival { lane: u32 },
    /// What is on its way outside of lanes is there, by its number.
    Parcel(u32),
    /// A source's turn.
    Source(u32),
    /// Timers of a host's streams.
    HostTimer(u32),
    /// A card may be able to send.
    Wake(CardTimer),
}

impl Event {
    /// The expiry of a timer of a card.
    #[inline]
    pub(crate) fn expiry(timer: CardTimer, expiry: Expiry) -> Event {
        match expiry {
            Expiry::CoreSlot => Event::CoreSlot(timer),
            Expiry::EdgeSlot => Event::EdgeSlot(timer),
            Expiry::First => Event::Timer(timer),
            Expiry::Last => Event::Wake(timer),
        }
    }

    /// Rank among events of one time: changes of the network, then clocks from the core outwards, then packets and
    /// their senders in the order in which they were scheduled, and cards last, so that they see all that came.
    fn rank(self) -> u64 {
        match self {
            Event::Change(_) | Event::FaultBegins(_) | Event::FaultEnds(_) => 0,
            Event::CoreSlot(_) => 1,
            Event::EdgeSlot(_) => 2,
            Event::Timer(_) => 3,
            Event::Arrival { .. } | Event::Parcel(_) | Event::Source(_) | Event::HostTimer(_) => 4,
            Event::Wake(_) | Event::LookAfterFaults => 5,
        }
    }
}

/// Place among events of one time: by rank, then by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u64);

const RANK_SHIFT: u32 = 61;

#[derive(Clone, Copy)]
struct Entry {
    at_ns: u64,
    order: Order,
    event: Event,
}

// A heap of many entries is moved about for every packet.
const _: () = assert!(size_of::<Entry>() <= 24);

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
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
        (other.at_ns, other.order).cmp(&(self.at_ns, self.order))
    }
}

/// Pending events. Among events of one time and rank the one whose order was reserved first comes first.
#[derive(Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Entry>,
    /// The first entry has been given out, and the next one that is scheduled may take its place: most events schedule one.
    is_spent: bool,
    reserved: u64,
}

impl EventQueue {
    pub(crate) fn schedule(&mut self, at_ns: u64, event: Event) {
        let order = self.reserve(event);
        self.schedule_as(at_ns, order, event);
    }

    /// A place among events of one time for an event that is scheduled later.
    pub(crate) fn reserve(&mut self, event: Event) -> Order {
        self.reserved += 1;
        Order(event.rank() << RANK_SHIFT | self.reserved)
    }

    /// Schedules an event at its reserved place.
    pub(crate) fn schedule_as(&mut self, at_ns: u64, order: Order, event: Event) {
        let entry = Entry { at_ns, order, event };
        if std::mem::take(&mut self.is_spent)
            && let Some(mut first) = self.heap.peek_mut()
        {
            *first = entry;
        } else {
            self.heap.push(entry);
        }
    }

    /// When the next event is, between two events ([`EventQueue::settle`]).
    pub(crate) fn next_at(&self) -> Option<u64> {
        debug_assert!(!self.is_spent);
        self.heap.peek().map(|entry| entry.at_ns)
    }

    /// The next event if it is not after `limit_ns`, with its time and place.
    pub(crate) fn pop_until(&mut self, limit_ns: u64) -> Option<(u64, Order, Event)> {
        self.settle();
        let Entry { at_ns, order, event } = *self.heap.peek().filter(|entry| entry.at_ns <= limit_ns)?;
        self.is_spent = true;
        Some((at_ns, order, event))
    }

    /// All that the event that was given out last scheduled is there: it can go.
    pub(crate) fn settle(&mut self) {
        if std::mem::take(&mut self.is_spent) {
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_time_come_by_rank_then_by_age() {
        let mut queue = EventQueue::default();
        let wake = |timer| Event::Wake(CardTimer::new(0, timer));
        let lane = Event::Arrival { lane: 3 };
        let early = queue.reserve(lane);
        let scheduled = [
            wake(0),
            Event::Source(1),
            Event::Source(0),
            Event::EdgeSlot(CardTimer::new(0, 0)),
            Event::CoreSlot(CardTimer::new(0, 0)),
            Event::Change(0),
        ];
        for event in scheduled {
            queue.schedule(7, event);
        }
        queue.schedule(6, wake(9));
        queue.schedule_as(7, early, lane);
        let popped = std::iter::from_fn(|| queue.pop_until(7));
        let order: Vec<(u64, Event)> = popped.map(|(at_ns, _, event)| (at_ns, event)).collect();
        let [card_wakes, source1, source0, card, core, change] = scheduled;
        let at_7 = [change, core, card, lane, source1, source0, card_wakes].map(|event| (7, event));
        assert_eq!(order[0], (6, wake(9)));
        assert_eq!(order[1..], at_7, "the lane's place was reserved first");
    }

    #[test]
    fn nothing_comes_early() {
        let mut queue = EventQueue::default();
        queue.schedule(8, Event::Source(0));
        assert!(queue.pop_until(7).is_none());
        assert_eq!(queue.next_at(), Some(8));
        assert!(queue.pop_until(8).is_some());
        queue.schedule(9, Event::Source(1));
        queue.schedule(8, Event::Source(2));
        assert_eq!(queue.pop_until(9).map(|(at_ns, _, _)| at_ns), Some(8));
        queue.settle();
        assert_eq!(queue.next_at(), Some(9));
    }
}
