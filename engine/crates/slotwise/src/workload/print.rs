// SPDX-License-Identifier: Apache-2.0
//! Statistics of workloads for the terminal.

use slotwise_cli::notes::say;
use slotwise_units::{Bytes, Dimension, Duration, Instant, Rate};
use slotwise_workload::{
    Coflow, CompletionSummary, FlowStatistics, LICENCES, Offered, Shipped, SizeTable, WorkloadError,
};

/// Prints the statistics of the flows; the load if the capacity and the time are given.
pub fn offered(offered: &Offered, capacity: Option<(Rate, Duration)>) {
    let (flows, data) = (offered.flows(), offered.data().get());
    say!("flows     {flows}, {data} bytes");
    if let (Some((smallest, largest)), Some(mean)) = (offered.sizes(), offered.mean_size()) {
        say!(
            "sizes     {} to {} bytes, mean {mean:.1} bytes",
            smallest.get(),
            largest.get()
        );
    }
    if let Some((first, last)) = offered.starts() {
        let time = |instant: Instant| instant.since_start().seconds();
        say!("starts    {:.9} s to {:.9} s", time(first), time(last));
    }
    if let Some(variation) = offered.gap_variation() {
        say!("gaps      squared coefficient of variation {variation:.4}");
    }
    if let Some((capacity, time)) = capacity.filter(|(_, time)| !time.is_zero()) {
        say!("load      {:.5}", offered.load(capacity, time));
    }
    if offered.coflows() > 0 {
        say!("coflows   {}", offered.coflows());
    }
}

/// Totals of a coflow trace, with what mappers send to reducers of the same host.
#[derive(Default)]
pub struct Totals {
    coflows: u64,
    width: u64,
    size: Bytes,
    last: Instant,
    bounds: Duration,
    max_bound: Duration,
}

impl Totals {
    /// Adds a coflow between hosts with links of a rate.
    pub fn add(&mut self, coflow: &Coflow, rate: Rate) {
        let bound = coflow.bound(rate);
        self.bounds = self.bounds.saturating_add(bound);
        self.max_bound = self.max_bound.max(bound);
        self.coflows += 1;
        self.width += coflow.width();
        self.size = self.size.saturating_add(coflow.size());
        self.last = coflow.arrival;
    }

    /// Prints the totals.
    pub fn print(&self, hosts: u32) {
        let (last, size) = (self.last.since_start().milliseconds(), self.size.get());
        say!(
            "trace     {hosts} hosts, {} coflows, last arrival {last} ms",
            self.coflows
        );
        say!("          {} flows (mappers x reducers), {size} bytes", self.width);
        let us = |time: Duration| time.ns() as f64 / 1e3;
        let (mean, max) = (us(self.bounds) / self.coflows.max(1) as f64, us(self.max_bound));
        say!("bounds    least times by the fullest link, us: mean {mean:.1}, max {max:.1}");
    }
}

/// Prints completion times and slowdowns by flow size.
pub fn completions(summary: &CompletionSummary) {
    say!("completion times on an ideal switch, us; slowdown against the same flow alone");
    say!(
        "{:<24} {:>9} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9} {:>9}",
        "size",
        "flows",
        "mean",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "mean sd",
        "p99 sd"
    );
    for bucket in &summary.buckets {
        let size = |size: Bytes| Dimension::Data.print(size.get().into());
        let range = match (bucket.from, bucket.below) {
            (None, Some(below)) => format!("below {}", size(below)),
            (Some(from), Some(below)) => format!("{} to {}", size(from), size(below)),
            (Some(from), None) => format!("from {}", size(from)),
            (None, None) => "all".to_owned(),
        };
        row(&range, &bucket.flows);
    }
    row("all", &summary.all);
    if let Some(coflows) = summary.coflows {
        let us = |ns: f64| ns / 1e3;
        let (mean, p50, p99, max) = (us(coflows.mean), us(coflows.p50), us(coflows.p99), us(coflows.max));
        say!(
            "coflows   {} completed, us: mean {mean:.1}, p50 {p50:.1}, p99 {p99:.1}, max {max:.1}",
            coflows.count
        );
    }
}

fn row(range: &str, flows: &FlowStatistics) {
    if let (Some(time), Some(slowdown)) = (flows.time, flows.slowdown) {
        let us = |ns: f64| format!("{:.1}", ns / 1e3);
        say!(
            "{range:<24} {:>9} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9.2} {:>9.2}",
            time.count,
            us(time.mean),
            us(time.p50),
            us(time.p95),
            us(time.p99),
            us(time.p999),
            slowdown.mean,
            slowdown.p99
        );
    }
}

/// Prints the shipped tables with their means.
pub fn tables(shipped: &[Shipped]) -> Result<(), WorkloadError> {
    say!("{:<12} {:>12}  {:<7} {}", "name", "mean, bytes", "drawn", "title");
    for table in shipped {
        let mean = SizeTable::read(table.name(), table.text(), None)?.mean();
        let comment = |key| table.comment(key).unwrap_or_default();
        say!(
            "{:<12} {mean:>12.1}  {:<7} {}",
            table.name(),
            comment("interpolate"),
            comment("title")
        );
    }
    Ok(())
}

/// Prints the licences of the shipped tables.
pub fn licences() {
    for text in LICENCES {
        say!("{text}");
    }
}
