// SPDX-License-Identifier: Apache-2.0
//! What each pair of stations of a ring had in a run, beside what it should have had by RIAS.

use crate::Table;
use crate::recorders::Fairness;
use serde::{Deserialize, Serialize};

use crate::series::{link_column, link_count};
use crate::summary::line;

/// What went from one station of a ring to another, and what should have: means over the periods in which that is known, bit/s on the
/// ring, its headers included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairShare {
    /// `FROM-TO`.
    pub pair: String,
    /// What was delivered.
    pub rate_bps: f64,
    /// The pair's part by RIAS.
    pub rias_bps: f64,
    /// |rate - RIAS| / RIAS; `null` if it should have nothing.
    pub distance: Option<f64>,
}

/// What pairs of stations of a ring had and should have had, over all periods of which that is known; rows are by period, then by pair.
pub fn of(fairness: &Table) -> Vec<PairShare> {
    let shares = (0..link_count(fairness)).map(|pair| {
        let mean_bps = |name| {
            let column = link_column(fairness, name, pair);
            column.iter().sum::<f64>() / column.len() as f64 * 1e3
        };
        let (rate_bps, rias_bps) = (mean_bps("rate_kbps"), mean_bps("fair_kbps"));
        let fairness_of_pair = Fairness::of(&[rate_bps], &[rias_bps]);
        PairShare {
            pair: fairness.names[pair].clone(),
            rate_bps,
            rias_bps,
            distance: fairness_of_pair.map(|it| it.distance),
        }
    });
    shares.collect()
}

/// Returns the line on the deviation of pairs from a reference allocation; empty where no pair should receive anything.
pub fn summary(shares: &[PairShare], reference: &str) -> String {
    let rates: Vec<f64> = shares.iter().map(|share| share.rate_bps).collect();
    let fair: Vec<f64> = shares.iter().map(|share| share.rias_bps).collect();
    let judged = || shares.iter().filter(|share| share.distance.is_some());
    let worst = judged().max_by(|a, b| a.distance.unwrap_or(0.0).total_cmp(&b.distance.unwrap_or(0.0)));
    let Some((worst, Fairness { distance, jain })) = worst.zip(Fairness::of(&rates, &fair)) else {
        return String::new();
    };
    let value = format!(
        "max deviation from {reference} {:.1} % ({}) over {} pairs; Jain's index {:.4}{}",
        distance * 100.0,
        worst.pair,
        judged().count(),
        jain.unwrap_or(0.0),
        undue(shares)
    );
    line("fairness", value)
}

/// Returns the number of pairs that received traffic without an allocation, if any.
fn undue(shares: &[PairShare]) -> String {
    let undue = shares
        .iter()
        .filter(|share| share.distance.is_none() && share.rate_bps > 0.0);
    match undue.count() {
        0 => String::new(),
        pairs => format!("; {pairs} more without an allocation received traffic"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_names_the_pair_with_the_largest_deviation() {
        let share = |pair: &str, rate_bps, rias_bps, distance| PairShare {
            pair: pair.into(),
            rate_bps,
            rias_bps,
            distance,
        };
        let shares = [
            share("a-c", 9.0, 10.0, Some(0.1)),
            share("b-c", 12.0, 10.0, Some(0.2)),
            share("c-a", 1.0, 0.0, None),
        ];
        // (0.9 + 1.2)^2 / (2 * (0.81 + 1.44)) = 0.98
        assert_eq!(
            summary(&shares, "RIAS"),
            "  fairness      max deviation from RIAS 20.0 % (b-c) over 2 pairs; Jain's index 0.9800; 1 more without an allocation received \
             traffic\n"
        );
        let of_those_due = summary(&shares[..2], "RIAS");
        assert!(of_those_due.ends_with("index 0.9800\n"), "{of_those_due}");
        assert_eq!(summary(&shares[2..], "RIAS"), "", "no allocation");
    }
}
