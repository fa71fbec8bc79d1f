// SPDX-License-Identifier: Apache-2.0
//! GTP: receiver-driven transfers over UDP, whose rates the hosts at both ends grant (X. Wu, "Distributed Fair Bandwidth Sharing for
//! Lambda Networks", UC San Diego, 2007; numbers of sections are its own; `docs/lambda.md`).
//!
//! A [`Host`] holds all sessions of a host, sources and sinks, and its flow table: what each sent or received since the last interval
//! began, and what it is granted. A sink asks for bytes; each interval it tells its source a rate and, no more often than the round trip,
//! what was lost. A source sends evenly at the least of what the sink and its own host grant and what the session can use; what was lost
//! goes first, within that rate.
//!
//! Calls are in the order of [`crate::Endpoint`]. What arrives is checked before it changes anything, and memory is bounded: ranges of
//! blocks by [`crate::gtp::Host::request`]'s sink, loss lists by eight a session.

mod host;
pub mod message;
mod sink;
mod source;
mod table;

use slotwise_units::Bytes;

pub use host::{Host, HostConfig, HostStats, SessionKey};
pub use sink::{SinkConfig, SinkStats};
pub use source::{Offer, SourceStats};

/// Headers of an IP packet of a session: all that is not payload.
pub const OVERHEAD: Bytes = Bytes::of(slotwise_wire::DATAGRAM_HEADER_BYTES + message::DATA_HEADER_BYTES);
