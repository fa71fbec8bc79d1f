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

/// What who wants without bound gets of `amount`, shared with others that want no more than `wants` (amount, weight): each
/// gets the same by weight, but no more than it wants.
fn share(amount: f64, weight: f64, mut wants: Vec<(f64, f64)>) -> f64 {
    wants.sort_by(|(a, a_weight), (b, b_weight)| (a / a_weight).total_cmp(&(b / b_weight)));
    let mut left = amount;
    let mut weights: f64 = weight + wants.iter().map(|(_, weight)| weight).sum::<f64>();
    for (want, its_weight) in wants {
        if want / its_weight >= left / weights {
            break;
        }
        left -= want;
        weights -= its_weight;
    }
    left * weight / weights
}

/// What the flow of claim `at` gets of a link of this capacity if it can use any amount, the others what they claim.
pub(crate) fn offer(capacity: f64, claims: &[Claim], at: usize) -> f64 {
    let own = &claims[at];
    let mut others: Vec<(usize, f64, f64)> = Vec::new();
    let mut siblings = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        if index == at {
            continue;
        }
        if claim.station == own.station {
            siblings.push((claim.rate, 1.0));
        } else if let Some((_, rate, _)) = others.iter_mut().find(|(station, ..)| *station == claim.station) {
            *rate += claim.rate;
        } else {
            others.push((claim.station, claim.rate, claim.weight));
        }
    }
    let stations = others.into_iter().map(|(_, rate, weight)| (rate, weight)).collect();
    share(share(capacity, own.weight, stations), 1.0, siblings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_do_not_want_is_left_and_the_rest_is_shared_by_weight() {
        assert_eq!(share(12.0, 1.0, vec![]), 12.0);
        assert_eq!(share(12.0, 1.0, vec![(9.0, 1.0), (2.0, 1.0)]), 5.0);
        assert_eq!(share(12.0, 2.0, vec![(9.0, 1.0)]), 8.0);
        assert_eq!(share(12.0, 1.0, vec![(f64::INFINITY, 2.0), (3.0, 3.0)]), 3.0);
    }

    #[test]
    fn a_station_shares_its_part_among_its_flows() {
        let claim = |station, rate| Claim {
            station,
            weight: 1.0,
            rate,
        };
        let claims = [claim(0, 99.0), claim(1, 99.0), claim(1, 99.0), claim(1, 1.0)];
        assert_eq!(offer(12.0, &claims, 0), 6.0);
        assert_eq!(offer(12.0, &claims, 1), 2.5);
        assert_eq!(offer(12.0, &claims, 3), 2.0, "as much as its siblings could have");
    }
}
