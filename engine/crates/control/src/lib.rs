// SPDX-License-Identifier: Apache-2.0
//! Controllers of runs: their process, what they are told and say, and networks in lock step with one.

// They panic when nobody takes what they print; `slotwise_cli::notes` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod calls;
pub mod child;
pub mod choices;
mod control_meter;
pub mod controller;
pub mod devices;
pub mod home;
pub mod lockstep;
pub mod network;
pub mod own_schedulers;
pub mod port_news;
pub mod processes;
pub mod rest;
pub mod run_directory;
pub mod schedulers;
