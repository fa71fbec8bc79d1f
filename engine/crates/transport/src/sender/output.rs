// SPDX-License-Identifier: Apache-2.0
//! What to send next, and how it looks on the wire.

use std::ops::Range;

use slotwise_units::{Bytes, Duration, Instant};

use super::{Phase, Recovery, Sender};
use crate::content::Source;
use crate::segment::{ECT, Options, Segment, flags};
use crate::sequence;
use crate::xcp;

/// The window for the peer's stream, which is dropped.
const RECEIVE_WINDOW: u16 = u16::MAX;

impl<S: Source> Sender<S> {
    pub(super) fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        match self.phase {
            Phase::Aborted => return None,
            Phase::Handshake if self.nxt > 0 => return None,
            Phase::Handshake => self.send_syn(now, out),
            Phase::Open | Phase::Closed => {
                self.restart_after_idle(now);
                if let Some(range) = self.next_in_time(now) {
                    self.send_data(now, range, out);
                } else if self.ack_due || self.probe_due {
                    self.send_ack(out);
                } else {
                    self.await_window(now);
                    return None;
                }
            }
        }
        Some(out.len())
    }

    /// Takes the window back to the initial one before data leaves that follows a pause of more than a retransmission timeout:
    /// no acknowledgments clock it out (RFC 5681 section 4.1).
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = self
            .data_sent
            .map_or(Duration::ZERO, |sent_at| now.saturating_since(sent_at));
        if idle > self.rtt.rto() && self.una == self.high && self.segment_end() > self.nxt {
            self.control
                .cap_window(self.config.initial_window(Bytes::new(self.mss)));
        }
    }

    /// The sequence numbers that go out next, retransmissions first.
    pub(super) fn next_range(&mut self) -> Option<Range<u64>> {
        if let Some(range) = self.resend.take() {
            // The acknowledgments since may have covered it.
            if range.start >= self.una {
                return Some(range);
            }
        }
        if self.rack.is_some() {
            return self.next_with_rack(self.control.window().get());
        }
        match self.recovery {
            Recovery::Fast { until, .. } if self.uses_sack() => self.next_in_sack_recovery(until),
            _ => {
                let window = self.control.window().get() as i64 + self.inflation;
                let flight = match self.recovery {
                    // Selective acknowledgments make no room before a loss is known (RFC 3042 is off).
                    Recovery::None if !self.config.limited_transmit => self.nxt - self.una,
                    _ => self.flight(),
                };
                let room = (window - flight as i64).max(0) as u64;
                self.next_in_order(room)
            }
        }
    }

    /// RFC 6675 section 5 step C and NextSeg().
    fn next_in_sack_recovery(&mut self, recovery_point: u64) -> Option<Range<u64>> {
        let outstanding = self.una..self.nxt;
        let pipe = self.scoreboard.pipe(outstanding.clone(), self.mss);
        let room = self.control.window().get().saturating_sub(pipe);
        if room < self.mss {
            return None;
        }
        self.scoreboard
            .next_hole(self.una, self.mss, true)
            .or_else(|| self.next_in_order(room))
            .or_else(|| self.scoreboard.next_hole(self.una, self.mss, false))
            .or_else(|| self.scoreboard.rescue(outstanding, recovery_point, self.mss))
    }

    /// The segment at `nxt`, if congestion control leaves `room` for it and the peer's window does.
    pub(super) fn next_in_order(&mut self, room: u64) -> Option<Range<u64>> {
        while self.nxt < self.high
            && let Some(end) = self.scoreboard.skip(self.nxt)
        {
            self.nxt = end;
        }
        let end = self.segment_end();
        if end == self.nxt {
            self.window_limited = false;
            return None;
        }
        // A FIN takes no room.
        let payload = end.min(self.fin.unwrap_or(end)) - self.nxt;
        if room < payload {
            self.window_limited = true;
            return None;
        }
        let open = (self.una + self.send_window).saturating_sub(self.nxt);
        if open >= payload {
            return Some(self.nxt..end);
        }
        // RFC 9293 section 3.8.6.2.1: no small piece of a small window, unless the timer says so.
        self.window_limited = false;
        if open > 0 && (open >= self.largest_send_window / 2 || self.probe_due) {
            return Some(self.nxt..self.nxt + open);
        }
        None
    }

    /// The end of the largest segment at `nxt`; `nxt` when there is nothing to send.
    pub(super) fn segment_end(&self) -> u64 {
        if self.nxt < self.high {
            let limit = self.high.min(self.nxt + self.mss);
            return self
                .scoreboard
                .first_gap(self.nxt..limit)
                .map_or(self.nxt, |gap| gap.end);
        }
        let full = self.nxt + self.mss;
        match self.fin {
            None if self.written.is_some_and(|written| full > written) => self.nxt,
            Some(fin) if self.nxt > fin => self.nxt,
            Some(fin) if full >= fin => fin + 1,
            None | Some(_) => full,
        }
    }

    /// Data waits for the peer's window and nothing is outstanding: the timer will probe.
    fn await_window(&mut self, now: Instant) {
        let waiting = self.phase == Phase::Open && self.una == self.high && self.segment_end() > self.nxt;
        if waiting && self.timer.is_none() {
            self.timer = Some(now + self.rtt.rto());
        }
    }

    fn send_syn(&mut self, now: Instant, out: &mut Vec<u8>) {
        if self.high == 0 {
            self.times.sent(1, now);
            self.timer = Some(now + self.rtt.rto());
        } else {
            self.times.resent(0, 1);
        }
        self.nxt = 1;
        self.high = 1;
        let segment = Segment {
            // A shift of 0 lets the peer scale its window.
            options: Options::syn(self.mss as u16, Some(0), self.config.sack),
            flags: match self.config.uses_ecn() {
                true => flags::SYN | flags::ECE | flags::CWR,
                false => flags::SYN,
            },
            acknowledgment: 0,
            ..self.header(0, None)
        };
        segment.encode(out, 0, |_| {});
    }

    fn send_data(&mut self, now: Instant, range: Range<u64>, out: &mut Vec<u8>) {
        let fin = self.fin.is_some_and(|fin| range.end > fin);
        let payload = range.end - range.start - u64::from(fin);
        let mut segment = self.header(range.start, Some(self.request()));
        if fin {
            segment.flags |= flags::FIN | flags::PSH;
        }
        if self.uses_ecn() {
            segment.ecn = ECT;
        }
        let offset = range.start - 1;
        segment.encode(out, payload as usize, |bytes| {
            self.source.read(offset, bytes);
        });
        self.stats.segments += 1;
        self.data_sent = Some(now);
        let is_new = range.start >= self.high;
        if let Some(rack) = &mut self.rack {
            rack.rack.transmitted(range.clone(), now);
        }
        if range.start < self.high {
            self.stats.retransmissions += 1;
            self.times.resent(range.start, range.end);
        } else {
            self.times.sent(range.end, now);
        }
        if self.timer.is_none() || self.una == self.high {
            self.timer = Some(now + self.rtt.rto());
        }
        self.pace(now, payload);
        self.nxt = self.nxt.max(range.end);
        self.high = self.high.max(range.end);
        self.ack_due = false;
        self.probe_due = false;
        if is_new {
            self.schedule_probe(now);
        }
    }

    /// A bare acknowledgment; for a probe with a number that the peer has had, so that it must answer
    /// (RFC 9293 section 3.10.7.4).
    fn send_ack(&mut self, out: &mut Vec<u8>) {
        let number = if self.probe_due {
            self.una.saturating_sub(1)
        } else {
            self.nxt
        };
        self.ack_due = false;
        self.probe_due = false;
        self.header(number, None).encode(out, 0, |_| {});
    }

    /// The headers of a segment at `number`. Of XCP's shim, `request` is that of data.
    fn header(&self, number: u64, request: Option<xcp::Header>) -> Segment {
        let peer_next = self.peer.map_or(0, |peer| sequence::to_wire(peer.initial, peer.next));
        Segment {
            source: self.config.local,
            destination: self.config.remote,
            congestion: self.config.is_xcp().then(|| request.unwrap_or(xcp::Header::minimal(0))),
            sequence: sequence::to_wire(self.config.initial_sequence, number),
            acknowledgment: peer_next,
            flags: flags::ACK,
            ecn: 0,
            window: RECEIVE_WINDOW,
            options: Options::default(),
        }
    }

    /// What XCP asks for: as much as there is, once the round-trip time is known.
    fn request(&self) -> xcp::Header {
        let Some(srtt) = self.rtt.srtt() else {
            return xcp::Header {
                format: xcp::Format::Standard,
                ..xcp::Header::minimal(0)
            };
        };
        let window = self.control.window().get().min(self.send_window).max(self.mss);
        let spacing = u128::from(srtt.ns()) * u128::from(xcp::X_PER_NS) * u128::from(self.mss) / u128::from(window);
        xcp::Header {
            format: xcp::Format::Standard,
            rtt_ns: u32::try_from(srtt.ns().max(1)).unwrap_or(u32::MAX),
            x: u32::try_from(spacing.max(1)).unwrap_or(u32::MAX),
            delta_throughput: xcp::LARGEST_DELTA,
            reverse_feedback: 0,
        }
    }
}
