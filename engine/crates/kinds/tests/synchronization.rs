// SPDX-License-Identifier: Apache-2.0
//! Edges with clocks of their own: they join by invitation and follow the master's clock, all in P4.

use crate::support;

use slotwise_kinds::{self as kinds, DropCause, Invariant, Place, World};
use slotwise_scenario::{Device, LinkChange, Scenario, edge_mac, optical_port};
use slotwise_units::Duration;
use slotwise_wire::{
    DropReason, Fault, FaultCode, Invitation, OpticalKind, SIGNALING_QUEUE, Stamp, Sync as SyncMessage,
};
use support::members::*;
use support::*;

/// Tens of ppm, and a walk of a thousandth of them each millisecond.
const CLOCKS: &str = "{max_offset_ns: 400000000, max_drift_ppb: 50000, walk_ppb: 50, step_ns: 1000000}";
const SILENCE: &str = "  - {name: silence, duration_ms: 10000, flows: []}";
/// Frames in which an edge learns how its clock runs.
const ACQUISITION_FRAMES: u64 = 20;

fn scenario() -> Scenario {
    drifting_star4(CLOCKS, SILENCE)
}

/// With the fibres of the slaves as long as said, and beacons that hold as long as they need.
fn with_delays(delays_ns: [u64; 3]) -> Scenario {
    let mut text = STAR4[..STAR4.find("phases:").unwrap()].replace("beacon_hold_frames: 1", "beacon_hold_frames: 8");
    for (old_ns, new_ns) in ["25000", "60000", "100000"].into_iter().zip(delays_ns) {
        text = text.replace(&format!("delay_ns: {old_ns}}}"), &format!("delay_ns: {new_ns}}}"));
    }
    Scenario::parse(format!("{text}clocks: {CLOCKS}\nphases:\n{SILENCE}\n").as_bytes()).unwrap()
}

fn joined(scenario: &Scenario) -> World {
    let mut world = star_of_strangers(scenario, &rotation(scenario));
    for edge in 1..scenario.edges.len() as u16 {
        join(&mut world, scenario, edge, u32::from(edge));
    }
    run_frames(&mut world, scenario, ACQUISITION_FRAMES);
    world
}

fn run_frames(world: &mut World, scenario: &Scenario, frames: u64) {
    world.run_until(world.now() + frames * scenario.frame.length());
    while next_message(world).is_some() {}
}

fn edge_drops(world: &World, edge: u16, reason: DropReason) -> u64 {
    let drops = world.p4_drops(Device::Edge(edge)).unwrap();
    drops
        .iter()
        .filter(|drop| drop.reason == reason)
        .map(|drop| drop.packets)
        .sum()
}

/// Slots that an edge has started since they were last counted.
fn slots_of(world: &mut World, edge: u16) -> u64 {
    let slots = world.of_kind::<kinds::Star>().unwrap().sync_errors()[usize::from(edge)]
        .2
        .slots;
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    slots
}

/// An optical frame as a packet-out for the edge itself.
fn told(kind: OpticalKind, to: u16, payload: &[u8]) -> Vec<u8> {
    to_self(&optical_frame(kind, 0, to, SIGNALING_QUEUE, 1, payload))
}

/// A result of the master, as the controller can tell it out of band.
fn measurement(session: u32, frame: u32, edge_ns: u64, phase_ns: i64) -> Vec<u8> {
    let stamp = Stamp {
        sent_ns: 0,
        received_ns: edge_ns,
    };
    let sync = SyncMessage {
        session,
        frame,
        edge_ns,
        phase_ns: phase_ns as u64,
    };
    [&stamp.encode()[..], &sync.encode()[..]].concat()
}

#[test]
fn edges_with_clocks_of_their_own_meet_the_slots_of_the_core() {
    let scenario = scenario();
    let mut world = joined(&scenario);
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 400);
    for (edge, _, error) in world.of_kind::<kinds::Star>().unwrap().sync_errors() {
        assert_eq!(error.slots, 400 * u64::from(scenario.frame.slots), "edge {edge}");
        assert!(error.max.ns() < 100 && error.min.ns() > -100, "edge {edge}: {error:?}");
    }
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn long_fibres_cost_no_precision() {
    // Table 3.1's 2, 6.5 and 17 s, a thousand times shorter.
    let scenario = with_delays([2_000_000, 6_500_000, 17_000_000]);
    let mut world = joined(&scenario);
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 400);
    for (edge, _, error) in world.of_kind::<kinds::Star>().unwrap().sync_errors() {
        assert_eq!(error.slots, 400 * u64::from(scenario.frame.slots), "edge {edge}");
        assert!(
            error.max.ns() < 1_000 && error.min.ns() > -1_000,
            "edge {edge}: {error:?}"
        );
    }
    assert_eq!(world.invariants().count(Invariant::GUARD), 0);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_fibre_that_gets_longer_at_once_is_measured_and_no_rate_is_learnt_of_it() {
    let scenario = scenario();
    let mut world = joined(&scenario);
    let before = scenario.edges[2].fibre_to(0).unwrap().delay;
    world.apply_link_change(&LinkChange {
        at_ms: 0,
        core: 0,
        edge: 2,
        rate: None,
        delay: Some(before + Duration::from_us(5)),
        loss: None,
        attenuation_mdb: None,
        up: None,
    });
    run_frames(&mut world, &scenario, 3);
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 50);
    for (edge, _, error) in world.of_kind::<kinds::Star>().unwrap().sync_errors() {
        assert_eq!(
            error.slots,
            50 * u64::from(scenario.frame.slots),
            "edge {edge} has left"
        );
        assert!(error.max.ns() < 100 && error.min.ns() > -100, "edge {edge}: {error:?}");
    }
}

#[test]
fn a_stranger_sends_nothing_but_its_answer() {
    let scenario = scenario();
    let mut world = star_of_strangers(&scenario, &rotation(&scenario));
    let sent = |world: &World| {
        world
            .of_kind::<kinds::Star>()
            .unwrap()
            .links()
            .iter()
            .find(|link| link.from == Device::Edge(2))
            .unwrap()
            .used
            .packets
    };
    run_frames(&mut world, &scenario, 10);
    assert_eq!(sent(&world), 0);
    invite(&mut world, &scenario, 2, 7);
    let answer = await_message(&mut world, &scenario, 2, OpticalKind::Invitation).expect("an answer");
    assert_eq!(Invitation::decode(&answer.payload[Stamp::SIZE..]).unwrap().nonce, 7);
    run_frames(&mut world, &scenario, 30);
    assert_eq!(sent(&world), 1, "the same invitation again is answered once");
    assert!(edge_drops(&world, 2, DropReason::Stale) > 20);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_late_joiner_disturbs_nobody() {
    let scenario = scenario();
    let mut world = star_of_strangers(&scenario, &rotation(&scenario));
    join(&mut world, &scenario, 1, 1);
    join(&mut world, &scenario, 3, 2);
    run_frames(&mut world, &scenario, 100);
    join(&mut world, &scenario, 2, 300);
    run_frames(&mut world, &scenario, ACQUISITION_FRAMES);
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 50);
    for (edge, _, error) in world.of_kind::<kinds::Star>().unwrap().sync_errors() {
        assert_eq!(error.slots, 50 * u64::from(scenario.frame.slots), "edge {edge}");
    }
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn an_edge_that_is_not_measured_any_more_falls_silent_and_says_so() {
    let scenario = scenario();
    let mut world = joined(&scenario);
    // The master goes on with beacons and tells edge 1 nothing any more.
    master_sends(
        &mut world,
        1,
        "EdgeIngress.send_commit",
        &[1, u64::from(optical_port(0))],
    );
    let fault = await_message(&mut world, &scenario, 1, OpticalKind::Fault).expect("a fault");
    assert_eq!(fault.device_id, Device::Edge(1).id(), "out of band");
    let fault = Fault::decode(&fault.payload).unwrap();
    assert_eq!(
        (fault.session, fault.code, fault.edge),
        (1, FaultCode::SyncError.into(), 1)
    );
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 10);
    assert_eq!(slots_of(&mut world, 1), 0);
    join(&mut world, &scenario, 1, 900);
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 10);
    let slots = 10 * u64::from(scenario.frame.slots);
    assert_eq!(slots_of(&mut world, 1), slots, "it is back");
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_master_that_ends_tells_all_and_they_fall_silent() {
    let scenario = scenario();
    let mut world = joined(&scenario);
    for edge in 1..4 {
        master_sends(
            &mut world,
            edge,
            "EdgeIngress.send_commit",
            &[u64::from(edge), u64::from(optical_port(0))],
        );
    }
    let shutdown = Fault {
        frame: ((world.now() - scenario.epoch()) / scenario.frame.length()) as u32,
        code: FaultCode::Shutdown.into(),
        ..Fault::default()
    };
    let message = told(OpticalKind::Fault, 0, &shutdown.encode());
    world.packet_out(world.now(), Device::Edge(0).id(), &message).unwrap();
    run_frames(&mut world, &scenario, 3);
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 3);
    let slots: Vec<u64> = world
        .of_kind::<kinds::Star>()
        .unwrap()
        .sync_errors()
        .iter()
        .map(|(_, _, error)| error.slots)
        .collect();
    assert_eq!(slots[1..], [0, 0, 0]);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn the_controller_can_tell_measurements_out_of_band() {
    let scenario = scenario();
    let mut world = joined(&scenario);
    let port = u64::from(optical_port(0));
    master_sends(&mut world, 1, "EdgeIngress.send_commit", &[1, port]);
    let own_ns = scenario.edges[0].fibres[0].delay.ns() as i64;
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    for _ in 0..40 {
        let seen = await_message(&mut world, &scenario, 1, OpticalKind::Sync).expect("it goes on");
        let (stamp, sync) = (seen.stamp(), SyncMessage::decode(&seen.payload[Stamp::SIZE..]).unwrap());
        let phase_ns = stamp.received_ns.wrapping_sub(stamp.sent_ns) as i64 - own_ns;
        let result = told(
            OpticalKind::Sync,
            1,
            &measurement(sync.session, sync.frame, stamp.sent_ns, phase_ns),
        );
        world
            .packet_out(world.now() + Duration::from_ns(200_000), Device::Edge(1).id(), &result)
            .unwrap();
    }
    let error = world.of_kind::<kinds::Star>().unwrap().sync_errors()[1].2;
    assert!(error.max.ns() < 100 && error.min.ns() > -100, "{error:?}");
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn forged_replayed_and_senseless_messages_are_refused_and_counted() {
    let scenario = scenario();
    let mut world = joined(&scenario);
    let frame = ((world.now() - scenario.epoch()) / scenario.frame.length()) as u32;
    let refused = [
        (
            OpticalKind::Sync,
            measurement(99, frame - 1, 0, 0),
            DropReason::NotAMember,
        ),
        (OpticalKind::Sync, measurement(1, frame - 9, 0, 0), DropReason::Stale),
        (OpticalKind::Sync, measurement(1, frame + 9, 0, 0), DropReason::BadField),
        (
            OpticalKind::Sync,
            measurement(1, frame, 0, i64::MIN),
            DropReason::BadField,
        ),
        (
            OpticalKind::Sync,
            measurement(1, frame, 0, 1_000_000_001),
            DropReason::BadField,
        ),
        (
            OpticalKind::Fault,
            Fault {
                session: 99,
                code: 4,
                ..Fault::default()
            }
            .encode()
            .to_vec(),
            DropReason::NotAMember,
        ),
        (
            OpticalKind::Fault,
            Fault {
                session: 1,
                code: 3,
                ..Fault::default()
            }
            .encode()
            .to_vec(),
            DropReason::BadField,
        ),
        (OpticalKind::Configuration, vec![0; 24], DropReason::NotAMember),
        (
            OpticalKind::Sync,
            measurement(1, frame, 0, 0)[..30].to_vec(),
            DropReason::Truncated,
        ),
    ];
    for (kind, payload, reason) in refused {
        let before = edge_drops(&world, 1, reason);
        world
            .packet_out(world.now(), Device::Edge(1).id(), &told(kind, 1, &payload))
            .unwrap();
        world.run_until(world.now());
        assert_eq!(edge_drops(&world, 1, reason), before + 1, "{kind:?} {payload:?}");
    }
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    run_frames(&mut world, &scenario, 20);
    let error = world.of_kind::<kinds::Star>().unwrap().sync_errors()[1].2;
    assert_eq!(error.slots, 20 * u64::from(scenario.frame.slots), "it changed nothing");
    assert!(error.max.ns() < 100 && error.min.ns() > -100, "{error:?}");
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn an_invitation_for_another_edge_is_not_answered() {
    let scenario = scenario();
    let mut world = star_of_strangers(&scenario, &rotation(&scenario));
    let mac = mac_number(edge_mac(3));
    let args = [2, 5, mac, answer_ns(&scenario, 2), u64::from(optical_port(0))];
    master_sends(&mut world, 2, "EdgeIngress.send_invitation", &args);
    run_frames(&mut world, &scenario, 10);
    assert!(edge_drops(&world, 2, DropReason::NotAMember) >= 9);
    assert_eq!(
        world
            .drops()
            .get(Place::LineCard { edge: 2, core: 0 }, DropCause::Malformed)
            .packets,
        0
    );
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn the_same_seed_gives_the_same_errors() {
    let errors = || {
        let scenario = scenario();
        joined(&scenario).of_kind::<kinds::Star>().unwrap().sync_errors()
    };
    assert_eq!(errors(), errors());
}
