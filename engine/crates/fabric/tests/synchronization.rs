// SPDX-License-Identifier: Apache-2.0
//! Edges with clocks of their own: they join by invitation and follow the master's clock, all in P4.

mod support;

use slotwise_fabric::{Fabric, Invariant};
use slotwise_scenario::Scenario;
use support::members::*;
use support::*;

/// Tens of ppm, and a walk of a thousandth of them each millisecond.
const CLOCKS: &str = "{max_offset_ns: 400000000, max_drift_ppb: 50000, walk_ppb: 50, step_ns: 1000000}";
const SILENCE: &str = "  - {name: silence, duration_ms: 10000, traffic: []}";

fn joined(scenario: &Scenario) -> Fabric {
    let mut fabric = star_of_strangers(scenario, &rotation(scenario));
    for edge in 1..scenario.edges.len() as u16 {
        join(&mut fabric, scenario, edge, u32::from(edge));
    }
    fabric
}

#[test]
fn edges_with_clocks_of_their_own_meet_the_slots_of_the_core() {
    let scenario = drifting_star4(CLOCKS, SILENCE);
    let mut fabric = joined(&scenario);
    let frame_ns = scenario.frame.frame_ns();
    fabric.run_until(fabric.now() + 10 * frame_ns);
    assert!(fabric.invariants().held(), "{:?}", fabric.invariants());
    fabric.reset_sync_errors();
    fabric.run_until(fabric.now() + 400 * frame_ns);
    for (edge, error) in fabric.sync_errors() {
        println!("{edge}: {error:?}");
        assert_eq!(error.slots, 400 * u64::from(scenario.frame.slots));
        assert!(error.max_ns < 100 && error.min_ns > -100, "edge {edge}: {error:?}");
    }
    assert_eq!(fabric.invariants().count(Invariant::Guard), 0);
    assert!(fabric.invariants().held(), "{:?}", fabric.invariants());
}
