// SPDX-License-Identifier: Apache-2.0
//! Completion times of workloads in the report and its summary.

use serde::{Deserialize, Serialize};
use slotwise_kinds::FlowProgress;
use slotwise_units::Bytes;
use slotwise_workload::{CompletionSummary, FlowStatistics, Statistics};

use crate::summary::line;

/// Maximum number of unfinished flows that a report names.
pub(crate) const MAX_NAMED: usize = 20;

/// Completions of a workload.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadReport {
    /// Name.
    pub name: String,
    /// Source of the flows: `poisson`, `closed`, `incast`, `collective`, `list`, `coflows` or `pcap`.
    pub kind: String,
    /// Transport of flows without an entry in `by_size`.
    pub transport: String,
    /// Number of hosts.
    pub hosts: usize,
    /// All flows that have started.
    pub flows: FlowReport,
    /// Flows by size; ranges without flows are left out.
    pub buckets: Vec<BucketReport>,
    /// Completion times of coflows, ns, from the first start to the last arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coflow_ns: Option<StatisticsReport>,
    /// Number of coflows with flows that were in progress at the end or could not start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished_coflows: u64,
    /// Number of flows that could not start because all ports between their hosts were in use.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// First unfinished flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished_flows: Vec<FlowName>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Completions of some flows.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Number of flows that have started and have not arrived.
    pub unfinished: u64,
    /// Completion times, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fct_ns: Option<StatisticsReport>,
    /// Completion times divided by those of the same flows alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<StatisticsReport>,
}

/// Completions of the flows of a range of sizes.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct BucketReport {
    /// Minimum size; absent in the first range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_bytes: Option<Bytes>,
    /// Bound of the sizes; absent in the last range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_bytes: Option<Bytes>,
    /// Its flows.
    #[serde(flatten)]
    pub flows: FlowReport,
}

/// Statistics of numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StatisticsReport {
    /// Count of the numbers.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 0.95 quantile.
    pub p95: f64,
    /// 0.99 quantile.
    pub p99: f64,
    /// 0.999 quantile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

/// Name of an unfinished flow.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowName {
    /// Number of the flow in its workload.
    pub number: u64,
    /// Number of the sending host.
    pub from: usize,
    /// Number of the receiving host.
    pub to: usize,
    /// Data.
    pub bytes: Bytes,
}

impl FlowName {
    pub(crate) fn of(flow: &FlowProgress) -> FlowName {
        FlowName {
            number: flow.flow.number,
            from: flow.from,
            to: flow.to,
            bytes: flow.flow.size,
        }
    }
}

impl From<Statistics> for StatisticsReport {
    fn from(of: Statistics) -> StatisticsReport {
        StatisticsReport {
            count: of.count,
            mean: of.mean,
            p50: of.p50,
            p95: of.p95,
            p99: of.p99,
            p999: of.p999,
            max: of.max,
        }
    }
}

impl From<FlowStatistics> for FlowReport {
    fn from(of: FlowStatistics) -> FlowReport {
        FlowReport {
            unfinished: of.unfinished,
            fct_ns: of.time.map(Into::into),
            slowdown: of.slowdown.map(Into::into),
        }
    }
}

impl WorkloadReport {
    /// Returns the report of completions, without the name and the settings of the workload.
    pub(crate) fn of(summary: &CompletionSummary) -> WorkloadReport {
        let buckets = summary.buckets.iter().map(|bucket| BucketReport {
            from_bytes: bucket.from,
            below_bytes: bucket.below,
            flows: bucket.flows.into(),
        });
        WorkloadReport {
            flows: summary.all.into(),
            buckets: buckets.collect(),
            coflow_ns: summary.coflows.map(Into::into),
            unfinished_coflows: summary.unfinished_coflows,
            ..WorkloadReport::default()
        }
    }

    /// Returns warnings: flows that could not start, and unfinished flows of a collective or a file.
    pub fn warnings(&self) -> Vec<String> {
        let name = &self.name;
        let is_finite = matches!(&*self.kind, "collective" | "list" | "coflows" | "pcap");
        let unfinished = self.flows.unfinished;
        let refused = self.refused;
        let refused = (refused > 0).then(|| format!("workload '{name}': {refused} flows not started: no free ports"));
        let unfinished = (is_finite && unfinished > 0)
            .then(|| format!("workload '{name}': {unfinished} flows unfinished at the end of the run"));
        refused.into_iter().chain(unfinished).collect()
    }

    fn text(&self) -> String {
        let completed = self.flows.fct_ns.map_or(0, |fct| fct.count);
        let mut text = format!(
            "{:<12} {completed} of {} flows completed",
            self.name,
            completed + self.flows.unfinished
        );
        if let Some(fct) = self.flows.fct_ns {
            text += &format!(
                "; FCT mean {}, p50 {}, p99 {}",
                time(fct.mean),
                time(fct.p50),
                time(fct.p99)
            );
        }
        if let Some(slowdown) = self.flows.slowdown {
            text += &format!(
                "; slowdown mean {:.2}, p50 {:.2}, p99 {:.2}",
                slowdown.mean, slowdown.p50, slowdown.p99
            );
        }
        if let Some(coflows) = self.coflow_ns {
            text += &format!(
                "; {} coflows p50 {}, p99 {}",
                coflows.count,
                time(coflows.p50),
                time(coflows.p99)
            );
        }
        if self.unfinished_coflows > 0 {
            text += &format!("; {} coflows unfinished", self.unfinished_coflows);
        }
        if self.refused > 0 {
            text += &format!("; {} flows not started: no free ports", self.refused);
        }
        text
    }
}

/// Time of so many ns.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

/// Lines of the summary.
pub(crate) fn summary(workloads: &[WorkloadReport]) -> String {
    workloads
        .iter()
        .map(|workload| line("workload", workload.text()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_flows_and_unfinished_ones_of_finite_workloads_are_warnings() {
        let report = |kind: &str, refused, unfinished| WorkloadReport {
            name: "w".to_owned(),
            kind: kind.to_owned(),
            refused,
            flows: FlowReport {
                unfinished,
                ..FlowReport::default()
            },
            ..WorkloadReport::default()
        };
        assert_eq!(
            report("coflows", 2, 3).warnings(),
            [
                "workload 'w': 2 flows not started: no free ports",
                "workload 'w': 3 flows unfinished at the end of the run"
            ]
        );
        assert_eq!(report("list", 0, 0).warnings(), [""; 0]);
        assert_eq!(
            report("poisson", 0, 3).warnings(),
            [""; 0],
            "its flows have no last one"
        );
        assert_eq!(report("poisson", 1, 3).warnings().len(), 1);
    }
}
