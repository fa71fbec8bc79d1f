// SPDX-License-Identifier: Apache-2.0
//! One run: a scenario in virtual time, measured.

use std::sync::Arc;

use slotwise_fabric::{ControlMessage, Fabric, FabricOptions, HostMode, Invariant};
use slotwise_p4::Program;
use slotwise_scenario::{Device, Scenario};

use crate::record::Recording;
use crate::routed::RoutedRecorder;
use crate::router::{self, RouterError};

const NS_PER_MS: u64 = 1_000_000;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program's tables.
    #[error(transparent)]
    Router(#[from] RouterError),
    /// A packet went astray: a mistake of the engine.
    #[error("{0} packets went astray or arrived where they are not for")]
    Strays(u64),
    /// A star.
    #[error("{0}")]
    Star(Box<dyn std::error::Error + Send + Sync>),
    /// A byte arrived wrong: a mistake of the engine.
    #[error("flow {flow}: {bytes} bytes arrived that are not what was sent")]
    WrongBytes {
        /// The flow.
        flow: String,
        /// How many.
        bytes: u64,
    },
}

/// What a run did in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSummary {
    /// Simulated time.
    pub simulated_ms: u64,
    /// Passes of packets and ticks through P4.
    pub hops: u64,
}

/// Runs `scenario` with `seed` and measures each `sample_ms`; `progress` hears of the simulated time, in ms.
///
/// # Errors
/// When the program is not `router.p4`, or what must not happen happened.
pub fn run(
    scenario: &Scenario,
    program: &Arc<Program>,
    seed: u64,
    mut progress: impl FnMut(u64),
) -> Result<(Recording, RunSummary), RunError> {
    let options = FabricOptions {
        seed,
        host_mode: HostMode::Simulated,
        captures: None,
        frame_records: false,
    };
    let mut network = Fabric::new(scenario, options);
    router::configure(&mut network, scenario, program)?;
    let mut recorder = RoutedRecorder::new(scenario, &network);
    while let Some(at_ns) = recorder.next_ns() {
        while network.run_until_control(at_ns) {
            // Nobody listens to what routers have for a controller but this.
            while let Some(event) = network.poll_control() {
                match (event.message, Device::from_id(event.device_id)) {
                    (ControlMessage::Capacity { port, xcp_bps }, _) => {
                        router::set_capacity(&mut network, event.device_id, port, xcp_bps)?;
                    }
                    (ControlMessage::Device { is_up: true }, Some(Device::Router(router))) => {
                        router::configure_one(&mut network, scenario, router.into(), program)?;
                    }
                    _ => {}
                }
            }
        }
        recorder.sample(&mut network);
        progress(at_ns / NS_PER_MS);
    }
    if let Some((flow, bytes)) = recorder.wrong_bytes() {
        let flow = flow.to_owned();
        return Err(RunError::WrongBytes { flow, bytes });
    }
    match network.invariants().count(Invariant::Astray) {
        0 => Ok((
            recorder.finish(),
            RunSummary {
                simulated_ms: scenario.duration_ms(),
                hops: network.p4_passes(),
            },
        )),
        strays => Err(RunError::Strays(strays)),
    }
}
