// SPDX-License-Identifier: Apache-2.0
//! A static controller of `router.p4`: routes, and what XCP is to reckon with.

use std::sync::Arc;

use slotwise_fabric::Fabric;
use slotwise_p4::{ActionCall, Bits, ConfigError, KeyField, Pipeline, Port, Program, TableEntry};
use slotwise_scenario::{Device, Scenario};

/// XCP counts IP bytes here: a routed link's rate does.
const OVERHEAD_BYTES: u64 = 0;

/// A table of the router's program does not take what it must.
#[derive(Debug, thiserror::Error)]
#[error("router '{router}', {table}: {source}; expected the tables of p4src/router.p4")]
pub struct RouterError {
    router: String,
    table: &'static str,
    source: ConfigError,
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

/// Starts `program` in every router and writes its tables.
///
/// # Errors
/// When the program is not `router.p4`.
pub fn configure(network: &mut Fabric, scenario: &Scenario, program: &Arc<Program>) -> Result<(), RouterError> {
    (0..scenario.routed.routers.len()).try_for_each(|router| configure_one(network, scenario, router, program))
}

/// The same for one router, by its place in the file.
pub(crate) fn configure_one(
    network: &mut Fabric,
    scenario: &Scenario,
    router: usize,
    program: &Arc<Program>,
) -> Result<(), RouterError> {
    let ports = network.router_ports(router).to_vec();
    let mac = network.device_mac(Device::Router(router as u16));
    let pipeline = start(network, router, program);
    let error = |table| {
        move |source| RouterError {
            router: scenario.routed.routers[router].clone(),
            table,
            source,
        }
    };
    pipeline
        .table_set_default(
            "RouterIngress.router_params",
            Some(call("RouterIngress.set_router_params", &[mac])),
        )
        .map_err(error("router_params"))?;
    for port in &ports {
        for host in &port.hosts {
            let entry = TableEntry {
                key: vec![KeyField::Lpm {
                    value: host.octets().to_vec(),
                    prefix_len: 32,
                }],
                priority: 0,
                action: call("RouterIngress.to_port", &[port.port.into(), port.next_mac]),
            };
            pipeline
                .table_insert("RouterIngress.ipv4_route", entry)
                .map_err(error("ipv4_route"))?;
        }
        if let Some(xcp_bps) = port.link.and_then(|link| scenario.routed.links[link].xcp_bps) {
            let entry = capacity(port.port, xcp_bps);
            pipeline
                .table_insert("RouterIngress.xcp_output", entry)
                .map_err(error("xcp_output"))?;
        }
    }
    Ok(())
}

/// Starts a program in a router; its pipeline.
fn start<'a>(network: &'a mut Fabric, router: usize, program: &Arc<Program>) -> &'a mut Pipeline {
    let device_id = Device::Router(router as u16).id();
    let started = network.set_pipeline(device_id, program.clone());
    started.expect("the network is of this scenario");
    network.pipeline_mut(device_id).expect("it has just been started")
}

/// Tells XCP a new capacity of an output; one that has no controller is left alone.
///
/// # Errors
/// When the program is not `router.p4`.
pub(crate) fn set_capacity(network: &mut Fabric, device_id: u64, port: Port, xcp_bps: u64) -> Result<(), RouterError> {
    let Some(pipeline) = network.pipeline_mut(device_id) else {
        return Ok(());
    };
    match pipeline.table_modify("RouterIngress.xcp_output", capacity(port, xcp_bps)) {
        Ok(()) | Err(ConfigError::NotFound(_)) => Ok(()),
        Err(source) => Err(RouterError {
            router: Device::from_id(device_id).map_or_else(|| device_id.to_string(), |device| device.to_string()),
            table: "xcp_output",
            source,
        }),
    }
}

fn capacity(port: Port, xcp_bps: u64) -> TableEntry {
    // In 1/16 byte/s.
    let throughput = xcp_bps * 2;
    TableEntry {
        key: vec![KeyField::Exact(bits(port.into()))],
        priority: 0,
        action: call("RouterIngress.fixed_capacity", &[throughput, OVERHEAD_BYTES]),
    }
}
