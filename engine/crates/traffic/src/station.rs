// SPDX-License-Identifier: Apache-2.0
//! Ends of streams, and the host that holds them.

use slotwise_scenario::{MacAddress, Tcp};
use slotwise_transport::content::{Pattern, PatternCheck};
use slotwise_transport::{
    Algorithm, BurstSink, BurstSource, Endpoint, Event, FlowKey, Receiver, ReceiverConfig, RtoConfig, Sender,
    SenderConfig, Stack, UdpSink, UdpSource,
};
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_wire::{ETHERTYPE_IPV4, Ethernet};

use super::mac_number;
use super::sessions::{self, Sessions};
use slotwise_cards::packet::Frame;

/// Linux's bounds of the retransmission timeout.
pub(crate) const LINUX_RTO: RtoConfig = RtoConfig {
    initial: Duration::from_s(1),
    min: Duration::from_ms(200),
    max: Duration::from_s(120),
    granularity: Duration::from_ms(200),
    tick: Duration::from_ns(1),
};
/// Linux's delay of an acknowledgment.
const DELAYED_ACK: Duration = Duration::from_ms(40);
/// Bytes of an Ethernet address: the destination comes first, then the source, then the type.
const MAC_BYTES: usize = size_of::<MacAddress>();
/// So that the receiver's window never is what limits a stream.
const RECEIVE_WINDOW_BYTES: u32 = 512 << 20;

/// What a stream is to be.
pub(crate) struct StreamSpec {
    /// Addresses of its data.
    pub(crate) key: FlowKey,
    pub(crate) algorithm: Algorithm,
    pub(crate) sack: bool,
    pub(crate) tcp: Tcp,
    pub(crate) packet_bytes: u16,
    /// Of the receiver, if it is not as large as Linux's may become.
    pub(crate) window_bytes: Option<u32>,
    /// Bytes to send; `None`: until told to stop.
    pub(crate) bytes: Option<Bytes>,
    /// Rate at which the application writes; `None`: it always has more.
    pub(crate) rate: Option<Rate>,
    pub(crate) start: Instant,
    pub(crate) rto: RtoConfig,
    /// Initial sequence numbers and content.
    pub(crate) seed: u64,
}

/// One end of a stream.
pub(crate) enum End {
    Sender {
        sender: Box<Sender<Pattern>>,
        application: Option<Application>,
    },
    Receiver(Box<Receiver<PatternCheck>>),
    Source(Box<UdpSource>),
    Sink(Box<UdpSink>),
    /// Sender of a workload's data in datagrams.
    Burst(Box<BurstSource>),
    /// Receiver of a workload's data in datagrams.
    Gather(Box<BurstSink>),
}

/// An application that writes at a rate.
pub(crate) struct Application {
    rate: Rate,
    start: Instant,
    written: Bytes,
}

impl StreamSpec {
    fn is_xcp(&self) -> bool {
        self.algorithm == Algorithm::Xcp
    }

    /// Creates the sending end. All sizes that a scenario allows are valid for the transports.
    pub(crate) fn sender(&self) -> End {
        let sender = SenderConfig {
            sack: self.sack,
            initial_window_segments: self.tcp.initial_window,
            initial_ssthresh_segments: self.tcp.initial_ssthresh,
            window_limit_segments: self.tcp.window_packets,
            limited_transmit: self.tcp.limited_transmit.unwrap_or(true),
            paced: self.tcp.paced,
            rack: self.tcp.rack,
            packet_bytes: self.packet_bytes,
            initial_sequence: self.seed as u32,
            rto: self.rto,
            ..SenderConfig::new(self.key.source, self.key.destination, self.algorithm)
        };
        let pattern = Pattern::new(self.seed);
        let sender = Sender::new(sender, self.bytes, pattern).expect("packets of a scenario hold the headers");
        let application = self.rate.map(|rate| Application {
            rate,
            start: self.start,
            written: Bytes::ZERO,
        });
        End::Sender {
            sender: Box::new(sender),
            application,
        }
    }

    /// The receiving end.
    pub(crate) fn receiver(&self) -> End {
        let is_xcp = self.is_xcp();
        let receiver = ReceiverConfig {
            remote: Some(self.key.source),
            xcp: is_xcp,
            sack: self.sack,
            dsack: self.tcp.rack,
            // XCP's feedback comes with each acknowledgment (thesis section 4.2).
            delayed_ack: self.tcp.delayed_acks.unwrap_or(!is_xcp).then_some(DELAYED_ACK),
            window_bytes: self.window_bytes.unwrap_or(RECEIVE_WINDOW_BYTES),
            initial_sequence: (self.seed >> 32) as u32,
            rto: self.rto,
            ..ReceiverConfig::new(self.key.destination)
        };
        let pattern = Pattern::new(self.seed);
        let receiver = Receiver::new(receiver, PatternCheck::new(pattern)).expect("constants within bounds");
        End::Receiver(Box::new(receiver))
    }
}

impl End {
    fn endpoint(&mut self) -> &mut dyn Endpoint {
        match self {
            End::Sender { sender, .. } => sender.as_mut(),
            End::Receiver(receiver) => receiver.as_mut(),
            End::Source(source) => source.as_mut(),
            End::Sink(sink) => sink.as_mut(),
            End::Burst(source) => source.as_mut(),
            End::Gather(sink) => sink.as_mut(),
        }
    }

    /// Hands the sender what its application has written by `now`.
    fn write(&mut self, now: Instant) {
        if let End::Sender {
            sender,
            application: Some(application),
        } = self
        {
            let since = now.saturating_since(application.start);
            application.written = application.rate.bytes_in(since);
            sender.write_up_to(application.written);
        }
    }

    /// When the application, which holds the sender back, will have written one more whole segment.
    fn next_write(&self) -> Option<Instant> {
        let End::Sender {
            sender,
            application: Some(application),
        } = self
        else {
            return None;
        };
        let stats = sender.stats();
        let wanted = stats.sent + stats.mss;
        if application.written >= wanted {
            return None;
        }
        Some(application.start.saturating_add(application.rate.time(wanted)))
    }
}

impl Endpoint for End {
    fn handle_segment(&mut self, now: Instant, packet: &[u8]) {
        self.endpoint().handle_segment(now, packet);
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        self.write(now);
        self.endpoint().poll_transmit(now, out)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timeout = match self {
            End::Sender { sender, .. } => sender.poll_timeout(),
            End::Receiver(receiver) => receiver.poll_timeout(),
            End::Source(source) => source.poll_timeout(),
            End::Sink(sink) => sink.poll_timeout(),
            End::Burst(source) => source.poll_timeout(),
            End::Gather(sink) => sink.poll_timeout(),
        };
        [timeout, self.next_write()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint().handle_timeout(now);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.endpoint().poll_event()
    }
}

/// A host's ends of streams, with its Ethernet addresses.
pub(crate) struct Station {
    pub(crate) stack: Stack<End>,
    /// Of GTP, if it has any.
    pub(crate) sessions: Option<Box<Sessions>>,
    ethernet: [u8; Ethernet::SIZE],
    packet: Vec<u8>,
    /// When a timer event is due already.
    pub(crate) wake: Option<Instant>,
}

impl Station {
    /// A host with this address, whose packets go to `gateway`.
    pub(crate) fn new(mac: MacAddress, gateway: MacAddress) -> Station {
        let ethernet = Ethernet {
            dst: mac_number(gateway),
            src: mac_number(mac),
            ether_type: ETHERTYPE_IPV4,
        };
        Station {
            stack: Stack::default(),
            sessions: None,
            ethernet: ethernet.encode(),
            packet: Vec::new(),
            wake: None,
        }
    }

    /// Returns true if a frame is an IPv4 packet for this host, by its Ethernet header.
    pub(crate) fn is_addressed(&self, frame: &[u8]) -> bool {
        let Some((ethernet, _)) = frame.split_first_chunk::<{ Ethernet::SIZE }>() else {
            return false;
        };
        // Compared as bytes: it is done for every packet.
        ethernet[..MAC_BYTES] == self.ethernet[MAC_BYTES..2 * MAC_BYTES]
            && ethernet[2 * MAC_BYTES..] == self.ethernet[2 * MAC_BYTES..]
    }

    /// Takes a frame, whose flow is known if it has one; false if it is not for an end here.
    pub(crate) fn receive(&mut self, now: Instant, frame: &[u8], flow: Option<FlowKey>) -> bool {
        if !self.is_addressed(frame) {
            return false;
        }
        let packet = &frame[Ethernet::SIZE..];
        if let (Some(flow), Some(sessions)) = (flow, &mut self.sessions)
            && sessions.has(&sessions::session(&flow))
        {
            return sessions.handle_packet(now, packet);
        }
        let before = self.stack.stats();
        match flow {
            Some(flow) => self.stack.handle_segment_of(flow, now, packet),
            None => self.stack.handle_segment(now, packet),
        }
        self.stack.stats() == before
    }

    /// Takes out what receives packets of `flow`: an end, or a session.
    pub(crate) fn remove(&mut self, flow: &FlowKey) -> Option<End> {
        if let Some(sessions) = &mut self.sessions {
            sessions.remove(&sessions::session(flow));
        }
        self.stack.remove(flow)
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.wake = None;
        self.stack.handle_timeout(now);
        if let Some(sessions) = &mut self.sessions {
            sessions.handle_timeout(now);
        }
    }

    /// When something is due next; right once [`Station::transmit`] gave nothing.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let sessions = self.sessions.as_ref();
        let of_sessions = sessions.and_then(|sessions| sessions.poll_timeout());
        [self.stack.poll_timeout(), of_sessions].into_iter().flatten().min()
    }

    /// The oldest event and the flow whose packets come to its end; complete once [`Station::transmit`] gave nothing.
    pub(crate) fn poll_event(&mut self) -> Option<(FlowKey, Event)> {
        let sessions = self.sessions.as_mut();
        let of_sessions = sessions.and_then(|sessions| sessions::poll_event(sessions));
        of_sessions.or_else(|| self.stack.poll_event())
    }

    /// Writes the next frame that the host sends into `frame`.
    pub(crate) fn transmit(&mut self, now: Instant, frame: &mut Frame) -> bool {
        let sessions = self.sessions.as_mut();
        let of_session = sessions.and_then(|sessions| sessions.poll_transmit(now, &mut self.packet));
        if of_session.is_none() && self.stack.poll_transmit(now, &mut self.packet).is_none() {
            return false;
        }
        self.write(&self.packet, frame);
        true
    }

    /// Writes the frame of an IP packet.
    pub(crate) fn write(&self, packet: &[u8], frame: &mut Frame) {
        frame.clear();
        frame.extend_from_slice(&self.ethernet);
        frame.extend_from_slice(packet);
    }
}
