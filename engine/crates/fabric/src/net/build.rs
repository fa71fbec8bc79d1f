// SPDX-License-Identifier: Apache-2.0
//! From a scenario to its network. Only the folder of a kind of networks reads what a scenario says of it.

use slotwise_cards::aggregation::{Intervals, TrainTimer};
use slotwise_scenario::{self as scenario, Scenario};

use crate::api::{FabricOptions, HostMode};
use crate::faults::Faults;
use crate::invariants::{Invariant, Invariants};
use crate::net::kind::{KINDS, Plan};
use crate::traffic::Traffic;
use crate::world::Fabric;

pub(crate) const NS_PER_MS: u64 = 1_000_000;

impl Fabric {
    /// The network of a scenario at time 0, with no program in any device. Simulated hosts and changes of links start at
    /// [`Scenario::epoch_ns`]; with external hosts the changes wait for [`Fabric::schedule_link_changes`].
    pub fn new(scenario: &Scenario, options: FabricOptions) -> Fabric {
        let (seed, host_mode) = (options.seed, options.host_mode);
        let plan = Plan {
            scenario,
            frame_records: options.frame_records,
        };
        let mut fabric = Fabric::bare(options);
        let kinds = || KINDS.iter().filter(|kind| (kind.is_in)(scenario));
        let of_trains = scenario.aggregation.iter().map(|_| Invariant::SPLIT);
        let checks = kinds().flat_map(|kind| kind.checks.iter().copied());
        fabric.invariants = Invariants::of(checks.chain(of_trains));
        for kind in kinds() {
            (kind.build)(&mut fabric, &plan);
        }
        let changes = fabric.changes_of_groups(scenario);
        fabric.changes.extend(changes);
        fabric.faults = Faults::of(scenario, &fabric.spans, seed);
        fabric.set_traffic(Traffic::new(scenario, seed, host_mode));
        if host_mode == HostMode::Simulated {
            fabric.schedule_link_changes(scenario.epoch().ns());
            fabric.faults.schedule(&mut fabric.events);
        }
        fabric
    }
}

/// Intervals of an edge's bursts.
pub(crate) fn intervals(aggregation: &scenario::Aggregation, seed: u64, edge: u16) -> Intervals {
    let timer = match aggregation.timer {
        scenario::TrainTimer::Periodic => TrainTimer::Periodic,
        scenario::TrainTimer::FirstPacket => TrainTimer::FirstPacket,
    };
    Intervals {
        interval: aggregation.interval,
        timer,
        dither: aggregation.dither,
        seed,
        edge,
    }
}
