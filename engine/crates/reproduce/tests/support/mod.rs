// SPDX-License-Identifier: Apache-2.0
//! Networks of routers without a controller: their tables are written directly, once, and XCP's capacities when they are due.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use slotwise_kinds::{self as kinds, HostMode, Invariant, World, WorldOptions};
use slotwise_observe::Recording;
use slotwise_observe::recorders::routed::RoutedRecorder;
use slotwise_p4::{ActionCall, Bits, KeyField, Program, TableEntry};
use slotwise_reproduce::setup::{Network, Runner, RunnerError};
use slotwise_scenario::{Changed, Device, MacAddress, Scenario};
use slotwise_units::{Instant, Rate};

const NS_PER_MS: u64 = 1_000_000;
const ROUTES: &str = "RouterIngress.ipv4_route";
const CAPACITIES: &str = "RouterIngress.xcp_output";

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Runs networks of routers of `router.p4`.
pub struct Direct {
    program: Arc<Program>,
}

impl Direct {
    pub fn new() -> Direct {
        let json = std::fs::read(repository().join("p4src/p4c-out/router.json")).unwrap();
        let program = Arc::new(Program::from_json(&json).unwrap());
        Direct { program }
    }

    /// What was measured, and passes of packets and ticks through P4.
    pub fn measure(&self, scenario: &Scenario, seed: u64, progress: &mut dyn FnMut(u64)) -> (Recording, u64) {
        let options = WorldOptions {
            seed,
            host_mode: HostMode::Simulated,
            captures: None,
            frame_records: false,
        };
        let mut fabric = World::new(scenario, options);
        for router in 0..scenario.routed.routers.len() {
            self.configure(&mut fabric, scenario, router);
        }
        let mut capacities = scenario
            .timeline()
            .into_iter()
            .filter_map(|(at_ms, change)| match change {
                Changed::Link { link, xcp, .. } => Some((at_ms * NS_PER_MS, link, xcp?.bps())),
                Changed::Hosts { .. } | Changed::Span { .. } => None,
            })
            .peekable();
        let mut recorder = RoutedRecorder::new(scenario, &fabric);
        while let Some(at_ns) = recorder.next().map(Instant::ns) {
            while let Some((due_ns, link, xcp_bps)) = capacities.next_if(|(due_ns, ..)| *due_ns <= at_ns) {
                fabric.run_until(Instant::from_ns(due_ns));
                set_capacity(&mut fabric, link, xcp_bps);
            }
            fabric.run_until(Instant::from_ns(at_ns));
            recorder.sample(&mut fabric);
            progress(at_ns / NS_PER_MS);
        }
        assert_eq!(recorder.wrong(), None);
        assert_eq!(fabric.invariants().count(Invariant::ASTRAY), 0);
        (recorder.finish(), fabric.p4_passes())
    }

    fn configure(&self, fabric: &mut World, scenario: &Scenario, router: usize) {
        let device = Device::Router(router as u16);
        let ports = fabric.of_kind::<kinds::Routed>().unwrap().ports(device).to_vec();
        let (mac, device) = (mac_number(device.mac()), device.id());
        fabric.set_pipeline(device, self.program.clone()).unwrap();
        let pipeline = fabric.pipeline_mut(device).unwrap();
        let params = call("RouterIngress.set_router_params", &[mac]);
        pipeline
            .table_set_default("RouterIngress.router_params", Some(params))
            .unwrap();
        for port in &ports {
            for host in &port.hosts {
                let route = TableEntry {
                    key: vec![KeyField::Lpm {
                        value: host.octets().to_vec(),
                        prefix_len: 32,
                    }],
                    priority: 0,
                    action: call("RouterIngress.to_port", &[port.port.into(), mac_number(port.next_mac)]),
                };
                pipeline.table_insert(ROUTES, route).unwrap();
            }
            if let Some(xcp_bps) = port
                .link
                .and_then(|link| scenario.routed.links[link].xcp.map(Rate::bps))
            {
                pipeline.table_insert(CAPACITIES, capacity(port.port, xcp_bps)).unwrap();
            }
        }
    }
}

impl Runner for Direct {
    fn run(&self, network: &Network, seed: u64, progress: &mut dyn FnMut(u64)) -> Result<Recording, RunnerError> {
        Ok(self.measure(&network.scenario, seed, progress).0)
    }

    fn inputs(&self, _: &Scenario) -> Result<Vec<u8>, RunnerError> {
        Ok(b"router.p4".to_vec())
    }
}

fn set_capacity(fabric: &mut World, link: usize, xcp_bps: u64) {
    let (router, port) = fabric
        .of_kind::<kinds::Routed>()
        .unwrap()
        .port_of(link)
        .expect("an edge's outputs have no capacity of their own");
    let pipeline = fabric.pipeline_mut(router.id()).unwrap();
    pipeline.table_modify(CAPACITIES, capacity(port, xcp_bps)).unwrap();
}

/// In 1/16 byte/s, and IP bytes: nothing is added to a packet.
fn capacity(port: u16, xcp_bps: u64) -> TableEntry {
    TableEntry {
        key: vec![KeyField::Exact(bits(port.into()))],
        priority: 0,
        action: call("RouterIngress.fixed_capacity", &[xcp_bps * 2, 0]),
    }
}

fn bits(value: u64) -> Bits {
    value.to_be_bytes().to_vec()
}

fn call(name: &str, args: &[u64]) -> ActionCall {
    ActionCall {
        name: name.to_owned(),
        args: args.iter().copied().map(bits).collect(),
    }
}

fn mac_number(mac: MacAddress) -> u64 {
    mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
