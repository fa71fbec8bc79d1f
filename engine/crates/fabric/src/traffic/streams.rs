// SPDX-License-Identifier: Apache-2.0
//! Flows of bytes: TCP or XCP from host to host.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use rand::Rng;
use slotwise_scenario::{Flow, HostId, Scenario, TrafficKind, Transport, edge_mac};
use slotwise_transport::segment::PROTOCOL_TCP;
use slotwise_transport::{Algorithm, Event, FlowKey, xcp};

use super::station::{End, LINUX_RTO, Station, StreamSpec};
use super::{FlowResult, StreamResult, mac_number};
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
    /// Addresses of each stream's data, its start and its seed.
    streams: Vec<(FlowKey, u64)>,
    start_ns: u64,
    end_ns: u64,
    state: State,
    completed_ns: Option<u64>,
}

/// All streams and the hosts that hold their ends.
pub(crate) struct Streams {
    flows: Vec<StreamFlow>,
    stations: BTreeMap<HostId, Station>,
    packet_bytes: u16,
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
            flows: Vec::new(),
            stations: BTreeMap::new(),
            packet_bytes: scenario.hosts.mtu as u16,
            awake: VecDeque::new(),
            owners: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        let mut ports: BTreeMap<(HostId, HostId), u32> = BTreeMap::new();
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
                    TrafficKind::Udp { .. } => continue,
                };
                let index = streams.flows.len() as u64;
                let mut random = random::generator(seed, random::Stream::Connection, index);
                // One count for both directions: acknowledgments of one are addressed as data of the other.
                let pair = (flow.from.min(flow.to), flow.from.max(flow.to));
                let next = ports.entry(pair).or_default();
                let mut one = |_| {
                    let port = FIRST_PORT + (*next % PORTS) as u16;
                    *next += 1;
                    (flow_key(&flow, transport, port), random.random())
                };
                let keys = (0..count).map(&mut one).collect();
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
                });
                for host in [flow.from, flow.to] {
                    let station = || Station::new(mac_number(host.mac()), mac_number(edge_mac(host.edge)));
                    streams.stations.entry(host).or_insert_with(station);
                }
            }
        }
        streams
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
        let (from, to) = (flow.flow.from, flow.flow.to);
        let specs: Vec<StreamSpec> = flow
            .streams
            .iter()
            .map(|&(key, seed)| StreamSpec {
                key,
                algorithm: algorithm(flow.transport),
                sack: flow.transport.uses_sack(),
                packet_bytes: self.packet_bytes,
                bytes: flow.bytes,
                rate_bps: flow.rate_bps,
                start_ns: now_ns,
                rto: LINUX_RTO,
                seed,
            })
            .collect();
        for spec in specs {
            let (sender, receiver) = spec.ends();
            if let Some(earlier) = self.owners.insert(spec.key, index) {
                self.retire(earlier, spec.key);
            }
            for (host, key, end) in [(to, spec.key, receiver), (from, spec.key.reversed(), sender)] {
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

    /// The application writes no more. What is left of a file is given up.
    fn stop(&mut self, index: usize) {
        let (from, is_file) = (self.flows[index].flow.from, self.flows[index].bytes.is_some());
        let keys: Vec<FlowKey> = self.flows[index].streams.iter().map(|(key, _)| *key).collect();
        for key in keys {
            if is_file {
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

    /// Takes a frame that arrived at a host; false if it is not for it.
    pub(crate) fn receive(&mut self, host: HostId, now_ns: u64, frame: &[u8]) -> bool {
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
                }
            }
            if let Some(at_ns) = station.stack.poll_timeout()
                && station.wake_ns.is_none_or(|wake_ns| at_ns < wake_ns)
            {
                station.wake_ns = Some(at_ns);
                timers.push((host, at_ns));
            }
        }
        None
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
