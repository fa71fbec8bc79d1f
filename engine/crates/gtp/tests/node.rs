// SPDX-License-Identifier: Apache-2.0
//! Nodes in virtual time, over a network that loses, doubles and reorders by seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use slotwise_gtp::packet::{Packet, SEALED_HEADER_BYTES};
use slotwise_gtp::{Digest, Ended, Event, Key, Node, NodeConfig, Reason, TransferId, Verdict};
use slotwise_lambda::{KnifeEdge, Rule, Start, Steps};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

type End = Node<Vec<u8>, Vec<u8>>;

fn config(answers: bool, seed: u8) -> NodeConfig {
    NodeConfig {
        capacity_bps: 50_000_000,
        interval_ns: 20 * MS,
        rule: Rule {
            knife_edge: KnifeEdge::Capped,
            start: Start::FairShare,
            ..Rule::default()
        },
        steps: Steps::default(),
        packet_bytes: 1500,
        catch_up_ns: 100_000,
        answers,
        patience_ns: 10 * SECOND,
        secret: [seed; 32],
    }
}

/// What a network does to each datagram, in 1/1000.
#[derive(Clone, Copy, Default)]
struct Harm {
    lost: u32,
    doubled: u32,
    late: u32,
}

/// Nodes at 10.0.0.1, 10.0.0.2 ..., and what is under way.
struct World {
    now_ns: u64,
    nodes: BTreeMap<SocketAddr, End>,
    under_way: BinaryHeap<Reverse<(u64, u64, SocketAddr, SocketAddr, Vec<u8>)>>,
    sent: u64,
    harm: Harm,
    random: Pcg64Mcg,
    /// All that ever was sent.
    seen: Option<Vec<(SocketAddr, SocketAddr, Vec<u8>)>>,
    events: Vec<(SocketAddr, Event)>,
}

fn place(index: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, index], 5254))
}

impl World {
    fn new(keys: &[Key], harm: Harm, seed: u64) -> World {
        let node = |(index, key): (u8, &Key)| {
            let node = Node::new(&config(index == 1, index), key.clone()).unwrap();
            (place(index), node)
        };
        World {
            now_ns: 0,
            nodes: (1..).zip(keys).map(node).collect(),
            under_way: BinaryHeap::new(),
            sent: 0,
            harm,
            random: Pcg64Mcg::seed_from_u64(seed),
            seen: None,
            events: Vec::new(),
        }
    }

    fn node(&mut self, index: u8) -> &mut End {
        self.nodes.get_mut(&place(index)).unwrap()
    }

    fn send(&mut self, from: SocketAddr, to: SocketAddr, datagram: Vec<u8>) {
        self.sent += 1;
        if let Some(seen) = &mut self.seen {
            seen.push((from, to, datagram.clone()));
        }
        let mut chance = |in_1000: u32| self.random.random_range(0..1000) < in_1000;
        if chance(self.harm.lost) {
            return;
        }
        let copies = 1 + u64::from(chance(self.harm.doubled));
        for copy in 0..copies {
            let late_ns = if chance(self.harm.late) { 7 * MS } else { 0 };
            let at_ns = self.now_ns + 5 * MS + late_ns + copy * MS;
            self.under_way
                .push(Reverse((at_ns, self.sent, from, to, datagram.clone())));
        }
    }

    /// Sends what nodes have to send, and collects what happened.
    fn settle(&mut self) {
        let mut out = Vec::new();
        for at in self.nodes.keys().copied().collect::<Vec<_>>() {
            loop {
                let node = self.nodes.get_mut(&at).unwrap();
                let Some(to) = node.poll_transmit(self.now_ns, &mut out) else {
                    break;
                };
                self.send(at, to, std::mem::take(&mut out));
            }
            let node = self.nodes.get_mut(&at).unwrap();
            self.events
                .extend(std::iter::from_fn(|| node.poll_event()).map(|event| (at, event)));
        }
    }

    /// On to the next thing that happens; false if that is after `until_ns`.
    fn step(&mut self, until_ns: u64) -> bool {
        self.settle();
        let due_ns = self.nodes.values().filter_map(Node::poll_timeout).min();
        let arrives_ns = self.under_way.peek().map(|Reverse(next)| next.0);
        let next_ns = [due_ns, arrives_ns].into_iter().flatten().min();
        let Some(next_ns) = next_ns.filter(|next_ns| *next_ns <= until_ns) else {
            self.now_ns = until_ns;
            return false;
        };
        self.now_ns = self.now_ns.max(next_ns);
        while let Some(Reverse(next)) = self.under_way.peek()
            && next.0 <= self.now_ns
        {
            let Some(Reverse((_, _, from, to, datagram))) = self.under_way.pop() else {
                break;
            };
            if let Some(node) = self.nodes.get_mut(&to) {
                node.handle_datagram(self.now_ns, from, &datagram);
            }
        }
        for node in self.nodes.values_mut() {
            node.handle_timeout(self.now_ns);
        }
        true
    }

    /// Until `wanted` gives something of an event.
    fn until<T>(&mut self, wanted: impl Fn(SocketAddr, &Event) -> Option<T>) -> T {
        let until_ns = self.now_ns + 120 * SECOND;
        loop {
            self.settle();
            let found = self.events.iter().position(|(at, event)| wanted(*at, event).is_some());
            if let Some(found) = found {
                let (at, event) = self.events.remove(found);
                return wanted(at, &event).unwrap();
            }
            assert!(self.step(until_ns), "not within 120 s; there is {:?}", self.events);
        }
    }

    /// A channel from node `index` to node 1.
    fn connect(&mut self, index: u8) -> u32 {
        let now_ns = self.now_ns;
        let channel = self.node(index).connect(now_ns, place(1), [index; 16]);
        self.until(|at, event| (at == place(index) && *event == Event::Opened(channel)).then_some(()));
        channel
    }

    fn wanted(&mut self) -> TransferId {
        self.until(|at, event| match event {
            Event::Wanted { id, .. } if at == place(1) => Some(*id),
            _ => None,
        })
    }

    fn offered(&mut self, index: u8) -> TransferId {
        self.until(|at, event| match event {
            Event::Offered { id, .. } if at == place(index) => Some(*id),
            _ => None,
        })
    }

    fn ended(&mut self, index: u8) -> (TransferId, Ended) {
        self.until(|at, event| match event {
            Event::Ended(id, ended) if at == place(index) => Some((*id, *ended)),
            _ => None,
        })
    }

    /// Node `index` gets `file` from node 1, from `offset` on; what came.
    fn get(&mut self, index: u8, channel: u32, file: &[u8], offset: u64) -> Vec<u8> {
        let now_ns = self.now_ns;
        let own = self.node(index).get(now_ns, channel, "a/file").unwrap();
        let theirs = self.wanted();
        let entry = (file.len() as u64, Digest([3; 32]));
        self.node(1).offer(theirs, entry, file.to_vec()).unwrap();
        assert_eq!(self.offered(index), own);
        let now_ns = self.now_ns;
        self.node(index).take(now_ns, own, offset, Vec::new()).unwrap();
        self.until(|at, event| (at == place(index) && *event == Event::Received(own)).then_some(()));
        let came = self.node(index).content(own).cloned().unwrap_or_default();
        let now_ns = self.now_ns;
        self.node(index).conclude(now_ns, own, Verdict::Whole).unwrap();
        assert_eq!(self.ended(index), (own, Ended::Done(Verdict::Whole)));
        assert_eq!(self.ended(1), (theirs, Ended::Done(Verdict::Whole)));
        self.node(index).forget(own);
        self.node(1).forget(theirs);
        came
    }
}

fn key(byte: u8) -> Key {
    Key::of([byte; 32])
}

fn file(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..bytes).map(|_| random.random()).collect()
}

#[test]
fn a_file_comes_whole_over_a_network_that_loses_doubles_and_reorders() {
    for seed in 0..12 {
        let harm = Harm {
            lost: [0, 10, 100, 300][seed as usize % 4],
            doubled: 50,
            late: 200,
        };
        let mut world = World::new(&[key(1), key(1)], harm, seed);
        let channel = world.connect(2);
        for bytes in [1, 1500, 400_000 + seed as usize] {
            let file = file(bytes, seed);
            assert!(world.get(2, channel, &file, 0) == file, "{bytes} bytes, seed {seed}");
        }
    }
}

#[test]
fn a_file_of_nothing_and_one_that_is_here_need_no_data() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    let channel = world.connect(2);
    assert!(world.get(2, channel, &[], 0).is_empty());
    assert!(world.get(2, channel, &file(5000, 1), 5000).is_empty());
}

#[test]
fn the_rest_of_a_file_comes_from_any_byte_on() {
    let mut world = World::new(
        &[key(1), key(1)],
        Harm {
            lost: 50,
            ..Harm::default()
        },
        1,
    );
    let channel = world.connect(2);
    let file = file(100_000, 2);
    for offset in [1, 1415, 99_999] {
        let came = world.get(2, channel, &file, offset);
        assert!(came[offset as usize..] == file[offset as usize..]);
        assert!(came[..offset as usize].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_file_is_pushed_or_refused() {
    let mut world = World::new(
        &[key(1), key(1)],
        Harm {
            lost: 100,
            ..Harm::default()
        },
        5,
    );
    let channel = world.connect(2);
    let file = file(200_000, 3);
    let entry = (file.len() as u64, Digest([4; 32]));
    let now_ns = world.now_ns;
    let own = world
        .node(2)
        .put(now_ns, (channel, "pushed"), entry, file.clone())
        .unwrap();
    let theirs = world.offered(1);
    let now_ns = world.now_ns;
    world.node(1).take(now_ns, theirs, 0, Vec::new()).unwrap();
    world.until(|at, event| (at == place(1) && *event == Event::Received(theirs)).then_some(()));
    assert!(*world.node(1).content(theirs).unwrap() == file);
    let now_ns = world.now_ns;
    world.node(1).conclude(now_ns, theirs, Verdict::Differs).unwrap();
    assert_eq!(world.ended(2), (own, Ended::Done(Verdict::Differs)));

    let now_ns = world.now_ns;
    let own = world.node(2).put(now_ns, (channel, "other"), entry, file).unwrap();
    let theirs = world.offered(1);
    world.node(1).refuse(theirs, Reason::Exists);
    // What is lost of a refusal is asked for again.
    let ended = loop {
        let (at, ended) = world.until(|at, event| match event {
            Event::Ended(id, ended) if at == place(2) => Some((*id, Some(*ended))),
            Event::Offered { id, .. } if at == place(1) => Some((*id, None)),
            _ => None,
        });
        match ended {
            Some(ended) => break (at, ended),
            None => world.node(1).refuse(at, Reason::Exists),
        }
    };
    assert_eq!(ended, (own, Ended::Refused(Reason::Exists)));
}

#[test]
fn sessions_of_a_sink_share_its_capacity() {
    let keys = vec![key(1); 5];
    let mut world = World::new(&keys, Harm::default(), 1);
    let size = 5_000_000usize;
    let mut pushed = Vec::new();
    for index in 2..=5 {
        let channel = world.connect(index);
        let entry = (size as u64, Digest([4; 32]));
        let now_ns = world.now_ns;
        world
            .node(index)
            .put(now_ns, (channel, "f"), entry, vec![index; size])
            .unwrap();
        let theirs = world.offered(1);
        let now_ns = world.now_ns;
        world.node(1).take(now_ns, theirs, 0, Vec::new()).unwrap();
        pushed.push(theirs);
    }
    let bytes = |world: &mut World| -> Vec<u64> {
        let stats = pushed.iter().map(|id| world.node(1).transfer_stats(*id).sink.unwrap());
        stats.map(|stats| stats.received_bytes).collect()
    };
    let until = |world: &mut World, until_ns| while world.step(until_ns) {};
    let now_ns = world.now_ns;
    until(&mut world, now_ns + SECOND);
    let before = bytes(&mut world);
    until(&mut world, now_ns + 2 * SECOND);
    let rates: Vec<f64> = bytes(&mut world)
        .iter()
        .zip(before)
        .map(|(after, before)| (after - before) as f64 * 8.0)
        .collect();
    let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
    assert!(sum * sum / (4.0 * squares) > 0.99, "{rates:?}");
    // 50 Mb/s of packets are so much of a file.
    assert!((40e6..48e6).contains(&sum), "{rates:?}");
}

#[test]
fn who_joins_has_its_share_within_2_s() {
    let mut world = World::new(&vec![key(1); 6], Harm::default(), 1);
    let size = 30_000_000;
    let mut pushed = Vec::new();
    for index in 2..=6 {
        let channel = world.connect(index);
        let entry = (size as u64, Digest([4; 32]));
        let now_ns = world.now_ns;
        let content = vec![index; size];
        world.node(index).put(now_ns, (channel, "f"), entry, content).unwrap();
        let theirs = world.offered(1);
        let joined_ns = world.now_ns;
        world.node(1).take(joined_ns, theirs, 0, Vec::new()).unwrap();
        pushed.push(theirs);
        let mut bytes_at = |at_ns| -> Vec<u64> {
            while world.step(joined_ns + at_ns) {}
            let node = world.node(1);
            let stats = pushed.iter().map(|id| node.transfer_stats(*id).sink.unwrap());
            stats.map(|stats| stats.received_bytes).collect()
        };
        let before = bytes_at(3 * SECOND / 2);
        let after = bytes_at(2 * SECOND);
        let rates: Vec<f64> = after
            .iter()
            .zip(before)
            .map(|(after, before)| (after - before) as f64 * 16.0)
            .collect();
        let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
        assert!(sum * sum / (rates.len() as f64 * squares) > 0.99, "{rates:?}");
        assert!((46e6..48e6).contains(&sum), "{rates:?}");
    }
}

#[test]
fn another_key_is_refused_and_leaves_nothing() {
    let mut world = World::new(&[key(1), key(2)], Harm::default(), 1);
    let channel = world.node(2).connect(0, place(1), [2; 16]);
    let answered = world.until(|_, event| match event {
        Event::Lost {
            channel: lost,
            answered,
            ..
        } if *lost == channel => Some(*answered),
        _ => None,
    });
    assert!(answered, "somebody was there");
    assert!(world.node(1).peer_stats().refused > 0);
    assert_eq!(world.node(1).poll_timeout(), None, "nothing is kept");
}

#[test]
fn who_is_gone_is_forgotten() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    let channel = world.connect(2);
    let now_ns = world.now_ns;
    world.node(2).get(now_ns, channel, "f").unwrap();
    let theirs = world.wanted();
    world
        .node(1)
        .offer(theirs, (1000, Digest([3; 32])), vec![0; 1000])
        .unwrap();
    world.nodes.remove(&place(2));
    world.until(|at, event| matches!(event, Event::Lost { .. } if at == place(1)).then_some(()));
    assert_eq!(world.node(1).poll_timeout(), None);
    assert!(world.node(1).offer(theirs, (1, Digest([3; 32])), vec![0]).is_err());
}

/// Each datagram that ever was on the way, and each with a bit changed, from its own and another address.
#[test]
fn replayed_and_forged_datagrams_change_nothing() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    world.seen = Some(Vec::new());
    let channel = world.connect(2);
    let file = file(60_000, 1);
    let now_ns = world.now_ns;
    let own = world.node(2).get(now_ns, channel, "f").unwrap();
    let theirs = world.wanted();
    world
        .node(1)
        .offer(theirs, (file.len() as u64, Digest([3; 32])), file.clone())
        .unwrap();
    world.offered(2);
    let now_ns = world.now_ns;
    world.node(2).take(now_ns, own, 0, Vec::new()).unwrap();
    while world.node(2).transfer_stats(own).sink.unwrap().packets < 10 {
        world.step(60 * SECOND);
    }
    world.settle();
    let delivered = |world: &World| {
        let waiting: Vec<&[u8]> = world.under_way.iter().map(|Reverse(next)| &next.4[..]).collect();
        let seen = world.seen.iter().flatten();
        let old = seen.filter(|(_, _, datagram)| !waiting.contains(&&datagram[..]));
        old.cloned().collect::<Vec<_>>()
    };
    let counts = |world: &mut World| {
        let (source, sink) = (world.node(1).transfer_stats(theirs), world.node(2).transfer_stats(own));
        (
            source,
            sink,
            world.node(1).message_stats(),
            world.node(2).message_stats(),
        )
    };
    let before = counts(&mut world);
    let (now_ns, mut out, mut answers) = (world.now_ns, Vec::new(), 0);
    for (from, to, datagram) in delivered(&world) {
        for bit in [
            None,
            Some(datagram.len() * 8 - 3),
            Some(70),
            Some(SEALED_HEADER_BYTES * 8 + 1),
        ] {
            let mut changed = datagram.clone();
            if let Some(bit) = bit {
                changed[bit / 8 % datagram.len()] ^= 1 << (bit % 8);
            }
            for from in [from, SocketAddr::from(([10, 0, 9, 9], 1))] {
                let node = world.nodes.get_mut(&to).unwrap();
                node.handle_datagram(now_ns, from, &changed);
                while let Some(to) = node.poll_transmit(now_ns, &mut out) {
                    assert_eq!(to, from);
                    assert!(out.len() <= changed.len(), "amplified");
                    assert!(matches!(Packet::decode(&out), Ok(Packet::Cookie { .. })));
                    answers += 1;
                }
                assert_eq!(node.poll_event(), None);
            }
        }
    }
    assert!(answers > 0, "hellos are answered to anybody");
    assert_eq!(counts(&mut world), before);
    world.until(|at, event| (at == place(2) && *event == Event::Received(own)).then_some(()));
    assert!(*world.node(2).content(own).unwrap() == file);
}

/// Who has the key and speaks from one address may fill no more than the table of half-open channels.
#[test]
fn a_flood_of_handshakes_keeps_nobody_out() {
    let mut world = World::new(&[key(1), key(1), key(1)], Harm::default(), 1);
    let mut out = Vec::new();
    for number in 0..500u32 {
        // Hellos from everywhere cost nothing.
        let mut hello = Vec::new();
        Packet::Hello {
            channel: number,
            nonce: [1; 16],
        }
        .encode(&mut hello);
        let from = SocketAddr::from((number.to_be_bytes(), 9));
        world.node(1).handle_datagram(0, from, &hello);
        assert_eq!(world.node(1).poll_transmit(0, &mut out), Some(from));
    }
    assert_eq!(world.node(1).poll_timeout(), None, "nothing is kept of them");
    // One with the key opens and never speaks.
    for number in 0..300u32 {
        let nonce: [u8; 16] = std::array::from_fn(|at| number.to_be_bytes()[at % 4]);
        world.node(3).connect(0, place(1), nonce);
    }
    while world.step(SECOND) {}
    assert!(world.node(1).peer_stats().without_room >= 300 - 64);
    world.connect(2);
}
