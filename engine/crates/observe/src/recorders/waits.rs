// SPDX-License-Identifier: Apache-2.0
//! Histograms of waits, looked at from their shortest to their longest: the iterators of their crate look at every bar from 0 on, which is
//! most of the work where waits are long and alike.

use hdrhistogram::Histogram;
use slotwise_units::Duration;

use crate::record::{Period, table};

/// Of waits a row is over this time, or what is left of the run.
const OVER_S: f64 = 1.0;

/// Packets with one waiting time.
pub(crate) struct Waited {
    pub up_to: Duration,
    pub head_of_line: u64,
    pub access: u64,
    pub crossing: u64,
}

table! {
    /// Waiting times at stations of a ring: a row per station, `STATION/RINGLET`, waiting time and second, and at edges with macroflows of a mesh of
    /// optical packet switches: a row per edge, waiting time and second with `access_packets` alone.
    Delays by station at "end of the period (1 s, or the rest of the run), from the start of the first phase" = |p, w: Waited| {
        up_to_ms "waiting time, 1 % resolution" [ms] = w.up_to.milliseconds();
        hol_packets "packets with this head-of-line delay" = w.head_of_line as f64;
        access_packets
            "packets with this waiting time in the station; at an edge, bursts paced by their macroflow for this time" = w.access as f64;
        ring_delay_packets "packets with this ring delay; both ringlets in the rows of ringlet 0" = w.crossing as f64;
    }
}

/// Times over which waits are counted.
#[derive(Default)]
pub(crate) struct Seconds {
    since_s: f64,
}

impl Seconds {
    /// Whether one ends with a period.
    pub(crate) fn ends(&mut self, period: &Period, is_last: bool) -> bool {
        let period_end_s = period.end.seconds();
        let ends = is_last || period_end_s - self.since_s >= OVER_S - 1e-9;
        if ends {
            self.since_s = period_end_s;
        }
        ends
    }
}

/// Bars that are not empty: the longest wait of each, and how many there are.
pub(crate) fn bars(waits: &Histogram<u64>) -> impl Iterator<Item = (u64, u64)> {
    let (longest, mut next) = (waits.max(), (!waits.is_empty()).then(|| waits.min()));
    std::iter::from_fn(move || {
        loop {
            let value = next.filter(|value| *value <= longest)?;
            let (up_to, count) = (waits.highest_equivalent(value), waits.count_at(value));
            next = up_to.checked_add(1);
            if count > 0 {
                return Some((up_to, count));
            }
        }
    })
}

/// As [`Histogram::mean`], to the last bit.
pub(crate) fn mean(waits: &Histogram<u64>) -> f64 {
    let total = waits.len() as f64;
    bars(waits).fold(0.0, |sum, (up_to, count)| {
        sum + waits.median_equivalent(up_to) as f64 * count as f64 / total
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_ends_with_the_period_in_which_it_is_over_and_with_the_run() {
        let mut seconds = Seconds::default();
        let ends = [
            (0.4, false),
            (0.8, false),
            (1.2, false),
            (2.0, false),
            (2.2, false),
            (2.3, true),
        ];
        let period = |end_s: f64| Period {
            end: Duration::from_ns((end_s * 1e9) as u64),
            ..Period::default()
        };
        let ends = ends.map(|(end_s, is_last)| seconds.ends(&period(end_s), is_last));
        assert_eq!(ends, [false, false, true, false, true, true]);
    }

    #[test]
    fn bars_and_mean_are_those_of_the_histogram() {
        let of = |values: &[u64]| {
            let mut waits = Histogram::<u64>::new(2).unwrap();
            values.iter().for_each(|value| waits.record(*value).unwrap());
            waits
        };
        let long: Vec<u64> = (0..500).map(|n| 1_000_000_007 + n * n * 7919).collect();
        for values in [
            &[][..],
            &[0],
            &[0, 0, 1, 255, 256, 257, 3_000_000],
            &[u64::MAX / 2],
            &long,
        ] {
            let waits = of(values);
            let expected: Vec<(u64, u64)> = waits
                .iter_recorded()
                .map(|bar| (bar.value_iterated_to(), bar.count_at_value()))
                .collect();
            assert_eq!(bars(&waits).collect::<Vec<_>>(), expected);
            assert_eq!(mean(&waits).to_bits(), waits.mean().to_bits());
        }
    }
}
