// SPDX-License-Identifier: Apache-2.0
//! The net moves things: events, packets in lanes and through switches, work of an event. It knows no kind of networks
//! and no host; what stands around it is [`around::Around`].
//!
//! ```text
//! World ── handle ──> Net ── acts, leaves, goes_on, ... ──> Around (kinds)
//!                      ^                                      │
//!                      └────────────── Effects ───────────────┘
//! ```

mod actions;
pub mod around;
pub mod capture;
pub mod capture_filter;
mod clock;
mod control;
pub mod control_event;
pub mod drops;
pub mod effects;
pub mod event;
pub mod fault;
pub mod invariants;
pub mod journal;
pub mod lane;
mod messages;
pub mod node;
pub mod outside;
pub mod parcel;
mod pass;
mod pump;
pub mod span;
mod spans;
pub mod standstill;
mod switches;
pub mod ticket;
pub mod work;

use slotwise_cards::card::Actions;
use slotwise_cards::packet::{Flying, Frame};
use slotwise_p4::{Pipeline, PipelineConfig};
use slotwise_scenario::Device;
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::{DropReason, Optical};

use capture::Capturing;
use control_event::{ControlEvent, ControlMessage};
use drops::{DropCause, P4Drop, Place};
use event::{By, Event, EventQueue, Key, Order};
use invariants::Invariant;
use journal::{Entry, Journal, Note};
use lane::{Lane, LaneEnd};
use messages::Messages;
use node::{NodeKind, Nodes, Outbox};
use parcel::Parcels;
use span::Span;
use standstill::AtOnce;
use ticket::Owner;
use work::{Stack, Work};

/// Everything that moves.
pub struct Net {
    now_ns: u64,
    queue: EventQueue,
    lanes: Vec<Lane>,
    nodes: Nodes,
    spans: Vec<Span>,
    parcels: Parcels,
    /// Effects of the card that was called last, and the memory of frames.
    out: Actions,
    outbox: Outbox,
    /// Empty between events.
    stack: Stack<Work>,
    messages: Messages,
    at_once: AtOnce,
    /// Traces of events, and sums.
    pub journal: Journal,
}

impl Net {
    /// Creates an empty net at time 0. Random choices depend on `seed`.
    pub fn new(seed: u64, captures: Option<Capturing>) -> Net {
        Net {
            now_ns: 0,
            queue: EventQueue::default(),
            lanes: Vec::new(),
            nodes: Nodes::default(),
            spans: Vec::new(),
            parcels: Parcels::default(),
            out: Actions::default(),
            outbox: Outbox::default(),
            stack: Stack::default(),
            messages: Messages::new(seed),
            at_once: AtOnce::default(),
            journal: Journal::new(captures),
        }
    }

    /// Time of the event in progress, or of the last one.
    pub fn now(&self) -> Instant {
        Instant::from_ns(self.now_ns)
    }

    /// Time of the next event, between two events.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.queue.next_at().map(Instant::from_ns)
    }

    /// Schedules an event.
    pub fn schedule(&mut self, by: By, at: Instant, event: Event) {
        self.queue.schedule(by, at.ns(), event);
    }

    /// Key of the event in progress, or of the current time between events.
    pub fn present(&self) -> Key {
        self.queue.present()
    }

    /// All that an event has scheduled is there.
    #[inline]
    pub fn settle(&mut self) {
        self.queue.settle();
    }

    /// Sends a packet of a node into a lane, with its arrival time at the end of the lane.
    #[inline]
    pub fn enter_lane(&mut self, by: By, lane: usize, at: Instant, flying: Flying) {
        self.lanes[lane].enter(&mut self.queue, by, at.ns(), flying);
    }

    /// Changes the arrivals of the last packets in a lane.
    pub fn retime(&mut self, lane: usize, arrivals: &[Instant]) {
        self.lanes[lane].retime(&mut self.queue, arrivals);
    }

    /// The head of a lane, at its end; `None` if its time has changed since.
    #[inline]
    pub fn arrived(&mut self, lane: u32, order: Order) -> Option<(LaneEnd, Flying)> {
        let lane = &mut self.lanes[lane as usize];
        let end = lane.end;
        Some((end, lane.arrive(&mut self.queue, self.now_ns, order)?))
    }

    /// An empty frame of the pool.
    pub fn take_frame(&mut self) -> Frame {
        self.out.frames.take()
    }

    /// A frame of these bytes, of the pool.
    pub fn copy_of(&mut self, bytes: &[u8]) -> Frame {
        self.out.frames.copy_of(bytes)
    }

    /// Takes back the memory of a frame that has been consumed.
    #[inline]
    pub fn give_back(&mut self, frame: Frame) {
        self.out.frames.give_back(frame);
    }

    /// Returns all switches.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Nodes that are being built.
    pub fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    /// Adds the devices of a kind, by number from 0.
    pub fn add_nodes(&mut self, owner: Owner, kind: &'static NodeKind, devices: impl Iterator<Item = Device>) {
        for device in devices {
            self.nodes.add(owner, kind, device);
            let (kind, number) = device.place();
            let name = (kind as u32) << u16::BITS | u32::from(number);
            self.queue.add_node(name);
            self.messages.add_node(name);
        }
    }

    /// Adds a lane; returns its number.
    pub fn add_lane(&mut self, end: LaneEnd) -> usize {
        self.lanes.push(Lane::new(self.lanes.len(), end));
        self.lanes.len() - 1
    }

    /// Adds a span.
    pub fn add_span(&mut self, span: Span) {
        self.spans.push(span);
    }

    /// Sets the longest delay of late control messages.
    pub fn set_most_late(&mut self, most_late: Duration) {
        self.messages.set_most_late(most_late.ns());
    }

    /// Returns all spans, by number.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Adds a trace of the event in progress.
    pub(crate) fn note(&mut self, note: Note) {
        let key = self.queue.present();
        self.journal.entries.push(Entry { key, note });
    }

    /// Records the violation of an invariant.
    pub(crate) fn broken(&mut self, invariant: Invariant, place: Place, packet: Option<Optical>) {
        let at = self.now();
        self.note(Note::Broken {
            invariant,
            at,
            place,
            packet,
        });
    }

    /// For the controller, or the agent that stands between it and the device.
    pub fn tell(&mut self, device: Device, message: ControlMessage) {
        self.note(Note::Control(ControlEvent {
            at: self.now(),
            device_id: device.id(),
            message,
        }));
    }

    /// Loses a packet.
    pub fn drop(&mut self, place: Place, cause: DropCause, frame: Frame) {
        self.count_drop(place, cause, frame.len());
        self.out.frames.give_back(frame);
    }

    pub(crate) fn count_drop(&mut self, place: Place, cause: DropCause, bytes: usize) {
        self.journal.drops.add(place, cause, bytes);
        let is_astray = matches!(
            cause,
            DropCause::NoSuchPort | DropCause::NotForHost | DropCause::Malformed
        );
        if is_astray && place.is_beside_stars() {
            self.broken(Invariant::ASTRAY, place, None);
        }
    }

    /// The device of an id, if the net has it.
    pub fn device(&self, device_id: u64) -> Option<Device> {
        Device::from_id(device_id).filter(|device| self.nodes.get(*device).is_some())
    }

    /// Configuration of the pipelines of a device.
    pub fn pipeline_config(device: Device, seed: u64) -> PipelineConfig {
        node::pipeline_config(device, seed)
    }

    /// The program of a device, to be replaced.
    pub fn pipeline_slot(&mut self, device: Device) -> &mut Option<Pipeline> {
        let node = self.nodes.number(device);
        &mut self.nodes[node].pipeline
    }

    /// Drops counted by the program of a device, by reason, without zeros; `None` without such a counter.
    pub fn p4_drops(&self, device: Device) -> Option<Vec<P4Drop>> {
        if let Some(outside) = &self.nodes.outside {
            return outside.drops.get(&device.id()).cloned();
        }
        let node = self.nodes.get(device)?;
        let (pipeline, counter) = (node.pipeline.as_ref()?, node.device.kind().drop_counter);
        let mut drops = Vec::new();
        for reason in DropReason::ALL {
            let (packets, bytes) = pipeline.counter_read(counter, reason as usize).ok()?;
            if packets > 0 {
                let bytes = Bytes::new(bytes);
                drops.push(P4Drop { reason, packets, bytes });
            }
        }
        Some(drops)
    }

    /// True if a device has a program and takes frames.
    pub(crate) fn runs(&self, device: Device) -> bool {
        match &self.nodes.outside {
            Some(outside) => outside.running,
            None => self.nodes[self.nodes.number(device)].pipeline.is_some(),
        }
    }
}
