// SPDX-License-Identifier: Apache-2.0
//! Connections as they come in: not more than there are places for, and none that stays without ever calling.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TlsConnectInfo};

use crate::limits::ServerLimits;

/// Pause after the system could not give a connection: without it, a server at the limit of its file descriptors would ask
/// again and again.
const PAUSE: Duration = Duration::from_millis(100);

/// Time for the handshake of TLS, at most.
const HANDSHAKE: Duration = Duration::from_secs(5);

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
    places: Arc<Places>,
    /// Time until the first call.
    patience: Duration,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<L> Incoming<L> {
    /// What comes on `listener`.
    pub fn new(listener: L, limits: &ServerLimits) -> Incoming<L> {
        Incoming {
            listener,
            places: Arc::new(Places {
                most: limits.connections,
                taken: Mutex::default(),
            }),
            patience: limits.patience,
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
                    let caller = Caller::default();
                    // One too many is closed.
                    let Some(place) = Places::take(&incoming.places, &caller) else {
                        continue;
                    };
                    // Without it, answers are later, not wrong.
                    let _ = stream.set_nodelay(true);
                    let start = Instant::now();
                    return Poll::Ready(Some(Ok(Connection {
                        stream,
                        caller,
                        start,
                        patience: incoming.patience,
                        deadline: Some(Box::pin(tokio::time::sleep(incoming.patience.min(HANDSHAKE)))),
                        is_hurried: true,
                        _place: place,
                    })));
                }
                Err(_) => incoming.pause = Some(Box::pin(tokio::time::sleep(PAUSE))),
            }
        }
    }
}

/// The places for connections. When all are taken, a new one gets the oldest of those that have come least far.
#[derive(Debug)]
struct Places {
    most: usize,
    /// By their numbers, which are of the order in which they came.
    taken: Mutex<BTreeMap<u64, Caller>>,
}

impl Places {
    fn taken(&self) -> MutexGuard<'_, BTreeMap<u64, Caller>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for another connection; `None`: all are of primaries.
    fn take(self: &Arc<Self>, caller: &Caller) -> Option<Place> {
        let mut taken = self.taken();
        while taken.len() >= self.most {
            let (standing, id) = taken.values().map(|other| (other.standing(), other.id())).min()?;
            if standing == Standing::Primary {
                return None;
            }
            if let Some(other) = taken.remove(&id) {
                other.close();
            }
        }
        taken.insert(caller.id(), caller.clone());
        drop(taken);
        Some(Place {
            places: self.clone(),
            id: caller.id(),
        })
    }
}

/// One of the [`Places`].
struct Place {
    places: Arc<Places>,
    id: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().remove(&self.id);
    }
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// TLS is not agreed on.
    Handshake,
    /// No call has come.
    Silent,
    Caller,
    /// One of its streams is the primary of a role.
    Primary,
}

/// What all calls of a connection share.
#[derive(Debug, Clone)]
pub(crate) struct Caller(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    id: u64,
    is_connected: AtomicBool,
    has_called: AtomicBool,
    /// How many of its streams are primaries.
    primaries: AtomicUsize,
    is_closed: AtomicBool,
    /// Who waits for something on the connection.
    waker: Mutex<Option<Waker>>,
}

impl Default for Caller {
    fn default() -> Caller {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Caller(Arc::new(Shared {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            is_connected: AtomicBool::default(),
            has_called: AtomicBool::default(),
            primaries: AtomicUsize::default(),
            is_closed: AtomicBool::default(),
            waker: Mutex::default(),
        }))
    }
}

impl Caller {
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

    /// Its number: connections are numbered as they come.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// A call has come.
    pub fn note_call(&self) {
        self.0.has_called.store(true, Ordering::Relaxed);
    }

    /// One of its streams is a primary, until what this gives is dropped.
    pub fn mark_primary(&self) -> PrimaryMark {
        self.0.primaries.fetch_add(1, Ordering::Relaxed);
        PrimaryMark(self.clone())
    }

    /// Whether one of its streams is a primary.
    pub fn is_primary(&self) -> bool {
        self.0.primaries.load(Ordering::Relaxed) > 0
    }

    fn standing(&self) -> Standing {
        if self.is_primary() {
            Standing::Primary
        } else if self.0.has_called.load(Ordering::Relaxed) {
            Standing::Caller
        } else if self.0.is_connected.load(Ordering::Relaxed) {
            Standing::Silent
        } else {
            Standing::Handshake
        }
    }

    /// Others need its place.
    fn close(&self) {
        self.0.is_closed.store(true, Ordering::Release);
        let waker = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Fails if it is closed, and otherwise wakes who asks when it is.
    fn check(&self, context: &Context<'_>) -> io::Result<()> {
        let mut waker = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.is_closed.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        Ok(())
    }
}

/// A stream of a connection is a primary.
#[derive(Debug)]
pub(crate) struct PrimaryMark(Caller);

impl Drop for PrimaryMark {
    fn drop(&mut self) {
        self.0.0.primaries.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection. It fails if TLS is not agreed on, or no call has come on it, in time, or if others need its place.
pub(crate) struct Connection {
    stream: TcpStream,
    caller: Caller,
    start: Instant,
    /// Time until the first call.
    patience: Duration,
    /// Until the first call.
    deadline: Option<Pin<Box<Sleep>>>,
    /// The deadline is that of the handshake.
    is_hurried: bool,
    _place: Place,
}

impl Connection {
    /// Fails if it is to end.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.caller.check(context)?;
        let Some(deadline) = &mut self.deadline else {
            return Ok(());
        };
        let standing = self.caller.standing();
        if standing >= Standing::Caller {
            self.deadline = None;
            return Ok(());
        }
        if self.is_hurried && standing > Standing::Handshake {
            deadline.as_mut().reset(self.start + self.patience);
            self.is_hurried = false;
        }
        if deadline.as_mut().poll(context).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl Connected for Connection {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        // Asked for when the handshake is over.
        self.caller.0.is_connected.store(true, Ordering::Relaxed);
        self.caller.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.caller.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.caller.check(context)?;
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

    fn places(most: usize) -> Arc<Places> {
        Arc::new(Places {
            most,
            taken: Mutex::default(),
        })
    }

    #[test]
    fn who_has_come_least_far_makes_room() {
        let places = places(4);
        let callers: Vec<_> = (0..4).map(|_| Caller::default()).collect();
        let _held: Vec<_> = callers
            .iter()
            .map(|caller| Places::take(&places, caller).unwrap())
            .collect();
        let [primary, called, silent, _] = &callers[..] else {
            unreachable!()
        };
        let _mark = primary.mark_primary();
        for caller in [primary, called, silent] {
            caller.0.is_connected.store(true, Ordering::Relaxed);
        }
        called.note_call();
        let mut newcomers = Vec::new();
        for left in [3, 2, 1] {
            let newcomer = Caller::default();
            newcomers.push((Places::take(&places, &newcomer).unwrap(), newcomer.mark_primary()));
            assert!(callers[left].0.is_closed.load(Ordering::Relaxed), "{left}");
            assert!(!callers[left - 1].0.is_closed.load(Ordering::Relaxed), "{left}");
        }
        assert!(Places::take(&places, &Caller::default()).is_none(), "all are primaries");
        newcomers.pop();
        assert!(Places::take(&places, &Caller::default()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_handshake_has_less_time_than_the_first_call() {
        for (is_connected, seconds) in [(false, 5), (true, 30)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let mut incoming = Incoming::new(listener, &ServerLimits::default());
            let mut connection = incoming.next().await.unwrap().unwrap();
            let start = Instant::now();
            if is_connected {
                connection.connect_info();
            }
            let error = tokio::io::AsyncReadExt::read_u8(&mut connection).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(start.elapsed().as_secs(), seconds);
        }
    }
}
