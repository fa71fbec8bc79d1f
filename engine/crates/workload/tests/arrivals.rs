// SPDX-License-Identifier: Apache-2.0
//! Arrivals and pairs: loads, gaps, patterns.

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand_pcg::Pcg64;
use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_workload::{
    ClosedLoop, Every, Flow, HostIndex, Incast, IncastConfig, Load, Matrix, Offered, OpenLoop, Pairs, Pattern, Poisson,
    Sizes, Workload,
};

const HOST_RATE: Rate = Rate::from_bps(10_000_000_000);

/// 648 hosts at 10 Gb/s, web search at 10 %, 1.001 s.
fn websearch(seed: u64) -> Poisson {
    let sizes = Sizes::named("websearch", None).unwrap();
    let load = Load {
        fraction: 0.1,
        capacity: HOST_RATE.saturating_mul(648),
    };
    Poisson::new(
        sizes,
        (&Pattern::All, 648),
        load,
        Instant::ZERO + Duration::from_us(1_001_000),
        seed,
    )
    .unwrap()
}

#[test]
fn poisson_arrivals_offer_the_load() {
    let mut flows = 0.0;
    for seed in 1..=3 {
        let mut offered = Offered::default();
        websearch(seed).for_each(|flow| offered.add(&flow));
        flows += offered.flows() as f64 / 3.0;
        let variation = offered.gap_variation().unwrap();
        assert!((0.96..1.04).contains(&variation), "{variation}");
        let load = offered.load(HOST_RATE.saturating_mul(648), Duration::from_us(1_001_000));
        assert!((0.095..0.105).contains(&load), "{load}");
    }
    assert!((42_800.0..43_640.0).contains(&flows), "{flows}");
}

#[test]
fn a_seed_determines_the_flows() {
    let first: Vec<Flow> = websearch(1).take(1_000).collect();
    assert!(first.iter().copied().eq(websearch(1).take(1_000)));
    assert!(first.iter().copied().ne(websearch(2).take(1_000)));
}

#[test]
fn a_pattern_leaves_starts_and_sizes_as_they_are() {
    let load = Load {
        fraction: 0.5,
        capacity: HOST_RATE,
    };
    let end = Instant::ZERO + Duration::from_ms(100);
    let sizes = || Sizes::Exponential(Bytes::new(10_000));
    let flows = |pattern| {
        Poisson::new(sizes(), (&pattern, 16), load, end, 1)
            .unwrap()
            .map(|flow| (flow.start, flow.size))
    };
    assert!(flows(Pattern::All).eq(flows(Pattern::Permutation)));
}

#[test]
fn an_open_loop_ignores_completions() {
    let starts = |reports: bool| {
        let mut workload = OpenLoop::new(websearch(1).take(100));
        let mut starts = Vec::new();
        while let Some(start) = workload.next_start() {
            let flow = workload.next_flow().unwrap();
            assert_eq!(flow.start, start);
            starts.push(start);
            if reports {
                workload.completed(start, &flow);
            }
        }
        starts
    };
    assert_eq!(starts(true), starts(false));
    assert_eq!(starts(true).len(), 100);
}

#[test]
fn loads_out_of_range_are_errors() {
    let flows = |fraction, capacity| {
        let load = Load { fraction, capacity };
        let sizes = Sizes::Fixed(Bytes::new(1));
        Poisson::new(sizes, (&Pattern::All, 2), load, Instant::MAX, 1)
            .err()
            .map(|error| error.to_string())
    };
    let range = "'load': out of range; expected a load above 0 and at most 100, got";
    assert_eq!(flows(0.0, HOST_RATE), Some(format!("{range} 0")));
    assert_eq!(flows(f64::NAN, HOST_RATE), Some(format!("{range} NaN")));
    let gap = "'load': out of range; expected at least 1 ns between flows in the mean, got 0.8 ns";
    assert_eq!(flows(1.0, HOST_RATE).as_deref(), Some(gap));
    let rate = "'rate': out of range; expected above 0 bit/s, got 0 bit/s";
    assert_eq!(flows(0.5, Rate::ZERO).as_deref(), Some(rate));
}

/// Pairs of 40,000 flows with their counts.
fn counts(pattern: &Pattern, hosts: u32) -> BTreeMap<(u32, u32), u32> {
    let mut rng = Pcg64::seed_from_u64(1);
    let pairs = Pairs::new(pattern, hosts, &mut rng).unwrap();
    let mut counts = BTreeMap::new();
    for _ in 0..40_000 {
        let (source, destination) = pairs.draw(Instant::ZERO, &mut rng);
        assert_ne!(source, destination);
        *counts.entry((source.0, destination.0)).or_default() += 1;
    }
    counts
}

/// Within five standard deviations of the mean of a Poisson distribution.
fn assert_near(count: u32, mean: f64) {
    assert!((f64::from(count) - mean).abs() < 5.0 * mean.sqrt(), "{count} {mean}");
}

#[test]
fn all_pairs_are_equally_likely() {
    let counts = counts(&Pattern::All, 5);
    assert_eq!(counts.len(), 20);
    counts.values().for_each(|count| assert_near(*count, 2_000.0));
}

#[test]
fn other_groups_have_no_flow_within_a_group() {
    let counts = counts(&Pattern::OtherGroups { group: 2 }, 6);
    assert_eq!(counts.len(), 24);
    assert!(counts.keys().all(|(source, destination)| source / 2 != destination / 2));
    counts.values().for_each(|count| assert_near(*count, 40_000.0 / 24.0));
}

#[test]
fn a_permutation_gives_each_host_one_source_and_one_destination() {
    for pattern in [Pattern::Permutation, Pattern::Shift { shift: 3 }] {
        let counts = counts(&pattern, 8);
        let sources: BTreeSet<u32> = counts.keys().map(|(source, _)| *source).collect();
        let destinations: BTreeSet<u32> = counts.keys().map(|(_, destination)| *destination).collect();
        assert_eq!((counts.len(), sources.len(), destinations.len()), (8, 8, 8));
    }
    assert!(counts(&Pattern::Shift { shift: 3 }, 8).contains_key(&(6, 1)));
}

#[test]
fn hotspots_and_skew_have_their_fraction() {
    let hotspot = counts(
        &Pattern::Hotspot {
            hosts: 1,
            fraction: 0.5,
        },
        9,
    );
    let mut towards = [0; 9];
    for ((_, destination), count) in hotspot {
        towards[destination as usize] += count;
    }
    // Sources are 8/9 others, and half of these aim there; the other flows go there as to any host.
    let expected = 40_000.0 * (8.0 / 9.0) * (0.5 + 0.5 / 8.0);
    assert_near(*towards.iter().max().unwrap(), expected);

    let skew = counts(&Pattern::Skew { fraction: 0.5 }, 4);
    let mut by_count: Vec<u32> = skew.values().copied().collect();
    by_count.sort_unstable();
    assert_near(by_count[8..].iter().sum(), 40_000.0 * (0.5 + 0.5 / 3.0));
}

#[test]
fn a_matrix_has_its_weights() {
    let matrix = Matrix::read("m.csv", "0,1,2\n0,0,0\n5 0 0\n", 3).unwrap();
    let counts = counts(&Pattern::Matrix(matrix.clone()), 3);
    assert_eq!(counts.len(), 3);
    assert_near(counts[&(0, 1)], 5_000.0);
    assert_near(counts[&(0, 2)], 10_000.0);
    assert_near(counts[&(2, 0)], 25_000.0);
    let mut rng = Pcg64::seed_from_u64(1);
    let pairs = Pairs::new(&Pattern::Matrix(matrix), 3, &mut rng).unwrap();
    assert_eq!(pairs.destination(HostIndex(1), Instant::ZERO, &mut rng), None);
}

#[test]
fn errors_of_matrices_name_the_line() {
    for (text, message) in [
        ("0,1\n", "m.csv: end of file after 1 of 2 rows; expected all of them"),
        (
            "0,1\n1,1\n",
            "m.csv: line 2: flow from '1' to itself; expected two hosts",
        ),
        (
            "0,-1\n1,0\n",
            "m.csv: line 1: invalid weight; expected a number of at least 0, got '-1'",
        ),
        (
            "0,NaN\n1,0\n",
            "m.csv: line 1: invalid weight; expected a number of at least 0, got 'NaN'",
        ),
        ("0,0\n0,0\n", "m.csv: empty file; expected at least one weight above 0"),
        (
            "0,1,1\n1,0,1\n1,1,0\n",
            "m.csv: line 1: invalid row; expected a square matrix with a row and a column per host, got 'row 1 with 3 weights'",
        ),
    ] {
        assert_eq!(Matrix::read("m.csv", text, 2).unwrap_err().to_string(), message);
    }
}

#[test]
fn patterns_follow_in_turn() {
    let pattern = Pattern::InTurn {
        each: Duration::from_ms(1),
        patterns: vec![Pattern::Shift { shift: 1 }, Pattern::Shift { shift: 2 }],
    };
    let mut rng = Pcg64::seed_from_u64(1);
    let pairs = Pairs::new(&pattern, 8, &mut rng).unwrap();
    for (at, shift) in [(0, 1), (999, 1), (1_000, 2), (2_000, 1)] {
        let (source, destination) = pairs.draw(Instant::ZERO + Duration::from_us(at), &mut rng);
        assert_eq!(destination.0, (source.0 + shift) % 8);
    }
}

#[test]
fn patterns_out_of_range_are_errors() {
    let mut rng = Pcg64::seed_from_u64(1);
    for (pattern, hosts, place) in [
        (Pattern::All, 1, "'hosts'"),
        (Pattern::Shift { shift: 8 }, 8, "'shift'"),
        (Pattern::OtherGroups { group: 3 }, 8, "'group'"),
        (Pattern::OtherGroups { group: 8 }, 8, "'group'"),
        (
            Pattern::Hotspot {
                hosts: 9,
                fraction: 0.5,
            },
            8,
            "'hotspot'",
        ),
        (Pattern::Skew { fraction: 1.5 }, 8, "'skew'"),
    ] {
        let error = Pairs::new(&pattern, hosts, &mut rng).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{place}: out of range; expected")),
            "{error}"
        );
    }
}

fn incast(every: Every) -> Incast {
    let config = IncastConfig {
        hosts: 16,
        senders: 15,
        receiver: None,
        size: Bytes::new(20_000),
        every,
    };
    Incast::new(config, Instant::ZERO + Duration::from_ms(100), 1).unwrap()
}

#[test]
fn an_incast_has_its_senders_at_one_time() {
    let flows: Vec<Flow> = incast(Every::Period(Duration::from_ms(10))).collect();
    assert_eq!(flows.len(), 150);
    for (burst, flows) in (0..).zip(flows.chunks(15)) {
        let sources: BTreeSet<HostIndex> = flows.iter().map(|flow| flow.source).collect();
        assert_eq!(sources.len(), 15);
        assert!(!sources.contains(&flows[0].destination));
        let start = Instant::ZERO + burst * Duration::from_ms(10);
        assert!(
            flows
                .iter()
                .all(|flow| flow.start == start && flow.coflow == flows[0].coflow)
        );
    }
    assert_eq!(incast(Every::Once).count(), 15);
}

#[test]
fn bursts_of_an_incast_offer_the_load() {
    let load = Load {
        fraction: 0.5,
        capacity: HOST_RATE,
    };
    let mut offered = Offered::default();
    incast(Every::Load(load)).for_each(|flow| offered.add(&flow));
    // 208 bursts in the mean.
    let load = offered.load(HOST_RATE, Duration::from_ms(100));
    assert!((0.35..0.65).contains(&load), "{load}");
}

#[test]
fn a_closed_loop_has_a_constant_number_of_flows() {
    let end = Instant::ZERO + Duration::from_ms(10);
    let sizes = Sizes::Fixed(Bytes::new(1_000));
    let mut closed = ClosedLoop::new(sizes, (&Pattern::All, 4), (2, Duration::ZERO), end, 1).unwrap();
    let mut open = Vec::new();
    while let Some(flow) = closed.next_flow() {
        open.push(flow);
    }
    assert_eq!(open.len(), 8);
    assert_eq!(closed.next_start(), None);
    let now = Instant::ZERO + Duration::from_ms(3);
    closed.completed(now, &open[5]);
    let next = closed.next_flow().unwrap();
    assert_eq!((next.start, next.source, next.number), (now, open[5].source, 8));
    closed.completed(end, &next);
    assert_eq!(closed.next_flow(), None, "no flow starts at the end");
}
