// SPDX-License-Identifier: Apache-2.0
//! The endpoints of one host: hands packets to the right one, and asks only those that may have something to say.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use slotwise_units::Instant;

use crate::endpoint::{Endpoint, Event, FlowKey};

/// Whom an endpoint without a fixed peer names as the source of its flow.
pub const ANYONE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

/// Counters of a [`Stack`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackStats {
    /// Packets without a readable IPv4 header and ports.
    pub malformed: u64,
    /// Packets that no endpoint is there for.
    pub unclaimed: u64,
}

struct Slot<E> {
    flow: FlowKey,
    endpoint: E,
    queued: bool,
    timer: Option<Instant>,
}

/// Endpoints by the flow that they receive. The order of calls is that of [`Endpoint`]; endpoints with packets to
/// send take turns, one packet each.
pub struct Stack<E> {
    /// Places in `slots`. A packet costs one look here: whatever follows it knows the place.
    places: BTreeMap<FlowKey, usize>,
    slots: Vec<Option<Slot<E>>>,
    /// Places to use again.
    free: Vec<usize>,
    /// Endpoints to ask for packets, by place.
    ready: VecDeque<usize>,
    /// By time, then by flow; with the place.
    timers: BTreeSet<(Instant, FlowKey, usize)>,
    events: VecDeque<(FlowKey, Event)>,
    stats: StackStats,
}

impl<E> Default for Stack<E> {
    fn default() -> Self {
        Self {
            places: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            events: VecDeque::new(),
            stats: StackStats::default(),
        }
    }
}

impl<E: Endpoint> Stack<E> {
    /// Adds the endpoint that receives the packets of `flow` (source [`ANYONE`]: any peer's). Gives it back if
    /// there is one already.
    pub fn insert(&mut self, flow: FlowKey, endpoint: E) -> Result<(), E> {
        if self.places.contains_key(&flow) {
            return Err(endpoint);
        }
        let slot = Slot {
            flow,
            endpoint,
            queued: false,
            timer: None,
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[place] = Some(slot);
        self.places.insert(flow, place);
        self.wake(place);
        Ok(())
    }

    /// Takes an endpoint out.
    pub fn remove(&mut self, flow: &FlowKey) -> Option<E> {
        let place = self.places.remove(flow)?;
        let slot = self.slots[place].take()?;
        self.free.push(place);
        self.ready.retain(|ready| *ready != place);
        if let Some(timer) = slot.timer {
            self.timers.remove(&(timer, *flow, place));
        }
        Some(slot.endpoint)
    }

    /// The endpoint that receives `flow`.
    pub fn get(&self, flow: &FlowKey) -> Option<&E> {
        let slot = self.slots[*self.places.get(flow)?].as_ref();
        slot.map(|slot| &slot.endpoint)
    }

    /// The same, to be changed; it is asked again for packets and timeouts.
    pub fn get_mut(&mut self, flow: &FlowKey) -> Option<&mut E> {
        let place = *self.places.get(flow)?;
        self.wake(place);
        self.slots[place].as_mut().map(|slot| &mut slot.endpoint)
    }

    /// All endpoints, by flow.
    pub fn iter(&self) -> impl Iterator<Item = (&FlowKey, &E)> {
        let slot = |(flow, place): (_, &usize)| Some((flow, &self.slots[*place].as_ref()?.endpoint));
        self.places.iter().filter_map(slot)
    }

    /// Packets that reached no endpoint.
    pub fn stats(&self) -> StackStats {
        self.stats
    }

    /// Hands a packet to its endpoint.
    pub fn handle_segment(&mut self, now: Instant, packet: &[u8]) {
        match FlowKey::of(packet) {
            Ok(flow) => self.handle_segment_of(flow, now, packet),
            Err(_) => self.stats.malformed += 1,
        }
    }

    /// The same of a packet whose flow is known.
    pub fn handle_segment_of(&mut self, flow: FlowKey, now: Instant, packet: &[u8]) {
        let any = FlowKey { source: ANYONE, ..flow };
        for flow in [flow, any] {
            if let Some(&place) = self.places.get(&flow)
                && let Some(slot) = &mut self.slots[place]
            {
                slot.endpoint.handle_segment(now, packet);
                return self.wake(place);
            }
        }
        self.stats.unclaimed += 1;
    }

    /// The next packet of any endpoint, as [`Endpoint::poll_transmit`].
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        while let Some(place) = self.ready.pop_front() {
            let Some(slot) = &mut self.slots[place] else {
                continue;
            };
            if let Some(length) = slot.endpoint.poll_transmit(now, out) {
                self.ready.push_back(place);
                return Some(length);
            }
            let flow = slot.flow;
            slot.queued = false;
            while let Some(event) = slot.endpoint.poll_event() {
                self.events.push_back((flow, event));
            }
            let timer = slot.endpoint.poll_timeout();
            if timer != slot.timer {
                if let Some(old) = slot.timer {
                    self.timers.remove(&(old, flow, place));
                }
                self.timers.extend(timer.map(|new| (new, flow, place)));
                slot.timer = timer;
            }
        }
        None
    }

    /// The earliest timeout of all; right once `poll_transmit` gave nothing.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(timer, ..)| *timer)
    }

    /// Tells every endpoint whose time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((timer, _, place)) = self.timers.first().copied() {
            if timer > now {
                break;
            }
            self.timers.pop_first();
            if let Some(slot) = &mut self.slots[place] {
                slot.timer = None;
                slot.endpoint.handle_timeout(now);
            }
            self.wake(place);
        }
    }

    /// The oldest event; complete once `poll_transmit` gave nothing.
    pub fn poll_event(&mut self) -> Option<(FlowKey, Event)> {
        self.events.pop_front()
    }

    fn wake(&mut self, place: usize) {
        if let Some(slot) = &mut self.slots[place]
            && !slot.queued
        {
            slot.queued = true;
            self.ready.push_back(place);
        }
    }
}
