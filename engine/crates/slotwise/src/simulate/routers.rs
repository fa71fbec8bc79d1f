// SPDX-License-Identifier: Apache-2.0
//! A network of routers in virtual time, its controller's application `routes` in lock step.

use serde_json::{Value, json};
use slotwise_fabric::Fabric;
use slotwise_reproduce::routed::{FlowTotals, RoutedRecorder};
use slotwise_scenario::{FlowGroup, RoutedScenario, Source};

use super::{COMMAND, Ended, Programs, SimulateArgs, conclude, write_columns};
use crate::interrupts::Interrupts;
use crate::live::{LinkNow, LiveView, Snapshot};
use crate::lockstep::Session;
use crate::report::Report;
use crate::routers::{PHASE, report};
use crate::run::{Gathered, PhaseRun, RunError, invariants};

const NS_PER_MS: u64 = 1_000_000;

/// Runs a session to the end of its scenario and says what it did.
///
/// # Errors
/// When the controller does not end.
pub(super) fn simulate(
    args: &SimulateArgs,
    scenario: &RoutedScenario,
    mut session: Session,
    programs: Programs,
    interrupts: &Interrupts,
) -> Result<Report, RunError> {
    let mut recorder = RoutedRecorder::new(scenario, &session.fabric);
    let ended = run(scenario, &mut session, &mut recorder, interrupts);
    let Ended {
        fabric,
        choices,
        controller,
        mut failures,
        notes,
    } = conclude(&args.run, session, ended)?;
    failures.extend(strange_bytes(&recorder));
    if let Some(directory) = &args.columns {
        failures.extend(write_columns(directory, recorder.recording()).err());
    }
    let end_ns = fabric.now();
    let gathered = Gathered {
        command: COMMAND,
        phases: vec![PhaseRun {
            start_ns: 0,
            end_ns,
            flows: flows(scenario, |_| true, recorder.flows(), end_ns),
            files: Vec::new(),
        }],
        frames: Vec::new(),
        lateness: None,
        switch_answers: None,
        choices,
        programs,
        controller,
        controller_restarts: 0,
        failures,
        notes,
    };
    Ok(report(scenario, &fabric, gathered, recorder.recording()))
}

/// False if it was interrupted before its end.
fn run(
    scenario: &RoutedScenario,
    session: &mut Session,
    recorder: &mut RoutedRecorder,
    interrupts: &Interrupts,
) -> Result<bool, RunError> {
    let mut view = LiveView::new();
    while let Some(at_ns) = recorder.next_ns() {
        if interrupts.count() > 0 {
            return Ok(false);
        }
        let advanced = session.run_until(at_ns);
        session.listen();
        advanced?;
        recorder.sample(&mut session.fabric);
        view.show(&snapshot(scenario, &session.fabric, recorder));
    }
    Ok(true)
}

/// What happened in the last period.
fn snapshot(scenario: &RoutedScenario, fabric: &Fabric, recorder: &RoutedRecorder) -> Snapshot {
    Snapshot {
        now_ns: fabric.now(),
        end_ns: scenario.duration_ms * NS_PER_MS,
        phase: PHASE.into(),
        links: recorder.last_links().map(LinkNow::from).collect(),
        violations: invariants(fabric).total(),
        ..Snapshot::default()
    }
}

/// That bytes of a flow arrived that are not what was sent, if any did.
pub fn strange_bytes(recorder: &RoutedRecorder) -> Option<String> {
    let (flow, bytes) = recorder.wrong_bytes()?;
    Some(format!("flow {flow}: {bytes} bytes arrived that are not what was sent"))
}

/// Flows as a phase of a star has them: those of groups that `is_played`, of which the totals are.
pub fn flows(
    scenario: &RoutedScenario,
    is_played: impl Fn(&FlowGroup) -> bool,
    totals: &[FlowTotals],
    duration_ns: u64,
) -> Vec<Value> {
    let of_group = |(entry, group): (usize, &FlowGroup)| {
        let (from, to) = (&scenario.hosts[group.from].name, &scenario.hosts[group.to].name);
        let (kind, transport) = match group.source {
            Source::Stream { .. } => ("tcp", Some(group.transport.name())),
            Source::Udp { .. } => ("udp", None),
            Source::Web { .. } => ("web", Some(group.transport.name())),
        };
        let ends =
            (0..scenario.hosts[group.from].count).map(|index| (format!("{from}.{index}"), format!("{to}.{index}")));
        ends.map(
            move |(from, to)| json!({"kind": kind, "transport": transport, "entry": entry, "from": from, "to": to}),
        )
        .collect::<Vec<Value>>()
    };
    let played = scenario.flows.iter().enumerate().filter(|(_, group)| is_played(group));
    let mut flows: Vec<Value> = played.flat_map(of_group).collect();
    for (flow, total) in flows.iter_mut().zip(totals) {
        let used = &total.used;
        flow["name"] = json!(total.name);
        flow["received_packets"] = json!(used.packets);
        flow["bytes"] = json!(used.delivered_bytes);
        flow["seconds"] = json!(duration_ns as f64 / 1e9);
        flow["goodput_bps"] = json!(used.delivered_bytes as f64 * 8e9 / duration_ns.max(1) as f64);
        flow["delay_ns"] = match used.packets {
            0 => Value::Null,
            packets => json!({"mean": used.delay_sum_ns as f64 / packets as f64, "max": used.delay_max_ns}),
        };
        if flow["transport"].is_string() {
            flow["stream"] = json!({
                "retransmissions": used.retransmissions,
                "timeouts": used.timeouts,
                "srtt_ns": used.srtt_ns,
                "window_bytes": used.window_bytes,
            });
        }
    }
    flows
}
