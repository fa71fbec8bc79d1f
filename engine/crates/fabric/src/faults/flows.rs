// SPDX-License-Identifier: Apache-2.0
//! When a network is well again whose flows tell: each that had delivered something by the end of the fault, and has more to
//! deliver, has delivered more. One whose phase ends has no more to deliver.

use crate::net::event::Event;
use crate::world::Fabric;

/// How often it is looked at.
const LOOK_NS: u64 = 1_000_000;

/// A fault that is over and from which the network has not recovered yet.
pub(super) struct FlowWatch {
    record: usize,
    /// Flows of which more is to come, and the bytes that each had delivered by the end of the fault.
    waited_for: Vec<(usize, u64)>,
}

impl Fabric {
    pub(super) fn watch_flows(&mut self, record: usize) {
        let waited_for = self.traffic.as_ref().map_or_else(Vec::new, |traffic| {
            let flows = traffic.flows_under_way();
            flows.filter(|(_, delivered_bytes)| *delivered_bytes > 0).collect()
        });
        self.faults.flow_watches.push(FlowWatch { record, waited_for });
        if self.faults.flow_watches.len() == 1 {
            self.events.schedule(self.now_ns + LOOK_NS, Event::LookAfterFaults);
        }
    }

    /// Notes which faults the network has recovered from by now.
    pub(crate) fn look_after_flows(&mut self) {
        let mut watches = std::mem::take(&mut self.faults.flow_watches);
        if let Some(traffic) = &self.traffic {
            for FlowWatch { waited_for, .. } in &mut watches {
                waited_for.retain(|(flow, bytes)| traffic.is_waited_for(*flow, *bytes));
            }
        }
        let (well, ill): (Vec<FlowWatch>, Vec<FlowWatch>) =
            watches.into_iter().partition(|watch| watch.waited_for.is_empty());
        for watch in well {
            self.faults.records[watch.record].recovered_ns = Some(self.now_ns);
        }
        self.faults.flow_watches = ill;
        if !self.faults.flow_watches.is_empty() {
            self.events.schedule(self.now_ns + LOOK_NS, Event::LookAfterFaults);
        }
    }
}
