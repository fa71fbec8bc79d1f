// SPDX-License-Identifier: Apache-2.0
//! What is written down of sessions of GTP.

use slotwise_fabric::SessionUse;

use crate::record::{Column, Table, column};
use crate::routed::Period;

/// Of flows of GTP in each period; the names, `GROUP.i`, are in column `flow`. Rates are of IP packets.
pub const GTP_COLUMNS: [Column; 16] = [
    column("time_s", "end of the period, s"),
    column("sent_mbps", "what the source sent, Mb/s"),
    column("received_mbps", "what came to the sink, Mb/s"),
    column(
        "sink_mbps",
        "what the sink's host granted last, as the source has heard it by the end of the period, Mb/s",
    ),
    column("source_mbps", "what the source's host granted last, Mb/s"),
    column("sent_packets", "packets of data sent, those sent again among them"),
    column("retransmissions", "of these, packets sent again"),
    column(
        "lost_packets",
        "packets that the sink knows to be lost, those that came late among them",
    ),
    column("late_packets", "packets that came after one that was sent later"),
    column("duplicates", "packets whose bytes the sink had"),
    column("loss_lists", "loss lists that the sink sent"),
    column(
        "expired_packets",
        "packets sent under a grant that had expired, at a lower rate than it said",
    ),
    column(
        "refused_packets",
        "packets that the sink did not take: not asked for, or of a number that cannot be",
    ),
    column(
        "rtt_ms",
        "last time from a grant to the first packet sent under it, ms; 0 before",
    ),
    column("received_bytes", "bytes that came, each once, since the start"),
    column(
        "flying_bytes",
        "IP bytes that were sent and have neither come nor are known to be lost, as if lost packets were full",
    ),
];

/// An empty table of sessions.
pub(crate) fn table() -> Table {
    Table::new("flow", &GTP_COLUMNS)
}

/// In the order of [`GTP_COLUMNS`]: what a session did between two looks.
pub(crate) fn row(period: &Period, before: &SessionUse, after: &SessionUse, packet_bytes: u32) -> [f64; 16] {
    let mbps = |before: u64, after: u64| (after - before) as f64 * 8.0 / 1e6 / period.seconds;
    let count = |before: u64, after: u64| (after - before) as f64;
    let (source, sink) = (&after.source, &after.sink);
    let still_lost = sink.lost_packets.saturating_sub(sink.late_packets);
    [
        period.end_s,
        mbps(before.source.packet_bytes, source.packet_bytes),
        mbps(before.sink.packet_bytes, sink.packet_bytes),
        source.sink_bps as f64 / 1e6,
        source.own_bps as f64 / 1e6,
        count(before.source.packets, source.packets),
        count(before.source.retransmissions, source.retransmissions),
        count(before.sink.lost_packets, sink.lost_packets),
        count(before.sink.late_packets, sink.late_packets),
        count(before.sink.duplicates, sink.duplicates),
        count(before.sink.lists, sink.lists),
        count(before.source.expired, source.expired),
        count(before.sink.refused, sink.refused),
        sink.rtt_ns.unwrap_or(0) as f64 / 1e6,
        sink.received_bytes as f64,
        source
            .packet_bytes
            .saturating_sub(sink.packet_bytes + still_lost * u64::from(packet_bytes)) as f64,
    ]
}
