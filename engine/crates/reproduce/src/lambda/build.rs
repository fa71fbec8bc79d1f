// SPDX-License-Identifier: Apache-2.0
//! A lambda network by a description: who sends to whom, and what is drawn.

use serde::Deserialize;
use slotwise_lambda::fluid::{FluidSession, Node};
use slotwise_lambda::{Draws, LambdaError, Network, Session, Steps, max_min};
use slotwise_units::{Duration, Instant};

/// A stream of draws for each thing that is drawn, so that none disturbs another.
#[derive(Clone, Copy)]
enum Stream {
    Shape = 1,
    Capacity,
    Interval,
    Phase,
    Alpha,
    Beta,
    Rtt,
    Demand,
    Finite,
    Initial,
    Churn,
}

/// One network.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    #[serde(with = "serde_yaml_ng::with::singleton_map")]
    shape: Shape,
    /// Of nodes.
    #[serde(default = "capacity_mbps")]
    capacity_mbps: Amount,
    /// The control interval d, by node.
    #[serde(default = "default_ms")]
    interval_ms: Amount,
    /// By node; table VII.1 unless given.
    #[serde(default = "alpha")]
    alpha: Amount,
    #[serde(default = "beta")]
    beta: Amount,
    /// By session, in place of those of nodes; both or none.
    #[serde(default)]
    session_alpha: Option<Amount>,
    #[serde(default)]
    session_beta: Option<Amount>,
    #[serde(default = "default_ms")]
    rtt_ms: Amount,
    /// The capacity of the source unless given.
    #[serde(default)]
    demand_mbps: Option<Amount>,
    /// Part of the sessions whose demand is that; others want the capacity of their source.
    #[serde(default = "all")]
    finite: f64,
    #[serde(default)]
    join_s: Option<Amount>,
    #[serde(default)]
    leave_s: Option<Amount>,
    /// (time in s, what all want from then on, Mb/s).
    #[serde(default)]
    demands: Vec<(f64, f64)>,
    /// Rates since ever, Mb/s.
    #[serde(default)]
    initial: Option<Initial>,
}

/// Who sends to whom.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Shape {
    /// (source, sink) of each session, both counted from 1.
    Pairs(Vec<(usize, usize)>),
    /// The nodes that each session crosses, counted from 0.
    Paths(Vec<Vec<usize>>),
    /// (fewest, most) nodes, half of them sources, each with (fewest, most) sessions to sinks drawn at random: VII.5.
    Drawn {
        nodes: (usize, usize),
        fan_out: (usize, usize),
    },
    /// Sessions between any source and sink, Poisson joins and exponential lifetimes.
    Churn {
        nodes: usize,
        joins_per_s: f64,
        lifetime_s: f64,
        for_s: f64,
    },
}

/// A number for all, one each (over again if there are fewer), or drawn uniformly.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a number, a list of numbers, or {from, to}")]
enum Amount {
    One(f64),
    Each(Vec<f64>),
    Drawn { from: f64, to: f64 },
}

/// What sessions send at since ever.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Initial {
    /// `fair`: max-min rates.
    Named(Named),
    Rates(Amount),
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Named {
    Fair,
}

fn capacity_mbps() -> Amount {
    Amount::One(1000.0)
}

fn default_ms() -> Amount {
    Amount::One(50.0)
}

fn alpha() -> Amount {
    Amount::One(Steps::default().alpha())
}

fn beta() -> Amount {
    Amount::One(Steps::default().beta())
}

fn all() -> f64 {
    1.0
}

impl Amount {
    /// That of each of `count`.
    fn of(&self, count: usize, draws: &mut Draws) -> Vec<f64> {
        match self {
            Amount::One(amount) => vec![*amount; count],
            Amount::Each(amounts) => amounts.iter().copied().cycle().take(count).collect(),
            Amount::Drawn { from, to } => (0..count).map(|_| draws.uniform(*from, *to)).collect(),
        }
    }
}

/// Nodes and sessions, in Mb/s.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Built {
    pub(super) nodes: Vec<Node>,
    pub(super) sessions: Vec<FluidSession>,
}

/// Who crosses what, and from when to when in s if the shape says so.
struct Wired {
    nodes: usize,
    links: Vec<Vec<usize>>,
    times_s: Option<Vec<(f64, f64)>>,
}

fn duration(seconds: f64) -> Duration {
    Duration::from_ns((seconds * 1e9).round() as u64)
}

fn at(seconds: f64) -> Instant {
    Instant::ZERO + duration(seconds)
}

impl Shape {
    fn wire(&self, draws: &mut Draws, churn: &mut Draws) -> Wired {
        let between =
            |draws: &mut Draws, (least, most): (usize, usize)| least + draws.below(most.saturating_sub(least) + 1);
        let fixed = |nodes, links| Wired {
            nodes,
            links,
            times_s: None,
        };
        match self {
            Shape::Pairs(pairs) => {
                let sources = pairs.iter().map(|(source, _)| *source).max().unwrap_or(0);
                let sinks = pairs.iter().map(|(_, sink)| *sink).max().unwrap_or(0);
                let link = |&(source, sink): &(usize, usize)| {
                    vec![source.saturating_sub(1), (sources + sink).saturating_sub(1)]
                };
                fixed(sources + sinks, pairs.iter().map(link).collect())
            }
            Shape::Paths(paths) => {
                let last = paths.iter().flatten().max();
                fixed(last.map_or(0, |last| last + 1), paths.clone())
            }
            Shape::Drawn { nodes, fan_out } => {
                let sources = (between(draws, *nodes) / 2).max(1);
                let mut links = Vec::new();
                for source in 0..sources {
                    for _ in 0..between(draws, *fan_out) {
                        links.push(vec![source, sources + draws.below(sources)]);
                    }
                }
                fixed(2 * sources, links)
            }
            Shape::Churn {
                nodes,
                joins_per_s,
                lifetime_s,
                for_s,
            } => {
                let sources = (nodes / 2).max(1);
                let (mut links, mut times_s, mut at_s) = (Vec::new(), Vec::new(), 0.0);
                loop {
                    at_s += churn.exponential(1.0 / joins_per_s);
                    if at_s >= *for_s {
                        break;
                    }
                    links.push(vec![draws.below(sources), sources + draws.below(sources)]);
                    // At least a ns long.
                    times_s.push((at_s, at_s + churn.exponential(*lifetime_s).max(1e-9)));
                }
                Wired {
                    nodes: 2 * sources,
                    links,
                    times_s: Some(times_s),
                }
            }
        }
    }
}

impl Case {
    /// Whether a pair names node 0, which there is not.
    pub(super) fn has_node_zero(&self) -> bool {
        matches!(&self.shape, Shape::Pairs(pairs) if pairs.iter().any(|(source, sink)| *source.min(sink) == 0))
    }

    /// How many sessions there are, if that is not drawn.
    pub(super) fn sessions(&self) -> Option<usize> {
        match &self.shape {
            Shape::Pairs(pairs) => Some(pairs.len()),
            Shape::Paths(paths) => Some(paths.len()),
            Shape::Drawn { nodes, fan_out } if nodes.0 == nodes.1 && fan_out.0 == fan_out.1 => {
                Some((nodes.0 / 2).max(1) * fan_out.0)
            }
            Shape::Drawn { .. } | Shape::Churn { .. } => None,
        }
    }

    /// The network by a seed; times of joins, leaves and demands are `scale` of those said.
    pub(super) fn build(&self, seed: u64, scale: f64) -> Result<Built, LambdaError> {
        let draws = |stream: Stream| Draws::new(seed, stream as u64);
        let wired = self.shape.wire(&mut draws(Stream::Shape), &mut draws(Stream::Churn));
        let of_nodes = |amount: &Amount, stream| amount.of(wired.nodes, &mut draws(stream));
        let count = wired.links.len();
        let of_sessions = |amount: &Amount, stream| amount.of(count, &mut draws(stream));
        let capacities = of_nodes(&self.capacity_mbps, Stream::Capacity);
        let intervals_ms = of_nodes(&self.interval_ms, Stream::Interval);
        let phases = Amount::Drawn { from: 0.0, to: 1.0 }.of(wired.nodes, &mut draws(Stream::Phase));
        let alphas = of_nodes(&self.alpha, Stream::Alpha);
        let betas = of_nodes(&self.beta, Stream::Beta);
        let node = |index: usize| {
            let interval = duration(intervals_ms[index] / 1e3);
            Ok(Node {
                capacity: capacities[index],
                interval,
                phase: Instant::from_ns((phases[index] * interval.ns() as f64) as u64),
                steps: Steps::new(alphas[index], betas[index])?,
            })
        };
        let nodes = (0..wired.nodes).map(node).collect::<Result<Vec<Node>, LambdaError>>()?;
        let rtts_ms = of_sessions(&self.rtt_ms, Stream::Rtt);
        let demands = self
            .demand_mbps
            .as_ref()
            .map(|amount| of_sessions(amount, Stream::Demand));
        let mut finite = draws(Stream::Finite);
        let times = |amount: &Option<Amount>| amount.as_ref().map(|amount| of_sessions(amount, Stream::Churn));
        let (joins_s, leaves_s) = (times(&self.join_s), times(&self.leave_s));
        let own_alphas = times(&self.session_alpha);
        let own_betas = times(&self.session_beta);
        let mut session = |index: usize| {
            let links = wired.links[index].clone();
            let all = links.first().and_then(|source| capacities.get(*source)).copied();
            let is_finite = finite.uniform(0.0, 1.0) < self.finite;
            let demand = demands
                .as_ref()
                .filter(|_| is_finite)
                .map(|demands| demands[index])
                .or(all);
            let mut session = FluidSession::new(
                Session {
                    links,
                    demand,
                    weight: 1.0,
                },
                duration(rtts_ms[index] / 1e3),
            );
            session.demands = self
                .demands
                .iter()
                .map(|(at_s, wanted)| (at(at_s * scale), Some(*wanted)))
                .collect();
            let shape_s = wired.times_s.as_ref().map(|times_s| times_s[index]);
            let join_s = shape_s
                .map(|(join_s, _)| join_s)
                .or(joins_s.as_ref().map(|joins_s| joins_s[index]));
            let leave_s = shape_s
                .map(|(_, leave_s)| leave_s)
                .or(leaves_s.as_ref().map(|leaves_s| leaves_s[index]));
            session.join = at(join_s.unwrap_or(0.0) * scale);
            session.leave = leave_s.map(|leave_s| at(leave_s * scale));
            if let (Some(alphas), Some(betas)) = (&own_alphas, &own_betas) {
                session.steps = Some(Steps::new(alphas[index], betas[index])?);
            }
            Ok(session)
        };
        let mut sessions = (0..count)
            .map(&mut session)
            .collect::<Result<Vec<FluidSession>, LambdaError>>()?;
        let initial = match &self.initial {
            None => None,
            Some(Initial::Rates(amount)) => Some(of_sessions(amount, Stream::Initial)),
            Some(Initial::Named(Named::Fair)) => {
                let wants = sessions.iter().map(|of| of.session.clone()).collect();
                Some(max_min(&Network::new(capacities.clone(), wants)?).rates)
            }
        };
        for (session, rate) in sessions.iter_mut().zip(initial.into_iter().flatten()) {
            session.initial = Some(rate);
        }
        Ok(Built { nodes, sessions })
    }
}

impl Built {
    /// The same with one clock, all round trips and intervals `slot_ms`, and equal steps (VII.5's synchronous algorithm).
    pub(super) fn in_step(&self, slot_ms: f64, steps: Steps) -> Built {
        let mut built = self.clone();
        for node in &mut built.nodes {
            node.interval = duration(slot_ms / 1e3);
            node.phase = Instant::ZERO + node.interval;
            node.steps = steps;
        }
        for session in &mut built.sessions {
            session.rtt = duration(slot_ms / 1e3);
        }
        built
    }
}
