// SPDX-License-Identifier: Apache-2.0
//! Messages on their way to one client, bounded in number and bytes. A client that does not read them is ended with a status,
//! and what waited for it is dropped.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use prost::Message;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tonic::Status;

/// Unit in which bytes of all outboxes together are counted.
const UNIT_BYTES: usize = 1024;

/// Bytes that all outboxes of a server may hold together.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Budget {
    pub fn new(bytes: usize) -> Budget {
        Budget(Arc::new(Semaphore::new(
            (bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS),
        )))
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

/// What one outbox may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub messages: usize,
    pub bytes: usize,
}

/// The server's end.
pub(crate) struct Outbox<T>(Arc<Shared<T>>);

/// The client's end: what tonic sends.
pub(crate) struct Inbox<T>(Arc<Shared<T>>);

struct Shared<T> {
    state: Mutex<State<T>>,
    bounds: Bounds,
    budget: Budget,
    /// The client has taken something, or is gone.
    taken: Notify,
}

struct State<T> {
    queue: VecDeque<Queued<T>>,
    bytes: usize,
    /// Messages that the client has taken.
    count: u64,
    /// Nothing is queued any more; after the queue comes the status, if there is one.
    end: Option<Option<Status>>,
    is_gone: bool,
    waker: Option<Waker>,
}

struct Queued<T> {
    message: T,
    bytes: usize,
    _permit: OwnedSemaphorePermit,
}

/// Why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It has ended, or the client is gone.
    Ended,
    /// The client has too much unread.
    Full,
}

/// An outbox with its two ends.
pub(crate) fn outbox<T: Message>(bounds: Bounds, budget: &Budget) -> (Outbox<T>, Inbox<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            queue: VecDeque::new(),
            bytes: 0,
            count: 0,
            end: None,
            is_gone: false,
            waker: None,
        }),
        bounds,
        budget: budget.clone(),
        taken: Notify::new(),
    });
    (Outbox(shared.clone()), Inbox(shared))
}

impl<T> Clone for Outbox<T> {
    fn clone(&self) -> Self {
        Outbox(self.0.clone())
    }
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Message> Outbox<T> {
    /// Queues a message unless less than `reserve` of the messages, and of the bytes, would be left for others. Never
    /// blocks.
    pub fn try_send(&self, message: T, reserve: usize) -> Result<(), Refused> {
        let shared = &*self.0;
        let bytes = message.encoded_len();
        let mut state = shared.state();
        if state.end.is_some() || state.is_gone {
            return Err(Refused::Ended);
        }
        let Bounds { messages, bytes: most } = shared.bounds;
        // One message has always a place, however long it is.
        let has_room =
            state.queue.len() + reserve < messages && (state.queue.is_empty() || state.bytes + bytes <= most);
        let permit = shared.budget.0.clone().try_acquire_many_owned(units(bytes));
        let (true, Ok(permit)) = (has_room, permit) else {
            return Err(Refused::Full);
        };
        state.push(message, bytes, permit);
        Ok(())
    }

    /// Queues a message when there is room. A client that takes nothing for `patience` is ended.
    pub async fn send(&self, message: T, patience: Duration) -> Result<(), Refused> {
        let shared = &*self.0;
        let bytes = message.encoded_len();
        let permit = shared.budget.0.clone().acquire_many_owned(units(bytes));
        let Ok(Ok(permit)) = tokio::time::timeout(patience, permit).await else {
            self.cut(Status::resource_exhausted("clients have too much unread; read later"));
            return Err(Refused::Ended);
        };
        loop {
            let taken = shared.taken.notified();
            {
                let mut state = shared.state();
                if state.end.is_some() || state.is_gone {
                    return Err(Refused::Ended);
                }
                if state.queue.len() < shared.bounds.messages
                    && (state.queue.is_empty() || state.bytes + bytes <= shared.bounds.bytes)
                {
                    state.push(message, bytes, permit);
                    return Ok(());
                }
            }
            if tokio::time::timeout(patience, taken).await.is_err() {
                self.cut(too_slow(patience));
                return Err(Refused::Ended);
            }
        }
    }

    /// Nothing follows what is queued but the status, if there is one.
    pub fn finish(&self, status: Option<Status>) {
        let mut state = self.0.state();
        if state.end.is_none() {
            state.end = Some(status);
            state.wake();
        }
    }

    /// Ends it at once, and drops what is queued.
    pub fn cut(&self, status: Status) {
        let mut state = self.0.state();
        if state.end.is_none() {
            state.end = Some(Some(status));
            state.drop_queue();
            state.wake();
        }
    }

    /// Returns when the client has left something unread for `patience` and taken nothing, and has been ended for it; or
    /// when it has ended otherwise.
    pub async fn watch(&self, patience: Duration) {
        let mut before = None;
        loop {
            tokio::time::sleep(patience).await;
            let (now, has_unread, has_ended) = {
                let state = self.0.state();
                let has_ended = state.end.is_some() || state.is_gone;
                (state.count, !state.queue.is_empty(), has_ended)
            };
            if has_ended {
                return;
            }
            if before == Some(now) {
                self.cut(too_slow(patience));
                return;
            }
            before = has_unread.then_some(now);
        }
    }
}

fn too_slow(patience: Duration) -> Status {
    Status::resource_exhausted(format!(
        "the client has read nothing for {} s although something was sent to it",
        patience.as_secs_f64()
    ))
}

impl<T> State<T> {
    fn push(&mut self, message: T, bytes: usize, permit: OwnedSemaphorePermit) {
        self.bytes += bytes;
        self.queue.push_back(Queued {
            message,
            bytes,
            _permit: permit,
        });
        self.wake();
    }

    fn drop_queue(&mut self) {
        self.queue = VecDeque::new();
        self.bytes = 0;
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl<T> Stream for Inbox<T> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.0.state();
        if let Some(Queued { message, bytes, .. }) = state.queue.pop_front() {
            state.bytes -= bytes;
            state.count += 1;
            drop(state);
            self.0.taken.notify_waiters();
            return Poll::Ready(Some(Ok(message)));
        }
        match &mut state.end {
            Some(status) => Poll::Ready(status.take().map(Err)),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_gone = true;
        state.drop_queue();
        drop(state);
        self.0.taken.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt;
    use tonic::Code;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Encoded in `bytes` + 2 bytes, for less than 128.
    fn message(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    fn bounded(messages: usize, bytes: usize) -> (Outbox<String>, Inbox<String>, Budget) {
        let budget = Budget::new(2 * UNIT_BYTES);
        let (outbox, inbox) = outbox(Bounds { messages, bytes }, &budget);
        (outbox, inbox, budget)
    }

    #[tokio::test]
    async fn what_is_queued_comes_in_order_and_then_the_status() {
        let (outbox, mut inbox, _) = bounded(8, 1000);
        outbox.try_send(message(1), 0).unwrap();
        outbox.try_send(message(2), 0).unwrap();
        outbox.finish(Some(Status::aborted("over")));
        assert_eq!(outbox.try_send(message(3), 0), Err(Refused::Ended));
        assert_eq!(inbox.next().await.unwrap().unwrap(), message(1));
        assert_eq!(inbox.next().await.unwrap().unwrap(), message(2));
        assert_eq!(inbox.next().await.unwrap().unwrap_err().code(), Code::Aborted);
        assert!(inbox.next().await.is_none());
    }

    #[tokio::test]
    async fn messages_bytes_and_the_servers_bytes_are_bounded() {
        let (outbox, mut inbox, _) = bounded(2, 1000);
        outbox.try_send(message(1), 0).unwrap();
        assert_eq!(
            outbox.try_send(message(1), 1),
            Err(Refused::Full),
            "one place is reserved"
        );
        outbox.try_send(message(1), 0).unwrap();
        assert_eq!(outbox.try_send(message(1), 0), Err(Refused::Full));
        inbox.next().await.unwrap().unwrap();
        outbox.try_send(message(1), 0).unwrap();

        let (outbox, _inbox, _) = bounded(8, 100);
        outbox.try_send(message(120), 0).unwrap();
        assert_eq!(outbox.try_send(message(1), 0), Err(Refused::Full));

        let (first, _first_inbox, budget) = bounded(8, 1000);
        first.try_send(message(1), 0).unwrap();
        let bounds = Bounds {
            messages: 8,
            bytes: 1000,
        };
        let (second, second_inbox) = super::outbox::<String>(bounds, &budget);
        second.try_send(message(1), 0).unwrap();
        assert_eq!(first.try_send(message(1), 0), Err(Refused::Full));
        drop(second_inbox);
        first.try_send(message(1), 0).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_ended_and_costs_nothing_then() {
        let (outbox, mut inbox, budget) = bounded(1, 1000);
        outbox.send(message(1), PATIENCE).await.unwrap();
        assert_eq!(outbox.send(message(2), PATIENCE).await, Err(Refused::Ended));
        assert_eq!(budget.0.available_permits(), 2);
        let status = inbox.next().await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);

        let (outbox, mut inbox, _) = bounded(1, 1000);
        outbox.try_send(message(1), 0).unwrap();
        outbox.watch(PATIENCE).await;
        assert_eq!(inbox.next().await.unwrap().unwrap_err().code(), Code::ResourceExhausted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_now_and_then_is_not() {
        let (outbox, mut inbox, _) = bounded(2, 1000);
        let watching = outbox.clone();
        let watch = tokio::spawn(async move { watching.watch(PATIENCE).await });
        for _ in 0..8 {
            outbox.send(message(1), PATIENCE).await.unwrap();
            outbox.send(message(1), PATIENCE).await.unwrap();
            tokio::time::sleep(PATIENCE / 2).await;
            inbox.next().await.unwrap().unwrap();
            tokio::time::sleep(PATIENCE / 3).await;
            inbox.next().await.unwrap().unwrap();
        }
        assert!(!watch.is_finished());
        drop(inbox);
        watch.await.unwrap();
    }
}
