// SPDX-License-Identifier: Apache-2.0
//! What every transport endpoint has in common.

use std::net::SocketAddrV4;

use slotwise_units::Instant;
pub use slotwise_wire::IP_PROTOCOL_UDP as PROTOCOL_UDP;

use crate::segment::{self, PROTOCOL_TCP, SegmentError};
use crate::xcp;

/// A transport state machine.
///
/// After each `handle_segment` or `handle_timeout`, and once at the start, call `poll_transmit` until it gives
/// nothing (an acknowledgment that is due goes out only then, one for several segments if several were handed
/// in), then `poll_event` until it gives nothing, then ask `poll_timeout` again. Times never go back.
pub trait Endpoint {
    /// Takes an IPv4 packet that arrived. One that is malformed or for someone else is counted and changes
    /// nothing.
    fn handle_segment(&mut self, now: Instant, packet: &[u8]);

    /// Writes the next packet to send, from the IPv4 header on, into `out`, which it clears; gives its length.
    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize>;

    /// When `handle_timeout` wants to be called; maybe in the past.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Does what is due at `now`; nothing if nothing is.
    fn handle_timeout(&mut self, now: Instant);

    /// What happened since the last call, oldest first.
    fn poll_event(&mut self) -> Option<Event>;
}

impl<E: Endpoint + ?Sized> Endpoint for Box<E> {
    fn handle_segment(&mut self, now: Instant, packet: &[u8]) {
        (**self).handle_segment(now, packet);
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        (**self).poll_transmit(now, out)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }

    fn poll_event(&mut self) -> Option<Event> {
        (**self).poll_event()
    }
}

/// What an endpoint tells its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// The transfer is complete: at a sender, everything including the FIN is acknowledged; at a receiver,
    /// everything up to the FIN has arrived.
    Finished,
    /// Both directions are closed. The endpoint still answers what the peer sends again.
    Closed,
    /// The connection ended early.
    Aborted(AbortReason),
}

/// Why a connection ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortReason {
    /// The peer reset it.
    Reset,
    /// The peer did not answer as many tries in a row as the configuration allows.
    NoAnswer,
}

/// The two ends of a flow and its IP protocol (253 for XCP), as the packet has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Sender's address and port.
    pub source: SocketAddrV4,
    /// Receiver's address and port.
    pub destination: SocketAddrV4,
    /// IP protocol: 6, 17 or 253.
    pub protocol: u8,
}

impl FlowKey {
    /// The flow of an IPv4 packet of TCP, UDP or XCP.
    ///
    /// # Errors
    /// When the packet is cut short, a fragment, of another protocol, or its IPv4 header is damaged.
    pub fn of(packet: &[u8]) -> Result<Self, SegmentError> {
        let (ip, body) = segment::decode_ip(packet)?;
        let shim = match ip.protocol {
            PROTOCOL_TCP | PROTOCOL_UDP => 0,
            xcp::PROTOCOL => xcp::SIZE,
            other => {
                return Err(SegmentError::Field {
                    field: "IP protocol",
                    found: other.into(),
                    expected: "6, 17 or 253",
                });
            }
        };
        let ports: &[u8; 4] =
            body.get(shim..shim + 4)
                .and_then(|b| b.try_into().ok())
                .ok_or(SegmentError::Truncated {
                    what: "the ports",
                    needed: shim + 4,
                    found: body.len(),
                })?;
        let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
        Ok(Self {
            source: SocketAddrV4::new(ip.src.into(), port(0)),
            destination: SocketAddrV4::new(ip.dst.into(), port(2)),
            protocol: ip.protocol,
        })
    }

    /// The same flow seen from the other end.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            ..self
        }
    }
}

/// A configuration that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: expected {expected}, got {found}")]
pub struct ConfigError {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub found: String,
    /// The values that work.
    pub expected: String,
}

impl ConfigError {
    /// Refuses a value outside `range`.
    ///
    /// # Errors
    /// That one, with the range.
    pub fn check(setting: &'static str, found: u64, range: std::ops::RangeInclusive<u64>) -> Result<(), Self> {
        if range.contains(&found) {
            return Ok(());
        }
        Err(Self {
            setting,
            found: found.to_string(),
            expected: format!("{} to {}", range.start(), range.end()),
        })
    }

    /// Refuses the shape of a Pareto distribution that has no mean.
    pub(crate) fn check_shape(shape: f64) -> Result<(), Self> {
        if shape > 1.0 && shape < f64::INFINITY {
            return Ok(());
        }
        Err(Self {
            setting: "shape",
            found: shape.to_string(),
            expected: "over 1 and finite".into(),
        })
    }
}
