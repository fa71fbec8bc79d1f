// SPDX-License-Identifier: Apache-2.0
//! Stored figures of a benchmark.

use super::table;

/// Times of a scheduler's calls in one case of a benchmark, us.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BenchmarkCase {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

table! {
    /// Stored figures of a benchmark (`controller/bench/results/scheduling.json`); a row per case, `SCHEDULER SIZE LOAD START`.
    Baseline by case at "1" = |p, case: BenchmarkCase| {
        p50_us "median of a call" [us] = case.p50;
        p99_us "99th percentile of a call" [us] = case.p99;
        max_us "longest call" [us] = case.max;
    }
}
