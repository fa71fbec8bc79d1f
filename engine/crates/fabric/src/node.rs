// SPDX-License-Identifier: Apache-2.0
//! A P4 switch in the network: its program, what its ports lead to, and what came out of it.

use slotwise_p4::{Bits, Executor, Output, Pipeline, PipelineConfig, Port, TimestampUnit};
use slotwise_scenario::Device;
use slotwise_wire::{PORT_CPU, PORT_DROP};

use crate::capture::CapturePoint;
use crate::packet::{Frame, FramePool};
use crate::random;

/// What a port of a switch leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PortTo {
    /// Nothing.
    #[default]
    Nowhere,
    /// A card with a queue in order, by its number.
    Fifo(usize),
    /// A card with queues and gates, by its number.
    Card(usize),
    /// Fibres of a core, by its port's number.
    Fibres(usize),
    /// A card of a ring, by its number.
    Ring(usize),
}

/// A switch.
pub(crate) struct Node {
    pub(crate) device: Device,
    /// `None` while it has no program, and if it runs outside.
    pub(crate) pipeline: Option<Pipeline>,
    /// By number.
    ports: Vec<PortTo>,
    /// Hosts by the number of their port.
    hosts: Vec<(Port, usize)>,
}

impl Node {
    /// One without program and ports.
    pub(crate) fn new(device: Device) -> Node {
        Node {
            device,
            pipeline: None,
            ports: Vec::new(),
            hosts: Vec::new(),
        }
    }

    /// Ports of links, in order: fibres are none.
    pub(crate) fn link_ports(&self) -> impl Iterator<Item = Port> {
        let ports = self.ports.iter().zip(0..);
        ports.filter_map(|(to, port)| matches!(to, PortTo::Fifo(_) | PortTo::Ring(_)).then_some(port))
    }

    /// These cards.
    pub(crate) fn fifos(&self) -> impl Iterator<Item = usize> {
        self.ports.iter().filter_map(|to| match to {
            PortTo::Fifo(card) => Some(*card),
            _ => None,
        })
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
        if matches!(self.port(port), PortTo::Fifo(_) | PortTo::Ring(_)) && self.host(port).is_none() {
            CapturePoint::Link { device, port }
        } else {
            CapturePoint::Port { device, port }
        }
    }

    pub(crate) fn port(&self, port: Port) -> PortTo {
        self.ports.get(usize::from(port)).copied().unwrap_or_default()
    }

    pub(crate) fn set_port(&mut self, port: Port, to: PortTo) {
        let index = usize::from(port);
        if index >= self.ports.len() {
            self.ports.resize(index + 1, PortTo::Nowhere);
        }
        self.ports[index] = to;
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
    /// Runs one packet through a pipeline.
    pub(crate) fn run(
        &mut self,
        pool: &mut FramePool,
        pipeline: &mut Pipeline,
        now_ns: u64,
        (port, frame): (Port, &[u8]),
    ) {
        // What is put out is written into the pool's frames, and nothing is copied after that.
        std::mem::swap(&mut self.pool, pool);
        pipeline.process(now_ns, port, frame, self);
        std::mem::swap(&mut self.pool, pool);
    }
}

impl Output for Outbox {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        let frame = self.pool.copy_of(frame);
        self.packets.push((port, frame));
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
