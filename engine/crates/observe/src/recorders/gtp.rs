// SPDX-License-Identifier: Apache-2.0
//! What is written down of sessions of GTP.

use slotwise_fabric::SessionUse;
use slotwise_units::Bytes;

use super::routed::Period;
use crate::record::{Column, Table, column};

/// Of flows of GTP in each period; the names, `GROUP.i`, are in column `flow`. Rates are of IP packets.
pub const GTP_COLUMNS: [Column; 16] = [
    column("time_s", "end of the period, s"),
    column("sent_mbps", "sending rate of the source, Mb/s"),
    column("received_mbps", "rate received by the sink, Mb/s"),
    column(
        "sink_mbps",
        "last grant of the sink's host received by the source at the end of the period, Mb/s",
    ),
    column("source_mbps", "last grant of the source's host, Mb/s"),
    column("sent_packets", "data packets sent, including retransmissions"),
    column("retransmissions", "retransmissions among these"),
    column(
        "lost_packets",
        "packets counted as lost by the sink, including late ones",
    ),
    column("late_packets", "packets received after one sent later"),
    column("duplicates", "duplicate packets received"),
    column("loss_lists", "loss lists sent by the sink"),
    column(
        "expired_packets",
        "packets sent under an expired grant, at a lower rate than granted",
    ),
    column(
        "refused_packets",
        "packets rejected by the sink: not requested, or with an invalid number",
    ),
    column(
        "rtt_ms",
        "latest time from a grant to the first packet sent under it, ms; 0 before the first",
    ),
    column("received_bytes", "bytes received since the start, without duplicates"),
    column(
        "flying_bytes",
        "IP bytes in flight: sent, neither received nor known to be lost; lost packets count as full-size",
    ),
];

/// An empty table of sessions.
pub(crate) fn table() -> Table {
    Table::new("flow", &GTP_COLUMNS)
}

/// In the order of [`GTP_COLUMNS`]: what a session did between two looks.
pub(crate) fn row(period: &Period, before: &SessionUse, after: &SessionUse, packet_bytes: u32) -> [f64; 16] {
    let mbps = |before: Bytes, after: Bytes| (after - before).get() as f64 * 8.0 / 1e6 / period.seconds;
    let count = |before: u64, after: u64| (after - before) as f64;
    let (source, sink) = (&after.source, &after.sink);
    let still_lost = sink.lost_packets.saturating_sub(sink.late_packets);
    [
        period.end_s,
        mbps(before.source.packet_bytes, source.packet_bytes),
        mbps(before.sink.packet_bytes, sink.packet_bytes),
        source.sink_granted.bps() as f64 / 1e6,
        source.own_granted.bps() as f64 / 1e6,
        count(before.source.packets, source.packets),
        count(before.source.retransmissions, source.retransmissions),
        count(before.sink.lost_packets, sink.lost_packets),
        count(before.sink.late_packets, sink.late_packets),
        count(before.sink.duplicates, sink.duplicates),
        count(before.sink.lists, sink.lists),
        count(before.source.expired, source.expired),
        count(before.sink.refused, sink.refused),
        sink.rtt.unwrap_or_default().milliseconds(),
        sink.received.get() as f64,
        source
            .packet_bytes
            .saturating_sub(sink.packet_bytes + still_lost * Bytes::new(packet_bytes.into()))
            .get() as f64,
    ]
}
