// SPDX-License-Identifier: Apache-2.0
//! Tests of the crate in one binary.

mod arrivals;
mod collectives;
mod completions;
mod files;
mod queues;
mod sizes;
