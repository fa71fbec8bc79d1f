// SPDX-License-Identifier: Apache-2.0
//! What `slotwise gtp` prints: one JSON object a transfer, whether it succeeded or not.

use serde::Serialize;
use slotwise_gtp::{Digest, Ended, TransferStats, Verdict};
use slotwise_units::{Bytes, Duration};

/// End of a transfer, as far as this end knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The protocol says so.
    Over(Ended),
    /// This end was told to stop.
    Interrupted,
}

/// Role of this end in a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Send,
    Receive,
}

/// What is known of a transfer at its end.
pub struct Counts {
    pub role: Role,
    pub name: String,
    pub peer: String,
    /// Of the whole file.
    pub bytes: Bytes,
    pub resumed_bytes: Bytes,
    /// From the offer to the last byte, or to where it ended before.
    pub duration: Duration,
    pub digest: Option<Digest>,
    pub stats: TransferStats,
}

/// One end's report. docs/gtp.md has the meaning of each field.
#[derive(Debug, Serialize)]
pub struct Report {
    role: Role,
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
    #[serde(skip)]
    outcome: Outcome,
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
    pub fn new(counts: &Counts, outcome: Outcome) -> Report {
        let error = match outcome {
            Outcome::Over(Ended::Done(Verdict::Whole)) => None,
            Outcome::Over(Ended::Done(Verdict::Differs)) => {
                Some("content mismatch: SHA-256 differs; the file must not change during the transfer".into())
            }
            Outcome::Over(Ended::Done(Verdict::Storage)) => Some("file could not be written at the receiver".into()),
            Outcome::Over(Ended::Refused(reason)) => Some(format!("rejected: {reason}")),
            Outcome::Over(Ended::Lost) => Some("interrupted: no response from the peer".into()),
            Outcome::Over(Ended::Closed) => Some("interrupted: peer stopped".into()),
            Outcome::Interrupted => Some("interrupted: stopped here".into()),
        };
        let (source, sink) = (counts.stats.source, counts.stats.sink);
        let moved = match (source, sink) {
            (_, Some(sink)) => sink.received.get(),
            (Some(source), None) => source.bytes.get(),
            (None, None) => 0,
        };
        let goodput = u128::from(moved) * 8_000_000_000 / u128::from(counts.duration.ns().max(1));
        let (packets, end) = match (source, sink) {
            (_, Some(sink)) => {
                let sent = sink.packets + sink.lost_packets - sink.late_packets.min(sink.lost_packets);
                let lost = sink.lost_packets - sink.late_packets.min(sink.lost_packets);
                let end = End::Sink {
                    lost_packets: lost,
                    loss: lost as f64 / sent.max(1) as f64,
                    duplicates: sink.duplicates,
                    loss_lists: sink.lists,
                    rtt_ns: sink.rtt.map(Duration::ns),
                };
                (sink.packets, end)
            }
            (Some(source), None) => {
                let end = End::Source {
                    retransmitted: source.retransmissions,
                    expired_grants: source.expired,
                };
                (source.packets, end)
            }
            (None, None) => (0, End::Neither {}),
        };
        Report {
            role: counts.role,
            ok: error.is_none(),
            error,
            file: counts.name.clone(),
            peer: counts.peer.clone(),
            bytes: counts.bytes.get(),
            resumed_bytes: counts.resumed_bytes.get(),
            seconds: counts.duration.seconds(),
            goodput_bps: u64::try_from(goodput).unwrap_or(u64::MAX),
            sha256: counts.digest.map(|digest| digest.to_string()),
            packets,
            end,
            outcome,
        }
    }

    /// Whether it was cut off, at either end or between.
    pub fn is_cut_off(&self) -> bool {
        let cut_off = [
            Outcome::Over(Ended::Lost),
            Outcome::Over(Ended::Closed),
            Outcome::Interrupted,
        ];
        cut_off.contains(&self.outcome)
    }
}

#[cfg(test)]
mod tests {
    use slotwise_gtp::Reason;
    use slotwise_transport::gtp::{SinkStats, SourceStats};

    use super::*;

    fn goodput_bps(stats: TransferStats, resumed_bytes: u64, ended: Ended) -> u64 {
        let counts = Counts {
            role: Role::Receive,
            name: "f".into(),
            peer: "10.0.0.1:5254".into(),
            bytes: Bytes::new(100_000_000_000),
            resumed_bytes: Bytes::new(resumed_bytes),
            duration: Duration::from_s(2),
            digest: None,
            stats,
        };
        Report::new(&counts, Outcome::Over(ended)).goodput_bps
    }

    #[test]
    fn a_transfer_without_packets_has_the_role_of_this_end() {
        let json = |role| {
            let counts = Counts {
                role,
                name: "empty".into(),
                peer: "10.0.0.1:5254".into(),
                bytes: Bytes::ZERO,
                resumed_bytes: Bytes::ZERO,
                duration: Duration::ZERO,
                digest: None,
                stats: TransferStats::default(),
            };
            let report = Report::new(&counts, Outcome::Over(Ended::Done(Verdict::Whole)));
            serde_json::to_value(report).unwrap()["role"].clone()
        };
        assert_eq!(json(Role::Receive), "receive");
        assert_eq!(json(Role::Send), "send");
    }

    #[test]
    fn goodput_is_of_the_bytes_that_moved_however_the_transfer_ended() {
        let sink = TransferStats {
            sink: Some(SinkStats {
                received: Bytes::new(10_000_000),
                ..SinkStats::default()
            }),
            source: None,
        };
        for ended in [
            Ended::Done(Verdict::Whole),
            Ended::Done(Verdict::Storage),
            Ended::Refused(Reason::Storage),
            Ended::Lost,
            Ended::Closed,
        ] {
            assert_eq!(goodput_bps(sink, 1_000, ended), 40_000_000, "{ended:?}");
        }
        let source = TransferStats {
            source: Some(SourceStats {
                bytes: Bytes::new(5_000_000),
                ..SourceStats::default()
            }),
            sink: None,
        };
        assert_eq!(goodput_bps(source, 0, Ended::Lost), 20_000_000);
        assert_eq!(
            goodput_bps(TransferStats::default(), 0, Ended::Refused(Reason::Exists)),
            0
        );
    }
}
