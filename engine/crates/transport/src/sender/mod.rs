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
}

/// Counters and state for measurement. Bytes are payload unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Payload of a full segment, as agreed in the handshake.
    pub mss_bytes: u64,
    /// Congestion window.
    pub window_bytes: u64,
    /// Slow-start threshold; `u64::MAX` before the first loss.
    pub ssthresh_bytes: u64,
    /// Sent and not acknowledged, selectively acknowledged bytes excepted.
    pub flight_bytes: u64,
    /// Smoothed round-trip time.
    pub srtt_ns: Option<u64>,
    /// Retransmission timeout.
    pub rto_ns: u64,
    /// Sent at least once.
    pub sent_bytes: u64,
    /// Acknowledged by the peer.
    pub acked_bytes: u64,
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
    pub window_before_losses_bytes: u64,
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
    mss: u64,
    /// Sequence number of the FIN, once known.
    fin: Option<u64>,
    /// End of what the application has written so far; `None`: it always has more.
    written: Option<u64>,
    /// SND.UNA, SND.NXT and the highest sent + 1. The timer takes `nxt` back to `una`.
    una: u64,
    nxt: u64,
    high: u64,
    /// From the peer, bytes.
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
    timer_ns: Option<u64>,
    /// When data left last.
    data_sent_ns: Option<u64>,
    /// Of a paced sender, when data may leave next.
    pace_ns: u64,
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
    pub fn new(config: SenderConfig, bytes: Option<u64>, source: S) -> Result<Self, ConfigError> {
        config.check()?;
        let mss = config.mss_bytes();
        Ok(Self {
            control: config.controller(mss, false),
            rtt: RttEstimator::new(config.rto),
            times: SendTimes::default(),
            scoreboard: Scoreboard::default(),
            rack: None,
            acked_before: 0,
            phase: Phase::Handshake,
            peer: None,
            mss,
            fin: bytes.map(|bytes| bytes.saturating_add(1)),
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
            timer_ns: None,
            data_sent_ns: None,
            pace_ns: 0,
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
    pub fn write_up_to(&mut self, bytes: u64) {
        self.written = Some(bytes.saturating_add(1));
    }

    /// Counters, and the state of congestion control now.
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            mss_bytes: self.mss,
            window_bytes: self.control.window_bytes(),
            ssthresh_bytes: self.control.ssthresh_bytes(),
            flight_bytes: self.flight(),
            srtt_ns: self.rtt.srtt_ns(),
            rto_ns: self.rtt.rto_ns(),
            sent_bytes: self
                .high
                .saturating_sub(1)
                .min(self.fin.map_or(u64::MAX, |fin| fin - 1)),
            acked_bytes: self.una.saturating_sub(1).min(self.fin.map_or(u64::MAX, |fin| fin - 1)),
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
            true => sent.min(self.control.window_bytes()),
            false => sent,
        }
    }

    /// What may be outstanding when the peer's window has these bytes.
    fn usable_window(&self, window: u64) -> u64 {
        let limit = self.config.window_limit_segments;
        limit.map_or(window, |segments| window.min(u64::from(segments) * self.mss))
    }

    fn uses_sack(&self) -> bool {
        self.peer.is_some_and(|peer| peer.sack)
    }

    fn abort(&mut self, reason: AbortReason) {
        self.phase = Phase::Aborted;
        self.timer_ns = None;
        self.pace_waits = false;
        self.rack = None;
        self.resend = None;
        self.ack_due = false;
        self.probe_due = false;
        self.events.push_back(Event::Aborted(reason));
    }

    fn handle_handshake(&mut self, now_ns: u64, segment: &Segment) {
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
        });
        if self.config.rack && self.uses_sack() {
            self.rack = Some(Box::new(RackTlp::new()));
        }
        let syn_timed_out = self.silent_timeouts > 0;
        let peer_mss = segment.options.mss.map_or(DEFAULT_MSS, u64::from).max(1);
        self.mss = self.mss.min(peer_mss);
        self.control = self.config.controller(self.mss, syn_timed_out);
        self.una = 1;
        self.nxt = 1;
        match self.times.acknowledged(1, now_ns) {
            Some(rtt_ns) => self.rtt.sample(rtt_ns),
            None => self.rtt.handshake_timed_out(),
        }
        self.silent_timeouts = 0;
        self.timer_ns = None;
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        self.send_window = self.usable_window(segment.window.into());
        self.largest_send_window = self.send_window;
        self.phase = Phase::Open;
        self.ack_due = true;
        self.events.push_back(Event::Connected);
    }

    fn handle_open(&mut self, now_ns: u64, segment: &Segment, payload: &[u8]) {
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
        if !self.handle_ack(now_ns, segment, payload.is_empty()) {
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
    fn handle_segment(&mut self, now_ns: u64, packet: &[u8]) {
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
            Phase::Handshake => self.handle_handshake(now_ns, &segment),
            Phase::Open | Phase::Closed => self.handle_open(now_ns, &segment, payload),
            Phase::Aborted => self.stats.unexpected += 1,
        }
    }

    fn poll_transmit(&mut self, now_ns: u64, out: &mut Vec<u8>) -> Option<usize> {
        self.transmit(now_ns, out)
    }

    fn poll_timeout(&self) -> Option<u64> {
        let pace_ns = self.pace_waits.then_some(self.pace_ns);
        let rack_ns = self.rack.as_ref().and_then(|rack| rack.poll_timeout());
        [self.timer_ns, pace_ns, rack_ns].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        self.pace_waits &= self.pace_ns > now_ns;
        let probes = self.handle_rack_timeout(now_ns);
        if probes || self.timer_ns.is_none_or(|timer| timer > now_ns) {
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
            self.handle_retransmission_timeout(now_ns);
        } else {
            self.probe_due = true;
        }
        self.rtt.back_off();
        self.timer_ns = Some(now_ns + self.rtt.rto_ns());
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
