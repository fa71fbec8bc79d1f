// SPDX-License-Identifier: Apache-2.0
//! TCP over the small network: throughput, recovery, and no byte lost or changed whatever the network does.

use crate::common;

use common::{Faults, MS, Network, SECOND, at, config, flow, mbps};
use proptest::prelude::*;
use slotwise_transport::Algorithm::{Cubic, HighSpeed, NewReno, Reno};
use slotwise_transport::{AbortReason, Algorithm, Event};
use slotwise_units::{Bytes, Duration, Instant};

/// Payload of the default 1000-byte packet.
const MSS: Bytes = Bytes::new(960);

#[test]
fn a_transfer_takes_its_bytes_over_the_rate() {
    // Reno and CUBIC without SACK lose more than a second to the burst that ends slow start, as they must.
    for (algorithm, sack) in [(NewReno, false), (Reno, true), (NewReno, true), (Cubic, true)] {
        let mut settings = config(0, algorithm);
        settings.sack = sack;
        let bytes = Bytes::new(5_000_000);
        let flow = flow(settings, |_| {}, Some(bytes), (5 * MS, 5 * MS));
        let mut network = Network::new(vec![flow], mbps(10), 30);
        network.run(at(60 * SECOND));
        network.assert_complete(bytes);
        // 5208.3 packets of 1000 bytes at 10 Mb/s are 4.17 s. A bandwidth-delay product of 12 packets and 30 of
        // queue keep the link busy through every halving.
        let took = network.finished_at(0).since_start().seconds();
        assert!(
            (4.17..4.17 * 1.05).contains(&took),
            "{algorithm:?} sack {sack}: {took} s"
        );
        assert!(network.flows[0].sender.stats().fast_recoveries > 0);
    }
}

#[test]
fn two_equal_flows_share_alike() {
    let flows = (0..2)
        .map(|i| flow(config(i, NewReno), |_| {}, None, (10 * MS, 10 * MS)))
        .collect();
    let mut network = Network::new(flows, mbps(10), 30);
    network.run(at(40 * SECOND));
    let bytes: Vec<f64> = network
        .flows
        .iter()
        .map(|f| f.sender.stats().acked.get() as f64)
        .collect();
    let jain = (bytes[0] + bytes[1]).powi(2) / (2.0 * (bytes[0].powi(2) + bytes[1].powi(2)));
    assert!(jain > 0.95, "{bytes:?}");
}

/// A long transfer on a link without a limit on its queue, where data packets `drops` are lost.
fn lossy(algorithm: Algorithm, sack: bool, drops: &[u64]) -> Network {
    let mut settings = config(0, algorithm);
    settings.sack = sack;
    let mut flow = flow(settings, |_| {}, Some(400 * MSS), (20 * MS, 20 * MS));
    flow.drops = drops.iter().copied().collect();
    Network::new(vec![flow], mbps(100), 10_000)
}

fn with_losses(algorithm: Algorithm, sack: bool, drops: &[u64]) -> Network {
    let mut network = lossy(algorithm, sack, drops);
    network.run(at(200 * SECOND));
    network.assert_complete(400 * MSS);
    network
}

#[test]
fn one_loss_is_mended_by_fast_retransmit() {
    for algorithm in [Reno, NewReno, Cubic, HighSpeed] {
        for sack in [false, true] {
            let network = with_losses(algorithm, sack, &[50]);
            let stats = network.flows[0].sender.stats();
            assert_eq!(
                (stats.fast_recoveries, stats.timeouts, stats.retransmissions),
                (1, 0, 1),
                "{algorithm:?} sack {sack}"
            );
            assert_eq!(stats.losses, 1);
            assert!(stats.window_before_losses >= stats.ssthresh);
        }
    }
}

#[test]
fn three_losses_in_a_window_need_a_timeout_with_reno_and_none_with_newreno_or_sack() {
    let drops = [60, 62, 64];
    let stats = |algorithm, sack| with_losses(algorithm, sack, &drops).flows[0].sender.stats();
    let reno = stats(Reno, false);
    assert!(reno.fast_recoveries > 0 && reno.timeouts > 0);
    assert_eq!(
        reno.losses, 1,
        "what the timer repairs was under way when the first was lost"
    );
    let newreno = stats(NewReno, false);
    assert_eq!(
        (newreno.fast_recoveries, newreno.timeouts, newreno.retransmissions),
        (1, 0, 3)
    );
    let sack = stats(NewReno, true);
    assert_eq!((sack.fast_recoveries, sack.timeouts, sack.retransmissions), (1, 0, 3));
}

#[test]
fn newreno_mends_one_hole_a_round_trip_and_sack_all_at_once() {
    // Ten segments lost in a row, in a round trip of 40 ms.
    let run = |sack| {
        let mut network = lossy(NewReno, sack, &(70..80).collect::<Vec<_>>());
        let before = network.acked_at(70 * MSS);
        let took = network.acked_at(80 * MSS) - before;
        network.run(at(200 * SECOND));
        network.assert_complete(400 * MSS);
        let stats = network.flows[0].sender.stats();
        assert_eq!(
            (stats.fast_recoveries, stats.timeouts, stats.retransmissions),
            (1, 0, 10)
        );
        took / (40 * MS)
    };
    assert_eq!(run(false), 10);
    assert!(run(true) <= 2);
}

#[test]
fn limited_transmit_saves_a_window_of_three_from_the_timer() {
    // Two duplicates come back; the third is that of a segment sent beyond the window (RFC 3042).
    for (sack, limited_transmit, recovered) in [
        (false, true, (1, 0)),
        (true, true, (1, 0)),
        (false, false, (0, 1)),
        (true, false, (0, 1)),
    ] {
        let mut settings = config(0, NewReno);
        settings.sack = sack;
        settings.initial_window_segments = Some(3);
        settings.limited_transmit = limited_transmit;
        let mut flow = flow(settings, |_| {}, Some(20 * MSS), (20 * MS, 20 * MS));
        flow.drops = [0].into();
        let mut network = Network::new(vec![flow], mbps(100), 100);
        network.run(at(20 * SECOND));
        network.assert_complete(20 * MSS);
        let stats = network.flows[0].sender.stats();
        assert_eq!(
            (stats.fast_recoveries, stats.timeouts),
            recovered,
            "sack {sack}, limited transmit {limited_transmit}"
        );
    }
}

#[test]
fn newreno_is_impatient_when_a_window_has_many_holes() {
    // RFC 6582 section 4: only the first partial acknowledgment restarts the timer, so that ten holes do not take
    // ten round trips of 40 ms if the timer says 150 ms.
    let mut settings = config(0, NewReno);
    settings.sack = false;
    settings.rto.min = 150 * MS;
    let mut flow = flow(settings, |_| {}, Some(400 * MSS), (20 * MS, 20 * MS));
    flow.drops = (70..80).collect();
    let mut network = Network::new(vec![flow], mbps(100), 10_000);
    network.run(at(200 * SECOND));
    network.assert_complete(400 * MSS);
    let stats = network.flows[0].sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts), (1, 1));
}

#[test]
fn a_transfer_of_no_given_size_ends_when_told() {
    let flow = flow(config(0, Cubic), |_| {}, None, (5 * MS, 5 * MS));
    let mut network = Network::new(vec![flow], mbps(10), 30);
    network.run(at(SECOND));
    network.flows[0].sender.finish();
    network.run(at(10 * SECOND));
    let bytes = network.flows[0].sender.stats().acked;
    assert!(bytes > Bytes::new(1_000_000));
    network.assert_complete(bytes);
}

#[test]
fn a_lost_tail_waits_for_the_timer_and_the_timer_doubles() {
    // The last segment is lost four times: after min RTO 1 s, then 2, 4, 8.
    let mut settings = config(0, NewReno);
    settings.sack = true;
    let bytes = 10 * MSS;
    let mut flow = flow(settings, |_| {}, Some(bytes), (MS, MS));
    flow.drops = (9..13).collect();
    let mut network = Network::new(vec![flow], mbps(1000), 100);
    network.run(at(100 * SECOND));
    network.assert_complete(bytes);
    let stats = network.flows[0].sender.stats();
    assert_eq!((stats.timeouts, stats.losses), (4, 1));
    let took = network.finished_at(0);
    assert!(
        (at(15 * SECOND)..at(15 * SECOND + 50 * MS)).contains(&took),
        "1 + 2 + 4 + 8 s: {took}"
    );
    assert_eq!(stats.ssthresh, 2 * MSS);
}

#[test]
fn delayed_acknowledgments_halve_their_number() {
    let run = |delay: Option<Duration>| {
        let settings = config(0, NewReno);
        let adapt = |r: &mut slotwise_transport::ReceiverConfig| r.delayed_ack = delay;
        let flow = flow(settings, adapt, Some(1001 * MSS), (MS, MS));
        let mut network = Network::new(vec![flow], mbps(10), 1000);
        network.run(at(60 * SECOND));
        network.assert_complete(1001 * MSS);
        network
    };
    let each = run(None);
    let delayed = run(Some(200 * MS));
    // Besides: SYN and FIN; the odd segment at the end, and one that waits alone after the handshake.
    assert_eq!(each.flows[0].acks, 1001 + 1);
    assert!(
        (502..=506).contains(&delayed.flows[0].acks),
        "{}",
        delayed.flows[0].acks
    );
    assert_eq!(delayed.flows[0].sender.stats().timeouts, 0);
    let [delayed, each] = [delayed, each].map(|network| network.finished_at(0).since_start());
    let difference = delayed.abs_diff(each);
    assert!(difference < 450 * MS, "{difference}: at most two waits more");
}

#[test]
fn a_peer_that_never_answers_ends_the_connection_after_the_tries_allowed() {
    let mut settings = config(0, NewReno);
    settings.max_timeouts = 3;
    let flow = flow(settings, |_| {}, Some(Bytes::new(1000)), (MS, MS));
    let faults = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    let mut network = Network::new(vec![flow], mbps(10), 10).with_faults(faults, 1);
    network.run(at(1000 * SECOND));
    // SYN at 0, 1, 3, 7 s; given up at 15 s.
    let events = &network.flows[0].sender_events;
    assert_eq!(events[..], [(at(15 * SECOND), Event::Aborted(AbortReason::NoAnswer))]);
}

#[test]
fn cubic_and_highspeed_beat_reno_on_a_long_fat_path() {
    let run = |algorithm| {
        let flow = flow(
            config(0, algorithm),
            |r| r.window_bytes = 1 << 26,
            None,
            (50 * MS, 50 * MS),
        );
        let mut network = Network::new(vec![flow], mbps(20), 40);
        network.run(at(40 * SECOND));
        assert_eq!(network.flows[0].receiver.sink().wrong(), Bytes::ZERO);
        network.flows[0].sender.stats().acked.get() as f64 * 8.0 / 40.0 / 20e6
    };
    let [reno, cubic, highspeed] = [NewReno, Cubic, HighSpeed].map(run);
    assert!(
        cubic > 0.75 && cubic > 1.1 * reno && highspeed > 1.02 * reno,
        "utilization: reno {reno}, cubic {cubic}, highspeed {highspeed}"
    );
}

/// A bulk flow whose packets' departures are written down, over `rtt` of a link of 1 Gb/s.
fn departures(
    adapt: impl FnOnce(&mut slotwise_transport::SenderConfig),
    rtt: Duration,
    until: Duration,
) -> Vec<Instant> {
    let mut settings = config(0, NewReno);
    adapt(&mut settings);
    let flow = flow(settings, |_| {}, None, (rtt / 2, rtt / 2));
    let mut network = Network::new(vec![flow], mbps(1000), 1000);
    let times = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = std::rc::Rc::clone(&times);
    network.router = Some(Box::new(move |now, packet, _| {
        if packet.len() > 200 {
            seen.borrow_mut().push(now);
        }
    }));
    network.run(at(until));
    let times = times.borrow();
    times.clone()
}

#[test]
fn a_window_limit_in_segments_bounds_what_a_round_trip_carries() {
    // 20 segments in 100 ms and the 8 us that one takes on the link, and not one more.
    let times = departures(|s| s.window_limit_segments = Some(20), 100 * MS, 4 * SECOND);
    let late: Vec<Instant> = times.iter().copied().filter(|t| *t > at(SECOND)).collect();
    for window in late.windows(21) {
        let took = window[20] - window[0];
        assert!((100 * MS..=101 * MS).contains(&took), "{took} for 20 segments");
    }
}

#[test]
fn an_application_that_was_silent_for_longer_than_the_timeout_begins_with_the_initial_window() {
    // RFC 5681 section 4.1. 200 segments let the window grow; as many follow after a pause, over a round trip of 100 ms.
    let segments_at_once = |pause: Duration| {
        let flow = flow(config(0, Cubic), |_| {}, None, (50 * MS, 50 * MS));
        let mut network = Network::new(vec![flow], mbps(1000), 1000);
        network.flows[0].sender.write_up_to(200 * MSS);
        network.acked_at(200 * MSS);
        let before = network.flows[0].data_packets;
        network.run(network.now + pause);
        network.flows[0].sender.write_up_to(400 * MSS);
        network.wake(0);
        let at_once = network.flows[0].data_packets - before;
        network.acked_at(400 * MSS);
        at_once
    };
    assert!(segments_at_once(500 * MS) > 50, "within the timeout of a second");
    assert_eq!(segments_at_once(2 * SECOND), 4);
}

#[test]
fn a_paced_window_leaves_evenly_over_the_round_trip_in_slow_start_too() {
    let paced = |s: &mut slotwise_transport::SenderConfig| {
        s.window_limit_segments = Some(20);
        s.initial_window_segments = Some(2);
        s.paced = true;
    };
    let times = departures(paced, 100 * MS, 4 * SECOND);
    // At the limit: 20 segments in a smoothed round trip, 5 ms apart to a part in a hundred.
    let gaps = |from: Duration, to: Duration| -> Vec<Duration> {
        let within: Vec<Instant> = times
            .iter()
            .copied()
            .filter(|t| (at(from)..at(to)).contains(t))
            .collect();
        within.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    let late = gaps(2 * SECOND, 4 * SECOND);
    assert!(late.len() > 390, "{} gaps: pacing costs no throughput", late.len());
    assert!(
        late.iter()
            .all(|gap| (Duration::from_us(4_950)..Duration::from_us(5_050)).contains(gap)),
        "{late:?}"
    );
    // The second window, 2 segments acknowledged, is 3 and then 4: nothing leaves within a hundredth of a round trip of another.
    let early = gaps(150 * MS, 600 * MS);
    assert!(early.len() >= 8 && early.iter().all(|gap| *gap >= 5 * MS), "{early:?}");
    let bursts = departures(|s| s.window_limit_segments = Some(20), 100 * MS, 4 * SECOND);
    let together = bursts
        .windows(2)
        .filter(|pair| pair[1] - pair[0] < Duration::from_us(100))
        .count();
    assert!(together > 300, "{together}: without pacing a window stays a burst");
}

#[test]
fn a_paced_window_grows_and_a_paced_transfer_recovers() {
    for algorithm in [Reno, NewReno, Cubic] {
        let mut settings = config(0, algorithm);
        settings.paced = true;
        let flow = flow(settings, |_| {}, Some(Bytes::new(5_000_000)), (5 * MS, 5 * MS));
        let mut network = Network::new(vec![flow], mbps(10), 30);
        network.run(at(60 * SECOND));
        network.assert_complete(Bytes::new(5_000_000));
        let took = network.finished_at(0).since_start().seconds();
        assert!((4.17..4.17 * 1.1).contains(&took), "{algorithm:?}: {took} s");
        assert!(
            network.flows[0].sender.stats().fast_recoveries > 0,
            "{algorithm:?}: it filled the queue"
        );
    }
}

#[test]
fn reno_ends_fast_recovery_at_a_partial_acknowledgment_and_newreno_does_not() {
    // Two of 64 segments are lost. The retransmission of the first makes a partial acknowledgment, at which Reno is back in congestion
    // avoidance with half the window (RFC 5681 section 3.2 step 6) and begins a second recovery; NewReno stays in the first.
    let run = |algorithm| with_losses(algorithm, false, &[60, 70]).flows[0].sender.stats();
    let (reno, newreno) = (run(Reno), run(NewReno));
    assert_eq!((newreno.fast_recoveries, newreno.timeouts), (1, 0));
    assert_eq!((reno.fast_recoveries, reno.timeouts), (2, 0));
}

#[test]
fn same_seed_same_run() {
    let run = || {
        let faults = Faults {
            loss: 0.02,
            duplicate: 0.02,
            reorder: 0.05,
        };
        let flow = flow(config(0, Cubic), |_| {}, Some(Bytes::new(500_000)), (5 * MS, 5 * MS));
        let mut network = Network::new(vec![flow], mbps(10), 20).with_faults(faults, 3);
        network.run(at(300 * SECOND));
        (network.finished_at(0), network.flows[0].sender.stats())
    };
    assert_eq!(run(), run());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn no_byte_is_lost_or_changed_whatever_the_network_does(
        seed: u64,
        algorithm in prop::sample::select(vec![Reno, NewReno, Cubic, HighSpeed, Algorithm::Xcp]),
        sack: bool,
        (rack, paced, limited_transmit) in any::<(bool, bool, bool)>(),
        delayed: bool,
        loss in 0.0..0.2,
        duplicate in 0.0..0.2,
        reorder in 0.0..0.5,
        bytes in 0u64..60_000,
        packet_bytes in 100u16..1500,
    ) {
        let mut settings = config(0, algorithm);
        settings.sack = sack;
        settings.packet_bytes = packet_bytes;
        settings.rack = rack;
        settings.paced = paced;
        settings.limited_transmit = limited_transmit;
        settings.rto.min = 50 * MS;
        settings.max_timeouts = 1000;
        let flow = flow(
            settings,
            |r| {
                r.delayed_ack = delayed.then_some(40 * MS);
                r.max_timeouts = 1000;
                r.dsack = rack;
            },
            Some(Bytes::new(bytes)),
            (3 * MS, 3 * MS),
        );
        let faults = Faults { loss, duplicate, reorder };
        let mut network = Network::new(vec![flow], mbps(20), 20).with_faults(faults, seed);
        network.run(at(10_000 * SECOND));
        network.assert_complete(Bytes::new(bytes));
    }
}
