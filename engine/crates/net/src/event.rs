// SPDX-License-Identifier: Apache-2.0
//! Events in the order in which they happen.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use slotwise_cards::card::{Expiry, TimerId};

/// A timer of a card, by the number of its switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardTimer(u32);

impl CardTimer {
    /// The timer of the card of a node.
    pub fn new(node: usize, timer: TimerId) -> CardTimer {
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
pub enum Event {
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
    Arrival {
        /// Number of the lane.
        lane: u32,
    },
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
    pub fn expiry(timer: CardTimer, expiry: Expiry) -> Event {
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

/// Actor that schedules an event: a node, or the world between events of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By(u32);

impl By {
    /// The world.
    pub const WORLD: By = By(0);

    /// Node, by its index in the net.
    #[inline]
    pub fn node(node: usize) -> By {
        By(node as u32 + 1)
    }
}

/// Place among events of one time: by rank, then by the time at which an event was scheduled, then by the node that
/// scheduled it and the count of that node. It is the same for any order in which different nodes act at one time.
/// Exception: an event that starts or ends a flow also acts for the host at the other end of the flow (`Hosts::drain`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// Rank, then time of scheduling.
    since: u64,
    /// Name of the node, then its count.
    by: u64,
}

/// Key of an event: time, and place among events of this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Time.
    pub(crate) at_ns: u64,
    /// Place among events of this time.
    pub(crate) order: Order,
}

impl Order {
    /// Returns true for the same event: counts of a node are unique.
    #[inline]
    pub(super) fn is_of_same_event(self, other: Order) -> bool {
        self.by == other.by
    }

    /// Order between events, after all events of a time.
    const BETWEEN: Order = Order {
        since: u64::MAX,
        by: u64::MAX,
    };
}

/// Bits of the time of scheduling: 73 years.
const TIME_BITS: u32 = 61;
/// Bits of the count of a node: half a year at a million events per second.
const COUNT_BITS: u32 = 44;
/// Name of the world, which sorts after the names of nodes.
const WORLD_NAME: u64 = u64::MAX >> COUNT_BITS;

#[derive(Clone, Copy)]
struct Entry {
    at_ns: u64,
    order: Order,
    event: Event,
}

// A heap of many entries is moved about for every packet.
const _: () = assert!(size_of::<Entry>() <= 32);

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

    // The comparisons of `BinaryHeap`. Two entries are never equal.
    #[inline]
    fn le(&self, other: &Entry) -> bool {
        other.is_before(self)
    }

    #[inline]
    fn ge(&self, other: &Entry) -> bool {
        self.is_before(other)
    }
}

impl Entry {
    #[inline]
    fn is_before(&self, other: &Entry) -> bool {
        if self.at_ns == other.at_ns {
            self.order < other.order
        } else {
            self.at_ns < other.at_ns
        }
    }
}

impl Ord for Entry {
    // `BinaryHeap` pops the greatest, and the earliest is wanted.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.at_ns, other.order).cmp(&(self.at_ns, self.order))
    }
}

/// Pending events.
pub(crate) struct EventQueue {
    heap: BinaryHeap<Entry>,
    /// The first entry has been given out, and the next one that is scheduled may take its place: most events schedule one.
    is_spent: bool,
    /// Key of the event in progress, or of the current time between events.
    present: Key,
    /// Names and counts of the world and of each node.
    counts: Vec<u64>,
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue {
            heap: BinaryHeap::new(),
            is_spent: false,
            present: Key {
                at_ns: 0,
                order: Order::BETWEEN,
            },
            counts: vec![WORLD_NAME << COUNT_BITS],
        }
    }
}

impl EventQueue {
    /// Adds the next node. Its name must be unique, and must not depend on the order of construction.
    pub(crate) fn add_node(&mut self, name: u32) {
        let name = u64::from(name);
        debug_assert!(name < WORLD_NAME);
        self.counts.push(name << COUNT_BITS);
    }

    #[inline]
    pub(crate) fn schedule(&mut self, by: By, at_ns: u64, event: Event) {
        let order = self.reserve(by, event);
        self.schedule_as(at_ns, order, event);
    }

    /// A place among events of one time for an event that is scheduled later.
    #[inline]
    pub(crate) fn reserve(&mut self, by: By, event: Event) -> Order {
        let count = &mut self.counts[by.0 as usize];
        *count += 1;
        Order {
            since: event.rank() << TIME_BITS | self.present.at_ns,
            by: *count,
        }
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

    /// Key of the event in progress, or of the current time between events.
    pub(crate) fn present(&self) -> Key {
        self.present
    }

    /// Advances the time, until which no events are pending.
    pub(crate) fn pass_time(&mut self, now_ns: u64) {
        self.present.at_ns = now_ns;
    }

    /// The next event if it is not after `limit_ns`, with its time and place.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit_ns: u64) -> Option<(u64, Order, Event)> {
        self.settle();
        let Entry { at_ns, order, event } = *self.heap.peek().filter(|entry| entry.at_ns <= limit_ns)?;
        (self.is_spent, self.present) = (true, Key { at_ns, order });
        Some((at_ns, order, event))
    }

    /// All that the event that was given out last scheduled is there: it can go.
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.present.order.since = Order::BETWEEN.since;
        if std::mem::take(&mut self.is_spent) {
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests;
