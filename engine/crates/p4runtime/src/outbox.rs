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

/// What each outbox may hold without being charged for it, so that clients that do not read cannot silence others.
pub(crate) const FREE_BYTES: usize = 256 * 1024;

/// Bytes that all outboxes of a server may hold together, besides what each may hold free.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Budget {
    pub fn new(bytes: usize) -> Budget {
        Budget(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }
}

/// What is held for an outbox until its client has everything.
pub(crate) type Place = Box<dyn Send>;

/// What a message may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// Places for messages that it leaves to others.
    pub reserve: usize,
    /// Bytes up to which the outbox is not charged for it.
    pub free_bytes: usize,
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
    /// Bytes of memory that are not charged.
    free_bytes: usize,
    /// Held until the client has taken everything.
    place: Option<Place>,
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
    charge: Charge,
}

/// How the memory of a message is accounted for.
enum Charge {
    /// Of what the outbox may hold free.
    Free(usize),
    Permit {
        #[expect(dead_code, reason = "it gives back when it is dropped")]
        permit: OwnedSemaphorePermit,
    },
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
            free_bytes: 0,
            place: None,
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
    /// Queues a message if there is room for what it may take. Never blocks.
    pub fn try_send(&self, message: T, claim: Claim) -> Result<(), Refused> {
        let shared = &*self.0;
        let bytes = message.encoded_len();
        let mut state = shared.state();
        if state.is_over() {
            return Err(Refused::Ended);
        }
        let Bounds { messages, bytes: most } = shared.bounds;
        // One message has always a place, however long it is.
        let has_room =
            state.queue.len() + claim.reserve < messages && (state.queue.is_empty() || state.bytes + bytes <= most);
        if !has_room {
            return Err(Refused::Full);
        }
        let cost = cost::<T>(bytes);
        let charge = match state.take_free(cost, claim.free_bytes) {
            Some(free) => free,
            None => {
                let permit = shared.budget.0.clone().try_acquire_many_owned(permits(cost));
                let permit = permit.map_err(|_| Refused::Full)?;
                Charge::Permit { permit }
            }
        };
        state.push(message, bytes, charge);
        Ok(())
    }

    /// Queues a message when there is room. A client that takes nothing for `patience` is ended.
    pub async fn send(&self, message: T, patience: Duration) -> Result<(), Refused> {
        let shared = &*self.0;
        let bytes = message.encoded_len();
        let cost = cost::<T>(bytes);
        let mut permit = None;
        loop {
            let taken = shared.taken.notified();
            let has_room = {
                let mut state = shared.state();
                if state.is_over() {
                    return Err(Refused::Ended);
                }
                let has_room = state.queue.len() < shared.bounds.messages
                    && (state.queue.is_empty() || state.bytes + bytes <= shared.bounds.bytes);
                if has_room {
                    let charge = match permit.take() {
                        Some(permit) => Some(Charge::Permit { permit }),
                        None => state.take_free(cost, FREE_BYTES),
                    };
                    if let Some(charge) = charge {
                        state.push(message, bytes, charge);
                        return Ok(());
                    }
                }
                has_room
            };
            let budget = shared.budget.0.clone();
            let waited = async {
                tokio::select! {
                    acquired = budget.acquire_many_owned(permits(cost)), if has_room => acquired.ok(),
                    () = taken => None,
                }
            };
            match tokio::time::timeout(patience, waited).await {
                Ok(acquired) => permit = acquired,
                Err(_) => {
                    self.cut(if has_room {
                        Status::resource_exhausted("too much unread data of all clients; retry later")
                    } else {
                        too_slow(patience)
                    });
                    return Err(Refused::Ended);
                }
            }
        }
    }

    /// Nothing follows what is queued but the status, if there is one.
    pub fn finish(&self, status: Option<Status>) {
        self.0.state().finish(status);
    }

    /// Finishes it, and returns when the client has taken everything or is gone. A client that takes nothing for `patience`
    /// is ended. The place is free then.
    pub async fn close(&self, status: Option<Status>, place: Option<Place>, patience: Duration) {
        {
            let mut state = self.0.state();
            let has_unread = !state.queue.is_empty();
            // Free before the client can see the end.
            state.place = place.filter(|_| has_unread);
            state.finish(status);
        }
        loop {
            let taken = self.0.taken.notified();
            if self.0.state().queue.is_empty() {
                return;
            }
            if tokio::time::timeout(patience, taken).await.is_err() {
                self.cut(too_slow(patience));
                return;
            }
        }
    }

    /// Ends it at once, and drops what is queued.
    pub fn cut(&self, status: Status) {
        let mut state = self.0.state();
        // A status that it has already stays; but an answer that is not whole does not end as if it were.
        let is_whole = matches!(state.end, Some(None)) && state.queue.is_empty();
        if !is_whole && !matches!(state.end, Some(Some(_))) {
            state.end = Some(Some(status));
        }
        state.drop_queue();
        state.wake();
    }

    /// Whether nothing is queued any more, because it has ended or the client is gone.
    pub fn is_over(&self) -> bool {
        self.0.state().is_over()
    }

    /// Returns when the client has left something unread for `patience` and taken nothing, and has been ended for it; or
    /// when it has ended otherwise.
    pub async fn watch(&self, patience: Duration) {
        let mut before = None;
        loop {
            tokio::time::sleep(patience).await;
            let (now, has_unread, has_ended) = {
                let state = self.0.state();
                (state.count, !state.queue.is_empty(), state.is_over())
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
        "client not reading: no data read for {} s",
        patience.as_secs_f64()
    ))
}

/// Memory that a message takes, as near as its encoded length tells.
fn cost<T>(bytes: usize) -> usize {
    bytes + size_of::<Queued<T>>()
}

fn permits(cost: usize) -> u32 {
    u32::try_from(cost).unwrap_or(u32::MAX)
}

impl<T> State<T> {
    fn is_over(&self) -> bool {
        self.end.is_some() || self.is_gone
    }

    /// Takes from what the outbox may hold free, if that is not more than `most` then.
    fn take_free(&mut self, cost: usize, most: usize) -> Option<Charge> {
        (self.free_bytes + cost <= most).then(|| {
            self.free_bytes += cost;
            Charge::Free(cost)
        })
    }

    fn push(&mut self, message: T, bytes: usize, charge: Charge) {
        self.bytes += bytes;
        self.queue.push_back(Queued { message, bytes, charge });
        self.wake();
    }

    fn finish(&mut self, status: Option<Status>) {
        if self.end.is_none() {
            self.end = Some(status);
            self.wake();
        }
    }

    fn drop_queue(&mut self) {
        self.queue = VecDeque::new();
        (self.bytes, self.free_bytes) = (0, 0);
        self.place = None;
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
        if let Some(Queued { message, bytes, charge }) = state.queue.pop_front() {
            state.bytes -= bytes;
            if let Charge::Free(cost) = charge {
                state.free_bytes -= cost;
            }
            state.count += 1;
            if state.end.is_some() && state.queue.is_empty() {
                state.place = None;
            }
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

    /// Charged for everything.
    const ANY: Claim = Claim {
        reserve: 0,
        free_bytes: 0,
    };
    /// What `message(1)` costs.
    const COST: usize = size_of::<Queued<String>>() + 3;

    const BUDGET: usize = 10 * COST;

    /// Encoded in `bytes` + 2 bytes, for less than 128.
    fn message(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    fn bounded(messages: usize, bytes: usize) -> (Outbox<String>, Inbox<String>, Budget) {
        let budget = Budget::new(BUDGET);
        let (outbox, inbox) = outbox(Bounds { messages, bytes }, &budget);
        (outbox, inbox, budget)
    }

    #[tokio::test]
    async fn what_is_queued_comes_in_order_and_then_the_status() {
        let (outbox, mut inbox, _) = bounded(8, 1000);
        outbox.try_send(message(1), ANY).unwrap();
        outbox.try_send(message(2), ANY).unwrap();
        outbox.finish(Some(Status::aborted("over")));
        assert_eq!(outbox.try_send(message(3), ANY), Err(Refused::Ended));
        assert_eq!(inbox.next().await.unwrap().unwrap(), message(1));
        assert_eq!(inbox.next().await.unwrap().unwrap(), message(2));
        assert_eq!(inbox.next().await.unwrap().unwrap_err().code(), Code::Aborted);
        assert!(inbox.next().await.is_none());
    }

    #[tokio::test]
    async fn messages_bytes_and_the_servers_bytes_are_bounded() {
        let (outbox, mut inbox, _) = bounded(2, 1000);
        outbox.try_send(message(1), ANY).unwrap();
        assert_eq!(
            outbox.try_send(message(1), Claim { reserve: 1, ..ANY }),
            Err(Refused::Full),
            "one place is reserved"
        );
        outbox.try_send(message(1), ANY).unwrap();
        assert_eq!(outbox.try_send(message(1), ANY), Err(Refused::Full));
        inbox.next().await.unwrap().unwrap();
        outbox.try_send(message(1), ANY).unwrap();

        let (outbox, _inbox, _) = bounded(8, 100);
        outbox.try_send(message(120), ANY).unwrap();
        assert_eq!(outbox.try_send(message(1), ANY), Err(Refused::Full));

        let budget = Budget::new(2 * COST);
        let bounds = Bounds {
            messages: 8,
            bytes: 1000,
        };
        let (first, _first_inbox) = super::outbox::<String>(bounds, &budget);
        first.try_send(message(1), ANY).unwrap();
        let (second, second_inbox) = super::outbox::<String>(bounds, &budget);
        second.try_send(message(1), ANY).unwrap();
        assert_eq!(first.try_send(message(1), ANY), Err(Refused::Full));
        drop(second_inbox);
        first.try_send(message(1), ANY).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_ended_and_costs_nothing_then() {
        let (outbox, mut inbox, budget) = bounded(1, 1000);
        outbox.try_send(message(1), ANY).unwrap();
        assert_eq!(budget.0.available_permits(), BUDGET - COST);
        assert!(!outbox.is_over());
        assert_eq!(outbox.send(message(2), PATIENCE).await, Err(Refused::Ended));
        assert!(outbox.is_over());
        assert_eq!(budget.0.available_permits(), BUDGET);
        let status = inbox.next().await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);

        let (outbox, mut inbox, _) = bounded(1, 1000);
        outbox.try_send(message(1), ANY).unwrap();
        outbox.watch(PATIENCE).await;
        assert_eq!(inbox.next().await.unwrap().unwrap_err().code(), Code::ResourceExhausted);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_unread_after_the_end_is_dropped() {
        let places = Arc::new(Semaphore::new(1));
        let place = || Some(Box::new(places.clone().try_acquire_owned().unwrap()) as Place);
        for (status, code) in [
            (None, Code::ResourceExhausted),
            (Some(Status::aborted("over")), Code::Aborted),
        ] {
            let (outbox, mut inbox, budget) = bounded(8, 1000);
            outbox.try_send(message(1), ANY).unwrap();
            outbox.try_send(message(1), ANY).unwrap();
            let closing = outbox.clone();
            let place = place();
            let closed = tokio::spawn(async move { closing.close(status, place, PATIENCE).await });
            tokio::time::sleep(PATIENCE / 2).await;
            inbox.next().await.unwrap().unwrap();
            tokio::time::sleep(PATIENCE * 3 / 4).await;
            assert_eq!(places.available_permits(), 0, "it may still read on");
            closed.await.unwrap();
            assert_eq!((places.available_permits(), budget.0.available_permits()), (1, BUDGET));
            assert_eq!(inbox.next().await.unwrap().unwrap_err().code(), code);
            assert!(inbox.next().await.is_none());
        }
        let (outbox, mut inbox, _) = bounded(8, 1000);
        outbox.try_send(message(1), ANY).unwrap();
        let place = place();
        let closed = tokio::spawn(async move { outbox.close(None, place, PATIENCE).await });
        tokio::time::sleep(PATIENCE / 2).await;
        inbox.next().await.unwrap().unwrap();
        assert_eq!(places.available_permits(), 1, "it has everything");
        closed.await.unwrap();
        assert!(inbox.next().await.is_none());
    }

    #[tokio::test]
    async fn what_others_leave_unread_silences_nobody() {
        const FREE: Claim = Claim {
            free_bytes: 2 * COST,
            ..ANY
        };
        let budget = Budget::new(COST);
        let bounds = Bounds {
            messages: 8,
            bytes: 1000,
        };
        let (stranger, _unread) = super::outbox::<String>(bounds, &budget);
        stranger.try_send(message(1), ANY).unwrap();
        assert_eq!(stranger.try_send(message(1), ANY), Err(Refused::Full));
        let (outbox, mut inbox) = super::outbox::<String>(bounds, &budget);
        for _ in 0..3 {
            outbox.try_send(message(1), FREE).unwrap();
            outbox.try_send(message(1), FREE).unwrap();
            assert_eq!(outbox.try_send(message(1), FREE), Err(Refused::Full));
            inbox.next().await.unwrap().unwrap();
            inbox.next().await.unwrap().unwrap();
        }
        outbox.send(message(1), PATIENCE).await.unwrap();
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
