// SPDX-License-Identifier: Apache-2.0
//! Tables 3.1 and 3.2 of the AAPN thesis, in virtual time: T_d and how far the slots of an edge are from the core's, for
//! fibres of 0, 2, 6.5 and 17 ms (the thesis has seconds), with clocks that drift. CSV on standard output.
//!
//! ```text
//! cargo run --release -p slotwise-kinds --example synchronization [SECONDS [SEEDS]]
//! ```

use slotwise_kinds::{self as kinds, SyncError, World};
use slotwise_scenario::Scenario;
use support::members::{join, next_message, star_of_strangers};
use support::rotation;

#[path = "../tests/support/mod.rs"]
mod support;

const DELAYS_NS: [u64; 4] = [0, 2_000_000, 6_500_000, 17_000_000];
const ACQUISITION_FRAMES: u64 = 20;

fn scenario(seed: u64, drift_ppb: u64) -> Scenario {
    let edge = |id, delay_ns| {
        format!("  - {{id: {id}, hosts: 1, fibres: [{{core: 0, rate_bps: 200000000, delay_ns: {delay_ns}}}]}}\n")
    };
    let slaves: String = (1u64..)
        .zip(DELAYS_NS)
        .map(|(id, delay_ns)| edge(id, delay_ns))
        .collect();
    let text = format!(
        "version: 1\nname: table-3.1\nseed: {seed}\nframe: {{slots: 20, slot_ns: 250000, guard_ns: 10000}}\n\
         cores:\n  - {{id: 0, master: 0}}\nedges:\n{}{slaves}queues: {{limit_bytes: 400000}}\n\
         hosts: {{mtu: 1450, access_rate_bps: 1000000000, access_delay_ns: 1000}}\n\
         controller: {{scheduler: fair, control_latency_ns: 200000, beacon_hold_frames: 8}}\n\
         clocks: {{max_offset_ns: 400000000, max_drift_ppb: {drift_ppb}, walk_ppb: 50, step_ns: 1000000}}\n\
         phases:\n  - {{name: silence, duration_ms: 1000, flows: []}}\n",
        edge(0, 10_000)
    );
    Scenario::parse(text.as_bytes()).unwrap()
}

fn run_frames(world: &mut World, scenario: &Scenario, frames: u64) {
    for _ in 0..frames {
        world.run_until(world.now() + scenario.frame.length());
        while next_message(world).is_some() {}
        while world.of_kind_mut::<kinds::Star>().unwrap().poll_frame().is_some() {}
    }
}

/// Errors while the edges learn how their clocks run, and afterwards; whether all invariants held.
fn measure(seed: u64, drift_ppb: u64, seconds: u64) -> (Vec<SyncError>, Vec<SyncError>, bool) {
    let scenario = scenario(seed, drift_ppb);
    let mut world = star_of_strangers(&scenario, &rotation(&scenario));
    for edge in 1..scenario.edges.len() as u16 {
        join(&mut world, &scenario, edge, u32::from(edge));
    }
    run_frames(&mut world, &scenario, ACQUISITION_FRAMES);
    let errors = |world: &World| {
        world
            .of_kind::<kinds::Star>()
            .unwrap()
            .sync_errors()
            .into_iter()
            .map(|(_, _, error)| error)
            .collect()
    };
    let acquiring = errors(&world);
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(
        &mut world,
        &scenario,
        seconds * 1_000_000_000 / scenario.frame.length().ns(),
    );
    (acquiring, errors(&world), world.invariants().held())
}

fn main() {
    let argument = |index, default| {
        std::env::args()
            .nth(index)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let (seconds, seeds): (u64, u64) = (argument(1, 60), argument(2, 3));
    println!("seed,drift_ppm,delay_ns,slots,max_ns,min_ns,mean_ns,acquiring_max_ns,acquiring_min_ns,invariants_held");
    for drift_ppb in [0, 20_000, 50_000] {
        for seed in 1..=seeds {
            let (acquiring, errors, held) = measure(seed, drift_ppb, seconds);
            for (case, delay_ns) in DELAYS_NS.into_iter().enumerate() {
                let (first, error) = (acquiring[case + 1], errors[case + 1]);
                let mean_ns = error.sum.ns() as f64 / error.slots as f64;
                println!(
                    "{seed},{},{delay_ns},{},{},{},{mean_ns:.2},{},{},{held}",
                    drift_ppb / 1000,
                    error.slots,
                    error.max.ns(),
                    error.min.ns(),
                    first.max.ns(),
                    first.min.ns()
                );
            }
        }
    }
}
