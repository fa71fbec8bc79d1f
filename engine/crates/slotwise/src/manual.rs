// SPDX-License-Identifier: Apache-2.0
//! Completion for shells and manual pages, made from the definition of the command.

use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::Shell;

use slotwise_cli::RunError;
use slotwise_observe::outputs;

/// Writes the completion for a shell to standard output. Hidden commands are left out.
pub fn completion(command: &Command, shell: Shell) -> Result<(), RunError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown(command), command.get_name(), &mut script);
    Ok(io::stdout().lock().write_all(&script)?)
}

/// Writes `slotwise.1` and a page for each command, `slotwise-simulate.1` and so on, into a directory, which is made if need be.
pub fn pages(command: &Command, directory: &Path) -> Result<(), RunError> {
    outputs::check_directory("man", directory)?;
    clap_mangen::generate_to(command.clone(), directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(())
}

/// The command without what is hidden, which completion would offer.
fn shown(command: &Command) -> Command {
    let mut shown = Command::new(env!("CARGO_PKG_NAME")).version(env!("CARGO_PKG_VERSION"));
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    let commands = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    shown
        .args(command.get_arguments().cloned())
        .subcommands(commands.cloned())
}
