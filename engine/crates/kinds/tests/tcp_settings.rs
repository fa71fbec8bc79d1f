// SPDX-License-Identifier: Apache-2.0
//! Settings of TCP and measurements of a group of flows, over two routers.

use crate::support;

use slotwise_kinds::{self as kinds, OrderUse, World};
use slotwise_units::Instant;
use support::dumbbell;

const MS: u64 = 1_000_000;

/// These flows over the dumbbell.
fn network(flows: &str, rest: &str) -> World {
    dumbbell::network(&dumbbell::dumbbell(flows, rest), 3)
}

/// What the first flow was measured to do in 3 s.
fn order(flows: &str, changes: &str) -> OrderUse {
    let mut network = network(flows, changes);
    network.run_until(Instant::from_ns(3000 * MS));
    network.take_order_use(0).expect("it is measured")
}

#[test]
fn each_two_hosts_have_as_many_flows_as_the_group_says() {
    let mut network = network("{name: f, from: s, to: d, flows_per_pair: 3, transport: newreno}", "");
    let names: Vec<String> = network.routed_flows().iter().map(|flow| flow.name.clone()).collect();
    assert_eq!(names, ["f.0", "f.1", "f.2", "f.3", "f.4", "f.5"]);
    network.run_until(Instant::from_ns(3000 * MS));
    for flow in 0..6 {
        assert!(network.take_flow_use(flow).delivered_bytes.get() > 100_000);
        assert_eq!(network.take_order_use(flow), None, "nobody asked for it");
    }
}

#[test]
fn a_paced_window_does_not_queue_where_the_same_window_at_once_does() {
    // Ten packets come at 100 Mb/s and leave at 10.
    let queue = |paced: bool| {
        let tcp = format!("{{initial_window: 10, max_window_segments: 10, delayed_acks: false, paced: {paced}}}");
        let flow = format!("{{name: f, from: s, to: d, transport: newreno, start_jitter_ms: 300, tcp: {tcp}}}");
        let mut network = network(&flow, "");
        network.run_until(Instant::from_ns(3000 * MS));
        let goodput = network.take_flow_use(0).delivered_bytes.get();
        (
            network
                .of_kind_mut::<kinds::Routed>()
                .unwrap()
                .take_link_use(0)
                .most_packets,
            goodput,
        )
    };
    let ((paced, paced_bytes), (burst, _)) = (queue(true), queue(false));
    assert!(paced <= 3 && burst >= 7, "{paced} and {burst} packets waited");
    // Ten packets of 960 bytes in each round trip of at least 21 ms.
    assert!(
        (1_100_000..=1_320_000).contains(&paced_bytes),
        "{paced_bytes} bytes in 2.9 s"
    );
}

#[test]
fn what_is_measured_of_a_flow_without_losses_is_even() {
    let tcp = "{max_window_segments: 5, delayed_acks: false}";
    let flow =
        format!("{{name: f, from: s, to: d, transport: newreno, start_jitter_ms: 0, tcp: {tcp}, packet_stats: true}}");
    let order = order(&flow, "");
    assert!(order.packets > 500 && order.sent >= order.packets && order.sent <= order.packets + 5);
    assert_eq!(
        (order.retransmissions, order.needless_retransmissions, order.timeouts),
        (0, 0, 0)
    );
    assert_eq!(
        (order.reordered, order.reordered_1, order.reordered_3, order.extent_max),
        (0, 0, 0, 0)
    );
    let mean_ns = order.delay_sum.ns() / order.packets;
    // 10 ms of propagation, 80 us twice and 800 us once.
    assert!((10_960_000..15_000_000).contains(&mean_ns), "{mean_ns}");
    assert!(order.delay_squares_ns2 >= u128::from(mean_ns) * u128::from(mean_ns) * u128::from(order.packets));
}

#[test]
fn a_timer_that_goes_off_too_early_sends_needlessly_and_a_real_loss_does_not() {
    let tcp = "{max_window_segments: 5, delayed_acks: false, min_rto_ms: 0}";
    let flow =
        format!("{{name: f, from: s, to: d, transport: reno, start_jitter_ms: 0, tcp: {tcp}, packet_stats: true}}");
    let late = order(&flow, "changes: [{at_ms: 1000, link: there, delay_ns: 400000000}]");
    assert!(late.timeouts > 0 && late.retransmissions > 0);
    assert_eq!(
        late.needless_retransmissions, late.retransmissions,
        "nothing is ever lost"
    );
    // Of 26 packets at ten times the link's rate some find no room; NewReno sends again what is missing and nothing else.
    let tcp = "{initial_window: 26, max_window_segments: 26, delayed_acks: false}";
    let flow =
        format!("{{name: f, from: s, to: d, transport: newreno, start_jitter_ms: 0, tcp: {tcp}, packet_stats: true}}");
    let lossy = order(&flow, "");
    assert!(
        lossy.fast_retransmits > 0 && lossy.retransmissions > 0 && lossy.timeouts == 0,
        "{lossy:?}"
    );
    assert_eq!(
        (lossy.needless_retransmissions, lossy.needless_fast_retransmits),
        (0, 0)
    );
}

#[test]
fn datagrams_are_measured_too() {
    let order = order(
        "{name: u, from: s, to: d, udp: {rate_bps: 4000000, process: poisson}, packet_stats: true}",
        "",
    );
    assert!(
        (1300..1700).contains(&order.sent),
        "{} where 1500 are the mean",
        order.sent
    );
    assert!(order.packets <= order.sent && order.packets + 20 > order.sent);
    let packets = u128::from(order.packets);
    let scatter =
        packets * order.delay_squares_ns2 - u128::from(order.delay_sum.ns()) * u128::from(order.delay_sum.ns());
    assert!(scatter > 0, "they queue behind each other, some longer");
    assert_eq!((order.reordered, order.retransmissions), (0, 0));
}
