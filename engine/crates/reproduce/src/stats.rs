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

/// The smallest value that at least the part `q` of all are not above; `None` of nothing.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
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
    fn jain_is_one_for_equals_and_one_nth_for_a_king() {
        assert_eq!(jain(&[3.0; 7]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0, 0.0, 8.0]), Some(0.25));
        assert_eq!(jain(&[0.0]), None);
    }
}
