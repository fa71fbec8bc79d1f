// SPDX-License-Identifier: Apache-2.0
//! Edges that share their capacity by GTP's rule, for hosts that know nothing of it, with the repository's own P4 programs: rates against
//! the max-min rates of the oracle.

use crate::support;

use slotwise_kinds::World;
use slotwise_lambda::{Network, Session, max_min};
use slotwise_scenario::Scenario;
use slotwise_units::Instant;
use support::ops::ops;

const SECOND: u64 = 1_000_000_000;
const CAPACITY_BPS: u64 = 90_000_000;
const EDGES: usize = 5;

/// What one host sends to another one: from edge, to edge, UDP at a rate or TCP, and when, ms.
#[derive(Debug, Clone, Copy)]
struct Pair {
    from: usize,
    to: usize,
    udp_bps: Option<u64>,
    from_ms: u64,
    until_ms: Option<u64>,
}

fn tcp(from: usize, to: usize) -> Pair {
    Pair {
        from,
        to,
        udp_bps: None,
        from_ms: 0,
        until_ms: None,
    }
}

fn udp(from: usize, to: usize, rate_bps: u64) -> Pair {
    Pair {
        udp_bps: Some(rate_bps),
        ..tcp(from, to)
    }
}

/// Five edges at one switch, wavelengths of 100 Mb/s and 90 of it shared.
fn scenario(pairs: &[Pair], rest: &str) -> Scenario {
    let hosts: String = (0..EDGES)
        .map(|edge| {
            format!(
                "- {{name: h{edge}, count: 1, at: e{edge}, rate_bps: 1000000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {{packets: 10000}}}}\n"
            )
        })
        .collect();
    let flows: String = pairs
        .iter()
        .enumerate()
        .map(|(number, pair)| {
            let Pair { from, to, from_ms, .. } = pair;
            let sends = match pair.udp_bps {
                Some(rate_bps) => format!("udp: {{rate_bps: {rate_bps}, process: constant}}"),
                // Two of an edge fit into its buffer.
                None => "transport: cubic, window_bytes: 400000".to_owned(),
            };
            let stop = pair.until_ms.map_or(String::new(), |ms| format!(", stop_ms: {ms}"));
            format!("- {{name: f{number}, from: h{from}, to: h{to}, start_ms: {from_ms}{stop}, {sends}}}\n")
        })
        .collect();
    let text = format!(
        "version: 1
name: share
seed: 5
duration_ms: 20000
packet_bytes: 1500
ops:
  switches: [s0]
  links: []
  edges: {{edges_per_switch: {EDGES}, delay_ns: 1000000}}
  rate_bps: 100000000
  ram_bytes: 60000
  probes: {{rate_bps: 100000000, period_ns: 20000000}}
  ingress: {{bytes: 1000000}}
  macroflows: {{share: {{capacity_bps: {CAPACITY_BPS}, near_target: capped}}}}
hosts:
{hosts}
flows:
{flows}
{rest}"
    );
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// Rates of all pairs up to `until_s` from the last call on, as parts of the capacity.
fn rates(network: &mut World, pairs: usize, until_s: u64) -> Vec<f64> {
    let from_ns = network.now().ns();
    network.run_until(Instant::from_ns(until_s * SECOND));
    let lasted = (until_s * SECOND - from_ns) as f64 / SECOND as f64;
    (0..pairs)
        .map(|flow| network.take_flow_use(flow).delivered_bytes.get() as f64 * 8.0 / lasted / CAPACITY_BPS as f64)
        .collect()
}

/// The max-min rates of those pairs that are there at a time.
fn fair(pairs: &[Pair], at_ms: u64) -> Vec<f64> {
    let is_there = |pair: &&Pair| pair.from_ms <= at_ms && pair.until_ms.is_none_or(|until_ms| at_ms < until_ms);
    let sessions = pairs.iter().filter(is_there).map(|pair| Session {
        demand: pair.udp_bps.map(|rate_bps| rate_bps as f64 / CAPACITY_BPS as f64),
        // An edge sends and takes apart.
        ..Session::between(pair.from, EDGES + pair.to)
    });
    let network = Network::new(vec![1.0; 2 * EDGES], sessions.collect()).unwrap();
    let mut fair = max_min(&network).rates.into_iter();
    pairs
        .iter()
        .map(|pair| if is_there(&pair) { fair.next().unwrap() } else { 0.0 })
        .collect()
}

fn assert_fair(found: &[f64], fair: &[f64], within: f64, when: &str) {
    for (found_rate, fair_rate) in found.iter().zip(fair) {
        assert!(
            (found_rate - fair_rate).abs() <= within,
            "{when}: {found:.4?}, fair {fair:.4?}"
        );
    }
}

fn assert_held(network: &World) {
    assert!(network.invariants().held(), "{:?}", network.invariants());
}

#[test]
fn tcp_and_udp_have_max_min_rates() {
    // Edge 0 is short for four, edge 1 for its rest; edge 2 wants little.
    let pairs = [
        tcp(1, 0),
        udp(2, 0, 9_000_000),
        tcp(3, 0),
        udp(4, 0, 200_000_000),
        tcp(1, 2),
        udp(3, 4, 20_000_000),
    ];
    let scenario = scenario(&pairs, "");
    let mut network = ops(&scenario);
    rates(&mut network, pairs.len(), 8);
    let found = rates(&mut network, pairs.len(), 16);
    assert_fair(&found, &fair(&pairs, 0), 0.05, "settled");
    assert_held(&network);
}

#[test]
fn rates_follow_who_joins_and_leaves() {
    let pairs = [
        tcp(1, 0),
        Pair {
            until_ms: Some(14_000),
            ..tcp(2, 0)
        },
        Pair {
            from_ms: 8_000,
            ..udp(3, 0, 200_000_000)
        },
        tcp(1, 4),
    ];
    let scenario = scenario(&pairs, "");
    let mut network = ops(&scenario);
    for (settled_s, until_s) in [(5, 8), (11, 14), (17, 20)] {
        rates(&mut network, pairs.len(), settled_s);
        let found = rates(&mut network, pairs.len(), until_s);
        assert_fair(
            &found,
            &fair(&pairs, settled_s * 1000),
            0.05,
            &format!("to {until_s} s"),
        );
    }
    assert_held(&network);
}
