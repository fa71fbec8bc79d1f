// SPDX-License-Identifier: Apache-2.0
//! The same lambda network with packets: hosts that share their links over GTP, all rates times a scale.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slotwise_lambda::fluid::{FluidSession, Node};
use slotwise_lambda::{Crowd, KnifeEdge, Rule, Start};
use slotwise_scenario::Scenario;
use slotwise_units::{Duration, Instant};

use super::build::Built;

/// What has no delay of its own.
const NEAR: Duration = Duration::from_us(1);
/// Packets that wait for a link at most, as the experiment assumes it.
const BUFFER_PACKETS: u64 = 1000;
/// Where sources and sinks are if no lambda has a delay of its own.
const WEST: &str = "west";
const EAST: &str = "east";
/// Lambdas are so much faster than the fastest host: no bottleneck.
const LAMBDA_BY_HOST: f64 = 20.0;

/// How long it is, and how it is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    pub(super) duration_ms: u64,
    pub(super) sample_ms: u64,
}

/// Part of the grants that are lost, and what all rates are multiplied by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) rule: Rule,
    pub(super) lost_grants: f64,
    pub(super) scale: f64,
}

/// The name of a session in the scenario, by its place.
pub(super) fn session_name(place: usize) -> String {
    format!("s{place}.0")
}

/// The scenario.
///
/// # Errors
/// Why packets cannot do the same.
pub(super) fn scenario(name: &str, built: &Built, timing: Timing, manner: Manner) -> Result<Scenario, String> {
    for session in &built.sessions {
        if session.session.links.len() != 2 {
            return Err("links inside the network compute rates, which routers do not support".into());
        }
        if !session.demands.is_empty() {
            return Err("session demands change, which flow sources do not support".into());
        }
    }
    let ends = |session: &FluidSession| (session.session.links[0], session.session.links[1]);
    let delays = Delays::of(&built.sessions, manner.lost_grants > 0.0);
    let (mut routers, mut links) = (Vec::new(), Vec::new());
    let mut used: Vec<usize> = built
        .sessions
        .iter()
        .flat_map(|session| session.session.links.clone())
        .collect();
    used.sort_unstable();
    used.dedup();
    let is_source = |node: usize| built.sessions.iter().any(|session| ends(session).0 == node);
    let router = |node: usize| match &delays {
        Delays::OfHosts(_) if is_source(node) => WEST.to_owned(),
        Delays::OfHosts(_) => EAST.to_owned(),
        Delays::OfLambdas(_) => format!("site{node}"),
    };
    match &delays {
        Delays::OfHosts(_) => {
            routers.extend([WEST, EAST].map(str::to_owned));
            let all = built.nodes.iter().map(|node| node.capacity).sum();
            for (from, to) in [(WEST, EAST), (EAST, WEST)] {
                links.push(json!({
                    "name": format!("{from}-{to}"), "from": from, "to": to, "rate_bps": bps(all, manner.scale), "delay_ns": NEAR.ns(),
                    "buffer": {"packets": BUFFER_PACKETS},
                }));
            }
        }
        Delays::OfLambdas(delays) => {
            routers.extend(used.iter().map(|node| router(*node)));
            let fastest = built.nodes.iter().map(|node| node.capacity).fold(0.0, f64::max);
            let rate_bps = bps(fastest * LAMBDA_BY_HOST, manner.scale);
            for (&(source, sink), &rtt) in delays {
                for (from, to, loss) in [(source, sink, 0.0), (sink, source, manner.lost_grants)] {
                    let (from, to) = (router(from), router(to));
                    links.push(json!({
                        "name": format!("{from}-{to}"), "from": from, "to": to, "rate_bps": rate_bps, "delay_ns": (rtt / 2).max(NEAR).ns(),
                        "buffer": {"packets": BUFFER_PACKETS}, "loss": loss,
                    }));
                }
            }
        }
    }
    let hosts: Vec<Value> = used
        .iter()
        .map(|&index| {
            host(
                index,
                &router(index),
                &built.nodes[index],
                delays.of_host(index),
                manner,
            )
        })
        .collect();
    let flows: Vec<Value> = built
        .sessions
        .iter()
        .enumerate()
        .map(|(place, session)| {
            let (source, sink) = ends(session);
            flow(
                place,
                session,
                (source, sink),
                built.nodes[source].capacity,
                manner.scale,
            )
        })
        .collect();
    let document = json!({
        "version": 1,
        "name": name,
        "seed": 1,
        "duration_ms": timing.duration_ms,
        "sample_ms": timing.sample_ms,
        "packet_bytes": 1500,
        "routers": routers,
        "links": links,
        "hosts": hosts,
        "flows": flows,
        "controller": {"control_latency_ns": 1_000_000},
    });
    // JSON is YAML.
    Scenario::parse(document.to_string().as_bytes()).map_err(|error| error.to_string())
}

/// Where round-trip times come from.
enum Delays {
    /// From the hosts' own links: there are two routers, with a link between them that is never short.
    OfHosts(BTreeMap<usize, Duration>),
    /// From lambdas, (source, sink) to round-trip time: each host has a router of its own. Sessions between the same hosts have one.
    OfLambdas(BTreeMap<(usize, usize), Duration>),
}

impl Delays {
    fn of(sessions: &[FluidSession], needs_links: bool) -> Delays {
        for end in [0, 1].into_iter().filter(|_| !needs_links) {
            let mut of_hosts = BTreeMap::new();
            let is_one = |session: &FluidSession| {
                let known = of_hosts.entry(session.session.links[end]).or_insert(session.rtt);
                *known == session.rtt
            };
            if sessions.iter().all(is_one) {
                return Delays::OfHosts(of_hosts);
            }
        }
        let mut of_lambdas = BTreeMap::new();
        for session in sessions {
            let links = &session.session.links;
            of_lambdas.entry((links[0], links[1])).or_insert(session.rtt);
        }
        Delays::OfLambdas(of_lambdas)
    }

    fn of_host(&self, host: usize) -> Duration {
        match self {
            Delays::OfHosts(delays) => delays.get(&host).map_or(NEAR, |rtt| (*rtt / 2).max(NEAR)),
            Delays::OfLambdas(_) => NEAR,
        }
    }
}

/// Of Mb/s, in the scenario.
fn bps(mbps: f64, scale: f64) -> u64 {
    (mbps * scale * 1e6).round() as u64
}

fn host(index: usize, router: &str, node: &Node, delay: Duration, manner: Manner) -> Value {
    let rule = manner.rule;
    json!({
        "name": format!("n{index}"),
        "count": 1,
        "at": router,
        "rate_bps": bps(node.capacity, manner.scale),
        "up_delay_ns": delay.ns(),
        "down_delay_ns": delay.ns(),
        "buffer": {"packets": BUFFER_PACKETS},
        "gtp": {
            "interval_ms": (node.interval.milliseconds().round() as u64).max(1),
            "alpha": node.steps.alpha(),
            "beta": node.steps.beta(),
            "near_target": match rule.knife_edge {
                KnifeEdge::AsPrinted => "as-published",
                KnifeEdge::Capped => "capped",
            },
            "concurrent_increase": match rule.crowd {
                Crowd::AsPrinted => "as-published",
                Crowd::NewcomersShare => "newcomers-share",
                Crowd::RisesShare => "rises-share",
            },
            "start": match rule.start {
                Start::AsPrinted => "as-published",
                Start::FairShare => "fair-share",
            },
        },
    })
}

fn flow(place: usize, session: &FluidSession, (source, sink): (usize, usize), capacity: f64, scale: f64) -> Value {
    let mut asked = json!({});
    // Whoever wants all that its source can send is bounded by that anyway.
    if let Some(demand) = session.session.demand.filter(|demand| *demand < capacity) {
        asked["source_limit_bps"] = json!(bps(demand, scale).max(1000));
    }
    if let Some(steps) = session.steps {
        asked["alpha"] = json!(steps.alpha());
        asked["beta"] = json!(steps.beta());
    }
    if let Some(initial) = session.initial.filter(|initial| bps(*initial, scale) >= 1000) {
        asked["initial_rate_bps"] = json!(bps(initial, scale));
    }
    let ms = |at: Instant| at.since_start().milliseconds().round() as u64;
    let mut flow = json!({
        "name": format!("s{place}"), "from": format!("n{source}"), "to": format!("n{sink}"), "start_jitter_ms": 0, "start_ms": ms(session.join),
        "gtp": asked,
    });
    if let Some(leave) = session.leave {
        flow["stop_ms"] = json!(ms(leave).max(ms(session.join) + 1));
    }
    flow
}
