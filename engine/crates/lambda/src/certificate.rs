// SPDX-License-Identifier: Apache-2.0
//! Whether rates are max-min fair, without solving anything.

use crate::network::{LambdaError, Network};

/// Why a session of max-min fair rates cannot have more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// It has all it wants.
    Demand,
    /// This link is full, and no session on it has more by its weight.
    Link(usize),
}

/// What rates lack.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotFair {
    /// They are no rates of this network's sessions.
    #[error(transparent)]
    NoRates(#[from] LambdaError),
    /// A link carries too much.
    #[error("link {link}: load {load} exceeds the capacity {capacity}")]
    Overfull {
        /// Which one.
        link: usize,
        /// The sum of the rates.
        load: f64,
        /// What it may be.
        capacity: f64,
    },
    /// A session has more than it can use.
    #[error("session {session}: rate {rate} exceeds the demand {demand}")]
    AboveDemand {
        /// Which one.
        session: usize,
        /// What it has.
        rate: f64,
        /// What it wants.
        demand: f64,
    },
    /// A session could have more without taking any from one that has no more than it.
    #[error(
        "session {session}: rate {rate} is below the demand, and no saturated link gives it the largest weighted rate"
    )]
    NoBound {
        /// Which one.
        session: usize,
        /// What it has.
        rate: f64,
    },
}

/// Checks that rates are feasible (definition 1) and that each session has all it wants, or a full link on which no other has more by its
/// weight (definition 2): that is so if, and only if, they are max-min fair. `tolerance` is in the unit of the rates, and of rates by weight.
///
/// # Errors
/// The first thing that they lack; of `rates`, that there is not one, at least 0, for each session.
pub fn check(network: &Network, rates: &[f64], tolerance: f64) -> Result<Vec<Bound>, NotFair> {
    let sessions = network.sessions();
    if rates.len() != sessions.len() {
        return Err(NotFair::NoRates(LambdaError::Rates {
            rates: rates.len(),
            sessions: sessions.len(),
        }));
    }
    for (session, &rate) in rates.iter().enumerate() {
        crate::network::check_amount("rate of session", session, rate, true)?;
        let demand = sessions[session].wanted();
        if rate > demand + tolerance {
            return Err(NotFair::AboveDemand { session, rate, demand });
        }
    }
    // Of each link, the most that a session has on it by its weight; none if there is room.
    let mut most: Vec<Option<f64>> = Vec::with_capacity(network.capacities().len());
    for (link, &capacity) in network.capacities().iter().enumerate() {
        let crossing = network.crossing(link);
        let load: f64 = crossing.iter().map(|&index| rates[index]).sum();
        if load > capacity + tolerance {
            return Err(NotFair::Overfull { link, load, capacity });
        }
        let levels = crossing.iter().map(|&index| rates[index] / sessions[index].weight);
        most.push(levels.reduce(f64::max).filter(|_| load >= capacity - tolerance));
    }
    let bound = |(session, &rate): (usize, &f64)| {
        if rate >= sessions[session].wanted() - tolerance {
            return Ok(Bound::Demand);
        }
        let level = rate / sessions[session].weight;
        let mut links = sessions[session].links.iter();
        let link = links.find(|&&link| most[link].is_some_and(|most| level >= most - tolerance));
        link.map(|&link| Bound::Link(link))
            .ok_or(NotFair::NoBound { session, rate })
    };
    rates.iter().enumerate().map(bound).collect()
}
