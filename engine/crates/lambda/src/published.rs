// SPDX-License-Identifier: Apache-2.0
//! Networks of the thesis that are described by how they are drawn.

use slotwise_units::{Duration, Instant};

use crate::draw::Draws;
use crate::fluid::{FluidSession, Node};
use crate::network::Session;
use crate::rule::Steps;

/// Stream of draws for what a network is.
const NETWORK: u64 = 0;
/// Table VII.2, ns and parts.
const INTERVAL_NS: [f64; 2] = [10e6, 100e6];
const RTT_NS: [f64; 2] = [1e6, 100e6];
const STEPS: [f64; 2] = [0.05, 0.15];

/// A network of VII.5, capacities 1: the first half of `nodes` (at least 2) are sources with `fan_out` sessions each, to sinks drawn at
/// random, several to one if it comes so; alpha, beta, intervals and phases drawn by node, round trips by session, demands the capacity.
pub fn large(nodes: usize, fan_out: usize, seed: u64) -> (Vec<Node>, Vec<FluidSession>) {
    let mut draws = Draws::new(seed, NETWORK);
    let sources = nodes / 2;
    let mut within = |[from, to]: [f64; 2]| draws.uniform(from, to);
    let node = |within: &mut dyn FnMut([f64; 2]) -> f64| {
        let interval = Duration::from_ns(within(INTERVAL_NS) as u64);
        let (alpha, beta) = (within(STEPS), within(STEPS));
        Node {
            capacity: 1.0,
            interval,
            phase: Instant::from_ns(within([0.0, interval.ns() as f64]) as u64),
            steps: Steps::new(alpha, beta).unwrap_or_default(),
        }
    };
    let drawn: Vec<Node> = (0..nodes).map(|_| node(&mut within)).collect();
    let session = |index: usize| {
        let sink = sources + draws.below(nodes - sources);
        let wants = Session {
            demand: Some(1.0),
            ..Session::between(index / fan_out, sink)
        };
        FluidSession::new(wants, Duration::from_ns(draws.uniform(RTT_NS[0], RTT_NS[1]) as u64))
    };
    let sessions = (0..sources * fan_out).map(session).collect();
    (drawn, sessions)
}
