// SPDX-License-Identifier: Apache-2.0
//! A P4 switch in the network: its program, the cards before its ports, and what came out of it.

use slotwise_cards::card::{Actions, Card, Expiry, Pass, Program, Then, TimerId};
use slotwise_cards::edge_card::EdgeCard;
use slotwise_cards::links::Links;
use slotwise_cards::message::ToCard;
use slotwise_cards::slotted;
use slotwise_cards::station::StationCard;
use slotwise_cards::switch_card::SwitchCard;
use slotwise_p4::{Bits, Executor, Output, Pipeline, PipelineConfig, Port, TimestampUnit};
use slotwise_scenario::Device;
use slotwise_units::Instant;
use slotwise_wire::{PORT_CPU, PORT_DROP};

use crate::capture::CapturePoint;
use crate::net::kind::NodeKind;
use slotwise_cards::packet::{Frame, FramePool, Origin, Packet};
use slotwise_cards::random;

/// Card between a switch and its links, as one value.
pub(crate) enum NodeCard {
    /// Nothing that the switch owns.
    None,
    /// Card of an edge of a star.
    SlottedEdge(Box<slotted::Edge>),
    /// Card of a core of a star.
    SlottedCore(Box<slotted::Core>),
    /// Card of a station of a ring.
    Station(Box<StationCard>),
    /// Card of an optical packet switch.
    Switch(Box<SwitchCard>),
    /// Card of an edge of optical packet switches.
    Edge(Box<EdgeCard>),
    /// Card of a test.
    #[cfg(test)]
    Toy(Box<dyn Card + Send>),
}

/// A method of the card that a switch owns; `$none` if it owns none.
macro_rules! of_card {
    ($own:expr, $none:expr, $method:ident($($argument:expr),+)) => {
        match $own {
            NodeCard::None => $none,
            NodeCard::SlottedEdge(card) => card.$method($($argument),+),
            NodeCard::SlottedCore(card) => card.$method($($argument),+),
            NodeCard::Station(card) => card.$method($($argument),+),
            NodeCard::Switch(card) => card.$method($($argument),+),
            NodeCard::Edge(card) => card.$method($($argument),+),
            #[cfg(test)]
            NodeCard::Toy(card) => card.$method($($argument),+),
        }
    };
}

impl NodeCard {
    /// The switch is outside from now on.
    pub(crate) fn set_outside(&mut self) {
        match self {
            NodeCard::Switch(card) => card.set_outside(),
            NodeCard::Edge(card) => card.set_outside(),
            _ => {}
        }
    }
}

impl Card for NodeCard {
    fn sends(&mut self, now: Instant, port: Port, packet: Packet, from: Origin, out: &mut Actions) {
        of_card!(self, {}, sends(now, port, packet, from, out));
    }

    fn told(&mut self, now: Instant, message: &ToCard, out: &mut Actions) -> bool {
        of_card!(self, false, told(now, message, out))
    }

    fn goes_on(&mut self, now: Instant, then: Then, pass: Pass, out: &mut Actions) {
        of_card!(self, {}, goes_on(now, then, pass, out));
    }

    fn due(&mut self, now: Instant, timer: TimerId, expiry: Expiry, program: Program, out: &mut Actions) {
        of_card!(self, {}, due(now, timer, expiry, program, out));
    }

    fn set_dark(&mut self, now: Instant, port: Port, is_dark: bool, out: &mut Actions) {
        of_card!(self, {}, set_dark(now, port, is_dark, out));
    }

    fn restarts(&mut self, now: Instant, out: &mut Actions) {
        of_card!(self, {}, restarts(now, out));
    }
}

/// Card before a port of a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// A queue before a link that is free when it is idle.
    Link,
    /// The card that the switch owns.
    Card,
}

/// A port of a switch, by the number of its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodePort {
    pub(crate) node: usize,
    pub(crate) port: Port,
}

/// A switch.
pub(crate) struct Node {
    pub(crate) device: Device,
    pub(crate) kind: &'static NodeKind,
    /// `None` while it has no program, and if it runs outside.
    pub(crate) pipeline: Option<Pipeline>,
    /// Before links that are free when they are idle.
    pub(crate) links: Links,
    pub(crate) own_card: NodeCard,
    /// By the number of the port.
    ports: Vec<Option<Before>>,
    /// Hosts by the number of their port.
    hosts: Vec<(Port, usize)>,
}

impl Node {
    /// One without program and ports.
    pub(crate) fn new(device: Device, kind: &'static NodeKind) -> Node {
        Node {
            device,
            kind,
            pipeline: None,
            links: Links::default(),
            own_card: NodeCard::None,
            ports: Vec::new(),
            hosts: Vec::new(),
        }
    }

    /// Ports of links, in order: fibres are none.
    pub(crate) fn link_ports(&self) -> impl Iterator<Item = Port> {
        (0..self.ports.len() as Port).filter(|port| self.is_link(*port))
    }

    /// True if packets cross a link behind a port as they are. Fibres of stars, and links from their cores, have captures of their own.
    fn is_link(&self, port: Port) -> bool {
        match self.before(port) {
            Some(Before::Link) => true,
            Some(Before::Card) => !matches!(self.own_card, NodeCard::SlottedEdge(_) | NodeCard::SlottedCore(_)),
            None => false,
        }
    }

    /// A host is at a port; they come in order of ports.
    pub(crate) fn set_host(&mut self, port: Port, host: usize) {
        self.hosts.push((port, host));
    }

    /// The host at a port.
    pub(crate) fn host(&self, port: Port) -> Option<usize> {
        let place = self.hosts.binary_search_by_key(&port, |(port, _)| *port).ok()?;
        Some(self.hosts[place].1)
    }

    /// A port that is no fibre as a place of captures.
    pub(crate) fn capture_point(&self, port: Port) -> CapturePoint {
        let device = self.device;
        if self.is_link(port) && self.host(port).is_none() {
            CapturePoint::Link { device, port }
        } else {
            CapturePoint::Port { device, port }
        }
    }

    /// The card before a port.
    #[inline]
    pub(crate) fn before(&self, port: Port) -> Option<Before> {
        self.ports.get(usize::from(port)).copied().flatten()
    }

    pub(crate) fn set_before(&mut self, port: Port, before: Before) {
        let index = usize::from(port);
        if index >= self.ports.len() {
            self.ports.resize(index + 1, None);
        }
        self.ports[index] = Some(before);
    }
}

/// What one pass of a pipeline put out. Its memory is used again.
#[derive(Default)]
pub(crate) struct Outbox {
    /// In the order in which they left, by port. Frames are of the pool.
    pub(crate) packets: Vec<(Port, Frame)>,
    pub(crate) digests: Vec<(String, Vec<Bits>)>,
    pool: FramePool,
}

impl Outbox {
    /// Runs one packet through a pipeline. Its frame may go on: then another one's memory is in its place.
    pub(crate) fn run(
        &mut self,
        pool: &mut FramePool,
        pipeline: &mut Pipeline,
        (now_ns, port): (u64, Port),
        frame: &mut Frame,
    ) {
        // What is put out is written into the pool's frames, and nothing is copied after that.
        std::mem::swap(&mut self.pool, pool);
        pipeline.process_given(Instant::from_ns(now_ns), port, frame, self);
        std::mem::swap(&mut self.pool, pool);
    }
}

impl Output for Outbox {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        let frame = self.pool.copy_of(frame);
        self.packets.push((port, frame));
    }

    fn give_packet(&mut self, port: Port, frame: &mut Vec<u8>) {
        let other = self.pool.take();
        self.packets.push((port, std::mem::replace(frame, other)));
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        self.digests.push((name.to_owned(), fields.to_vec()));
    }
}

/// What a device's pipelines are made with; their unit of time is the nanosecond.
pub(crate) fn pipeline_config(device: Device, seed: u64) -> PipelineConfig {
    PipelineConfig {
        cpu_port: PORT_CPU,
        drop_port: PORT_DROP,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: random::derived_seed(seed, random::Stream::Pipeline, device.id()),
        executor: Executor::default(),
    }
}
