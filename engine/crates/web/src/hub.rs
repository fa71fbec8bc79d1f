// SPDX-License-Identifier: Apache-2.0
//! What was said of a run, for readers who are there and for those who come later.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::broadcast::{Receiver, Sender, channel};

/// Messages that a reader may be behind before it is dropped.
const BEHIND: usize = 64;
/// Updates of a run under way that are kept for readers to come; older ones are forgotten first.
const MOST_KEPT_BYTES: usize = 64 << 20;

/// The stream of one run.
pub struct Hub {
    kept: Mutex<Kept>,
    live: Sender<Utf8Bytes>,
    most_kept_bytes: usize,
}

#[derive(Default)]
struct Kept {
    hello: Option<Utf8Bytes>,
    updates: VecDeque<Utf8Bytes>,
    bytes: usize,
}

impl Hub {
    /// Nothing has been said.
    pub fn new() -> Hub {
        Hub::keeping(MOST_KEPT_BYTES)
    }

    fn keeping(most_kept_bytes: usize) -> Hub {
        Hub {
            kept: Mutex::default(),
            live: channel(BEHIND).0,
            most_kept_bytes,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first message, which every reader gets first.
    pub fn hello(&self, message: String) {
        let message = Utf8Bytes::from(message);
        let mut kept = self.kept();
        kept.hello = Some(message.clone());
        // Nobody may be there.
        let _ = self.live.send(message);
    }

    /// Another message, which is kept.
    pub fn publish(&self, message: String) {
        let message = Utf8Bytes::from(message);
        let mut kept = self.kept();
        kept.bytes += message.len();
        kept.updates.push_back(message.clone());
        while kept.bytes > self.most_kept_bytes && kept.updates.len() > 1 {
            let oldest = kept.updates.pop_front().map_or(0, |oldest| oldest.len());
            kept.bytes -= oldest;
        }
        let _ = self.live.send(message);
    }

    /// Readers to come get these messages, all of them, in place of what was said; those who are there are not told.
    pub fn replace(&self, messages: impl IntoIterator<Item = String>) {
        let mut messages = messages.into_iter().map(Utf8Bytes::from);
        let hello = messages.next();
        let updates: VecDeque<Utf8Bytes> = messages.collect();
        *self.kept() = Kept {
            hello,
            bytes: updates.iter().map(|update| update.len()).sum(),
            updates,
        };
    }

    /// A message to the readers who are there; it is not kept.
    pub fn tell(&self, message: String) {
        let _kept = self.kept();
        // Nobody may be there.
        let _ = self.live.send(Utf8Bytes::from(message));
    }

    /// All that is kept, in order, and what comes after.
    pub(crate) fn subscribe(&self) -> (Vec<Utf8Bytes>, Receiver<Utf8Bytes>) {
        let kept = self.kept();
        let before = kept.hello.iter().chain(&kept.updates).cloned().collect();
        (before, self.live.subscribe())
    }
}

impl Default for Hub {
    fn default() -> Self {
        Hub::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_late_misses_nothing_that_is_kept() {
        let hub = Hub::keeping(8);
        hub.hello("hello".into());
        for text in ["first", "2", "3", "4"] {
            hub.publish(text.into());
        }
        let (before, mut live) = hub.subscribe();
        assert_eq!(before, ["hello", "first", "2", "3", "4"].map(Utf8Bytes::from));
        hub.publish("567".into());
        assert_eq!(live.try_recv().unwrap(), "567");
        assert_eq!(
            hub.subscribe().0,
            ["hello", "2", "3", "4", "567"].map(Utf8Bytes::from),
            "the oldest was forgotten"
        );
    }

    #[test]
    fn one_message_is_kept_however_large() {
        let hub = Hub::keeping(2);
        hub.publish("a large one".into());
        assert_eq!(hub.subscribe().0.len(), 1);
        hub.replace(["hello".to_owned(), "whole".to_owned(), "end".to_owned()]);
        assert_eq!(hub.subscribe().0, ["hello", "whole", "end"].map(Utf8Bytes::from));
    }
}
