// SPDX-License-Identifier: Apache-2.0
//! Routers of a scenario, their links and hosts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use slotwise_p4::Port;
use slotwise_scenario::{Changed, Device, Endpoint, Party, Scenario, group_host_ip, group_host_mac};
use slotwise_wire::Ethernet;

use super::NS_PER_MS;
use crate::access::Host;
use crate::drops::Place;
use crate::event::Event;
use crate::fabric::{Change, Fabric};
use crate::fifo::{Fifo, Limit};
use crate::lane::LaneEnd;
use crate::node::PortTo;
use crate::routed::RouterPort;
use crate::span::Span;
use crate::traffic::{HostAddress, mac_number};

/// Addresses of the hosts of groups, by the scenario's numbers of hosts.
pub(crate) fn group_hosts(scenario: &Scenario) -> impl Iterator<Item = HostAddress> + '_ {
    let groups = scenario.routed.hosts.iter();
    let nodes = groups.flat_map(|group| (0..group.count).map(|_| group.node));
    nodes.enumerate().map(|(host, node)| HostAddress {
        ip: group_host_ip(host),
        mac: group_host_mac(host),
        gateway: node.mac(),
    })
}

impl Fabric {
    /// Routers, their links and hosts, beside a star that is there already.
    pub(super) fn add_routers(&mut self, scenario: &Scenario) {
        let routed = &scenario.routed;
        let device = |router: usize| Device::Router(router as u16);
        self.add_nodes((0..routed.routers.len()).map(device));
        self.routed.ports = vec![Vec::new(); routed.routers.len()];
        let ports: BTreeMap<Device, BTreeMap<Device, Port>> = self
            .devices()
            .filter(|node| !matches!(node, Device::Core(_)))
            .map(|node| (node, scenario.ports_to_neighbours(node)))
            .collect();
        for (index, link) in routed.links.iter().enumerate() {
            let (port, far_port) = (ports[&link.from][&link.to], ports[&link.to][&link.from]);
            let lane = self.add_lane(LaneEnd::Port {
                device: link.to,
                port: far_port,
            });
            let mut queue = fifo(lane, (link.rate_bps, link.delay_ns), link.buffer.into());
            if link.xcp_bps.is_some() {
                queue.start_timers(0);
                let fifo = self.fifos.len() as u32;
                self.events.schedule(0, Event::FifoTimer { fifo });
            }
            let card = self.add_port_fifo(queue, link.from, port);
            let far = (link.to, far_port);
            self.add_to_span(PortTo::Fifo(card), (link.from, port), far);
            self.routed.links.push(card);
            if let Device::Router(router) = link.from {
                self.routed.ports[usize::from(router)].push(RouterPort {
                    port,
                    next_mac: mac_number(link.to.mac()),
                    link: Some(index),
                    peer: Some(far),
                    hosts: Vec::new(),
                });
            }
        }
        self.add_groups(scenario, |node| ports[&node].len() as Port + 1);
        for (address, host) in group_hosts(scenario).zip(scenario.edge_host_count()..) {
            let Host { device, port, .. } = self.hosts[host];
            if let Device::Router(router) = device {
                self.routed.ports[usize::from(router)].push(RouterPort {
                    port,
                    next_mac: mac_number(address.mac),
                    link: None,
                    peer: None,
                    hosts: vec![address.ip],
                });
            }
        }
        self.add_routes(scenario);
    }

    /// Hosts of groups, at ports of their nodes from the first one on that is free.
    pub(super) fn add_groups(&mut self, scenario: &Scenario, first_port: impl Fn(Device) -> Port) {
        let mut next_port: BTreeMap<Device, Port> = BTreeMap::new();
        for group in &scenario.routed.hosts {
            for _ in 0..group.count {
                let (host, device) = (self.hosts.len(), group.node);
                let next_port = next_port.entry(device).or_insert_with(|| first_port(device));
                let port = *next_port;
                *next_port += 1;
                let limit = Limit::from(group.buffer);
                let up = self.add_lane(LaneEnd::Port { device, port });
                let up = fifo(up, (group.rate_bps, group.up_delay_ns), limit);
                let down = self.add_lane(LaneEnd::Host(host));
                let down = fifo(down, (group.rate_bps, group.down_delay_ns), limit);
                let uplink = self.add_fifo(up, Place::HostAt { device, port }, None);
                let downlink = self.add_port_fifo(down, device, port);
                self.add_host(Host {
                    device,
                    port,
                    uplink,
                    downlink,
                });
            }
        }
    }

    /// Both ways between two ports go dark together.
    pub(super) fn add_to_span(&mut self, card: PortTo, near: (Device, Port), far: (Device, Port)) {
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

    fn add_port_fifo(&mut self, queue: Fifo, device: Device, port: Port) -> usize {
        self.add_fifo(queue, Place::Port { device, port }, Some((device, port)))
    }

    /// Tells every port to a router, or into a star, which hosts are reached by it.
    fn add_routes(&mut self, scenario: &Scenario) {
        let of_edges = scenario.hosts_of(Endpoint::All).into_iter();
        let of_edges = of_edges.map(|host| (Device::Edge(host.edge), host.ip()));
        let groups = scenario.routed.hosts.iter();
        let nodes = groups.flat_map(|group| (0..group.count).map(|_| group.node));
        let of_groups = nodes.zip(group_hosts(scenario).map(|address| address.ip));
        let hosts: Vec<(Device, Ipv4Addr)> = of_edges.chain(of_groups).collect();
        for (router, next_hops) in scenario.next_hops().into_iter().enumerate() {
            let mut edges = next_hops.iter().filter(|(node, _)| matches!(node, Device::Edge(_)));
            let into_star = edges.next().map(|(_, link)| *link);
            let elsewhere = hosts.iter().filter(|(node, _)| *node != Device::Router(router as u16));
            for &(node, ip) in elsewhere {
                let link = next_hops.get(&node).copied().or(into_star);
                let mut ports = self.routed.ports[router].iter_mut();
                if let Some(port) = link.and_then(|link| ports.find(|port| port.link == Some(link))) {
                    port.hosts.push(ip);
                }
            }
        }
    }

    pub(super) fn changes_of_groups(&self, scenario: &Scenario) -> Vec<(u64, Change)> {
        let cards =
            |(number, span): (usize, &Span)| span.cards.iter().map(move |card| (*card, number)).collect::<Vec<_>>();
        let spans: BTreeMap<PortTo, usize> = self.spans.iter().enumerate().flat_map(cards).collect();
        let mut changes = Vec::new();
        let mut add = |at_ms, change| changes.push((at_ms * NS_PER_MS, change));
        for (at_ms, changed) in scenario.timeline() {
            match changed {
                Changed::Link {
                    link,
                    rate_bps,
                    delay_ns,
                    xcp_bps: _,
                    up,
                } => {
                    let card = self.routed.links[link];
                    let change = Change::Fifo {
                        card,
                        rate_bps,
                        delay_ns,
                    };
                    add(at_ms, change);
                    if let (Some(is_up), Some(&span)) = (up, spans.get(&PortTo::Fifo(card))) {
                        add(at_ms, Change::Span { span, is_up });
                    }
                }
                Changed::Span { span, up: is_up } => add(at_ms, Change::Span { span, is_up }),
                Changed::Hosts {
                    group,
                    up_delay_ns,
                    down_delay_ns,
                } => {
                    for number in scenario.host_numbers(Party::Group(group)) {
                        let host = &self.hosts[number];
                        for (card, delay_ns) in [(host.uplink, up_delay_ns), (host.downlink, down_delay_ns)] {
                            let change = Change::Fifo {
                                card,
                                rate_bps: None,
                                delay_ns,
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
