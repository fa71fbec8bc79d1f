// SPDX-License-Identifier: Apache-2.0
//! Flows that the engine played, as a report has them.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Number;
use slotwise_kinds::{FlowResult, World};
use slotwise_observe::flow::{DelayReport, FlowKind, FlowReport, Player, StreamReport};
use slotwise_observe::recorders::routed::{FlowTotals, RoutedRecorder};
use slotwise_observe::unfinished::flow_bytes;
use slotwise_scenario::{FlowGroup, Scenario, Source, TrafficKind};
use slotwise_units::{Bytes, Duration, Instant};

use crate::run::PhaseRun;

/// Bytes that each flow had received by the end of each phase that is over, in the order of [`World::flow_results`].
pub type PhaseBytes = BTreeMap<usize, Vec<Bytes>>;

/// Source of the flows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Players {
    /// The engine.
    Engine,
    /// Linux, and the engine where Linux cannot.
    Both,
}

impl Players {
    fn named(self, flows: Vec<FlowReport>) -> impl Iterator<Item = FlowReport> {
        let played_by = (self == Players::Both).then_some(Player::Engine);
        flows.into_iter().map(move |flow| FlowReport { played_by, ..flow })
    }
}

/// Adds the flows that the engine played to the phases that have begun.
pub fn add_phase_flows(
    phases: &mut [PhaseRun],
    (scenario, fabric): (&Scenario, &World),
    phase_bytes: &PhaseBytes,
    players: Players,
) {
    let results = fabric.flow_results();
    for (index, phase) in phases.iter_mut().enumerate() {
        let planned = Duration::from_ms(scenario.phases[index].duration_ms);
        let during = phase.start..phase.start + planned.min(phase.end - phase.start);
        let flows = phase_flows(&results, index, phase_bytes.get(&index), &during);
        phase.flows.extend(players.named(flows));
    }
}

/// Adds the flows over the whole run that the engine played to the last phase that has begun.
pub fn add_whole_flows(phases: &mut [PhaseRun], scenario: &Scenario, recorder: &RoutedRecorder, players: Players) {
    let start = phases.first().map(|phase| phase.start);
    if let (Some(start), Some(last)) = (start, phases.last_mut()) {
        let is_played = |group: &FlowGroup| players == Players::Engine || !group.is_of_linux();
        let flows = whole_flows(scenario, is_played, recorder.flows(), &(start..last.end));
        last.flows.extend(players.named(flows));
    }
}

/// Results of the flows of a phase, among those of all; `by_its_end` is what each of all had received then, if it is over.
fn phase_flows(
    results: &[FlowResult],
    phase: usize,
    by_its_end: Option<&Vec<Bytes>>,
    during: &Range<Instant>,
) -> Vec<FlowReport> {
    let flows = results.iter().enumerate();
    let flows = flows.filter(|(_, result)| result.flow.phase == phase);
    let flows = flows.map(|(place, result)| {
        let received = result.received_bytes;
        let phase_bytes = by_its_end.map_or(received, |received| received[place]);
        flow(result, phase_bytes, during)
    });
    flows.collect()
}

/// Results of a flow, of which `phase_bytes` came before its phase ended: the others waited in queues.
fn flow(result: &FlowResult, phase_bytes: Bytes, during: &Range<Instant>) -> FlowReport {
    let kind = result.flow.kind;
    let is_sized = matches!(kind, TrafficKind::File { .. });
    let start = result.start.filter(|_| is_sized);
    let own = own_time(start, result.completed, during);
    let delay = result.delay.as_ref().map(|delay| DelayReport {
        min: Some(delay.min),
        mean: delay.mean.ns().into(),
        p99: Some(delay.p99),
        max: delay.max,
    });
    let stream = result.stream.map(|stream| StreamReport {
        retransmissions: stream.retransmissions,
        timeouts: Some(stream.timeouts),
        srtt_ns: Some(stream.srtt),
        window_bytes: Some(stream.window),
    });
    FlowReport {
        kind: match kind {
            TrafficKind::Tcp { .. } => FlowKind::Tcp,
            TrafficKind::Udp { .. } => FlowKind::Udp,
            TrafficKind::File { .. } => FlowKind::File,
            TrafficKind::Web { .. } => FlowKind::Web,
        },
        transport: Some(kind.transport().map(|transport| transport.name().to_owned())),
        entry: result.flow.entry,
        from: result.flow.from.to_string(),
        to: result.flow.to.to_string(),
        offered_bps: Some(result.offered),
        sent_packets: Some(result.sent_packets),
        received_packets: Some(result.received_packets),
        bytes: result.received_bytes,
        phase_bytes: Some(phase_bytes),
        seconds: own.seconds(),
        goodput_bps: phase_bytes.get() as f64 * 8e9 / own.ns() as f64,
        delay_ns: Some(delay),
        completed_ns: Some(result.completed),
        pages: Some(result.pages),
        stream: Some(stream),
        ..FlowReport::default()
    }
}

/// Measurement time of a flow: for a flow of a given size from its start until all had arrived, or its time was over; for others all
/// of it.
fn own_time(sized_start: Option<Instant>, completed: Option<Instant>, all: &Range<Instant>) -> Duration {
    let end = completed.unwrap_or(all.end);
    let start = sized_start.unwrap_or(all.start);
    end.saturating_since(start).max(Duration::from_ns(1))
}

/// Returns the failure of the first flow of which bytes arrived that were not sent, if there is one.
pub fn strange_bytes(recorder: &RoutedRecorder) -> Option<String> {
    let (flow, bytes) = recorder.wrong()?;
    Some(format!("flow {flow}: {} corrupted bytes received", bytes.get()))
}

/// Results of flows over the whole run: of groups that `is_played`, with these totals. Without totals, since somebody else makes all
/// traffic, there are none.
fn whole_flows(
    scenario: &Scenario,
    is_played: impl Fn(&FlowGroup) -> bool,
    totals: &[FlowTotals],
    whole: &Range<Instant>,
) -> Vec<FlowReport> {
    let of_group = |(entry, group): (usize, &FlowGroup)| {
        let ends = scenario
            .host_names(group.from)
            .into_iter()
            .zip(scenario.host_names(group.to));
        let (kind, transport) = match group.source {
            Source::Stream { .. } => (FlowKind::Tcp, Some(group.transport.name())),
            Source::Udp { .. } => (FlowKind::Udp, None),
            Source::Gtp(_) => (FlowKind::Gtp, Some("gtp")),
            Source::Web { .. } => (FlowKind::Web, Some(group.transport.name())),
        };
        // Each two hosts have so many flows, one after another.
        let ends = ends.flat_map(|ends| std::iter::repeat_n(ends, group.each as usize));
        let flows = ends.map(|(from, to)| FlowReport {
            kind,
            transport: Some(transport.map(str::to_owned)),
            entry,
            from,
            to,
            ..FlowReport::default()
        });
        flows.collect::<Vec<FlowReport>>()
    };
    let groups = scenario.routed.flows.iter().enumerate();
    let played = groups.filter(|(_, group)| is_played(group));
    let flows = played.flat_map(of_group).zip(totals);
    flows
        .map(|(flow, total)| with_total(scenario, flow, total, whole))
        .collect()
}

fn with_total(scenario: &Scenario, flow: FlowReport, total: &FlowTotals, whole: &Range<Instant>) -> FlowReport {
    let used = &total.used;
    let is_sized = flow_bytes(scenario, flow.entry).is_some();
    let own = own_time(is_sized.then_some(used.start), used.completed, whole);
    let delay = Number::from_f64(used.delay_sum.ns() as f64 / used.packets as f64).map(|mean| DelayReport {
        min: None,
        mean,
        p99: None,
        max: used.delay_max,
    });
    let stream = StreamReport {
        retransmissions: used.retransmissions,
        timeouts: Some(used.timeouts),
        srtt_ns: Some(Some(used.srtt)),
        window_bytes: Some(used.window),
    };
    FlowReport {
        name: Some(total.name.clone()),
        received_packets: Some(used.packets),
        bytes: used.delivered_bytes,
        seconds: own.seconds(),
        goodput_bps: used.delivered_bytes.get() as f64 * 8e9 / own.ns() as f64,
        completed_ns: Some(used.completed),
        delay_ns: Some(delay),
        stream: flow
            .transport
            .as_ref()
            .is_some_and(Option::is_some)
            .then_some(Some(stream)),
        ..flow
    }
}
