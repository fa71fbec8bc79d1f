// SPDX-License-Identifier: Apache-2.0
//! Whole runs in virtual time: simulated hosts, a scripted controller in lock step, determinism.

use crate::support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use slotwise_kinds::lockstep::{Arrival, Controller, Exchange, Lockstep, LockstepError, Message, PacketOut, Served};
use slotwise_kinds::{
    self as kinds, CaptureFilter, CapturePoint, Capturing, ControlEvent, ControlMessage, DropCause, FlowResult,
    FrameRecord, HostMode, Invariants, LONGEST_SNAPLEN, World, WorldOptions,
};
use slotwise_scenario::{Device, Scenario};
use slotwise_units::{Duration, Instant, Rate};
use slotwise_wire::{Check, DropReason, Ethernet, Optical, PacketIn, Request};
use support::*;

const ALL_KINDS: &str = "  - name: mixed
    duration_ms: 60
    flows:
      - {from: all, to: all, udp: {rate_bps: 2000000, payload_bytes: 700, process: poisson}}
      - {from: edge1, to: edge2, tcp: {streams: 4}}
      - {from: h0_0, to: h3_1, file: {bytes: 20000}}";

/// Captures in memory, by name.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

struct MemoryFile(Memory, String);

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut files = self.0.0.lock().unwrap();
        files.entry(self.1.clone()).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stages `next` as version 1 when it hears of the first request after `commit_at_ns`.
struct Scripted {
    scenario: Scenario,
    now: Schedule,
    next: Schedule,
    commit_at_ns: u64,
    heard: Vec<(u64, u64)>,
    /// (frame, edge) of the first request that says version 1 is in force.
    in_force: BTreeMap<u16, u32>,
    deadlines: Vec<u64>,
    committed: bool,
}

impl Scripted {
    fn new(scenario: &Scenario, commit_at_ns: u64) -> Scripted {
        let mut next = rotation(scenario);
        // One slot later: connections change, those of the frame's last slot among them.
        next[scenario.edges.len()..].rotate_right(1);
        Scripted {
            scenario: scenario.clone(),
            now: rotation(scenario),
            next,
            commit_at_ns,
            heard: Vec::new(),
            in_force: BTreeMap::new(),
            deadlines: Vec::new(),
            committed: false,
        }
    }
}

impl Controller for Scripted {
    type Error = Infallible;
    type Notice = Infallible;

    fn start(&mut self, world: &mut World) -> Result<Exchange, Infallible> {
        configure(world, &self.scenario);
        write_schedule(world, 0, &self.now);
        Ok(Exchange {
            packet_outs: Vec::new(),
            next_deadline: Some(Instant::from_ns(self.commit_at_ns)),
        })
    }

    fn serve(&mut self, _: &mut World, _: Instant, _: Vec<ControlEvent>) -> Result<Served<Infallible>, Infallible> {
        Ok(Served::default())
    }

    fn exchange(
        &mut self,
        world: &mut World,
        now: Instant,
        arrived: Vec<Arrival<Infallible>>,
    ) -> Result<Exchange, Infallible> {
        let now_ns = now.ns();
        for arrival in arrived {
            self.heard.push((arrival.at.ns(), now_ns));
            let Message::Packet(frame) = arrival.message;
            let frame = &frame[PacketIn::SIZE + Ethernet::SIZE..];
            let optical = Optical::decode(frame).unwrap();
            let request = Request::decode(&frame[Optical::SIZE + Check::SIZE..]).unwrap();
            if request.active_version == 1 {
                self.in_force.entry(optical.src_edge).or_insert(request.frame);
            }
        }
        let mut packet_outs = Vec::new();
        if now_ns >= self.commit_at_ns && !self.committed {
            self.deadlines.push(now_ns);
            self.committed = true;
            write_schedule(world, 1, &self.next);
            packet_outs.push(PacketOut {
                device_id: Device::Edge(0).id(),
                frame: commit(1, 0),
            });
        }
        let next_deadline = (!self.committed).then_some(Instant::from_ns(self.commit_at_ns));
        Ok(Exchange {
            packet_outs,
            next_deadline,
        })
    }
}

#[derive(PartialEq)]
struct Outcome {
    records: Vec<FrameRecord>,
    flows: Vec<FlowResult>,
    invariants: Invariants,
    captures: BTreeMap<String, Vec<u8>>,
    heard: Vec<(u64, u64)>,
}

fn run(scenario: &Scenario, seed: u64) -> Outcome {
    run_captured(scenario, seed, CaptureFilter::default(), LONGEST_SNAPLEN)
}

fn run_captured(scenario: &Scenario, seed: u64, filter: CaptureFilter, snaplen: u32) -> Outcome {
    let memory = Memory::default();
    let files = memory.clone();
    let open = move |point: CapturePoint| -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(MemoryFile(files.clone(), point.name())))
    };
    let options = WorldOptions {
        seed,
        host_mode: HostMode::Simulated,
        captures: Some(Capturing {
            open: Box::new(open),
            filter,
            snaplen,
        }),
        frame_records: true,
    };
    let mut world = World::new(scenario, options);
    let controller = Scripted::new(scenario, 30_000_123);
    let mut lockstep = Lockstep::start(controller, &mut world, Duration::from_ns(200_000)).unwrap();
    lockstep
        .run_until(&mut world, scenario.end() + Duration::from_ns(20_000_000))
        .unwrap();
    assert!(world.finish_captures().is_empty());
    let records = std::iter::from_fn(|| world.of_kind_mut::<kinds::Star>().unwrap().poll_frame()).collect();
    let captures = std::mem::take(&mut *memory.0.lock().unwrap());
    let heard = lockstep.controller().heard.clone();
    Outcome {
        records,
        flows: world.flow_results(),
        invariants: world.invariants().clone(),
        captures,
        heard,
    }
}

#[test]
fn one_seed_gives_one_run_to_the_byte() {
    let scenario = star4(ALL_KINDS);
    let (first, again, other) = (run(&scenario, 5), run(&scenario, 5), run(&scenario, 6));
    assert!(first == again, "two runs with one seed differ");
    assert!(first.captures != other.captures, "the seed has no effect");
    assert!(
        first.invariants.held() && other.invariants.held(),
        "{:?}",
        first.invariants
    );
    for name in [
        "edge1-core0",
        "core0-edge2",
        "edge1-port1",
        "edge0-cpu",
        "edge0-control",
        "edge3-linecard",
    ] {
        assert!(first.captures[name].len() > 1000, "{name}");
        assert_eq!(
            first.captures[name][..4],
            0xa1b2_3c4du32.to_le_bytes(),
            "{name}: nanosecond pcap"
        );
    }
}

/// (captured bytes, bytes on the wire) of each packet of a capture.
fn lengths(capture: &[u8]) -> Vec<(u32, u32)> {
    const FILE_HEADER: usize = 24;
    const PACKET_HEADER: usize = 16;
    let number = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (FILE_HEADER, Vec::new());
    while at < capture.len() {
        let (captured, on_the_wire) = (number(at + 8), number(at + 12));
        found.push((captured, on_the_wire));
        at += PACKET_HEADER + captured as usize;
    }
    found
}

fn captured_places(scenario: &Scenario) -> Vec<CapturePoint> {
    let options = WorldOptions {
        seed: scenario.seed,
        host_mode: HostMode::External,
        captures: None,
        frame_records: false,
    };
    World::new(scenario, options).capture_points()
}

#[test]
fn a_filter_and_a_snaplen_choose_what_is_captured_and_change_nothing_else() {
    let scenario = star4(ALL_KINDS);
    let whole = run(&scenario, 5);
    let filter = CaptureFilter::parse("edge1-*,core0-edge2,data", &captured_places(&scenario)).unwrap();
    const SNAPLEN: u32 = 96;
    let chosen = run_captured(&scenario, 5, filter, SNAPLEN);
    let names: Vec<&str> = chosen.captures.keys().map(String::as_str).collect();
    assert_eq!(names, ["core0-edge2", "edge1-core0"]);
    assert!(chosen.records == whole.records, "a capture changed the run");
    let header = &chosen.captures["edge1-core0"][..24];
    assert_eq!(
        header[16..20],
        SNAPLEN.to_le_bytes(),
        "the file says how long packets are at most"
    );
    let all = lengths(&whole.captures["edge1-core0"]);
    let data = lengths(&chosen.captures["edge1-core0"]);
    assert!(data.len() < all.len(), "signaling is light too");
    assert!(data.iter().all(|&(captured, length)| captured == length.min(SNAPLEN)));
    assert!(data.iter().any(|&(_, length)| length > SNAPLEN));
}

#[test]
fn simulated_hosts_are_served() {
    let outcome = run(&star4(ALL_KINDS), 1);
    for result in &outcome.flows {
        let flow = format!("{} -> {}", result.flow.from, result.flow.to);
        assert!(result.received_packets > 0, "{flow}");
        match (result.delay, result.stream) {
            (Some(delay), None) => {
                assert!(delay.min <= delay.mean && delay.mean <= delay.max, "{flow}");
                assert!(delay.p99 <= delay.max, "{flow}");
            }
            (None, Some(stream)) => {
                assert!(stream.srtt.is_some() && stream.window.get() > 0, "{flow}");
                assert_eq!(stream.wrong_bytes.get(), 0, "{flow}");
            }
            other => panic!("{flow}: {other:?}"),
        }
        assert!(result.received_packets <= result.sent_packets, "{flow}");
    }
    let file = outcome.flows.last().unwrap();
    assert_eq!(file.received_bytes.get(), 20_000);
    assert!(file.completed.is_some());
    assert!(
        outcome.flows[0].received_packets == outcome.flows[0].sent_packets,
        "a light flow loses nothing"
    );
    let granted: u32 = outcome.records[5].voqs.iter().map(|voq| voq.granted_slots).sum();
    assert_eq!(granted, 4 * 16);
}

/// One phase of 1 s with a fixed rotation: a pair of edges has 5 or 6 of 16 data slots, 4 full packets each.
fn streams(traffic: &str) -> Vec<FlowResult> {
    let scenario = star4(&format!("  - {{name: streams, duration_ms: 1000, flows: [{traffic}]}}"));
    let mut world = star(&scenario, HostMode::Simulated, &rotation(&scenario));
    world.run_until(scenario.end());
    assert!(world.invariants().held(), "{:?}", world.invariants());
    world.flow_results()
}

#[test]
fn greedy_streams_of_every_transport_fill_the_slots_that_they_have() {
    // Slow start overruns the queue; without SACK the holes are mended one a round trip.
    for (transport, least) in [("reno", 0.5), ("newreno", 0.5), ("cubic", 0.8)] {
        let flows = streams(&format!("{{from: h0_0, to: h1_0, transport: {transport}}}"));
        let goodput_bps = flows[0].received_bytes.get() * 8;
        // 6 slots of 4 packets of 1410 bytes of payload in each frame of 5 ms.
        let most_bps = 6 * 4 * 1410 * 8 * 200;
        let share = goodput_bps as f64 / most_bps as f64;
        assert!((least..=1.0).contains(&share), "{transport}: {share} of its slots");
        assert_eq!(flows[0].stream.unwrap().wrong_bytes.get(), 0, "{transport}");
    }
}

#[test]
fn streams_that_write_at_a_rate_keep_it() {
    let flows = streams("{from: h0_0, to: h1_0, tcp: {rate_bps: 2000000, streams: 3}}");
    let sent_bps = flows[0].sent_bytes.get() * 8;
    // Whole segments of 1410 bytes in 1 s, less the start.
    assert!((5_800_000..=6_000_000).contains(&sent_bps), "{sent_bps} bit/s");
    assert_eq!(flows[0].offered, Some(Rate::from_bps(6_000_000)));
    assert_eq!(flows[0].stream.unwrap().retransmissions, 0);
}

#[test]
fn streams_of_both_directions_between_two_hosts_are_apart() {
    let flows =
        streams("{from: h0_0, to: h1_0, tcp: {rate_bps: 2000000}}, {from: h1_0, to: h0_0, tcp: {rate_bps: 500000}}");
    let received_bps: Vec<u64> = flows.iter().map(|flow| flow.received_bytes.get() * 8).collect();
    assert!((1_800_000..=2_000_000).contains(&received_bps[0]), "{received_bps:?}");
    assert!((400_000..=500_000).contains(&received_bps[1]), "{received_bps:?}");
}

#[test]
fn streams_of_different_phases_use_their_own_ports() {
    let scenario = star4(
        "  - {name: one, duration_ms: 200, flows: [{from: h0_0, to: h1_0}]}
  - {name: two, duration_ms: 200, flows: [{from: h0_0, to: h1_0, transport: xcp}]}",
    );
    let mut world = star(&scenario, HostMode::Simulated, &rotation(&scenario));
    world.run_until(scenario.end());
    let flows = world.flow_results();
    assert!(flows.iter().all(|flow| flow.received_bytes.get() > 0), "{flows:?}");
    assert!(world.drops().iter().all(|(_, cause, _)| cause == DropCause::QueueFull));
}

#[test]
fn demand_that_gets_no_light_is_counted_beside_the_waits_of_what_does() {
    let scenario = star4(
        "  - name: starved
    duration_ms: 60
    flows:
      - {from: h1_0, to: h2_0, udp: {rate_bps: 2000000, payload_bytes: 700, process: constant}}
      - {from: h1_0, to: h3_0, udp: {rate_bps: 2000000, payload_bytes: 700, process: constant}}",
    );
    let mut schedule = rotation(&scenario);
    for slot in &mut schedule {
        slot[1] = slot[1].filter(|to| *to != 2);
    }
    let mut world = star(&scenario, HostMode::Simulated, &schedule);
    world.run_until(scenario.epoch() + Duration::from_ns(40_000_000));
    assert_eq!(
        (
            world.of_kind::<kinds::Star>().unwrap().grant_latency().count(),
            world.of_kind::<kinds::Star>().unwrap().unserved_demand()
        ),
        (1, 1)
    );
    // Its VOQs are lost with the edge's program, and with no route nothing comes any more.
    world.set_pipeline(Device::Edge(1).id(), edge_program()).unwrap();
    world.run_until(scenario.epoch() + Duration::from_ns(60_000_000));
    assert_eq!(
        (
            world.of_kind::<kinds::Star>().unwrap().grant_latency().count(),
            world.of_kind::<kinds::Star>().unwrap().unserved_demand()
        ),
        (1, 1)
    );
}

#[test]
fn messages_take_the_control_latency_and_deadlines_are_exact() {
    let scenario = star4(ALL_KINDS);
    let mut world = World::new(&scenario, options(HostMode::Simulated));
    let controller = Scripted::new(&scenario, 30_000_123);
    let mut lockstep = Lockstep::start(controller, &mut world, Duration::from_ns(200_000)).unwrap();
    lockstep.run_until(&mut world, Instant::from_ns(40_000_000)).unwrap();
    assert_eq!(world.now(), Instant::from_ns(40_000_000));
    let scripted = lockstep.controller();
    assert!(
        scripted.heard.len() >= 4 * 6,
        "requests of four edges in each of more than six frames"
    );
    assert!(
        scripted
            .heard
            .iter()
            .all(|(sent_ns, heard_ns)| heard_ns - sent_ns == 200_000)
    );
    assert_eq!(scripted.deadlines, [30_000_123]);
}

#[test]
fn a_commit_takes_effect_everywhere_in_one_frame() {
    // Short packets and full queues, so that some are in the last microseconds of every slot.
    let scenario = star4(
        "  - name: short-packets
    duration_ms: 60
    flows:
      - {from: all, to: all, udp: {rate_bps: 16000000, payload_bytes: 64, process: poisson}}",
    );
    let mut world = World::new(&scenario, options(HostMode::Simulated));
    let controller = Scripted::new(&scenario, 30_000_123);
    let mut lockstep = Lockstep::start(controller, &mut world, Duration::from_ns(200_000)).unwrap();
    lockstep.run_until(&mut world, scenario.end()).unwrap();
    // Staged in frame 5, announced in frame 6.
    let in_force: Vec<u32> = lockstep.controller().in_force.values().copied().collect();
    assert_eq!(in_force, [7; 4]);
    assert!(world.invariants().held(), "{:?}", world.invariants());
    let losses = world.of_kind::<kinds::Star>().unwrap().core_losses(0).unwrap();
    assert_eq!((losses.fabric, losses.p4), (0, 0));
}

#[test]
fn an_edge_that_misses_the_announcement_goes_dark_and_breaks_nothing() {
    // Frame 6 announces; nothing passes edge 1's fibre then, nor in the signaling slots of frame 7.
    let scenario = star4(
        "  - name: short-packets
    duration_ms: 60
    flows:
      - {from: all, to: all, udp: {rate_bps: 16000000, payload_bytes: 64, process: poisson}}
changes: [{at_ms: 30, core: 0, edge: 1, loss: 1}, {at_ms: 36, core: 0, edge: 1, loss: 0}]",
    );
    let mut world = World::new(&scenario, options(HostMode::Simulated));
    let controller = Scripted::new(&scenario, 30_000_123);
    let mut lockstep = Lockstep::start(controller, &mut world, Duration::from_ns(200_000)).unwrap();
    lockstep.run_until(&mut world, scenario.end()).unwrap();
    // Edge 1 hears of it in frame 8, after it has sent its request.
    let in_force: Vec<u32> = lockstep.controller().in_force.values().copied().collect();
    assert_eq!(in_force, [7, 9, 7, 7]);
    let dark = world.p4_drops(Device::Edge(1)).unwrap();
    assert!(dark.iter().any(|drop| drop.reason == DropReason::Unsynchronized));
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_large_star_hears_every_request_once_a_frame() {
    let text = include_str!("../../../../schema/examples/valid/sixty-four-edges.yaml");
    let scenario = Scenario::parse(text.as_bytes()).unwrap();
    let mut world = star(&scenario, HostMode::External, &dark(&scenario));
    world.run_until(Instant::from_ns(
        scenario.epoch().ns() + 2 * scenario.frame.length().ns() - 1,
    ));
    let mut requests = BTreeMap::new();
    while let Some(event) = world.poll_control() {
        let ControlMessage::Packet(frame) = event.message else {
            panic!("no digests here")
        };
        let frame = &frame[PacketIn::SIZE + Ethernet::SIZE..];
        let optical = Optical::decode(frame).unwrap();
        let request = Request::decode(&frame[Optical::SIZE + Check::SIZE..]).unwrap();
        *requests
            .entry((optical.src_edge, request.block, request.frame))
            .or_insert(0) += 1;
    }
    assert_eq!(requests.len(), 64 * 4 * 2, "edges, blocks of 16 queues, frames");
    assert!(requests.values().all(|count| *count == 1));
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

/// Asks for a deadline that has passed.
struct Stuck;

impl Controller for Stuck {
    type Error = Infallible;
    type Notice = Infallible;

    fn start(&mut self, _world: &mut World) -> Result<Exchange, Infallible> {
        Ok(Exchange {
            packet_outs: Vec::new(),
            next_deadline: Some(Instant::from_ns(1000)),
        })
    }

    fn serve(&mut self, _: &mut World, _: Instant, _: Vec<ControlEvent>) -> Result<Served<Infallible>, Infallible> {
        Ok(Served::default())
    }

    fn exchange(&mut self, _: &mut World, now: Instant, _: Vec<Arrival<Infallible>>) -> Result<Exchange, Infallible> {
        Ok(Exchange {
            packet_outs: Vec::new(),
            next_deadline: Some(now),
        })
    }
}

#[test]
fn a_controller_cannot_stop_time() {
    let scenario = silent_star4();
    let mut world = World::new(&scenario, options(HostMode::Simulated));
    let mut lockstep = Lockstep::start(Stuck, &mut world, Duration::ZERO).unwrap();
    let error = lockstep.run_until(&mut world, Instant::from_ns(1_000_000)).unwrap_err();
    assert!(matches!(
        error,
        LockstepError::PastDeadline { now, deadline } if now == deadline && now == Instant::from_ns(1000)
    ));
}

#[test]
fn a_controller_that_starts_late_does_not_know_the_time_and_is_told() {
    let scenario = silent_star4();
    let mut world = World::new(&scenario, options(HostMode::Simulated));
    let mut lockstep = Lockstep::start(Stuck, &mut world, Duration::ZERO).unwrap();
    lockstep.detach(false);
    lockstep.run_until(&mut world, Instant::from_ns(1_000_000)).unwrap();
    // What it wants at 1000 ns is due at once.
    lockstep.attach(&mut world).unwrap();
    let error = lockstep.run_until(&mut world, Instant::from_ns(2_000_000)).unwrap_err();
    assert!(matches!(error, LockstepError::PastDeadline { now, .. } if now == Instant::from_ns(1_000_001)));
}
