// SPDX-License-Identifier: Apache-2.0
//! Lanes: what is on its way from one end of a link to the other, in one direction and one wavelength.
//!
//! A lane has one entry in the event queue, that of its head; what is behind it keeps the place among events of one
//! time that it got when it entered.

use std::collections::VecDeque;

use slotwise_scenario::Device;
use slotwise_units::Instant;

use crate::event::{By, Event, EventQueue, Order};
use crate::ticket::Owner;
use slotwise_cards::packet::{Flying, Packet};

/// Where a lane ends.
#[derive(Clone, Copy)]
pub enum LaneEnd {
    /// A port of a switch; packets come from hosts and other switches.
    Port {
        /// The switch.
        device: Device,
        /// Its port.
        port: u16,
    },
    /// A host, by its number.
    Host(usize),
    /// An end that a kind of networks handles.
    Own(OwnEnd),
}

/// An end of a lane that a kind of networks handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnEnd {
    /// The kind of networks that handles it.
    pub owner: Owner,
    /// Sort of the end, defined by its owner.
    pub sort: u8,
    /// Number among those of its sort.
    pub number: u32,
}

struct InFlight {
    at_ns: u64,
    order: Order,
    is_scheduled: bool,
    flying: Flying,
}

const CACHE_LINE_BYTES: usize = 64;
/// Lines of a frame that a switch reads at most before it knows where the frame goes: label, optical header and IPv4 are within them.
const HEADER_LINES: usize = 2;

/// Fetches the line where something begins into the cache, if the host can be asked for that.
#[inline]
fn prefetch<T: ?Sized>(thing: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing; any address will do.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(thing).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = thing;
}

/// One direction of a link.
pub(crate) struct Lane {
    number: u32,
    /// End of the lane.
    pub(crate) end: LaneEnd,
    /// By time of arrival, then by order of entry.
    in_flight: VecDeque<InFlight>,
}

impl Lane {
    /// The `number`-th lane of the network.
    pub(crate) fn new(number: usize, end: LaneEnd) -> Lane {
        Lane {
            number: number as u32,
            end,
            in_flight: VecDeque::new(),
        }
    }

    /// Something enters, sent by the node before the lane, that arrives at `at_ns`: behind what arrives before it or with it. After a change of delay it may
    /// overtake.
    pub(crate) fn enter(&mut self, events: &mut EventQueue, by: By, at_ns: u64, flying: Flying) {
        let order = events.reserve(by, self.arrival());
        let flight = InFlight {
            at_ns,
            order,
            is_scheduled: false,
            flying,
        };
        let behind = self
            .in_flight
            .iter()
            .rev()
            .take_while(|other| other.at_ns > at_ns)
            .count();
        let place = self.in_flight.len() - behind;
        if behind == 0 {
            self.in_flight.push_back(flight);
        } else {
            self.in_flight.insert(place, flight);
        }
        if place == 0 {
            self.schedule_head(events);
        }
    }

    /// What arrives by the event of this time and order; `None` if its time has changed since.
    pub(crate) fn arrive(&mut self, events: &mut EventQueue, at_ns: u64, order: Order) -> Option<Flying> {
        let head = self.in_flight.front()?;
        if head.at_ns != at_ns || !head.order.is_of_same_event(order) {
            return None;
        }
        let head = self.in_flight.pop_front()?;
        self.schedule_head(events);
        self.prefetch();
        Some(head.flying)
    }

    /// Fetches into the cache what the next arrival reads first: frames have been on their way for so long that they are in none.
    fn prefetch(&self) {
        if let Some(head) = self.in_flight.front() {
            for line in head.flying.packet.frame.chunks(CACHE_LINE_BYTES).take(HEADER_LINES) {
                prefetch(line);
            }
        }
        if let Some(next) = self.in_flight.get(1) {
            // It is longer than a line.
            prefetch(&next.at_ns);
            prefetch(&next.flying.packet.frame);
            prefetch(&next.is_scheduled);
        }
    }

    /// Takes out what entered last, so many packets.
    pub(crate) fn drop_last(&mut self, events: &mut EventQueue, count: usize) -> Vec<Packet> {
        let flights = self.in_flight.make_contiguous();
        flights.sort_by_key(|flight| flight.order);
        let gone = self.in_flight.split_off(self.in_flight.len() - count);
        let flights = self.in_flight.make_contiguous();
        flights.sort_by_key(|flight| (flight.at_ns, flight.order));
        self.schedule_head(events);
        gone.into_iter().map(|flight| flight.flying.packet).collect()
    }

    /// Takes out what `is_lost` says, by its time of arrival, with the program that numbered it.
    pub(crate) fn take_out(
        &mut self,
        events: &mut EventQueue,
        is_lost: impl Fn(Instant, &Flying) -> bool,
    ) -> Vec<(Packet, u32)> {
        let (gone, kept): (Vec<InFlight>, Vec<InFlight>) = self
            .in_flight
            .drain(..)
            .partition(|flight| is_lost(Instant::from_ns(flight.at_ns), &flight.flying));
        self.in_flight = kept.into();
        self.schedule_head(events);
        let packet = |flight: InFlight| (flight.flying.packet, flight.flying.program);
        gone.into_iter().map(packet).collect()
    }

    /// What is in it, by time of arrival.
    pub(crate) fn flying(&self) -> impl DoubleEndedIterator<Item = &Flying> {
        self.in_flight.iter().map(|flight| &flight.flying)
    }

    /// What entered last arrives at these times instead, one for each, in the order in which it entered.
    pub(crate) fn retime(&mut self, events: &mut EventQueue, arrivals: &[Instant]) {
        let flights = self.in_flight.make_contiguous();
        flights.sort_by_key(|flight| flight.order);
        let first = flights.len() - arrivals.len();
        for (flight, at) in flights[first..].iter_mut().zip(arrivals) {
            (flight.at_ns, flight.is_scheduled) = (at.ns(), false);
        }
        flights.sort_by_key(|flight| (flight.at_ns, flight.order));
        self.schedule_head(events);
    }

    fn arrival(&self) -> Event {
        Event::Arrival { lane: self.number }
    }

    fn schedule_head(&mut self, events: &mut EventQueue) {
        let arrival = self.arrival();
        if let Some(head) = self.in_flight.front_mut()
            && !head.is_scheduled
        {
            head.is_scheduled = true;
            events.schedule_as(head.at_ns, head.order, arrival);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: usize) -> Flying {
        Flying::plain(Packet::unborn(vec![0; bytes]))
    }

    /// (time, bytes) of everything that arrives in this lane.
    fn arrivals(lane: &mut Lane, events: &mut EventQueue) -> Vec<(u64, usize)> {
        let mut all = Vec::new();
        while let Some((at_ns, order, event)) = events.pop_until(u64::MAX) {
            assert_eq!(event, Event::Arrival { lane: 5 });
            let flying = lane.arrive(events, at_ns, order).expect("its time has not changed");
            all.push((at_ns, flying.packet.frame.len()));
        }
        all
    }

    #[test]
    fn packets_arrive_in_order_and_may_overtake() {
        let (mut lane, mut events) = (Lane::new(5, LaneEnd::Host(0)), EventQueue::default());
        for (at_ns, bytes) in [(10, 1), (30, 2), (30, 3), (20, 4), (5, 5), (20, 6)] {
            lane.enter(&mut events, By::WORLD, at_ns, packet(bytes));
        }
        let expected = [(5, 5), (10, 1), (20, 4), (20, 6), (30, 2), (30, 3)];
        assert_eq!(arrivals(&mut lane, &mut events), expected);
    }

    #[test]
    fn what_gets_another_time_arrives_once() {
        let (mut lane, mut events) = (Lane::new(5, LaneEnd::Host(0)), EventQueue::default());
        for (at_ns, bytes) in [(10, 1), (20, 2), (30, 3)] {
            lane.enter(&mut events, By::WORLD, at_ns, packet(bytes));
        }
        lane.retime(&mut events, &[10, 25, 15].map(Instant::from_ns));
        let mut arrived = Vec::new();
        while let Some((at_ns, order, _)) = events.pop_until(u64::MAX) {
            arrived.extend(
                lane.arrive(&mut events, at_ns, order)
                    .map(|flying| (at_ns, flying.packet.frame.len())),
            );
        }
        assert_eq!(arrived, [(10, 1), (15, 3), (25, 2)]);
    }

    #[test]
    fn what_is_taken_out_does_not_arrive() {
        let (mut lane, mut events) = (Lane::new(5, LaneEnd::Host(0)), EventQueue::default());
        for (at_ns, bytes) in [(20, 1), (30, 2), (10, 3)] {
            lane.enter(&mut events, By::WORLD, at_ns, packet(bytes));
        }
        let gone = lane.drop_last(&mut events, 2);
        assert_eq!(gone.iter().map(|packet| packet.frame.len()).collect::<Vec<_>>(), [2, 3]);
        let mut arrived = Vec::new();
        while let Some((at_ns, order, _)) = events.pop_until(u64::MAX) {
            arrived.extend(
                lane.arrive(&mut events, at_ns, order)
                    .map(|flying| (at_ns, flying.packet.frame.len())),
            );
        }
        assert_eq!(arrived, [(20, 1)]);
    }
}
