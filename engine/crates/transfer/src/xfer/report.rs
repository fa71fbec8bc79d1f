// SPDX-License-Identifier: Apache-2.0
//! What `slotwise xfer` prints: one JSON object, whether the transfer succeeded or not.

use serde::Serialize;
use slotwise_transport::{ReceiverStats, SenderStats, StackStats};
use slotwise_units::{Bytes, Duration};

use super::exchange::SocketStats;
use super::message::Digest;
use super::role::XferError;

const NS_PER_SECOND: u128 = 1_000_000_000;

/// One side's report. docs/transports.md has the meaning of each field.
#[derive(Debug, Serialize)]
pub struct Report {
    role: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    bytes: u64,
    seconds: f64,
    goodput_bps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(flatten)]
    connection: Connection,
    packets_sent: u64,
    packets_received: u64,
    socket_errors: u64,
    malformed_packets: u64,
    unclaimed_packets: u64,
}

/// Of the connection that carries the file.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Connection {
    Sender {
        segments: u64,
        retransmissions: u64,
        timeouts: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        srtt_ns: Option<u64>,
        window_bytes: u64,
    },
    Receiver {
        segments: u64,
        out_of_order_segments: u64,
        duplicate_bytes: u64,
        turned_away: u64,
    },
}

/// What both sides know in the end.
pub struct Ending<'a> {
    pub result: &'a Result<(), XferError>,
    /// Of the file: acknowledged, or arrived in order.
    pub bytes: Bytes,
    pub duration: Duration,
    pub digest: Option<Digest>,
    pub socket: SocketStats,
    pub stack: StackStats,
}

impl Report {
    pub fn of_sender(ending: &Ending<'_>, stats: &SenderStats) -> Report {
        let connection = Connection::Sender {
            segments: stats.segments,
            retransmissions: stats.retransmissions,
            timeouts: stats.timeouts,
            srtt_ns: stats.srtt.map(Duration::ns),
            window_bytes: stats.window.get(),
        };
        Report::new("send", ending, connection)
    }

    pub fn of_receiver(ending: &Ending<'_>, stats: &ReceiverStats, turned_away: u64) -> Report {
        let connection = Connection::Receiver {
            segments: stats.segments,
            out_of_order_segments: stats.out_of_order,
            duplicate_bytes: stats.duplicated.get(),
            turned_away,
        };
        Report::new("receive", ending, connection)
    }

    fn new(role: &'static str, ending: &Ending<'_>, connection: Connection) -> Report {
        let bits = ending.bytes.bits() * NS_PER_SECOND;
        let goodput_bps = bits.checked_div(ending.duration.ns().into()).unwrap_or(0);
        Report {
            role,
            ok: ending.result.is_ok(),
            error: ending.result.as_ref().err().map(ToString::to_string),
            bytes: ending.bytes.get(),
            seconds: ending.duration.seconds(),
            goodput_bps: u64::try_from(goodput_bps).unwrap_or(u64::MAX),
            sha256: ending.digest.map(|digest| digest.to_string()),
            connection,
            packets_sent: ending.socket.packets_sent,
            packets_received: ending.socket.packets_received,
            socket_errors: ending.socket.errors,
            malformed_packets: ending.stack.malformed,
            unclaimed_packets: ending.stack.unclaimed,
        }
    }
}
