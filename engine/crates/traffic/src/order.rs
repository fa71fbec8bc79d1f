// SPDX-License-Identifier: Apache-2.0
//! In which order a flow's packets arrive (RFC 4737), how their delays scatter, and which of its segments were sent needlessly: of
//! flows that are to be measured so.

use std::collections::{BTreeSet, VecDeque};

use slotwise_units::{Bytes, Duration};

use super::bursts::{Bursts, FlowTrains};

/// Packets that are remembered to find out by how many another was overtaken; none counts as overtaken by more.
const MOST_EXTENT: usize = 1024;
/// Fast retransmits of which it is not known yet whether they were needed.
const MOST_PENDING: usize = 4096;
/// The larger n of n-reordering that is counted: three duplicate acknowledgments mean a loss.
const DUP_THRESH: usize = 3;

/// Acknowledgments are bunched that come no later than this after the one before: two packets of 1500 bytes at 1 Gb/s.
const BUNCHED_NS: u64 = 24_000;

/// What a measured flow did since it was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderUse {
    /// Packets with data that arrived.
    pub packets: u64,
    /// Sum of their one-way delays.
    pub delay_sum: Duration,
    /// Sum of the squares of these, ns^2.
    pub delay_squares_ns2: u128,
    /// Packets that arrived after one that was sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// Packets that arrived right after one sent later: n-reordering with n = 1 (section 5.4).
    pub reordered_1: u64,
    /// Packets that arrived right after three sent later: n = 3.
    pub reordered_3: u64,
    /// Sum over reordered packets of how many arrivals after the first one sent later they came (reordering extent, section 4.2.1).
    pub extent_sum: u64,
    /// The largest of these; at most 1024.
    pub extent_max: u64,
    /// Data segments sent, again or not; of UDP datagrams.
    pub sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Of these, segments of which the receiver had every byte already: when they were sent, or when they or their originals came.
    pub needless_retransmissions: u64,
    /// Times that a fast recovery began.
    pub fast_retransmits: u64,
    /// Of these, how many sent a segment needlessly with it.
    pub needless_fast_retransmits: u64,
    /// Times that a retransmission timer went off.
    pub timeouts: u64,
    /// Recoveries, by timeouts or not, that began when all that was under way at the one before had been acknowledged.
    pub losses: u64,
    /// Sum over these of the congestion window before it.
    pub window_before_losses: Bytes,
    /// Payload that arrived without a gap for the first time; of UDP all payload.
    pub delivered_bytes: Bytes,
    /// Acknowledgments without payload that came to the sender.
    pub acknowledgments: u64,
    /// Of these, those that came within 24 us of the one before.
    pub bunched_acknowledgments: u64,
    /// (least, largest) time between the first bits out of the sender of two packets that arrived one after the other.
    pub gap: Option<(Duration, Duration)>,
    /// Trains with its segments that were deflected or lost.
    pub trains: FlowTrains,
}

/// What a sender and a receiver have counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) sent: u64,
    pub(crate) retransmissions: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) losses: u64,
    pub(crate) window_before_losses: Bytes,
    pub(crate) delivered_bytes: Bytes,
}

/// Measures one flow.
#[derive(Default)]
pub(crate) struct Order {
    lately: OrderUse,
    /// Its segments in trains.
    pub(crate) bursts: Bursts,
    /// As it stood when it was last asked.
    before: Counted,
    arrivals: u64,
    /// When the last acknowledgment came.
    acknowledged_ns: Option<u64>,
    /// (when sent, which arrival) of packets sent later than all that had arrived before, oldest first.
    latest: VecDeque<(u64, u64)>,
    /// When the last arrivals were sent.
    last: VecDeque<u64>,
    retransmissions: u64,
    fast_retransmits: u64,
    /// Sent again although all had arrived; their own arrival does not count once more. By sequence numbers.
    counted: BTreeSet<u32>,
    /// Fast retransmits that may still turn out needless.
    fast: BTreeSet<u32>,
}

impl Order {
    /// A packet with data, sent at `born_ns`, arrived.
    pub(crate) fn arrived(&mut self, born_ns: u64, now_ns: u64) {
        let delay_ns = now_ns - born_ns;
        let lately = &mut self.lately;
        lately.packets += 1;
        lately.delay_sum += Duration::from_ns(delay_ns);
        lately.delay_squares_ns2 += u128::from(delay_ns) * u128::from(delay_ns);
        self.arrivals += 1;
        if self.latest.back().is_none_or(|(latest_ns, _)| *latest_ns <= born_ns) {
            self.latest.push_back((born_ns, self.arrivals));
            if self.latest.len() > MOST_EXTENT {
                self.latest.pop_front();
            }
        } else {
            let first = self.latest.partition_point(|(sent_ns, _)| *sent_ns <= born_ns);
            let extent = (self.arrivals - self.latest[first].1).min(MOST_EXTENT as u64);
            lately.reordered += 1;
            lately.extent_sum += extent;
            lately.extent_max = lately.extent_max.max(extent);
        }
        let overtakers = self.last.iter().rev().take_while(|sent_ns| **sent_ns > born_ns).count();
        lately.reordered_1 += u64::from(overtakers >= 1);
        lately.reordered_3 += u64::from(overtakers >= DUP_THRESH);
        if let Some(gap_ns) = self.last.back().and_then(|before_ns| born_ns.checked_sub(*before_ns)) {
            let gap = Duration::from_ns(gap_ns);
            let (least, most) = self.lately.gap.unwrap_or((gap, gap));
            self.lately.gap = Some((least.min(gap), most.max(gap)));
        }
        self.last.push_back(born_ns);
        if self.last.len() > DUP_THRESH {
            self.last.pop_front();
        }
    }

    /// An acknowledgment without payload has come to the sender.
    pub(crate) fn acknowledged(&mut self, now_ns: u64) {
        let before_ns = self.acknowledged_ns.replace(now_ns);
        self.lately.acknowledgments += 1;
        let is_bunched = before_ns.is_some_and(|before_ns| now_ns - before_ns <= BUNCHED_NS);
        self.lately.bunched_acknowledgments += u64::from(is_bunched);
    }

    /// A segment with data leaves the sender, which has counted so much with it; `is_there` when the receiver has every byte of it.
    pub(crate) fn sent(
        &mut self,
        sequence: u32,
        retransmissions: u64,
        fast_retransmits: u64,
        is_there: impl FnOnce() -> bool,
    ) {
        let is_again = retransmissions > self.retransmissions;
        let is_fast = is_again && fast_retransmits > self.fast_retransmits;
        self.retransmissions = retransmissions;
        self.fast_retransmits = if is_again {
            fast_retransmits
        } else {
            self.fast_retransmits
        };
        if !is_again {
            return;
        }
        if is_there() {
            self.lately.needless_retransmissions += 1;
            self.lately.needless_fast_retransmits += u64::from(is_fast);
            self.counted.insert(sequence);
        } else if is_fast {
            self.fast.insert(sequence);
        }
        for set in [&mut self.counted, &mut self.fast] {
            if set.len() > MOST_PENDING {
                set.pop_first();
            }
        }
    }

    /// A segment arrived of which the receiver had every byte.
    pub(crate) fn duplicate(&mut self, sequence: u32) {
        if self.counted.remove(&sequence) {
            return;
        }
        self.lately.needless_retransmissions += 1;
        self.lately.needless_fast_retransmits += u64::from(self.fast.remove(&sequence));
    }

    /// What happened since the last call.
    pub(crate) fn take(&mut self, counted: Counted) -> OrderUse {
        let before = std::mem::replace(&mut self.before, counted);
        OrderUse {
            sent: counted.sent - before.sent,
            retransmissions: counted.retransmissions - before.retransmissions,
            fast_retransmits: counted.fast_retransmits - before.fast_retransmits,
            timeouts: counted.timeouts - before.timeouts,
            losses: counted.losses - before.losses,
            window_before_losses: counted.window_before_losses - before.window_before_losses,
            delivered_bytes: counted.delivered_bytes - before.delivered_bytes,
            trains: self.bursts.take(),
            ..std::mem::take(&mut self.lately)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a flow counts whose packets, numbered as they were sent, arrive so.
    fn arrive(sent: &[u64]) -> OrderUse {
        let mut order = Order::default();
        for (i, number) in sent.iter().enumerate() {
            order.arrived(*number, 1000 + i as u64);
        }
        order.take(Counted::default())
    }

    /// (reordered, n = 1, n = 3, sum and largest of the extents)
    fn reordering(sent: &[u64]) -> (u64, u64, u64, u64, u64) {
        let order = arrive(sent);
        let OrderUse {
            reordered,
            reordered_1,
            reordered_3,
            extent_sum,
            extent_max,
            ..
        } = order;
        (reordered, reordered_1, reordered_3, extent_sum, extent_max)
    }

    #[test]
    fn gaps_are_those_at_the_sender_of_what_arrived() {
        let gap = |least, most| Some((Duration::from_ns(least), Duration::from_ns(most)));
        assert_eq!(arrive(&[10, 22, 35]).gap, gap(12, 13));
        // What was overtaken has none itself.
        assert_eq!(arrive(&[10, 35, 22, 48]).gap, gap(25, 26));
        assert_eq!(arrive(&[10]).gap, None);
    }

    #[test]
    fn acknowledgments_are_bunched_within_two_packets() {
        let mut order = Order::default();
        for at_ns in [5_000, 29_000, 53_001, 53_002] {
            order.acknowledged(at_ns);
        }
        let order = order.take(Counted::default());
        assert_eq!((order.acknowledgments, order.bunched_acknowledgments), (4, 2));
    }

    #[test]
    fn the_examples_of_rfc_4737() {
        // Section 7.1: 4 is late.
        assert_eq!(reordering(&[1, 2, 3, 5, 6, 7, 8, 4, 9, 10]), (1, 1, 1, 4, 4));
        // Section 7.2: 5 and 6 are, by 1 and 2.
        assert_eq!(reordering(&[1, 2, 3, 4, 7, 5, 6, 8, 9, 10]), (2, 1, 0, 3, 2));
        // Section 7.3: 4, 5 and 6 are, by 4, 5 and 6; only before 4 come three that were sent later.
        assert_eq!(reordering(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]), (3, 1, 1, 15, 6));
        assert_eq!(reordering(&[1, 2, 4, 7]), (0, 0, 0, 0, 0), "lost packets are not late");
    }

    #[test]
    fn an_extent_is_bounded_by_what_is_remembered() {
        let mut sent: Vec<u64> = (2..3000).collect();
        sent.push(1);
        assert_eq!(reordering(&sent).4, MOST_EXTENT as u64);
    }

    #[test]
    fn delays_and_their_squares_are_summed() {
        let mut order = Order::default();
        order.arrived(10, 30);
        order.arrived(20, 50);
        let lately = order.take(Counted::default());
        assert_eq!(
            (lately.packets, lately.delay_sum, lately.delay_squares_ns2),
            (2, Duration::from_ns(50), 1300)
        );
        assert_eq!(order.take(Counted::default()), OrderUse::default());
    }

    #[test]
    fn a_segment_sent_again_is_needless_once_if_the_receiver_had_it_or_gets_it_twice() {
        let needless = |order: &mut Order| {
            let lately = order.take(Counted::default());
            (lately.needless_retransmissions, lately.needless_fast_retransmits)
        };
        let mut order = Order::default();
        order.sent(100, 0, 0, || true);
        assert_eq!(needless(&mut order), (0, 0), "it is sent for the first time");
        // A fast retransmit, and then the original comes before it.
        order.sent(100, 1, 1, || false);
        order.duplicate(100);
        assert_eq!(needless(&mut order), (1, 1));
        // A timer that went off too early: all is there, and comes again.
        order.sent(200, 2, 1, || true);
        order.duplicate(200);
        assert_eq!(needless(&mut order), (1, 0));
        // A fast retransmit that was needed.
        order.sent(300, 3, 2, || false);
        assert_eq!(needless(&mut order), (0, 0));
    }
}
