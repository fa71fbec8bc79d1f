// SPDX-License-Identifier: Apache-2.0
//! Common ground of all commands: lines for a person, signals that ask for an end, HTTP clients, errors.

// They panic when the output is closed; `notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod http;
pub mod interrupts;
pub mod notes;

/// Reason for a command that could not start or go on.
pub type RunError = Box<dyn std::error::Error + Send + Sync>;
