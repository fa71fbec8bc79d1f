// SPDX-License-Identifier: Apache-2.0
//! What the tests of this crate share.

use std::net::Ipv4Addr;
use std::sync::Arc;

use slotwise_p4::{Executor, Limits, Memory, PipelineConfig, TimestampUnit};

use crate::programs::Programs;
use crate::proto::p4::v1::ForwardingPipelineConfig;
use crate::{DeviceConfig, DeviceHub, InitialProgram, Server, ServerConfig, parse_p4info};

pub(crate) const ENTITIES_JSON: &[u8] = include_bytes!("../tests/programs/entities.json");
pub(crate) const ENTITIES_P4INFO: &[u8] = include_bytes!("../tests/programs/entities.p4info.txtpb");

pub(crate) fn pipeline_config() -> PipelineConfig {
    PipelineConfig {
        cpu_port: 510,
        drop_port: 511,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: 1,
        executor: Executor::default(),
    }
}

/// Programs with the default limits, of this memory.
pub(crate) fn programs(memory: &Memory) -> Programs {
    Programs::within(Limits::default(), memory.clone())
}

pub(crate) fn entities() -> ForwardingPipelineConfig {
    ForwardingPipelineConfig {
        p4info: Some(parse_p4info(ENTITIES_P4INFO, false).unwrap()),
        p4_device_config: ENTITIES_JSON.to_vec(),
        cookie: None,
    }
}

/// A server with device 1, whose owner does nothing: whatever it is asked for is waited for.
pub(crate) fn unserved() -> (Server, DeviceHub) {
    start(false)
}

/// The same in lock step, where the server does nothing by itself either.
pub(crate) fn unserved_in_lock_step() -> (Server, DeviceHub) {
    start(true)
}

fn start(lock_step: bool) -> (Server, DeviceHub) {
    let program = InitialProgram {
        p4info: parse_p4info(ENTITIES_P4INFO, false).unwrap(),
        json: ENTITIES_JSON.to_vec(),
    };
    let device = DeviceConfig {
        device_id: 1,
        pipeline: pipeline_config(),
        tells_ports: false,
        program: Some(program),
    };
    let config = ServerConfig {
        lock_step,
        ..ServerConfig::new((Ipv4Addr::LOCALHOST, 0).into(), vec![device])
    };
    Server::start(config, Arc::new(|| {})).unwrap()
}
