// SPDX-License-Identifier: Apache-2.0
//! What is measured of trains by the way that they took, and of the flows in them: deflected, lost, and how a loss was repaired.

use crate::support;

use slotwise_kinds::{self as kinds, FlowTrains, World};
use slotwise_scenario::Scenario;
use slotwise_units::Instant;
use support::ops::ops;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn network(text: &str) -> World {
    ops(&Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}")))
}

/// Two edges; these links between them, 100 Mb/s each, and this flow of one host at each.
fn two_edges(links: &str, rest: &str, flows: &str) -> World {
    network(&format!(
        "version: 1
name: ways
seed: 3
duration_ms: 20000
packet_bytes: 1500
ops:
  links: [{links}]
  edges: [{{name: r0}}, {{name: r1}}]
  rate_bps: 100000000
  {rest}
hosts:
- {{name: s, count: 4, at: r0, rate_bps: 100000000, up_delay_ns: 1000000, down_delay_ns: 1000000, buffer: {{bytes: 4000000}}}}
- {{name: d, count: 4, at: r1, rate_bps: 100000000, up_delay_ns: 1000000, down_delay_ns: 1000000, buffer: {{bytes: 4000000}}}}
flows:
{flows}"
    ))
}

const RENO: &str = "transport: reno, sack: false, tcp: {initial_window: 2, max_window_segments: 200, rto_granularity_ms: 10, delayed_acks: false}, packet_stats: true";
const WITH_TRAINS: &str = "aggregation: {scheme: full, interval_ns: 2000000}\n  ingress: {bytes: 4000000}";

#[test]
fn trains_of_the_second_link_are_deflected_and_take_as_much_longer_as_it_draws() {
    let links = "{between: [r0, r1], delay_ns: 5000000}, \
                 {between: [r0, r1], delay_ns: 5000000, loss: 0.2, delay: {hold_ms: [1, 100], mean_ms: 20, deviation_ms: 1}}";
    let rest = "aggregation: {scheme: full, interval_ns: 1000000}\n  ingress: {bytes: 4000000, bursts: 2}";
    let flows = "- {name: u, from: s, to: d, udp: {rate_bps: 35000000, process: poisson}}\n";
    let mut network = two_edges(links, rest, flows);
    network.run_until(Instant::from_ns(3 * SECOND));
    let trains = network.of_kind::<kinds::Ops>().unwrap().trains(0);
    assert_eq!(trains.straight.trains + trains.deflected.trains, trains.delivered);
    assert_eq!(
        trains.straight.sum.ns(),
        trains.straight.trains * 5 * MS,
        "S has its delay"
    );
    assert_eq!(trains.deflected_lost, trains.lost, "S loses nothing");
    let share = trains.deflected_lost as f64 / (trains.deflected_lost + trains.deflected.trains) as f64;
    assert!((0.15..0.25).contains(&share), "{share} of {trains:?}");
    let mean_ms = trains.deflected.sum.ns() as f64 / trains.deflected.trains as f64 / MS as f64;
    assert!((24.5..25.5).contains(&mean_ms), "{mean_ms}");
    assert_eq!(network.of_kind::<kinds::Ops>().unwrap().trains(1).formed, 0);
}

#[test]
fn a_train_that_a_switch_deflects_goes_the_long_way() {
    // s0 to s2: 2 ms by s1, 6 ms by s3. Another edge at s0 sends to s2 as well.
    let mut network = network(
        "version: 1
name: square
seed: 4
duration_ms: 2000
packet_bytes: 1500
ops:
  switches: [s0, s1, s2, s3]
  links:
  - {between: [s0, s1], delay_ns: 1000000}
  - {between: [s1, s2], delay_ns: 1000000}
  - {between: [s0, s3], delay_ns: 3000000}
  - {between: [s3, s2], delay_ns: 3000000}
  edges: [{name: e0, switch: s0, delay_ns: 100000}, {name: e1, switch: s0, delay_ns: 100000}, {name: e2, switch: s2, delay_ns: 100000}]
  rate_bps: 100000000
  ram_bytes: 0
  max_deflections: 3
hosts:
- {name: a, count: 1, at: e0, rate_bps: 100000000, up_delay_ns: 0, down_delay_ns: 0, buffer: {packets: 1000}}
- {name: b, count: 1, at: e1, rate_bps: 100000000, up_delay_ns: 0, down_delay_ns: 0, buffer: {packets: 1000}}
- {name: c, count: 1, at: e2, rate_bps: 100000000, up_delay_ns: 0, down_delay_ns: 0, buffer: {packets: 1000}}
flows:
- {name: ac, from: a, to: c, udp: {rate_bps: 30000000, process: poisson}}
- {name: bc, from: b, to: c, udp: {rate_bps: 60000000, process: poisson}}
",
    );
    network.run_until(Instant::from_ns(2 * SECOND));
    let trains = network.of_kind::<kinds::Ops>().unwrap().trains(0);
    assert!(
        trains.deflected.trains > 100 && trains.straight.trains > 1000,
        "{trains:?}"
    );
    assert_eq!(trains.straight.trains + trains.deflected.trains, trains.delivered);
    // Through the program of the edge and of the controller no time passes.
    assert_eq!(trains.straight.sum.ns(), trains.straight.trains * 2_200_000);
    assert_eq!(trains.deflected.sum.ns(), trains.deflected.trains * 6_200_000);
    assert!(trains.deflected_lost <= trains.lost);
}

/// What became of the trains of one flow of Reno in 20 s over a link that loses one of a hundred.
fn one_flow(rest: &str) -> (FlowTrains, u64, u64) {
    let link = "{between: [r0, r1], delay_ns: 10000000, loss: [0.01, 0]}";
    let flow = format!("- {{name: t, from: s, to: d, {RENO}}}\n");
    let mut network = two_edges(link, rest, &flow);
    network.run_until(Instant::from_ns(20 * SECOND));
    let order: Vec<_> = (0..4).map(|flow| network.take_order_use(flow).unwrap()).collect();
    let sum = |of: fn(&FlowTrains) -> u64| order.iter().map(|order| of(&order.trains)).sum();
    let flows = FlowTrains {
        deflected: sum(|it| it.deflected),
        lost: sum(|it| it.lost),
        timed_out: sum(|it| it.timed_out),
        lost_long: sum(|it| it.lost_long),
        timed_out_long: sum(|it| it.timed_out_long),
    };
    let timeouts = order.iter().map(|order| order.timeouts).sum();
    (
        flows,
        network.of_kind::<kinds::Ops>().unwrap().trains(0).lost_by_links,
        timeouts,
    )
}

#[test]
fn losses_of_single_packets_are_repaired_and_those_of_long_trains_wait_for_the_timer() {
    let (single, by_link, timeouts) = one_flow("ingress: {bytes: 4000000}");
    // The first packets of a connection, without data, may be lost too.
    assert!(single.lost > 100 && by_link - single.lost <= 8, "{single:?} {by_link}");
    assert_eq!((single.lost_long, single.timed_out_long, single.deflected), (0, 0, 0));
    assert!(single.timed_out * 2 < single.lost, "{single:?}, {timeouts} timeouts");
    let (trains, by_link, _) = one_flow(WITH_TRAINS);
    // Trains may have data of several flows.
    assert!(
        trains.lost >= by_link - 8 && trains.lost_long > 20,
        "{trains:?} {by_link}"
    );
    assert!(trains.timed_out_long * 2 > trains.lost_long, "{trains:?}");
    assert!(trains.timed_out_long <= trains.timed_out && trains.timed_out <= trains.lost);
}

#[test]
fn a_flow_counts_a_deflected_train_once_and_only_what_comes() {
    // S takes 4 Mb/s, so most is deflected, and some of that lost.
    let links = "{between: [r0, r1], delay_ns: 5000000, rate_bps: 4000000}, {between: [r0, r1], delay_ns: 5000000, loss: [0.05, 0]}";
    let rest = "aggregation: {scheme: full, interval_ns: 2000000}\n  ingress: {bytes: 4000000, bursts: 1}";
    let flow = format!(
        "- {{name: t, from: s, to: d, {RENO}}}\n- {{name: u, from: s, to: d, udp: {{rate_bps: 10000000, process: poisson}}}}\n"
    );
    let mut network = two_edges(links, rest, &flow);
    network.run_until(Instant::from_ns(5 * SECOND));
    let all = network.of_kind::<kinds::Ops>().unwrap().trains(0);
    let order: Vec<_> = (0..4).map(|flow| network.take_order_use(flow).unwrap()).collect();
    let (mut deflected, mut packets) = (0, 0);
    for order in &order {
        let trains = &order.trains;
        assert!(trains.deflected <= all.deflected.trains, "{trains:?} {all:?}");
        assert!(trains.lost <= all.lost_by_links);
        deflected += trains.deflected;
        packets += order.packets;
    }
    assert!(deflected > 50 && deflected <= packets, "{deflected} of {all:?}");
    // The same when asked again: nothing has happened since.
    assert_eq!(network.take_order_use(0).unwrap().trains, FlowTrains::default());
}
