// SPDX-License-Identifier: Apache-2.0
//! Acknowledgments and loss recovery: RFC 5681 section 3.2, RFC 6582, RFC 6675 section 5, RFC 6298 section 5.

use slotwise_units::{Bytes, Instant};

use super::{Recovery, Sender};
use crate::congestion::{Ack, Algorithm, Marks};
use crate::content::Source;
use crate::endpoint::Event;
use crate::segment::{Segment, flags};
use crate::sequence;

/// Duplicate acknowledgments that mean a loss.
const DUP_THRESH: u32 = 3;

impl<S: Source> Sender<S> {
    /// Takes the acknowledgment of a segment; `bare` when the segment has no payload. False when it acknowledges
    /// what was never sent: nothing of the segment counts (RFC 9293 section 3.10.7.4).
    pub(super) fn handle_ack(&mut self, now: Instant, segment: &Segment, bare: bool) -> bool {
        let initial = self.config.initial_sequence;
        let acknowledged = sequence::from_wire(initial, self.una, segment.acknowledgment);
        let Some(acknowledged) = acknowledged.filter(|a| *a <= self.high) else {
            self.ack_due = true;
            self.stats.unexpected += 1;
            return false;
        };
        if acknowledged < self.una {
            return true;
        }
        self.silent_timeouts = 0;
        let was = self.recovery;
        self.acked_before = self.una;
        let newly_acked = acknowledged - self.una;
        self.una = acknowledged;
        self.nxt = self.nxt.max(acknowledged);
        self.scoreboard.acknowledged(acknowledged);
        if let Some(rack) = &mut self.rack {
            rack.rack.acknowledged(acknowledged);
        }
        let news = self.take_sacks(segment);

        // The peer sends no data, so no acknowledgment is older than this one but has a newer window.
        let shift = self.peer.map_or(0, |peer| peer.window_shift);
        let window = self.usable_window(u64::from(segment.window) << shift);
        let same_window = window == self.send_window;
        if newly_acked == 0 && self.una == self.high && window > self.send_window {
            // The window opens after probes, which backed the timer off.
            self.rtt.end_back_off();
        }
        self.send_window = window;
        self.largest_send_window = self.largest_send_window.max(window);

        // RFC 5681 section 2, or with SACK RFC 6675 section 2.
        let says_news = if self.uses_sack() { news } else { same_window };
        if newly_acked > 0 {
            self.handle_new_ack(now, newly_acked, segment);
        } else if says_news && self.high > self.una && bare && !segment.has(flags::FIN) {
            self.handle_duplicate_ack(now);
        }
        self.handle_rack_ack(now, segment, newly_acked, was);
        true
    }

    /// True when a block says something new.
    fn take_sacks(&mut self, segment: &Segment) -> bool {
        if !self.uses_sack() {
            return false;
        }
        let mut news = false;
        for (left, right) in segment.options.sack() {
            let number = |wire| sequence::from_wire(self.config.initial_sequence, self.una, wire);
            if let (Some(left), Some(right)) = (number(*left), number(*right)) {
                let is_news = self.scoreboard.sacked(left..right, self.una..self.high);
                if let Some(rack) = self.rack.as_mut().filter(|_| is_news) {
                    rack.rack.sacked(left..right, self.fin);
                }
                news |= is_news;
            }
        }
        news
    }

    fn handle_new_ack(&mut self, now: Instant, newly_acked: u64, segment: &Segment) {
        if let Some(rtt) = self.times.acknowledged(self.una, now) {
            self.rtt.sample(rtt);
        }
        if self.uses_ecn() {
            self.control.on_marks(&Marks {
                acked: Bytes::new(newly_acked),
                is_marked: segment.has(flags::ECE),
                outstanding: Bytes::new(self.nxt - self.una),
                is_recovering: matches!(self.recovery, Recovery::Fast { .. }),
            });
        }
        // RFC 5681 section 3.2, RFC 6675 section 5: duplicates count in a row, whatever is being recovered from.
        self.duplicate_acks = 0;
        let mut restart_timer = true;
        match self.recovery {
            Recovery::None => {
                self.grow_window(now, Bytes::new(newly_acked), segment);
                self.inflation = 0;
            }
            Recovery::Timeout { until } => {
                self.grow_window(now, Bytes::new(newly_acked), segment);
                if self.una >= until {
                    self.recovery = Recovery::None;
                }
            }
            Recovery::Fast { until, .. } if self.una >= until || self.ends_at_partial_ack() => {
                self.end_fast_recovery();
            }
            Recovery::Fast { until, partial_acks } => {
                self.recovery = Recovery::Fast {
                    until,
                    partial_acks: true,
                };
                if !self.uses_sack() {
                    // RFC 6582 section 3.2 step 3: the next hole goes out, the window shrinks by what left
                    // the network, and only the first partial acknowledgment restarts the timer.
                    self.resend = self.first_missing();
                    self.inflation -= newly_acked as i64;
                    if newly_acked >= self.mss {
                        self.inflation += self.mss as i64;
                    }
                    restart_timer = !partial_acks;
                }
            }
        }
        if self.una == self.high {
            self.timer = None;
        } else if restart_timer {
            self.timer = Some(now + self.rtt.rto());
        }
        let all_acked = self.fin.is_some_and(|fin| self.una > fin);
        if all_acked {
            self.events.push_back(Event::Finished);
        }
    }

    fn grow_window(&mut self, now: Instant, acked: Bytes, segment: &Segment) {
        self.control.on_ack(&Ack {
            now,
            acked,
            srtt: self.rtt.srtt(),
            window_limited: self.window_limited,
            feedback: segment.congestion.map(|header| header.reverse_feedback),
        });
    }

    /// Classic Reno without SACK.
    fn ends_at_partial_ack(&self) -> bool {
        self.config.algorithm == Algorithm::Reno && !self.uses_sack()
    }

    fn end_fast_recovery(&mut self) {
        self.recovery = Recovery::None;
        self.inflation = 0;
        if !self.uses_sack() && !self.ends_at_partial_ack() {
            // RFC 6582 section 3.2 step 3, option 1: no burst into an emptied network.
            self.control
                .cap_window(Bytes::new(self.flight().max(self.mss) + self.mss));
        }
    }

    fn handle_duplicate_ack(&mut self, now: Instant) {
        if self.duplicate_acks == 0 {
            self.flight_at_duplicate = self.nxt - self.una;
        }
        self.duplicate_acks += 1;
        match self.recovery {
            Recovery::None if self.is_loss() => self.begin_fast_recovery(now),
            Recovery::None if !self.uses_sack() && self.config.limited_transmit => {
                // Limited transmit (RFC 3042); with SACK the flight shrinks by itself.
                self.inflation = i64::from(self.duplicate_acks.min(2)) * self.mss as i64;
            }
            Recovery::Fast { .. } if !self.uses_sack() => self.inflation += self.mss as i64,
            _ => {}
        }
    }

    fn is_loss(&self) -> bool {
        if self.rack.is_some() {
            return false;
        }
        if self.uses_sack() {
            let seen = self.duplicate_acks >= DUP_THRESH || self.scoreboard.lost_below(self.mss) > self.una;
            return seen && self.una >= self.recover;
        }
        // RFC 6582 section 3.2 step 2: duplicates of what was sent before the last loss prove nothing.
        self.duplicate_acks == DUP_THRESH && (self.una > self.recover || self.config.algorithm == Algorithm::Reno)
    }

    fn begin_fast_recovery(&mut self, now: Instant) {
        self.stats.fast_recoveries += 1;
        self.note_loss();
        self.control.on_loss(now, Bytes::new(self.flight_at_duplicate));
        self.recover = self.high;
        self.recovery = Recovery::Fast {
            until: self.high,
            partial_acks: false,
        };
        self.resend = self.first_missing();
        if let Some(resend) = &self.resend {
            self.scoreboard.enter_recovery(resend.end);
        }
        if !self.uses_sack() {
            self.inflation = i64::from(DUP_THRESH) * self.mss as i64;
        }
    }

    /// A recovery begins; it is the same loss as long as what was under way at the last one is.
    pub(super) fn note_loss(&mut self) {
        if self.una >= self.recover {
            self.stats.losses += 1;
            self.stats.window_before_losses += self.control.window();
        }
    }

    /// The segment at `una`.
    fn first_missing(&self) -> Option<std::ops::Range<u64>> {
        self.scoreboard.first_gap(self.una..self.high.min(self.una + self.mss))
    }

    /// RFC 6298 rules 5.4 to 5.6 and RFC 5681 section 3.1: begin again at the first unacknowledged byte.
    pub(super) fn handle_retransmission_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.note_loss();
        let first = self.timed_out_at != Some(self.una);
        self.timed_out_at = Some(self.una);
        self.control.on_timeout(now, Bytes::new(self.flight_size()), first);
        self.times.resent(self.una, self.high);
        self.recover = self.high;
        if self.rack.is_some() {
            self.rack_timed_out(now);
        } else {
            self.scoreboard.clear();
            self.nxt = self.una;
            self.resend = None;
        }
        self.recovery = Recovery::Timeout { until: self.high };
        self.duplicate_acks = 0;
        self.inflation = 0;
    }
}
