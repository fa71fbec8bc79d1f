// SPDX-License-Identifier: Apache-2.0
//! Digests of one device on their way to one controller: lists, acknowledgements, timeouts. A pure state machine; times
//! are nanoseconds of the device.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use slotwise_p4::Bits;
use slotwise_units::{Duration, Instant};

use crate::proto::p4::v1::digest_entry::Config;

/// Longest list where the client sets no limit.
const MAX_LIST: usize = 1024;
/// Messages of one digest that wait for an acknowledgement; what is above is dropped.
const MAX_UNACKNOWLEDGED: usize = 1 << 16;

/// What the digests of a role may hold whatever others do.
pub(crate) const OWN_BYTES: usize = 512 << 10;
/// What a message takes besides its fields, in the lists of each role: places in trees and lists that are half empty.
const PLACE_BYTES: usize = 128;

/// What one call of `digest` in the program sent. All roles have the same copy; each is charged for it as for its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message(Arc<[Bits]>);

impl Message {
    pub fn new(fields: &[Bits]) -> Message {
        Message(fields.into())
    }

    /// How many places hold it.
    #[cfg(test)]
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    pub fn bytes(&self) -> usize {
        let fields = self.0.iter().map(|bits| size_of::<Bits>() + bits.capacity());
        PLACE_BYTES + fields.sum::<usize>()
    }
}

impl Deref for Message {
    type Target = [Bits];

    fn deref(&self) -> &[Bits] {
        &self.0
    }
}

/// A list that is to be sent now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub digest_id: u32,
    pub list_id: u64,
    pub messages: Vec<Message>,
}

/// All digests for the primary of one role.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    enabled: BTreeMap<u32, Digest>,
    last_list: u64,
}

#[derive(Debug, Default)]
struct Digest {
    config: Config,
    waiting: Vec<Message>,
    /// When the first of `waiting` came.
    since: Instant,
    /// Waiting, or sent and not acknowledged.
    known: BTreeSet<Message>,
    /// What `known` is charged for.
    bytes: usize,
    /// Lists sent and not acknowledged, with the time when each was sent, which grows with the number of the list.
    sent: BTreeMap<u64, (Instant, Vec<Message>)>,
}

impl Digests {
    /// Digests that are sent from now on; others are not.
    pub fn configure(&mut self, configs: &BTreeMap<u32, Config>) {
        self.enabled.retain(|id, _| configs.contains_key(id));
        for (&id, &config) in configs {
            self.enabled.entry(id).or_default().config = config;
        }
    }

    /// Everything is forgotten but the numbers of lists: the controller is another one, or there is none.
    pub fn forget(&mut self) {
        self.enabled.clear();
    }

    /// What is held beyond [`OWN_BYTES`], of what all roles share.
    pub fn shared_bytes(&self) -> usize {
        self.bytes().saturating_sub(OWN_BYTES)
    }

    /// What is held.
    pub fn bytes(&self) -> usize {
        self.enabled.values().map(|digest| digest.bytes).sum()
    }

    /// The program sent a digest. Gives the list that is full with it. Takes what it needs of the `free_bytes` that all
    /// roles share; if they are too few, the message is dropped.
    pub fn learn(&mut self, digest_id: u32, message: &Message, now: Instant, free_bytes: &mut usize) -> Option<List> {
        self.enabled.get_mut(&digest_id)?.forget_overdue(now);
        let shared_bytes = self.shared_bytes();
        let digest = self.enabled.get_mut(&digest_id)?;
        if digest.known.len() >= MAX_UNACKNOWLEDGED || !digest.known.insert(message.clone()) {
            return None;
        }
        digest.bytes += message.bytes();
        let more_bytes = self.shared_bytes() - shared_bytes;
        let digest = self.enabled.get_mut(&digest_id)?;
        if more_bytes > *free_bytes {
            digest.forget_messages(std::slice::from_ref(message));
            return None;
        }
        *free_bytes -= more_bytes;
        if digest.waiting.is_empty() {
            digest.since = now;
        }
        digest.waiting.push(message.clone());
        let is_full = digest.waiting.len() >= list_limit(&digest.config) || digest.config.max_timeout_ns <= 0;
        is_full.then(|| digest.send(digest_id, &mut self.last_list, now))
    }

    /// A controller has a list.
    pub fn acknowledge(&mut self, digest_id: u32, list_id: u64) {
        if let Some(digest) = self.enabled.get_mut(&digest_id) {
            digest.forget(list_id);
        }
    }

    /// Lists whose time has come.
    pub fn due(&mut self, now: Instant) -> Vec<List> {
        let mut lists = Vec::new();
        for (&digest_id, digest) in &mut self.enabled {
            digest.forget_overdue(now);
            if digest.deadline().is_some_and(|deadline| deadline <= now) {
                lists.push(digest.send(digest_id, &mut self.last_list, now));
            }
        }
        lists
    }

    /// When a list is due next.
    pub fn deadline(&self) -> Option<Instant> {
        self.enabled.values().filter_map(Digest::deadline).min()
    }
}

/// Longest list that this configuration allows.
fn list_limit(config: &Config) -> usize {
    match usize::try_from(config.max_list_size) {
        Ok(size @ 1..) => size.min(MAX_LIST),
        _ => MAX_LIST,
    }
}

impl Digest {
    fn deadline(&self) -> Option<Instant> {
        let timeout = u64::try_from(self.config.max_timeout_ns).unwrap_or(0);
        (!self.waiting.is_empty()).then(|| self.since.saturating_add(Duration::from_ns(timeout)))
    }

    fn send(&mut self, digest_id: u32, last_list: &mut u64, now: Instant) -> List {
        *last_list += 1;
        let list_id = *last_list;
        let messages = std::mem::take(&mut self.waiting);
        if self.ack_timeout().is_zero() {
            self.forget_messages(&messages);
        } else {
            self.sent.insert(list_id, (now, messages.clone()));
        }
        List {
            digest_id,
            list_id,
            messages,
        }
    }

    fn forget(&mut self, list_id: u64) {
        if let Some((_, messages)) = self.sent.remove(&list_id) {
            self.forget_messages(&messages);
        }
    }

    fn forget_messages(&mut self, messages: &[Message]) {
        for message in messages {
            if self.known.remove(message) {
                self.bytes -= message.bytes();
            }
        }
    }

    /// 0: acknowledgements are not waited for.
    fn ack_timeout(&self) -> Duration {
        Duration::from_ns(u64::try_from(self.config.ack_timeout_ns).unwrap_or(0))
    }

    /// Forgets lists that have waited too long for their acknowledgement, by the timeout that holds now.
    fn forget_overdue(&mut self, now: Instant) {
        let timeout = self.ack_timeout();
        while let Some((&list_id, _)) = self
            .sent
            .first_key_value()
            .filter(|(_, (sent, _))| sent.saturating_add(timeout) <= now)
        {
            self.forget(list_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: u32 = 7;

    fn digests(max_timeout_ns: i64, max_list_size: i32, ack_timeout_ns: i64) -> Digests {
        let mut digests = Digests::default();
        let config = Config {
            max_timeout_ns,
            max_list_size,
            ack_timeout_ns,
        };
        digests.configure(&BTreeMap::from([(ID, config)]));
        digests
    }

    fn message(value: u8) -> Message {
        Message::new(&[vec![value]])
    }

    /// With as much room as it likes.
    fn learn(digests: &mut Digests, digest_id: u32, message: Message, now_ns: u64) -> Option<List> {
        digests.learn(digest_id, &message, Instant::from_ns(now_ns), &mut usize::MAX.clone())
    }

    fn values(list: &List) -> Vec<u8> {
        list.messages.iter().map(|message| message[0][0]).collect()
    }

    #[test]
    fn a_list_is_sent_when_full_or_old() {
        let mut digests = digests(100, 2, 0);
        assert_eq!(learn(&mut digests, ID, message(1), 10), None);
        assert_eq!(learn(&mut digests, ID, message(1), 11), None, "there already");
        assert_eq!(digests.deadline(), Some(Instant::from_ns(110)));
        assert_eq!(values(&learn(&mut digests, ID, message(2), 20).unwrap()), [1, 2]);
        assert_eq!(digests.deadline(), None);
        assert_eq!(learn(&mut digests, ID, message(3), 30), None);
        assert_eq!(digests.due(Instant::from_ns(129)), []);
        let due = digests.due(Instant::from_ns(130));
        assert_eq!((due.len(), values(&due[0]), due[0].list_id), (1, vec![3], 2));
        assert_eq!(digests.due(Instant::from_ns(1000)), []);
    }

    #[test]
    fn what_is_not_acknowledged_is_not_sent_again() {
        let mut digests = digests(0, 0, 100);
        let first = learn(&mut digests, ID, message(1), 0).unwrap();
        assert_eq!(learn(&mut digests, ID, message(1), 50), None);
        digests.acknowledge(ID, first.list_id + 1);
        assert_eq!(
            learn(&mut digests, ID, message(1), 50),
            None,
            "another list's acknowledgement"
        );
        digests.acknowledge(ID, first.list_id);
        let second = learn(&mut digests, ID, message(1), 60).unwrap();
        assert_eq!(learn(&mut digests, ID, message(1), 159), None);
        assert!(
            learn(&mut digests, ID, message(1), 160).is_some(),
            "the acknowledgement of {second:?} is overdue"
        );
    }

    #[test]
    fn without_ack_timeout_everything_is_sent() {
        let mut digests = digests(0, 1, 0);
        assert!(learn(&mut digests, ID, message(1), 0).is_some());
        assert!(learn(&mut digests, ID, message(1), 0).is_some());
    }

    #[test]
    fn a_shorter_ack_timeout_holds_for_lists_sent_before_and_after() {
        let mut digests = digests(0, 1, 1_000_000);
        let configure = |digests: &mut Digests, ack_timeout_ns| {
            let config = Config {
                max_list_size: 1,
                ack_timeout_ns,
                ..Config::default()
            };
            digests.configure(&BTreeMap::from([(ID, config)]));
        };
        learn(&mut digests, ID, message(1), 0).unwrap();
        configure(&mut digests, 100);
        learn(&mut digests, ID, message(2), 50).unwrap();
        assert_eq!(learn(&mut digests, ID, message(1), 99), None);
        assert!(learn(&mut digests, ID, message(1), 100).is_some());
        assert_eq!(learn(&mut digests, ID, message(2), 149), None);
        assert!(learn(&mut digests, ID, message(2), 150).is_some());
        configure(&mut digests, 0);
        assert!(learn(&mut digests, ID, message(2), 151).is_some());
    }

    #[test]
    fn digests_that_are_not_enabled_are_dropped() {
        let mut digests = digests(100, 0, 0);
        assert_eq!(learn(&mut digests, 8, message(1), 0), None);
        learn(&mut digests, ID, message(1), 0);
        digests.configure(&BTreeMap::new());
        assert_eq!(
            (digests.deadline(), digests.due(Instant::from_ns(1000))),
            (None, vec![])
        );
    }

    #[test]
    fn a_role_has_its_own_room_a_share_of_the_rest_and_gives_back() {
        let message = |number: u32| Message::new(&[number.to_be_bytes().to_vec()]);
        let cost = message(0).bytes();
        let most = OWN_BYTES / cost + 2;
        let (mut hog, mut other) = (digests(100, 0, 100), digests(100, 0, 100));
        let mut free_bytes = 2 * cost;
        let known = |digests: &Digests| digests.enabled[&ID].known.len();
        for number in 0..most as u32 + 10 {
            hog.learn(ID, &message(number), Instant::ZERO, &mut free_bytes);
        }
        assert_eq!(known(&hog), most);
        other.learn(ID, &message(0), Instant::ZERO, &mut free_bytes);
        assert_eq!(known(&other), 1);
        hog.acknowledge(ID, 1);
        assert_eq!(hog.shared_bytes(), 0);
        hog.learn(ID, &message(0), Instant::ZERO, &mut free_bytes);
        assert_eq!(known(&hog), most - MAX_LIST + 1);
    }
}
