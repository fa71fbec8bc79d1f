// SPDX-License-Identifier: Apache-2.0
//! The slotwise command.

// They panic when the output is closed; `notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod dissector;
mod elsewhere;
mod manual;
mod networks;
mod reproduce;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use slotwise_cli::RunError;
use slotwise_cli::notes::{note, printable, say};
use slotwise_control::home::Home;
use slotwise_observe::outputs;
use slotwise_run::{emulate, netcfg, python, run, scenarios, simulate, view};
use slotwise_scenario::Scenario;
use slotwise_switch::switch::{CommandLine, Manner};
use slotwise_switch::{card, linecard, portcard, stf, switch};
use slotwise_transfer::{gtp, xfer};

/// Emulator and simulator of agile optical networks with P4 switches
#[derive(Parser)]
#[command(name = "slotwise", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario in real time with Linux hosts (needs root)
    #[command(visible_alias = "run")]
    Emulate(emulate::EmulateArgs),
    /// Run a scenario in virtual time
    ///
    /// The controller and the P4 programs are those of `emulate`. The same seed gives the same report.
    Simulate(simulate::SimulateArgs),
    /// Reproduce a published experiment in virtual time
    ///
    /// Writes a report of the facts (pass or miss) and plots.
    Reproduce(reproduce::ReproduceArgs),
    /// Validate a scenario and report all errors
    Check {
        /// Scenario: YAML file, or a name shown by `slotwise list`
        ///
        /// The format is schema/scenario.schema.json.
        #[arg(value_parser = scenarios::located)]
        scenario: scenarios::Located,
        /// Write the controller's network configuration (JSON) to FILE
        ///
        /// For use with your own controller. The format is schema/network.schema.json.
        #[arg(long, value_name = "FILE")]
        network: Option<PathBuf>,
        /// Write the ONOS network configuration (netcfg) to FILE
        ///
        /// For `emulate --external-controller` with ONOS (docs/onos.md).
        #[arg(long, value_name = "FILE")]
        netcfg: Option<PathBuf>,
        /// Write the scenario in its plain form (JSON) to FILE
        ///
        /// The same scenario for programs: each key in one spelling, with its unit as a suffix. The format is
        /// schema/scenario.schema.json.
        #[arg(long, value_name = "FILE")]
        plain: Option<PathBuf>,
        /// P4 target that runs the switches
        #[arg(long, value_enum, default_value_t = emulate::Target::Engine)]
        target: emulate::Target,
    },
    /// List scenarios, experiments and examples by name
    List,
    /// Generate a scenario: star, ring, ops, lambda or routers
    ///
    /// Writes YAML to standard output. Options of a network type: 'slotwise new ring --help'.
    #[command(disable_help_flag = true)]
    New {
        /// Network type and options, e.g. 'ring --stations 12'
        #[arg(value_name = "KIND [OPTION]", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Connect hosts on another machine to an emulation (needs root)
    ///
    /// Uses VXLAN inside WireGuard. Commands: 'slotwise tunnel --help'.
    #[command(disable_help_flag = true)]
    Tunnel {
        /// Command and options, e.g. 'down lab'
        #[arg(value_name = "COMMAND [OPTION]", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Write a shell completion script to standard output
    Completion {
        /// Shell
        shell: Shell,
    },
    /// Write the Wireshark dissector of Slotwise's headers to standard output (Lua)
    Dissector,
    /// Write a JSON Schema to standard output
    Schema {
        /// Format
        format: Format,
    },
    /// Write manual pages of all commands into a directory
    Man {
        /// Directory, created if necessary
        directory: PathBuf,
    },
    /// Run a line card as a process between a P4 switch and a link (needs root)
    #[command(subcommand)]
    Card(card::Card),
    Gtp(gtp::Args),
    Stf(stf::Args),
    Switch(Box<switch::Args>),
    /// Show the report of a finished run in a browser
    ///
    /// The page has a timeline. Stop with SIGINT (Ctrl-C).
    View(view::ViewArgs),
    Xfer(xfer::Args),
    #[command(hide = true)]
    Linecard(linecard::Args),
    #[command(hide = true)]
    Portcard(portcard::Args),
    /// Make one run of an experiment (used by `reproduce --on` on other machines)
    #[command(hide = true)]
    RunTask(elsewhere::RunTaskArgs),
}

/// Format with a schema.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Scenario files in their plain form (schema/scenario.schema.json)
    Scenario,
}

/// Exit status 0: all was well; 1: an invariant, a check of the run or the command itself failed.
fn main() -> ExitCode {
    let outcome = match CommandLine::read(std::env::args_os().collect()) {
        CommandLine::Bmv2(args) => switch::run(&args, Manner::Bmv2).map(|()| ExitCode::SUCCESS),
        CommandLine::Slotwise(args) => run(&Cli::parse_from(args).command),
    };
    match outcome {
        Ok(status) => status,
        Err(error) => {
            note!("slotwise: {}", printable(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Has a module of the Python package take this process's place, with its exit status; why it cannot.
fn become_module(name: &str, arguments: &[OsString]) -> RunError {
    let mut command = match Home::find() {
        Ok(home) => python::module(&home, name),
        Err(error) => return error.into(),
    };
    let error = command.args(arguments).exec();
    format!("cannot start {}: {error}", command.get_program().to_string_lossy()).into()
}

fn run(command: &Command) -> Result<ExitCode, RunError> {
    let verdict = |ok| if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    Ok(match command {
        Command::Emulate(args) => match emulate::emulate(args)? {
            Some(ok) => verdict(ok),
            None => emulate::outside()?,
        },
        Command::Simulate(args) => verdict(simulate::simulate(args)?),
        Command::Reproduce(args) => {
            reproduce::run(args)?;
            ExitCode::SUCCESS
        }
        Command::Check {
            scenario,
            network,
            netcfg,
            plain,
            target,
        } => {
            let (loaded, text) = run::load_text(&scenario.path)?;
            if let Some(file) = plain {
                let plain = Scenario::plain(&text, run::name_of(&scenario.path)).map_err(|error| error.to_string())?;
                outputs::write_json(file, &serde_json::from_str::<serde_json::Value>(&plain)?)?;
            }
            for found in loaded.scenario.notes(&text) {
                say!("warning: {}", printable(&found.to_string()));
            }
            if network.is_some() || netcfg.is_some() {
                let fabric = loaded.empty_fabric();
                let told = loaded.controller(&fabric, *target == emulate::Target::Bmv2).network;
                if let Some(file) = network {
                    outputs::write_json(file, &told)?;
                }
                if let Some(file) = netcfg {
                    outputs::write_json(file, &netcfg::of(&fabric, &told, *target, emulate::PORTS.0))?;
                }
            }
            ExitCode::SUCCESS
        }
        Command::List => {
            scenarios::list()?;
            ExitCode::SUCCESS
        }
        Command::New { arguments } => return Err(become_module("new", arguments)),
        Command::Tunnel { arguments } => return Err(become_module("tunnel", arguments)),
        Command::Completion { shell } => {
            manual::completion(&Cli::command(), *shell)?;
            ExitCode::SUCCESS
        }
        Command::Dissector => {
            dissector::print()?;
            ExitCode::SUCCESS
        }
        Command::Schema { format } => {
            let text = match format {
                Format::Scenario => slotwise_scenario::schema(),
            };
            io::stdout().lock().write_all(text.as_bytes())?;
            ExitCode::SUCCESS
        }
        Command::Man { directory } => {
            manual::pages(&Cli::command(), directory)?;
            ExitCode::SUCCESS
        }
        Command::Card(card) => {
            card::run(card)?;
            ExitCode::SUCCESS
        }
        Command::Gtp(args) => verdict(gtp::run(args)?),
        Command::Linecard(args) => {
            card::renamed("linecard", "gates");
            linecard::run(args)?;
            ExitCode::SUCCESS
        }
        Command::Stf(args) => verdict(stf::run(args)?),
        Command::Switch(args) => {
            switch::run(args, Manner::Slotwise)?;
            ExitCode::SUCCESS
        }
        Command::Portcard(args) => {
            card::renamed("portcard", "fifo");
            portcard::run(args)?;
            ExitCode::SUCCESS
        }
        Command::RunTask(args) => {
            elsewhere::run_task(args)?;
            ExitCode::SUCCESS
        }
        Command::View(args) => {
            view::view(args)?;
            ExitCode::SUCCESS
        }
        Command::Xfer(args) => verdict(xfer::run(args)?),
    })
}
