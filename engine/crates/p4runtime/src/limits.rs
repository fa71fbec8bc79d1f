// SPDX-License-Identifier: Apache-2.0
//! How much of the server clients may have.

use std::time::Duration;

use slotwise_p4::Limits;

/// Bounds on what clients, all of them or each, may use. The defaults are for a switch with a few controllers.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Connections at once. A further one takes the place of the oldest of those that have come least far; where all have a
    /// primary, it is closed.
    pub connections: usize,
    /// Calls at once on one connection, beside a stream for each device: a controller may have all of them on one.
    pub calls_a_connection: u32,
    /// Bytes of one Write or SetForwardingPipelineConfig. Other messages are of 1 MiB at most.
    pub message_bytes: usize,
    /// Bytes of all messages being received, as they come and as they are decoded. One connection has half, or a whole message
    /// if that is more. When there is no more, others than primaries give way first, and who has most.
    pub receiving_bytes: usize,
    /// Entities in one Read.
    pub queries: usize,
    /// Reads at once, until their clients have taken the answers. A further one ends another, of one that is no primary or has
    /// as many.
    pub reads: usize,
    /// Bytes that one client may leave unread on one stream.
    pub unread_bytes_a_stream: usize,
    /// Bytes that all clients may leave unread together, besides a small part that each has free.
    pub unread_bytes: usize,
    /// What one program may take; a device has up to three, in force, saved and being verified.
    pub program: Limits,
    /// Bytes of memory that the programs of all devices may take together, with their configurations and all that
    /// controllers add to them: entries, members, groups, replicas.
    pub memory_bytes: u64,
    /// Who has not finished a message after so long, has read nothing, or has made no call on a new connection, is ended.
    pub patience: Duration,
    /// Silence after which a connection is asked whether somebody is there; without an answer within the same time, it ends.
    pub keepalive: Duration,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections: 256,
            calls_a_connection: 128,
            message_bytes: 64 << 20,
            receiving_bytes: 256 << 20,
            queries: 1024,
            reads: 64,
            unread_bytes_a_stream: 8 << 20,
            unread_bytes: 256 << 20,
            program: Limits::default(),
            memory_bytes: 2 << 30,
            patience: Duration::from_secs(30),
            keepalive: Duration::from_secs(10),
        }
    }
}
