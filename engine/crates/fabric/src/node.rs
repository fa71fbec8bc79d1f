// SPDX-License-Identifier: Apache-2.0
//! A P4 switch in the fabric: its pipeline and what came out of it.

use std::ops::Range;

use slotwise_p4::{Bits, Executor, Output, PipelineConfig, Port, TimestampUnit};
use slotwise_scenario::Device;
use slotwise_wire::{PORT_CPU, PORT_DROP};

use crate::random;

/// What one pass of a pipeline put out. Its memory is used again.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    packets: Vec<(Port, Range<usize>)>,
    pub(crate) digests: Vec<(String, Vec<Bits>)>,
}

impl Outbox {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
        self.digests.clear();
    }

    pub(crate) fn packets(&self) -> impl ExactSizeIterator<Item = (Port, &[u8])> {
        self.packets
            .iter()
            .map(|(port, range)| (*port, &self.bytes[range.clone()]))
    }
}

impl Output for Outbox {
    fn packet(&mut self, port: Port, frame: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.packets.push((port, start..self.bytes.len()));
    }

    fn digest(&mut self, name: &str, fields: &[Bits]) {
        self.digests.push((name.to_owned(), fields.to_vec()));
    }
}

/// What a device's pipelines are made with; their unit of time is the nanosecond.
pub(crate) fn pipeline_config(device: Device, seed: u64) -> PipelineConfig {
    PipelineConfig {
        cpu_port: PORT_CPU,
        drop_port: PORT_DROP,
        timestamp_unit: TimestampUnit::Nanoseconds,
        seed: random::derived_seed(seed, random::Stream::Pipeline, device.id()),
        executor: Executor::default(),
    }
}
