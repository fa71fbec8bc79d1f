// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches as the controller's application `ops` reads them (schema/network.schema.json).

use serde_json::{Value, json};
use slotwise_fabric::Fabric;
use slotwise_scenario::{Device, Ops, Scenario};

use super::App;
use super::ring::hosts_at;
use super::routes::mac;

/// XCP's constants for macroflows: at the limit of the proof of stability.
const ALPHA: f64 = 0.2;
const BETA: f64 = 0.056;
const GAMMA: f64 = 0.1;

/// The application.
pub(super) static APP: App = App {
    name: "ops",
    statistics: "apps/ops/status",
    is_for: Scenario::has_ops,
    network: |scenario, fabric, _| {
        let ops = scenario.ops.as_ref();
        ops.map_or(Value::Null, |ops| network(scenario, ops, fabric))
    },
};

fn network(scenario: &Scenario, ops: &Ops, fabric: &Fabric) -> Value {
    let switches = ops.switches.iter().enumerate();
    let switches =
        switches.map(|(number, name)| json!({"name": name, "device_id": Device::Switch(number as u16).id()}));
    let fibres = ops.fibres();
    let (of_links, of_edges) = fibres.split_at(ops.links.len());
    let links = of_links.iter().map(|fibre| {
        let [(a, at_a), (b, at_b)] = fibre.ends;
        json!({"a": ops.node_name(a), "b": ops.node_name(b), "fibres": [at_a, at_b], "delay_ns": fibre.delay_ns})
    });
    let edges = of_edges.iter().map(|fibre| {
        let [(edge, _), (switch, at_switch)] = fibre.ends;
        json!({
            "name": ops.node_name(edge),
            "device_id": edge.id(),
            "number": edge.number(),
            "mac": mac(fabric.device_mac(edge)),
            "switch": ops.node_name(switch),
            "fibre": at_switch,
            "delay_ns": fibre.delay_ns,
            "hosts": hosts_at(scenario, fabric, edge),
        })
    });
    let mut network = json!({
        "name": scenario.name,
        "wavelengths": ops.wavelengths,
        "conversion": ops.conversion,
        "probes": ops.probes.is_some(),
        "fibre_shift": ops.fibre_shift(),
        "rate_bps": ops.rate_bps,
        "ram_bytes": ops.ram_bytes,
        "longest_bytes": ops.longest_bytes(scenario.routed.packet_bytes),
        "framing_bytes": ops.framing_bytes,
        "guard_ns": ops.guard_ns,
        "deflections": ops.deflections,
        "hops": ops.hops,
        "target": ops.target,
        "switches": switches.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "aggregation": {"scheme": "none"},
        "macroflows": "none",
    });
    if let Some(probes) = ops.probes {
        network["probe_rate_bps"] = json!(probes.rate_bps);
        network["period_ns"] = json!(probes.period_ns);
        (network["alpha"], network["beta"], network["gamma"]) = (json!(ALPHA), json!(BETA), json!(GAMMA));
    }
    network
}
