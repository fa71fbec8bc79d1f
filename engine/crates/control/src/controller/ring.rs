// SPDX-License-Identifier: Apache-2.0
//! A ring as the controller's application `ring` reads it (schema/network.schema.json).

use serde_json::{Value, json};
use slotwise_kinds::World;
use slotwise_scenario::{Device, Party, Ring, Scenario, group_host_ip, group_host_mac};

use super::App;
use super::routes::mac;

/// The application.
pub(super) static APP: App = App {
    name: "ring",
    statistics: "ring/status",
    is_for: Scenario::has_ring,
    network: |scenario, fabric, _| {
        let ring = scenario.ring.as_ref();
        ring.map_or(Value::Null, |ring| network(scenario, ring, fabric))
    },
};

fn network(scenario: &Scenario, ring: &Ring, fabric: &World) -> Value {
    let stations: Vec<Value> = (0..ring.stations.len())
        .map(|number| station(scenario, ring, fabric, number as u16))
        .collect();
    let name = |station: u16| &ring.stations[usize::from(station)].name;
    let links: Vec<Value> = ring
        .spans()
        .map(|(from, to)| {
            json!({"from": name(from), "to": name(to), "rate_bps": ring.rate.bps(), "delay_ns": ring.delay.ns()})
        })
        .collect();
    let timing = &ring.timing;
    let mut document = json!({
        "name": scenario.name,
        "mode": ring.mode_name(),
        "threshold": ring.threshold,
        "relief": ring.relief,
        "interval_ns": timing.interval.ns(),
        "window_intervals": timing.window_intervals,
        "estimator": {"w1": timing.w1, "w2": timing.w2},
        "bucket_bytes": timing.bucket_bytes,
        "hol_timer_ns": timing.hol_timer.ns(),
        "calm_intervals": timing.calm_intervals,
        "hold_intervals": timing.hold_intervals,
        "wait_intervals": timing.wait_intervals,
        "report_intervals": timing.report_intervals,
        "stations": stations,
        "links": links,
    });
    if let Some(intervals) = timing.watch_intervals {
        document["watch_intervals"] = intervals.into();
    }
    document
}

fn station(scenario: &Scenario, ring: &Ring, fabric: &World, number: u16) -> Value {
    let (device, station) = (Device::Station(number), &ring.stations[usize::from(number)]);
    let hosts = hosts_at(scenario, fabric, device);
    let ports = hosts.iter().map(|host| &host["port"]);
    let classes: Vec<Value> = ports
        .flat_map(|port| {
            let classes = station.classes.iter();
            classes.map(move |class| {
                json!({"port": port, "dscp": class.dscp, "class": class.class_name(), "rate_bps": class.rate.bps()})
            })
        })
        .collect();
    json!({
        "name": station.name,
        "device_id": device.id(),
        "mac": mac(device.mac()),
        "weight": station.weight,
        "hosts": hosts,
        "classes": classes,
    })
}

/// The hosts at a node, in groups.
pub(super) fn hosts_at(scenario: &Scenario, fabric: &World, device: Device) -> Vec<Value> {
    let groups = (0..scenario.routed.hosts.len()).map(Party::Group);
    let here = groups.filter(|group| scenario.node_of(*group) == device);
    let hosts = here.flat_map(|group| scenario.host_names(group).into_iter().zip(scenario.host_numbers(group)));
    let ports: Vec<(Device, u16)> = fabric.access_ports().collect();
    hosts
        .map(|(name, host)| {
            let in_groups = host - scenario.edge_host_count();
            json!({
                "name": name,
                "port": ports[host].1,
                "mac": mac(group_host_mac(in_groups)),
                "ip": group_host_ip(in_groups),
            })
        })
        .collect()
}
