// SPDX-License-Identifier: Apache-2.0
//! UDP sources and sinks, web users, and a stack of endpoints.

use std::net::{Ipv4Addr, SocketAddrV4};

use rand::SeedableRng;
use rand_pcg::Pcg64;
use slotwise_transport::content::{Pattern, PatternCheck};
use slotwise_transport::{
    ANYONE, Algorithm, Arrivals, Endpoint, Event, FlowKey, MAX_OPEN_PAGES, PROTOCOL_UDP, Receiver, ReceiverConfig,
    Sender, SenderConfig, Stack, UdpSink, UdpSource, UdpSourceConfig, WebConfig, WebUser,
};
use slotwise_units::{Bytes, Duration, Instant, Rate};

const A: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 1000);
const B: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 2000);

fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps)
}

fn source(arrivals: Arrivals, seed: u64) -> UdpSource {
    let config = UdpSourceConfig {
        local: A,
        remote: B,
        packet_bytes: 1250,
        arrivals,
        start: at(1000),
        stop: Some(at(10_000_001_000)),
    };
    UdpSource::new(config, Pcg64::seed_from_u64(seed)).unwrap()
}

/// Runs a source to its end; gives its departures and its last packet.
fn departures(mut source: UdpSource) -> (Vec<Instant>, Vec<u8>) {
    let mut times = Vec::new();
    let mut packet = Vec::new();
    while let Some(time) = source.poll_timeout() {
        assert_eq!(source.poll_transmit(time - Duration::from_ns(1), &mut packet), None);
        assert_eq!(source.poll_transmit(time, &mut packet), Some(1250));
        times.push(time);
    }
    (times, packet)
}

#[test]
fn a_constant_source_is_exact_for_ever() {
    // 1250 bytes at 3 Mb/s: one every 3,333,333.3 ns, 3000 in 10 s.
    let (times, _) = departures(source(Arrivals::Constant { rate: rate(3_000_000) }, 1));
    assert_eq!(times.len(), 3000);
    for (i, time) in times.iter().enumerate() {
        assert_eq!(*time, at(1000 + i as u64 * 10_000_000 / 3));
    }
}

#[test]
fn a_poisson_source_has_its_rate_and_exponential_gaps() {
    let (times, _) = departures(source(Arrivals::Poisson { rate: rate(10_000_000) }, 1));
    // Mean 10,000, standard deviation 100.
    assert!((9_600..10_400).contains(&times.len()), "{}", times.len());
    let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]).ns() as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    let variation = variance.sqrt() / mean;
    assert!((variation - 1.0).abs() < 0.03, "{variation}");
    assert_eq!(
        times,
        departures(source(Arrivals::Poisson { rate: rate(10_000_000) }, 1)).0
    );
    assert_ne!(
        times,
        departures(source(Arrivals::Poisson { rate: rate(10_000_000) }, 2)).0
    );
}

#[test]
fn an_on_off_source_sends_bursts_at_its_peak() {
    let arrivals = Arrivals::OnOffPareto {
        peak: rate(30_000_000),
        mean_on: Duration::from_ms(5),
        mean_off: Duration::from_ms(15),
        shape: 1.9,
    };
    let (times, _) = departures(source(arrivals, 3));
    let gaps: Vec<u64> = times.windows(2).map(|w| (w[1] - w[0]).ns()).collect();
    assert!(gaps.iter().all(|gap| *gap >= 333_333), "never above the peak");
    let in_bursts = gaps.iter().filter(|gap| **gap <= 333_334).count();
    assert!(in_bursts > gaps.len() * 9 / 10);
    // A quarter of the peak on average: 7,500 of 30,000; the tail is heavy, so the band is wide.
    assert!((5_000..10_000).contains(&times.len()), "{}", times.len());
}

#[test]
fn a_sink_counts_delay_and_what_is_missing() {
    let mut source = source(Arrivals::Constant { rate: rate(1_000_000) }, 1);
    let mut sink = UdpSink::new(B, Some(A));
    let mut packet = Vec::new();
    for i in 0..10 {
        let now = source.poll_timeout().unwrap();
        source.poll_transmit(now, &mut packet).unwrap();
        if i % 5 != 1 {
            sink.handle_segment(now + Duration::from_ns(700 + i), &packet);
        }
    }
    let stats = sink.stats();
    assert_eq!(
        (stats.packets, stats.numbered, stats.missing(), stats.bytes),
        (8, 10, 2, Bytes::new(10_000))
    );
    assert_eq!((stats.delay_max, stats.late), (Duration::from_ns(709), 0));
    packet[30] ^= 1;
    sink.handle_segment(Instant::ZERO, &packet);
    assert_eq!(sink.stats().malformed, 1);
}

#[test]
fn sources_that_cannot_work_are_refused_with_the_reason() {
    let refused = |change: &dyn Fn(&mut UdpSourceConfig)| {
        let mut config = UdpSourceConfig {
            local: A,
            remote: B,
            packet_bytes: 100,
            arrivals: Arrivals::Constant { rate: rate(1) },
            start: Instant::ZERO,
            stop: None,
        };
        change(&mut config);
        let error = UdpSource::new(config, Pcg64::seed_from_u64(1)).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        refused(&|c| c.packet_bytes = 43),
        "packet_bytes: expected 44 to 65535, got 43"
    );
    assert!(refused(&|c| c.arrivals = Arrivals::Poisson { rate: rate(0) }).starts_with("rate_bps: expected"));
    let shape = Arrivals::OnOffPareto {
        peak: rate(1),
        mean_on: Duration::from_ns(1),
        mean_off: Duration::from_ns(1),
        shape: 1.0,
    };
    assert!(refused(&|c| c.arrivals = shape).starts_with("shape: expected over 1"));
}

#[test]
fn a_web_user_thinks_fetches_and_thinks_again() {
    let config = WebConfig {
        mean_think: Duration::from_ns(1_000_000_000),
        open: false,
        mean_size: Bytes::new(12_000),
        shape: Some(1.2),
        max_size: Bytes::new(10_000_000),
    };
    let mut user = WebUser::new(config, at(5), Pcg64::seed_from_u64(1)).unwrap();
    let mut thought = Duration::ZERO;
    let mut sizes = Vec::new();
    let mut now = at(5);
    for _ in 0..5000 {
        let until = user.poll_timeout().unwrap();
        assert_eq!(user.poll(until - Duration::from_ns(1)), None);
        thought += until - now;
        sizes.push(user.poll(until).unwrap().get());
        assert_eq!(
            (user.poll_timeout(), user.poll(Instant::MAX)),
            (None, None),
            "one at a time"
        );
        now = until + Duration::from_ms(1);
        user.finished(now);
    }
    assert_eq!(user.pages(), 5000);
    let mean = thought.ns() / 5000;
    assert!((950_000_000..1_050_000_000).contains(&mean), "{mean}");
    sizes.sort_unstable();
    // Smallest 12000 * 0.2 / 1.2 = 2000; median 2000 * 2^(1/1.2) = 3564.
    assert!(sizes[0] >= 2000 && sizes[4999] <= 10_000_000);
    assert!((3400..3750).contains(&sizes[2500]), "{}", sizes[2500]);
}

#[test]
fn an_open_user_asks_at_its_times_whatever_is_under_way() {
    let config = WebConfig {
        mean_think: Duration::from_ns(1_000_000),
        open: true,
        mean_size: Bytes::new(12_000),
        shape: Some(1.5),
        max_size: Bytes::new(10_000_000),
    };
    let starts = |ends: bool, polls_late: bool| -> Vec<Instant> {
        let mut user = WebUser::new(config, at(0), Pcg64::seed_from_u64(7)).unwrap();
        let mut starts = Vec::new();
        while let Some(due) = user.poll_timeout() {
            if starts.len() == 5000 {
                break;
            }
            starts.push(due);
            assert!(user.poll(due + u64::from(polls_late) * Duration::from_us(10)).is_some());
            if ends {
                user.finished(due + Duration::from_ms(50));
            }
        }
        starts
    };
    let free = starts(true, false);
    assert_eq!(free.len(), 5000);
    assert_eq!(
        free,
        starts(true, true),
        "the next request counts from when this one was due"
    );
    let mean = free[4999].ns() / 5000;
    assert!((950_000..1_050_000).contains(&mean), "{mean}");
    let stuck = starts(false, false);
    assert_eq!(
        stuck,
        free[..MAX_OPEN_PAGES as usize],
        "so many overlap, and then the next one waits"
    );
}

#[test]
fn an_open_user_with_all_its_pages_under_way_asks_as_soon_as_one_ends() {
    let config = WebConfig {
        mean_think: Duration::from_ns(1_000),
        open: true,
        mean_size: Bytes::new(12_000),
        shape: None,
        max_size: Bytes::new(10_000_000),
    };
    let mut user = WebUser::new(config, at(0), Pcg64::seed_from_u64(1)).unwrap();
    for _ in 0..MAX_OPEN_PAGES {
        assert!(user.poll(Instant::MAX).is_some());
    }
    assert_eq!((user.poll_timeout(), user.poll(Instant::MAX)), (None, None));
    user.finished(at(1_000_000_000));
    assert!(
        user.poll_timeout().is_some_and(|due| due < at(1_000_000_000)),
        "it is late"
    );
    assert!(user.poll(at(1_000_000_000)).is_some() && user.poll(Instant::MAX).is_none());
}

#[test]
fn pages_without_a_tail_have_exponential_sizes() {
    let config = WebConfig {
        mean_think: Duration::from_ns(1_000),
        open: false,
        mean_size: Bytes::new(12_000),
        shape: None,
        max_size: Bytes::new(10_000_000),
    };
    let mut user = WebUser::new(config, at(0), Pcg64::seed_from_u64(1)).unwrap();
    let mut sizes: Vec<u64> = (0..5000)
        .map(|_| {
            let due = user.poll_timeout().unwrap();
            let bytes = user.poll(due).unwrap().get();
            user.finished(due);
            bytes
        })
        .collect();
    sizes.sort_unstable();
    let mean = sizes.iter().sum::<u64>() / 5000;
    assert!((11_500..12_500).contains(&mean), "{mean}");
    // 12000 ln 2 = 8318.
    assert!((8000..8700).contains(&sizes[2500]), "{}", sizes[2500]);
}

#[test]
fn a_stack_hands_packets_to_their_endpoints_and_keeps_their_timers() {
    let mut left: Stack<Box<dyn Endpoint>> = Stack::default();
    let mut right: Stack<Box<dyn Endpoint>> = Stack::default();
    let key = |source, destination, protocol| FlowKey {
        source,
        destination,
        protocol,
    };
    let sender = Sender::new(
        SenderConfig::new(A, B, Algorithm::NewReno),
        Some(Bytes::new(50_000)),
        Pattern::new(1),
    )
    .unwrap();
    assert!(left.insert(key(B, A, 6), Box::new(sender)).is_ok());
    let receiver = Receiver::new(ReceiverConfig::new(B), PatternCheck::new(Pattern::new(1))).unwrap();
    assert!(right.insert(key(ANYONE, B, 6), Box::new(receiver)).is_ok());
    let udp = source(Arrivals::Constant { rate: rate(1_000_000) }, 1);
    assert!(left.insert(key(B, A, PROTOCOL_UDP), Box::new(udp)).is_ok());
    let again = source(Arrivals::Constant { rate: rate(1_000_000) }, 1);
    assert!(left.insert(key(B, A, PROTOCOL_UDP), Box::new(again)).is_err(), "taken");

    // No delay at all: hand over until nobody has anything, then jump to the next timer.
    let mut now = Instant::ZERO;
    let mut events = Vec::new();
    let mut packet = Vec::new();
    for _ in 0..50 {
        left.handle_timeout(now);
        loop {
            let mut quiet = true;
            while left.poll_transmit(now, &mut packet).is_some() {
                right.handle_segment(now, &packet);
                quiet = false;
            }
            while right.poll_transmit(now, &mut packet).is_some() {
                left.handle_segment(now, &packet);
                quiet = false;
            }
            if quiet {
                break;
            }
        }
        while let Some((flow, event)) = left.poll_event() {
            assert_eq!(flow, key(B, A, 6));
            events.push(event);
        }
        now = left.poll_timeout().unwrap();
    }
    assert_eq!(events, [Event::Connected, Event::Finished, Event::Closed]);
    assert_eq!(right.stats().unclaimed, 49, "UDP has nobody there");
    assert!(left.remove(&key(B, A, PROTOCOL_UDP)).is_some());
    assert_eq!(left.poll_timeout(), None);
    right.handle_segment(Instant::ZERO, b"garbage");
    assert_eq!(right.stats().malformed, 1);
}
