// SPDX-License-Identifier: Apache-2.0
//! The receiving end of a transfer: TCP, or XCP inside the shim.
//!
//! It opens passively, takes one stream of bytes, and closes when the peer has. Bytes go to the sink as they
//! come, in order or not, so there is no reassembly buffer and the window never closes.

use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::ops::Range;

use slotwise_units::{Bytes, Duration, Instant};

use crate::content::Sink;
use crate::endpoint::{AbortReason, ConfigError, Endpoint, Event};
use crate::ranges::RangeSet;
use crate::rtt::{RtoConfig, RttEstimator};
use crate::segment::{CE, MAX_SACK_BLOCKS, Options, Segment, flags};
use crate::sequence;
use crate::xcp;

/// RFC 5681 section 4.2: an acknowledgment waits at most this long.
const MAX_ACK_DELAY: Duration = Duration::from_ms(500);
/// RFC 7323 section 2.3.
const MAX_WINDOW_SHIFT: u8 = 14;

/// Settings of a [`Receiver`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Own address and port.
    pub local: SocketAddrV4,
    /// The only sender taken; `None` takes the first.
    pub remote: Option<SocketAddrV4>,
    /// Packets have XCP's shim; the deltas of data go back as reverse feedback.
    pub xcp: bool,
    /// Accept SACK if offered.
    pub sack: bool,
    /// Tell of segments that came twice (RFC 2883); a part of SACK.
    pub dsack: bool,
    /// Acknowledge every second segment, a single one after this time (at most 500 ms, RFC 5681 section 4.2);
    /// `None`: acknowledge each.
    pub delayed_ack: Option<Duration>,
    /// Receive window, 1 to 65535 << 14 bytes; rounded down to what the scale can say.
    pub window_bytes: u32,
    /// Largest payload of a segment that it names to the peer, bytes.
    pub mss_bytes: u16,
    /// Initial sequence number. The caller draws it.
    pub initial_sequence: u32,
    /// Bounds of the retransmission timeout of SYN and FIN.
    pub rto: RtoConfig,
    /// Timeouts of SYN or FIN in a row after which the connection ends.
    pub max_timeouts: u32,
}

impl ReceiverConfig {
    /// TCP with SACK, each segment acknowledged, a window of 16 MiB, any sender.
    pub fn new(local: SocketAddrV4) -> Self {
        Self {
            local,
            remote: None,
            xcp: false,
            sack: true,
            dsack: false,
            delayed_ack: None,
            window_bytes: 16 << 20,
            mss_bytes: 65_495,
            initial_sequence: 0,
            rto: RtoConfig::default(),
            max_timeouts: 15,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Listen,
    SynReceived,
    Established,
    /// Own FIN sent or to be sent.
    LastAck,
    Closed,
    Aborted,
}

/// Counters. Data is payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Received without a gap.
    pub in_order: Bytes,
    /// Received once, in order or not.
    pub bytes: Bytes,
    /// Received again.
    pub duplicated: Bytes,
    /// Data segments received.
    pub segments: u64,
    /// Of them, those that did not continue the stream.
    pub out_of_order: u64,
    /// Packets that could not be decoded.
    pub malformed: u64,
    /// Packets that did not belong to this connection or had no place in it.
    pub unexpected: u64,
}

/// The receiving end of one connection.
pub struct Receiver<S> {
    config: ReceiverConfig,
    sink: S,
    phase: Phase,
    remote: Option<SocketAddrV4>,
    peer_initial: u32,
    /// RCV.NXT; 0 before a SYN.
    next: u64,
    /// Sequence number of the peer's FIN, once seen.
    fin: Option<u64>,
    /// Received above `next`.
    ahead: RangeSet,
    /// A number of each range that was received last, most recent first.
    recent: VecDeque<u64>,
    /// What the last segment brought again, to be told of.
    duplicate: Option<Range<u64>>,
    scaled: bool,
    sack: bool,
    /// True if ECN is negotiated: acknowledgments report marks as in RFC 8257.
    ecn: bool,
    /// True if the last data had a mark (DCTCP.CE).
    is_marked: bool,
    /// Pending acknowledgment of the data before a change of marks: number and mark.
    earlier: Option<(u64, bool)>,
    ack_due: bool,
    unacked_segments: u32,
    ack_timer: Option<Instant>,
    /// Reverse feedback gathered since the last acknowledgment, 1/16 byte/s.
    feedback: i32,
    rtt: RttEstimator,
    /// SYN or FIN is to be sent.
    control_due: bool,
    control_timer: Option<Instant>,
    timeouts: u32,
    events: VecDeque<Event>,
    stats: ReceiverStats,
}

impl<S: Sink> Receiver<S> {
    /// A listening end.
    ///
    /// # Errors
    /// When the configuration cannot work.
    pub fn new(config: ReceiverConfig, sink: S) -> Result<Self, ConfigError> {
        ConfigError::check(
            "window_bytes",
            config.window_bytes.into(),
            1..=u64::from(u16::MAX) << MAX_WINDOW_SHIFT,
        )?;
        ConfigError::check("mss_bytes", config.mss_bytes.into(), 1..=u16::MAX.into())?;
        ConfigError::check(
            "delayed_ack_ns",
            config.delayed_ack.map_or(1, Duration::ns),
            1..=MAX_ACK_DELAY.ns(),
        )?;
        config.rto.check()?;
        Ok(Self {
            rtt: RttEstimator::new(config.rto),
            remote: config.remote,
            config,
            sink,
            phase: Phase::Listen,
            peer_initial: 0,
            next: 0,
            fin: None,
            ahead: RangeSet::default(),
            recent: VecDeque::new(),
            duplicate: None,
            scaled: false,
            sack: false,
            ecn: false,
            is_marked: false,
            earlier: None,
            ack_due: false,
            unacked_segments: 0,
            ack_timer: None,
            feedback: 0,
            control_due: false,
            control_timer: None,
            timeouts: 0,
            events: VecDeque::new(),
            stats: ReceiverStats::default(),
        })
    }

    /// Counters so far.
    pub fn stats(&self) -> ReceiverStats {
        let fin_taken = self.fin.is_some_and(|fin| self.next > fin);
        ReceiverStats {
            in_order: Bytes::new(self.next.saturating_sub(1 + u64::from(fin_taken))),
            ..self.stats
        }
    }

    /// Whether `bytes` from the sequence number of a segment of its peer on have all arrived.
    pub fn has(&self, sequence: u32, bytes: Bytes) -> bool {
        let start = sequence::from_wire(self.peer_initial, self.next, sequence);
        start.is_some_and(|start| {
            let end = start + bytes.get();
            end <= self.next || self.ahead.gaps(start.max(self.next)..end).next().is_none()
        })
    }

    /// Returns true before a connection, and after a reset before the connection was established.
    pub fn is_listening(&self) -> bool {
        self.phase == Phase::Listen
    }

    /// Where the bytes went.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The same, for an owner who takes what came out of it.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// The sender: the configured one, or the one whose SYN came first.
    pub fn remote(&self) -> Option<SocketAddrV4> {
        self.remote
    }

    /// Ends the receiver and gives the sink back.
    pub fn into_sink(self) -> S {
        self.sink
    }

    fn shift(&self) -> u8 {
        let bits = 32 - self.config.window_bytes.leading_zeros();
        (bits.saturating_sub(16)) as u8
    }

    /// The window that the peer sees, in sequence numbers.
    fn window(&self) -> u64 {
        if self.scaled {
            u64::from(self.config.window_bytes >> self.shift() << self.shift())
        } else {
            u64::from(self.config.window_bytes.min(u16::MAX.into()))
        }
    }

    /// One more than the last number of the own stream, which is a SYN and then a FIN.
    fn own_end(&self) -> u64 {
        match self.phase {
            Phase::LastAck | Phase::Closed => 2,
            _ => 1,
        }
    }

    fn handle_syn(&mut self, segment: &Segment) {
        if !segment.has(flags::SYN) || segment.has(flags::ACK | flags::RST | flags::FIN) {
            self.stats.unexpected += 1;
            return;
        }
        self.remote = Some(segment.source);
        self.peer_initial = segment.sequence;
        self.next = 1;
        self.scaled = segment.options.window_scale.is_some();
        self.sack = self.config.sack && segment.options.sack_permitted;
        self.ecn = segment.has(flags::ECE) && segment.has(flags::CWR);
        self.phase = Phase::SynReceived;
        self.control_due = true;
    }

    fn handle_connected(&mut self, now: Instant, segment: &Segment, payload: &[u8]) {
        let start = sequence::from_wire(self.peer_initial, self.next, segment.sequence);
        let Some(start) = start else {
            self.stats.unexpected += 1;
            return;
        };
        if segment.has(flags::RST) {
            self.handle_reset(start);
            return;
        }
        if segment.has(flags::SYN) {
            // The SYN again: the answer was lost. RFC 5961 section 4 for any other.
            let again = start == 0 && self.phase == Phase::SynReceived;
            self.control_due |= again;
            self.ack_due |= !again;
            return;
        }
        let ack = sequence::from_wire(self.config.initial_sequence, 1, segment.acknowledgment);
        let Some(ack) = ack.filter(|ack| segment.has(flags::ACK) && *ack <= self.own_end()) else {
            self.stats.unexpected += 1;
            return;
        };
        if self.phase == Phase::SynReceived && ack == 1 {
            self.phase = Phase::Established;
            self.control_due = false;
            self.control_timer = None;
            self.timeouts = 0;
            self.events.push_back(Event::Connected);
        }
        if self.phase == Phase::LastAck && ack == 2 {
            self.phase = Phase::Closed;
            self.control_due = false;
            self.control_timer = None;
            self.events.push_back(Event::Closed);
        }
        if self.phase == Phase::SynReceived {
            self.stats.unexpected += 1;
            return;
        }
        self.take_feedback(segment, payload);
        if self.ecn && !payload.is_empty() {
            self.take_mark(segment.ecn == CE);
        }
        self.take_data(now, start, payload, segment.has(flags::FIN));
    }

    fn handle_reset(&mut self, start: u64) {
        if start != self.next {
            // RFC 5961 section 3: the true peer answers the challenge with an exact one.
            self.ack_due = true;
            self.stats.unexpected += 1;
        } else if self.phase == Phase::SynReceived {
            self.phase = Phase::Listen;
            self.remote = self.config.remote;
            self.control_due = false;
            self.control_timer = None;
            self.timeouts = 0;
        } else if self.phase != Phase::Closed {
            self.abort(AbortReason::Reset);
        }
    }

    fn abort(&mut self, reason: AbortReason) {
        self.phase = Phase::Aborted;
        self.ack_due = false;
        self.ack_timer = None;
        self.control_due = false;
        self.control_timer = None;
        self.events.push_back(Event::Aborted(reason));
    }

    /// Acknowledges marked and unmarked data separately (RFC 8257 section 3.2).
    fn take_mark(&mut self, is_marked: bool) {
        if is_marked == self.is_marked {
            return;
        }
        if self.unacked_segments > 0 {
            self.earlier = Some((self.next, self.is_marked));
        }
        self.is_marked = is_marked;
        self.ack_due = true;
    }

    fn take_feedback(&mut self, segment: &Segment, payload: &[u8]) {
        if let Some(header) = &segment.congestion
            && header.format == xcp::Format::Standard
            && !payload.is_empty()
        {
            self.feedback = self.feedback.saturating_add(header.delta_throughput);
        }
    }

    /// RFC 9293 section 3.10.7.4, seventh and eighth; RFC 5681 section 4.2 for when to acknowledge.
    fn take_data(&mut self, now: Instant, start: u64, payload: &[u8], fin: bool) {
        if payload.is_empty() && !fin {
            // A bare acknowledgment asks for none, unless its number is not the one expected.
            self.ack_due |= start != self.next;
            return;
        }
        let data_end = start + payload.len() as u64;
        let limit = self.fin.unwrap_or(u64::MAX).min(self.next + self.window());
        if fin && self.fin.is_none() && data_end <= limit && data_end >= self.furthest() {
            self.fin = Some(data_end);
        }
        let had_gap = !self.ahead.is_empty();
        let in_order = start <= self.next && data_end >= self.next;
        self.stats.segments += u64::from(!payload.is_empty());
        self.stats.out_of_order += u64::from(!in_order);
        if self.sack && self.config.dsack {
            self.duplicate = self
                .first_duplicate(start..data_end.min(limit))
                .or(self.duplicate.take());
        }
        let fresh = self.take_bytes(start, data_end.min(limit), payload);
        self.stats.bytes += Bytes::new(fresh);
        self.stats.duplicated += Bytes::new(payload.len() as u64 - fresh);

        let before = self.next;
        if let Some(first) = self.ahead.containing(self.next) {
            self.next = first.end;
            self.ahead.remove_below(self.next);
        }
        self.unacked_segments += 1;
        if self.fin == Some(self.next) {
            self.next += 1;
            self.phase = Phase::LastAck;
            self.control_due = true;
            self.timeouts = 0;
            self.events.push_back(Event::Finished);
        }
        let advanced = self.next > before;
        let timer = self
            .config
            .delayed_ack
            .filter(|_| advanced && !had_gap && self.unacked_segments < 2 && self.phase == Phase::Established);
        match timer {
            Some(delay) => self.ack_timer = Some(now + delay),
            None => self.ack_due = true,
        }
    }

    /// One more than the furthest number received.
    fn furthest(&self) -> u64 {
        self.ahead.last_end().unwrap_or(self.next)
    }

    /// Gives the bytes of `start..end` that are new to the sink; says how many. None when there is no room to
    /// remember another range.
    fn take_bytes(&mut self, start: u64, end: u64, payload: &[u8]) -> u64 {
        let whole = start.max(self.next)..end;
        if whole.is_empty() || !self.ahead.has_room_for(&whole) {
            return 0;
        }
        let mut fresh = 0;
        for gap in self.ahead.gaps(whole.clone()) {
            let bytes = &payload[(gap.start - start) as usize..(gap.end - start) as usize];
            self.sink.write(gap.start - 1, bytes);
            fresh += gap.end - gap.start;
        }
        if fresh > 0 && whole.start > self.next {
            self.recent.push_front(whole.start);
            self.recent.truncate(2 * MAX_SACK_BLOCKS);
        }
        self.ahead.insert(whole);
        fresh
    }

    /// The first part of `whole` that has arrived before (RFC 2883 section 4).
    fn first_duplicate(&self, whole: Range<u64>) -> Option<Range<u64>> {
        if whole.start < self.next {
            return Some(whole.start..whole.end.min(self.next)).filter(|range| !range.is_empty());
        }
        let known = self.ahead.iter().find(|range| range.end > whole.start)?;
        let range = known.start.max(whole.start)..known.end.min(whole.end);
        (!range.is_empty()).then_some(range)
    }

    /// RFC 2018 section 4: the range received last first, then those before it; in front of all what came twice, and after it the range
    /// that it is in (RFC 2883 section 4).
    fn sack_blocks(&mut self) -> Options {
        let mut options = Options::default();
        if !self.sack {
            return options;
        }
        let duplicate = self.duplicate.take();
        if let Some(range) = &duplicate {
            options.push_sack(
                sequence::to_wire(self.peer_initial, range.start),
                sequence::to_wire(self.peer_initial, range.end),
            );
        }
        let mut told = RangeSet::default();
        let around = duplicate.map(|range| range.start);
        for number in around.iter().chain(&self.recent) {
            if let Some(range) = self.ahead.containing(*number)
                && told.containing(range.start).is_none()
            {
                told.insert(range.clone());
                options.push_sack(
                    sequence::to_wire(self.peer_initial, range.start),
                    sequence::to_wire(self.peer_initial, range.end),
                );
            }
        }
        options
    }

    /// Bit that reports a mark, or ECN in a SYN.
    fn echo(&self, is_syn: bool) -> u8 {
        match self.ecn && (is_syn || self.is_marked) {
            true => flags::ECE,
            false => 0,
        }
    }

    /// An acknowledgment of the data before a change of marks.
    fn send_earlier(&mut self, next: u64, is_marked: bool, remote: SocketAddrV4, out: &mut Vec<u8>) {
        let segment = Segment {
            source: self.config.local,
            destination: remote,
            congestion: self
                .config
                .xcp
                .then(|| xcp::Header::minimal(std::mem::take(&mut self.feedback))),
            sequence: sequence::to_wire(self.config.initial_sequence, self.own_end()),
            acknowledgment: sequence::to_wire(self.peer_initial, next),
            flags: flags::ACK | if is_marked { flags::ECE } else { 0 },
            ecn: 0,
            window: match self.scaled {
                true => (self.window() >> self.shift()) as u16,
                false => self.window().min(u16::MAX.into()) as u16,
            },
            options: Options::default(),
        };
        segment.encode(out, 0, |_| {});
    }

    /// SYN or FIN, if one is to be sent.
    fn control_flag(&mut self, now: Instant) -> u8 {
        if !self.control_due {
            return 0;
        }
        self.control_due = false;
        self.control_timer = Some(now + self.rtt.rto());
        match self.phase {
            Phase::SynReceived => flags::SYN,
            Phase::LastAck => flags::FIN,
            _ => 0,
        }
    }
}

impl<S: Sink> Endpoint for Receiver<S> {
    fn handle_segment(&mut self, now: Instant, packet: &[u8]) {
        let Ok((segment, payload)) = Segment::decode(packet) else {
            self.stats.malformed += 1;
            return;
        };
        if segment.destination != self.config.local
            || self.remote.is_some_and(|remote| remote != segment.source)
            || segment.congestion.is_some() != self.config.xcp
        {
            self.stats.unexpected += 1;
            return;
        }
        match self.phase {
            Phase::Listen => self.handle_syn(&segment),
            Phase::Aborted => self.stats.unexpected += 1,
            _ => self.handle_connected(now, &segment, payload),
        }
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        let remote = self.remote?;
        if let Some((next, is_marked)) = self.earlier.take() {
            self.send_earlier(next, is_marked, remote, out);
            return Some(out.len());
        }
        if !self.control_due && !self.ack_due {
            return None;
        }
        let flag = self.control_flag(now);
        let syn = flag == flags::SYN;
        let number = self.own_end() - u64::from(flag != 0);
        let options = if syn {
            let shift = self.scaled.then(|| self.shift());
            Options::syn(self.config.mss_bytes, shift, self.sack)
        } else {
            self.sack_blocks()
        };
        let feedback = std::mem::take(&mut self.feedback);
        // RFC 7323 section 2.2: the window of a SYN is never scaled.
        let window = if self.scaled && !syn {
            self.window() >> self.shift()
        } else {
            self.window().min(u16::MAX.into())
        };
        let segment = Segment {
            source: self.config.local,
            destination: remote,
            congestion: self.config.xcp.then(|| xcp::Header::minimal(feedback)),
            sequence: sequence::to_wire(self.config.initial_sequence, number),
            acknowledgment: sequence::to_wire(self.peer_initial, self.next),
            flags: flag | flags::ACK | self.echo(syn),
            ecn: 0,
            window: window as u16,
            options,
        };
        self.ack_due = false;
        self.ack_timer = None;
        self.unacked_segments = 0;
        segment.encode(out, 0, |_| {});
        Some(out.len())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.ack_timer, self.control_timer].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = |timer: Option<Instant>| timer.is_some_and(|t| t <= now);
        if due(self.ack_timer) {
            self.ack_timer = None;
            self.ack_due = true;
        }
        if due(self.control_timer) {
            self.control_timer = None;
            self.timeouts += 1;
            if self.timeouts > self.config.max_timeouts {
                self.abort(AbortReason::NoAnswer);
                return;
            }
            self.rtt.back_off();
            self.control_due = true;
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
