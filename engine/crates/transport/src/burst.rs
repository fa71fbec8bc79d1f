// SPDX-License-Identifier: Apache-2.0
//! Data in datagrams: sent at a rate without acknowledgments, and collected until complete.
//!
//! A datagram with at least [`HEADER`] bytes of payload begins with the size of all data and a number of the burst. The header is part of
//! the data. A shorter datagram is the whole burst, or its last part: then its IPv4 identification is [`PART`].

use std::net::SocketAddrV4;

use slotwise_units::{Bytes, Instant, Rate};
use slotwise_wire::{DATAGRAM_HEADER_BYTES, Ipv4};

use crate::checksum;
use crate::datagram;
use crate::endpoint::{Endpoint, Event};

/// Minimum payload of a datagram with a header.
const HEADER: usize = 12;
/// Identification of a datagram without a header that is part of a burst.
const PART: u16 = 1;
/// Identification and checksum in the IPv4 header.
const IDENTIFICATION: usize = 4;
const CHECKSUM: usize = 10;

/// Settings of a [`BurstSource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstConfig {
    /// Own address and port.
    pub local: SocketAddrV4,
    /// Receiver's address and port.
    pub remote: SocketAddrV4,
    /// Data, at least 1 byte.
    pub size: Bytes,
    /// Bytes of a full IP packet, at least 64.
    pub packet_bytes: u16,
    /// Rate of the sender's link.
    pub rate: Rate,
    /// Bytes of each packet on that link in addition to the IP packet.
    pub overhead: Bytes,
    /// Number that distinguishes bursts between the same ports.
    pub number: u32,
}

/// Source of a burst.
#[derive(Debug)]
pub struct BurstSource {
    config: BurstConfig,
    sent: u64,
    next: Instant,
    is_told: bool,
}

impl BurstSource {
    /// Makes a source that begins at `now`.
    pub fn new(config: BurstConfig, now: Instant) -> BurstSource {
        BurstSource {
            config,
            sent: 0,
            next: now,
            is_told: false,
        }
    }

    /// Returns true if all data has been sent.
    fn is_done(&self) -> bool {
        self.sent == self.config.size.get()
    }

    /// Payload of the next datagram.
    fn next_payload(&self) -> usize {
        let full = u64::from(self.config.packet_bytes) - DATAGRAM_HEADER_BYTES as u64;
        let left = self.config.size.get() - self.sent;
        left.min(full) as usize
    }
}

impl Endpoint for BurstSource {
    fn handle_segment(&mut self, _: Instant, _: &[u8]) {}

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        if self.is_done() || self.next > now {
            return None;
        }
        let payload = self.next_payload();
        out.clear();
        out.resize(DATAGRAM_HEADER_BYTES + payload, 0);
        let size = self.config.size.get().to_be_bytes();
        let header = size.into_iter().chain(self.config.number.to_be_bytes());
        if payload >= HEADER {
            for (byte, value) in out[DATAGRAM_HEADER_BYTES..].iter_mut().zip(header) {
                *byte = value;
            }
        }
        datagram::seal(out, self.config.local, self.config.remote);
        if payload < HEADER && self.sent > 0 {
            identify(out);
        }
        self.sent += payload as u64;
        self.next += self.config.rate.time(Bytes::of(out.len()) + self.config.overhead);
        Some(out.len())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (!self.is_done()).then_some(self.next)
    }

    fn handle_timeout(&mut self, _: Instant) {}

    /// [`Event::Closed`] once all data has been sent.
    fn poll_event(&mut self) -> Option<Event> {
        let is_done = self.is_done();
        let is_told = std::mem::replace(&mut self.is_told, is_done);
        (is_done && !is_told).then_some(Event::Closed)
    }
}

/// Marks a packet as a part of a burst.
fn identify(packet: &mut [u8]) {
    packet[IDENTIFICATION..IDENTIFICATION + 2].copy_from_slice(&PART.to_be_bytes());
    packet[CHECKSUM..CHECKSUM + 2].fill(0);
    let sum = checksum::internet(&packet[..Ipv4::SIZE]);
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Returns true if a packet without a header is a part of a burst.
fn is_part(packet: &[u8]) -> bool {
    packet.get(IDENTIFICATION..IDENTIFICATION + 2) == Some(&PART.to_be_bytes()[..])
}

/// Receiver of a burst.
#[derive(Debug)]
pub struct BurstSink {
    number: Option<u32>,
    size: u64,
    received: u64,
    is_told: bool,
}

impl BurstSink {
    /// Creates the receiver of a burst from its first datagram; `None` for other packets, and for datagrams without a header.
    pub fn of(packet: &[u8]) -> Option<BurstSink> {
        if is_part(packet) {
            return None;
        }
        let (number, size, _) = read(packet)?;
        Some(BurstSink {
            number,
            size,
            received: 0,
            is_told: false,
        })
    }

    /// Returns true if a datagram belongs to another burst between the same ports.
    pub fn is_other(&self, packet: &[u8]) -> bool {
        !is_part(packet) && read(packet).is_some_and(|(number, ..)| number != self.number)
    }
}

/// Number of its burst, size of all data, and payload of a datagram.
fn read(packet: &[u8]) -> Option<(Option<u32>, u64, u64)> {
    let datagram = datagram::decode(packet)?;
    let payload = datagram.payload.len() as u64;
    match datagram.payload.first_chunk::<HEADER>() {
        None => Some((None, payload, payload)),
        Some(header) => {
            let (size, number) = header.split_first_chunk::<8>()?;
            let number = number.first_chunk::<4>()?;
            Some((Some(u32::from_be_bytes(*number)), u64::from_be_bytes(*size), payload))
        }
    }
}

impl Endpoint for BurstSink {
    fn handle_segment(&mut self, _: Instant, packet: &[u8]) {
        if let Some((number, _, payload)) = read(packet)
            && (number == self.number || is_part(packet))
        {
            self.received = self.received.saturating_add(payload);
        }
    }

    fn poll_transmit(&mut self, _: Instant, _: &mut Vec<u8>) -> Option<usize> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _: Instant) {}

    /// [`Event::Finished`] once all data has arrived.
    fn poll_event(&mut self) -> Option<Event> {
        let is_complete = self.received >= self.size;
        let is_told = std::mem::replace(&mut self.is_told, is_complete);
        (is_complete && !is_told).then_some(Event::Finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::from_bps(8_000_000);
    const OVERHEAD: Bytes = Bytes::new(14);

    fn burst(size: u64, number: u32) -> BurstSource {
        let config = BurstConfig {
            local: "10.0.0.1:1000".parse().unwrap(),
            remote: "10.0.0.2:2000".parse().unwrap(),
            size: Bytes::new(size),
            packet_bytes: 1028,
            rate: RATE,
            overhead: OVERHEAD,
            number,
        };
        BurstSource::new(config, Instant::ZERO)
    }

    /// All packets of a source with their times.
    fn packets(mut source: BurstSource) -> Vec<(Instant, Vec<u8>)> {
        let mut packets = Vec::new();
        let mut out = Vec::new();
        while let Some(now) = source.poll_timeout() {
            assert!(source.poll_transmit(now, &mut out).is_some());
            packets.push((now, out.clone()));
        }
        assert_eq!(source.poll_event(), Some(Event::Closed));
        assert_eq!(source.poll_event(), None);
        packets
    }

    #[test]
    fn bursts_of_any_size_arrive_whole_at_their_rate() {
        for size in [1, 11, 12, 999, 1000, 1001, 1011, 1012, 2005, 10_000] {
            let sent = packets(burst(size, 7));
            let mut sink = BurstSink::of(&sent[0].1).unwrap();
            for (place, (_, packet)) in sent.iter().enumerate() {
                assert!(!sink.is_other(packet) && packet.len() <= 1028);
                sink.handle_segment(Instant::ZERO, packet);
                let is_last = place + 1 == sent.len();
                assert_eq!(sink.poll_event(), is_last.then_some(Event::Finished), "{size}");
            }
            assert_eq!(sink.received, size);
            let before = &sent[..sent.len() - 1];
            let bytes: Bytes = before
                .iter()
                .map(|(_, packet)| Bytes::of(packet.len()) + OVERHEAD)
                .sum();
            assert_eq!(sent[sent.len() - 1].0, Instant::ZERO + RATE.time(bytes));
        }
    }

    #[test]
    fn a_last_part_without_a_header_is_no_burst() {
        let sent = packets(burst(1005, 7));
        assert_eq!(sent.len(), 2);
        assert!(BurstSink::of(&sent[1].1).is_none());
        assert!(BurstSink::of(&packets(burst(5, 7))[0].1).is_some());
    }

    #[test]
    fn a_burst_with_a_loss_is_not_completed_by_the_next_one() {
        let (first, second) = (packets(burst(2000, 1)), packets(burst(2000, 2)));
        let mut sink = BurstSink::of(&first[0].1).unwrap();
        sink.handle_segment(Instant::ZERO, &first[0].1);
        assert!(sink.is_other(&second[1].1));
        sink.handle_segment(Instant::ZERO, &second[1].1);
        assert_eq!(sink.poll_event(), None);
    }
}
