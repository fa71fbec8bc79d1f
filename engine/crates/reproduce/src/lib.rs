// SPDX-License-Identifier: Apache-2.0
//! Repetition of published measurements.
//!
//! ```text
//! experiment.yaml -> runs x seeds -> run (fabric, P4, controller) -> columns (Parquet) -> facts, plots -> report.html
//! ```
//!
//! Everything but [`work`], which reads and writes files and starts threads, is pure. Networks are run by who has a controller
//! ([`setup::Runner`]), and measured by `slotwise-observe`.

pub mod count;
pub mod experiment;
mod fact;
mod formula;
mod html;
mod job;
mod kept;
mod lambda;
mod marker;
mod plot;
mod quantities;
pub mod setup;
mod shapes;
mod sweep;
pub mod work;

pub use fact::{Judged, Outcome, Statement};
pub use plot::PlotError;
pub use sweep::{Axis, Given, Measured, Sweep};
