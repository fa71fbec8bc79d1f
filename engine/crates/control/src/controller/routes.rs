// SPDX-License-Identifier: Apache-2.0
//! Routers as the controller's application `routes` reads them (schema/network.schema.json), and what a star is told of them.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use slotwise_kinds::{self as kinds, RouterPort, World};
use slotwise_scenario::{Device, MacAddress, Party, Scenario, group_host_ip};
use slotwise_units::Rate;

use super::App;

/// XCP counts IP bytes here: a routed link's rate does.
const OVERHEAD_BYTES: u64 = 0;

/// The application.
pub(super) static APP: App = App {
    name: "routes",
    statistics: "routes/status",
    is_for: Scenario::has_routers,
    network: |scenario, fabric, _| network(scenario, fabric),
};

fn network(scenario: &Scenario, fabric: &World) -> Value {
    let routed = &scenario.routed;
    let groups: Vec<_> = routed
        .hosts
        .iter()
        .flat_map(|group| (0..group.count).map(move |index| (group, format!("{}.{index}", group.name))))
        .collect();
    let nodes: Vec<Value> = routed
        .routers
        .iter()
        .enumerate()
        .map(|(router, name)| {
            let device = Device::Router(router as u16);
            // By the numbers of hosts, which are in the order of groups.
            let mut here = groups.iter().filter(|(group, _)| group.node == device);
            let mut ports = Vec::new();
            for port in fabric
                .of_kind::<kinds::Routed>()
                .map_or(&[][..], |routers| routers.ports(device))
            {
                ports.push(match (port.link, port.peer) {
                    (Some(link), Some(peer)) => to_peer(scenario, port, link, peer),
                    _ => {
                        let (group, name) = here.next().expect("a port that leads to no peer leads to a host");
                        let ip = port.hosts.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
                        json!({
                            "port": port.port,
                            "rate_bps": group.rate.bps(),
                            "delay_ns": group.down_delay.ns(),
                            "hosts": [{"name": name, "ip": ip, "mac": mac(port.next_mac)}],
                        })
                    }
                });
            }
            json!({
                "name": name,
                "device_id": device.id(),
                "mac": mac(device.mac()),
                "ports": ports,
            })
        })
        .collect();
    json!({
        "nodes": nodes,
        "routing": {"mode": "shortest-path", "metric": scenario.controller.metric.name()},
        "xcp": {"overhead_bytes": OVERHEAD_BYTES},
    })
}

/// The hosts of groups that reach a star, by the edge behind which they are, as the star's network has hosts.
pub(super) fn behind_edges(scenario: &Scenario) -> Vec<(u16, Value)> {
    let next_hops = scenario.next_hops();
    let mut behind = Vec::new();
    for index in 0..scenario.routed.hosts.len() {
        let group = Party::Group(index);
        let Some((edge, gateway @ Device::Router(_))) = scenario.border(&next_hops, scenario.node_of(group)) else {
            continue;
        };
        let port = scenario.ports_to_neighbours(Device::Edge(edge))[&gateway];
        let mac = mac(gateway.mac());
        for (name, number) in scenario.host_names(group).into_iter().zip(scenario.host_numbers(group)) {
            let ip = group_host_ip(number - scenario.edge_host_count());
            behind.push((edge, json!({"name": name, "ip": ip, "mac": mac, "port": port})));
        }
    }
    behind
}

fn to_peer(scenario: &Scenario, port: &RouterPort, link: usize, (device, far): (Device, u16)) -> Value {
    let link = &scenario.routed.links[link];
    let mut entry = json!({
        "port": port.port,
        "rate_bps": link.rate.bps(),
        "delay_ns": link.delay.ns(),
        "peer": {"device_id": device.id(), "port": far, "mac": mac(port.next_mac)},
    });
    if let Some(xcp_bps) = link.xcp.map(Rate::bps) {
        entry["xcp_bps"] = xcp_bps.into();
    }
    if let Device::Edge(_) = device {
        let beyond: Vec<Value> = port.hosts.iter().map(|ip| json!({"ip": ip})).collect();
        entry["peer"]["beyond"] = beyond.into();
    }
    entry
}

/// An Ethernet address as text.
pub(super) fn mac(mac: MacAddress) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
