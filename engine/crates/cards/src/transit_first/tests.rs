// SPDX-License-Identifier: Apache-2.0
//! The card alone.

use super::*;

/// 8 Gb/s: a byte a nanosecond.
const SETTINGS: Settings = Settings {
    rate: Rate::from_bps(8_000_000_000),
    frame: Bytes::new(1500),
    bucket: Bytes::new(3000),
    buffer: Bytes::new(100_000),
    shaper: None,
};
const MS: u64 = 1_000_000;

fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

fn bytes(bytes: u64) -> Bytes {
    Bytes::new(bytes)
}

fn card() -> TransitFirst<&'static str> {
    TransitFirst::new(SETTINGS)
}

/// Packets that leave until `end_ns`, with their times.
fn run(card: &mut TransitFirst<&'static str>, mut now_ns: u64, end_ns: u64) -> Vec<(u64, &'static str)> {
    let mut sent = Vec::new();
    while now_ns <= end_ns {
        match card.poll(at(now_ns)) {
            Next::Send { packet, .. } => sent.push((now_ns, packet)),
            Next::At(next) => {
                assert!(next > at(now_ns), "no progress at {now_ns}");
                now_ns = next.ns();
            }
            Next::Idle => break,
        }
    }
    sent
}

#[test]
fn transit_goes_first_then_messages_then_committed_then_fair() {
    let mut card = card();
    card.add(at(0), 3, "fair", bytes(100)).unwrap();
    card.add(at(0), 512 + 3, "committed", bytes(100)).unwrap();
    assert_eq!(card.tell("older message", bytes(64)), None);
    assert_eq!(card.tell("message", bytes(64)), Some("older message"));
    card.pass_on(at(0), "transit", bytes(1000)).unwrap();
    let sent = run(&mut card, 0, MS);
    assert_eq!(
        sent,
        [(0, "transit"), (1000, "message"), (1064, "committed"), (1164, "fair")]
    );
}

#[test]
fn a_packet_that_has_begun_ends_before_transit() {
    let mut card = card();
    card.add(at(0), 3, "fair", bytes(1500)).unwrap();
    assert!(matches!(
        card.poll(at(0)),
        Next::Send {
            packet: "fair",
            duration,
            ..
        } if duration.ns() == 1500
    ));
    card.pass_on(at(700), "transit", bytes(100)).unwrap();
    assert_eq!(card.poll(at(700)), Next::At(at(1500)));
    assert!(matches!(card.poll(at(1500)), Next::Send { packet: "transit", .. }));
}

#[test]
fn queues_take_turns() {
    let mut card = card();
    for _ in 0..3 {
        card.add(at(0), 1, "a", bytes(100)).unwrap();
        card.add(at(0), 4, "b", bytes(100)).unwrap();
    }
    let names: String = run(&mut card, 0, MS).iter().map(|(_, name)| *name).collect();
    assert_eq!(names, "ababab");
}

#[test]
fn what_is_committed_takes_no_turn_of_the_fair_queues() {
    let mut card = card();
    let mut now_ns = 0;
    let mut sent = BTreeMap::<&str, u64>::new();
    for turn in 0..300 {
        let committed: &[_] = match turn % 3 {
            1 => &[(512 + 3, "committed"), (768 + 3, "reserved")],
            _ => &[],
        };
        for &(queue, name) in committed.iter().chain(&[(1, "near"), (4, "far")]) {
            if !card.queues.contains_key(&queue) {
                card.add(at(now_ns), queue, name, bytes(100)).unwrap();
            }
        }
        let Next::Send { packet, .. } = card.poll(at(now_ns)) else {
            panic!("there is always something")
        };
        *sent.entry(packet).or_default() += 1;
        now_ns += 100;
    }
    let expected = [("committed", 100), ("far", 50), ("near", 50), ("reserved", 100)];
    assert_eq!(sent, BTreeMap::from(expected));
}

#[test]
fn a_limit_lets_a_bucket_go_and_then_its_rate() {
    let mut card = card();
    card.set_limits(
        at(0),
        &[AddLimit {
            hops: 0,
            rate: 1_000_000,
        }],
    );
    for _ in 0..5 {
        card.add(at(0), 3, "x", bytes(1000)).unwrap();
    }
    let times: Vec<u64> = run(&mut card, 0, 10 * MS).iter().map(|(at_ns, _)| *at_ns).collect();
    // 1000 bytes at a byte a microsecond.
    assert_eq!(times, [0, 1000, 2000, MS, 2 * MS]);
}

#[test]
fn a_limit_is_about_what_goes_further_and_is_fair() {
    let mut card = card();
    card.set_limits(at(0), &[AddLimit { hops: 2, rate: 0 }]);
    for queue in [2, 3, 256 + 3, 512 + 3] {
        for _ in 0..4 {
            card.add(
                at(0),
                queue,
                if queue == 2 {
                    "near"
                } else if queue > 511 {
                    "committed"
                } else {
                    "far"
                },
                bytes(1000),
            )
            .unwrap();
        }
    }
    let sent = run(&mut card, 0, MS);
    let count = |name| sent.iter().filter(|(_, sent)| *sent == name).count();
    assert_eq!(
        (count("near"), count("committed"), count("far")),
        (4, 4, 3),
        "a bucket of three for all that goes far"
    );
    assert_eq!(card.poll(at(2 * MS)), Next::At(Instant::MAX));
}

#[test]
fn what_is_limited_further_on_leaves_the_rest_to_what_goes_less_far() {
    let mut card = card();
    let limits = [
        AddLimit {
            hops: 0,
            rate: 4_000_000,
        },
        AddLimit {
            hops: 3,
            rate: 1_000_000,
        },
    ];
    card.set_limits(at(0), &limits);
    let mut now_ns = 0;
    let mut sent = BTreeMap::<&str, u64>::new();
    while now_ns < 100 * MS {
        for (queue, name) in [(1, "near"), (4, "far")] {
            if !card.queues.contains_key(&queue) {
                card.add(at(now_ns), queue, name, bytes(1000)).unwrap();
            }
        }
        match card.poll(at(now_ns)) {
            Next::Send { packet, .. } => *sent.entry(packet).or_default() += 1000,
            Next::At(next) => now_ns = next.ns(),
            Next::Idle => unreachable!("there is always something"),
        }
    }
    // In 100 ms: 400,000 bytes, of which 100,000 far; and a bucket of each.
    assert!((99_000..=103_000).contains(&sent["far"]), "{sent:?}");
    assert!((297_000..=303_000).contains(&sent["near"]), "{sent:?}");
}

#[test]
fn a_change_of_rate_does_not_fill_the_bucket() {
    let mut card = card();
    card.set_limits(
        at(0),
        &[AddLimit {
            hops: 0,
            rate: 1_000_000,
        }],
    );
    for _ in 0..3 {
        card.add(at(0), 3, "x", bytes(1000)).unwrap();
    }
    assert_eq!(run(&mut card, 0, 5000).len(), 3);
    for now_ns in [5000, 6000] {
        card.set_limits(
            at(now_ns),
            &[AddLimit {
                hops: 0,
                rate: 2_000_000,
            }],
        );
    }
    card.add(at(6000), 3, "x", bytes(1000)).unwrap();
    let Next::At(next) = card.poll(at(6000)) else {
        panic!("it is not held back")
    };
    assert!((500_000..504_000).contains(&next.ns()), "{next}");
    card.set_limits(
        at(6000),
        &[AddLimit {
            hops: 0,
            rate: NO_LIMIT,
        }],
    );
    assert!(matches!(card.poll(at(6000)), Next::Send { .. }));
}

#[test]
fn a_limit_that_comes_and_goes_fills_no_bucket() {
    let mut card = card();
    for _ in 0..30 {
        card.add(at(0), 9, "x", bytes(1000)).unwrap();
    }
    let (near, far) = (
        AddLimit {
            hops: 3,
            rate: 1_500_000,
        },
        AddLimit {
            hops: 7,
            rate: 1_000_000,
        },
    );
    let mut sent = 0;
    // In 10 ms: a bucket, and no more than 15 packets at the higher rate.
    for interval in 0..100 {
        let now_ns = interval * 100_000;
        let limits = if interval % 5 == 0 { vec![near] } else { vec![near, far] };
        card.set_limits(at(now_ns), &limits);
        sent += run(&mut card, now_ns, now_ns + 99_999).len();
    }
    assert!((12..=15).contains(&sent), "{sent}");
}

#[test]
fn a_limit_of_another_link_fills_no_bucket() {
    let mut card = card();
    for _ in 0..20 {
        card.add(at(0), 9, "x", bytes(1000)).unwrap();
    }
    let mut sent = 0;
    // In 10 ms at a byte a microsecond: a bucket and 10 packets, whichever link the limit is of.
    for interval in 0..100 {
        let now_ns = interval * 100_000;
        let hops = [3, 7, 5][interval as usize % 3];
        card.set_limits(at(now_ns), &[AddLimit { hops, rate: 1_000_000 }]);
        sent += run(&mut card, now_ns, now_ns + 99_999).len();
    }
    assert!((12..=13).contains(&sent), "{sent}");
}

#[test]
fn what_waits_for_its_limit_takes_no_room_from_what_goes_less_far() {
    let mut card: TransitFirst<&str> = TransitFirst::new(Settings {
        buffer: bytes(10_000),
        ..SETTINGS
    });
    card.set_limits(at(0), &[AddLimit { hops: 2, rate: 0 }]);
    for _ in 0..9 {
        card.add(at(0), 9, "far", bytes(1000)).unwrap();
    }
    assert_eq!(
        card.add(at(0), 9, "far too late", bytes(10)),
        Err((DropCause::QueueFull, "far too late")),
        "a long one would find no room either"
    );
    assert_eq!(
        card.add(at(0), 1, "near", bytes(1500)),
        Err((DropCause::QueueFull, "far"))
    );
    assert_eq!(
        card.add(at(0), 1, "far", bytes(1500)),
        Err((DropCause::QueueFull, "far"))
    );
    assert_eq!(
        card.add(at(0), 1, "near", bytes(1500)),
        Err((DropCause::QueueFull, "near")),
        "one packet is not room enough"
    );
    assert_eq!(card.buffered_bytes().get(), 10_000);
    let sent = run(&mut card, 0, MS);
    assert_eq!(sent.iter().filter(|(_, name)| *name == "near").count(), 1);
}

#[test]
fn room_is_taken_from_the_queue_with_most_bytes_not_with_most_packets() {
    let mut card: TransitFirst<&str> = TransitFirst::new(Settings {
        buffer: bytes(10_000),
        ..SETTINGS
    });
    for _ in 0..3 {
        card.add(at(0), 9, "long", bytes(1500)).unwrap();
    }
    for _ in 0..9 {
        card.add(at(0), 8, "short", bytes(450)).unwrap();
    }
    assert_eq!(
        card.add(at(0), 1, "comer", bytes(1000)),
        Err((DropCause::QueueFull, "long"))
    );
}

#[test]
fn what_is_committed_gives_no_room_to_what_is_fair() {
    let mut card: TransitFirst<&str> = TransitFirst::new(Settings {
        buffer: bytes(10_000),
        ..SETTINGS
    });
    for _ in 0..6 {
        card.add(at(0), 512 + 3, "committed", bytes(1000)).unwrap();
    }
    for _ in 0..3 {
        card.add(at(0), 3, "fair", bytes(1000)).unwrap();
    }
    assert_eq!(
        card.add(at(0), 1, "comer", bytes(1000)),
        Err((DropCause::QueueFull, "fair"))
    );
    assert_eq!(
        card.add(at(0), 768 + 1, "reserved", bytes(1000)),
        Err((DropCause::QueueFull, "committed"))
    );
    let sent = run(&mut card, 0, MS);
    let count = |name| sent.iter().filter(|(_, sent)| *sent == name).count();
    assert_eq!(
        (count("committed"), count("reserved"), count("fair"), count("comer")),
        (5, 1, 2, 1)
    );
}

#[test]
fn the_shaper_is_one_packet_deep_and_its_buffer_has_an_end() {
    let mut card: TransitFirst<&str> = TransitFirst::new(Settings {
        shaper: Some(Rate::from_bps(8_000_000)),
        buffer: bytes(3500),
        ..SETTINGS
    });
    for _ in 0..3 {
        card.add(at(0), 3, "x", bytes(1000)).unwrap();
    }
    assert_eq!(card.add(at(0), 3, "x", bytes(1)), Err((DropCause::QueueFull, "x")));
    let times: Vec<u64> = run(&mut card, 0, 10 * MS).iter().map(|(at_ns, _)| *at_ns).collect();
    assert_eq!(times, [0, MS, 2 * MS]);
    assert_eq!(card.buffered_bytes(), Bytes::ZERO);
    assert_eq!(
        card.add(at(0), 3, "long", bytes(1501)),
        Err((DropCause::TooLong, "long")),
        "no frame is longer"
    );
}

#[test]
fn what_is_committed_does_not_wait_for_the_shaper_but_counts() {
    let mut card: TransitFirst<&str> = TransitFirst::new(Settings {
        shaper: Some(Rate::from_bps(8_000_000)),
        buffer: bytes(4500),
        ..SETTINGS
    });
    for _ in 0..3 {
        card.add(at(0), 3, "fair", bytes(1000)).unwrap();
    }
    card.add(at(0), 512 + 3, "committed", bytes(500)).unwrap();
    // The last one that waits gives it room, and the time that it would have taken.
    assert_eq!(
        card.add(at(0), 512 + 3, "committed", bytes(500)),
        Err((DropCause::QueueFull, "fair"))
    );
    card.add(at(0), 3, "late", bytes(500)).unwrap();
    let sent = run(&mut card, 0, 10 * MS);
    let committed = [(0, "committed"), (500, "committed")];
    assert_eq!(
        sent,
        [&committed[..], &[(1000, "fair"), (MS, "fair"), (3 * MS, "late")]].concat()
    );
    assert_eq!(card.buffered_bytes(), Bytes::ZERO);
}

#[test]
fn being_held_back_counts_from_when_limits_would_have_let_it_go() {
    let mut card = TransitFirst::new(Settings {
        frame: bytes(MS),
        buffer: bytes(10 * MS),
        ..SETTINGS
    });
    card.set_limits(
        at(0),
        &[AddLimit {
            hops: 0,
            rate: 1_000_000,
        }],
    );
    for _ in 0..4 {
        card.add(at(0), 3, "x", bytes(1000)).unwrap();
    }
    assert_eq!(run(&mut card, 0, 3000).len(), 3);
    let report = card.end_interval(at(4000));
    assert_eq!(
        (report.hol_delay.ns(), report.added_bytes.get()),
        (1000, 3000),
        "of the packet before it"
    );
    // The fourth may go at 1 ms; the link is busy with transit until 1.2 ms.
    card.pass_on(at(4000), "transit", bytes(1_200_000 - 4000)).unwrap();
    assert!(matches!(card.poll(at(4000)), Next::Send { packet: "transit", .. }));
    assert_eq!(card.end_interval(at(MS + 100_000)).hol_delay.ns(), 100_000);
    assert!(matches!(card.poll(at(1_200_000)), Next::Send { packet: "x", .. }));
    assert_eq!(card.end_interval(at(1_300_000)).hol_delay.ns(), 200_000);
    assert_eq!(card.end_interval(at(1_400_000)).hol_delay.ns(), 0);
}

#[test]
fn the_insertion_buffer_holds_what_came_while_a_packet_was_added() {
    let mut card = card();
    let (mut next_ns, mut most) = (0, 0);
    for now_ns in 0..100_000u64 {
        // Transit as fast as the link carries it, with gaps in which a packet may begin.
        if now_ns % 500 == 0 && now_ns % 10_000 >= 2000 {
            card.pass_on(at(now_ns), "transit", bytes(500)).unwrap();
            most = most.max(card.transit_bytes().get());
        }
        if now_ns % 1000 == 0 {
            // Its buffer may be full.
            let _ = card.add(at(now_ns), 3, "x", bytes(1500));
        }
        if now_ns >= next_ns {
            next_ns = match card.poll(at(now_ns)) {
                Next::Send { duration, .. } => now_ns + duration.ns(),
                Next::At(next) => next.ns(),
                Next::Idle => now_ns + 1,
            };
        }
    }
    assert!((1500..=2 * 1500).contains(&most), "{most}");
}

#[test]
fn the_insertion_buffer_holds_two_of_the_longest_frames_whatever_the_bucket_is() {
    let mut card: TransitFirst<&str> = TransitFirst::new(Settings {
        bucket: bytes(65_535),
        ..SETTINGS
    });
    assert_eq!(card.pass_on(at(0), "first", bytes(1500)), Ok(()));
    assert_eq!(card.pass_on(at(0), "second", bytes(1500)), Ok(()));
    assert_eq!(card.pass_on(at(0), "third", bytes(64)), Err("third"));
    assert_eq!(card.transit_bytes().get(), 3000);
    assert_eq!(
        card.add(at(0), 3, "long", bytes(1501)),
        Err((DropCause::TooLong, "long"))
    );
    assert!(matches!(card.poll(at(0)), Next::Send { packet: "first", .. }));
    assert_eq!(card.pass_on(at(0), "third", bytes(64)), Ok(()));
}
