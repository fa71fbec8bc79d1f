// SPDX-License-Identifier: Apache-2.0
//! The fluid mode against a naive one of 1 ms steps, the derived times of the thesis's figures, and propositions 2 and 3.

use std::collections::BTreeMap;

use slotwise_lambda::fluid::{Fluid, FluidOptions, FluidSession, Node, Samples, Ties};
use slotwise_lambda::published::large;
use slotwise_lambda::{Claim, Crowd, Draws, KnifeEdge, Network, Rule, Session, Start, Steps, grants, max_min};
use slotwise_units::{Duration, Instant};

const MS: Duration = Duration::from_ms(1);
const S: Duration = Duration::from_s(1);

/// The point in time so long after the start.
fn at(since: Duration) -> Instant {
    Instant::ZERO + since
}

fn node(interval_ms: u64) -> Node {
    Node {
        capacity: 1.0,
        interval: interval_ms * MS,
        phase: at(interval_ms * MS),
        steps: Steps::default(),
    }
}

fn session(source: usize, sink: usize, rtt_ms: u64) -> FluidSession {
    let wants = Session {
        demand: Some(1.0),
        ..Session::between(source, sink)
    };
    FluidSession::new(wants, rtt_ms * MS)
}

fn fluid(nodes: &[Node], sessions: &[FluidSession]) -> Fluid {
    Fluid::new(nodes, sessions, FluidOptions::default()).unwrap()
}

fn oracle(nodes: &[Node], sessions: &[FluidSession]) -> Vec<f64> {
    let capacities = nodes.iter().map(|node| node.capacity).collect();
    let network = Network::new(capacities, sessions.iter().map(|of| of.session.clone()).collect());
    max_min(&network.unwrap()).rates
}

/// The largest |rate - fair| of all sessions now.
fn off(fluid: &mut Fluid, fair: &[f64]) -> f64 {
    let rates: Vec<f64> = (0..fair.len()).map(|session| fluid.rate(session)).collect();
    rates
        .iter()
        .zip(fair)
        .map(|(rate, fair)| (rate - fair).abs())
        .fold(0.0, f64::max)
}

/// Rates of each ms, of sessions that all start at 0, by arrays: everything is a multiple of 1 ms, equals go as listed.
fn naive(nodes: &[Node], sessions: &[FluidSession], ms: usize) -> Vec<Vec<f64>> {
    let mut rates = vec![vec![0.0; ms]; sessions.len()];
    let mut granted = vec![[0.0; 2]; sessions.len()];
    let mut arriving: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for now in 0..ms {
        for (index, node) in nodes.iter().enumerate() {
            let interval = (node.interval / MS) as usize;
            if now == 0 || now % interval != 0 {
                continue;
            }
            // (when it was first counted, session, end), as the node listed them.
            let mut members: Vec<(usize, usize, usize)> = Vec::new();
            for (k, session) in sessions.iter().enumerate() {
                let half = (session.rtt / MS / 2) as usize;
                for (end, since) in [(0, half), (1, 0)] {
                    if session.session.links[end] == index && since <= now {
                        members.push((since, k, end));
                    }
                }
            }
            members.sort_unstable();
            let claim = |&(_, k, end): &(usize, usize, usize)| {
                let delay = end * (sessions[k].rtt / MS / 2) as usize;
                let from = (now - interval).saturating_sub(delay);
                let to = now.saturating_sub(delay);
                Claim::of(rates[k][from..to].iter().sum::<f64>() / interval as f64)
            };
            let claims: Vec<Claim> = members.iter().map(claim).collect();
            let grants = grants(node.capacity, Rule::default(), &claims).unwrap();
            for ((_, k, end), grant) in members.into_iter().zip(grants) {
                let half = (sessions[k].rtt / MS / 2) as usize;
                match end {
                    0 => granted[k][0] = grant,
                    _ => drop(arriving.insert((now + half, k), grant)),
                }
            }
        }
        for (k, session) in sessions.iter().enumerate() {
            if let Some(grant) = arriving.remove(&(now, k)) {
                granted[k][1] = grant;
            }
            rates[k][now] = granted[k][0].min(granted[k][1]).min(session.session.wanted());
        }
    }
    rates
}

#[test]
fn a_naive_one_in_steps_of_a_millisecond_comes_to_the_same() {
    let mut draws = Draws::new(7, 0);
    for _ in 0..20 {
        let nodes: Vec<Node> = (0..6).map(|_| node(5 + draws.below(40) as u64)).collect();
        let sessions: Vec<FluidSession> = (0..8)
            .map(|_| session(draws.below(3), 3 + draws.below(3), 2 * (1 + draws.below(40) as u64)))
            .collect();
        let ms = 3000;
        let wanted = naive(&nodes, &sessions, ms);
        let options = FluidOptions {
            ties: Ties::AsListed,
            ..FluidOptions::default()
        };
        let mut fluid = Fluid::new(&nodes, &sessions, options).unwrap();
        for now in 0..ms {
            fluid.run_until(at(now as u64 * MS));
            for (k, wanted) in wanted.iter().enumerate() {
                let rate = fluid.rate(k);
                assert!(
                    (rate - wanted[now]).abs() < 1e-9,
                    "{now} ms, session {k}: {rate} for {}",
                    wanted[now]
                );
            }
        }
    }
}

#[test]
fn a_session_that_its_sink_limits_makes_one_step_each_interval_and_round_trip() {
    let steps = Steps::new(0.025, 0.2).unwrap();
    let mut one = session(0, 1, 50);
    one.steps = Some(steps);
    let mut fluid = fluid(&[node(50), node(50)], &[one]);
    // 99 steps after the first grants (at 50 ms, and 25 ms on their way) it has 1 - 0.975^100 = 0.92; the last stretch is linear.
    let mut reached = None;
    for tick in 1..=1300 {
        fluid.run_until(at(tick * 10 * MS));
        if reached.is_none() && fluid.rate(0) >= 0.98 {
            reached = Some(tick * 10);
        }
    }
    let reached_ms = reached.unwrap();
    assert!(
        (9_500..=10_500).contains(&reached_ms),
        "{reached_ms} ms, 10 s by consequence `step-time`"
    );
    assert_eq!(fluid.rate(0), 1.0);
}

#[test]
fn max_min_rates_stay() {
    for seed in 0..20 {
        let (nodes, mut sessions) = large(32, 4, seed);
        let fair = oracle(&nodes, &sessions);
        for (session, rate) in sessions.iter_mut().zip(&fair) {
            session.initial = Some(*rate);
        }
        let mut fluid = fluid(&nodes, &sessions);
        for tick in 0..200 {
            fluid.run_until(at(tick * S / 10));
            assert!(off(&mut fluid, &fair) < 1e-9, "seed {seed}");
        }
    }
}

#[test]
fn rates_come_to_max_min_from_anywhere_by_each_rule() {
    let capped = KnifeEdge::Capped;
    let rules = [
        Rule {
            knife_edge: capped,
            ..Rule::default()
        },
        Rule {
            knife_edge: capped,
            crowd: Crowd::NewcomersShare,
            ..Rule::default()
        },
        Rule {
            knife_edge: capped,
            crowd: Crowd::RisesShare,
            ..Rule::default()
        },
        Rule {
            knife_edge: capped,
            crowd: Crowd::RisesShare,
            start: Start::FairShare,
        },
    ];
    for (seed, rule) in (0..).zip(rules) {
        let (nodes, mut sessions) = large(32, 4, seed);
        let mut draws = Draws::new(seed, 9);
        for session in &mut sessions {
            session.session.demand = Some(if draws.below(2) == 0 {
                1.0
            } else {
                draws.uniform(0.0, 0.6)
            });
            session.initial = (draws.below(2) == 0).then(|| draws.uniform(0.0, 1.0));
        }
        let fair = oracle(&nodes, &sessions);
        let options = FluidOptions {
            seed,
            rule,
            ..FluidOptions::default()
        };
        let mut fluid = Fluid::new(&nodes, &sessions, options).unwrap();
        fluid.run_until(at(60 * S));
        let off = off(&mut fluid, &fair);
        assert!(off < 1e-6, "{rule:?}: {off}");
    }
}

#[test]
fn those_who_join_share_and_those_who_leave_give_back() {
    let nodes = vec![node(50); 6];
    let rtts_ms = [100, 75, 50, 25, 1];
    let sessions: Vec<FluidSession> = (0..5)
        .map(|index| {
            let mut session = session(1 + index as usize, 0, rtts_ms[index as usize]);
            session.join = at(index * 10 * S);
            session.leave = (index > 0).then_some(at((40 + 10 * index) * S));
            session
        })
        .collect();
    let mut samples = Samples::new(fluid(&nodes, &sessions), S);
    let mut seen = Vec::new();
    for sample in samples.by_ref().take(90) {
        let end = sample.at.since_start();
        let stage = (end - Duration::from_ns(1)) / (10 * S);
        if (end % (10 * S)).is_zero() {
            let there = sample.fair.iter().filter(|fair| **fair > 0.0).count();
            seen.push(there);
            let share = 1.0 / (if stage < 5 { stage + 1 } else { 9 - stage }) as f64;
            let rates: Vec<f64> = sample.rates.iter().copied().filter(|rate| *rate > 0.0).collect();
            assert!(
                rates.iter().all(|rate| (rate - share).abs() < 0.05 * share),
                "{stage}: {rates:?}"
            );
        }
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 4, 3, 2, 1]);
    assert_eq!(samples.fluid().changes(), 5 + 4);
}

#[test]
fn a_demand_is_followed_and_never_passed() {
    let mut one = session(0, 1, 50);
    one.session.demand = Some(0.4);
    one.demands = vec![(at(4 * S), Some(0.8)), (at(8 * S), Some(0.4))];
    let mut fluid = fluid(&[node(50), node(50)], &[one]);
    let mut rate_at = |ms: u64| {
        fluid.run_until(at(ms * MS));
        fluid.rate(0)
    };
    assert_eq!((rate_at(3999), rate_at(7999)), (0.4, 0.8));
    assert_eq!(rate_at(8000), 0.4, "at once");
    assert_eq!(rate_at(12000), 0.4);
}

#[test]
fn what_came_is_what_was_sent_half_a_round_trip_before() {
    let mut fluid = fluid(&[node(20), node(20)], &[session(0, 1, 60)]);
    fluid.run_until(at(S - 30 * MS));
    let sent = fluid.sent(0);
    assert_eq!(fluid.came(), [sent, fluid.came()[1]]);
    fluid.run_until(at(S));
    let came = fluid.came();
    assert!((came[1] - sent).abs() < 1e-6 * sent && came[1] < came[0]);
    assert!(fluid.take_most_granted() > 0.5);
    assert_eq!(fluid.take_most_granted(), 0.0);
}

#[test]
fn where_it_is_looked_at_changes_nothing_and_the_seed_decides_ties() {
    let (nodes, sessions) = large(32, 4, 5);
    let rates = |seed, looks: u64| {
        let mut fluid = Fluid::new(
            &nodes,
            &sessions,
            FluidOptions {
                seed,
                ..FluidOptions::default()
            },
        )
        .unwrap();
        for look in 1..=looks {
            fluid.run_until(at(look * S / looks));
            fluid.rate(0);
        }
        (0..64).map(|session| fluid.rate(session)).collect::<Vec<f64>>()
    };
    assert_eq!(rates(1, 1), rates(1, 50));
    assert_ne!(rates(1, 1), rates(2, 1));
}

/// 19 sessions join one that fills the sink: the most that one calculation grants from then on, and whether all have their share at the end.
fn crowd(rule: Rule) -> (f64, bool) {
    let sessions: Vec<FluidSession> = (0..20)
        .map(|index| {
            let mut session = session(1 + index, 0, 50);
            session.join = at(if index == 0 { Duration::ZERO } else { 5 * S });
            session
        })
        .collect();
    let options = FluidOptions {
        rule,
        ..FluidOptions::default()
    };
    let mut fluid = Fluid::new(&[node(50); 21], &sessions, options).unwrap();
    fluid.run_until(at(5 * S - Duration::from_ns(1)));
    fluid.take_most_granted();
    fluid.run_until(at(25 * S));
    let share = 1.0 / 20.0;
    let all_there = (0..20).all(|index| (fluid.rate(index) - share).abs() < 1e-6);
    (fluid.take_most_granted(), all_there)
}

#[test]
fn a_crowd_is_bounded_only_if_all_that_rise_share() {
    let of = |crowd| {
        let rule = Rule {
            crowd,
            ..Rule::default()
        };
        self::crowd(rule)
    };
    let (printed, newcomers, rises) = (of(Crowd::AsPrinted), of(Crowd::NewcomersShare), of(Crowd::RisesShare));
    assert!(printed.1 && newcomers.1 && rises.1);
    assert!((printed.0 - 1.39).abs() < 0.005, "{printed:?}");
    assert!(newcomers.0 > 1.3, "the second calculation is as printed: {newcomers:?}");
    assert!(rises.0 <= 1.15 + 1e-9, "{rises:?}");
}

#[test]
fn lost_grants_delay_and_change_nothing_else() {
    let settled_s = |lost_grants| {
        let nodes = vec![node(50); 6];
        let sessions: Vec<FluidSession> = (1..6).map(|source| session(source, 0, 50)).collect();
        let options = FluidOptions {
            lost_grants,
            ..FluidOptions::default()
        };
        let fluid = Fluid::new(&nodes, &sessions, options).unwrap();
        let samples: Vec<_> = Samples::new(fluid, S / 10).take(400).collect();
        let off = |rates: &[f64]| rates.iter().any(|rate| (rate - 0.2).abs() > 0.01);
        samples.iter().rposition(|sample| off(&sample.rates)).unwrap()
    };
    let (without, with) = (settled_s(0.0), settled_s(0.3));
    assert!(without < with && with < 100, "{without} {with}");
}

#[test]
fn what_cannot_run_is_refused() {
    let refused = |nodes: &[Node], sessions: &[FluidSession], options| {
        Fluid::new(nodes, sessions, options).unwrap_err().to_string()
    };
    let two = [node(50), node(50)];
    let default = FluidOptions::default();
    let bad = Node {
        interval: Duration::ZERO,
        ..node(50)
    };
    assert_eq!(
        refused(&[bad], &[], default),
        "interval in ns of link 0: out of range; expected finite and above 0, got 0"
    );
    let bad = Node {
        phase: at(51 * MS),
        ..node(50)
    };
    assert!(refused(&[node(50), bad], &[], default).contains("phase in ns of link 1"));
    assert!(refused(&two, &[session(0, 2, 1)], default).contains("session 0: link 2"));
    let mut bad = session(0, 1, 1);
    bad.leave = Some(Instant::ZERO);
    assert!(refused(&two, &[bad], default).contains("end in ns of session 0"));
    let mut bad = session(0, 1, 1);
    (bad.initial, bad.join) = (Some(0.5), Instant::from_ns(1));
    assert!(refused(&two, &[bad], default).contains("start in ns of session 0"));
    let mut bad = session(0, 1, 1);
    bad.demands = vec![(Instant::ZERO, Some(-1.0))];
    assert!(refused(&two, &[bad], default).contains("demand of session 0"));
    let mut bad = session(0, 1, 1);
    bad.rtt = Duration::MAX;
    assert!(refused(&two, &[bad], default).contains("at most 1e13"));
    let all_lost = FluidOptions {
        lost_grants: 1.0,
        ..default
    };
    assert!(refused(&two, &[], all_lost).contains("grant loss ratio"));
}
