// SPDX-License-Identifier: Apache-2.0
//! A star with routers behind two of its edges.

use crate::support;

use slotwise_kinds::{self as kinds, HostMode, World};
use slotwise_p4::{KeyField, TableEntry};
use slotwise_scenario::{Device, Party, Scenario, group_host_ip};
use slotwise_units::Duration;
use support::{call, configure_router, insert, mac_number, rotation, star};

const MIXED: &str = include_str!("../../../../topologies/mixed.yaml");
const MS: u64 = 1_000_000;

/// mixed.yaml with other flows, phases, and whatever else is given.
fn mixed(rest: &str) -> Scenario {
    let head = &MIXED[..MIXED.find("flows:").unwrap()];
    let controller = "controller: {scheduler: fair, control_latency_ns: 200000, beacon_hold_frames: 1}";
    Scenario::parse(format!("{head}{controller}\n{rest}\n").as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// With programs and routes in every switch.
fn configured(scenario: &Scenario) -> World {
    let mut fabric = star(scenario, HostMode::Simulated, &rotation(scenario));
    for router in 0..scenario.routed.routers.len() as u16 {
        configure_router(&mut fabric, router);
    }
    let next_hops = scenario.next_hops();
    for group in (0..scenario.routed.hosts.len()).map(Party::Group) {
        let (border, gateway) = scenario.border(&next_hops, scenario.node_of(group)).unwrap();
        let Device::Router(_) = gateway else {
            panic!("hosts of routers are behind one")
        };
        let port = scenario.ports_to_neighbours(Device::Edge(border))[&gateway];
        let mac = mac_number(gateway.mac());
        for number in scenario.host_numbers(group) {
            let ip = group_host_ip(number - scenario.edge_host_count());
            for edge in 0..scenario.edges.len() as u16 {
                let action = if edge == border {
                    call("EdgeIngress.to_host", &[u64::from(port), mac])
                } else {
                    call("EdgeIngress.to_edge", &[u64::from(border)])
                };
                let key = vec![KeyField::Lpm {
                    value: ip.octets().to_vec(),
                    prefix_len: 32,
                }];
                let route = TableEntry {
                    key,
                    priority: 0,
                    action,
                };
                insert(
                    fabric.pipeline_mut(Device::Edge(edge).id()).unwrap(),
                    "EdgeIngress.ipv4_route",
                    route,
                );
            }
        }
    }
    fabric
}

const PHASES: &str = "phases:
- {name: busy, duration_ms: 300, flows: [{from: edge1, to: edge0}]}
- {name: quiet, duration_ms: 1700, flows: []}";

#[test]
fn streams_of_a_phase_that_is_over_are_not_waited_for_after_a_fault_of_a_router() {
    let flows = "flows: [{name: across, from: lab, to: far, udp: {rate_bps: 1000000, process: constant}}]";
    let faults = "faults: [{kind: link-down, every_ms: 100, for_ms: 20}]";
    let scenario = mixed(&format!("{flows}\n{PHASES}\n{faults}"));
    let mut fabric = configured(&scenario);
    fabric.run_until(scenario.end());
    let delivered_bytes = |fabric: &mut World| fabric.take_flow_use(0).delivered_bytes.get();
    assert!(delivered_bytes(&mut fabric) > 0, "datagrams cross routers and star");
    let tcp_bytes: u64 = fabric.flow_results().iter().map(|flow| flow.received_bytes.get()).sum();
    assert!(tcp_bytes > 0, "streams are there that were to be waited for");
    let of_routers = || fabric.faults().iter().filter(|fault| fault.beside_stars().count() > 0);
    let busy_end_ns = scenario.phase_times(0).1.ns();
    assert!(of_routers().any(|fault| fault.start.ns() > busy_end_ns && fault.happened));
    for fault in of_routers() {
        assert!(fault.recovered.is_some(), "{fault:?}");
    }
    assert!(fabric.invariants().held());
}

#[test]
fn what_crossed_the_star_is_delivered_also_if_the_link_behind_it_is_dark() {
    let flows = "flows: [{name: down, from: h0_0, to: desk, udp: {rate_bps: 1000000, process: constant}}]";
    let changes = "changes: [{at_ms: 0, link: star-west, up: false}]";
    let scenario = mixed(&format!("{flows}\n{PHASES}\n{changes}"));
    let mut fabric = configured(&scenario);
    fabric.run_until(scenario.epoch() + Duration::from_ns(500 * MS));
    assert_eq!(fabric.take_flow_use(0).delivered_bytes.get(), 0, "the link is dark");
    let packets = fabric.of_kind::<kinds::Star>().unwrap().delivered(0, 2).packets;
    assert!(packets > 10, "{packets} crossed the star");
}
