// SPDX-License-Identifier: Apache-2.0
//! What became of the segments of one flow that travelled together in a train: in one that a link between edges lost, or in one that was
//! deflected and came.

use std::collections::VecDeque;

/// Lost trains of which it is not known yet whether a timeout comes before they are acknowledged.
const MOST_PENDING: usize = 4096;
/// Segments of a flow from which on a train is long: so many duplicate acknowledgments mean a loss, and Reno's fast retransmit repairs one.
const LONG: u32 = 3;

/// Trains with segments of a flow, since it was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowTrains {
    /// That were deflected and came to an edge.
    pub deflected: u64,
    /// That a link between edges lost.
    pub lost: u64,
    /// That were lost earlier, and of which it has turned out that the flow's timer went off after the loss and before all of its segments
    /// in them were acknowledged.
    pub timed_out: u64,
    /// Of those that were lost, those with three of its segments or more.
    pub lost_long: u64,
    /// Of those that timed out, these.
    pub timed_out_long: u64,
}

/// A train that was lost.
struct Lost {
    train: u64,
    segments: u32,
    /// Behind the last byte of the flow in it, as a sequence number.
    end: u32,
    /// How often the timer had gone off.
    timeouts: u64,
}

impl Lost {
    fn is_long(&self) -> bool {
        self.segments >= LONG
    }
}

/// Of one flow.
#[derive(Default)]
pub(crate) struct Bursts {
    lately: FlowTrains,
    /// The last train that was deflected.
    deflected: Option<u64>,
    pending: VecDeque<Lost>,
    /// What the sender has been told that arrived, as a sequence number.
    acknowledged: Option<u32>,
}

/// Whether everything before `end` is before `acknowledged`; sequence numbers go round.
fn is_behind(end: u32, acknowledged: u32) -> bool {
    acknowledged.wrapping_sub(end) as i32 >= 0
}

impl Bursts {
    /// A segment has come in a train that was deflected.
    pub(crate) fn deflected(&mut self, train: u64) {
        let is_known = self.deflected.replace(train) == Some(train);
        self.lately.deflected += u64::from(!is_known);
    }

    /// A segment, whose last byte is before `end`, was lost with its train; the timer has gone off so often.
    pub(crate) fn lost(&mut self, train: u64, end: u32, timeouts: u64) {
        if let Some(lost) = self.pending.back_mut().filter(|lost| lost.train == train) {
            lost.segments += 1;
            if is_behind(lost.end, end) {
                lost.end = end;
            }
            self.lately.lost_long += u64::from(lost.segments == LONG);
            return;
        }
        self.lately.lost += 1;
        if self.pending.len() == MOST_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back(Lost {
            train,
            segments: 1,
            end,
            timeouts,
        });
    }

    /// An acknowledgment of everything before a number has come to the sender, whose timer has gone off so often.
    pub(crate) fn acknowledged(&mut self, number: u32, timeouts: impl FnOnce() -> u64) {
        let before = self.acknowledged;
        if before.is_none_or(|before| is_behind(before, number)) {
            self.acknowledged = Some(number);
        }
        if self.pending.is_empty() {
            return;
        }
        let timeouts = timeouts();
        let lately = &mut self.lately;
        self.pending.retain(|lost| {
            if !is_behind(lost.end, number) {
                return true;
            }
            // What was sent again though it had been acknowledged waits for nothing.
            let was_known = before.is_some_and(|before| is_behind(lost.end, before));
            let timed_out = timeouts > lost.timeouts && !was_known;
            lately.timed_out += u64::from(timed_out);
            lately.timed_out_long += u64::from(timed_out && lost.is_long());
            false
        });
    }

    /// What happened since the last call.
    pub(crate) fn take(&mut self) -> FlowTrains {
        std::mem::take(&mut self.lately)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loses a train of so many segments of 100 bytes from a number on.
    fn lose(bursts: &mut Bursts, train: u64, first: u32, segments: u32, timeouts: u64) {
        for segment in 1..=segments {
            bursts.lost(train, first.wrapping_add(100 * segment), timeouts);
        }
    }

    #[test]
    fn a_loss_that_is_acknowledged_first_has_not_timed_out_and_one_that_waits_for_the_timer_has() {
        let mut bursts = Bursts::default();
        lose(&mut bursts, 1, 0, 2, 0);
        lose(&mut bursts, 2, 1000, 3, 0);
        bursts.acknowledged(200, || 0);
        bursts.acknowledged(1200, || 1);
        let expected = FlowTrains {
            lost: 2,
            lost_long: 1,
            ..FlowTrains::default()
        };
        assert_eq!(bursts.take(), expected, "a part of the second is not all of it");
        bursts.acknowledged(1300, || 1);
        let lately = bursts.take();
        assert_eq!((lately.lost, lately.timed_out, lately.timed_out_long), (0, 1, 1));
        bursts.acknowledged(2000, || 2);
        assert_eq!(bursts.take(), FlowTrains::default(), "each counts once");
    }

    #[test]
    fn a_timeout_before_the_loss_is_not_one_after_it() {
        let mut bursts = Bursts::default();
        lose(&mut bursts, 1, 0, 1, 5);
        bursts.acknowledged(100, || 5);
        assert_eq!((bursts.lately.lost, bursts.lately.timed_out), (1, 0));
    }

    #[test]
    fn what_had_been_acknowledged_when_it_was_lost_waits_for_no_timer() {
        let mut bursts = Bursts::default();
        bursts.acknowledged(500, || 0);
        lose(&mut bursts, 1, 300, 2, 0);
        bursts.acknowledged(700, || 1);
        assert_eq!((bursts.lately.lost, bursts.lately.timed_out), (1, 0));
    }

    #[test]
    fn numbers_go_round() {
        let mut bursts = Bursts::default();
        bursts.acknowledged(u32::MAX - 50, || 0);
        lose(&mut bursts, 1, u32::MAX - 50, 3, 0);
        bursts.acknowledged(u32::MAX - 20, || 1);
        assert_eq!(bursts.lately.timed_out, 0);
        bursts.acknowledged(249, || 1);
        assert_eq!((bursts.lately.timed_out, bursts.lately.timed_out_long), (1, 1));
    }

    #[test]
    fn a_deflected_train_counts_once_however_many_segments_it_has() {
        let mut bursts = Bursts::default();
        for train in [7, 7, 7, 8, 9, 9] {
            bursts.deflected(train);
        }
        assert_eq!(bursts.take().deflected, 3);
    }
}
