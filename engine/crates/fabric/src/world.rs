// SPDX-License-Identifier: Apache-2.0
//! The fabric as its drivers see it.

use std::collections::VecDeque;
use std::sync::Arc;

use slotwise_cards::card::Actions;
use slotwise_p4::{Pipeline, PipelineConfig, Port, Program};
use slotwise_scenario::{Device, LinkChange};
use slotwise_wire::DropReason;

use crate::api::{ControlEvent, FabricError, FabricOptions, HostFrame, LinkReport, P4Drop};
use crate::capture::{CaptureFailure, CapturePoint, Captures};
use crate::drops::Drops;
use crate::faults::Faults;
use crate::hosts::Host;
use crate::invariants::Invariants;
use crate::kinds::ops::Ops;
use crate::kinds::ring::Ring;
use crate::kinds::routed::Routed;
use crate::kinds::star::Star;
use crate::net::event::{CardTimer, Event, EventQueue};
use crate::net::kind::{NodeKind, Part};
use crate::net::lane::{Lane, LaneEnd};
use crate::net::node::{self, Before, Node, NodePort, Outbox};
use crate::net::outside::External;
use crate::net::parcel::{Parcel, Parcels};
use crate::net::pump::{Stack, Work};
use crate::net::span::Span;
use crate::net::standstill::AtOnce;
use crate::traffic::{FlowResult, Traffic};
use slotwise_cards::fifo::Fifo;
use slotwise_cards::links;
use slotwise_cards::packet::Frame;

/// Something that the scenario changes at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    /// A pair of fibres.
    Fibre(LinkChange),
    /// The link behind a port of a switch.
    Link {
        port: (Device, Port),
        rate_bps: Option<u64>,
        delay_ns: Option<u64>,
    },
    /// The link from a host.
    Uplink { host: usize, delay_ns: Option<u64> },
    /// Whether a span carries packets.
    Span { span: usize, is_up: bool },
}

/// The network of one scenario.
pub struct Fabric {
    pub(crate) now_ns: u64,
    pub(crate) seed: u64,
    /// What the scenario changes, by time since its first phase.
    pub(crate) changes: Vec<(u64, Change)>,
    pub(crate) events: EventQueue,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) parcels: Parcels,
    pub(crate) outbox: Outbox,
    /// Effects of the card that was called last, and the memory of frames.
    pub(crate) out: Actions,
    /// Empty between events.
    pub(crate) stack: Stack<Work>,
    /// By kind of devices, in the order in which they were added.
    pub(crate) nodes: Vec<Node>,
    /// Where those of a kind begin.
    first_nodes: [usize; Device::KINDS],
    /// Set when the switches run outside; then there are no pipelines.
    pub(crate) external: Option<External>,
    pub(crate) star: Part<Star>,
    pub(crate) spans: Vec<Span>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) traffic: Option<Traffic>,
    /// Memory of `drain_hosts`.
    pub(crate) host_timers: Vec<(usize, u64)>,
    pub(crate) host_output: VecDeque<HostFrame>,
    pub(crate) control: VecDeque<ControlEvent>,
    pub(crate) routed: Part<Routed>,
    pub(crate) ring: Part<Ring>,
    pub(crate) ops: Part<Ops>,
    pub(crate) p4_passes: u64,
    pub(crate) drops: Drops,
    pub(crate) invariants: Invariants,
    pub(crate) captures: Option<Captures>,
    pub(crate) faults: Faults,
    pub(crate) at_once: AtOnce,
}

impl Fabric {
    /// Nothing at time 0.
    pub(crate) fn bare(options: FabricOptions) -> Fabric {
        Fabric {
            now_ns: 0,
            seed: options.seed,
            changes: Vec::new(),
            events: EventQueue::default(),
            lanes: Vec::new(),
            parcels: Parcels::default(),
            outbox: Outbox::default(),
            out: Actions::default(),
            stack: Stack::default(),
            nodes: Vec::new(),
            first_nodes: [0; Device::KINDS],
            external: None,
            star: Part::default(),
            spans: Vec::new(),
            hosts: Vec::new(),
            traffic: None,
            host_timers: Vec::new(),
            host_output: VecDeque::new(),
            control: VecDeque::new(),
            routed: Part::default(),
            ring: Part::default(),
            ops: Part::default(),
            p4_passes: 0,
            drops: Drops::default(),
            invariants: Invariants::default(),
            captures: options.captures.map(Captures::new),
            faults: Faults::none(options.seed),
            at_once: AtOnce::default(),
        }
    }

    pub(crate) fn add_lane(&mut self, end: LaneEnd) -> usize {
        self.lanes.push(Lane::new(self.lanes.len(), end));
        self.lanes.len() - 1
    }

    /// Adds the devices of a kind, by number from 0.
    pub(crate) fn add_nodes(&mut self, kind: &'static NodeKind, devices: impl Iterator<Item = Device>) {
        for device in devices {
            if let (kind, 0) = device.place() {
                self.first_nodes[kind] = self.nodes.len();
            }
            self.nodes.push(Node::new(device, kind));
        }
    }

    pub(crate) fn add_host(&mut self, host: Host) {
        let node = self.node(host.device);
        self.nodes[node].set_host(host.port, self.hosts.len());
        self.hosts.push(host);
    }

    /// Adds the queue before a link of a switch.
    pub(crate) fn add_link(&mut self, queue: Fifo, device: Device, port: Port) -> NodePort {
        let node = self.node(device);
        if let Some(at) = self.nodes[node].links.add(port, queue) {
            let timer = CardTimer::new(node, links::timer(port));
            self.events.schedule(at.ns(), Event::Timer(timer));
        }
        self.nodes[node].set_before(port, Before::Link);
        NodePort { node, port }
    }

    /// What the hosts do that the fabric plays, if it plays any.
    pub(crate) fn set_traffic(&mut self, traffic: Option<Traffic>) {
        self.traffic = traffic;
        if let Some(traffic) = self.traffic.as_ref().filter(|traffic| !traffic.is_shared()) {
            for (index, at_ns) in traffic.starts() {
                self.events.schedule(at_ns, Event::Source(index as u32));
            }
        }
    }

    /// A phase begins now for the flows that the fabric plays beside external hosts ([`crate::HostMode::Shared`]): their times count from
    /// here. A scenario without phases has one, 0. One that has begun already, or that is not there, is left alone.
    pub fn begin_phase(&mut self, phase: usize) {
        let now_ns = self.now_ns;
        let starts = self.traffic.as_mut().map(|traffic| traffic.begin_phase(phase, now_ns));
        for (index, at_ns) in starts.into_iter().flatten() {
            self.events.schedule(at_ns, Event::Source(index as u32));
        }
    }

    /// Fabric time.
    pub fn now(&self) -> u64 {
        self.now_ns
    }

    /// Time of the next event, as things stand.
    pub fn next_event_at(&self) -> Option<u64> {
        self.events.next_at()
    }

    /// Processes all events up to and at `until_ns`; then it is `until_ns`, but for [`Fabric::standstill`].
    pub fn run_until(&mut self, until_ns: u64) {
        while self.run_next(until_ns) {}
        self.pass_time(until_ns);
    }

    /// Handles the next event if it is not after `until_ns`. False if there is none.
    pub fn run_next(&mut self, until_ns: u64) -> bool {
        let Some((order, event)) = self.next_event(until_ns) else {
            return false;
        };
        self.handle(order, event);
        true
    }

    /// As [`Fabric::run_until`], but stops right after an event that has something for the controller; true then.
    pub fn run_until_control(&mut self, until_ns: u64) -> bool {
        while self.control.is_empty() {
            if !self.run_next(until_ns) {
                self.pass_time(until_ns);
                return false;
            }
        }
        true
    }

    /// Sends a frame from an external host into its access link at `at_ns`, or now if that is past.
    pub fn inject_host(&mut self, at_ns: u64, device: Device, port: u16, frame: &[u8]) -> Result<(), FabricError> {
        let node = self.nodes.get(self.node(device)).filter(|node| node.device == device);
        let Some(host) = node.and_then(|node| node.host(port)) else {
            return Err(FabricError::UnknownPort { device, port });
        };
        let frame = self.out.frames.copy_of(frame);
        self.send_uplink(at_ns.max(self.now_ns), host, frame);
        Ok(())
    }

    /// The next frame that has arrived at an external host, in order of time.
    pub fn poll_host_output(&mut self) -> Option<HostFrame> {
        self.host_output.pop_front()
    }

    /// Takes back the memory of a frame that the caller has consumed.
    pub fn recycle(&mut self, frame: Frame) {
        self.out.frames.give_back(frame);
    }

    /// Gives a device a packet-out at `at_ns`, or now if that is past: a frame with its controller header.
    pub fn packet_out(&mut self, at_ns: u64, device_id: u64, frame: &[u8]) -> Result<(), FabricError> {
        let device = self.device(device_id)?;
        let frame = self.out.frames.copy_of(frame);
        self.dispatch_parcel(at_ns.max(self.now_ns), Parcel::PacketOut { device, frame });
        Ok(())
    }

    /// The next message for the controller, in order of time.
    pub fn poll_control(&mut self) -> Option<ControlEvent> {
        self.control.pop_front()
    }

    /// Starts a program in a device, with fresh tables. What waits in an edge's line cards is dropped, as it
    /// carries the old program's sequence numbers.
    pub fn set_pipeline(&mut self, device_id: u64, program: Arc<Program>) -> Result<(), FabricError> {
        let device = self.device(device_id)?;
        self.install_pipeline(device_id, Pipeline::new(program, self.pipeline_config(device)))
    }

    /// What a pipeline of `device` is to be made with.
    pub fn pipeline_config(&self, device: Device) -> PipelineConfig {
        node::pipeline_config(device, self.seed)
    }

    /// As [`Fabric::set_pipeline`], with a pipeline that has been made already.
    pub fn install_pipeline(&mut self, device_id: u64, pipeline: Pipeline) -> Result<(), FabricError> {
        let device = self.device(device_id)?;
        *self.pipeline_slot(device) = Some(pipeline);
        let starts = self.nodes[self.node(device)].kind.starts;
        starts(self, device);
        self.pump();
        Ok(())
    }

    /// A device's pipeline, for table access between events.
    pub fn pipeline_mut(&mut self, device_id: u64) -> Option<&mut Pipeline> {
        let device = self.device(device_id).ok()?;
        self.pipeline_slot(device).as_mut()
    }

    /// All devices, edges first.
    pub fn devices(&self) -> impl Iterator<Item = Device> + use<> {
        let devices: Vec<Device> = self.nodes.iter().map(|node| node.device).collect();
        devices.into_iter()
    }

    pub(crate) fn device(&self, device_id: u64) -> Result<Device, FabricError> {
        let known = |device: &Device| {
            let node = self.nodes.get(self.node(*device));
            node.is_some_and(|node| node.device == *device)
        };
        Device::from_id(device_id)
            .filter(known)
            .ok_or(FabricError::UnknownDevice(device_id))
    }

    /// Every port of a switch to which a host is linked, in the order of the hosts.
    pub fn access_ports(&self) -> impl Iterator<Item = (Device, Port)> + '_ {
        self.hosts.iter().map(|host| (host.device, host.port))
    }

    /// Place of a device among the nodes.
    pub(crate) fn node(&self, device: Device) -> usize {
        let (kind, number) = device.place();
        self.first_nodes[kind] + usize::from(number)
    }

    pub(crate) fn pipeline_slot(&mut self, device: Device) -> &mut Option<Pipeline> {
        let node = self.node(device);
        &mut self.nodes[node].pipeline
    }

    /// Schedules the scenario's changes of links, counted from `first_phase_ns`.
    pub fn schedule_link_changes(&mut self, first_phase_ns: u64) {
        for (index, (after_ns, _)) in self.changes.iter().enumerate() {
            let at_ns = first_phase_ns + after_ns;
            self.events
                .schedule(at_ns.max(self.now_ns), Event::Change(index as u32));
        }
    }

    /// Violated invariants.
    pub fn invariants(&self) -> &Invariants {
        &self.invariants
    }

    /// What the fabric itself lost.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// What became of each simulated flow; empty with external hosts.
    pub fn flow_results(&self) -> Vec<FlowResult> {
        self.traffic.as_ref().map_or_else(Vec::new, Traffic::results)
    }

    /// What a device's P4 program dropped, by reason, without zeros; `None` if it has no `drops` counter.
    pub fn p4_drops(&self, device: Device) -> Option<Vec<P4Drop>> {
        if let Some(external) = &self.external {
            return external.drops.get(&device.id()).cloned();
        }
        let node = self.nodes.get(self.node(device))?;
        let (pipeline, counter) = (node.pipeline.as_ref()?, node.device.kind().drop_counter);
        let mut drops = Vec::new();
        for reason in DropReason::ALL {
            let (packets, bytes) = pipeline.counter_read(counter, reason as usize).ok()?;
            if packets > 0 {
                drops.push(P4Drop { reason, packets, bytes });
            }
        }
        Some(drops)
    }

    /// Every place where frames may be captured: fibres, then ports by device.
    pub fn capture_points(&self) -> Vec<CapturePoint> {
        let links = self.links().into_iter();
        let fibres = links.map(|LinkReport { from, to, .. }| CapturePoint::Fibre { from, to });
        let ports = self.nodes.iter().flat_map(|node| {
            let ports = node.link_ports().chain(node.kind.inner_ports.iter().copied());
            ports.map(|port| node.capture_point(port))
        });
        fibres.chain(ports).collect()
    }

    /// Ends the captures; gives those that could not be written to the end.
    pub fn finish_captures(&mut self) -> Vec<CaptureFailure> {
        self.captures.take().map_or_else(Vec::new, Captures::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_may_move_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Fabric>();
    }
}
