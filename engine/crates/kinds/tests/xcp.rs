// SPDX-License-Identifier: Apache-2.0
//! XCP-CL on a star: edge.p4's controller of a VOQ, with the slots granted to it as its capacity.

use crate::support;

use slotwise_kinds::{self as kinds, DropCause, HostMode};
use slotwise_scenario::Device;
use slotwise_units::Instant;
use support::*;

/// IP bytes and what they take of a fibre beside.
const OVERHEAD_BYTES: u64 = 34;

#[test]
fn xcp_flows_take_the_slots_granted_to_their_voq_and_lose_nothing() {
    let scenario = star4(
        "  - {name: xcp, duration_ms: 4000, flows: [{from: edge0, to: edge1, transport: xcp, tcp: {streams: 2}}]}",
    );
    let schedule = rotation(&scenario);
    let granted = schedule.iter().filter(|slot| slot[0] == Some(1)).count() as u64;
    let mut world = star(&scenario, HostMode::Simulated, &schedule);
    let frame_ns = scenario.frame.length().ns();
    // What four full packets of an open slot are worth in a frame, 1/16 byte/s.
    let slot_bytes = 4 * scenario.wire_mtu().get();
    let slot_throughput = slot_bytes * 16 * 1_000_000_000 / frame_ns;
    let pipeline = world.pipeline_mut(Device::Edge(0).id()).unwrap();
    let params = [26214, 14811, 6554, 50_000_000, 1_000_000, 2_000_000, frame_ns];
    pipeline
        .table_set_default(
            "EdgeIngress.xcp_params",
            Some(call("EdgeIngress.set_xcp_params", &params)),
        )
        .unwrap();
    let capacity = entry(&[1], "EdgeIngress.slot_capacity", &[slot_throughput, OVERHEAD_BYTES]);
    insert(pipeline, "EdgeIngress.xcp_output", capacity);
    insert(
        pipeline,
        "EdgeIngress.xcp_slots",
        entry(&[0, 1], "EdgeIngress.granted", &[granted]),
    );

    let half_ns = scenario.epoch().ns() + 2_000_000_000;
    world.run_until(Instant::from_ns(half_ns));
    let before = world.of_kind::<kinds::Star>().unwrap().delivered(0, 1);
    world.run_until(scenario.end());
    let packets = world.of_kind::<kinds::Star>().unwrap().delivered(0, 1).packets - before.packets;
    let share = packets as f64 / (granted * 4 * 2_000_000_000 / frame_ns) as f64;
    assert!((0.9..=1.0).contains(&share), "{share} of the slots granted");
    let lost: u64 = world
        .drops()
        .iter()
        .filter(|drop| drop.1 == DropCause::QueueFull)
        .map(|drop| drop.2.packets)
        .sum();
    assert_eq!(lost, 0);
    assert!(world.invariants().held(), "{:?}", world.invariants());
    let flows = world.flow_results();
    let bytes: Vec<f64> = flows.iter().map(|flow| flow.received_bytes.get() as f64).collect();
    let jain = bytes.iter().sum::<f64>().powi(2) / (bytes.len() as f64 * bytes.iter().map(|b| b * b).sum::<f64>());
    assert!(jain > 0.99, "{bytes:?}");
    assert!(flows.iter().all(|flow| flow.stream.unwrap().retransmissions == 0));
}
