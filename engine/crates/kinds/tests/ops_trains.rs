// SPDX-License-Identifier: Apache-2.0
//! Edges that make trains, choose among outputs and put packets in order again, with the repository's own P4 programs.

use crate::support;

use slotwise_kinds::{self as kinds, BurstUse, DropCause, Invariant, OpsOutputUse, OpsTrains, Place, World};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::Instant;
use slotwise_wire::{
    DropReason, ETHERTYPE_IPV4, ETHERTYPE_OPTICAL, Ethernet, LABEL_VERSION, Label, OPTICAL_VERSION, Optical,
    PORT_OPTICAL_BASE, TrainPart,
};
use support::ops::{configure_edge, dropped, ops, set_switch_params, switch_params};
use support::{bits, call, packet_out};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Two edges and the links of the two-link model between them, S and D, at 100 Mb/s and 5 ms.
struct TwoLinks {
    aggregation: String,
    ingress: &'static str,
    second: &'static str,
    rest: &'static str,
    flows: String,
}

impl TwoLinks {
    fn new(scheme: &str, flows: String) -> TwoLinks {
        let more = match scheme {
            "none" => "",
            _ => ", interval_ns: 1000000",
        };
        TwoLinks {
            aggregation: format!("{{scheme: {scheme}{more}}}"),
            ingress: "{bytes: 4000000, bursts: 2}",
            second: "loss: 0.2, delay: {hold_ms: [1, 100], mean_ms: 5, deviation_ms: 4}",
            rest: "",
            flows,
        }
    }

    fn scenario(&self) -> Scenario {
        let TwoLinks {
            aggregation,
            ingress,
            second,
            rest,
            flows,
        } = self;
        let text = format!(
            "version: 1
name: two-links
seed: 5
duration_ms: 10000
packet_bytes: 1500
ops:
  links: [{{between: [r0, r1], delay_ns: 5000000}}, {{between: [r0, r1], delay_ns: 5000000, {second}}}]
  edges: [{{name: r0}}, {{name: r1}}]
  rate_bps: 100000000
  aggregation: {aggregation}
  ingress: {ingress}
{rest}
hosts:
- {{name: s, count: 10, at: r0, rate_bps: 100000000, up_delay_ns: 100000, down_delay_ns: 100000, buffer: {{bytes: 4000000}}}}
- {{name: d, count: 10, at: r1, rate_bps: 100000000, up_delay_ns: 100000, down_delay_ns: 100000, buffer: {{bytes: 4000000}}}}
flows:
{flows}"
        );
        Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn network(&self) -> World {
        ops(&self.scenario())
    }
}

fn udp(name: &str, rate_bps: u64, dscp: u8) -> String {
    format!("- {{name: {name}, from: s, to: d, dscp: {dscp}, udp: {{rate_bps: {rate_bps}, process: poisson}}}}\n")
}

fn tcp(name: &str) -> String {
    format!("- {{name: {name}, from: s, to: d, transport: reno, window_bytes: 64500}}\n")
}

/// What the first edge's outputs did: S and D.
fn used(network: &mut World) -> [BurstUse; 2] {
    let outputs = network.of_kind::<kinds::Ops>().unwrap().outputs();
    let of_edge = (0..outputs.len()).filter(|output| outputs[*output].from.0 == Device::OpsEdge(0));
    let used: Vec<BurstUse> = of_edge
        .collect::<Vec<usize>>()
        .into_iter()
        .map(
            |output| match network.of_kind_mut::<kinds::Ops>().unwrap().take_output_use(output) {
                Some(OpsOutputUse::Trains(used)) => used,
                other => panic!("{other:?}"),
            },
        )
        .collect();
    used.try_into().unwrap()
}

fn assert_explained(trains: &OpsTrains) {
    assert_eq!(
        trains.formed,
        trains.delivered + trains.lost + trains.under_way,
        "{trains:?}"
    );
}

fn assert_held(network: &World) {
    assert!(network.invariants().held(), "{:?}", network.invariants());
}

fn delivered(network: &mut World, flows: impl Iterator<Item = usize>) -> u64 {
    flows
        .map(|flow| network.take_flow_use(flow).delivered_bytes.get())
        .sum()
}

#[test]
fn what_finds_no_room_at_the_first_link_takes_the_second_and_some_of_it_is_lost_there() {
    // 120 Mb/s for links of 100.
    for scheme in ["none", "full", "class", "flow"] {
        let mut network = TwoLinks::new(scheme, udp("u", 12_000_000, 0)).network();
        network.run_until(Instant::from_ns(SECOND));
        let [first, second] = used(&mut network);
        let trains = network.of_kind::<kinds::Ops>().unwrap().trains(0);
        assert_explained(&trains);
        assert!(
            second.sent_bursts > 0 && first.sent_bytes > second.sent_bytes,
            "{scheme}: {first:?} {second:?}"
        );
        assert!(first.most_bursts <= 2 && second.most_bursts <= 2, "{scheme}");
        let share = trains.lost_by_links as f64 / second.sent_bursts as f64;
        assert!((0.1..0.3).contains(&share), "{scheme}: {share}");
        assert_eq!(trains.lost, trains.lost_by_links, "{scheme}");
        let per_lost = trains.packets_lost_by_links as f64 / trains.lost as f64;
        assert!((1.0..=8.4).contains(&per_lost), "{scheme}: {per_lost}");
        assert!(scheme != "none" || per_lost == 1.0);
        assert_eq!(first.sent_tcp_frames + second.sent_tcp_frames, 0, "{scheme}");
        let per_train = trains.packets as f64 / trains.formed as f64;
        match scheme {
            "none" => assert_eq!(per_train, 1.0),
            "flow" => assert!((1.0..4.0).contains(&per_train), "ten flows of 1 a ms: {per_train}"),
            // Ten packets a ms: eight are closed by the size of 12,500 bytes, the rest by time.
            _ => assert!((5.0..8.4).contains(&per_train), "{per_train}"),
        }
        assert!(trains.most_bytes.get() <= 12_500, "{scheme}: {trains:?}");
        assert_held(&network);
    }
}

#[test]
fn tcp_gets_through_in_every_scheme() {
    for scheme in ["none", "full", "class", "flow"] {
        let mut network = TwoLinks::new(scheme, tcp("t") + &udp("u", 5_000_000, 0)).network();
        network.run_until(Instant::from_ns(4 * SECOND));
        let [first, _] = used(&mut network);
        assert!(
            (1..first.sent_frames).contains(&first.sent_tcp_frames),
            "{scheme}: {first:?}"
        );
        let bytes = delivered(&mut network, 0..10);
        assert!(
            bytes > 5_000_000,
            "{scheme}: {bytes} of some 25 MB that UDP leaves of S"
        );
        let wrong: u64 = (0..20).map(|flow| network.take_flow_use(flow).wrong_bytes.get()).sum();
        assert_eq!(wrong, 0);
        assert_explained(&network.of_kind::<kinds::Ops>().unwrap().trains(0));
        assert_explained(&network.of_kind::<kinds::Ops>().unwrap().trains(1));
        assert_held(&network);
    }
}

#[test]
fn both_links_full_is_a_loss_with_a_reason() {
    for scheme in ["none", "full"] {
        let mut network = TwoLinks::new(scheme, udp("u", 25_000_000, 0)).network();
        network.run_until(Instant::from_ns(SECOND / 2));
        let reasons = network.p4_drops(Device::OpsEdge(0)).unwrap();
        let full = reasons
            .iter()
            .find(|drop| drop.reason == DropReason::IngressFull)
            .unwrap()
            .packets;
        assert!(full > 100, "{scheme}: {full}");
        let trains = network.of_kind::<kinds::Ops>().unwrap().trains(0);
        if scheme == "full" {
            assert_eq!(trains.refused, full, "one for each train");
        }
        let [first, second] = used(&mut network);
        for (link, used) in [("S", first), ("D", second)] {
            let busy = used.busy.ns() as f64 / (SECOND / 2) as f64;
            assert!(busy > 0.85, "{scheme} {link}: {busy}");
        }
        assert_explained(&trains);
        assert_held(&network);
    }
}

#[test]
fn more_trains_than_may_wait_are_seen() {
    for scheme in ["none", "full"] {
        let mut network = TwoLinks::new(scheme, udp("u", 25_000_000, 0)).network();
        let pipeline = network.pipeline_mut(Device::OpsEdge(0).id()).unwrap();
        let wrong = call("EdgeIngress.set_ingress", &[3, 0]);
        pipeline
            .table_set_default("EdgeIngress.ingress_params", Some(wrong))
            .unwrap();
        network.run_until(Instant::from_ns(SECOND / 10));
        assert!(network.invariants().count(Invariant::INGRESS) > 0, "{scheme}");
    }
}

#[test]
fn classes_share_a_link_by_weight() {
    let flows = udp("a", 12_000_000, 10) + &udp("b", 12_000_000, 12);
    let two = TwoLinks {
        ingress: "{bytes: 4000000, bursts: 4, discipline: scfq}",
        second: "rate_bps: 1000000, loss: 1.0",
        rest: "  classes: [{class: 1, match: {dscp: 10}, weight: 0.4}, {class: 2, match: {dscp: 12}, weight: 0.1}]",
        ..TwoLinks::new("class", flows)
    };
    let mut network = two.network();
    network.run_until(Instant::from_ns(2 * SECOND));
    let (a, b) = (delivered(&mut network, 0..10), delivered(&mut network, 10..20));
    let ratio = a as f64 / b as f64;
    assert!((3.5..4.5).contains(&ratio), "0.4 to 0.1: {ratio}");
    assert!(a + b > 20_000_000, "the link is full: {a} {b}");
    assert_held(&network);
}

#[test]
fn packets_in_order_again_are_not_sent_again() {
    let retransmissions = |rest| {
        let two = TwoLinks {
            second: "delay: {hold_ms: [1, 100], mean_ms: 5, deviation_ms: 4}",
            rest,
            ..TwoLinks::new("none", tcp("t") + &udp("u", 7_000_000, 0))
        };
        let mut network = two.network();
        network.run_until(Instant::from_ns(3 * SECOND));
        let again: u64 = (0..10).map(|flow| network.take_flow_use(flow).retransmissions).sum();
        let held = network.of_kind::<kinds::Ops>().unwrap().trains(1).resequenced;
        assert_held(&network);
        (again, held)
    };
    let (without, none) = retransmissions("");
    let (with, held) = retransmissions("  resequencing: {hold_ns: 15000000}");
    assert_eq!(none, 0);
    assert!(held > 1000 && with < without / 2, "{with} of {without}, {held} held");
}

#[test]
fn a_dark_link_loses_what_waits_and_is_used_again() {
    let two = TwoLinks {
        rest: "",
        flows: udp("u", 9_000_000, 0)
            + "changes:\n- {at_ms: 100, span: r0-r1, up: false}\n- {at_ms: 200, span: r0-r1, up: true}\n",
        ..TwoLinks::new("full", String::new())
    };
    let mut network = two.network();
    network.run_until(Instant::from_ns(150 * MS));
    let dark = dropped(&network, DropCause::LinkDown);
    assert!(dark > 100, "nobody has told P4: {dark}");
    network.run_until(Instant::from_ns(250 * MS));
    used(&mut network);
    network.run_until(Instant::from_ns(SECOND));
    let [first, _] = used(&mut network);
    assert!(first.sent_bytes.get() > 7_000_000, "{first:?}");
    assert_explained(&network.of_kind::<kinds::Ops>().unwrap().trains(0));
    assert_held(&network);
}

#[test]
fn a_new_program_begins_anew() {
    let two = TwoLinks::new("class", udp("u", 11_000_000, 0));
    let (scenario, mut network) = (two.scenario(), two.network());
    for turn in 1..20 {
        network.run_until(Instant::from_ns(turn * 7 * MS));
        configure_edge(&mut network, &scenario, scenario.ops.as_ref().unwrap(), 0);
    }
    network.run_until(Instant::from_ns(SECOND));
    let trains = network.of_kind::<kinds::Ops>().unwrap().trains(0);
    assert!(trains.delivered > 500, "{trains:?}");
    assert_explained(&trains);
    assert_held(&network);
}

/// Three switches in a row with an edge each, trains of several packets, and RAM for one of them.
fn row(rest: &str) -> Scenario {
    let text = format!(
        "version: 1
name: row
seed: 2
duration_ms: 1000
packet_bytes: 1500
ops:
  switches: [s0, s1, s2]
  links: [{{between: [s0, s1], delay_ns: 1000000}}, {{between: [s1, s2], delay_ns: 1000000}}]
  edges: {{edges_per_switch: 1, delay_ns: 100000}}
  rate_bps: 100000000
  ram_bytes: 9000
  aggregation: {{scheme: full, interval_ns: 1000000, size_bytes: 6000}}
{rest}
hosts:
- {{name: a, count: 5, at: e0, rate_bps: 100000000, up_delay_ns: 0, down_delay_ns: 0, buffer: {{packets: 1000}}}}
- {{name: b, count: 5, at: e1, rate_bps: 100000000, up_delay_ns: 0, down_delay_ns: 0, buffer: {{packets: 1000}}}}
- {{name: c, count: 5, at: e2, rate_bps: 100000000, up_delay_ns: 0, down_delay_ns: 0, buffer: {{packets: 1000}}}}
flows:
- {{name: ac, from: a, to: c, udp: {{rate_bps: 9000000, process: poisson}}}}
- {{name: bc, from: b, to: c, udp: {{rate_bps: 9000000, process: poisson}}}}
- {{name: ca, from: c, to: a, transport: reno, window_bytes: 64500}}
"
    );
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn switches_take_trains_whole_or_not_at_all() {
    let scenario = row("");
    let mut network = ops(&scenario);
    network.run_until(Instant::from_ns(SECOND / 2));
    let mut drops = 0;
    for switch in 0..3 {
        let used = network
            .of_kind_mut::<kinds::Ops>()
            .unwrap()
            .take_switch_use(Device::Switch(switch))
            .unwrap();
        let lost = used
            .drops
            .iter()
            .filter(|(reason, _)| **reason != DropReason::Contention);
        assert_eq!(lost.count(), 0, "{used:?}");
        drops += used.drops.values().sum::<u64>();
    }
    let all: Vec<OpsTrains> = (0..3)
        .map(|edge| network.of_kind::<kinds::Ops>().unwrap().trains(edge))
        .collect();
    for trains in &all {
        assert_explained(trains);
        let per_train = trains.packets as f64 / trains.formed as f64;
        assert!(trains.formed == 0 || per_train > 1.5, "{trains:?}");
    }
    let lost: u64 = all.iter().map(|trains| trains.lost).sum();
    assert!(lost > 10 && drops > 2 * lost, "{lost} trains, {drops} frames");
    let received: u64 = (0..10).map(|flow| network.take_flow_use(flow).packets).sum();
    assert!(received > 2000, "{received}");
    assert!(delivered(&mut network, 10..15) > 1_000_000);
    assert_held(&network);
}

#[test]
fn a_train_of_which_a_switch_drops_a_part_is_seen() {
    let scenario = row("");
    let parts = scenario.ops.as_ref().unwrap();
    let mut network = ops(&scenario);
    // It counts the headers of each frame, which labels do not: the last ones are beyond what the label said.
    let mut wrong = switch_params(parts, scenario.routed.packet_bytes);
    wrong[5] = 0;
    set_switch_params(&mut network, 1, &wrong);
    network.run_until(Instant::from_ns(SECOND / 10));
    assert!(
        network.invariants().count(Invariant::SPLIT) > 0,
        "{:?}",
        network.invariants()
    );
}

#[test]
fn a_train_made_twice_is_seen() {
    let mut network = ops(&row(""));
    network.run_until(Instant::from_ns(SECOND / 10));
    assert_held(&network);
    let edge = network.pipeline_mut(Device::OpsEdge(0).id()).unwrap();
    edge.register_write("train_numbers", 0, &bits(0)[4..]).unwrap();
    network.run_until(Instant::from_ns(SECOND / 5));
    assert!(network.invariants().count(Invariant::DUPLICATE) > 0);
}

/// A frame as edge 0 makes it for edge 1, with the label of its next train or as a part of one.
fn as_of_edge(next: Option<u32>, part: TrainPart) -> Vec<u8> {
    let optical = Optical {
        version: OPTICAL_VERSION,
        dst_edge: 1,
        queue: 1,
        train: part.into(),
        inner_type: ETHERTYPE_IPV4,
        ..Optical::default()
    };
    let ethernet = Ethernet {
        ether_type: ETHERTYPE_OPTICAL,
        ..Ethernet::default()
    };
    let mut frame = ethernet.encode().to_vec();
    if let Some(train) = next {
        let label = Label {
            version: LABEL_VERSION,
            dst_edge: 1,
            train,
            length: 250,
            packets: 1,
            hops_left: 32,
            ..Label::default()
        };
        frame.extend_from_slice(&label.encode());
    }
    frame.extend_from_slice(&optical.encode());
    frame.resize(frame.len() + 200, 0x45);
    frame
}

#[test]
fn what_a_controller_sends_into_a_wavelength_is_no_train_however_it_looks() {
    let mut each_packet = row("");
    if let Some(parts) = &mut each_packet.ops {
        parts.aggregation = None;
    }
    for scenario in [row(""), each_packet] {
        let mut network = ops(&scenario);
        network.run_until(Instant::from_ns(SECOND / 10));
        let next = network.of_kind::<kinds::Ops>().unwrap().trains(0).formed as u32 + 1;
        let forged = [
            as_of_edge(Some(next), TrainPart::Only),
            as_of_edge(None, TrainPart::First),
            as_of_edge(None, TrainPart::Middle),
        ];
        let edge = Device::OpsEdge(0);
        for frame in &forged {
            let told = packet_out(PORT_OPTICAL_BASE, frame);
            network
                .packet_out(Instant::from_ns(SECOND / 10), edge.id(), &told)
                .unwrap();
        }
        network.run_until(Instant::from_ns(SECOND / 5));
        let place = Place::Port {
            device: edge,
            port: PORT_OPTICAL_BASE,
        };
        assert_eq!(network.drops().get(place, DropCause::NoSuchQueue).packets, 3);
        assert_held(&network);
    }
}

#[test]
fn a_buffer_that_is_full_loses_packets_and_trains_stay_as_long_as_they_were() {
    // Each host brings 40 Mb/s for 100 of the wavelength, without a limit by trains.
    let text = TwoLinks {
        ingress: "{bytes: 20000}",
        second: "loss: 0.0",
        ..TwoLinks::new("full", udp("u", 40_000_000, 0))
    };
    let mut network = text.network();
    network.run_until(Instant::from_ns(SECOND / 5));
    let lost = dropped(&network, DropCause::QueueFull);
    assert!(lost > 1000, "{lost}");
    let before = network.of_kind::<kinds::Ops>().unwrap().trains(0);
    network.run_until(Instant::from_ns(SECOND / 2));
    let after = network.of_kind::<kinds::Ops>().unwrap().trains(0);
    let length = |packets: u64, trains: u64| packets as f64 / trains as f64;
    let early = length(before.packets, before.formed);
    let late = length(after.packets - before.packets, after.formed - before.formed);
    assert!(late > 0.8 * early, "{late} packets a train, {early} at first");
    assert_held(&network);
}
