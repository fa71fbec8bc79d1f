// SPDX-License-Identifier: Apache-2.0
//! Two routers, a link between them, and hosts on either side.

use slotwise_kinds::{HostMode, World, WorldOptions};
use slotwise_scenario::{Device, Scenario};

use super::configure_router;

/// Two routers and a link of 10 Mb/s and 5 ms, hosts 2.5 ms away on either side.
pub fn dumbbell(flows: &str, rest: &str) -> Scenario {
    let text = format!(
        "version: 1
name: dumbbell
seed: 3
duration_ms: 5000
packet_bytes: 1000
routers: [left, right]
links:
- {{name: there, from: left, to: right, rate_bps: 10000000, delay_ns: 5000000, buffer: {{packets: 20}}}}
- {{name: back, from: right, to: left, rate_bps: 10000000, delay_ns: 5000000, buffer: {{packets: 100}}}}
hosts:
- {{name: s, count: 2, at: left, rate_bps: 100000000, up_delay_ns: 2500000, down_delay_ns: 2500000, buffer: {{bytes: 1000000}}}}
- {{name: d, count: 2, at: right, rate_bps: 100000000, up_delay_ns: 2500000, down_delay_ns: 2500000, buffer: {{bytes: 1000000}}}}
flows: [{flows}]
{rest}"
    );
    Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

pub fn network(scenario: &Scenario, seed: u64) -> World {
    let options = WorldOptions {
        seed,
        host_mode: HostMode::Simulated,
        captures: None,
        frame_records: false,
    };
    configured(World::new(scenario, options))
}

/// With a program and routes in every router.
pub fn configured(mut network: World) -> World {
    for device in network.devices().collect::<Vec<_>>() {
        configure(&mut network, device);
    }
    network
}

pub fn configure(network: &mut World, device: Device) {
    let Device::Router(router) = device else {
        panic!("there are routers only")
    };
    configure_router(network, router);
}
