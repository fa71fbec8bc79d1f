// SPDX-License-Identifier: Apache-2.0
//! Processes between interfaces: a switch (`slotwise switch`), line cards (`slotwise line-card`), and STF tests (`slotwise stf`).

// They panic when the output is closed; `slotwise_cli::notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod executor;
pub mod line_card;
pub mod links;
pub mod program_files;
pub mod stf;
pub mod switch;
