// SPDX-License-Identifier: Apache-2.0
//! How fast a routed scenario runs, on one thread, and what its links and first flows did.
//!
//! `cargo run --release -p slotwise-reproduce --example speed -- PROGRAM.json SCENARIO.yaml MILLISECONDS [PATCH...]`

use std::sync::Arc;
use std::time::Instant;

use slotwise_p4::Program;
use slotwise_reproduce::run;
use slotwise_scenario::RoutedScenario;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, program, scenario, milliseconds, replace @ ..] = args.as_slice() else {
        return Err("expected PROGRAM.json SCENARIO.yaml MILLISECONDS".into());
    };
    let program = Arc::new(Program::from_json(&std::fs::read(program)?)?);
    let mut text = std::fs::read_to_string(scenario)?;
    for pair in replace.chunks(2) {
        text = text.replace(&pair[0], &pair[1]);
    }
    let mut scenario = RoutedScenario::parse(text.as_bytes())?;
    scenario.duration_ms = milliseconds.parse()?;
    let duration_ms = scenario.duration_ms;
    scenario.changes.retain(|change| change.at_ms < duration_ms);
    let start = Instant::now();
    let (recording, summary) = run(&scenario, &program, scenario.seed, |_| {})?;
    let wall_s = start.elapsed().as_secs_f64();
    let every = (scenario.duration_ms / scenario.sample_ms / 60).max(1) as usize;
    for link in scenario.links.iter().take(2) {
        println!("{}: time, utilization, queue, dropped", link.name);
        let column = |name| {
            recording
                .links
                .series(&link.name, recording.links.column(name).unwrap())
        };
        let columns = [
            column("utilization"),
            column("mean_queue_packets"),
            column("dropped_packets"),
        ];
        for chunk in 0..columns[0].len() / every {
            let rows = chunk * every..(chunk + 1) * every;
            let mean = |column: &[(f64, f64)]| column[rows.clone()].iter().map(|row| row.1).sum::<f64>() / every as f64;
            println!(
                "{:7.1} {:8.4} {:8.3} {:8.1}",
                columns[0][rows.end - 1].0,
                mean(&columns[0]),
                mean(&columns[1]),
                mean(&columns[2])
            );
        }
    }
    for name in ["g0.0", "g3.0"] {
        println!("{name}: time, window, rtt ms, rate kbyte/s, goodput kbit/s, delay ms, retransmissions, timeouts");
        let columns: Vec<_> = (1..9)
            .filter(|c| *c != 6)
            .map(|column| recording.flows.series(name, column))
            .collect();
        for row in (every - 1..columns[0].len()).step_by(every) {
            print!("{:7.1}", columns[0][row].0);
            columns.iter().for_each(|column| print!(" {:9.3}", column[row].1));
            println!();
        }
    }
    println!(
        "{:.0} packet-hops/s through P4, {:.2} simulated s/s",
        summary.hops as f64 / wall_s,
        summary.simulated_ms as f64 / 1e3 / wall_s
    );
    Ok(())
}
