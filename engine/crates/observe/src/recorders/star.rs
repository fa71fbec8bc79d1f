// SPDX-License-Identifier: Apache-2.0
//! Measures a star while it runs: its VOQs, the fibres' ends, access links and flows, every so many frames.

use slotwise_fabric::{AccessUse, DelayUse, FlowResult, LinkReport, LinkUse, World, kinds};
use slotwise_scenario::{Device, Endpoint, Fibre, Flow, Scenario, Signaling};
use slotwise_units::{Bytes, Instant};

use crate::record::{Recording, TableName, mean};

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
    access_bps: u64,
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

fn port_names(scenario: &Scenario) -> Vec<String> {
    let fibres = scenario
        .edges
        .iter()
        .flat_map(|edge| edge.fibres.iter().map(move |fibre| (edge.id, fibre.core)));
    fibres
        .flat_map(|(edge, core)| [format!("edge{edge}->core{core}"), format!("core{core}->edge{edge}")])
        .collect()
}

fn access_names(scenario: &Scenario) -> Vec<String> {
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

/// The names of a table of a star's recording, in the order of its rows.
pub fn names(scenario: &Scenario, table: TableName) -> Vec<String> {
    match table {
        TableName::Links
        | TableName::Stations
        | TableName::Outputs
        | TableName::Switches
        | TableName::Trains
        | TableName::Delays
        | TableName::Fairness
        | TableName::Reactions
        | TableName::Order
        | TableName::Gtp
        | TableName::Kept
        | TableName::Sessions
        | TableName::Distances
        | TableName::Numbers => Vec::new(),
        TableName::Control => stars(scenario).into_iter().map(|star| star.name).collect(),
        TableName::Clocks => followers(scenario).into_iter().map(|(_, _, name)| name).collect(),
        TableName::Flows => {
            let phases = 0..scenario.phases.len();
            let flows = phases.flat_map(|phase| scenario.flows(phase));
            flows.map(|flow| flow_name(scenario, &flow)).collect()
        }
        TableName::Queues => queues(scenario).into_iter().map(|queue| queue.name).collect(),
        TableName::Ports => port_names(scenario),
        TableName::Access => access_names(scenario),
    }
}

impl Recorder {
    /// A recorder with a row a name every `sample_frames` frames, from the first phase on.
    pub fn new(scenario: &Scenario, sample_frames: u32) -> Recorder {
        let flow_names = names(scenario, TableName::Flows);
        Recorder {
            recording: Recording::default(),
            epoch_ns: scenario.epoch().ns(),
            end_ns: scenario.end().ns(),
            sample_ns: u64::from(sample_frames.max(1)) * scenario.frame.length().ns(),
            at_ns: scenario.epoch().ns(),
            access_bps: scenario.hosts.access_rate.bps(),
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
        let period_ns = fabric.now().ns().saturating_sub(self.at_ns);
        if period_ns == 0 {
            return;
        }
        self.at_ns = fabric.now().ns();
        let time_s = self.at_ns.saturating_sub(self.epoch_ns) as f64 / 1e9;
        self.sample_queues(fabric, time_s, period_ns as f64);
        self.sample_ports(fabric, time_s, period_ns as f64);
        self.sample_access(fabric, time_s, period_ns as f64);
        self.sample_flows(fabric, time_s, period_ns as f64);
        self.sample_control(control, time_s, period_ns as f64);
        self.sample_clocks(fabric, time_s);
    }

    /// After queues and ports, which count what it needs.
    fn sample_control(&mut self, control: &[ControlUse], time_s: f64, period_ns: f64) {
        for (index, star) in self.stars.iter_mut().enumerate() {
            let now = control.get(index).copied().unwrap_or_default();
            let message_bytes = match self.signaling {
                Signaling::InBand => star.light_bytes.saturating_sub(star.data_bytes),
                Signaling::OutOfBand => (now.messages - star.before.messages).get(),
            };
            let edge_slots = star.fibres as f64 * period_ns / self.slot_ns;
            let edge_bytes = star.fibres as f64 * period_ns * star.rate_bps as f64 / 8e9;
            let schedules = now.schedules - star.before.schedules;
            if schedules > 0 {
                let frames = (now.delay_frames - star.before.delay_frames) as f64 / schedules as f64;
                star.delay_slots = frames * self.frame_slots;
            }
            let row = [
                time_s,
                100.0 * (1.0 - star.granted_slots as f64 / edge_slots),
                100.0 * message_bytes as f64 / edge_bytes,
                schedules as f64,
                star.delay_slots,
            ];
            self.recording.control.push(&star.name, row);
            (star.granted_slots, star.data_bytes, star.light_bytes) = (0, 0, 0);
            star.before = now;
        }
    }

    fn sample_clocks(&mut self, fabric: &mut World, time_s: f64) {
        if self.followers.is_empty() {
            return;
        }
        let star = fabric.of_kind_mut::<kinds::Star>();
        let errors = star.map_or_else(Vec::new, |mut star| star.take_sync_errors());
        for (edge, core, name) in &self.followers {
            let of_card = errors.iter().find(|(at, to, _)| (at, to) == (edge, core));
            let error = of_card.map(|(_, _, error)| *error).unwrap_or_default();
            let row = [
                time_s,
                error.slots as f64,
                error.max.ns() as f64,
                error.min.ns() as f64,
                mean(error.sum.ns() as f64, error.slots),
                error.max.abs().max(error.min.abs()).ns() as f64,
            ];
            self.recording.clocks.push(name, row);
        }
    }

    fn sample_queues(&mut self, fabric: &mut World, time_s: f64, period_ns: f64) {
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
            let row = [
                time_s,
                used.backlog_bytes.get() as f64,
                used.backlog_packets as f64,
                used.backlog_time.byte_ns() as f64 / period_ns,
                used.most_backlog_bytes.get() as f64,
                used.granted_slots as f64,
                (used.granted_slots * queue.slot_bytes) as f64,
                used.sent_bytes.get() as f64,
                used.sent_packets as f64,
                used.arrived_packets as f64,
                used.dropped_packets as f64,
            ];
            self.recording.queues.push(&queue.name, row);
        }
    }

    fn sample_ports(&mut self, fabric: &World, time_s: f64, period_ns: f64) {
        let links = fabric
            .of_kind::<kinds::Star>()
            .map_or_else(Vec::new, |star| star.links());
        self.ports.resize(links.len(), LinkUse::default());
        for (LinkReport { from, to, used }, before) in links.iter().zip(&mut self.ports) {
            let row = [
                time_s,
                (used.busy - before.busy).ns() as f64 / period_ns,
                (used.bytes - before.bytes).get() as f64,
                (used.packets - before.packets) as f64,
            ];
            let to_core = self.stars.iter_mut().find(|star| Device::Core(star.core) == *to);
            if let Some(star) = to_core {
                star.light_bytes += (used.bytes - before.bytes).get();
            }
            self.recording.ports.push(&format!("{from}->{to}"), row);
            *before = *used;
        }
    }

    fn sample_access(&mut self, fabric: &World, time_s: f64, period_ns: f64) {
        let links = fabric.access_links();
        self.access.resize(links.len(), Default::default());
        let bytes_a_period = self.access_bps as f64 * period_ns / 8e9;
        for (link, before) in links.iter().zip(&mut self.access) {
            let (host, edge) = (link.host, link.host.edge);
            let directions = [
                (format!("{host}->edge{edge}"), link.up, before.0),
                (format!("edge{edge}->{host}"), link.down, before.1),
            ];
            for (name, used, before) in directions {
                let row = [
                    time_s,
                    (used.bytes - before.bytes).get() as f64 / bytes_a_period,
                    (used.bytes - before.bytes).get() as f64,
                    (used.packets - before.packets) as f64,
                    (used.dropped_packets - before.dropped_packets) as f64,
                ];
                self.recording.access.push(&name, row);
            }
            *before = (link.up, link.down);
        }
    }

    fn sample_flows(&mut self, fabric: &mut World, time_s: f64, period_ns: f64) {
        let delays = fabric.take_flow_delays();
        let results = fabric.flow_results();
        for (index, (result, (_, delay))) in results.iter().zip(delays).enumerate() {
            let DelayUse { packets, sum, max } = delay;
            if packets > 0 {
                self.delays_ms[index] = (sum.milliseconds() / packets as f64, max.milliseconds());
            }
            let bytes = result.received_bytes - std::mem::replace(&mut self.flow_bytes[index], result.received_bytes);
            let goodput_kbps = bytes.get() as f64 * 8e6 / period_ns;
            let row = self.flow_row(result, time_s, goodput_kbps, self.delays_ms[index]);
            self.recording.flows.push(&self.flow_names[index], row);
        }
    }

    /// In the order of [`crate::record::FLOW_COLUMNS`]; of datagrams window, round trip and rate are 0.
    fn flow_row(
        &self,
        result: &FlowResult,
        time_s: f64,
        goodput_kbps: f64,
        (delay_ms, longest_ms): (f64, f64),
    ) -> [f64; 9] {
        let stream = result.stream.unwrap_or_default();
        let window_packets = mean(stream.window.get() as f64, stream.mss.get());
        let srtt = stream.srtt.unwrap_or_default();
        [
            time_s,
            window_packets,
            srtt.milliseconds(),
            // byte/ns = 1e6 kbyte/s.
            mean(window_packets * f64::from(self.mtu) * 1e6, srtt.ns()),
            goodput_kbps,
            delay_ms,
            longest_ms,
            stream.retransmissions as f64,
            stream.timeouts as f64,
        ]
    }

    /// All that was written down.
    pub fn finish(self) -> Recording {
        self.recording
    }
}
