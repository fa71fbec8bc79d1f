// SPDX-License-Identifier: Apache-2.0
//! Uses of queues and links since they were last asked for.

use hdrhistogram::Histogram;

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
    pub backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u64,
    /// Most that waited at once.
    pub most_backlog_bytes: u64,
    /// Backlog integrated over time, byte times ns.
    pub backlog_byte_ns: u128,
    /// Packets that came, dropped ones included.
    pub arrived_packets: u64,
    /// Packets that found the queue full or were too long for it.
    pub dropped_packets: u64,
    /// Packets that entered the fibre.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Slots with a gate that P4 opened.
    pub granted_slots: u64,
}

/// One direction of an access link since the start. Bytes of Ethernet frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessUse {
    /// Frames that were sent, or wait.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that found the queue full, were longer than the MTU allows, or waited when their link or switch failed.
    pub dropped_packets: u64,
}

/// Counts for a [`QueueUse`].
#[derive(Default)]
pub struct Meter {
    counted: QueueUse,
    at_ns: u64,
}

impl Meter {
    fn advance(&mut self, now_ns: u64, backlog_bytes: u64) {
        self.counted.backlog_byte_ns += u128::from(now_ns.saturating_sub(self.at_ns)) * u128::from(backlog_bytes);
        self.at_ns = now_ns;
    }

    /// A packet came and found `backlog_bytes`.
    #[inline]
    pub fn arrived(&mut self, now_ns: u64, backlog_bytes: u64, bytes: u64) {
        self.advance(now_ns, backlog_bytes);
        self.counted.arrived_packets += 1;
        self.counted.most_backlog_bytes = self.counted.most_backlog_bytes.max(backlog_bytes + bytes);
    }

    /// A packet came and went nowhere.
    pub fn dropped(&mut self) {
        self.counted.arrived_packets += 1;
        self.counted.dropped_packets += 1;
    }

    /// A packet leaves `backlog_bytes`, itself included.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, backlog_bytes: u64, bytes: u64) {
        self.advance(now_ns, backlog_bytes);
        self.counted.sent_packets += 1;
        self.counted.sent_bytes += bytes;
    }

    /// P4 opened the gate for a slot.
    #[inline]
    pub fn granted(&mut self) {
        self.counted.granted_slots += 1;
    }

    /// Counts since the last call; counting starts again.
    pub fn take(&mut self, now_ns: u64, backlog_bytes: u64, backlog_packets: u64) -> QueueUse {
        self.advance(now_ns, backlog_bytes);
        let counted = std::mem::take(&mut self.counted);
        self.counted.most_backlog_bytes = backlog_bytes;
        QueueUse {
            backlog_bytes,
            backlog_packets,
            ..counted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_sums_the_backlog_over_time() {
        let mut meter = Meter::default();
        meter.arrived(100, 0, 10);
        meter.arrived(200, 10, 30);
        meter.sent(250, 40, 10);
        meter.dropped();
        meter.granted();
        // 10 for 100 ns, 40 for 50 ns, 30 for 50 ns.
        let used = meter.take(300, 30, 1);
        assert_eq!(used.backlog_byte_ns, 1000 + 2000 + 1500);
        assert_eq!((used.most_backlog_bytes, used.backlog_bytes), (40, 30));
        assert_eq!(
            (used.arrived_packets, used.dropped_packets, used.sent_bytes),
            (3, 1, 10)
        );
        assert_eq!(used.granted_slots, 1);
        let nothing = meter.take(400, 30, 1);
        assert_eq!(
            (
                nothing.backlog_byte_ns,
                nothing.most_backlog_bytes,
                nothing.sent_packets
            ),
            (3000, 30, 0)
        );
    }
}
