// SPDX-License-Identifier: Apache-2.0
//! External switches: the same programs, with late or missing answers.

use crate::support;

use slotwise_kinds::{self as kinds, DropCause, HostMode, Invariant, SwitchInput, World, WorldError};
use slotwise_p4::{Bits, Output, Port};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::{Bytes, Duration, Instant};
use slotwise_wire::{Ethernet, Linecard, OpticalKind, PORT_LINECARD, PORT_OPTICAL_BASE, RingTick};
use support::*;

/// All packets have arrived long before the end.
const TRAFFIC: &str = "  - name: udp
    duration_ms: 30
    flows:
      - {from: all, to: all, udp: {rate_bps: 1000000, payload_bytes: 700, process: constant}}
  - {name: silence, duration_ms: 20, flows: []}";

const CORE: u64 = 1001;
const MASTER: u64 = 1;
/// Within the guard.
const QUICK_NS: u64 = 5_000;

#[derive(Default)]
struct Collected(Vec<(Port, Vec<u8>)>);

impl Output for Collected {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        self.0.push((port, frame.to_vec()));
    }

    fn digest(&mut self, _: &str, _: &[Bits]) {}
}

/// A network whose external switches are those of another network.
struct Outside {
    world: World,
    switches: World,
    longest_ns: u64,
}

impl Outside {
    fn new(scenario: &Scenario) -> Outside {
        let switches = star(scenario, HostMode::External, &rotation(scenario));
        let mut world = World::new(scenario, options(HostMode::Simulated)).with_external_switches();
        world.set_switches_running(true);
        Outside {
            world,
            switches,
            longest_ns: 0,
        }
    }

    /// Runs until the time given; `answer_ns` says after what time a frame is put out, if it is.
    fn run_until(&mut self, until_ns: u64, mut answer_ns: impl FnMut(&SwitchInput) -> Option<u64>) {
        while let Some(at) = self.world.next_event_at().filter(|at| at.ns() <= until_ns) {
            self.world.run_until(at);
            while let Some(input) = self.world.poll_switch_input() {
                let mut outputs = Collected::default();
                let pipeline = self.switches.pipeline_mut(input.device_id).unwrap();
                pipeline.process(at, input.port, &input.frame, &mut outputs);
                let Some(answer_ns) = answer_ns(&input) else {
                    continue;
                };
                for (port, frame) in outputs.0 {
                    let put_out = self.world.switch_output(
                        at + Duration::from_ns(answer_ns),
                        input.device_id,
                        port,
                        input.id,
                        &frame,
                    );
                    let latency = put_out.unwrap().unwrap_or_default();
                    self.longest_ns = self.longest_ns.max(latency.ns());
                }
            }
        }
    }
}

fn delivered(world: &World, scenario: &Scenario) -> Vec<Bytes> {
    let edges = scenario.edges.len() as u16;
    let pairs = (0..edges).flat_map(|from| (0..edges).map(move |to| (from, to)));
    pairs
        .map(|(from, to)| world.of_kind::<kinds::Star>().unwrap().delivered(from, to).bytes)
        .collect()
}

#[test]
fn switches_that_answer_late_deliver_the_same_and_break_nothing() {
    let scenario = star4(TRAFFIC);
    let mut inside = star(&scenario, HostMode::Simulated, &rotation(&scenario));
    inside.run_until(scenario.end());
    for answer_ns in [0, QUICK_NS, 700_000] {
        let mut outside = Outside::new(&scenario);
        outside.run_until(scenario.end().ns(), |_| Some(answer_ns));
        let invariants = outside.world.invariants();
        assert!(invariants.held(), "{invariants:?}");
        let bytes = delivered(&outside.world, &scenario);
        // An answer later than a slot is of no use: the gate is shut again, and no light leaves.
        let (expected, longest_ns) = if answer_ns < scenario.frame.slot.ns() {
            (delivered(&inside, &scenario), answer_ns)
        } else {
            (vec![Bytes::ZERO; bytes.len()], 0)
        };
        assert_eq!(bytes, expected, "answers after {answer_ns} ns");
        assert_eq!(outside.longest_ns, longest_ns);
    }
}

#[test]
fn packets_keep_their_birth_through_switches_that_answer_late() {
    let traffic = "  - {name: tcp, duration_ms: 100, flows: [{from: h1_0, to: h2_0}]}";
    let scenario = star4(traffic);
    let mut outside = Outside::new(&scenario);
    outside.run_until(scenario.end().ns(), |_| Some(QUICK_NS));
    let received = outside.world.flow_results()[0].received_packets;
    let (_, delay) = outside.world.take_flow_delays()[0];
    assert!(received > 0 && delay.packets >= received, "{received} {delay:?}");
    assert!(delay.sum.ns() / delay.packets > 2 * QUICK_NS, "{delay:?}");
    assert_eq!(outside.longest_ns, QUICK_NS);
}

#[test]
fn light_that_a_core_does_not_send_on_is_lost_and_counted() {
    let scenario = star4(TRAFFIC);
    let mut outside = Outside::new(&scenario);
    let mut seen = 0;
    outside.run_until(scenario.end().ns(), |input| {
        seen += u64::from(input.device_id == CORE && input.id != 0);
        (input.device_id != CORE || seen != 100).then_some(QUICK_NS)
    });
    assert!(outside.world.invariants().held(), "an answer may still come");
    outside.world.settle_switches();
    assert_eq!(outside.world.invariants().count(Invariant::UNGRANTED), 1);
    outside.world.set_p4_drops(Device::Core(0), Vec::new());
    let losses = outside.world.of_kind::<kinds::Star>().unwrap().core_losses(0).unwrap();
    assert_eq!((losses.fabric, losses.p4), (1, 0));
}

#[test]
fn a_beacon_that_is_too_late_for_its_slot_goes_to_no_other_edge() {
    let scenario = star4(TRAFFIC);
    let mut outside = Outside::new(&scenario);
    let mut ticks = 0;
    outside.run_until(scenario.end().ns(), |input| {
        ticks += u64::from(input.device_id == MASTER && input.port == PORT_LINECARD && input.id != 0);
        // Some of the master's ticks take a slot longer than the rest.
        let is_late = input.device_id == MASTER && input.port == PORT_LINECARD && ticks % 7 == 0;
        Some(QUICK_NS + if is_late { scenario.frame.slot.ns() } else { 0 })
    });
    let world = &outside.world;
    assert!(world.invariants().held(), "{:?}", world.invariants());
    let late = world.drops().iter().filter(|(_, cause, _)| *cause == DropCause::Late);
    assert!(late.map(|(.., count)| count.packets).sum::<u64>() > 0);
}

#[test]
fn what_no_switch_should_put_out_changes_nothing() {
    let scenario = star4(TRAFFIC);
    let mut world = World::new(&scenario, options(HostMode::External)).with_external_switches();
    let frame = optical_frame(OpticalKind::Data, 1, 2, 2, 1, &[0; 100]);
    assert_eq!(
        world.switch_output(Instant::ZERO, 77, 1, 0, &frame),
        Err(WorldError::UnknownDevice(77))
    );
    for (device, port) in [(CORE, 499), (CORE, 3), (1, 499), (1, PORT_OPTICAL_BASE + 5)] {
        assert_eq!(
            world.switch_output(Instant::ZERO, device, port, 12345, &frame),
            Ok(None)
        );
    }
    world.run_until(Instant::from_ns(1000));
    let dropped: u64 = world
        .drops()
        .iter()
        .filter(|(_, cause, _)| *cause == DropCause::NoSuchPort)
        .map(|(.., count)| count.packets)
        .sum();
    assert_eq!(dropped, 4);
    assert!(
        world.poll_switch_input().is_none(),
        "switches that do not run get nothing"
    );
    assert!(world.invariants().held());
}

/// What comes to a station's card that answers its ticks late: all its ticks, and those that P4 has asked for.
#[test]
fn cards_of_a_ring_tick_on_if_their_switches_answer_late() {
    let flow = |station| {
        format!(
            "- {{name: f{station}, from: h{station}, to: h2, start_jitter_ms: 1, udp: {{rate_bps: 20000000, process: constant}}}}\n"
        )
    };
    let group = |station| {
        format!(
            "- {{name: h{station}, count: 1, at: n{station}, rate_bps: 1000000000, up_delay_ns: 1000, down_delay_ns: 1000, buffer: {{packets: 1000}}}}\n"
        )
    };
    let text = format!(
        "version: 1
name: ring3
seed: 3
duration_ms: 1000
packet_bytes: 1470
ring:
  mode: explicit
  links: {{rate_bps: 20000000, delay_ns: 10000}}
  stations: [n0, n1, n2]
  open: true
hosts:
{}{}{}
flows:
{}{}",
        group(0),
        group(1),
        group(2),
        flow(0),
        flow(1)
    );
    let scenario = Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let ticks = |answer_ns| {
        let mut world = World::new(&scenario, options(HostMode::Simulated)).with_external_switches();
        world.set_switches_running(true);
        let mut outside = Outside {
            world,
            switches: support::ring::ring(&scenario, HostMode::External),
            longest_ns: 0,
        };
        let (mut first, mut again) = (0, 0);
        outside.run_until(100_000_000, |input| {
            if input.port == PORT_LINECARD {
                let tick = RingTick::decode(&input.frame[Ethernet::SIZE + Linecard::SIZE..]).unwrap();
                *(if tick.repeat == 0 { &mut first } else { &mut again }) += 1;
            }
            Some(answer_ns)
        });
        let invariants = outside.world.invariants();
        assert!(invariants.held(), "{invariants:?}");
        (first, again)
    };
    for answer_ns in [0, QUICK_NS] {
        let (first, again) = ticks(answer_ns);
        // Two links of two ways, 1000 intervals.
        assert!(
            (3990..=4010).contains(&first),
            "{first} ticks if answers take {answer_ns} ns"
        );
        assert!(again > 100, "{again} ticks for messages if answers take {answer_ns} ns");
    }
}
