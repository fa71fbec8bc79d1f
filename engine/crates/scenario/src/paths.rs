// SPDX-License-Identifier: Apache-2.0
//! Shortest paths between hosts, with the links that a packet crosses in an idle network.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use slotwise_units::Bytes;
use slotwise_wire::{Ethernet, Label};
use slotwise_workload::PathLink;

use crate::address::Device;
use crate::model::Scenario;
use crate::ring::RING_OVERHEAD;
use crate::routed::Metric;
use crate::timing::WIRE_OVERHEAD;

/// A link between two nodes, one direction.
#[derive(Debug, Clone, Copy)]
struct Link {
    to: Device,
    link: PathLink,
    /// True if packets pass the node behind the link as light, without being stored.
    is_light: bool,
}

/// Access links of a host.
#[derive(Debug, Clone, Copy)]
struct Access {
    node: Device,
    up: PathLink,
    down: PathLink,
}

/// Paths of a network, with a cache.
#[derive(Debug, Clone)]
pub struct Paths {
    hosts: Vec<Access>,
    links: BTreeMap<Device, Vec<Link>>,
    metric: Metric,
    known: BTreeMap<(Device, Device), Option<Vec<PathLink>>>,
}

impl Paths {
    /// Returns the paths of a network.
    pub fn of(scenario: &Scenario) -> Paths {
        let mut paths = Paths {
            hosts: Vec::new(),
            links: BTreeMap::new(),
            metric: scenario.controller.metric,
            known: BTreeMap::new(),
        };
        paths.add_star(scenario);
        paths.add_routers(scenario);
        paths.add_ring(scenario);
        paths.add_ops(scenario);
        for group in &scenario.routed.hosts {
            let link = |delay| PathLink {
                rate: group.rate,
                delay,
                overhead: Bytes::ZERO,
            };
            let access = Access {
                node: group.node,
                up: link(group.up_delay),
                down: link(group.down_delay),
            };
            paths.hosts.extend(std::iter::repeat_n(access, group.count as usize));
        }
        paths
    }

    fn add(&mut self, from: Device, link: Link) {
        self.links.entry(from).or_default().push(link);
    }

    /// Fibres of edges, whose cores pass light on, and the hosts of edges.
    fn add_star(&mut self, scenario: &Scenario) {
        for edge in &scenario.edges {
            let access = PathLink {
                rate: scenario.hosts.access_rate,
                delay: scenario.hosts.access_delay,
                overhead: Bytes::of(Ethernet::SIZE),
            };
            let node = Device::Edge(edge.id);
            let host = Access {
                node,
                up: access,
                down: access,
            };
            self.hosts.extend(std::iter::repeat_n(host, edge.hosts.into()));
            for fibre in &edge.fibres {
                let core = Device::Core(fibre.core);
                let link = PathLink {
                    rate: fibre.rate,
                    delay: fibre.delay,
                    overhead: WIRE_OVERHEAD,
                };
                for (from, to) in [(node, core), (core, node)] {
                    let is_light = true;
                    self.add(from, Link { to, link, is_light });
                }
            }
        }
    }

    fn add_routers(&mut self, scenario: &Scenario) {
        for link in &scenario.routed.links {
            let of = PathLink {
                rate: link.rate,
                delay: link.delay,
                overhead: Bytes::ZERO,
            };
            let (to, is_light) = (link.to, false);
            self.add(link.from, Link { to, link: of, is_light });
        }
    }

    fn add_ring(&mut self, scenario: &Scenario) {
        let Some(ring) = &scenario.ring else { return };
        let link = PathLink {
            rate: ring.rate,
            delay: ring.delay,
            overhead: RING_OVERHEAD,
        };
        for (one, other) in ring.spans() {
            for (from, to) in [(one, other), (other, one)] {
                let (to, is_light) = (Device::Station(to), false);
                self.add(Device::Station(from), Link { to, link, is_light });
            }
        }
    }

    /// Fibres of optical packet switches, which bursts cut through.
    fn add_ops(&mut self, scenario: &Scenario) {
        let Some(ops) = &scenario.ops else { return };
        let overhead = Bytes::of(Ethernet::SIZE + Label::SIZE).saturating_sub(Bytes::new(ops.framing_bytes.into()));
        for fibre in ops.fibres() {
            let link = PathLink {
                rate: ops.rate_of(&fibre),
                delay: fibre.delay,
                overhead,
            };
            let [(one, _), (other, _)] = fibre.ends;
            for (from, to) in [(one, other), (other, one)] {
                let is_light = true;
                self.add(from, Link { to, link, is_light });
            }
        }
    }

    /// Returns the node of a host.
    pub fn node_of(&self, host: usize) -> Device {
        self.hosts[host].node
    }

    /// Returns the links between two hosts, by their numbers; `None` without a path.
    pub fn between(&mut self, from: usize, to: usize) -> Option<Vec<PathLink>> {
        let (from, to) = (self.hosts[from], self.hosts[to]);
        let inner = self.inner(from.node, to.node)?;
        Some(
            [from.up]
                .into_iter()
                .chain(inner.iter().copied())
                .chain([to.down])
                .collect(),
        )
    }

    /// Returns true if a node has a path to another one.
    pub(crate) fn leads(&mut self, from: Device, to: Device) -> bool {
        self.inner(from, to).is_some()
    }

    fn inner(&mut self, from: Device, to: Device) -> Option<&Vec<PathLink>> {
        if !self.known.contains_key(&(from, to)) {
            let path = self.shortest(from, to);
            self.known.insert((from, to), path);
        }
        self.known[&(from, to)].as_ref()
    }

    /// The path with the least metric; of equal ones the first in the order of devices.
    fn shortest(&self, from: Device, to: Device) -> Option<Vec<PathLink>> {
        let mut before: BTreeMap<Device, (u64, Option<(Device, Link)>)> = BTreeMap::from([(from, (0, None))]);
        let mut queue = BinaryHeap::from([Reverse((0_u64, from))]);
        while let Some(Reverse((cost, node))) = queue.pop() {
            if node == to {
                break;
            }
            if before[&node].0 < cost {
                continue;
            }
            for link in self.links.get(&node).into_iter().flatten() {
                let cost = cost
                    + match self.metric {
                        Metric::Hops => 1,
                        Metric::Delay => link.link.delay.ns(),
                    };
                if before.get(&link.to).is_none_or(|(known, _)| cost < *known) {
                    before.insert(link.to, (cost, Some((node, *link))));
                    queue.push(Reverse((cost, link.to)));
                }
            }
        }
        let mut links = Vec::new();
        let mut node = to;
        while let (_, Some((earlier, link))) = before.get(&node)? {
            links.push(*link);
            node = *earlier;
        }
        links.reverse();
        Some(as_stored(&links))
    }
}

/// Returns the links between nodes that store whole packets: consecutive fibres are one link.
fn as_stored(links: &[Link]) -> Vec<PathLink> {
    let mut path: Vec<PathLink> = Vec::new();
    let mut was_light = false;
    for Link { link, is_light, .. } in links {
        match path.last_mut().filter(|_| was_light && *is_light) {
            Some(before) => {
                before.delay = before.delay.saturating_add(link.delay);
                before.rate = before.rate.min(link.rate);
            }
            None => path.push(*link),
        }
        was_light = *is_light;
    }
    path
}
