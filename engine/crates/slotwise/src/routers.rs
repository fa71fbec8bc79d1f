// SPDX-License-Identifier: Apache-2.0
//! The report of a network of routers, in virtual time or live.

use slotwise_fabric::Fabric;
use slotwise_reproduce::Recording;
use slotwise_scenario::RoutedScenario;

use crate::faults::fault_report;
use crate::report::{LinkSeries, PhaseReport, REPORT_VERSION, Report, Series, Verdict, Versions};
use crate::run::{Gathered, drops, invariants};

/// The only phase of such a run.
pub const PHASE: &str = "run";

/// By what the lateness of a live run is measured, where slots are the measure of stars.
pub const PERIOD_NS: u64 = 1_000_000;

/// Makes the report of a finished run, whose links are in `recording`.
pub fn report(scenario: &RoutedScenario, fabric: &Fabric, gathered: Gathered, recording: &Recording) -> Report {
    let Gathered {
        command,
        phases,
        frames: _,
        lateness,
        switch_answers,
        choices,
        programs,
        controller,
        controller_restarts,
        mut failures,
        mut notes,
    } = gathered;
    let invariants = invariants(fabric);
    failures.extend(invariants.failure());
    notes.extend(lateness.as_ref().and_then(|lateness| lateness.note(PERIOD_NS)));
    Report {
        version: REPORT_VERSION,
        command,
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        duration_ns: phases.last().map_or(0, |phase| phase.end_ns) - phases.first().map_or(0, |phase| phase.start_ns),
        frame: None,
        versions: Versions {
            engine: env!("CARGO_PKG_VERSION"),
            programs,
        },
        scheduler: choices.first.filter(|scheduler| !scheduler.is_null()),
        changes: choices.changes,
        invariants,
        lateness,
        synchronization: Vec::new(),
        stars: Vec::new(),
        first_light: None,
        switch_answers,
        phases: phases
            .into_iter()
            .map(|run| PhaseReport {
                name: PHASE.into(),
                start_ns: run.start_ns,
                end_ns: run.end_ns,
                flows: run.flows,
                files: run.files,
            })
            .collect(),
        hot_pairs: Vec::new(),
        controller,
        controller_restarts,
        faults: fault_report(fabric, &scenario.faults),
        drops: drops(fabric),
        series: series(scenario, recording),
        verdict: Verdict {
            ok: failures.is_empty(),
            failures,
            notes,
        },
    }
}

/// Columns of the links: rows are by period, then by link.
fn series(scenario: &RoutedScenario, recording: &Recording) -> Series {
    let table = &recording.links;
    let count = scenario.links.len();
    let column = |name: &str, link: usize| -> Vec<f64> {
        let numbers = table.column(name).map_or(&[][..], |column| &table.numbers[column]);
        numbers.iter().skip(link).step_by(count.max(1)).copied().collect()
    };
    let whole = |name: &str, link: usize| column(name, link).into_iter().map(|number| number as u64).collect();
    let links = scenario.links.iter().enumerate().map(|(index, link)| LinkSeries {
        name: link.name.clone(),
        utilization: column("utilization", index),
        queue_bytes: whole("queue_bytes", index),
        dropped_packets: whole("dropped_packets", index),
    });
    Series {
        time_ms: column("time_s", 0).into_iter().map(|s| s * 1e3).collect(),
        links: links.collect(),
        ..Series::default()
    }
}
