// SPDX-License-Identifier: Apache-2.0
//! Nodes in virtual time, over a network that harms datagrams by seed.
// Each test binary uses its part of it.
#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use slotwise_gtp::{Digest, Ended, Event, Key, Node, NodeConfig, TransferId, Verdict};
use slotwise_lambda::{KnifeEdge, Rule, Start, Steps};
use slotwise_units::{Bytes, Duration, Instant, Rate};

pub const MS: Duration = Duration::from_ms(1);
pub const SECOND: Duration = Duration::from_s(1);

/// The point in time so long after the start.
pub fn at(since: Duration) -> Instant {
    Instant::ZERO + since
}

pub type End = Node<Vec<u8>, Vec<u8>>;

pub fn config(answers: bool, seed: u8) -> NodeConfig {
    NodeConfig {
        capacity: Rate::from_bps(50_000_000),
        interval: 20 * MS,
        rule: Rule {
            knife_edge: KnifeEdge::Capped,
            start: Start::FairShare,
            ..Rule::default()
        },
        steps: Steps::default(),
        packet_bytes: 1500,
        catch_up: Duration::from_us(100),
        answers,
        patience: 10 * SECOND,
        secret: [seed; 32],
    }
}

/// What a network does to each datagram, in 1/1000.
#[derive(Clone, Copy, Debug, Default)]
pub struct Harm {
    pub lost: u32,
    pub doubled: u32,
    pub late: u32,
    /// One bit of it is another one.
    pub corrupted: u32,
    /// Only to datagrams of at most so many bytes; 0: to all. Data of a file is longer than what controls it.
    pub most_bytes: usize,
}

/// Nodes at 10.0.0.1, 10.0.0.2 ..., and what is under way.
pub struct World {
    pub now: Instant,
    pub nodes: BTreeMap<SocketAddr, End>,
    pub under_way: BinaryHeap<Reverse<(Instant, u64, SocketAddr, SocketAddr, Vec<u8>)>>,
    pub sent: u64,
    pub harm: Harm,
    /// How many it did that to.
    pub harmed: Harm,
    pub random: Pcg64Mcg,
    /// All that ever was sent.
    pub seen: Option<Vec<(SocketAddr, SocketAddr, Vec<u8>)>>,
    pub events: Vec<(SocketAddr, Event)>,
}

pub fn place(index: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, index], 5254))
}

impl World {
    pub fn new(keys: &[Key], harm: Harm, seed: u64) -> World {
        let node = |(index, key): (u8, &Key)| {
            let node = Node::new(&config(index == 1, index), key.clone()).unwrap();
            (place(index), node)
        };
        World {
            now: Instant::ZERO,
            nodes: (1..).zip(keys).map(node).collect(),
            under_way: BinaryHeap::new(),
            sent: 0,
            harm,
            harmed: Harm::default(),
            random: Pcg64Mcg::seed_from_u64(seed),
            seen: None,
            events: Vec::new(),
        }
    }

    pub fn node(&mut self, index: u8) -> &mut End {
        self.nodes.get_mut(&place(index)).unwrap()
    }

    pub fn send(&mut self, from: SocketAddr, to: SocketAddr, mut datagram: Vec<u8>) {
        self.sent += 1;
        if let Some(seen) = &mut self.seen {
            seen.push((from, to, datagram.clone()));
        }
        let is_spared = self.harm.most_bytes > 0 && datagram.len() > self.harm.most_bytes;
        let harm = if is_spared { Harm::default() } else { self.harm };
        let mut chance = |in_1000: u32| in_1000 > 0 && self.random.random_range(0..1000) < in_1000;
        if chance(harm.lost) {
            self.harmed.lost += 1;
            return;
        }
        if chance(harm.corrupted) {
            self.harmed.corrupted += 1;
            let bit = self.random.random_range(0..datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
        }
        let mut chance = |in_1000: u32| in_1000 > 0 && self.random.random_range(0..1000) < in_1000;
        let copies = 1 + u64::from(chance(harm.doubled));
        self.harmed.doubled += copies as u32 - 1;
        for copy in 0..copies {
            let is_late = chance(harm.late);
            self.harmed.late += u32::from(is_late);
            let late = if is_late { 7 * MS } else { Duration::ZERO };
            let arrives = self.now + 5 * MS + late + copy * MS;
            self.under_way
                .push(Reverse((arrives, self.sent, from, to, datagram.clone())));
        }
    }

    /// Sends what nodes have to send, and collects what happened.
    pub fn settle(&mut self) {
        let mut out = Vec::new();
        for at in self.nodes.keys().copied().collect::<Vec<_>>() {
            loop {
                let node = self.nodes.get_mut(&at).unwrap();
                let Some(to) = node.poll_transmit(self.now, &mut out) else {
                    break;
                };
                self.send(at, to, std::mem::take(&mut out));
            }
            let node = self.nodes.get_mut(&at).unwrap();
            self.events
                .extend(std::iter::from_fn(|| node.poll_event()).map(|event| (at, event)));
        }
    }

    /// On to the next thing that happens; false if that is after `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        self.settle();
        let due = self.nodes.values().filter_map(Node::poll_timeout).min();
        let arrives = self.under_way.peek().map(|Reverse(next)| next.0);
        let next = [due, arrives].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        while let Some(Reverse(next)) = self.under_way.peek()
            && next.0 <= self.now
        {
            let Some(Reverse((_, _, from, to, datagram))) = self.under_way.pop() else {
                break;
            };
            if let Some(node) = self.nodes.get_mut(&to) {
                node.handle_datagram(self.now, from, &datagram);
            }
        }
        for node in self.nodes.values_mut() {
            node.handle_timeout(self.now);
        }
        true
    }

    /// Until `wanted` gives something of an event.
    pub fn until<T>(&mut self, wanted: impl Fn(SocketAddr, &Event) -> Option<T>) -> T {
        let until = self.now + 120 * SECOND;
        loop {
            self.settle();
            let found = self.events.iter().position(|(at, event)| wanted(*at, event).is_some());
            if let Some(found) = found {
                let (at, event) = self.events.remove(found);
                return wanted(at, &event).unwrap();
            }
            assert!(self.step(until), "not within 120 s; there is {:?}", self.events);
        }
    }

    /// A channel from node `index` to node 1.
    pub fn connect(&mut self, index: u8) -> u32 {
        let now = self.now;
        let channel = self.node(index).connect(now, place(1), [index; 16]);
        self.until(|at, event| (at == place(index) && *event == Event::Opened(channel)).then_some(()));
        channel
    }

    pub fn wanted(&mut self) -> TransferId {
        self.until(|at, event| match event {
            Event::Wanted { id, .. } if at == place(1) => Some(*id),
            _ => None,
        })
    }

    pub fn offered(&mut self, index: u8) -> TransferId {
        self.until(|at, event| match event {
            Event::Offered { id, .. } if at == place(index) => Some(*id),
            _ => None,
        })
    }

    pub fn ended(&mut self, index: u8) -> (TransferId, Ended) {
        self.until(|at, event| match event {
            Event::Ended(id, ended) if at == place(index) => Some((*id, *ended)),
            _ => None,
        })
    }

    /// Node `index` gets `file` from node 1, from `offset` on; what came.
    pub fn get(&mut self, index: u8, channel: u32, file: &[u8], offset: u64) -> Vec<u8> {
        let now = self.now;
        let own = self.node(index).get(now, channel, "a/file").unwrap();
        let theirs = self.wanted();
        let entry = (Bytes::of(file.len()), Digest([3; 32]));
        self.node(1).offer(theirs, entry, file.to_vec()).unwrap();
        assert_eq!(self.offered(index), own);
        let now = self.now;
        self.node(index).take(now, own, offset, Vec::new()).unwrap();
        self.until(|at, event| (at == place(index) && *event == Event::Received(own)).then_some(()));
        let came = self.node(index).content(own).cloned().unwrap_or_default();
        let now = self.now;
        self.node(index).conclude(now, own, Verdict::Whole).unwrap();
        assert_eq!(self.ended(index), (own, Ended::Done(Verdict::Whole)));
        assert_eq!(self.ended(1), (theirs, Ended::Done(Verdict::Whole)));
        self.node(index).forget(own);
        self.node(1).forget(theirs);
        came
    }
}

pub fn key(byte: u8) -> Key {
    Key::of([byte; 32])
}

pub fn file(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..bytes).map(|_| random.random()).collect()
}
