// SPDX-License-Identifier: Apache-2.0
//! A hold at an edge for packets that came before others of their queue, until the missing ones are there or it has been long enough.

use std::collections::{BTreeMap, VecDeque};

use slotwise_units::{Duration, Instant};

/// Sequence of packets: source, its program, and its queue.
pub type Order = (u16, u32, u16);

/// Arrivals of one order.
struct Stream<T> {
    /// The number that comes next.
    next: u64,
    /// Early arrivals, by number; `None`: one that did not have to wait.
    ahead: BTreeMap<u64, Option<T>>,
}

/// Packets that wait for others.
pub struct Resequencer<T> {
    hold: Duration,
    streams: BTreeMap<Order, Stream<T>>,
    /// When what came ahead has waited long enough, the oldest first.
    deadlines: VecDeque<(Instant, Order, u64)>,
    /// Packets released now, in order.
    ready: VecDeque<T>,
    held: u64,
}

impl<T> Resequencer<T> {
    /// One that holds a packet for so long at most.
    pub fn new(hold: Duration) -> Resequencer<T> {
        Resequencer {
            hold,
            streams: BTreeMap::new(),
            deadlines: VecDeque::new(),
            ready: VecDeque::new(),
            held: 0,
        }
    }

    /// Something comes with a number, the first one 1, modulo 2^32. What does not wait goes on at once and counts as there.
    pub fn take(&mut self, now: Instant, order: Order, number: u32, waits: bool, item: T) {
        let stream = self.streams.entry(order).or_insert_with(|| Stream {
            next: 1,
            ahead: BTreeMap::new(),
        });
        let distance = number.wrapping_sub(stream.next as u32) as i32;
        if distance < 0 {
            // Others have been let through before it.
            return self.ready.push_back(item);
        }
        if distance > 0 {
            let place = stream.next + distance as u64;
            self.deadlines.push_back((now + self.hold, order, place));
            if waits {
                self.held += 1;
                if let Some(Some(earlier)) = stream.ahead.insert(place, Some(item)) {
                    self.ready.push_back(earlier);
                }
            } else {
                stream.ahead.entry(place).or_insert(None);
                self.ready.push_back(item);
            }
            return;
        }
        stream.next += 1;
        self.ready.push_back(item);
        stream.follow(&mut self.ready);
    }

    /// Releases packets that have waited long enough by `now`, and those before them.
    pub fn expire(&mut self, now: Instant) {
        while let Some(&(_, order, place)) = self.deadlines.front().filter(|(at, _, _)| *at <= now) {
            self.deadlines.pop_front();
            let Some(stream) = self.streams.get_mut(&order) else {
                continue;
            };
            if place < stream.next {
                continue;
            }
            let later = stream.ahead.split_off(&(place + 1));
            let before = std::mem::replace(&mut stream.ahead, later);
            self.ready.extend(before.into_values().flatten());
            stream.next = place + 1;
            stream.follow(&mut self.ready);
        }
    }

    /// The next one that goes on.
    pub fn ready(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// When the next one has waited long enough, as things stand.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.front().map(|(at, _, _)| *at)
    }

    /// Number of packets that have waited since the start.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Gives back what waits; nothing is known of orders any more.
    pub fn take_all(&mut self) -> Vec<T> {
        self.deadlines.clear();
        let streams = std::mem::take(&mut self.streams).into_values();
        let waiting = streams.flat_map(|stream| stream.ahead.into_values().flatten());
        waiting.collect()
    }
}

impl<T> Stream<T> {
    /// Releases early arrivals up to the next missing packet.
    fn follow(&mut self, ready: &mut VecDeque<T>) {
        while let Some(item) = self.ahead.remove(&self.next) {
            self.next += 1;
            ready.extend(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;
    use rand::seq::SliceRandom;

    use super::*;
    use slotwise_random::{Stream, generator};

    const HOLD: Duration = Duration::from_ns(100);
    const ORDER: Order = (1, 0, 7);

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    fn ready(resequencer: &mut Resequencer<u32>) -> Vec<u32> {
        std::iter::from_fn(|| resequencer.ready()).collect()
    }

    #[test]
    fn what_is_ahead_waits_for_what_is_missing() {
        let mut resequencer = Resequencer::new(HOLD);
        for number in [1, 3, 4, 6] {
            resequencer.take(at(0), ORDER, number, true, number);
        }
        assert_eq!(ready(&mut resequencer), [1]);
        resequencer.take(at(1), ORDER, 2, true, 2);
        assert_eq!((ready(&mut resequencer), resequencer.held()), (vec![2, 3, 4], 3));
        resequencer.take(at(2), (2, 0, 7), 1, true, 100);
        assert_eq!(ready(&mut resequencer), [100], "another's");
        assert_eq!(resequencer.take_all(), [6]);
        assert_eq!(resequencer.next_deadline(), None);
    }

    #[test]
    fn it_waits_no_longer_than_it_may() {
        let mut resequencer = Resequencer::new(HOLD);
        resequencer.take(at(0), ORDER, 4, true, 4);
        resequencer.take(at(50), ORDER, 3, true, 3);
        resequencer.take(at(60), ORDER, 6, true, 6);
        assert_eq!(resequencer.next_deadline(), Some(at(100)));
        resequencer.expire(at(99));
        assert!(ready(&mut resequencer).is_empty());
        resequencer.expire(at(100));
        assert_eq!(
            ready(&mut resequencer),
            [3, 4],
            "packets before it are released with it"
        );
        resequencer.take(at(101), ORDER, 2, true, 2);
        assert_eq!(ready(&mut resequencer), [2], "too late to wait");
        resequencer.take(at(102), ORDER, 5, true, 5);
        assert_eq!(ready(&mut resequencer), [5, 6]);
        resequencer.expire(at(1000));
        assert_eq!((ready(&mut resequencer), resequencer.next_deadline()), (vec![], None));
    }

    #[test]
    fn what_does_not_wait_is_there() {
        let mut resequencer = Resequencer::new(HOLD);
        resequencer.take(at(0), ORDER, 2, false, 2);
        resequencer.take(at(0), ORDER, 3, true, 3);
        assert_eq!(ready(&mut resequencer), [2]);
        resequencer.take(at(0), ORDER, 1, true, 1);
        assert_eq!(ready(&mut resequencer), [1, 3]);
        for number in 5..1000 {
            resequencer.take(at(u64::from(number)), ORDER, number, false, number);
            resequencer.expire(at(u64::from(number)));
        }
        let known = resequencer.streams[&ORDER].ahead.len();
        assert!(
            known <= HOLD.ns() as usize && resequencer.deadlines.len() <= HOLD.ns() as usize,
            "{known}"
        );
    }

    #[test]
    fn numbers_go_round() {
        let mut resequencer = Resequencer::new(HOLD);
        let stream = super::Stream {
            next: u64::from(u32::MAX),
            ahead: BTreeMap::new(),
        };
        resequencer.streams.insert(ORDER, stream);
        for number in [1, 0, u32::MAX] {
            resequencer.take(at(0), ORDER, number, true, number);
        }
        assert_eq!(ready(&mut resequencer), [u32::MAX, 0, 1]);
    }

    #[test]
    fn all_come_once_and_in_order_if_none_is_too_late() {
        let mut random = generator(1, Stream::Train, 0);
        for _ in 0..200 {
            let mut numbers: Vec<u32> = (1..=60).collect();
            numbers.shuffle(&mut random);
            let mut resequencer = Resequencer::new(HOLD);
            let mut out = Vec::new();
            for number in numbers {
                resequencer.take(at(random.random_range(0..HOLD.ns())), ORDER, number, true, number);
                out.extend(ready(&mut resequencer));
            }
            assert_eq!(out, (1..=60).collect::<Vec<u32>>());
        }
    }
}
