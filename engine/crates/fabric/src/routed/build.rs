// SPDX-License-Identifier: Apache-2.0
//! From a routed scenario to its network.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};

use rand::Rng;
use slotwise_p4::Port;
use slotwise_scenario::{RoutedScenario, Source, Transport};
use slotwise_transport::segment::PROTOCOL_TCP;
use slotwise_transport::{FlowKey, PROTOCOL_UDP, xcp};

use super::events::{Event, Events};
use super::network::{Delay, Far, Flow, FlowUse, Host, NS_PER_MS, RoutedFlow, RoutedNetwork, Router, RouterPort};
use super::output::Output;
use crate::node::Outbox;
use crate::packet::FramePool;
use crate::random;
use crate::traffic::station::Station;
use crate::traffic::web::Clients;

/// Both ends of every flow: a host has one flow as sender and one as receiver of each group.
const FIRST_PORT: u16 = 5000;

/// A router's Ethernet address.
pub(super) fn router_mac(router: usize) -> u64 {
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
            outbox: Outbox::default(),
            routers: Vec::new(),
            outputs: Vec::new(),
            fars: Vec::new(),
            places: Vec::new(),
            hosts: Vec::new(),
            flows: Vec::new(),
            clients: Clients::default(),
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
                let peers: BTreeSet<usize> = touching.collect();
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
                    protocol: match group.source {
                        Source::Udp { .. } => PROTOCOL_UDP,
                        _ if is_xcp => xcp::PROTOCOL,
                        _ => PROTOCOL_TCP,
                    },
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
                    source: group.source,
                    connections: Vec::new(),
                    ended: FlowUse::default(),
                    pages: 0,
                    seed: random.random(),
                    delay: Delay::default(),
                    delivered_bytes: 0,
                });
            }
        }
    }
}
