// SPDX-License-Identifier: Apache-2.0
//! When a network is well again whose flows tell: each that had delivered something by the end of the fault, and has more to
//! deliver, has delivered more. One whose phase ends has no more to deliver.

use crate::world::World;
use slotwise_net::event::{By, Event};
use slotwise_units::Duration;

/// How often it is looked at.
const LOOK: Duration = Duration::from_ms(1);

/// A fault that is over and from which the network has not recovered yet.
pub(crate) struct FlowWatch {
    fault: usize,
    /// Flows of which more is to come, and the bytes that each had delivered by the end of the fault.
    waited_for: Vec<(usize, u64)>,
}

impl World {
    pub(super) fn watch_flows(&mut self, fault: usize) {
        let waited_for = self.hosts.traffic.as_ref().map_or_else(Vec::new, |traffic| {
            let flows = traffic.flows_under_way();
            flows.filter(|(_, delivered_bytes)| *delivered_bytes > 0).collect()
        });
        self.flow_watches.push(FlowWatch { fault, waited_for });
        if self.flow_watches.len() == 1 {
            self.look_again();
        }
    }

    /// Notes which faults the network has recovered from by now.
    pub(crate) fn look_after_flows(&mut self) {
        let mut watches = std::mem::take(&mut self.flow_watches);
        if let Some(traffic) = &self.hosts.traffic {
            for FlowWatch { waited_for, .. } in &mut watches {
                waited_for.retain(|(flow, bytes)| traffic.is_waited_for(*flow, *bytes));
            }
        }
        let (well, ill): (Vec<FlowWatch>, Vec<FlowWatch>) =
            watches.into_iter().partition(|watch| watch.waited_for.is_empty());
        for watch in well {
            self.net.journal.faults[watch.fault].recovered = Some(self.now());
        }
        self.flow_watches = ill;
        if !self.flow_watches.is_empty() {
            self.look_again();
        }
    }

    fn look_again(&mut self) {
        let at = self.net.now() + LOOK;
        self.net.schedule(By::WORLD, at, Event::LookAfterFaults);
    }
}
