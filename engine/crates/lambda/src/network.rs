// SPDX-License-Identifier: Apache-2.0
//! Links with capacities, and sessions that cross them.

/// Links and sessions, checked. An end node is a link: what it sends as a source, or takes as a sink, is at most its capacity (V.1);
/// links inside a network are no different.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    capacities: Vec<f64>,
    sessions: Vec<Session>,
    /// Of each link, the sessions that cross it, in their order.
    crossing: Vec<Vec<usize>>,
}

/// A session: what it crosses and what it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Links, each once, at least one: the source's first, the sink's last.
    pub links: Vec<usize>,
    /// Most that it can use, in the unit of the capacities, at least 0 (the desired rate M of VI.2); `None` is greedy.
    pub demand: Option<f64>,
    /// Its part of a full link, above 0, beside those of others; 1 in the thesis.
    pub weight: f64,
}

impl Session {
    /// A greedy session of weight 1 between two end nodes.
    pub fn between(source: usize, sink: usize) -> Session {
        Session {
            links: vec![source, sink],
            demand: None,
            weight: 1.0,
        }
    }

    /// The demand; infinite if it is greedy.
    pub fn wanted(&self) -> f64 {
        self.demand.unwrap_or(f64::INFINITY)
    }
}

/// What is no network, no rule or no claim.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LambdaError {
    /// An amount out of its range.
    #[error("{what} {index}: out of range; expected {range}, got {value}")]
    BadAmount {
        /// "capacity of link" for example.
        what: &'static str,
        /// Which one.
        index: usize,
        /// What it was.
        value: f64,
        /// What would be right.
        range: &'static str,
    },
    /// A session without links would have no bound.
    #[error("session {session}: no links; expected at least one")]
    NoLink {
        /// Which one.
        session: usize,
    },
    /// A session crosses a link that there is not, or one twice.
    #[error("session {session}: link {link} is unknown or repeated; expected each of the {links} links at most once")]
    BadLink {
        /// Which session.
        session: usize,
        /// Which link.
        link: usize,
        /// How many there are.
        links: usize,
    },
    /// Not one rate for each session.
    #[error("{rates} rates for {sessions} sessions; expected one per session")]
    Rates {
        /// Rates that were given.
        rates: usize,
        /// Sessions of the network.
        sessions: usize,
    },
}

pub(crate) const ABOVE_ZERO: &str = "finite and above 0";
pub(crate) const NOT_NEGATIVE: &str = "finite and at least 0";

/// Refuses what is not finite, or not above 0; 0 itself if `zero` allows it.
pub(crate) fn check_amount(what: &'static str, index: usize, value: f64, zero: bool) -> Result<(), LambdaError> {
    if value.is_finite() && (value > 0.0 || zero && value == 0.0) {
        return Ok(());
    }
    Err(LambdaError::BadAmount {
        what,
        index,
        value,
        range: if zero { NOT_NEGATIVE } else { ABOVE_ZERO },
    })
}

impl Network {
    /// Links of these capacities, each above 0, and sessions over them.
    ///
    /// # Errors
    /// The first amount or link that is wrong.
    pub fn new(capacities: Vec<f64>, sessions: Vec<Session>) -> Result<Network, LambdaError> {
        for (link, &capacity) in capacities.iter().enumerate() {
            check_amount("capacity of link", link, capacity, false)?;
        }
        let mut crossing = vec![Vec::new(); capacities.len()];
        for (index, session) in sessions.iter().enumerate() {
            check_amount("weight of session", index, session.weight, false)?;
            if let Some(demand) = session.demand {
                check_amount("demand of session", index, demand, true)?;
            }
            if session.links.is_empty() {
                return Err(LambdaError::NoLink { session: index });
            }
            for &link in &session.links {
                let links = capacities.len();
                let bad = LambdaError::BadLink {
                    session: index,
                    link,
                    links,
                };
                let there: &mut Vec<usize> = crossing.get_mut(link).ok_or_else(|| bad.clone())?;
                if there.last() == Some(&index) {
                    return Err(bad);
                }
                there.push(index);
            }
        }
        Ok(Network {
            capacities,
            sessions,
            crossing,
        })
    }

    /// Capacities of the links.
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// The sessions.
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }

    /// The sessions that cross a link of the network, in their order.
    pub fn crossing(&self, link: usize) -> &[usize] {
        &self.crossing[link]
    }
}
