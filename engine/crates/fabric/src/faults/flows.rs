// SPDX-License-Identifier: Apache-2.0
//! When a network is well again whose flows tell: each that was moving when the fault began moves again.

use crate::event::Event;
use crate::fabric::Fabric;
use crate::traffic::Traffic;

/// How often it is looked at.
const LOOK_NS: u64 = 1_000_000;

/// A fault that is over and from which the network has not recovered yet.
pub(super) struct FlowWatch {
    record: usize,
    /// Bytes delivered by the end of the fault, by flow that had delivered some.
    delivered_bytes: Vec<(usize, u64)>,
}

impl Fabric {
    pub(super) fn watch_flows(&mut self, record: usize) {
        let delivered = self.traffic.iter().flat_map(Traffic::delivered_bytes);
        let delivered_bytes = delivered.enumerate().filter(|(_, bytes)| *bytes > 0).collect();
        self.faults.flow_watches.push(FlowWatch {
            record,
            delivered_bytes,
        });
        if self.faults.flow_watches.len() == 1 {
            self.events.schedule(self.now_ns + LOOK_NS, Event::LookAfterFaults);
        }
    }

    /// Notes which faults the network has recovered from by now.
    pub(crate) fn look_after_flows(&mut self) {
        let now: Vec<u64> = self.traffic.iter().flat_map(Traffic::delivered_bytes).collect();
        let (well, ill): (Vec<FlowWatch>, Vec<FlowWatch>) = std::mem::take(&mut self.faults.flow_watches)
            .into_iter()
            .partition(|watch| watch.delivered_bytes.iter().all(|(flow, bytes)| now[*flow] > *bytes));
        for watch in well {
            self.faults.records[watch.record].recovered_ns = Some(self.now_ns);
        }
        self.faults.flow_watches = ill;
        if !self.faults.flow_watches.is_empty() {
            self.events.schedule(self.now_ns + LOOK_NS, Event::LookAfterFaults);
        }
    }
}
