// SPDX-License-Identifier: Apache-2.0
//! Max-min fair rates by algorithm 1: the oracle that everything else is measured against.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::certificate::Bound;
use crate::network::Network;

/// Max-min fair rates; there is one such vector only (proposition 1).
#[derive(Debug, Clone, PartialEq)]
pub struct MaxMin {
    /// Of each session, in the unit of the capacities.
    pub rates: Vec<f64>,
    /// What bounds each session; [`crate::check`] finds out again, from the rates alone.
    pub bounds: Vec<Bound>,
    /// Rounds of algorithm 1, at most as many as sessions.
    pub rounds: usize,
}

/// A finite level (a rate by weight) that orders as a number; levels are never NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level(f64);

impl Eq for Level {}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Level) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Level {
    fn cmp(&self, other: &Level) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// What is left of a link.
#[derive(Debug, Clone, Copy)]
struct Left {
    /// For the sessions that are not settled.
    capacity: f64,
    /// Their weights together, and their number: a sum of weights taken off one by one need not end at 0.
    weights: f64,
    open: usize,
}

impl Left {
    /// Rate by weight of each session that is not settled if they share what is left: b(v) of equation V.2.
    fn level(&self) -> f64 {
        (self.capacity / self.weights).max(0.0)
    }
}

/// Max-min fair rates by algorithm 1, with weights: the open link with the least level settles all its sessions there, unless an open
/// session wants less than that; then the one that wants least gets it. Levels never fall, so a heap finds the least ones:
/// (links + crossings) logarithms in all.
pub fn max_min(network: &Network) -> MaxMin {
    let sessions = network.sessions();
    let left = |link: usize| Left {
        capacity: network.capacities()[link],
        weights: network.crossing(link).iter().map(|&of| sessions[of].weight).sum(),
        open: network.crossing(link).len(),
    };
    let mut left: Vec<Left> = (0..network.capacities().len()).map(left).collect();
    let open_links = left.iter().enumerate().filter(|(_, left)| left.open > 0);
    let mut levels: BinaryHeap<Reverse<(Level, usize)>> = open_links
        .map(|(link, left)| Reverse((Level(left.level()), link)))
        .collect();
    let mut by_demand: Vec<(Level, usize)> = sessions
        .iter()
        .enumerate()
        .filter_map(|(index, session)| Some((Level(session.demand? / session.weight), index)))
        .collect();
    by_demand.sort_unstable();
    let mut by_demand = by_demand.into_iter().peekable();
    let mut rates = vec![0.0; sessions.len()];
    let mut bounds: Vec<Option<Bound>> = vec![None; sessions.len()];
    let mut rounds = 0;
    while let Some(&Reverse((level, link))) = levels.peek() {
        if left[link].open == 0 {
            levels.pop();
            continue;
        }
        let now = Level(left[link].level());
        if now > level {
            levels.pop();
            levels.push(Reverse((now, link)));
            continue;
        }
        while by_demand.peek().is_some_and(|(_, index)| bounds[*index].is_some()) {
            by_demand.next();
        }
        let wants_less = by_demand.next_if(|(wanted, _)| *wanted <= level);
        rounds += 1;
        let settled: Vec<(usize, f64, Bound)> = match wants_less {
            Some((_, index)) => vec![(index, sessions[index].wanted(), Bound::Demand)],
            None => {
                let open = network.crossing(link).iter().filter(|&&index| bounds[index].is_none());
                open.map(|&index| (index, level.0 * sessions[index].weight, Bound::Link(link)))
                    .collect()
            }
        };
        for (index, rate, bound) in settled {
            rates[index] = rate;
            bounds[index] = Some(bound);
            for &crossed in &sessions[index].links {
                left[crossed].capacity -= rate;
                left[crossed].weights -= sessions[index].weight;
                left[crossed].open -= 1;
            }
        }
    }
    MaxMin {
        rates,
        // Each session crosses a link, and no link stays open.
        bounds: bounds.into_iter().map(|bound| bound.unwrap_or(Bound::Demand)).collect(),
        rounds,
    }
}
