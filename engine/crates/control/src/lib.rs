// SPDX-License-Identifier: Apache-2.0
//! Controllers of runs: their process, their REST resources, changes of the scenario, and networks in lock step with one.

// They panic when the output is closed; `slotwise_cli::notes` does not.
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
pub mod tables;
