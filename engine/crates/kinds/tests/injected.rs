// SPDX-License-Identifier: Apache-2.0
//! Faults drawn from the seed: the network bears them, and what is reported of them is so.

use crate::support;

use slotwise_kinds::{self as kinds, ControlMessage, DropCause, FaultRecord, HostMode, Place, World};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::Duration;
use support::members::{drifting_star4, invite_only, join};
use support::*;

const BURSTS: &str = "  - {name: bursts, duration_ms: 2000, flows: [{from: all, to: all, udp: {rate_bps: 5000000, \
                      payload_bytes: 1000, process: poisson}}]}";

fn scenario(faults: &str) -> Scenario {
    star4(&format!("{BURSTS}\nfaults:\n{faults}"))
}

/// Runs all of it under a schedule that stays, with nobody at the other end of control messages.
fn run(scenario: &Scenario) -> World {
    let mut fabric = star(scenario, HostMode::Simulated, &rotation(scenario));
    fabric.run_until(scenario.end());
    assert!(fabric.invariants().held(), "{:?}", fabric.invariants());
    fabric
}

fn happened(fabric: &World) -> Vec<FaultRecord> {
    let records = fabric.faults().iter().filter(|record| record.happened);
    records.cloned().collect()
}

#[test]
fn cut_links_recover_within_frames_and_the_run_repeats() {
    let scenario = scenario("  - {kind: link-down, every_ms: 60, for_ms: 20}");
    let fabric = run(&scenario);
    let records = happened(&fabric);
    assert!(records.len() > 15, "{}", records.len());
    for record in &records {
        let frames = record.recovery().expect("it recovers") / scenario.frame.length();
        assert!(frames <= 4, "{frames} frames after {record:?}");
        let fibre = Place::Fibre {
            from: Device::Core(0),
            to: Device::Edge(record.edge().unwrap()),
        };
        assert!(fabric.drops().get(fibre, DropCause::LinkDown).packets > 0);
    }
    assert_eq!(records, happened(&run(&scenario)));
}

#[test]
fn control_messages_are_hit_and_data_is_not() {
    for treatment in ["lost", "duplicated", "reordered", "corrupted"] {
        let faults = format!("  - {{kind: messages-{treatment}, every_ms: 60, for_ms: 40, share: 0.5}}");
        let fabric = run(&scenario(&faults));
        let records = happened(&fabric);
        let messages: u64 = records.iter().map(|record| record.messages).sum();
        assert!(messages > 100, "{treatment}: {messages}");
        assert!(records.iter().all(|record| record.recovered.is_some()), "{treatment}");
        let taken: u64 = fabric
            .drops()
            .iter()
            .filter(|(_, cause, _)| *cause == DropCause::Fault)
            .map(|(_, _, count)| count.packets)
            .sum();
        match treatment {
            "lost" => assert_eq!(taken, messages),
            "corrupted" => assert!(taken > 0 && taken < messages, "light is checked, packet-ins are not"),
            _ => assert_eq!(taken, 0),
        }
    }
}

#[test]
fn a_switch_that_stops_says_so_and_is_not_well_before_it_is_configured() {
    for (fault, device) in [
        ("edge-restart, edge: 2", Device::Edge(2)),
        ("core-down", Device::Core(0)),
    ] {
        let scenario = scenario(&format!("  - {{kind: {fault}, every_ms: 700, for_ms: 20}}"));
        let mut fabric = star(&scenario, HostMode::Simulated, &rotation(&scenario));
        let record = fabric.faults()[0].clone();
        fabric.run_until(record.start);
        assert!(fabric.pipeline_mut(device.id()).is_none());
        fabric.run_until(record.end + Duration::from_ns(100_000_000));
        let mut seen = Vec::new();
        while let Some(event) = fabric.poll_control() {
            if let ControlMessage::Device { is_up } = event.message {
                seen.push((event.at.ns(), event.device_id, is_up));
            }
        }
        let expected = [
            (record.start.ns(), device.id(), false),
            (record.end.ns(), device.id(), true),
        ];
        assert_eq!(seen, expected);
        assert_eq!(fabric.faults()[0].recovered, None);
        assert!(fabric.invariants().held(), "{:?}", fabric.invariants());
    }
}

#[test]
fn a_clock_that_jumps_silences_its_edge_until_it_has_answered_again() {
    let clocks = "{max_offset_ns: 3000000, max_drift_ppb: 1000, walk_ppb: 1, step_ns: 1000000}";
    let faults = "faults:\n  - {kind: clock-step, every_ms: 700, min_ns: 1000000, max_ns: 9000000, edge: 1}";
    let scenario = drifting_star4(clocks, &format!("{BURSTS}\n{faults}"));
    let mut fabric = star(&scenario, HostMode::Simulated, &rotation(&scenario));
    invite_only(&mut fabric, &scenario);
    join(&mut fabric, &scenario, 1, 9);
    let record = fabric.faults()[0].clone();
    fabric.run_until(record.end + Duration::from_ns(1));
    let before = light_of(&fabric, 1);
    assert!(before > 100);
    fabric.run_until(record.end + Duration::from_ns(100_000_000));
    assert_eq!(light_of(&fabric, 1), before, "no T_d that was measured before is taken");
    join(&mut fabric, &scenario, 1, 300);
    fabric.run_until(fabric.now() + Duration::from_ns(100_000_000));
    assert!(light_of(&fabric, 1) > before + 10);
    assert!(fabric.invariants().held(), "{:?}", fabric.invariants());
}

/// Packets that an edge has sent to its core.
fn light_of(fabric: &World, edge: u16) -> u64 {
    let links = fabric.of_kind::<kinds::Star>().unwrap().links();
    let up = links.iter().find(|link| link.from == Device::Edge(edge)).unwrap();
    up.used.packets
}
