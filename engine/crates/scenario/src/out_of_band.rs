// SPDX-License-Identifier: Apache-2.0
//! What signaling out of band asks of a scenario: beacons go by the controller, so its latency takes the fibre's place.

use slotwise_units::Duration;

use crate::model::{Fibre, Scenario, Signaling};
use crate::reader::Reader;

/// A beacon leaves the master T_d of the master before its frame starts at the core, takes the control latency twice, and
/// must reach a slave while its frame is under way there, but before the first frame for which it is too old.
pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    if scenario.frame.signaling != Signaling::OutOfBand {
        return;
    }
    let way = 2 * scenario.controller.control_latency;
    let hold = u64::from(scenario.controller.beacon_hold_frames) * scenario.frame.length();
    for core in &scenario.cores {
        let Some(of_master) = t_d(scenario, core.master, core.id) else {
            continue;
        };
        for edge in scenario.edges.iter().filter(|edge| edge.id != core.master) {
            let Some(of_slave) = t_d(scenario, edge.id, core.id) else {
                continue;
            };
            if way + of_slave >= hold + of_master {
                let reason = format!(
                    "beacons via the controller arrive at edge {} after they expire",
                    edge.id
                );
                let least = (way + of_slave).saturating_sub(of_master) / scenario.frame.length() + 1;
                let expected = format!("at least {least} frames, or a lower control latency");
                r.report("/controller/beacon_hold_frames".into(), reason, expected);
            }
            if way + of_slave <= of_master {
                let reason = format!(
                    "beacons via the controller arrive at edge {} before their frame",
                    edge.id
                );
                let expected = format!("more than {}", ((of_master - of_slave) / 2).ns());
                r.report("/controller/control_latency_ns".into(), reason, expected);
            }
        }
    }
}

fn t_d(scenario: &Scenario, edge: u16, core: u16) -> Option<Duration> {
    let fibres = &scenario.edges.get(usize::from(edge))?.fibres;
    fibres.iter().find(|fibre| fibre.core == core).map(Fibre::t_d)
}
