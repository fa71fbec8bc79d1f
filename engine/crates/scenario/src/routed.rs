// SPDX-License-Identifier: Apache-2.0
//! IP routers: links of any shape, also to edges of a star; groups of hosts, of routers and of stations of a ring, flows, and what
//! happens to the links.

mod check;
pub(crate) mod gtp;
mod parse;
mod tcp;

use std::ops::Range;

use slotwise_units::{Bytes, Duration, Rate};

use crate::address::{Device, Endpoint, HostId};
use crate::model::{Process, Scenario, Transport, Web};
pub(crate) use check::cross_check;
pub use gtp::{GtpFlow, GtpHost};
pub(crate) use gtp::{GtpFlowKeys, GtpHostKeys};
pub(crate) use parse::parse;
pub use tcp::Tcp;

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

/// One direction of a link between two routers, or a router and an edge's access port.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutedLink {
    /// Its name.
    pub name: String,
    /// Router or edge whose output it is.
    pub from: Device,
    /// Router or edge at the other end.
    pub to: Device,
    /// Rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost on it, in [0, 1].
    pub loss: f64,
    /// What waits for it at most.
    pub buffer: Buffer,
    /// Capacity that the router's XCP reckons with; `None`: no XCP on this output.
    pub xcp: Option<Rate>,
}

/// What may wait for an output, the packet being sent not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Packets of any size.
    Packets(u32),
    /// IP bytes.
    Bytes(Bytes),
}

/// Like hosts of one router or station, each on a link of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct HostGroup {
    /// Name of the group; host `i` of it is `NAME.i`.
    pub name: String,
    /// How many.
    pub count: u32,
    /// Their router or station.
    pub node: Device,
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay from host to its node.
    pub up_delay: Duration,
    /// Propagation delay from there to the host.
    pub down_delay: Duration,
    /// What waits for each direction at most.
    pub buffer: Buffer,
    /// How their GTP shares the link.
    pub gtp: GtpHost,
}

/// Some of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// A group, by its index.
    Group(usize),
    /// Hosts of an edge, or one.
    Star(Endpoint),
}

/// Like flows: so many from each host of a party to the host of the same number in another.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowGroup {
    /// Name of the group; flow `i` of it is `NAME.i`.
    pub name: String,
    /// The senders.
    pub from: Party,
    /// The receivers, as many.
    pub to: Party,
    /// Flows of each two hosts.
    pub each: u32,
    /// Congestion control.
    pub transport: Transport,
    /// Whether it uses SACK.
    pub sack: bool,
    /// What else is said of its TCP.
    pub tcp: Tcp,
    /// What each sends.
    pub source: Source,
    /// Largest IP packet that they send.
    pub packet_bytes: u32,
    /// DSCP of their packets, acknowledgements among them.
    pub dscp: u8,
    /// Window of their receivers; `None`: as large as those of Linux may become.
    pub window_bytes: Option<u32>,
    /// Earliest start.
    pub start_ms: u64,
    /// Flow `i` of `n` starts within the `i`-th part of this time, by seed.
    pub spread_ms: u64,
    /// When its sources send nothing new any more; `None`: when the run ends.
    pub stop_ms: Option<u64>,
    /// Whether the order of their packets and what was sent needlessly is measured.
    pub measure: bool,
}

/// What a flow sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// A stream of so many bytes; `None`: until the end.
    Stream {
        /// How many.
        bytes: Option<Bytes>,
    },
    /// UDP datagrams in full IP packets.
    Udp {
        /// Rate, counted in IP bytes; of bursts with an on-off process.
        rate: Rate,
        /// When they are sent.
        process: Process,
    },
    /// A session of GTP.
    Gtp(GtpFlow),
    /// Pages for users at the receiving host, one connection a page.
    Web {
        /// Users of each flow.
        users: u32,
        /// How they behave.
        web: Web,
    },
}

/// A change, at one time or several times over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutedChange {
    /// The first time.
    pub at_ms: u64,
    /// (period in ms, how often in all) of one that comes again.
    pub again: Option<(u64, u64)>,
    /// What changes.
    pub what: Changed,
}

/// What a change changes; `None` stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// A link between routers.
    Link {
        /// Its index.
        link: usize,
        /// New rate.
        rate: Option<Rate>,
        /// New propagation delay.
        delay: Option<Duration>,
        /// New capacity for XCP.
        xcp: Option<Rate>,
        /// Whether it carries anything, and the link the other way with it.
        up: Option<bool>,
    },
    /// Whether a span of a ring carries anything, either way.
    Span {
        /// Its index among [`crate::Ring::spans`].
        span: usize,
        /// Whether it does.
        up: bool,
    },
    /// The links of a group of hosts.
    Hosts {
        /// Its index.
        group: usize,
        /// New delay from host to router.
        up_delay: Option<Duration>,
        /// New delay from router to host.
        down_delay: Option<Duration>,
    },
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
