// SPDX-License-Identifier: Apache-2.0
//! Flows of a run with the same demand, for its summary: they should receive the same.

use std::collections::BTreeMap;

use serde_json::json;
use slotwise_scenario::{FlowGroup, Scenario, Source};

use crate::flow::{FlowKind, FlowReport};
use crate::shares::PairShare;

/// Flows that receive this fraction of their demand are satisfied: their rates do not show fairness.
const SATISFIED: f64 = 0.95;

/// Facts of a scenario that a report does not have, for the summary.
#[derive(Debug, Default)]
pub struct About {
    /// The network in a line.
    pub network: String,
    /// Demand of each flow group.
    pub demands: Vec<Demand>,
    /// Pairs of edges that share optical packet switches by macroflows, against max-min rates.
    pub max_min: Vec<PairShare>,
}

/// Demand of a flow group; groups with equal demands are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Number of the demand; equal demands have the same.
    class: usize,
    /// Rate of each flow, bit/s; `None` if it takes all it gets.
    rate_bps: Option<f64>,
    /// True for flows whose sources send a given size, or pages of random sizes: their rates do not show fairness.
    is_limited: bool,
}

impl Demand {
    /// Returns the demand of each flow group of a scenario.
    pub fn all(scenario: &Scenario) -> Vec<Demand> {
        let groups = &scenario.routed.flows;
        let key = |index: usize| {
            let group = &groups[index];
            let times = (group.start_ms, group.spread_ms, group.stop_ms);
            (group.source, group.transport, group.dscp, times)
        };
        let demand = |index: usize| Demand {
            class: (0..index).find(|&earlier| key(earlier) == key(index)).unwrap_or(index),
            rate_bps: match groups[index].source {
                Source::Udp { rate, .. } => Some(rate.bps() as f64),
                _ => None,
            },
            is_limited: matches!(
                groups[index].source,
                Source::Stream { bytes: Some(_) } | Source::Gtp(_) | Source::Web { .. }
            ),
        };
        (0..groups.len()).map(demand).collect()
    }
}

/// Rates of flows with the same demand.
#[derive(Debug, PartialEq)]
pub struct Compared {
    /// Goodput of each, bit/s.
    pub rates_bps: Vec<f64>,
    /// Name of several of them, e.g. `TCP flows`.
    pub kind: String,
}

/// Returns the most flows of a phase with the same demand, if they are at least half of its flows and some are not satisfied.
pub fn compared(flows: &[FlowReport], demands: &[Demand]) -> Option<Compared> {
    let mut classes: BTreeMap<String, (Option<f64>, Vec<&FlowReport>)> = BTreeMap::new();
    for flow in flows {
        let (class, demand_bps) = match flow.is_of_run() {
            true => {
                let demand = demands.get(flow.entry)?;
                if demand.is_limited {
                    continue;
                }
                (demand.class.to_string(), demand.rate_bps)
            }
            false if matches!(flow.kind, FlowKind::File | FlowKind::Web) => continue,
            false => {
                let offered_bps = flow.offered_bps.flatten();
                let transport = flow.transport.as_ref().and_then(Option::as_ref);
                let class = format!("{} {} {}", json!(flow.kind), json!(transport), json!(offered_bps));
                (class, offered_bps.map(|rate| rate.bps() as f64))
            }
        };
        classes.entry(class).or_insert((demand_bps, Vec::new())).1.push(flow);
    }
    let is_satisfied = |(demand_bps, flows): &(Option<f64>, Vec<&FlowReport>)| {
        demand_bps.is_some_and(|demand_bps| flows.iter().all(|flow| flow.goodput_bps >= SATISFIED * demand_bps))
    };
    let classes = classes.into_values().filter(|class| !is_satisfied(class));
    let (_, most) = classes.max_by_key(|(_, flows)| flows.len())?;
    let rates_bps: Vec<f64> = most.iter().map(|flow| flow.goodput_bps).collect();
    let is_compared = most.len() >= 2 && 2 * most.len() >= flows.len();
    let kind = format!("{} flows", most.first()?.kind.name().to_uppercase());
    is_compared.then_some(Compared { rates_bps, kind })
}

/// Returns the network of a scenario in a line.
pub fn network_text(scenario: &Scenario) -> String {
    let mut parts = Vec::new();
    if scenario.has_star() {
        let (edges, cores) = (counted(scenario.edges.len(), "edge"), scenario.cores.len());
        let stars = match cores {
            1 => "star".to_owned(),
            cores => format!("{cores} stars"),
        };
        let (slots, us) = (scenario.frame.slots, scenario.frame.slot.ns() as f64 / 1e3);
        let signaling = match scenario.signaling_slots() {
            0 => String::new(),
            slots => format!(" ({slots} signaling)"),
        };
        parts.push(format!(
            "{stars}: {edges}, {}, {slots} slots of {us} us per frame{signaling}",
            counted(cores, "core")
        ));
    }
    let routed = &scenario.routed;
    let is_gtp = |group: &&FlowGroup| matches!(group.source, Source::Gtp(_));
    let sessions = routed.flows.iter().filter(is_gtp);
    let sessions: usize = sessions.map(|group| scenario.flow_hosts(group).len()).sum();
    if !routed.routers.is_empty() {
        let links = counted(routed.links.len(), "unidirectional link");
        let routers = format!("{}, {links}", counted(routed.routers.len(), "router"));
        parts.push(match sessions {
            0 => routers,
            _ => format!("lambda network: {routers}, {}", counted(sessions, "GTP session")),
        });
    }
    if let Some(ring) = &scenario.ring {
        let open = if ring.half { "open dual ring" } else { "dual ring" };
        let (stations, spans) = (ring.stations.len(), ring.spans().count());
        let rate = rate_text(ring.rate.bps());
        let mode = ring.mode_name();
        parts.push(format!(
            "{open}: {stations} stations, {spans} spans of {rate}, fairness mode {mode}"
        ));
    }
    if let Some(ops) = &scenario.ops {
        let fibres = counted(ops.links.len() + ops.direct.len(), "fibre");
        let wavelengths = counted(usize::from(ops.wavelengths), "wavelength");
        let switches = match ops.switches.len() {
            0 => String::new(),
            switches => format!("{}, ", counted(switches, "switch")),
        };
        let (edges, rate) = (counted(ops.edges.len(), "edge"), rate_text(ops.rate.bps()));
        parts.push(format!(
            "optical packet switching: {switches}{fibres}, {edges}, {wavelengths} of {rate}"
        ));
    }
    if sessions > 0 && routed.routers.is_empty() {
        parts.push(counted(sessions, "GTP session"));
    }
    parts.join("; ")
}

/// A number of things, in the plural if there is not one of them.
fn counted(count: usize, thing: &str) -> String {
    match (count, thing) {
        (1, _) => format!("1 {thing}"),
        (_, "switch") => format!("{count} switches"),
        _ => format!("{count} {thing}s"),
    }
}

fn rate_text(bps: u64) -> String {
    match bps {
        1_000_000_000.. => format!("{} Gb/s", bps as f64 / 1e9),
        _ => format!("{} Mb/s", bps as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use slotwise_units::Rate;

    use super::*;

    fn scenario(text: &str) -> Scenario {
        Scenario::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn each_type_of_network_has_its_line() {
        let line = |text: &str| network_text(&scenario(text));
        for (text, expected) in [
            (
                include_str!("../../../../topologies/star4-twin.yaml"),
                "2 stars: 4 edges, 2 cores, 20 slots of 250 us per frame (4 signaling)",
            ),
            (
                include_str!("../../../../topologies/mixed.yaml"),
                "star: 4 edges, 1 core, 20 slots of 250 us per frame (4 signaling); 3 routers, 6 unidirectional links",
            ),
            (
                include_str!("../../../../topologies/ring24.yaml"),
                "open dual ring: 24 stations, 23 spans of 150 Mb/s, fairness mode explicit",
            ),
            (
                include_str!("../../../../topologies/mesh5.yaml"),
                "optical packet switching: 5 switches, 7 fibres, 5 edges, 1 wavelength of 20 Mb/s",
            ),
            (
                include_str!("../../../../topologies/optiputer.yaml"),
                "lambda network: 6 routers, 12 unidirectional links, 14 GTP sessions",
            ),
        ] {
            assert_eq!(line(text), expected);
        }
    }

    #[test]
    fn flows_with_the_same_demand_are_compared() {
        let mesh = Demand::all(&scenario(include_str!("../../../../topologies/mesh5.yaml")));
        let flow = |entry: usize, goodput_bps: f64| FlowReport {
            name: Some("f".into()),
            entry,
            goodput_bps,
            ..FlowReport::default()
        };
        let found = compared(&[flow(0, 1e6), flow(1, 3e6)], &mesh).unwrap();
        assert_eq!((found.rates_bps, found.kind.as_str()), (vec![1e6, 3e6], "TCP flows"));
        assert_eq!(compared(&[flow(0, 1e6)], &mesh), None, "one alone");
        let of_phase = |kind: FlowKind, offered_bps: Option<u64>, goodput_bps: f64| FlowReport {
            kind,
            offered_bps: Some(offered_bps.map(Rate::from_bps)),
            goodput_bps,
            ..FlowReport::default()
        };
        let udp = |bps| of_phase(FlowKind::Udp, Some(1_000_000), bps);
        assert_eq!(compared(&[udp(1e6), udp(0.99e6)], &[]), None, "satisfied");
        assert!(compared(&[udp(1e6), udp(0.5e6)], &[]).is_some());
        let satisfied = [flow(0, 1e6), flow(1, 3e6), udp(1e6), udp(1e6)];
        assert_eq!(compared(&satisfied, &mesh).unwrap().rates_bps, [1e6, 3e6]);
        let tcp = of_phase(FlowKind::Tcp, None, 5e6);
        let few = [
            udp(0.1e6),
            udp(0.2e6),
            tcp.clone(),
            of_phase(FlowKind::Web, None, 1e6),
            of_phase(FlowKind::Tcp, Some(1), 1.0),
        ];
        assert_eq!(compared(&few, &[]), None, "less than half of the flows");
        assert_eq!(
            compared(&[tcp.clone(), tcp, udp(1e6)], &[]).unwrap().rates_bps,
            [5e6, 5e6]
        );
    }
}
