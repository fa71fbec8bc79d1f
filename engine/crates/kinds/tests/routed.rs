// SPDX-License-Identifier: Apache-2.0
//! Networks of routers, with the P4 crate's plain IP router.

use crate::support;

use slotwise_kinds::{
    self as kinds, ControlMessage, DropCause, FifoUse, FlowUse, HostMode, Place, World, WorldOptions,
};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::{Duration, Instant};
use support::dumbbell::{configure, configured, dumbbell, network};
use support::mac_number;

const MS: u64 = 1_000_000;

/// What the link and the flows did in each second.
fn run(scenario: &Scenario, seed: u64) -> Vec<(FifoUse, Vec<FlowUse>)> {
    let mut network = network(scenario, seed);
    let seconds = scenario.duration_ms() / 1000;
    let samples = (1..=seconds)
        .map(|second| {
            assert!(
                !network.run_until_control(Instant::from_ns(second * 1000 * MS)),
                "nothing has XCP here"
            );
            let link = network.of_kind_mut::<kinds::Routed>().unwrap().take_link_use(0);
            let flows = network.routed_flows().len();
            (link, (0..flows).map(|flow| network.take_flow_use(flow)).collect())
        })
        .collect();
    assert!(network.invariants().held());
    samples
}

#[test]
fn tcp_fills_a_bottleneck_through_p4_routers() {
    let scenario = dumbbell("{name: f, from: s, to: d, transport: cubic}", "");
    let samples = run(&scenario, 3);
    for (second, (link, flows)) in samples.iter().enumerate().skip(1) {
        let utilization = link.busy.seconds();
        assert!((0.9..=1.001).contains(&utilization), "second {second}: {utilization}");
        assert!(link.most_packets <= 20);
        for flow in flows {
            assert_eq!(flow.wrong_bytes.get(), 0);
            // Headers of 40 bytes at each of three serializations, two of 80 us and one of 800 us.
            assert!(flow.delay_sum.ns() / flow.packets > 10 * MS + 960_000);
            assert!(flow.delay_max.ns() <= 10 * MS + 960_000 + 20 * 800_000 + 2 * MS);
            assert!(flow.srtt.ns() > 20 * MS && flow.window.get() > flow.mss.get());
        }
    }
    let delivered: u64 = samples
        .iter()
        .flat_map(|(_, flows)| flows)
        .map(|flow| flow.delivered_bytes.get())
        .sum();
    assert!(delivered * 8 < 10_000_000 * 5, "{delivered} bytes in 5 s");
    assert!(
        samples.iter().any(|(link, _)| link.dropped_packets > 0),
        "TCP finds the limit by loss"
    );
}

#[test]
fn one_seed_gives_one_run() {
    let scenario = dumbbell("{name: f, from: s, to: d, transport: newreno}", "");
    assert_eq!(run(&scenario, 1), run(&scenario, 1));
    assert_ne!(run(&scenario, 1), run(&scenario, 2));
}

#[test]
fn a_sized_flow_ends_and_changes_of_a_link_take_effect() {
    let changes = "changes:
- {at_ms: 1000, link: there, rate_bps: 5000000}
- {at_ms: 3000, hosts: d, down_delay_ns: 102500000}
";
    let scenario = dumbbell("{name: f, from: s, to: d, transport: cubic}", changes);
    let samples = run(&scenario, 3);
    let sent_bps: Vec<u64> = samples.iter().map(|(link, _)| link.sent_bytes.get() * 8).collect();
    assert!(sent_bps[2] <= 5_010_000, "{sent_bps:?}");
    let delay_ns = |second: usize| samples[second].1[0].delay_sum.ns() / samples[second].1[0].packets;
    assert!(
        delay_ns(4) > 110 * MS && delay_ns(2) < 60 * MS,
        "{} and {} ns",
        delay_ns(2),
        delay_ns(4)
    );

    let sized = dumbbell("{name: f, from: s, to: d, transport: reno, bytes: 100000}", "");
    let total: u64 = run(&sized, 3)
        .iter()
        .map(|(_, flows)| flows[0].delivered_bytes.get())
        .sum();
    assert_eq!(total, 100_000);
}

#[test]
fn a_link_that_goes_dark_is_told_and_carries_nothing_until_it_is_light_again() {
    let changes = "changes:
- {at_ms: 1000, link: there, up: false}
- {at_ms: 1500, link: back, up: false}
- {at_ms: 3000, link: there, up: true}
";
    let mut network = network(&dumbbell("{name: f, from: s, to: d, transport: cubic}", changes), 3);
    let mut told = Vec::new();
    let mut delivered = Vec::new();
    for second in 1..=5 {
        while network.run_until_control(Instant::from_ns(second * 1000 * MS)) {
            while let Some(event) = network.poll_control() {
                told.push((event.at.ns() / MS, event.device_id, event.message));
            }
        }
        network.run_until(Instant::from_ns(second * 1000 * MS));
        delivered.push(
            (0..2)
                .map(|flow| network.take_flow_use(flow).delivered_bytes.get())
                .sum::<u64>(),
        );
    }
    let link = |at_ms, router, is_up| {
        (
            at_ms,
            Device::Router(router).id(),
            ControlMessage::Link { port: 1, is_up },
        )
    };
    let expected = [
        link(1000, 0, false),
        link(1000, 1, false),
        link(3000, 0, true),
        link(3000, 1, true),
    ];
    assert_eq!(told, expected, "both ways are one cable");
    assert!(delivered[0] > 500_000 && delivered[4] > 500_000, "{delivered:?}");
    // What was on the link when it went dark arrives.
    assert!(delivered[1] < 50_000 && delivered[2] == 0, "{delivered:?}");
    let lost = network
        .drops()
        .iter()
        .filter(|(_, cause, _)| *cause == DropCause::LinkDown);
    assert!(lost.map(|(_, _, count)| count.packets).sum::<u64>() > 0);
    assert!(network.invariants().held());
}

#[test]
fn cuts_of_links_are_drawn_from_the_seed_and_flows_go_on_after_them() {
    let faults = "faults: [{kind: link-down, every_ms: 1500, for_ms: 100}]";
    let scenario = dumbbell("{name: f, from: s, to: d, transport: cubic}", faults);
    let run = |seed| {
        let mut network = network(&scenario, seed);
        network.run_until(Instant::from_ns(5000 * MS));
        assert!(network.invariants().held());
        network.faults().to_vec()
    };
    let cuts = run(1);
    assert_eq!(cuts, run(1));
    assert_ne!(cuts, run(2));
    let routers = [0, 1].map(Device::Router);
    assert!(!cuts.is_empty() && cuts.iter().all(|cut| cut.happened && cut.devices == routers));
    let recovered = cuts.iter().filter(|cut| cut.recovered.is_some()).count();
    assert_eq!(recovered, cuts.len(), "{cuts:?}");
}

#[test]
fn a_file_that_has_arrived_is_not_waited_for_after_a_fault() {
    let faults = "faults: [{kind: link-down, every_ms: 1500, for_ms: 100}]";
    let flows =
        "{name: file, from: s, to: d, transport: cubic, bytes: 100000}, {name: f, from: s, to: d, transport: cubic}";
    let mut network = network(&dumbbell(flows, faults), 1);
    network.run_until(Instant::from_ns(5000 * MS));
    let cuts = network.faults().to_vec();
    let file_bytes: Vec<u64> = (0..2)
        .map(|flow| network.take_flow_use(flow).delivered_bytes.get())
        .collect();
    assert_eq!(file_bytes, [100_000, 100_000], "it arrives before the first fault ends");
    assert!(
        !cuts.is_empty() && cuts.iter().all(|cut| cut.recovered.is_some()),
        "{cuts:?}"
    );
}

#[test]
fn a_router_that_restarts_comes_back_empty_and_says_so() {
    let faults = "faults: [{kind: router-restart, every_ms: 1500, for_ms: 100}]";
    let scenario = dumbbell("{name: f, from: s, to: d, transport: cubic}", faults);
    let mut network = network(&scenario, 1);
    let mut told = Vec::new();
    while network.run_until_control(Instant::from_ns(5000 * MS)) {
        while let Some(event) = network.poll_control() {
            assert!(
                network.pipeline_mut(event.device_id).is_none(),
                "nobody has given it one"
            );
            if let ControlMessage::Device { is_up: true } = event.message {
                configure(&mut network, Device::from_id(event.device_id).unwrap());
            }
            told.push((event.at.ns(), event.device_id, event.message));
        }
    }
    let restarts = network.faults().to_vec();
    let expected = restarts.iter().flat_map(|fault| {
        let [router] = fault.devices[..] else {
            panic!("one router: {fault:?}")
        };
        [(fault.start.ns(), false), (fault.end.ns(), true)]
            .map(|(at_ns, is_up)| (at_ns, router.id(), ControlMessage::Device { is_up }))
    });
    assert_eq!(told, expected.collect::<Vec<_>>());
    assert!(
        !restarts.is_empty() && restarts.iter().all(|fault| fault.happened && fault.recovered.is_some()),
        "{restarts:?}"
    );
    let mut lost = network.drops().iter();
    assert!(lost.any(|(_, cause, count)| cause == DropCause::NoPipeline && count.packets > 0));
}

#[test]
fn a_router_that_restarts_loses_what_waits_in_its_queues() {
    let faults = "faults: [{kind: router-restart, every_ms: 1500, for_ms: 100}]";
    let scenario = dumbbell("{name: f, from: s, to: d, transport: cubic}", faults);
    let mut network = network(&scenario, 1);
    let left = Device::Router(0);
    let start_ns = network
        .faults()
        .iter()
        .find(|fault| fault.devices == [left])
        .expect("seed 1 has one")
        .start
        .ns();
    let lost = |network: &World| {
        let counts = network
            .drops()
            .iter()
            .filter(|(_, cause, _)| *cause == DropCause::PipelineReplaced);
        counts
            .map(|(place, _, count)| (place, count.packets))
            .collect::<Vec<_>>()
    };
    while network.run_until_control(Instant::from_ns(start_ns - 1)) {
        while let Some(event) = network.poll_control() {
            if let ControlMessage::Device { is_up: true } = event.message {
                configure(&mut network, Device::from_id(event.device_id).unwrap());
            }
        }
    }
    let before = lost(&network);
    let used = network.of_kind_mut::<kinds::Routed>().unwrap().take_link_use(0);
    assert!(used.queue_packets > 0, "its link is full");
    network.run_until(Instant::from_ns(start_ns));
    let after = lost(&network);
    let used_then = network.of_kind_mut::<kinds::Routed>().unwrap().take_link_use(0);
    assert_eq!(
        (used_then.queue_packets, used_then.dropped_packets),
        (0, used.queue_packets)
    );
    let port = Place::Port { device: left, port: 1 };
    let of_port = |lost: &[(Place, u64)]| {
        lost.iter()
            .filter(|(place, _)| *place == port)
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    assert_eq!(of_port(&after) - of_port(&before), used.queue_packets);
}

#[test]
fn hosts_outside_are_at_their_ports_and_captures_have_places() {
    let scenario = dumbbell(
        "{name: f, from: s, to: d, transport: cubic}",
        "changes: [{at_ms: 1, link: there, up: false}]",
    );
    let options = WorldOptions {
        seed: 1,
        host_mode: HostMode::External,
        captures: None,
        frame_records: false,
    };
    let mut network = configured(World::new(&scenario, options));
    let names: Vec<String> = network.capture_points().iter().map(|point| point.name()).collect();
    assert_eq!(
        names[..5],
        [
            "router0-port1",
            "router0-port2",
            "router0-port3",
            "router0-linecard",
            "router0-cpu"
        ]
    );
    assert_eq!(names.len(), 10);
    // From the first host of the left router to the second of the right one, by Ethernet, IPv4 and 20 bytes.
    let ethernet = [
        &mac_number(Device::Router(0).mac()).to_be_bytes()[2..],
        &[2, 0, 0, 2, 0, 0, 8, 0],
    ]
    .concat();
    let ip = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0x66, 0xbf, 10, 1, 0, 1, 10, 1, 0, 4];
    let frame = [&ethernet[..], &ip, &[0; 20]].concat();
    let (left, right) = (Device::Router(0), Device::Router(1));
    assert!(
        network.inject_host(Instant::ZERO, left, 1, &frame).is_err(),
        "that leads to a router"
    );
    assert!(network.inject_host(Instant::ZERO, Device::Edge(0), 2, &frame).is_err());
    network.inject_host(Instant::ZERO, left, 2, &frame).unwrap();
    network.run_until(Instant::from_ns(100 * MS));
    let arrived = network
        .poll_host_output()
        .expect("changes of links wait until hosts begin");
    assert_eq!((arrived.device, arrived.port), (right, 3));
    network.schedule_link_changes(network.now());
    network.run_until(network.now() + Duration::from_ns(2 * MS));
    network.inject_host(network.now(), left, 2, &frame).unwrap();
    network.run_until(network.now() + Duration::from_ns(100 * MS));
    assert_eq!(network.poll_host_output(), None, "the link is dark");
}

#[test]
fn bursts_and_pages_cross_routers() {
    let flows = "{name: u, from: s, to: d, udp: {rate_bps: 2000000, process: on-off-pareto, mean_on_ns: 20000000, \
                 mean_off_ns: 20000000}}, {name: w, from: d, to: s, web: {users: 2, mean_think_ns: 50000000, mean_bytes: 20000, \
                 shape: 1.5}, transport: newreno}";
    let mut network = network(&dumbbell(flows, ""), 1);
    network.run_until(Instant::from_ns(10_000_000_000));
    let uses: Vec<_> = (0..4).map(|flow| network.take_flow_use(flow)).collect();
    for used in &uses[..2] {
        // Half of 2 Mb/s for 10 s, less the headers: 1.2 MB.
        assert!((700_000..1_700_000).contains(&used.delivered_bytes.get()), "{used:?}");
        assert!(used.packets > 0 && used.delay_sum.ns() > 0, "{used:?}");
        assert_eq!((used.window.get(), used.srtt.ns()), (0, 0));
    }
    for used in &uses[2..] {
        // Two users who need some 100 ms a page of 20 kB, for 10 s.
        assert!(
            (1_000_000..10_000_000).contains(&used.delivered_bytes.get()),
            "{used:?}"
        );
        assert_eq!(used.wrong_bytes.get(), 0);
        assert!(used.window.get() > 0 && used.srtt.ns() > 0);
    }
    assert!(network.invariants().held());
    let before: u64 = uses.iter().map(|used| used.delivered_bytes.get()).sum();
    network.run_until(Instant::from_ns(10_000_000_001));
    let after: u64 = (0..4)
        .map(|flow| network.take_flow_use(flow).delivered_bytes.get())
        .sum();
    assert!(after < before / 100, "only what is new is counted");
}

/// Three groups of flows: hosts of Linux can play the first, the fabric plays the others in a live run.
const MIXED: &str = "{name: bulk, from: s, to: d, transport: cubic}, {name: burst, from: s, to: d, udp: {rate_bps: 2000000, \
     process: on-off-pareto, mean_on_ns: 20000000, mean_off_ns: 20000000}}, \
     {name: page, from: d, to: s, web: {mean_think_ns: 20000000, mean_bytes: 20000}}";

/// A datagram of 100 bytes that the fabric did not make, from the first host of `s` to the first of `d`.
fn datagram_of_others() -> Vec<u8> {
    let (from, to) = ([10, 1, 0, 1], [10, 1, 0, 3]);
    let mut frame = mac_number(Device::Router(0).mac()).to_be_bytes()[2..].to_vec();
    frame.extend([2, 0, 0, 2, 0, 0, 8, 0]);
    frame.extend([0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(from.into_iter().chain(to));
    let sum: u32 = frame[14..34]
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    // Ports of iperf3, and nothing in it.
    frame.extend([0xa0, 0, 0x14, 0x51, 0, 80, 0, 0]);
    frame.resize(114, 0);
    frame
}

#[test]
fn what_linux_cannot_play_the_fabric_plays_beside_it() {
    let scenario = dumbbell(MIXED, "");
    let options = |host_mode| WorldOptions {
        seed: 3,
        host_mode,
        captures: None,
        frame_records: false,
    };
    let mut network = configured(World::new(&scenario, options(HostMode::Shared)));
    let alone = World::new(&scenario, options(HostMode::Simulated));
    // The same flows, with the same draws, but for those that others play.
    assert_eq!(network.routed_flows(), &alone.routed_flows()[2..]);
    assert!(
        World::new(
            &dumbbell("{name: bulk, from: s, to: d, transport: cubic}", ""),
            options(HostMode::Shared)
        )
        .routed_flows()
        .is_empty()
    );

    let begins = 40_000 * MS;
    network.run_until(Instant::from_ns(begins));
    assert_eq!(
        network
            .of_kind_mut::<kinds::Routed>()
            .unwrap()
            .take_link_use(0)
            .arrived_packets,
        0,
        "nobody has said that the phase begins"
    );
    network.begin_phase(1);
    network.begin_phase(0);
    network.begin_phase(0);
    network.run_until(Instant::from_ns(begins + 2000 * MS));
    let uses: Vec<FlowUse> = (0..4).map(|flow| network.take_flow_use(flow)).collect();
    for (flow, used) in uses.iter().enumerate() {
        assert!(
            used.delivered_bytes.get() > 50_000 && used.wrong_bytes.get() == 0,
            "flow {flow}: {used:?}"
        );
        assert!(used.delay_sum.ns() / used.packets > 10 * MS, "flow {flow}: {used:?}");
    }
    // Of the bursts half of 2 Mb/s, if nobody had begun them twice.
    assert!(uses[..2].iter().map(|used| used.delivered_bytes.get()).sum::<u64>() < 2 * 2 * 200_000);
    assert!(network.poll_host_output().is_none(), "that is the fabric's own");

    let frame = datagram_of_others();
    network
        .inject_host(Instant::ZERO, Device::Router(0), 2, &frame)
        .unwrap();
    network.run_until(Instant::from_ns(begins + 2100 * MS));
    let output = network
        .poll_host_output()
        .expect("what is not for the fabric's flows is the caller's");
    assert_eq!(
        (output.device, output.port, output.frame.len()),
        (Device::Router(1), 2, 114)
    );
    assert!(network.poll_host_output().is_none() && network.invariants().held());
}

/// Two streams of 4 Mb/s over the link `there`, which loses a fifth, and two back: packets that hosts got of `there` and `back`, and of
/// losses at the outputs of both routers.
fn lossy(seed: u64) -> ([u64; 2], [u64; 2]) {
    let flows = "{name: f, from: s, to: d, udp: {rate_bps: 4000000, process: constant}}, \
                 {name: g, from: d, to: s, udp: {rate_bps: 4000000, process: constant}}";
    let mut scenario = dumbbell(flows, "");
    scenario.routed.links[0].loss = 0.2;
    let mut network = network(&scenario, seed);
    assert!(
        !network.run_until_control(Instant::from_ns(5000 * MS)),
        "nothing has XCP here"
    );
    let mut came = |flow: usize| network.take_flow_use(flow).packets + network.take_flow_use(flow + 1).packets;
    let came = [came(0), came(2)];
    let port = |router: u16| Place::Port {
        device: Device::Router(router),
        port: 1,
    };
    let lost = [0, 1].map(|router| network.drops().get(port(router), DropCause::LinkLoss).packets);
    assert!(network.invariants().held());
    (came, lost)
}

#[test]
fn a_link_loses_its_share_at_random_and_the_link_back_nothing() {
    let (came, lost) = lossy(3);
    assert!(came[1] > 4900 && lost[1] == 0, "{came:?} {lost:?}");
    // Some 5000 packets: 1000 are lost, with a deviation of 28.
    assert!((850..1150).contains(&lost[0]), "{lost:?}");
    let missing = came[1] - came[0];
    assert!(missing.abs_diff(lost[0]) < 20, "what is under way: {came:?} {lost:?}");
    assert_eq!(lossy(3), (came, lost), "by seed");
    assert_ne!(lossy(4).1, lost);
}
