// SPDX-License-Identifier: Apache-2.0
//! Networks of IP routers: links of any shape, hosts, flows, and what happens to the links.
//!
//! A file of this kind says `kind: routed`; `schema/routed.schema.json` has its shape.

mod check;
mod parse;

use crate::faults::Faults;
use crate::model::{Process, Transport, Web};

/// A routed network and what its hosts do. One that exists has passed every check.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutedScenario {
    /// Short name, for reports and file names.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Length of the run.
    pub duration_ms: u64,
    /// Period of measurement.
    pub sample_ms: u64,
    /// Bytes of a full IP packet.
    pub packet_bytes: u32,
    /// Names of the routers.
    pub routers: Vec<String>,
    /// Links between routers, one direction each.
    pub links: Vec<RoutedLink>,
    /// Groups of hosts.
    pub hosts: Vec<HostGroup>,
    /// Groups of flows.
    pub flows: Vec<FlowGroup>,
    /// What happens to links, in the order of the file.
    pub changes: Vec<RoutedChange>,
    /// Faults on purpose: links between two routers are cut both ways, routers and the controller restart, messages are hit.
    pub faults: Vec<Faults>,
    /// Who finds routes, where there is a controller.
    pub controller: RoutesController,
}

/// The controller of routers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutesController {
    /// Between a router and the controller, each way.
    pub control_latency_ns: u64,
    /// What short paths are short of.
    pub metric: Metric,
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
    /// The name in a scenario file and for the controller.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Hops => "hops",
            Metric::Delay => "delay",
        }
    }
}

/// One direction of a link between two routers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedLink {
    /// Its name.
    pub name: String,
    /// Index of the router whose output it is.
    pub from: usize,
    /// Index of the router at the other end.
    pub to: usize,
    /// Rate.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
    /// What waits for it at most.
    pub buffer: Buffer,
    /// Capacity that the router's XCP reckons with; `None`: no XCP on this output.
    pub xcp_bps: Option<u64>,
}

/// What may wait for an output, the packet being sent not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Packets of any size.
    Packets(u32),
    /// IP bytes.
    Bytes(u64),
}

/// Like hosts of one router, each on a link of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGroup {
    /// Name of the group; host `i` of it is `NAME.i`.
    pub name: String,
    /// How many.
    pub count: u32,
    /// Index of their router.
    pub router: usize,
    /// Rate of each direction.
    pub rate_bps: u64,
    /// Propagation delay from host to router.
    pub up_delay_ns: u64,
    /// Propagation delay from router to host.
    pub down_delay_ns: u64,
    /// What waits for each direction at most.
    pub buffer: Buffer,
}

/// Like flows: one from each host of a group to the host of the same number in another.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowGroup {
    /// Name of the group; flow `i` of it is `NAME.i`.
    pub name: String,
    /// Index of the group of senders.
    pub from: usize,
    /// Index of the group of receivers, as many.
    pub to: usize,
    /// Congestion control.
    pub transport: Transport,
    /// Whether it uses SACK.
    pub sack: bool,
    /// What each sends.
    pub source: Source,
    /// Earliest start.
    pub start_ms: u64,
    /// Flow `i` of `n` starts within the `i`-th part of this time, by seed.
    pub spread_ms: u64,
}

/// What a flow sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// A stream of so many bytes; `None`: until the end.
    Stream {
        /// How many.
        bytes: Option<u64>,
    },
    /// UDP datagrams in full IP packets.
    Udp {
        /// Rate, counted in IP bytes; of bursts with an on-off process.
        rate_bps: u64,
        /// When they are sent.
        process: Process,
    },
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
    /// A link.
    Link {
        /// Its index.
        link: usize,
        /// New rate.
        rate_bps: Option<u64>,
        /// New propagation delay.
        delay_ns: Option<u64>,
        /// New capacity for XCP.
        xcp_bps: Option<u64>,
        /// Whether it carries anything, and the link the other way with it.
        up: Option<bool>,
    },
    /// The links of a group of hosts.
    Hosts {
        /// Its index.
        group: usize,
        /// New delay from host to router.
        up_delay_ns: Option<u64>,
        /// New delay from router to host.
        down_delay_ns: Option<u64>,
    },
}

impl RoutedScenario {
    /// Changes by time, then as in the file.
    pub fn timeline(&self) -> Vec<(u64, Changed)> {
        let mut timeline: Vec<(u64, Changed)> = self
            .changes
            .iter()
            .flat_map(|change| {
                let (every_ms, times) = change.again.unwrap_or((0, 1));
                (0..times).map(move |turn| (change.at_ms + turn * every_ms, change.what))
            })
            .filter(|(at_ms, _)| *at_ms < self.duration_ms)
            .collect();
        timeline.sort_by_key(|(at_ms, _)| *at_ms);
        timeline
    }

    /// The same run in a shorter time: every time of the file is multiplied by `total_ms / duration_ms`.
    ///
    /// Delays and rates stay, so the network has fewer round trips to settle.
    pub fn scaled_to(&self, total_ms: u64) -> RoutedScenario {
        let scale = |at_ms: u64| (u128::from(at_ms) * u128::from(total_ms) / u128::from(self.duration_ms)) as u64;
        let mut scaled = self.clone();
        scaled.duration_ms = total_ms.max(1);
        for flow in &mut scaled.flows {
            flow.start_ms = scale(flow.start_ms);
        }
        for change in &mut scaled.changes {
            change.at_ms = scale(change.at_ms);
            change.again = change.again.map(|(every_ms, times)| (scale(every_ms).max(1), times));
        }
        for faults in &mut scaled.faults {
            faults.every_ms = scale(faults.every_ms).max(1);
            faults.for_ms = scale(faults.for_ms).max(1);
        }
        scaled
    }
}
