// SPDX-License-Identifier: Apache-2.0
//! The power of light: a fibre that attenuates more and more is reported while it can still be read, then carries nothing.

use crate::support;

use slotwise_kinds::{self as kinds, DropCause, Place, World};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::Duration;
use slotwise_wire::{Fault, FaultCode, OpticalKind};
use support::members::*;
use support::*;

const EDGE: u16 = 2;
const NS_PER_MS: u64 = 1_000_000;
const IS_OVER: u8 = 1;

/// The fibre of edge 2 is weak from 2.0 s on, dark from 2.2 s, weak again from 2.4 s and good from 2.6 s.
fn scenario() -> Scenario {
    let head =
        STAR4[..STAR4.find("phases:").unwrap()].replace("delay_ns: 60000}", "delay_ns: 60000, attenuation_mdb: 20000}");
    let clocks = "{max_offset_ns: 400000000, max_drift_ppb: 50000, walk_ppb: 50, step_ns: 1000000}";
    let optics = "{launch_mdbm: 0, sensitivity_mdbm: -28000, margin_mdb: 3000}";
    let changes: Vec<String> = [(2000, 26_000), (2200, 29_000), (2400, 26_000), (2600, 20_000)]
        .iter()
        .map(|(at_ms, mdb)| format!("  - {{at_ms: {at_ms}, core: 0, edge: {EDGE}, attenuation_mdb: {mdb}}}"))
        .collect();
    let text = format!(
        "{head}clocks: {clocks}\noptics: {optics}\nphases:\n  - {{name: silence, duration_ms: 10000, flows: []}}\n\
         changes:\n{}\n",
        changes.join("\n")
    );
    Scenario::parse(text.as_bytes()).unwrap()
}

/// Faults of the edge that reach the controller by `end_ms`: code, flags.
fn faults(world: &mut World, scenario: &Scenario, end_ms: u64) -> Vec<(u8, u8)> {
    world.run_until(scenario.epoch() + Duration::from_ns(end_ms * NS_PER_MS));
    let messages = std::iter::from_fn(|| next_message(world));
    messages
        .filter(|message| message.optical.kind == u8::from(OpticalKind::Fault))
        .map(|message| {
            let fault = Fault::decode(&message.payload).unwrap();
            assert_eq!(
                (message.device_id, fault.edge),
                (Device::Edge(EDGE).id(), EDGE),
                "out of band"
            );
            (fault.code, fault.flags)
        })
        .collect()
}

/// Packets of light that were lost as their fibre had none.
fn dark(world: &World) -> u64 {
    let place = Place::Fibre {
        from: Device::Core(0),
        to: Device::Edge(EDGE),
    };
    world.drops().get(place, DropCause::LinkDown).packets
}

#[test]
fn light_that_gets_weak_is_reported_before_it_is_lost() {
    let scenario = scenario();
    let mut world = star_of_strangers(&scenario, &rotation(&scenario));
    world.schedule_link_changes(scenario.epoch());
    for edge in 1..4 {
        join(&mut world, &scenario, edge, u32::from(edge));
    }
    let (power, no_light) = (u8::from(FaultCode::Power), u8::from(FaultCode::LossOfSignal));
    assert_eq!(faults(&mut world, &scenario, 1999), []);

    assert_eq!(faults(&mut world, &scenario, 2199), [(power, 0)]);
    assert_eq!(dark(&world), 0, "it goes on");
    world.of_kind_mut::<kinds::Star>().unwrap().reset_sync_errors();
    world.run_until(world.now() + scenario.frame.length());
    let slots = world.of_kind::<kinds::Star>().unwrap().sync_errors()[usize::from(EDGE)]
        .2
        .slots;
    assert!(slots > 0, "it keeps its slots");

    // Without light nothing is measured either, so that T_d is lost some frames later.
    let sync_error = u8::from(FaultCode::SyncError);
    assert_eq!(
        faults(&mut world, &scenario, 2399),
        [(power, IS_OVER), (no_light, 0), (sync_error, 0)]
    );
    assert!(dark(&world) > 0);

    assert_eq!(faults(&mut world, &scenario, 2599), [(power, 0), (no_light, IS_OVER)]);
    assert_eq!(faults(&mut world, &scenario, 2700), [(power, IS_OVER)]);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn an_edge_that_joins_by_weak_light_says_so() {
    let scenario = scenario();
    let mut world = star_of_strangers(&scenario, &rotation(&scenario));
    world.schedule_link_changes(scenario.epoch());
    faults(&mut world, &scenario, 2100);
    let session = 7;
    invite(&mut world, &scenario, EDGE, session);
    await_message(&mut world, &scenario, EDGE, OpticalKind::Invitation).expect("an answer");
    accept(&mut world, EDGE, session);
    let args = configuration(&scenario, EDGE, session, 0);
    master_sends(&mut world, EDGE, "EdgeIngress.send_configuration", &args);
    let said = await_message(&mut world, &scenario, EDGE, OpticalKind::Fault).expect("a fault");
    let fault = Fault::decode(&said.payload).unwrap();
    assert_eq!(
        (fault.session, fault.code, fault.flags),
        (session, FaultCode::Power.into(), 0)
    );
}
