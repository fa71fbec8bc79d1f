// SPDX-License-Identifier: Apache-2.0
//! From a scenario of routers to its network.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use slotwise_p4::Port;
use slotwise_scenario::{Changed, Device, RoutedScenario};
use slotwise_wire::Ethernet;

use crate::access::Host;
use crate::api::{FabricOptions, HostMode};
use crate::drops::Place;
use crate::event::Event;
use crate::fabric::{Change, Fabric};
use crate::faults::Faults;
use crate::fifo::{Fifo, Limit};
use crate::invariants::Invariant;
use crate::lane::LaneEnd;
use crate::node::Node;
use crate::routed::RouterPort;
use crate::slots::Star;
use crate::span::Span;
use crate::traffic::{HostAddress, Traffic};

const NS_PER_MS: u64 = 1_000_000;

/// A router's Ethernet address.
pub(crate) fn router_mac(router: usize) -> u64 {
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

impl Fabric {
    /// The network of a scenario of routers at time 0, with no program in any router. With external hosts the changes of links wait for
    /// [`Fabric::schedule_link_changes`].
    pub fn routed(scenario: &RoutedScenario, options: FabricOptions) -> Fabric {
        let (seed, host_mode) = (options.seed, options.host_mode);
        let mut fabric = Fabric::bare(
            Star::none(),
            Invariant::OF_ROUTERS,
            options,
            Faults::new(Vec::new(), 0, seed),
        );
        fabric.born_on_the_link = true;
        let groups = fabric.add_routers(scenario);
        fabric.changes = fabric.changes_of(scenario, &groups);
        if host_mode == HostMode::Simulated {
            fabric.schedule_link_changes(0);
        }
        let addresses = fabric.hosts.iter().enumerate().map(|(host, place)| {
            let Device::Router(router) = place.device else {
                unreachable!("its hosts are at routers")
            };
            HostAddress {
                ip: host_ip(host),
                mac: host_mac(host),
                gateway: router_mac(usize::from(router)),
            }
        });
        let addresses = addresses.collect();
        fabric.set_traffic(Traffic::of_groups(scenario, addresses, &groups, (seed, host_mode)));
        if host_mode == HostMode::Simulated {
            fabric.faults = Faults::of_routers(scenario, &fabric.spans, seed);
            fabric.faults.schedule(&mut fabric.events);
        }
        fabric
    }

    /// Gives (first host, count) of each group of hosts.
    fn add_routers(&mut self, scenario: &RoutedScenario) -> Vec<(usize, usize)> {
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
        let device = |router: usize| Device::Router(router as u16);
        self.nodes = (0..neighbours.len()).map(device).map(Node::new).collect();
        self.routed.ports = vec![Vec::new(); neighbours.len()];
        for (index, link) in scenario.links.iter().enumerate() {
            let port = neighbours[link.from][&link.to];
            let lane = self.add_lane(LaneEnd::Port {
                device: device(link.to),
                port: neighbours[link.to][&link.from],
            });
            let mut queue = fifo(lane, (link.rate_bps, link.delay_ns), link.buffer.into());
            if link.xcp_bps.is_some() {
                queue.start_timers(0);
                let fifo = self.fifos.len() as u32;
                self.events.schedule(0, Event::FifoTimer { fifo });
            }
            let card = self.add_router_fifo(queue, device(link.from), port);
            let far = (device(link.to), neighbours[link.to][&link.from]);
            self.add_to_span(card, (device(link.from), port), far);
            self.routed.links.push(card);
            self.routed.ports[link.from].push(RouterPort {
                port,
                next_mac: router_mac(link.to),
                link: Some(index),
                peer: Some(far),
                hosts: Vec::new(),
            });
        }
        let mut next_port: Vec<Port> = neighbours.iter().map(|peers| peers.len() as Port + 1).collect();
        let mut groups = Vec::new();
        for group in &scenario.hosts {
            groups.push((self.hosts.len(), group.count as usize));
            for _ in 0..group.count {
                let (host, device, port) = (self.hosts.len(), device(group.router), next_port[group.router]);
                next_port[group.router] += 1;
                let limit = Limit::from(group.buffer);
                let up = self.add_lane(LaneEnd::Port { device, port });
                let up = fifo(up, (group.rate_bps, group.up_delay_ns), limit);
                let down = self.add_lane(LaneEnd::Host(host));
                let down = fifo(down, (group.rate_bps, group.down_delay_ns), limit);
                let uplink = self.add_fifo(up, Place::HostAt { device, port }, None);
                let downlink = self.add_router_fifo(down, device, port);
                self.add_host(Host {
                    device,
                    port,
                    uplink,
                    downlink,
                });
                self.routed.ports[group.router].push(RouterPort {
                    port,
                    next_mac: host_mac(host),
                    link: None,
                    peer: None,
                    hosts: vec![host_ip(host)],
                });
            }
        }
        self.add_routes(scenario, &groups);
        groups
    }

    /// Both ways between two ports go dark together.
    fn add_to_span(&mut self, card: usize, near: (Device, Port), far: (Device, Port)) {
        let same = |span: &&mut Span| span.ends == [far, near];
        match self.spans.iter_mut().find(same) {
            Some(span) => span.cards.push(card),
            None => self.spans.push(Span {
                cards: vec![card],
                ends: [near, far],
                is_up: true,
                is_cut: false,
            }),
        }
    }

    fn add_router_fifo(&mut self, queue: Fifo, device: Device, port: Port) -> usize {
        self.add_fifo(queue, Place::Port { device, port }, Some((device, port)))
    }

    /// Tells every port to a router which hosts are reached by it.
    fn add_routes(&mut self, scenario: &RoutedScenario, groups: &[(usize, usize)]) {
        for (ports, next_hops) in self.routed.ports.iter_mut().zip(scenario.next_hops()) {
            for (group, &(first, count)) in scenario.hosts.iter().zip(groups) {
                let Some(&link) = next_hops.get(&group.router) else {
                    continue;
                };
                if let Some(port) = ports.iter_mut().find(|port| port.link == Some(link)) {
                    port.hosts.extend((first..first + count).map(host_ip));
                }
            }
        }
    }

    fn changes_of(&self, scenario: &RoutedScenario, groups: &[(usize, usize)]) -> Vec<(u64, Change)> {
        let cards =
            |(number, span): (usize, &Span)| span.cards.iter().map(move |card| (*card, number)).collect::<Vec<_>>();
        let spans: BTreeMap<usize, usize> = self.spans.iter().enumerate().flat_map(cards).collect();
        let mut changes = Vec::new();
        let mut add = |at_ms, change| changes.push((at_ms * NS_PER_MS, change));
        for (at_ms, changed) in scenario.timeline() {
            match changed {
                Changed::Link {
                    link,
                    rate_bps,
                    delay_ns,
                    xcp_bps,
                    up,
                } => {
                    let card = self.routed.links[link];
                    let change = Change::Fifo {
                        card,
                        rate_bps,
                        delay_ns,
                        xcp_bps,
                    };
                    add(at_ms, change);
                    if let (Some(is_up), Some(&span)) = (up, spans.get(&card)) {
                        add(at_ms, Change::Span { span, is_up });
                    }
                }
                Changed::Hosts {
                    group,
                    up_delay_ns,
                    down_delay_ns,
                } => {
                    let (first, count) = groups[group];
                    for host in &self.hosts[first..first + count] {
                        for (card, delay_ns) in [(host.uplink, up_delay_ns), (host.downlink, down_delay_ns)] {
                            let change = Change::Fifo {
                                card,
                                rate_bps: None,
                                delay_ns,
                                xcp_bps: None,
                            };
                            add(at_ms, change);
                        }
                    }
                }
            }
        }
        changes
    }
}

/// A card before a link whose rate and buffer count IP bytes, as the thesis's.
fn fifo(lane: usize, (rate_bps, delay_ns): (u64, u64), limit: Limit) -> Fifo {
    Fifo::new(lane, (rate_bps, delay_ns), limit, Ethernet::SIZE)
}
