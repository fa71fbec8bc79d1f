// SPDX-License-Identifier: Apache-2.0
//! Whether routers, their links, hosts and flows fit together, and with a star.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use slotwise_cards::admission::Amount;
use slotwise_units::Bytes;
use slotwise_wire::{PORT_OPTICAL_BASE, limits};

use super::{Changed, FlowGroup, Party, RoutedChange, RoutedLink, Source};
use crate::address::{Device, Endpoint, HostId};
use crate::check::at_most_flows;
use crate::model::Scenario;
use crate::reader::Reader;
use crate::repeat::pointer;

/// Ports of a router, one a neighbour and host: above them P4 takes nothing in.
const MAX_PORTS: usize = PORT_OPTICAL_BASE as usize - 1;
/// So that a small file cannot fill the memory: one of a group is one of each host.
const MAX_CHANGES: u64 = 1_000_000;
/// Of the controller's application `lambda`.
const MAX_SESSIONS: usize = 4096;
/// So that a run does not stand still for it: the controller is told of about a hundred a second.
const MAX_CAPACITIES: u64 = 10_000;

pub(crate) fn cross_check(scenario: &Scenario, r: &mut Reader) {
    let routed = &scenario.routed;
    unique(r, "/routers", routed.routers.iter(), "");
    unique(r, "/links", routed.links.iter().map(|link| &link.name), "/name");
    unique(
        r,
        groups(scenario),
        routed.hosts.iter().map(|group| &group.name),
        "/name",
    );
    unique(r, "/flows", routed.flows.iter().map(|group| &group.name), "/name");
    links(scenario, r);
    buffers(scenario, r);
    ports(scenario, r);
    routes(scenario, r);
    packets(scenario, r);
    changes(scenario, r);
    if r.problems.is_empty() {
        borders(scenario, r);
    }
    if r.problems.is_empty() {
        flows(scenario, r);
    }
    if r.problems.is_empty() && scenario.controller.lambda {
        lambda(scenario, r);
    }
}

/// The controller's `lambda` has sessions of GTP, and what all of them cross.
fn lambda(scenario: &Scenario, r: &mut Reader) {
    let of_gtp = |flow: &&FlowGroup| matches!(flow.source, Source::Gtp(_));
    let sessions = scenario.routed.flows.iter().filter(of_gtp);
    let count: usize = sessions.clone().map(|flow| scenario.flow_hosts(flow).len()).sum();
    let is_routers = |party| matches!(scenario.node_of(party), Device::Router(_));
    let elsewhere = sessions
        .clone()
        .find(|flow| !is_routers(flow.from) || !is_routers(flow.to));
    if let Some(flow) = elsewhere {
        let reason = format!("session '{}' is not between hosts at routers", flow.name);
        r.report(
            "/controller/lambda".into(),
            reason,
            "GTP sessions between hosts at routers",
        );
    } else if !(1..=MAX_SESSIONS).contains(&count) {
        let reason = format!("{count} GTP sessions");
        r.report("/controller/lambda".into(), reason, format!("1 to {MAX_SESSIONS}"));
    }
}

/// Where the file has its groups of hosts.
fn groups(scenario: &Scenario) -> &'static str {
    if scenario.has_star() { "/hosts/groups" } else { "/hosts" }
}

fn unique<'a>(r: &mut Reader, list: &str, names: impl Iterator<Item = &'a String>, key: &str) {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            r.report(
                format!("{list}/{index}{key}"),
                format!("duplicate name '{name}'"),
                "a unique name",
            );
        }
    }
}

fn links(scenario: &Scenario, r: &mut Reader) {
    let mut ends = BTreeSet::new();
    for (index, link) in scenario.routed.links.iter().enumerate() {
        let place = format!("/links/{index}/to");
        if link.from == link.to {
            let reason = format!("a link from '{}' to itself", scenario.node_name(link.to));
            r.report(place, reason, "two different nodes");
        } else if !ends.insert((link.from, link.to)) {
            let ends = [link.from, link.to].map(|end| scenario.node_name(end));
            let reason = format!("duplicate link from '{}' to '{}'", ends[0], ends[1]);
            r.report(place, reason, "at most one per direction");
        }
    }
    for (index, link) in scenario.routed.links.iter().enumerate() {
        let place = |key: &str| format!("/links/{index}/{key}");
        for (key, end) in [("from", link.from), ("to", link.to)] {
            if let Device::Edge(edge) = end
                && usize::from(edge) >= scenario.edges.len()
            {
                let last = scenario.edges.len() - 1;
                let reason = format!("unknown edge {edge}");
                r.report(place(key), reason, format!("a router, or an edge from 0 to {last}"));
            }
        }
        match (link.from, link.to) {
            (Device::Edge(_), Device::Edge(_)) => {
                r.report(place("to"), "a link between two edges", "fibres to a core, or a router");
            }
            (Device::Edge(edge), _) if link.xcp.is_some() => {
                let reason = format!("edge {edge} supports XCP only on its fibres");
                r.report(place("xcp_capacity_bps"), reason, "no 'xcp_capacity_bps'");
            }
            (Device::Edge(_), _) | (_, Device::Edge(_)) if !ends.contains(&(link.to, link.from)) => {
                let reason = format!("no reverse link from '{}'", scenario.node_name(link.to));
                r.report(place("to"), reason, "a link in each direction");
            }
            _ => {}
        }
    }
}

fn buffers(scenario: &Scenario, r: &mut Reader) {
    let routed = &scenario.routed;
    let packet_bytes = u64::from(routed.packet_bytes);
    let links = routed.links.iter().enumerate();
    let links = links.map(|(i, link)| (format!("/links/{i}/buffer"), link.buffer));
    let list = groups(scenario);
    let hosts = routed.hosts.iter().enumerate();
    let hosts = hosts.map(|(i, group)| (format!("{list}/{i}/buffer"), group.buffer));
    for (place, buffer) in links.chain(hosts) {
        for (parameter, value) in buffer.parameters() {
            let bytes = Bytes::new(value as u64);
            if matches!(parameter.amount, Amount::Bytes(_)) && bytes < Bytes::new(packet_bytes) {
                let keys = [place.as_str(), buffer.row().key, parameter.key];
                let place = keys
                    .into_iter()
                    .filter(|key| !key.is_empty())
                    .collect::<Vec<_>>()
                    .join("/");
                let reason = format!("{bytes} are less than a packet of {packet_bytes} bytes");
                r.report(place, reason, format!("at least {packet_bytes}"));
            }
        }
    }
}

fn ports(scenario: &Scenario, r: &mut Reader) {
    let routed = &scenario.routed;
    let hosts_at = |node: Device| -> usize {
        let groups = routed.hosts.iter().filter(|group| group.node == node);
        groups.map(|group| group.count as usize).sum()
    };
    for (index, name) in routed.routers.iter().enumerate() {
        let node = Device::Router(index as u16);
        let (neighbours, hosts) = (scenario.neighbours(node).len(), hosts_at(node));
        if neighbours + hosts > MAX_PORTS {
            let reason = format!("router '{name}' has {neighbours} neighbours and {hosts} hosts");
            r.report(format!("/routers/{index}"), reason, format!("at most {MAX_PORTS}"));
        }
    }
    if let Some((section, nodes)) = scenario.own_nodes() {
        for (index, name) in nodes.names.iter().enumerate() {
            let node = (section.device)(index as u16);
            let hosts = hosts_at(node);
            if hosts > MAX_PORTS {
                let reason = format!("{} '{name}' has {hosts} hosts", node.kind().name);
                let place = format!("{}/{index}", pointer(section.hosts_list));
                r.report(place, reason, format!("at most {MAX_PORTS}"));
            }
        }
    }
    for (index, edge) in scenario.edges.iter().enumerate() {
        let routers = scenario.neighbours(Device::Edge(edge.id)).len() as u64;
        let most = *limits::EDGE_HOSTS.end();
        if u64::from(edge.hosts) + routers > most {
            let reason = format!("{} hosts and {routers} routers", edge.hosts);
            r.report(
                format!("/edges/{index}/hosts"),
                reason,
                format!("at most {most} in total"),
            );
        }
    }
}

/// Every router has a route to each host, also to those that it reaches through a star.
fn routes(scenario: &Scenario, r: &mut Reader) {
    let routed = &scenario.routed;
    let is_edge = |end: Device| matches!(end, Device::Edge(_));
    let is_joined = routed.links.iter().any(|link| is_edge(link.from) || is_edge(link.to));
    let of_edges = if is_joined { scenario.edge_host_count() } else { 0 };
    let hosts = (scenario.host_count() - scenario.edge_host_count() + of_edges) as u64;
    let (most, routers) = (*limits::ROUTES.end(), routed.routers.len() as u64);
    if hosts > most {
        let reason = format!("{hosts} hosts, including those at edges that routers reach");
        r.report(groups(scenario).into(), reason, format!("at most {most}"));
    } else if hosts * routers > *limits::ROUTES_OF_ALL.end() {
        let reason = format!("{routers} routers with routes to {hosts} hosts");
        let expected = format!("at most {} routes in total", limits::ROUTES_OF_ALL.end());
        r.report("/routers".into(), reason, expected);
    }
}

/// What routers send to a star fits into its slots.
fn packets(scenario: &Scenario, r: &mut Reader) {
    let mtu = scenario.hosts.mtu;
    if scenario.has_star() && scenario.routed.packet_bytes > mtu {
        let reason = format!("packets exceed the star's MTU of {mtu}");
        r.report("/packet_bytes".into(), reason, format!("at most {mtu}"));
    }
}

/// Hosts behind routers belong to one edge: a star knows one for each address.
fn borders(scenario: &Scenario, r: &mut Reader) {
    let next_hops = scenario.next_hops();
    for (index, name) in scenario.routed.routers.iter().enumerate() {
        let near: Vec<Device> = scenario.neighbours(Device::Router(index as u16)).into_iter().collect();
        let edges = near.iter().filter(|device| matches!(device, Device::Edge(_))).count();
        let reached: Vec<String> = next_hops[index]
            .keys()
            .filter(|device| matches!(device, Device::Edge(_)))
            .map(|&device| scenario.node_name(device))
            .collect();
        if edges > 0 && reached.len() > 1 {
            let reason = format!(
                "router '{name}' is connected, directly or through other routers, to {}",
                reached.join(" and ")
            );
            r.report(
                format!("/routers/{index}"),
                reason,
                "one edge per group of connected routers, since a star routes each host to one edge",
            );
        }
    }
}

fn flows(scenario: &Scenario, r: &mut Reader) {
    let next_hops = scenario.next_hops();
    let (list, duration_ms) = (groups(scenario), scenario.duration_ms());
    let mut count = 0;
    for (index, flow) in scenario.routed.flows.iter().enumerate() {
        let place = format!("/flows/{index}");
        let ends = [("from", flow.from), ("to", flow.to)];
        let mut all_there = true;
        for (key, end) in ends {
            if !is_there(scenario, end) {
                let expected = format!("the name of a group in {list}, or hosts of an edge ('edgeN' or 'hE_K')");
                r.report(format!("{place}/{key}"), "unknown hosts", expected);
                all_there = false;
            }
        }
        if !all_there {
            continue;
        }
        if flow.packet_bytes > scenario.routed.packet_bytes {
            let reason = format!("{} bytes exceed the largest packet", flow.packet_bytes);
            let expected = format!("at most {}", scenario.routed.packet_bytes);
            r.report(format!("{place}/packet_bytes"), reason, expected);
        }
        let [from, to] = [flow.from, flow.to].map(|party| scenario.host_numbers(party).len());
        let users = match flow.source {
            Source::Web { users, .. } => users as usize,
            _ => 1,
        };
        count += from * flow.each as usize * users;
        let names = ends.map(|(_, end)| scenario.party_name(end));
        let at = ends.map(|(_, end)| scenario.node_of(end));
        if flow.from == flow.to {
            r.report(format!("{place}/to"), "a flow from a group to itself", "another group");
        } else if let [Device::Edge(here), Device::Edge(there)] = at
            && here == there
        {
            r.report(
                format!("{place}/to"),
                "a flow between hosts of one edge",
                "hosts at another edge",
            );
        } else if from != to {
            let reason = format!("'{}' has {from} hosts and '{}' {to}", names[0], names[1]);
            r.report(format!("{place}/to"), reason, "groups of equal size");
        }
        for [here, there] in [at, [at[1], at[0]]] {
            if !scenario.leads(&next_hops, here, there) {
                let (here, there) = (scenario.node_name(here), scenario.node_name(there));
                let reason = format!("no path from '{here}' to '{there}'");
                r.report(format!("{place}/to"), reason, "paths in both directions");
            }
        }
        let all_begun_ms = flow.start_ms + flow.spread_ms;
        if flow.stop_ms.is_some_and(|stop_ms| stop_ms <= all_begun_ms) {
            let reason = format!("flows start until {all_begun_ms} ms");
            r.report(
                format!("{place}/stop_ms"),
                reason,
                "a time after 'start_ms' and 'start_jitter_ms'",
            );
        }
        if flow.start_ms >= duration_ms {
            let reason = format!("{} ms is after the end of the run", flow.start_ms);
            r.report(format!("{place}/start_ms"), reason, format!("less than {duration_ms}"));
        }
    }
    at_most_flows(r, "/flows".into(), count);
}

fn is_there(scenario: &Scenario, party: Party) -> bool {
    let hosts = |edge: u16| scenario.edges.get(usize::from(edge)).map_or(0, |edge| edge.hosts);
    match party {
        Party::Group(_) => true,
        Party::Star(Endpoint::Host(HostId { edge, index })) => index < hosts(edge),
        Party::Star(Endpoint::Edge(edge)) => hosts(edge) > 0,
        Party::Star(Endpoint::All) => false,
    }
}

fn changes(scenario: &Scenario, r: &mut Reader) {
    let (changes, duration_ms) = (&scenario.routed.changes, scenario.duration_ms());
    let links = |what| match what {
        Changed::Link { .. } | Changed::Span { .. } => 1,
        Changed::Hosts { group, .. } => u64::from(scenario.routed.hosts[group].count),
    };
    let times = |change: &RoutedChange| change.again.map_or(1, |(_, times)| times);
    let is_capacity = |change: &&RoutedChange| matches!(change.what, Changed::Link { xcp: Some(_), .. });
    let capacities: u64 = changes.iter().filter(is_capacity).map(times).sum();
    if capacities > MAX_CAPACITIES {
        let reason = format!("{capacities} changes of 'xcp_capacity_bps'");
        r.report("/changes".into(), reason, format!("at most {MAX_CAPACITIES}"));
    }
    let times: u64 = changes.iter().map(|change| times(change) * links(change.what)).sum();
    if times > MAX_CHANGES {
        let reason = format!("{times} changes, counted per host of a group");
        r.report("/changes".into(), reason, format!("at most {MAX_CHANGES}"));
    }
    for (index, change) in changes.iter().enumerate() {
        let place = r.changes.groups[index].clone();
        if change.at_ms >= duration_ms {
            let reason = format!("{} ms is after the end of the run", change.at_ms);
            r.report(format!("{place}/at_ms"), reason, format!("less than {duration_ms}"));
        }
        if let Changed::Link { link, xcp: Some(_), .. } = change.what
            && scenario.routed.links[link].xcp.is_none()
        {
            let reason = format!("link '{}' does not use XCP", scenario.routed.links[link].name);
            r.report(
                format!("{place}/xcp_capacity_bps"),
                reason,
                "a link with 'xcp_capacity_bps'",
            );
        }
    }
}

/// For each router, the link to take towards each router and edge.
pub type NextHops = Vec<BTreeMap<Device, usize>>;

impl Scenario {
    /// For each router, the link to take towards each other router, and each edge to which links lead: the fewest hops, then the link
    /// that stands first.
    pub fn next_hops(&self) -> NextHops {
        let mut next_hops = vec![BTreeMap::new(); self.routed.routers.len()];
        let mut incoming: BTreeMap<Device, Vec<(usize, Device)>> = BTreeMap::new();
        for (index, link) in self.routed.links.iter().enumerate() {
            incoming.entry(link.to).or_default().push((index, link.from));
        }
        let routers = (0..self.routed.routers.len()).map(|router| Device::Router(router as u16));
        let edges = self.edges.iter().map(|edge| Device::Edge(edge.id));
        for target in routers.chain(edges) {
            let mut reached = BTreeSet::from([target]);
            let mut frontier = VecDeque::from([target]);
            while let Some(node) = frontier.pop_front() {
                for &(index, from) in incoming.get(&node).into_iter().flatten() {
                    // An edge is no way between routers: what it gets goes into its star.
                    if let Device::Router(router) = from
                        && reached.insert(from)
                    {
                        next_hops[usize::from(router)].insert(target, index);
                        frontier.push_back(from);
                    }
                }
            }
        }
        next_hops
    }

    /// The ports of a router or an edge that lead to its neighbours: a router's first ones, to routers and then to edges; an edge's
    /// after those of its hosts.
    pub fn ports_to_neighbours(&self, node: Device) -> BTreeMap<Device, u16> {
        let first = match node {
            Device::Edge(edge) => self.edges[usize::from(edge)].hosts + 1,
            _ => 1,
        };
        let mut peers: Vec<Device> = self.neighbours(node).into_iter().collect();
        peers.sort_by_key(|peer| (matches!(peer, Device::Edge(_)), *peer));
        peers.into_iter().zip(first..).collect()
    }

    /// Routers and edges that links join to a node, either way.
    pub(crate) fn neighbours(&self, node: Device) -> BTreeSet<Device> {
        let peer = |link: &RoutedLink| match (link.from, link.to) {
            (from, to) if from == node => Some(to),
            (from, to) if to == node => Some(from),
            _ => None,
        };
        self.routed.links.iter().filter_map(peer).collect()
    }

    /// The router, station or edge where a party's hosts are.
    pub fn node_of(&self, party: Party) -> Device {
        match party {
            Party::Group(group) => self.routed.hosts[group].node,
            Party::Star(Endpoint::Host(host)) => Device::Edge(host.edge),
            Party::Star(Endpoint::Edge(edge)) => Device::Edge(edge),
            Party::Star(Endpoint::All) => unreachable!("no flow has it"),
        }
    }

    /// Where a node's packets enter and leave a star: an edge, and the router that is linked to it; itself if it is an edge.
    pub fn border(&self, next_hops: &NextHops, node: Device) -> Option<(u16, Device)> {
        let Device::Router(router) = node else {
            return match node {
                Device::Edge(edge) => Some((edge, node)),
                _ => None,
            };
        };
        let edges = next_hops[usize::from(router)].keys();
        let edge = edges.filter_map(|device| match device {
            Device::Edge(edge) => Some(*edge),
            _ => None,
        });
        let reaches = |gateway: &Device| match gateway {
            Device::Router(number) => *gateway == node || next_hops[usize::from(*number)].contains_key(&node),
            _ => false,
        };
        edge.into_iter().find_map(|edge| {
            let mut gateways = self.neighbours(Device::Edge(edge)).into_iter();
            gateways.find(reaches).map(|gateway| (edge, gateway))
        })
    }

    fn leads(&self, next_hops: &NextHops, here: Device, there: Device) -> bool {
        if let (Device::Router(from), Device::Router(_)) = (here, there)
            && (here == there || next_hops[usize::from(from)].contains_key(&there))
        {
            return true;
        }
        if here.kind() == there.kind() && here.kind().reach_each_other {
            return true;
        }
        let borders = [here, there].map(|node| self.border(next_hops, node));
        match borders {
            [Some((from, _)), Some((to, _))] => from == to || !self.common_cores(from, to).is_empty(),
            _ => false,
        }
    }

    fn node_name(&self, node: Device) -> String {
        match node {
            Device::Router(router) => self.routed.routers[usize::from(router)].clone(),
            other => other.to_string(),
        }
    }

    /// As a file names it.
    pub fn party_name(&self, party: Party) -> String {
        match party {
            Party::Group(group) => self.routed.hosts[group].name.clone(),
            Party::Star(endpoint) => endpoint.to_string(),
        }
    }
}
