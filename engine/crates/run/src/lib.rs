// SPDX-License-Identifier: Apache-2.0
//! Runs of a network: in virtual time (`slotwise simulate`), and live with Linux hosts (`slotwise emulate`).

// They panic when the output is closed; `slotwise_cli::notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod attach;
mod bmv2;
pub mod check;
mod commands;
pub mod driver;
pub mod emulate;
mod fabric_cpu;
mod flows;
pub mod hold;
mod isolate;
mod neighbours;
pub mod netcfg;
mod picture;
pub mod python;
mod realtime;
pub mod resolved;
pub mod run;
pub mod scenarios;
pub mod simulate;
mod switches;
mod tunnels;
pub mod view;
pub mod virtual_time;
mod web;
