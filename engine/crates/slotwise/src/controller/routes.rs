// SPDX-License-Identifier: Apache-2.0
//! A network of routers as the controller's application `routes` reads it (schema/network.schema.json).

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use slotwise_fabric::{Fabric, RouterPort};
use slotwise_scenario::{Device, RoutedScenario};

/// XCP counts IP bytes here: a routed link's rate does.
const OVERHEAD_BYTES: u64 = 0;

/// What the controller is told; `fabric` is the scenario's.
pub(super) fn network(scenario: &RoutedScenario, fabric: &Fabric) -> Value {
    let mut hosts = scenario
        .hosts
        .iter()
        .flat_map(|group| (0..group.count).map(move |index| (group, format!("{}.{index}", group.name))));
    // By the numbers of hosts, which are in the order of groups; ports are asked for by router below.
    let named: Vec<_> = hosts.by_ref().collect();
    let nodes: Vec<Value> = scenario
        .routers
        .iter()
        .enumerate()
        .map(|(router, name)| {
            let mut here = named.iter().filter(|(group, _)| group.router == router);
            let mut ports = Vec::new();
            for port in fabric.router_ports(router) {
                ports.push(match (port.link, port.peer) {
                    (Some(link), Some(peer)) => to_router(scenario, port, link, peer),
                    _ => {
                        let (group, name) = here.next().expect("a port that leads to no router leads to a host");
                        let ip = port.hosts.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
                        json!({
                            "port": port.port,
                            "rate_bps": group.rate_bps,
                            "delay_ns": group.down_delay_ns,
                            "hosts": [{"name": name, "ip": ip, "mac": mac(port.next_mac)}],
                        })
                    }
                });
            }
            json!({
                "name": name,
                "device_id": Device::Router(router as u16).id(),
                "mac": mac(fabric.router_mac(router)),
                "ports": ports,
            })
        })
        .collect();
    json!({"apps": {"routes": {
        "nodes": nodes,
        "routing": {"mode": "shortest-path", "metric": scenario.controller.metric.name()},
        "xcp": {"overhead_bytes": OVERHEAD_BYTES},
    }}})
}

fn to_router(scenario: &RoutedScenario, port: &RouterPort, link: usize, (device, far): (Device, u16)) -> Value {
    let link = &scenario.links[link];
    let mut entry = json!({
        "port": port.port,
        "rate_bps": link.rate_bps,
        "delay_ns": link.delay_ns,
        "peer": {"device_id": device.id(), "port": far, "mac": mac(port.next_mac)},
    });
    if let Some(xcp_bps) = link.xcp_bps {
        entry["xcp_bps"] = xcp_bps.into();
    }
    entry
}

fn mac(number: u64) -> String {
    let bytes = number.to_be_bytes();
    let text: Vec<String> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
    text.join(":")
}
