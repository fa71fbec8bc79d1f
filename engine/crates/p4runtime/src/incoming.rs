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

/// Pause after the system could not give a connection: without it, a server at the limit of its file descriptors would ask
/// again and again.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections that clients open.
pub(crate) struct Incoming {
    listener: TcpListener,
    places: Arc<Semaphore>,
    /// Time until the first call.
    patience: Duration,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Incoming {
    /// At most `connections` at once.
    pub fn new(listener: TcpListener, connections: usize, patience: Duration) -> Incoming {
        Incoming {
            listener,
            places: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            patience,
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
                        has_called: HasCalled::default(),
                        deadline: Some(Box::pin(tokio::time::sleep(incoming.patience))),
                        _place: place,
                    })));
                }
                Err(_) => incoming.pause = Some(Box::pin(tokio::time::sleep(PAUSE))),
            }
        }
    }
}

/// Whether a call has come on a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct HasCalled(Arc<AtomicBool>);

impl HasCalled {
    /// A call with these extensions has come.
    pub fn note(extensions: &http::Extensions) {
        let plain = extensions.get::<HasCalled>();
        let tls = || {
            extensions
                .get::<TlsConnectInfo<HasCalled>>()
                .map(TlsConnectInfo::get_ref)
        };
        if let Some(HasCalled(flag)) = plain.or_else(tls) {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// A connection. It fails if no call has come on it in time.
pub(crate) struct Connection {
    stream: TcpStream,
    has_called: HasCalled,
    /// Until the first call.
    deadline: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = HasCalled;

    fn connect_info(&self) -> HasCalled {
        self.has_called.clone()
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
            if connection.has_called.0.load(Ordering::Relaxed) {
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
