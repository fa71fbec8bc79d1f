// SPDX-License-Identifier: Apache-2.0
//! Workloads: flows that start and end during the run. Memory depends on the number of flows in
//! progress, of unfinished ones and of refused coflows.
//!
//! A host creates a sender when a flow starts. The first packet that arrives at the other host creates the receiver: the port
//! identifies the workload, the packet has all other settings. [`records`] combines the events of both hosts.

mod access;
mod host;
mod records;

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddrV4;
use std::sync::Arc;

use rand::{RngCore, SeedableRng};
use rand_pcg::Pcg64;
use slotwise_cards::packet::Frame;
use slotwise_random::{Stream, derived_seed};
use slotwise_scenario::{FlowTransport, Scenario, Tcp, Transport, Workload};
use slotwise_transport::segment::PROTOCOL_TCP;
use slotwise_transport::{BurstConfig, FlowKey, PROTOCOL_UDP, RtoConfig, xcp};
use slotwise_units::{Bytes, Instant, Rate};
use slotwise_wire::Ethernet;
use slotwise_workload::{CoflowId, Flow, Workload as Generator};

use super::station::StreamSpec;
use super::streams::{HostAddress, algorithm};
use crate::HostMode;
use host::{FlowHost, Listener};
use records::Records;
pub use records::{FlowProgress, WorkloadUse, framing};

/// Port at which the hosts of workload 0 listen; those of the others follow. Other flows have lower ports at their receivers.
const FIRST_PORT: u16 = 65_024;

/// Settings of the flows of a workload.
#[derive(Debug)]
pub(super) struct Settings {
    port: u16,
    seed: u64,
    tcp: Tcp,
    sack: Option<bool>,
    rto: RtoConfig,
    packet_bytes: u16,
}

impl Settings {
    /// Seed of a flow; its low bits are the initial sequence number of the sender.
    fn seed_of(&self, sequence: u32) -> u64 {
        let drawn = derived_seed(self.seed, Stream::Connection, sequence.into());
        drawn & !u64::from(u32::MAX) | u64::from(sequence)
    }

    /// A stream whose sender begins with a sequence number.
    fn stream(
        &self,
        key: FlowKey,
        transport: Transport,
        bytes: Option<Bytes>,
        sequence: u32,
        now: Instant,
    ) -> StreamSpec {
        StreamSpec {
            key,
            algorithm: algorithm(transport),
            sack: self.sack.unwrap_or(transport.uses_sack()),
            tcp: self.tcp,
            packet_bytes: self.packet_bytes,
            window_bytes: None,
            bytes,
            rate: None,
            start: now,
            rto: self.rto,
            seed: self.seed_of(sequence),
        }
    }
}

/// Link from a host to its node.
#[derive(Debug, Clone, Copy)]
struct AccessLink {
    rate: Rate,
    /// Bytes of each packet in addition to the IP packet.
    overhead: Bytes,
}

/// A running workload.
struct Played {
    generator: Box<dyn Generator + Send>,
    settings: Arc<Settings>,
    workload: Workload,
    /// Start of the workload, network time.
    start_ns: u64,
    /// Time from which no flow starts.
    end_ns: u64,
    /// Pending event for births.
    scheduled_ns: Option<u64>,
    /// Initial sequence numbers and numbers of bursts.
    draws: Pcg64,
}

/// All workloads of a scenario.
pub(crate) struct Workloads {
    played: Vec<Played>,
    addresses: Vec<HostAddress>,
    /// Links of the hosts.
    links: Vec<AccessLink>,
    hosts: Vec<Option<Box<FlowHost>>>,
    listeners: Arc<[Listener]>,
    /// Hosts with frames to send.
    awake: VecDeque<usize>,
    /// Flow whose first data is in the frame that was written last.
    leaving: Option<FlowKey>,
    records: Records,
}

impl Workloads {
    /// Creates the workloads of a scenario between hosts with these addresses; none for external hosts.
    pub(crate) fn new(scenario: &Scenario, seed: u64, addresses: Vec<HostAddress>, host_mode: HostMode) -> Workloads {
        let groups = scenario.routed.hosts.iter();
        let of_groups = groups.flat_map(|group| {
            let link = AccessLink {
                rate: group.rate,
                overhead: Bytes::ZERO,
            };
            std::iter::repeat_n(link, group.count as usize)
        });
        let of_edges = AccessLink {
            rate: scenario.hosts.access_rate,
            overhead: Bytes::of(Ethernet::SIZE),
        };
        let of_star = std::iter::repeat_n(of_edges, scenario.edge_host_count());
        let is_played = host_mode == HostMode::Simulated;
        let workloads = (0..).zip(&scenario.workloads).filter(|_| is_played);
        let played: Vec<Played> = workloads
            .map(|(index, workload)| Played::new(scenario, seed, index, workload))
            .collect();
        let listeners = played.iter().map(|played| Listener {
            settings: played.settings.clone(),
        });
        Workloads {
            listeners: listeners.collect(),
            hosts: addresses.iter().map(|_| None).collect(),
            addresses,
            links: of_star.chain(of_groups).collect(),
            awake: VecDeque::new(),
            leaving: None,
            records: Records::new(played.len()),
            played,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.played.len()
    }

    /// (workload, time) of the first births.
    pub(crate) fn starts(&mut self) -> Vec<(usize, u64)> {
        let played = self.played.iter_mut().enumerate();
        played
            .filter_map(|(index, played)| Some((index, played.schedule()?)))
            .collect()
    }

    /// Starts the flows of a workload that are due. Returns the start of the next ones, unless they wait for arrivals.
    pub(crate) fn turn(&mut self, index: usize, now_ns: u64) -> Option<u64> {
        let played = &mut self.played[index];
        if played.scheduled_ns.is_none_or(|at_ns| at_ns > now_ns) {
            return None;
        }
        played.scheduled_ns = None;
        while self.played[index].next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let Some(flow) = self.played[index].generator.next_flow() else {
                break;
            };
            self.begin(index, flow, Instant::from_ns(now_ns));
        }
        self.played[index].schedule()
    }

    /// Makes the sender of a flow.
    fn begin(&mut self, index: usize, flow: Flow, now: Instant) {
        let played = &mut self.played[index];
        let host = |place: slotwise_workload::HostIndex| played.workload.hosts[place.0 as usize];
        let (from, to) = (host(flow.source), host(flow.destination));
        let transport = played.workload.transport_of(flow.size);
        let protocol = match transport {
            FlowTransport::Udp => PROTOCOL_UDP,
            FlowTransport::Stream(Transport::Xcp) => xcp::PROTOCOL,
            FlowTransport::Stream(_) => PROTOCOL_TCP,
        };
        let remote = SocketAddrV4::new(self.addresses[to].ip, played.settings.port);
        let draw = played.draws.next_u32();
        let sender = Self::host(&mut self.hosts, &self.addresses, &self.listeners, from);
        let Some(key) = sender.free_key(self.addresses[from].ip, remote, protocol) else {
            self.records.refuse(index, &flow);
            return;
        };
        match transport {
            FlowTransport::Stream(transport) => {
                let stream = played.settings.stream(key, transport, Some(flow.size), draw, now);
                sender.insert(key.reversed(), stream.sender());
            }
            FlowTransport::Udp => {
                let config = BurstConfig {
                    local: key.source,
                    remote: key.destination,
                    size: flow.size,
                    packet_bytes: played.settings.packet_bytes,
                    rate: self.links[from].rate,
                    overhead: self.links[from].overhead,
                    number: draw,
                };
                sender.insert_burst(key.reversed(), config, now);
            }
        }
        self.records
            .begin(key, FlowProgress::new(index, flow, (from, to), transport, now));
        self.awake.push_back(from);
    }

    fn host<'a>(
        hosts: &'a mut [Option<Box<FlowHost>>],
        addresses: &[HostAddress],
        listeners: &Arc<[Listener]>,
        host: usize,
    ) -> &'a mut FlowHost {
        let HostAddress { mac, gateway, .. } = addresses[host];
        hosts[host].get_or_insert_with(|| Box::new(FlowHost::new(mac, gateway, listeners.clone())))
    }

    /// Handles a packet that arrived at a host. Returns `None` if it belongs to no workload, false if it is not for this host.
    pub(crate) fn receive(&mut self, host: usize, now_ns: u64, frame: &[u8], key: FlowKey) -> Option<bool> {
        let last = FIRST_PORT + self.played.len() as u16;
        let is_ours = |port: u16| (FIRST_PORT..last).contains(&port);
        if !is_ours(key.source.port()) && !is_ours(key.destination.port()) {
            return None;
        }
        if key.destination.ip() != &self.addresses[host].ip {
            return Some(false);
        }
        let at = Self::host(&mut self.hosts, &self.addresses, &self.listeners, host);
        self.awake.push_back(host);
        Some(at.receive(Instant::from_ns(now_ns), frame, key))
    }

    /// Handles expired timers of a host, like [`super::streams::Streams::timeout`].
    pub(crate) fn timeout(&mut self, host: usize, now_ns: u64) {
        if let Some(at) = &mut self.hosts[host]
            && at.timeout(Instant::from_ns(now_ns))
        {
            self.awake.push_back(host);
        }
    }

    /// Writes the next frame of any host. If no host has one, the caller schedules `timers` and `births`.
    pub(crate) fn transmit(
        &mut self,
        now_ns: u64,
        frame: &mut Frame,
        timers: &mut Vec<(usize, u64)>,
        births: &mut Vec<(usize, u64)>,
    ) -> Option<usize> {
        let now = Instant::from_ns(now_ns);
        while let Some(&host) = self.awake.front() {
            let Some(at) = &mut self.hosts[host] else {
                break;
            };
            if at.transmit(now, frame) {
                self.leaving = host::data_in(frame).filter(|key| self.records.waits_for_data(key));
                return Some(host);
            }
            self.awake.pop_front();
            while let Some(noted) = at.poll() {
                let Some((index, flow)) = self.records.note(noted, now) else {
                    continue;
                };
                let played = &mut self.played[index];
                let since_start = now.saturating_since(Instant::from_ns(played.start_ns));
                played.generator.completed(Instant::ZERO + since_start, &flow);
                births.extend(played.schedule().map(|at_ns| (index, at_ns)));
            }
            timers.extend(at.wake_at().map(|at| (host, at.ns())));
        }
        None
    }

    /// Notes that the next frame may not belong to a workload.
    pub(crate) fn forget_leaving(&mut self) {
        self.leaving = None;
    }

    /// Sets the time at which the first bit of the last frame of [`Workloads::transmit`] leaves its host.
    pub(crate) fn leaves(&mut self, at: Instant) {
        if let Some(key) = self.leaving.take() {
            self.records.leaves(&key, at);
        }
    }

    /// Flows that ended since the last call, in the order of their ends.
    pub(crate) fn take_ended(&mut self) -> Vec<FlowProgress> {
        self.records.take_ended()
    }

    /// Flows that have started and not ended, by workload and number.
    pub(crate) fn in_progress(&self) -> Vec<FlowProgress> {
        self.records.in_progress()
    }

    /// Number of ends of flows at all hosts.
    pub(crate) fn ends(&self) -> usize {
        self.hosts.iter().flatten().map(|host| host.ends()).sum()
    }

    /// Received bytes that differ from the sent ones, of ended flows.
    pub(crate) fn wrong(&self) -> Bytes {
        self.hosts.iter().flatten().map(|host| host.wrong()).sum()
    }

    /// Workloads and coflows with flows that could not start.
    pub(crate) fn refused_coflows(&self) -> &BTreeSet<(usize, CoflowId)> {
        self.records.refused_coflows()
    }

    /// Number of flows of each workload so far.
    pub(crate) fn uses(&self) -> &[WorkloadUse] {
        self.records.uses()
    }
}

impl Played {
    fn new(scenario: &Scenario, seed: u64, index: u64, workload: &Workload) -> Played {
        let seed = derived_seed(seed, Stream::Workload, index);
        let end = scenario.workload_end(workload);
        let generator = workload.generator(seed, end);
        let settings = Settings {
            port: FIRST_PORT + index as u16,
            seed,
            tcp: workload.tcp,
            sack: workload.sack,
            rto: super::rto(&workload.tcp),
            packet_bytes: workload.packet_bytes as u16,
        };
        Played {
            generator: generator.expect("a scenario's workloads have been checked"),
            settings: Arc::new(settings),
            workload: workload.clone(),
            start_ns: (scenario.epoch() + workload.start).ns(),
            end_ns: (scenario.epoch() + workload.start + end.since_start()).ns(),
            scheduled_ns: None,
            // The generator draws from `seed` itself.
            draws: Pcg64::seed_from_u64(derived_seed(seed, Stream::Connection, u64::MAX)),
        }
    }

    /// Network time of the next birth.
    fn next_ns(&self) -> Option<u64> {
        let start = self.generator.next_start()?;
        Some(self.start_ns.saturating_add(start.ns()))
    }

    /// Time of an event for the next births, unless an earlier event exists.
    fn schedule(&mut self) -> Option<u64> {
        let next_ns = self.next_ns().filter(|next_ns| *next_ns < self.end_ns)?;
        if self.scheduled_ns.is_some_and(|at_ns| at_ns <= next_ns) {
            return None;
        }
        self.scheduled_ns = Some(next_ns);
        Some(next_ns)
    }
}
