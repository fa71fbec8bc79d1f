// SPDX-License-Identifier: Apache-2.0
//! RACK's timer and tail loss probes (RFC 8985 sections 6 and 7), for a sender whose peer speaks SACK.

use std::ops::Range;

use slotwise_units::{Bytes, Duration, Instant};

use super::{Phase, Recovery, Sender};
use crate::content::Source;
use crate::rack::{Rack, Situation};
use crate::segment::{Segment, flags};
use crate::sequence;

/// What one segment alone may wait for at its receiver (section 7.2, TLP.max_ack_delay): Linux's bound of a delayed acknowledgment.
const MAX_ACK_DELAY: Duration = Duration::from_ms(200);
/// Section 7.2: the probe's timeout before a round trip was measured.
const FIRST_PROBE: Duration = Duration::from_s(1);

/// RACK, and the tail loss probe that is out or due.
#[derive(Debug, Default)]
pub(super) struct RackTlp {
    pub(super) rack: Rack,
    /// When to look for losses again.
    pub(super) reorder_at: Option<Instant>,
    /// When a probe leaves (PTO).
    pub(super) probe_at: Option<Instant>,
    /// A probe is to be sent now.
    pub(super) probe_due: bool,
    /// TLP.end_seq and TLP.is_retrans of a probe that is out.
    pub(super) probe: Option<(u64, bool)>,
}

impl RackTlp {
    pub(super) fn new() -> Self {
        Self {
            rack: Rack::new(),
            ..Self::default()
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        [self.reorder_at, self.probe_at].into_iter().flatten().min()
    }
}

impl<S: Source> Sender<S> {
    /// Whether an acknowledgment tells of a segment that came twice (RFC 2883 section 4): its first block is below what it
    /// acknowledges, or within the second one. The range.
    pub(super) fn dsack(&self, segment: &Segment) -> Option<Range<u64>> {
        let mut blocks = segment.options.sack().iter().map(|(left, right)| {
            let number = |wire| sequence::from_wire(self.config.initial_sequence, self.una, wire);
            Some(number(*left)?..number(*right)?)
        });
        let first = blocks.next()??;
        let within = |second: Range<u64>| second.start <= first.start && first.end <= second.end;
        let is_dsack = first.end <= self.una || blocks.next().flatten().is_some_and(within);
        is_dsack.then_some(first)
    }

    fn situation(&self, now: Instant, has_dsack: bool, has_recovered: bool) -> Situation {
        Situation {
            now,
            una: self.una,
            nxt: self.high,
            has_dsack,
            is_recovering: self.recovery != Recovery::None,
            has_recovered,
            srtt: self.rtt.srtt(),
        }
    }

    /// After an acknowledgment: `newly_acked` bytes at once, `was` the recovery before it.
    pub(super) fn handle_rack_ack(&mut self, now: Instant, segment: &Segment, newly_acked: u64, was: Recovery) {
        if self.rack.is_none() {
            return;
        }
        let dsack = self.dsack(segment);
        if let Some(rack) = &mut self.rack {
            rack.rack.take_delivered(now);
        }
        self.judge_probe(now, segment, dsack.clone());
        let has_recovered = was != Recovery::None && self.recovery == Recovery::None;
        let situation = self.situation(now, dsack.is_some(), has_recovered);
        self.look_for_losses(&situation);
        if newly_acked > 0 {
            self.schedule_probe(now);
        }
        let is_quiet = self.recovery == Recovery::None;
        if let Some(rack) = &mut self.rack
            && (!is_quiet || rack.rack.has_sacked() || self.una == self.high)
        {
            rack.probe_at = None;
        }
    }

    /// Section 6.2 step 5, RACK_detect_loss_and_arm_timer().
    fn look_for_losses(&mut self, situation: &Situation) {
        let Some(rack) = &mut self.rack else {
            return;
        };
        let verdict = rack.rack.detect(situation);
        rack.reorder_at = verdict.again;
        if verdict.lost_segments > 0 && self.recovery == Recovery::None {
            self.reduce_for_loss(situation.now);
            self.recovery = Recovery::Fast {
                until: self.high,
                partial_acks: false,
            };
        }
    }

    fn reduce_for_loss(&mut self, now: Instant) {
        self.stats.fast_recoveries += 1;
        self.note_loss();
        self.control.on_loss(now, Bytes::new(self.flight_size()));
        self.recover = self.high;
    }

    /// Section 7.4, TLP_process_ack().
    fn judge_probe(&mut self, now: Instant, segment: &Segment, dsack: Option<Range<u64>>) {
        let Some((end, is_retransmission)) = self.rack.as_ref().and_then(|rack| rack.probe) else {
            return;
        };
        if self.una < end {
            return;
        }
        // Of a probe that was new data nothing is to be learnt; a duplicate came of one whose original had arrived.
        let is_original = dsack.is_some_and(|range| range.end == end);
        let is_duplicate = self.una == end && segment.options.sack().is_empty() && self.probe_was_answered(segment);
        let repaired = is_retransmission && !is_original && self.una > end;
        if !is_retransmission || is_original || is_duplicate || repaired {
            if let Some(rack) = &mut self.rack {
                rack.probe = None;
            }
            if repaired && self.recovery == Recovery::None {
                self.reduce_for_loss(now);
            }
        }
    }

    /// A duplicate acknowledgment: what it acknowledges had been acknowledged before.
    fn probe_was_answered(&self, segment: &Segment) -> bool {
        self.acked_before == self.una && !segment.has(flags::FIN)
    }

    /// Section 7.2: after new data and after what acknowledges data, unless losses are being dealt with.
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let srtt = self.rtt.srtt();
        let is_quiet = self.recovery == Recovery::None && self.una < self.high && self.phase == Phase::Open;
        let Some(rack) = &mut self.rack else {
            return;
        };
        if !is_quiet || rack.rack.has_sacked() || rack.probe.is_some() {
            return;
        }
        let wait = match srtt {
            Some(srtt) if rack.rack.is_single() => 2 * srtt + MAX_ACK_DELAY,
            Some(srtt) => 2 * srtt,
            None => FIRST_PROBE,
        };
        let at = now + wait;
        rack.probe_at = Some(self.timer.map_or(at, |timer| at.min(timer)));
    }

    /// RACK's timer, or the probe's; true if the retransmission timer, due at the same time, is to wait for the probe's answer.
    pub(super) fn handle_rack_timeout(&mut self, now: Instant) -> bool {
        let Some(rack) = &mut self.rack else {
            return false;
        };
        let due = |timer: Option<Instant>| timer.is_some_and(|at| at <= now);
        let (looks, probes) = (due(rack.reorder_at), due(rack.probe_at));
        if probes {
            rack.probe_at = None;
            rack.probe_due = true;
            // Section 7.3: the timer starts anew behind the probe.
            self.timer = Some(now + self.rtt.rto());
        }
        if looks {
            let situation = self.situation(now, false, false);
            self.look_for_losses(&situation);
        }
        probes
    }

    /// After the retransmission timer went off on data: what is lost (section 6.3). The first segment goes out whatever the window.
    pub(super) fn rack_timed_out(&mut self, now: Instant) {
        let situation = self.situation(now, false, false);
        let Some(rack) = &mut self.rack else {
            return;
        };
        rack.rack.timed_out(&situation);
        rack.reorder_at = None;
        rack.probe_at = None;
        rack.probe_due = false;
        rack.probe = None;
        self.resend = rack.rack.first_lost();
    }

    /// What goes out next: a probe, what is lost, new data.
    pub(super) fn next_with_rack(&mut self, window: u64) -> Option<Range<u64>> {
        let rack = self.rack.as_mut()?;
        let out = rack.rack.out_bytes();
        if std::mem::take(&mut rack.probe_due) {
            return self.next_probe();
        }
        if let Some(lost) = rack.rack.first_lost() {
            let has_room = out + (lost.end - lost.start) <= window || out == 0;
            self.window_limited = !has_room;
            return has_room.then_some(lost);
        }
        self.next_in_order(window.saturating_sub(out))
    }

    /// Section 7.3, TLP_send_probe(): new data if the peer's window lets it, else the last segment again.
    fn next_probe(&mut self) -> Option<Range<u64>> {
        let next = self.next_in_order(u64::MAX);
        let is_retransmission = next.is_none();
        let rack = self.rack.as_mut()?;
        let range = next.or_else(|| rack.rack.last())?;
        rack.probe = Some((self.high.max(range.end), is_retransmission));
        self.stats.tail_probes += 1;
        Some(range)
    }
}
