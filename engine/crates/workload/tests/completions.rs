// SPDX-License-Identifier: Apache-2.0
//! Ideal completion times, buckets and quantiles.

use proptest::prelude::*;
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_workload::{CoflowId, Completions, Flow, Framing, HostIndex, PathLink, ideal};

fn link(bps: u64, delay: Duration) -> PathLink {
    PathLink {
        overhead: Bytes::ZERO,
        rate: Rate::from_bps(bps),
        delay,
    }
}

const FRAMING: Framing = Framing {
    payload: Bytes::new(1_440),
    overhead: Bytes::new(60),
};

/// The same by following each packet.
fn followed(path: &[PathLink], size: Bytes, framing: Framing) -> Duration {
    let mut left = size;
    let mut free = vec![Duration::ZERO; path.len()];
    let mut end = Duration::ZERO;
    loop {
        let payload = left.min(framing.payload);
        left = left - payload;
        let mut at = Duration::ZERO;
        for (link, free) in path.iter().zip(&mut free) {
            *free = at.max(*free) + link.rate.time(payload + framing.overhead);
            at = *free + link.delay;
        }
        end = end.max(at);
        if left.is_zero() {
            return end;
        }
    }
}

#[test]
fn an_ideal_time_has_the_slowest_link_for_each_packet() {
    let path = [
        link(10_000_000_000, Duration::from_us(1)),
        link(1_000_000_000, Duration::from_us(2)),
        link(10_000_000_000, Duration::from_us(1)),
    ];
    // Ten packets of 1500 bytes.
    let expected = Duration::from_ns(1_200 + 10 * 12_000 + 1_200 + 4_000);
    assert_eq!(ideal(&path, Bytes::new(14_400), FRAMING), expected);
    assert_eq!(
        ideal(&path, Bytes::new(1), FRAMING),
        Duration::from_ns(49 + 488 + 49 + 4_000)
    );
}

proptest! {
    #[test]
    fn an_ideal_time_is_that_of_each_packet_followed(
        links in prop::collection::vec((1u64..100, 0u64..5), 1..6), size in 1u64..60_000,
    ) {
        let path: Vec<_> = links.iter().map(|(rate, delay)| link(rate * 100_000_000, Duration::from_us(*delay))).collect();
        prop_assert_eq!(ideal(&path, Bytes::new(size), FRAMING), followed(&path, Bytes::new(size), FRAMING));
    }
}

fn flow(number: u64, size: u64, coflow: Option<u64>) -> Flow {
    Flow {
        number,
        start: Instant::from_ns(10 * number),
        source: HostIndex(0),
        destination: HostIndex(1),
        size: Bytes::new(size),
        coflow: coflow.map(CoflowId),
    }
}

#[test]
fn flows_are_in_ranges_of_sizes_with_quantiles() {
    let mut completions = Completions::new(vec![Bytes::new(100), Bytes::new(1000)]).unwrap();
    for number in 1..=1000 {
        let flow = flow(number, 100, None);
        completions.started(&flow);
        let time = Duration::from_ns(number);
        completions.completed(&flow, flow.start + time, (time, Duration::from_ns(10)));
    }
    completions.started(&flow(1001, 5_000, None));
    let summary = completions.summary();
    assert_eq!(summary.buckets.len(), 2);
    let [small, large] = [summary.buckets[0], summary.buckets[1]];
    assert_eq!(
        (small.from, small.below),
        (Some(Bytes::new(100)), Some(Bytes::new(1000)))
    );
    let time = small.flows.time.unwrap();
    assert_eq!((time.count, time.mean, time.max), (1000, 500.5, 1000.0));
    assert_eq!((time.p50, time.p95, time.p99, time.p999), (500.0, 950.0, 990.0, 999.0));
    let slowdown = small.flows.slowdown.unwrap();
    assert_eq!((slowdown.p50, slowdown.max), (50.0, 100.0));
    assert_eq!((large.flows.unfinished, large.flows.time, large.below), (1, None, None));
    assert_eq!((summary.all.unfinished, summary.all.time.unwrap().count), (1, 1000));
    assert_eq!((summary.coflows, summary.unfinished_coflows), (None, 0));
}

#[test]
fn a_coflow_takes_from_its_first_start_to_its_last_end() {
    let mut completions = Completions::default();
    let flows = [flow(1, 1, Some(5)), flow(2, 1, Some(5)), flow(3, 1, Some(6))];
    for flow in &flows {
        completions.started(flow);
    }
    let one = Duration::from_ns(1);
    completions.completed(&flows[1], Instant::from_ns(110), (one, one));
    completions.completed(&flows[0], Instant::from_ns(50), (one, one));
    let summary = completions.summary();
    let coflows = summary.coflows.unwrap();
    assert_eq!((coflows.count, coflows.mean, summary.unfinished_coflows), (1, 100.0, 1));
}

#[test]
fn a_coflow_with_a_refused_flow_is_unfinished() {
    let mut completions = Completions::default();
    let flow = flow(1, 1, Some(5));
    completions.started(&flow);
    let one = Duration::from_ns(1);
    completions.completed(&flow, Instant::from_ns(50), (one, one));
    completions.refused(CoflowId(5), Instant::from_ns(60));
    completions.refused(CoflowId(6), Instant::from_ns(60));
    let summary = completions.summary();
    assert_eq!((summary.coflows, summary.unfinished_coflows), (None, 2));
    assert_eq!(summary.all.unfinished, 0);
}

#[test]
fn bounds_that_do_not_rise_are_an_error() {
    let error = Completions::new(vec![Bytes::new(5), Bytes::new(5)])
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "'buckets': out of range; expected a bound above 5 bytes, got 5 bytes"
    );
}
