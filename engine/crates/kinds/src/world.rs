// SPDX-License-Identifier: Apache-2.0
//! A network with all that acts on it: hosts, kinds of networks, changes of the scenario, faults.

use std::collections::VecDeque;
use std::sync::Arc;

use slotwise_p4::{Pipeline, PipelineConfig, Port, Program};
use slotwise_scenario::{Device, LinkChange, Scenario};

use crate::api::{HostFrame, WorldError, WorldOptions};
use crate::build::groups::changes_of_groups;
use crate::build::{Build, Change, Plan};
use crate::faults::flows::FlowWatch;
use crate::faults::plan;
use crate::hosts::Hosts;
use crate::kind::{View, ViewMut};
use crate::list::{Kinds, Listed};
use slotwise_cards::card::Expiry;
use slotwise_cards::packet::Frame;
use slotwise_net::Net;
use slotwise_net::capture::{CaptureFailure, CapturePoint, Captures};
use slotwise_net::control_event::ControlEvent;
use slotwise_net::drops::Drops;
use slotwise_net::drops::P4Drop;
use slotwise_net::effects::{Effects, Look};
use slotwise_net::event::{By, Event, Order};
use slotwise_net::invariants::{Invariant, Invariants};
use slotwise_net::journal::{Entry, Note};
use slotwise_net::lane::LaneEnd;
use slotwise_net::outside::SwitchInput;
use slotwise_net::parcel::Parcel;
use slotwise_net::standstill::Standstill;
use slotwise_traffic::HostMode;
use slotwise_traffic::{FlowProgress, FlowResult, Traffic, WorkloadUse};
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_workload::CoflowId;

/// Reason for which a network has stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// Requested time reached.
    Whole,
    /// Event with a message for the controller.
    UntilControl,
    /// Maximum number of events reached.
    Part,
}

/// The network of one scenario, and what acts on it.
pub struct World {
    pub(crate) net: Net,
    pub(crate) kinds: Kinds,
    pub(crate) hosts: Hosts,
    /// What the scenario changes, by time since its first phase.
    changes: Vec<(u64, Change)>,
    /// Ended faults from which the network has not recovered yet, judged by flows.
    pub(crate) flow_watches: Vec<FlowWatch>,
    /// For the controller and the agents of the devices.
    control: VecDeque<ControlEvent>,
    invariants: Invariants,
    /// Reused buffer of `drain`.
    entries: Vec<Entry>,
    seed: u64,
}

impl World {
    /// The network of a scenario at time 0, with no program in any device. Simulated hosts and changes of links start at
    /// [`Scenario::epoch`]; with external hosts the changes wait for [`World::schedule_link_changes`].
    pub fn new(scenario: &Scenario, options: WorldOptions) -> World {
        let (seed, host_mode) = (options.seed, options.host_mode);
        let plan = Plan {
            scenario,
            frame_records: options.frame_records,
        };
        let mut build = Build::new(options);
        let kinds = Kinds::build(&plan, &mut build);
        let mut world = World::of(build, kinds);
        let of_trains = scenario.aggregation.iter().map(|_| Invariant::SPLIT);
        let checks = Kinds::checks(scenario).into_iter().chain(of_trains);
        world.invariants = Invariants::of(checks);
        let (net, kinds) = (&world.net, &world.kinds);
        let changes = changes_of_groups(scenario, net, &world.hosts.list, |link| kinds.port_of_link(link));
        world.changes.extend(changes);
        world.net.journal.faults = plan::draw(scenario, world.net.spans(), seed);
        let traffic = Traffic::new(scenario, seed, host_mode);
        world.hosts.set_traffic(&mut world.net, traffic);
        if host_mode == HostMode::Simulated {
            world.schedule_link_changes(scenario.epoch());
            world.schedule_faults();
        }
        world
    }

    /// Adds something that changes at a time since the first phase.
    #[cfg(test)]
    pub(crate) fn add_change(&mut self, after_ns: u64, change: Change) {
        self.changes.push((after_ns, change));
    }

    /// Sets the invariants that are checked.
    #[cfg(test)]
    pub(crate) fn set_checks(&mut self, invariants: Invariants) {
        self.invariants = invariants;
    }

    /// The device of an id.
    fn device(&self, device_id: u64) -> Result<Device, WorldError> {
        self.net.device(device_id).ok_or(WorldError::UnknownDevice(device_id))
    }

    /// Returns the network that has been built.
    pub(crate) fn of(build: Build, kinds: Kinds) -> World {
        let seed = build.seed();
        let (net, hosts, changes) = build.end();
        World {
            net,
            kinds,
            hosts,
            changes,
            flow_watches: Vec::new(),
            control: VecDeque::new(),
            invariants: Invariants::default(),
            entries: Vec::new(),
            seed,
        }
    }

    /// A phase begins now for the flows that are played beside external hosts ([`HostMode::Shared`]): their times count from
    /// here. A scenario without phases has one, 0. One that has begun already, or that is not there, is left alone.
    pub fn begin_phase(&mut self, phase: usize) {
        self.hosts.begin_phase(&mut self.net, phase);
    }

    /// Simulated time.
    pub fn now(&self) -> Instant {
        self.net.now()
    }

    /// Time of the next event, as things stand.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.net.next_event_at()
    }

    /// Processes all events up to and at `until`, and advances the time to it unless [`World::standstill`] is reached.
    pub fn run_until(&mut self, until: Instant) {
        while self.run_next(until) {}
        self.net.pass_time(until);
    }

    /// Handles the next event if it is not after `until`. Returns false without one.
    pub fn run_next(&mut self, until: Instant) -> bool {
        let Some((order, event)) = self.net.next_event(until) else {
            return false;
        };
        self.handle(order, event);
        true
    }

    /// As [`World::run_until`], but stops right after an event that has something for the controller; true then.
    pub fn run_until_control(&mut self, until: Instant) -> bool {
        self.run_events(until, usize::MAX) == Ran::UntilControl
    }

    /// Runs like [`World::run_until_control`], but stops also after `most` events.
    pub fn run_events(&mut self, until: Instant, most: usize) -> Ran {
        for _ in 0..most {
            if !self.control.is_empty() {
                return Ran::UntilControl;
            }
            if !self.run_next(until) {
                self.net.pass_time(until);
                return Ran::Whole;
            }
        }
        Ran::Part
    }

    fn handle(&mut self, order: Order, event: Event) {
        let (net, kinds) = (&mut self.net, &mut self.kinds);
        match event {
            Event::CoreSlot(timer) => net.card_due(kinds, timer, Expiry::CoreSlot),
            Event::EdgeSlot(timer) => net.card_due(kinds, timer, Expiry::EdgeSlot),
            Event::Timer(timer) => net.card_due(kinds, timer, Expiry::First),
            Event::Wake(timer) => net.card_due(kinds, timer, Expiry::Last),
            Event::Arrival { lane } => self.arrival(lane, order),
            Event::Parcel(number) => net.parcel_arrives(kinds, number),
            Event::Source(index) => self.hosts.source(net, index),
            Event::HostTimer(host) => self.hosts.timeout(net, host as usize),
            Event::Change(index) => self.change(index as usize),
            Event::FaultBegins(index) => self.fault_begins(index as usize),
            Event::FaultEnds(index) => self.fault_ends(index as usize),
            Event::LookAfterFaults => self.look_after_flows(),
        }
        self.pump();
        self.net.settle();
    }

    /// The head of a lane is at its end.
    fn arrival(&mut self, lane: u32, order: Order) {
        let World { net, kinds, hosts, .. } = self;
        let Some((end, flying)) = net.arrived(lane, order) else {
            return;
        };
        match end {
            LaneEnd::Port { device, port } => net.packet_arrives(kinds, (device, port), flying),
            LaneEnd::Host(host) => hosts.arrives(net, host, flying.packet),
            LaneEnd::Own(end) => {
                if let Some(ask) = kinds.arrives(&mut Effects::on(net), end, flying) {
                    net.enter(kinds, ask);
                }
            }
        }
    }

    /// Completes the work of an event.
    #[inline]
    fn pump(&mut self) {
        self.net.pump(&mut self.kinds);
        if !self.net.journal.entries.is_empty() {
            self.drain();
        }
    }

    /// Drains the traces of an event from the journal. A record may show a violation.
    fn drain(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        while !self.net.journal.entries.is_empty() {
            std::mem::swap(&mut entries, &mut self.net.journal.entries);
            debug_assert!(
                entries.iter().all(|entry| entry.key == self.net.present()),
                "it is taken out after each event"
            );
            for Entry { note, .. } in entries.drain(..) {
                match note {
                    Note::Control(event) => self.control.push_back(event),
                    Note::Broken {
                        invariant,
                        at,
                        place,
                        packet,
                    } => self.invariants.violated(invariant, at, place, packet),
                    Note::Seen { node, record } => self.kinds.seen(&mut Effects::on(&mut self.net), node, &record),
                    Note::InBurst(fate) => self.hosts.note_burst(&mut self.net, fate),
                }
            }
        }
        self.entries = entries;
    }

    fn change(&mut self, index: usize) {
        let (net, kinds) = (&mut self.net, &mut self.kinds);
        match self.changes[index].1 {
            Change::Fibre(change) => kinds.change_fibres(&mut Effects::on(net), &change),
            Change::Span { span, is_up } => net.set_span_up(kinds, span, is_up),
            Change::Link { port, rate, delay } => net.change_link(kinds, port, (rate, delay)),
            Change::Uplink { host, delay } => self.hosts.change_uplink(net, host, delay),
        }
    }

    /// Schedules the scenario's changes of links, counted from the start of its first phase.
    pub fn schedule_link_changes(&mut self, first_phase: Instant) {
        for (index, (after_ns, _)) in self.changes.iter().enumerate() {
            let at = first_phase + Duration::from_ns(*after_ns);
            let change = Event::Change(index as u32);
            self.net.schedule(By::WORLD, at.max(self.net.now()), change);
        }
    }

    /// Changes a pair of fibres now, whatever its `at_ms` says. One that the scenario does not have is left alone.
    pub fn apply_link_change(&mut self, change: &LinkChange) {
        self.kinds.change_fibres(&mut Effects::on(&mut self.net), change);
        self.pump();
    }

    /// Lets a link between routers, by its number in the scenario, carry packets from now on or not, and the link the other way with it.
    /// One that the scenario does not have is left alone.
    pub fn set_link_up(&mut self, link: usize, is_up: bool) {
        let port = self.kinds.port_of_link(link);
        let span = port.and_then(|port| self.net.span_of(self.net.link_at(port)));
        if let Some(span) = span {
            self.net.set_span_up(&mut self.kinds, span, is_up);
            self.pump();
        }
    }

    /// Lets a span of a network with a section of its own, by its number in the scenario, carry packets from now on or not. One that the
    /// scenario does not have is left alone.
    pub fn set_own_span_up(&mut self, span: usize, is_up: bool) {
        // Such a network stands alone: all spans are its own, in its order.
        if self.kinds.port_of_link(0).is_none() && span < self.net.spans().len() {
            self.net.set_span_up(&mut self.kinds, span, is_up);
            self.pump();
        }
    }

    /// Sends a frame from an external host into its access link at `at`, or now if that is past.
    pub fn inject_host(&mut self, at: Instant, device: Device, port: u16, frame: &[u8]) -> Result<(), WorldError> {
        let node = self.net.nodes().get(device);
        let Some(host) = node.and_then(|node| node.host(port)) else {
            return Err(WorldError::UnknownPort { device, port });
        };
        let frame = self.net.copy_of(frame);
        let at = at.max(self.net.now());
        self.hosts.send_uplink(&mut self.net, at, host, frame);
        Ok(())
    }

    /// The next frame that has arrived at an external host, in order of time.
    pub fn poll_host_output(&mut self) -> Option<HostFrame> {
        self.hosts.poll_output()
    }

    /// Takes back the memory of a frame that the caller has consumed.
    pub fn recycle(&mut self, frame: Frame) {
        self.net.give_back(frame);
    }

    /// Delivers a packet-out to a device at `at`, or now if that is past: a frame with its controller header.
    pub fn packet_out(&mut self, at: Instant, device_id: u64, frame: &[u8]) -> Result<(), WorldError> {
        let device = self.device(device_id)?;
        let frame = self.net.copy_of(frame);
        let at = at.max(self.net.now());
        self.net
            .dispatch_parcel(By::WORLD, at, Parcel::PacketOut { device, frame });
        Ok(())
    }

    /// The next message for the controller, in order of time.
    pub fn poll_control(&mut self) -> Option<ControlEvent> {
        self.control.pop_front()
    }

    /// Starts a program in a device, with fresh tables. What waits in an edge's line cards is dropped, as it
    /// carries the old program's sequence numbers.
    pub fn set_pipeline(&mut self, device_id: u64, program: Arc<Program>) -> Result<(), WorldError> {
        let device = self.device(device_id)?;
        self.install_pipeline(device_id, Pipeline::new(program, self.pipeline_config(device)))
    }

    /// What a pipeline of `device` is to be made with.
    pub fn pipeline_config(&self, device: Device) -> PipelineConfig {
        Net::pipeline_config(device, self.seed)
    }

    /// As [`World::set_pipeline`], with a pipeline that has been made already.
    pub fn install_pipeline(&mut self, device_id: u64, pipeline: Pipeline) -> Result<(), WorldError> {
        let device = self.device(device_id)?;
        *self.net.pipeline_slot(device) = Some(pipeline);
        self.kinds.starts(&mut Effects::on(&mut self.net), device);
        self.pump();
        Ok(())
    }

    /// A device's pipeline, for table access between events.
    pub fn pipeline_mut(&mut self, device_id: u64) -> Option<&mut Pipeline> {
        let device = self.net.device(device_id)?;
        self.net.pipeline_slot(device).as_mut()
    }

    /// All devices, edges first.
    pub fn devices(&self) -> impl Iterator<Item = Device> + use<> {
        let devices: Vec<Device> = self.net.nodes().iter().map(|node| node.device).collect();
        devices.into_iter()
    }

    /// Every port of a switch to which a host is linked, in the order of the hosts.
    pub fn access_ports(&self) -> impl Iterator<Item = (Device, Port)> + '_ {
        self.hosts.list.iter().map(|host| (host.device, host.port))
    }

    /// Violated invariants.
    pub fn invariants(&self) -> &Invariants {
        &self.invariants
    }

    /// Losses outside of P4.
    pub fn drops(&self) -> &Drops {
        &self.net.journal.drops
    }

    /// Passes of packets and ticks through P4 so far.
    pub fn p4_passes(&self) -> u64 {
        self.net.journal.passes
    }

    /// What a device's P4 program dropped, by reason, without zeros; `None` if it has no `drops` counter.
    pub fn p4_drops(&self, device: Device) -> Option<Vec<P4Drop>> {
        self.net.p4_drops(device)
    }

    /// What became of each simulated flow; empty with external hosts.
    pub fn flow_results(&self) -> Vec<FlowResult> {
        self.hosts.traffic.as_ref().map_or_else(Vec::new, Traffic::results)
    }

    /// Flows of workloads that ended since the last call: all data has arrived and, unless it is datagrams, is acknowledged.
    pub fn take_ended_flows(&mut self) -> Vec<FlowProgress> {
        self.hosts.traffic.as_mut().map_or_else(Vec::new, Traffic::take_ended)
    }

    /// Flows of workloads that have started and not ended, by workload and number.
    pub fn flows_in_progress(&self) -> Vec<FlowProgress> {
        self.hosts.traffic.as_ref().map_or_else(Vec::new, Traffic::in_progress)
    }

    /// Number of ends of workloads' flows at all hosts: senders until they are closed, and receivers.
    pub fn flow_ends(&self) -> usize {
        self.hosts.traffic.as_ref().map_or(0, Traffic::flow_ends)
    }

    /// Received bytes that differ from the sent ones, of ended flows of workloads: always 0.
    pub fn wrong_bytes_of_workloads(&self) -> Bytes {
        let traffic = self.hosts.traffic.as_ref();
        traffic.map_or(Bytes::ZERO, Traffic::wrong_bytes_of_workloads)
    }

    /// Workloads and coflows with flows that could not start because all ports between their hosts were in use.
    pub fn refused_coflows(&self) -> impl Iterator<Item = (usize, CoflowId)> + '_ {
        self.hosts.traffic.iter().flat_map(Traffic::refused_coflows)
    }

    /// Number of flows of each workload so far, in the order of the scenario.
    pub fn workload_uses(&self) -> &[WorkloadUse] {
        self.hosts.traffic.as_ref().map_or(&[], Traffic::workload_uses)
    }

    /// The part of the network that is of one kind, to be looked at; `None` if it has none of it.
    pub fn of_kind<K: Listed>(&self) -> Option<View<'_, K>> {
        Some(View {
            kind: K::of(&self.kinds)?,
            look: Look::at(&self.net),
        })
    }

    /// The part of the network that is of one kind, to be measured; `None` if it has none of it.
    pub fn of_kind_mut<K: Listed>(&mut self) -> Option<ViewMut<'_, K>> {
        Some(ViewMut {
            kind: K::of_mut(&mut self.kinds)?,
            fx: Effects::on(&mut self.net),
            invariants: &mut self.invariants,
        })
    }

    /// Reason why simulated time does not advance any more, if it does not.
    pub fn standstill(&self) -> Option<&Standstill> {
        self.net.standstill()
    }

    /// Every place where frames may be captured: fibres, then ports by device.
    pub fn capture_points(&self) -> Vec<CapturePoint> {
        let ports = self
            .net
            .nodes()
            .iter()
            .flat_map(slotwise_net::node::Node::capture_points);
        self.kinds.capture_points().into_iter().chain(ports).collect()
    }

    /// Ends the captures; gives those that could not be written to the end.
    pub fn finish_captures(&mut self) -> Vec<CaptureFailure> {
        let captures = self.net.journal.captures.take();
        captures.map_or_else(Vec::new, Captures::finish)
    }

    /// The same network with all switches outside, and without the checks that cannot be made of those. They get nothing until
    /// [`World::set_switches_running`].
    #[must_use]
    pub fn with_external_switches(mut self) -> World {
        self.net.put_switches_outside();
        for check in Kinds::checks_inside() {
            self.invariants.leave_out(check);
        }
        self
    }

    /// Whether the switches outside take frames. What arrives at them while they do not is dropped.
    pub fn set_switches_running(&mut self, running: bool) {
        self.net.set_switches_running(running);
    }

    /// The next frame for a switch outside, in order of time over all of them.
    pub fn poll_switch_input(&mut self) -> Option<SwitchInput> {
        self.net.poll_switch_input()
    }

    /// A frame has left a switch outside at `at`, or now if that is past; `id` as in the input that it was, or 0. For light, and from a
    /// router or station, it returns how long the switch had it. What it made of a tick too late for the slot is dropped: the gate that opens next leads
    /// to another edge.
    ///
    /// # Errors
    /// [`WorldError::UnknownDevice`].
    pub fn switch_output(
        &mut self,
        at: Instant,
        device_id: u64,
        port: Port,
        id: u64,
        frame: &[u8],
    ) -> Result<Option<Duration>, WorldError> {
        let device = self.device(device_id)?;
        Ok(self.net.switch_output(at, (device, port), id, frame))
    }

    /// The switches outside have put out all that they will: light that is still in a core is lost.
    pub fn settle_switches(&mut self) {
        self.net.lose_overdue(&mut self.kinds, Instant::MAX);
        self.pump();
    }

    /// Sets the `drops` counter of a switch outside, for [`World::p4_drops`].
    pub fn set_p4_drops(&mut self, device: Device, drops: Vec<P4Drop>) {
        self.net.set_p4_drops(device, drops);
    }
}

#[cfg(test)]
mod standstill;
#[cfg(test)]
mod tests;
