// SPDX-License-Identifier: Apache-2.0
//! `slotwise reproduce`: repeats a published experiment in virtual time and says which of its facts came out.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use slotwise_reproduce::work::{Options, Progress, reproduce};

use crate::home::Home;
use crate::run::RunError;
use crate::stars::Stars;

/// Arguments of `slotwise reproduce`.
#[derive(Debug, clap::Args)]
pub struct ReproduceArgs {
    /// Directory of the experiment, or its name under experiments/.
    pub experiment: PathBuf,
    /// Where results go, into `full` or `quick` in it; what is there already is not run again.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only this entry, e.g. figure-5.1; may be repeated.
    #[arg(long, value_name = "ENTRY")]
    pub only: Vec<String>,
    /// Shorten every run to a fiftieth, one seed each, to see that all works; facts are not judged.
    #[arg(long)]
    pub quick: bool,
    /// Runs at once; as many as there are cores unless given. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// The routers' program instead of p4src/p4c-out/router.json.
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Runs it. A fact that misses its band is a result, not a failure.
pub fn run(args: &ReproduceArgs) -> Result<(), RunError> {
    let home = Home::find()?;
    let directory = if args.experiment.join("experiment.yaml").is_file() {
        args.experiment.clone()
    } else {
        home.experiments().join(&args.experiment)
    };
    let name = directory
        .file_name()
        .map_or_else(|| "experiment".into(), |name| name.to_os_string());
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("build/reproduce").join(name));
    let program = args
        .program
        .clone()
        .map_or_else(|| home.p4("router").map(|(json, _)| json), Ok)?;
    let program = std::fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        directory,
        out,
        only: args.only.clone(),
        quick: args.quick,
        jobs: args.jobs.map_or(cores, usize::from),
    };
    let shown = Mutex::new(None);
    let summary = reproduce(&options, &program, &Stars::new(home), &|progress| {
        show(&shown, &progress)
    })?;
    println!(
        "\n{} facts pass, {} miss: {}",
        summary.passed,
        summary.missed,
        options.results().join("report.html").display()
    );
    Ok(())
}

/// One line that is written over on a terminal; else only the runs that are over.
fn show(last_percent: &Mutex<Option<u64>>, progress: &Progress) {
    let mut out = std::io::stdout().lock();
    // What cannot be shown is no reason to stop.
    let _ = match progress {
        Progress::Finished { run, earlier } => {
            let how = if *earlier { "was there already" } else { "done" };
            writeln!(out, "\r{run}: {how}          ")
        }
        Progress::Simulated(done_ms, total_ms) => {
            let percent = done_ms * 100 / total_ms.max(&1);
            let mut last = last_percent.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if *last == Some(percent) || !out.is_terminal() {
                return;
            }
            *last = Some(percent);
            write!(out, "\r{percent} % of {} simulated s ", total_ms / 1000).and_then(|()| out.flush())
        }
    };
}
