// SPDX-License-Identifier: Apache-2.0
//! Workloads: flows between hosts, with sizes, starts and pairs, and their completion times.
//!
//! Pure: a workload knows no network and no clock. Its owner takes each flow at its start and reports its completion
//! ([`Workload`]). Flows are made when they are taken, so memory depends on the flows in progress. The same seed gives the same flows.
//!
//! ```
//! use slotwise_units::{Instant, Rate, Duration};
//! use slotwise_workload::{BigSwitch, Load, OpenLoop, Pattern, Poisson, Sizes};
//!
//! let load = Load { fraction: 0.1, capacity: Rate::from_bps(16 * 10_000_000_000) };
//! let end = Instant::ZERO + Duration::from_ms(10);
//! let flows = Poisson::new(Sizes::named("websearch", None)?, (&Pattern::All, 16), load, end, 1)?;
//! let mut workload = OpenLoop::new(flows);
//! let mut switch = BigSwitch::new(16, Rate::from_bps(10_000_000_000));
//! let completions = switch.run(&mut workload, Instant::MAX, |_| ());
//! assert!(completions.summary().all.slowdown.unwrap().p50 > 0.999);
//! # Ok::<(), slotwise_workload::WorkloadError>(())
//! ```

mod arrivals;
mod big_switch;
mod closed;
mod coflow;
mod collective;
mod completion;
mod error;
mod flow;
mod list;
mod offered;
mod pairs;
mod replay;
mod sizes;
mod tables;

pub use arrivals::{Every, Incast, IncastConfig, Load, Poisson};
pub use big_switch::BigSwitch;
pub use closed::ClosedLoop;
pub use coflow::{Coflow, CoflowTrace};
pub use collective::{Collective, CollectiveConfig, Operation};
pub use completion::{
    BucketSummary, CompletionSummary, Completions, FlowStatistics, Framing, PathLink, Statistics, ideal,
};
pub use error::{Place, Problem, WorkloadError};
pub use flow::{CoflowId, Flow, HostIndex, Hosts, OpenLoop, Workload};
pub use list::{CSV_HEADING, FlowList, ListFormat};
pub use offered::Offered;
pub use pairs::{Matrix, Pairs, Pattern};
pub use replay::Replay;
pub use sizes::{Interpolation, SizeTable, Sizes};
pub use tables::{LICENCES, SHIPPED, Shipped};
