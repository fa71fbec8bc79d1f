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

/// The connections that clients open.
pub(crate) struct Incoming {
    listener: TcpListener,
    places: Arc<Semaphore>,
    /// Time until the first call.
    patience: Duration,
    /// Bytes of messages that one connection may be sending.
    share_bytes: usize,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Incoming {
    /// What comes on `listener`.
    pub fn new(listener: TcpListener, limits: &ServerLimits) -> Incoming {
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

impl Stream for Incoming {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let incoming = &mut *self;
        loop {
            if let Some(pause) = &mut incoming.pause {
                ready!(pause.as_mut().poll(context));
                incoming.pause = None;
            }
            match ready!(incoming.listener.poll_accept(context)) {
                Ok((stream, _)) => {
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
