// SPDX-License-Identifier: Apache-2.0
//! What each flow of a packet ring should get: the RIAS allocation ("ring ingress aggregated with spatial reuse", Gambiroza,
//! Yuan, Balazinska, Liu, Sheafor, Knightly, INFOCOM 2004), as the oracle that a ring's fairness is measured against.
//!
//! On every link the stations that add traffic share alike, each with all of its flows together, in proportion to their
//! weights; a station shares its part of a link alike among its flows; what a flow cannot use, since another link or its own
//! demand holds it back, others get.
//!
//! ```
//! use slotwise_rias::{Flow, Ring};
//!
//! // The parking lot: four stations send to the fifth. The first also sends to the second.
//! let ring = Ring::new(vec![600e6; 5])?;
//! let mut flows: Vec<Flow> = (0..4).map(|station| Flow::greedy(station, 4)).collect();
//! flows.push(Flow::greedy(0, 1));
//! let rates = ring.allocate(&flows)?;
//! assert!((rates[3] - 150e6).abs() < 1.0);
//! assert!((rates[4] - 450e6).abs() < 1.0);
//! # Ok::<(), slotwise_rias::RiasError>(())
//! ```

mod fill;

use std::ops::Range;

use fill::{Claim, offers};

/// How far a rate may be from what is offered, by the largest capacity.
const PRECISION: f64 = 1e-12;
/// Some hundred steps are enough for rings of 64 stations.
const MAX_STEPS: usize = 10_000;
/// Of the way from a rate to what is offered, how much a step goes at first,
const FIRST_PART: f64 = 0.5;
/// and after how many steps it is a half, a third, a quarter of that.
const STEPS_OF_A_PART: usize = 200;

/// Traffic from one station to another along the ringlet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// Station that adds it.
    pub source: usize,
    /// Station that takes it off; not the source.
    pub destination: usize,
    /// Most that it can use, in the unit of the capacities; `None` is greedy.
    pub demand: Option<f64>,
}

impl Flow {
    /// A flow that takes what it gets.
    pub fn greedy(source: usize, destination: usize) -> Flow {
        Flow {
            source,
            destination,
            demand: None,
        }
    }
}

/// One ringlet: link `i` leads from station `i` to the next one, the last one's to station 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Ring {
    capacities: Vec<f64>,
    weights: Vec<f64>,
}

/// Why there is no allocation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RiasError {
    /// Too few links.
    #[error("a ring has at least 2 stations, not {0}")]
    TooSmall(usize),
    /// A capacity, weight or demand that is no amount.
    #[error("{what} {index} is {value}; it must be finite and above 0 (a demand may be 0)")]
    BadAmount {
        /// "capacity of link", "weight of station" or "demand of flow".
        what: &'static str,
        /// Which one.
        index: usize,
        /// What it was.
        value: f64,
    },
    /// Not one weight for each station.
    #[error("{weights} weights for {stations} stations")]
    Weights {
        /// Weights that were given.
        weights: usize,
        /// Stations of the ring.
        stations: usize,
    },
    /// A flow of a station that the ring does not have, or to itself.
    #[error(
        "flow {flow} goes from station {source_station} to {destination}: both must be among the {stations} of the ring, and not the same"
    )]
    BadFlow {
        /// Which one.
        flow: usize,
        /// Where it comes from.
        source_station: usize,
        /// Where it goes.
        destination: usize,
        /// Stations of the ring.
        stations: usize,
    },
    /// The rates have not settled.
    #[error("no allocation after {0} steps")]
    NotFound(usize),
    /// It would take longer than the caller wants.
    #[error("no allocation within the work that was allowed")]
    TooMuch,
}

fn check_amount(what: &'static str, index: usize, value: f64, least: f64) -> Result<(), RiasError> {
    if value.is_finite() && value > least {
        return Ok(());
    }
    Err(RiasError::BadAmount { what, index, value })
}

impl Ring {
    /// A ringlet with links of these capacities, in any unit, and stations of weight 1. At least two links, each above 0.
    pub fn new(capacities: Vec<f64>) -> Result<Ring, RiasError> {
        if capacities.len() < 2 {
            return Err(RiasError::TooSmall(capacities.len()));
        }
        for (link, &capacity) in capacities.iter().enumerate() {
            check_amount("capacity of link", link, capacity, 0.0)?;
        }
        let weights = vec![1.0; capacities.len()];
        Ok(Ring { capacities, weights })
    }

    /// The same with a weight, above 0, for each station: links are shared in proportion to them.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Ring, RiasError> {
        if weights.len() != self.capacities.len() {
            return Err(RiasError::Weights {
                weights: weights.len(),
                stations: self.capacities.len(),
            });
        }
        for (station, &weight) in weights.iter().enumerate() {
            check_amount("weight of station", station, weight, 0.0)?;
        }
        self.weights = weights;
        Ok(self)
    }

    /// Links, as many as stations.
    pub fn links(&self) -> Range<usize> {
        0..self.capacities.len()
    }

    /// Weight of a station of the ring.
    pub fn weight(&self, station: usize) -> f64 {
        self.weights[station]
    }

    /// The links that a flow crosses, in order.
    pub fn path(&self, flow: &Flow) -> impl Iterator<Item = usize> + use<> {
        let stations = self.capacities.len();
        let (source, destination) = (flow.source, flow.destination);
        let hops = (destination + stations - source) % stations;
        (source..source + hops).map(move |link| link % stations)
    }

    fn check(&self, flows: &[Flow]) -> Result<(), RiasError> {
        let stations = self.capacities.len();
        for (index, flow) in flows.iter().enumerate() {
            if flow.source >= stations || flow.destination >= stations || flow.source == flow.destination {
                return Err(RiasError::BadFlow {
                    flow: index,
                    source_station: flow.source,
                    destination: flow.destination,
                    stations,
                });
            }
            if let Some(demand) = flow.demand {
                check_amount("demand of flow", index, demand, -f64::MIN_POSITIVE)?;
            }
        }
        Ok(())
    }

    /// The RIAS rate of each flow, in the unit of the capacities.
    ///
    /// Each link is filled as water would: it offers to a flow what is left if the others use what they have. Rates that are
    /// too low lead to offers that are too high, and the other way round: so each step goes a part of the way, the
    /// smaller the longer it takes (flows that hold back each other swing), until every flow has what the least of its links
    /// offers.
    pub fn allocate(&self, flows: &[Flow]) -> Result<Vec<f64>, RiasError> {
        let mut left = u64::MAX;
        self.allocate_within(flows, &mut left)
    }

    /// The same, but looks at no more than `left` claims to links, each beside each other one of a link, and takes off those that it did.
    ///
    /// # Errors
    /// [`RiasError::TooMuch`] if that does not do.
    pub fn allocate_within(&self, flows: &[Flow], left: &mut u64) -> Result<Vec<f64>, RiasError> {
        self.check(flows)?;
        let crossing = self.crossing(flows);
        let looks = crossing.iter().map(|crossing| self.looks(flows, crossing)).sum();
        let precision = PRECISION * self.capacities.iter().copied().fold(0.0, f64::max);
        let mut rates = vec![0.0; flows.len()];
        for step in 0..MAX_STEPS {
            *left = left.checked_sub(looks).ok_or(RiasError::TooMuch)?;
            let offers = self.offers(flows, &crossing, &rates);
            let is_settled = rates
                .iter()
                .zip(&offers)
                .all(|(rate, offer)| (rate - offer).abs() <= precision);
            if is_settled {
                return Ok(rates);
            }
            let part = FIRST_PART / (1 + step / STEPS_OF_A_PART) as f64;
            for (rate, offer) in rates.iter_mut().zip(offers) {
                *rate += part * (offer - *rate);
            }
        }
        Err(RiasError::NotFound(MAX_STEPS))
    }

    /// Of each link, the flows that cross it.
    fn crossing(&self, flows: &[Flow]) -> Vec<Vec<usize>> {
        let mut crossing = vec![Vec::new(); self.capacities.len()];
        for (index, flow) in flows.iter().enumerate() {
            for link in self.path(flow) {
                crossing[link].push(index);
            }
        }
        crossing
    }

    /// How many claims to a link each step looks at: of each station those of each other one, of each of its flows those of each other one.
    fn looks(&self, flows: &[Flow], crossing: &[usize]) -> u64 {
        let mut of_station = vec![0_u64; self.capacities.len()];
        for &flow in crossing {
            of_station[flows[flow].source] += 1;
        }
        let stations = of_station.iter().filter(|flows| **flows > 0).count() as u64;
        stations * stations + of_station.iter().map(|flows| flows * flows).sum::<u64>()
    }

    /// What each flow could get at most if the others use these rates: the least of what its links offer.
    fn offers(&self, flows: &[Flow], crossing: &[Vec<usize>], rates: &[f64]) -> Vec<f64> {
        let mut least: Vec<f64> = flows.iter().map(|flow| flow.demand.unwrap_or(f64::INFINITY)).collect();
        for (&capacity, crossing) in self.capacities.iter().zip(crossing) {
            let claims: Vec<Claim> = crossing
                .iter()
                .map(|&flow| Claim {
                    station: flows[flow].source,
                    weight: self.weights[flows[flow].source],
                    rate: rates[flow],
                })
                .collect();
            for (&flow, offer) in crossing.iter().zip(offers(capacity, &claims)) {
                least[flow] = least[flow].min(offer);
            }
        }
        least
    }

    /// What the flows of `station` have of `link` together.
    fn aggregate(&self, flows: &[Flow], rates: &[f64], link: usize, station: usize) -> f64 {
        flows
            .iter()
            .zip(rates)
            .filter(|(flow, _)| flow.source == station && self.path(flow).any(|crossed| crossed == link))
            .map(|(_, rate)| rate)
            .sum()
    }

    /// What `flow` (an index of `flows`) would have to be taken from others for: a link that is full, on which no other station
    /// has more by its weight than its own, and no other flow of its own station more than it. Rates are RIAS fair if, and only
    /// if, they are feasible and each flow has such a link or all it can use. `tolerance` is in the unit of the rates.
    pub fn bottleneck(&self, flows: &[Flow], rates: &[f64], flow: usize, tolerance: f64) -> Option<usize> {
        let own = &flows[flow];
        self.path(own).find(|&link| {
            let aggregates: Vec<f64> = self
                .links()
                .map(|station| self.aggregate(flows, rates, link, station))
                .collect();
            let own_part = aggregates[own.source] / self.weights[own.source];
            let full = aggregates.iter().sum::<f64>() >= self.capacities[link] - tolerance;
            let largest_part = aggregates
                .iter()
                .zip(&self.weights)
                .all(|(aggregate, weight)| aggregate / weight <= own_part + tolerance);
            let largest_flow = flows.iter().zip(rates).all(|(other, &rate)| {
                other.source != own.source
                    || !self.path(other).any(|crossed| crossed == link)
                    || rate <= rates[flow] + tolerance
            });
            full && largest_part && largest_flow
        })
    }

    /// Whether no link carries more than it can, up to `tolerance`.
    pub fn is_feasible(&self, flows: &[Flow], rates: &[f64], tolerance: f64) -> bool {
        let crossing = self.crossing(flows);
        crossing
            .iter()
            .zip(&self.capacities)
            .all(|(crossing, capacity)| crossing.iter().map(|&flow| rates[flow]).sum::<f64>() <= capacity + tolerance)
    }
}

/// How far measured rates are from those wanted: the largest |measured - wanted| / wanted over flows that want more than 0.
pub fn distance(measured: &[f64], wanted: &[f64]) -> f64 {
    measured
        .iter()
        .zip(wanted)
        .filter(|(_, wanted)| **wanted > 0.0)
        .map(|(measured, wanted)| (measured - wanted).abs() / wanted)
        .fold(0.0, f64::max)
}
