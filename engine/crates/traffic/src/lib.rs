// SPDX-License-Identifier: Apache-2.0
//! Simulated hosts: what they send and receive.

mod bursts;
mod datagrams;
mod host_mode;
mod order;
mod sessions;
mod station;
mod streams;
mod web;
mod workloads;

use rand::Rng;
use slotwise_scenario::{
    Endpoint, Flow, FlowGroup, GtpHost, HostId, MacAddress, Party, Scenario, Source, Tcp, TrafficKind, edge_mac,
    group_host_ip, group_host_mac,
};
use slotwise_transport::gtp::HostConfig;
use slotwise_transport::{FlowKey, RtoConfig};
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::Ethernet;

pub use bursts::FlowTrains;
use datagrams::Datagrams;
pub use host_mode::HostMode;
pub use order::OrderUse;
pub use sessions::SessionUse;
use slotwise_cards::packet::{Frame, Packet};
use slotwise_random as random;
use station::LINUX_RTO;
pub(crate) use streams::HostAddress;
use streams::{FlowSpec, Sends, Streams};
use workloads::Workloads;
pub use workloads::{FlowProgress, WorkloadUse, framing};

const NS_PER_MS: u64 = 1_000_000;
/// Streams of a phase begin within this time: nobody starts a hundred programs at one nanosecond.
const START_SPREAD_NS: u64 = 10_000_000;

/// Addresses of the hosts of groups, by the scenario's numbers of hosts.
pub fn group_hosts(scenario: &Scenario) -> impl Iterator<Item = HostAddress> + '_ {
    let groups = scenario.routed.hosts.iter();
    let nodes = groups.flat_map(|group| (0..group.count).map(|_| group.node));
    nodes.enumerate().map(|(host, node)| HostAddress {
        ip: group_host_ip(host),
        mac: group_host_mac(host),
        gateway: node.mac(),
    })
}

/// One-way delays of a flow's packets that arrived since it was last asked, from the first bit out of the host to
/// the last bit in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DelayUse {
    /// Packets.
    pub packets: u64,
    /// Sum of their delays.
    pub sum: Duration,
    /// The longest.
    pub max: Duration,
}

impl DelayUse {
    pub(crate) fn add(&mut self, delay: Duration) {
        self.packets += 1;
        self.sum += delay;
        self.max = self.max.max(delay);
    }
}

/// Delays from source to sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelaySummary {
    /// Shortest.
    pub min: Duration,
    /// Mean, rounded down.
    pub mean: Duration,
    /// 99th percentile, within 1 %.
    pub p99: Duration,
    /// Longest.
    pub max: Duration,
}

/// What became of a simulated flow. Bytes are payload of UDP or TCP.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowResult {
    /// The flow.
    pub flow: Flow,
    /// Rate of the source in the long run; `None`: as much as it gets.
    pub offered: Option<Rate>,
    /// Datagrams or data segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Bytes sent, retransmissions not included.
    pub sent_bytes: Bytes,
    /// Datagrams or data segments received.
    pub received_packets: u64,
    /// Bytes received; of a stream without a gap.
    pub received_bytes: Bytes,
    /// Delays of datagrams; `None` if none was received, and for streams.
    pub delay: Option<DelaySummary>,
    /// Start of its streams; `None` for datagrams with stamps.
    pub start: Option<Instant>,
    /// Arrival of the last byte of a `file`.
    pub completed: Option<Instant>,
    /// Of any flow but `udp`, what its streams did.
    pub stream: Option<StreamResult>,
    /// Of a `web` flow, pages that were fetched to the end.
    pub pages: Option<u64>,
}

/// What the streams of a flow did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamResult {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times that a retransmission timer went off.
    pub timeouts: u64,
    /// Smoothed round-trip time at the end, the longest of the streams.
    pub srtt: Option<Duration>,
    /// Congestion window at the end, of all streams.
    pub window: Bytes,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Bytes that arrived and were not what was sent: always 0.
    pub wrong_bytes: Bytes,
}

/// A flow between hosts of two groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedFlow {
    /// Group's name and number in it, `NAME.i`.
    pub name: String,
    /// When it starts.
    pub start: Instant,
}

/// What a flow did since it was last asked, and where it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowUse {
    /// Congestion window, payload.
    pub window: Bytes,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Smoothed round-trip time; 0 before the first measurement.
    pub srtt: Duration,
    /// Bytes that arrived without a gap.
    pub delivered_bytes: Bytes,
    /// Packets that arrived at the receiver.
    pub packets: u64,
    /// Sum of their one-way delays, from the first bit out to the last bit in.
    pub delay_sum: Duration,
    /// Longest of them.
    pub delay_max: Duration,
    /// Segments sent again since the start.
    pub retransmissions: u64,
    /// Timeouts since the start.
    pub timeouts: u64,
    /// Bytes that are not what was sent, since the start: always 0.
    pub wrong_bytes: Bytes,
    /// Start of the flow.
    pub start: Instant,
    /// Arrival of the last byte of a flow of a size.
    pub completed: Option<Instant>,
}

/// A source's turn.
pub struct Turn {
    /// When it comes again, unless it is done.
    pub next_ns: Option<u64>,
    /// The host whose frame was written.
    pub from: Option<usize>,
}

/// All flows of a scenario. Sources count datagrams with stamps first, then what has transports.
pub struct Traffic {
    datagrams: Datagrams,
    streams: Streams,
    /// Whether others play at the same hosts.
    is_shared: bool,
    /// When each phase starts by the scenario; what has begun beside others starts then no more.
    phases_ns: Vec<Option<u64>>,
    /// Hosts of a star, by number.
    hosts: Vec<HostId>,
    /// What the streams are in a scenario with phases.
    of_phases: Vec<Flow>,
    /// What they are between groups of hosts, with the bytes that each had delivered when it was last asked.
    of_groups: Vec<RoutedFlow>,
    delivered_bytes: Vec<u64>,
    /// Flows that start and end during the run.
    workloads: Workloads,
}

impl Traffic {
    /// The flows of a scenario that are the fabric's; none if others play them all. Hosts count by edge, then by group.
    pub fn new(scenario: &Scenario, seed: u64, host_mode: HostMode) -> Option<Traffic> {
        let hosts = scenario.hosts_of(Endpoint::All);
        let addresses = hosts.iter().map(|host| HostAddress {
            ip: host.ip(),
            mac: host.mac(),
            gateway: edge_mac(host.edge),
        });
        let addresses: Vec<HostAddress> = addresses.chain(group_hosts(scenario)).collect();
        let is_played = |flow: &Flow| host_mode.plays(flow.kind.is_of_linux());
        let phases = 0..scenario.phases.len();
        let mut traffic = Traffic {
            datagrams: Datagrams::new(scenario, seed, is_played),
            streams: Streams::new(addresses.clone()),
            workloads: Workloads::new(scenario, seed, addresses, host_mode),
            is_shared: host_mode == HostMode::Shared,
            phases_ns: phases.map(|phase| Some(scenario.phase_times(phase).0.ns())).collect(),
            hosts,
            of_phases: Vec::new(),
            of_groups: Vec::new(),
            delivered_bytes: Vec::new(),
        };
        let phases = (0..scenario.phases.len()).map(|phase| (scenario.phase_times(phase), scenario.flows(phase)));
        let flows = phases.flat_map(|(times, flows)| flows.into_iter().map(move |flow| (times, flow)));
        let streams = flows.filter(|(_, flow)| !matches!(flow.kind, TrafficKind::Udp { .. }));
        // What a flow draws does not depend on who plays the others.
        let mut number = 0;
        for (times, flow) in streams {
            if is_played(&flow) {
                traffic.add_stream(flow, (times, scenario.hosts.mtu as u16), (seed, number));
            }
            number += 1;
        }
        for group in &scenario.routed.flows {
            let is_played = host_mode.plays(group.is_of_linux());
            number += traffic.add_group(scenario, (group, is_played), (seed, number));
        }
        (!traffic.is_empty()).then_some(traffic)
    }

    fn add_stream(
        &mut self,
        flow: Flow,
        ((start, end), packet_bytes): ((Instant, Instant), u16),
        (seed, index): (u64, u64),
    ) {
        let (start_ns, end_ns) = (start.ns(), end.ns());
        let mut random = random::generator(seed, random::Stream::Connection, index);
        let (sends, transport) = match flow.kind {
            TrafficKind::Tcp {
                rate,
                streams,
                transport,
            } => {
                let seeds = (0..streams).map(|_| random.random()).collect();
                let bytes = None;
                let rate_bps = rate.map(Rate::bps);
                (Sends::Streams { seeds, rate_bps, bytes }, transport)
            }
            TrafficKind::File { bytes, transport } => {
                let sends = Sends::Streams {
                    seeds: vec![random.random()],
                    rate_bps: None,
                    bytes: Some(bytes.get()),
                };
                (sends, transport)
            }
            TrafficKind::Web { users, web, transport } => {
                let seed = random::derived_seed(seed, random::Stream::Web, index);
                (Sends::Web { users, web, seed }, transport)
            }
            TrafficKind::Udp { .. } => return,
        };
        let spread_ns = START_SPREAD_NS.min(end_ns - start_ns);
        self.streams.add(FlowSpec {
            from: self.number_of(flow.from),
            to: self.number_of(flow.to),
            sends,
            transport,
            sack: transport.uses_sack(),
            tcp: Tcp::default(),
            measure: false,
            rto: LINUX_RTO,
            start_ns: start_ns + random.random_range(0..spread_ns),
            end_ns: Some(end_ns),
            packet_bytes,
            dscp: 0,
            window_bytes: None,
        });
        self.of_phases.push(flow);
    }

    /// Flows over the whole run, between hosts of the same place in two parties; how many there are, played by the fabric or not.
    fn add_group(
        &mut self,
        scenario: &Scenario,
        (group, is_played): (&FlowGroup, bool),
        (root_seed, first): (u64, u64),
    ) -> u64 {
        let hosts = scenario.flow_hosts(group);
        let count = hosts.len() as u64;
        if !is_played {
            return count;
        }
        for (i, (from, to)) in (0..).zip(hosts) {
            let mut random = random::generator(root_seed, random::Stream::Connection, first + i);
            let part_ns = group.spread_ms * NS_PER_MS / count;
            let late_ns = part_ns * i + random.random_range(0..=part_ns);
            let start_ns = scenario.epoch().ns() + group.start_ms * NS_PER_MS + late_ns;
            let seed = random.random();
            let sends = match group.source {
                Source::Stream { bytes } => Sends::Streams {
                    seeds: vec![seed],
                    rate_bps: None,
                    bytes: bytes.map(Bytes::get),
                },
                Source::Udp { rate, process } => Sends::Datagrams {
                    rate_bps: rate.bps(),
                    process,
                    seed,
                },
                Source::Gtp(session) => {
                    for (host, party) in [(from, group.from), (to, group.to)] {
                        self.streams
                            .add_gtp_host(host, || gtp_host(scenario, party, (root_seed, host)));
                    }
                    Sends::Session { session, seed }
                }
                Source::Web { users, web } => Sends::Web { users, web, seed },
            };
            self.streams.add(FlowSpec {
                from,
                to,
                sends,
                transport: group.transport,
                sack: group.sack,
                tcp: group.tcp,
                measure: group.measure,
                rto: rto(&group.tcp),
                start_ns,
                end_ns: scenario.stop(group).map(Instant::ns),
                packet_bytes: group.packet_bytes as u16,
                dscp: group.dscp,
                window_bytes: group.window_bytes,
            });
            let name = format!("{}.{i}", group.name);
            let start = Instant::from_ns(start_ns);
            self.of_groups.push(RoutedFlow { name, start });
            self.delivered_bytes.push(0);
        }
        count
    }

    fn is_empty(&self) -> bool {
        let has_flows = self.datagrams.count() > 0 || !self.of_phases.is_empty() || !self.of_groups.is_empty();
        !has_flows && self.workloads.count() == 0
    }

    /// Whether others play at the same hosts; then nothing starts but by [`Traffic::begin_phase`].
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// A phase begins now instead of when the scenario says, for its flows' starts and ends; (source, time) of their first turns. Only for
    /// flows that share their hosts, and once.
    pub fn begin_phase(&mut self, phase: usize, now_ns: u64) -> Vec<(usize, u64)> {
        let is_shared = self.is_shared;
        let planned_ns = self
            .phases_ns
            .get_mut(phase)
            .filter(|_| is_shared)
            .and_then(Option::take);
        let Some(planned_ns) = planned_ns else {
            return Vec::new();
        };
        let late_ns = now_ns.wrapping_sub(planned_ns);
        let datagrams = self.datagrams.begin_phase(phase, late_ns);
        let (first, of_phases) = (self.datagrams.count(), &self.of_phases);
        // Flows over the whole run begin with the first phase.
        let is_of_phase = |index: usize| of_phases.get(index).map_or(phase == 0, |flow| flow.phase == phase);
        let streams = self.streams.delay(is_of_phase, late_ns).into_iter();
        let streams = streams.map(|(index, at_ns)| (first + index, at_ns));
        datagrams.into_iter().chain(streams).collect()
    }

    fn number_of(&self, host: HostId) -> usize {
        let place = self.hosts.binary_search(&host);
        place.expect("flows are between hosts of the scenario")
    }

    /// (source, time) of every source's first turn.
    pub fn starts(&mut self) -> Vec<(usize, u64)> {
        let (datagrams, flows) = (self.datagrams.count(), self.first_workload());
        let streams = self.streams.starts().map(|(index, at_ns)| (datagrams + index, at_ns));
        let mut starts: Vec<(usize, u64)> = self.datagrams.starts().chain(streams).collect();
        let births = self.workloads.starts().into_iter();
        starts.extend(births.map(|(index, at_ns)| (flows + index, at_ns)));
        starts
    }

    /// Number of the first source that is a workload.
    fn first_workload(&self) -> usize {
        self.datagrams.count() + self.streams.count()
    }

    /// Returns the host of a source; `None` for a workload, whose flows have many senders.
    pub fn host_of(&self, source: usize) -> Option<usize> {
        if source >= self.first_workload() {
            return None;
        }
        Some(match source.checked_sub(self.datagrams.count()) {
            None => self.number_of(self.datagrams.host_of(source)),
            Some(index) => self.streams.host_of(index),
        })
    }

    /// Gives a source its turn; a datagram goes into `frame`.
    pub fn turn(&mut self, source: usize, now_ns: u64, frame: &mut Frame) -> Turn {
        if let Some(workload) = source.checked_sub(self.first_workload()) {
            return Turn {
                next_ns: self.workloads.turn(workload, now_ns),
                from: None,
            };
        }
        match source.checked_sub(self.datagrams.count()) {
            None => {
                let (from, next_ns) = self.datagrams.turn(source, now_ns, frame);
                let from = Some(self.number_of(from));
                Turn { next_ns, from }
            }
            Some(index) => Turn {
                next_ns: self.streams.turn(index, now_ns),
                from: None,
            },
        }
    }

    /// Takes a packet that arrived at a host; false if it is not for it.
    pub fn receive(&mut self, host: usize, now_ns: u64, packet: &Packet) -> bool {
        let frame = &packet.frame;
        if let Some(id) = self.hosts.get(host)
            && datagrams::is_datagram(frame)
            && self.datagrams.receive(*id, now_ns, frame)
        {
            return true;
        }
        let key = frame.get(Ethernet::SIZE..).and_then(|packet| FlowKey::of(packet).ok());
        let of_workload = key.and_then(|key| self.workloads.receive(host, now_ns, frame, key));
        of_workload.unwrap_or_else(|| self.streams.receive(host, now_ns, packet, key))
    }

    /// Delays since the last call, in the order of [`Traffic::results`].
    pub fn take_delays(&mut self) -> Vec<(Flow, DelayUse)> {
        let streams = self.of_phases.iter().copied().zip(self.streams.take_delays());
        let mut delays: Vec<_> = self.datagrams.take_delays().chain(streams).collect();
        delays.sort_by_key(|(flow, _)| (flow.phase, flow.entry));
        delays
    }

    /// A host's timers are due.
    pub fn timeout(&mut self, host: usize, now_ns: u64) {
        self.streams.timeout(host, now_ns);
        self.workloads.timeout(host, now_ns);
    }

    /// Writes the next frame of any host's streams into `frame` and names the host. When there is none, `timers`
    /// has got the times at which hosts want [`Traffic::timeout`], and `turns` those at which sources want [`Traffic::turn`].
    pub fn transmit(
        &mut self,
        now_ns: u64,
        frame: &mut Frame,
        timers: &mut Vec<(usize, u64)>,
        turns: &mut Vec<(usize, u64)>,
    ) -> Option<usize> {
        self.workloads.forget_leaving();
        if let Some(host) = self.streams.transmit(now_ns, frame, timers) {
            return Some(host);
        }
        let (known, first) = (turns.len(), self.first_workload());
        let host = self.workloads.transmit(now_ns, frame, timers, turns);
        turns[known..].iter_mut().for_each(|(source, _)| *source += first);
        host
    }

    /// Flows of phases: by phase, then by entry.
    pub fn results(&self) -> Vec<FlowResult> {
        let streams = self.of_phases.iter().zip(self.streams.states());
        let streams = streams.map(|(flow, state)| FlowResult {
            flow: *flow,
            offered: state.offered_bps.map(Rate::from_bps),
            sent_packets: state.totals.sent_packets,
            sent_bytes: Bytes::new(state.totals.sent_bytes),
            received_packets: state.totals.received_packets,
            received_bytes: Bytes::new(state.totals.received_bytes),
            delay: None,
            start: Some(Instant::from_ns(state.start_ns)),
            completed: state.completed_ns.map(Instant::from_ns),
            stream: Some(StreamResult {
                retransmissions: state.totals.retransmissions,
                timeouts: state.totals.timeouts,
                srtt: state.totals.srtt_ns.map(Duration::from_ns),
                window: Bytes::new(state.totals.window_bytes),
                mss: Bytes::new(state.totals.mss_bytes),
                wrong_bytes: Bytes::new(state.totals.wrong_bytes),
            }),
            pages: state.pages,
        });
        let mut results: Vec<FlowResult> = self.datagrams.results().chain(streams).collect();
        results.sort_by_key(|result| (result.flow.phase, result.flow.entry));
        results
    }

    /// The flows between groups.
    pub fn routed_flows(&self) -> &[RoutedFlow] {
        &self.of_groups
    }

    /// What has transports, has begun, and has not delivered all that it is to deliver: its number and the bytes that it has delivered.
    pub fn flows_under_way(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let states = self.streams.states().enumerate();
        let under_way = states.filter(|(flow, state)| state.completed_ns.is_none() && !self.streams.is_over(*flow));
        under_way.map(|(flow, state)| (flow, state.totals.received_bytes))
    }

    /// Whether one of them has more to deliver than these bytes, and has not yet.
    pub fn is_waited_for(&self, flow: usize, bytes: u64) -> bool {
        !self.streams.is_over(flow) && self.streams.state(flow).totals.received_bytes <= bytes
    }

    /// What a flow between groups did since the last call.
    pub fn take_flow_use(&mut self, flow: usize) -> FlowUse {
        let stream = self.of_phases.len() + flow;
        let delay = self.streams.take_delay(stream);
        let state = self.streams.state(stream);
        let delivered_bytes = state.totals.received_bytes;
        let before = std::mem::replace(&mut self.delivered_bytes[flow], delivered_bytes);
        FlowUse {
            window: Bytes::new(state.window_bytes),
            mss: Bytes::new(state.totals.mss_bytes),
            srtt: Duration::from_ns(state.srtt_ns.unwrap_or(0)),
            delivered_bytes: Bytes::new(delivered_bytes - before),
            packets: delay.packets,
            delay_sum: delay.sum,
            delay_max: delay.max,
            retransmissions: state.totals.retransmissions,
            timeouts: state.totals.timeouts,
            wrong_bytes: Bytes::new(state.totals.wrong_bytes),
            start: Instant::from_ns(state.start_ns),
            completed: state.completed_ns.map(Instant::from_ns),
        }
    }

    /// Of a flow between groups that is measured so: the order of its packets and what was sent needlessly since the last call.
    pub fn take_order_use(&mut self, flow: usize) -> Option<OrderUse> {
        self.streams.take_order(self.of_phases.len() + flow)
    }

    /// A packet was in a train that was lost, or was deflected and came.
    pub fn note_in_train(&mut self, packet: &[u8], train: u64, is_lost: bool) {
        self.streams.note_in_train(packet, train, is_lost);
    }

    /// Of a flow of GTP between groups: what its session did since the start.
    pub fn session_use(&self, flow: usize) -> Option<SessionUse> {
        self.streams.session_use(self.of_phases.len() + flow)
    }

    #[cfg(test)]
    fn into_streams(self) -> Streams {
        self.streams
    }
}

/// How a host of a party shares its link; it calculates at times of its own.
fn gtp_host(scenario: &Scenario, party: Party, (seed, host): (u64, usize)) -> HostConfig {
    let settings = match party {
        Party::Group(group) => scenario.routed.hosts[group].gtp,
        Party::Star(_) => GtpHost::of_link(scenario.hosts.access_rate),
    };
    let interval_ns = settings.interval_ms * NS_PER_MS;
    let mut random = random::generator(seed, random::Stream::Gtp, host as u64);
    HostConfig {
        capacity: settings.capacity,
        interval: Duration::from_ns(interval_ns),
        phase: Instant::from_ns(random.random_range(0..interval_ns)),
        rule: settings.rule,
        steps: settings.steps,
        packet_bytes: scenario.routed.packet_bytes as u16,
        catch_up: Duration::from_us(1),
        seed: random.random(),
    }
}

/// RFC 6298's bounds of the retransmission timeout, but for what the settings say.
fn rto(tcp: &Tcp) -> RtoConfig {
    let rfc = RtoConfig::default();
    RtoConfig {
        min: tcp.min_rto_ms.map_or(rfc.min, Duration::from_ms),
        tick: tcp.rto_tick_ms.map_or(rfc.tick, Duration::from_ms),
        ..rfc
    }
}

pub(crate) fn mac_number(mac: MacAddress) -> u64 {
    mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
