// SPDX-License-Identifier: Apache-2.0
//! RACK-TLP (RFC 8985) over the small network: reordering without needless retransmissions, lost tails and lost retransmissions
//! without timeouts.

use crate::common;

use common::{Faults, MS, Network, SECOND, at, config, flow, mbps};
use slotwise_transport::Algorithm::{Cubic, NewReno};
use slotwise_transport::{Algorithm, SenderStats};
use slotwise_units::{Bytes, Duration, Instant};

/// Payload of the default 1000-byte packet.
const MSS: Bytes = Bytes::new(960);

/// A transfer of `segments`, or an endless one in a window of 60, over a link of 100 Mb/s with `delay` each way, in which data packets `drops` are lost.
fn network(algorithm: Algorithm, rack: bool, segments: Option<u64>, delay: Duration, drops: &[u64]) -> Network {
    let mut settings = config(0, algorithm);
    settings.rack = rack;
    settings.window_limit_segments = segments.is_none().then_some(60);
    let bytes = segments.map(|segments| segments * MSS);
    let mut flow = flow(settings, |r| r.dsack = rack, bytes, (delay, delay));
    flow.drops = drops.iter().copied().collect();
    Network::new(vec![flow], mbps(100), 10_000)
}

fn complete(algorithm: Algorithm, rack: bool, segments: u64, drops: &[u64]) -> (SenderStats, Instant) {
    let mut network = network(algorithm, rack, Some(segments), 20 * MS, drops);
    network.run(at(200 * SECOND));
    network.assert_complete(segments * MSS);
    (network.flows[0].sender.stats(), network.finished_at(0))
}

#[test]
fn losses_are_mended_as_with_sack() {
    for algorithm in [NewReno, Cubic] {
        for drops in [&[50][..], &[60, 62, 64], &[70, 71, 72, 73, 74, 75, 76, 77, 78, 79]] {
            let (stats, _) = complete(algorithm, true, 400, drops);
            assert_eq!(
                (stats.fast_recoveries, stats.timeouts, stats.retransmissions),
                (1, 0, drops.len() as u64),
                "{algorithm:?} {drops:?}"
            );
        }
    }
}

#[test]
fn a_lost_tail_is_probed_and_no_timer_goes_off() {
    // Section 7.3: the last segment goes out again two smoothed round trips after the last acknowledgment; its answer mends one loss,
    // or shows RACK those before it.
    for lost in 1..=3 {
        let drops: Vec<u64> = (40 - lost..40).collect();
        let (stats, rack_end) = complete(NewReno, true, 40, &drops);
        assert_eq!((stats.timeouts, stats.tail_probes), (0, 1), "{lost} lost");
        assert_eq!(stats.retransmissions, lost, "{lost} lost");
        let (plain, plain_end) = complete(NewReno, false, 40, &drops);
        assert!(plain.timeouts > 0 && plain_end > rack_end + SECOND / 2, "{lost} lost");
    }
}

#[test]
fn a_probe_that_mended_a_loss_halves_the_window_and_a_needless_one_does_not() {
    // Section 7.4: 40 segments, of which the last is lost; then 20 more, so that there is an acknowledgment beyond the probe's.
    let run = |drops: &[u64], pause: Duration| {
        let mut network = network(NewReno, true, None, 20 * MS, drops);
        network.flows[0].sender.write_up_to(40 * MSS);
        network.run(at(pause));
        network.flows[0].sender.write_up_to(60 * MSS);
        network.wake(0);
        network.run(at(10 * SECOND));
        network.flows[0].sender.stats()
    };
    let mended = run(&[39], 2 * SECOND);
    assert_eq!(
        (mended.tail_probes, mended.retransmissions, mended.fast_recoveries),
        (1, 1, 1)
    );
    let quiet = run(&[], 2 * SECOND);
    assert_eq!((quiet.tail_probes, quiet.fast_recoveries), (0, 0));
}

#[test]
fn a_lost_retransmission_costs_no_timeout() {
    // Packet 61 of the wire is the first one lost, and its retransmission, some 62 packets on, too.
    let (first, _) = complete(NewReno, true, 400, &[60]);
    assert_eq!((first.retransmissions, first.timeouts), (1, 0));
    let runs: Vec<SenderStats> = (61..200)
        .map(|packet| complete(NewReno, true, 400, &[60, packet]).0)
        .collect();
    assert!(runs.iter().all(|stats| stats.retransmissions == 2));
    let timed_out: Vec<_> = runs.iter().zip(61..).filter(|(stats, _)| stats.timeouts > 0).collect();
    assert!(timed_out.is_empty(), "whatever is lost second: {timed_out:?}");
}

/// Retransmissions by `from`, and in the 10 s after it, when packets are late by up to 5 ms, one in five, on a round trip of 2 `delay`.
fn reordered(rack: bool, delay: Duration, from: Duration) -> (u64, u64) {
    let faults = Faults {
        reorder: 0.2,
        ..Faults::default()
    };
    let mut network = network(Cubic, rack, None, delay, &[]).with_faults(faults, 5);
    network.run(at(from));
    let early = network.flows[0].sender.stats().retransmissions;
    network.run(at(from + 10 * SECOND));
    (early, network.flows[0].sender.stats().retransmissions - early)
}

#[test]
fn reordering_within_the_window_causes_no_retransmission_once_it_was_seen() {
    // A round trip of 40 ms: a window of 10 ms, and packets late by 5 at most.
    let (early, later) = reordered(true, 20 * MS, SECOND);
    assert!(early <= 10, "{early} before any reordering was seen");
    assert_eq!(later, 0);
    let (_, plain) = reordered(false, 20 * MS, SECOND);
    assert!(plain > 15, "{plain} with three duplicates");
}

#[test]
fn duplicates_that_the_receiver_tells_of_widen_the_window_until_reordering_fits() {
    // A round trip of 10 ms: 2.5 ms are too few, and each round with a DSACK adds as much (section 6.2 step 4).
    let (early, later) = reordered(true, 5 * MS, 5 * SECOND);
    assert!((1..200).contains(&early), "{early} while it adapts");
    assert_eq!(later, 0);
}

#[test]
fn without_sack_there_is_no_rack() {
    let mut settings = config(0, NewReno);
    settings.rack = true;
    settings.sack = false;
    let mut flow = flow(settings, |_| {}, Some(40 * MSS), (20 * MS, 20 * MS));
    flow.drops = [39].into();
    let mut network = Network::new(vec![flow], mbps(100), 10_000);
    network.run(at(20 * SECOND));
    network.assert_complete(40 * MSS);
    let stats = network.flows[0].sender.stats();
    assert_eq!((stats.tail_probes, stats.timeouts), (0, 1));
}
