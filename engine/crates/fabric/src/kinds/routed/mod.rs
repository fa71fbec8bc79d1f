// SPDX-License-Identifier: Apache-2.0
//! Networks of routers: what is asked of them, and of hosts in groups: ports and addresses, for who writes tables, and what links
//! and flows did.

mod build;

use std::net::Ipv4Addr;

use slotwise_p4::Port;
use slotwise_scenario::{Device, Scenario, group_host_ip, group_host_mac};

use crate::drops::DropCause;
use crate::invariants::Invariant;
use crate::net::kind::{End, Kind, NodeKind};
use crate::traffic::{FlowUse, OrderUse, RoutedFlow, SessionUse, Traffic, mac_number};
use crate::world::Fabric;
use slotwise_cards::card::Card;
use slotwise_cards::fifo::FifoUse;
use slotwise_cards::packet::Flying;
use slotwise_cards::random::Chance;

/// Networks of routers.
pub(crate) static KIND: Kind = Kind {
    is_in: Scenario::has_routers,
    build: |fabric, plan| fabric.add_routers(plan.scenario),
    checks: &[Invariant::ASTRAY],
    checks_inside: &[],
};

/// Routers.
static ROUTER: NodeKind = NodeKind {
    stops: |fabric, device| {
        let node = fabric.node(device);
        fabric.call_links(node, Card::restarts);
    },
    ..NodeKind::PLAIN
};

/// Where links end that lose packets at random, by number.
static LOSSY: End = End {
    arrive: Fabric::lossy_arrives,
};

/// A link that loses packets at random, at its end: they have taken their time of it.
pub(crate) struct Lossy {
    /// Its number in the scenario.
    link: usize,
    /// Where it leads.
    port: (Device, Port),
    loss: Chance,
}

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
pub(crate) struct Routed {
    /// Ports by the scenario's link.
    pub(crate) links: Vec<(Device, Port)>,
    /// Links that lose packets at random.
    pub(crate) lossy: Vec<Lossy>,
    /// Ports by router.
    pub(crate) ports: Vec<Vec<RouterPort>>,
}

impl Fabric {
    fn lossy_arrives(&mut self, number: usize, flying: Flying) {
        let lossy = &mut self.routed.lossy[number];
        let (device, port) = lossy.port;
        if !lossy.loss.comes() {
            return self.packet_arrives(device, port, flying);
        }
        let (device, port) = self.routed.links[self.routed.lossy[number].link];
        let place = self.place_before(self.node(device), port);
        self.drop(place, DropCause::LinkLoss, flying.packet.frame);
    }

    /// Passes of packets and ticks through P4 so far.
    pub fn p4_passes(&self) -> u64 {
        self.p4_passes
    }

    /// The ports of a router; of anything else none.
    pub fn router_ports(&self, device: Device) -> &[RouterPort] {
        let ports = self.routed.get().map(|routed| &routed.ports);
        match (device, ports) {
            (Device::Router(router), Some(ports)) => &ports[usize::from(router)],
            _ => &[],
        }
    }

    /// The router's port by which a link of the scenario begins, by its number there; one of an edge's is none.
    pub fn router_port_of(&self, link: usize) -> Option<(Device, Port)> {
        let port = self.routed.get()?.links.get(link).copied();
        port.filter(|(device, _)| matches!(device, Device::Router(_)))
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

    /// Lets a link between routers, by its number in the scenario, carry packets from now on or not, and the link the other way with it.
    /// One that the scenario does not have is left alone.
    pub fn set_link_up(&mut self, link: usize, is_up: bool) {
        let port = self.routed.get().and_then(|routed| routed.links.get(link));
        let span = port.and_then(|port| self.span_of(self.link_at(*port)));
        if let Some(span) = span {
            self.set_span_up(span, is_up);
            self.pump();
        }
    }

    /// What a link between routers did since the last call, by the scenario's number.
    pub fn take_link_use(&mut self, link: usize) -> FifoUse {
        self.link_use(self.routed.links[link])
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

    /// In which order a flow's packets arrived, and what it sent needlessly, since the last call; `None` unless the scenario says that
    /// it is measured.
    pub fn take_order_use(&mut self, flow: usize) -> Option<OrderUse> {
        self.traffic.as_mut()?.take_order_use(flow)
    }

    /// What the session of a flow of GTP did since it began; `None` before, and of other flows.
    pub fn session_use(&self, flow: usize) -> Option<SessionUse> {
        self.traffic.as_ref()?.session_use(flow)
    }
}
