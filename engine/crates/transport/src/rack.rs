// SPDX-License-Identifier: Apache-2.0
//! RACK (RFC 8985 section 6): a segment is lost once one sent later has arrived and the reordering window has passed. Sequence
//! numbers and times only; what to do about a loss is the sender's.

use std::collections::VecDeque;
use std::ops::Range;

use slotwise_units::{Duration, Instant};

/// RFC 8985 section 6.2 step 4: DupThresh.
const DUP_THRESH: usize = 3;
/// Step 4: recoveries without a DSACK after which the window is a quarter of the round trip again.
const REO_WND_PERSIST: u32 = 16;

/// A segment that was sent and is not acknowledged.
#[derive(Clone, Debug)]
struct Sent {
    range: Range<u64>,
    /// When it was sent last.
    sent_at: Instant,
    resent: bool,
    lost: bool,
    sacked: bool,
}

impl Sent {
    fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Counts as in the network.
    fn is_out(&self) -> bool {
        !self.lost && !self.sacked
    }

    /// RACK_sent_after(other, self): whether `(sent_at, end)` was sent after this.
    fn is_before(&self, (sent_at, end): (Instant, u64)) -> bool {
        (self.sent_at, self.range.end) < (sent_at, end)
    }
}

/// How an acknowledgment left the sender, for the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    pub(crate) now: Instant,
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// It told of a segment that came twice (RFC 2883).
    pub(crate) has_dsack: bool,
    pub(crate) is_recovering: bool,
    /// A recovery ended with it.
    pub(crate) has_recovered: bool,
    pub(crate) srtt: Option<Duration>,
}

/// What [`Rack::detect`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Segments newly thought lost.
    pub(crate) lost_segments: usize,
    /// When to look again.
    pub(crate) again: Option<Instant>,
}

/// What is outstanding, segment by segment, and RACK's variables of section 6.1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    /// In order of their numbers, without gaps.
    sent: VecDeque<Sent>,
    /// Bytes that are out and neither lost nor SACKed.
    out_bytes: u64,
    lost: usize,
    sacked: usize,
    min_rtt: Option<Duration>,
    /// RACK.rtt, RACK.xmit_ts and RACK.end_seq of the segment that was sent last of those delivered.
    rtt: Duration,
    latest: (Instant, u64),
    /// RACK.fack: the furthest number delivered.
    fack: u64,
    reordering_seen: bool,
    dsack_round: Option<u64>,
    reo_wnd_mult: u64,
    reo_wnd_persist: u32,
    /// Newly delivered by the acknowledgment at hand: end, time, whether sent again.
    delivered: Vec<(u64, Instant, bool)>,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            reo_wnd_mult: 1,
            ..Self::default()
        }
    }

    /// Bytes in the network.
    pub(crate) fn out_bytes(&self) -> u64 {
        self.out_bytes
    }

    fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(crate) fn has_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// Section 6.2 step 1 of data, new or again.
    pub(crate) fn transmitted(&mut self, range: Range<u64>, now: Instant) {
        let at = self.sent.partition_point(|sent| sent.range.end <= range.start);
        let Some(sent) = self.sent.get_mut(at) else {
            self.out_bytes += range.end - range.start;
            self.sent.push_back(Sent {
                range,
                sent_at: now,
                resent: false,
                lost: false,
                sacked: false,
            });
            return;
        };
        sent.sent_at = now;
        sent.resent = true;
        if sent.lost {
            sent.lost = false;
            self.lost -= 1;
            self.out_bytes += sent.bytes();
        }
    }

    /// All below `una` has arrived.
    pub(crate) fn acknowledged(&mut self, una: u64) {
        while let Some(first) = self.sent.front_mut().filter(|first| first.range.start < una) {
            if first.range.end > una {
                if first.is_out() {
                    self.out_bytes -= una - first.range.start;
                }
                first.range.start = una;
                break;
            }
            if first.is_out() {
                self.out_bytes -= first.bytes();
            }
            self.lost -= usize::from(first.lost);
            if first.sacked {
                self.sacked -= 1;
            } else {
                self.delivered.push((first.range.end, first.sent_at, first.resent));
            }
            self.sent.pop_front();
        }
    }

    /// A block of a selective acknowledgment, which has no place for the number of the FIN behind the last byte.
    pub(crate) fn sacked(&mut self, block: Range<u64>, fin: Option<u64>) {
        let first = self.sent.partition_point(|sent| sent.range.start < block.start);
        for sent in self.sent.iter_mut().skip(first) {
            let with_fin = fin == Some(block.end) && sent.range.end == block.end + 1 && sent.range.start < block.end;
            if sent.range.end > block.end && !with_fin {
                break;
            }
            if sent.sacked {
                continue;
            }
            if sent.is_out() {
                self.out_bytes -= sent.bytes();
            }
            self.lost -= usize::from(std::mem::take(&mut sent.lost));
            sent.sacked = true;
            self.sacked += 1;
            self.delivered.push((sent.range.end, sent.sent_at, sent.resent));
        }
    }

    /// Section 6.2 steps 1 to 3 for what the acknowledgment at hand delivered.
    pub(crate) fn take_delivered(&mut self, now: Instant) {
        self.delivered.sort_unstable();
        for (end, sent_at, resent) in std::mem::take(&mut self.delivered) {
            let rtt = now.saturating_since(sent_at);
            if end > self.fack {
                self.fack = end;
            } else if end < self.fack && !resent {
                self.reordering_seen = true;
            }
            // Step 2: an answer this early is to an earlier transmission.
            if resent && self.min_rtt.is_some_and(|min| rtt < min) {
                continue;
            }
            if !resent {
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
            }
            if (sent_at, end) > self.latest {
                self.latest = (sent_at, end);
                self.rtt = rtt;
            }
        }
    }

    /// Section 6.2 step 4, RACK_update_reo_wnd().
    fn reordering_window(&mut self, situation: &Situation) -> Duration {
        if self.dsack_round.is_some_and(|round| situation.una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && situation.has_dsack {
            self.dsack_round = Some(situation.nxt);
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if situation.has_recovered {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
        if !self.reordering_seen && (situation.is_recovering || self.sacked >= DUP_THRESH) {
            return Duration::ZERO;
        }
        let window = self.reo_wnd_mult * self.min_rtt.unwrap_or_default() / 4;
        situation.srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// Section 6.2 step 5, RACK_detect_loss().
    pub(crate) fn detect(&mut self, situation: &Situation) -> Verdict {
        let window = self.reordering_window(situation);
        let mut verdict = Verdict::default();
        for sent in &mut self.sent {
            if !sent.is_before(self.latest) {
                if sent.resent {
                    continue;
                }
                // What was sent once was sent in the order of its numbers: all further ones left later still.
                break;
            }
            if !sent.is_out() {
                continue;
            }
            let until = sent.sent_at + self.rtt + window;
            if until <= situation.now {
                sent.lost = true;
                self.lost += 1;
                self.out_bytes -= sent.bytes();
                verdict.lost_segments += 1;
            } else {
                verdict.again = verdict.again.max(Some(until));
            }
        }
        verdict
    }

    /// Section 6.3, RACK_mark_losses_on_RTO().
    pub(crate) fn timed_out(&mut self, situation: &Situation) {
        let window = self.reordering_window(situation);
        let mut is_first = true;
        for sent in self.sent.iter_mut().filter(|sent| !sent.sacked) {
            let is_late = sent.sent_at + self.rtt + window <= situation.now;
            if (std::mem::take(&mut is_first) || is_late) && !sent.lost {
                sent.lost = true;
                self.lost += 1;
                self.out_bytes -= sent.bytes();
            }
        }
    }

    /// The first segment to send again.
    pub(crate) fn first_lost(&self) -> Option<Range<u64>> {
        let mut lost = self.sent.iter().filter(|sent| sent.lost);
        self.has_lost().then(|| lost.next().map(|sent| sent.range.clone()))?
    }

    /// The segment sent furthest ahead, for a probe (section 7.3).
    pub(crate) fn last(&self) -> Option<Range<u64>> {
        self.sent.back().map(|sent| sent.range.clone())
    }

    /// Whether one segment, and no more, is outstanding.
    pub(crate) fn is_single(&self) -> bool {
        self.sent.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 100;
    const MS: Duration = Duration::from_ms(1);

    fn at(since: Duration) -> Instant {
        Instant::ZERO + since
    }

    /// The acknowledgment of the segments `una` of which every one before has arrived, with blocks of whole segments.
    struct Bench {
        rack: Rack,
        una: u64,
        high: u64,
        recovering: bool,
    }

    impl Bench {
        /// Segments 1 to `n` (numbers 0 to n - 1 here) sent 1 ms apart.
        fn new(n: u64) -> Bench {
            let mut rack = Rack::new();
            for i in 0..n {
                rack.transmitted(i * MSS..(i + 1) * MSS, at(i * MS));
            }
            let high = n * MSS;
            Bench {
                rack,
                una: 0,
                high,
                recovering: false,
            }
        }

        fn now(&self, since: Duration, has_dsack: bool, has_recovered: bool) -> Situation {
            Situation {
                now: at(since),
                una: self.una,
                nxt: self.high,
                has_dsack,
                is_recovering: self.recovering,
                has_recovered,
                srtt: Some(100 * MS),
            }
        }

        fn ack(&mut self, since: Duration, una: u64, sacked: &[u64]) -> Verdict {
            self.una = una * MSS;
            self.rack.acknowledged(self.una);
            for i in sacked {
                self.rack.sacked(i * MSS..(i + 1) * MSS, None);
            }
            self.rack.take_delivered(at(since));
            let now = self.now(since, false, false);
            self.rack.detect(&now)
        }

        fn lost(&self) -> Vec<u64> {
            let lost = self.rack.sent.iter().filter(|sent| sent.lost);
            lost.map(|sent| sent.range.start / MSS).collect()
        }
    }

    #[test]
    fn a_segment_is_lost_a_quarter_of_the_round_trip_after_one_sent_later_has_arrived() {
        // Two SACKed: fewer than DupThresh, so the window is min_RTT / 4 = 25 ms.
        let mut bench = Bench::new(4);
        let verdict = bench.ack(101 * MS, 0, &[1]);
        assert_eq!(
            verdict,
            Verdict {
                lost_segments: 0,
                again: Some(at(125 * MS))
            }
        );
        bench.ack(102 * MS, 0, &[2]);
        assert_eq!(bench.lost(), []);
        let now = bench.now(125 * MS, false, false);
        assert_eq!(
            bench.rack.detect(&now),
            Verdict {
                lost_segments: 1,
                again: None
            }
        );
        assert_eq!(bench.lost(), [0], "3 was sent after all that arrived");
        assert_eq!(bench.rack.out_bytes(), MSS);
    }

    #[test]
    fn three_sacked_need_no_wait_while_no_reordering_was_seen() {
        let mut bench = Bench::new(4);
        bench.ack(101 * MS, 0, &[1]);
        bench.ack(102 * MS, 0, &[2]);
        assert_eq!(bench.ack(103 * MS, 0, &[3]).lost_segments, 1);
    }

    #[test]
    fn once_reordering_was_seen_three_sacked_wait_like_two() {
        let mut bench = Bench::new(10);
        bench.ack(101 * MS, 0, &[1]);
        // 0 arrives after 1.
        bench.ack(102 * MS, 2, &[]);
        assert!(bench.rack.reordering_seen);
        bench.ack(104 * MS, 2, &[3, 4, 5]);
        bench.ack(107 * MS, 2, &[6, 7]);
        assert_eq!(bench.lost(), []);
        // 2 was sent at 2 ms; round trip 100, window 25.
        let now = bench.now(127 * MS, false, false);
        assert_eq!(bench.rack.detect(&now).lost_segments, 1);
    }

    #[test]
    fn a_lost_retransmission_is_found_by_a_segment_sent_after_it() {
        let mut bench = Bench::new(5);
        assert_eq!(bench.ack(104 * MS, 0, &[1, 2, 3]).lost_segments, 1);
        bench.recovering = true;
        bench.rack.transmitted(0..MSS, at(104 * MS));
        assert!(!bench.rack.has_lost());
        bench.rack.transmitted(5 * MSS..6 * MSS, at(105 * MS));
        assert_eq!(
            bench.ack(105 * MS, 0, &[4]).lost_segments,
            0,
            "sent before the retransmission"
        );
        assert_eq!(bench.ack(205 * MS, 0, &[5]).lost_segments, 1);
        assert_eq!(bench.lost(), [0]);
    }

    #[test]
    fn an_answer_earlier_than_any_round_trip_is_of_the_first_transmission() {
        let mut bench = Bench::new(3);
        bench.ack(100 * MS, 1, &[]);
        bench.rack.transmitted(MSS..2 * MSS, at(150 * MS));
        bench.ack(160 * MS, 2, &[]);
        assert_eq!(
            bench.rack.latest.0,
            Instant::ZERO,
            "10 ms after the retransmission: ambiguous"
        );
    }

    #[test]
    fn a_dsack_a_round_widens_the_window_and_sixteen_recoveries_without_one_narrow_it() {
        let mut bench = Bench::new(4);
        bench.rack.reordering_seen = true;
        bench.ack(100 * MS, 1, &[]);
        let window = |bench: &mut Bench, dsack, recovered| {
            let now = bench.now(200 * MS, dsack, recovered);
            bench.rack.reordering_window(&now)
        };
        assert_eq!(window(&mut bench, false, false), 25 * MS);
        assert_eq!(window(&mut bench, true, false), 50 * MS);
        assert_eq!(window(&mut bench, true, false), 50 * MS, "once a round");
        bench.una = bench.high;
        for _ in 0..5 {
            bench.high += MSS;
            bench.una = bench.high;
            window(&mut bench, true, false);
            bench.una = bench.high;
        }
        assert_eq!(
            window(&mut bench, false, false),
            100 * MS,
            "at most the smoothed round trip"
        );
        for i in 1..=16 {
            let narrow = window(&mut bench, false, true) == 25 * MS;
            assert_eq!(narrow, i == 16, "recovery {i}");
        }
    }

    #[test]
    fn a_timeout_takes_the_first_and_what_is_late_for_lost() {
        let mut bench = Bench::new(3);
        bench.ack(101 * MS, 0, &[1]);
        bench.rack.transmitted(3 * MSS..4 * MSS, at(1000 * MS));
        let now = bench.now(1050 * MS, false, false);
        bench.rack.timed_out(&now);
        assert_eq!(bench.lost(), [0, 2], "1 is SACKed, 3 too young");
        assert_eq!(bench.rack.first_lost(), Some(0..MSS));
    }

    #[test]
    fn the_last_bytes_are_sacked_with_the_fin_that_they_came_with_and_a_lone_fin_is_not() {
        let mut rack = Rack::new();
        rack.transmitted(0..100, Instant::ZERO);
        rack.transmitted(100..201, Instant::from_ns(1));
        rack.sacked(100..200, Some(200));
        assert_eq!(rack.out_bytes(), 100);
        let mut rack = Rack::new();
        rack.transmitted(0..200, Instant::ZERO);
        rack.transmitted(200..201, Instant::from_ns(1));
        rack.sacked(100..200, Some(200));
        assert_eq!(rack.out_bytes(), 201);
    }

    #[test]
    fn a_partial_acknowledgment_of_a_segment_leaves_its_rest() {
        let mut bench = Bench::new(2);
        bench.rack.acknowledged(50);
        assert_eq!(bench.rack.out_bytes(), 150);
        bench.rack.transmitted(50..100, at(5 * MS));
        assert_eq!(bench.rack.out_bytes(), 150);
        bench.rack.acknowledged(200);
        assert_eq!((bench.rack.out_bytes(), bench.rack.last()), (0, None));
    }
}
