// SPDX-License-Identifier: Apache-2.0
//! `slotwise view`: the page for the report of a finished run.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use slotwise_observe::report::Report;
use slotwise_observe::stream::finished;
use slotwise_web::Nobody;

use crate::web::serve;
use slotwise_cli::RunError;
use slotwise_cli::interrupts::Interrupts;
use slotwise_cli::notes::say;

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Arguments of `view`.
#[derive(Debug, Clone, clap::Args)]
pub struct ViewArgs {
    /// Report of `slotwise simulate` or `emulate` (JSON)
    ///
    /// The format is schema/report.schema.json.
    report: PathBuf,
    /// Port on 127.0.0.1; 0: any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Stop as if by SIGINT when stdin closes
    #[arg(long)]
    until_input_ends: bool,
}

/// Shows a report until it is interrupted.
///
/// # Errors
/// What is wrong with the report, or why the port cannot be had.
pub fn view(args: &ViewArgs) -> Result<(), RunError> {
    let messages = Report::read(&args.report).and_then(|report| finished::of_report(&report));
    let messages = messages.map_err(|error| format!("{}: {error}", args.report.display()))?;
    let interrupts = Interrupts::listen()?;
    if args.until_input_ends {
        interrupts.listen_to_input()?;
    }
    let server = serve(args.port, "--port", Arc::new(Nobody))?;
    server.hub().replace(messages);
    say!("page: {} until SIGINT (Ctrl-C)", server.url());
    until_interrupted(&interrupts, 0);
    Ok(())
}

/// Waits for another interrupt after this number of them.
pub fn until_interrupted(interrupts: &Interrupts, after: usize) {
    while interrupts.count() <= after {
        thread::sleep(LOOK);
    }
}
