// SPDX-License-Identifier: Apache-2.0
//! What queues, access links and flows did since they were last asked, for whoever writes it down.

use slotwise_cards::fifo::FifoUse;
pub(crate) use slotwise_cards::measure::delays;
pub use slotwise_cards::measure::{AccessUse, QueueUse};
use slotwise_p4::Port;
use slotwise_scenario::{Device, Flow, HostId};
use slotwise_units::Instant;

use crate::hosts::Host;
use crate::world::Fabric;

/// Both directions of a host's access link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessReport {
    /// The host.
    pub host: HostId,
    /// From host to edge.
    pub up: AccessUse,
    /// From edge to host.
    pub down: AccessUse,
}

/// One-way delays of a flow's packets that arrived since it was last asked, from the first bit out of the host to
/// the last bit in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DelayUse {
    /// Packets.
    pub packets: u64,
    /// Sum of their delays.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl DelayUse {
    pub(crate) fn add(&mut self, delay_ns: u64) {
        self.packets += 1;
        self.sum_ns += delay_ns;
        self.max_ns = self.max_ns.max(delay_ns);
    }
}

impl Fabric {
    /// All access links of edges, by edge and host, since the start.
    pub fn access_links(&self) -> Vec<AccessReport> {
        let report = |host: &Host| {
            Some(AccessReport {
                host: host.id?,
                up: host.uplink.total(),
                down: self.nodes[self.node(host.device)].links.total(host.port),
            })
        };
        self.hosts.iter().filter_map(report).collect()
    }

    /// Use of the queue before a link of a switch since the last call.
    pub(crate) fn link_use(&mut self, (device, port): (Device, Port)) -> FifoUse {
        let (node, now) = (self.node(device), Instant::from_ns(self.now_ns));
        self.nodes[node].links.take_use(now, port).unwrap_or_default()
    }

    /// Delays of each simulated flow since the last call, in the order of [`Fabric::flow_results`].
    pub fn take_flow_delays(&mut self) -> Vec<(Flow, DelayUse)> {
        self.traffic
            .as_mut()
            .map_or_else(Vec::new, super::traffic::Traffic::take_delays)
    }
}
