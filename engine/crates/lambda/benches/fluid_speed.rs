// SPDX-License-Identifier: Apache-2.0
//! How fast the fluid mode is: nodes that each calculate once an interval, table VII.2's networks, D to the end beside the time.
//!
//! `cargo bench -p slotwise-lambda` in `engine/`. Times are of the processor's clock on the wall; run it on an idle machine.

use slotwise_lambda::fluid::{Fluid, FluidOptions, Samples};
use slotwise_lambda::published;
use slotwise_units::Duration;

/// Simulated time, s.
const SECONDS: usize = 12;
/// (nodes, sessions of each source).
const SIZES: [(usize, usize); 5] = [(32, 4), (128, 4), (1024, 4), (4096, 4), (16384, 4)];

/// Most memory that this process had, MB; Linux tells.
fn most_memory_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb / 1024)
}

fn main() {
    println!("nodes sessions calculations/s simulated-s/s D/D0 memory-MB");
    for (nodes, fan_out) in SIZES {
        let (nodes, sessions) = published::large(nodes, fan_out, 1);
        let start = std::time::Instant::now();
        let options = FluidOptions {
            seed: 1,
            ..FluidOptions::default()
        };
        let fluid = Fluid::new(&nodes, &sessions, options).unwrap_or_else(|error| panic!("{error}"));
        let mut samples = Samples::new(fluid, Duration::from_ms(200));
        let last = samples.by_ref().nth(5 * SECONDS - 1);
        let took_s = start.elapsed().as_secs_f64();
        let part = last.map_or(0.0, |last| last.distance() / last.distance_from_zero());
        println!(
            "{} {} {:.0} {:.1} {part:.4} {}",
            nodes.len(),
            sessions.len(),
            samples.fluid().calculations() as f64 / took_s,
            SECONDS as f64 / took_s,
            most_memory_mb().map_or("-".to_owned(), |mb| mb.to_string()),
        );
    }
}
