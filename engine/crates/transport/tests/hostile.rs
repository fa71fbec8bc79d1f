// SPDX-License-Identifier: Apache-2.0
//! Whatever bytes come in: no panic, and nothing changes that a packet of the connection did not change.

use crate::common;

use common::{MS, Network, SECOND, at, config, flow, mbps};
use proptest::prelude::*;
use slotwise_transport::content::{Pattern, PatternCheck};
use slotwise_transport::segment::{Options, Segment, SegmentError, flags};
use slotwise_transport::xcp;
use slotwise_transport::{AbortReason, Algorithm, Endpoint, Event, FlowKey, Receiver, ReceiverConfig, Sender, UdpSink};
use slotwise_units::{Bytes, Duration, Instant};

/// A connection with some of its 200 kB outstanding.
fn in_the_middle(algorithm: Algorithm) -> Network {
    let flow = flow(
        config(0, algorithm),
        |_| {},
        Some(Bytes::new(200_000)),
        (20 * MS, 20 * MS),
    );
    let mut network = Network::new(vec![flow], mbps(10), 100);
    network.run(at(130 * MS));
    network
}

/// A segment from the receiver to the sender of `in_the_middle` that its next acknowledgment might be.
fn from_receiver() -> Segment {
    let config = config(0, Algorithm::NewReno);
    Segment {
        source: config.remote,
        destination: config.local,
        congestion: None,
        sequence: 78,
        acknowledgment: 0xffff_f000,
        flags: flags::ACK,
        ecn: 0,
        window: 1000,
        options: Options::default(),
    }
}

fn bytes_of(segment: &Segment, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    segment.encode(&mut packet, payload.len(), |out| out.copy_from_slice(payload));
    packet
}

fn any_segment() -> impl Strategy<Value = (Segment, Vec<u8>)> {
    let near = |base: u32| {
        prop_oneof![
            (-5000i32..70_000).prop_map(move |d| base.wrapping_add_signed(d)),
            any::<u32>()
        ]
    };
    let sack = prop::collection::vec((near(0xffff_f000), near(0xffff_f000)), 0..4);
    let syn_options = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>());
    (
        any::<bool>(),
        (near(0xffff_f000), near(78)),
        any::<u8>(),
        any::<u16>(),
        sack,
        syn_options,
        prop::collection::vec(any::<u8>(), 0..40),
        any::<Option<(u32, u32, i32, i32)>>(),
    )
        .prop_map(|(to_sender, (a, b), flags, window, sack, syn, payload, shim)| {
            let mut segment = from_receiver();
            (segment.acknowledgment, segment.sequence) = (a, b);
            if !to_sender {
                std::mem::swap(&mut segment.source, &mut segment.destination);
                std::mem::swap(&mut segment.acknowledgment, &mut segment.sequence);
            }
            (segment.flags, segment.window) = (flags, window);
            if sack.is_empty() {
                segment.options.mss = syn.0;
                segment.options.window_scale = syn.1;
                segment.options.sack_permitted = syn.2;
            }
            sack.iter()
                .for_each(|(left, right)| segment.options.push_sack(*left, *right));
            segment.congestion = shim.map(|(rtt_ns, x, delta_throughput, reverse_feedback)| xcp::Header {
                format: xcp::Format::Standard,
                rtt_ns,
                x,
                delta_throughput,
                reverse_feedback,
            });
            (segment, payload)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Well-formed segments with hostile contents, in sequence, with time going on.
    #[test]
    fn forged_segments_do_not_break_either_end(
        xcp: bool,
        forged in prop::collection::vec((any_segment(), 0u64..3_000_000_000), 1..30),
    ) {
        let mut network = in_the_middle(if xcp { Algorithm::Xcp } else { Algorithm::Cubic });
        let mut out = Vec::new();
        for ((segment, payload), wait_ns) in forged {
            let packet = bytes_of(&segment, &payload);
            let now = network.now;
            let flow = &mut network.flows[0];
            let ends: [&mut dyn Endpoint; 2] = [&mut flow.sender, &mut flow.receiver];
            for end in ends {
                end.handle_segment(now, &packet);
                let mut sent = 0;
                while end.poll_transmit(now, &mut out).is_some() {
                    Segment::decode(&out).expect("what an endpoint sends is well-formed");
                    sent += 1;
                    prop_assert!(sent < 100_000, "an endless burst");
                }
                end.handle_timeout(now);
                while end.poll_event().is_some() {}
            }
            network.now += Duration::from_ns(wait_ns);
        }
    }

    #[test]
    fn random_bytes_are_counted_and_change_nothing(packet in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut network = in_the_middle(Algorithm::NewReno);
        let flow = &mut network.flows[0];
        let (before, received) = (flow.sender.stats(), flow.receiver.stats());
        flow.sender.handle_segment(at(140 * MS), &packet);
        flow.receiver.handle_segment(at(140 * MS), &packet);
        prop_assert_eq!(flow.sender.stats().malformed, before.malformed + 1);
        prop_assert_eq!(flow.receiver.stats().malformed, received.malformed + 1);
        prop_assert_eq!(flow.sender.stats().acked, before.acked);
        let mut sink = UdpSink::new(config(0, Algorithm::NewReno).local, None);
        sink.handle_segment(Instant::ZERO, &packet);
        prop_assert_eq!(sink.stats().packets, 0);
        let _ = FlowKey::of(&packet);
    }

    #[test]
    fn a_changed_byte_or_a_cut_never_passes_for_the_packet(at in 0usize..70, change in 1u8..) {
        let mut segment = from_receiver();
        segment.options.push_sack(1, 2);
        let packet = bytes_of(&segment, b"0123456789abcdefgh");
        prop_assert_eq!(packet.len(), 70);
        let mut changed = packet.clone();
        changed[at] ^= change;
        prop_assert!(Segment::decode(&changed).is_err());
        prop_assert!(Segment::decode(&packet[..at]).is_err());
    }

    #[test]
    fn what_is_encoded_is_decoded((segment, payload) in any_segment()) {
        let packet = bytes_of(&segment, &payload);
        let mut expected = segment;
        expected.options.window_scale = segment.options.window_scale.map(|shift| shift.min(14));
        prop_assert_eq!(Segment::decode(&packet), Ok((expected, &payload[..])));
    }
}

#[test]
fn decoding_says_what_is_wrong_and_where() {
    let packet = bytes_of(&from_receiver(), b"");
    let refused = |packet: &[u8]| Segment::decode(packet).unwrap_err().to_string();
    assert_eq!(
        refused(&packet[..15]),
        "IPv4 packet: truncated; expected 20 bytes, got 15"
    );
    assert_eq!(
        refused(&packet[..30]),
        "IPv4 packet: truncated; expected 40 bytes, got 30"
    );
    let mut changed = packet.clone();
    changed[0] = 0x65;
    assert_eq!(refused(&changed), "IP version: invalid; expected 4, got 6");
    changed[0] = 0x44;
    assert_eq!(refused(&changed), "IP header length: invalid; expected 5 to 15, got 4");
    changed = packet.clone();
    changed[39] ^= 1;
    assert_eq!(refused(&changed), "invalid TCP checksum");
    changed = packet;
    changed[8] ^= 1;
    assert_eq!(Segment::decode(&changed), Err(SegmentError::Checksum("IPv4")));
}

#[test]
fn a_reset_counts_only_at_the_exact_number() {
    let mut network = in_the_middle(Algorithm::NewReno);
    let flow = &mut network.flows[0];
    let mut reset = from_receiver();
    reset.flags = flags::RST;
    reset.sequence += 1;
    let mut out = Vec::new();
    let now = at(131 * MS);
    flow.sender.handle_segment(now, &bytes_of(&reset, b""));
    assert!(flow.sender.poll_transmit(now, &mut out).is_some(), "a challenge");
    assert_eq!(flow.sender.poll_event(), None);
    reset.sequence -= 1;
    flow.sender.handle_segment(now, &bytes_of(&reset, b""));
    assert_eq!(flow.sender.poll_event(), Some(Event::Aborted(AbortReason::Reset)));
    assert_eq!(flow.sender.poll_transmit(now, &mut out), None);
    assert_eq!(flow.sender.poll_timeout(), None);
}

/// A sender whose handshake is done at 1 ms with a peer by hand: 960 bytes of payload, SACK if said, the window given.
fn connected(sack: bool, window: u16) -> (Sender<Pattern>, Segment) {
    connected_by(Algorithm::NewReno, 4, sack, window)
}

/// The same with an initial window of so many segments.
fn connected_by(algorithm: Algorithm, segments: u32, sack: bool, window: u16) -> (Sender<Pattern>, Segment) {
    let mut settings = config(0, algorithm);
    settings.initial_window_segments = Some(segments);
    let mut sender = Sender::new(settings, Some(Bytes::new(8 * 960)), Pattern::new(1)).unwrap();
    let mut out = Vec::new();
    sender.poll_transmit(Instant::ZERO, &mut out).expect("the SYN");
    let mut answer = from_receiver();
    (answer.sequence, answer.acknowledgment, answer.window) = (77, 1, window);
    answer.flags = flags::SYN | flags::ACK;
    answer.options = Options::syn(960, None, sack);
    sender.handle_segment(at(MS), &bytes_of(&answer, b""));
    (answer.sequence, answer.flags, answer.options) = (78, flags::ACK, Options::default());
    (sender, answer)
}

/// Sequence numbers of the data that goes out now.
fn sent_now(sender: &mut Sender<Pattern>, now: Instant) -> Vec<u32> {
    let mut out = Vec::new();
    let mut numbers = Vec::new();
    while sender.poll_transmit(now, &mut out).is_some() {
        let (segment, payload) = Segment::decode(&out).unwrap();
        if !payload.is_empty() {
            numbers.push(segment.sequence);
        }
    }
    numbers
}

#[test]
fn what_a_peer_selectively_acknowledged_and_dropped_is_sent_again() {
    let (mut sender, mut ack) = connected(true, u16::MAX);
    assert_eq!(sent_now(&mut sender, at(MS)), [1, 961, 1921, 2881]);
    ack.options.push_sack(961, 3841);
    sender.handle_segment(at(2 * MS), &bytes_of(&ack, b""));
    assert_eq!(
        sent_now(&mut sender, at(2 * MS))[0],
        1,
        "three segments above it are there"
    );
    let timeout = sender.poll_timeout().unwrap();
    sender.handle_timeout(timeout);
    assert_eq!(sent_now(&mut sender, timeout), [1]);
    // RFC 2018 section 8: the peer has only the first after all.
    (ack.acknowledgment, ack.options) = (961, Options::default());
    sender.handle_segment(timeout + MS, &bytes_of(&ack, b""));
    assert_eq!(sent_now(&mut sender, timeout + MS), [961, 1921]);
}

#[test]
fn duplicates_of_what_was_sent_before_a_timeout_prove_no_loss() {
    let (mut sender, mut ack) = connected(false, u16::MAX);
    assert_eq!(sent_now(&mut sender, at(MS)), [1, 961, 1921, 2881]);
    let timeout = sender.poll_timeout().unwrap();
    sender.handle_timeout(timeout);
    assert_eq!(sent_now(&mut sender, timeout), [1]);
    let now = timeout + MS;
    ack.acknowledgment = 3841;
    sender.handle_segment(now, &bytes_of(&ack, b""));
    assert_eq!(sent_now(&mut sender, now), [3841, 4801]);
    // The first segments arrive once more, late. RFC 6582 section 3.2 step 2: no fast retransmit of 3841.
    for expected in [vec![5761], vec![6721], vec![]] {
        sender.handle_segment(now, &bytes_of(&ack, b""));
        assert_eq!(sent_now(&mut sender, now), expected);
    }
    assert_eq!(sender.stats().fast_recoveries, 0);
}

#[test]
fn duplicates_from_before_an_acknowledgment_of_new_data_do_not_count_after_a_timeout() {
    // RFC 5681 section 3.2, RFC 6675 section 5: three in a row.
    for (algorithm, sack) in [(Algorithm::Reno, false), (Algorithm::Cubic, true)] {
        for stale in 0..5 {
            let (mut sender, mut ack) = connected_by(algorithm, 4, sack, u16::MAX);
            assert_eq!(sent_now(&mut sender, at(MS)), [1, 961, 1921, 2881]);
            let timeout = sender.poll_timeout().unwrap();
            sender.handle_timeout(timeout);
            assert_eq!(sent_now(&mut sender, timeout), [1]);
            let now = timeout + MS;
            let mut acknowledge = |sender: &mut Sender<Pattern>, number: u32, sacked: Option<u32>| {
                (ack.acknowledgment, ack.options) = (number, Options::default());
                if let Some(left) = sacked.filter(|_| sack) {
                    ack.options.push_sack(left, left + 100);
                }
                sender.handle_segment(now, &bytes_of(&ack, b""));
                sent_now(sender, now)
            };
            // What was under way before the timeout arrives, and then the first segment.
            for number in 0..stale {
                acknowledge(&mut sender, 1, Some(961 + 200 * number));
            }
            assert_eq!(acknowledge(&mut sender, 3841, None), [3841, 4801]);
            for in_a_row in 1..=3 {
                acknowledge(&mut sender, 3841, Some(4801 + 200 * in_a_row));
                let recoveries = sender.stats().fast_recoveries;
                assert_eq!(
                    recoveries,
                    u64::from(in_a_row == 3),
                    "{algorithm:?}, {stale} before, {in_a_row} in a row"
                );
            }
        }
    }
}

#[test]
fn a_timeout_takes_its_threshold_from_all_that_is_not_cumulatively_acknowledged() {
    // RFC 5681 equation 4: half of eight segments, though two have been selectively acknowledged.
    let (mut sender, mut ack) = connected_by(Algorithm::NewReno, 8, true, u16::MAX);
    assert_eq!(sent_now(&mut sender, at(MS)).len(), 8);
    ack.options.push_sack(961, 2881);
    sender.handle_segment(at(2 * MS), &bytes_of(&ack, b""));
    let timeout = sender.poll_timeout().unwrap();
    sender.handle_timeout(timeout);
    assert_eq!((sender.stats().timeouts, sender.stats().fast_recoveries), (1, 0));
    assert_eq!(sender.stats().ssthresh, Bytes::new(4 * 960));
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let (mut sender, mut answer) = connected(true, 0);
    let mut out = Vec::new();
    assert_eq!(sender.poll_transmit(at(MS), &mut out), Some(40), "the handshake's last");
    assert_eq!(sender.poll_transmit(at(MS), &mut out), None);
    for _ in 0..20 {
        let now = sender.poll_timeout().expect("it goes on probing");
        sender.handle_timeout(now);
        sender.poll_transmit(now, &mut out).expect("a probe");
        let (probe, payload) = Segment::decode(&out).unwrap();
        assert_eq!(
            (probe.sequence, payload.len()),
            (0, 0),
            "a number that the peer has had"
        );
        assert_eq!(sender.poll_transmit(now, &mut out), None);
        sender.handle_segment(now, &bytes_of(&answer, b""));
        assert_eq!(sender.poll_transmit(now, &mut out), None);
    }
    answer.window = 1000;
    sender.handle_segment(at(2000 * SECOND), &bytes_of(&answer, b""));
    assert_eq!(sender.poll_transmit(at(2000 * SECOND), &mut out), Some(1000));
}

#[test]
fn settings_that_cannot_work_are_refused_with_the_reason() {
    let refused = |change: &dyn Fn(&mut slotwise_transport::SenderConfig)| {
        let mut settings = config(0, Algorithm::Xcp);
        change(&mut settings);
        let error = Sender::new(settings, None, Pattern::new(1)).err().expect("refused");
        error.to_string()
    };
    assert_eq!(
        refused(&|c| c.packet_bytes = 60),
        "packet_bytes: expected 61 to 65535, got 60"
    );
    assert_eq!(
        refused(&|c| c.initial_window_segments = Some(0)),
        "initial_window_segments: expected 1 to 1048576, got 0"
    );
    assert_eq!(
        refused(&|c| c.rto.min = Duration::MAX),
        "rto.min_ns: expected 0 to 60000000000, got 18446744073709551615"
    );
    let mut receiver = ReceiverConfig::new(config(0, Algorithm::Xcp).remote);
    receiver.delayed_ack = Some(SECOND);
    let check = PatternCheck::new(Pattern::new(1));
    let error = Receiver::new(receiver, check).err().expect("refused").to_string();
    assert_eq!(error, "delayed_ack_ns: expected 1 to 500000000, got 1000000000");
}

#[test]
fn a_fin_below_what_has_arrived_does_not_end_the_stream() {
    let settings = config(0, Algorithm::NewReno);
    let mut receiver = Receiver::new(ReceiverConfig::new(settings.remote), PatternCheck::new(Pattern::new(1))).unwrap();
    let mut segment = from_receiver();
    std::mem::swap(&mut segment.source, &mut segment.destination);
    let mut hand = |number, bits, length| {
        (segment.sequence, segment.flags) = (number, bits);
        segment.acknowledgment = u32::from(number > 0);
        receiver.handle_segment(at(MS), &bytes_of(&segment, &vec![0; length]));
        let mut out = Vec::new();
        while receiver.poll_transmit(at(MS), &mut out).is_some() {}
        receiver.poll_event()
    };
    assert_eq!(hand(0, flags::SYN, 0), None);
    assert_eq!(hand(1, flags::ACK, 0), Some(Event::Connected));
    assert_eq!(hand(1001, flags::ACK, 100), None);
    assert_eq!(hand(501, flags::ACK | flags::FIN, 0), None);
    assert_eq!(hand(1, flags::ACK, 1000), None);
    assert_eq!(hand(1101, flags::ACK | flags::FIN, 0), Some(Event::Finished));
}
