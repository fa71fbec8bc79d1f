// SPDX-License-Identifier: Apache-2.0
//! A P4 switch in the network: its program, the cards before its ports, and what came out of it.

use std::any::Any;
use std::ops::{Index, IndexMut};

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
use slotwise_wire::{DropReason, PORT_CPU, PORT_DROP, PORT_LINECARD, PORT_OPTICAL_BASE};

use crate::capture::CapturePoint;
use crate::drops::Place;
use crate::invariants::Invariant;
use crate::outside::Outside;
use crate::ticket::Owner;
use slotwise_cards::packet::{Frame, FramePool, Origin, Packet};
use slotwise_random as random;

/// A card by its concrete type. Cards outside the list below have these defaults.
pub trait OwnCard: Card + Any + Send {
    /// The card, if it is of this type.
    fn of(card: &NodeCard) -> Option<&Self>
    where
        Self: Sized,
    {
        match card {
            NodeCard::Other(card) => (card.as_ref() as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// The card, to be changed, if it is of this type.
    fn of_mut(card: &mut NodeCard) -> Option<&mut Self>
    where
        Self: Sized,
    {
        match card {
            NodeCard::Other(card) => (card.as_mut() as &mut dyn Any).downcast_mut(),
            _ => None,
        }
    }

    /// Returns the card as the card of a switch.
    fn boxed(self) -> NodeCard
    where
        Self: Sized,
    {
        NodeCard::Other(Box::new(self))
    }

    /// Notes that the switch is external from now on.
    fn set_outside(&mut self) {}
}

/// Cards of switches that are called without dynamic dispatch: each a word and its type.
macro_rules! cards {
    ($($name:ident: $card:ty,)+) => {
        /// Card between a switch and its links, as one value.
        pub enum NodeCard {
            /// Nothing that the switch owns.
            None,
            $(
                #[doc = concat!("Card of type `", stringify!($card), "`.")]
                $name(Box<$card>),
            )+
            /// Card of any other type.
            Other(Box<dyn OwnCard>),
        }

        $(impl OwnCard for $card {
            #[inline]
            fn of(card: &NodeCard) -> Option<&$card> {
                match card {
                    NodeCard::$name(card) => Some(card),
                    _ => None,
                }
            }

            #[inline]
            fn of_mut(card: &mut NodeCard) -> Option<&mut $card> {
                match card {
                    NodeCard::$name(card) => Some(card),
                    _ => None,
                }
            }

            fn boxed(self) -> NodeCard {
                NodeCard::$name(Box::new(self))
            }
        })+

        /// A method of the card that a switch owns; `$none` if it owns none.
        macro_rules! of_card {
            ($own:expr, $none:expr, $method:ident $arguments:tt) => {
                match $own {
                    NodeCard::None => $none,
                    $(NodeCard::$name(card) => card.$method $arguments,)+
                    NodeCard::Other(card) => card.$method $arguments,
                }
            };
        }
    };
}

cards! {
    SlottedEdge: slotted::Edge,
    SlottedCore: slotted::Core,
    Station: StationCard,
    Switch: SwitchCard,
    Edge: EdgeCard,
}

impl NodeCard {
    /// Notes that the switch is external from now on.
    pub(crate) fn set_outside(&mut self) {
        match self {
            NodeCard::Switch(card) => card.set_outside(),
            NodeCard::Edge(card) => card.set_outside(),
            NodeCard::Other(card) => card.set_outside(),
            NodeCard::None | NodeCard::SlottedEdge(_) | NodeCard::SlottedCore(_) | NodeCard::Station(_) => {}
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
pub enum Before {
    /// A queue before a link that is free when it is idle.
    Link,
    /// The card that the switch owns.
    Card,
}

/// A port of a switch, by the number of its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodePort {
    /// Number of the node.
    pub node: usize,
    /// The port.
    pub port: Port,
}

/// Common properties of nodes.
pub struct NodeKind {
    /// Ports inside of the switch, as places of captures.
    pub inner_ports: &'static [Port],
    /// Whether P4 tells its cards what to do: it sends to [`PORT_LINECARD`].
    pub has_cards: bool,
    /// Rule that light breaks which P4 sends to a port that leads nowhere.
    pub lost_light: Option<Invariant>,
    /// Drops that are counted apart, of what does not come in light.
    pub counted_beside_light: Option<fn(DropReason) -> bool>,
}

impl NodeKind {
    /// A node of which nothing is to be known.
    pub const PLAIN: NodeKind = NodeKind {
        inner_ports: &[PORT_LINECARD, PORT_CPU],
        has_cards: true,
        lost_light: None,
        counted_beside_light: None,
    };
}

/// A switch.
pub struct Node {
    /// Its name.
    pub device: Device,
    /// The kind of networks that it is of.
    pub(crate) owner: Owner,
    pub(super) kind: &'static NodeKind,
    /// `None` while it has no program, and if it runs outside.
    pub(crate) pipeline: Option<Pipeline>,
    /// Before links that are free when they are idle.
    pub links: Links,
    /// The card that it owns.
    pub own_card: NodeCard,
    /// Drops that its programs have counted of what did not come in light, if they are counted apart.
    pub(super) beside_light: u64,
    /// By the number of the port.
    ports: Vec<Option<Before>>,
    /// Hosts by the number of their port.
    hosts: Vec<(Port, usize)>,
    /// Names of places before ports; other ports have names by number.
    places: Vec<(Port, Place)>,
}

impl Node {
    /// One without program and ports.
    pub(crate) fn new(device: Device, owner: Owner, kind: &'static NodeKind) -> Node {
        Node {
            device,
            owner,
            kind,
            pipeline: None,
            links: Links::default(),
            own_card: NodeCard::None,
            beside_light: 0,
            ports: Vec::new(),
            hosts: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Ports as places of captures: those of links, in order, then those inside. Fibres are none.
    pub fn capture_points(&self) -> impl Iterator<Item = CapturePoint> {
        let links = (0..self.ports.len() as Port).filter(|port| self.is_link(*port));
        let ports = links.chain(self.kind.inner_ports.iter().copied());
        ports.map(|port| self.capture_point(port))
    }

    /// True if packets cross a link behind a port as they are. Fibres of stars, and links from their cores, have captures of their own.
    fn is_link(&self, port: Port) -> bool {
        match self.before(port) {
            Some(Before::Link) => true,
            Some(Before::Card) => !self.device.kind().is_slotted,
            None => false,
        }
    }

    /// A host is at a port; they come in order of ports.
    pub fn set_host(&mut self, port: Port, host: usize) {
        self.hosts.push((port, host));
    }

    /// The host at a port.
    pub fn host(&self, port: Port) -> Option<usize> {
        let place = self.hosts.binary_search_by_key(&port, |(port, _)| *port).ok()?;
        Some(self.hosts[place].1)
    }

    /// Port of a host that is here.
    pub(crate) fn port_of_host(&self, host: usize) -> Option<Port> {
        let at = self.hosts.iter().find(|(_, number)| *number == host);
        at.map(|(port, _)| *port)
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

    /// Names the place before a port.
    pub fn set_place(&mut self, port: Port, place: Place) {
        match self.places.binary_search_by_key(&port, |(port, _)| *port) {
            Ok(_) => {}
            Err(at) => self.places.insert(at, (port, place)),
        }
    }

    /// Place before a port, or in the switch itself for the port of line cards.
    pub(crate) fn place_before(&self, port: Port) -> Place {
        let device = self.device;
        if port == PORT_LINECARD {
            return Place::Device(device);
        }
        match self.places.binary_search_by_key(&port, |(port, _)| *port) {
            Ok(at) => self.places[at].1,
            Err(_) => Place::Port { device, port },
        }
    }

    /// The card before a port.
    #[inline]
    pub fn before(&self, port: Port) -> Option<Before> {
        self.ports.get(usize::from(port)).copied().flatten()
    }

    /// Sets the card before a port.
    pub fn set_before(&mut self, port: Port, before: Before) {
        let index = usize::from(port);
        if index >= self.ports.len() {
            self.ports.resize(index + 1, None);
        }
        self.ports[index] = Some(before);
    }
}

/// True if light passes a port; it is captured in the fibre then.
pub(super) fn is_fibre(device: Device, port: Port) -> bool {
    device.kind().is_slotted && (PORT_OPTICAL_BASE..PORT_LINECARD).contains(&port)
}

/// Switches, grouped by kind of devices.
#[derive(Default)]
pub struct Nodes {
    list: Vec<Node>,
    /// Where those of a kind begin.
    first: [usize; Device::KINDS],
    /// Set when the switches run outside; then there are no pipelines.
    pub(super) outside: Option<Outside>,
}

impl Nodes {
    /// Adds a device; those of a kind come by number from 0.
    pub(super) fn add(&mut self, owner: Owner, kind: &'static NodeKind, device: Device) {
        if let (kind, 0) = device.place() {
            self.first[kind] = self.list.len();
        }
        self.list.push(Node::new(device, owner, kind));
    }

    /// Place of a device among the nodes.
    #[inline]
    pub fn number(&self, device: Device) -> usize {
        let (kind, number) = device.place();
        self.first[kind] + usize::from(number)
    }

    /// The node of a device, to be changed, if there is one.
    #[inline]
    pub(super) fn get_mut(&mut self, device: Device) -> Option<&mut Node> {
        let number = self.number(device);
        let node = self.list.get_mut(number);
        node.filter(|node| node.device == device)
    }

    /// The node of a device, if there is one.
    pub fn get(&self, device: Device) -> Option<&Node> {
        let node = self.list.get(self.number(device));
        node.filter(|node| node.device == device)
    }

    /// Returns all nodes, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.list.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.list.iter_mut()
    }

    /// Program at a node: none, or one that answers now or later.
    pub(crate) fn program_at(&self, node: usize) -> Program {
        match &self.outside {
            None if self.list[node].pipeline.is_some() => Program::Inside,
            Some(outside) if outside.running => Program::Outside,
            _ => Program::None,
        }
    }
}

impl Index<usize> for Nodes {
    type Output = Node;

    #[inline]
    fn index(&self, node: usize) -> &Node {
        &self.list[node]
    }
}

impl IndexMut<usize> for Nodes {
    #[inline]
    fn index_mut(&mut self, node: usize) -> &mut Node {
        &mut self.list[node]
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
