// SPDX-License-Identifier: Apache-2.0
//! One run: a scenario in virtual time, measured.

use std::sync::Arc;

use slotwise_fabric::{Fabric, FabricOptions, FifoUse, FlowUse, HostMode, Invariant};
use slotwise_p4::Program;
use slotwise_scenario::RoutedScenario;

use crate::record::{Recording, mean};
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
    scenario: &RoutedScenario,
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
    let mut network = Fabric::routed(scenario, options);
    router::configure(&mut network, scenario, program)?;
    let names: Vec<String> = network.routed_flows().iter().map(|flow| flow.name.clone()).collect();
    let mut recording = Recording::default();
    // Mean and longest of each flow, kept while nothing arrives.
    let mut delays_ms = vec![(0.0, 0.0); names.len()];
    let mut at_ms = 0;
    while at_ms < scenario.duration_ms {
        let period_ms = scenario.sample_ms.min(scenario.duration_ms - at_ms);
        at_ms += period_ms;
        while network.run_until_control(at_ms * NS_PER_MS) {
            // Nobody listens to what routers have for a controller.
            while network.poll_control().is_some() {}
            for (device, port, xcp_bps) in network.take_capacity_changes() {
                if let Some(pipeline) = network.pipeline_mut(device.id()) {
                    router::set_capacity(pipeline, device, port, xcp_bps)?;
                }
            }
        }
        let period = Period {
            end_s: at_ms as f64 / 1e3,
            seconds: period_ms as f64 / 1e3,
        };
        for (index, link) in scenario.links.iter().enumerate() {
            let row = link_row(&period, &network.take_link_use(index), link.rate_bps);
            recording.links.push(&link.name, row);
        }
        for (index, name) in names.iter().enumerate() {
            let used = network.take_flow_use(index);
            if used.wrong_bytes > 0 {
                return Err(RunError::WrongBytes {
                    flow: name.clone(),
                    bytes: used.wrong_bytes,
                });
            }
            if used.packets > 0 {
                let mean_ms = used.delay_sum_ns as f64 / 1e6 / used.packets as f64;
                delays_ms[index] = (mean_ms, used.delay_max_ns as f64 / 1e6);
            }
            let row = flow_row(&period, &used, scenario.packet_bytes, delays_ms[index]);
            recording.flows.push(name, row);
        }
        progress(at_ms);
    }
    match network.invariants().count(Invariant::Astray) {
        0 => Ok((
            recording,
            RunSummary {
                simulated_ms: scenario.duration_ms,
                hops: network.p4_passes(),
            },
        )),
        strays => Err(RunError::Strays(strays)),
    }
}

struct Period {
    end_s: f64,
    seconds: f64,
}

/// In the order of [`crate::record::LINK_COLUMNS`].
fn link_row(period: &Period, used: &FifoUse, first_rate_bps: u64) -> [f64; 10] {
    let sent_bits = used.sent_bytes as f64 * 8.0;
    let taken = used.arrived_packets - used.dropped_packets;
    [
        period.end_s,
        sent_bits * 1e9 / used.capacity_bit_ns as f64,
        sent_bits / period.seconds / first_rate_bps as f64,
        used.queue_packets as f64,
        used.queue_bytes as f64,
        used.waited_ns as f64 / 1e9 / period.seconds,
        used.most_packets as f64,
        mean(used.waited_ns as f64 / 1e6, taken),
        used.arrived_packets as f64,
        used.dropped_packets as f64,
    ]
}

/// In the order of [`crate::record::FLOW_COLUMNS`].
fn flow_row(period: &Period, used: &FlowUse, packet_bytes: u32, (delay_ms, longest_ms): (f64, f64)) -> [f64; 9] {
    let window_packets = mean(used.window_bytes as f64, used.mss_bytes);
    [
        period.end_s,
        window_packets,
        used.srtt_ns as f64 / 1e6,
        // byte/ns = 1e6 kbyte/s.
        mean(window_packets * f64::from(packet_bytes) * 1e6, used.srtt_ns),
        used.delivered_bytes as f64 * 8.0 / 1e3 / period.seconds,
        delay_ms,
        longest_ms,
        used.retransmissions as f64,
        used.timeouts as f64,
    ]
}
