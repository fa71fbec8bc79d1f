// SPDX-License-Identifier: Apache-2.0
//! How fast a network of routers is in virtual time, on one thread: three P4 routers, 1 Gb/s, 100 streams.
//!
//! `cargo run --release -p slotwise-fabric --example routed_speed [SIMULATED_MILLISECONDS]`

use std::sync::Arc;
use std::time::Instant;

use slotwise_fabric::routed::RoutedNetwork;
use slotwise_p4::{ActionCall, KeyField, Program, TableEntry};
use slotwise_scenario::RoutedScenario;

const PROGRAM: &[u8] = include_bytes!("../../p4/tests/programs/router.json");
const SCENARIO: &str = "version: 1
kind: routed
name: speed
seed: 1
duration_ms: 600000
packet_bytes: 1000
routers: [a, b, c]
links:
- {name: ab, from: a, to: b, rate_bps: 1000000000, delay_ns: 1000000, buffer: {packets: 1000}}
- {name: bc, from: b, to: c, rate_bps: 1000000000, delay_ns: 1000000, buffer: {packets: 1000}}
- {name: cb, from: c, to: b, rate_bps: 1000000000, delay_ns: 1000000, buffer: {packets: 1000}}
- {name: ba, from: b, to: a, rate_bps: 1000000000, delay_ns: 1000000, buffer: {packets: 1000}}
hosts:
- {name: s, count: 100, router: a, rate_bps: 1000000000, up_delay_ns: 20000000, down_delay_ns: 20000000, buffer: {packets: 10000}}
- {name: d, count: 100, router: c, rate_bps: 1000000000, up_delay_ns: 20000000, down_delay_ns: 20000000, buffer: {packets: 10000}}
flows:
- {name: f, from: s, to: d, transport: cubic}
";

fn main() {
    let milliseconds: u64 = std::env::args()
        .nth(1)
        .map_or(2000, |text| text.parse().expect("a number of milliseconds"));
    let scenario = RoutedScenario::parse(SCENARIO.as_bytes()).expect("a valid scenario");
    let program = Arc::new(Program::from_json(PROGRAM).expect("a valid program"));
    let mut network = RoutedNetwork::new(&scenario, 1);
    for router in 0..3 {
        let ports = network.router_ports(router).to_vec();
        let pipeline = network.set_program(router, program.clone(), 1);
        for (port, host) in ports
            .iter()
            .flat_map(|port| port.hosts.iter().map(move |host| (port, host)))
        {
            let entry = TableEntry {
                key: vec![KeyField::Lpm {
                    value: host.octets().to_vec(),
                    prefix_len: 32,
                }],
                priority: 0,
                action: ActionCall {
                    name: "TestIngress.forward".into(),
                    args: vec![port.port.to_be_bytes().to_vec(), port.next_mac.to_be_bytes().to_vec()],
                },
            };
            pipeline
                .table_insert("TestIngress.routes", entry)
                .expect("room in the table");
        }
    }
    let start = Instant::now();
    network.run_until(milliseconds * 1_000_000);
    let wall_s = start.elapsed().as_secs_f64();
    let sent = network.take_link_use(1).sent_packets;
    println!(
        "{:.2} s in {wall_s:.2} s, {sent} packets over the middle link",
        milliseconds as f64 / 1e3
    );
    println!(
        "{:.0} packet-hops/s through P4, {:.2} us a packet",
        network.hops() as f64 / wall_s,
        wall_s * 1e6 / sent as f64
    );
}
