// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches with the repository's own P4 programs.

use crate::support;

use std::collections::BTreeMap;

use slotwise_kinds::{self as kinds, DropCause, HostMode, Invariant, OpsOutputUse, OpsTrains, World};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::Instant;
use slotwise_wire::{DropReason, NO_FIBRE, TrainFate};
use support::ops::{configure_edge, dropped, ops, set_edge_params, set_switch_params, switch_params};
use support::{bits, ops as written, options};

const MS: u64 = 1_000_000;

/// An edge at each switch.
const EACH: &str = "{edges_per_switch: 1, delay_ns: 100000}";
/// Two at the same one.
const TWO_AT_ONE: &str = "[{name: e0, switch: s0, delay_ns: 100000}, {name: e1, switch: s0, delay_ns: 100000}, {name: e2, switch: s2, delay_ns: 100000}]";

/// A triangle of switches, three edges with two hosts each; s0-s1, s1-s2, s0-s2 are 1, 1 and 1.5 ms.
fn triangle(of_ops: &str, flows: &str, rest: &str) -> Scenario {
    with_edges(EACH, of_ops, flows, rest)
}

fn with_edges(edges: &str, of_ops: &str, flows: &str, rest: &str) -> Scenario {
    let hosts: String = (0..3)
        .map(|edge| {
            format!(
                "- {{name: h{edge}, count: 2, at: e{edge}, rate_bps: 1000000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {{packets: 1000}}}}\n"
            )
        })
        .collect();
    let text = format!(
        "version: 1
name: triangle
seed: 5
duration_ms: 1000
packet_bytes: 1500
ops:
  switches: [s0, s1, s2]
  links: [{{between: [s0, s1], delay_ns: 1000000}}, {{between: [s1, s2], km: 200}}, {{between: [s0, s2], delay_ns: 1500000}}]
  edges: {edges}
  rate_bps: 1000000000
{of_ops}
hosts:
{hosts}
flows:
{flows}
{rest}"
    );
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn udp(from: usize, to: usize, rate_bps: u64, process: &str) -> String {
    format!(
        "- {{name: f{from}{to}, from: h{from}, to: h{to}, start_jitter_ms: 1, udp: {{rate_bps: {rate_bps}, process: {process}}}}}\n"
    )
}

/// What all switches did.
fn used(network: &mut World) -> (BTreeMap<DropReason, u64>, [u64; TrainFate::ALL.len()]) {
    let (mut drops, mut trains) = (BTreeMap::new(), [0; TrainFate::ALL.len()]);
    let switches: Vec<Device> = network
        .devices()
        .filter(|device| matches!(device, Device::Switch(_)))
        .collect();
    for switch in switches {
        let used = network
            .of_kind_mut::<kinds::Ops>()
            .unwrap()
            .take_switch_use(switch)
            .unwrap();
        for (reason, count) in used.drops {
            *drops.entry(reason).or_default() += count;
        }
        for (sum, count) in trains.iter_mut().zip(used.trains) {
            *sum += count;
        }
    }
    (drops, trains)
}

fn of(trains: [u64; TrainFate::ALL.len()], fate: TrainFate) -> u64 {
    trains[usize::from(u8::from(fate))]
}

fn formed(network: &World, edges: u16) -> OpsTrains {
    let mut all = OpsTrains::default();
    for edge in 0..edges {
        let trains = network.of_kind::<kinds::Ops>().unwrap().trains(edge);
        all.formed += trains.formed;
        all.delivered += trains.delivered;
        all.lost += trains.lost;
        all.under_way += trains.under_way;
    }
    all
}

fn assert_held(network: &World) {
    assert!(network.invariants().held(), "{:?}", network.invariants());
}

#[test]
fn trains_of_single_packets_cross_and_nothing_is_lost() {
    let flows = udp(0, 2, 10_000_000, "constant") + &udp(2, 1, 10_000_000, "constant");
    let mut network = ops(&triangle("  ram_bytes: 9000", &flows, ""));
    network.run_until(Instant::from_ns(500 * MS));
    let (drops, trains) = used(&mut network);
    assert_eq!(drops, BTreeMap::new());
    let all = formed(&network, 3);
    // 20 Mb/s of 1472 bytes each: 1700 a second and host.
    assert!(all.formed > 1600 && all.lost == 0 && all.under_way < 30, "{all:?}");
    let passed = of(trains, TrainFate::Straight) + of(trains, TrainFate::Waited);
    assert!(
        passed >= 2 * all.delivered && passed <= 2 * all.formed,
        "two switches each"
    );
    for flow in 0..4 {
        let used = network.take_flow_use(flow);
        assert!(used.packets > 400, "{used:?}");
        // Links of 1.7 and 1.2 ms, and each packet's time on a wavelength once, two of hosts.
        let path_ns = if flow < 2 { 1_700_000 } else { 1_200_000 };
        let (least, most) = (path_ns + 12_000 * 3, path_ns + 12_000 * 4 + 20_000);
        let mean = used.delay_sum.ns() / used.packets;
        assert!((least..=most).contains(&mean), "{flow}: {mean}");
    }
    assert_held(&network);
}

/// Two edges of one switch send 0.9 of a wavelength each to the third one; how many trains all switches dropped, by reason.
fn contended(of_ops: &str) -> (BTreeMap<DropReason, u64>, [u64; TrainFate::ALL.len()], World) {
    let flows = udp(0, 2, 450_000_000, "poisson") + &udp(1, 2, 450_000_000, "poisson");
    let mut network = ops(&with_edges(TWO_AT_ONE, of_ops, &flows, ""));
    network.run_until(Instant::from_ns(20 * MS));
    let (drops, trains) = used(&mut network);
    assert_held(&network);
    (drops, trains, network)
}

#[test]
fn optical_ram_and_deflection_decide_what_is_lost() {
    let lost = |drops: &BTreeMap<DropReason, u64>| drops.values().sum::<u64>();
    let (without, trains, _) = contended("  ram_bytes: 0");
    assert_eq!(of(trains, TrainFate::Waited), 0);
    assert!(
        without[&DropReason::NotDeflected] > 0,
        "there is another fibre: {without:?}"
    );
    let (with, trains, mut network) = contended("  ram_bytes: 9000");
    assert!(of(trains, TrainFate::Waited) > 0);
    assert!(lost(&with) < lost(&without), "{with:?} {without:?}");
    let outputs = network.of_kind::<kinds::Ops>().unwrap().outputs();
    let most = (0..outputs.len()).filter_map(|output| {
        match network.of_kind_mut::<kinds::Ops>().unwrap().take_output_use(output) {
            Some(OpsOutputUse::Ram(used)) => Some(used.most_bytes.get()),
            _ => None,
        }
    });
    let most = most.max().unwrap();
    assert!((7500..=9000).contains(&most), "{most}");
    let (_, trains, _) = contended("  ram_bytes: 0\n  max_deflections: 3");
    assert!(of(trains, TrainFate::Deflected) > 0);
    let all = formed(&network, 3);
    assert_eq!(all.formed, all.delivered + all.lost + all.under_way);
    assert_eq!(all.lost, lost(&with));
}

#[test]
fn a_second_wavelength_takes_what_is_converted() {
    let (drops, trains, _) = contended("  ram_bytes: 0\n  wavelengths: 2\n  wavelength_conversion: true");
    assert!(of(trains, TrainFate::Converted) > 0);
    let (kept, none, _) = contended("  ram_bytes: 0\n  wavelengths: 2");
    assert_eq!(of(none, TrainFate::Converted), 0);
    assert!(drops.values().sum::<u64>() < kept.values().sum::<u64>());
}

#[test]
fn what_a_cut_takes_is_counted_and_the_rest_goes_another_way() {
    let flows = udp(0, 2, 100_000_000, "constant");
    let rest = "changes:\n- {at_ms: 50, span: s0-s2, up: false}\n- {at_ms: 100, span: s0-s2, up: true}\n";
    let scenario = triangle("  ram_bytes: 9000\n  max_deflections: 1", &flows, rest);
    let mut network = ops(&scenario);
    network.run_until(Instant::from_ns(49 * MS));
    let before = formed(&network, 3);
    network.run_until(Instant::from_ns(90 * MS));
    let dark = dropped(&network, DropCause::LinkDown);
    assert!(dark > 300, "nobody has told the switch: {dark}");
    let during = formed(&network, 3);
    assert_eq!((before.lost, during.lost), (0, dark));
    // The controller would: the first choice is the other fibre now.
    written::modify_route(
        &mut network,
        0,
        2,
        &[0, u64::from(NO_FIBRE), u64::from(NO_FIBRE), u64::from(NO_FIBRE)],
    );
    network.run_until(Instant::from_ns(99 * MS));
    let after = formed(&network, 3);
    assert!(
        after.lost - during.lost < 200 && after.delivered > during.delivered,
        "{after:?}"
    );
    network.run_until(Instant::from_ns(200 * MS));
    assert_held(&network);
}

#[test]
fn each_check_can_fail() {
    let flows = udp(0, 2, 300_000_000, "poisson") + &udp(1, 2, 300_000_000, "poisson");
    let scenario = triangle("  ram_bytes: 9000", &flows, "");
    let parts = scenario.ops.as_ref().unwrap();
    let params = switch_params(parts, scenario.routed.packet_bytes);
    let count = |network: &World, invariant| network.invariants().count(invariant);

    // P4 believes that the RAM has ten times as much.
    let mut network = ops(&scenario);
    for switch in 0..3 {
        let mut wrong = params;
        wrong[7] *= 10;
        set_switch_params(&mut network, switch, &wrong);
    }
    network.run_until(Instant::from_ns(20 * MS));
    assert!(count(&network, Invariant::RAM) > 0);
    assert_eq!(count(&network, Invariant::LANE), 0);

    // P4 reckons with less than half of each frame.
    let mut network = ops(&scenario);
    let less = 800;
    for number in 0..3 {
        let mut wrong = params;
        wrong[5] = less;
        set_switch_params(&mut network, number, &wrong);
        set_edge_params(&mut network, number, less, 0);
    }
    network.run_until(Instant::from_ns(20 * MS));
    assert!(count(&network, Invariant::LANE) > 0);

    // An edge numbers its trains again.
    let mut network = ops(&scenario);
    network.run_until(Instant::from_ns(10 * MS));
    let edge = network.pipeline_mut(Device::OpsEdge(0).id()).unwrap();
    edge.register_write("train_numbers", 0, &bits(0)[4..]).unwrap();
    network.run_until(Instant::from_ns(20 * MS));
    assert!(count(&network, Invariant::DUPLICATE) > 0);

    // A new program may.
    let mut network = ops(&scenario);
    network.run_until(Instant::from_ns(10 * MS));
    configure_edge(&mut network, &scenario, parts, 0);
    network.run_until(Instant::from_ns(20 * MS));
    assert_held(&network);

    // A switch has no ways, and forgets that it has dropped.
    let mut network = ops(&scenario);
    written::modify_route(&mut network, 0, 2, &[u64::from(NO_FIBRE); 4]);
    network.run_until(Instant::from_ns(10 * MS));
    let (drops, _) = used(&mut network);
    assert!(drops[&DropReason::NoRoute] > 0);
    assert_held(&network);
    network.run_until(Instant::from_ns(20 * MS));
    let switch = network.pipeline_mut(Device::Switch(0).id()).unwrap();
    switch
        .counter_write("OpsIngress.drops", DropReason::NoRoute as usize, 0, 0)
        .unwrap();
    used(&mut network);
    assert_eq!(count(&network, kinds::Ops::UNEXPLAINED), 1);

    // A switch counts a drop of what went on.
    let mut network = ops(&scenario);
    network.run_until(Instant::from_ns(10 * MS));
    used(&mut network);
    let switch = network.pipeline_mut(Device::Switch(0).id()).unwrap();
    switch
        .counter_write("OpsIngress.drops", DropReason::Contention as usize, 1, 1000)
        .unwrap();
    used(&mut network);
    assert_eq!(count(&network, kinds::Ops::UNEXPLAINED), 1);

    // What it refuses of a controller came in no light.
    let mut network = ops(&scenario);
    network.run_until(Instant::from_ns(10 * MS));
    used(&mut network);
    // Too short for its header.
    network
        .packet_out(Instant::from_ns(11 * MS), Device::Switch(0).id(), &[0])
        .unwrap();
    network.run_until(Instant::from_ns(12 * MS));
    assert_eq!(used(&mut network).0[&DropReason::Truncated], 1);
    assert_held(&network);

    // A switch sends to the wrong edge.
    let mut network = ops(&scenario);
    let own = [2, u64::from(NO_FIBRE), u64::from(NO_FIBRE), u64::from(NO_FIBRE)];
    written::modify_route(&mut network, 0, 2, &[0, own[1], own[2], own[3]]);
    written::modify_route(&mut network, 1, 2, &own);
    network.run_until(Instant::from_ns(20 * MS));
    assert!(count(&network, Invariant::ASTRAY) > 0);
}

#[test]
fn switches_outside_are_not_checked_for_what_only_those_inside_can_be() {
    let scenario = triangle("  ram_bytes: 9000", &udp(0, 2, 1_000_000, "constant"), "");
    let inside = World::new(&scenario, options(HostMode::Simulated));
    let not_judged = [Invariant::LANE, Invariant::LABEL, kinds::Ops::UNEXPLAINED];
    assert!(
        not_judged
            .iter()
            .all(|check| inside.invariants().checked().contains(check))
    );
    let all = inside.invariants().checked().to_vec();
    let outside = inside.with_external_switches();
    let judged = all.into_iter().filter(|check| !not_judged.contains(check));
    assert_eq!(outside.invariants().checked(), judged.collect::<Vec<_>>());
}

/// A run of flows that stop at 50 ms, until nothing is under way any more.
fn stopped(flows: &str) -> World {
    let mut network = ops(&triangle("  ram_bytes: 9000", flows, ""));
    network.run_until(Instant::from_ns(300 * MS));
    assert_held(&network);
    assert_eq!(dropped(&network, DropCause::NotForHost), 0);
    assert_eq!(formed(&network, 3).under_way, 0);
    network
}

#[test]
fn what_is_under_way_of_flows_that_stopped_is_not_astray() {
    let flow = |name: &str, from: usize, to: usize, what: &str| {
        format!("- {{name: {name}, from: h{from}, to: h{to}, stop_ms: 50, {what}}}\n")
    };
    let datagrams = flow("datagrams", 0, 2, "udp: {rate_bps: 120000000, process: constant}");
    let mut network = stopped(&datagrams);
    let came: u64 = (0..2).map(|flow| network.take_flow_use(flow).packets).sum();
    let all = formed(&network, 3);
    assert!(
        came > 800 && came == all.formed && came == all.delivered,
        "{came} {all:?}"
    );
    let file = flow("file", 1, 2, "transport: cubic, bytes: 1000000000");
    let endless = flow("endless", 2, 0, "transport: cubic");
    let pages = flow(
        "pages",
        2,
        1,
        "transport: cubic, web: {users: 5, mean_think_ns: 1000000, mean_bytes: 1000000}",
    );
    stopped(&(datagrams + &file + &endless + &pages));
}

#[test]
fn nsfnet_carries_tcp_and_datagrams() {
    let scenario = Scenario::parse(include_bytes!("../../../../topologies/nsfnet.yaml")).unwrap();
    let mut network = ops(&scenario);
    network.run_until(Instant::from_ns(150 * MS));
    let (drops, trains) = used(&mut network);
    let all = formed(&network, 14);
    // 2.385 fibres between switches on average, and one to an edge.
    let hops = trains.iter().sum::<u64>() as f64 / all.formed as f64;
    assert!((2.0..3.6).contains(&hops), "{hops}");
    assert_eq!(all.formed, all.delivered + all.lost + all.under_way);
    assert_eq!(all.lost, drops.values().sum::<u64>());
    assert!(all.delivered > 50_000, "{all:?}");
    let (mut streams, mut datagrams) = (0, 0);
    for (index, flow) in network.routed_flows().to_vec().into_iter().enumerate() {
        let carried = network.take_flow_use(index).packets > 0;
        match flow.name.starts_with('t') {
            true => streams += usize::from(carried),
            false => datagrams += usize::from(carried),
        }
    }
    assert!(
        streams > 650 && datagrams > 130,
        "{streams} of 700 streams, {datagrams} of 140"
    );
    assert_held(&network);
}
