// SPDX-License-Identifier: Apache-2.0
//! Slots of a star that the controller's application `lambda` reserves for sessions.

use std::collections::BTreeSet;

use slotwise_units::{Bytes, Rate};
use slotwise_wire::limits::RATE_BPS;

use crate::model::Scenario;
use crate::reader::Reader;

impl Scenario {
    /// Whether sessions may have slots of its star.
    pub fn reserves_slots(&self) -> bool {
        self.controller.lambda && self.has_star() && self.routed.routers.is_empty()
    }

    /// Bits of IP that one slot of each frame carries in a second in packets of full size, over the slowest fibre.
    pub fn slot_rate(&self) -> Rate {
        let fibres = self.edges.iter().flat_map(|edge| &edge.fibres);
        let payload = fibres.map(|fibre| self.slot_payload(fibre)).min();
        Rate::of(payload.unwrap_or(Bytes::ZERO), self.frame.length())
    }
}

/// A schedule is reserved of one star, whose edges each have a port of its core, and nodes have rates as access links have.
pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    if !scenario.reserves_slots() {
        return;
    }
    let ports: BTreeSet<u16> = scenario
        .edges
        .iter()
        .flat_map(|edge| &edge.fibres)
        .map(|fibre| fibre.port)
        .collect();
    let node_bps = u64::from(scenario.data_slots()).saturating_mul(scenario.slot_rate().bps());
    let mut refuse = |reason: String, expected: String| r.report("/controller/lambda".into(), reason, expected);
    if scenario.cores.len() > 1 {
        let reason = format!("slot reservation supports a single core, got {}", scenario.cores.len());
        refuse(reason, "one core".into());
    } else if ports.len() < scenario.edges.len() {
        refuse(
            "edges share core ports".into(),
            "a separate core port for each edge".into(),
        );
    } else if !RATE_BPS.contains(&node_bps) {
        let reason = format!("the data slots of an edge carry {node_bps} bit/s");
        refuse(reason, format!("{} to {}", RATE_BPS.start(), RATE_BPS.end()));
    }
}
