// SPDX-License-Identifier: Apache-2.0
//! Sessions of GTP over routers, beside what each should have: max-min rates of those that are there, over the hosts' capacities and the
//! links of their ways.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use slotwise_kinds::{SessionUse, World};
use slotwise_lambda::{Network, Session, max_min};
use slotwise_scenario::{Changed, Device, FlowGroup, Metric, Party, RoutedLink, Scenario, Source};
use slotwise_units::Rate;

use crate::record::{NetworkPeriod, Period, Recording, SessionPeriod};

/// The sessions of a network, and what they share.
pub(crate) struct Sharing {
    /// Of the network.
    name: String,
    ways: Ways,
    /// Up and down of each host of a session, then of the links between routers, b/s.
    capacities: Vec<f64>,
    /// Place of the first link among them.
    of_links: usize,
    /// What happens to the links, by time since the first phase, and how much of it has.
    timeline: Vec<(u64, Changed)>,
    happened: usize,
    sessions: Vec<Asked>,
    /// Who was there, and how much had happened to links, when `fair_bps` was solved.
    solved: Option<(Vec<bool>, usize)>,
    fair_bps: Vec<f64>,
    rates_bps: Vec<f64>,
}

/// A session.
struct Asked {
    name: String,
    /// Among all flows over the whole run.
    flow: usize,
    /// Places of its source's link up and its sink's link down among the capacities.
    ends: [usize; 2],
    /// The routers of both.
    routers: [u16; 2],
    /// Most that its source can send, b/s.
    demand_bps: Option<f64>,
    stop_ms: Option<u64>,
    /// Whether it was there at the end of the last period.
    is_there: bool,
}

/// A session in one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionRates<'a> {
    /// Its name.
    pub name: &'a str,
    /// IP bits that its source sent, b/s.
    pub rate_bps: f64,
    /// Its max-min rate among those that are there at the end, b/s; 0 if it is not.
    pub fair_bps: f64,
}

impl Sharing {
    /// Of a scenario with sessions of GTP, all between hosts of routers: over stars and rings it is not known what is short.
    pub(crate) fn new(scenario: &Scenario, network: &World) -> Option<Sharing> {
        let groups = scenario.routed.flows.iter();
        let played: BTreeMap<&str, u64> = network
            .routed_flows()
            .iter()
            .map(|flow| (flow.name.as_str(), flow.start.ns()))
            .collect();
        let mut places: BTreeMap<(usize, bool), usize> = BTreeMap::new();
        let mut capacities = Vec::new();
        let mut sessions = Vec::new();
        let mut flow = 0;
        for group in groups {
            let Source::Gtp(asked) = group.source else {
                flow += scenario.flow_hosts(group).len();
                continue;
            };
            let ends = [(group.from, false), (group.to, true)].map(|(party, is_sink)| end(scenario, party, is_sink));
            let [Some(source), Some(sink)] = ends else {
                return None;
            };
            for (i, (from, to)) in scenario.flow_hosts(group).enumerate() {
                let ends = [(from, source), (to, sink)].map(|(host, end)| {
                    *places.entry((host, end.is_sink)).or_insert_with(|| {
                        capacities.push(end.capacity_bps);
                        capacities.len() - 1
                    })
                });
                let name = format!("{}.{i}", group.name);
                sessions.push(Asked {
                    is_there: played.get(name.as_str()) == Some(&scenario.epoch().ns()),
                    name,
                    flow,
                    ends,
                    routers: [source.router, sink.router],
                    demand_bps: asked.limit.map(Rate::bps).map(|bps| bps as f64),
                    stop_ms: group.stop_ms,
                });
                flow += 1;
            }
        }
        let of_links = capacities.len();
        let links = scenario.routed.links.iter();
        capacities.extend(links.map(|link| link.rate.bps() as f64));
        let ways = Ways::new(scenario, sessions.iter().map(|session| session.routers[1]));
        (!sessions.is_empty()).then(|| Sharing {
            name: scenario.name.clone(),
            ways,
            of_links,
            timeline: scenario.timeline(),
            happened: 0,
            solved: None,
            fair_bps: vec![0.0; sessions.len()],
            rates_bps: vec![0.0; sessions.len()],
            capacities,
            sessions,
        })
    }

    /// Writes down a period up to `end_ms`; `used` are (before, after) of each flow, if it is a session that has begun.
    pub(crate) fn sample(
        &mut self,
        period: &Period,
        end_ms: u64,
        used: &[Option<(SessionUse, SessionUse)>],
        recording: &mut Recording,
    ) {
        let mut whole = Vec::with_capacity(self.sessions.len());
        for (session, rate_bps) in self.sessions.iter_mut().zip(&mut self.rates_bps) {
            let used = used.get(session.flow).copied().flatten();
            let bytes = |of: SessionUse| of.source.packet_bytes.get() as f64;
            *rate_bps = used.map_or(0.0, |(before, after)| {
                (bytes(after) - bytes(before)) * 8.0 / period.seconds()
            });
            // What ends at the very end is of the next period.
            let ends_now = session.is_there && session.stop_ms == Some(end_ms);
            let is_there = ends_now || used.is_some_and(|(_, after)| after.sink.is_open);
            let was_there = std::mem::replace(&mut session.is_there, is_there);
            whole.push(is_there && was_there);
        }
        self.solve(end_ms);
        let most_bps = self.capacities[..self.of_links].iter().copied().fold(0.0, f64::max);
        let sources: BTreeMap<usize, f64> = self
            .sessions
            .iter()
            .map(|session| (session.ends[0], self.capacities[session.ends[0]]))
            .collect();
        let off = self.rates_bps.iter().zip(&self.fair_bps);
        let off: Vec<f64> = off.map(|(rate, fair)| (rate - fair).abs()).collect();
        let norm = |numbers: &[f64]| numbers.iter().map(|number| number * number).sum::<f64>().sqrt() / most_bps;
        let (distance, d0) = (norm(&off), norm(&self.fair_bps));
        let (rate, fair): (f64, f64) = (self.rates_bps.iter().sum(), self.fair_bps.iter().sum());
        let row = NetworkPeriod {
            distance,
            d0,
            rate,
            fair,
            capacity: sources.values().sum(),
            worst: off.iter().copied().fold(0.0, f64::max) / most_bps,
            per_mbps: 1e6,
            ..NetworkPeriod::default()
        };
        recording.add(&self.name, period, &row);
        for (index, session) in self.sessions.iter().enumerate().filter(|(index, _)| whole[*index]) {
            let (rate, fair) = (self.rates_bps[index], self.fair_bps[index]);
            let capacity = self.capacities[session.ends[0]];
            let row = SessionPeriod {
                rate,
                fair,
                capacity,
                demand: session.demand_bps.unwrap_or(capacity),
                per_mbps: 1e6,
            };
            recording.add(&session.name, period, &row);
        }
    }

    /// What each session did in the last period.
    pub(crate) fn last(&self) -> impl Iterator<Item = SessionRates<'_>> {
        let numbers = self.rates_bps.iter().zip(&self.fair_bps);
        let sessions = self.sessions.iter().zip(numbers);
        sessions.map(|(session, (&rate_bps, &fair_bps))| SessionRates {
            name: &session.name,
            rate_bps,
            fair_bps,
        })
    }

    /// Max-min rates of those that are there, with links as they are before `now_ms`.
    fn solve(&mut self, now_ms: u64) {
        while let Some((_, changed)) = self.timeline.get(self.happened).filter(|(at_ms, _)| *at_ms < now_ms) {
            self.happened += 1;
            if let Changed::Link { link, rate, up, .. } = *changed {
                if let Some(rate) = rate {
                    self.capacities[self.of_links + link] = rate.bps() as f64;
                }
                if let Some(up) = up {
                    self.ways.light(link, up);
                }
            }
        }
        let there: Vec<bool> = self.sessions.iter().map(|session| session.is_there).collect();
        if self.solved.as_ref() == Some(&(there.clone(), self.happened)) {
            return;
        }
        let on_way = |(index, session): (usize, &Asked)| {
            let way = self.ways.between(session.routers).filter(|_| there[index])?;
            let [source, sink] = session.ends;
            let links = way.into_iter().map(|link| self.of_links + link);
            let links = [source].into_iter().chain(links).chain([sink]).collect();
            let session = Session {
                links,
                demand: session.demand_bps,
                weight: 1.0,
            };
            Some((index, session))
        };
        let (present, sessions): (Vec<usize>, Vec<Session>) =
            self.sessions.iter().enumerate().filter_map(on_way).unzip();
        self.fair_bps.fill(0.0);
        // Ways cross no link twice, and rates are above 0.
        if let Ok(network) = Network::new(self.capacities.clone(), sessions) {
            for (session, rate) in present.into_iter().zip(max_min(&network).rates) {
                self.fair_bps[session] = rate;
            }
        }
        self.solved = Some((there, self.happened));
    }
}

/// Names of the sessions of a network of which it is known what they should have.
pub(crate) fn session_names(scenario: &Scenario) -> Vec<String> {
    let groups = scenario.routed.flows.iter();
    let of_gtp: Vec<&FlowGroup> = groups.filter(|group| matches!(group.source, Source::Gtp(_))).collect();
    let is_known = |group: &&FlowGroup| {
        let ends = [group.from, group.to].map(|party| end(scenario, party, false));
        ends.iter().all(Option::is_some)
    };
    if !of_gtp.iter().all(is_known) {
        return Vec::new();
    }
    let names = |group: &FlowGroup| {
        let count = scenario.flow_hosts(group).len();
        (0..count)
            .map(|i| format!("{}.{i}", group.name))
            .collect::<Vec<String>>()
    };
    of_gtp.into_iter().flat_map(names).collect()
}

/// A host's end of sessions.
#[derive(Clone, Copy)]
struct End {
    is_sink: bool,
    capacity_bps: f64,
    router: u16,
}

/// The ends of sessions of a party, if it is one of routers' hosts.
fn end(scenario: &Scenario, party: Party, is_sink: bool) -> Option<End> {
    let (Party::Group(group), Device::Router(router)) = (party, scenario.node_of(party)) else {
        return None;
    };
    Some(End {
        is_sink,
        capacity_bps: scenario.routed.hosts[group].gtp.capacity.bps() as f64,
        router,
    })
}

/// Ways over routers as the controller's `routes` chooses them: the least cost, then the fewest hops, then the lowest port.
struct Ways {
    metric: Metric,
    links: Vec<RoutedLink>,
    has_light: Vec<bool>,
    routers: usize,
    /// To each router that has sinks: the link to take at each router.
    next: BTreeMap<u16, Vec<Option<usize>>>,
}

impl Ways {
    fn new(scenario: &Scenario, sinks: impl Iterator<Item = u16>) -> Ways {
        let links = scenario.routed.links.clone();
        let mut ways = Ways {
            metric: scenario.controller.metric,
            has_light: vec![true; links.len()],
            links,
            routers: scenario.routed.routers.len(),
            next: sinks.map(|sink| (sink, Vec::new())).collect(),
        };
        ways.find();
        ways
    }

    /// A link, and that the other way, has light or has not.
    fn light(&mut self, link: usize, has_light: bool) {
        let (from, to) = (self.links[link].from, self.links[link].to);
        for (other, its_light) in self.links.iter().zip(&mut self.has_light) {
            if (other.from, other.to) == (from, to) || (other.from, other.to) == (to, from) {
                *its_light = has_light;
            }
        }
        self.find();
    }

    fn find(&mut self) {
        let sinks: Vec<u16> = self.next.keys().copied().collect();
        for sink in sinks {
            let next = self.to(sink);
            self.next.insert(sink, next);
        }
    }

    /// Dijkstra from the end.
    fn to(&self, sink: u16) -> Vec<Option<usize>> {
        let mut best = vec![(u64::MAX, u64::MAX); self.routers];
        let mut next: Vec<Option<usize>> = vec![None; self.routers];
        best[usize::from(sink)] = (0, 0);
        let mut open = BinaryHeap::from([Reverse(((0, 0), sink))]);
        while let Some(Reverse((cost, at))) = open.pop() {
            if cost != best[usize::from(at)] {
                continue;
            }
            for (index, link) in self
                .links
                .iter()
                .enumerate()
                .filter(|(index, _)| self.has_light[*index])
            {
                let (Device::Router(from), Device::Router(to)) = (link.from, link.to) else {
                    continue;
                };
                let step = match self.metric {
                    Metric::Hops => 1,
                    Metric::Delay => link.delay.ns(),
                };
                let longer = (cost.0 + step, cost.1 + 1);
                let place = usize::from(from);
                // Ports lead to routers in their order.
                let has_lower_port = |known: usize| self.links[known].to > link.to;
                if to == at
                    && (longer < best[place] || longer == best[place] && next[place].is_some_and(has_lower_port))
                {
                    if longer < best[place] {
                        open.push(Reverse((longer, from)));
                    }
                    best[place] = longer;
                    next[place] = Some(index);
                }
            }
        }
        next
    }

    /// The links from router to router; `None` if there is no way.
    fn between(&self, [from, to]: [u16; 2]) -> Option<Vec<usize>> {
        let next = self.next.get(&to)?;
        let (mut at, mut way) = (from, Vec::new());
        while at != to {
            let link = next[usize::from(at)]?;
            way.push(link);
            let Device::Router(router) = self.links[link].to else {
                return None;
            };
            at = router;
        }
        Some(way)
    }
}
