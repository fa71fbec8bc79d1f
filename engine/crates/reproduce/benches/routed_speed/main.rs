// SPDX-License-Identifier: Apache-2.0
//! How fast networks of routers run in virtual time, on one thread: packet-hops through P4 and simulated milliseconds
//! a second, with the scenarios of `experiments/aapn-xcp-cl`: `cargo bench -p slotwise-reproduce`.
//!
//! Seconds are of processor time, so that other work on the machine counts less (its use of caches still does). Each
//! case is run from its start for a part of its time, measuring as `slotwise reproduce` does, but without a controller; the first packets fill
//! pipes of up to 0.3 s, so a shorter part says less. Compared with the figures in `baseline.json`; `SAVE=1` writes new
//! ones there. `FILTER=text` runs only the cases with that in their name.

#[path = "../../../p4/benches/throughput/record.rs"]
mod record;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use record::{Record, processor_time};
use slotwise_scenario::Scenario;
use support::{Direct, repository};

/// Name, scenario, simulated milliseconds.
const CASES: [(&str, &str, u64); 2] = [
    ("45 Mb/s, 100 XCP flows", "case1.yaml", 100_000),
    ("1 Gb/s, 100 XCP flows", "case3.yaml", 8_000),
];

fn main() {
    let read = |path: &str| std::fs::read(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let runner = Direct::new();
    let filter = std::env::var("FILTER").unwrap_or_default();
    let mut record = Record::open(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/benches/routed_speed/baseline.json"
    ));
    for (name, file, duration_ms) in CASES.iter().filter(|(name, ..)| name.contains(&filter)) {
        let scenario = read(&format!("experiments/aapn-xcp-cl/{file}"));
        let mut scenario = Scenario::parse(&scenario).expect("a valid scenario");
        scenario.phases[0].duration_ms = *duration_ms;
        scenario.routed.changes.retain(|change| change.at_ms < *duration_ms);
        let start = Instant::now();
        let before = processor_time(start);
        let (_, passes) = runner.measure(&scenario, scenario.seed, &mut |_| {});
        let seconds = (processor_time(start) - before).as_secs_f64();
        let hops = passes as f64 / seconds;
        let simulated = *duration_ms as f64 / seconds;
        println!(
            "{name}: {hops:.0} packet-hops/s through P4, {:.2} simulated s/s ({} hops, {seconds:.2} s)",
            simulated / 1e3,
            passes
        );
        record.add(name, "packet-hops", hops);
        record.add(name, "simulated ms", simulated);
    }
    record.finish();
}
