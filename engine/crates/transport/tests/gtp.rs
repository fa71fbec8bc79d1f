// SPDX-License-Identifier: Apache-2.0
//! GTP between hosts on wires with delay and loss.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use proptest::prelude::*;
use slotwise_lambda::{Draws, Rule, Steps};
use slotwise_transport::Event;
use slotwise_transport::content::{Pattern, PatternCheck};
use slotwise_transport::gtp::message::{Data, Grant, LossList, Message, Request};
use slotwise_transport::gtp::{Host, HostConfig, OVERHEAD, Offer, SessionKey, SinkConfig};
use slotwise_units::{Bytes, Duration, Instant, Rate};

const MS: Duration = Duration::from_ms(1);
const S: Duration = Duration::from_s(1);
const CAPACITY: Rate = Rate::from_bps(1_000_000_000);
const INTERVAL: Duration = Duration::from_ms(50);
const PORT: u16 = 7000;

/// The point in time so long after the start.
fn at(since: Duration) -> Instant {
    Instant::ZERO + since
}

fn config(capacity: Rate, seed: u64) -> HostConfig {
    HostConfig {
        capacity,
        interval: INTERVAL,
        phase: at(seed * 7 * MS),
        rule: Rule::default(),
        steps: Steps::default(),
        packet_bytes: 1500,
        catch_up: Duration::from_us(1),
        seed,
    }
}

fn address(host: usize) -> SocketAddrV4 {
    SocketAddrV4::new([10, 0, 0, host as u8 + 1].into(), PORT)
}

fn key(local: usize, remote: usize) -> SessionKey {
    SessionKey {
        local: address(local),
        remote: address(remote),
        number: 5,
    }
}

/// What a wire does with a packet that enters it now.
type Wire = Box<dyn FnMut(Instant, &[u8]) -> bool>;

/// Hosts, each wired to each; `keeps` says of a packet whether it arrives.
struct Net {
    hosts: Vec<Host<Pattern, PatternCheck>>,
    under_way: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    delay: Duration,
    keeps: Wire,
    now: Instant,
    count: u64,
    /// (time, host, IP bytes) of what hosts sent.
    sent: Vec<(Instant, usize, usize)>,
    finished: Vec<(usize, SessionKey)>,
}

impl Net {
    fn new(hosts: usize, delay: Duration, keeps: Wire) -> Net {
        let host = |seed| Host::new(config(CAPACITY, seed as u64)).unwrap();
        Net {
            hosts: (0..hosts).map(host).collect(),
            under_way: BTreeMap::new(),
            delay,
            keeps,
            now: Instant::ZERO,
            count: 0,
            sent: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// `from` has the bytes of a pattern, `to` asks for `length` of them, 0 without end.
    fn open(&mut self, from: usize, to: usize, length: Bytes, limit: Option<Rate>) {
        let pattern = Pattern::new(9);
        let offer = Offer {
            length: None,
            limit,
            steps: None,
            begin: Rate::ZERO,
        };
        self.hosts[from].offer(key(from, to), offer, pattern).unwrap();
        let request = Request {
            block_bytes: self.hosts[to].block_bytes(),
            offset: 1000,
            length,
            wanted: Rate::ZERO,
        };
        let sink = SinkConfig {
            request,
            steps: None,
            begin: Rate::ZERO,
        };
        let check = PatternCheck::new(pattern);
        self.hosts[to].request(self.now, key(to, from), sink, check).unwrap();
    }

    fn send(&mut self) {
        let mut packet = Vec::new();
        for host in 0..self.hosts.len() {
            while self.hosts[host].poll_transmit(self.now, &mut packet).is_some() {
                self.sent.push((self.now, host, packet.len()));
                if (self.keeps)(self.now, &packet) {
                    self.count += 1;
                    let to = usize::from(packet[19]) - 1;
                    let place = (self.now + self.delay, self.count);
                    self.under_way.insert(place, (to, packet.clone()));
                }
            }
            while let Some((key, event)) = self.hosts[host].poll_event() {
                assert_eq!(event, Event::Finished);
                self.finished.push((host, key));
            }
        }
    }

    fn run_until(&mut self, end: Duration) {
        let end = at(end);
        self.send();
        loop {
            let arrival = self.under_way.first_key_value().map(|((time, _), _)| *time);
            let timers = self.hosts.iter().filter_map(Host::poll_timeout);
            let Some(next) = timers.chain(arrival).min().filter(|next| *next < end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            while let Some(entry) = self.under_way.first_entry()
                && entry.key().0 <= self.now
            {
                let (to, packet) = entry.remove();
                self.hosts[to].handle_packet(self.now, &packet);
            }
            for host in &mut self.hosts {
                host.handle_timeout(self.now);
            }
            self.send();
        }
    }
}

fn lossless() -> Wire {
    Box::new(|_, _| true)
}

#[test]
fn one_session_rises_to_the_capacity_and_its_packets_are_even() {
    let mut net = Net::new(2, 25 * MS, lossless());
    net.open(0, 1, Bytes::ZERO, Some(CAPACITY));
    net.run_until(4 * S);
    // II.13: 1500 bytes at 1 Gb/s each 12 us.
    let data = net
        .sent
        .iter()
        .filter(|(time, host, _)| *host == 0 && *time >= at(3 * S));
    let times: Vec<Instant> = data.map(|(time, ..)| *time).collect();
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let off = gaps.iter().filter(|gap| **gap != Duration::from_us(12)).count();
    assert!(gaps.len() > 83_000, "{} packets in a second", gaps.len());
    // The knife's edge of the printed rule is above the limit, so nothing disturbs it.
    assert_eq!(off, 0, "packets of a full rate are 12 us apart");
    let sink = net.hosts[1].sink_stats(&key(1, 0)).unwrap();
    assert_eq!((sink.lost_packets, sink.lists, sink.refused), (0, 0, 0));
    assert_eq!(net.hosts[1].content(&key(1, 0)).unwrap().wrong(), Bytes::ZERO);
    assert!(sink.rtt.is_some_and(|rtt| (50 * MS..51 * MS).contains(&rtt)));
}

#[test]
fn a_host_calculates_at_its_own_phase_from_the_beginning_on() {
    for seed in [0, 3, 5] {
        let mut host: Host<Pattern, PatternCheck> = Host::new(config(CAPACITY, seed)).unwrap();
        let request = Request {
            block_bytes: host.block_bytes(),
            offset: 0,
            length: Bytes::ZERO,
            wanted: Rate::ZERO,
        };
        let sink = SinkConfig {
            request,
            steps: None,
            begin: Rate::ZERO,
        };
        host.request(Instant::ZERO, key(1, 0), sink, PatternCheck::new(Pattern::new(1)))
            .unwrap();
        // At time 0 itself the interval begins that ends a whole one later.
        let phase = if seed == 0 { INTERVAL } else { seed * 7 * MS };
        assert_eq!(host.poll_timeout(), Some(at(phase)));
        host.handle_timeout(at(phase));
        assert_eq!(host.poll_timeout(), Some(at(phase + INTERVAL)));
    }
}

#[test]
fn what_is_sent_is_what_both_ends_granted() {
    let mut net = Net::new(3, 10 * MS, lossless());
    net.open(0, 2, Bytes::ZERO, None);
    net.open(1, 2, Bytes::ZERO, None);
    let mut before = [Bytes::ZERO; 2];
    for step in 1..400 {
        let end = step * 10 * MS;
        // Of grants that change within the step the larger one bounds what is sent.
        let granted = |net: &Net| {
            [0, 1].map(|from: usize| {
                let stats = net.hosts[from].source_stats(&key(from, 2)).unwrap();
                stats.sink_granted.min(stats.own_granted)
            })
        };
        let first = granted(&net);
        net.run_until(end);
        let last = granted(&net);
        for from in [0, 1] {
            let stats = net.hosts[from].source_stats(&key(from, 2)).unwrap();
            let sent_bits = (stats.packet_bytes - before[from]).get() * 8;
            before[from] = stats.packet_bytes;
            let most_bits = first[from].max(last[from]).bps() / 100;
            assert!(
                sent_bits <= most_bits + 2 * 12_000,
                "{sent_bits} bits sent, {most_bits} granted at {end}"
            );
        }
    }
    let rates = [0, 1].map(|from| net.hosts[2].sink_stats(&key(2, from)).unwrap().granted);
    for rate in rates {
        let share = rate.bps() as f64 / CAPACITY.bps() as f64;
        assert!(
            (0.48..0.53).contains(&share),
            "half of the sink, up to 3 % more: {rates:?}"
        );
    }
}

#[test]
fn a_grant_that_is_not_renewed_halves_each_interval() {
    const SILENT: Duration = Duration::from_s(4);
    let wire = Box::new(|now, packet: &[u8]| now < at(SILENT) || packet[15] != 2);
    let mut net = Net::new(2, MS, wire);
    net.open(0, 1, Bytes::ZERO, None);
    net.run_until(SILENT);
    let packets_from = |net: &Net, from: Duration| {
        let of_source = net.sent.iter().filter(|(_, host, _)| *host == 0);
        let within = of_source.filter(|(time, ..)| (at(from)..at(from + INTERVAL)).contains(time));
        within.count() as f64
    };
    net.run_until(SILENT + 20 * INTERVAL);
    let full = packets_from(&net, SILENT - INTERVAL);
    let held = packets_from(&net, SILENT + INTERVAL);
    assert!(held > 0.95 * full, "a grant holds three intervals: {held} of {full}");
    let later = packets_from(&net, SILENT + 5 * INTERVAL);
    assert!(
        (0.05 * full..0.3 * full).contains(&later),
        "{later} of {full} two halvings later"
    );
    assert!(packets_from(&net, SILENT + 15 * INTERVAL) < 0.001 * full);
    assert!(net.hosts[0].source_stats(&key(0, 1)).unwrap().expired > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_loss_pattern_comes_through(
        seed in 0u64..1000,
        loss in prop::sample::select(vec![0.0001, 0.01, 0.2]),
        outage in prop::bool::ANY,
        length in prop::sample::select(vec![1u64, 1449, 100_000, 3_000_000]),
    ) {
        let mut draws = Draws::new(seed, 1);
        let wire = Box::new(move |now: Instant, _: &[u8]| {
            let is_dark = outage && (600 * MS..700 * MS).contains(&(now.since_start() % S));
            draws.uniform(0.0, 1.0) >= loss && !is_dark
        });
        let mut net = Net::new(2, 5 * MS, wire);
        let length = Bytes::new(length);
        net.open(0, 1, length, Some(Rate::from_bps(200_000_000)));
        net.run_until(60 * S);
        let sink = net.hosts[1].sink_stats(&key(1, 0)).unwrap();
        prop_assert_eq!((sink.received, sink.in_order), (length, length));
        let content = net.hosts[1].content(&key(1, 0)).unwrap();
        prop_assert_eq!((content.bytes(), content.wrong()), (length, Bytes::ZERO));
        prop_assert_eq!(&net.finished, &[(1, key(1, 0))]);
        prop_assert_eq!(net.hosts[0].source_stats(&key(0, 1)).unwrap().bytes, length);
        // Both ends have heard of the end, or given up: no timer is left.
        prop_assert_eq!(net.hosts[1].poll_timeout(), None);
    }

    #[test]
    fn no_bytes_make_a_host_send_what_is_not_granted(
        messages in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..60), any::<bool>(), 0u8..6), 1..60),
    ) {
        let mut net = Net::new(2, MS, lossless());
        net.open(0, 1, Bytes::ZERO, None);
        net.run_until(500 * MS);
        let sequence = net.hosts[0].source_stats(&key(0, 1)).unwrap().packets;
        for (mut bytes, to_sink, kind) in messages {
            // Mostly of the session, and of a kind that there is.
            for (at, byte) in [0, 0, 0, 5, kind, 0].into_iter().enumerate().take(bytes.len()) {
                bytes[at] = byte;
            }
            let (host, from) = if to_sink { (1, 0) } else { (0, 1) };
            net.hosts[host].handle_packet(net.now, &packet(key(host, from), &bytes));
        }
        let stats = net.hosts[0].source_stats(&key(0, 1)).unwrap();
        prop_assert_eq!(stats.packets, sequence);
        prop_assert_eq!(net.hosts[1].content(&key(1, 0)).unwrap().wrong(), Bytes::ZERO);
        net.run_until(600 * MS);
        let sent = net.hosts[0].source_stats(&key(0, 1)).unwrap().packet_bytes - stats.packet_bytes;
        prop_assert!(sent.get() * 8 <= CAPACITY.bps() / 10 + 24_000, "{} in 0.1 s", sent);
    }
}

/// A packet to `key`'s end with this payload.
fn packet(key: SessionKey, payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
    ip.extend(key.remote.ip().octets());
    ip.extend(key.local.ip().octets());
    let udp_bytes = (8 + payload.len()) as u16;
    ip[2..4].copy_from_slice(&(20 + udp_bytes).to_be_bytes());
    let sum: u32 = ip
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes());
    ip.extend(key.remote.port().to_be_bytes());
    ip.extend(key.local.port().to_be_bytes());
    ip.extend(udp_bytes.to_be_bytes());
    ip.extend([0, 0]);
    ip.extend(payload);
    ip
}

#[test]
fn what_does_not_belong_changes_nothing() {
    let mut net = Net::new(2, MS, lossless());
    net.open(0, 1, Bytes::ZERO, None);
    net.run_until(S);
    let source_before = net.hosts[0].source_stats(&key(0, 1));
    let sink_before = net.hosts[1].sink_stats(&key(1, 0)).unwrap();
    let mut give = |host: usize, key: SessionKey, message: Message| {
        let mut payload = Vec::new();
        message.encode(key.number, &mut payload);
        net.hosts[host].handle_packet(net.now, &packet(key, &payload))
    };
    let to_source = key(0, 1);
    let old = Grant {
        number: 1,
        rate: Rate::MAX,
        lifetime: Duration::MAX,
    };
    assert!(!give(0, to_source, Message::Grant(old)), "older than what is there");
    let list = LossList {
        first: 1 << 40,
        bitmap: &[0],
    };
    assert!(!give(0, to_source, Message::Losses(list)), "never sent");
    let request = Request {
        block_bytes: 1448,
        offset: 0,
        length: Bytes::new(1),
        wanted: Rate::ZERO,
    };
    assert!(!give(0, to_source, Message::Request(request)), "another request");
    let other = SessionKey { number: 6, ..to_source };
    assert!(
        !give(0, other, Message::End { received: Bytes::ZERO }),
        "no such session"
    );
    let stranger = SessionKey {
        remote: address(7),
        ..to_source
    };
    assert!(
        !give(0, stranger, Message::End { received: Bytes::ZERO }),
        "of somebody else"
    );
    let refused = net.hosts[0].stats();
    assert_eq!((refused.refused, refused.unclaimed), (3, 2));

    let mut give = |data: Data, bytes: usize| {
        let mut payload = Vec::new();
        Message::Data(data, &vec![0; bytes]).encode(5, &mut payload);
        net.hosts[1].handle_packet(net.now, &packet(key(1, 0), &payload));
    };
    let full = 1500 - OVERHEAD.get() as usize;
    let data = |sequence, offset| Data {
        grant: 0,
        sequence,
        offset,
    };
    give(data(u64::MAX, 1000), full);
    give(data(1 << 30, 1000), full);
    give(data(0, 0), full);
    give(data(0, 1001), full);
    give(data(0, 1000), full - 1);
    give(data(0, u64::MAX), full);
    assert_eq!(net.hosts[0].source_stats(&key(0, 1)), source_before);
    let sink = net.hosts[1].sink_stats(&key(1, 0)).unwrap();
    assert_eq!(sink.refused, sink_before.refused + 6);
    assert_eq!(sink.received, sink_before.received);
    assert_eq!(sink.lost_packets, 0);
}

#[test]
fn a_sink_that_stops_ends_its_source() {
    let mut net = Net::new(2, MS, lossless());
    net.open(0, 1, Bytes::ZERO, None);
    net.run_until(S);
    net.hosts[1].stop(&key(1, 0));
    net.run_until(S + 100 * MS);
    let packets = net.hosts[0].source_stats(&key(0, 1)).unwrap().packets;
    net.run_until(2 * S);
    assert_eq!(net.hosts[0].source_stats(&key(0, 1)).unwrap().packets, packets);
    assert_eq!((net.hosts[0].poll_timeout(), net.hosts[1].poll_timeout()), (None, None));
}

#[test]
fn settings_and_sessions_that_cannot_work_are_refused() {
    let good = config(CAPACITY, 1);
    let bad = [
        HostConfig {
            capacity: Rate::ZERO,
            ..good
        },
        HostConfig {
            interval: Duration::from_ns(999_999),
            ..good
        },
        HostConfig {
            packet_bytes: 127,
            ..good
        },
    ];
    for config in bad {
        assert!(Host::<Pattern, PatternCheck>::new(config).is_err());
    }
    let mut host: Host<Pattern, PatternCheck> = Host::new(good).unwrap();
    let numbered = |number| SessionKey { number, ..key(0, 1) };
    let offer = |host: &mut Host<_, _>, number| host.offer(numbered(number), Offer::default(), Pattern::new(1));
    assert!(offer(&mut host, 1 << 31).is_err());
    assert!(offer(&mut host, 1).is_ok());
    assert!(offer(&mut host, 1).is_err(), "there is one already");
    let mut ask = |offset, length, block_bytes| {
        let request = Request {
            block_bytes,
            offset,
            length: Bytes::new(length),
            wanted: Rate::ZERO,
        };
        let sink = SinkConfig {
            request,
            steps: None,
            begin: Rate::ZERO,
        };
        host.request(Instant::ZERO, numbered(2), sink, PatternCheck::new(Pattern::new(1)))
    };
    assert!(ask(u64::MAX, 1, 1000).is_err());
    assert!(ask(0, 1, 0).is_err());
    assert!(ask(0, 1, 1449).is_err());
    assert!(ask(0, 1, 1448).is_ok());
}
