// SPDX-License-Identifier: Apache-2.0
//! Workloads over a router: flows start and end during the run.

use slotwise_kinds::{FlowProgress, Invariant, Routed, World, framing};
use slotwise_scenario::{Paths, Scenario};
use slotwise_units::{Duration, Instant};
use slotwise_workload::ideal;

use super::support::dumbbell::network;

/// One router with hosts `s.i` and `d.i` at 1 Gb/s and 1 us.
fn scenario(hosts: u32, buffer: &str, workloads: &str) -> Scenario {
    let text = format!(
        "routers: [r]
links: []
duration: 10 s
hosts:
- {{name: s, count: {hosts}, at: r, rate: 1 Gbit/s, up_delay: 1 us, down_delay: 1 us, buffer: {{{buffer}}}}}
- {{name: d, count: {hosts}, at: r, rate: 1 Gbit/s, up_delay: 1 us, down_delay: 1 us, buffer: {{{buffer}}}}}
workloads: [{workloads}]
"
    );
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario to a time. Returns the flows that have ended, and the network.
fn run(scenario: &Scenario, seed: u64, until: Duration) -> (Vec<FlowProgress>, World) {
    let mut world = network(scenario, seed);
    world.run_until(Instant::ZERO + until);
    assert_eq!(world.invariants().count(Invariant::ASTRAY), 0);
    assert!(world.wrong_bytes_of_workloads().is_zero());
    (world.take_ended_flows(), world)
}

/// Completion time and that of the same flow alone.
fn times(scenario: &Scenario, flow: &FlowProgress) -> (Duration, Duration) {
    let workload = &scenario.workloads[flow.workload];
    let path = Paths::of(scenario).between(flow.from, flow.to).unwrap();
    let alone = ideal(&path, flow.flow.size, framing(flow.transport, workload.packet_bytes));
    (flow.last_in.unwrap() - flow.first_out.unwrap(), alone)
}

#[test]
fn flows_arrive_are_recorded_and_leave_nothing_behind() {
    let workload = "{name: w, sizes: 20 KB, load: 0.2, stop: 100 ms, tcp: linux}";
    let scenario = scenario(2, "packets: 1000", workload);
    let (flows, world) = run(&scenario, 1, Duration::from_s(2));
    let uses = world.workload_uses();
    // 0.2 of 4 Gb/s for 100 ms, in flows of 20 KB: 500.
    assert!((400..600).contains(&uses[0].started), "{uses:?}");
    assert_eq!((uses[0].started, uses[0].refused), (uses[0].arrived, 0));
    assert_eq!(
        (flows.len() as u64, world.flows_in_progress().len()),
        (uses[0].started, 0)
    );
    for flow in &flows {
        let (fct, alone) = times(&scenario, flow);
        assert!(flow.start < flow.first_out.unwrap() && fct >= alone, "{flow:?}");
        assert!(flow.last_in < flow.acknowledged, "{flow:?}");
        assert_eq!((flow.hops, flow.flow.size.get()), (1, 20_000), "{flow:?}");
        assert_ne!(flow.from, flow.to);
    }
    assert_eq!(world.flow_ends(), 0, "all ends are gone");
}

#[test]
fn the_same_seed_gives_the_same_flows_and_another_one_others() {
    let workload =
        "{sizes: websearch, load: 0.3, stop: 20 ms, tcp: linux}, {incast: {senders: 3, size: 20 KB, every: 5 ms}}";
    let scenario = scenario(2, "packets: 100", workload);
    let of = |seed| run(&scenario, seed, Duration::from_ms(300)).0;
    let first = of(1);
    assert!(first.len() > 10);
    assert_eq!(first, of(1));
    assert_ne!(first, of(2));
}

#[test]
fn one_workload_draws_the_same_beside_others() {
    let web = "{name: web, sizes: 10 KB, load: 0.1, stop: 20 ms, from: s}";
    let starts = |workloads: &str| {
        let (flows, _) = run(&scenario(2, "packets: 1000", workloads), 1, Duration::from_ms(500));
        let mut of_web: Vec<_> = flows
            .iter()
            .filter(|flow| flow.workload == 0)
            .map(|flow| flow.flow)
            .collect();
        of_web.sort_by_key(|flow| flow.number);
        of_web
    };
    let alone = starts(web);
    assert!(alone.len() > 10);
    assert_eq!(
        alone,
        starts(&format!("{web}, {{name: other, sizes: 1 MB, load: 0.3}}"))
    );
}

#[test]
fn lossy_paths_complete_and_end_too() {
    // Three senders overrun the buffer of one host.
    let workload = "{incast: {senders: 3, size: 200 KB, every: 20 ms, receiver: 0}, from: s, stop: 100 ms, \
                    tcp: {min_rto: 1 ms, initial_window: 10}}";
    let scenario = scenario(4, "packets: 20", workload);
    let (flows, world) = run(&scenario, 1, Duration::from_s(5));
    assert_eq!(flows.len(), 15);
    let retransmissions: u64 = flows.iter().map(|flow| flow.retransmissions).sum();
    assert!(retransmissions > 0, "nothing was lost");
    assert_eq!(world.flow_ends(), 0);
    let coflows: Vec<_> = flows.iter().filter_map(|flow| flow.flow.coflow).collect();
    assert_eq!(coflows.len(), 15);
}

#[test]
fn stray_segments_are_reset_and_do_not_open_connections() {
    // The link to the host goes down while connections close: acknowledgments are lost, and both ends send again.
    let changes = "changes: [{at: 6 ms, hosts: s, up_delay: 300 ms}]";
    let text = format!(
        "routers: [r]\nlinks: []\nduration: 20 s\nhosts:\n- {{name: s, count: 1, at: r}}\n- {{name: d, count: 1, at: r}}\n\
         workloads: [{{from: s, to: d, sizes: 50 KB, closed: {{flows_per_host: 8}}, stop: 8 ms, tcp: {{min_rto: 1 ms}}}}]\n{changes}\n"
    );
    let scenario = Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let (flows, world) = run(&scenario, 1, Duration::from_s(20));
    assert_eq!(flows.len() as u64, world.workload_uses()[0].started);
    assert!(flows.iter().any(|flow| flow.timeouts > 0), "no acknowledgment was late");
    assert_eq!(world.flow_ends(), 0);
}

#[test]
fn a_flow_alone_is_as_fast_as_its_links_allow() {
    let workload =
        |size: &str| format!("{{incast: {{senders: 1, size: {size}, receiver: 1}}, transport: udp, from: s}}");
    for size in ["1 B", "100 B", "1472 B", "1473 B", "20 KB", "3 MB"] {
        let scenario = scenario(2, "packets: 10000", &workload(size));
        let (flows, _) = run(&scenario, 1, Duration::from_s(1));
        let (fct, alone) = times(&scenario, &flows[0]);
        assert_eq!(fct, alone, "{size}");
    }
    // A window that is large from the beginning.
    let tcp = "{incast: {senders: 1, size: 100 KB, receiver: 1}, from: s, tcp: {initial_window: 100}}";
    let scenario = scenario(2, "packets: 10000", tcp);
    let (flows, _) = run(&scenario, 1, Duration::from_s(1));
    let (fct, alone) = times(&scenario, &flows[0]);
    assert_eq!(fct, alone);
}

#[test]
fn a_step_of_a_collective_waits_for_the_one_before() {
    let workload =
        "{collective: {operation: ring, size: 400 KB, rounds: 2, compute: 1 ms}, from: s, tcp: {initial_window: 100}}";
    let scenario = scenario(4, "packets: 10000", workload);
    let (mut flows, _) = run(&scenario, 1, Duration::from_s(1));
    flows.sort_by_key(|flow| flow.flow.number);
    // Two rounds of 2 (N - 1) steps from each of four hosts.
    assert_eq!(flows.len(), 2 * 6 * 4);
    for step in 4..24 {
        let before = flows
            .iter()
            .find(|flow| flow.flow.number / 4 + 1 == step / 4 && flow.to == flows[step as usize].from);
        assert_eq!(
            flows[step as usize].start,
            before.unwrap().last_in.unwrap() + Duration::from_ms(1)
        );
    }
    assert!(flows[24..].iter().all(|flow| flow.start >= flows[23].last_in.unwrap()));
}

#[test]
fn closed_loops_have_a_number_of_flows_in_progress() {
    let workload = "{sizes: 50 KB, closed: {flows_per_host: 3}, from: s, tcp: linux}";
    let scenario = scenario(4, "packets: 1000", workload);
    let (flows, world) = run(&scenario, 1, Duration::from_ms(200));
    assert!(flows.len() > 100, "{}", flows.len());
    let under_way = world.flows_in_progress();
    let not_arrived = under_way.iter().filter(|flow| flow.last_in.is_none()).count();
    assert_eq!(not_arrived, 12);
}

#[test]
fn flows_have_the_transport_of_their_size() {
    let workload = "{sizes: exponential 20 KB, load: 0.2, stop: 20 ms, transport: dctcp, by_size: [{below: 10 KB, transport: udp}]}";
    let scenario = scenario(2, "packets: 10000", workload);
    let (flows, _) = run(&scenario, 1, Duration::from_s(3));
    let is_udp = |flow: &&FlowProgress| flow.acknowledged.is_none();
    let (small, large): (Vec<&FlowProgress>, Vec<&FlowProgress>) = flows.iter().partition(is_udp);
    assert!(small.len() > 10 && large.len() > 10);
    assert!(small.iter().all(|flow| flow.flow.size.get() < 10_000));
    assert!(large.iter().all(|flow| flow.flow.size.get() >= 10_000));
}

#[test]
fn dctcp_keeps_the_queue_near_its_threshold() {
    // RFC 8257 and Alizadeh et al., SIGCOMM 2010, section 3.3: N flows in phase over a link of capacity C and round trip R with
    // threshold K have a queue of at most K + N, that swings by sqrt(2 N (C R + K)) / 2.
    let (flows, threshold) = (2.0_f64, 20.0_f64);
    let workload = "{from: s, to: d, sizes: 100 MB, closed: {flows_per_host: 1}, transport: dctcp, tcp: {initial_window: 10, \
                    delayed_acks: false}}";
    let text = format!(
        "routers: [r, q]\nlinks: [{{from: r, to: q, rate: 1 Gbit/s, delay: 20 us, buffer: {{ecn: {{packets: 1000, mark_above: {threshold}}}}}}}, \
         {{from: q, to: r, rate: 1 Gbit/s, delay: 20 us}}]\nduration: 10 s\nhosts:\n\
         - {{name: s, count: 2, at: r, rate: 10 Gbit/s, up_delay: 20 us, down_delay: 20 us}}\n\
         - {{name: d, count: 1, at: q, rate: 10 Gbit/s, up_delay: 10 us, down_delay: 10 us}}\nworkloads: [{workload}]\n"
    );
    let scenario = Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut world = network(&scenario, 1);
    // Past slow start.
    world.run_until(Instant::from_ns(100_000_000));
    let mut most: u64 = 0;
    let mut least = u64::MAX;
    let mut sum = 0.0;
    let looks = 4000_u32;
    for look in 0..looks {
        world.run_until(Instant::from_ns(100_000_000 + u64::from(look) * 50_000));
        let queue = world.of_kind_mut::<Routed>().unwrap().take_link_use(0).queue_packets;
        (most, least) = (most.max(queue), least.min(queue));
        sum += queue as f64;
    }
    let mean = sum / f64::from(looks);
    // The round trip without the queue: 100 us, 12 us for 1500 bytes at 1 Gb/s, and some at 10 Gb/s.
    let product = 1e9 * 115e-6 / 8.0 / 1500.0;
    let swing = (2.0 * flows * (product + threshold)).sqrt() / 2.0;
    let (highest, expected) = (threshold + flows, threshold + flows - swing / 2.0);
    assert!(
        (highest - 2.0..highest + 4.0).contains(&(most as f64)),
        "most {most}, expected {highest}"
    );
    assert!(
        (mean - expected).abs() < 0.2 * expected,
        "mean {mean}, expected {expected}"
    );
    assert!(
        (most - least) as f64 > 0.6 * swing && ((most - least) as f64) < 2.0 * swing + 4.0,
        "swing {}",
        most - least
    );
    let marked: Vec<_> = world.flows_in_progress();
    assert!(marked.iter().all(|flow| flow.retransmissions == 0), "nothing is lost");
}

/// Mean time from start to arrival, of flows of datagrams that queue for one link of 100 Mb/s.
fn mean_sojourn(sizes: &str, load: f64) -> f64 {
    // Other links are a thousand times as fast.
    let text = format!(
        "routers: [r, q]\nlinks: [{{from: r, to: q, rate: 100 Mbit/s, delay: 0 ns, buffer: 1000000 packets}}, \
         {{from: q, to: r, rate: 100 Mbit/s, delay: 0 ns}}]\nduration: 30 s\npacket_bytes: 9000\nhosts:\n\
         - {{name: s, count: 20, at: r, rate: 100 Gbit/s, up_delay: 0 ns, down_delay: 0 ns, buffer: 1000000 packets}}\n\
         - {{name: d, count: 1, at: q, rate: 100 Gbit/s, up_delay: 0 ns, down_delay: 0 ns, buffer: 1000000 packets}}\n\
         workloads: [{{from: s, to: d, sizes: {sizes}, load: {load}, capacity: 100 Mbit/s, transport: udp, stop: 20 s}}]\n"
    );
    let scenario = Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let (flows, world) = run(&scenario, 1, Duration::from_s(30));
    assert!(
        flows.len() > 70_000 && world.flows_in_progress().is_empty(),
        "{}",
        flows.len()
    );
    let sojourns = flows.iter().map(|flow| (flow.last_in.unwrap() - flow.start).seconds());
    sojourns.sum::<f64>() / flows.len() as f64
}

/// Mean sojourn by Pollaczek and Khinchine: service times of packets with a header, by the first two moments of the data.
fn expected_sojourn(load: f64, mean: f64, square: f64) -> f64 {
    const HEADER: f64 = 28.0;
    let second = 8.0 / 100e6;
    let rate = load / (mean * second);
    let service = (mean + HEADER) * second;
    let service_square = (square + 2.0 * HEADER * mean + HEADER * HEADER) * second * second;
    service + rate * service_square / (2.0 * (1.0 - rate * service))
}

#[test]
fn queues_of_datagrams_are_those_of_theory() {
    for load in [0.3, 0.5, 0.7] {
        // M/D/1, and M/M/1 but for the headers.
        for (sizes, square) in [("972 B", 972.0 * 972.0), ("exponential 972 B", 2.0 * 972.0 * 972.0)] {
            let found = mean_sojourn(sizes, load);
            let expected = expected_sojourn(load, 972.0, square);
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{sizes} at {load}: {found}, expected {expected}"
            );
        }
    }
}
