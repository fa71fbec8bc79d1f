// SPDX-License-Identifier: Apache-2.0
//! Slot timing to the nanosecond, with the repository's P4 programs in virtual time.

use crate::support;

use slotwise_kinds::{self as kinds, DropCause, HostMode, Place, World};
use slotwise_scenario::{Device, HostId, Scenario, WIRE_OVERHEAD};
use slotwise_units::{Bytes, Instant};
use support::*;

const FROM: HostId = HostId { edge: 1, index: 0 };
const TO: HostId = HostId { edge: 3, index: 1 };
const ETHERNET_BYTES: u64 = 14;

/// Slots granted from edge 1 to edge 3.
const GRANTED: [usize; 2] = [7, 11];
/// Beacons have been heard long before.
const FRAME: u64 = 4;

fn one_pair(scenario: &Scenario) -> World {
    let mut schedule = dark(scenario);
    for slot in GRANTED {
        schedule[slot][1] = Some(3);
    }
    star(scenario, HostMode::External, &schedule)
}

/// Local start of a slot at an edge.
fn slot_start_ns(scenario: &Scenario, edge: u16, frame: u64, slot: u64) -> u64 {
    let at_core_ns = scenario.epoch().ns() + frame * scenario.frame.length().ns() + slot * scenario.frame.slot.ns();
    at_core_ns - scenario.edges[usize::from(edge)].fibres[0].t_d().ns()
}

/// Sends a packet so that it is at its edge at `at_edge_ns`.
fn send(world: &mut World, scenario: &Scenario, at_edge_ns: u64, ip_bytes: u64) {
    let access_ns = access_ns(scenario, ip_bytes);
    let frame = host_frame(FROM, TO, ip_bytes as usize);
    world.run_until(Instant::from_ns(at_edge_ns - access_ns));
    world
        .inject_host(
            Instant::from_ns(at_edge_ns - access_ns),
            Device::Edge(FROM.edge),
            FROM.access_port(),
            &frame,
        )
        .unwrap();
}

/// Time over an access link.
fn access_ns(scenario: &Scenario, ip_bytes: u64) -> u64 {
    (ip_bytes + ETHERNET_BYTES) * 8_000_000_000 / scenario.hosts.access_rate.bps() + scenario.hosts.access_delay.ns()
}

/// Time from the start of sending at the edge to the arrival at the far host.
fn wire_ns(scenario: &Scenario, ip_bytes: u64) -> u64 {
    let fibre = |host: HostId| scenario.edges[usize::from(host.edge)].fibres[0];
    let light_ns = fibre(FROM).rate.time(Bytes::new(ip_bytes) + WIRE_OVERHEAD).ns();
    fibre(FROM).delay.ns() + light_ns + fibre(TO).delay.ns() + access_ns(scenario, ip_bytes)
}

/// When the only packet arrives at its host.
fn arrival_ns(world: &mut World, scenario: &Scenario) -> u64 {
    world.run_until(world.now() + 3 * scenario.frame.length());
    let output = world.poll_host_output().expect("the packet arrives");
    assert_eq!((output.device, output.port), (Device::Edge(TO.edge), TO.access_port()));
    assert_eq!(world.poll_host_output(), None);
    assert!(world.invariants().held(), "{:?}", world.invariants());
    output.at.ns()
}

#[test]
fn a_packet_in_its_own_slot_leaves_after_the_wire_delay() {
    let scenario = silent_star4();
    let gate_ns = slot_start_ns(&scenario, FROM.edge, FRAME, 7) + scenario.frame.guard.ns();
    for (into_slot_ns, ip_bytes) in [(0, 1450), (1, 1450), (100_000, 500), (180_000, 1450)] {
        let mut world = one_pair(&scenario);
        let at_edge_ns = gate_ns + into_slot_ns;
        send(&mut world, &scenario, at_edge_ns, ip_bytes);
        let arrival_ns = arrival_ns(&mut world, &scenario);
        assert_eq!(
            arrival_ns,
            at_edge_ns + wire_ns(&scenario, ip_bytes),
            "{into_slot_ns} ns into the slot"
        );
    }
}

#[test]
fn a_packet_one_slot_early_waits_exactly_one_slot() {
    let scenario = silent_star4();
    let mut world = one_pair(&scenario);
    let at_edge_ns = slot_start_ns(&scenario, FROM.edge, FRAME, 6) + scenario.frame.guard.ns();
    send(&mut world, &scenario, at_edge_ns, 1450);
    let arrival_ns = arrival_ns(&mut world, &scenario);
    assert_eq!(
        arrival_ns,
        at_edge_ns + scenario.frame.slot.ns() + wire_ns(&scenario, 1450)
    );
}

#[test]
fn a_tail_that_does_not_fit_waits_for_the_next_granted_slot() {
    let scenario = silent_star4();
    let light_ns = scenario.edges[1].fibres[0].rate.time(Bytes::new(1480)).ns();
    let end_ns = slot_start_ns(&scenario, FROM.edge, FRAME, 8);

    let mut world = one_pair(&scenario);
    send(&mut world, &scenario, end_ns - light_ns, 1450);
    assert_eq!(
        arrival_ns(&mut world, &scenario),
        end_ns - light_ns + wire_ns(&scenario, 1450),
        "it fits exactly"
    );

    let mut world = one_pair(&scenario);
    send(&mut world, &scenario, end_ns - light_ns + 1, 1450);
    let next_gate_ns = slot_start_ns(&scenario, FROM.edge, FRAME, 11) + scenario.frame.guard.ns();
    assert_eq!(
        arrival_ns(&mut world, &scenario),
        next_gate_ns + wire_ns(&scenario, 1450),
        "1 ns too late"
    );

    let mut world = one_pair(&scenario);
    send(
        &mut world,
        &scenario,
        slot_start_ns(&scenario, FROM.edge, FRAME, 12) - light_ns + 1,
        1450,
    );
    let next_gate_ns = slot_start_ns(&scenario, FROM.edge, FRAME + 1, 7) + scenario.frame.guard.ns();
    assert_eq!(
        arrival_ns(&mut world, &scenario),
        next_gate_ns + wire_ns(&scenario, 1450),
        "next frame"
    );
}

#[test]
fn a_slot_carries_four_packets_of_full_size() {
    let scenario = silent_star4();
    let mut world = one_pair(&scenario);
    let before_ns = slot_start_ns(&scenario, FROM.edge, FRAME, 6);
    for _ in 0..5 {
        send(&mut world, &scenario, before_ns, 1450);
    }
    world.run_until(Instant::from_ns(before_ns + 2 * scenario.frame.length().ns()));
    let gates = [7, 7, 7, 7, 11].map(|slot| slot_start_ns(&scenario, FROM.edge, FRAME, slot) + 10_000);
    let light_ns = scenario.edges[1].fibres[0].rate.time(Bytes::new(1480)).ns();
    let expected: Vec<u64> = gates
        .iter()
        .zip([0, 1, 2, 3, 0])
        .map(|(gate_ns, before)| gate_ns + before * light_ns + wire_ns(&scenario, 1450))
        .collect();
    let arrivals: Vec<u64> = std::iter::from_fn(|| world.poll_host_output())
        .map(|output| output.at.ns())
        .collect();
    assert_eq!(arrivals, expected);
    assert!(world.invariants().held());
}

#[test]
fn the_far_host_gets_the_packet_that_was_sent() {
    let scenario = silent_star4();
    let mut world = one_pair(&scenario);
    send(
        &mut world,
        &scenario,
        slot_start_ns(&scenario, FROM.edge, FRAME, 7),
        700,
    );
    world.run_until(world.now() + scenario.frame.length());
    let output = world.poll_host_output().unwrap();
    let sent = host_frame(FROM, TO, 700);
    assert_eq!(output.frame.len(), sent.len());
    assert_eq!(output.frame[..6], TO.mac());
    assert_eq!(output.frame[12..22], sent[12..22], "EtherType, and IPv4 up to the TTL");
    assert_eq!(output.frame[22], sent[22] - 1, "TTL");
    assert_eq!(output.frame[26..], sent[26..], "addresses and payload");
    assert_eq!(
        world.of_kind::<kinds::Star>().unwrap().delivered(1, 3).bytes,
        Bytes::new(700)
    );
}

#[test]
fn telemetry_follows_a_packet() {
    let scenario = silent_star4();
    let mut world = one_pair(&scenario);
    // Waiting in the queue when it is reported, just before the edge's signaling slot.
    send(
        &mut world,
        &scenario,
        slot_start_ns(&scenario, FROM.edge, FRAME, 1) - 1,
        1450,
    );
    world.run_until(world.now() + 2 * scenario.frame.length());
    let records: Vec<_> = std::iter::from_fn(|| world.of_kind_mut::<kinds::Star>().unwrap().poll_frame()).collect();
    let voqs = scenario.edges.len();
    let record = records
        .iter()
        .find(|record| record.frame == FRAME)
        .expect("the frame is over");
    let voq = record.voqs[voqs + 3];
    assert_eq!(
        record.start.ns(),
        scenario.epoch().ns() + FRAME * scenario.frame.length().ns()
    );
    assert_eq!((voq.demand, voq.granted_slots), (Bytes::new(1480), 2));
    assert_eq!((voq.sent, voq.delivered), (Bytes::new(1480), Bytes::new(1450)));
    let others = (0..16)
        .filter(|index| *index != voqs + 3)
        .map(|index| record.voqs[index]);
    assert!(others.into_iter().all(|voq| voq == Default::default()));
    let uplink = world
        .of_kind::<kinds::Star>()
        .unwrap()
        .links()
        .into_iter()
        .find(|link| link.from.to_string() == "edge1")
        .unwrap();
    // One packet, the rest requests.
    assert_eq!(uplink.used.busy.ns(), 59_200 + (uplink.used.packets - 1) * 6_960);
}

#[test]
fn without_pipelines_everything_is_dropped_and_counted() {
    let scenario = silent_star4();
    let mut world = World::new(&scenario, options(HostMode::External));
    world
        .inject_host(Instant::ZERO, Device::Edge(1), 1, &host_frame(FROM, TO, 100))
        .unwrap();
    world.run_until(Instant::from_ns(100_000_000));
    let place = Place::Device(slotwise_scenario::Device::Edge(1));
    assert_eq!(world.drops().get(place, DropCause::NoPipeline).packets, 1);
    assert_eq!(world.poll_host_output(), None);
    assert!(world.inject_host(Instant::ZERO, Device::Edge(1), 3, &[]).is_err());
    assert!(world.inject_host(Instant::ZERO, Device::Edge(4), 1, &[]).is_err());
    assert!(world.packet_out(Instant::ZERO, 5, &[]).is_err());
}
