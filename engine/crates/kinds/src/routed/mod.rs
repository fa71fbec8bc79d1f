// SPDX-License-Identifier: Apache-2.0
//! Networks of routers: their ports and addresses, for who writes tables, and their links.

mod build;

use std::net::Ipv4Addr;

use slotwise_p4::Port;
use slotwise_scenario::{Device, MacAddress, Scenario};

use crate::build::{Build, Plan};
use crate::kind::{Kind, View, ViewMut};
use slotwise_cards::card::{Action, Card};
use slotwise_cards::fifo::FifoUse;
use slotwise_cards::packet::{Flying, Origin, Packet};
use slotwise_net::around::Beyond;
use slotwise_net::drops::DropCause;
use slotwise_net::effects::Effects;
use slotwise_net::invariants::Invariant;
use slotwise_net::lane::OwnEnd;
use slotwise_net::work::Ask;
use slotwise_random::Chance;

impl Kind for Routed {
    const CHECKS: &'static [Invariant] = &[Invariant::ASTRAY];

    fn is_in(scenario: &Scenario) -> bool {
        scenario.has_routers()
    }

    fn build(plan: &Plan<'_>, build: &mut Build) -> Routed {
        Routed::added_to(build, plan.scenario)
    }

    fn arrives(&mut self, fx: &mut Effects<'_>, end: OwnEnd, flying: Flying) -> Option<Ask> {
        self.lossy_arrives(fx, end.number as usize, flying.packet)
    }

    fn stops(&mut self, fx: &mut Effects<'_>, router: Device) {
        fx.call_links(self, fx.node(router), Card::restarts);
    }

    fn port_of_link(&self, link: usize) -> Option<(Device, Port)> {
        self.links.get(link).copied()
    }
}

impl Beyond for Routed {
    fn acts(&mut self, _: &mut Effects<'_>, _: usize, _: Action) {}
}

/// A link that loses packets at random, at its end: they have taken their time of it.
struct Lossy {
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
    pub next_mac: MacAddress,
    /// Index of the scenario's link, if it leads to a router.
    pub link: Option<usize>,
    /// That router and its port.
    pub peer: Option<(Device, Port)>,
    /// Addresses of the hosts that are reached by it.
    pub hosts: Vec<Ipv4Addr>,
}

/// Where what a scenario of routers names has gone.
pub struct Routed {
    /// Ports by the scenario's link.
    links: Vec<(Device, Port)>,
    /// Links that lose packets at random.
    lossy: Vec<Lossy>,
    /// Ports by router.
    ports: Vec<Vec<RouterPort>>,
}

impl Routed {
    fn lossy_arrives(&mut self, fx: &mut Effects<'_>, number: usize, packet: Packet) -> Option<Ask> {
        let lossy = &mut self.lossy[number];
        let Packet { frame, born } = packet;
        if !lossy.loss.comes() {
            return Some(Ask::new(lossy.port, frame, Origin::Lane { born }));
        }
        let (device, port) = self.links[lossy.link];
        let place = fx.look().place_before(fx.node(device), port);
        fx.drop(place, DropCause::LinkLoss, frame);
        None
    }
}

impl<'a> View<'a, Routed> {
    /// The ports of a router; of anything else none.
    pub fn ports(&self, device: Device) -> &'a [RouterPort] {
        match device {
            Device::Router(router) => &self.kind.ports[usize::from(router)],
            _ => &[],
        }
    }

    /// The router's port by which a link of the scenario begins, by its number there; one of an edge's is none.
    pub fn port_of(&self, link: usize) -> Option<(Device, Port)> {
        let port = self.kind.links.get(link).copied();
        port.filter(|(device, _)| matches!(device, Device::Router(_)))
    }
}

impl ViewMut<'_, Routed> {
    /// What a link between routers did since the last call, by the scenario's number.
    pub fn take_link_use(&mut self, link: usize) -> FifoUse {
        let (device, port) = self.kind.links[link];
        let now = self.fx.now();
        let links = self.fx.links_mut(device);
        links.take_use(now, port).unwrap_or_default()
    }
}
