// SPDX-License-Identifier: Apache-2.0
//! Trains in a star, with the repository's P4 programs in virtual time: what is put together between slots leaves whole in one.

use crate::support;

use slotwise_kinds::{ControlMessage, DropCause, HostMode, Invariant, Place, World};
use slotwise_p4::{KeyField, TableEntry};
use slotwise_scenario::{Device, HostId, LinkChange, Scenario, optical_port};
use slotwise_units::{Instant, Rate};
use slotwise_wire::{DropReason, Ethernet, Optical, OpticalKind, PORT_CPU, PORT_SELF, PacketIn};
use support::*;

const FROM: HostId = HostId { edge: 1, index: 0 };
const TO: HostId = HostId { edge: 3, index: 1 };
const SIZE_BYTES: u64 = 4400;
const SENT: u64 = 60;

/// star4 with trains, and with this division of time if one is given.
fn scenario(aggregation: &str, frame: &str) -> Scenario {
    let head = STAR4[..STAR4.find("phases:").unwrap()]
        .replace("{slots: 20,", frame)
        .replace("control_latency_ns: 200000", "control_latency_ns: 20000");
    let phases = "phases: [{name: silence, duration_ms: 1000, flows: []}]";
    Scenario::parse(format!("{head}aggregation: {aggregation}\n{phases}\n").as_bytes()).unwrap()
}

fn in_band(interval_ns: u64, size_bytes: u64) -> Scenario {
    let aggregation =
        format!("{{scheme: full, interval_ns: {interval_ns}, size_bytes: {size_bytes}, timer: first-packet}}");
    scenario(&aggregation, "{slots: 20,")
}

/// The star, where each edge aggregates what goes to every other one.
fn with_trains(scenario: &Scenario, schedule: &Schedule, size_bytes: u64) -> World {
    let mut world = star(scenario, HostMode::External, schedule);
    for edge in &scenario.edges {
        let pipeline = world.pipeline_mut(Device::Edge(edge.id).id()).unwrap();
        for to in scenario.edges.iter().filter(|to| to.id != edge.id) {
            let queue = u64::from(scenario.voq(0, to.id));
            let aggregate = entry(&[queue], "EdgeIngress.aggregate", &[size_bytes]);
            insert(pipeline, "EdgeIngress.aggregation", aggregate);
            let voq = entry(&[queue], "EdgeIngress.set_star_train", &[queue]);
            insert(pipeline, "EdgeIngress.train_queue", voq);
        }
    }
    world
}

fn granted(scenario: &Scenario) -> Schedule {
    let mut schedule = dark(scenario);
    for slot in [6, 9, 13, 17] {
        schedule[slot][1] = Some(3);
    }
    schedule
}

/// Sends packets of these IP bytes from host to host, one each `apart_ns` from `first_ns` on.
fn send(world: &mut World, first_ns: u64, apart_ns: u64, packets: impl Iterator<Item = usize>) {
    for (at_ns, ip_bytes) in (first_ns..).step_by(apart_ns as usize).zip(packets) {
        world.run_until(Instant::from_ns(at_ns));
        let frame = host_frame(FROM, TO, ip_bytes);
        world
            .inject_host(
                Instant::from_ns(at_ns),
                Device::Edge(FROM.edge),
                FROM.access_port(),
                &frame,
            )
            .unwrap();
    }
}

/// IP bytes and times of what has come to the host.
fn arrived(world: &mut World) -> Vec<(usize, u64)> {
    let outputs = std::iter::from_fn(|| world.poll_host_output());
    outputs
        .map(|output| (output.frame.len() - 14, output.at.ns()))
        .collect()
}

fn lengths(count: u64) -> impl Iterator<Item = usize> + Clone {
    (0..count).map(|packet| 200 + (packet * 619 % 1200) as usize)
}

#[test]
fn trains_leave_whole_and_in_order_and_nothing_is_lost() {
    let scenario = in_band(300_000, SIZE_BYTES);
    let mut world = with_trains(&scenario, &granted(&scenario), SIZE_BYTES);
    let first_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    send(&mut world, first_ns, 40_000, lengths(SENT));
    world.run_until(Instant::from_ns(first_ns + 40 * scenario.frame.length().ns()));
    let arrived: Vec<usize> = arrived(&mut world).into_iter().map(|(bytes, _)| bytes).collect();
    assert_eq!(arrived, lengths(SENT).collect::<Vec<_>>());
    assert!(world.invariants().checked().contains(&Invariant::SPLIT));
    assert!(world.invariants().held(), "{:?}", world.invariants());
    assert_eq!(world.drops().iter().count(), 0);
}

#[test]
fn a_train_waits_for_its_interval_and_then_leaves_at_once() {
    const INTERVAL_NS: u64 = 2_000_000;
    let scenario = in_band(INTERVAL_NS, 5000);
    let mut world = with_trains(&scenario, &granted(&scenario), 5000);
    let first_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    send(&mut world, first_ns, 50_000, [500, 700, 900].into_iter());
    world.run_until(Instant::from_ns(first_ns + INTERVAL_NS));
    assert_eq!(arrived(&mut world), [], "the train is open, whatever slots there were");
    world.run_until(Instant::from_ns(first_ns + 3 * scenario.frame.length().ns()));
    let arrived = arrived(&mut world);
    assert_eq!(
        arrived.iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>(),
        [500, 700, 900]
    );
    // 40 ns a byte on the fibre, 8 ns on the way to the host.
    let apart_ns = |ip_bytes: u64| 40 * (ip_bytes + 30);
    assert_eq!(arrived[1].1 - arrived[0].1, apart_ns(700) + 8 * 200, "back to back");
    assert_eq!(arrived[2].1 - arrived[1].1, apart_ns(900) + 8 * 200);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_train_that_does_not_fit_the_rest_of_a_slot_waits_for_the_next_one() {
    let scenario = in_band(100_000, 4400);
    let schedule = granted(&scenario);
    let mut world = with_trains(&scenario, &schedule, 4400);
    let frame_ns = scenario.frame.length().ns();
    let fibre = scenario.edges[1].fibres[0];
    let slot_ns = |slot: u64| scenario.epoch().ns() + 5 * frame_ns + slot * scenario.frame.slot.ns() - fibre.t_d().ns();
    // Closed when some 120 us are left of the slot: 3 packets of 1450 bytes take 178 us.
    let first_ns = slot_ns(7) - 120_000 - 100_000 - 13_000;
    send(&mut world, first_ns, 15_000, [1450, 1450, 1450].into_iter());
    world.run_until(Instant::from_ns(slot_ns(9)));
    assert_eq!(
        arrived(&mut world),
        [],
        "one packet would have fitted, the train does not"
    );
    world.run_until(Instant::from_ns(slot_ns(11)));
    assert_eq!(arrived(&mut world).len(), 3);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_train_that_has_begun_to_leave_keeps_its_rate() {
    let scenario = in_band(100_000, 4400);
    let mut world = with_trains(&scenario, &granted(&scenario), 4400);
    let fibre = scenario.edges[1].fibres[0];
    let slot_ns =
        scenario.epoch().ns() + 5 * scenario.frame.length().ns() + 9 * scenario.frame.slot.ns() - fibre.t_d().ns();
    send(
        &mut world,
        slot_ns - 400_000,
        15_000,
        [1450, 1450, 1450, 1450, 1450, 1450].into_iter(),
    );
    // The first packet takes 59 us. At a tenth of the rate the other two would need more than the slot, which the second train waits for in vain.
    world.run_until(Instant::from_ns(slot_ns + 20_000));
    world.apply_link_change(&LinkChange {
        at_ms: 0,
        core: 0,
        edge: FROM.edge,
        rate: Some(Rate::from_bps(fibre.rate.bps() / 10)),
        delay: None,
        loss: None,
        attenuation_mdb: None,
        up: None,
    });
    world.run_until(Instant::from_ns(slot_ns + 10 * scenario.frame.length().ns()));
    assert_eq!(arrived(&mut world).len(), 3);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

/// Trains of a queue of its own, for what waits in this VOQ.
fn add_trains(world: &mut World, queue: u64, voq: u64) {
    let pipeline = world.pipeline_mut(Device::Edge(FROM.edge).id()).unwrap();
    let aggregate = entry(&[queue], "EdgeIngress.aggregate", &[SIZE_BYTES]);
    insert(pipeline, "EdgeIngress.aggregation", aggregate);
    let train = entry(&[queue], "EdgeIngress.set_star_train", &[voq]);
    insert(pipeline, "EdgeIngress.train_queue", train);
}

/// Sends packets of 300, 301 .. IP bytes, the odd ones as `odd` makes them; gives what arrives, as even ones and odd ones.
fn even_and_odd(
    scenario: &Scenario,
    world: &mut World,
    odd: impl Fn(usize) -> (HostId, Vec<u8>),
) -> (Vec<usize>, [Vec<usize>; 2]) {
    let first_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    for packet in 0..SENT {
        let at_ns = first_ns + packet * 40_000;
        world.run_until(Instant::from_ns(at_ns));
        let ip_bytes = 300 + packet as usize;
        let (from, frame) = match packet % 2 {
            0 => (FROM, host_frame(FROM, TO, ip_bytes)),
            _ => odd(ip_bytes),
        };
        world
            .inject_host(
                Instant::from_ns(at_ns),
                Device::Edge(from.edge),
                from.access_port(),
                &frame,
            )
            .unwrap();
    }
    world.run_until(Instant::from_ns(first_ns + 40 * scenario.frame.length().ns()));
    let arrived: Vec<usize> = arrived(world).into_iter().map(|(bytes, _)| bytes).collect();
    let of = |rest: usize| arrived.iter().copied().filter(|bytes| bytes % 2 == rest).collect();
    let parts = [of(0), of(1)];
    (arrived, parts)
}

/// Each kind is in order, and they have come in trains of their own: more than one of a kind in a row.
fn assert_apart((arrived, parts): (Vec<usize>, [Vec<usize>; 2]), world: &World) {
    let sent = |rest: usize| {
        (300..300 + SENT as usize)
            .filter(|bytes| bytes % 2 == rest)
            .collect::<Vec<_>>()
    };
    assert_eq!(parts, [sent(0), sent(1)]);
    let changes = arrived.windows(2).filter(|pair| pair[0] % 2 != pair[1] % 2).count();
    assert!(changes < arrived.len() / 2, "{arrived:?}");
    assert!(world.invariants().held(), "{:?}", world.invariants());
    assert_eq!(world.drops().iter().count(), 0);
}

#[test]
fn classes_have_trains_of_their_own_that_share_the_voq() {
    const CLASS: u64 = 1;
    const DSCP: u8 = 46;
    let scenario = in_band(300_000, SIZE_BYTES);
    let mut world = with_trains(&scenario, &granted(&scenario), SIZE_BYTES);
    let voq = u64::from(scenario.voq(0, TO.edge));
    let queue = scenario.edges.len() as u64 + voq;
    let pipeline = world.pipeline_mut(Device::Edge(FROM.edge).id()).unwrap();
    let key = [(u64::from(DSCP), 0x3f), (0, 0), (0, 0), (0, 0), (0, 0)].map(|(value, mask)| KeyField::Ternary {
        value: bits(value),
        mask: bits(mask),
    });
    let class = TableEntry {
        key: key.to_vec(),
        priority: 1,
        action: call("EdgeIngress.set_class", &[CLASS]),
    };
    insert(pipeline, "EdgeIngress.traffic_class", class);
    let args = [queue, u64::from(optical_port(0))];
    let of_class = entry(&[u64::from(TO.edge), CLASS], "EdgeIngress.enqueue", &args);
    insert(pipeline, "EdgeIngress.voq", of_class);
    add_trains(&mut world, queue, voq);
    let marked = |ip_bytes| {
        let mut frame = host_frame(FROM, TO, ip_bytes);
        frame[Ethernet::SIZE + 1] = DSCP << 2;
        (FROM, frame)
    };
    let found = even_and_odd(&scenario, &mut world, marked);
    assert_apart(found, &world);
}

#[test]
fn flows_have_trains_of_their_own_that_share_the_voq() {
    const OTHER: HostId = HostId { edge: 1, index: 1 };
    let scenario = in_band(300_000, SIZE_BYTES);
    let mut world = with_trains(&scenario, &granted(&scenario), SIZE_BYTES);
    let voq = u64::from(scenario.voq(0, TO.edge));
    let queue = scenario.edges.len() as u64;
    let ip = |host: HostId| u64::from(host.ip().to_bits());
    let flow = entry(&[ip(OTHER), ip(TO), 253, 0, 0], "EdgeIngress.set_flow_queue", &[queue]);
    let pipeline = world.pipeline_mut(Device::Edge(FROM.edge).id()).unwrap();
    insert(pipeline, "EdgeIngress.flow_queue", flow);
    add_trains(&mut world, queue, voq);
    let found = even_and_odd(&scenario, &mut world, |ip_bytes| {
        (OTHER, host_frame(OTHER, TO, ip_bytes))
    });
    assert_apart(found, &world);
}

#[test]
fn a_train_is_never_longer_than_a_slot() {
    // P4 would let it grow to 100 packets.
    let scenario = in_band(50_000_000, 145_000);
    let mut world = with_trains(&scenario, &granted(&scenario), 145_000);
    let first_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    send(&mut world, first_ns, 20_000, lengths(SENT));
    world.run_until(Instant::from_ns(first_ns + 60 * scenario.frame.length().ns()));
    let arrived: Vec<usize> = arrived(&mut world).into_iter().map(|(bytes, _)| bytes).collect();
    assert_eq!(arrived, lengths(SENT).collect::<Vec<_>>());
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_train_without_room_in_its_voq_is_lost_whole_and_counted() {
    let scenario = in_band(300_000, SIZE_BYTES);
    let mut world = with_trains(&scenario, &dark(&scenario), SIZE_BYTES);
    let first_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    send(&mut world, first_ns, 20_000, std::iter::repeat_n(1450, 400));
    world.run_until(Instant::from_ns(first_ns + 10 * scenario.frame.length().ns()));
    assert_eq!(arrived(&mut world), []);
    let card = Place::LineCard { edge: 1, core: 0 };
    let lost = world.drops().get(card, DropCause::QueueFull).packets;
    // Trains are of three packets of 1480 bytes: 90 of them fit into 400,000 bytes, of 133 and a packet.
    assert_eq!(lost, 400 - 270);
    assert!(world.invariants().held(), "{:?}", world.invariants());
}

#[test]
fn a_train_that_p4_does_not_know_is_dropped_and_counted() {
    let scenario = in_band(300_000, SIZE_BYTES);
    let mut world = with_trains(&scenario, &granted(&scenario), SIZE_BYTES);
    let pipeline = world.pipeline_mut(Device::Edge(1).id()).unwrap();
    let voq = u64::from(scenario.voq(0, 3));
    let known = entry(&[voq], "EdgeIngress.set_star_train", &[voq]);
    pipeline.table_delete("EdgeIngress.train_queue", &known).unwrap();
    let first_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    send(&mut world, first_ns, 20_000, lengths(5));
    world.run_until(Instant::from_ns(first_ns + 4 * scenario.frame.length().ns()));
    assert_eq!(arrived(&mut world), []);
    let edge = Place::Device(Device::Edge(1));
    assert_eq!(world.drops().get(edge, DropCause::Refused).packets, 5);
    let ticks = world.p4_drops(Device::Edge(1)).unwrap();
    assert!(
        ticks
            .iter()
            .any(|drop| drop.reason == DropReason::NoRoute && drop.packets >= 1)
    );
}

/// Each slot is a frame, which the edge is granted in every one; the test hands the master's beacons on.
#[test]
fn out_of_band_slots_carry_trains_as_well() {
    const LATENCY_NS: u64 = 20_000;
    let aggregation = format!("{{scheme: full, interval_ns: 200000, size_bytes: {SIZE_BYTES}}}");
    let scenario = scenario(&aggregation, "{signaling: out-of-band, slots: 1,");
    let schedule: Schedule = vec![vec![None, Some(3), Some(1), None]];
    let mut world = with_trains(&scenario, &schedule, SIZE_BYTES);
    for slave in 1..4u16 {
        let membership = call("EdgeIngress.out_of_band", &[]);
        let pipeline = world.pipeline_mut(Device::Edge(slave).id()).unwrap();
        pipeline
            .table_set_default("EdgeIngress.membership", Some(membership))
            .unwrap();
        let master = world.pipeline_mut(Device::Edge(0).id()).unwrap();
        let key = [0, 0, 2 + u64::from(slave)];
        let beacon = entry(&key, "EdgeIngress.send_commit", &[slave.into(), PORT_CPU.into()]);
        insert(master, "EdgeIngress.signaling", beacon);
    }
    let first_ns = scenario.epoch().ns() + 4 * scenario.frame.length().ns();
    let mut to_send = (first_ns..).step_by(40_000).zip(lengths(SENT)).peekable();
    let end_ns = first_ns + 60 * scenario.frame.length().ns();
    loop {
        let next_ns = to_send.peek().map_or(end_ns, |(at_ns, _)| *at_ns);
        while world.run_until_control(Instant::from_ns(next_ns)) {
            while let Some(event) = world.poll_control() {
                let ControlMessage::Packet(message) = event.message else {
                    continue;
                };
                let light = &message[PacketIn::SIZE..];
                let optical = Optical::decode(&light[Ethernet::SIZE..]).unwrap();
                if optical.kind == u8::from(OpticalKind::Commit) {
                    let slave = Device::Edge(optical.dst_edge).id();
                    let at_ns = event.at.ns() + 2 * LATENCY_NS;
                    world
                        .packet_out(Instant::from_ns(at_ns), slave, &packet_out(PORT_SELF, light))
                        .unwrap();
                }
            }
        }
        let Some((at_ns, ip_bytes)) = to_send.next() else { break };
        let frame = host_frame(FROM, TO, ip_bytes);
        world
            .inject_host(
                Instant::from_ns(at_ns),
                Device::Edge(FROM.edge),
                FROM.access_port(),
                &frame,
            )
            .unwrap();
    }
    let arrived: Vec<usize> = arrived(&mut world).into_iter().map(|(bytes, _)| bytes).collect();
    assert_eq!(arrived, lengths(SENT).collect::<Vec<_>>());
    assert!(world.invariants().held(), "{:?}", world.invariants());
}
