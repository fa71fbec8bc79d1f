// SPDX-License-Identifier: Apache-2.0
//! The run: nodes calculate in order of time; sessions are brought up to date when somebody looks at them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use slotwise_units::Instant;

use super::past::Past;
use super::{FluidOptions, FluidSession, Node, Ties, check_node, check_session};
use crate::draw::{Draws, rank};
use crate::network::{LambdaError, Network, Session};
use crate::rule::{Claim, grants};

/// Stream of draws for lost grants.
const LOST: u64 = 1;

/// A fluid network on its way. Inside, times are ns with a sign: what came at the start left before it.
#[derive(Debug, Clone)]
pub struct Fluid {
    options: FluidOptions,
    now_ns: i64,
    nodes: Vec<NodeState>,
    sessions: Vec<SessionState>,
    /// (time, what, which), the earliest first.
    events: BinaryHeap<Reverse<(i64, Event)>>,
    lost: Draws,
    calculations: u64,
    /// Joins, leaves and new demands so far.
    changes: u64,
    most_granted: f64,
    claims: Vec<Claim>,
}

/// In this order at one time: a session that has left is not calculated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// (session, place in its list of demands).
    Wants(usize, usize),
    Leaves(usize),
    Forgotten(usize),
    Joins(usize),
    SourceHears(usize),
    Calculates(usize),
}

#[derive(Debug, Clone)]
struct NodeState {
    node: Node,
    /// Sessions counted, with which of their crossings, in the order in which they were counted.
    members: Vec<(usize, usize)>,
    calculations: u64,
}

#[derive(Debug, Clone)]
struct SessionState {
    about: FluidSession,
    past: Past,
    /// In the order of its links.
    crossings: Vec<Crossing>,
    wanted: f64,
    is_there: bool,
}

/// A session at one of its links.
#[derive(Debug, Clone)]
struct Crossing {
    link: usize,
    /// From the source to here, and from here to the source.
    delay_ns: i64,
    /// What came until this link's last calculation, in units of rate times ns.
    seen: f64,
    /// When this link began to count the session.
    since_ns: i64,
    /// What the source knows that it may send by this link.
    granted: f64,
    /// (time of arrival at the source, grant), in order.
    on_their_way: VecDeque<(i64, f64)>,
}

impl SessionState {
    fn new(about: &FluidSession) -> SessionState {
        let links = &about.session.links;
        let half_ns = (about.rtt.ns() / 2) as i64;
        let last = (links.len() - 1).max(1) as i64;
        let crossing = |(place, &link): (usize, &usize)| Crossing {
            link,
            delay_ns: half_ns * place as i64 / last,
            seen: 0.0,
            since_ns: 0,
            granted: about.initial.unwrap_or(0.0),
            on_their_way: VecDeque::new(),
        };
        let mut state = SessionState {
            past: Past::new(0.0),
            crossings: links.iter().enumerate().map(crossing).collect(),
            wanted: about.session.wanted(),
            is_there: false,
            about: about.clone(),
        };
        state.past = Past::new(about.initial.map_or(0.0, |initial| initial.min(state.wanted)));
        state
    }

    /// The least of its grants and what it wants.
    fn set_rate(&mut self, at_ns: i64) {
        let least = self
            .crossings
            .iter()
            .map(|crossing| crossing.granted)
            .fold(self.wanted, f64::min);
        self.past.change(at_ns, if self.is_there { least } else { 0.0 });
    }

    /// Takes the grants that have come by then.
    fn advance(&mut self, to_ns: i64) {
        loop {
            let first = |crossing: &Crossing| crossing.on_their_way.front().map(|(at_ns, _)| *at_ns);
            let next = (0..self.crossings.len())
                .filter_map(|place| Some((first(&self.crossings[place])?, place)))
                .min();
            let Some((at_ns, place)) = next.filter(|(at_ns, _)| *at_ns <= to_ns) else {
                return;
            };
            if let Some((_, grant)) = self.crossings[place].on_their_way.pop_front() {
                self.crossings[place].granted = grant;
            }
            self.set_rate(at_ns);
        }
    }

    /// What came to a link until then.
    fn came(&self, place: usize, at_ns: i64) -> f64 {
        self.past.sent_at(at_ns - self.crossings[place].delay_ns)
    }
}

impl Fluid {
    /// At time 0, before anything has happened.
    ///
    /// # Errors
    /// The first thing that is out of its range.
    pub fn new(nodes: &[Node], sessions: &[FluidSession], options: FluidOptions) -> Result<Fluid, LambdaError> {
        for (index, node) in nodes.iter().enumerate() {
            check_node(index, node)?;
        }
        let capacities = nodes.iter().map(|node| node.capacity).collect();
        // Checks links, weights and demands.
        Network::new(capacities, sessions.iter().map(|of| of.session.clone()).collect())?;
        for (index, session) in sessions.iter().enumerate() {
            check_session(index, session)?;
        }
        if !(0.0..1.0).contains(&options.lost_grants) {
            return Err(LambdaError::BadAmount {
                what: "grant loss ratio",
                index: 0,
                value: options.lost_grants,
                range: "at least 0 and below 1",
            });
        }
        let mut events = BinaryHeap::new();
        for (index, node) in nodes.iter().enumerate() {
            events.push(Reverse((node.phase.ns() as i64, Event::Calculates(index))));
        }
        for (index, session) in sessions.iter().enumerate() {
            events.push(Reverse((session.join.ns() as i64, Event::Joins(index))));
            for (place, (at, _)) in session.demands.iter().enumerate() {
                events.push(Reverse((at.ns() as i64, Event::Wants(index, place))));
            }
            if let Some(leave) = session.leave {
                events.push(Reverse((leave.ns() as i64, Event::Leaves(index))));
            }
        }
        let node = |node: &Node| NodeState {
            node: *node,
            members: Vec::new(),
            calculations: 0,
        };
        let mut fluid = Fluid {
            options,
            now_ns: 0,
            nodes: nodes.iter().map(node).collect(),
            sessions: sessions.iter().map(SessionState::new).collect(),
            events,
            lost: Draws::new(options.seed, LOST),
            calculations: 0,
            changes: 0,
            most_granted: 0.0,
            claims: Vec::new(),
        };
        for (index, _) in sessions.iter().enumerate().filter(|(_, of)| of.initial.is_some()) {
            fluid.sessions[index].is_there = true;
            for place in 0..fluid.sessions[index].crossings.len() {
                fluid.count(index, place, 0);
            }
        }
        Ok(fluid)
    }

    /// Lets everything happen until then, that time included. An earlier time changes nothing.
    pub fn run_until(&mut self, until: Instant) {
        let until_ns = until.ns() as i64;
        while let Some(&Reverse((at_ns, event))) = self.events.peek() {
            if at_ns > until_ns {
                break;
            }
            self.events.pop();
            self.happens(at_ns, event);
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    fn happens(&mut self, at_ns: i64, event: Event) {
        if matches!(event, Event::Wants(..) | Event::Joins(_) | Event::Leaves(_)) {
            self.changes += 1;
        }
        match event {
            Event::Wants(session, place) => {
                let state = &mut self.sessions[session];
                state.advance(at_ns);
                state.about.session.demand = state.about.demands[place].1;
                state.wanted = state.about.session.wanted();
                state.set_rate(at_ns);
            }
            Event::Joins(session) => {
                let state = &mut self.sessions[session];
                if state.about.initial.is_some() {
                    return;
                }
                state.is_there = true;
                let half_ns = (state.about.rtt.ns() / 2) as i64;
                for place in 1..state.crossings.len() {
                    self.count(session, place, at_ns);
                }
                self.events
                    .push(Reverse((at_ns + half_ns, Event::SourceHears(session))));
            }
            Event::SourceHears(session) => {
                if self.sessions[session].is_there {
                    self.count(session, 0, at_ns);
                }
            }
            Event::Leaves(session) => {
                let state = &mut self.sessions[session];
                state.advance(at_ns);
                state.is_there = false;
                state.set_rate(at_ns);
                let last_ns = state.crossings.last().map_or(0, |last| last.delay_ns);
                self.forget(session, 0);
                self.events.push(Reverse((at_ns + last_ns, Event::Forgotten(session))));
            }
            Event::Forgotten(session) => {
                for place in 1..self.sessions[session].crossings.len() {
                    self.forget(session, place);
                }
            }
            Event::Calculates(node) => {
                self.calculate(node, at_ns);
                let next_ns = at_ns + self.nodes[node].node.interval.ns() as i64;
                self.events.push(Reverse((next_ns, Event::Calculates(node))));
            }
        }
    }

    /// A link counts a session from now on.
    fn count(&mut self, session: usize, place: usize, at_ns: i64) {
        let state = &mut self.sessions[session];
        let node = &mut self.nodes[state.crossings[place].link];
        // Of one that sends since ever the first interval began before the start.
        let before_ns = match state.about.initial {
            Some(_) => node.node.phase.ns() as i64 - node.node.interval.ns() as i64,
            None => at_ns,
        };
        state.advance(at_ns);
        state.crossings[place].seen = state.came(place, before_ns);
        state.crossings[place].since_ns = at_ns;
        node.members.push((session, place));
    }

    fn forget(&mut self, session: usize, place: usize) {
        let link = self.sessions[session].crossings[place].link;
        self.nodes[link].members.retain(|(member, _)| *member != session);
    }

    /// One calculation of algorithm 2 or 3.
    fn calculate(&mut self, index: usize, at_ns: i64) {
        let NodeState {
            node,
            members,
            calculations,
        } = &mut self.nodes[index];
        let interval_ns = node.interval.ns() as i64;
        *calculations += 1;
        self.calculations += 1;
        self.claims.clear();
        let rtts = members.iter().map(|&(session, _)| self.sessions[session].about.rtt);
        let longest_ns = rtts.max().unwrap_or_default().ns() as i64;
        for &(session, place) in members.iter() {
            let state = &mut self.sessions[session];
            state.advance(at_ns);
            let came = state.came(place, at_ns);
            let crossing = &mut state.crossings[place];
            // Sums of pieces may be off by their last digits.
            let measured = ((came - crossing.seen) / interval_ns as f64).max(0.0);
            crossing.seen = came;
            // Others are cut within their round trip, it is told within half of its own, and seen half of it later, in a whole interval.
            let young_ns = longest_ns + state.about.rtt.ns() as i64 + 3 * interval_ns;
            let (delay_ns, since_ns) = (crossing.delay_ns, crossing.since_ns);
            if place + 1 == state.crossings.len() {
                state.past.forget_before(at_ns - delay_ns);
            }
            self.claims.push(Claim {
                measured,
                weight: state.about.session.weight,
                steps: state.about.steps.unwrap_or(node.steps),
                rank: match self.options.ties {
                    Ties::Drawn => rank(self.options.seed, index, *calculations, session),
                    Ties::AsListed => 0,
                },
                is_new: state.about.initial.is_none() && at_ns - since_ns < young_ns,
            });
        }
        // Capacities, weights and measured rates are in their ranges.
        let granted = grants(node.capacity, self.options.rule, &self.claims).unwrap_or_default();
        self.most_granted = self.most_granted.max(granted.iter().sum::<f64>() / node.capacity);
        for (&(session, place), granted) in members.iter().zip(granted) {
            let state = &mut self.sessions[session];
            if place == 0 {
                state.crossings[0].granted = granted;
                state.set_rate(at_ns);
            } else if self.options.lost_grants == 0.0 || self.lost.uniform(0.0, 1.0) >= self.options.lost_grants {
                let crossing = &mut state.crossings[place];
                crossing.on_their_way.push_back((at_ns + crossing.delay_ns, granted));
            }
        }
    }

    /// Present time.
    pub fn now(&self) -> Instant {
        Instant::from_ns(self.now_ns as u64)
    }

    /// Calculations of all nodes so far.
    pub fn calculations(&self) -> u64 {
        self.calculations
    }

    /// Sessions, those included that are not there now.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How often a session joined, left or wanted something else so far: whether [`Fluid::present`] may be another one.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What a session sends at now.
    pub fn rate(&mut self, session: usize) -> f64 {
        self.sessions[session].advance(self.now_ns);
        self.sessions[session].past.rate()
    }

    /// What a session has sent until now since the start, in units of rate times ns.
    pub fn sent(&mut self, session: usize) -> f64 {
        self.sessions[session].advance(self.now_ns);
        self.sessions[session].past.sent_at(self.now_ns)
    }

    /// What came to each link of all its sessions until now, in the same units, those that it does not count any more included.
    pub fn came(&mut self) -> Vec<f64> {
        let mut sums = vec![0.0; self.nodes.len()];
        for state in &mut self.sessions {
            state.advance(self.now_ns);
            for (place, crossing) in state.crossings.iter().enumerate() {
                sums[crossing.link] += state.came(place, self.now_ns);
            }
        }
        sums
    }

    /// The most that one calculation has granted, by its node's capacity, since this was last asked for; 0 if there was none.
    pub fn take_most_granted(&mut self) -> f64 {
        std::mem::take(&mut self.most_granted)
    }

    /// Capacity of a link.
    pub fn capacity(&self, link: usize) -> f64 {
        self.nodes[link].node.capacity
    }

    /// Of each session whether it is there now: its sink has asked for it, and it has not left.
    pub fn is_there(&self, session: usize) -> bool {
        self.sessions[session].is_there
    }

    /// What a session wants now; infinite if it is greedy.
    pub fn wanted(&self, session: usize) -> f64 {
        self.sessions[session].wanted
    }

    /// The sessions that are there now, by number, and the network of these alone: what the oracle solves.
    pub fn present(&self) -> (Vec<usize>, Network) {
        let capacities = self.nodes.iter().map(|state| state.node.capacity).collect();
        let there: Vec<usize> = (0..self.sessions.len()).filter(|&index| self.is_there(index)).collect();
        let sessions: Vec<Session> = there
            .iter()
            .map(|&index| self.sessions[index].about.session.clone())
            .collect();
        let network = Network::new(capacities, sessions);
        (
            there,
            network.unwrap_or_else(|error| unreachable!("checked when this was made: {error}")),
        )
    }
}
