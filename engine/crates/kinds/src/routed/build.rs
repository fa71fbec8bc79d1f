// SPDX-License-Identifier: Apache-2.0
//! Routers of a scenario, their links and hosts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use slotwise_p4::Port;
use slotwise_scenario::{Device, Endpoint, Scenario};
use slotwise_units::Instant;

use super::{Lossy, Routed, RouterPort};
use crate::build::Build;
use crate::hosts::Host;
use slotwise_net::lane::LaneEnd;
use slotwise_net::node::NodeKind;
use slotwise_random::{Chance, Stream, generator};
use slotwise_traffic::group_hosts;

impl Routed {
    /// Routers, their links and hosts, beside a star that is there already.
    pub(super) fn added_to(build: &mut Build, scenario: &Scenario) -> Routed {
        let routed = &scenario.routed;
        let device = |router: usize| Device::Router(router as u16);
        build.add_nodes(&NodeKind::PLAIN, (0..routed.routers.len()).map(device));
        let mut routers = Routed {
            links: Vec::new(),
            lossy: Vec::new(),
            ports: vec![Vec::new(); routed.routers.len()],
        };
        let ports: BTreeMap<Device, BTreeMap<Device, Port>> = build
            .devices()
            .filter(|node| !matches!(node, Device::Core(_)))
            .map(|node| (node, scenario.ports_to_neighbours(node)))
            .collect();
        for (index, link) in routed.links.iter().enumerate() {
            let (port, far_port) = (ports[&link.from][&link.to], ports[&link.to][&link.from]);
            let lane = match link.loss {
                0.0 => build.add_lane(LaneEnd::Port {
                    device: link.to,
                    port: far_port,
                }),
                loss => routers.add_lossy_lane(build, index, loss, (link.to, far_port)),
            };
            let mut queue = build.ip_fifo(lane, (link.rate, link.delay), link.buffer);
            if link.xcp.is_some() {
                queue.start_timers(Instant::ZERO);
            }
            let card = build.add_link(queue, link.from, port);
            let far = (link.to, far_port);
            build.add_to_span(card, (link.from, port), far);
            routers.links.push((link.from, port));
            if let Device::Router(router) = link.from {
                routers.ports[usize::from(router)].push(RouterPort {
                    port,
                    next_mac: link.to.mac(),
                    link: Some(index),
                    peer: Some(far),
                    hosts: Vec::new(),
                });
            }
        }
        build.add_groups(scenario, |node| ports[&node].len() as Port + 1);
        for (address, host) in group_hosts(scenario).zip(scenario.edge_host_count()..) {
            let Host { device, port, .. } = build.hosts()[host];
            if let Device::Router(router) = device {
                routers.ports[usize::from(router)].push(RouterPort {
                    port,
                    next_mac: address.mac,
                    link: None,
                    peer: None,
                    hosts: vec![address.ip],
                });
            }
        }
        routers.add_routes(scenario);
        routers
    }

    /// Adds the lane of a link, by its number in the scenario, that loses packets at random and leads to a port.
    fn add_lossy_lane(&mut self, build: &mut Build, link: usize, loss: f64, port: (Device, Port)) -> usize {
        let loss = Chance::new(loss, generator(build.seed(), Stream::RoutedLoss, link as u64));
        self.lossy.push(Lossy { link, port, loss });
        build.add_own_lane(0, self.lossy.len() - 1)
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
                let mut ports = self.ports[router].iter_mut();
                if let Some(port) = link.and_then(|link| ports.find(|port| port.link == Some(link))) {
                    port.hosts.push(ip);
                }
            }
        }
    }
}
