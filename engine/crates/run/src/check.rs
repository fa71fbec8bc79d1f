// SPDX-License-Identifier: Apache-2.0
//! `slotwise check`: a scenario without a run, for people and for programs.

use std::path::PathBuf;

use serde::Serialize;
use slotwise_cli::RunError;
use slotwise_cli::notes::{printable, say};
use slotwise_observe::outputs;
use slotwise_scenario::Problem;

use crate::resolved::Resolved;
use crate::run::{LoadError, load_source};
use crate::{emulate, netcfg, scenarios};

/// Arguments of `check`.
#[derive(Debug, Clone, clap::Args)]
pub struct CheckArgs {
    /// Scenario: YAML file, or a name shown by `slotwise list`
    ///
    /// The format is schema/scenario.schema.json.
    #[arg(value_parser = scenarios::located)]
    scenario: scenarios::Located,
    /// Directory of files that workloads name
    ///
    /// For flow lists, coflow traces, captures and tables of sizes that are not in the directory of the scenario.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
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
    /// Print the scenario with derived addresses, ports and flows (JSON)
    ///
    /// For programs that start hosts. The format is schema/resolved.schema.json.
    #[arg(long)]
    resolved: bool,
    /// Print problems and warnings as JSON
    ///
    /// An object with the lists `problems` and `warnings`, each entry with `pointer` (JSON pointer to the place), `line`,
    /// `problem` and `expected`; `file` and `file_line` if the place is in a base or another named file. Exit status 1 if there are problems.
    #[arg(long, conflicts_with = "resolved")]
    json: bool,
    /// P4 target that runs the switches
    #[arg(long, value_enum, default_value_t = emulate::Target::Engine)]
    target: emulate::Target,
}

/// Result of `check --json`.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Findings {
    problems: Vec<Finding>,
    warnings: Vec<Finding>,
}

/// Problem of a scenario for a program.
#[derive(Debug, PartialEq, Serialize)]
struct Finding {
    /// JSON pointer to the place; empty for the whole file.
    pointer: String,
    line: Option<u64>,
    /// File named in that line, such as a base, if the place is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_line: Option<u64>,
    problem: String,
    /// Empty if `problem` has it.
    expected: String,
}

impl From<&Problem> for Finding {
    fn from(problem: &Problem) -> Finding {
        let (file, file_line) = problem.other.clone().unzip();
        Finding {
            pointer: problem.pointer.clone(),
            line: problem.line,
            file,
            file_line,
            problem: problem.reason.clone(),
            expected: problem.expected.clone(),
        }
    }
}

/// Checks a scenario and writes the requested forms of it. Returns false if `--json` printed problems.
///
/// # Errors
/// Without `--json` problems of the scenario; a file that cannot be read or written.
pub fn check(args: &CheckArgs) -> Result<bool, RunError> {
    let (loaded, source) = match load_source(&args.scenario.path, args.data.as_deref()) {
        Err(LoadError::Invalid { error, .. }) if args.json => {
            print(&Findings {
                problems: error.problems().iter().map(Finding::from).collect(),
                warnings: Vec::new(),
            })?;
            return Ok(false);
        }
        loaded => loaded?,
    };
    if let Some(file) = &args.plain {
        let plain = source.plain().map_err(|error| error.to_string())?;
        outputs::write_json(file, &serde_json::from_str::<serde_json::Value>(&plain)?)?;
    }
    let warnings = source.notes(&loaded.scenario);
    if args.json {
        print(&Findings {
            problems: Vec::new(),
            warnings: warnings.iter().map(Finding::from).collect(),
        })?;
    } else if !args.resolved {
        for found in warnings {
            say!("warning: {}", printable(&found.to_string()));
        }
    }
    if args.network.is_some() || args.netcfg.is_some() || args.resolved {
        let world = loaded.empty_fabric();
        let told = loaded.controller(&world, args.target == emulate::Target::Bmv2).network;
        if let Some(file) = &args.network {
            outputs::write_json(file, &told)?;
        }
        if let Some(file) = &args.netcfg {
            outputs::write_json(file, &netcfg::of(&world, &told, args.target, emulate::PORTS.0))?;
        }
        if args.resolved {
            print(&Resolved::of(&loaded, &world))?;
        }
    }
    Ok(true)
}

fn print(value: &impl Serialize) -> Result<(), RunError> {
    say!("{}", serde_json::to_string(value)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use slotwise_scenario::Scenario;

    use super::*;

    fn found(yaml: &str) -> Vec<Finding> {
        let error = Scenario::parse(yaml.as_bytes()).unwrap_err();
        let problems = error.located(yaml.as_bytes()).problems();
        problems.iter().map(Finding::from).collect()
    }

    #[test]
    fn a_problem_has_place_line_and_expected_value() {
        let problems = found("cores: 1\nedges: 4\nframe: {slots: many}\n");
        let problem = problems
            .iter()
            .find(|problem| problem.pointer == "/frame/slots")
            .unwrap();
        assert_eq!(problem.line, Some(3));
        assert!(problem.expected.starts_with("an integer"), "{problem:?}");
    }

    #[test]
    fn an_error_of_the_whole_file_is_one_problem() {
        let expected = Finding {
            pointer: String::new(),
            line: Some(2),
            file: None,
            file_line: None,
            problem: "aliases are not supported".into(),
            expected: "the value itself".into(),
        };
        assert_eq!(found("a: &b 1\nc: *b\n"), [expected]);
    }
}
