// SPDX-License-Identifier: Apache-2.0
//! The network: routers, outputs, hosts, flows.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use slotwise_p4::{Executor, Pipeline, PipelineConfig, Port, Program, TimestampUnit};
use slotwise_scenario::{Changed, Source, Transport};
use slotwise_transport::{Event as StreamEvent, FlowKey};
use slotwise_wire::{FlowOp, IntervalTimer, PORT_CPU, PORT_DROP, PORT_LINECARD};

use super::build;
use super::events::{Event, Events};
use super::output::{Output, OutputUse};
use crate::message;
use crate::node::Outbox;
use crate::packet::{FramePool, Packet, UNBORN};
use crate::random;
use crate::traffic::station::Station;
use crate::traffic::web::Clients;

pub(super) const NS_PER_MS: u64 = 1_000_000;

/// Where an output's link ends.
#[derive(Clone, Copy)]
pub(super) enum Far {
    Router { router: usize, port: Port },
    Host(usize),
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
    /// Addresses of the hosts that are reached by it.
    pub hosts: Vec<Ipv4Addr>,
}

pub(super) struct Router {
    pub(super) pipeline: Option<Pipeline>,
    /// Outputs by port.
    pub(super) outputs: BTreeMap<Port, usize>,
    pub(super) ports: Vec<RouterPort>,
    pub(super) no_such_port: u64,
}

pub(super) struct Host {
    pub(super) station: Station,
    pub(super) uplink: usize,
    /// The flow of which it is the receiver, with the port of its data.
    pub(super) receives: Vec<(u16, usize)>,
    pub(super) not_for_host: u64,
}

/// A flow, as its name and its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutedFlow {
    /// Group's name and number in it, `NAME.i`.
    pub name: String,
    /// When it starts.
    pub start_ns: u64,
}

pub(super) struct Flow {
    pub(super) about: RoutedFlow,
    pub(super) key: FlowKey,
    pub(super) sender: usize,
    pub(super) receiver: usize,
    pub(super) transport: Transport,
    pub(super) sack: bool,
    pub(super) source: Source,
    /// Keys of the ends that are there.
    pub(super) connections: Vec<FlowKey>,
    /// What connections did that are not there any more.
    pub(super) ended: FlowUse,
    /// Pages begun.
    pub(super) pages: u64,
    pub(super) seed: u64,
    pub(super) delay: Delay,
    pub(super) delivered_bytes: u64,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Delay {
    pub(super) packets: u64,
    pub(super) sum_ns: u64,
    pub(super) max_ns: u64,
}

/// What a flow did since it was last asked, and where it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowUse {
    /// Congestion window, bytes of payload.
    pub window_bytes: u64,
    /// Payload of a full segment.
    pub mss_bytes: u64,
    /// Smoothed round-trip time; 0 before the first measurement.
    pub srtt_ns: u64,
    /// Bytes that arrived without a gap.
    pub delivered_bytes: u64,
    /// Packets that arrived at the receiver.
    pub packets: u64,
    /// Sum of their one-way delays, from the first bit out to the last bit in.
    pub delay_sum_ns: u64,
    /// Longest of them.
    pub delay_max_ns: u64,
    /// Segments sent again since the start.
    pub retransmissions: u64,
    /// Timeouts since the start.
    pub timeouts: u64,
    /// Bytes that are not what was sent, since the start: always 0.
    pub wrong_bytes: u64,
}

/// The network of a routed scenario. Time starts at 0.
pub struct RoutedNetwork {
    pub(super) now_ns: u64,
    pub(super) events: Events,
    pub(super) pool: FramePool,
    pub(super) outbox: Outbox,
    pub(super) routers: Vec<Router>,
    pub(super) outputs: Vec<Output>,
    /// Where each output leads.
    pub(super) fars: Vec<Far>,
    /// Router and port of each output that is a router's.
    pub(super) places: Vec<Option<(usize, Port)>>,
    pub(super) hosts: Vec<Host>,
    pub(super) flows: Vec<Flow>,
    pub(super) clients: Clients<usize>,
    pub(super) timeline: Vec<(u64, Changed)>,
    /// Outputs by the scenario's link.
    pub(super) links: Vec<usize>,
    /// (first host, count) by group.
    pub(super) groups: Vec<(usize, usize)>,
    /// Downlink outputs by host.
    pub(super) downlinks: Vec<usize>,
    /// Capacities that XCP is to be told, by output: (router, port, bit/s).
    pub(super) capacity_changes: Vec<(usize, Port, u64)>,
    pub(super) packet_bytes: u16,
    pub(super) hops: u64,
}

impl RoutedNetwork {
    /// Time.
    pub fn now(&self) -> u64 {
        self.now_ns
    }

    /// Passes through P4 so far.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// The flows, by number.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = &RoutedFlow> {
        self.flows.iter().map(|flow| &flow.about)
    }

    /// The ports of a router.
    pub fn router_ports(&self, router: usize) -> &[RouterPort] {
        &self.routers[router].ports
    }

    /// A router's own Ethernet address.
    pub fn router_mac(&self, router: usize) -> u64 {
        build::router_mac(router)
    }

    /// Starts a program in a router, with fresh tables.
    pub fn set_program(&mut self, router: usize, program: Arc<Program>, seed: u64) -> &mut Pipeline {
        let config = PipelineConfig {
            cpu_port: PORT_CPU,
            drop_port: PORT_DROP,
            timestamp_unit: TimestampUnit::Nanoseconds,
            seed: random::derived_seed(seed, random::Stream::Pipeline, router as u64),
            executor: Executor::default(),
        };
        self.routers[router].pipeline.insert(Pipeline::new(program, config))
    }

    /// The pipeline of a router that has a program.
    pub fn pipeline_mut(&mut self, router: usize) -> Option<&mut Pipeline> {
        self.routers[router].pipeline.as_mut()
    }

    /// Capacities for XCP that have changed since the last call: (router, port, bit/s). Whoever writes tables is to
    /// write them now.
    pub fn take_capacity_changes(&mut self) -> Vec<(usize, Port, u64)> {
        std::mem::take(&mut self.capacity_changes)
    }

    /// Packets that were sent to a port that there is not, or reached a host that they are not for: always 0 where
    /// tables are right.
    pub fn strays(&self) -> u64 {
        let nowhere: u64 = self.routers.iter().map(|router| router.no_such_port).sum();
        nowhere + self.hosts.iter().map(|host| host.not_for_host).sum::<u64>()
    }

    /// Processes all events up to and at `until_ns`, but stops right after one that changed a capacity
    /// ([`RoutedNetwork::take_capacity_changes`]); true if it did.
    pub fn run_until(&mut self, until_ns: u64) -> bool {
        while let Some((at_ns, event)) = self.events.pop_until(until_ns) {
            self.now_ns = at_ns;
            match event {
                Event::Change(index) => self.change(index as usize),
                Event::FlowTurn(flow) => self.start_flow(flow as usize),
                Event::CardTimer(output) => self.card_timer(output as usize),
                Event::Arrival(output) => self.arrival(output as usize),
                Event::HostTimer(host) => {
                    let host = host as usize;
                    self.hosts[host].station.wake_ns = None;
                    self.hosts[host].station.stack.handle_timeout(at_ns);
                    self.begin_pages(host);
                    self.drain_host(host);
                }
            }
            if !self.capacity_changes.is_empty() {
                return true;
            }
        }
        self.now_ns = self.now_ns.max(until_ns);
        false
    }

    fn change(&mut self, index: usize) {
        match self.timeline[index].1 {
            Changed::Link {
                link,
                rate_bps,
                delay_ns,
                xcp_bps,
            } => {
                let output = self.links[link];
                self.change_output(output, rate_bps, delay_ns);
                if let (Some(xcp_bps), Some((router, port))) = (xcp_bps, self.places[output]) {
                    self.capacity_changes.push((router, port, xcp_bps));
                }
            }
            Changed::Hosts {
                group,
                up_delay_ns,
                down_delay_ns,
            } => {
                let (first, count) = self.groups[group];
                for host in first..first + count {
                    self.change_output(self.hosts[host].uplink, None, up_delay_ns);
                    self.change_output(self.downlinks[host], None, down_delay_ns);
                }
            }
        }
    }

    fn change_output(&mut self, output: usize, rate_bps: Option<u64>, delay_ns: Option<u64>) {
        self.outputs[output].change(self.now_ns, rate_bps, delay_ns);
        self.await_arrival(output);
    }

    fn await_arrival(&mut self, output: usize) {
        if let Some(at_ns) = self.outputs[output].wants_event() {
            self.events.schedule(at_ns, Event::Arrival(output as u32));
        }
    }

    /// Sends what a host has to send, and sets its timer.
    pub(super) fn drain_host(&mut self, host: usize) {
        loop {
            let mut frame = self.pool.take();
            if !self.hosts[host].station.transmit(self.now_ns, &mut frame) {
                self.pool.give_back(frame);
                break;
            }
            let packet = Packet { frame, born_ns: UNBORN };
            self.enqueue(self.hosts[host].uplink, packet);
        }
        while let Some((key, event)) = self.hosts[host].station.stack.poll_event() {
            match event {
                StreamEvent::Finished => self.clients.finished(host, key, self.now_ns),
                StreamEvent::Aborted(_) => self.page_failed(key.reversed()),
                StreamEvent::Connected | StreamEvent::Closed => {}
            }
        }
        let station = &mut self.hosts[host].station;
        let next_ns = [station.stack.poll_timeout(), self.clients.poll_timeout(host)];
        if let Some(at_ns) = next_ns.into_iter().flatten().min()
            && station.wake_ns.is_none_or(|wake_ns| at_ns < wake_ns)
        {
            station.wake_ns = Some(at_ns);
            self.events
                .schedule(at_ns.max(self.now_ns), Event::HostTimer(host as u32));
        }
    }

    fn enqueue(&mut self, output: usize, packet: Packet) {
        match self.outputs[output].enqueue(self.now_ns, packet) {
            Ok(()) => self.await_arrival(output),
            Err(dropped) => self.pool.give_back(dropped.frame),
        }
    }

    fn arrival(&mut self, output: usize) {
        while let Some(packet) = self.outputs[output].arrived(self.now_ns) {
            match self.fars[output] {
                Far::Router { router, port } => {
                    self.run_p4(router, port, &packet.frame, packet.born_ns);
                    self.pool.give_back(packet.frame);
                }
                Far::Host(host) => self.at_host(host, packet),
            }
        }
        self.await_arrival(output);
    }

    /// Runs a packet through a router; what comes out was born when it was.
    fn run_p4(&mut self, router: usize, port: Port, frame: &[u8], born_ns: u64) {
        let Some(pipeline) = &mut self.routers[router].pipeline else {
            return;
        };
        self.hops += 1;
        let mut outbox = std::mem::take(&mut self.outbox);
        outbox.run(&mut self.pool, pipeline, self.now_ns, (port, frame));
        outbox.digests.clear();
        for (port, frame) in outbox.packets.drain(..) {
            if port == PORT_LINECARD {
                self.apply_flow_control(router, &frame);
                self.pool.give_back(frame);
            } else if let Some(&output) = self.routers[router].outputs.get(&port) {
                self.enqueue(output, Packet { frame, born_ns });
            } else {
                self.routers[router].no_such_port += 1;
                self.pool.give_back(frame);
            }
        }
        self.outbox = outbox;
    }

    /// The timers of an output's card.
    fn card_timer(&mut self, output: usize) {
        let Some((router, port)) = self.places[output] else {
            return;
        };
        while let Some(tick) = self.outputs[output].tick(self.now_ns) {
            let (backlog_bytes, arrived_bytes, dropped_packets) = self.outputs[output].report();
            let state = crate::linecard::QueueState {
                backlog_bytes,
                arrived_bytes,
                hol_delay_ns: 0,
                dropped_packets,
            };
            let tick = message::interval_tick(port, &tick, port, &state);
            self.run_p4(router, PORT_LINECARD, &tick, self.now_ns);
        }
        if let Some(at_ns) = self.outputs[output].next_tick_ns() {
            self.events
                .schedule(at_ns.max(self.now_ns + 1), Event::CardTimer(output as u32));
        }
    }

    /// A message of P4 to the card of an output. The answer to a tick comes within the tick's event, so no event
    /// needs to be scheduled here.
    fn apply_flow_control(&mut self, router: usize, frame: &[u8]) {
        let set = message::flow_control(frame).and_then(|(port, message)| {
            let timer = match FlowOp::try_from(message.op).ok()? {
                FlowOp::SetControlTimer => IntervalTimer::Control,
                FlowOp::SetQueueTimer => IntervalTimer::Queue,
                _ => return None,
            };
            let output = *self.routers[router].outputs.get(&port)?;
            Some((output, timer, message.value))
        });
        let is_set = set
            .is_some_and(|(output, timer, value_ns)| self.outputs[output].answer_timer(timer, self.now_ns, value_ns));
        if !is_set {
            self.routers[router].no_such_port += 1;
        }
    }

    fn at_host(&mut self, host: usize, packet: Packet) {
        if let Some(flow) = self.hosts[host].flow_of(&packet.frame) {
            let delay_ns = self.now_ns - packet.born_ns;
            let delay = &mut self.flows[flow].delay;
            delay.packets += 1;
            delay.sum_ns += delay_ns;
            delay.max_ns = delay.max_ns.max(delay_ns);
        }
        if !self.hosts[host].station.receive(self.now_ns, &packet.frame) {
            self.hosts[host].not_for_host += 1;
        }
        self.pool.give_back(packet.frame);
        self.drain_host(host);
    }

    /// What a link did since the last call, by the scenario's number.
    pub fn take_link_use(&mut self, link: usize) -> OutputUse {
        let now_ns = self.now_ns;
        self.outputs[self.links[link]].take_use(now_ns)
    }
}

impl Host {
    /// The flow whose data a frame carries to this host, by the port.
    fn flow_of(&self, frame: &[u8]) -> Option<usize> {
        let key = FlowKey::of(frame.get(slotwise_wire::Ethernet::SIZE..)?).ok()?;
        let of_port = self.receives.iter().find(|(port, _)| *port == key.destination.port());
        of_port.map(|(_, flow)| *flow)
    }
}
