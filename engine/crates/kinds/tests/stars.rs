// SPDX-License-Identifier: Apache-2.0
//! Overlaid stars: two cores, each with a master of its own, and edges in both.

use crate::support;

use slotwise_kinds::{self as kinds, ControlMessage, DropCause, HostMode, Place, World};
use slotwise_scenario::{Device, HostId, Scenario};
use slotwise_units::Instant;
use slotwise_wire::{Check, Commit, DropReason, Ethernet, Optical, OpticalKind, PacketIn, Request, SIGNALING_QUEUE};
use support::*;

const TWIN: &str = include_str!("../../../../topologies/star4-twin.yaml");
const SILENCE: &str = "  - {name: silence, duration_ms: 1000, flows: []}";
const FIRST_DATA_SLOT: u64 = 4;

fn twin(phases: &str) -> Scenario {
    let head = &TWIN[..TWIN.find("phases:").unwrap()];
    Scenario::parse(format!("{head}phases:\n{phases}\n").as_bytes()).unwrap()
}

/// Both stars configured, without data slots.
fn stars(scenario: &Scenario, host_mode: HostMode) -> World {
    let mut world = World::new(scenario, options(host_mode));
    configure(&mut world, scenario);
    world
}

/// In every data slot edge e sends to edge e + `step` over a core.
fn grant_all(world: &mut World, scenario: &Scenario, core: u16, bank: u64, step: u16) {
    let edges = scenario.edges.len() as u16;
    let pairs: Vec<(u16, u16)> = (0..edges).map(|edge| (edge, (edge + step) % edges)).collect();
    for slot in FIRST_DATA_SLOT..u64::from(scenario.frame.slots) {
        grant(world, scenario, core, bank, slot, &pairs);
    }
}

/// Sends traffic for an edge over a core, whatever was said before.
fn send_over(world: &mut World, scenario: &Scenario, from: u16, to: u16, core: u16) {
    let pipeline = world.pipeline_mut(Device::Edge(from).id()).unwrap();
    let voq = enqueue(scenario, &[u64::from(to), 0], core, to);
    pipeline.table_modify("EdgeIngress.voq", voq).unwrap();
}

fn inject(world: &mut World, from: u16, to: u16, packets: usize) {
    let frame = host_frame(HostId { edge: from, index: 0 }, HostId { edge: to, index: 0 }, 1450);
    let now_ns = world.now().ns();
    for _ in 0..packets {
        world
            .inject_host(Instant::from_ns(now_ns), Device::Edge(from), 1, &frame)
            .unwrap();
    }
}

fn run_frames(world: &mut World, scenario: &Scenario, frames: u64) {
    world.run_until(world.now() + frames * scenario.frame.length());
}

/// Packets that have arrived at hosts, by edge.
fn received(world: &mut World) -> [usize; 4] {
    let mut by_edge = [0; 4];
    while let Some(output) = world.poll_host_output() {
        let Device::Edge(edge) = output.device else {
            panic!("hosts are at edges")
        };
        by_edge[usize::from(edge)] += 1;
    }
    by_edge
}

fn granted(world: &mut World, scenario: &Scenario, core: u16) -> u64 {
    let edges = 0..scenario.edges.len() as u16;
    let voqs = edges.flat_map(|edge| scenario.card_voqs(core).map(move |voq| (edge, voq)));
    voqs.filter_map(|(edge, voq)| {
        world
            .of_kind_mut::<kinds::Star>()
            .unwrap()
            .take_queue_use(edge, core, voq)
    })
    .map(|used| used.granted_slots)
    .sum()
}

fn losses(world: &World, core: u16) -> (u64, u64) {
    let losses = world.of_kind::<kinds::Star>().unwrap().core_losses(core).unwrap();
    (losses.fabric, losses.p4)
}

/// The requests that have come since the last call: device, source, block, version in force.
fn requests(world: &mut World) -> Vec<(u64, u16, u16, u32)> {
    let mut requests = Vec::new();
    while let Some(event) = world.poll_control() {
        let ControlMessage::Packet(frame) = event.message else {
            continue;
        };
        let frame = &frame[PacketIn::SIZE + Ethernet::SIZE..];
        let optical = Optical::decode(frame).unwrap();
        let request = Request::decode(&frame[Optical::SIZE + Check::SIZE..]).unwrap();
        requests.push((event.device_id, optical.src_edge, request.block, request.active_version));
    }
    requests
}

#[test]
fn an_edge_sends_over_both_cores_at_once() {
    let scenario = twin(SILENCE);
    let mut world = stars(&scenario, HostMode::External);
    grant(&mut world, &scenario, 0, 0, 7, &[(1, 2)]);
    grant(&mut world, &scenario, 1, 0, 7, &[(1, 3)]);
    send_over(&mut world, &scenario, 1, 3, 1);
    run_frames(&mut world, &scenario, 4);
    for core in [0, 1] {
        granted(&mut world, &scenario, core);
    }
    // The first link of the edge is granted four packets a frame, and so is the second.
    inject(&mut world, 1, 2, 4);
    inject(&mut world, 1, 3, 4);
    run_frames(&mut world, &scenario, 2);
    assert_eq!(received(&mut world), [0, 0, 4, 4]);
    let used = |world: &mut World, core, to| {
        world
            .of_kind_mut::<kinds::Star>()
            .unwrap()
            .take_queue_use(1, core, scenario.voq(core, to))
            .unwrap()
    };
    assert_eq!(used(&mut world, 0, 2).sent_packets, 4);
    assert_eq!(used(&mut world, 1, 3).sent_packets, 4);
    assert!(
        world
            .of_kind_mut::<kinds::Star>()
            .unwrap()
            .take_queue_use(1, 0, scenario.voq(1, 3))
            .is_none(),
        "a queue of the other card"
    );
    assert!(world.invariants().held(), "{:?}", world.invariants());
    assert_eq!((losses(&world, 0), losses(&world, 1)), ((0, 0), (0, 0)));
}

#[test]
fn shares_split_the_flows_of_a_pair_over_the_cores() {
    // 16 flows of 15 Mb/s; a star has 16 slots of 4 packets in 5 ms, 152 Mb/s on the fibre.
    let flow = "{from: edge1, to: edge2, udp: {rate_bps: 15000000, payload_bytes: 1400, process: constant}}";
    let scenario = twin(&format!(
        "  - {{name: hot, duration_ms: 200, flows: [{}]}}",
        [flow; 8].join(", ")
    ));
    let mut world = stars(&scenario, HostMode::Simulated);
    for core in [0, 1] {
        grant_all(&mut world, &scenario, core, 0, 1);
    }
    let edge = world.pipeline_mut(Device::Edge(1).id()).unwrap();
    let share = entry(&[2, 0], "EdgeIngress.share", &[2]);
    edge.table_modify("EdgeIngress.voq", share).unwrap();
    for part in 0..16 {
        let way = enqueue(&scenario, &[2, part], (part / 8) as u16, 2);
        insert(edge, "EdgeIngress.voq_share", way);
    }
    world.run_until(scenario.end());
    assert!(world.flow_results().iter().all(|flow| flow.received_packets > 0));
    let records: Vec<_> = std::iter::from_fn(|| world.of_kind_mut::<kinds::Star>().unwrap().poll_frame()).collect();
    let delivered = [0, 1].map(|core| {
        let cell = usize::from(scenario.voq_count() + scenario.voq(core, 2));
        records
            .iter()
            .map(|record| record.voqs[cell].delivered.get())
            .sum::<u64>()
    });
    assert!(delivered.iter().all(|bytes| *bytes > 0), "{delivered:?}");
    let of_one_star = 16 * 4 * 1450 * records.len() as u64;
    assert!(
        delivered.iter().sum::<u64>() > of_one_star,
        "more than one star carries: {delivered:?}"
    );
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn requests_reach_the_controller_by_the_master_of_their_star() {
    let scenario = twin(SILENCE);
    let mut world = stars(&scenario, HostMode::External);
    run_frames(&mut world, &scenario, 3);
    requests(&mut world);
    run_frames(&mut world, &scenario, 1);
    let mut heard: Vec<(u64, u16)> = requests(&mut world)
        .into_iter()
        .map(|(device, edge, block, _)| {
            assert_eq!(block, 0, "queues 0 to 7 of both stars");
            (device, edge)
        })
        .collect();
    heard.sort_unstable();
    let expected: Vec<(u64, u16)> = (0..2)
        .flat_map(|master| (0..4).map(move |edge| (Device::Edge(master).id(), edge)))
        .collect();
    assert_eq!(heard, expected);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_commit_of_one_star_leaves_the_other_as_it_is() {
    let scenario = twin(SILENCE);
    let mut world = stars(&scenario, HostMode::External);
    grant_all(&mut world, &scenario, 0, 0, 1);
    grant_all(&mut world, &scenario, 1, 1, 2);
    run_frames(&mut world, &scenario, 4);
    granted(&mut world, &scenario, 0);
    assert_eq!(granted(&mut world, &scenario, 1), 0, "nothing is granted in bank 0");
    // Edge 1 is the master of core 1's star and a slave in that of core 0.
    let staged = Commit {
        next_version: 1,
        ..Commit::default()
    };
    let mut message = optical_frame(OpticalKind::Commit, 0, 1, SIGNALING_QUEUE, 1, &staged.encode());
    let at = Ethernet::SIZE;
    let named = Optical {
        core: 1,
        ..Optical::decode(&message[at..]).unwrap()
    };
    message[at..at + Optical::SIZE].copy_from_slice(&named.encode());
    let now_ns = world.now().ns();
    world
        .packet_out(Instant::from_ns(now_ns), Device::Edge(1).id(), &to_self(&message))
        .unwrap();
    run_frames(&mut world, &scenario, 4);
    requests(&mut world);
    granted(&mut world, &scenario, 0);
    granted(&mut world, &scenario, 1);
    run_frames(&mut world, &scenario, 1);
    let slots = 4 * (u64::from(scenario.frame.slots) - FIRST_DATA_SLOT);
    assert_eq!(granted(&mut world, &scenario, 0), slots);
    assert_eq!(granted(&mut world, &scenario, 1), slots);
    for (device, edge, _, version) in requests(&mut world) {
        assert_eq!(version, u32::from(device == Device::Edge(1).id()), "edge {edge}");
    }
    // Named for the other star, where edge 1 is a slave, the same commit is refused.
    let message = optical_frame(OpticalKind::Commit, 0, 1, SIGNALING_QUEUE, 1, &staged.encode());
    let now_ns = world.now().ns();
    world
        .packet_out(Instant::from_ns(now_ns), Device::Edge(1).id(), &to_self(&message))
        .unwrap();
    run_frames(&mut world, &scenario, 1);
    let drops = world.p4_drops(Device::Edge(1)).unwrap();
    assert!(drops.iter().any(|drop| drop.reason == DropReason::BadCommit));
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

/// All fibres of core 1 are dark from 30 to 60 ms.
fn dark_core() -> Scenario {
    let changes: String = [(30, false), (60, true)]
        .iter()
        .flat_map(|(at_ms, up)| {
            (0..4).map(move |edge| format!("  - {{at_ms: {at_ms}, core: 1, edge: {edge}, up: {up}}}\n"))
        })
        .collect();
    twin(&format!("{SILENCE}\nchanges:\n{changes}"))
}

#[test]
fn a_core_that_goes_dark_leaves_the_other_star_undisturbed() {
    let scenario = dark_core();
    let mut world = stars(&scenario, HostMode::External);
    for core in [0, 1] {
        grant_all(&mut world, &scenario, core, 0, 1);
    }
    send_over(&mut world, &scenario, 2, 3, 1);
    world.schedule_link_changes(scenario.epoch());
    // Edge 1 sends over core 0, edge 2 over core 1.
    let each_frame = |world: &mut World, frames| {
        for _ in 0..frames {
            inject(world, 1, 2, 2);
            inject(world, 2, 3, 2);
            run_frames(world, &scenario, 1);
        }
        received(world)
    };
    world.run_until(scenario.epoch());
    assert_eq!(each_frame(&mut world, 6), [0, 0, 12, 12]);
    requests(&mut world);
    let while_dark = each_frame(&mut world, 6);
    assert_eq!((while_dark[2], while_dark[3]), (12, 0));
    for (device, edge, ..) in requests(&mut world) {
        assert!(
            device == Device::Edge(0).id() || edge == 1,
            "core 1's master hears itself only"
        );
    }
    // Edge 2's gates are shut: what it has waits in its queue.
    let back = each_frame(&mut world, 10);
    assert_eq!(back[2], 20);
    let lost = |edge| {
        let place = Place::Fibre {
            from: Device::Edge(edge),
            to: Device::Core(1),
        };
        world.drops().get(place, DropCause::LinkDown).packets as usize
    };
    assert!(back[3] >= 24 && lost(2) > 0, "{back:?}");
    let drops = world.p4_drops(Device::Edge(2)).unwrap();
    assert!(drops.iter().any(|drop| drop.reason == DropReason::Unsynchronized));
    assert!(world.invariants().held(), "{:?}", world.invariants());
    assert_eq!((losses(&world, 0), losses(&world, 1)), ((0, 0), (0, 0)));
}
