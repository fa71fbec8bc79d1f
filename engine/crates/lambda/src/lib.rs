// SPDX-License-Identifier: Apache-2.0
//! How sessions share a lambda network, in which only end nodes are short of capacity: the max-min rates of all sessions, and the
//! rule by which each node comes to them alone (GTP; Wu, "Distributed Fair Bandwidth Sharing for Lambda Networks", UC San Diego, 2007;
//! numbers of sections, algorithms and tables are its own).
//!
//! ```text
//! Network (capacities, sessions) -> max_min -> rates, and what bounds each     (algorithm 1, the oracle)
//!                                      ^ check: any rates, without solving     (definition 2)
//! Claims of one node, a Rule -> grants                                          (algorithms 2 and 3, one step)
//! Nodes, sessions, a Rule    -> Fluid: rates over time, without packets         (module `fluid`)
//! ```
//!
//! No clock, no input or output. Rates are in any unit, one for all.
//!
//! ```
//! use slotwise_lambda::{Network, Session, max_min};
//!
//! // Table II.2: four sources to one sink, of which three want little. Node 0 is the sink.
//! let mut sessions: Vec<Session> = (1..=4).map(|source| Session::between(source, 0)).collect();
//! for session in &mut sessions[1..] {
//!     session.demand = Some(0.1);
//! }
//! let network = Network::new(vec![1.0; 5], sessions)?;
//! let fair = max_min(&network);
//! assert!((fair.rates[0] - 0.7).abs() < 1e-12);
//! # Ok::<(), slotwise_lambda::LambdaError>(())
//! ```

mod certificate;
mod draw;
pub mod fluid;
mod network;
mod oracle;
pub mod published;
mod rule;

pub use certificate::{Bound, NotFair, check};
pub use draw::Draws;
pub use network::{LambdaError, Network, Session};
pub use oracle::{MaxMin, max_min};
pub use rule::{Claim, Crowd, KnifeEdge, Rule, Start, Steps, grants};
