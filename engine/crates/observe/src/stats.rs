// SPDX-License-Identifier: Apache-2.0
//! Means of several runs, with confidence.

/// A mean and the half-width of its 95 % confidence interval (Student's t); `None` of a single value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half of the interval.
    pub half_width: Option<f64>,
}

/// Quantiles 0.975 of Student's t with 1 to 30 degrees of freedom (any table of it, e.g. NIST/SEMATECH e-Handbook
/// of Statistical Methods, section 1.3.6.7.2).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// Of the normal distribution, for more.
const Z_975: f64 = 1.960;

/// The mean of `values`, one from each seed; `None` when there is none.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let count = values.len();
    let mean = self::mean(values)?;
    if count == 1 {
        return Some(Estimate { mean, half_width: None });
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (count - 1) as f64).sqrt();
    let t = T_975.get(count - 2).copied().unwrap_or(Z_975);
    Some(Estimate {
        mean,
        half_width: Some(t * deviation / (count as f64).sqrt()),
    })
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation, of all there is; `None` of nothing.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = self::mean(values)?;
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    self::mean(&squares).map(f64::sqrt)
}

/// The standard deviation of all numbers of several groups, each `(how many, their mean, their standard deviation)`; `None` of nothing.
pub fn pooled_deviation(groups: &[(f64, f64, f64)]) -> Option<f64> {
    let count: f64 = groups.iter().map(|(count, ..)| count).sum();
    let mean = groups.iter().map(|(count, mean, _)| count * mean).sum::<f64>() / count;
    let squares = groups
        .iter()
        .map(|(count, own, deviation)| count * (deviation * deviation + (own - mean).powi(2)));
    (count > 0.0).then(|| (squares.sum::<f64>() / count).sqrt())
}

/// The smallest value that at least the part `q` of all are not above; `None` of nothing.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// The median; of an even number, the mean of the two in the middle; `None` of nothing.
#[expect(clippy::manual_midpoint, reason = "other bits in stored results")]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

/// A line through points, by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Rise by run.
    pub slope: f64,
    /// 1 less the squares that are left by those about what has no slope: the mean, or 0 of a line through 0.
    pub r_squared: f64,
}

/// The least-squares line of `ys` over `xs`; `None` of lists of different lengths, or without spread.
pub fn line(xs: &[f64], ys: &[f64]) -> Option<Fit> {
    let (x_mean, y_mean) = (mean(xs)?, mean(ys)?);
    let less = |values: &[f64], mean: f64| values.iter().map(|value| value - mean).collect::<Vec<f64>>();
    line_through_zero(&less(xs, x_mean), &less(ys, y_mean))
}

/// The least-squares line through 0; `None` of lists of different lengths, or of zeros.
pub fn line_through_zero(xs: &[f64], ys: &[f64]) -> Option<Fit> {
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let (xx, xy, yy) = (product(xs, xs), product(xs, ys), product(ys, ys));
    (xs.len() == ys.len() && xx > 0.0 && yy > 0.0).then(|| Fit {
        slope: xy / xx,
        r_squared: xy * xy / (xx * yy),
    })
}

/// Spearman's rank correlation: Pearson's of the ranks, equals having the mean of theirs; `None` of lists of different lengths, or of
/// equals.
pub fn spearman(xs: &[f64], ys: &[f64]) -> Option<f64> {
    let fit = line(&ranks(xs), &ranks(ys))?;
    Some(fit.r_squared.sqrt().copysign(fit.slope))
}

/// Of each value twice its rank, which equals share.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let up_to = values.iter().filter(|other| *other <= value).count();
        (below + up_to) as f64
    };
    values.iter().map(rank).collect()
}

/// Jain's index of fairness (Jain, Chiu, Hawe, DEC-TR-301, 1984): 1 when all are equal, 1/n when one has all.
pub fn jain(values: &[f64]) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let sum: f64 = values.iter().sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_students() {
        // Mean 10, deviation 1, three values: 4.303 / sqrt(3).
        let three = estimate(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!(three.mean, 10.0);
        assert!((three.half_width.unwrap() - 2.4843).abs() < 1e-3);
        assert_eq!(
            estimate(&[4.0]),
            Some(Estimate {
                mean: 4.0,
                half_width: None
            })
        );
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[2.0; 100]).unwrap().half_width, Some(0.0));
    }

    #[test]
    fn a_quantile_is_a_value_that_occurred() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&values, 0.99), Some(99.0));
        assert_eq!(
            (quantile(&values, 0.0), quantile(&values, 1.0)),
            (Some(1.0), Some(100.0))
        );
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn groups_have_the_deviation_of_all_their_numbers() {
        // 1 and 3, and 5, 5, 5, 11: mean 5, squares 16 + 4 + 36.
        let groups = [(2.0, 2.0, 1.0), (4.0, 6.5, 6.75f64.sqrt()), (0.0, 9.0, 0.0)];
        assert!((pooled_deviation(&groups).unwrap() - (56.0 / 6.0f64).sqrt()).abs() < 1e-12);
        assert_eq!(pooled_deviation(&[]), None);
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(
            (median(&[5.0, 1.0, 9.0]), median(&[4.0, 1.0, 9.0, 2.0])),
            (Some(5.0), Some(3.0))
        );
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_line_leaves_the_least_squares() {
        // Means 2 and 4; sums of squares 2 and 6, of products 3.
        let fit = line(&[1.0, 2.0, 3.0], &[3.0, 3.0, 6.0]).unwrap();
        assert_eq!((fit.slope, fit.r_squared), (1.5, 0.75));
        // 1 * 2 + 2 * 6 by 5; 14^2 by 5 * 40.
        let fit = line_through_zero(&[1.0, 2.0], &[2.0, 6.0]).unwrap();
        assert!((fit.slope - 2.8).abs() < 1e-12 && (fit.r_squared - 0.98).abs() < 1e-12);
        assert_eq!(line(&[1.0, 1.0], &[1.0, 2.0]), None, "one above the other");
        assert_eq!(line_through_zero(&[1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn ranks_are_correlated_and_equals_share_theirs() {
        // Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6 * 4 / (5 * 24).
        let swapped = spearman(&[1.0, 2.0, 4.0, 8.0, 16.0], &[0.2, 0.1, 0.4, 0.3, 0.5]).unwrap();
        assert!((swapped - 0.8).abs() < 1e-12);
        // Ranks 1 2 3 and 3 1.5 1.5: products -1.5, squares 2 and 1.5.
        let tied = spearman(&[1.0, 2.0, 3.0], &[9.0, 4.0, 4.0]).unwrap();
        assert!((tied + 1.5 / 3.0f64.sqrt()).abs() < 1e-12);
        assert_eq!(spearman(&[1.0, 2.0], &[3.0, 3.0]), None);
    }

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_king() {
        assert_eq!(jain(&[3.0; 7]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0, 0.0, 8.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }
}
