// SPDX-License-Identifier: Apache-2.0
//! Digests of one device on their way from the owner's thread to its roles. Each role has lists of its own, so what a digest costs
//! grows with their number: the owner's thread only puts it into a queue, and a task of the server does the rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slotwise_p4::Bits;
use slotwise_units::Instant;
use tokio::sync::Notify;

use crate::arbitration::StreamId;
use crate::digest::{Digests, List, Message};
use crate::link::{SHARED_DIGEST_BYTES, send};
use crate::p4info::P4Info;
use crate::proto::p4::v1::{DigestList, stream_message_response::Update};
use crate::service::Shared;

/// What may wait in the queue; what is above is dropped.
pub(crate) const QUEUE_BYTES: usize = 2 << 20;

/// A digest that the program sent.
#[derive(Debug)]
pub(crate) struct Learned {
    /// Of the program that sent it.
    pub info: Arc<P4Info>,
    pub digest_id: u32,
    pub message: Message,
    pub now: Instant,
}

impl Learned {
    /// `None`: no digest of the program has this name.
    pub fn new(info: &Arc<P4Info>, name: &str, fields: &[Bits], now: Instant) -> Option<Learned> {
        Some(Learned {
            info: info.clone(),
            digest_id: *info.objects.digest_ids.get(name)?,
            message: Message::new(fields),
            now,
        })
    }
}

/// A list that is to be sent now to the primary of `role`.
#[derive(Debug)]
pub(crate) struct Ready {
    pub role: Arc<RoleDigests>,
    /// That primary: who comes after it has not heard of what was told before.
    pub primary: StreamId,
    info: Arc<P4Info>,
    list: List,
}

impl Ready {
    /// Its digest and its message.
    pub fn encode(self, timestamp: i64) -> Option<(u32, Update)> {
        let Ready { info, list, .. } = self;
        let shape = info.objects.digests.get(&list.digest_id)?.shape.as_ref()?;
        let data = list
            .messages
            .iter()
            .filter_map(|fields| shape.encode(&mut fields.iter()));
        let List { digest_id, list_id, .. } = list;
        let digest = DigestList {
            digest_id,
            list_id,
            data: data.collect(),
            timestamp,
        };
        Some((digest_id, Update::Digest(digest)))
    }
}

/// The digests of a role. Not for the owner's thread, but where it configures the device.
#[derive(Debug)]
pub(crate) struct RoleDigests {
    pub name: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Of the program whose digests these are.
    pub info: Option<Arc<P4Info>>,
    /// Whose they are.
    primary: Option<StreamId>,
    pub digests: Digests,
}

impl State {
    /// Another is the primary, or nobody: it has heard of nothing.
    pub fn begin(&mut self, primary: Option<StreamId>) {
        self.primary = primary;
        self.digests.forget();
    }
}

impl RoleDigests {
    pub fn new(name: &str, info: Option<Arc<P4Info>>) -> RoleDigests {
        let digests = Digests::default();
        RoleDigests {
            name: name.to_owned(),
            state: Mutex::new(State {
                info,
                primary: None,
                digests,
            }),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All roles learn it; they may hold `shared_bytes` besides what each has for itself. Gives the lists that are full with it.
pub(crate) fn learn(roles: &[Arc<RoleDigests>], learned: &Learned, shared_bytes: usize) -> Vec<Ready> {
    let used_bytes: usize = roles.iter().map(|role| role.state().digests.shared_bytes()).sum();
    let mut free_bytes = shared_bytes.saturating_sub(used_bytes);
    let Learned {
        info,
        digest_id,
        message,
        now,
    } = learned;
    let ready = |role: &Arc<RoleDigests>| {
        let mut state = role.state();
        // Another program is in force by now.
        state.info.as_ref().filter(|current| Arc::ptr_eq(current, info))?;
        let primary = state.primary?;
        let list = state.digests.learn(*digest_id, message, *now, &mut free_bytes)?;
        Some(Ready {
            role: role.clone(),
            primary,
            info: info.clone(),
            list,
        })
    };
    roles.iter().filter_map(ready).collect()
}

/// Lists whose time has come.
pub(crate) fn due(roles: &[Arc<RoleDigests>], now: Instant) -> Vec<Ready> {
    let mut ready = Vec::new();
    for role in roles {
        let mut state = role.state();
        let (Some(info), Some(primary)) = (state.info.clone(), state.primary) else {
            continue;
        };
        ready.extend(state.digests.due(now).into_iter().map(|list| Ready {
            role: role.clone(),
            primary,
            info: info.clone(),
            list,
        }));
    }
    ready
}

/// When a list is due next.
pub(crate) fn deadline(roles: &[Arc<RoleDigests>]) -> Option<Instant> {
    roles.iter().filter_map(|role| role.state().digests.deadline()).min()
}

/// What happened to a device, in order.
#[derive(Debug)]
pub(crate) enum Event {
    Learned(Learned),
    Time { now: Instant },
}

/// From the owner's thread to the task that looks after the roles.
#[derive(Debug, Default)]
pub(crate) struct LearningQueue {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: Vec<Event>,
    /// Of digests in `events`, and of those that the task is at.
    bytes: usize,
    /// What the task took last is not done.
    is_busy: bool,
    /// When a list is due next, as far as the task has got.
    deadline: Option<Instant>,
}

impl LearningQueue {
    /// Work that does not depend on the number of roles. Drops the digest if too many wait.
    pub fn put(&self, learned: Learned) {
        let mut waiting = self.waiting();
        let bytes = waiting.bytes + learned.message.bytes();
        if bytes <= QUEUE_BYTES {
            waiting.bytes = bytes;
            waiting.events.push(Event::Learned(learned));
            drop(waiting);
            self.news.notify_one();
        }
    }

    /// The device's time. Gives when it wants to know it again, as far as it can tell.
    pub fn tick(&self, now: Instant) -> Option<Instant> {
        let mut waiting = self.waiting();
        let is_due = waiting.deadline.is_some_and(|deadline| deadline <= now);
        if let Some(Event::Time { now: last }) = waiting.events.last_mut() {
            *last = now;
        } else if is_due || waiting.is_busy || !waiting.events.is_empty() {
            waiting.events.push(Event::Time { now });
            self.news.notify_one();
        }
        if is_due {
            // It is on its way; what comes after it is told anew.
            waiting.deadline = None;
        }
        waiting.deadline
    }

    /// Lists may be due earlier than they were: what is configured has changed.
    pub fn look_again(&self, now: Instant) {
        self.waiting().events.push(Event::Time { now });
        self.news.notify_one();
    }

    /// Returns when something has happened; for one task.
    pub async fn next(&self) -> Vec<Event> {
        loop {
            let news = self.news.notified();
            {
                let mut waiting = self.waiting();
                if !waiting.events.is_empty() {
                    waiting.is_busy = true;
                    return std::mem::take(&mut waiting.events);
                }
            }
            news.await;
        }
    }

    /// What [`LearningQueue::next`] gave, digests of so many bytes, has been done. True if a list is due earlier than was known.
    pub fn done(&self, bytes: usize, deadline: Option<Instant>) -> bool {
        let mut waiting = self.waiting();
        waiting.bytes -= bytes;
        waiting.is_busy = false;
        let before = std::mem::replace(&mut waiting.deadline, deadline);
        deadline.is_some_and(|now| before.is_none_or(|before| now < before))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Does for the roles of a device what its digests ask for, for as long as the server runs.
    pub async fn look_after_digests(self: Arc<Shared>, device_id: u64) {
        let device = &self.devices[&device_id];
        loop {
            let events = device.learning.next().await;
            let roles = device.link().digest_roles();
            let mut bytes = 0;
            for event in events {
                let (ready, now) = match event {
                    Event::Learned(learned) => {
                        bytes += learned.message.bytes();
                        (learn(&roles, &learned, SHARED_DIGEST_BYTES), learned.now)
                    }
                    Event::Time { now } => (due(&roles, now), now),
                };
                for ready in ready {
                    let (role, primary) = (ready.role.clone(), ready.primary);
                    if let Some((digest_id, update)) = ready.encode(self.timestamp(now))
                        && let Some(receiver) = device.link().receiver(&role.name, primary, digest_id)
                    {
                        // Whoever does not read misses it.
                        send(&receiver, update);
                    }
                    tokio::task::yield_now().await;
                }
                tokio::task::yield_now().await;
            }
            if device.learning.done(bytes, deadline(&roles)) {
                self.owner.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ENTITIES_P4INFO;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn learned(bytes: usize, now_ns: u64) -> Learned {
        let config = crate::parse_p4info(ENTITIES_P4INFO, false).unwrap();
        let info = Arc::new(P4Info::new(&config, &|_| None).unwrap());
        let name = info.objects.digest_ids.keys().next().unwrap();
        Learned::new(&info, name, &[vec![0; bytes]], Instant::from_ns(now_ns)).unwrap()
    }

    /// Times of all that waits: of digests, and of ticks in brackets.
    fn take(queue: &LearningQueue) -> String {
        let mut waiting = queue.waiting();
        waiting.is_busy = true;
        let shown = waiting.events.drain(..).map(|event| match event {
            Event::Learned(learned) => learned.now.ns().to_string(),
            Event::Time { now } => format!("({})", now.ns()),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn digests_and_times_keep_their_order_and_time_alone_is_no_news() {
        let queue = LearningQueue::default();
        assert_eq!((queue.tick(at(1)), take(&queue).as_str()), (None, ""));
        assert!(!queue.done(0, None));
        queue.put(learned(1, 2));
        queue.tick(at(3));
        queue.tick(at(4));
        queue.put(learned(1, 5));
        queue.tick(at(6));
        assert_eq!(take(&queue), "2 (4) 5 (6)");
        queue.tick(at(7));
        assert_eq!(take(&queue), "(7)", "the task is not through yet");
        assert!(queue.done(0, Some(at(20))), "the sleeping thread is notified");
        assert_eq!((queue.tick(at(19)), take(&queue).as_str()), (Some(at(20)), ""));
        assert!(!queue.done(0, Some(at(20))));
        assert_eq!((queue.tick(at(20)), take(&queue).as_str()), (None, "(20)"));
        assert!(
            queue.done(0, Some(at(30))),
            "later than the one before, but that one is over"
        );
        assert!(!queue.done(0, Some(at(40))) && queue.done(0, Some(at(35))));
    }

    #[test]
    fn what_waits_and_what_the_task_is_at_are_bounded_together() {
        let queue = LearningQueue::default();
        let (small, large) = (learned(1, 0), QUEUE_BYTES / 3 - 1000);
        let bytes = learned(large, 0).message.bytes();
        for _ in 0..5 {
            queue.put(learned(large, 1));
        }
        queue.put(small);
        assert_eq!(take(&queue), "1 1 1 0");
        queue.put(learned(large, 2));
        assert_eq!(take(&queue), "");
        queue.done(bytes, None);
        queue.put(learned(large, 3));
        assert_eq!(take(&queue), "3");
    }
}
