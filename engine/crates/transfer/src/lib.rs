// SPDX-License-Identifier: Apache-2.0
//! Files between real hosts, over XCP (`slotwise xfer`) and over GTP (`slotwise gtp`).

// They panic when the output is closed; `slotwise_cli::notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod gtp;
pub mod xfer;
