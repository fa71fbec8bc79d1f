// SPDX-License-Identifier: Apache-2.0
//! Flows of a routed network: how they start, the pages of web users, and what came of them.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use slotwise_scenario::Source;
use slotwise_transport::{FlowKey, RtoConfig, UdpSink, UdpSource, UdpSourceConfig};

use super::network::{FlowUse, RoutedNetwork};
use crate::traffic::datagrams::arrivals;
use crate::traffic::station::{End, StreamSpec};
use crate::traffic::streams::algorithm;

/// Source ports of pages, apart from those of other flows.
const FIRST_PAGE_PORT: u16 = 32_768;
const PAGE_PORTS: u64 = 32_768;
/// IPv4 and UDP.
const UDP_HEADER_BYTES: u64 = 28;

impl RoutedNetwork {
    pub(super) fn start_flow(&mut self, index: usize) {
        let flow = &self.flows[index];
        let (from, to, key, seed) = (flow.sender, flow.receiver, flow.key, flow.seed);
        match flow.source {
            Source::Stream { bytes } => self.open_stream(index, key, seed, bytes),
            Source::Udp { rate_bps, process } => {
                let config = UdpSourceConfig {
                    local: key.source,
                    remote: key.destination,
                    packet_bytes: self.packet_bytes,
                    arrivals: arrivals(process, rate_bps),
                    start_ns: self.now_ns,
                    stop_ns: None,
                };
                let source = UdpSource::new(config, Pcg64::seed_from_u64(seed))
                    .expect("a scenario's sizes, rates and shapes are within the source's bounds");
                let sink = UdpSink::new(key.destination, Some(key.source));
                self.insert_ends(index, key, End::Source(Box::new(source)), End::Sink(Box::new(sink)));
            }
            Source::Web { users, web } => self.clients.add(index, to, (users, web), self.now_ns, seed),
        }
        self.drain_host(to);
        self.drain_host(from);
    }

    fn open_stream(&mut self, index: usize, key: FlowKey, seed: u64, bytes: Option<u64>) {
        let flow = &self.flows[index];
        let spec = StreamSpec {
            key,
            algorithm: algorithm(flow.transport),
            sack: flow.sack,
            packet_bytes: self.packet_bytes,
            bytes,
            rate_bps: None,
            start_ns: self.now_ns,
            rto: RtoConfig::default(),
            seed,
        };
        let (sender, receiver) = spec.ends();
        self.insert_ends(index, key, sender, receiver);
    }

    fn insert_ends(&mut self, index: usize, key: FlowKey, sender: End, receiver: End) {
        let (from, to) = (self.flows[index].sender, self.flows[index].receiver);
        let received = self.hosts[to].station.stack.insert(key, receiver).is_ok();
        let sent = self.hosts[from].station.stack.insert(key.reversed(), sender).is_ok();
        debug_assert!(received && sent, "each flow of a host has a port of its own");
        self.flows[index].connections.push(key);
    }

    /// Begins the pages that users at `host` ask for now. Of each user's connections the last two stay: what is
    /// under way of an earlier one has arrived while its successor was fetched.
    pub(super) fn begin_pages(&mut self, host: usize) {
        while let Some(page) = self.clients.poll(host, self.now_ns) {
            let key = self.page_key(page.flow);
            if let Some(old) = self.clients.begun(host, page.client, key) {
                self.retire(page.flow, old);
            }
            self.open_stream(page.flow, key, page.seed, Some(page.bytes));
            self.drain_host(self.flows[page.flow].sender);
        }
    }

    /// The next key of a flow that is not in use.
    fn page_key(&mut self, index: usize) -> FlowKey {
        let flow = &mut self.flows[index];
        loop {
            let mut key = flow.key;
            key.source.set_port(FIRST_PAGE_PORT + (flow.pages % PAGE_PORTS) as u16);
            flow.pages += 1;
            if !flow.connections.contains(&key) {
                return key;
            }
        }
    }

    fn retire(&mut self, index: usize, key: FlowKey) {
        let (from, to) = (self.flows[index].sender, self.flows[index].receiver);
        for (host, key) in [(from, key.reversed()), (to, key)] {
            if let Some(end) = self.hosts[host].station.stack.remove(&key) {
                end.add_to(&mut self.flows[index].ended);
            }
        }
        self.flows[index].connections.retain(|other| *other != key);
    }

    /// A connection to a user ended early.
    pub(super) fn page_failed(&mut self, key: FlowKey) {
        let of_key = self.flows.iter().find(|flow| flow.connections.contains(&key));
        if let Some(receiver) = of_key.map(|flow| flow.receiver) {
            self.clients.failed(receiver, key, self.now_ns);
        }
    }

    /// What a flow did since the last call; zeros before it starts. Of a web flow windows are summed over its
    /// connections.
    pub fn take_flow_use(&mut self, flow: usize) -> FlowUse {
        let flow = &mut self.flows[flow];
        let delay = std::mem::take(&mut flow.delay);
        let mut used = FlowUse {
            packets: delay.packets,
            delay_sum_ns: delay.sum_ns,
            delay_max_ns: delay.max_ns,
            window_bytes: 0,
            srtt_ns: 0,
            ..flow.ended
        };
        for key in &flow.connections {
            let ends = [(flow.sender, key.reversed()), (flow.receiver, *key)];
            for (host, key) in ends {
                if let Some(end) = self.hosts[host].station.stack.get(&key) {
                    end.add_to(&mut used);
                }
            }
        }
        let before = std::mem::replace(&mut flow.delivered_bytes, used.delivered_bytes);
        used.delivered_bytes -= before;
        used
    }
}

impl End {
    /// Adds what this end counted.
    fn add_to(&self, used: &mut FlowUse) {
        match self {
            End::Sender { sender, .. } => {
                let stats = sender.stats();
                used.window_bytes += stats.window_bytes;
                used.mss_bytes = stats.mss_bytes;
                used.srtt_ns = used.srtt_ns.max(stats.srtt_ns.unwrap_or(0));
                used.retransmissions += stats.retransmissions;
                used.timeouts += stats.timeouts;
            }
            End::Receiver(receiver) => {
                used.delivered_bytes += receiver.stats().in_order_bytes;
                used.wrong_bytes += receiver.sink().wrong_bytes();
            }
            End::Sink(sink) => {
                let stats = sink.stats();
                used.delivered_bytes += stats.bytes - UDP_HEADER_BYTES * stats.packets;
            }
            End::Source(_) => {}
        }
    }
}
