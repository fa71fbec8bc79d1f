// SPDX-License-Identifier: Apache-2.0
//! `slotwise reproduce`: repeats a published experiment in virtual time and says which of its facts came out.

use std::io::{IsTerminal, Write};
use std::path::{self, Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use slotwise_control::home::Home;
use slotwise_observe::events::Events;
use slotwise_observe::time_left::TimeLeft;
use slotwise_p4::Program;
use slotwise_reproduce::work::{How, Options, Progress, forget, pending, reproduce};

use crate::elsewhere;
use crate::networks::Networks;
use slotwise_cli::RunError;
use slotwise_cli::notes::say;
use slotwise_switch::program_files;

/// Arguments of `slotwise reproduce`.
#[derive(Debug, clap::Args)]
pub struct ReproduceArgs {
    /// Experiment: directory, or name under experiments/
    pub experiment: PathBuf,
    /// Write results into `full` or `quick` in DIR; finished runs are not repeated
    ///
    /// Default: build/reproduce/NAME.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only this figure or table, e.g. figure-5.1; may be repeated
    #[arg(long, value_name = "FIGURE")]
    pub only: Vec<String>,
    /// Quick mode with one seed per run
    ///
    /// Runs and judges the quick set of the experiment. Without one, every run is smoke-tested at 2 % of its duration
    /// and no fact is judged.
    #[arg(long)]
    pub quick: bool,
    /// Repeat all runs, including finished ones
    #[arg(long)]
    pub fresh: bool,
    /// Number of concurrent runs (default: CPU cores); does not affect results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Make the runs on the workers of this Dask scheduler; same results
    ///
    /// ADDRESS is tcp://HOST:8786, or tls:// as configured in Dask. Results are byte-identical. Workers need the same
    /// version of Slotwise.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["jobs", "program"])]
    pub on: Option<String>,
    /// Stream run events to FILE as JSON lines
    ///
    /// FILE may be a pipe. The format is schema/event.schema.json.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Router program (p4c JSON) instead of p4src/p4c-out/router.json
    ///
    /// It needs the same tables. Its P4Info is FILE.p4info.txtpb next to FILE.json if that exists, else the one of
    /// router.p4.
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Runs it. A fact that misses its band is a result, not a failure.
pub fn run(args: &ReproduceArgs) -> Result<(), RunError> {
    let mut home = Home::find()?;
    let directory = find(&args.experiment, &home.experiments())?;
    let name = directory
        .file_name()
        .map_or_else(|| "experiment".into(), std::ffi::OsStr::to_os_string);
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("build/reproduce").join(name));
    if let Some(program) = &args.program {
        let json = program_files::program(program)?;
        Program::from_json(&json).map_err(|error| format!("{}: {error}", program.display()))?;
        home = home.with_program("router", path::absolute(program)?)?;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        directory,
        out,
        only: args.only.clone(),
        quick: args.quick,
        jobs: args.jobs.map_or(cores, usize::from),
    };
    if args.fresh {
        forget(&options, &Networks::new(home.clone()))?;
    }
    if let Some(address) = &args.on {
        let tasks = pending(&options, &Networks::new(home.clone()))?;
        if !tasks.is_empty() {
            elsewhere::work(address, &tasks, &home)?;
        }
    }
    let shown = Mutex::new(Shown {
        percent: None,
        began: Instant::now(),
        done_ms: 0,
        total_ms: 0,
        earlier_ms: 0,
        events: Events::into(args.events.as_deref())?,
    });
    let counts = reproduce(&options, &Networks::new(home), &|progress| {
        let mut shown = shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        shown.show(&progress);
    })?;
    let report = options.results().join("report.html");
    say!("\n{counts}: {}", report.display());
    let mut shown = shown.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    shown.events.judged(&counts, &report);
    Ok(())
}

const FILE: &str = "experiment.yaml";

/// The directory of an experiment: `named` itself, or the one of that name in `experiments`.
fn find(named: &Path, experiments: &Path) -> Result<PathBuf, RunError> {
    let found = [named.to_owned(), experiments.join(named)];
    if let Some(directory) = found.into_iter().find(|directory| directory.join(FILE).is_file()) {
        return Ok(directory);
    }
    let entries = std::fs::read_dir(experiments).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join(FILE).is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let there = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    };
    Err(format!(
        "unknown experiment '{}'; expected a directory with {FILE}, or one in {}: {there}",
        named.display(),
        experiments.display()
    )
    .into())
}

/// How far it is, as it was shown last.
struct Shown {
    percent: Option<u64>,
    began: Instant,
    done_ms: u64,
    total_ms: u64,
    /// Of runs that were there already.
    earlier_ms: u64,
    events: Events,
}

impl Shown {
    /// One line that is written over on a terminal; else only the runs that are over.
    fn show(&mut self, progress: &Progress) {
        let mut out = std::io::stdout().lock();
        // What cannot be shown is no reason to stop.
        let _ = match progress {
            Progress::Finished { run, how, ms } => {
                self.earlier_ms += if *how == How::Earlier { *ms } else { 0 };
                let how = match how {
                    How::Earlier => "already done".to_owned(),
                    How::Made => "done".to_owned(),
                    How::Again { directory, reason } => {
                        format!("repeated: {}: {reason}", directory.display())
                    }
                };
                self.events.run(run, &how);
                let far = if out.is_terminal() { String::new() } else { self.far() };
                writeln!(out, "\r{run}: {how}{far}                              ")
            }
            Progress::Simulated(done_ms, total_ms) => {
                (self.done_ms, self.total_ms) = (*done_ms, *total_ms);
                let percent = done_ms * 100 / total_ms.max(&1);
                if self.percent == Some(percent) {
                    return;
                }
                self.percent = Some(percent);
                self.events.simulated(*done_ms, *total_ms);
                if !out.is_terminal() {
                    return;
                }
                let of_s = total_ms / 1000;
                write!(out, "\r{percent} % of {of_s} simulated s{}      ", self.left()).and_then(|()| out.flush())
            }
        };
    }

    fn far(&self) -> String {
        let percent = self.done_ms * 100 / self.total_ms.max(1);
        format!(" ({percent} % of {} simulated s{})", self.total_ms / 1000, self.left())
    }

    fn left(&self) -> String {
        let made = |ms: u64| ms.saturating_sub(self.earlier_ms);
        let left = TimeLeft::after(self.began.elapsed(), made(self.done_ms), made(self.total_ms));
        left.map(|left| format!(", {left}")).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_experiment_lists_those_that_there_are() {
        let experiments = tempfile::tempdir().unwrap();
        for name in ["two", "one", "no-experiment"] {
            std::fs::create_dir(experiments.path().join(name)).unwrap();
        }
        for name in ["one", "two"] {
            std::fs::write(experiments.path().join(name).join(FILE), "").unwrap();
        }
        let here = experiments.path();
        assert_eq!(find(Path::new("two"), here).unwrap(), here.join("two"));
        assert_eq!(
            find(&here.join("one"), Path::new("/nowhere")).unwrap(),
            here.join("one")
        );
        let refusal = find(Path::new("no-experiment"), here).unwrap_err().to_string();
        assert!(
            refusal.starts_with("unknown experiment 'no-experiment'; expected"),
            "{refusal}"
        );
        assert!(refusal.ends_with(": one, two"), "{refusal}");
    }
}
