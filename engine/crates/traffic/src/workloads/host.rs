// SPDX-License-Identifier: Apache-2.0
//! The ends of workloads' flows at one host, and the ports at which it listens.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use slotwise_cards::packet::Frame;
use slotwise_scenario::{FlowPorts, MacAddress, Transport};
use slotwise_transport::{BurstConfig, BurstSink, BurstSource, Event, FlowKey, PROTOCOL_UDP, SenderStats, stray, xcp};
use slotwise_units::{Bytes, Instant};
use slotwise_wire::{DATAGRAM_HEADER_BYTES, Ethernet, Ipv4};

use super::{FIRST_PORT, Settings};
use crate::station::{End, Station};

/// Hop limit of a packet at its host.
const TTL: u8 = 64;

/// Port at which all hosts receive the flows of a workload.
pub(super) struct Listener {
    pub(super) settings: Arc<Settings>,
}

/// Event at one end of a flow, by the addresses of its data.
pub(super) enum Noted {
    /// All data has arrived.
    Arrived {
        key: FlowKey,
        /// Routers on the path of the last packet.
        hops: u8,
    },
    /// All data is acknowledged.
    Acknowledged { key: FlowKey, stats: SenderStats },
    /// The sender has given up.
    GivenUp { key: FlowKey, stats: SenderStats },
}

/// A host with the flows of workloads that it sends and receives.
pub(super) struct FlowHost {
    station: Station,
    listeners: Arc<[Listener]>,
    /// Resets to send.
    replies: VecDeque<Vec<u8>>,
    /// Port of the last flow.
    port: u16,
    /// Hop limit of the packet that arrived last.
    ttl: u8,
    /// Received bytes that differ from the sent ones, of ended flows.
    wrong: Bytes,
}

impl FlowHost {
    pub(super) fn new(mac: MacAddress, gateway: MacAddress, listeners: Arc<[Listener]>) -> FlowHost {
        FlowHost {
            station: Station::new(mac, gateway),
            listeners,
            replies: VecDeque::new(),
            port: FIRST_PORT - 1,
            ttl: TTL,
            wrong: Bytes::ZERO,
        }
    }

    /// Addresses of a new flow, with the next port that no flow to the same port of the other host has; `None` if all have one.
    pub(super) fn free_key(&mut self, own: Ipv4Addr, remote: SocketAddrV4, protocol: u8) -> Option<FlowKey> {
        for _ in 0..FlowPorts::COUNT {
            self.port = if self.port + 1 < FIRST_PORT {
                self.port + 1
            } else {
                FlowPorts::FIRST
            };
            let key = FlowKey {
                source: SocketAddrV4::new(own, self.port),
                destination: remote,
                protocol,
            };
            if self.station.stack.get(&key.reversed()).is_none() {
                return Some(key);
            }
        }
        None
    }

    /// Adds an end by the addresses of the packets that it receives.
    pub(super) fn insert(&mut self, key: FlowKey, end: End) {
        let inserted = self.station.stack.insert(key, end).is_ok();
        debug_assert!(inserted, "the addresses are free");
    }

    pub(super) fn insert_burst(&mut self, key: FlowKey, config: BurstConfig, now: Instant) {
        self.insert(key, End::Burst(Box::new(BurstSource::new(config, now))));
    }

    /// Received bytes that differ from the sent ones, of ended flows: always 0.
    pub(super) fn wrong(&self) -> Bytes {
        self.wrong
    }

    /// Number of ends at this host.
    pub(super) fn ends(&self) -> usize {
        self.station.stack.iter().count()
    }

    /// Handles a packet of a workload. Returns false if it is not for this host.
    pub(super) fn receive(&mut self, now: Instant, frame: &[u8], key: FlowKey) -> bool {
        if !self.station.is_addressed(frame) {
            return false;
        }
        let packet = &frame[Ethernet::SIZE..];
        self.ttl = packet[8];
        if !self.has_end(packet, &key) && !self.listen(now, packet, key) {
            let mut reply = Vec::new();
            if stray::reset(packet, &mut reply) {
                self.replies.push_back(reply);
            }
            return true;
        }
        let is_taken = self.station.receive(now, frame, Some(key));
        if let Some(End::Receiver(receiver)) = self.station.stack.get(&key)
            && receiver.is_listening()
        {
            // A stray segment opened the connection, and the sender has reset it.
            self.station.stack.remove(&key);
        }
        is_taken
    }

    /// Returns true if an end for a packet exists. Another burst replaces one that has lost packets.
    fn has_end(&mut self, packet: &[u8], key: &FlowKey) -> bool {
        match self.station.stack.get(key) {
            Some(End::Gather(sink)) if sink.is_other(packet) => {
                self.station.stack.remove(key);
                false
            }
            end => end.is_some(),
        }
    }

    /// Creates the receiver of a flow from its first packet. Returns false for a packet that does not start a flow.
    fn listen(&mut self, now: Instant, packet: &[u8], key: FlowKey) -> bool {
        let number = key.destination.port().checked_sub(FIRST_PORT);
        let Some(listener) = number.and_then(|number| self.listeners.get(usize::from(number))) else {
            return false;
        };
        let end = if key.protocol == PROTOCOL_UDP {
            BurstSink::of(packet).map(|sink| End::Gather(Box::new(sink)))
        } else {
            // Settings that the first packet does not contain depend on XCP only.
            let transport = match key.protocol {
                xcp::PROTOCOL => Transport::Xcp,
                _ => Transport::default(),
            };
            let opening = stray::opening(packet).filter(|opening| opening.is_syn);
            opening.map(|opening| {
                let stream = listener.settings.stream(key, transport, None, opening.sequence, now);
                stream.receiver()
            })
        };
        let Some(end) = end else { return false };
        self.insert(key, end);
        true
    }

    /// Handles expired timers. Returns false if none has expired: a timer may have moved since its event was scheduled.
    pub(super) fn timeout(&mut self, now: Instant) -> bool {
        let is_due = self.station.wake.is_some_and(|wake| wake <= now);
        if is_due {
            self.station.handle_timeout(now);
        }
        is_due
    }

    /// Writes the next frame that the host sends into `frame`.
    pub(super) fn transmit(&mut self, now: Instant, frame: &mut Frame) -> bool {
        match self.replies.pop_front() {
            Some(reply) => {
                self.station.write(&reply, frame);
                true
            }
            None => self.station.transmit(now, frame),
        }
    }

    /// Time of an event for the next timeout, unless an earlier event exists; valid once [`FlowHost::transmit`] has returned nothing.
    pub(super) fn wake_at(&mut self) -> Option<Instant> {
        let at = self.station.poll_timeout()?;
        if self.station.wake.is_some_and(|wake| wake <= at) {
            return None;
        }
        self.station.wake = Some(at);
        Some(at)
    }

    /// Returns the next event and removes closed ends; complete once [`FlowHost::transmit`] has returned nothing.
    pub(super) fn poll(&mut self) -> Option<Noted> {
        while let Some((key, event)) = self.station.poll_event() {
            let data = match key.destination.port() >= FIRST_PORT {
                true => key,
                false => key.reversed(),
            };
            let is_receiver = data == key;
            let stats = match self.station.stack.get(&key) {
                Some(End::Sender { sender, .. }) => sender.stats(),
                _ => SenderStats::default(),
            };
            let is_over = match event {
                Event::Closed | Event::Aborted(_) => true,
                Event::Finished => key.protocol == PROTOCOL_UDP,
                Event::Connected => false,
            };
            if is_over && let Some(End::Receiver(receiver)) = self.station.stack.remove(&key) {
                self.wrong += receiver.sink().wrong();
            }
            match event {
                Event::Finished if is_receiver => {
                    let hops = TTL.saturating_sub(self.ttl);
                    return Some(Noted::Arrived { key: data, hops });
                }
                Event::Finished => return Some(Noted::Acknowledged { key: data, stats }),
                Event::Aborted(_) if !is_receiver => return Some(Noted::GivenUp { key: data, stats }),
                _ => {}
            }
        }
        None
    }
}

/// Addresses of the data in a frame of this host; `None` for frames without data of a workload.
pub(super) fn data_in(frame: &[u8]) -> Option<FlowKey> {
    const PROTOCOL: usize = 9;
    let packet = frame.get(Ethernet::SIZE..)?;
    let shim = match *packet.get(PROTOCOL)? {
        xcp::PROTOCOL => xcp::SIZE,
        _ => 0,
    };
    let transport = packet.get(Ipv4::SIZE + shim..)?;
    let port = u16::from_be_bytes(*transport.get(2..4)?.first_chunk()?);
    if port < FIRST_PORT {
        return None;
    }
    let headers = match packet[PROTOCOL] {
        PROTOCOL_UDP => DATAGRAM_HEADER_BYTES,
        _ => Ipv4::SIZE + shim + usize::from(transport.get(12)? >> 4) * 4,
    };
    (packet.len() > headers).then(|| FlowKey::of(packet).ok()).flatten()
}
