// SPDX-License-Identifier: Apache-2.0
//! Optical packet switches as the controller's application `ops` reads them (schema/network.schema.json).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slotwise_kinds::World;
use slotwise_lambda::KnifeEdge;
use slotwise_scenario::{
    Device, Macroflows, Ops, OpsClass, OpsFibre, OpsMatch, Scenario, Scheme, Source, group_host_ip,
};
use slotwise_wire::{IP_PROTOCOL_TCP, IP_PROTOCOL_UDP};

use super::ring::hosts_at;
use super::routes::mac;
use super::{App, Circumstances, EXACT};

/// XCP's constants for macroflows: at the limit of the proof of stability.
const ALPHA: f64 = 0.2;
const BETA: f64 = 0.056;
const GAMMA: f64 = 0.1;

/// The application.
pub(super) static APP: App = App {
    name: "ops",
    statistics: "ops/status",
    is_for: Scenario::has_ops,
    network: |scenario, fabric, Circumstances { timestamps, .. }| {
        let ops = scenario.ops.as_ref();
        let mut network = ops.map_or(Value::Null, |ops| network(scenario, ops, fabric));
        // Nanoseconds need not be said.
        if timestamps != EXACT {
            network["timestamp_unit"] = json!(timestamps.unit);
        }
        network
    },
};

fn network(scenario: &Scenario, ops: &Ops, fabric: &World) -> Value {
    let switches = ops.switches.iter().enumerate();
    let switches =
        switches.map(|(number, name)| json!({"name": name, "device_id": Device::Switch(number as u16).id()}));
    let fibres = ops.fibres();
    let links = fibres[..ops.links.len()].iter().map(|fibre| {
        let [(a, at_a), (b, at_b)] = fibre.ends;
        json!({"a": ops.node_name(a), "b": ops.node_name(b), "fibres": [at_a, at_b], "delay_ns": fibre.delay.ns()})
    });
    let flow_queues = flow_queues(scenario, ops);
    let edges = (0..ops.edges.len() as u16).map(Device::OpsEdge).map(|edge| {
        let mut document = json!({
            "name": ops.node_name(edge),
            "device_id": edge.id(),
            "number": edge.number(),
            "mac": mac(edge.mac()),
            "hosts": hosts_at(scenario, fabric, edge),
        });
        let attached = fibres
            .iter()
            .find(|fibre| fibre.direct.is_none() && fibre.ends[0].0 == edge);
        if let Some(fibre) = attached {
            let (switch, at_switch) = fibre.ends[1];
            document["switch"] = json!(ops.node_name(switch));
            document["fibre"] = json!(at_switch);
            document["delay_ns"] = json!(fibre.delay.ns());
        } else {
            document["fibres"] = direct_fibres(ops, &fibres, edge);
        }
        if ops.macroflows.is_some_and(|macroflows| macroflows.share.is_none()) {
            document["agents"] = json!(true);
        }
        if let Some(queues) = flow_queues.get(&edge) {
            document["flow_queues"] = json!(queues);
        }
        document
    });
    let mut network = json!({
        "name": scenario.name,
        "wavelengths": ops.wavelengths,
        "conversion": ops.conversion,
        "probes": ops.probes.is_some(),
        "fibre_shift": ops.fibre_shift(),
        "rate_bps": ops.rate.bps(),
        "ram_bytes": ops.ram.get(),
        "longest_bytes": ops.longest_train(scenario.routed.packet_bytes).get(),
        "framing_bytes": ops.framing_bytes,
        "guard_ns": ops.guard.ns(),
        "deflections": ops.deflections,
        "hops": ops.hops,
        "target": ops.target,
        "switches": switches.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "aggregation": aggregation(ops),
        "macroflows": match ops.macroflows {
            Some(macroflows) => paced(macroflows),
            None => json!("none"),
        },
    });
    if ops.ingress.trains.is_some() || ops.ingress.fair {
        network["ingress"] = json!({"fair": ops.ingress.fair});
        if let Some(trains) = ops.ingress.trains {
            network["ingress"]["trains"] = json!(trains);
        }
    }
    if !ops.classes.is_empty() {
        network["classes"] = ops.classes.iter().map(class).collect();
    }
    if let Some(probes) = ops.probes {
        network["probe_rate_bps"] = json!(probes.rate.bps());
        network["period_ns"] = json!(probes.period.ns());
        (network["alpha"], network["beta"], network["gamma"]) = (json!(ALPHA), json!(BETA), json!(GAMMA));
    }
    network
}

fn paced(macroflows: Macroflows) -> Value {
    let mut document = json!({"pair": true, "satisfied": macroflows.satisfied});
    if let Some(share) = macroflows.share {
        document["share"] = json!({
            "capacity_bps": share.capacity.bps(),
            "alpha": share.steps.alpha(),
            "beta": share.steps.beta(),
            "capped": share.knife_edge == KnifeEdge::Capped,
        });
    }
    document
}

fn aggregation(ops: &Ops) -> Value {
    let Some(aggregation) = &ops.aggregation else {
        return json!({"scheme": "none"});
    };
    let mut document = json!({"scheme": aggregation.scheme.name(), "size_bytes": aggregation.size.get()});
    if !aggregation.edges.is_empty() {
        let names = aggregation
            .edges
            .iter()
            .map(|edge| ops.node_name(Device::OpsEdge(*edge)));
        document["edges"] = names.collect();
    }
    document
}

fn class(class: &OpsClass) -> Value {
    let mut document = json!({"class": class.class, "wavelength": class.wavelength, "weight": class.weight});
    if let Some(matches) = matches(class) {
        document["match"] = matches;
    }
    document
}

/// What has a class.
pub(super) fn matches(class: &OpsClass) -> Option<Value> {
    class.matches.map(|matches| match matches {
        OpsMatch::Dscp(dscp) => json!({"dscp": dscp}),
        OpsMatch::Acknowledgements => json!({"acknowledgements": true}),
    })
}

/// Fibres of an edge that lead to other edges, the first choice first.
fn direct_fibres(ops: &Ops, fibres: &[OpsFibre], edge: Device) -> Value {
    let ends = fibres.iter().flat_map(|fibre| {
        let [a, b] = fibre.ends;
        [(a, b), (b, a)]
    });
    let own = ends.filter(|((near, _), _)| *near == edge);
    own.map(|((_, number), (far, _))| json!({"fibre": number, "to": ops.node_name(far)}))
        .collect()
}

/// Queues of flows that have one of their own, by edge: of what its hosts send, data or acknowledgements.
fn flow_queues(scenario: &Scenario, ops: &Ops) -> BTreeMap<Device, Vec<Value>> {
    let mut queues: BTreeMap<Device, Vec<Value>> = BTreeMap::new();
    let is_by_flow = ops
        .aggregation
        .as_ref()
        .is_some_and(|aggregation| aggregation.scheme == Scheme::Flow);
    if !is_by_flow {
        return queues;
    }
    let class_of = |dscp: u8| {
        let of = ops
            .classes
            .iter()
            .find(|class| class.matches == Some(OpsMatch::Dscp(dscp)));
        of.map_or(0, |class| class.class)
    };
    for flow in scenario.group_flows() {
        let group = &scenario.routed.flows[flow.group];
        let ends = [
            (flow.from, scenario.node_of(group.from)),
            (flow.to, scenario.node_of(group.to)),
        ];
        for ((src, from), (dst, to)) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            if from == to {
                continue;
            }
            let at = queues.entry(from).or_default();
            at.push(json!({
                "src": group_host_ip(src),
                "dst": group_host_ip(dst),
                "protocol": if matches!(group.source, Source::Udp { .. } | Source::Gtp(_)) { IP_PROTOCOL_UDP } else { IP_PROTOCOL_TCP },
                "src_port": flow.port,
                "dst_port": flow.port,
                "queue": ops.flow_queue(at.len()),
                "dst_edge": to.number(),
                "class": class_of(group.dscp),
            }));
        }
    }
    queues
}
