// SPDX-License-Identifier: Apache-2.0
//! What queues, access links and flows did since they were last asked, for whoever writes it down.

use slotwise_cards::measure::AccessUse;
use slotwise_scenario::{Flow, HostId};

use crate::hosts::Host;
use crate::world::World;
use slotwise_traffic::{DelayUse, FlowUse, OrderUse, RoutedFlow, SessionUse, Traffic};

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

impl World {
    /// All access links of edges, by edge and host, since the start.
    pub fn access_links(&self) -> Vec<AccessReport> {
        let report = |host: &Host| {
            Some(AccessReport {
                host: host.id?,
                up: host.uplink.total(),
                down: self.net.nodes().get(host.device)?.links.total(host.port),
            })
        };
        self.hosts.list.iter().filter_map(report).collect()
    }

    /// Delays of each simulated flow since the last call, in the order of [`World::flow_results`].
    pub fn take_flow_delays(&mut self) -> Vec<(Flow, DelayUse)> {
        let traffic = self.hosts.traffic.as_mut();
        traffic.map_or_else(Vec::new, Traffic::take_delays)
    }

    /// The flows between groups of hosts, by number.
    pub fn routed_flows(&self) -> &[RoutedFlow] {
        let traffic = self.hosts.traffic.as_ref();
        traffic.map_or(&[], Traffic::routed_flows)
    }

    /// What a flow did since the last call; zeros before it starts. Of a web flow windows are summed over its
    /// connections.
    pub fn take_flow_use(&mut self, flow: usize) -> FlowUse {
        let traffic = self.hosts.traffic.as_mut();
        traffic.map_or_else(FlowUse::default, |traffic| traffic.take_flow_use(flow))
    }

    /// In which order a flow's packets arrived, and what it sent needlessly, since the last call; `None` unless the scenario says that
    /// it is measured.
    pub fn take_order_use(&mut self, flow: usize) -> Option<OrderUse> {
        self.hosts.traffic.as_mut()?.take_order_use(flow)
    }

    /// What the session of a flow of GTP did since it began; `None` before, and of other flows.
    pub fn session_use(&self, flow: usize) -> Option<SessionUse> {
        self.hosts.traffic.as_ref()?.session_use(flow)
    }
}
