// SPDX-License-Identifier: Apache-2.0
//! RACK's timer and tail loss probes (RFC 8985 sections 6 and 7), for a sender whose peer speaks SACK.

use std::ops::Range;

use super::{Phase, Recovery, Sender};
use crate::content::Source;
use crate::rack::{Rack, Situation};
use crate::segment::{Segment, flags};
use crate::sequence;

/// What one segment alone may wait for at its receiver (section 7.2, TLP.max_ack_delay): Linux's bound of a delayed acknowledgment.
const MAX_ACK_DELAY_NS: u64 = 200_000_000;
/// Section 7.2: the probe's timeout before a round trip was measured.
const FIRST_PROBE_NS: u64 = 1_000_000_000;

/// RACK, and the tail loss probe that is out or due.
#[derive(Debug, Default)]
pub(super) struct RackTlp {
    pub(super) rack: Rack,
    /// When to look for losses again.
    pub(super) reorder_ns: Option<u64>,
    /// When a probe leaves (PTO).
    pub(super) probe_ns: Option<u64>,
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

    pub(super) fn poll_timeout(&self) -> Option<u64> {
        [self.reorder_ns, self.probe_ns].into_iter().flatten().min()
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

    fn situation(&self, now_ns: u64, has_dsack: bool, has_recovered: bool) -> Situation {
        Situation {
            now_ns,
            una: self.una,
            nxt: self.high,
            has_dsack,
            is_recovering: self.recovery != Recovery::None,
            has_recovered,
            srtt_ns: self.rtt.srtt_ns(),
        }
    }

    /// After an acknowledgment: `newly_acked` bytes at once, `was` the recovery before it.
    pub(super) fn handle_rack_ack(&mut self, now_ns: u64, segment: &Segment, newly_acked: u64, was: Recovery) {
        if self.rack.is_none() {
            return;
        }
        let dsack = self.dsack(segment);
        if let Some(rack) = &mut self.rack {
            rack.rack.take_delivered(now_ns);
        }
        self.judge_probe(now_ns, segment, dsack.clone());
        let has_recovered = was != Recovery::None && self.recovery == Recovery::None;
        let now = self.situation(now_ns, dsack.is_some(), has_recovered);
        self.look_for_losses(&now);
        if newly_acked > 0 {
            self.schedule_probe(now_ns);
        }
        let is_quiet = self.recovery == Recovery::None;
        if let Some(rack) = &mut self.rack
            && (!is_quiet || rack.rack.has_sacked() || self.una == self.high)
        {
            rack.probe_ns = None;
        }
    }

    /// Section 6.2 step 5, RACK_detect_loss_and_arm_timer().
    fn look_for_losses(&mut self, now: &Situation) {
        let Some(rack) = &mut self.rack else {
            return;
        };
        let verdict = rack.rack.detect(now);
        rack.reorder_ns = verdict.again_ns;
        if verdict.lost_segments > 0 && self.recovery == Recovery::None {
            self.reduce_for_loss(now.now_ns);
            self.recovery = Recovery::Fast {
                until: self.high,
                partial_acks: false,
            };
        }
    }

    fn reduce_for_loss(&mut self, now_ns: u64) {
        self.stats.fast_recoveries += 1;
        self.note_loss();
        self.control.on_loss(now_ns, self.flight_size());
        self.recover = self.high;
    }

    /// Section 7.4, TLP_process_ack().
    fn judge_probe(&mut self, now_ns: u64, segment: &Segment, dsack: Option<Range<u64>>) {
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
                self.reduce_for_loss(now_ns);
            }
        }
    }

    /// A duplicate acknowledgment: what it acknowledges had been acknowledged before.
    fn probe_was_answered(&self, segment: &Segment) -> bool {
        self.acked_before == self.una && !segment.has(flags::FIN)
    }

    /// Section 7.2: after new data and after what acknowledges data, unless losses are being dealt with.
    pub(super) fn schedule_probe(&mut self, now_ns: u64) {
        let srtt_ns = self.rtt.srtt_ns();
        let is_quiet = self.recovery == Recovery::None && self.una < self.high && self.phase == Phase::Open;
        let Some(rack) = &mut self.rack else {
            return;
        };
        if !is_quiet || rack.rack.has_sacked() || rack.probe.is_some() {
            return;
        }
        let wait_ns = match srtt_ns {
            Some(srtt_ns) if rack.rack.is_single() => 2 * srtt_ns + MAX_ACK_DELAY_NS,
            Some(srtt_ns) => 2 * srtt_ns,
            None => FIRST_PROBE_NS,
        };
        let at_ns = now_ns + wait_ns;
        rack.probe_ns = Some(self.timer_ns.map_or(at_ns, |timer_ns| at_ns.min(timer_ns)));
    }

    /// RACK's timer, or the probe's; true if the retransmission timer, due at the same time, is to wait for the probe's answer.
    pub(super) fn handle_rack_timeout(&mut self, now_ns: u64) -> bool {
        let Some(rack) = &mut self.rack else {
            return false;
        };
        let due = |timer: Option<u64>| timer.is_some_and(|at_ns| at_ns <= now_ns);
        let (looks, probes) = (due(rack.reorder_ns), due(rack.probe_ns));
        if probes {
            rack.probe_ns = None;
            rack.probe_due = true;
            // Section 7.3: the timer starts anew behind the probe.
            self.timer_ns = Some(now_ns + self.rtt.rto_ns());
        }
        if looks {
            let now = self.situation(now_ns, false, false);
            self.look_for_losses(&now);
        }
        probes
    }

    /// After the retransmission timer went off on data: what is lost (section 6.3). The first segment goes out whatever the window.
    pub(super) fn rack_timed_out(&mut self, now_ns: u64) {
        let now = self.situation(now_ns, false, false);
        let Some(rack) = &mut self.rack else {
            return;
        };
        rack.rack.timed_out(&now);
        rack.reorder_ns = None;
        rack.probe_ns = None;
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
