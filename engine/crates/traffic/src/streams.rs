// SPDX-License-Identifier: Apache-2.0
//! Flows between hosts whose ends are transports: TCP or XCP, bulk, files, the pages of web users; UDP.

mod gtp;
mod measured;
mod spec;
mod totals;

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use rand::SeedableRng;
use rand_pcg::Pcg64;
use rustc_hash::{FxHashMap, FxHashSet};
use slotwise_scenario::FlowPorts;
use slotwise_transport::{Event as StreamEvent, FlowKey, UdpSink, UdpSource, UdpSourceConfig};
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::Ethernet;

use super::DelayUse;
use super::datagrams::{arrivals, set_dscp};
use super::order::Order;
use super::station::{End, Station, StreamSpec};
use super::web::Clients;
use slotwise_cards::packet::Packet;
pub use spec::HostAddress;
pub(crate) use spec::{FlowSpec, Sends, algorithm};
pub(crate) use totals::Totals;

enum State {
    Waiting,
    Running,
    Over,
}

struct StreamFlow {
    spec: FlowSpec,
    /// Addresses of each connection's data and its seed; of a web flow, of the pages last begun.
    connections: Vec<(FlowKey, u64)>,
    state: State,
    completed_ns: Option<u64>,
    /// What connections did that have made room for others.
    ended: Totals,
    lately: DelayUse,
    order: Option<Box<Order>>,
}

/// All streams and the hosts that hold their ends.
pub(crate) struct Streams {
    flows: Vec<StreamFlow>,
    addresses: Vec<HostAddress>,
    /// Of hosts that have flows.
    stations: Vec<Option<Station>>,
    /// A phase has at most 1000 entries of 64 streams between two hosts; of more, the oldest make room.
    ports: FlowPorts,
    /// Whether any flow's packets are marked.
    has_marks: bool,
    clients: Clients,
    /// Hosts that have something to send.
    awake: VecDeque<usize>,
    /// Which flow a stream of data belongs to. Nothing depends on its order.
    owners: FxHashMap<FlowKey, usize>,
    /// Data of files and pages that were given up: what is still under way of them is for nobody, and is not astray. Nothing depends on
    /// its order.
    given_up: FxHashSet<FlowKey>,
    /// Whether the order of any flow is measured.
    is_measured: bool,
}

impl Streams {
    /// No flows yet between hosts of these addresses.
    pub(crate) fn new(addresses: Vec<HostAddress>) -> Streams {
        Streams {
            flows: Vec::new(),
            stations: addresses.iter().map(|_| None).collect(),
            addresses,
            ports: FlowPorts::default(),
            has_marks: false,
            clients: Clients::default(),
            awake: VecDeque::new(),
            owners: FxHashMap::default(),
            given_up: FxHashSet::default(),
            is_measured: false,
        }
    }

    /// The next flow.
    pub(crate) fn add(&mut self, spec: FlowSpec) {
        self.has_marks |= spec.dscp > 0;
        for host in [spec.from, spec.to] {
            let HostAddress { mac, gateway, .. } = self.addresses[host];
            self.stations[host].get_or_insert_with(|| Station::new(mac, gateway));
        }
        let seeds = match &spec.sends {
            Sends::Streams { seeds, .. } => seeds.clone(),
            Sends::Datagrams { seed, .. } | Sends::Session { seed, .. } => vec![*seed],
            Sends::Web { .. } => Vec::new(),
        };
        let connections = seeds
            .into_iter()
            .map(|seed| (self.new_key(spec.from, spec.to, spec.protocol()), seed))
            .collect();
        self.is_measured |= spec.measure;
        self.flows.push(StreamFlow {
            order: spec.measure.then(Box::default),
            spec,
            connections,
            state: State::Waiting,
            completed_ns: None,
            ended: Totals::default(),
            lately: DelayUse::default(),
        });
    }

    fn new_key(&mut self, from: usize, to: usize, protocol: u8) -> FlowKey {
        let port = self.ports.next(from, to);
        FlowKey {
            source: SocketAddrV4::new(self.addresses[from].ip, port),
            destination: SocketAddrV4::new(self.addresses[to].ip, port),
            protocol,
        }
    }

    /// Addresses for a page: after so many others its hosts' ports come again, and those of streams that run stay theirs.
    fn page_key(&mut self, index: usize) -> FlowKey {
        let spec = &self.flows[index].spec;
        let (from, to, protocol) = (spec.from, spec.to, spec.protocol());
        let mut key = self.new_key(from, to, protocol);
        for _ in 1..FlowPorts::COUNT {
            if !self.is_running(&key) && !self.is_running(&key.reversed()) {
                break;
            }
            key = self.new_key(from, to, protocol);
        }
        key
    }

    /// Whether a stream with these addresses belongs to a flow that is not over.
    fn is_running(&self, key: &FlowKey) -> bool {
        let owner = self.owners.get(key);
        owner.is_some_and(|&index| !self.is_over(index))
    }

    /// (flow, time) of every flow's first turn.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let flows = self.flows.iter().enumerate();
        flows.map(|(index, flow)| (index, flow.spec.start_ns))
    }

    /// Some flows, which have not begun, start and end so much later, modulo 2^64 ns; (flow, time) of their first turns.
    pub(crate) fn delay(&mut self, is_one: impl Fn(usize) -> bool, late_ns: u64) -> Vec<(usize, u64)> {
        let flows = self.flows.iter_mut().enumerate().filter(|(index, _)| is_one(*index));
        let starts = flows.map(|(index, flow)| {
            flow.spec.start_ns = flow.spec.start_ns.wrapping_add(late_ns);
            flow.spec.end_ns = flow.spec.end_ns.map(|end_ns| end_ns.wrapping_add(late_ns));
            (index, flow.spec.start_ns)
        });
        starts.collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.flows.len()
    }

    /// Sending host of a flow.
    pub(crate) fn host_of(&self, index: usize) -> usize {
        self.flows[index].spec.from
    }

    /// Starts a flow, or ends it; says when to call again.
    pub(crate) fn turn(&mut self, index: usize, now_ns: u64) -> Option<u64> {
        match self.flows[index].state {
            State::Waiting => {
                self.open(index, Instant::from_ns(now_ns));
                self.flows[index].state = State::Running;
                self.flows[index].spec.end_ns
            }
            State::Running => {
                self.stop(index);
                self.flows[index].state = State::Over;
                None
            }
            State::Over => None,
        }
    }

    /// Whether a flow's phase has ended.
    pub(crate) fn is_over(&self, index: usize) -> bool {
        matches!(self.flows[index].state, State::Over)
    }

    fn open(&mut self, index: usize, now: Instant) {
        let flow = &self.flows[index];
        let to = flow.spec.to;
        match flow.spec.sends {
            Sends::Web { users, web, seed } => {
                self.clients.add(index, to, (users, web), now, seed);
                self.awake.push_back(to);
            }
            Sends::Streams { bytes, .. } => {
                for (key, seed) in flow.connections.clone() {
                    self.open_stream(index, key, seed, bytes.map(Bytes::new), now);
                }
            }
            Sends::Session { session, .. } => self.open_session(index, &session, now),
            Sends::Datagrams { rate_bps, process, .. } => {
                let (key, seed) = flow.connections[0];
                let config = UdpSourceConfig {
                    local: key.source,
                    remote: key.destination,
                    packet_bytes: flow.spec.packet_bytes,
                    arrivals: arrivals(process, rate_bps),
                    start: now,
                    stop: None,
                };
                let source = UdpSource::new(config, Pcg64::seed_from_u64(seed))
                    .expect("a scenario's sizes, rates and shapes are within the source's bounds");
                let sink = UdpSink::new(key.destination, Some(key.source));
                self.insert_ends(index, key, End::Source(Box::new(source)), End::Sink(Box::new(sink)));
            }
        }
    }

    fn open_stream(&mut self, index: usize, key: FlowKey, seed: u64, bytes: Option<Bytes>, now: Instant) {
        let spec = &self.flows[index].spec;
        let rate = match spec.sends {
            Sends::Streams { rate_bps, .. } => rate_bps.map(Rate::from_bps),
            _ => None,
        };
        let stream = StreamSpec {
            key,
            algorithm: algorithm(spec.transport),
            sack: spec.sack,
            tcp: spec.tcp,
            packet_bytes: spec.packet_bytes,
            window_bytes: spec.window_bytes,
            bytes,
            rate,
            start: now,
            rto: spec.rto,
            seed,
        };
        self.insert_ends(index, key, stream.sender(), stream.receiver());
    }

    /// Gives a flow the addresses of its data.
    fn own(&mut self, index: usize, key: FlowKey) {
        self.given_up.remove(&key);
        if let Some(earlier) = self.owners.insert(key, index) {
            self.retire(earlier, key);
        }
    }

    fn insert_ends(&mut self, index: usize, key: FlowKey, sender: End, receiver: End) {
        let (from, to) = (self.flows[index].spec.from, self.flows[index].spec.to);
        self.own(index, key);
        for (host, key, end) in [(to, key, receiver), (from, key.reversed(), sender)] {
            if let Some(station) = &mut self.stations[host] {
                let inserted = station.stack.insert(key, end).is_ok();
                debug_assert!(
                    inserted,
                    "`retire` made room, and ports of two hosts are numbered together"
                );
            }
            self.awake.push_back(host);
        }
    }

    /// Begins the pages that users at `host` ask for now.
    fn begin_pages(&mut self, host: usize, now: Instant) {
        while let Some(page) = self.clients.poll(host, now) {
            let key = self.page_key(page.flow);
            self.flows[page.flow].connections.push((key, page.seed));
            if let Some(old) = self.clients.begun(host, page.client, key) {
                self.retire(page.flow, old);
                self.owners.remove(&old);
                self.flows[page.flow].connections.retain(|(key, _)| *key != old);
                // In an open loop no page waited for the last packets of this one.
                if matches!(&self.flows[page.flow].spec.sends, Sends::Web { web, .. } if web.open) {
                    self.given_up.insert(old);
                }
            }
            self.open_stream(page.flow, key, page.seed, Some(page.bytes), now);
        }
    }

    /// Takes out a flow's ends.
    fn retire(&mut self, index: usize, key: FlowKey) {
        let spec = &self.flows[index].spec;
        for (host, key) in [(spec.from, key.reversed()), (spec.to, key)] {
            self.retire_end(index, host, &key);
        }
    }

    /// Takes out what receives packets of `key` at a host.
    fn retire_end(&mut self, index: usize, host: usize, key: &FlowKey) {
        let ended = &mut self.flows[index].ended;
        if let Some(station) = &mut self.stations[host] {
            ended.add_session(station, key);
            if let Some(end) = station.remove(key) {
                ended.add(&end);
            }
        }
    }

    /// The application writes no more. What is left of a file or page is given up.
    fn stop(&mut self, index: usize) {
        let spec = &self.flows[index].spec;
        let (from, to) = (spec.from, spec.to);
        self.clients.remove(index, to);
        let keys: Vec<FlowKey> = self.flows[index].connections.iter().map(|(key, _)| *key).collect();
        match &self.flows[index].spec.sends {
            Sends::Session { .. } => return self.stop_session(index),
            // What is under way still comes to the sink.
            Sends::Datagrams { .. } => {
                for key in keys {
                    self.retire_end(index, from, &key.reversed());
                }
            }
            Sends::Streams { bytes: None, .. } => {
                for key in keys {
                    self.finish(from, &key);
                }
            }
            Sends::Streams { .. } | Sends::Web { .. } => {
                for key in keys {
                    self.retire(index, key);
                    self.owners.remove(&key);
                    self.given_up.insert(key);
                }
            }
        }
        self.awake.push_back(from);
    }

    /// A stream ends when what was written has arrived.
    fn finish(&mut self, from: usize, key: &FlowKey) {
        let station = self.stations[from].as_mut();
        if let Some(End::Sender { sender, application }) =
            station.and_then(|station| station.stack.get_mut(&key.reversed()))
        {
            *application = None;
            sender.finish();
        }
    }

    /// Handles a packet of the flow `key` that arrived at a host. Returns false if it is not for this host.
    pub(crate) fn receive(&mut self, host: usize, now_ns: u64, packet: &Packet, key: Option<FlowKey>) -> bool {
        let frame = &packet.frame;
        // Acknowledgments have the key reversed: only packets of data are counted.
        if let (Some(born), Some(&index)) = (packet.born(), key.and_then(|key| self.owners.get(&key))) {
            let flow = &mut self.flows[index];
            flow.lately.add(Duration::from_ns(now_ns - born.ns()));
            if flow.order.is_some() {
                self.note_arrival(index, (born.ns(), now_ns), frame);
            }
        }
        if self.is_measured
            && let Some(&index) = key.and_then(|key| self.owners.get(&key.reversed()))
        {
            self.note_acknowledgment(index, now_ns, frame);
        }
        let Some(station) = &mut self.stations[host] else {
            return false;
        };
        self.awake.push_back(host);
        station.receive(Instant::from_ns(now_ns), frame, key) || key.is_some_and(|key| self.is_given_up(&key))
    }

    fn is_given_up(&self, key: &FlowKey) -> bool {
        self.given_up.contains(key) || self.given_up.contains(&key.reversed())
    }

    /// A host's timers are due; nothing happens for an event whose timer has moved since it was scheduled. Each event that
    /// is heeded schedules one, so none that is stale may be: they would never end.
    pub(crate) fn timeout(&mut self, host: usize, now_ns: u64) {
        let now = Instant::from_ns(now_ns);
        if let Some(station) = &mut self.stations[host]
            && station.wake.is_some_and(|wake| wake <= now)
        {
            station.handle_timeout(now);
            self.awake.push_back(host);
            self.begin_pages(host, now);
        }
    }

    /// Writes the next frame of any host that has one; otherwise all is sent and `timers` are to be scheduled.
    pub(crate) fn transmit(
        &mut self,
        now_ns: u64,
        frame: &mut Vec<u8>,
        timers: &mut Vec<(usize, u64)>,
    ) -> Option<usize> {
        let now = Instant::from_ns(now_ns);
        while let Some(&host) = self.awake.front() {
            let Some(station) = &mut self.stations[host] else {
                break;
            };
            if station.transmit(now, frame) {
                if self.has_marks {
                    self.mark(frame);
                }
                if self.is_measured {
                    self.note_departure(host, frame);
                }
                return Some(host);
            }
            self.awake.pop_front();
            while let Some((key, event)) = station.poll_event() {
                // Only a receiver is known by the key of the data.
                if let (StreamEvent::Finished, Some(&index)) = (event, self.owners.get(&key)) {
                    self.flows[index].completed_ns.get_or_insert(now_ns);
                    self.clients.finished(host, key, now);
                }
                if let (StreamEvent::Aborted(_), Some(&index)) = (event, self.owners.get(&key.reversed())) {
                    self.clients.failed(self.flows[index].spec.to, key.reversed(), now);
                }
            }
            let next = [station.poll_timeout(), self.clients.poll_timeout(host)];
            if let Some(at) = next.into_iter().flatten().min()
                && station.wake.is_none_or(|wake| at < wake)
            {
                station.wake = Some(at);
                timers.push((host, at.ns()));
            }
        }
        None
    }

    /// Marks a packet as its flow's are.
    fn mark(&self, frame: &mut [u8]) {
        let Some(packet) = frame.get_mut(Ethernet::SIZE..) else {
            return;
        };
        let Ok(key) = FlowKey::of(packet) else { return };
        let owner = self.owners.get(&key).or_else(|| self.owners.get(&key.reversed()));
        if let Some(&index) = owner {
            set_dscp(packet, self.flows[index].spec.dscp);
        }
    }
}

#[cfg(test)]
mod tests;
