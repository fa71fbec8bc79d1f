// SPDX-License-Identifier: Apache-2.0
//! The end-to-end tests. `interpreter.rs` and `jit.rs` run them all, each on its executor.

mod arithmetic;
mod edge_share;
mod hostile;
mod matching;
mod no_bits;
mod p4_16;
mod packet_switch;
mod packet_switch_agents;
mod parsing;
mod replication;
mod slotwise_programs;
mod small;
mod state;
mod support;
mod trace;
mod variants;
mod xcp;
mod xcp_arithmetic;
mod xcp_convergence;
mod xcp_feedback;
mod xcp_scaled;
