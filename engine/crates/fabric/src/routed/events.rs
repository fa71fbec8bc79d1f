// SPDX-License-Identifier: Apache-2.0
//! Events of a routed network, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens; numbers are indices. Events of one time come in this order, then by age: the network
/// changes, flows start or end, timers of cards, packets, timers of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Change(u32),
    FlowTurn(u32),
    CardTimer(u32),
    Arrival(u32),
    HostTimer(u32),
}

impl Event {
    fn rank(self) -> u8 {
        match self {
            Event::Change(_) => 0,
            Event::FlowTurn(_) => 1,
            Event::CardTimer(_) => 2,
            Event::Arrival(_) => 3,
            Event::HostTimer(_) => 4,
        }
    }
}

/// Pending events.
#[derive(Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<(u64, u8, u64, Event)>>,
    scheduled: u64,
}

impl Events {
    pub(crate) fn schedule(&mut self, at_ns: u64, event: Event) {
        self.heap.push(Reverse((at_ns, event.rank(), self.scheduled, event)));
        self.scheduled += 1;
    }

    /// The next event if it is not after `limit_ns`, with its time.
    pub(crate) fn pop_until(&mut self, limit_ns: u64) -> Option<(u64, Event)> {
        if self.heap.peek()?.0.0 > limit_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((at_ns, _, _, event))| (at_ns, event))
    }
}
