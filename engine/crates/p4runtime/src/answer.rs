// SPDX-License-Identifier: Apache-2.0
//! An answer that many may ask for at once and take slowly: it is in memory once, whatever their number.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use http_body::{Body as HttpBody, Frame};
use prost::Message;
use slotwise_p4::{Held, Memory, OutOfMemory};
use tonic::Status;
use tonic::body::Body;

/// What gRPC puts in front of a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// An answer as it is sent. It goes from the service to the guard as an extension of a response, whose message it replaces.
#[derive(Clone)]
pub(crate) struct Answer(pub Arc<Encoded>);

/// The bytes of an answer, which count as memory until the last client has them.
pub(crate) struct Encoded {
    bytes: Vec<u8>,
    _held: Held,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl Answer {
    /// Encodes a message, if there is memory for it.
    pub fn encode(message: &impl Message, memory: &Memory) -> Result<Answer, OutOfMemory> {
        let length = message.encoded_len();
        let held = memory.hold((PREFIX_BYTES + length) as u64)?;
        let mut bytes = Vec::with_capacity(PREFIX_BYTES + length);
        bytes.push(0);
        // Messages of gRPC are shorter than 4 GiB; what a client may send is shorter than that.
        bytes.extend_from_slice(&(length as u32).to_be_bytes());
        message.encode_raw(&mut bytes);
        Ok(Answer(Arc::new(Encoded { bytes, _held: held })))
    }

    /// The body of a response with this answer.
    pub fn into_body(self) -> Body {
        Body::new(AnswerBody::Message(Bytes::from_owner(self)))
    }
}

/// What is still to be sent.
enum AnswerBody {
    Message(Bytes),
    Trailers,
    Nothing,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let (frame, rest) = match std::mem::replace(&mut *self, AnswerBody::Nothing) {
            AnswerBody::Message(bytes) => (Frame::data(bytes), AnswerBody::Trailers),
            AnswerBody::Trailers => {
                let trailers = [(Status::GRPC_STATUS, HeaderValue::from_static("0"))];
                (Frame::trailers(HeaderMap::from_iter(trailers)), AnswerBody::Nothing)
            }
            AnswerBody::Nothing => return Poll::Ready(None),
        };
        *self = rest;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, AnswerBody::Nothing)
    }
}
