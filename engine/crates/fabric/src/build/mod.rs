// SPDX-License-Identifier: Apache-2.0
//! From a scenario to its network. Only what is here reads what a scenario says of one kind of nodes.

mod ring;
mod routed;
mod star;

use slotwise_scenario::Scenario;

use crate::api::{FabricOptions, HostMode};
use crate::fabric::{Change, Fabric};
use crate::faults::Faults;
use crate::invariants::{Invariant, Invariants};
use crate::slots::Star;
use crate::traffic::Traffic;
pub(crate) use routed::group_hosts;

const NS_PER_MS: u64 = 1_000_000;

impl Fabric {
    /// The network of a scenario at time 0, with no program in any device. Simulated hosts and changes of links start at
    /// [`Scenario::epoch_ns`]; with external hosts the changes wait for [`Fabric::schedule_link_changes`].
    pub fn new(scenario: &Scenario, options: FabricOptions) -> Fabric {
        let (seed, host_mode) = (options.seed, options.host_mode);
        let star = match scenario.has_star() {
            true => Star::of(scenario, options.frame_records),
            false => Star::none(),
        };
        let mut fabric = Fabric::bare(star, options);
        let checks = [
            (scenario.has_star(), Invariant::OF_STARS),
            (scenario.has_routers(), Invariant::OF_ROUTERS),
            (scenario.has_ring(), Invariant::OF_RINGS),
        ];
        let checked = checks.into_iter().filter(|(is_there, _)| *is_there);
        fabric.invariants = Invariants::of(checked.flat_map(|(_, checks)| checks.iter().copied()));
        let changes = scenario.link_changes.iter();
        fabric.changes = changes
            .map(|change| (change.at_ms * NS_PER_MS, Change::Fibre(*change)))
            .collect();
        if scenario.has_star() {
            fabric.add_star(scenario);
        }
        if scenario.has_routers() {
            fabric.add_routers(scenario);
        }
        if let Some(ring) = &scenario.ring {
            fabric.add_ring(scenario, ring);
        }
        let changes = fabric.changes_of_groups(scenario);
        fabric.changes.extend(changes);
        fabric.faults = Faults::of(scenario, &fabric.spans, seed);
        fabric.set_traffic(Traffic::new(scenario, seed, host_mode));
        if host_mode == HostMode::Simulated {
            fabric.schedule_link_changes(scenario.epoch_ns());
            fabric.faults.schedule(&mut fabric.events);
        }
        fabric
    }
}
