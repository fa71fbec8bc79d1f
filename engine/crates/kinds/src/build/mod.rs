// SPDX-License-Identifier: Apache-2.0
//! Construction of a network from a scenario, by its kinds.

pub(crate) mod groups;

use slotwise_cards::aggregation::{BurstTimer, Intervals};
use slotwise_cards::card::{Expiry, TimerId};
use slotwise_cards::fifo::Fifo;
use slotwise_cards::links;
use slotwise_p4::Port;
use slotwise_scenario::{self as scenario, Device, LinkChange, Scenario};
use slotwise_units::{Duration, Instant, Rate};

use crate::api::WorldOptions;
use crate::hosts::{Host, Hosts};
use slotwise_net::Net;
use slotwise_net::drops::Place;
use slotwise_net::effects::Effects;
use slotwise_net::event::{By, CardTimer, Event};
use slotwise_net::lane::{LaneEnd, OwnEnd};
use slotwise_net::node::{Before, NodeKind, NodePort, OwnCard};
use slotwise_net::span::Span;
use slotwise_net::ticket::Owner;

pub(crate) const NS_PER_MS: u64 = 1_000_000;

/// Something that the scenario changes at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    /// A pair of fibres.
    Fibre(LinkChange),
    /// The link behind a port of a switch.
    Link {
        port: (Device, Port),
        rate: Option<Rate>,
        delay: Option<Duration>,
    },
    /// The link from a host.
    Uplink { host: usize, delay: Option<Duration> },
    /// True if a span carries packets.
    Span { span: usize, is_up: bool },
}

/// Parts that a network is built from.
pub(crate) struct Plan<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) frame_records: bool,
}

/// A network that is being built.
pub(crate) struct Build {
    net: Net,
    hosts: Hosts,
    changes: Vec<(u64, Change)>,
    seed: u64,
    owner: Owner,
}

impl Build {
    /// Nothing at time 0.
    pub(crate) fn new(options: WorldOptions) -> Build {
        Build {
            seed: options.seed,
            net: Net::new(options.seed, options.captures),
            hosts: Hosts::default(),
            changes: Vec::new(),
            owner: 0,
        }
    }

    /// Begins a kind of networks: it owns all that is added next.
    pub(crate) fn begin(&mut self, owner: Owner) {
        self.owner = owner;
    }

    /// The network with its hosts and its changes.
    pub(crate) fn end(self) -> (Net, Hosts, Vec<(u64, Change)>) {
        (self.net, self.hosts, self.changes)
    }

    /// The kind that builds.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Seed of every random choice.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Adds the devices of a kind, by number from 0.
    pub(crate) fn add_nodes(&mut self, kind: &'static NodeKind, devices: impl Iterator<Item = Device>) {
        self.net.add_nodes(self.owner, kind, devices);
    }

    /// All devices that have been added.
    pub(crate) fn devices(&self) -> impl Iterator<Item = Device> {
        self.net.nodes().iter().map(|node| node.device)
    }

    pub(crate) fn node(&self, device: Device) -> usize {
        self.net.nodes().number(device)
    }

    /// Gives a device its card.
    pub(crate) fn set_card(&mut self, device: Device, card: impl OwnCard) {
        let node = self.node(device);
        self.net.nodes_mut()[node].own_card = card.boxed();
    }

    /// The card of a device, which must be of this type.
    pub(crate) fn card<C: OwnCard>(&mut self, device: Device) -> &mut C {
        let node = self.node(device);
        let card = C::of_mut(&mut self.net.nodes_mut()[node].own_card);
        card.expect("devices are added with their cards")
    }

    /// The card of a device stands before a port from now on.
    pub(crate) fn set_card_before(&mut self, device: Device, port: Port) -> NodePort {
        let node = self.node(device);
        self.net.nodes_mut()[node].set_before(port, Before::Card);
        NodePort { node, port }
    }

    /// Names the place before a port, if it has no name yet.
    pub(crate) fn set_place(&mut self, device: Device, port: Port, place: Place) {
        let node = self.node(device);
        self.net.nodes_mut()[node].set_place(port, place);
    }

    /// Sets a timer of the card of a device.
    pub(crate) fn set_timer(&mut self, device: Device, timer: TimerId, at_ns: u64, expiry: Expiry) {
        let node = self.node(device);
        let expiry = Event::expiry(CardTimer::new(node, timer), expiry);
        self.net.schedule(By::node(node), Instant::from_ns(at_ns), expiry);
    }

    /// The net as it is now, for first calls of cards.
    pub(crate) fn effects(&mut self) -> Effects<'_> {
        Effects::on(&mut self.net)
    }

    pub(crate) fn add_lane(&mut self, end: LaneEnd) -> usize {
        self.net.add_lane(end)
    }

    /// Adds a lane whose end is of a sort of the kind that builds, with its number among those.
    pub(crate) fn add_own_lane(&mut self, sort: u8, number: usize) -> usize {
        let (owner, number) = (self.owner, number as u32);
        self.add_lane(LaneEnd::Own(OwnEnd { owner, sort, number }))
    }

    /// Adds the queue before a link of a switch.
    pub(crate) fn add_link(&mut self, queue: Fifo, device: Device, port: Port) -> NodePort {
        let node = self.node(device);
        if let Some(at) = self.net.nodes_mut()[node].links.add(port, queue) {
            self.set_timer(device, links::timer(port), at.ns(), Expiry::First);
        }
        self.net.nodes_mut()[node].set_before(port, Before::Link);
        NodePort { node, port }
    }

    pub(crate) fn add_host(&mut self, host: Host) {
        let node = self.node(host.device);
        let node = &mut self.net.nodes_mut()[node];
        node.set_host(host.port, self.hosts.list.len());
        if let Some(id) = host.id {
            node.set_place(host.port, Place::Downlink(id));
        }
        self.hosts.list.push(host);
    }

    pub(crate) fn hosts(&self) -> &[Host] {
        &self.hosts.list
    }

    pub(crate) fn add_span(&mut self, span: Span) {
        self.net.add_span(span);
    }

    /// Both ways between two ports go dark together.
    pub(crate) fn add_to_span(&mut self, before: NodePort, near: (Device, Port), far: (Device, Port)) {
        self.net.add_to_span(before, near, far);
    }

    /// Something changes at a time since the first phase.
    pub(crate) fn add_change(&mut self, after_ns: u64, change: Change) {
        self.changes.push((after_ns, change));
    }

    /// Sets the longest delay of late control messages.
    pub(crate) fn set_most_late(&mut self, most_late: Duration) {
        self.net.set_most_late(most_late);
    }
}

/// Intervals of an edge's bursts.
pub(crate) fn intervals(aggregation: &scenario::Aggregation, seed: u64, edge: u16) -> Intervals {
    let timer = match aggregation.timer {
        scenario::TrainTimer::Periodic => BurstTimer::Periodic,
        scenario::TrainTimer::FirstPacket => BurstTimer::FirstPacket,
    };
    Intervals {
        interval: aggregation.interval,
        timer,
        dither: aggregation.dither,
        seed,
        edge,
    }
}
