// SPDX-License-Identifier: Apache-2.0
//! Flows of bytes: TCP or XCP from host to host; bulk, files, and the pages of web users.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use rand::Rng;
use slotwise_scenario::{Flow, HostId, Scenario, TrafficKind, Transport, edge_mac};
use slotwise_transport::segment::PROTOCOL_TCP;
use slotwise_transport::{Algorithm, Event, FlowKey, xcp};
use slotwise_wire::Ethernet;

use super::station::{End, LINUX_RTO, Station, StreamSpec};
use super::web::Clients;
use super::{FlowResult, StreamResult, mac_number};
use crate::measure::DelayUse;
use crate::packet::Packet;
use crate::random;

/// Streams of a phase begin within this time: nobody starts a hundred programs at one nanosecond.
const START_SPREAD_NS: u64 = 10_000_000;
const FIRST_PORT: u16 = 1024;
/// A phase has at most 1000 entries of 64 streams between two hosts; of more, the oldest make room.
const PORTS: u32 = 64_000;

/// The transports' name for a scenario's choice.
pub(crate) fn algorithm(transport: Transport) -> Algorithm {
    match transport {
        Transport::Reno => Algorithm::Reno,
        Transport::NewReno => Algorithm::NewReno,
        Transport::Cubic => Algorithm::Cubic,
        Transport::Xcp => Algorithm::Xcp,
    }
}

enum State {
    Waiting,
    Running,
    Over,
}

/// One flow of the scenario: one or more streams.
struct StreamFlow {
    flow: Flow,
    transport: Transport,
    rate_bps: Option<u64>,
    bytes: Option<u64>,
    /// Addresses of each stream's data and its seed; of a web flow, of the pages last begun.
    streams: Vec<(FlowKey, u64)>,
    start_ns: u64,
    end_ns: u64,
    state: State,
    completed_ns: Option<u64>,
    lately: DelayUse,
}

/// All streams and the hosts that hold their ends.
pub(crate) struct Streams {
    seed: u64,
    flows: Vec<StreamFlow>,
    stations: BTreeMap<HostId, Station>,
    packet_bytes: u16,
    /// Next port of two hosts, one count for both directions: acknowledgments of one are addressed as data of the
    /// other.
    ports: BTreeMap<(HostId, HostId), u32>,
    clients: Clients<HostId>,
    /// Hosts that have something to send.
    awake: VecDeque<HostId>,
    /// Which flow a stream of data belongs to.
    owners: BTreeMap<FlowKey, usize>,
    /// What streams did whose ends have made room for others.
    ended: BTreeMap<usize, (StreamResult, Counts)>,
}

/// What the ends of a flow count.
#[derive(Clone, Copy, Default)]
struct Counts {
    sent_packets: u64,
    sent_bytes: u64,
    received_packets: u64,
    received_bytes: u64,
}

impl Streams {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Streams {
        let mut streams = Streams {
            seed,
            flows: Vec::new(),
            stations: BTreeMap::new(),
            packet_bytes: scenario.hosts.mtu as u16,
            ports: BTreeMap::new(),
            clients: Clients::default(),
            awake: VecDeque::new(),
            owners: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        for phase in 0..scenario.phases.len() {
            let (start_ns, end_ns) = scenario.phase_ns(phase);
            for flow in scenario.flows(phase) {
                let (count, rate_bps, bytes, transport) = match flow.kind {
                    TrafficKind::Tcp {
                        rate_bps,
                        streams,
                        transport,
                    } => (streams, rate_bps, None, transport),
                    TrafficKind::File { bytes, transport } => (1, None, Some(bytes), transport),
                    TrafficKind::Web { transport, .. } => (0, None, None, transport),
                    TrafficKind::Udp { .. } => continue,
                };
                let index = streams.flows.len() as u64;
                let mut random = random::generator(seed, random::Stream::Connection, index);
                let keys = (0..count)
                    .map(|_| (streams.new_key(&flow, transport), random.random()))
                    .collect();
                let spread_ns = START_SPREAD_NS.min(end_ns - start_ns);
                let start_ns = start_ns + random.random_range(0..spread_ns);
                streams.flows.push(StreamFlow {
                    flow,
                    transport,
                    rate_bps,
                    bytes,
                    streams: keys,
                    start_ns,
                    end_ns,
                    state: State::Waiting,
                    completed_ns: None,
                    lately: DelayUse::default(),
                });
                for host in [flow.from, flow.to] {
                    let station = || Station::new(mac_number(host.mac()), mac_number(edge_mac(host.edge)));
                    streams.stations.entry(host).or_insert_with(station);
                }
            }
        }
        streams
    }

    fn new_key(&mut self, flow: &Flow, transport: Transport) -> FlowKey {
        let pair = (flow.from.min(flow.to), flow.from.max(flow.to));
        let next = self.ports.entry(pair).or_default();
        let port = FIRST_PORT + (*next % PORTS) as u16;
        *next += 1;
        flow_key(flow, transport, port)
    }

    /// Addresses for a page: after so many others its hosts' ports come again, and those of streams that run stay theirs.
    fn page_key(&mut self, index: usize) -> FlowKey {
        let (flow, transport) = (self.flows[index].flow, self.flows[index].transport);
        let mut key = self.new_key(&flow, transport);
        for _ in 1..PORTS {
            if !self.is_running(&key) && !self.is_running(&key.reversed()) {
                break;
            }
            key = self.new_key(&flow, transport);
        }
        key
    }

    /// Whether a stream with these addresses belongs to a flow that is not over.
    fn is_running(&self, key: &FlowKey) -> bool {
        let owner = self.owners.get(key);
        owner.is_some_and(|&index| !matches!(self.flows[index].state, State::Over))
    }

    pub(crate) fn starts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.flows
            .iter()
            .enumerate()
            .map(|(index, flow)| (index, flow.start_ns))
    }

    /// Starts a flow, or ends it; says when to call again.
    pub(crate) fn turn(&mut self, index: usize, now_ns: u64) -> Option<u64> {
        match self.flows[index].state {
            State::Waiting => {
                self.open(index, now_ns);
                self.flows[index].state = State::Running;
                Some(self.flows[index].end_ns)
            }
            State::Running => {
                self.stop(index);
                self.flows[index].state = State::Over;
                None
            }
            State::Over => None,
        }
    }

    fn open(&mut self, index: usize, now_ns: u64) {
        let flow = &self.flows[index];
        if let TrafficKind::Web { users, web, .. } = flow.flow.kind {
            let seed = random::derived_seed(self.seed, random::Stream::Web, index as u64);
            self.clients.add(index, flow.flow.to, (users, web), now_ns, seed);
            return self.awake.push_back(flow.flow.to);
        }
        let bytes = flow.bytes;
        for (key, seed) in flow.streams.clone() {
            self.open_stream(index, key, seed, bytes, now_ns);
        }
    }

    fn open_stream(&mut self, index: usize, key: FlowKey, seed: u64, bytes: Option<u64>, now_ns: u64) {
        let flow = &self.flows[index];
        let (from, to) = (flow.flow.from, flow.flow.to);
        let spec = StreamSpec {
            key,
            algorithm: algorithm(flow.transport),
            sack: flow.transport.uses_sack(),
            packet_bytes: self.packet_bytes,
            bytes,
            rate_bps: flow.rate_bps,
            start_ns: now_ns,
            rto: LINUX_RTO,
            seed,
        };
        let (sender, receiver) = spec.ends();
        if let Some(earlier) = self.owners.insert(key, index) {
            self.retire(earlier, key);
        }
        for (host, key, end) in [(to, key, receiver), (from, key.reversed(), sender)] {
            if let Some(station) = self.stations.get_mut(&host) {
                let inserted = station.stack.insert(key, end).is_ok();
                debug_assert!(
                    inserted,
                    "`retire` made room, and ports of two hosts are numbered together"
                );
            }
            self.awake.push_back(host);
        }
    }

    /// Begins the pages that users at `host` ask for now. Of each user's connections the last two stay: what is
    /// under way of an earlier one has arrived while its successor was fetched.
    fn begin_pages(&mut self, host: HostId, now_ns: u64) {
        while let Some(page) = self.clients.poll(host, now_ns) {
            let key = self.page_key(page.flow);
            self.flows[page.flow].streams.push((key, page.seed));
            if let Some(old) = self.clients.begun(host, page.client, key) {
                self.retire(page.flow, old);
                self.owners.remove(&old);
                self.flows[page.flow].streams.retain(|(key, _)| *key != old);
            }
            self.open_stream(page.flow, key, page.seed, Some(page.bytes), now_ns);
        }
    }

    /// Takes out an earlier flow's ends whose ports are used again.
    fn retire(&mut self, index: usize, key: FlowKey) {
        let (from, to) = (self.flows[index].flow.from, self.flows[index].flow.to);
        let (stream, counts) = self.ended.entry(index).or_default();
        for (host, key) in [(from, key.reversed()), (to, key)] {
            if let Some(end) = self
                .stations
                .get_mut(&host)
                .and_then(|station| station.stack.remove(&key))
            {
                add(&end, stream, counts);
            }
        }
    }

    /// The application writes no more. What is left of a file or page is given up.
    fn stop(&mut self, index: usize) {
        let Flow { from, to, kind, .. } = self.flows[index].flow;
        let gives_up = matches!(kind, TrafficKind::File { .. } | TrafficKind::Web { .. });
        self.clients.remove(index, to);
        let keys: Vec<FlowKey> = self.flows[index].streams.iter().map(|(key, _)| *key).collect();
        for key in keys {
            if gives_up {
                self.retire(index, key);
                self.owners.remove(&key);
                continue;
            }
            let station = self.stations.get_mut(&from);
            if let Some(End::Sender { sender, application }) =
                station.and_then(|station| station.stack.get_mut(&key.reversed()))
            {
                *application = None;
                sender.finish();
            }
        }
        self.awake.push_back(from);
    }

    /// Takes a packet that arrived at a host; false if it is not for it.
    pub(crate) fn receive(&mut self, host: HostId, now_ns: u64, packet: &Packet) -> bool {
        let frame = &packet.frame;
        let key = frame.get(Ethernet::SIZE..).and_then(|packet| FlowKey::of(packet).ok());
        // Acknowledgments have the key reversed: only packets of data are counted.
        if let (Some(born_ns), Some(&index)) = (packet.born_ns(), key.and_then(|key| self.owners.get(&key))) {
            self.flows[index].lately.add(now_ns - born_ns);
        }
        let Some(station) = self.stations.get_mut(&host) else {
            return false;
        };
        self.awake.push_back(host);
        station.receive(now_ns, frame)
    }

    /// A host's timers are due.
    pub(crate) fn timeout(&mut self, host: HostId, now_ns: u64) {
        if let Some(station) = self.stations.get_mut(&host) {
            station.wake_ns = None;
            station.stack.handle_timeout(now_ns);
            self.awake.push_back(host);
        }
        self.begin_pages(host, now_ns);
    }

    /// Writes the next frame of any host that has one; otherwise all is sent and `timers` are to be scheduled.
    pub(crate) fn transmit(
        &mut self,
        now_ns: u64,
        frame: &mut Vec<u8>,
        timers: &mut Vec<(HostId, u64)>,
    ) -> Option<HostId> {
        while let Some(&host) = self.awake.front() {
            let Some(station) = self.stations.get_mut(&host) else {
                break;
            };
            if station.transmit(now_ns, frame) {
                return Some(host);
            }
            self.awake.pop_front();
            while let Some((key, event)) = station.stack.poll_event() {
                // Only a receiver is known by the key of the data.
                if let (Event::Finished, Some(&index)) = (event, self.owners.get(&key)) {
                    self.flows[index].completed_ns.get_or_insert(now_ns);
                    self.clients.finished(host, key, now_ns);
                }
                if let (Event::Aborted(_), Some(&index)) = (event, self.owners.get(&key.reversed())) {
                    self.clients.failed(self.flows[index].flow.to, key.reversed(), now_ns);
                }
            }
            let next_ns = [station.stack.poll_timeout(), self.clients.poll_timeout(host)];
            if let Some(at_ns) = next_ns.into_iter().flatten().min()
                && station.wake_ns.is_none_or(|wake_ns| at_ns < wake_ns)
            {
                station.wake_ns = Some(at_ns);
                timers.push((host, at_ns));
            }
        }
        None
    }

    pub(crate) fn take_delays(&mut self) -> impl Iterator<Item = (Flow, DelayUse)> + '_ {
        let flows = self.flows.iter_mut();
        flows.map(|flow| (flow.flow, std::mem::take(&mut flow.lately)))
    }

    pub(crate) fn results(&self) -> impl Iterator<Item = FlowResult> + '_ {
        self.flows.iter().enumerate().map(|(index, flow)| {
            let (mut stream, mut counts) = self.ended.get(&index).copied().unwrap_or_default();
            for (key, _) in &flow.streams {
                if self.owners.get(key) != Some(&index) {
                    continue;
                }
                for (host, key) in [(flow.flow.from, key.reversed()), (flow.flow.to, *key)] {
                    if let Some(end) = self.stations.get(&host).and_then(|station| station.stack.get(&key)) {
                        add(end, &mut stream, &mut counts);
                    }
                }
            }
            FlowResult {
                flow: flow.flow,
                offered_bps: flow.rate_bps.map(|rate_bps| rate_bps * flow.streams.len() as u64),
                sent_packets: counts.sent_packets,
                sent_bytes: counts.sent_bytes,
                received_packets: counts.received_packets,
                received_bytes: counts.received_bytes,
                delay: None,
                completed_ns: flow.bytes.and(flow.completed_ns),
                stream: Some(stream),
                pages: matches!(flow.flow.kind, TrafficKind::Web { .. }).then(|| self.clients.pages(index)),
            }
        })
    }
}

fn add(end: &End, stream: &mut StreamResult, counts: &mut Counts) {
    if let Some(stats) = end.sender_stats() {
        counts.sent_packets += stats.segments;
        counts.sent_bytes += stats.sent_bytes;
        stream.retransmissions += stats.retransmissions;
        stream.timeouts += stats.timeouts;
        stream.srtt_ns = stream.srtt_ns.max(stats.srtt_ns);
        stream.window_bytes += stats.window_bytes;
        stream.mss_bytes = stats.mss_bytes;
    }
    if let Some((stats, wrong_bytes)) = end.receiver_stats() {
        counts.received_packets += stats.segments;
        counts.received_bytes += stats.in_order_bytes;
        stream.wrong_bytes += wrong_bytes;
    }
}

fn flow_key(flow: &Flow, transport: Transport, port: u16) -> FlowKey {
    FlowKey {
        source: SocketAddrV4::new(flow.from.ip(), port),
        destination: SocketAddrV4::new(flow.to.ip(), port),
        protocol: if transport == Transport::Xcp {
            xcp::PROTOCOL
        } else {
            PROTOCOL_TCP
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAR4: &str = include_str!("../../../../../topologies/star4.yaml");

    #[test]
    fn pages_leave_ports_of_running_streams_alone_when_ports_come_again() {
        let head = &STAR4[..STAR4.find("phases:").unwrap()];
        let text = format!(
            "{head}phases:\n  - name: all\n    duration_ms: 1000\n    traffic:\n\
             \x20     - {{kind: tcp, from: h1_0, to: h2_0, streams: 2}}\n\
             \x20     - {{kind: tcp, from: h2_0, to: h1_0}}\n\
             \x20     - {{kind: web, from: h1_0, to: h2_0, mean_think_ns: 1000000, mean_bytes: 1000}}\n"
        );
        let mut streams = Streams::new(&Scenario::parse(text.as_bytes()).unwrap(), 1);
        let web = 2;
        for (index, at_ns) in streams.starts().collect::<Vec<_>>() {
            streams.turn(index, at_ns);
        }
        let hosts = (streams.flows[web].flow.from, streams.flows[web].flow.to);
        streams.ports.insert(hosts, PORTS - 1);
        let mut ports = || streams.page_key(web).source.port();
        assert_eq!(ports(), FIRST_PORT + (PORTS - 1) as u16);
        assert_eq!(
            ports(),
            FIRST_PORT + 3,
            "the first three run, one of them the other way"
        );
        for index in 0..2 {
            streams.turn(index, u64::MAX);
        }
        streams.ports.insert(hosts, PORTS);
        assert_eq!(streams.page_key(web).source.port(), FIRST_PORT, "they are over");
    }
}
