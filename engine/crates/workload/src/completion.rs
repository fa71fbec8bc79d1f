// SPDX-License-Identifier: Apache-2.0
//! Completion times: by flow size and by coflow, in time and in slowdown.

use std::collections::HashMap;

use slotwise_units::{Bytes, Duration, Instant, Rate};

use crate::error::WorkloadError;
use crate::flow::{CoflowId, Flow};

/// A link of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathLink {
    /// Rate, above 0.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Extra bytes of each packet on this link, in addition to [`Framing`].
    pub overhead: Bytes,
}

impl PathLink {
    /// Returns the time of a packet on the link.
    fn time(&self, packet: Bytes) -> Duration {
        self.rate.time(packet + self.overhead)
    }
}

/// Packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Data of a full packet, at least 1 byte.
    pub payload: Bytes,
    /// Other bytes of each packet on a link.
    pub overhead: Bytes,
}

/// Returns the completion time of a flow alone on a path: from its first bit out of the source to its last byte at the destination.
/// Nodes forward whole packets; no handshake and no window.
pub fn ideal(path: &[PathLink], size: Bytes, framing: Framing) -> Duration {
    let packets = size.div_ceil(framing.payload).max(1);
    let last = size - (packets - 1) * framing.payload + framing.overhead;
    let full = framing.payload + framing.overhead;
    let delays: Duration = path.iter().map(|link| link.delay).sum();
    let last_from = |first: usize| -> Duration { path[first..].iter().map(|link| link.time(last)).sum() };
    if packets == 1 {
        return delays + last_from(0);
    }
    // The last packet follows the one before on one link, and waits for none from there on. Up to that link full packets follow each
    // other, one time after the other on the slowest link.
    let mut longest = Duration::ZERO;
    let (mut sum, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for (place, link) in path.iter().enumerate() {
        let time = link.time(full);
        sum += time;
        slowest = slowest.max(time);
        longest = longest.max(sum + (packets - 2) * slowest + last_from(place));
    }
    delays + longest
}

/// Flows of a range of sizes that have completed.
#[derive(Clone, Debug, Default)]
struct Bucket {
    times: Vec<Duration>,
    slowdowns: Vec<f64>,
    started: u64,
}

/// A coflow: its first start and its last end so far, and the flows that have not arrived.
#[derive(Clone, Copy, Debug)]
struct CoflowTimes {
    start: Instant,
    end: Instant,
    open: u64,
}

/// Completions by flow size and by coflow.
#[derive(Clone, Debug)]
pub struct Completions {
    bounds: Vec<Bytes>,
    buckets: Vec<Bucket>,
    coflows: HashMap<CoflowId, CoflowTimes>,
}

/// Bounds of ten ranges of sizes, in kB.
const BOUNDS: [u64; 9] = [1, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];

impl Default for Completions {
    fn default() -> Self {
        Completions::with_bounds(BOUNDS.map(|kilobytes| Bytes::new(kilobytes * 1_000)).to_vec())
    }
}

impl Completions {
    /// Makes an empty record with these bounds between ranges of sizes, which rise. A size equal to a bound is in the range above.
    ///
    /// # Errors
    /// When the bounds do not rise.
    pub fn new(bounds: Vec<Bytes>) -> Result<Completions, WorkloadError> {
        if let Some(pair) = bounds.windows(2).find(|pair| pair[0] >= pair[1]) {
            let expected = format!("a bound above {}", pair[0]);
            return Err(WorkloadError::range("buckets", expected, pair[1]));
        }
        Ok(Completions::with_bounds(bounds))
    }

    fn with_bounds(bounds: Vec<Bytes>) -> Completions {
        Completions {
            buckets: vec![Bucket::default(); bounds.len() + 1],
            bounds,
            coflows: HashMap::new(),
        }
    }

    fn bucket(&mut self, size: Bytes) -> &mut Bucket {
        let place = self.bounds.partition_point(|bound| *bound <= size);
        &mut self.buckets[place]
    }

    /// Records the start of a flow.
    pub fn started(&mut self, flow: &Flow) {
        self.bucket(flow.size).started += 1;
        if let Some(coflow) = flow.coflow {
            let times = self.coflows.entry(coflow).or_insert(CoflowTimes {
                start: flow.start,
                end: flow.start,
                open: 0,
            });
            times.start = times.start.min(flow.start);
            times.open += 1;
        }
    }

    /// Records that a flow of a coflow could not start: the coflow does not complete.
    pub fn refused(&mut self, coflow: CoflowId, at: Instant) {
        let times = self.coflows.entry(coflow).or_insert(CoflowTimes {
            start: at,
            end: at,
            open: 0,
        });
        times.open += 1;
    }

    /// Records the completion of a flow at `end`: its time from the first bit to the last byte, and the time of the same flow alone,
    /// above 0.
    pub fn completed(&mut self, flow: &Flow, end: Instant, (time, ideal): (Duration, Duration)) {
        let bucket = self.bucket(flow.size);
        bucket.times.push(time);
        bucket.slowdowns.push(time.ns() as f64 / ideal.ns().max(1) as f64);
        if let Some(times) = flow.coflow.and_then(|coflow| self.coflows.get_mut(&coflow)) {
            times.end = times.end.max(end);
            times.open -= 1;
        }
    }

    /// Returns the statistics.
    pub fn summary(&self) -> CompletionSummary {
        let bound = |place: usize| self.bounds.get(place).copied();
        let buckets = (0usize..).zip(&self.buckets).filter(|(_, bucket)| bucket.started > 0);
        let rows = buckets.map(|(place, bucket)| BucketSummary {
            from: place.checked_sub(1).and_then(bound),
            below: bound(place),
            flows: flow_statistics(bucket.started, &bucket.times, &bucket.slowdowns),
        });
        let all = |times: fn(&Bucket) -> usize| self.buckets.iter().map(times).sum::<usize>();
        let mut times = Vec::with_capacity(all(|bucket| bucket.times.len()));
        let mut slowdowns = Vec::with_capacity(times.capacity());
        for bucket in &self.buckets {
            times.extend_from_slice(&bucket.times);
            slowdowns.extend_from_slice(&bucket.slowdowns);
        }
        let complete = self.coflows.values().filter(|coflow| coflow.open == 0);
        let mut coflow_times: Vec<Duration> = complete
            .map(|coflow| coflow.end.saturating_since(coflow.start))
            .collect();
        coflow_times.sort_unstable();
        CompletionSummary {
            buckets: rows.collect(),
            all: flow_statistics(
                self.buckets.iter().map(|bucket| bucket.started).sum(),
                &times,
                &slowdowns,
            ),
            unfinished_coflows: (self.coflows.len() - coflow_times.len()) as u64,
            coflows: Statistics::of(&coflow_times, |time| time.ns() as f64),
        }
    }
}

fn flow_statistics(started: u64, times: &[Duration], slowdowns: &[f64]) -> FlowStatistics {
    let mut times = times.to_vec();
    times.sort_unstable();
    let mut slowdowns = slowdowns.to_vec();
    slowdowns.sort_unstable_by(f64::total_cmp);
    FlowStatistics {
        unfinished: started - times.len() as u64,
        time: Statistics::of(&times, |time| time.ns() as f64),
        slowdown: Statistics::of(&slowdowns, |slowdown| *slowdown),
    }
}

/// Statistics of completion times.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionSummary {
    /// Ranges of sizes with at least one flow.
    pub buckets: Vec<BucketSummary>,
    /// All flows.
    pub all: FlowStatistics,
    /// Times of coflows from their first start to their last end, ns; `None` if no coflow has completed.
    pub coflows: Option<Statistics>,
    /// Coflows with flows that are in progress or could not start.
    pub unfinished_coflows: u64,
}

/// Statistics of a range of sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketSummary {
    /// Least size; `None` in the first range.
    pub from: Option<Bytes>,
    /// Bound of the sizes; `None` in the last range.
    pub below: Option<Bytes>,
    /// Its flows.
    pub flows: FlowStatistics,
}

/// Statistics of flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowStatistics {
    /// Flows that started and have not completed.
    pub unfinished: u64,
    /// Completion times, ns; `None` if no flow has completed.
    pub time: Option<Statistics>,
    /// Completion times divided by those of the same flows alone; `None` if no flow has completed.
    pub slowdown: Option<Statistics>,
}

/// Statistics of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
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
    /// Largest.
    pub max: f64,
}

impl Statistics {
    /// Returns the statistics of sorted numbers; `None` without any. A quantile q of n is the round(q n)-th one.
    pub fn of_sorted(sorted: &[f64]) -> Option<Statistics> {
        Statistics::of(sorted, |number| *number)
    }

    /// Returns the statistics of sorted values; `None` without any. A quantile q of n is the round(q n)-th one.
    fn of<T>(sorted: &[T], value: impl Fn(&T) -> f64) -> Option<Statistics> {
        let last = sorted.last()?;
        let count = sorted.len();
        let quantile = |quantile: f64| {
            let place = (quantile * count as f64).round() as usize;
            value(&sorted[place.clamp(1, count) - 1])
        };
        Some(Statistics {
            count: count as u64,
            mean: sorted.iter().map(&value).sum::<f64>() / count as f64,
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: value(last),
        })
    }
}
