// SPDX-License-Identifier: Apache-2.0
//! Measures sessions of GTP.

use slotwise_kinds::SessionUse;
use slotwise_units::Bytes;

use crate::record::{Period, table};

/// A session in a period: its counts at the start and at the end.
pub(crate) struct GtpPeriod<'a> {
    pub before: &'a SessionUse,
    pub after: &'a SessionUse,
    /// Size of its packets.
    pub packet_bytes: u32,
}

fn mbps(period: &Period, before: Bytes, after: Bytes) -> f64 {
    (after - before).get() as f64 * 8.0 / 1e6 / period.seconds()
}

fn count(before: u64, after: u64) -> f64 {
    (after - before) as f64
}

impl GtpPeriod<'_> {
    fn in_flight(&self) -> Bytes {
        let (source, sink) = (&self.after.source, &self.after.sink);
        let still_lost = sink.lost_packets.saturating_sub(sink.late_packets);
        let arrived = sink.packet_bytes + still_lost * Bytes::new(self.packet_bytes.into());
        source.packet_bytes.saturating_sub(arrived)
    }
}

table! {
    /// Flows of the Group Transport Protocol (GTP) that have begun; a row per flow, `GROUP.i`, and period. Rates are of IP packets.
    Gtp by flow = |p, s: GtpPeriod<'_>| {
        sent_mbps "sending rate of the source" [Mb/s]
            = mbps(p, s.before.source.packet_bytes, s.after.source.packet_bytes);
        received_mbps "rate received by the sink" [Mb/s] show(series, line)
            = mbps(p, s.before.sink.packet_bytes, s.after.sink.packet_bytes);
        sink_mbps "last grant of the sink's host received by the source at the end of the period" [Mb/s] show(series)
            = s.after.source.sink_granted.bps() as f64 / 1e6;
        source_mbps "last grant of the source's host" [Mb/s] show(series) = s.after.source.own_granted.bps() as f64 / 1e6;
        sent_packets "data packets sent, including retransmissions" = count(s.before.source.packets, s.after.source.packets);
        retransmissions "retransmissions among these" show(series)
            = count(s.before.source.retransmissions, s.after.source.retransmissions);
        lost_packets "packets counted as lost by the sink, including late ones" show(series)
            = count(s.before.sink.lost_packets, s.after.sink.lost_packets);
        late_packets "packets received after one sent later" = count(s.before.sink.late_packets, s.after.sink.late_packets);
        duplicates "duplicate packets received" = count(s.before.sink.duplicates, s.after.sink.duplicates);
        loss_lists "loss lists sent by the sink" = count(s.before.sink.lists, s.after.sink.lists);
        expired_packets "packets sent under an expired grant, at a lower rate than granted"
            = count(s.before.source.expired, s.after.source.expired);
        rejected_packets "packets rejected by the sink: not requested, or with an invalid number"
            = count(s.before.sink.refused, s.after.sink.refused);
        rtt_ms "latest time from a grant to the first packet sent under it; 0 before the first" [ms] show(series)
            = s.after.sink.rtt.unwrap_or_default().milliseconds();
        received_bytes "bytes received since the start, without duplicates" [bytes] = s.after.sink.received.get() as f64;
        in_flight_bytes "IP bytes in flight: sent, neither received nor known to be lost; lost packets count as full-size" [bytes]
            = s.in_flight().get() as f64;
    }
}
