// SPDX-License-Identifier: Apache-2.0
//! What both sides of a transfer have in common: they are state machines over transports, driven with the time passed in.

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use slotwise_transport::content::{Sink, Source};
use slotwise_transport::{AbortReason, ConfigError, Endpoint, Event, Receiver, RtoConfig, Sender, Stack};
use slotwise_units::{Bytes, Duration, Instant};

use super::message::MessageError;

/// Bounds of Linux, but for the longest timeout: a live transfer gives up before.
pub const RTO: RtoConfig = RtoConfig {
    initial: Duration::from_s(1),
    min: Duration::from_ms(200),
    max: Duration::from_s(10),
    granularity: Duration::from_ms(200),
    tick: Duration::from_ns(1),
};

/// A transfer did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum XferError {
    #[error("interrupted")]
    Interrupted,
    #[error("no response from the peer for {0} s")]
    Silence(u64),
    #[error("connection closed by the peer")]
    Reset,
    #[error("peer {peer}: {source}; expected a reachable host that runs `slotwise xfer receive`")]
    Unreachable { peer: Ipv4Addr, source: io::Error },
    #[error("packets of {0} bytes exceed the interface MTU; expected a smaller --packet-bytes")]
    PacketTooLong(usize),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("file changed during the transfer: {0}")]
    Changed(String),
    #[error("{0}: not a regular file")]
    NotAFile(PathBuf),
    #[error("{0}: file exists already")]
    Exists(PathBuf),
    #[error("file too large; expected at most {max_bytes} (--max-bytes), got {}", .bytes.get())]
    TooLong { bytes: Bytes, max_bytes: Bytes },
    #[error("content mismatch: {0}")]
    Differs(String),
    #[error("rejected by the receiver: {0}")]
    Refused(&'static str),
    #[error("protocol violation by peer: {0}")]
    Message(#[from] MessageError),
    #[error("reply of the peer is for another transfer")]
    OtherTransfer,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("random numbers: {0}")]
    Random(io::Error),
    #[error("socket: {0}")]
    Socket(io::Error),
}

impl From<AbortReason> for XferError {
    fn from(reason: AbortReason) -> XferError {
        match reason {
            AbortReason::Reset => XferError::Reset,
            AbortReason::NoAnswer => XferError::Silence(RTO.max / Duration::from_s(1)),
        }
    }
}

/// An endpoint of one side's [`Stack`].
pub enum End<A, B> {
    Sending(Box<Sender<A>>),
    Receiving(Box<Receiver<B>>),
}

impl<A: Source, B: Sink> End<A, B> {
    pub fn sending(&self) -> Option<&Sender<A>> {
        match self {
            End::Sending(sender) => Some(sender),
            End::Receiving(_) => None,
        }
    }

    pub fn receiving(&self) -> Option<&Receiver<B>> {
        match self {
            End::Sending(_) => None,
            End::Receiving(receiver) => Some(receiver),
        }
    }

    pub fn receiving_mut(&mut self) -> Option<&mut Receiver<B>> {
        match self {
            End::Sending(_) => None,
            End::Receiving(receiver) => Some(receiver),
        }
    }

    fn endpoint(&mut self) -> &mut dyn Endpoint
    where
        A: 'static,
        B: 'static,
    {
        match self {
            End::Sending(sender) => sender.as_mut(),
            End::Receiving(receiver) => receiver.as_mut(),
        }
    }
}

impl<A: Source + 'static, B: Sink + 'static> Endpoint for End<A, B> {
    fn handle_segment(&mut self, now: Instant, packet: &[u8]) {
        self.endpoint().handle_segment(now, packet);
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<usize> {
        self.endpoint().poll_transmit(now, out)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            End::Sending(sender) => sender.poll_timeout(),
            End::Receiving(receiver) => receiver.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint().handle_timeout(now);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.endpoint().poll_event()
    }
}

/// What a side wants after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Packets, or this time.
    Wait { until: Option<Instant> },
    /// Another step at once.
    Again,
    /// It is over and went well.
    Done,
}

/// One side of a transfer.
///
/// Order of calls: hand packets to the stack, tell it the time, take what it sends until there is nothing or a while, then
/// `step`.
pub trait Role {
    type Source: Source + 'static;
    type Sink: Sink + 'static;

    fn stack(&mut self) -> &mut Stack<End<Self::Source, Self::Sink>>;

    /// Does what follows from the stack's events.
    ///
    /// # Errors
    /// When the transfer has failed; there is no way on from there.
    fn step(&mut self, now: Instant) -> Result<Step, XferError>;

    /// A number that changes whenever the peer is heard from; `None` while nobody has to be.
    fn progress(&self) -> Option<u64>;

    /// A peer of which nothing says yet that it is there: an error of the network ends the transfer.
    fn supposed_peer(&self) -> Option<Ipv4Addr>;
}
