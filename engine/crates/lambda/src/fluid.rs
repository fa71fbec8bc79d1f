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
use slotwise_units::{Duration, Instant};

use crate::network::{LambdaError, Session, check_amount};
use crate::rule::{Rule, Steps};

pub use run::Fluid;
pub use sample::{Sample, Samples};

/// Longer runs, intervals and round trips are refused: an integral over them, in ns, keeps its 13 digits.
pub const MAX_TIME: Duration = Duration::from_s(10_000);

/// A link that calculates: an end node, or a link inside the network whose router runs the same rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// In the unit of all rates.
    pub capacity: f64,
    /// The control interval d, above 0.
    pub interval: Duration,
    /// When its first interval ends, at most `interval` after the start, and the following each `interval` later.
    pub phase: Instant,
    /// Steps of sessions without their own.
    pub steps: Steps,
}

/// A session, when it is there, and what it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct FluidSession {
    /// What it crosses, the source first, and what it wants at first.
    pub session: Session,
    /// Round-trip time: half of it from the source to the sink and half back. Links between the two are evenly spaced.
    pub rtt: Duration,
    /// Its own steps, at every node that it crosses.
    pub steps: Option<Steps>,
    /// When its sink asks for it: all links but the source count it from then on, the source half a round trip later.
    pub join: Instant,
    /// When it stops: its source forgets it then, the others when the last of it has come.
    pub leave: Option<Instant>,
    /// (time, what it wants from then on).
    pub demands: Vec<(Instant, Option<f64>)>,
    /// Sends at this rate since ever, by grants of all its links; such a session joins at 0. `None`: at 0 until first grants.
    pub initial: Option<f64>,
}

impl FluidSession {
    /// From the start to the end, from rate 0.
    pub fn new(session: Session, rtt: Duration) -> FluidSession {
        FluidSession {
            session,
            rtt,
            steps: None,
            join: Instant::ZERO,
            leave: None,
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

fn check_time(
    what: &'static str,
    index: usize,
    time: Duration,
    most: Duration,
    range: &'static str,
) -> Result<(), LambdaError> {
    if time <= most {
        return Ok(());
    }
    Err(LambdaError::BadAmount {
        what,
        index,
        value: time.ns() as f64,
        range,
    })
}

fn check_node(index: usize, node: &Node) -> Result<(), LambdaError> {
    check_amount("capacity of link", index, node.capacity, false)?;
    check_amount("interval in ns of link", index, node.interval.ns() as f64, false)?;
    check_time("interval in ns of link", index, node.interval, MAX_TIME, "at most 1e13")?;
    let range = "at most the interval";
    check_time(
        "phase in ns of link",
        index,
        node.phase.since_start(),
        node.interval,
        range,
    )
}

fn check_session(index: usize, session: &FluidSession) -> Result<(), LambdaError> {
    let demands = session.demands.iter().map(|(at, _)| *at);
    let instants = [session.join].into_iter().chain(session.leave).chain(demands);
    let times = [session.rtt].into_iter().chain(instants.map(Instant::since_start));
    for time in times {
        check_time("time in ns of session", index, time, MAX_TIME, "at most 1e13")?;
    }
    for demand in session.demands.iter().filter_map(|(_, demand)| *demand) {
        check_amount("demand of session", index, demand, true)?;
    }
    if let Some(leave) = session.leave.filter(|leave| *leave <= session.join) {
        return Err(LambdaError::BadAmount {
            what: "end in ns of session",
            index,
            value: leave.ns() as f64,
            range: "after its start",
        });
    }
    if let Some(initial) = session.initial {
        check_amount("initial rate of session", index, initial, true)?;
        check_time(
            "start in ns of session",
            index,
            session.join.since_start(),
            Duration::ZERO,
            "0 for a session with an initial rate",
        )?;
    }
    Ok(())
}
