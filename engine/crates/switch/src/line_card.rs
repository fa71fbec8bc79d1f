// SPDX-License-Identifier: Apache-2.0
//! `slotwise line-card`: line cards as processes, one command per discipline.

pub mod fifo;
pub mod gates;

use clap::Subcommand;

use slotwise_cli::RunError;

/// Run a line card as a process between a P4 switch and a link (needs root)
#[derive(Subcommand)]
#[expect(missing_docs, reason = "the help of each is that of its arguments")]
pub enum LineCard {
    Gates(gates::Args),
    Fifo(fifo::Args),
}

/// Runs the card until SIGINT or SIGTERM.
pub fn run(card: &LineCard) -> Result<(), RunError> {
    match card {
        LineCard::Gates(args) => gates::run(args),
        LineCard::Fifo(args) => fifo::run(args),
    }
}
