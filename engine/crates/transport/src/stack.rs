// SPDX-License-Identifier: Apache-2.0
//! The endpoints of one host: hands packets to the right one, and asks only those that may have something to say.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

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
    endpoint: E,
    queued: bool,
    timer_ns: Option<u64>,
}

/// Endpoints by the flow that they receive. The order of calls is that of [`Endpoint`]; endpoints with packets to
/// send take turns, one packet each.
pub struct Stack<E> {
    slots: BTreeMap<FlowKey, Slot<E>>,
    /// Endpoints to ask for packets.
    ready: VecDeque<FlowKey>,
    timers: BTreeSet<(u64, FlowKey)>,
    events: VecDeque<(FlowKey, Event)>,
    stats: StackStats,
}

impl<E> Default for Stack<E> {
    fn default() -> Self {
        Self {
            slots: BTreeMap::new(),
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
        if self.slots.contains_key(&flow) {
            return Err(endpoint);
        }
        let slot = Slot {
            endpoint,
            queued: false,
            timer_ns: None,
        };
        self.slots.insert(flow, slot);
        self.wake(flow);
        Ok(())
    }

    /// Takes an endpoint out.
    pub fn remove(&mut self, flow: &FlowKey) -> Option<E> {
        let slot = self.slots.remove(flow)?;
        self.ready.retain(|ready| ready != flow);
        if let Some(timer_ns) = slot.timer_ns {
            self.timers.remove(&(timer_ns, *flow));
        }
        Some(slot.endpoint)
    }

    /// The endpoint that receives `flow`.
    pub fn get(&self, flow: &FlowKey) -> Option<&E> {
        self.slots.get(flow).map(|slot| &slot.endpoint)
    }

    /// The same, to be changed; it is asked again for packets and timeouts.
    pub fn get_mut(&mut self, flow: &FlowKey) -> Option<&mut E> {
        self.wake(*flow);
        self.slots.get_mut(flow).map(|slot| &mut slot.endpoint)
    }

    /// All endpoints, by flow.
    pub fn iter(&self) -> impl Iterator<Item = (&FlowKey, &E)> {
        self.slots.iter().map(|(flow, slot)| (flow, &slot.endpoint))
    }

    /// Packets that reached no endpoint.
    pub fn stats(&self) -> StackStats {
        self.stats
    }

    /// Hands a packet to its endpoint.
    pub fn handle_segment(&mut self, now_ns: u64, packet: &[u8]) {
        match FlowKey::of(packet) {
            Ok(flow) => self.handle_segment_of(flow, now_ns, packet),
            Err(_) => self.stats.malformed += 1,
        }
    }

    /// The same of a packet whose flow is known.
    pub fn handle_segment_of(&mut self, flow: FlowKey, now_ns: u64, packet: &[u8]) {
        let any = FlowKey { source: ANYONE, ..flow };
        for flow in [flow, any] {
            if let Some(slot) = self.slots.get_mut(&flow) {
                slot.endpoint.handle_segment(now_ns, packet);
                if !std::mem::replace(&mut slot.queued, true) {
                    self.ready.push_back(flow);
                }
                return;
            }
        }
        self.stats.unclaimed += 1;
    }

    /// The next packet of any endpoint, as [`Endpoint::poll_transmit`].
    pub fn poll_transmit(&mut self, now_ns: u64, out: &mut Vec<u8>) -> Option<usize> {
        while let Some(flow) = self.ready.pop_front() {
            let Some(slot) = self.slots.get_mut(&flow) else {
                continue;
            };
            if let Some(length) = slot.endpoint.poll_transmit(now_ns, out) {
                self.ready.push_back(flow);
                return Some(length);
            }
            slot.queued = false;
            while let Some(event) = slot.endpoint.poll_event() {
                self.events.push_back((flow, event));
            }
            let timer_ns = slot.endpoint.poll_timeout();
            if timer_ns != slot.timer_ns {
                if let Some(old_ns) = slot.timer_ns {
                    self.timers.remove(&(old_ns, flow));
                }
                self.timers.extend(timer_ns.map(|new_ns| (new_ns, flow)));
                slot.timer_ns = timer_ns;
            }
        }
        None
    }

    /// The earliest timeout of all; right once `poll_transmit` gave nothing.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.timers.first().map(|(timer_ns, _)| *timer_ns)
    }

    /// Tells every endpoint whose time has come.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        while let Some((timer_ns, flow)) = self.timers.first().copied() {
            if timer_ns > now_ns {
                break;
            }
            self.timers.pop_first();
            if let Some(slot) = self.slots.get_mut(&flow) {
                slot.timer_ns = None;
                slot.endpoint.handle_timeout(now_ns);
            }
            self.wake(flow);
        }
    }

    /// The oldest event; complete once `poll_transmit` gave nothing.
    pub fn poll_event(&mut self) -> Option<(FlowKey, Event)> {
        self.events.pop_front()
    }

    fn wake(&mut self, flow: FlowKey) {
        if let Some(slot) = self.slots.get_mut(&flow)
            && !slot.queued
        {
            slot.queued = true;
            self.ready.push_back(flow);
        }
    }
}
