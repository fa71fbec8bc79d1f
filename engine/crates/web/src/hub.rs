// SPDX-License-Identifier: Apache-2.0
//! What was said of a run, for readers who are there and for those who come later.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::Notify;

/// Updates of a run under way that are kept for readers to come; older ones are forgotten first. As much may come before a reader has taken
/// what was kept when it came.
const MOST_KEPT_BYTES: usize = 64 << 20;

/// The stream of one run.
pub struct Hub {
    kept: Mutex<Kept>,
    most_kept_bytes: usize,
}

#[derive(Default)]
struct Kept {
    hello: Option<Utf8Bytes>,
    updates: VecDeque<Utf8Bytes>,
    bytes: usize,
    /// Those who are there.
    readers: Vec<Weak<Reader>>,
}

impl Kept {
    /// Tells the readers who are there, of whom there may be none.
    fn tell(&mut self, message: &Utf8Bytes) {
        self.readers.retain(|reader| {
            let reader = reader.upgrade();
            reader.inspect(|reader| reader.add(message)).is_some()
        });
    }
}

impl Hub {
    /// Nothing has been said.
    pub fn new() -> Hub {
        Hub::keeping(MOST_KEPT_BYTES)
    }

    fn keeping(most_kept_bytes: usize) -> Hub {
        Hub {
            kept: Mutex::default(),
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
        kept.tell(&message);
        kept.hello = Some(message);
    }

    /// Another message, which is kept.
    pub fn publish(&self, message: String) {
        let message = Utf8Bytes::from(message);
        let mut kept = self.kept();
        kept.tell(&message);
        kept.bytes += message.len();
        kept.updates.push_back(message);
        while kept.bytes > self.most_kept_bytes && kept.updates.len() > 1 {
            let oldest = kept.updates.pop_front().map_or(0, |oldest| oldest.len());
            kept.bytes -= oldest;
        }
    }

    /// Readers to come get these messages, all of them, in place of what was said; those who are there are not told.
    pub fn replace(&self, messages: impl IntoIterator<Item = String>) {
        let mut messages = messages.into_iter().map(Utf8Bytes::from);
        let hello = messages.next();
        let updates: VecDeque<Utf8Bytes> = messages.collect();
        let mut kept = self.kept();
        *kept = Kept {
            hello,
            bytes: updates.iter().map(|update| update.len()).sum(),
            updates,
            readers: std::mem::take(&mut kept.readers),
        };
    }

    /// A message to the readers who are there; it is not kept.
    pub fn tell(&self, message: String) {
        self.kept().tell(&Utf8Bytes::from(message));
    }

    /// A reader that gets all that is kept, in order, and what comes after.
    pub(crate) fn subscribe(&self) -> Arc<Reader> {
        let mut kept = self.kept();
        let before: VecDeque<Utf8Bytes> = kept.hello.iter().chain(&kept.updates).cloned().collect();
        let bytes: usize = before.iter().map(|message| message.len()).sum();
        let reader = Arc::new(Reader {
            waiting: Mutex::new(Waiting {
                messages: before,
                bytes,
                most_bytes: bytes + self.most_kept_bytes,
                is_too_slow: false,
            }),
            news: Notify::new(),
        });
        kept.readers.push(Arc::downgrade(&reader));
        reader
    }
}

impl Default for Hub {
    fn default() -> Self {
        Hub::new()
    }
}

/// A reader of the stream. What it has not taken yet waits here: a slow line only has to be as fast as the run in the mean.
pub(crate) struct Reader {
    waiting: Mutex<Waiting>,
    news: Notify,
}

struct Waiting {
    messages: VecDeque<Utf8Bytes>,
    bytes: usize,
    most_bytes: usize,
    is_too_slow: bool,
}

/// The next thing for a reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextMessage {
    Message(Utf8Bytes),
    /// It has all; [`Reader::news`] says when there is more.
    Nothing,
    /// It has not taken what came, of which there is no room for more.
    TooSlow,
}

impl Reader {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, message: &Utf8Bytes) {
        let mut waiting = self.waiting();
        waiting.is_too_slow |= !waiting.messages.is_empty() && waiting.bytes + message.len() > waiting.most_bytes;
        if waiting.is_too_slow {
            waiting.messages = VecDeque::new();
            waiting.bytes = 0;
        } else {
            waiting.bytes += message.len();
            waiting.messages.push_back(message.clone());
        }
        drop(waiting);
        self.news.notify_one();
    }

    pub(crate) fn next(&self) -> NextMessage {
        let mut waiting = self.waiting();
        match waiting.messages.pop_front() {
            Some(message) => {
                waiting.bytes -= message.len();
                NextMessage::Message(message)
            }
            None if waiting.is_too_slow => NextMessage::TooSlow,
            None => NextMessage::Nothing,
        }
    }

    /// Waits until there may be something next.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reader: &Reader) -> (Vec<Utf8Bytes>, NextMessage) {
        let mut messages = Vec::new();
        loop {
            match reader.next() {
                NextMessage::Message(message) => messages.push(message),
                end => return (messages, end),
            }
        }
    }

    fn texts<const N: usize>(texts: [&'static str; N]) -> Vec<Utf8Bytes> {
        texts.map(Utf8Bytes::from).to_vec()
    }

    #[test]
    fn who_comes_late_misses_nothing_that_is_kept() {
        let hub = Hub::keeping(8);
        hub.hello("hello".into());
        for text in ["first", "2", "3", "4"] {
            hub.publish(text.into());
        }
        let reader = hub.subscribe();
        assert_eq!(
            all(&reader),
            (texts(["hello", "first", "2", "3", "4"]), NextMessage::Nothing)
        );
        hub.publish("567".into());
        assert_eq!(all(&reader).0, texts(["567"]));
        assert_eq!(
            all(&hub.subscribe()).0,
            texts(["hello", "2", "3", "4", "567"]),
            "the oldest was forgotten"
        );
    }

    #[test]
    fn one_message_is_kept_however_large() {
        let hub = Hub::keeping(2);
        let reader = hub.subscribe();
        hub.publish("a large one".into());
        assert_eq!(all(&reader).0, texts(["a large one"]));
        assert_eq!(all(&hub.subscribe()).0.len(), 1);
        hub.replace(["hello".to_owned(), "whole".to_owned(), "end".to_owned()]);
        assert_eq!(all(&hub.subscribe()).0, texts(["hello", "whole", "end"]));
        assert_eq!(
            all(&reader),
            (vec![], NextMessage::Nothing),
            "connected readers are not notified"
        );
    }

    #[test]
    fn a_reader_that_is_slow_to_take_the_history_misses_nothing_of_what_comes_meanwhile() {
        let hub = Hub::keeping(1000);
        for _ in 0..100 {
            hub.publish("history".into());
        }
        let slow = hub.subscribe();
        for _ in 0..900 {
            hub.publish("1".into());
        }
        hub.replace(["all".to_owned()]);
        hub.tell("end".into());
        let (heard, end) = all(&slow);
        assert_eq!((heard.len(), end), (100 + 900 + 1, NextMessage::Nothing));
        assert_eq!(heard.last().unwrap().as_str(), "end");
    }

    #[test]
    fn a_reader_for_whom_there_is_no_room_is_told_and_holds_nothing() {
        let hub = Hub::keeping(4);
        let reader = hub.subscribe();
        for text in ["12", "34", "5", "6"] {
            hub.publish(text.into());
        }
        assert_eq!(all(&reader), (vec![], NextMessage::TooSlow));
        hub.tell("end".into());
        assert_eq!(all(&reader), (vec![], NextMessage::TooSlow));
        drop(reader);
        hub.tell("end".into());
        assert!(hub.kept().readers.is_empty());
    }
}
