// SPDX-License-Identifier: Apache-2.0
//! The network: routers, outputs, hosts, flows.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use rand::Rng;
use slotwise_p4::{Bits, Output as P4Output, Pipeline, PipelineConfig, Port, Program, TimestampUnit};
use slotwise_scenario::{Changed, RoutedScenario, Transport};
use slotwise_transport::segment::PROTOCOL_TCP;
use slotwise_transport::{FlowKey, RtoConfig, xcp};
use slotwise_wire::{FlowOp, IntervalTick, IntervalTimer, PORT_CPU, PORT_DROP, PORT_LINECARD};

use super::events::{Event, Events};
use super::output::{Output, OutputUse, Packet};
use crate::message;
use crate::pool::{Frame, FramePool};
use crate::random;
use crate::traffic::station::{End, Station, StreamSpec};
use crate::traffic::streams::algorithm;

const NS_PER_MS: u64 = 1_000_000;
/// Both ends of every flow: a host has one flow as sender and one as receiver of each group.
const FIRST_PORT: u16 = 5000;

/// Where an output's link ends.
#[derive(Clone, Copy)]
enum Far {
    Router { router: usize, port: Port },
    Host(usize),
}

/// A port of a router, for the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterPort {
    /// Its number.
    pub port: Port,
    /// Ethernet address of what is at the other end.
    pub next_mac: u64,
    /// Index of the scenario's link, if it leads to a router.
    pub link: Option<usize>,
    /// Addresses of the hosts that are reached by it.
    pub hosts: Vec<Ipv4Addr>,
}

struct Router {
    pipeline: Option<Pipeline>,
    /// Outputs by port.
    outputs: BTreeMap<Port, usize>,
    ports: Vec<RouterPort>,
    no_such_port: u64,
}

struct Host {
    station: Station,
    uplink: usize,
    /// The flow of which it is the receiver, with the port of its data.
    receives: Vec<(u16, usize)>,
    not_for_host: u64,
}

/// A flow, as its name and its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedFlow {
    /// Group's name and number in it, `NAME.i`.
    pub name: String,
    /// When it starts.
    pub start_ns: u64,
}

struct Flow {
    about: RoutedFlow,
    key: FlowKey,
    sender: usize,
    receiver: usize,
    transport: Transport,
    sack: bool,
    bytes: Option<u64>,
    seed: u64,
    delay: Delay,
    delivered_bytes: u64,
}

#[derive(Clone, Copy, Default)]
struct Delay {
    packets: u64,
    sum_ns: u64,
    max_ns: u64,
}

/// What a flow did since it was last asked, and where it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowUse {
    /// Congestion window, bytes of payload.
    pub window_bytes: u64,
    /// Payload of a full segment.
    pub mss_bytes: u64,
    /// Smoothed round-trip time; 0 before the first measurement.
    pub srtt_ns: u64,
    /// Bytes that arrived without a gap.
    pub delivered_bytes: u64,
    /// Packets that arrived at the receiver.
    pub packets: u64,
    /// Sum of their one-way delays, from the first bit out to the last bit in.
    pub delay_sum_ns: u64,
    /// Longest of them.
    pub delay_max_ns: u64,
    /// Segments sent again since the start.
    pub retransmissions: u64,
    /// Timeouts since the start.
    pub timeouts: u64,
    /// Bytes that are not what was sent, since the start: always 0.
    pub wrong_bytes: u64,
}

/// The network of a routed scenario. Time starts at 0.
pub struct RoutedNetwork {
    now_ns: u64,
    events: Events,
    pool: FramePool,
    /// What a pipeline put out, used again.
    taken: Taken,
    routers: Vec<Router>,
    outputs: Vec<Output>,
    /// Where each output leads.
    fars: Vec<Far>,
    /// Router and port of each output that is a router's.
    places: Vec<Option<(usize, Port)>>,
    hosts: Vec<Host>,
    flows: Vec<Flow>,
    timeline: Vec<(u64, Changed)>,
    /// Outputs by the scenario's link.
    links: Vec<usize>,
    /// (first host, count) by group.
    groups: Vec<(usize, usize)>,
    /// Downlink outputs by host.
    downlinks: Vec<usize>,
    /// Capacities that XCP is to be told, by output: (router, port, bit/s).
    capacity_changes: Vec<(usize, Port, u64)>,
    packet_bytes: u16,
    hops: u64,
}

/// Takes what a pipeline puts out.
#[derive(Default)]
struct Taken {
    packets: Vec<(Port, Frame)>,
    free: Vec<Frame>,
}

impl P4Output for Taken {
    fn packet(&mut self, port: Port, bytes: &[u8]) {
        let mut frame = self.free.pop().unwrap_or_default();
        frame.clear();
        frame.extend_from_slice(bytes);
        self.packets.push((port, frame));
    }

    fn digest(&mut self, _name: &str, _fields: &[Bits]) {}
}

/// A router's Ethernet address.
fn router_mac(router: usize) -> u64 {
    0x0200_0001_0000 + router as u64
}

/// A host's addresses, by its number in the scenario.
fn host_mac(host: usize) -> u64 {
    0x0200_0002_0000 + host as u64
}

fn host_ip(host: usize) -> Ipv4Addr {
    // 10.0.0.0/8, from 10.1.0.1 on.
    Ipv4Addr::from_bits(0x0a01_0001 + host as u32)
}

impl RoutedNetwork {
    /// The network with no program in any router.
    pub fn new(scenario: &RoutedScenario, seed: u64) -> RoutedNetwork {
        let mut network = RoutedNetwork {
            now_ns: 0,
            events: Events::default(),
            pool: FramePool::default(),
            taken: Taken::default(),
            routers: Vec::new(),
            outputs: Vec::new(),
            fars: Vec::new(),
            places: Vec::new(),
            hosts: Vec::new(),
            flows: Vec::new(),
            timeline: scenario.timeline(),
            links: Vec::new(),
            groups: Vec::new(),
            downlinks: Vec::new(),
            capacity_changes: Vec::new(),
            packet_bytes: scenario.packet_bytes as u16,
            hops: 0,
        };
        network.build(scenario);
        network.add_flows(scenario, seed);
        for (index, (at_ms, _)) in network.timeline.iter().enumerate() {
            network.events.schedule(at_ms * NS_PER_MS, Event::Change(index as u32));
        }
        for (index, flow) in network.flows.iter().enumerate() {
            network
                .events
                .schedule(flow.about.start_ns, Event::FlowTurn(index as u32));
        }
        network
    }

    fn build(&mut self, scenario: &RoutedScenario) {
        // One port for each neighbour, in the order of the routers, then one for each host.
        let neighbours: Vec<BTreeMap<usize, Port>> = (0..scenario.routers.len())
            .map(|router| {
                let touching = scenario.links.iter().filter_map(|link| match (link.from, link.to) {
                    (from, to) if from == router => Some(to),
                    (from, to) if to == router => Some(from),
                    _ => None,
                });
                let peers: std::collections::BTreeSet<usize> = touching.collect();
                peers.into_iter().zip(1..).collect()
            })
            .collect();
        for peers in &neighbours {
            self.routers.push(Router {
                pipeline: None,
                outputs: BTreeMap::new(),
                ports: Vec::with_capacity(peers.len()),
                no_such_port: 0,
            });
        }
        for (index, link) in scenario.links.iter().enumerate() {
            let port = neighbours[link.from][&link.to];
            let far = Far::Router {
                router: link.to,
                port: neighbours[link.to][&link.from],
            };
            let mut output = Output::new(link.rate_bps, link.delay_ns, link.buffer);
            if link.xcp_bps.is_some() {
                output.start_timers(0);
            }
            let output = self.add_output(output, far, Some((link.from, port)));
            self.links.push(output);
            self.routers[link.from].ports.push(RouterPort {
                port,
                next_mac: router_mac(link.to),
                link: Some(index),
                hosts: Vec::new(),
            });
            if link.xcp_bps.is_some() {
                self.events.schedule(0, Event::CardTimer(output as u32));
            }
        }
        let mut next_port: Vec<Port> = neighbours.iter().map(|peers| peers.len() as Port + 1).collect();
        for group in &scenario.hosts {
            self.groups.push((self.hosts.len(), group.count as usize));
            for _ in 0..group.count {
                let (host, router) = (self.hosts.len(), group.router);
                let port = next_port[router];
                next_port[router] += 1;
                let up = Output::new(group.rate_bps, group.up_delay_ns, group.buffer);
                let uplink = self.add_output(up, Far::Router { router, port }, None);
                let down = Output::new(group.rate_bps, group.down_delay_ns, group.buffer);
                let downlink = self.add_output(down, Far::Host(host), Some((router, port)));
                self.downlinks.push(downlink);
                self.hosts.push(Host {
                    station: Station::new(host_mac(host), router_mac(router)),
                    uplink,
                    receives: Vec::new(),
                    not_for_host: 0,
                });
                self.routers[router].ports.push(RouterPort {
                    port,
                    next_mac: host_mac(host),
                    link: None,
                    hosts: vec![host_ip(host)],
                });
            }
        }
        self.add_routes(scenario);
    }

    fn add_output(&mut self, output: Output, far: Far, place: Option<(usize, Port)>) -> usize {
        let index = self.outputs.len();
        self.outputs.push(output);
        self.fars.push(far);
        self.places.push(place);
        if let Some((router, port)) = place {
            self.routers[router].outputs.insert(port, index);
        }
        index
    }

    /// Tells every port to a router which hosts are reached by it.
    fn add_routes(&mut self, scenario: &RoutedScenario) {
        for (router, next_hops) in scenario.next_hops().into_iter().enumerate() {
            for (group, &(first, count)) in scenario.hosts.iter().zip(&self.groups) {
                let Some(&link) = next_hops.get(&group.router) else {
                    continue;
                };
                let ports = &mut self.routers[router].ports;
                if let Some(port) = ports.iter_mut().find(|port| port.link == Some(link)) {
                    port.hosts.extend((first..first + count).map(host_ip));
                }
            }
        }
    }

    fn add_flows(&mut self, scenario: &RoutedScenario, seed: u64) {
        for (number, group) in scenario.flows.iter().enumerate() {
            let ((from, count), (to, _)) = (self.groups[group.from], self.groups[group.to]);
            for i in 0..count {
                let index = self.flows.len();
                let mut random = random::generator(seed, random::Stream::Connection, index as u64);
                let spread_ns = group.spread_ms * NS_PER_MS;
                let part_ns = spread_ns / count as u64;
                let late_ns = part_ns * i as u64 + random.random_range(0..=part_ns);
                let port = FIRST_PORT + number as u16;
                let is_xcp = group.transport == Transport::Xcp;
                let key = FlowKey {
                    source: SocketAddrV4::new(host_ip(from + i), port),
                    destination: SocketAddrV4::new(host_ip(to + i), port),
                    protocol: if is_xcp { xcp::PROTOCOL } else { PROTOCOL_TCP },
                };
                self.hosts[to + i].receives.push((port, index));
                self.flows.push(Flow {
                    about: RoutedFlow {
                        name: format!("{}.{i}", group.name),
                        start_ns: group.start_ms * NS_PER_MS + late_ns,
                    },
                    key,
                    sender: from + i,
                    receiver: to + i,
                    transport: group.transport,
                    sack: group.sack,
                    bytes: group.bytes,
                    seed: random.random(),
                    delay: Delay::default(),
                    delivered_bytes: 0,
                });
            }
        }
    }

    /// Time.
    pub fn now(&self) -> u64 {
        self.now_ns
    }

    /// Passes through P4 so far.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// The flows, by number.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = &RoutedFlow> {
        self.flows.iter().map(|flow| &flow.about)
    }

    /// The ports of a router.
    pub fn router_ports(&self, router: usize) -> &[RouterPort] {
        &self.routers[router].ports
    }

    /// A router's own Ethernet address.
    pub fn router_mac(&self, router: usize) -> u64 {
        router_mac(router)
    }

    /// Starts a program in a router, with fresh tables.
    pub fn set_program(&mut self, router: usize, program: Arc<Program>, seed: u64) -> &mut Pipeline {
        let config = PipelineConfig {
            cpu_port: PORT_CPU,
            drop_port: PORT_DROP,
            timestamp_unit: TimestampUnit::Nanoseconds,
            seed: random::derived_seed(seed, random::Stream::Pipeline, router as u64),
        };
        self.routers[router].pipeline.insert(Pipeline::new(program, config))
    }

    /// The pipeline of a router that has a program.
    pub fn pipeline_mut(&mut self, router: usize) -> Option<&mut Pipeline> {
        self.routers[router].pipeline.as_mut()
    }

    /// Capacities for XCP that have changed since the last call: (router, port, bit/s). Whoever writes tables is to
    /// write them now.
    pub fn take_capacity_changes(&mut self) -> Vec<(usize, Port, u64)> {
        std::mem::take(&mut self.capacity_changes)
    }

    /// Packets that were sent to a port that there is not, or reached a host that they are not for: always 0 where
    /// tables are right.
    pub fn strays(&self) -> u64 {
        let nowhere: u64 = self.routers.iter().map(|router| router.no_such_port).sum();
        nowhere + self.hosts.iter().map(|host| host.not_for_host).sum::<u64>()
    }

    /// Processes all events up to and at `until_ns`, but stops right after one that changed a capacity
    /// ([`RoutedNetwork::take_capacity_changes`]); true if it did.
    pub fn run_until(&mut self, until_ns: u64) -> bool {
        while let Some((at_ns, event)) = self.events.pop_until(until_ns) {
            self.now_ns = at_ns;
            match event {
                Event::Change(index) => self.change(index as usize),
                Event::FlowTurn(flow) => self.start_flow(flow as usize),
                Event::CardTimer(output) => self.card_timer(output as usize),
                Event::Arrival(output) => self.arrival(output as usize),
                Event::HostTimer(host) => {
                    let host = host as usize;
                    self.hosts[host].station.wake_ns = None;
                    self.hosts[host].station.stack.handle_timeout(at_ns);
                    self.serve_host(host);
                }
            }
            if !self.capacity_changes.is_empty() {
                return true;
            }
        }
        self.now_ns = self.now_ns.max(until_ns);
        false
    }

    fn change(&mut self, index: usize) {
        match self.timeline[index].1 {
            Changed::Link {
                link,
                rate_bps,
                delay_ns,
                xcp_bps,
            } => {
                let output = self.links[link];
                self.change_output(output, rate_bps, delay_ns);
                if let (Some(xcp_bps), Some((router, port))) = (xcp_bps, self.places[output]) {
                    self.capacity_changes.push((router, port, xcp_bps));
                }
            }
            Changed::Hosts {
                group,
                up_delay_ns,
                down_delay_ns,
            } => {
                let (first, count) = self.groups[group];
                for host in first..first + count {
                    self.change_output(self.hosts[host].uplink, None, up_delay_ns);
                    self.change_output(self.downlinks[host], None, down_delay_ns);
                }
            }
        }
    }

    fn change_output(&mut self, output: usize, rate_bps: Option<u64>, delay_ns: Option<u64>) {
        self.outputs[output].change(self.now_ns, rate_bps, delay_ns);
        self.await_arrival(output);
    }

    fn await_arrival(&mut self, output: usize) {
        if let Some(at_ns) = self.outputs[output].wants_event() {
            self.events.schedule(at_ns, Event::Arrival(output as u32));
        }
    }

    fn start_flow(&mut self, index: usize) {
        let flow = &self.flows[index];
        let spec = StreamSpec {
            key: flow.key,
            algorithm: algorithm(flow.transport),
            sack: flow.sack,
            packet_bytes: self.packet_bytes,
            bytes: flow.bytes,
            rate_bps: None,
            start_ns: self.now_ns,
            rto: RtoConfig::default(),
            seed: flow.seed,
        };
        let (sender, receiver) = spec.ends();
        let (from, to, key) = (flow.sender, flow.receiver, flow.key);
        // Each flow of a host has a port of its own, so there is room.
        let _ = self.hosts[to].station.stack.insert(key, receiver);
        let _ = self.hosts[from].station.stack.insert(key.reversed(), sender);
        self.serve_host(to);
        self.serve_host(from);
    }

    /// Sends what a host has to send, and sets its timer.
    fn serve_host(&mut self, host: usize) {
        loop {
            let mut frame = self.pool.copy_of(&[]);
            if !self.hosts[host].station.transmit(self.now_ns, &mut frame) {
                self.pool.give_back(frame);
                break;
            }
            let packet = Packet {
                frame,
                born_ns: u64::MAX,
            };
            self.enqueue(self.hosts[host].uplink, packet);
        }
        let station = &mut self.hosts[host].station;
        while station.stack.poll_event().is_some() {}
        if let Some(at_ns) = station.stack.poll_timeout()
            && station.wake_ns.is_none_or(|wake_ns| at_ns < wake_ns)
        {
            station.wake_ns = Some(at_ns);
            self.events
                .schedule(at_ns.max(self.now_ns), Event::HostTimer(host as u32));
        }
    }

    fn enqueue(&mut self, output: usize, packet: Packet) {
        match self.outputs[output].enqueue(self.now_ns, packet) {
            Ok(()) => self.await_arrival(output),
            Err(dropped) => self.pool.give_back(dropped.frame),
        }
    }

    fn arrival(&mut self, output: usize) {
        while let Some(packet) = self.outputs[output].arrived(self.now_ns) {
            match self.fars[output] {
                Far::Router { router, port } => {
                    self.enter(router, port, &packet.frame, packet.born_ns);
                    self.pool.give_back(packet.frame);
                }
                Far::Host(host) => self.at_host(host, packet),
            }
        }
        self.await_arrival(output);
    }

    /// Runs a frame through a router; what comes out was born when the frame was.
    fn enter(&mut self, router: usize, port: Port, frame: &[u8], born_ns: u64) {
        let Some(pipeline) = &mut self.routers[router].pipeline else {
            return;
        };
        self.hops += 1;
        let mut taken = std::mem::take(&mut self.taken);
        std::mem::swap(&mut taken.free, &mut self.pool.free);
        pipeline.process(self.now_ns, port, frame, &mut taken);
        std::mem::swap(&mut taken.free, &mut self.pool.free);
        for (port, frame) in taken.packets.drain(..) {
            if port == PORT_LINECARD {
                self.obey(router, &frame);
                self.pool.give_back(frame);
            } else if let Some(&output) = self.routers[router].outputs.get(&port) {
                self.enqueue(output, Packet { frame, born_ns });
            } else {
                self.routers[router].no_such_port += 1;
                self.pool.give_back(frame);
            }
        }
        self.taken = taken;
    }

    /// The timers of an output's card.
    fn card_timer(&mut self, output: usize) {
        let Some((router, port)) = self.places[output] else {
            return;
        };
        while let Some(expired) = self.outputs[output].tick(self.now_ns) {
            let (backlog_bytes, arrived_bytes, dropped_packets) = self.outputs[output].report();
            let state = crate::linecard::QueueState {
                backlog_bytes,
                arrived_bytes,
                hol_delay_ns: 0,
                dropped_packets,
            };
            let tick = IntervalTick {
                timer: expired.timer.into(),
                least_backlog_bytes: u32::try_from(expired.least_bytes).unwrap_or(u32::MAX),
                local_ns: expired.local_ns,
            };
            let tick = message::interval_tick(port, &tick, port, &state);
            self.enter(router, PORT_LINECARD, &tick, self.now_ns);
        }
        if let Some(at_ns) = self.outputs[output].next_tick_ns() {
            self.events
                .schedule(at_ns.max(self.now_ns + 1), Event::CardTimer(output as u32));
        }
    }

    /// A message of P4 to the card of an output. The answer to a tick comes within the tick's event, so no event
    /// needs to be scheduled here.
    fn obey(&mut self, router: usize, frame: &[u8]) {
        let set = message::flow_control(frame).and_then(|(port, message)| {
            let timer = match FlowOp::try_from(message.op).ok()? {
                FlowOp::SetControlTimer => IntervalTimer::Control,
                FlowOp::SetQueueTimer => IntervalTimer::Queue,
                _ => return None,
            };
            let output = *self.routers[router].outputs.get(&port)?;
            Some((output, timer, self.now_ns.checked_add(message.value)?))
        });
        let is_set = set.is_some_and(|(output, timer, due_ns)| {
            due_ns > self.now_ns && self.outputs[output].set_timer(timer, due_ns)
        });
        if !is_set {
            self.routers[router].no_such_port += 1;
        }
    }

    fn at_host(&mut self, host: usize, packet: Packet) {
        if let Some(flow) = self.hosts[host].flow_of(&packet.frame) {
            let delay_ns = self.now_ns - packet.born_ns;
            let delay = &mut self.flows[flow].delay;
            delay.packets += 1;
            delay.sum_ns += delay_ns;
            delay.max_ns = delay.max_ns.max(delay_ns);
        }
        if !self.hosts[host].station.receive(self.now_ns, &packet.frame) {
            self.hosts[host].not_for_host += 1;
        }
        self.pool.give_back(packet.frame);
        self.serve_host(host);
    }

    /// What a link did since the last call, by the scenario's number.
    pub fn take_link_use(&mut self, link: usize) -> OutputUse {
        let now_ns = self.now_ns;
        self.outputs[self.links[link]].take_use(now_ns)
    }

    /// Present rate of a link.
    pub fn link_rate_bps(&self, link: usize) -> u64 {
        self.outputs[self.links[link]].rate_bps
    }

    /// What a flow did since the last call; zeros before it starts.
    pub fn take_flow_use(&mut self, flow: usize) -> FlowUse {
        let Flow {
            key,
            sender,
            receiver,
            delay,
            delivered_bytes,
            ..
        } = &mut self.flows[flow];
        let delay = std::mem::take(delay);
        let end = |host: usize, key: &FlowKey| self.hosts[host].station.stack.get(key);
        let sent = end(*sender, &key.reversed()).and_then(End::sender_stats);
        let received = end(*receiver, key).and_then(End::receiver_stats);
        let (Some(sent), Some((received, wrong_bytes))) = (sent, received) else {
            return FlowUse::default();
        };
        let before = std::mem::replace(delivered_bytes, received.in_order_bytes);
        FlowUse {
            window_bytes: sent.window_bytes,
            mss_bytes: sent.mss_bytes,
            srtt_ns: sent.srtt_ns.unwrap_or(0),
            delivered_bytes: received.in_order_bytes - before,
            packets: delay.packets,
            delay_sum_ns: delay.sum_ns,
            delay_max_ns: delay.max_ns,
            retransmissions: sent.retransmissions,
            timeouts: sent.timeouts,
            wrong_bytes,
        }
    }
}

impl Host {
    /// The flow whose data a frame carries to this host, by the port.
    fn flow_of(&self, frame: &[u8]) -> Option<usize> {
        let key = FlowKey::of(frame.get(slotwise_wire::Ethernet::SIZE..)?).ok()?;
        let of_port = self.receives.iter().find(|(port, _)| *port == key.destination.port());
        of_port.map(|(_, flow)| *flow)
    }
}
