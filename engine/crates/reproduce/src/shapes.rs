// SPDX-License-Identifier: Apache-2.0
//! Numbers of how lines rise and fall, and of how numbers are ordered.

use slotwise_observe::stats;

use crate::experiment::Stat;
use crate::fact::{means_over, settle_s};

/// Neighbours of one cluster are closer than this, by the smaller one.
const CLUSTER_GAP: f64 = 0.1;
/// Two times that differ by less are one: they are sums of periods.
const SAME_S: f64 = 1e-9;

type Rows = Vec<(f64, f64)>;

/// Time of the first mean that `is_there`; `None` if there is none.
fn first_s(means: &[(f64, f64)], is_there: impl Fn(f64) -> bool) -> Option<f64> {
    means.iter().find(|(_, mean)| is_there(*mean)).map(|(at_s, _)| *at_s)
}

/// One number of these lines, of which times count from `from_s` and are `scale` of those said; of several lines the largest, but for the
/// part that stays, and rows outside, which are counted. `None` if a line has none, as one without rows.
pub(crate) fn measure(stat: Stat, lines: &[Rows], from_s: f64, scale: f64) -> Option<f64> {
    let largest = |of_line: &dyn Fn(&Rows) -> Option<f64>| {
        let numbers = lines.iter().map(of_line).collect::<Option<Vec<f64>>>()?;
        numbers.into_iter().reduce(f64::max)
    };
    match stat {
        Stat::Reach { at_least, over_s } => largest(&|rows| {
            let means = means_over(rows, over_s * scale);
            Some(first_s(&means, |mean| mean >= at_least)? - from_s)
        }),
        Stat::Fall { at_most, over_s } => largest(&|rows| {
            let means = means_over(rows, over_s * scale);
            Some(first_s(&means, |mean| mean <= at_most)? - from_s)
        }),
        Stat::Stretch { from, to, over_s } => largest(&|rows| {
            let means = means_over(rows, over_s * scale);
            Some(first_s(&means, |mean| mean >= to)? - first_s(&means, |mean| mean >= from)?)
        }),
        Stat::Bend { target, within, over_s } => largest(&|rows| {
            let settled_s = settle_s(rows, from_s, (target, within), over_s * scale)?;
            let means = means_over(rows, over_s * scale);
            let at = |part: f64| {
                let later = means
                    .iter()
                    .find(|(at_s, _)| *at_s >= from_s + part * settled_s - SAME_S);
                later.map(|(_, mean)| *mean)
            };
            let last = at(1.0)? - at(0.8)?;
            (last > 0.0).then_some(at(0.2)? / last)
        }),
        Stat::Climb { over_s } => largest(&|rows| {
            let mut least = f64::INFINITY;
            let climbs = means_over(rows, over_s * scale).into_iter().map(|(_, mean)| {
                least = least.min(mean);
                mean - least
            });
            climbs.reduce(f64::max)
        }),
        Stat::Variation { over_s } => largest(&|rows| {
            let means: Vec<f64> = means_over(rows, over_s * scale)
                .into_iter()
                .map(|(_, mean)| mean)
                .collect();
            let mean = stats::mean(&means).filter(|mean| *mean > 0.0)?;
            Some(stats::deviation(&means)? / mean)
        }),
        Stat::Stays { target, within, over_s } => {
            let stays = |rows: &&Rows| {
                let means = means_over(rows, over_s * scale);
                means.iter().all(|(_, mean)| (mean - target).abs() <= within)
            };
            let staying = lines.iter().filter(stays).count();
            all_have_rows(lines).then(|| staying as f64 / lines.len() as f64)
        }
        Stat::Outside { least, most } => {
            let rows = lines
                .iter()
                .flatten()
                .filter(|(_, value)| *value < least || *value > most);
            all_have_rows(lines).then(|| rows.count() as f64)
        }
        _ => None,
    }
}

/// True if no line is without rows, of which all and nothing could be said.
fn all_have_rows(lines: &[Rows]) -> bool {
    !lines.is_empty() && lines.iter().all(|rows| !rows.is_empty())
}

/// How many neighbours fall.
pub(crate) fn inversions(values: &[f64]) -> f64 {
    let falls = |pair: &&[f64]| pair[1] < pair[0] - SAME_S;
    values.windows(2).filter(falls).count() as f64
}

/// In how many clusters numbers are.
pub(crate) fn clusters(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let gaps = values
        .windows(2)
        .filter(|pair| pair[1] - pair[0] >= CLUSTER_GAP * pair[0]);
    (gaps.count() + usize::from(!values.is_empty())) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.1, 0.3, 0.5 ... up to 1 at ten times a second.
    fn rise() -> Rows {
        (1..=20)
            .map(|tick| (f64::from(tick) / 10.0, (f64::from(tick) * 0.2 - 0.1).min(1.0)))
            .collect()
    }

    fn of(stat: Stat) -> Option<f64> {
        measure(stat, &[rise(), rise()], 0.0, 1.0).map(|value| (value * 1e6).round() / 1e6)
    }

    #[test]
    fn times_are_those_of_the_first_mean_that_is_there() {
        let over_s = 0.1;
        assert_eq!(of(Stat::Reach { at_least: 0.5, over_s }), Some(0.3));
        assert_eq!(
            of(Stat::Reach {
                at_least: 0.5,
                over_s: 0.2
            }),
            Some(0.4)
        );
        assert_eq!(of(Stat::Reach { at_least: 1.5, over_s }), None);
        assert_eq!(of(Stat::Fall { at_most: 0.15, over_s }), Some(0.1));
        assert_eq!(
            of(Stat::Stretch {
                from: 0.3,
                to: 0.7,
                over_s
            }),
            Some(0.2)
        );
        // The last mean that is off ends at 0.5 s: after a fifth of that it has 0.1, and over the last fifth it rises from 0.7 to 0.9.
        let bend = of(Stat::Bend {
            target: 1.0,
            within: 0.05,
            over_s,
        });
        assert_eq!(bend, Some(0.5));
    }

    #[test]
    fn what_stays_what_varies_and_what_is_outside() {
        let within = 0.05;
        let late: Rows = rise().into_iter().filter(|(at_s, _)| *at_s > 1.0).collect();
        let stays = Stat::Stays {
            target: 1.0,
            within,
            over_s: 0.1,
        };
        assert_eq!(measure(stays, &[late.clone(), rise()], 0.0, 1.0), Some(0.5));
        assert_eq!(measure(stays, &[], 0.0, 1.0), None);
        assert_eq!(measure(Stat::Variation { over_s: 0.1 }, &[late], 0.0, 1.0), Some(0.0));
        assert_eq!(of(Stat::Climb { over_s: 0.1 }), Some(0.9));
        let falls: Rows = rise().into_iter().map(|(at_s, value)| (at_s, -value)).collect();
        assert_eq!(measure(Stat::Climb { over_s: 0.1 }, &[falls], 0.0, 1.0), Some(0.0));
        assert!(of(Stat::Variation { over_s: 0.1 }).unwrap() > 0.2);
        assert_eq!(of(Stat::Outside { least: 0.2, most: 0.95 }), Some(2.0 + 2.0 * 15.0));
    }

    #[test]
    fn a_line_without_rows_has_no_number() {
        let (target, within, over_s) = (1.0, 0.05, 0.1);
        let stats = [
            Stat::Stays { target, within, over_s },
            Stat::Outside { least: 0.0, most: 2.0 },
            Stat::Bend { target, within, over_s },
            Stat::Climb { over_s },
            Stat::Variation { over_s },
            Stat::Reach { at_least: 0.5, over_s },
        ];
        for stat in stats {
            assert!(measure(stat, &[rise()], 0.0, 1.0).is_some(), "{stat:?}");
            assert_eq!(measure(stat, &[rise(), Vec::new()], 0.0, 1.0), None, "{stat:?}");
        }
        assert_eq!(settle_s(&[], 0.0, (target, within), over_s), None);
    }

    #[test]
    fn orders_and_clusters() {
        assert_eq!(inversions(&[1.0, 1.0, 2.0, 1.5, 3.0]), 1.0);
        assert_eq!(clusters(vec![373.0, 140.0, 141.0, 187.0, 186.0]), 3.0);
        assert_eq!(clusters(Vec::new()), 0.0);
    }
}
