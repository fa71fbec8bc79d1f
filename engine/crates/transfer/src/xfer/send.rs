// SPDX-License-Identifier: Apache-2.0
//! The side that has the file.

use std::net::{Ipv4Addr, SocketAddrV4};

use slotwise_transport::{
    Algorithm, Event, FlowKey, Receiver, ReceiverConfig, Sender, SenderConfig, SenderStats, Stack, xcp,
};
use slotwise_units::{Bytes, Duration, Instant};

use super::content::{AnswerSink, FileSource};
use super::message::{Answer, Digest, Offer, Status};
use super::role::{End, RTO, Role, Step, XferError};

/// For how long the sender answers for its acknowledgment of the answer.
const LINGER: Duration = Duration::from_s(1);

/// What a sender has to be told.
pub struct SendConfig {
    pub local: Ipv4Addr,
    pub peer: SocketAddrV4,
    /// Of the file's connection.
    pub port: u16,
    /// Bytes of the IP packet of a full segment.
    pub packet_bytes: u16,
    /// Of both connections; drawn.
    pub initial_sequences: [u32; 2],
}

/// Sends an offer and a file, and waits for the answer.
pub struct SendSide {
    stack: Stack<End<FileSource, AnswerSink>>,
    data: FlowKey,
    answer: FlowKey,
    offer: Offer,
    started: Option<Instant>,
    finished: Option<Instant>,
    linger_until: Option<Instant>,
}

impl SendSide {
    /// # Errors
    /// When the packets are too short for their headers.
    pub fn new(config: &SendConfig, offer: Offer, source: FileSource) -> Result<SendSide, XferError> {
        let local = |port| SocketAddrV4::new(config.local, port);
        let key = |port| FlowKey {
            source: config.peer,
            destination: local(port),
            protocol: xcp::PROTOCOL,
        };
        let sender = SenderConfig {
            packet_bytes: config.packet_bytes,
            initial_sequence: config.initial_sequences[0],
            rto: RTO,
            ..SenderConfig::new(local(config.port), config.peer, Algorithm::Xcp)
        };
        let receiver = ReceiverConfig {
            remote: Some(config.peer),
            xcp: true,
            window_bytes: u16::MAX.into(),
            initial_sequence: config.initial_sequences[1],
            rto: RTO,
            ..ReceiverConfig::new(local(offer.answer_port))
        };
        let stream = offer.bytes.saturating_add(Bytes::of(Offer::SIZE));
        let sender = Sender::new(sender, Some(stream), source)?;
        let receiver = Receiver::new(receiver, AnswerSink([0; Answer::SIZE]))?;
        let (data, answer) = (key(config.port), key(offer.answer_port));
        let mut stack = Stack::default();
        for (flow, end) in [
            (data, End::Sending(Box::new(sender))),
            (answer, End::Receiving(Box::new(receiver))),
        ] {
            if stack.insert(flow, end).is_err() {
                unreachable!("the driver draws two ports");
            }
        }
        Ok(SendSide {
            stack,
            data,
            answer,
            offer,
            started: None,
            finished: None,
            linger_until: None,
        })
    }

    fn sender(&self) -> Option<&Sender<FileSource>> {
        self.stack.get(&self.data).and_then(End::sending)
    }

    pub fn stats(&self) -> SenderStats {
        self.sender().map(Sender::stats).unwrap_or_default()
    }

    /// From the handshake until everything was acknowledged, or until now.
    pub fn duration(&self, now: Instant) -> Duration {
        let end = self.finished.unwrap_or(now);
        self.started.map_or(Duration::ZERO, |started| end - started)
    }

    fn check_answer(&mut self) -> Result<(), XferError> {
        let Some(receiver) = self.stack.get_mut(&self.answer).and_then(End::receiving_mut) else {
            unreachable!("put there by `new`");
        };
        let answer = Answer::decode(&receiver.sink().0)?;
        if answer.id != self.offer.id {
            return Err(XferError::OtherTransfer);
        }
        match answer.status {
            Status::Stored if answer.digest == self.offer.digest => Ok(()),
            Status::Stored | Status::Differs => Err(differs(self.offer.digest, answer.digest)),
            Status::TooLong => Err(XferError::Refused("file exceeds its --max-bytes")),
            Status::NotWritten => Err(XferError::Refused("file cannot be written")),
        }
    }
}

/// The error of two digests that should be one.
pub fn differs(sent: Digest, arrived: Digest) -> XferError {
    XferError::Differs(format!("SHA-256 {arrived} instead of {sent}"))
}

impl Role for SendSide {
    type Source = FileSource;
    type Sink = AnswerSink;

    fn stack(&mut self) -> &mut Stack<End<FileSource, AnswerSink>> {
        &mut self.stack
    }

    fn step(&mut self, now: Instant) -> Result<Step, XferError> {
        while let Some((flow, event)) = self.stack.poll_event() {
            match event {
                Event::Connected if flow == self.data => self.started = Some(now),
                Event::Finished if flow == self.data => self.finished = Some(now),
                Event::Finished if flow == self.answer => self.linger_until = Some(now + LINGER),
                Event::Closed if flow == self.answer => self.linger_until = Some(now),
                Event::Aborted(reason) => return Err(reason.into()),
                _ => {}
            }
        }
        if let Some(error) = self.sender().and_then(|sender| sender.source().error()) {
            return Err(XferError::Changed(error.to_string()));
        }
        match self.linger_until {
            Some(until) if until <= now => self.check_answer().map(|()| Step::Done),
            until => Ok(Step::Wait { until }),
        }
    }

    fn progress(&self) -> Option<u64> {
        let acked = self.stats().acked.get();
        let steps = [self.started, self.finished, self.linger_until];
        Some(acked + steps.iter().flatten().count() as u64)
    }

    fn supposed_peer(&self) -> Option<Ipv4Addr> {
        self.started.is_none().then(|| *self.data.source.ip())
    }
}
