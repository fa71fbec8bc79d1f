// SPDX-License-Identifier: Apache-2.0
//! A star as the controller's application `star` reads it (schema/network.schema.json).

use serde_json::{Value, json};
use slotwise_kinds::World;
use slotwise_scenario::{Device, HostId, Scenario, Signaling, edge_mac, optical_port};
use slotwise_units::Rate;

use super::{App, Circumstances, Clock, choice_json, ops, routes};

/// The application.
pub(super) static APP: App = App {
    name: "star",
    statistics: "star/statistics",
    is_for: Scenario::has_star,
    network,
};

/// What it is told. Hosts that reach it by a router are at the router's port, with its address.
fn network(scenario: &Scenario, _: &World, Circumstances { clock, timestamps }: Circumstances) -> Value {
    let behind = routes::behind_edges(scenario);
    let edges: Vec<Value> = scenario
        .edges
        .iter()
        .map(|edge| {
            let own = (0..edge.hosts)
                .map(|index| {
                    let host = HostId { edge: edge.id, index };
                    json!({"name": host.to_string(), "ip": host.ip(), "mac": routes::mac(host.mac()), "port": host.access_port()})
                });
            let behind = behind.iter().filter(|(of, _)| *of == edge.id);
            let hosts: Vec<Value> = own.chain(behind.map(|(_, host)| host.clone())).collect();
            let fibres: Vec<Value> = edge
                .fibres
                .iter()
                .map(|fibre| {
                    let mut entry = json!({"core": fibre.core, "port": optical_port(fibre.core), "rate_bps": fibre.rate.bps(), "delay_ns": fibre.delay.ns()});
                    if fibre.port != edge.id {
                        entry["core_port"] = fibre.port.into();
                    }
                    entry
                })
                .collect();
            json!({
                "id": edge.id,
                "device_id": Device::Edge(edge.id).id(),
                "mac": routes::mac(edge_mac(edge.id)),
                "hosts": hosts,
                "fibres": fibres,
            })
        })
        .collect();
    let cores: Vec<Value> = scenario
        .cores
        .iter()
        .map(|core| json!({"id": core.id, "master": core.master, "device_id": Device::Core(core.id).id()}))
        .collect();
    let mut network = json!({
        "frame": {
            "slots": scenario.frame.slots,
            "slot_ns": scenario.frame.slot.ns(),
            "guard_ns": scenario.frame.guard.ns(),
            "signaling": scenario.frame.signaling.name(),
        },
        "timestamp_unit": timestamps.unit,
        "timestamp_tolerance_ns": timestamps.tolerance_ns,
        "cores": cores,
        "edges": edges,
        "scheduler": choice_json(&scenario.controller.scheduler),
        "beacon_hold_frames": scenario.controller.beacon_hold_frames,
        "mtu": scenario.hosts.mtu,
        "xcp": scenario.has_xcp(),
        "membership": if scenario.joins_by_invitation() { "invitation" } else { "static" },
    });
    if let Some(xcp_bps) = scenario.controller.xcp.map(Rate::bps) {
        network["xcp_bps"] = xcp_bps.into();
    }
    // By the wall clock the controller's latency is its own, and nobody knows its minimum.
    if clock == Clock::Lockstep && scenario.frame.signaling == Signaling::OutOfBand {
        network["min_control_latency_ns"] = scenario.controller.control_latency.ns().into();
    }
    if let Some(aggregation) = &scenario.aggregation {
        network["aggregation"] = json!({"size_bytes": aggregation.size.get()});
        if !scenario.classes.is_empty() {
            let classes = scenario.classes.iter();
            let classes = classes.map(|class| json!({"class": class.class, "match": ops::matches(class)}));
            network["aggregation"]["classes"] = classes.collect();
        }
    }
    network
}
