// SPDX-License-Identifier: Apache-2.0
//! IP routers: links of any shape, also to edges of a star; groups of hosts, of routers and of stations of a ring, flows, and what
//! happens to the links.

mod buffer;
mod changes;
mod check;
mod flows;
pub(crate) mod gtp;
mod parse;
mod tcp;

use std::ops::{Range, RangeInclusive};

use slotwise_cards::admission::Setting;
use slotwise_units::{Duration, Rate};

use crate::address::{Device, Endpoint, HostId};
use crate::model::Scenario;
use crate::parse::{DELAY_NS, RATE_BPS};
use crate::section::{defined, integer, name, number, section};
use buffer::BufferShape;
pub use changes::{Changed, RoutedChange};
pub(crate) use changes::{HostsChange, RouterLinkChange, SpanChange};
pub(crate) use check::cross_check;
pub(crate) use flows::{FLOW_PACKET_BYTES, FlowKeys};
pub use flows::{FlowGroup, Source};
pub use gtp::{GtpFlow, GtpHost};
pub(crate) use gtp::{GtpFlowKeys, GtpHostKeys};
use parse::{At, Ends};
pub(crate) use parse::{FLOWS, HOST_GROUPS, LINKS, PACKET_BYTES, ROUTERS, SAMPLE_MS, parse};
pub use tcp::Tcp;
pub(crate) use tcp::{TcpOrLinux, tcp};

const GROUP_HOSTS: RangeInclusive<u64> = 1..=10_000;

/// Key of the groups of hosts beside what else a mix says of hosts.
pub(crate) const GROUPS: &str = "groups";

/// Key of the node that a group of hosts is at.
pub(crate) const AT: &str = "at";

/// The routers of a network and their links; groups of hosts, and flows over the whole run. What there is not is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Routed {
    /// Period of measurement.
    pub sample_ms: u64,
    /// Bytes of a full IP packet of these flows.
    pub packet_bytes: u32,
    /// Names of the routers.
    pub routers: Vec<String>,
    /// Links of routers, one direction each.
    pub links: Vec<RoutedLink>,
    /// Groups of hosts.
    pub hosts: Vec<HostGroup>,
    /// Groups of flows.
    pub flows: Vec<FlowGroup>,
    /// What happens to links, in the order of the file.
    pub changes: Vec<RoutedChange>,
}

/// What is summed over the links of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Metric {
    /// Links.
    #[default]
    Hops,
    /// Propagation delay.
    Delay,
}

impl Metric {
    /// Both.
    pub(crate) const ALL: [Metric; 2] = [Metric::Hops, Metric::Delay];

    /// The name in a scenario file and for the controller.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Hops => "hops",
            Metric::Delay => "delay",
        }
    }
}

section! {
    /// Unidirectional link between two routers, or a router and an edge's access port.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RoutedLink [r, fields, ends: &'c Ends<'c>] {
        /// Name of the link.
        pub name: String = "name" required, name();
        /// Router or edge (`edgeN`) at the sending end.
        pub from: Device = "from" read(ends.find(r, fields, "from")), name();
        /// Router or edge at the receiving end. An edge uses access ports after those of its hosts, and needs a link in
        /// both directions.
        pub to: Device = "to" read(ends.find(r, fields, "to")), name();
        /// Rate in bit/s, counted in IP bytes.
        pub rate: Rate = "rate_bps" required, integer(RATE_BPS);
        /// Propagation delay in ns.
        pub delay: Duration = "delay_ns" required, integer(DELAY_NS);
        /// Probability of losing a packet at the end of the link, after its transmission. Default: 0.
        pub loss: f64 = "loss" or(0.0), number(0.0..=1.0);
        /// Queue in front of the link, by its admission rule. The packet in transmission does not count.
        pub buffer: Setting = "buffer" required, BufferShape;
        /// XCP capacity of the router's output in bit/s; edges have XCP only in front of their fibres. Default: no XCP
        /// at this output.
        pub xcp: Option<Rate> = "xcp_capacity_bps" optional, integer(RATE_BPS);
    }
}

section! {
    /// Group of hosts at one router, ring station or OPS edge, each on a separate access link.
    #[derive(Debug, Clone, PartialEq)]
    pub struct HostGroup [r, fields, at: &'c At<'c>] {
        /// Name of the group; host i of it is NAME.i.
        pub name: String = "name" required, name();
        /// Number of hosts.
        pub count: u32 = "count" required, integer(GROUP_HOSTS);
        /// Router, ring station or OPS edge of the hosts.
        pub node: Device = "at" read(at.find(r, fields, AT)), name();
        /// Rate of the access link in bit/s, in each direction.
        pub rate: Rate = "rate_bps" required, integer(RATE_BPS);
        /// Propagation delay in ns from the host to the router, station or edge.
        pub up_delay: Duration = "up_delay_ns" required, integer(DELAY_NS);
        /// Propagation delay in ns from the router, station or edge to the host.
        pub down_delay: Duration = "down_delay_ns" required, integer(DELAY_NS);
        /// Queue in front of each direction of the access link, by its admission rule. The packet in transmission
        /// does not count.
        pub buffer: Setting = "buffer" required, BufferShape;
        /// Rate allocation of the Group Transport Protocol (GTP) at a host's access link, in each direction separately
        /// (docs/lambda.md).
        pub gtp: GtpHost = "gtp" read_optional(gtp::host(r, fields, rate)), defined("host_gtp");
    }
}

/// Some of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// A group, by its index.
    Group(usize),
    /// Hosts of an edge, or one.
    Star(Endpoint),
}

impl Scenario {
    /// Whether there are cores and edges.
    pub fn has_star(&self) -> bool {
        !self.cores.is_empty()
    }

    /// Whether there may be hosts that stand in groups.
    pub fn has_groups(&self) -> bool {
        self.has_routers() || self.own_nodes().is_some()
    }

    /// Whether there are routers.
    pub fn has_routers(&self) -> bool {
        !self.routed.routers.is_empty()
    }

    /// Changes of routers' links by time since the first phase, then as in the file.
    pub fn timeline(&self) -> Vec<(u64, Changed)> {
        let duration_ms = self.duration_ms();
        let changes = self.routed.changes.iter();
        let mut timeline: Vec<(u64, Changed)> = changes
            .flat_map(|change| {
                let (every_ms, times) = change.again.unwrap_or((0, 1));
                (0..times).map(move |turn| (change.at_ms + turn * every_ms, change.what))
            })
            .filter(|(at_ms, _)| *at_ms < duration_ms)
            .collect();
        timeline.sort_by_key(|(at_ms, _)| *at_ms);
        timeline
    }

    /// How many hosts the edges have. Hosts are numbered over the network: these by edge, then those of groups.
    pub fn edge_host_count(&self) -> usize {
        self.edges.iter().map(|edge| usize::from(edge.hosts)).sum()
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> usize {
        let groups = self.routed.hosts.iter().map(|group| group.count as usize);
        self.edge_host_count() + groups.sum::<usize>()
    }

    /// Numbers of a party's hosts, which are in one row.
    pub fn host_numbers(&self, party: Party) -> Range<usize> {
        let hosts_before = |edge: u16| -> usize {
            let edges = self.edges.iter().take(usize::from(edge));
            edges.map(|edge| usize::from(edge.hosts)).sum()
        };
        let (first, count) = match party {
            Party::Group(index) => {
                let before = self.routed.hosts[..index].iter().map(|group| group.count as usize);
                let first = self.edge_host_count() + before.sum::<usize>();
                (first, self.routed.hosts[index].count as usize)
            }
            Party::Star(Endpoint::All) => (0, self.edge_host_count()),
            Party::Star(Endpoint::Edge(edge)) => (hosts_before(edge), usize::from(self.edges[usize::from(edge)].hosts)),
            Party::Star(Endpoint::Host(HostId { edge, index })) => (hosts_before(edge) + usize::from(index), 1),
        };
        first..first + count
    }

    /// Numbers of the hosts of each flow of a group, sender first, in the order of the flows.
    pub fn flow_hosts(&self, group: &FlowGroup) -> impl ExactSizeIterator<Item = (usize, usize)> + use<> {
        let (from, to, each) = (
            self.host_numbers(group.from),
            self.host_numbers(group.to),
            group.each as usize,
        );
        (0..from.len() * each).map(move |flow| (from.start + flow / each, to.start + flow / each))
    }

    /// Names of a party's hosts, by their numbers.
    pub fn host_names(&self, party: Party) -> Vec<String> {
        match party {
            Party::Group(index) => {
                let HostGroup { name, count, .. } = &self.routed.hosts[index];
                (0..*count).map(|i| format!("{name}.{i}")).collect()
            }
            Party::Star(endpoint) => {
                let hosts = self.hosts_of(endpoint).into_iter();
                hosts.map(|host| host.to_string()).collect()
            }
        }
    }
}
