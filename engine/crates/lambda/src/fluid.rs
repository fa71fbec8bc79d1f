// SPDX-License-Identifier: Apache-2.0
//! GTP without packets: sessions send at exact rates, nodes measure them exactly, grants take half a round trip. What is left out are
//! packets, queues and losses.
//!
//! A session sends at the least of what its source grants, what each other link granted half a round trip ago (a link inside the network:
//! its part of it), and its demand (VI.2). A rate changes only when a node has calculated, so a session's past is a few pieces of
//! straight lines, and a node's calculation is an integral over them: the work is in calculations of nodes, whatever the rates.

mod past;
mod run;
mod sample;

use serde::Deserialize;

use crate::network::{LambdaError, Session, check_amount};
use crate::rule::{Rule, Steps};

pub use run::Fluid;
pub use sample::{Sample, Samples};

/// Times in ns. Longer runs, intervals and round trips are refused: an integral over them keeps its 13 digits.
pub const MAX_NS: u64 = 10_000_000_000_000;

/// A link that calculates: an end node, or a link inside the network whose router runs the same rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// In the unit of all rates.
    pub capacity: f64,
    /// The control interval d, above 0.
    pub interval_ns: u64,
    /// When its first interval ends, at most `interval_ns`, and the following each `interval_ns` later.
    pub phase_ns: u64,
    /// Steps of sessions without their own.
    pub steps: Steps,
}

/// A session, when it is there, and what it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct FluidSession {
    /// What it crosses, the source first, and what it wants at first.
    pub session: Session,
    /// Round-trip time: half of it from the source to the sink and half back. Links between the two are evenly spaced.
    pub rtt_ns: u64,
    /// Its own steps, at every node that it crosses.
    pub steps: Option<Steps>,
    /// When its sink asks for it: all links but the source count it from then on, the source half a round trip later.
    pub join_ns: u64,
    /// When it stops: its source forgets it then, the others when the last of it has come.
    pub leave_ns: Option<u64>,
    /// (time in ns, what it wants from then on).
    pub demands: Vec<(u64, Option<f64>)>,
    /// Sends at this rate since ever, by grants of all its links; such a session joins at 0. `None`: at 0 until first grants.
    pub initial: Option<f64>,
}

impl FluidSession {
    /// From the start to the end, from rate 0.
    pub fn new(session: Session, rtt_ns: u64) -> FluidSession {
        FluidSession {
            session,
            rtt_ns,
            steps: None,
            join_ns: 0,
            leave_ns: None,
            demands: Vec::new(),
            initial: None,
        }
    }
}

/// Who comes first among sessions of equal measured rate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Drawn from the seed, anew in each calculation of each node.
    #[default]
    Drawn,
    /// Those that joined first: the same sessions get the most at every start.
    AsListed,
}

/// How nodes calculate.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct FluidOptions {
    /// Of ties and lost grants.
    pub seed: u64,
    /// The local rule.
    pub rule: Rule,
    /// Who is first among equals.
    pub ties: Ties,
    /// Part of the grants to sources that are lost on their way, from 0 to below 1.
    pub lost_grants: f64,
}

fn check_time(what: &'static str, index: usize, ns: u64, most_ns: u64, range: &'static str) -> Result<(), LambdaError> {
    if ns <= most_ns {
        return Ok(());
    }
    Err(LambdaError::BadAmount {
        what,
        index,
        value: ns as f64,
        range,
    })
}

fn check_node(index: usize, node: &Node) -> Result<(), LambdaError> {
    check_amount("capacity of link", index, node.capacity, false)?;
    check_amount("interval in ns of link", index, node.interval_ns as f64, false)?;
    check_time(
        "interval in ns of link",
        index,
        node.interval_ns,
        MAX_NS,
        "at most 1e13",
    )?;
    let range = "at most the interval";
    check_time("phase in ns of link", index, node.phase_ns, node.interval_ns, range)
}

fn check_session(index: usize, session: &FluidSession) -> Result<(), LambdaError> {
    let times = [session.rtt_ns, session.join_ns].into_iter().chain(session.leave_ns);
    for ns in times.chain(session.demands.iter().map(|(ns, _)| *ns)) {
        check_time("time in ns of session", index, ns, MAX_NS, "at most 1e13")?;
    }
    for demand in session.demands.iter().filter_map(|(_, demand)| *demand) {
        check_amount("demand of session", index, demand, true)?;
    }
    if let Some(leave_ns) = session.leave_ns.filter(|leave_ns| *leave_ns <= session.join_ns) {
        return Err(LambdaError::BadAmount {
            what: "end in ns of session",
            index,
            value: leave_ns as f64,
            range: "after its start",
        });
    }
    if let Some(initial) = session.initial {
        check_amount("initial rate of session", index, initial, true)?;
        check_time(
            "start in ns of session",
            index,
            session.join_ns,
            0,
            "0 for a session with an initial rate",
        )?;
    }
    Ok(())
}
