// SPDX-License-Identifier: Apache-2.0
//! `slotwise diff`: differences between the results of two runs.

use std::path::PathBuf;

use slotwise_cli::RunError;
use slotwise_cli::notes::{printable, say};
use slotwise_observe::diff::{Results, Tolerance, differences};

/// Arguments of `diff`.
#[derive(Debug, Clone, clap::Args)]
pub struct DiffArgs {
    /// Report (JSON), table (Parquet) or directory of tables
    first: PathBuf,
    /// Results of the other run, in the same form
    second: PathBuf,
    /// Absolute tolerance: numbers that differ by at most NUMBER count as equal
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, value_parser = not_negative)]
    absolute: f64,
    /// Relative tolerance, as a fraction of the larger number; added to the absolute one
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = not_negative)]
    relative: f64,
    /// Place to omit with everything below it, e.g. 'versions' or 'flows.rtt_ms'; may be repeated
    #[arg(long, value_name = "PLACE")]
    ignore: Vec<String>,
    /// Maximum number of differences to print
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    max: usize,
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number: Result<f64, _> = text.parse();
    let number = number.ok().filter(|number| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number of at least 0".to_owned())
}

/// Prints the differences; returns true without any.
///
/// # Errors
/// [`RunError`] if results cannot be read or compared.
pub fn run(args: &DiffArgs) -> Result<bool, RunError> {
    let (first, second) = (Results::read(&args.first)?, Results::read(&args.second)?);
    let tolerance = Tolerance {
        absolute: args.absolute,
        relative: args.relative,
        ignored: args.ignore.clone(),
    };
    let found = differences(&first, &second, &tolerance)?;
    for difference in found.iter().take(args.max) {
        say!("{}", printable(&difference.to_string()).replace('\n', " "));
    }
    if found.len() > args.max {
        say!("and {} more", found.len() - args.max);
    }
    Ok(found.is_empty())
}
