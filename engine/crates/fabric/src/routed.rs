// SPDX-License-Identifier: Apache-2.0
//! What is asked of a network of routers, and of hosts in groups: ports and addresses, for who writes tables, and what links and
//! flows did.

use std::net::Ipv4Addr;

use slotwise_p4::Port;
use slotwise_scenario::{Device, group_host_ip, group_host_mac};

use crate::fabric::Fabric;
use crate::fifo::FifoUse;
use crate::traffic::{FlowUse, RoutedFlow, Traffic, mac_number};

/// A port of a router, for the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterPort {
    /// Its number.
    pub port: Port,
    /// Ethernet address of what is at the other end.
    pub next_mac: u64,
    /// Index of the scenario's link, if it leads to a router.
    pub link: Option<usize>,
    /// That router and its port.
    pub peer: Option<(Device, Port)>,
    /// Addresses of the hosts that are reached by it.
    pub hosts: Vec<Ipv4Addr>,
}

/// Where what a scenario of routers names has gone.
#[derive(Default)]
pub(crate) struct Routed {
    /// Cards by the scenario's link.
    pub(crate) links: Vec<usize>,
    /// Ports by router.
    pub(crate) ports: Vec<Vec<RouterPort>>,
}

impl Fabric {
    /// Passes of packets and ticks through P4 so far.
    pub fn p4_passes(&self) -> u64 {
        self.p4_passes
    }

    /// The ports of a router.
    pub fn router_ports(&self, router: usize) -> &[RouterPort] {
        &self.routed.ports[router]
    }

    /// A switch's own Ethernet address.
    pub fn device_mac(&self, device: Device) -> u64 {
        mac_number(device.mac())
    }

    /// Ethernet address of a host of a group, by its number among those.
    pub fn group_host_mac(&self, host: usize) -> u64 {
        mac_number(group_host_mac(host))
    }

    /// Address of a host of a group, by its number among those.
    pub fn group_host_ip(&self, host: usize) -> Ipv4Addr {
        group_host_ip(host)
    }

    /// What a link between routers did since the last call, by the scenario's number.
    pub fn take_link_use(&mut self, link: usize) -> FifoUse {
        let now_ns = self.now_ns;
        self.fifos[self.routed.links[link]].queue.take_use(now_ns)
    }

    /// The flows between groups of hosts, by number.
    pub fn routed_flows(&self) -> &[RoutedFlow] {
        self.traffic.as_ref().map_or(&[], Traffic::routed_flows)
    }

    /// What a flow did since the last call; zeros before it starts. Of a web flow windows are summed over its
    /// connections.
    pub fn take_flow_use(&mut self, flow: usize) -> FlowUse {
        let traffic = self.traffic.as_mut();
        traffic.map_or_else(FlowUse::default, |traffic| traffic.take_flow_use(flow))
    }
}
