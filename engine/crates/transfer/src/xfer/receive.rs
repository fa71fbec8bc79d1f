// SPDX-License-Identifier: Apache-2.0
//! The side that stores the file.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;

use slotwise_transport::{
    ANYONE, Algorithm, Event, FlowKey, Receiver, ReceiverConfig, ReceiverStats, Sender, SenderConfig, Stack, xcp,
};
use slotwise_units::{Bytes, Duration, Instant};

use super::content::FileSink;
use super::message::{Answer, Digest, Offer, Status};
use super::role::{End, RTO, Role, Step, XferError};
use super::send::differs;

/// From a SYN to a whole offer; after that, the next sender gets its turn.
const OFFER_PATIENCE: Duration = Duration::from_s(5);
/// Less than the socket's buffer holds, so that a window that comes at once is not lost there.
const WINDOW_BYTES: u32 = 4 << 20;
/// Of the answer, which is one.
const ANSWER_PACKET_BYTES: u16 = 576;

/// A source of numbers that nobody can guess.
pub type Draw = Box<dyn FnMut() -> std::io::Result<u32>>;

/// What a receiver has to be told.
pub struct ReceiveConfig {
    pub local: SocketAddrV4,
    /// Name of the file; its directory must exist.
    pub path: PathBuf,
    pub max_bytes: Bytes,
}

/// Takes one file from whoever first makes an offer.
pub struct ReceiveSide {
    config: ReceiveConfig,
    /// Draws initial sequence numbers.
    draw: Draw,
    stack: Stack<End<Vec<u8>, FileSink>>,
    data: FlowKey,
    /// When the first sign of a sender came.
    syn: Option<Instant>,
    started: Option<Instant>,
    /// When everything up to the end of the stream had come.
    finished: Option<Instant>,
    offer: Option<(Offer, SocketAddrV4)>,
    answer: Option<FlowKey>,
    /// Of the file, once it is complete.
    digest: Option<Digest>,
    /// How it ends, once the sender has the answer.
    outcome: Option<Result<(), XferError>>,
    is_told: bool,
    /// Senders that came without a proper offer.
    turned_away: u64,
}

impl ReceiveSide {
    /// # Errors
    /// When the directory cannot be written to.
    pub fn new(config: ReceiveConfig, draw: Draw) -> Result<ReceiveSide, XferError> {
        let data = FlowKey {
            source: ANYONE,
            destination: config.local,
            protocol: xcp::PROTOCOL,
        };
        let mut side = ReceiveSide {
            config,
            draw,
            stack: Stack::default(),
            data,
            syn: None,
            started: None,
            finished: None,
            offer: None,
            answer: None,
            digest: None,
            outcome: None,
            is_told: false,
            turned_away: 0,
        };
        side.listen()?;
        Ok(side)
    }

    /// Begins to wait for a sender, whatever was before.
    fn listen(&mut self) -> Result<(), XferError> {
        let directory = match self.config.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => ".".as_ref(),
        };
        let sink = FileSink::create(directory, self.config.max_bytes).map_err(|source| XferError::File {
            path: directory.to_owned(),
            source,
        })?;
        let receiver = ReceiverConfig {
            xcp: true,
            window_bytes: WINDOW_BYTES,
            initial_sequence: (self.draw)().map_err(XferError::Random)?,
            rto: RTO,
            ..ReceiverConfig::new(self.config.local)
        };
        let receiver = Receiver::new(receiver, sink)?;
        self.stack.remove(&self.data);
        // Removed the line before.
        let _ = self.stack.insert(self.data, End::Receiving(Box::new(receiver)));
        (self.syn, self.started, self.finished) = (None, None, None);
        Ok(())
    }

    fn turn_away(&mut self) -> Result<(), XferError> {
        self.turned_away += 1;
        self.listen()
    }

    fn receiver(&mut self) -> &mut Receiver<FileSink> {
        match self.stack.get_mut(&self.data).and_then(End::receiving_mut) {
            Some(receiver) => receiver,
            None => unreachable!("`listen` put it there"),
        }
    }

    pub fn stats(&self) -> ReceiverStats {
        let receiver = self.stack.get(&self.data).and_then(End::receiving);
        receiver.map(Receiver::stats).unwrap_or_default()
    }

    /// Senders that came without a proper offer.
    pub fn turned_away(&self) -> u64 {
        self.turned_away
    }

    /// Of the file, once it is stored.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// From the handshake until everything was there, or until now.
    pub fn duration(&self, now: Instant) -> Duration {
        let end = self.finished.unwrap_or(now);
        self.started.map_or(Duration::ZERO, |started| end - started)
    }

    /// Looks for the offer in what came in order.
    fn take_offer(&mut self, now: Instant) -> Result<(), XferError> {
        let receiver = self.receiver();
        let Some(remote) = receiver.remote() else {
            return Ok(());
        };
        let is_whole = receiver.stats().in_order >= Bytes::of(Offer::SIZE);
        let offer = is_whole.then(|| Offer::decode(receiver.sink().offer()));
        let syn = *self.syn.get_or_insert(now);
        match offer {
            Some(Ok(offer)) => {
                let (bytes, max_bytes) = (offer.bytes, self.config.max_bytes);
                self.offer = Some((offer, remote));
                if bytes > max_bytes {
                    self.answer(Status::TooLong, Err(XferError::TooLong { bytes, max_bytes }))?;
                }
                Ok(())
            }
            None if self.finished.is_none() && now < syn + OFFER_PATIENCE => Ok(()),
            Some(Err(_)) | None => self.turn_away(),
        }
    }

    /// Hashes what came in order, and stores the file when all has come. False when there is more to hash.
    fn take_content(&mut self) -> Result<bool, XferError> {
        let Some(offer) = self.offer.as_ref().map(|(offer, _)| offer.clone()) else {
            return Ok(true);
        };
        let path = self.config.path.clone();
        let has_ended = self.finished.is_some();
        let receiver = self.receiver();
        let stream_bytes = receiver.stats().in_order;
        let expected_bytes = offer.bytes.saturating_add(Bytes::of(Offer::SIZE));
        let sink = receiver.sink_mut();
        match sink.advance(stream_bytes.min(expected_bytes)) {
            Err(source) => return self.not_written(source).map(|()| true),
            Ok(false) => return Ok(false),
            // One that goes on too long may never end.
            Ok(true) if !has_ended && stream_bytes <= expected_bytes => return Ok(true),
            Ok(true) => {}
        }
        let digest = sink.digest();
        if stream_bytes != expected_bytes || digest != offer.digest {
            self.answer(Status::Differs, Err(differs(offer.digest, digest)))?;
            return Ok(true);
        }
        match sink.keep(&path) {
            Ok(()) => {
                self.digest = Some(digest);
                self.answer(Status::Stored, Ok(()))?;
            }
            Err(source) => self.not_written(source)?,
        }
        Ok(true)
    }

    fn not_written(&mut self, source: std::io::Error) -> Result<(), XferError> {
        let path = self.config.path.clone();
        let error = match source.kind() {
            std::io::ErrorKind::AlreadyExists => XferError::Exists(path),
            _ => XferError::File { path, source },
        };
        self.answer(Status::NotWritten, Err(error))
    }

    /// Opens the connection that tells the sender; `outcome` is how this side ends after that.
    fn answer(&mut self, status: Status, outcome: Result<(), XferError>) -> Result<(), XferError> {
        let Some((offer, remote)) = &self.offer else {
            unreachable!("answers are to offers");
        };
        let answer = Answer {
            id: offer.id,
            status,
            digest: self.digest.unwrap_or(Digest([0; 32])),
        };
        let remote = SocketAddrV4::new(*remote.ip(), offer.answer_port);
        let sender = SenderConfig {
            packet_bytes: ANSWER_PACKET_BYTES,
            initial_sequence: (self.draw)().map_err(XferError::Random)?,
            rto: RTO,
            ..SenderConfig::new(self.config.local, remote, Algorithm::Xcp)
        };
        let sender = Sender::new(sender, Some(Bytes::of(Answer::SIZE)), answer.encode().to_vec())?;
        let flow = FlowKey {
            source: remote,
            ..self.data
        };
        // Nothing else receives from a fixed peer.
        let _ = self.stack.insert(flow, End::Sending(Box::new(sender)));
        self.answer = Some(flow);
        self.outcome = Some(outcome);
        Ok(())
    }
}

impl Role for ReceiveSide {
    type Source = Vec<u8>;
    type Sink = FileSink;

    fn stack(&mut self) -> &mut Stack<End<Vec<u8>, FileSink>> {
        &mut self.stack
    }

    fn step(&mut self, now: Instant) -> Result<Step, XferError> {
        while let Some((flow, event)) = self.stack.poll_event() {
            match event {
                Event::Connected if flow == self.data => self.started = Some(now),
                Event::Finished if flow == self.data => self.finished = Some(now),
                Event::Aborted(reason) if flow == self.data => {
                    if self.offer.is_some() && self.outcome.is_none() {
                        return Err(reason.into());
                    }
                    if self.offer.is_none() {
                        self.turn_away()?;
                    }
                }
                Event::Closed if Some(flow) == self.answer => self.is_told = true,
                Event::Aborted(reason) if Some(flow) == self.answer => {
                    return Err(self
                        .outcome
                        .take()
                        .and_then(Result::err)
                        .unwrap_or_else(|| reason.into()));
                }
                _ => {}
            }
        }
        if self.is_told
            && let Some(outcome) = self.outcome.take()
        {
            return outcome.map(|()| Step::Done);
        }
        if self.offer.is_none() {
            self.take_offer(now)?;
        }
        if self.outcome.is_none() && !self.take_content()? {
            return Ok(Step::Again);
        }
        let offer_due = self.syn.filter(|_| self.offer.is_none());
        Ok(Step::Wait {
            until: offer_due.map(|syn| syn + OFFER_PATIENCE),
        })
    }

    fn progress(&self) -> Option<u64> {
        self.offer.as_ref()?;
        let data = self.stack.get(&self.data).and_then(End::receiving)?;
        let steps = [self.finished.is_some(), self.answer.is_some()];
        Some(data.stats().in_order.get() + steps.into_iter().filter(|done| *done).count() as u64)
    }

    fn supposed_peer(&self) -> Option<Ipv4Addr> {
        None
    }
}
