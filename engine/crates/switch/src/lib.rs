// SPDX-License-Identifier: Apache-2.0
//! Processes between interfaces: a switch (`slotwise switch`), line cards (`slotwise card`), and STF tests (`slotwise stf`).

// They panic when the output is closed; `slotwise_cli::notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod card;
mod executor;
pub mod linecard;
pub mod links;
pub mod portcard;
pub mod program_files;
pub mod stf;
pub mod switch;
