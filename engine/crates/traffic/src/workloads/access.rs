// SPDX-License-Identifier: Apache-2.0
//! Workloads of the traffic of a network, for its owner.

use slotwise_units::{Bytes, Instant};
use slotwise_workload::CoflowId;

use super::{FlowProgress, WorkloadUse};
use crate::Traffic;

impl Traffic {
    /// Sets the time at which the first bit of the last frame of [`Traffic::transmit`] leaves its host.
    pub fn leaves(&mut self, at: Instant) {
        self.workloads.leaves(at);
    }

    /// Flows of workloads that ended since the last call.
    pub fn take_ended(&mut self) -> Vec<FlowProgress> {
        self.workloads.take_ended()
    }

    /// Flows of workloads that have started and not ended.
    pub fn in_progress(&self) -> Vec<FlowProgress> {
        self.workloads.in_progress()
    }

    /// Number of ends of workloads' flows at all hosts.
    pub fn flow_ends(&self) -> usize {
        self.workloads.ends()
    }

    /// Received bytes that differ from the sent ones, of ended flows of workloads.
    pub fn wrong_bytes_of_workloads(&self) -> Bytes {
        self.workloads.wrong()
    }

    /// Workloads and coflows with flows that could not start because all ports between their hosts were in use.
    pub fn refused_coflows(&self) -> impl Iterator<Item = (usize, CoflowId)> + '_ {
        self.workloads.refused_coflows().iter().copied()
    }

    /// Number of flows of each workload so far.
    pub fn workload_uses(&self) -> &[WorkloadUse] {
        self.workloads.uses()
    }
}
