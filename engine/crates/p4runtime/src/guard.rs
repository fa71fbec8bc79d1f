// SPDX-License-Identifier: Apache-2.0
//! Before a call is served: whether it may be made at all, and whether its messages come whole, in time, and not too long.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Sleep;
use tonic::Status;
use tonic::body::Body;
use tower_layer::Layer;
use tower_service::Service;

use crate::answer::Answer;
use crate::incoming::Caller;
use crate::limits::ServerLimits;
use crate::room::{Full, Holding, Room};
use crate::weigh::{Head, Weigher};

/// Messages that are not programs or batches.
const MAX_SMALL_BYTES: usize = 1 << 20;
/// Messages up to this size are received however much else is.
const FREE_BYTES: usize = 4096;
/// Longer messages have more time: a second for each of these.
const BYTES_A_SECOND: usize = 1 << 20;
/// What gRPC puts in front of a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// Says who may write or configure, before what they send is decoded.
pub(crate) type Authorize = Box<dyn Fn(&Head) -> Result<(), Status> + Send + Sync>;

/// What holds for all calls of a server.
struct Policy {
    authorize: Authorize,
    token: Option<String>,
    takes_guests: bool,
    message_bytes: usize,
    patience: Duration,
    /// Bytes of messages being received.
    receiving: Arc<Room>,
}

/// Marks a call of somebody who has not shown the token, where such calls are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guest;

/// Wraps the service.
#[derive(Clone)]
pub(crate) struct GuardLayer(Arc<Policy>);

impl GuardLayer {
    /// With a token, calls have to show it: `authorization: Bearer TOKEN`. Those that do not are refused, or, if it
    /// `takes_guests`, marked as [`Guest`] if they change nothing.
    pub fn new(limits: &ServerLimits, token: Option<String>, takes_guests: bool, authorize: Authorize) -> GuardLayer {
        // Half of it, but a whole message.
        let share = (limits.receiving_bytes / 2).max(limits.message_bytes);
        GuardLayer(Arc::new(Policy {
            authorize,
            token,
            takes_guests,
            message_bytes: limits.message_bytes,
            patience: limits.patience,
            receiving: Room::new(limits.receiving_bytes, share),
        }))
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard {
            inner,
            policy: self.0.clone(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Guard<S> {
    inner: S,
    policy: Arc<Policy>,
}

impl Policy {
    fn admits(&self, headers: &http::HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let shown = headers
            .get(http::header::AUTHORIZATION)
            .map(http::HeaderValue::as_bytes);
        let Some(shown) = shown.and_then(|shown| shown.strip_prefix(b"Bearer ")) else {
            return false;
        };
        // The time does not tell how much was right.
        let differences = shown.iter().zip(token.as_bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        shown.len() == token.len() && differences == 0
    }
}

impl<S> Service<Request<Body>> for Guard<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_guest = !self.policy.admits(request.headers());
        if is_guest && !self.policy.takes_guests {
            let status =
                Status::unauthenticated("missing or invalid token: this server accepts only its own controller");
            return Box::pin(async move { Ok(status.into_http()) });
        }
        let caller = Caller::of(request.extensions());
        caller.note_call();
        let method = request.uri().path().rsplit('/').next().unwrap_or_default();
        let takes_large = matches!(method, "Write" | "SetForwardingPipelineConfig");
        if is_guest && takes_large {
            let status =
                Status::permission_denied("read-only access: writes are reserved for the run's own controller");
            return Box::pin(async move { Ok(status.into_http()) });
        }
        let is_stream = method == "StreamChannel";
        let max_bytes = if takes_large {
            self.policy.message_bytes
        } else {
            self.policy.message_bytes.min(MAX_SMALL_BYTES)
        };
        let policy = self.policy.clone();
        let received = Received::new(policy.receiving.clone(), caller);
        let weigher = Weigher::of(method);
        let mut request = request.map(|inner| {
            Body::new(GuardedBody {
                inner,
                framing: Framing::new(max_bytes),
                weigher,
                is_stream,
                deadline: (!is_stream).then(|| Box::pin(tokio::time::sleep(policy.patience))),
                received_bytes: 0,
                received: received.clone(),
                ended: Box::pin(received.0.ended.clone().notified_owned()),
                policy,
            })
        });
        request.extensions_mut().insert(received);
        if is_guest {
            request.extensions_mut().insert(Guest);
        }
        let answering = self.inner.call(request);
        Box::pin(async move {
            let mut response = answering.await?;
            if let Some(answer) = response.extensions_mut().remove::<Answer>() {
                *response.body_mut() = answer.into_body();
            }
            Ok(response)
        })
    }
}

/// The messages that a client sends with one call.
struct GuardedBody {
    inner: Body,
    framing: Framing,
    weigher: Weigher,
    /// Between the messages of a stream any time may pass.
    is_stream: bool,
    deadline: Option<Pin<Box<Sleep>>>,
    /// What has come of messages that are not done with.
    received_bytes: usize,
    received: Received,
    ended: Pin<Box<OwnedNotified>>,
    policy: Arc<Policy>,
}

/// Bytes that messages of a call take of those of all, as they come and when they are decoded. Who does what a message asks
/// for keeps this until it is done, so that messages that wait count as those that are being received; on a stream they
/// count until the next is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Received(Arc<Receiving>);

#[derive(Debug)]
struct Receiving {
    room: Arc<Room>,
    caller: Caller,
    holding: Mutex<Option<Holding>>,
    /// Notified when the room is given to others.
    ended: Arc<Notify>,
}

impl Received {
    fn new(room: Arc<Room>, caller: Caller) -> Received {
        Received(Arc::new(Receiving {
            room,
            caller,
            holding: Mutex::default(),
            ended: Arc::default(),
        }))
    }

    /// Makes them `bytes` in all.
    fn grow(&self, bytes: usize) -> Result<(), Full> {
        let mut holding = self.0.holding.lock().unwrap_or_else(PoisonError::into_inner);
        match &*holding {
            Some(holding) => holding.grow(bytes),
            None => {
                let ended = self.0.ended.clone();
                let end = Arc::new(move || ended.notify_one());
                *holding = Some(self.0.room.take(&self.0.caller, bytes, end)?);
                Ok(())
            }
        }
    }

    /// A message has come whole: its bytes are no more taken away.
    fn keep(&self) {
        let holding = self.0.holding.lock().unwrap_or_else(PoisonError::into_inner);
        holding.iter().for_each(Holding::keep);
    }

    fn release(&self) {
        let holding = self.0.holding.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(holding);
    }
}

impl GuardedBody {
    /// Follows the bytes that have arrived.
    fn advance(&mut self, mut bytes: &[u8]) -> Result<(), Status> {
        while !bytes.is_empty() {
            match self.framing.take(&mut bytes)? {
                Piece::Prefix if self.deadline.is_none() => self.restart(self.policy.patience),
                Piece::Prefix => {}
                Piece::Start(length) => {
                    let more = Duration::from_secs((length / BYTES_A_SECOND) as u64);
                    self.restart(self.policy.patience + more);
                    self.weigher.begin(length);
                }
                Piece::Part(part) => {
                    self.received_bytes += part.len();
                    let takes_bytes = self.received_bytes + self.weigher.advance(part)?;
                    if takes_bytes > FREE_BYTES {
                        self.received.grow(takes_bytes).map_err(|Full| too_much())?;
                    }
                }
            }
            if self.framing.is_between() {
                self.accept()?;
            }
        }
        Ok(())
    }

    /// Lets a whole message be decoded, if its sender may ask for what it asks for.
    fn accept(&mut self) -> Result<(), Status> {
        if let Some(head) = self.weigher.finish()? {
            (self.policy.authorize)(&head)?;
        }
        self.received.keep();
        if self.is_stream {
            self.deadline = None;
        }
        Ok(())
    }

    fn restart(&mut self, patience: Duration) {
        self.deadline = Some(Box::pin(tokio::time::sleep(patience)));
    }
}

impl HttpBody for GuardedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let body = &mut *self;
        if body.is_stream && body.framing.is_between() {
            // The session has done what it was asked for and waits for the next message.
            body.received_bytes = 0;
            body.received.release();
        }
        if body.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(too_much())));
        }
        match Pin::new(&mut body.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let followed = frame.data_ref().map_or(Ok(()), |data| body.advance(data));
                Poll::Ready(Some(followed.map(|()| frame)))
            }
            Poll::Ready(other) => Poll::Ready(other),
            Poll::Pending => {
                let deadline = body.deadline.as_mut().map(|deadline| deadline.as_mut().poll(context));
                if deadline.is_some_and(|deadline| deadline.is_ready()) {
                    let message = "message not complete in time";
                    return Poll::Ready(Some(Err(Status::deadline_exceeded(message))));
                }
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn too_much() -> Status {
    Status::resource_exhausted("receive buffer full; retry later")
}

/// Where messages begin and end.
#[derive(Debug)]
struct Framing {
    max_bytes: usize,
    prefix: [u8; PREFIX_BYTES],
    /// Bytes of the prefix that have come.
    begun: usize,
    /// Bytes of the message that are missing.
    missing: usize,
}

/// Some of the bytes of a call's body.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    /// Part of a prefix that is not complete.
    Prefix,
    /// The end of a prefix: a message of this length follows.
    Start(usize),
    /// Part of a message.
    Part(&'a [u8]),
}

impl Framing {
    fn new(max_bytes: usize) -> Framing {
        Framing {
            max_bytes,
            prefix: [0; PREFIX_BYTES],
            begun: 0,
            missing: 0,
        }
    }

    /// Whether nothing of a message has come.
    fn is_between(&self) -> bool {
        self.begun == 0 && self.missing == 0
    }

    /// Removes the rest of a prefix or of a message from `bytes`.
    fn take<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Piece<'a>, Status> {
        let is_inside = self.missing > 0;
        let wanted = if is_inside {
            self.missing
        } else {
            PREFIX_BYTES - self.begun
        };
        let (piece, rest) = bytes.split_at(wanted.min(bytes.len()));
        *bytes = rest;
        if is_inside {
            self.missing -= piece.len();
            return Ok(Piece::Part(piece));
        }
        self.prefix[self.begun..self.begun + piece.len()].copy_from_slice(piece);
        self.begun += piece.len();
        if self.begun < PREFIX_BYTES {
            return Ok(Piece::Prefix);
        }
        let [_, length @ ..] = self.prefix;
        let (length, max_bytes) = (u32::from_be_bytes(length) as usize, self.max_bytes);
        if length > max_bytes {
            let message = format!("message too large; expected at most {max_bytes} bytes, got {length}");
            return Err(Status::resource_exhausted(message));
        }
        (self.begun, self.missing) = (0, length);
        Ok(Piece::Start(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the messages in pieces of a body, and whether it ends between two.
    fn lengths(pieces: &[&[u8]]) -> (Vec<usize>, bool) {
        let mut framing = Framing::new(1000);
        let mut lengths = Vec::new();
        for mut piece in pieces.iter().copied() {
            while !piece.is_empty() {
                if let Piece::Start(length) = framing.take(&mut piece).unwrap() {
                    lengths.push(length);
                }
            }
        }
        (lengths, framing.is_between())
    }

    #[test]
    fn messages_are_followed_however_they_are_cut() {
        let body = [0, 0, 0, 0, 2, 9, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 7];
        assert_eq!(lengths(&[&body]), (vec![2, 0, 1], true));
        for cut in 0..body.len() {
            let (before, after) = body.split_at(cut);
            assert_eq!(lengths(&[before, after]), (vec![2, 0, 1], true), "cut at {cut}");
            assert_eq!(lengths(&[before]).1, [0, 7, 12].contains(&cut), "ends at {cut}");
        }
    }

    #[test]
    fn long_messages_are_refused_by_their_prefix() {
        let mut framing = Framing::new(1000);
        let error = framing.take(&mut &[0, 0, 0, 3, 233][..]).unwrap_err();
        assert_eq!(error.code(), tonic::Code::ResourceExhausted);
        assert_eq!(
            Framing::new(1000).take(&mut &[0, 0, 0, 3, 232][..]).unwrap(),
            Piece::Start(1000)
        );
    }
}
