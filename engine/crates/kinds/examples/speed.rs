// SPDX-License-Identifier: Apache-2.0
//! Speed of the engine: star4 with saturating sources and a fixed schedule, in virtual time, on one thread.
//!
//! `cargo run --release -p slotwise-kinds --example speed [MILLISECONDS]`

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use slotwise_kinds::{self as kinds, HostMode};
use support::{rotation, star, star4};

fn main() {
    let milliseconds: u64 = std::env::args()
        .nth(1)
        .map_or(2000, |text| text.parse().expect("a number of milliseconds"));
    let scenario = star4(&format!(
        "  - {{name: all, duration_ms: {milliseconds}, flows: [{{from: all, to: all}}]}}"
    ));
    let mut world = star(&scenario, HostMode::Simulated, &rotation(&scenario));
    let start = Instant::now();
    while world.now() < scenario.end() {
        world.run_until(world.now() + scenario.frame.length());
        while world.of_kind_mut::<kinds::Star>().unwrap().poll_frame().is_some() {}
        while world.poll_control().is_some() {}
    }
    let wall_s = start.elapsed().as_secs_f64();
    let simulated_s = (scenario.end() - scenario.epoch()).seconds();
    let packets: u64 = world
        .of_kind::<kinds::Star>()
        .unwrap()
        .links()
        .iter()
        .map(|link| link.used.packets)
        .sum();
    let received: u64 = world.flow_results().iter().map(|flow| flow.received_packets).sum();
    println!(
        "{simulated_s} s simulated in {wall_s:.3} s: {:.2} times as fast",
        simulated_s / wall_s
    );
    println!(
        "{:.0} packets/s over fibres, {:.0} packets/s received",
        packets as f64 / wall_s,
        received as f64 / wall_s
    );
    println!("invariants held: {}", world.invariants().held());
}
