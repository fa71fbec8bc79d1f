// SPDX-License-Identifier: Apache-2.0
//! A fibre that is dark for several reasons at once: what ends one of them leaves the others.

use crate::support;

use slotwise_kinds::{ControlMessage, HostMode, World};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::Instant;
use support::*;

const EDGE: u16 = 2;
const NS_PER_MS: u64 = 1_000_000;

/// Cuts of edge 2's fibre, and link changes of it: (ms, what).
fn scenario(changes: &[(u64, &str)]) -> Scenario {
    let head = &STAR4[..STAR4.find("phases:").unwrap()];
    let changes: String = changes
        .iter()
        .map(|(at_ms, what)| format!("  - {{at_ms: {at_ms}, core: 0, edge: {EDGE}, {what}}}\n"))
        .collect();
    let text = format!(
        "{head}optics: {{launch_mdbm: 0, sensitivity_mdbm: -28000, margin_mdb: 3000}}\n\
         phases:\n  - {{name: silence, duration_ms: 4000, flows: []}}\n\
         faults:\n  - {{kind: link-down, every_ms: 1500, for_ms: 400, edge: {EDGE}}}\n\
         changes:\n{changes}"
    );
    Scenario::parse(text.as_bytes()).unwrap()
}

/// When the first cut begins and ends, in whole ms of the run.
fn cut_ms() -> (u64, u64) {
    let scenario = scenario(&[(0, "loss: 0.0")]);
    let fabric = World::new(&scenario, options(HostMode::Simulated));
    let cut = &fabric.faults()[0];
    let since = |ns: u64| (ns - scenario.epoch().ns()) / NS_PER_MS;
    (since(cut.start.ns()), since(cut.end.ns()))
}

/// (ms of the run, whether there is light) at each change that the edge sees until the first cut is long over.
fn light(scenario: &Scenario) -> Vec<(u64, bool)> {
    let mut fabric = World::new(scenario, options(HostMode::Simulated));
    let mut seen = Vec::new();
    let end_ns = fabric.faults()[0].end.ns() + 500 * NS_PER_MS;
    while fabric.run_until_control(Instant::from_ns(end_ns)) {
        while let Some(event) = fabric.poll_control() {
            if let (true, ControlMessage::Link { is_up, .. }) =
                (event.device_id == Device::Edge(EDGE).id(), event.message)
            {
                seen.push(((event.at.ns() - scenario.epoch().ns()) / NS_PER_MS, is_up));
            }
        }
    }
    assert!(fabric.faults()[0].happened);
    seen
}

#[test]
fn a_cut_that_begins_in_the_dark_is_mended_at_its_end() {
    let (start_ms, end_ms) = cut_ms();
    let (dark, good) = ("attenuation_mdb: 40000", "attenuation_mdb: 0");
    let early = scenario(&[(start_ms - 50, dark), (start_ms + 50, good)]);
    assert_eq!(light(&early), [(start_ms - 50, false), (end_ms, true)]);
    let late = scenario(&[(start_ms - 50, dark), (end_ms + 50, good)]);
    assert_eq!(light(&late), [(start_ms - 50, false), (end_ms + 50, true)]);
}

#[test]
fn the_end_of_a_cut_lights_no_fibre_that_was_taken_down() {
    let (start_ms, end_ms) = cut_ms();
    let taken_down = scenario(&[(start_ms + 50, "up: false"), (end_ms + 100, "up: true")]);
    assert_eq!(light(&taken_down), [(start_ms, false), (end_ms + 100, true)]);
}
