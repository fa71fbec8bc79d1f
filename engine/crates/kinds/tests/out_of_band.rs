// SPDX-License-Identifier: Apache-2.0
//! Signaling out of band, with the repository's P4 programs: each slot is a frame, and the test hands beacons on.

use crate::support;

use slotwise_kinds::{self as kinds, ControlMessage, HostMode, World};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::Instant;
use slotwise_wire::{
    Check, Commit, DropReason, Ethernet, Optical, OpticalKind, PORT_CPU, PORT_LINECARD, PORT_SELF, PacketIn,
};
use support::*;

const LATENCY_NS: u64 = 20_000;
const SLAVES: std::ops::Range<u16> = 1..4;

/// star4 whose slots are frames; edge 1 has packets for edges 2 and 3, and is granted edge 2.
fn slot_based() -> (Scenario, World) {
    let head = STAR4[..STAR4.find("phases:").unwrap()]
        .replace("{slots: 20,", "{signaling: out-of-band, slots: 1,")
        .replace("control_latency_ns: 200000", "control_latency_ns: 20000");
    let flow =
        |to| format!("{{from: h1_0, to: {to}, udp: {{rate_bps: 20000000, payload_bytes: 1000, process: constant}}}}");
    let (second, third) = (flow("h2_0"), flow("h3_0"));
    let phases = format!("phases:\n- {{name: load, duration_ms: 100, flows: [{second}, {third}]}}\n");
    let scenario = Scenario::parse((head + &phases).as_bytes()).unwrap();
    let schedule: Schedule = vec![vec![None, Some(2), Some(3), None]];
    let mut world = star(&scenario, HostMode::Simulated, &schedule);
    let cpu = u64::from(PORT_CPU);
    for slave in SLAVES {
        let pipeline = world.pipeline_mut(Device::Edge(slave).id()).unwrap();
        let request = entry(&[0, 0, 1], "EdgeIngress.send_request", &[0, cpu]);
        insert(pipeline, "EdgeIngress.signaling", request);
        let membership = call("EdgeIngress.out_of_band", &[]);
        pipeline
            .table_set_default("EdgeIngress.membership", Some(membership))
            .unwrap();
        let master = world.pipeline_mut(Device::Edge(0).id()).unwrap();
        // The first two ticks are for the request and the core's beacon.
        let key = [0, 0, 2 + u64::from(slave)];
        let beacon = entry(&key, "EdgeIngress.send_commit", &[u64::from(slave), cpu]);
        insert(master, "EdgeIngress.signaling", beacon);
    }
    (scenario, world)
}

/// Runs to `until_ns` and hands on the beacons of frames that `hands_on` says; gives the devices that asked.
fn run(world: &mut World, until_ns: u64, hands_on: impl Fn(u32) -> bool) -> Vec<(u64, u16)> {
    let mut asked = Vec::new();
    while world.run_until_control(Instant::from_ns(until_ns)) {
        while let Some(event) = world.poll_control() {
            let ControlMessage::Packet(message) = event.message else {
                continue;
            };
            let port = PacketIn::decode(&message).unwrap().ingress_port;
            let frame = &message[PacketIn::SIZE..];
            let optical = Optical::decode(&frame[Ethernet::SIZE..]).unwrap();
            if optical.kind == u8::from(OpticalKind::Request) {
                asked.push((event.device_id, port));
                continue;
            }
            assert_eq!((event.device_id, port), (Device::Edge(0).id(), PORT_LINECARD));
            let beacon = Commit::decode(&frame[Ethernet::SIZE + Optical::SIZE + Check::SIZE..]).unwrap();
            if hands_on(beacon.frame) {
                let slave = Device::Edge(optical.dst_edge).id();
                let at_ns = event.at.ns() + 2 * LATENCY_NS;
                world
                    .packet_out(Instant::from_ns(at_ns), slave, &packet_out(PORT_SELF, frame))
                    .unwrap();
            }
        }
    }
    asked
}

fn dropped(world: &World, edge: u16, reason: DropReason) -> u64 {
    let drops = world.p4_drops(Device::Edge(edge)).unwrap();
    let of_reason = drops.iter().filter(|drop| drop.reason == reason);
    of_reason.map(|drop| drop.packets).sum()
}

#[test]
fn every_slot_carries_data_and_every_edge_asks_by_its_own_switch() {
    let (scenario, mut world) = slot_based();
    let mut asked = run(&mut world, scenario.end().ns(), |_| true);
    asked.sort_unstable();
    asked.dedup();
    let own: Vec<(u64, u16)> = (0..4).map(|edge| (Device::Edge(edge).id(), PORT_LINECARD)).collect();
    assert_eq!(asked, own);
    // 20 Mb/s of 1000 bytes for 100 ms, the last ones on their way.
    assert!((245..=250).contains(&world.of_kind::<kinds::Star>().unwrap().delivered(1, 2).packets));
    assert_eq!(world.of_kind::<kinds::Star>().unwrap().delivered(1, 3).packets, 0);
    assert!(world.invariants().held());
}

#[test]
fn a_commit_takes_effect_everywhere_in_one_frame() {
    let (scenario, mut world) = slot_based();
    run(&mut world, scenario.end().ns() / 2, |_| true);
    write_schedule(&mut world, 1, &vec![vec![None, Some(3), Some(0), None]]);
    let now_ns = world.now().ns();
    world
        .packet_out(Instant::from_ns(now_ns), Device::Edge(0).id(), &commit(1, 0))
        .unwrap();
    run(&mut world, scenario.end().ns(), |_| true);
    assert!(world.of_kind::<kinds::Star>().unwrap().delivered(1, 2).packets > 100);
    assert!(world.of_kind::<kinds::Star>().unwrap().delivered(1, 3).packets > 100);
    assert!(world.invariants().held());
}

#[test]
fn a_slave_that_hears_no_beacon_is_dark_and_never_wrong() {
    let (scenario, mut world) = slot_based();
    let slot_ns = scenario.frame.slot.ns();
    let last_frame = (scenario.end().ns() / slot_ns / 2) as u32;
    run(&mut world, scenario.end().ns() / 2, |frame| frame < last_frame);
    write_schedule(&mut world, 1, &vec![vec![None, Some(3), Some(0), None]]);
    let now_ns = world.now().ns();
    world
        .packet_out(Instant::from_ns(now_ns), Device::Edge(0).id(), &commit(1, 0))
        .unwrap();
    run(&mut world, now_ns + 4 * slot_ns, |frame| frame < last_frame);
    let before = world.of_kind::<kinds::Star>().unwrap().delivered(1, 2).packets;
    run(&mut world, scenario.end().ns(), |frame| frame < last_frame);
    assert_eq!(world.of_kind::<kinds::Star>().unwrap().delivered(1, 2).packets, before);
    assert_eq!(world.of_kind::<kinds::Star>().unwrap().delivered(1, 3).packets, 0);
    assert!(dropped(&world, 1, DropReason::Unsynchronized) > 100);
    assert!(world.invariants().held());
}

#[test]
fn beacons_that_are_old_early_or_of_another_are_refused_and_counted() {
    let (scenario, mut world) = slot_based();
    run(&mut world, scenario.end().ns() / 2, |_| true);
    let frame = ((world.now() - scenario.epoch()) / scenario.frame.slot) as u32;
    let forge = |src_edge, frame| {
        let beacon = Commit {
            frame,
            active_version: 0,
            next_version: 1,
            first_frame: frame,
        };
        let message = optical_frame(
            OpticalKind::Commit,
            src_edge,
            1,
            slotwise_wire::SIGNALING_QUEUE,
            1,
            &beacon.encode(),
        );
        to_self(&message)
    };
    let now_ns = world.now().ns();
    for (src_edge, frame, reason) in [
        (0, frame - 10, DropReason::Stale),
        (0, frame + 10, DropReason::BadField),
        (2, frame, DropReason::BadCommit),
    ] {
        let before = dropped(&world, 1, reason);
        world
            .packet_out(Instant::from_ns(now_ns), Device::Edge(1).id(), &forge(src_edge, frame))
            .unwrap();
        run(&mut world, now_ns, |_| true);
        assert_eq!(dropped(&world, 1, reason), before + 1, "{reason:?}");
    }
    run(&mut world, scenario.end().ns(), |_| true);
    assert!(
        (245..=250).contains(&world.of_kind::<kinds::Star>().unwrap().delivered(1, 2).packets),
        "nothing has changed"
    );
    assert!(world.invariants().held());
}
