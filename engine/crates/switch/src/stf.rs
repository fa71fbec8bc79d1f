// SPDX-License-Identifier: Apache-2.0
//! `slotwise stf`: p4c's Simple Test Framework.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use slotwise_p4::{Pipeline, PipelineConfig, Program, TimestampUnit};
use slotwise_stf::{Runner, Schema};

use crate::executor::ExecutorChoice;
use crate::program_files;
use slotwise_cli::RunError;
use slotwise_cli::notes::say;

/// Run STF tests (Simple Test Framework of p4c)
///
/// A test lists table entries, input packets and expected output packets. Each test starts with a fresh switch; a
/// file may contain several, separated by `restart`. The exit status is 0 if all pass; otherwise the differences are
/// printed.
#[derive(clap::Args)]
pub struct Args {
    /// Program in p4c's BMv2 JSON
    program: PathBuf,
    /// P4Info of the program (text; binary if the name ends in .bin)
    p4info: PathBuf,
    /// STF files
    #[arg(required = true, value_name = "TEST")]
    tests: Vec<PathBuf>,
    /// Seed of random() in the program
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Packet executor
    #[arg(long, value_enum, default_value_t = ExecutorChoice::Jit)]
    executor: ExecutorChoice,
    /// Imitate BMv2 deviations (see 'slotwise switch')
    #[arg(long)]
    bmv2_compat: bool,
    /// Compare only ports named in the test, like p4c's own runner
    #[arg(long)]
    named_ports_only: bool,
    /// Freeze the clock at 0, as required by P4Testgen tests
    #[arg(long)]
    clock_stands: bool,
    /// Trace each packet: P4 file and line, branches, tables, entries, actions
    #[arg(long)]
    trace: bool,
}

/// True if all tests passed.
pub fn run(args: &Args) -> Result<bool, RunError> {
    let at = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let json = program_files::program(&args.program)?;
    let program = Program::from_json(&json).map_err(|error| at(&args.program, &error))?;
    let program = Arc::new(program);
    let p4info = program_files::p4info(&args.p4info)?;
    let schema = Schema::new(&p4info);
    let mut all_passed = true;
    for path in &args.tests {
        let text = String::from_utf8(program_files::read(path)?).map_err(|error| at(path, &error))?;
        let tests = slotwise_stf::parse_tests(&text).map_err(|error| format!("{}:{error}", path.display()))?;
        let (mut failed, mut packets_in, mut packets_out) = (0, 0, 0);
        for script in &tests {
            let config = PipelineConfig {
                cpu_port: 510,
                drop_port: 511,
                timestamp_unit: TimestampUnit::Microseconds,
                seed: args.seed,
                executor: args.executor.into(),
            };
            let mut pipeline = Pipeline::new(program.clone(), config);
            pipeline.set_tracing(args.trace);
            pipeline.set_bmv2_compatible(args.bmv2_compat);
            let mut runner = Runner::new(&schema, &mut pipeline);
            runner.set_named_ports_only(args.named_ports_only);
            runner.set_clock_stands(args.clock_stands);
            let report = runner.run(script, &mut |line, text| say!("{}:{line}: {text}", path.display()));
            let report = report.map_err(|error| at(path, &error))?;
            for failure in &report.failures {
                say!("{}:{}: {}", path.display(), failure.line, failure.text);
            }
            failed += usize::from(!report.failures.is_empty());
            packets_in += report.packets_in;
            packets_out += report.packets_out;
        }
        let verdict = if failed == 0 { "passed" } else { "FAILED" };
        let of_tests = match tests.len() {
            1 => String::new(),
            count => format!("{} of {count} tests, ", count - failed),
        };
        say!(
            "{verdict}: {} ({of_tests}{packets_in} packets in, {packets_out} out)",
            path.display()
        );
        all_passed &= failed == 0;
    }
    Ok(all_passed)
}
