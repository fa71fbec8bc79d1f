// SPDX-License-Identifier: Apache-2.0
//! `slotwise simulate`: a scenario in virtual time, with the same controller in lock step. Needs no root; the same seed gives
//! the same report and the same captures.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::channel;

use slotwise_control::controller;
use slotwise_control::home::Home;
use slotwise_kinds::{HostMode, WorldOptions};
use slotwise_observe::live::LiveView;
use slotwise_observe::outputs;
use slotwise_scenario::Scenario;
use slotwise_units::{Duration, Instant};

use crate::commands::Order;
use crate::driver::{Run, Spectators};
use crate::hold::{self, Hold};
use crate::run::{RunArgs, check_free};
use crate::virtual_time::{Orders, Results, VirtualTime};
use crate::web::Watch;
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;
use slotwise_cli::notes::say;

/// Arguments of `simulate`.
#[derive(Debug, Clone, clap::Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Write per-period metrics as Parquet files into DIR
    ///
    /// Tables of queues, wavelengths, switches, links and flows, as the network has them (docs/columns.md).
    #[arg(long, value_name = "DIR")]
    columns: Option<PathBuf>,
    /// Sampling period of a star, in TDM frames (default: 10)
    ///
    /// Needs --columns. Other networks, and flows over the whole run, are sampled every sample_ms of the scenario.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample_frames: Option<u32>,
    /// Hold the run at TIME, counted from the first phase, e.g. '10 ms'
    ///
    /// Time stands still while REST API, P4Runtime and page answer. A line on stdin continues the run: 'step TIME',
    /// 'continue' or 'end' (docs/p4runtime.md).
    #[arg(long, value_name = "TIME", value_parser = hold::time)]
    hold_at: Option<Duration>,
}

const SAMPLE_FRAMES: u32 = 10;

/// The name in reports.
const COMMAND: &str = "simulate";

/// Runs a scenario. True if all was well. Interrupted, or left by its controller, it still says what it did up to there.
pub fn simulate(args: &SimulateArgs) -> Result<bool, RunError> {
    let run = &args.run;
    let network = run.load()?;
    let scenario = &network.scenario;
    if args.sample_frames.is_some() {
        check_sample_frames(scenario, args.columns.is_some())?;
    }
    let hold = Hold::at(hold_at(args.hold_at, scenario)?);
    let home = Home::find()?;
    // Several runs may take place at once.
    let addresses = run.addresses((0, 0));
    check_free(addresses.rest, "controller (REST)", "--rest-port")?;
    check_free(addresses.p4runtime, "engine (P4Runtime)", "--p4runtime-port")?;
    run.check_outputs()?;
    if let Some(directory) = &args.columns {
        outputs::check_directory("--columns", directory)?;
    }
    let interrupts = Interrupts::listen()?;
    let (sender, orders) = channel();
    if args.hold_at.is_some() {
        hold::listen(sender.clone(), run.until_input_ends.then(|| interrupts.clone()))?;
    } else if run.until_input_ends {
        interrupts.listen_to_input()?;
    }
    let is_held = args.hold_at.map(|_| hold.shared());
    let tell = move |order: Order| sender.send(order).is_ok();
    let watch = Watch::start(&run.web, COMMAND, &network, (true, false), (tell, is_held))?;
    let events = run.events(COMMAND, scenario)?;
    let fabric = network.fabric(WorldOptions {
        seed: scenario.seed,
        host_mode: HostMode::Simulated,
        captures: run.captures(&network)?,
        frame_records: true,
    });
    let mut plan = network.plan(&fabric);
    plan.controller.log_level = run.log_level();
    let programs = controller::programs(&home, &plan.controller.programs)?;
    let sample_frames = args.sample_frames.unwrap_or(SAMPLE_FRAMES);
    let results = Results {
        sample_frames: args.columns.is_some().then_some(sample_frames),
        columns: args.columns.clone(),
        captures: run.pcap.clone(),
    };
    let outside = Orders {
        interrupts: interrupts.clone(),
        orders,
        hold,
    };
    let parts = (addresses, Stdio::inherit());
    let clock = VirtualTime::start(&home, scenario, (fabric, plan), parts, results, outside)?;
    say!("controller: REST API at http://{}/slotwise/v1/", clock.rest_address());
    let spectators = Spectators {
        view: Some(LiveView::new()),
        events,
        watch,
    };
    Run::new(clock, scenario, spectators).finish(COMMAND, (run, &home, scenario), programs, &interrupts)
}

/// Network time of the first hold.
fn hold_at(since_start: Option<Duration>, scenario: &Scenario) -> Result<Option<Instant>, String> {
    let Some(since_start) = since_start else {
        return Ok(None);
    };
    let at = scenario.epoch().saturating_add(since_start);
    if at < scenario.end() {
        return Ok(Some(at));
    }
    let end_ms = scenario.duration_ms();
    Err(format!(
        "--hold-at: not before the end of the run; expected less than {end_ms} ms"
    ))
}

/// Refuses what would be ignored; says what has other periods.
fn check_sample_frames(scenario: &Scenario, has_columns: bool) -> Result<(), String> {
    if !scenario.has_star() {
        return Err("--sample-frames: this scenario has no star; expected sample_ms in the scenario".to_owned());
    }
    if !has_columns {
        return Err("--sample-frames: no output; expected --columns too".to_owned());
    }
    if scenario.has_groups() {
        let sample_ms = scenario.routed.sample_ms;
        say!(
            "warning: --sample-frames applies to the star; flows over the whole run are sampled every {sample_ms} ms (sample_ms)"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotwise_control::network::Network;

    #[test]
    fn rows_by_frames_are_refused_where_there_are_none() {
        let check =
            |text: &[u8], has_columns| check_sample_frames(&Network::parse(text).unwrap().scenario, has_columns);
        let star = include_bytes!("../../../../topologies/star4.yaml");
        assert_eq!(check(star, true), Ok(()));
        assert!(
            check(star, false)
                .unwrap_err()
                .starts_with("--sample-frames: no output")
        );
        assert_eq!(check(include_bytes!("../../../../topologies/mixed.yaml"), true), Ok(()));
        let ring = include_bytes!("../../../../topologies/ring8.yaml");
        assert!(check(ring, true).unwrap_err().contains("expected sample_ms"));
    }

    #[test]
    fn a_run_is_held_before_its_end_only() {
        let scenario = Network::parse(include_bytes!("../../../../topologies/star4.yaml"))
            .unwrap()
            .scenario;
        let ms = Duration::from_ms;
        assert_eq!(hold_at(None, &scenario), Ok(None));
        assert_eq!(hold_at(Some(ms(3)), &scenario), Ok(Some(scenario.epoch() + ms(3))));
        let late = hold_at(Some(ms(scenario.duration_ms())), &scenario).unwrap_err();
        assert!(
            late.starts_with("--hold-at: not before the end") && late.contains("expected less than"),
            "{late}"
        );
    }
}
