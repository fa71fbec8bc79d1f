// SPDX-License-Identifier: Apache-2.0
//! Runs of experiments on other machines: the Python package has Dask, which distributes them; here is what it is told, and what a
//! machine that makes a run is asked to do.
//!
//! ```text
//! reproduce --on ADDRESS -- tasks, a line of JSON each --> slotwise.reproduce_on -- Dask --> slotwise run-task FILE, anywhere
//! ```

use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Stdio, exit};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use slotwise_control::home::Home;
use slotwise_reproduce::work::{Task, make};
use slotwise_run::python;

use crate::networks::Networks;
use slotwise_cli::RunError;
use slotwise_cli::interrupts::when_input_ends;

/// Its exit status when it says why.
const REFUSED: i32 = 2;

/// Arguments of `slotwise run-task`.
#[derive(Debug, clap::Args)]
pub struct RunTaskArgs {
    /// Task file (JSON)
    task: PathBuf,
    /// Directory for the results; overrides the one of the task
    #[arg(long)]
    out: PathBuf,
    /// Stop when stdin closes
    #[arg(long)]
    until_input_ends: bool,
}

/// Makes one run of an experiment, as `reproduce` does.
pub fn run_task(args: &RunTaskArgs) -> Result<(), RunError> {
    if args.until_input_ends {
        // Its controller goes with it.
        when_input_ends(|| exit(1))?;
    }
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", args.task.display());
    let bytes = fs::read(&args.task).map_err(|error| at(&error))?;
    let mut task: Task = serde_json::from_slice(&bytes).map_err(|error| at(&error))?;
    task.directory = args.out.join("made");
    make(&task, &Networks::new(Home::find()?), &|_| ())?;
    Ok(())
}

/// Has the workers of the Dask scheduler at `address` make what is pending; all of it is in place then.
pub fn work(address: &str, tasks: &[Task], home: &Home) -> Result<(), RunError> {
    let mut command = python::module_with_wheels(home, "tools.reproduce_on");
    command
        .arg(address)
        .env("SLOTWISE_COMMAND", std::env::current_exe()?)
        .stdin(Stdio::piped());
    // SAFETY: one async-signal-safe system call between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGKILL)?));
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .spawn()
        .map_err(|error| format!("--on: cannot start {program}: {error}"))?;
    let mut told = BufWriter::new(child.stdin.take().expect("its input is a pipe"));
    let tell = tasks.iter().try_for_each(|task| {
        serde_json::to_writer(&mut told, task)?;
        told.write_all(b"\n")
    });
    let tell = tell.and_then(|()| told.flush());
    drop(told);
    let status = child.wait()?;
    match (status.code(), tell) {
        (Some(0), Ok(())) => Ok(()),
        (Some(0), Err(error)) => Err(format!("--on {address}: not all runs could be sent: {error}").into()),
        (Some(REFUSED), _) => {
            Err(format!("--on {address}: some runs failed (see above); finished runs are retained").into())
        }
        _ => Err(format!("--on {address}: {program} exited with {status}; finished runs are retained").into()),
    }
}
