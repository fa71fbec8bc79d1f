// SPDX-License-Identifier: Apache-2.0
//! The sending end of a transfer: TCP, or XCP inside the shim.
//!
//! It opens actively, sends one stream of bytes and closes. What the peer sends is acknowledged and dropped. Not
//! there: timestamps (each segment's time is remembered instead), simultaneous open, urgent data, and a reset in
//! answer to a stray segment.

mod acks;
mod config;
mod output;
mod pacing;
mod rack;

use std::collections::VecDeque;
use std::ops::Range;

use slotwise_units::{Bytes, Duration, Instant};

use crate::congestion::CongestionControl;
use crate::content::Source;
use crate::endpoint::{AbortReason, ConfigError, Endpoint, Event};
use crate::rtt::{RttEstimator, SendTimes};
use crate::scoreboard::Scoreboard;
use crate::segment::{Segment, flags};
use crate::sequence;
use rack::RackTlp;

pub use config::SenderConfig;

/// RFC 9293 section 3.7.1: the segment size of a peer that names none.
const DEFAULT_MSS: u64 = 536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// SYN to be sent or not yet answered.
    Handshake,
    Open,
    /// Both FINs are acknowledged.
    Closed,
    Aborted,
}

/// Where loss recovery stands. `until` is what had been sent when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    Fast { until: u64, partial_acks: bool },
    Timeout { until: u64 },
}

/// What the handshake said of the peer, and how far its own stream got.
#[derive(Clone, Copy, Debug)]
struct Peer {
    initial: u32,
    next: u64,
    finished: bool,
    window_shift: u8,
    sack: bool,
    ecn: bool,
}

/// Counters and state for measurement. Data is payload unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Payload of a full segment, as agreed in the handshake.
    pub mss: Bytes,
    /// Congestion window.
    pub window: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] before the first loss.
    pub ssthresh: Bytes,
    /// Sent and not acknowledged, selectively acknowledged bytes excepted.
    pub flight: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Sent at least once.
    pub sent: Bytes,
    /// Acknowledged by the peer.
    pub acked: Bytes,
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Times that fast recovery began.
    pub fast_recoveries: u64,
    /// Times that the retransmission timer went off on data.
    pub timeouts: u64,
    /// Recoveries, by timeouts or not, that began when all that was under way at the one before had been acknowledged.
    pub losses: u64,
    /// Sum over these of the congestion window before it was made smaller.
    pub window_before_losses: Bytes,
    /// Probes of a tail (RFC 8985 section 7), new data or again.
    pub tail_probes: u64,
    /// Packets that could not be decoded.
    pub malformed: u64,
    /// Packets that did not belong to this connection or had no place in it.
    pub unexpected: u64,
}

/// The sending end of one connection. The SYN goes out at the first `poll_transmit`.
pub struct Sender<S> {
    config: SenderConfig,
    source: S,
    control: Box<dyn CongestionControl + Send>,
    rtt: RttEstimator,
    times: SendTimes,
    scoreboard: Scoreboard,
    /// Once the handshake agreed on SACK, if RACK is asked for; `nxt` then never goes back.
    rack: Option<Box<RackTlp>>,
    /// `una` before the acknowledgment at hand.
    acked_before: u64,
    phase: Phase,
    peer: Option<Peer>,
    /// Payload of a full segment, in sequence numbers.
    mss: u64,
    /// Sequence number of the FIN, once known.
    fin: Option<u64>,
    /// End of what the application has written so far; `None`: it always has more.
    written: Option<u64>,
    /// SND.UNA, SND.NXT and the highest sent + 1. The timer takes `nxt` back to `una`.
    una: u64,
    nxt: u64,
    high: u64,
    /// From the peer, in sequence numbers.
    send_window: u64,
    largest_send_window: u64,
    recovery: Recovery,
    /// What had been sent at the last loss event (RFC 6582's `recover`).
    recover: u64,
    duplicate_acks: u32,
    /// Bytes outstanding at the first duplicate acknowledgment: limited transmit does not count.
    flight_at_duplicate: u64,
    /// Artificial part of the window: limited transmit, and fast recovery without SACK.
    inflation: i64,
    /// To be sent again before anything else.
    resend: Option<Range<u64>>,
    ack_due: bool,
    probe_due: bool,
    /// The congestion window was the last thing to hold back data.
    window_limited: bool,
    timer: Option<Instant>,
    /// When data left last.
    data_sent: Option<Instant>,
    /// Of a paced sender, when data may leave next.
    pace_at: Instant,
    /// Data waits for that time.
    pace_waits: bool,
    /// Timeouts since the peer was heard last.
    silent_timeouts: u32,
    /// `una` at the last timeout.
    timed_out_at: Option<u64>,
    events: VecDeque<Event>,
    stats: SenderStats,
}

impl<S: Source> Sender<S> {
    /// A connection to be opened, with `bytes` of `source` to send (`None`: until [`Sender::finish`]).
    ///
    /// # Errors
    /// When the configuration cannot work.
    pub fn new(config: SenderConfig, bytes: Option<Bytes>, source: S) -> Result<Self, ConfigError> {
        config.check()?;
        let mss = config.mss();
        Ok(Self {
            control: config.controller(mss, false),
            rtt: RttEstimator::new(config.rto),
            times: SendTimes::default(),
            scoreboard: Scoreboard::default(),
            rack: None,
            acked_before: 0,
            phase: Phase::Handshake,
            peer: None,
            mss: mss.get(),
            fin: bytes.map(|bytes| bytes.get().saturating_add(1)),
            written: None,
            una: 0,
            nxt: 0,
            high: 0,
            send_window: 0,
            largest_send_window: 0,
            recovery: Recovery::None,
            recover: 0,
            duplicate_acks: 0,
            flight_at_duplicate: 0,
            inflation: 0,
            resend: None,
            ack_due: false,
            probe_due: false,
            window_limited: false,
            timer: None,
            data_sent: None,
            pace_at: Instant::ZERO,
            pace_waits: false,
            silent_timeouts: 0,
            timed_out_at: None,
            events: VecDeque::new(),
            stats: SenderStats::default(),
            config,
            source,
        })
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Ends a transfer of no given size after what has been sent so far.
    pub fn finish(&mut self) {
        self.fin.get_or_insert(self.high.max(1));
    }

    /// The application has written `bytes` in all and not more. Of a transfer of no given size only whole segments
    /// of that go out; without this call the application always has more.
    pub fn write_up_to(&mut self, bytes: Bytes) {
        self.written = Some(bytes.get().saturating_add(1));
    }

    /// Counters, and the state of congestion control now.
    pub fn stats(&self) -> SenderStats {
        let payload = |end: u64| Bytes::new(end.saturating_sub(1).min(self.fin.map_or(u64::MAX, |fin| fin - 1)));
        SenderStats {
            mss: Bytes::new(self.mss),
            window: self.control.window(),
            ssthresh: self.control.ssthresh(),
            flight: Bytes::new(self.flight()),
            srtt: self.rtt.srtt(),
            rto: self.rtt.rto(),
            sent: payload(self.high),
            acked: payload(self.una),
            ..self.stats
        }
    }

    /// Bytes sent and neither acknowledged nor SACKed. After a timeout, only what was sent since.
    fn flight(&self) -> u64 {
        if let Some(rack) = &self.rack {
            return rack.rack.out_bytes();
        }
        self.nxt - self.una - self.scoreboard.covered(self.una..self.nxt)
    }

    /// FlightSize of RFC 5681 equation 4: all that is not cumulatively acknowledged, in bytes; after a timeout without RACK, only
    /// what was sent since. With SACK it may have grown beyond the window, and a second loss must not raise the threshold.
    fn flight_size(&self) -> u64 {
        let sent = self.nxt - self.una;
        match self.uses_sack() {
            true => sent.min(self.control.window().get()),
            false => sent,
        }
    }

    /// What may be outstanding when the peer's window has these bytes.
    fn usable_window(&self, window: u64) -> u64 {
        let limit = self.config.window_limit_segments;
        limit.map_or(window, |segments| window.min(u64::from(segments) * self.mss))
    }

    fn uses_ecn(&self) -> bool {
        self.peer.is_some_and(|peer| peer.ecn)
    }

    fn uses_sack(&self) -> bool {
        self.peer.is_some_and(|peer| peer.sack)
    }

    fn abort(&mut self, reason: AbortReason) {
        self.phase = Phase::Aborted;
        self.timer = None;
        self.pace_waits = false;
        self.rack = None;
        self.resend = None;
        self.ack_due = false;
        self.probe_due = false;
        self.events.push_back(Event::Aborted(reason));
    }

    fn handle_handshake(&mut self, now: Instant, segment: &Segment) {
        let answers_syn = self.high > 0
            && segment.has(flags::ACK)
            && segment.acknowledgment == sequence::to_wire(self.config.initial_sequence, 1);
        if !answers_syn || !segment.has(flags::SYN | flags::RST) {
            self.stats.unexpected += 1;
            return;
        }
        if segment.has(flags::RST) {
            self.abort(AbortReason::Reset);
            return;
        }
        self.peer = Some(Peer {
            initial: segment.sequence,
            next: 1,
            finished: false,
            window_shift: segment.options.window_scale.unwrap_or(0),
            sack: self.config.sack && segment.options.sack_permitted,
            // RFC 3168 section 6.1.1: a host that reflects both bits does not support ECN.
            ecn: self.config.uses_ecn() && segment.has(flags::ECE) && !segment.has(flags::CWR),
        });
        if self.config.rack && self.uses_sack() {
            self.rack = Some(Box::new(RackTlp::new()));
        }
        let syn_timed_out = self.silent_timeouts > 0;
        let peer_mss = segment.options.mss.map_or(DEFAULT_MSS, u64::from).max(1);
        self.mss = self.mss.min(peer_mss);
        self.control = self.config.controller(Bytes::new(self.mss), syn_timed_out);
        self.una = 1;
        self.nxt = 1;
        match self.times.acknowledged(1, now) {
            Some(rtt) => self.rtt.sample(rtt),
            None => self.rtt.handshake_timed_out(),
        }
        self.silent_timeouts = 0;
        self.timer = None;
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        self.send_window = self.usable_window(segment.window.into());
        self.largest_send_window = self.send_window;
        self.phase = Phase::Open;
        self.ack_due = true;
        self.events.push_back(Event::Connected);
    }

    fn handle_open(&mut self, now: Instant, segment: &Segment, payload: &[u8]) {
        let Some(peer) = self.peer else {
            return;
        };
        let Some(start) = sequence::from_wire(peer.initial, peer.next, segment.sequence) else {
            self.stats.unexpected += 1;
            return;
        };
        // RFC 5961 sections 3 and 4: only the exact number resets; doubtful segments get an acknowledgment.
        if segment.has(flags::RST) && start == peer.next {
            self.abort(AbortReason::Reset);
            return;
        }
        if segment.has(flags::RST | flags::SYN) || !segment.has(flags::ACK) {
            self.ack_due |= segment.has(flags::RST | flags::SYN);
            self.stats.unexpected += 1;
            return;
        }
        if !self.handle_ack(now, segment, payload.is_empty()) {
            return;
        }
        self.discard_data(start, payload.len() as u64, segment.has(flags::FIN));
        let all_acked = self.fin.is_some_and(|fin| self.una > fin);
        if self.phase == Phase::Open && all_acked && self.peer.is_some_and(|p| p.finished) {
            self.phase = Phase::Closed;
            self.events.push_back(Event::Closed);
        }
    }

    /// Acknowledges the peer's stream and drops it.
    fn discard_data(&mut self, start: u64, length: u64, fin: bool) {
        let Some(peer) = self.peer.as_mut().filter(|_| length > 0 || fin) else {
            return;
        };
        self.ack_due = true;
        let end = start + length;
        if start <= peer.next && end >= peer.next && !peer.finished {
            peer.next = end + u64::from(fin);
            peer.finished = fin;
        }
    }
}

impl<S: Source> Endpoint for Sender<S> {
    fn handle_segment(&mut self, now: Instant, packet: &[u8]) {
        let Ok((segment, payload)) = Segment::decode(packet) else {
            self.stats.malformed += 1;
            return;
        };
        if segment.source != self.config.remote
            || segment.destination != self.config.local
            || segment.congestion.is_some() != self.config.is_xcp()
        {
            self.stats.unexpected += 1;
            return;
        }
        match self.phase {
            Phase::Handshake => self.handle_handshake(now, &segment),
            Phase::Open | Phase::Closed => self.handle_open(now, &segment, payload),
            Phase::Aborted => self.stats.unexpected += 1,
        }
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        self.transmit(now, out)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let pace_at = self.pace_waits.then_some(self.pace_at);
        let rack_timer = self.rack.as_ref().and_then(|rack| rack.poll_timeout());
        [self.timer, pace_at, rack_timer].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.pace_waits &= self.pace_at > now;
        let probes = self.handle_rack_timeout(now);
        if probes || self.timer.is_none_or(|timer| timer > now) {
            return;
        }
        self.silent_timeouts += 1;
        if self.silent_timeouts > self.config.max_timeouts {
            self.abort(AbortReason::NoAnswer);
            return;
        }
        if self.phase == Phase::Handshake {
            self.nxt = 0;
        } else if self.high > self.una {
            self.handle_retransmission_timeout(now);
        } else {
            self.probe_due = true;
        }
        self.rtt.back_off();
        self.timer = Some(now + self.rtt.rto());
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
