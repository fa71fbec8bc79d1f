// SPDX-License-Identifier: Apache-2.0
//! Nodes in virtual time, over a network that loses, doubles and reorders by seed.

mod world;

use std::cmp::Reverse;
use std::net::SocketAddr;

use slotwise_gtp::packet::{Packet, SEALED_HEADER_BYTES};
use slotwise_gtp::{Digest, Ended, Event, MAX_CHANNELS, Node, Reason, Said, TransferId, TransferStats, Verdict};

use slotwise_units::{Bytes, Duration, Instant};
use world::{Harm, MS, SECOND, World, at, config, file, key, place};

#[test]
fn a_file_comes_whole_over_a_network_that_loses_doubles_and_reorders() {
    for seed in 0..12 {
        let harm = Harm {
            lost: [0, 10, 100, 300][seed as usize % 4],
            doubled: 50,
            late: 200,
            ..Harm::default()
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
    let entry = (Bytes::of(file.len()), Digest([4; 32]));
    let now = world.now;
    let own = world
        .node(2)
        .put(now, (channel, "pushed"), entry, file.clone())
        .unwrap();
    let theirs = world.offered(1);
    let now = world.now;
    world.node(1).take(now, theirs, 0, Vec::new()).unwrap();
    world.until(|at, event| (at == place(1) && *event == Event::Received(theirs)).then_some(()));
    assert!(*world.node(1).content(theirs).unwrap() == file);
    let now = world.now;
    world.node(1).conclude(now, theirs, Verdict::Differs).unwrap();
    assert_eq!(world.ended(2), (own, Ended::Done(Verdict::Differs)));

    let now = world.now;
    let own = world.node(2).put(now, (channel, "other"), entry, file).unwrap();
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
        let entry = (Bytes::of(size), Digest([4; 32]));
        let now = world.now;
        world
            .node(index)
            .put(now, (channel, "f"), entry, vec![index; size])
            .unwrap();
        let theirs = world.offered(1);
        let now = world.now;
        world.node(1).take(now, theirs, 0, Vec::new()).unwrap();
        pushed.push(theirs);
    }
    let bytes = |world: &mut World| -> Vec<Bytes> {
        let stats = pushed.iter().map(|id| world.node(1).transfer_stats(*id).sink.unwrap());
        stats.map(|stats| stats.received).collect()
    };
    let until = |world: &mut World, until: Instant| while world.step(until) {};
    let now = world.now;
    until(&mut world, now + SECOND);
    let before = bytes(&mut world);
    until(&mut world, now + 2 * SECOND);
    let rates: Vec<f64> = bytes(&mut world)
        .iter()
        .zip(before)
        .map(|(after, before)| (*after - before).get() as f64 * 8.0)
        .collect();
    let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
    assert!(sum * sum / (4.0 * squares) > 0.99, "{rates:?}");
    // 50 Mb/s of packets are so much of a file.
    assert!((40e6..48e6).contains(&sum), "{rates:?}");
}

#[test]
fn who_joins_has_its_share_within_2_s() {
    let mut world = World::new(&vec![key(1); 6], Harm::default(), 1);
    let size = 30_000_000usize;
    let mut pushed = Vec::new();
    for index in 2..=6 {
        let channel = world.connect(index);
        let entry = (Bytes::of(size), Digest([4; 32]));
        let now = world.now;
        let content = vec![index; size];
        world.node(index).put(now, (channel, "f"), entry, content).unwrap();
        let theirs = world.offered(1);
        let joined = world.now;
        world.node(1).take(joined, theirs, 0, Vec::new()).unwrap();
        pushed.push(theirs);
        let mut bytes_at = |since: Duration| -> Vec<Bytes> {
            while world.step(joined + since) {}
            let node = world.node(1);
            let stats = pushed.iter().map(|id| node.transfer_stats(*id).sink.unwrap());
            stats.map(|stats| stats.received).collect()
        };
        let before = bytes_at(3 * SECOND / 2);
        let after = bytes_at(2 * SECOND);
        let rates: Vec<f64> = after
            .iter()
            .zip(before)
            .map(|(after, before)| (*after - before).get() as f64 * 16.0)
            .collect();
        let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
        assert!(sum * sum / (rates.len() as f64 * squares) > 0.99, "{rates:?}");
        assert!((46e6..48e6).contains(&sum), "{rates:?}");
    }
}

#[test]
fn another_key_is_refused_and_leaves_nothing() {
    let mut world = World::new(&[key(1), key(2)], Harm::default(), 1);
    let channel = world.node(2).connect(Instant::ZERO, place(1), [2; 16]);
    let said = world.until(|_, event| match event {
        Event::Lost {
            channel: lost, said, ..
        } if *lost == channel => Some(*said),
        _ => None,
    });
    assert_eq!(said, Said::Something, "somebody was there");
    assert!(world.node(1).peer_stats().refused > 0);
    assert_eq!(world.node(1).poll_timeout(), None, "nothing is kept");
}

#[test]
fn who_is_gone_is_forgotten() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    let channel = world.connect(2);
    let now = world.now;
    world.node(2).get(now, channel, "f").unwrap();
    let theirs = world.wanted();
    world
        .node(1)
        .offer(theirs, (Bytes::new(1000), Digest([3; 32])), vec![0; 1000])
        .unwrap();
    world.nodes.remove(&place(2));
    world.until(|at, event| matches!(event, Event::Lost { .. } if at == place(1)).then_some(()));
    assert_eq!(world.node(1).poll_timeout(), None);
    assert!(
        world
            .node(1)
            .offer(theirs, (Bytes::new(1), Digest([3; 32])), vec![0])
            .is_err()
    );
}

/// A file of 1000 kB under way from node 2 to node 1, some of which is there: the transfer at node 1.
fn under_way(world: &mut World) -> TransferId {
    let channel = world.connect(2);
    let now = world.now;
    let entry = (Bytes::new(1_000_000), Digest([3; 32]));
    world
        .node(2)
        .put(now, (channel, "f"), entry, vec![1; 1_000_000])
        .unwrap();
    let theirs = world.offered(1);
    let now = world.now;
    world.node(1).take(now, theirs, 0, Vec::new()).unwrap();
    while world.node(1).transfer_stats(theirs).sink.unwrap().packets < 10 {
        assert!(world.step(at(60 * SECOND)));
    }
    theirs
}

fn lost(world: &mut World, index: u8) -> (Said, Vec<(TransferId, Ended, TransferStats)>) {
    world.until(|at, event| match event {
        Event::Lost { said, transfers, .. } if at == place(index) => Some((*said, transfers.clone())),
        _ => None,
    })
}

#[test]
fn an_end_that_leaves_says_so_and_what_was_under_way_is_told_at_once() {
    for leaves in [1, 2] {
        let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
        let theirs = under_way(&mut world);
        world.events.clear();
        let (stays, now) = (3 - leaves, world.now);
        world.node(leaves).leave();
        let (said, transfers) = lost(&mut world, stays);
        assert!(world.now < now + SECOND, "and not only when nothing was heard for long");
        assert_eq!(said, Said::Close);
        let [(id, Ended::Closed, stats)] = transfers[..] else {
            panic!("{transfers:?}")
        };
        match stays {
            1 => assert!(id == theirs && stats.sink.unwrap().received > Bytes::ZERO),
            _ => assert!(stats.source.unwrap().bytes > Bytes::ZERO),
        }
        let now = world.now;
        while world.step(now + SECOND) {}
        for index in [1, 2] {
            assert_eq!(world.node(index).poll_timeout(), None, "nothing is kept");
        }
    }
}

#[test]
fn a_transfer_whose_channel_is_lost_is_told_with_what_was_counted() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    let theirs = under_way(&mut world);
    world.nodes.remove(&place(2));
    let (said, transfers) = lost(&mut world, 1);
    assert_eq!(said, Said::Something);
    assert!(
        matches!(transfers[..], [(id, Ended::Lost, stats)] if id == theirs && stats.sink.unwrap().received > Bytes::ZERO)
    );
}

#[test]
fn a_file_that_is_whole_stays_so_when_the_other_end_leaves_before_it_has_said_that_it_knows() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    let theirs = under_way(&mut world);
    world.until(|at, event| (at == place(1) && *event == Event::Received(theirs)).then_some(()));
    let now = world.now;
    world.node(1).conclude(now, theirs, Verdict::Whole).unwrap();
    world.node(2).leave();
    let (_, transfers) = lost(&mut world, 1);
    assert!(matches!(transfers[..], [(id, Ended::Done(Verdict::Whole), _)] if id == theirs));
}

#[test]
fn what_an_end_that_leaves_had_to_say_is_said_before() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    let theirs = under_way(&mut world);
    world.until(|at, event| (at == place(1) && *event == Event::Received(theirs)).then_some(()));
    let now = world.now;
    world.node(1).conclude(now, theirs, Verdict::Whole).unwrap();
    world.node(1).leave();
    assert!(matches!(world.ended(2), (_, Ended::Done(Verdict::Whole))));
    let (said, transfers) = lost(&mut world, 2);
    assert_eq!((said, transfers), (Said::Close, vec![]));
}

/// Each datagram that ever was on the way, and each with a bit changed, from its own and another address.
#[test]
fn replayed_and_forged_datagrams_change_nothing() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    world.seen = Some(Vec::new());
    let channel = world.connect(2);
    let file = file(60_000, 1);
    let now = world.now;
    let own = world.node(2).get(now, channel, "f").unwrap();
    let theirs = world.wanted();
    world
        .node(1)
        .offer(theirs, (Bytes::of(file.len()), Digest([3; 32])), file.clone())
        .unwrap();
    world.offered(2);
    let now = world.now;
    world.node(2).take(now, own, 0, Vec::new()).unwrap();
    while world.node(2).transfer_stats(own).sink.unwrap().packets < 10 {
        world.step(at(60 * SECOND));
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
    let (now, mut out, mut answers) = (world.now, Vec::new(), 0);
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
                node.handle_datagram(now, from, &changed);
                while let Some(to) = node.poll_transmit(now, &mut out) {
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
        world.node(1).handle_datagram(Instant::ZERO, from, &hello);
        assert_eq!(world.node(1).poll_transmit(Instant::ZERO, &mut out), Some(from));
    }
    assert_eq!(world.node(1).poll_timeout(), None, "nothing is kept of them");
    // One with the key opens and never speaks.
    for number in 0..300u32 {
        let nonce: [u8; 16] = std::array::from_fn(|at| number.to_be_bytes()[at % 4]);
        world.node(3).connect(Instant::ZERO, place(1), nonce);
    }
    while world.step(at(SECOND)) {}
    assert!(world.node(1).peer_stats().without_room >= 300 - 64);
    world.connect(2);
}

/// Node 2 opens channels, so many each millisecond, and asks for a file over each that opens; how many node 1 hears of.
fn heard_of(world: &mut World, at_once: u32, times: u64) -> usize {
    for number in 0..times {
        while world.step(at(number * MS)) {}
        for each in 0..at_once {
            let nonce = std::array::from_fn(|at| (number as u32 * at_once + each).to_be_bytes()[at % 4]);
            let now = world.now;
            world.node(2).connect(now, place(1), nonce);
        }
    }
    let mut heard = 0;
    while world.step(at(9 * SECOND)) {
        for (at, event) in std::mem::take(&mut world.events) {
            match event {
                Event::Opened(channel) if at == place(2) => {
                    let now = world.now;
                    world.node(2).get(now, channel, "f").unwrap();
                }
                Event::Wanted { .. } => heard += 1,
                other => assert!(matches!(other, Event::Ended(..)), "{other:?}"),
            }
        }
    }
    heard
}

/// Nobody believes in a channel that made room for another one before its answer had arrived.
#[test]
fn many_that_begin_within_a_round_trip_are_all_heard() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    assert_eq!(heard_of(&mut world, 30, 6), 180);
}

#[test]
fn who_finds_no_room_is_told_so_by_who_has_the_key() {
    let mut world = World::new(&[key(1), key(1), key(1), key(2)], Harm::default(), 1);
    assert_eq!(heard_of(&mut world, 30, 8), 240);
    world.seen = Some(Vec::new());
    let now = world.now;
    for number in 0..20 {
        world.node(3).connect(now, place(1), [number; 16]);
    }
    let other_key = world.node(4).connect(now, place(1), [9; 16]);
    let mut said = Vec::new();
    while world.step(now + 12 * SECOND) {
        // Those of node 2 stay in use.
        for (at, event) in std::mem::take(&mut world.events) {
            match event {
                Event::Opened(channel) if at == place(3) => {
                    let now = world.now;
                    world.node(3).get(now, channel, "f").unwrap();
                }
                Event::Lost {
                    channel,
                    said: Said::Something,
                    ..
                } if at == place(4) => assert_eq!(channel, other_key),
                Event::Lost { said: word, .. } if at == place(3) => said.push(word),
                _ => {}
            }
        }
    }
    assert_eq!(said, vec![Said::Full; 240 + 20 - MAX_CHANNELS]);
    assert!(world.node(1).peer_stats().without_room >= 4);
    let is_full = |datagram: &[u8]| matches!(Packet::decode(datagram), Ok(Packet::Full { .. }));
    let seen = world.seen.replace(Vec::new()).unwrap();
    let full: Vec<_> = seen.iter().filter(|(_, _, datagram)| is_full(datagram)).collect();
    assert!(!full.is_empty() && full.iter().all(|(from, to, _)| *from == place(1) && *to == place(3)));
    // Of another handshake.
    let now = world.now;
    let channel = world.node(3).connect(now, place(1), [99; 16]);
    let mut forged = full[0].2.clone();
    forged[4..8].copy_from_slice(&channel.to_be_bytes());
    let has_asked = |world: &World| {
        let is_open = |datagram: &[u8]| matches!(Packet::decode(datagram), Ok(Packet::Open { channel: asked, .. }) if asked == channel);
        world.seen.iter().flatten().any(|(_, _, datagram)| is_open(datagram))
    };
    while !has_asked(&world) {
        assert!(world.step(now + SECOND));
    }
    let (now, refused) = (world.now, world.node(3).peer_stats().refused);
    world.node(3).handle_datagram(now, place(1), &forged);
    assert_eq!(world.node(3).peer_stats().refused, refused + 1);
}

/// A flood of hellos that are not answered at once is forgotten, and is not before the data that waits.
#[test]
fn a_flood_of_hellos_is_not_in_the_way_of_data() {
    const ANSWERS: usize = 64;
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    let channel = world.connect(2);
    let now = world.now;
    let before = world.node(1).peer_stats().without_room;
    let mut hello = Vec::new();
    Packet::Hello {
        channel: 7,
        nonce: [1; 16],
    }
    .encode(&mut hello);
    for number in 0..10_000u32 {
        let from = SocketAddr::from((number.to_be_bytes(), 9));
        world.node(1).handle_datagram(now, from, &hello);
    }
    assert_eq!(
        world.node(1).peer_stats().without_room - before,
        10_000 - ANSWERS as u64
    );
    world.node(2).get(now, channel, "f").unwrap();
    let theirs = world.wanted();
    assert_eq!(theirs.number, 0, "what is asked for beside it is heard");
    let mut out = Vec::new();
    assert_eq!(world.node(1).poll_transmit(now, &mut out), None, "no answer is left");
}

/// Its cookie is of a secret that is gone: who asks asks for another.
#[test]
fn a_daemon_that_begins_anew_in_mid_handshake_is_reached() {
    let mut world = World::new(&[key(1), key(1)], Harm::default(), 1);
    world.seen = Some(Vec::new());
    let channel = world.node(2).connect(Instant::ZERO, place(1), [2; 16]);
    let has_cookie = |world: &World| {
        world
            .seen
            .iter()
            .flatten()
            .any(|(from, _, datagram)| *from == place(1) && datagram[0] == 2)
    };
    while !has_cookie(&world) {
        assert!(world.step(at(SECOND)));
    }
    let anew = Node::new(&config(true, 99), key(1)).unwrap();
    world.nodes.insert(place(1), anew);
    world.until(|at, event| (at == place(2) && *event == Event::Opened(channel)).then_some(()));
    assert!(world.node(1).peer_stats().without_cookie > 0);
}

#[test]
fn who_cannot_be_sent_to_is_lost_and_others_are_not() {
    let mut world = World::new(&[key(1), key(1), key(1)], Harm::default(), 1);
    let [lost, other] = [world.connect(2), world.connect(3)];
    let now = world.now;
    for (index, channel) in [(2, lost), (3, other)] {
        world.node(index).get(now, channel, "f").unwrap();
    }
    let [first, second] = [world.wanted(), world.wanted()];
    world.node(1).lose(place(2));
    let address = world.until(|at, event| match event {
        Event::Lost { address, .. } if at == place(1) => Some(*address),
        _ => None,
    });
    assert_eq!(address, place(2));
    let offered = [first, second].map(|id| {
        world
            .node(1)
            .offer(id, (Bytes::new(1), Digest([3; 32])), vec![0])
            .is_ok()
    });
    assert_eq!(offered.iter().filter(|is_there| **is_there).count(), 1);
}
