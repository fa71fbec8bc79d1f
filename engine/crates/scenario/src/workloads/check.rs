// SPDX-License-Identifier: Apache-2.0
//! Checks of workloads against the network.

use std::collections::BTreeSet;

use super::{FlowTransport, WORKLOADS, Workload};
use crate::address::Device;
use crate::model::{Scenario, Transport};
use crate::paths::Paths;
use crate::reader::Reader;

pub(crate) fn check(scenario: &Scenario, r: &mut Reader) {
    let mut names = BTreeSet::new();
    let mut paths = None;
    for (index, workload) in scenario.workloads.iter().enumerate() {
        let place = format!("/{WORKLOADS}/{index}");
        if !names.insert(&workload.name) {
            r.report(
                format!("{place}/name"),
                format!("duplicate name '{}'", workload.name),
                "a unique name",
            );
        }
        packets(scenario, workload, &place, r);
        times(scenario, workload, &place, r);
        let xcp = FlowTransport::Stream(Transport::Xcp);
        if scenario.ops.is_some() && workload.transports().any(|transport| transport == xcp) {
            r.report(
                format!("{place}/transport"),
                "optical packet switches have no XCP",
                "another transport",
            );
        }
        let paths = paths.get_or_insert_with(|| Paths::of(scenario));
        reachable(workload, paths, &place, r);
    }
}

fn packets(scenario: &Scenario, workload: &Workload, place: &str, r: &mut Reader) {
    let of_star = scenario.has_star().then_some(scenario.hosts.mtu);
    let of_groups = scenario.has_groups().then_some(scenario.routed.packet_bytes);
    let most = of_star.into_iter().chain(of_groups).min().unwrap_or(u32::MAX);
    if workload.packet_bytes > most {
        let reason = format!("{} bytes exceed the largest packet", workload.packet_bytes);
        r.report(format!("{place}/packet_bytes"), reason, format!("at most {most}"));
    }
}

fn times(scenario: &Scenario, workload: &Workload, place: &str, r: &mut Reader) {
    let start_ns = workload.start.ns();
    let run_ns = scenario.duration_ms().saturating_mul(1_000_000);
    if start_ns >= run_ns {
        let reason = format!("{} is after the end of the run", workload.start);
        r.report(format!("{place}/start_ns"), reason, format!("less than {run_ns}"));
    }
    if workload.stop.is_some_and(|stop| stop <= workload.start) {
        r.report(
            format!("{place}/stop_ns"),
            "a stop before the start",
            format!("more than {start_ns}"),
        );
    }
}

/// Checks that every two nodes with hosts of a workload have a path.
fn reachable(workload: &Workload, paths: &mut Paths, place: &str, r: &mut Reader) {
    let nodes: BTreeSet<Device> = workload.hosts.iter().map(|host| paths.node_of(*host)).collect();
    let Some(&first) = nodes.first() else { return };
    for &other in &nodes {
        for (here, there) in [(first, other), (other, first)] {
            if !paths.leads(here, there) {
                let reason = format!("no path from {here} to {there}");
                r.report(format!("{place}/from"), reason, "hosts with paths between them");
                return;
            }
        }
    }
}
