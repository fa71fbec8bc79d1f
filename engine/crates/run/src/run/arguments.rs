// SPDX-License-Identifier: Apache-2.0
//! What `emulate` and `simulate` are asked for, and what they leave.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use slotwise_control::controller::{Addresses, LogLevel};
use slotwise_control::home::Home;
use slotwise_control::network::Network;
use slotwise_control::own_schedulers;
use slotwise_control::tables::{self, ProgramError};
use slotwise_kinds::{CaptureFilter, Capturing, LONGEST_SNAPLEN, World};
use slotwise_observe::events::Events;
use slotwise_observe::outputs;
use slotwise_observe::report::Report;
use slotwise_observe::summary::line;
use slotwise_scenario::{Scenario, ScenarioError, ScenarioFile};

use crate::picture;
use crate::scenarios::Located;
use crate::web::WebArgs;
use slotwise_cli::RunError;
use slotwise_cli::notes::{note, printable, say};

/// Where results of scenarios by name go, below the working directory.
const RESULTS: &str = "run";

/// Arguments of a run.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// Scenario: YAML file, or a name shown by `slotwise list`
    ///
    /// The format is schema/scenario.schema.json.
    #[arg(value_parser = crate::scenarios::located)]
    pub scenario: Located,
    /// Directory of files that workloads name
    ///
    /// For flow lists, coflow traces, captures and tables of sizes that are not in the directory of the scenario.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Write report.json and picture.png into DIR
    ///
    /// Default for a scenario given by name: run/NAME, unless --report is given.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the report as JSON to FILE
    ///
    /// The format is schema/report.schema.json.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Stream run events to FILE as JSON lines
    ///
    /// FILE may be a pipe. The format is schema/event.schema.json.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Random seed; overrides the one of the scenario
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Initial scheduler; overrides the one of the scenario
    ///
    /// A name, or a mapping as in a scenario: '{name: fair, settings: {order: contiguous}}'.
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Scale the phases to this total duration
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<u64>,
    /// Capture every fibre and port into DIR (pcap, nanosecond timestamps)
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// Capture only matching frames (comma-separated terms)
    ///
    /// Terms are capture-point patterns such as edge0-* or core0-edge? (docs/mininet.md) and the frame types host,
    /// data, signaling and linecard. A frame must match one of the patterns, if any, and one of the types, if any.
    #[arg(long, value_name = "TERMS", requires = "pcap")]
    pub pcap_filter: Option<String>,
    /// Bytes stored per captured frame
    #[arg(long, value_name = "BYTES", requires = "pcap", default_value_t = LONGEST_SNAPLEN, value_parser = clap::value_parser!(u32).range(1..=i64::from(LONGEST_SNAPLEN)))]
    pub snaplen: u32,
    /// Port of the P4Runtime server on 127.0.0.1; 0: any free port
    ///
    /// By default only the run's own controller is served; with --external-controller the port is 9559. If the option
    /// is given, other clients may control an emulation and read from a simulation.
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub p4runtime_port: Option<u16>,
    /// Port of the controller's REST API on 127.0.0.1; 0: any free port
    ///
    /// Default: 8181 (emulate), 0 (simulate).
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub rest_port: Option<u16>,
    /// Stop as if by SIGINT when stdin closes (e.g. the parent process exits)
    #[arg(long)]
    pub until_input_ends: bool,
    /// Show informational messages of the controller's log, too
    ///
    /// Warnings and errors are always shown.
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) web: WebArgs,
}

/// Reads seconds, with a fraction, as milliseconds.
fn seconds(text: &str) -> Result<u64, String> {
    const LONGEST_S: f64 = 1e6;
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= LONGEST_S => Ok((value * 1e3).round() as u64),
        _ => Err(format!("expected seconds, more than 0 and at most {LONGEST_S}")),
    }
}

/// Error for a scenario file.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The working directory is unknown.
    #[error("working directory: {0}")]
    NoDirectory(#[from] io::Error),
    /// Unreadable programs of switches for whose tables the scenario has entries.
    #[error("{0}")]
    NoProgram(#[from] ProgramError),
    /// The file is not a valid scenario.
    #[error("{path}:\n{error}")]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Problems with their lines.
        #[source]
        error: ScenarioError,
    },
}

/// Reads and checks a scenario file and the files that it names. Files of schedulers are in its directory; files of workloads are
/// there or in the directory `data`. Returns also its source.
///
/// # Errors
/// [`LoadError`] for a file that cannot be read or is not a scenario.
pub fn load_source(path: &Path, data: Option<&Path>) -> Result<(Network, ScenarioFile), LoadError> {
    let invalid = |error: ScenarioError| LoadError::Invalid {
        path: path.to_owned(),
        error,
    };
    let source = ScenarioFile::open_with(path, data).map_err(|error| match error {
        ScenarioError::Unreadable(reason) => LoadError::Unreadable(reason),
        error => invalid(error),
    })?;
    let scenario = source.scenario().map_err(invalid)?;
    let mut network = Network { scenario };
    let directory = std::path::absolute(path)?;
    for own in &mut network.scenario.schedulers {
        own.resolve(directory.parent().unwrap_or(Path::new("/")));
    }
    let mut problems = own_schedulers::missing(&network.scenario.schedulers);
    if !network.scenario.tables.is_empty() {
        let home = Home::find().map_err(ProgramError::Home)?;
        problems.extend(tables::complete(&mut network.scenario, &home)?);
    }
    match problems.is_empty() {
        true => Ok((network, source)),
        false => Err(invalid(source.located(ScenarioError::Invalid(problems)))),
    }
}

/// Reads the port of a server on loopback.
pub fn port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| "expected a port from 0 to 65535 (0: any free port)".to_owned())
}

impl RunArgs {
    /// The scenario with the arguments' seed, scheduler and duration.
    pub fn load(&self) -> Result<Network, RunError> {
        if let Some(file) = self.events.as_ref().filter(|file| self.report.as_ref() == Some(file)) {
            return Err(format!(
                "--events and --report: same file {}; expected two files",
                file.display()
            )
            .into());
        }
        let (mut network, _) = load_source(&self.scenario.path, self.data.as_deref())?;
        if let Some(text) = &self.scheduler {
            if !network.scenario.has_star() {
                return Err("--scheduler: this scenario has no star; expected a scenario with 'cores'".into());
            }
            let scenario = network.scenario.with_scheduler(text);
            let scenario = scenario.map_err(|error| format!("--scheduler:\n{error}"))?;
            network = Network { scenario };
        }
        if let Some(total_ms) = self.duration {
            network = network.scaled_to(total_ms)?;
        }
        if let Some(seed) = self.seed {
            network.scenario.seed = seed;
        }
        self.filter(&network)?;
        Ok(network)
    }

    fn filter(&self, network: &Network) -> Result<CaptureFilter, RunError> {
        let parse = |text: &String| CaptureFilter::parse(text, &network.empty_fabric().capture_points());
        let filter = self.pcap_filter.as_ref().map(parse).transpose();
        Ok(filter
            .map_err(|error| format!("--pcap-filter: {error}"))?
            .unwrap_or_default())
    }

    /// Where the servers listen, on loopback: at the ports asked for, or at those of P4Runtime and REST given here.
    pub fn addresses(&self, (p4runtime, rest): (u16, u16)) -> Addresses {
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Addresses {
            p4runtime: loopback(self.p4runtime_port.unwrap_or(p4runtime)),
            rest: loopback(self.rest_port.unwrap_or(rest)),
            own: BTreeMap::new(),
            token: None,
        }
    }

    /// How much the controller logs.
    pub fn log_level(&self) -> LogLevel {
        match self.verbose {
            true => LogLevel::Info,
            false => LogLevel::Warning,
        }
    }

    /// The directory for report and picture.
    fn out(&self) -> Option<PathBuf> {
        let by_name = || {
            let name = self.scenario.name.as_ref().filter(|_| self.report.is_none())?;
            Some(Path::new(RESULTS).join(name))
        };
        self.out.clone().or_else(by_name)
    }

    /// Looks whether what the run is to leave can be written.
    pub fn check_outputs(&self) -> Result<(), RunError> {
        if let Some(directory) = self.out() {
            outputs::check_directory("--out", &directory)?;
        }
        if let Some(path) = &self.report {
            outputs::check_file("--report", path)?;
        }
        if let Some(path) = &self.events {
            outputs::check_file("--events", path)?;
        }
        if let Some(directory) = &self.pcap {
            outputs::check_directory("--pcap", directory)?;
        }
        Ok(())
    }

    /// Captures in the directory asked for.
    pub fn captures(&self, network: &Network) -> Result<Option<Capturing>, RunError> {
        let Some(directory) = &self.pcap else {
            return Ok(None);
        };
        Ok(Some(Capturing {
            open: outputs::captures(directory)?,
            filter: self.filter(network)?,
            snaplen: self.snaplen,
        }))
    }

    /// Where events go; the first is there.
    pub fn events(&self, command: &str, scenario: &Scenario) -> Result<Events, RunError> {
        let mut events = Events::into(self.events.as_deref())?;
        events.start(command, scenario);
        Ok(events)
    }

    /// Prints the summary, writes the report and its picture where they were asked for, and says whether all was well.
    pub fn finish(&self, home: &Home, report: &Report, events: &mut Events) -> bool {
        // Whoever does not read it may know by the exit status.
        say!("{}", report.summary().trim_end());
        let asked = self.report.as_ref().map(|path| outputs::write_json(path, report));
        let kept = self.out().map(|directory| {
            let file = directory.join("report.json");
            let drawn_in = directory.join("picture.png");
            outputs::write_json(&file, report)?;
            // The report is the result, and can be drawn later.
            match picture::draw(home, &file, &drawn_in) {
                Ok(()) => say_results(&format!("{}, {}", file.display(), drawn_in.display())),
                Err(reason) => say_results(&format!("{}; no picture: {}", file.display(), printable(&reason))),
            }
            Ok(())
        });
        let failures: Vec<String> = [asked, kept].into_iter().flatten().filter_map(Result::err).collect();
        for reason in &failures {
            note!("slotwise: {}", printable(reason));
        }
        events.end(report, &failures);
        report.verdict.ok && failures.is_empty()
    }
}

/// Ends the captures in a directory, if any, and prints those that ended early.
pub fn finish_captures(fabric: &mut World, directory: Option<&Path>) -> Vec<String> {
    let failures = fabric.finish_captures();
    directory.map_or_else(Vec::new, |directory| outputs::capture_notes(directory, &failures))
}

fn say_results(files: &str) {
    say!("{}", line("results", files).trim_end());
}

/// Why a port, which `option` chooses, cannot be listened on, before anything is started.
pub fn check_free(address: SocketAddr, what: &str, option: &str) -> Result<(), RunError> {
    match std::net::TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "{what}: cannot listen on {address}: {error}; expected a free port with {option} (0: any free port)"
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_port_is_answered_with_what_is_one() {
        assert_eq!((port("0"), port("65535")), (Ok(0), Ok(65535)));
        for text in ["abc", "65536", "-1", ""] {
            assert_eq!(
                port(text).unwrap_err(),
                "expected a port from 0 to 65535 (0: any free port)",
                "{text}"
            );
        }
    }
}
