// SPDX-License-Identifier: Apache-2.0
//! Sessions of GTP between hosts of routers, beside TCP, with loss.

use crate::support;

use slotwise_kinds::{FlowUse, SessionUse, World};
use slotwise_scenario::Scenario;
use slotwise_units::{Bytes, Instant, Rate};
use support::dumbbell::{dumbbell, network};

const MS: u64 = 1_000_000;
/// What hosts share of the link of 10 Mb/s between the routers.
const CAPACITY_BPS: u64 = 8_000_000;

fn scenario(flows: &str, rest: &str) -> Scenario {
    let mut scenario = dumbbell(flows, rest);
    for group in &mut scenario.routed.hosts {
        group.gtp.capacity = Rate::from_bps(CAPACITY_BPS);
    }
    scenario
}

/// What each flow did until then.
fn run(network: &mut World, until_ms: u64) -> Vec<FlowUse> {
    assert!(
        !network.run_until_control(Instant::from_ns(until_ms * MS)),
        "nothing is reported here"
    );
    let flows = network.routed_flows().len();
    (0..flows).map(|flow| network.take_flow_use(flow)).collect()
}

fn sessions(network: &World) -> Vec<SessionUse> {
    let flows = 0..network.routed_flows().len();
    flows.filter_map(|flow| network.session_use(flow)).collect()
}

#[test]
fn a_session_takes_what_both_its_hosts_grant_and_ends_when_told() {
    let mut network = network(
        &scenario(
            "{name: f, from: s, to: d, stop_ms: 4500, gtp: {alpha: 0.3, source_limit_bps: 4500000}}",
            "",
        ),
        3,
    );
    run(&mut network, 3000);
    assert_eq!(sessions(&network).len(), 2);
    let before = sessions(&network);
    let flows = run(&mut network, 4000);
    // Each of the two has hosts of its own; together they leave 1 Mb/s of the link.
    for (flow, (used, earlier)) in flows.iter().zip(sessions(&network).iter().zip(before)) {
        let sent_bps = (used.source.packet_bytes - earlier.source.packet_bytes).get() * 8;
        assert!((4_450_000..=4_515_000).contains(&sent_bps), "{sent_bps} b/s");
        assert_eq!((used.sink.lost_packets, used.source.retransmissions), (0, 0));
        assert_eq!((used.sink.refused, flow.wrong_bytes.get()), (0, 0));
        assert!(flow.srtt.ns() > 20 * MS, "{} ns", flow.srtt.ns());
        // 52 of 1000 bytes are headers.
        assert!((4_200_000..4_290_000).contains(&(flow.delivered_bytes.get() * 8)));
    }
    run(&mut network, 4600);
    assert_eq!(run(&mut network, 5000)[0].delivered_bytes.get(), 0);
    assert!(network.invariants().held());
}

#[test]
fn sessions_of_one_sink_share_it_and_tcp_lives_in_the_rest() {
    let flows = "{name: f, from: s, to: d, flows_per_pair: 2, gtp: {source_limit_bps: 2000000, alpha: 0.3}}, {name: t, from: s, to: d}";
    let mut scenario = scenario(flows, "");
    // Two sessions of 2 Mb/s that each host may send, and no more than 3 for the sink.
    scenario.routed.hosts[1].gtp.capacity = Rate::from_bps(3_000_000);
    let mut network = network(&scenario, 3);
    // A retransmission of TCP's first recovery is lost: what came behind that gap counts when the timer has filled it, at 4 s.
    run(&mut network, 5000);
    let flows = run(&mut network, 15_000);
    let rates = flows
        .iter()
        .map(|flow| flow.delivered_bytes.get() * 8 / 10)
        .collect::<Vec<u64>>();
    for rate in &rates[..4] {
        assert!((1_300_000..1_500_000).contains(rate), "half of 3 Mb/s each: {rates:?}");
    }
    let tcp: u64 = rates[4..].iter().sum();
    assert!((2_500_000..4_000_000).contains(&tcp), "the rest of 10 Mb/s: {rates:?}");
    // TCP fills the buffer, and what it loses GTP loses too; it comes again.
    let lost: u64 = sessions(&network).iter().map(|used| used.sink.lost_packets).sum();
    let again: u64 = sessions(&network).iter().map(|used| used.source.retransmissions).sum();
    assert!(lost > 0 && again > 0, "{lost} lost, {again} again");
    assert!(flows.iter().all(|flow| flow.wrong_bytes.get() == 0));
}

#[test]
fn every_byte_comes_once_through_a_link_that_fails() {
    let changes = "changes:
- {at_ms: 600, link: there, up: false}
- {at_ms: 900, link: there, up: true}
";
    let mut network = network(
        &scenario(
            "{name: f, from: s, to: d, gtp: {bytes: 1000000, alpha: 0.3, source_limit_bps: 4500000}}",
            changes,
        ),
        3,
    );
    let mut delivered = [0; 2];
    for second in 1..=5 {
        while network.run_until_control(Instant::from_ns(second * 1000 * MS)) {
            while network.poll_control().is_some() {}
        }
        for (sum, flow) in delivered.iter_mut().zip(0..) {
            let used = network.take_flow_use(flow);
            assert_eq!(used.wrong_bytes.get(), 0);
            *sum += used.delivered_bytes.get();
        }
    }
    assert_eq!(delivered, [1_000_000; 2]);
    for used in sessions(&network) {
        assert!(used.sink.lost_packets > 10, "{used:?}");
        let whole = Bytes::new(1_000_000);
        assert_eq!((used.sink.received, used.source.bytes), (whole, whole));
    }
}

#[test]
fn one_seed_gives_one_run() {
    let scenario = scenario("{name: f, from: s, to: d, flows_per_pair: 3, gtp: {}}", "");
    let result = |seed| {
        let mut network = network(&scenario, seed);
        (run(&mut network, 2000), sessions(&network))
    };
    assert_eq!(result(1), result(1));
    assert_ne!(result(1), result(2));
}
