// SPDX-License-Identifier: Apache-2.0
//! Whether cores, masters and fibres make stars.

use std::collections::{BTreeMap, BTreeSet};

use slotwise_wire::SIGNALING_QUEUE;

use crate::address::HostId;
use crate::model::Scenario;
use crate::reader::Reader;

pub(super) fn stars(scenario: &Scenario, r: &mut Reader) {
    masters(scenario, r);
    let voqs = scenario.cores.len() * scenario.edges.len();
    if voqs > usize::from(SIGNALING_QUEUE) {
        let reason = format!("{voqs} queues per edge (cores times edges)");
        r.report("/cores".into(), reason, format!("at most {SIGNALING_QUEUE}"));
    }
    fibres(scenario, r);
}

fn fibres(scenario: &Scenario, r: &mut Reader) {
    for (e, edge) in scenario.edges.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for (f, fibre) in edge.fibres.iter().enumerate() {
            let place = format!("/edges/{e}/fibres/{f}");
            let Some(core) = scenario.cores.get(usize::from(fibre.core)) else {
                let last = scenario.cores.len() - 1;
                let reason = format!("unknown core {}", fibre.core);
                r.report(format!("{place}/core"), reason, format!("a core from 0 to {last}"));
                continue;
            };
            if !seen.insert(fibre.core) {
                let reason = format!("duplicate fibre to core {}", fibre.core);
                r.report(format!("{place}/core"), reason, "one fibre to each core");
            }
            // In a signaling slot the master and a slave send at once.
            let master = scenario.edges.get(usize::from(core.master));
            let is_shared = master
                .filter(|master| master.id != edge.id)
                .and_then(|master| master.fibre_to(fibre.core))
                .is_some_and(|of_master| of_master.port == fibre.port);
            if is_shared {
                let reason = format!("port {} of core {} is reserved for its master", fibre.port, fibre.core);
                r.report(format!("{place}/port"), reason, "another port");
            }
        }
    }
}

fn masters(scenario: &Scenario, r: &mut Reader) {
    let mut cores_of = BTreeMap::new();
    for (c, core) in scenario.cores.iter().enumerate() {
        let place = format!("/cores/{c}/master");
        let master = scenario.edges.get(usize::from(core.master));
        if let Some(other) = cores_of.insert(core.master, core.id) {
            let reason = format!("edge {} is already the master of core {other}", core.master);
            r.report(place, reason, "a different master for each core");
        } else if master.is_none_or(|edge| edge.fibre_to(core.id).is_none()) {
            let reason = format!("edge {} has no fibre to core {}", core.master, core.id);
            r.report(place, reason, "an edge with a fibre to the core");
        }
    }
}

/// Every two edges that a traffic entry joins have a core in common.
pub(super) fn common_cores(scenario: &Scenario, pairs: &[(HostId, HostId)], place: &str, r: &mut Reader) {
    let pairs: BTreeSet<(u16, u16)> = pairs.iter().map(|(from, to)| (from.edge, to.edge)).collect();
    let apart = pairs
        .into_iter()
        .find(|(from, to)| scenario.common_cores(*from, *to).is_empty());
    if let Some((from, to)) = apart {
        let reason = format!("edges {from} and {to} have no core in common");
        r.report(format!("{place}/to"), reason, "edges with fibres to a common core");
    }
}
