// SPDX-License-Identifier: Apache-2.0
//! UDP sources that do not listen to the network, and a sink that measures.
//!
//! The payload begins with the packet's number and the time it was sent (ns), 64 bits each, big-endian; the rest
//! is zero.

use std::net::SocketAddrV4;

use rand_pcg::Pcg64;
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::DATAGRAM_HEADER_BYTES;

use crate::arrivals::{Arrivals, Departures};
use crate::datagram;
use crate::endpoint::{ConfigError, Endpoint, Event};

const STAMP: usize = 16;

/// Settings of a [`UdpSource`].
#[derive(Clone, Debug, PartialEq)]
pub struct UdpSourceConfig {
    /// Own address and port.
    pub local: SocketAddrV4,
    /// The sink's.
    pub remote: SocketAddrV4,
    /// Bytes of an IP packet, 44 to 65535.
    pub packet_bytes: u16,
    /// When packets leave.
    pub arrivals: Arrivals,
    /// The process begins at this time.
    pub start: Instant,
    /// No packet leaves from then on.
    pub stop: Option<Instant>,
}

impl UdpSourceConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let smallest = (DATAGRAM_HEADER_BYTES + STAMP) as u64;
        ConfigError::check("packet_bytes", self.packet_bytes.into(), smallest..=u16::MAX.into())
    }
}

/// Sends packets when its process says so.
#[derive(Clone, Debug)]
pub struct UdpSource {
    config: UdpSourceConfig,
    departures: Departures,
    sent: u64,
}

impl UdpSource {
    /// A source that draws from `rng`.
    ///
    /// # Errors
    /// When the configuration cannot work.
    pub fn new(config: UdpSourceConfig, rng: Pcg64) -> Result<Self, ConfigError> {
        config.check()?;
        let departures = Departures::new(config.arrivals, config.packet_bytes, config.start, rng)?;
        Ok(Self {
            config,
            departures,
            sent: 0,
        })
    }

    /// Packets sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    fn due(&self) -> Option<Instant> {
        let stop = self.config.stop.unwrap_or(Instant::MAX);
        Some(self.departures.next()).filter(|next| *next < stop)
    }
}

impl Endpoint for UdpSource {
    /// Ignores what comes back.
    fn handle_segment(&mut self, _now: Instant, _packet: &[u8]) {}

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        out.clear();
        out.resize(self.config.packet_bytes.into(), 0);
        let stamp = &mut out[DATAGRAM_HEADER_BYTES..];
        stamp[0..8].copy_from_slice(&self.sent.to_be_bytes());
        stamp[8..16].copy_from_slice(&now.ns().to_be_bytes());
        datagram::seal(out, self.config.local, self.config.remote);
        self.sent += 1;
        self.departures.advance();
        Some(out.len())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due()
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_event(&mut self) -> Option<Event> {
        None
    }
}

/// What a sink saw. Bytes are IP packets with their headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpStats {
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// One more than the highest number that arrived: as many were sent at least.
    pub numbered: u64,
    /// Packets with a lower number than one before them.
    pub late: u64,
    /// Sum of one-way delays, at most [`Duration::MAX`].
    pub delay_sum: Duration,
    /// Longest one-way delay.
    pub delay_max: Duration,
    /// Packets that could not be decoded.
    pub malformed: u64,
    /// Packets for someone else.
    pub unexpected: u64,
}

impl UdpStats {
    /// Packets missing below the highest number, if none came twice.
    pub fn missing(&self) -> u64 {
        self.numbered.saturating_sub(self.packets)
    }

    /// Mean one-way delay.
    pub fn mean_delay(&self) -> Option<Duration> {
        (self.packets > 0).then(|| self.delay_sum / self.packets)
    }
}

/// Counts the packets of one source.
#[derive(Clone, Debug)]
pub struct UdpSink {
    local: SocketAddrV4,
    remote: Option<SocketAddrV4>,
    stats: UdpStats,
}

impl UdpSink {
    /// Listens at `local` to `remote`, or to anyone.
    pub fn new(local: SocketAddrV4, remote: Option<SocketAddrV4>) -> Self {
        Self {
            local,
            remote,
            stats: UdpStats::default(),
        }
    }

    /// What it saw.
    pub fn stats(&self) -> UdpStats {
        self.stats
    }
}

/// A decoded packet of a [`UdpSource`].
struct Stamped {
    source: SocketAddrV4,
    destination: SocketAddrV4,
    number: u64,
    sent_at: Instant,
    bytes: Bytes,
}

fn decode(packet: &[u8]) -> Option<Stamped> {
    let datagram = datagram::decode(packet)?;
    let stamp: &[u8; STAMP] = datagram.payload.first_chunk()?;
    let word = |at: usize| {
        stamp[at..at + 8]
            .iter()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    Some(Stamped {
        source: datagram.source,
        destination: datagram.destination,
        number: word(0),
        sent_at: Instant::from_ns(word(8)),
        bytes: Bytes::new(datagram.packet_bytes),
    })
}

impl Endpoint for UdpSink {
    fn handle_segment(&mut self, now: Instant, packet: &[u8]) {
        let stats = &mut self.stats;
        let Some(stamped) = decode(packet) else {
            stats.malformed += 1;
            return;
        };
        let foreign = self.remote.is_some_and(|remote| remote != stamped.source);
        if foreign || stamped.destination != self.local {
            stats.unexpected += 1;
            return;
        }
        let delay = now.saturating_since(stamped.sent_at);
        stats.packets += 1;
        stats.bytes += stamped.bytes;
        stats.late += u64::from(stamped.number < stats.numbered);
        stats.numbered = stats.numbered.max(stamped.number.saturating_add(1));
        stats.delay_sum = stats.delay_sum.saturating_add(delay);
        stats.delay_max = stats.delay_max.max(delay);
    }

    fn poll_transmit(&mut self, _now: Instant, _out: &mut Vec<u8>) -> Option<usize> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_event(&mut self) -> Option<Event> {
        None
    }
}
