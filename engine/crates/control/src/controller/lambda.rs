// SPDX-License-Identifier: Apache-2.0
//! Sessions of GTP over routers, or the slots of a star for sessions to come, as the controller's application `lambda` reads them
//! (schema/network.schema.json).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slotwise_scenario::{Device, Party, Scenario, Source};
use slotwise_units::Rate;

use super::App;

/// The application.
pub(super) static APP: App = App {
    name: "lambda",
    statistics: "lambda/status",
    is_for: |scenario| scenario.controller.lambda,
    network: |scenario, _, _| match scenario.reserves_slots() {
        true => slots(scenario),
        false => network(scenario),
    },
};

/// Edges as nodes, which have slots.
fn slots(scenario: &Scenario) -> Value {
    let nodes = scenario.edges.iter();
    let nodes = nodes.map(|edge| json!({"name": Device::Edge(edge.id).to_string()}));
    json!({
        "name": scenario.name,
        "nodes": nodes.collect::<Vec<Value>>(),
        "slots": {"a_frame": scenario.data_slots(), "slot_bps": scenario.slot_rate().bps()},
    })
}

/// Hosts of sessions as nodes, links between routers as lambdas, flows of GTP as sessions, `GROUP-i`.
fn network(scenario: &Scenario) -> Value {
    let routed = &scenario.routed;
    let site = |device: Device| match device {
        Device::Router(router) => routed.routers.get(usize::from(router)).cloned(),
        _ => None,
    };
    let lambdas: Vec<Value> = routed
        .links
        .iter()
        .map(|link| {
            json!({"from": site(link.from), "to": site(link.to), "rate_bps": link.rate.bps(), "delay_ns": link.delay.ns()})
        })
        .collect();
    let mut nodes: BTreeMap<usize, Value> = BTreeMap::new();
    let mut sessions = Vec::new();
    for flow in &routed.flows {
        let Source::Gtp(asked) = flow.source else {
            continue;
        };
        for party in [flow.from, flow.to] {
            let Party::Group(group) = party else {
                continue;
            };
            let group = &routed.hosts[group];
            for (number, name) in scenario.host_numbers(party).zip(scenario.host_names(party)) {
                let mut node = json!({"name": name, "rate_bps": group.gtp.capacity.bps()});
                if !lambdas.is_empty() {
                    node["site"] = json!(site(group.node));
                }
                nodes.insert(number, node);
            }
        }
        let name = |number: usize| nodes.get(&number).map(|node| node["name"].clone());
        for (i, (from, to)) in scenario.flow_hosts(flow).enumerate() {
            let mut session = json!({"session": format!("{}-{i}", flow.name), "source": name(from), "sink": name(to)});
            if let Some(limit_bps) = asked.limit.map(Rate::bps) {
                session["wanted_bps"] = json!(limit_bps);
            }
            sessions.push(session);
        }
    }
    let mut document = json!({
        "name": scenario.name,
        "nodes": nodes.into_values().collect::<Vec<Value>>(),
        "sessions": sessions,
    });
    if !lambdas.is_empty() {
        document["lambdas"] = json!(lambdas);
    }
    document
}
