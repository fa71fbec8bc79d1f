// SPDX-License-Identifier: Apache-2.0
//! What each pair of edges of a mesh of optical packet switches should get if traffic were a fluid: max-min rates over its outputs.

use std::collections::BTreeMap;

use slotwise_kinds::World;
use slotwise_lambda::{Network, Session, max_min};
use slotwise_scenario::{Device, FlowGroup, Ops, OpsMatch, Process, Scenario, Source};
use slotwise_units::Instant;

use super::shares::header_bytes;

/// Nodes of a mesh for which ways are reckoned: the cube of their number is under a second.
const MOST_SWITCHES: usize = 1000;
/// A switch without a way, or without a neighbour that leads there.
const NONE: usize = usize::MAX;

/// Who sends over a mesh, and what each pair of edges should have of it.
pub(crate) struct Fluid {
    pairs: Vec<Pair>,
    /// Of all outputs: those of links both ways, of edges to switches, of switches to edges. Bit/s.
    capacities: Vec<f64>,
    flows: Vec<Flow>,
}

/// All that goes from one edge to another: a macroflow.
struct Pair {
    name: String,
    outputs: Vec<usize>,
}

struct Flow {
    pair: usize,
    start_ns: u64,
    /// When it stops; `u64::MAX`: with the run.
    end_ns: u64,
    /// Of its packets, what is no payload.
    header_bytes: u64,
    /// Most that it can send, bit/s: its window by the round trip; `None`: all it gets.
    asks_bps: Option<f64>,
}

/// What a pair of edges had and should have had in a period.
pub(crate) struct Share<'a> {
    pub name: &'a str,
    /// IP bits that arrived, bit/s.
    pub rate_bps: f64,
    /// Max-min rate, bit/s.
    pub fair_bps: f64,
    /// Outputs of switches on the way.
    pub links: usize,
}

impl Fluid {
    /// Of the flows of a scenario, which `network` plays. Nothing where it is not known who wants what, and over what: files and pages, classes
    /// that share a wavelength by weight or have one of their own by DSCP, edges without a switch.
    pub(crate) fn new(scenario: &Scenario, ops: &Ops, network: &World) -> Option<Fluid> {
        let by_dscp = ops
            .classes
            .iter()
            .any(|class| matches!(class.matches, Some(OpsMatch::Dscp(_))));
        if ops.switches.is_empty() || ops.switches.len() > MOST_SWITCHES || by_dscp {
            return None;
        }
        let ways = Ways::of(ops);
        let of_links = ops.links.len() * 2;
        let edges = ops.edges.len();
        let mut capacities = vec![ops.rate.bps() as f64 * ops.target; of_links];
        // Edges that share by GTP's rule share less than their wavelengths carry, as sources and as sinks.
        let share = ops.macroflows.and_then(|macroflows| macroflows.share);
        let shared_bps = share.map_or(f64::INFINITY, |share| share.capacity.bps() as f64);
        capacities.extend(vec![(ops.rate.bps() as f64).min(shared_bps); edges]);
        capacities.extend(vec![(ops.rate.bps() as f64 * ops.target).min(shared_bps); edges]);
        let played = network.routed_flows().iter();
        let starts: BTreeMap<&str, u64> = played.map(|flow| (flow.name.as_str(), flow.start.ns())).collect();
        let mut fluid = Fluid {
            pairs: Vec::new(),
            capacities,
            flows: Vec::new(),
        };
        let mut known: BTreeMap<(u16, u16), usize> = BTreeMap::new();
        for group in &scenario.routed.flows {
            let (Device::OpsEdge(from), Device::OpsEdge(to)) =
                (scenario.node_of(group.from), scenario.node_of(group.to))
            else {
                return None;
            };
            let way = ways.between(ops, from, to)?;
            let asks_bps = asks(group, 2 * way.delay_ns)?;
            let pair = *known.entry((from, to)).or_insert_with(|| {
                let outputs = [of_links + usize::from(from)]
                    .into_iter()
                    .chain(way.links.iter().copied());
                fluid.pairs.push(Pair {
                    name: pair_name(ops, from, to),
                    outputs: outputs.chain([of_links + edges + usize::from(to)]).collect(),
                });
                fluid.pairs.len() - 1
            });
            for flow in 0..scenario.flow_hosts(group).len() {
                let name = format!("{}.{flow}", group.name);
                fluid.flows.push(Flow {
                    pair,
                    start_ns: starts.get(name.as_str()).copied()?,
                    end_ns: scenario.stop(group).map_or(u64::MAX, Instant::ns),
                    header_bytes: header_bytes(group),
                    asks_bps,
                });
            }
        }
        Some(fluid)
    }

    /// What each pair had in a period of `seconds` up to `now_ns`, by (packets, payload bytes) that arrived of each flow, and what it should have had;
    /// that is nothing before its first flow and after its last. A flow counts in a period if it was there in its middle.
    pub(crate) fn shares(&self, now_ns: u64, seconds: f64, delivered: &[(u64, u64)]) -> Vec<Share<'_>> {
        let middle_ns = now_ns.saturating_sub((seconds * 0.5e9) as u64);
        let mut bits = vec![0.0; self.pairs.len()];
        let mut asks: Vec<Option<f64>> = vec![Some(0.0); self.pairs.len()];
        let mut begun = vec![false; self.pairs.len()];
        for (flow, (packets, payload_bytes)) in self.flows.iter().zip(delivered) {
            bits[flow.pair] += (payload_bytes + packets * flow.header_bytes) as f64 * 8.0;
            if flow.start_ns <= middle_ns && middle_ns < flow.end_ns {
                begun[flow.pair] = true;
                asks[flow.pair] = asks[flow.pair].and_then(|sum| Some(sum + flow.asks_bps?));
            }
        }
        let sending: Vec<usize> = (0..self.pairs.len()).filter(|pair| begun[*pair]).collect();
        let session = |pair: &usize| Session {
            links: self.pairs[*pair].outputs.clone(),
            demand: asks[*pair],
            weight: 1.0,
        };
        let sessions = sending.iter().map(session).collect();
        let mut fair_bps = vec![0.0; self.pairs.len()];
        // Ways cross no output twice and rates are above 0, so there is no error.
        if let Ok(network) = Network::new(self.capacities.clone(), sessions) {
            for (pair, rate) in sending.iter().zip(max_min(&network).rates) {
                fair_bps[*pair] = rate;
            }
        }
        let shares = self.pairs.iter().zip(bits).zip(fair_bps);
        let share = shares.map(|((pair, bits), fair_bps)| Share {
            name: &pair.name,
            rate_bps: bits / seconds,
            fair_bps,
            links: pair.outputs.len() - 1,
        });
        share.collect()
    }
}

/// Most that each flow of a group can send, bit/s; `None` if nobody knows.
fn asks(group: &FlowGroup, round_trip_ns: u64) -> Option<Option<f64>> {
    match group.source {
        Source::Udp { rate, process } => {
            let sending = match process {
                Process::Constant | Process::Poisson => 1.0,
                Process::OnOffPareto(times) => {
                    times.mean_on.ns() as f64 / (times.mean_on.ns() as f64 + times.mean_off.ns() as f64)
                }
            };
            Some(Some(rate.bps() as f64 * sending))
        }
        Source::Stream { bytes: None } => {
            let window = |packets: u32| f64::from(packets) * f64::from(group.packet_bytes) * 8e9;
            let by_window = group
                .tcp
                .window_packets
                .map(|packets| window(packets) / round_trip_ns.max(1) as f64);
            Some(by_window)
        }
        Source::Stream { .. } | Source::Gtp(_) | Source::Web { .. } => None,
    }
}

/// The name of a pair of edges.
fn pair_name(ops: &Ops, from: u16, to: u16) -> String {
    let name = |edge: u16| &ops.edges[usize::from(edge)].name;
    format!("{}-{}", name(from), name(to))
}

/// Names of the pairs of edges between which flows go.
pub(crate) fn pair_names(scenario: &Scenario, ops: &Ops) -> Vec<String> {
    let mut names = Vec::new();
    for group in &scenario.routed.flows {
        if let (Device::OpsEdge(from), Device::OpsEdge(to)) = (scenario.node_of(group.from), scenario.node_of(group.to))
        {
            let name = pair_name(ops, from, to);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// First choices: of each two switches the next one and the distance, by delay, then hops, then the number of the next one.
struct Ways {
    /// (delay in ns, hops) from the first to the second switch.
    distances: Vec<Vec<(u64, usize)>>,
    /// Of each switch its neighbours: (switch, output, delay).
    neighbours: Vec<Vec<(usize, usize, u64)>>,
}

struct Way {
    links: Vec<usize>,
    delay_ns: u64,
}

impl Ways {
    fn of(ops: &Ops) -> Ways {
        let count = ops.switches.len();
        let mut neighbours = vec![Vec::new(); count];
        for (number, link) in ops.links.iter().enumerate() {
            let [a, b] = link.between.map(usize::from);
            neighbours[a].push((b, 2 * number, link.delay.ns()));
            neighbours[b].push((a, 2 * number + 1, link.delay.ns()));
        }
        let mut distances = vec![vec![(u64::MAX, NONE); count]; count];
        for (from, near) in neighbours.iter_mut().enumerate() {
            near.sort_unstable();
            distances[from][from] = (0, 0);
            for &(to, _, delay_ns) in near.iter() {
                distances[from][to] = distances[from][to].min((delay_ns, 1));
            }
        }
        for over in 0..count {
            for from in 0..count {
                let (first_ns, first_hops) = distances[from][over];
                if first_hops == NONE {
                    continue;
                }
                for (to, (second_ns, second_hops)) in distances[over].clone().into_iter().enumerate() {
                    if second_hops != NONE {
                        let longer = (first_ns + second_ns, first_hops + second_hops);
                        distances[from][to] = distances[from][to].min(longer);
                    }
                }
            }
        }
        Ways { distances, neighbours }
    }

    /// The first choices from edge to edge; nothing if there is no way.
    fn between(&self, ops: &Ops, from: u16, to: u16) -> Option<Way> {
        let [source, sink] = [from, to].map(|edge| &ops.edges[usize::from(edge)]);
        let (mut at, end) = (usize::from(source.switch?), usize::from(sink.switch?));
        let (delay_ns, hops) = self.distances[at][end];
        let mut way = Way {
            links: Vec::new(),
            delay_ns: source.delay.ns() + sink.delay.ns(),
        };
        if hops == NONE {
            return None;
        }
        way.delay_ns += delay_ns;
        while at != end {
            let (left_ns, left_hops) = self.distances[at][end];
            let leads = |&&(next, _, link_ns): &&(usize, usize, u64)| {
                let (next_ns, next_hops) = self.distances[next][end];
                next_hops != NONE && (link_ns + next_ns, 1 + next_hops) == (left_ns, left_hops)
            };
            let &(next, output, _) = self.neighbours[at].iter().find(leads)?;
            way.links.push(output);
            at = next;
        }
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use slotwise_kinds::{HostMode, WorldOptions};

    use super::*;

    /// Edges share 90 of 100 Mb/s; a TCP flow that stops after 10 s leaves its part to the others.
    #[test]
    fn a_flow_counts_from_its_start_to_its_end_and_shares_what_edges_share() {
        let scenario = Scenario::parse(include_bytes!("../../../../../topologies/edges-share.yaml")).unwrap();
        let options = WorldOptions {
            seed: 1,
            host_mode: HostMode::Simulated,
            captures: None,
            frame_records: false,
        };
        let network = World::new(&scenario, options);
        let fluid = Fluid::new(&scenario, scenario.ops.as_ref().unwrap(), &network).unwrap();
        let nothing = vec![(0, 0); fluid.flows.len()];
        let fair_mbps = |seconds: u64| -> Vec<f64> {
            let shares = fluid.shares(seconds * 1_000_000_000, 0.1, &nothing);
            shares
                .iter()
                .map(|share| (share.fair_bps / 1e4).round() / 100.0)
                .collect()
        };
        // 1-0 TCP, 2-0 UDP, 3-0 UDP of 9 Mb/s, 4-0 UDP from 5 s, 5-0 TCP to 10 s, 1-5 TCP.
        assert_eq!(fair_mbps(4), [27.0, 27.0, 9.0, 0.0, 27.0, 63.0]);
        assert_eq!(fair_mbps(8), [20.25, 20.25, 9.0, 20.25, 20.25, 69.75]);
        assert_eq!(fair_mbps(15), [27.0, 27.0, 9.0, 27.0, 0.0, 63.0]);
    }

    /// NSFNET of the facts: 2.385 hops between switches on average, 2 to 23 of the 182 pairs of edges on a link.
    #[test]
    fn ways_are_those_that_the_facts_have() {
        let nsfnet = include_bytes!("../../../../../experiments/ops-paced-xcp/nsfnet.yaml");
        let scenario = Scenario::parse(nsfnet).unwrap();
        let ops = scenario.ops.as_ref().unwrap();
        let ways = Ways::of(ops);
        let mut on_link = vec![0; 2 * ops.links.len()];
        let mut hops = 0;
        for from in 0..14 {
            for to in (0..14).filter(|to| *to != from) {
                let way = ways.between(ops, from, to).unwrap();
                hops += way.links.len();
                for link in way.links {
                    on_link[link] += 1;
                }
            }
        }
        assert_eq!((f64::from(hops as u32) / 182.0 * 1000.0).round(), 2385.0);
        assert_eq!((on_link.iter().min(), on_link.iter().max()), (Some(&2), Some(&23)));
    }
}
