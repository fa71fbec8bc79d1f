// SPDX-License-Identifier: Apache-2.0
//! Measures a star while it runs: its VOQs, the fibres' ends, access links and flows, every so many frames.

use slotwise_kinds::{self as kinds, AccessUse, DelayUse, LinkReport, LinkUse, QueueUse, SyncError, World};
use slotwise_scenario::{Device, Endpoint, Fibre, Flow, Scenario, Signaling};
use slotwise_units::{Bytes, Duration, Instant, Rate};

use super::routed::FlowPeriod;
use crate::record::{Period, Recording, mean, table};

/// A VOQ, where it is and what a slot is worth to it.
struct Queue {
    name: String,
    edge: u16,
    core: u16,
    voq: u16,
    slot_bytes: u64,
}

/// What a star's switches and the controller said to each other since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ControlUse {
    /// Requests and beacons that switches sent to the controller, from Ethernet on.
    pub messages: Bytes,
    /// Schedules that came into force.
    pub schedules: u64,
    /// Sum over them of the frames from that of the requests to the first one in force.
    pub delay_frames: u64,
}

/// A star: what its edges do with the fibres to its core.
struct Star {
    core: u16,
    name: String,
    fibres: u64,
    rate_bps: u64,
    /// In the period under way.
    granted_slots: u64,
    data_bytes: u64,
    light_bytes: u64,
    before: ControlUse,
    delay_slots: f64,
}

/// Records a network. Let the fabric run to [`Recorder::next`], call [`Recorder::sample`], and so on.
pub struct Recorder {
    recording: Recording,
    epoch_ns: u64,
    end_ns: u64,
    sample_ns: u64,
    at_ns: u64,
    access_rate: Rate,
    mtu: u32,
    queues: Vec<Queue>,
    flow_names: Vec<String>,
    ports: Vec<LinkUse>,
    access: Vec<(AccessUse, AccessUse)>,
    flow_bytes: Vec<Bytes>,
    /// Mean and longest of each flow, kept while nothing arrives.
    delays_ms: Vec<(f64, f64)>,
    frame_slots: f64,
    slot_ns: f64,
    signaling: Signaling,
    stars: Vec<Star>,
    /// Edges that follow their master's clock.
    followers: Vec<(u16, u16, String)>,
}

fn stars(scenario: &Scenario) -> Vec<Star> {
    let star = |core: &slotwise_scenario::Core| {
        let fibres = scenario.edges.iter().flat_map(|edge| &edge.fibres);
        let fibres: Vec<&Fibre> = fibres.filter(|fibre| fibre.core == core.id).collect();
        Star {
            core: core.id,
            name: format!("core{}", core.id),
            fibres: fibres.len() as u64,
            rate_bps: fibres.first().map_or(0, |fibre| fibre.rate.bps()),
            granted_slots: 0,
            data_bytes: 0,
            light_bytes: 0,
            before: ControlUse::default(),
            delay_slots: 0.0,
        }
    };
    scenario.cores.iter().map(star).collect()
}

/// Line cards with clocks of their own, by edge and core, and the names of their columns.
fn followers(scenario: &Scenario) -> Vec<(u16, u16, String)> {
    let is_master = |edge: u16, core: u16| scenario.cores[usize::from(core)].master == edge;
    let name = |edge: u16, core: u16| match scenario.cores.len() {
        1 => format!("edge{edge}"),
        _ => format!("edge{edge}-core{core}"),
    };
    let fibres = scenario.edges.iter();
    fibres
        .flat_map(|edge| edge.fibres.iter().map(|fibre| (edge.id, fibre.core)))
        .filter(|&(edge, core)| scenario.joins_by_invitation() && !is_master(edge, core))
        .map(|(edge, core)| (edge, core, name(edge, core)))
        .collect()
}

fn queues(scenario: &Scenario) -> Vec<Queue> {
    let of_fibre = |edge: u16, fibre: &Fibre| {
        // In packets of full size, as the controller reckons.
        let packets = scenario.slot_capacity(fibre).get() / scenario.wire_mtu().get();
        let (core, slot_bytes) = (fibre.core, packets * scenario.wire_mtu().get());
        // The core tells apart what only several stars have.
        let over = match scenario.cores.len() {
            1 => String::new(),
            _ => format!("/core{core}"),
        };
        let others = scenario
            .edges
            .iter()
            .map(|other| other.id)
            .filter(move |to| *to != edge);
        others.map(move |to| Queue {
            name: format!("edge{edge}->edge{to}{over}"),
            edge,
            core,
            voq: scenario.voq(core, to),
            slot_bytes,
        })
    };
    let fibres = scenario
        .edges
        .iter()
        .flat_map(|edge| edge.fibres.iter().map(move |fibre| (edge.id, fibre)));
    fibres.flat_map(|(edge, fibre)| of_fibre(edge, fibre)).collect()
}

/// `PHASE.ENTRY.FROM-TO`: no entry joins two hosts twice.
fn flow_name(scenario: &Scenario, flow: &Flow) -> String {
    format!(
        "{}.{}.{}-{}",
        scenario.phases[flow.phase].name, flow.entry, flow.from, flow.to
    )
}

/// Names of the ends of fibres.
pub(crate) fn port_names(scenario: &Scenario) -> Vec<String> {
    let fibres = scenario
        .edges
        .iter()
        .flat_map(|edge| edge.fibres.iter().map(move |fibre| (edge.id, fibre.core)));
    fibres
        .flat_map(|(edge, core)| [format!("edge{edge}->core{core}"), format!("core{core}->edge{edge}")])
        .collect()
}

/// Names of both directions of the hosts' links.
pub(crate) fn access_names(scenario: &Scenario) -> Vec<String> {
    let hosts = scenario.hosts_of(Endpoint::All);
    hosts
        .into_iter()
        .flat_map(|host| {
            [
                format!("{host}->edge{}", host.edge),
                format!("edge{}->{host}", host.edge),
            ]
        })
        .collect()
}

/// Names of the flows of all phases.
pub(crate) fn flow_names(scenario: &Scenario) -> Vec<String> {
    let phases = 0..scenario.phases.len();
    let flows = phases.flat_map(|phase| scenario.flows(phase));
    flows.map(|flow| flow_name(scenario, &flow)).collect()
}

/// Names of the VOQs.
pub(crate) fn queue_names(scenario: &Scenario) -> Vec<String> {
    queues(scenario).into_iter().map(|queue| queue.name).collect()
}

/// Names of the cores.
pub(crate) fn core_names(scenario: &Scenario) -> Vec<String> {
    stars(scenario).into_iter().map(|star| star.name).collect()
}

/// Names of the edges that follow their master's clock.
pub(crate) fn clock_names(scenario: &Scenario) -> Vec<String> {
    followers(scenario).into_iter().map(|(_, _, name)| name).collect()
}

impl Recorder {
    /// A recorder with a row a name every `sample_frames` frames, from the first phase on.
    pub fn new(scenario: &Scenario, sample_frames: u32) -> Recorder {
        let flow_names = flow_names(scenario);
        Recorder {
            recording: Recording::default(),
            epoch_ns: scenario.epoch().ns(),
            end_ns: scenario.end().ns(),
            sample_ns: u64::from(sample_frames.max(1)) * scenario.frame.length().ns(),
            at_ns: scenario.epoch().ns(),
            access_rate: scenario.hosts.access_rate,
            mtu: scenario.hosts.mtu,
            queues: queues(scenario),
            ports: Vec::new(),
            access: Vec::new(),
            flow_bytes: vec![Bytes::ZERO; flow_names.len()],
            delays_ms: vec![(0.0, 0.0); flow_names.len()],
            flow_names,
            frame_slots: f64::from(scenario.frame.slots),
            slot_ns: scenario.frame.slot.ns() as f64,
            signaling: scenario.frame.signaling,
            stars: stars(scenario),
            followers: followers(scenario),
        }
    }

    /// When [`Recorder::sample`] is to be called next; `None` when the run is over.
    pub fn next(&self) -> Option<Instant> {
        (self.at_ns < self.end_ns).then(|| Instant::from_ns((self.at_ns + self.sample_ns).min(self.end_ns)))
    }

    /// Writes down what has happened since the last call; `control` is what was said so far, by core.
    pub fn sample(&mut self, fabric: &mut World, control: &[ControlUse]) {
        let length = Duration::from_ns(fabric.now().ns().saturating_sub(self.at_ns));
        if length.is_zero() {
            return;
        }
        self.at_ns = fabric.now().ns();
        let end = Duration::from_ns(self.at_ns.saturating_sub(self.epoch_ns));
        let period = Period { end, length };
        self.sample_queues(fabric, &period);
        self.sample_ports(fabric, &period);
        self.sample_access(fabric, &period);
        self.sample_flows(fabric, &period);
        self.sample_control(control, &period);
        self.sample_clocks(fabric, &period);
    }

    /// After queues and ports, which count what it needs.
    fn sample_control(&mut self, control: &[ControlUse], period: &Period) {
        for (index, star) in self.stars.iter_mut().enumerate() {
            let now = control.get(index).copied().unwrap_or_default();
            let message_bytes = match self.signaling {
                Signaling::InBand => star.light_bytes.saturating_sub(star.data_bytes),
                Signaling::OutOfBand => (now.messages - star.before.messages).get(),
            };
            let schedules = now.schedules - star.before.schedules;
            if schedules > 0 {
                let frames = (now.delay_frames - star.before.delay_frames) as f64 / schedules as f64;
                star.delay_slots = frames * self.frame_slots;
            }
            let row = ControlPeriod {
                granted_slots: star.granted_slots,
                edge_slots: star.fibres as f64 * period.ns() / self.slot_ns,
                message_bytes,
                edge_bytes: star.fibres as f64 * period.ns() * star.rate_bps as f64 / 8e9,
                schedules,
                delay_slots: star.delay_slots,
            };
            self.recording.add(&star.name, period, &row);
            (star.granted_slots, star.data_bytes, star.light_bytes) = (0, 0, 0);
            star.before = now;
        }
    }

    fn sample_clocks(&mut self, fabric: &mut World, period: &Period) {
        if self.followers.is_empty() {
            return;
        }
        let star = fabric.of_kind_mut::<kinds::Star>();
        let errors = star.map_or_else(Vec::new, |mut star| star.take_sync_errors());
        for (edge, core, name) in &self.followers {
            let of_card = errors.iter().find(|(at, to, _)| (at, to) == (edge, core));
            let error = of_card.map(|(_, _, error)| *error).unwrap_or_default();
            self.recording.add(name, period, &ClockPeriod { error });
        }
    }

    fn sample_queues(&mut self, fabric: &mut World, period: &Period) {
        let Some(mut fibres) = fabric.of_kind_mut::<kinds::Star>() else {
            return;
        };
        for queue in &self.queues {
            let Some(used) = fibres.take_queue_use(queue.edge, queue.core, queue.voq) else {
                continue;
            };
            if let Some(star) = self.stars.iter_mut().find(|star| star.core == queue.core) {
                star.granted_slots += used.granted_slots;
                star.data_bytes += used.sent_bytes.get();
            }
            let row = QueuePeriod {
                used: &used,
                slot_bytes: queue.slot_bytes,
            };
            self.recording.add(&queue.name, period, &row);
        }
    }

    fn sample_ports(&mut self, fabric: &World, period: &Period) {
        let links = fabric
            .of_kind::<kinds::Star>()
            .map_or_else(Vec::new, |star| star.links());
        self.ports.resize(links.len(), LinkUse::default());
        for (LinkReport { from, to, used }, before) in links.iter().zip(&mut self.ports) {
            let row = PortPeriod {
                busy: used.busy - before.busy,
                bytes: used.bytes - before.bytes,
                packets: used.packets - before.packets,
            };
            let to_core = self.stars.iter_mut().find(|star| Device::Core(star.core) == *to);
            if let Some(star) = to_core {
                star.light_bytes += row.bytes.get();
            }
            self.recording.add(&format!("{from}->{to}"), period, &row);
            *before = *used;
        }
    }

    fn sample_access(&mut self, fabric: &World, period: &Period) {
        let links = fabric.access_links();
        self.access.resize(links.len(), Default::default());
        for (link, before) in links.iter().zip(&mut self.access) {
            let (host, edge) = (link.host, link.host.edge);
            let directions = [
                (format!("{host}->edge{edge}"), link.up, before.0),
                (format!("edge{edge}->{host}"), link.down, before.1),
            ];
            for (name, used, before) in directions {
                let row = AccessPeriod {
                    rate: self.access_rate,
                    bytes: used.bytes - before.bytes,
                    packets: used.packets - before.packets,
                    dropped_packets: used.dropped_packets - before.dropped_packets,
                };
                self.recording.add(&name, period, &row);
            }
            *before = (link.up, link.down);
        }
    }

    fn sample_flows(&mut self, fabric: &mut World, period: &Period) {
        let delays = fabric.take_flow_delays();
        let results = fabric.flow_results();
        for (index, (result, (_, delay))) in results.iter().zip(delays).enumerate() {
            let DelayUse { packets, sum, max } = delay;
            if packets > 0 {
                self.delays_ms[index] = (sum.milliseconds() / packets as f64, max.milliseconds());
            }
            let bytes = result.received_bytes - std::mem::replace(&mut self.flow_bytes[index], result.received_bytes);
            // Datagrams have no window.
            let stream = result.stream.unwrap_or_default();
            let row = FlowPeriod {
                window: stream.window,
                segment: stream.mss,
                rtt: stream.srtt.unwrap_or_default(),
                packet: Bytes::new(self.mtu.into()),
                goodput_kbps: bytes.get() as f64 * 8e6 / period.ns(),
                delay_ms: self.delays_ms[index],
                retransmissions: stream.retransmissions,
                timeouts: stream.timeouts,
            };
            self.recording.add(&self.flow_names[index], period, &row);
        }
    }

    /// All that was written down.
    pub fn finish(self) -> Recording {
        self.recording
    }
}

/// A VOQ in a period.
pub(crate) struct QueuePeriod<'a> {
    used: &'a QueueUse,
    /// Capacity of a slot in full-size packets.
    slot_bytes: u64,
}

table! {
    /// Virtual output queues (VOQs) of a star; a row per VOQ, `edgeA->edgeB` (with several cores `edgeA->edgeB/coreC`), and period.
    /// Bytes are those on the fibre.
    Queues by queue = |p, q: QueuePeriod<'_>| {
        backlog_bytes "bytes waiting at the end of the period" [bytes] = q.used.backlog_bytes.get() as f64;
        backlog_packets "packets waiting at the end of the period" = q.used.backlog_packets as f64;
        mean_backlog_bytes "bytes waiting, averaged over the period" [bytes] = q.used.backlog_time.byte_ns() as f64 / p.ns();
        max_backlog_bytes "maximum bytes waiting" [bytes] = q.used.most_backlog_bytes.get() as f64;
        granted_slots "slots granted" = q.used.granted_slots as f64;
        granted_bytes "capacity of these slots in full-size packets" [bytes] = (q.used.granted_slots * q.slot_bytes) as f64;
        sent_bytes "bytes sent on the fibre" [bytes] = q.used.sent_bytes.get() as f64;
        sent_packets "packets sent on the fibre" = q.used.sent_packets as f64;
        arrived_packets "packets that arrived" = q.used.arrived_packets as f64;
        dropped_packets "packets dropped: queue full" = q.used.dropped_packets as f64;
    }
}

/// An end of a fibre in a period.
pub(crate) struct PortPeriod {
    busy: Duration,
    bytes: Bytes,
    packets: u64,
}

table! {
    /// Fibres of a star, where light enters; a row per end, `edgeA->coreB` or `coreB->edgeA`, and period.
    Ports by port = |p, o: PortPeriod| {
        utilization "fraction of the time in transmission; guard times and signaling slots count as time" = o.busy.ns() as f64 / p.ns();
        sent_bytes "bytes sent on the fibre" [bytes] = o.bytes.get() as f64;
        sent_packets "packets sent on the fibre" = o.packets as f64;
    }
}

/// A direction of a host's link in a period.
pub(crate) struct AccessPeriod {
    rate: Rate,
    bytes: Bytes,
    packets: u64,
    dropped_packets: u64,
}

table! {
    /// Access links of hosts at edges of a star; a row per direction, `hA_B->edgeA` or `edgeA->hA_B`, and period.
    Access by access = |p, a: AccessPeriod| {
        utilization "bits of the frames sent, divided by the bits that the link rate allows"
            = a.bytes.get() as f64 / (a.rate.bps() as f64 * p.ns() / 8e9);
        sent_bytes "bytes of the frames sent" [bytes] = a.bytes.get() as f64;
        sent_packets "frames sent" = a.packets as f64;
        dropped_packets "frames dropped: queue full" = a.dropped_packets as f64;
    }
}

/// Signaling of a star in a period.
pub(crate) struct ControlPeriod {
    granted_slots: u64,
    /// Slots of all edges.
    edge_slots: f64,
    message_bytes: u64,
    /// Bytes that all slots could carry.
    edge_bytes: f64,
    schedules: u64,
    delay_slots: f64,
}

table! {
    /// Signaling of a star; a row per core, `coreC`, and period.
    Control by core = |p, c: ControlPeriod| {
        idle_percent "slots of an edge without a granted VOQ, percent of all slots; mean over the edges"
            = 100.0 * (1.0 - c.granted_slots as f64 / c.edge_slots);
        signaling_percent "signaling overhead: bytes of requests and beacons sent, in or out of band, relative to the length of their slots"
            = 100.0 * c.message_bytes as f64 / c.edge_bytes;
        schedules "schedules activated" = c.schedules as f64;
        delay_slots
            "slots from the start of a request's frame to the start of the resulting schedule, mean over the schedules activated; without any, the value of the previous period"
            = c.delay_slots;
    }
}

/// Slots of an edge against those of the core.
pub(crate) struct ClockPeriod {
    error: SyncError,
}

table! {
    /// Clocks of edges that follow their master's, with `clocks`; a row per edge, `edgeE` (with several cores `edgeE-coreC`), and period.
    /// Errors are expected less actual time at the core, as in table 3.2 of the AAPN thesis.
    Clocks by edge = |p, c: ClockPeriod| {
        slots "slots started by the edge" = c.error.slots as f64;
        max_error_ns "maximum slot timing error (positive: early)" [ns] = c.error.max.ns() as f64;
        min_error_ns "minimum slot timing error (negative: late)" [ns] = c.error.min.ns() as f64;
        mean_error_ns "mean slot timing error" [ns] = mean(c.error.sum.ns() as f64, c.error.slots);
        worst_error_ns "maximum absolute slot timing error" [ns] = c.error.max.abs().max(c.error.min.abs()).ns() as f64;
    }
}
