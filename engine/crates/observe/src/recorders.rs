// SPDX-License-Identifier: Apache-2.0
//! Recorders: each looks at a network period by period and adds rows to tables.

mod after;
pub(crate) mod fluid;
pub(crate) mod gtp;
pub(crate) mod ops;
pub(crate) mod ring;
pub mod routed;
mod shares;
pub(crate) mod sharing;
pub mod star;
mod waits;

pub use after::AfterFault;
pub use gtp::GTP_COLUMNS;
pub use shares::Fairness;
pub use sharing::SessionPeriod;
