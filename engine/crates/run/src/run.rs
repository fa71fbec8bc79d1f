// SPDX-License-Identifier: Apache-2.0
//! What `emulate` and `simulate` have in common: arguments, scenario, captures, report.

mod arguments;

use std::collections::BTreeMap;

use serde_json::Value;
use slotwise_kinds::{self as kinds, FrameRecord, World};
use slotwise_observe::Recording;
use slotwise_observe::compared::{About, Demand, network_text};
use slotwise_observe::facts::{HotPairQuery, hot_pair};
use slotwise_observe::faults::fault_report;
use slotwise_observe::flow::FlowReport;
use slotwise_observe::lateness::{Beat, Tunnel};
use slotwise_observe::per_star::{per_star, voqs_between};
use slotwise_observe::report::{
    DropCount, FrameShape, GrantLatency, Invariants, Moment, PairSeries, PhaseReport, REPORT_VERSION, Report, Series,
    Synchronization, Verdict, Versions,
};
use slotwise_observe::series;
use slotwise_observe::stream::NetworkShape;
use slotwise_observe::unfinished::unfinished;
use slotwise_observe::{bursts, sessions, shares};
use slotwise_scenario::{Endpoint, Scenario, TrafficKind};
use slotwise_units::{Bytes, Instant};

pub use arguments::{LoadError, RunArgs, check_free, finish_captures, load_source, port};

use slotwise_control::schedulers::unscheduled;

use crate::driver::Ended;

/// A phase that has been run.
#[derive(Debug, Default, Clone)]
pub struct PhaseRun {
    /// Start in fabric time.
    pub start: Instant,
    /// End in fabric time.
    pub end: Instant,
    /// Flows.
    pub flows: Vec<FlowReport>,
    /// Files.
    pub files: Vec<Value>,
    /// How many flows hosts of Linux played without telling what came of them, as the run ended before they did.
    pub lost_flows: usize,
}

/// Start of the first phase, or of a run without phases.
fn start_of(phases: &[PhaseRun]) -> Instant {
    phases.first().map_or(Instant::ZERO, |phase| phase.start)
}

/// Removes from a controller's statistics the frames of schedulers that never failed, which only the verdict needs.
fn for_report(mut statistics: Value) -> Value {
    if let Some(fields) = statistics.as_object_mut() {
        fields.remove("schedulers");
    }
    statistics
}

/// Names switches of which it is not known what their programs dropped.
fn uncounted(fabric: &World) -> Option<String> {
    let devices: Vec<_> = fabric
        .devices()
        .filter(|&device| fabric.p4_drops(device).is_none())
        .collect();
    let first = devices.first()?;
    Some(format!(
        "P4 drops unknown for {} of {} switches (first: {first}): the program does not count them",
        devices.len(),
        fabric.devices().count()
    ))
}

/// Returns violated invariants, and losses that the network and P4 count differently.
pub fn violations(fabric: &World) -> Vec<String> {
    let mut failures: Vec<String> = invariants(fabric).failure().into_iter().collect();
    let star = fabric.of_kind::<kinds::Star>();
    let losses = |core: u16| star.as_ref()?.core_losses(core).map(|losses| (core, losses));
    for (core, losses) in (0..).map_while(losses).filter(|(_, losses)| losses.fabric != losses.p4) {
        let (fabric, p4) = (losses.fabric, losses.p4);
        failures.push(format!(
            "core {core}: loss count mismatch: network model {fabric}, P4 {p4}"
        ));
    }
    failures
}

/// Makes the report of a run, of which `frames` ended and `samples` were sampled.
pub fn report(
    (command, scenario): (&str, &Scenario),
    ended: Ended,
    (frames, samples): (Vec<FrameRecord>, Vec<Moment>),
    programs: BTreeMap<&'static str, String>,
) -> Report {
    let Ended {
        fabric,
        phases,
        lateness,
        switch_answers,
        choices,
        controller,
        mut earlier,
        controller_restarts,
        after_faults,
        workloads,
        recording,
        mut failures,
        mut notes,
    } = ended;
    let (fabric, recording) = (&fabric, &recording);
    let (sessions, distance) = sessions::series(recording);
    let series = Series {
        sessions,
        distance,
        links: series::link_series(scenario, recording),
        time_ms: series::period_times_ms(scenario, recording),
        bursts: bursts::of(&recording.switches),
        tables: series::table_series(recording),
        samples,
        ..series(scenario, &frames)
    };
    failures.extend(violations(fabric));
    let beat = match scenario.has_star() {
        true => Beat::Slots(scenario.frame.slot),
        false => Beat::Periods(scenario.frame.slot),
    };
    notes.extend(lateness.as_ref().and_then(|lateness| lateness.note(beat)));
    notes.extend(
        lateness
            .iter()
            .flat_map(|lateness| &lateness.tunnels)
            .filter_map(Tunnel::note),
    );
    let unscheduled = unscheduled(earlier.statistics().chain([&controller]));
    failures.extend(unscheduled.failures);
    notes.extend(unscheduled.notes);
    notes.extend(std::mem::take(&mut earlier.notes));
    notes.extend(uncounted(fabric));
    notes.extend(scenario.notes().iter().map(ToString::to_string));
    let faults = fault_report(fabric, &scenario.faults, &after_faults);
    notes.extend(faults.notes(start_of(&phases)));
    let hotspot_pairs = hotspot_pairs(scenario, &series, &phases);
    let duration_ns = phases.last().map_or(Instant::ZERO, |phase| phase.end) - start_of(&phases);
    let phases: Vec<PhaseReport> = scenario
        .phases
        .iter()
        .zip(phases)
        .map(|(phase, run)| PhaseReport {
            name: phase.name.clone(),
            start_ns: run.start,
            end_ns: run.end,
            flows: run.flows,
            files: run.files,
            lost_flows: run.lost_flows,
        })
        .collect();
    failures.extend(unfinished(scenario, &phases));
    Report {
        version: REPORT_VERSION,
        command: command.to_owned(),
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        duration_ns,
        network: NetworkShape::of(scenario),
        frame: frame_shape(scenario),
        versions: Versions {
            engine: env!("CARGO_PKG_VERSION").to_owned(),
            programs: programs
                .into_iter()
                .map(|(name, digest)| (name.to_owned(), digest))
                .collect(),
        },
        scheduler: choices.first.filter(|scheduler| !scheduler.is_null()),
        changes: choices.changes,
        verdict: Verdict {
            ok: failures.is_empty(),
            failures,
            notes,
        },
        invariants: invariants(fabric),
        lateness,
        beat,
        synchronization: synchronization(scenario, fabric),
        stars: per_star(scenario, fabric, &frames),
        grant_latency: grant_latency(fabric),
        switch_answers,
        phases,
        shares: scenario
            .ring
            .as_ref()
            .map_or_else(Vec::new, |_| shares::of(&recording.fairness)),
        hotspot_pairs,
        controller: for_report(controller),
        earlier_reroutes: earlier
            .statistics()
            .filter_map(|statistics| statistics["reroutes"].as_u64())
            .sum(),
        controller_restarts,
        workloads,
        faults,
        drops: drops(fabric),
        series,
        about: about(scenario, recording),
    }
}

/// Returns facts of a scenario for the summary.
fn about(scenario: &Scenario, recording: &Recording) -> About {
    let has_macroflows = scenario.ops.as_ref().is_some_and(|ops| ops.macroflows.is_some());
    About {
        network: network_text(scenario),
        demands: Demand::all(scenario),
        max_min: match has_macroflows {
            true => shares::of(&recording.fairness),
            false => Vec::new(),
        },
    }
}

/// How a star cuts time; none of other networks.
pub fn frame_shape(scenario: &Scenario) -> Option<FrameShape> {
    scenario.has_star().then(|| FrameShape {
        slots: scenario.frame.slots,
        signaling_slots: scenario.signaling_slots(),
        slot_ns: scenario.frame.slot,
        guard_ns: scenario.frame.guard,
    })
}

/// Columns of the ordered edge pairs, over all cores.
pub fn series(scenario: &Scenario, frames: &[FrameRecord]) -> Series {
    let edges = scenario.edges.len();
    let voqs = usize::from(scenario.voq_count());
    let mut pairs = Vec::new();
    for from in 0..edges {
        for to in (0..edges).filter(|&to| to != from) {
            let cells = |record| voqs_between(record, (edges, voqs), from, to);
            pairs.push(PairSeries {
                from: from as u16,
                to: to as u16,
                demand_bytes: frames
                    .iter()
                    .map(|record| cells(record).map(|cell| cell.demand).sum())
                    .collect(),
                granted_slots: frames
                    .iter()
                    .map(|record| cells(record).map(|cell| cell.granted_slots).sum())
                    .collect(),
                delivered_bytes: frames
                    .iter()
                    .map(|record| cells(record).map(|cell| cell.delivered).sum())
                    .collect(),
            });
        }
    }
    Series {
        frame_ms: frames.iter().map(|record| record.start.ns() as f64 / 1e6).collect(),
        pairs,
        ..Series::default()
    }
}

/// The next frame of a star that is over everywhere.
pub(crate) fn poll_frame(fabric: &mut World) -> Option<FrameRecord> {
    fabric.of_kind_mut::<kinds::Star>()?.poll_frame()
}

pub(crate) fn grant_latency(fabric: &World) -> Option<GrantLatency> {
    let star = fabric.of_kind::<kinds::Star>()?;
    let waits = star.grant_latency();
    Some(GrantLatency {
        count: waits.count(),
        unserved: star.unserved_demand(),
        p50_ns: waits.quantile(0.5),
        p99_ns: waits.quantile(0.99),
        max_ns: waits.max(),
    })
}

fn synchronization(scenario: &Scenario, fabric: &World) -> Vec<Synchronization> {
    if !scenario.joins_by_invitation() {
        return Vec::new();
    }
    let star = fabric.of_kind::<kinds::Star>();
    let errors = star.map_or_else(Vec::new, |star| star.sync_errors());
    errors
        .into_iter()
        .map(|(edge, core, error)| Synchronization {
            edge,
            core,
            slots: error.slots,
            max_ns: error.max,
            min_ns: error.min,
            mean_ns: error.sum.ns() as f64 / error.slots.max(1) as f64,
        })
        .collect()
}

pub(crate) fn invariants(fabric: &World) -> Invariants {
    let found = fabric.invariants();
    let first = found.checked().iter().flat_map(|&kind| {
        found.first(kind).iter().map(move |violation| {
            let packet = violation.packet.map_or("no optical header".into(), |packet| {
                format!(
                    "packet {} of queue {}, edge {} to edge {}",
                    packet.sequence, packet.queue, packet.src_edge, packet.dst_edge
                )
            });
            format!("{} at {}, {}: {packet}", kind.name(), violation.at, violation.place)
        })
    });
    Invariants {
        counts: found
            .checked()
            .iter()
            .map(|&kind| (kind.name().to_owned(), found.count(kind)))
            .collect(),
        called: found
            .checked()
            .iter()
            .map(|kind| (kind.name(), kind.broken()))
            .collect(),
        first: first.collect(),
    }
}

pub(crate) fn drops(fabric: &World) -> Vec<DropCount> {
    let by_fabric = fabric.drops().iter().map(|(place, cause, count)| DropCount {
        location: place.to_string(),
        reason: cause.name().into(),
        packets: count.packets,
    });
    let by_p4 = fabric.devices().flat_map(|device| {
        fabric
            .p4_drops(device)
            .unwrap_or_default()
            .into_iter()
            .map(move |drop| DropCount {
                location: device.to_string(),
                reason: format!("p4:{:?}", drop.reason),
                packets: drop.packets,
            })
    });
    by_fabric.chain(by_p4).collect()
}

/// The hot pairs: entries of greedy TCP from one edge (or host) to another.
fn hotspot_pairs(scenario: &Scenario, series: &Series, phases: &[PhaseRun]) -> Vec<slotwise_observe::facts::HotPair> {
    let edge_of = |endpoint: Endpoint| match endpoint {
        Endpoint::All => None,
        Endpoint::Edge(edge) => Some(edge),
        Endpoint::Host(host) => Some(host.edge),
    };
    let mut found = Vec::new();
    for (phase, run) in scenario.phases.iter().zip(phases) {
        for traffic in phase
            .traffic
            .iter()
            .filter(|traffic| matches!(traffic.kind, TrafficKind::Tcp { rate: None, .. }))
        {
            let (Some(from), Some(to)) = (edge_of(traffic.from), edge_of(traffic.to)) else {
                continue;
            };
            let cores = scenario.common_cores(from, to);
            let fibres = &scenario.edges[usize::from(from)].fibres;
            let common = fibres.iter().filter(|fibre| cores.contains(&fibre.core));
            let Some(fibre) = common.min_by_key(|fibre| fibre.rate.bps()) else {
                continue;
            };
            let ms = |at: Instant| at.since_start().milliseconds();
            let frame_at = |at: Instant| series.frame_ms.partition_point(|&frame| frame < ms(at));
            // Over the whole phase, as the slots are: the flows' own rates leave out their start and end.
            let bytes: Bytes = run
                .flows
                .iter()
                .filter(|flow| is_between(flow, from, to) && !flow.is_of_run())
                .map(|flow| flow.phase_bytes.unwrap_or(flow.bytes))
                .sum();
            let goodput_bps = bytes.get() as f64 * 8e9 / run.end.saturating_since(run.start).ns().max(1) as f64;
            let packets_a_slot = scenario.slot_capacity(fibre) / scenario.wire_mtu();
            found.extend(hot_pair(
                series,
                &HotPairQuery {
                    from,
                    to,
                    senders: scenario.sharing_port(&cores, from),
                    receivers: scenario.sharing_port(&cores, to),
                    start_frame: frame_at(run.start),
                    end_frame: frame_at(run.end),
                    data_slots: scenario.data_slots() * cores.len() as u32,
                    slot: packets_a_slot * scenario.wire_mtu(),
                    slot_payload: scenario.slot_payload(fibre),
                    frame: scenario.frame.length(),
                    phase_ms: (ms(run.start), ms(run.end)),
                    goodput_bps,
                },
            ));
        }
    }
    found
}

fn is_between(flow: &FlowReport, from: u16, to: u16) -> bool {
    let edge = |host: &str| match Endpoint::parse(host) {
        Some(Endpoint::Host(host)) => Some(host.edge),
        _ => None,
    };
    edge(&flow.from) == Some(from) && edge(&flow.to) == Some(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_control::network::Network;

    #[test]
    fn a_star_is_known_before_its_switches_have_programs() {
        let of = |text: &[u8]| grant_latency(&Network::parse(text).unwrap().empty_fabric()).is_some();
        assert!(of(include_bytes!("../../../../topologies/star4.yaml")));
        assert!(of(include_bytes!("../../../../topologies/mixed.yaml")));
        assert!(!of(include_bytes!("../../../../topologies/ring8.yaml")));
    }
}
