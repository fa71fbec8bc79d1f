// SPDX-License-Identifier: Apache-2.0
//! `slotwise card`: line cards as processes, one command a discipline.

use clap::Subcommand;

use crate::{linecard, portcard};
use slotwise_cli::RunError;
use slotwise_cli::notes::note;

/// Run a line card as a process between a P4 switch and a link (needs root)
#[derive(Subcommand)]
#[expect(missing_docs, reason = "the help of each is that of its arguments")]
pub enum Card {
    Gates(linecard::Args),
    Fifo(portcard::Args),
}

/// Runs the card until it is told to end.
pub fn run(card: &Card) -> Result<(), RunError> {
    match card {
        Card::Gates(args) => linecard::run(args),
        Card::Fifo(args) => portcard::run(args),
    }
}

/// Says what a command of old is called now.
pub fn renamed(old: &str, new: &str) {
    note!("slotwise {old}: renamed to `slotwise card {new}`");
}
