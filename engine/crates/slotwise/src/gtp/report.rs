// SPDX-License-Identifier: Apache-2.0
//! What `slotwise gtp` prints: one JSON object a transfer, whether it succeeded or not.

use serde::Serialize;
use slotwise_gtp::{Digest, Ended, TransferStats, Verdict};

/// What is known of a transfer at its end.
pub struct Counts {
    pub name: String,
    pub peer: String,
    /// Of the whole file.
    pub bytes: u64,
    pub resumed_bytes: u64,
    /// From the offer to the last byte.
    pub duration_ns: u64,
    pub digest: Option<Digest>,
    pub stats: TransferStats,
}

/// One end's report. docs/gtp.md has the meaning of each field.
#[derive(Debug, Serialize)]
pub struct Report {
    role: &'static str,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    file: String,
    peer: String,
    bytes: u64,
    resumed_bytes: u64,
    seconds: f64,
    goodput_bps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    packets: u64,
    #[serde(flatten)]
    end: End,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum End {
    Source {
        retransmitted: u64,
        expired_grants: u64,
    },
    Sink {
        lost_packets: u64,
        /// Of those that were sent.
        loss: f64,
        duplicates: u64,
        loss_lists: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        rtt_ns: Option<u64>,
    },
    Neither {},
}

impl Report {
    pub fn new(counts: &Counts, ended: Ended) -> Report {
        let error = match ended {
            Ended::Done(Verdict::Whole) => None,
            Ended::Done(Verdict::Differs) => Some(
                "what arrived is not what was sent: its SHA-256 is another; the file must not change while it is sent"
                    .into(),
            ),
            Ended::Done(Verdict::Storage) => Some("the file could not be written where it went".into()),
            Ended::Refused(reason) => Some(format!("refused: {reason}")),
        };
        let (source, sink) = (counts.stats.source, counts.stats.sink);
        let moved = source.map_or(counts.bytes - counts.resumed_bytes, |source| source.bytes);
        let goodput = u128::from(moved) * 8_000_000_000 / u128::from(counts.duration_ns.max(1));
        let (role, packets, end) = match (source, sink) {
            (_, Some(sink)) => {
                let sent = sink.packets + sink.lost_packets - sink.late_packets.min(sink.lost_packets);
                let lost = sink.lost_packets - sink.late_packets.min(sink.lost_packets);
                let end = End::Sink {
                    lost_packets: lost,
                    loss: lost as f64 / sent.max(1) as f64,
                    duplicates: sink.duplicates,
                    loss_lists: sink.lists,
                    rtt_ns: sink.rtt_ns,
                };
                ("receive", sink.packets, end)
            }
            (Some(source), None) => {
                let end = End::Source {
                    retransmitted: source.retransmissions,
                    expired_grants: source.expired,
                };
                ("send", source.packets, end)
            }
            (None, None) => ("none", 0, End::Neither {}),
        };
        Report {
            role,
            ok: error.is_none(),
            error,
            file: counts.name.clone(),
            peer: counts.peer.clone(),
            bytes: counts.bytes,
            resumed_bytes: counts.resumed_bytes,
            seconds: counts.duration_ns as f64 / 1e9,
            goodput_bps: u64::try_from(goodput).unwrap_or(u64::MAX),
            sha256: counts.digest.map(|digest| digest.to_string()),
            packets,
            end,
        }
    }
}
