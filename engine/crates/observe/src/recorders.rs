// SPDX-License-Identifier: Apache-2.0
//! Recorders: each looks at a network period by period and adds rows to tables.

mod after;
pub(crate) mod fluid;
pub(crate) mod gtp;
pub(crate) mod ops;
pub(crate) mod ring;
pub mod routed;
pub(crate) mod shares;
pub(crate) mod sharing;
pub mod star;
pub(crate) mod waits;
pub mod workloads;

pub use after::AfterFault;
pub use shares::Fairness;
pub use sharing::SessionRates;
