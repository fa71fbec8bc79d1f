// SPDX-License-Identifier: Apache-2.0
//! Uses of queues and links since they were last asked for.

use hdrhistogram::Histogram;
use slotwise_units::{Bytes, DataTime, Instant};

/// 1 % of delays.
const SIGNIFICANT_DIGITS: u8 = 2;

/// An empty histogram of delays in ns.
pub fn delays() -> Histogram<u64> {
    Histogram::new(SIGNIFICANT_DIGITS).expect("2 significant figures are within the crate's 0 to 5")
}

/// Use of a VOQ of a line card since the last call, and its backlog. Bytes as on the fibre.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueUse {
    /// Waiting now.
    pub backlog_bytes: Bytes,
    /// Packets that wait now.
    pub backlog_packets: u64,
    /// Most that waited at once.
    pub most_backlog_bytes: Bytes,
    /// Backlog integrated over time.
    pub backlog_time: DataTime,
    /// Packets that came, dropped ones included.
    pub arrived_packets: u64,
    /// Packets that found the queue full or were too long for it.
    pub dropped_packets: u64,
    /// Packets that entered the fibre.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: Bytes,
    /// Slots with a gate that P4 opened.
    pub granted_slots: u64,
}

/// One direction of an access link since the start. Bytes of Ethernet frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessUse {
    /// Frames that were sent, or wait.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Frames that found the queue full, were longer than the MTU allows, or waited when their link or switch failed.
    pub dropped_packets: u64,
}

/// Counts for a [`QueueUse`].
#[derive(Default)]
pub struct Meter {
    counted: QueueUse,
    at: Instant,
}

impl Meter {
    fn advance(&mut self, now: Instant, backlog: Bytes) {
        self.counted.backlog_time += DataTime::of(backlog, now.saturating_since(self.at));
        self.at = now;
    }

    /// A packet came and found a backlog.
    #[inline]
    pub fn arrived(&mut self, now: Instant, backlog: Bytes, bytes: Bytes) {
        self.advance(now, backlog);
        self.counted.arrived_packets += 1;
        self.counted.most_backlog_bytes = self.counted.most_backlog_bytes.max(backlog + bytes);
    }

    /// A packet came and went nowhere.
    pub fn dropped(&mut self) {
        self.counted.arrived_packets += 1;
        self.counted.dropped_packets += 1;
    }

    /// A packet leaves a backlog, itself included.
    #[inline]
    pub fn sent(&mut self, now: Instant, backlog: Bytes, bytes: Bytes) {
        self.advance(now, backlog);
        self.counted.sent_packets += 1;
        self.counted.sent_bytes += bytes;
    }

    /// P4 opened the gate for a slot.
    #[inline]
    pub fn granted(&mut self) {
        self.counted.granted_slots += 1;
    }

    /// Counts since the last call; counting starts again.
    pub fn take(&mut self, now: Instant, backlog: Bytes, backlog_packets: u64) -> QueueUse {
        self.advance(now, backlog);
        let counted = std::mem::take(&mut self.counted);
        self.counted.most_backlog_bytes = backlog;
        QueueUse {
            backlog_bytes: backlog,
            backlog_packets,
            ..counted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_meter_sums_the_backlog_over_time() {
        let mut meter = Meter::default();
        meter.arrived(at(100), Bytes::new(0), Bytes::new(10));
        meter.arrived(at(200), Bytes::new(10), Bytes::new(30));
        meter.sent(at(250), Bytes::new(40), Bytes::new(10));
        meter.dropped();
        meter.granted();
        // 10 for 100 ns, 40 for 50 ns, 30 for 50 ns.
        let used = meter.take(at(300), Bytes::new(30), 1);
        assert_eq!(used.backlog_time.byte_ns(), 1000 + 2000 + 1500);
        assert_eq!((used.most_backlog_bytes.get(), used.backlog_bytes.get()), (40, 30));
        assert_eq!(
            (used.arrived_packets, used.dropped_packets, used.sent_bytes.get()),
            (3, 1, 10)
        );
        assert_eq!(used.granted_slots, 1);
        let nothing = meter.take(at(400), Bytes::new(30), 1);
        assert_eq!(
            (
                nothing.backlog_time.byte_ns(),
                nothing.most_backlog_bytes.get(),
                nothing.sent_packets
            ),
            (3000, 30, 0)
        );
    }
}
