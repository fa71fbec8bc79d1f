// SPDX-License-Identifier: Apache-2.0
//! `slotwise simulate`: a scenario in virtual time, with the same controller in lock step. Needs no root; the same seed gives
//! the same report and the same captures.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use slotwise_fabric::{Fabric, FabricOptions, FlowResult, FrameRecord, HostMode};
use slotwise_reproduce::star::Recorder;
use slotwise_reproduce::{Recording, columns};
use slotwise_scenario::Scenario;

use crate::controller;
use crate::home::Home;
use crate::live::LiveView;
use crate::lockstep::{Session, failures};
use crate::progress::Progress;
use crate::run::{Gathered, PhaseRun, RunArgs, RunError, check_free, report};

/// Arguments of `simulate`.
#[derive(Debug, Clone, clap::Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Write what was measured as columns (Parquet) into this directory: queues, ports, access links, flows.
    #[arg(long, value_name = "DIR")]
    columns: Option<PathBuf>,
    /// Frames from one row of the columns to the next.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample_frames: u32,
}

/// How often the live view is fed, in frames.
const VIEW_FRAMES: u64 = 100;

/// Runs a scenario. True if all was well.
pub fn simulate(args: &SimulateArgs) -> Result<bool, RunError> {
    let SimulateArgs {
        run,
        columns,
        sample_frames,
    } = args;
    let scenario = run.load()?;
    let home = Home::find()?;
    let addresses = run.addresses();
    check_free(addresses.rest, "controller (REST)")?;
    if let Some(directory) = columns {
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let options = FabricOptions {
        seed: scenario.seed,
        host_mode: HostMode::Simulated,
        captures: run.captures()?,
        frame_records: true,
    };
    let mut session = Session::start(&home, &scenario, addresses, options, Stdio::inherit())?;
    let mut recorder = columns.is_some().then(|| Recorder::new(&scenario, *sample_frames));
    let mut view = LiveView::new();
    let mut progress = Progress::new(&scenario);
    let mut frames: Vec<FrameRecord> = Vec::new();
    let end_ns = scenario.end_ns();
    while session.fabric.now() < end_ns {
        let view_ns = (session.fabric.now() + VIEW_FRAMES * scenario.frame.frame_ns()).min(end_ns);
        while let Some(recorder) = &mut recorder
            && let Some(at_ns) = recorder.next_ns().filter(|at_ns| *at_ns <= view_ns)
        {
            session.run_until(at_ns)?;
            session.sample(recorder);
        }
        session.run_until(view_ns)?;
        let fabric = &mut session.fabric;
        while let Some(record) = fabric.poll_frame() {
            progress.add(&record);
            frames.push(record);
        }
        let phase = (0..scenario.phases.len())
            .rfind(|&index| scenario.phase_ns(index).0 < fabric.now())
            .unwrap_or(0);
        view.show(&progress.snapshot(fabric.now() - scenario.epoch_ns(), end_ns - scenario.epoch_ns(), phase));
    }
    session.fabric.finish_captures()?;
    let statistics = deterministic(controller::statistics(session.addresses.rest));
    let fabric = session.stop()?;
    if let (Some(directory), Some(recorder)) = (columns, recorder) {
        write_columns(directory, &recorder.finish())?;
    }

    let gathered = Gathered {
        command: "simulate",
        phases: phases(&scenario, &fabric),
        frames,
        lateness: None,
        switch_answers: None,
        controller: statistics,
        controller_restarts: 0,
        failures: failures(&fabric),
        notes: Vec::new(),
    };
    run.finish(&report(&scenario, &fabric, gathered))
}

fn write_columns(directory: &Path, recording: &Recording) -> Result<(), RunError> {
    let tables = recording.tables().into_iter();
    for (name, table) in tables.filter(|(_, table)| !table.names.is_empty()) {
        let path = directory.join(format!("{name}.parquet"));
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::create(&path).map_err(|error| wrong(&error))?;
        columns::write(table, BufWriter::new(file)).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

/// The controller's statistics without what depends on the machine.
fn deterministic(mut statistics: Value) -> Value {
    if let Some(fields) = statistics.as_object_mut() {
        fields.remove("scheduling_ns");
    }
    statistics
}

fn phases(scenario: &Scenario, fabric: &Fabric) -> Vec<PhaseRun> {
    let results = fabric.flow_results();
    (0..scenario.phases.len())
        .map(|index| {
            let (start_ns, end_ns) = scenario.phase_ns(index);
            let flows = results.iter().filter(|result| result.flow.phase == index);
            PhaseRun {
                start_ns,
                end_ns,
                flows: flows.map(|result| flow(result, end_ns - start_ns)).collect(),
                files: Vec::new(),
            }
        })
        .collect()
}

fn flow(result: &FlowResult, phase_ns: u64) -> Value {
    let delay = result.delay.as_ref();
    json!({
        "kind": result.flow.kind.name(),
        "transport": result.flow.kind.transport().map(|transport| transport.name()),
        "entry": result.flow.entry,
        "from": result.flow.from.to_string(),
        "to": result.flow.to.to_string(),
        "offered_bps": result.offered_bps,
        "sent_packets": result.sent_packets,
        "received_packets": result.received_packets,
        "bytes": result.received_bytes,
        "seconds": phase_ns as f64 / 1e9,
        "goodput_bps": result.received_bytes as f64 * 8e9 / phase_ns as f64,
        "delay_ns": delay.map(|delay| json!({"min": delay.min_ns, "mean": delay.mean_ns, "p99": delay.p99_ns, "max": delay.max_ns})),
        "completed_ns": result.completed_ns,
        "pages": result.pages,
        "stream": result.stream.map(|stream| json!({
            "retransmissions": stream.retransmissions,
            "timeouts": stream.timeouts,
            "srtt_ns": stream.srtt_ns,
            "window_bytes": stream.window_bytes,
        })),
    })
}
