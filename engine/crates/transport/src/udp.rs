// SPDX-License-Identifier: Apache-2.0
//! UDP sources that do not listen to the network, and a sink that measures.
//!
//! The payload begins with the packet's number and the time it was sent (ns), 64 bits each, big-endian; the rest
//! is zero.

use std::net::SocketAddrV4;

use rand_pcg::Pcg64;
use slotwise_wire::Ipv4;

use crate::checksum;
use crate::endpoint::{ConfigError, Endpoint, Event, PROTOCOL_UDP};
use crate::random::{Pareto, exponential};
use crate::segment::{decode_ip, encode_ip};

const UDP_HEADER: usize = 8;
const STAMP: usize = 16;
const NS_PER_SECOND: u128 = 1_000_000_000;

/// When packets leave. Rates count IP packets with their headers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Constant {
        /// bit/s.
        rate_bps: u64,
    },
    /// A Poisson process.
    Poisson {
        /// Mean, bit/s.
        rate_bps: u64,
    },
    /// Bursts at a constant rate; bursts and silences have Pareto lengths. Many together are self-similar.
    OnOffPareto {
        /// In a burst, bit/s.
        peak_bps: u64,
        /// Mean length of a burst, ns.
        mean_on_ns: u64,
        /// Mean length of a silence, ns.
        mean_off_ns: u64,
        /// Of both distributions, over 1; 1.5 is usual.
        shape: f64,
    },
}

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
    /// The process begins at this fabric time.
    pub start_ns: u64,
    /// No packet leaves from then on.
    pub stop_ns: Option<u64>,
}

impl UdpSourceConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let smallest = (Ipv4::SIZE + UDP_HEADER + STAMP) as u64;
        ConfigError::check("packet_bytes", self.packet_bytes.into(), smallest..=u16::MAX.into())?;
        const HOUR_NS: u64 = 3_600_000_000_000;
        let rate_bps = match self.arrivals {
            Arrivals::Constant { rate_bps } | Arrivals::Poisson { rate_bps } => rate_bps,
            Arrivals::OnOffPareto {
                peak_bps,
                mean_on_ns,
                mean_off_ns,
                shape,
            } => {
                ConfigError::check("mean_on_ns", mean_on_ns, 1..=HOUR_NS)?;
                ConfigError::check("mean_off_ns", mean_off_ns, 1..=HOUR_NS)?;
                ConfigError::check_shape(shape)?;
                peak_bps
            }
        };
        ConfigError::check("rate_bps", rate_bps, 1..=u64::MAX)
    }
}

/// Packets at an even rate from a moment on. Each time is counted from that moment, so that rounding does not add
/// up.
#[derive(Clone, Copy, Debug)]
struct Train {
    start_ns: u64,
    sent: u64,
    rate_bps: u64,
    packet_bits: u64,
}

impl Train {
    /// When the next packet leaves.
    fn advance(&mut self) -> u64 {
        self.sent += 1;
        let bits = u128::from(self.packet_bits) * u128::from(self.sent);
        let since_ns = bits * NS_PER_SECOND / u128::from(self.rate_bps);
        u64::try_from(u128::from(self.start_ns) + since_ns).unwrap_or(u64::MAX)
    }
}

/// Where the process stands.
#[derive(Clone, Copy, Debug)]
enum Process {
    Constant {
        train: Train,
    },
    Poisson {
        mean_gap_ns: f64,
    },
    OnOff {
        burst: Train,
        burst_end_ns: u64,
        on: Pareto,
        off: Pareto,
    },
}

/// Sends packets when its process says so.
#[derive(Clone, Debug)]
pub struct UdpSource {
    config: UdpSourceConfig,
    rng: Pcg64,
    process: Process,
    sent: u64,
    next_ns: u64,
}

impl UdpSource {
    /// A source that draws from `rng`.
    ///
    /// # Errors
    /// When the configuration cannot work.
    pub fn new(config: UdpSourceConfig, mut rng: Pcg64) -> Result<Self, ConfigError> {
        config.check()?;
        let packet_bits = u64::from(config.packet_bytes) * 8;
        let train = |rate_bps| Train {
            start_ns: config.start_ns,
            sent: 0,
            rate_bps,
            packet_bits,
        };
        let mut next_ns = config.start_ns;
        let process = match config.arrivals {
            Arrivals::Constant { rate_bps } => Process::Constant { train: train(rate_bps) },
            Arrivals::Poisson { rate_bps } => {
                let mean_gap_ns = packet_bits as f64 * NS_PER_SECOND as f64 / rate_bps as f64;
                next_ns = next_ns.saturating_add(exponential(&mut rng, mean_gap_ns));
                Process::Poisson { mean_gap_ns }
            }
            Arrivals::OnOffPareto {
                peak_bps,
                mean_on_ns,
                mean_off_ns,
                shape,
            } => {
                let on = Pareto::new(mean_on_ns, shape);
                Process::OnOff {
                    burst: train(peak_bps),
                    burst_end_ns: next_ns.saturating_add(on.draw(&mut rng)),
                    on,
                    off: Pareto::new(mean_off_ns, shape),
                }
            }
        };
        Ok(Self {
            config,
            rng,
            process,
            sent: 0,
            next_ns,
        })
    }

    /// Packets sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Draws when the packet after the one of `next_ns` leaves.
    fn advance(&mut self) {
        self.next_ns = match &mut self.process {
            Process::Constant { train } => train.advance(),
            Process::Poisson { mean_gap_ns } => {
                let gap_ns = exponential(&mut self.rng, *mean_gap_ns);
                self.next_ns.saturating_add(gap_ns)
            }
            Process::OnOff {
                burst,
                burst_end_ns,
                on,
                off,
            } => {
                let next_ns = burst.advance();
                if next_ns < *burst_end_ns {
                    next_ns
                } else {
                    // A silence shorter than what is left of the packet's own time does not compress it.
                    let start_ns = next_ns.max(burst_end_ns.saturating_add(off.draw(&mut self.rng)));
                    *burst_end_ns = start_ns.saturating_add(on.draw(&mut self.rng));
                    *burst = Train {
                        start_ns,
                        sent: 0,
                        ..*burst
                    };
                    start_ns
                }
            }
        };
    }

    fn due_ns(&self) -> Option<u64> {
        let stop_ns = self.config.stop_ns.unwrap_or(u64::MAX);
        (self.next_ns < stop_ns).then_some(self.next_ns)
    }
}

impl Endpoint for UdpSource {
    /// Ignores what comes back.
    fn handle_segment(&mut self, _now_ns: u64, _packet: &[u8]) {}

    fn poll_transmit(&mut self, now_ns: u64, out: &mut Vec<u8>) -> Option<usize> {
        if self.due_ns().is_none_or(|due_ns| due_ns > now_ns) {
            return None;
        }
        out.clear();
        out.resize(self.config.packet_bytes.into(), 0);
        let udp = &mut out[Ipv4::SIZE..];
        let length = udp.len() as u16;
        udp[0..2].copy_from_slice(&self.config.local.port().to_be_bytes());
        udp[2..4].copy_from_slice(&self.config.remote.port().to_be_bytes());
        udp[4..6].copy_from_slice(&length.to_be_bytes());
        udp[8..16].copy_from_slice(&self.sent.to_be_bytes());
        udp[16..24].copy_from_slice(&now_ns.to_be_bytes());
        let (source, destination) = (*self.config.local.ip(), *self.config.remote.ip());
        // RFC 768: a sum of zero is sent as all ones; zero means none.
        let sum = match checksum::transport(source, destination, PROTOCOL_UDP, udp) {
            0 => u16::MAX,
            sum => sum,
        };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        encode_ip(out, source, destination, PROTOCOL_UDP);
        self.sent += 1;
        self.advance();
        Some(out.len())
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.due_ns()
    }

    fn handle_timeout(&mut self, _now_ns: u64) {}

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
    pub bytes: u64,
    /// One more than the highest number that arrived: as many were sent at least.
    pub numbered: u64,
    /// Packets with a lower number than one before them.
    pub late: u64,
    /// Sum of one-way delays, ns.
    pub delay_sum_ns: u128,
    /// Longest one-way delay, ns.
    pub delay_max_ns: u64,
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

    /// Mean one-way delay, ns.
    pub fn mean_delay_ns(&self) -> Option<u64> {
        (self.packets > 0).then(|| (self.delay_sum_ns / u128::from(self.packets)) as u64)
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
    sent_ns: u64,
    bytes: u64,
}

fn decode(packet: &[u8]) -> Option<Stamped> {
    let (ip, body) = decode_ip(packet).ok()?;
    let header: &[u8; UDP_HEADER + STAMP] = body.first_chunk()?;
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let length = usize::from(half(4));
    if ip.protocol != PROTOCOL_UDP || length < header.len() {
        return None;
    }
    let (source, destination) = (ip.src.into(), ip.dst.into());
    let datagram = body.get(..length)?;
    if half(6) != 0 && checksum::transport(source, destination, PROTOCOL_UDP, datagram) != 0 {
        return None;
    }
    let word = |at: usize| {
        header[at..at + 8]
            .iter()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    Some(Stamped {
        source: SocketAddrV4::new(source, half(0)),
        destination: SocketAddrV4::new(destination, half(2)),
        number: word(8),
        sent_ns: word(16),
        bytes: ip.total_len.into(),
    })
}

impl Endpoint for UdpSink {
    fn handle_segment(&mut self, now_ns: u64, packet: &[u8]) {
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
        let delay_ns = now_ns.saturating_sub(stamped.sent_ns);
        stats.packets += 1;
        stats.bytes += stamped.bytes;
        stats.late += u64::from(stamped.number < stats.numbered);
        stats.numbered = stats.numbered.max(stamped.number.saturating_add(1));
        stats.delay_sum_ns += u128::from(delay_ns);
        stats.delay_max_ns = stats.delay_max_ns.max(delay_ns);
    }

    fn poll_transmit(&mut self, _now_ns: u64, _out: &mut Vec<u8>) -> Option<usize> {
        None
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn handle_timeout(&mut self, _now_ns: u64) {}

    fn poll_event(&mut self) -> Option<Event> {
        None
    }
}
