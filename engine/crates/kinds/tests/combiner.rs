// SPDX-License-Identifier: Apache-2.0
//! Several edges behind one port of a core: a combiner brings their light together, a splitter sends to all of them.

use crate::support;

use std::collections::BTreeMap;

use slotwise_kinds::{self as kinds, ControlMessage, DropCause, HostMode, Invariant, Place, World};
use slotwise_scenario::{Device, HostId, Scenario, optical_port};
use slotwise_units::Instant;
use slotwise_wire::{DropReason, Ethernet, Optical, PacketIn};
use support::*;

/// Edges 1 and 2 share port 1 of the core, edges 3 and 4 port 9.
const COMBINER: &str = include_str!("../../../../schema/examples/valid/combiner.yaml");
const SLOT: u64 = 7;

fn scenario(link_changes: &str) -> Scenario {
    Scenario::parse(format!("{COMBINER}{link_changes}").as_bytes()).unwrap()
}

fn network(scenario: &Scenario) -> World {
    let mut world = World::new(scenario, options(HostMode::External));
    configure(&mut world, scenario);
    world
}

/// Sends a packet from edge to edge and lets it arrive.
fn send(world: &mut World, scenario: &Scenario, pairs: &[(u16, u16)]) {
    run_frames(world, scenario, 3);
    for (from, to) in pairs {
        let frame = host_frame(HostId { edge: *from, index: 0 }, HostId { edge: *to, index: 0 }, 1450);
        world.inject_host(world.now(), Device::Edge(*from), 1, &frame).unwrap();
    }
    run_frames(world, scenario, 2);
}

fn run_frames(world: &mut World, scenario: &Scenario, frames: u64) {
    world.run_until(world.now() + frames * scenario.frame.length());
}

/// Edges whose hosts have got a packet, in order of time.
fn received(world: &mut World) -> Vec<u16> {
    std::iter::from_fn(|| world.poll_host_output())
        .filter_map(|output| match output.device {
            Device::Edge(edge) => Some(edge),
            _ => None,
        })
        .collect()
}

fn misdirected(world: &World, edge: u16) -> u64 {
    let drops = world.p4_drops(Device::Edge(edge)).unwrap();
    let of_reason = drops.iter().filter(|drop| drop.reason == DropReason::Misdirected);
    of_reason.map(|drop| drop.packets).sum()
}

#[test]
fn every_edge_signals_in_its_own_slot() {
    let scenario = scenario("");
    let mut world = network(&scenario);
    // Before the master begins with the next frame, its T_d early.
    let t_d_ns = scenario.edges[0].fibres[0].t_d().ns();
    world.run_until(Instant::from_ns(
        scenario.epoch().ns() + 4 * scenario.frame.length().ns() - t_d_ns - 1,
    ));
    let mut requests = BTreeMap::new();
    while let Some(event) = world.poll_control() {
        let ControlMessage::Packet(frame) = event.message else {
            panic!("no digests here")
        };
        let optical = Optical::decode(&frame[PacketIn::SIZE + Ethernet::SIZE..]).unwrap();
        *requests.entry(optical.src_edge).or_insert(0) += 1;
    }
    assert_eq!(requests, (0..5).map(|edge| (edge, 4)).collect());
    // The beacons for each other; the master has its port for itself.
    assert_eq!(misdirected(&world, 0), 0);
    assert!((3..=4).contains(&misdirected(&world, 1)));
    assert_eq!(misdirected(&world, 1), misdirected(&world, 4));
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn light_for_one_edge_reaches_all_of_its_port_and_no_rule_is_broken() {
    let scenario = scenario("");
    let mut world = network(&scenario);
    grant(&mut world, &scenario, 0, 0, SLOT, &[(3, 2)]);
    run_frames(&mut world, &scenario, 3);
    let before = (misdirected(&world, 1), misdirected(&world, 2));
    send(&mut world, &scenario, &[(3, 2)]);
    assert_eq!(received(&mut world), [2]);
    // In five frames as many beacons for the other edge as for itself, and the packet.
    let after = (misdirected(&world, 1), misdirected(&world, 2));
    assert_eq!(after.0 - before.0, after.1 - before.1 + 1);
    assert_eq!(world.of_kind::<kinds::Star>().unwrap().delivered(3, 2).packets, 1);
    assert!(world.invariants().held(), "{:?}", world.invariants());
    let losses = world.of_kind::<kinds::Star>().unwrap().core_losses(0).unwrap();
    assert_eq!((losses.fabric, losses.p4), (0, 0));
}

#[test]
fn two_edges_of_a_port_reach_each_other_through_the_core() {
    let scenario = scenario("");
    let mut world = network(&scenario);
    grant(&mut world, &scenario, 0, 0, SLOT, &[(1, 2)]);
    grant(&mut world, &scenario, 0, 0, SLOT + 1, &[(2, 1)]);
    send(&mut world, &scenario, &[(1, 2), (2, 1)]);
    assert_eq!(received(&mut world), [2, 1]);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn two_edges_of_a_port_that_send_at_once_collide() {
    let scenario = scenario("");
    let mut world = network(&scenario);
    // The core connects port 1 once; both edges have the slot.
    grant(&mut world, &scenario, 0, 0, SLOT, &[(1, 3)]);
    let edge = world.pipeline_mut(Device::Edge(2).id()).unwrap();
    insert(
        edge,
        "EdgeIngress.slot_schedule",
        entry(&[0, 0, SLOT], "EdgeIngress.grant", &[3]),
    );
    send(&mut world, &scenario, &[(1, 3), (2, 3)]);
    assert_eq!(world.invariants().count(Invariant::COLLISION), 1);
    assert_eq!(world.invariants().count(Invariant::UNGRANTED), 0);
    let place = Place::Device(Device::Core(0));
    assert_eq!(world.invariants().first(Invariant::COLLISION)[0].place, place);
    assert_eq!(world.drops().get(place, DropCause::Collision).packets, 1);
    assert_eq!(received(&mut world), [3]);
    let losses = world.of_kind::<kinds::Star>().unwrap().core_losses(0).unwrap();
    assert_eq!((losses.fabric, losses.p4), (0, 0), "it never entered the core");
}

#[test]
fn a_port_is_dark_when_all_its_fibres_are() {
    let changes = [(1, 1, false), (2, 2, false), (3, 1, true), (4, 2, true)];
    let lines = changes.map(|(at_ms, edge, up)| format!("- {{at_ms: {at_ms}, core: 0, edge: {edge}, up: {up}}}\n"));
    let scenario = scenario(&format!("changes:\n{}", lines.concat()));
    let mut world = network(&scenario);
    world.schedule_link_changes(Instant::ZERO);
    world.run_until(Instant::from_ns(10_000_000));
    let mut told = Vec::new();
    while let Some(event) = world.poll_control() {
        if let ControlMessage::Link { port, is_up } = event.message {
            told.push((event.at.ns(), event.device_id, port, is_up));
        }
    }
    let (edge, core) = (optical_port(0), optical_port(1));
    assert_eq!(
        told,
        [
            (1_000_000, 2, edge, false),
            (2_000_000, 3, edge, false),
            (2_000_000, 1001, core, false),
            (3_000_000, 2, edge, true),
            (3_000_000, 1001, core, true),
            (4_000_000, 3, edge, true),
        ]
    );
}
