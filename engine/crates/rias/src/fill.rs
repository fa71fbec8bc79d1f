// SPDX-License-Identifier: Apache-2.0
//! One link, filled as water would: first among stations by weight, then among the flows of a station.

/// A flow's claim to a link.
pub(crate) struct Claim {
    pub(crate) station: usize,
    /// Of the station.
    pub(crate) weight: f64,
    /// What it can use.
    pub(crate) rate: f64,
}

/// What who wants without bound gets of `amount`, shared with others that want no more than `wants` (amount, weight; the least by its weight
/// first): each gets the same by weight, but no more than it wants.
fn share(amount: f64, weight: f64, wants: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let mut left = amount;
    let mut weights: f64 = weight + wants.clone().map(|(_, weight)| weight).sum::<f64>();
    for (want, its_weight) in wants {
        if want / its_weight >= left / weights {
            break;
        }
        left -= want;
        weights -= its_weight;
    }
    left * weight / weights
}

/// Numbers of wants (amount, weight), the least by its weight first.
fn in_order(wants: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wants.len()).collect();
    let part = |at: usize| wants[at].0 / wants[at].1;
    order.sort_by(|&a, &b| part(a).total_cmp(&part(b)));
    order
}

/// What each of `wants` would get of `amount` if it could use any amount, the others what they want.
fn shares(amount: f64, wants: &[(f64, f64)]) -> Vec<f64> {
    let order = in_order(wants);
    let share_of = |at: usize| {
        let others = order
            .iter()
            .filter(move |&&other| other != at)
            .map(|&other| wants[other]);
        share(amount, wants[at].1, others)
    };
    (0..wants.len()).map(share_of).collect()
}

/// What the flow of each claim gets of a link of this capacity if it can use any amount, the others what they claim.
pub(crate) fn offers(capacity: f64, claims: &[Claim]) -> Vec<f64> {
    // Of each station: its number, what it claims with all its flows and its weight, and those flows.
    let mut stations: Vec<usize> = Vec::new();
    let mut wants: Vec<(f64, f64)> = Vec::new();
    let mut flows: Vec<Vec<usize>> = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        match stations.iter().position(|station| *station == claim.station) {
            Some(at) => {
                wants[at].0 += claim.rate;
                flows[at].push(index);
            }
            None => {
                stations.push(claim.station);
                wants.push((claim.rate, claim.weight));
                flows.push(vec![index]);
            }
        }
    }
    let mut offers = vec![0.0; claims.len()];
    for (of_station, flows) in shares(capacity, &wants).into_iter().zip(flows) {
        let siblings: Vec<(f64, f64)> = flows.iter().map(|&flow| (claims[flow].rate, 1.0)).collect();
        for (offer, flow) in shares(of_station, &siblings).into_iter().zip(flows) {
            offers[flow] = offer;
        }
    }
    offers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_do_not_want_is_left_and_the_rest_is_shared_by_weight() {
        let first = |amount, weight, others: &[(f64, f64)]| {
            let wants: Vec<(f64, f64)> = [&[(0.0, weight)], others].concat();
            shares(amount, &wants)[0]
        };
        assert_eq!(first(12.0, 1.0, &[]), 12.0);
        assert_eq!(first(12.0, 1.0, &[(9.0, 1.0), (2.0, 1.0)]), 5.0);
        assert_eq!(first(12.0, 2.0, &[(9.0, 1.0)]), 8.0);
        assert_eq!(first(12.0, 1.0, &[(f64::INFINITY, 2.0), (3.0, 3.0)]), 3.0);
    }

    #[test]
    fn a_station_shares_its_part_among_its_flows() {
        let claim = |station, rate| Claim {
            station,
            weight: 1.0,
            rate,
        };
        let claims = [claim(0, 99.0), claim(1, 99.0), claim(1, 99.0), claim(1, 1.0)];
        // The last one: as much as its siblings could have.
        assert_eq!(offers(12.0, &claims), [6.0, 2.5, 2.5, 2.0]);
    }
}
