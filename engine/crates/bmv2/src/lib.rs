// SPDX-License-Identifier: Apache-2.0
//! Client of stock `simple_switch_grpc`: packets through its packet interface (`--dp-grpc-server-addr`), its counters and tables.
//!
//! The packet interface carries the packets of all ports on one stream, so a switch gets them in the order in which they were sent,
//! whatever the load. Interfaces of the kernel would not: simple_switch reads one packet of each in turn.

mod counters;
mod packets;

pub use slotwise_p4runtime_proto::p4::bm as dataplane;

pub use counters::{Cell, has_entries, read_counter};
pub use packets::{Output, Packets, take_packets};

use std::net::SocketAddr;

/// What a switch did not do.
#[derive(Debug, thiserror::Error)]
pub enum Bmv2Error {
    /// It does not listen, or does not take packets.
    #[error("simple_switch_grpc at {address}: not responding: {reason}")]
    Silent {
        /// Its address.
        address: SocketAddr,
        /// What was seen last.
        reason: String,
    },
    /// A call was refused.
    #[error("simple_switch_grpc at {address}: {what}: {reason}")]
    Refused {
        /// Its address.
        address: SocketAddr,
        /// The call.
        what: &'static str,
        /// What it said.
        reason: String,
    },
    /// No threads.
    #[error("cannot start the packet threads of simple_switch_grpc: {0}")]
    Threads(#[from] std::io::Error),
}
