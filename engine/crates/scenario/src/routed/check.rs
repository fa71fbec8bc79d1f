// SPDX-License-Identifier: Apache-2.0
//! Whether the parts of a routed scenario fit together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use slotwise_wire::PORT_OPTICAL_BASE;

use super::{Buffer, Changed, RoutedScenario};
use crate::faults::FaultKind;
use crate::reader::Reader;

/// So that a small file cannot fill the memory.
const MAX_HOSTS: u64 = 20_000;
/// Ports of a router, one a neighbour and host: above them P4 takes nothing in.
const MAX_PORTS: usize = PORT_OPTICAL_BASE as usize - 1;
const MAX_CHANGES: u64 = 1_000_000;

pub(super) fn cross_check(scenario: &RoutedScenario, r: &mut Reader) {
    unique(r, "/routers", scenario.routers.iter(), "");
    unique(r, "/links", scenario.links.iter().map(|link| &link.name), "/name");
    unique(r, "/hosts", scenario.hosts.iter().map(|group| &group.name), "/name");
    unique(r, "/flows", scenario.flows.iter().map(|group| &group.name), "/name");
    links(scenario, r);
    buffers(scenario, r);
    ports(scenario, r);
    if r.problems.is_empty() {
        flows(scenario, r);
        changes(scenario, r);
        faults(scenario, r);
    }
}

fn unique<'a>(r: &mut Reader, list: &str, names: impl Iterator<Item = &'a String>, key: &str) {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            r.report(
                format!("{list}/{index}{key}"),
                format!("second '{name}'"),
                "a name of its own",
            );
        }
    }
}

fn links(scenario: &RoutedScenario, r: &mut Reader) {
    let mut ends = BTreeSet::new();
    for (index, link) in scenario.links.iter().enumerate() {
        let place = format!("/links/{index}/to");
        if link.from == link.to {
            r.report(place, "a link from a router to itself", "another router");
        } else if !ends.insert((link.from, link.to)) {
            r.report(place, "second link between these routers in this direction", "one link");
        }
    }
}

fn buffers(scenario: &RoutedScenario, r: &mut Reader) {
    let packet_bytes = u64::from(scenario.packet_bytes);
    let links = scenario
        .links
        .iter()
        .enumerate()
        .map(|(i, link)| (format!("/links/{i}/buffer/bytes"), link.buffer));
    let hosts = scenario
        .hosts
        .iter()
        .enumerate()
        .map(|(i, group)| (format!("/hosts/{i}/buffer/bytes"), group.buffer));
    for (place, buffer) in links.chain(hosts) {
        if let Buffer::Bytes(bytes) = buffer
            && bytes < packet_bytes
        {
            let reason = format!("{bytes} bytes hold no packet of {packet_bytes}");
            r.report(place, reason, format!("at least {packet_bytes}"));
        }
    }
}

fn ports(scenario: &RoutedScenario, r: &mut Reader) {
    for (index, name) in scenario.routers.iter().enumerate() {
        let neighbours: BTreeSet<usize> = scenario
            .links
            .iter()
            .filter_map(|link| match (link.from, link.to) {
                (from, to) if from == index => Some(to),
                (from, to) if to == index => Some(from),
                _ => None,
            })
            .collect();
        let groups = scenario.hosts.iter().filter(|group| group.router == index);
        let hosts: usize = groups.map(|group| group.count as usize).sum();
        let ports = neighbours.len() + hosts;
        if ports > MAX_PORTS {
            let reason = format!("router '{name}' has {} neighbours and {hosts} hosts", neighbours.len());
            r.report(format!("/routers/{index}"), reason, format!("at most {MAX_PORTS}"));
        }
    }
    let hosts: u64 = scenario.hosts.iter().map(|group| u64::from(group.count)).sum();
    if hosts > MAX_HOSTS {
        r.report(
            "/hosts".into(),
            format!("{hosts} hosts"),
            format!("at most {MAX_HOSTS}"),
        );
    }
}

fn flows(scenario: &RoutedScenario, r: &mut Reader) {
    let next_hops = scenario.next_hops();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let place = format!("/flows/{index}");
        let (from, to) = (&scenario.hosts[flow.from], &scenario.hosts[flow.to]);
        if flow.from == flow.to {
            r.report(format!("{place}/to"), "a flow from a group to itself", "another group");
        } else if from.count != to.count {
            let reason = format!(
                "'{}' has {} hosts and '{}' {}",
                from.name, from.count, to.name, to.count
            );
            r.report(format!("{place}/to"), reason, "as many");
        }
        for (here, there) in [(from, to), (to, from)] {
            if here.router != there.router && !next_hops[here.router].contains_key(&there.router) {
                let (here, there) = (&scenario.routers[here.router], &scenario.routers[there.router]);
                let reason = format!("no links lead from '{here}' to '{there}'");
                r.report(format!("{place}/to"), reason, "a path in both directions");
            }
        }
        if flow.start_ms >= scenario.duration_ms {
            let reason = format!("at {} ms the run is over", flow.start_ms);
            r.report(
                format!("{place}/start_ms"),
                reason,
                format!("less than {}", scenario.duration_ms),
            );
        }
    }
}

fn changes(scenario: &RoutedScenario, r: &mut Reader) {
    let times: u64 = scenario
        .changes
        .iter()
        .map(|change| change.again.map_or(1, |(_, times)| times))
        .sum();
    if times > MAX_CHANGES {
        r.report(
            "/changes".into(),
            format!("{times} changes"),
            format!("at most {MAX_CHANGES}"),
        );
    }
    for (index, change) in scenario.changes.iter().enumerate() {
        let place = format!("/changes/{index}");
        if change.at_ms >= scenario.duration_ms {
            let reason = format!("at {} ms the run is over", change.at_ms);
            r.report(
                format!("{place}/at_ms"),
                reason,
                format!("less than {}", scenario.duration_ms),
            );
        }
        if let Changed::Link {
            link, xcp_bps: Some(_), ..
        } = change.what
            && scenario.links[link].xcp_bps.is_none()
        {
            let reason = format!("link '{}' has no XCP", scenario.links[link].name);
            r.report(format!("{place}/xcp_bps"), reason, "a link with 'xcp_bps'");
        }
    }
}

fn faults(scenario: &RoutedScenario, r: &mut Reader) {
    let mut kinds = scenario.faults.iter().map(|faults| faults.kind);
    let has_restarts = kinds.any(|kind| kind == FaultKind::RouterRestart);
    for (index, faults) in scenario.faults.iter().enumerate() {
        let place = format!("/faults/{index}");
        match faults.kind {
            FaultKind::CoreDown | FaultKind::EdgeRestart | FaultKind::ClockStep { .. } => {
                let reason = format!("'{}' is of stars", faults.kind.name());
                r.report(
                    format!("{place}/kind"),
                    reason,
                    "link-cut, router-restart, controller-restart or messages-...",
                );
            }
            // It waits until every router is there, so one that is down would stop time.
            FaultKind::ControllerRestart if has_restarts => r.report(
                format!("{place}/kind"),
                "a controller starts when all routers are there",
                "no router-restart beside it",
            ),
            _ => {}
        }
        if faults.edge.is_some() {
            r.report(format!("{place}/edge"), "there are no edges", "no 'edge'");
        }
    }
}

impl RoutedScenario {
    /// For each router, the link to take towards each other router: the fewest hops, then the link that stands first.
    pub fn next_hops(&self) -> Vec<BTreeMap<usize, usize>> {
        let mut next_hops = vec![BTreeMap::new(); self.routers.len()];
        for target in 0..self.routers.len() {
            let mut reached = BTreeSet::from([target]);
            let mut frontier = VecDeque::from([target]);
            while let Some(router) = frontier.pop_front() {
                for (index, link) in self.links.iter().enumerate().filter(|(_, link)| link.to == router) {
                    if reached.insert(link.from) {
                        next_hops[link.from].insert(target, index);
                        frontier.push_back(link.from);
                    }
                }
            }
        }
        next_hops
    }
}
