// SPDX-License-Identifier: Apache-2.0
//! What a sender knows from selective acknowledgments (RFC 2018), and RFC 6675's questions about it.

use std::ops::Range;

use crate::ranges::RangeSet;

/// RFC 6675 section 2.
const DUP_THRESH: usize = 3;

/// SACKed sequence numbers above the cumulative acknowledgment, and how far retransmission got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: RangeSet,
    /// HighRxt: retransmitted up to here in this recovery.
    high_rxt: u64,
    /// RescueRxt, once a rescue was sent.
    rescue_rxt: Option<u64>,
}

impl Scoreboard {
    /// Notes a block; true when it tells something new. Blocks that are not within what is outstanding are
    /// ignored.
    pub(crate) fn sacked(&mut self, block: Range<u64>, outstanding: Range<u64>) -> bool {
        if block.is_empty() || block.start < outstanding.start || block.end > outstanding.end {
            return false;
        }
        let known = self.sacked.covered(block.clone());
        known < block.end - block.start && self.sacked.insert(block)
    }

    /// The cumulative acknowledgment moved to `una`.
    pub(crate) fn acknowledged(&mut self, una: u64) {
        self.sacked.remove_below(una);
    }

    /// Forgets everything: after a timeout a receiver may have dropped what it SACKed (RFC 2018 section 8).
    pub(crate) fn clear(&mut self) {
        self.sacked.clear();
    }

    /// The first part of `window` that is not SACKed.
    pub(crate) fn first_gap(&self, window: Range<u64>) -> Option<Range<u64>> {
        self.sacked.first_gap(window)
    }

    /// SACKed bytes in `window`.
    pub(crate) fn covered(&self, window: Range<u64>) -> u64 {
        self.sacked.covered(window)
    }

    /// The end of the SACKed range that `number` is in.
    pub(crate) fn skip(&self, number: u64) -> Option<u64> {
        self.sacked.containing(number).map(|r| r.end)
    }

    /// IsLost(S) holds for the unSACKed S below the number given: enough was SACKed above it.
    pub(crate) fn lost_below(&self, mss: u64) -> u64 {
        let mut bytes = 0;
        for (i, range) in self.sacked.iter().rev().enumerate() {
            bytes += range.end - range.start;
            if i + 1 >= DUP_THRESH || bytes > (DUP_THRESH as u64 - 1) * mss {
                return range.start;
            }
        }
        0
    }

    /// A recovery begins and `una..end` is retransmitted at once (section 5 step 4.3).
    pub(crate) fn enter_recovery(&mut self, end: u64) {
        self.high_rxt = end;
        self.rescue_rxt = None;
    }

    /// SetPipe(): bytes of `outstanding` that are thought to be in the network.
    pub(crate) fn pipe(&self, outstanding: Range<u64>, mss: u64) -> u64 {
        let lost = self.lost_below(mss).clamp(outstanding.start, outstanding.end);
        let resent = self.high_rxt.clamp(outstanding.start, outstanding.end);
        self.missing(lost..outstanding.end) + self.missing(outstanding.start..resent)
    }

    fn missing(&self, window: Range<u64>) -> u64 {
        window.end - window.start - self.sacked.covered(window)
    }

    /// NextSeg() rules 1 and 3: the next hole to retransmit; with `lost_only` only a lost one (rule 1).
    pub(crate) fn next_hole(&mut self, una: u64, mss: u64, lost_only: bool) -> Option<Range<u64>> {
        let limit = if lost_only {
            self.lost_below(mss)
        } else {
            self.sacked.last_end()?
        };
        let hole = self.sacked.first_gap(self.high_rxt.max(una)..limit.max(una))?;
        let hole = hole.start..hole.end.min(hole.start + mss);
        self.high_rxt = hole.end;
        Some(hole)
    }

    /// NextSeg() rule 4: once a recovery, the last segment outstanding, to keep the acknowledgments coming.
    pub(crate) fn rescue(&mut self, outstanding: Range<u64>, recovery_point: u64, mss: u64) -> Option<Range<u64>> {
        if self.rescue_rxt.is_some_and(|rescue| outstanding.start <= rescue) {
            return None;
        }
        let start = self
            .sacked
            .last_end()
            .unwrap_or(0)
            .max(outstanding.end.saturating_sub(mss));
        let start = start.max(outstanding.start);
        if start >= outstanding.end {
            return None;
        }
        self.rescue_rxt = Some(recovery_point);
        Some(start..outstanding.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 100;

    /// Ten segments 0..1000 outstanding; those of `segments` are SACKed.
    fn board(segments: &[u64]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in segments {
            assert!(board.sacked(i * MSS..(i + 1) * MSS, 0..1000));
        }
        board
    }

    #[test]
    fn a_segment_is_lost_when_three_ranges_or_more_than_two_segments_above_it_are_sacked() {
        assert_eq!(board(&[2, 4]).lost_below(MSS), 0);
        assert_eq!(board(&[2, 4, 6]).lost_below(MSS), 200, "three ranges");
        assert_eq!(board(&[2, 3]).lost_below(MSS), 0, "exactly two segments");
        assert_eq!(board(&[2, 3, 4]).lost_below(MSS), 200, "more than two segments");
        assert_eq!(board(&[1, 5, 6, 7]).lost_below(MSS), 500);
    }

    #[test]
    fn pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_resent() {
        let mut board = board(&[5, 6, 7]);
        // 0..500 lost; 800..1000 in the network.
        assert_eq!(board.pipe(0..1000, MSS), 200);
        board.enter_recovery(100);
        assert_eq!(board.pipe(0..1000, MSS), 300);
    }

    #[test]
    fn holes_come_in_order_then_those_not_known_lost_then_one_rescue() {
        let mut board = board(&[1, 3, 4, 6]);
        board.enter_recovery(100);
        assert_eq!(board.next_hole(0, MSS, true), Some(200..300));
        assert_eq!(board.next_hole(0, MSS, true), None, "500..600 has one range above it");
        assert_eq!(board.next_hole(0, MSS, false), Some(500..600));
        assert_eq!(board.next_hole(0, MSS, false), None);
        assert_eq!(board.rescue(0..1000, 1000, MSS), Some(900..1000));
        assert_eq!(board.rescue(0..1000, 1000, MSS), None);
    }

    #[test]
    fn blocks_outside_what_is_outstanding_are_ignored() {
        let mut board = board(&[]);
        assert!(!board.sacked(50..50, 0..1000));
        assert!(!board.sacked(900..1001, 0..1000));
        assert!(!board.sacked(10..20, 15..1000));
        assert!(board.sacked(10..20, 0..1000));
        assert!(!board.sacked(10..20, 0..1000), "nothing new");
    }
}
