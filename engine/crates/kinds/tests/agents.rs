// SPDX-License-Identifier: Apache-2.0
//! What devices have for their agents, and agents for the controller: digests, links, timers, in lock step.

use crate::support;

use std::convert::Infallible;
use std::sync::Arc;

use slotwise_kinds::lockstep::{Arrival, Controller, Exchange, Lockstep, Message, Served};
use slotwise_kinds::{ControlEvent, ControlMessage, HostMode, World};
use slotwise_p4::Program;
use slotwise_scenario::{Device, optical_port};
use slotwise_units::{Duration, Instant};
use support::*;

const MS: u64 = 1_000_000;
const LATENCY_NS: u64 = 200_000;
const TIMER_NS: u64 = 7 * MS;

/// Its agents pass on what happens, and report at a time of their own.
#[derive(Default)]
struct Recorder {
    /// When it heard what from which device.
    heard: Vec<(u64, u64, String)>,
    turns: usize,
}

impl Controller for Recorder {
    type Error = Infallible;
    type Notice = String;

    fn start(&mut self, _: &mut World) -> Result<Exchange, Infallible> {
        Ok(Exchange::default())
    }

    fn serve(
        &mut self,
        _: &mut World,
        now: Instant,
        happened: Vec<ControlEvent>,
    ) -> Result<Served<String>, Infallible> {
        let now_ns = now.ns();
        let mut notices = Vec::new();
        for event in happened {
            assert_eq!(event.at.ns(), now_ns, "agents are at the devices");
            let notice = match event.message {
                ControlMessage::Digest { name, fields } => format!("{name} {fields:?}"),
                ControlMessage::Link { port, is_up } => format!("port {port} {is_up}"),
                ControlMessage::Device { is_up } => format!("device {is_up}"),
                ControlMessage::Packet(_) => panic!("only what agents are told"),
            };
            notices.push((event.device_id, notice));
        }
        if now_ns == TIMER_NS {
            notices.push((0, "timer".to_owned()));
        }
        // What is in the past is as good as at once.
        let next_ns = if now_ns < TIMER_NS { TIMER_NS } else { 0 };
        let next = (now_ns <= TIMER_NS).then_some(Instant::from_ns(next_ns));
        Ok(Served { notices, next })
    }

    fn exchange(&mut self, _: &mut World, now: Instant, arrived: Vec<Arrival<String>>) -> Result<Exchange, Infallible> {
        self.turns += 1;
        for Arrival { at, device_id, message } in arrived {
            let Message::Notice(notice) = message else {
                panic!("no packet-ins here")
            };
            assert_eq!(now, at + Duration::from_ns(LATENCY_NS));
            self.heard.push((at.ns(), device_id, notice));
        }
        Ok(Exchange::default())
    }
}

#[test]
fn digests_links_and_timers_reach_the_controller_once_and_in_order() {
    let scenario = star4(
        "  - {name: silence, duration_ms: 1000, flows: []}
changes: [{at_ms: 3, core: 0, edge: 2, up: false}, {at_ms: 4, core: 0, edge: 2, rate_bps: 100000000},
               {at_ms: 5, core: 0, edge: 2, up: true}]",
    );
    let run = |step_ns: u64| {
        let mut world = World::new(&scenario, options(HostMode::External));
        let json = include_bytes!("../../p4/tests/programs/replication.json");
        let program = Arc::new(Program::from_json(json).unwrap());
        let edge = Device::Edge(0).id();
        world.set_pipeline(edge, program).unwrap();
        world.schedule_link_changes(Instant::ZERO);
        // Operation 6 of the program sends a digest.
        let mut frame = [0; 64];
        frame[0] = 6;
        world
            .inject_host(Instant::from_ns(MS), Device::Edge(0), 1, &frame)
            .unwrap();
        let mut lockstep = Lockstep::start(Recorder::default(), &mut world, Duration::from_ns(LATENCY_NS)).unwrap();
        while world.now() < Instant::from_ns(10 * MS) {
            let until = world.now() + Duration::from_ns(step_ns);
            lockstep.run_until(&mut world, until).unwrap();
        }
        let Recorder { heard, turns } = lockstep.controller();
        (heard.clone(), *turns)
    };
    let (heard, turns) = run(10 * MS);
    let (edge, core) = (Device::Edge(2).id(), Device::Core(0).id());
    let light = |at_ns, is_up| {
        [
            (at_ns, edge, format!("port {} {is_up}", optical_port(0))),
            (at_ns, core, format!("port {} {is_up}", optical_port(2))),
        ]
    };
    let (digest, rest) = heard.split_first().expect("a digest");
    assert!(digest.0 > MS, "after the access link: {digest:?}");
    assert_eq!(digest.1, Device::Edge(0).id());
    assert!(digest.2.contains("[[6], "), "{digest:?}");
    let mut expected = light(3 * MS, false).to_vec();
    expected.extend(light(5 * MS, true));
    expected.push((TIMER_NS, 0, "timer".to_owned()));
    assert_eq!(rest, expected);
    assert_eq!(turns, 4, "one for each time at which something arrived");
    assert_eq!(run(MS / 3), (heard, turns), "however the run is cut");
}

#[test]
fn a_controller_that_was_told_something_has_a_turn_at_once() {
    let scenario = star4("  - {name: silence, duration_ms: 1000, flows: []}");
    let mut world = World::new(&scenario, options(HostMode::External));
    let mut lockstep = Lockstep::start(Recorder::default(), &mut world, Duration::from_ns(LATENCY_NS)).unwrap();
    let mut turns_by = |until_ns, is_called: bool, is_killed: bool| {
        if is_killed {
            lockstep.detach(false);
        }
        if is_called {
            lockstep.call_now(&world);
        }
        lockstep.run_until(&mut world, Instant::from_ns(until_ns)).unwrap();
        lockstep.controller().turns
    };
    assert_eq!(turns_by(MS, false, false), 0);
    assert_eq!(turns_by(MS, true, false), 1, "no time passes");
    assert_eq!(turns_by(2 * MS, false, false), 1, "once");
    assert_eq!(turns_by(3 * MS, true, true), 1, "nobody is there");
}
