// SPDX-License-Identifier: Apache-2.0
//! Networks of P4 routers in virtual time: any topology, one queue an output, hosts with real transports.
//!
//! ```text
//! host -> Output -> router: P4 -> Output -> ... -> host
//!                      ^ interval ticks / timers (docs/architecture.md, "XCP")
//! ```
//!
//! [`PortCard`] is one such output on its own, for a router that runs elsewhere.
//!
//! Pure and deterministic like the rest of the crate; the caller writes the routers' tables.

mod build;
mod events;
mod flows;
mod network;
mod output;
mod port_card;

pub use network::{FlowUse, RoutedFlow, RoutedNetwork, RouterPort};
pub use output::OutputUse;
pub use port_card::{CardFrame, PortCard, Taken};
