// SPDX-License-Identifier: Apache-2.0
//! Connections as they come in: not more than there are places for, and none that stays without ever calling.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TlsConnectInfo};

use crate::limits::ServerLimits;

/// Pause after the system could not give a connection: without it, a server at the limit of its file descriptors would ask
/// again and again.
const PAUSE: Duration = Duration::from_millis(100);

/// Where connections come from.
pub(crate) trait Listener: Unpin {
    /// As [`TcpListener::poll_accept`].
    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<io::Result<TcpStream>>;
}

impl Listener for TcpListener {
    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        TcpListener::poll_accept(self, context).map_ok(|(stream, _)| stream)
    }
}

/// The connections that clients open.
pub(crate) struct Incoming<L = TcpListener> {
    listener: L,
    places: Arc<Semaphore>,
    /// Time until the first call.
    patience: Duration,
    /// Bytes of messages that one connection may be sending.
    share_bytes: usize,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<L> Incoming<L> {
    /// What comes on `listener`.
    pub fn new(listener: L, limits: &ServerLimits) -> Incoming<L> {
        Incoming {
            listener,
            places: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            patience: limits.patience,
            // A quarter, but a whole message.
            share_bytes: (limits.receiving_bytes / 4)
                .max(limits.message_bytes)
                .min(Semaphore::MAX_PERMITS),
            pause: None,
        }
    }
}

impl<L: Listener> Stream for Incoming<L> {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let incoming = &mut *self;
        loop {
            if let Some(pause) = &mut incoming.pause {
                ready!(pause.as_mut().poll(context));
                incoming.pause = None;
            }
            match ready!(incoming.listener.poll_accept(context)) {
                Ok(stream) => {
                    // One too many is closed.
                    let Ok(place) = incoming.places.clone().try_acquire_owned() else {
                        continue;
                    };
                    // Without it, answers are later, not wrong.
                    let _ = stream.set_nodelay(true);
                    return Poll::Ready(Some(Ok(Connection {
                        stream,
                        caller: Caller::new(incoming.share_bytes),
                        deadline: Some(Box::pin(tokio::time::sleep(incoming.patience))),
                        _place: place,
                    })));
                }
                Err(_) => incoming.pause = Some(Box::pin(tokio::time::sleep(PAUSE))),
            }
        }
    }
}

/// What all calls of a connection share.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    has_called: Arc<AtomicBool>,
    /// Bytes of messages being received from it.
    pub receiving: Arc<Semaphore>,
}

impl Caller {
    fn new(share_bytes: usize) -> Caller {
        Caller {
            has_called: Arc::default(),
            receiving: Arc::new(Semaphore::new(share_bytes)),
        }
    }

    /// Who makes a call with these extensions.
    ///
    /// # Panics
    ///
    /// If it has not come on a [`Connection`].
    pub fn of(extensions: &http::Extensions) -> Caller {
        let plain = extensions.get::<Caller>();
        let tls = || extensions.get::<TlsConnectInfo<Caller>>().map(TlsConnectInfo::get_ref);
        plain.or_else(tls).expect("calls come on connections").clone()
    }

    /// A call has come.
    pub fn note_call(&self) {
        self.has_called.store(true, Ordering::Relaxed);
    }
}

/// A connection. It fails if no call has come on it in time.
pub(crate) struct Connection {
    stream: TcpStream,
    caller: Caller,
    /// Until the first call.
    deadline: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let connection = &mut *self;
        if let Some(deadline) = &mut connection.deadline {
            if connection.caller.has_called.load(Ordering::Relaxed) {
                connection.deadline = None;
            } else if deadline.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        Pin::new(&mut connection.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use tokio_stream::StreamExt;

    use super::*;

    /// A process at the limit of its file descriptors, which gets one more after some attempts.
    struct AtLimit {
        attempts: usize,
        refusals: usize,
        one_more: Option<TcpStream>,
    }

    impl Listener for AtLimit {
        fn poll_accept(&mut self, _: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
            const EMFILE: i32 = 24;
            self.attempts += 1;
            if self.attempts <= self.refusals {
                return Poll::Ready(Err(io::Error::from_raw_os_error(EMFILE)));
            }
            self.one_more
                .take()
                .map_or(Poll::Pending, |stream| Poll::Ready(Ok(stream)))
        }
    }

    #[tokio::test]
    async fn at_the_limit_of_descriptors_it_asks_now_and_then() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        // From now on only the test's own clock goes on, and only when all wait.
        tokio::time::pause();
        let at_limit = AtLimit {
            attempts: 0,
            refusals: 5,
            one_more: Some(stream),
        };
        let mut incoming = Incoming::new(at_limit, &ServerLimits::default());
        let start = Instant::now();
        incoming.next().await.unwrap().unwrap();
        assert_eq!(incoming.listener.attempts, 6);
        let waited = start.elapsed();
        assert!(waited >= 5 * PAUSE && waited < 6 * PAUSE, "{waited:?}");
    }
}
