// SPDX-License-Identifier: Apache-2.0
//! Faults made on purpose: each invariant can fail, links fail as told, and hostile input does no harm.

use crate::support;

use proptest::prelude::*;
use slotwise_kinds::{self as kinds, DropCause, HostMode, Invariant, Place, World};
use slotwise_scenario::{Device, HostId, Scenario, optical_port};
use slotwise_units::{Duration, Instant};
use slotwise_wire::{
    DropReason, ETHERTYPE_LINECARD, Ethernet, FlowControl, FlowOp, LINECARD_VERSION, LineCardKind, Linecard,
    OpticalKind, PORT_LINECARD,
};
use support::*;

const PACKETS: usize = 3;

/// Edge 1's host 0 sends a few packets to edge 3's host 1 in frame 4.
fn send_packets(world: &mut World, scenario: &Scenario) {
    let at_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    let frame = host_frame(HostId { edge: 1, index: 0 }, HostId { edge: 3, index: 1 }, 1450);
    for _ in 0..PACKETS {
        world
            .inject_host(Instant::from_ns(at_ns), Device::Edge(1), 1, &frame)
            .unwrap();
    }
    world.run_until(Instant::from_ns(at_ns + 4 * scenario.frame.length().ns()));
}

fn only(world: &World, broken: Invariant) -> u64 {
    let checked = world.invariants().checked();
    for &invariant in checked.iter().filter(|invariant| **invariant != broken) {
        assert_eq!(
            world.invariants().count(invariant),
            0,
            "{}: {:?}",
            invariant.name(),
            world.invariants()
        );
    }
    world.invariants().count(broken)
}

fn core_drops(world: &World, reason: DropReason) -> u64 {
    let drops = world.p4_drops(Device::Core(0)).unwrap();
    drops
        .iter()
        .filter(|drop| drop.reason == reason)
        .map(|drop| drop.packets)
        .sum()
}

fn received(world: &mut World) -> usize {
    std::iter::from_fn(|| world.poll_host_output()).count()
}

#[test]
fn a_sound_star_breaks_nothing() {
    let scenario = silent_star4();
    let mut world = star(&scenario, HostMode::External, &rotation(&scenario));
    send_packets(&mut world, &scenario);
    assert_eq!(received(&mut world), PACKETS);
    assert!(world.invariants().held());
    let losses = world.of_kind::<kinds::Star>().unwrap().core_losses(0).unwrap();
    assert_eq!((losses.fabric, losses.p4), (0, 0));
}

#[test]
fn light_without_a_connection_is_ungranted() {
    let scenario = silent_star4();
    let mut schedule = dark(&scenario);
    schedule[7][1] = Some(3);
    let mut world = star(&scenario, HostMode::External, &schedule);
    let core = world.pipeline_mut(Device::Core(0).id()).unwrap();
    let gone = entry(&[0, 7, u64::from(optical_port(1))], "CoreIngress.connect", &[0]);
    core.table_delete("CoreIngress.crossbar", &gone).unwrap();
    send_packets(&mut world, &scenario);
    assert_eq!(only(&world, Invariant::UNGRANTED), PACKETS as u64);
    assert_eq!(core_drops(&world, DropReason::Dark), PACKETS as u64);
    let losses = world.of_kind::<kinds::Star>().unwrap().core_losses(0).unwrap();
    assert_eq!(losses.fabric, losses.p4);
    let first = world.invariants().first(Invariant::UNGRANTED)[0];
    assert_eq!(first.place, Place::Device(Device::Core(0)));
    assert_eq!(first.packet.unwrap().dst_edge, 3);
    // T_d brings light to the core at the slot's start by the core's clock.
    let gate_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns() + 7 * 250_000 + 10_000;
    assert_eq!(first.at.ns(), gate_ns);
}

#[test]
fn a_wrong_connection_is_seen_at_the_wrong_edge() {
    let scenario = silent_star4();
    let mut schedule = dark(&scenario);
    schedule[7][1] = Some(3);
    let mut world = star(&scenario, HostMode::External, &schedule);
    let core = world.pipeline_mut(Device::Core(0).id()).unwrap();
    let (input, wrong) = (u64::from(optical_port(1)), u64::from(optical_port(2)));
    let wrong = entry(&[0, 7, input], "CoreIngress.connect", &[wrong]);
    core.table_modify("CoreIngress.crossbar", wrong).unwrap();
    send_packets(&mut world, &scenario);
    assert_eq!(only(&world, Invariant::UNGRANTED), PACKETS as u64);
    let place = world.invariants().first(Invariant::UNGRANTED)[0].place;
    assert_eq!(place, Place::Device(Device::Edge(2)));
    assert_eq!(received(&mut world), 0);
}

#[test]
fn a_connection_to_nowhere_is_ungranted() {
    let scenario = silent_star4();
    let mut schedule = dark(&scenario);
    schedule[7][1] = Some(3);
    let mut world = star(&scenario, HostMode::External, &schedule);
    let core = world.pipeline_mut(Device::Core(0).id()).unwrap();
    let (input, nowhere) = (u64::from(optical_port(1)), u64::from(optical_port(4)));
    let nowhere = entry(&[0, 7, input], "CoreIngress.connect", &[nowhere]);
    core.table_modify("CoreIngress.crossbar", nowhere).unwrap();
    send_packets(&mut world, &scenario);
    assert_eq!(only(&world, Invariant::UNGRANTED), PACKETS as u64);
    let dropped = world.drops().get(Place::Device(Device::Core(0)), DropCause::NoSuchPort);
    assert_eq!(dropped.packets, PACKETS as u64);
}

#[test]
fn two_inputs_to_one_output_collide() {
    let scenario = silent_star4();
    let mut schedule = dark(&scenario);
    (schedule[7][1], schedule[7][2]) = (Some(3), Some(3));
    let mut world = star(&scenario, HostMode::External, &schedule);
    let frame = host_frame(HostId { edge: 2, index: 0 }, HostId { edge: 3, index: 0 }, 1450);
    for _ in 0..PACKETS {
        world
            .inject_host(
                scenario.epoch() + 4 * scenario.frame.length(),
                Device::Edge(2),
                1,
                &frame,
            )
            .unwrap();
    }
    send_packets(&mut world, &scenario);
    let collisions = only(&world, Invariant::COLLISION);
    assert_eq!(
        collisions, PACKETS as u64,
        "the packets of one of the edges, all at the same times"
    );
    assert_eq!(core_drops(&world, DropReason::Collision), collisions);
    assert_eq!(received(&mut world), PACKETS);
}

#[test]
fn an_output_carries_one_packet_at_a_time_to_the_nanosecond() {
    let scenario = silent_star4();
    let frame = optical_frame(OpticalKind::Data, 1, 3, 0, 1, &[0; 100]);
    let duration_ns = frame.len() as u64 * 8_000_000_000 / scenario.edges[3].fibres[0].rate.bps();
    let collisions = |gap_ns: u64| {
        let mut world = star(&scenario, HostMode::External, &dark(&scenario));
        let start_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns() + 7 * 250_000 + 10_000;
        for at_ns in [start_ns, start_ns + gap_ns] {
            let sent = packet_out(optical_port(3), &frame);
            world
                .packet_out(Instant::from_ns(at_ns), Device::Core(0).id(), &sent)
                .unwrap();
        }
        world.run_until(Instant::from_ns(start_ns + 2 * scenario.frame.length().ns()));
        let place = Place::Fibre {
            from: Device::Core(0),
            to: Device::Edge(3),
        };
        let dropped = world.drops().get(place, DropCause::Collision).packets;
        assert_eq!(world.invariants().count(Invariant::COLLISION), dropped);
        dropped
    };
    assert_eq!((collisions(duration_ns - 1), collisions(duration_ns)), (1, 0));
}

#[test]
fn light_in_the_guard_is_seen() {
    let scenario = silent_star4();
    let mut world = star(&scenario, HostMode::External, &rotation(&scenario));
    let edge = world.pipeline_mut(Device::Edge(1).id()).unwrap();
    let early = edge_params(&scenario, 1, scenario.frame.guard.ns() - 1);
    edge.table_set_default("EdgeIngress.edge_params", Some(early)).unwrap();
    send_packets(&mut world, &scenario);
    let violations = only(&world, Invariant::GUARD);
    assert!(violations > 0);
    assert_eq!(core_drops(&world, DropReason::Guard), violations);
}

#[test]
fn light_across_the_end_of_a_slot_is_seen() {
    let scenario = star4(
        "  - {name: silence, duration_ms: 1000, flows: []}\n\
         changes: [{at_ms: 15, core: 0, edge: 1, delay_ns: 85001}]",
    );
    let mut world = star(&scenario, HostMode::External, &rotation(&scenario));
    world.schedule_link_changes(scenario.epoch());
    let frame = host_frame(HostId { edge: 1, index: 0 }, HostId { edge: 3, index: 1 }, 1450);
    for _ in 0..4 {
        world
            .inject_host(
                scenario.epoch() + 4 * scenario.frame.length(),
                Device::Edge(1),
                1,
                &frame,
            )
            .unwrap();
    }
    world.run_until(scenario.epoch() + 5 * scenario.frame.length());
    // 60.001 us late, the last of four packets of 59.2 us in 240 us ends after the slot.
    let violations = only(&world, Invariant::GUARD);
    assert_eq!(violations, 1);
    assert_eq!(core_drops(&world, DropReason::Overrun), 1);
}

#[test]
fn a_new_program_numbers_anew_while_packets_of_the_old_one_are_on_their_way() {
    let scenario = silent_star4();
    let schedule = rotation(&scenario);
    let mut world = star(&scenario, HostMode::External, &schedule);
    let (edge, id) = (1, Device::Edge(1).id());
    let frame = host_frame(HostId { edge, index: 0 }, HostId { edge: 3, index: 1 }, 1450);
    let packets = 50;
    let send = |world: &mut World, at_ns| {
        for _ in 0..packets {
            world
                .inject_host(Instant::from_ns(at_ns), Device::Edge(edge), 1, &frame)
                .unwrap();
        }
    };
    let frame_ns = scenario.frame.length().ns();
    let frame_start_ns = scenario.epoch().ns() + 4 * frame_ns;
    send(&mut world, frame_start_ns - frame_ns);
    // In the middle of the first slot in which edge 1 sends to edge 3, more packets are in the fibres than before it.
    let slot = schedule.iter().position(|slot| slot[1] == Some(3)).unwrap() as u64;
    world.run_until(Instant::from_ns(
        frame_start_ns + slot * scenario.frame.slot.ns() + 100_000,
    ));
    let before = received(&mut world);
    world.set_pipeline(id, edge_program()).unwrap();
    let pipeline = world.pipeline_mut(id).unwrap();
    configure_edge(pipeline, &scenario, edge);
    for (slot, grants) in (0u64..).zip(&schedule) {
        if let Some(to) = grants[usize::from(edge)] {
            let grant = entry(&[0, 0, slot], "EdgeIngress.grant", &[u64::from(to)]);
            insert(pipeline, "EdgeIngress.slot_schedule", grant);
        }
    }
    let now_ns = world.now().ns();
    send(&mut world, now_ns);
    world.run_until(Instant::from_ns(now_ns + 4 * frame_ns));
    let after = received(&mut world);
    assert!(before > 0 && after > packets, "{before} before, {after} after");
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_packet_that_arrives_twice_is_seen() {
    let scenario = silent_star4();
    let mut world = star(&scenario, HostMode::External, &dark(&scenario));
    let frame = optical_frame(OpticalKind::Data, 1, 3, 3, 77, &[0; 40]);
    let message = packet_out(optical_port(3), &frame);
    for at_ns in [20_000_000, 21_000_000] {
        world
            .packet_out(Instant::from_ns(at_ns), Device::Core(0).id(), &message)
            .unwrap();
    }
    world.run_until(Instant::from_ns(30_000_000));
    assert_eq!(only(&world, Invariant::DUPLICATE), 1);
    assert_eq!(
        world.invariants().first(Invariant::DUPLICATE)[0]
            .packet
            .unwrap()
            .sequence,
        77
    );
}

#[test]
fn a_fibre_that_is_down_carries_nothing_until_it_is_up() {
    let scenario = star4(
        "  - {name: silence, duration_ms: 1000, flows: []}\n\
         changes: [{at_ms: 15, core: 0, edge: 3, up: false}, {at_ms: 100, core: 0, edge: 3, up: true}]",
    );
    let mut world = star(&scenario, HostMode::External, &rotation(&scenario));
    world.schedule_link_changes(scenario.epoch());
    send_packets(&mut world, &scenario);
    let place = Place::Fibre {
        from: Device::Core(0),
        to: Device::Edge(3),
    };
    assert!(world.drops().get(place, DropCause::LinkDown).packets >= PACKETS as u64);
    assert_eq!(received(&mut world), 0);
    world.run_until(scenario.epoch() + Duration::from_ns(110_000_000));
    let frame = host_frame(HostId { edge: 1, index: 0 }, HostId { edge: 3, index: 1 }, 1450);
    world.inject_host(world.now(), Device::Edge(1), 1, &frame).unwrap();
    world.run_until(world.now() + Duration::from_ns(10_000_000));
    assert_eq!(received(&mut world), 1);
    assert!(
        world.invariants().held(),
        "a fibre that fails breaks no rule of the schedule"
    );
}

#[test]
fn an_edge_without_beacons_goes_dark_and_breaks_nothing() {
    let scenario = star4(
        "  - {name: silence, duration_ms: 1000, flows: []}\n\
         changes: [{at_ms: 15, core: 0, edge: 1, loss: 1}, {at_ms: 35, core: 0, edge: 1, loss: 0}]",
    );
    let mut world = star(&scenario, HostMode::External, &rotation(&scenario));
    world.schedule_link_changes(scenario.epoch());
    send_packets(&mut world, &scenario);
    assert_eq!(received(&mut world), PACKETS, "after the fibre's loss is over");
    let drops = world.p4_drops(Device::Edge(1)).unwrap();
    assert!(drops.iter().any(|drop| drop.reason == DropReason::Unsynchronized));
    assert!(world.invariants().held());
}

/// P4's message that sets a card's T_d.
fn set_phase(t_d_ns: u64) -> Vec<u8> {
    let linecard = Linecard {
        version: LINECARD_VERSION,
        kind: LineCardKind::FlowControl.into(),
        port: optical_port(0),
    };
    let flow_control = FlowControl {
        op: FlowOp::SetPhase.into(),
        value: t_d_ns,
        ..FlowControl::default()
    };
    let mut message = Ethernet {
        ether_type: ETHERTYPE_LINECARD,
        ..Ethernet::default()
    }
    .encode()
    .to_vec();
    message.extend_from_slice(&linecard.encode());
    message.extend_from_slice(&flow_control.encode());
    packet_out(PORT_LINECARD, &message)
}

#[test]
fn a_phase_moves_a_cards_slots() {
    let scenario = silent_star4();
    let arrivals = |t_d_ns: u64| -> Vec<u64> {
        let mut world = star(&scenario, HostMode::External, &rotation(&scenario));
        world
            .packet_out(Instant::from_ns(15_000_000), Device::Edge(1).id(), &set_phase(t_d_ns))
            .unwrap();
        send_packets(&mut world, &scenario);
        assert!(world.invariants().held(), "three packets fit a slot even 10 us late");
        std::iter::from_fn(|| world.poll_host_output())
            .map(|output| output.at.ns())
            .collect()
    };
    let on_time = arrivals(25_000);
    let late: Vec<u64> = on_time.iter().map(|at_ns| at_ns + 10_000).collect();
    assert_eq!(on_time.len(), PACKETS);
    assert_eq!(arrivals(15_000), late);
    assert_eq!(arrivals(u64::MAX / 2), on_time, "a senseless phase changes nothing");
}

#[test]
fn a_new_pipeline_empties_the_line_cards() {
    let scenario = silent_star4();
    let mut world = star(&scenario, HostMode::External, &dark(&scenario));
    send_packets(&mut world, &scenario);
    world.set_pipeline(Device::Edge(1).id(), edge_program()).unwrap();
    let place = Place::LineCard { edge: 1, core: 0 };
    assert_eq!(
        world.drops().get(place, DropCause::PipelineReplaced).packets,
        PACKETS as u64
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes from hosts and from the controller end in a drop or a packet, never in a panic.
    #[test]
    fn hostile_frames_do_no_harm(
        frames in prop::collection::vec((0u16..4, 0u16..512, prop::collection::vec(any::<u8>(), 0..200)), 1..20),
        kind in prop::sample::select(vec![0x88B5u16, 0x88B6, 0x0800, 0x0806]),
    ) {
        let scenario = silent_star4();
        let mut world = star(&scenario, HostMode::External, &rotation(&scenario));
        for (edge, port, mut bytes) in frames {
            if bytes.len() >= 14 {
                bytes[12..14].copy_from_slice(&kind.to_be_bytes());
            }
            let at_ns = 20_000_000;
            world.inject_host(Instant::from_ns(at_ns), Device::Edge(edge), 1 + port % 2, &bytes).unwrap();
            world.packet_out(Instant::from_ns(at_ns), Device::Edge(edge).id(), &packet_out(port, &bytes)).unwrap();
            world.packet_out(Instant::from_ns(at_ns), Device::Edge(edge).id(), &bytes).unwrap();
            world.packet_out(Instant::from_ns(at_ns), Device::Core(0).id(), &packet_out(port, &bytes)).unwrap();
        }
        world.run_until(Instant::from_ns(40_000_000));
        prop_assert_eq!(world.now(), Instant::from_ns(40_000_000));
    }
}
