// SPDX-License-Identifier: Apache-2.0
//! Which flows a traffic entry stands for.

use std::collections::BTreeMap;

use crate::address::{Endpoint, HostId};
use crate::model::{Scenario, Traffic, TrafficKind, Transport};
use crate::routed::Source;
use crate::workloads::{FlowTransport, Workload};

/// One flow from host to host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Index of the phase.
    pub phase: usize,
    /// Index of the traffic entry in the phase.
    pub entry: usize,
    /// Source.
    pub from: HostId,
    /// Destination.
    pub to: HostId,
    /// What it sends.
    pub kind: TrafficKind,
}

/// Ports of flows between two hosts. Both ends of a flow have the same one, and what is sent either way between two hosts counts
/// together, since acknowledgements of one flow are addressed as data of another.
#[derive(Debug, Default)]
pub struct FlowPorts {
    given: BTreeMap<(usize, usize), u32>,
}

impl FlowPorts {
    /// The first one.
    pub const FIRST: u16 = 1024;
    /// How many there are; after them come the first ones again.
    pub const COUNT: u32 = 64_000;

    /// The next one for two hosts, by number.
    pub fn next(&mut self, a: usize, b: usize) -> u16 {
        let given = self.given.entry((a.min(b), a.max(b))).or_default();
        let port = FlowPorts::FIRST + (*given % FlowPorts::COUNT) as u16;
        *given += 1;
        port
    }
}

/// A flow between hosts of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupFlow {
    /// Index of its group of flows.
    pub group: usize,
    /// Number of the host that sends data.
    pub from: usize,
    /// Number of the host that receives them.
    pub to: usize,
    /// Port of both ends in a simulation.
    pub port: u16,
}

impl Scenario {
    /// The flows between hosts of groups, in the order in which a simulation has them, but for pages, whose ports change.
    pub fn group_flows(&self) -> Vec<GroupFlow> {
        let mut ports = FlowPorts::default();
        let groups = self.routed.flows.iter().enumerate();
        let ended = groups.filter(|(_, group)| !matches!(group.source, Source::Web { .. }));
        let flows = ended.flat_map(|(index, group)| {
            let hosts = self.flow_hosts(group);
            hosts.map(move |(from, to)| (index, from, to))
        });
        flows
            .map(|(group, from, to)| GroupFlow {
                group,
                from,
                to,
                port: ports.next(from, to),
            })
            .collect()
    }

    /// The flows of a phase, in the order of its entries, then of sources, then of destinations.
    ///
    /// Every source host sends to one host of every destination edge: its own index modulo the number of hosts
    /// there. An entry with `all` or an edge on either side never connects hosts of one edge.
    pub fn flows(&self, phase: usize) -> Vec<Flow> {
        let entries = self.phases[phase].traffic.iter().enumerate();
        entries
            .flat_map(|(entry, traffic)| {
                let kind = traffic.kind;
                self.host_pairs(traffic).into_iter().map(move |(from, to)| Flow {
                    phase,
                    entry,
                    from,
                    to,
                    kind,
                })
            })
            .collect()
    }

    /// Whether any flow is one of XCP; line cards then have interval timers.
    pub fn has_xcp(&self) -> bool {
        let mut entries = self.phases.iter().flat_map(|phase| &phase.traffic);
        let of_phases = entries.any(|traffic| traffic.kind.transport() == Some(Transport::Xcp));
        let mut of_workloads = self.workloads.iter().flat_map(Workload::transports);
        of_phases
            || self.routed.flows.iter().any(|flow| flow.transport == Transport::Xcp)
            || of_workloads.any(|transport| transport == FlowTransport::Stream(Transport::Xcp))
    }

    /// Host pairs of one traffic entry.
    pub(crate) fn host_pairs(&self, traffic: &Traffic) -> Vec<(HostId, HostId)> {
        if let (Endpoint::Host(from), Endpoint::Host(to)) = (traffic.from, traffic.to) {
            return vec![(from, to)];
        }
        let mut pairs = Vec::new();
        for from in self.hosts_of(traffic.from) {
            for edge in &self.edges {
                let to = match traffic.to {
                    Endpoint::Host(to) if to.edge == edge.id => Some(to),
                    Endpoint::Host(_) => None,
                    Endpoint::Edge(only) if only != edge.id => None,
                    _ => from
                        .index
                        .checked_rem(edge.hosts)
                        .map(|index| HostId { edge: edge.id, index }),
                };
                pairs.extend(to.filter(|to| to.edge != from.edge).map(|to| (from, to)));
            }
        }
        pairs
    }

    /// The hosts that an endpoint stands for, by edge and index.
    pub fn hosts_of(&self, endpoint: Endpoint) -> Vec<HostId> {
        let of_edge = |edge: u16, hosts: u16| (0..hosts).map(move |index| HostId { edge, index });
        match endpoint {
            Endpoint::All => self
                .edges
                .iter()
                .flat_map(|edge| of_edge(edge.id, edge.hosts))
                .collect(),
            Endpoint::Edge(id) => {
                let edge = self.edges.iter().filter(|edge| edge.id == id);
                edge.flat_map(|edge| of_edge(edge.id, edge.hosts)).collect()
            }
            Endpoint::Host(host) => vec![host],
        }
    }
}
