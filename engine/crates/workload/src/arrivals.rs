// SPDX-License-Identifier: Apache-2.0
//! Flows in an open loop: Poisson arrivals at a load, and incast.

use rand::seq::index;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use slotwise_random::exponential;
use slotwise_units::{Bytes, Duration, Instant, Rate};

use crate::error::WorkloadError;
use crate::flow::{CoflowId, Flow, HostIndex};
use crate::pairs::{Pairs, Pattern};
use crate::sizes::Sizes;

/// A load: the data of the flows divided by what links carry in the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Fraction of the capacity, above 0; above 1 is an overload.
    pub fraction: f64,
    /// Sum of the rates of the links: of the hosts' access links, or of the uplinks that the flows cross.
    pub capacity: Rate,
}

impl Load {
    /// Returns the mean time between flows of a mean size, ns.
    fn mean_gap(&self, mean_size: f64) -> Result<f64, WorkloadError> {
        if !(self.fraction > 0.0 && self.fraction <= MAX_LOAD) {
            let expected = format!("a load above 0 and at most {MAX_LOAD}");
            return Err(WorkloadError::range("load", expected, self.fraction));
        }
        if self.capacity == Rate::ZERO {
            return Err(WorkloadError::range("rate", "above 0 bit/s", self.capacity));
        }
        let gap = mean_size * 8e9 / (self.fraction * self.capacity.bps() as f64);
        if gap < MIN_GAP {
            let expected = format!("at least {MIN_GAP} ns between flows in the mean");
            return Err(WorkloadError::range("load", expected, format!("{gap} ns")));
        }
        Ok(gap)
    }
}

/// Least mean time between flows, ns: times are whole nanoseconds.
const MIN_GAP: f64 = 1.0;

/// Highest load, so that a wrong unit is found early.
const MAX_LOAD: f64 = 100.0;

/// Generators of a workload, so that a change of one thing leaves the draws of the others as they are.
struct Generators {
    pattern: Pcg64,
    times: Pcg64,
    sizes: Pcg64,
    hosts: Pcg64,
}

impl Generators {
    fn new(seed: u64) -> Generators {
        let mut seeds = Pcg64::seed_from_u64(seed);
        let mut generator = || Pcg64::from_rng(&mut seeds);
        Generators {
            pattern: generator(),
            times: generator(),
            sizes: generator(),
            hosts: generator(),
        }
    }
}

/// Poisson arrivals of flows, in an open loop: flows start whether or not earlier ones complete.
pub struct Poisson {
    sizes: Sizes,
    pairs: Pairs,
    mean_gap: f64,
    next: Instant,
    end: Instant,
    number: u64,
    generators: Generators,
}

impl Poisson {
    /// Makes arrivals at a load from the start of the run to `end`. Each seed gives other flows.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(
        sizes: Sizes,
        (pattern, hosts): (&Pattern, u32),
        load: Load,
        end: Instant,
        seed: u64,
    ) -> Result<Poisson, WorkloadError> {
        sizes.check()?;
        let mut generators = Generators::new(seed);
        let pairs = Pairs::new(pattern, hosts, &mut generators.pattern)?;
        let mean_gap = load.mean_gap(sizes.mean())?;
        let mut poisson = Poisson {
            sizes,
            pairs,
            mean_gap,
            next: Instant::ZERO,
            end,
            number: 0,
            generators,
        };
        poisson.advance();
        Ok(poisson)
    }

    fn advance(&mut self) {
        let gap = exponential(&mut self.generators.times, self.mean_gap);
        self.next = self.next.saturating_add(Duration::from_ns(gap));
    }
}

impl Iterator for Poisson {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let start = self.next;
        if start >= self.end {
            return None;
        }
        self.advance();
        let (source, destination) = self.pairs.draw(start, &mut self.generators.hosts);
        let number = self.number;
        self.number += 1;
        Some(Flow {
            number,
            start,
            source,
            destination,
            size: self.sizes.draw(&mut self.generators.sizes),
            coflow: None,
        })
    }
}

/// Times of the bursts of an incast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// Once, at the start of the run.
    Once,
    /// At the start of the run and then with this time between two bursts.
    Period(Duration),
    /// Poisson, at a load that all bursts together make.
    Load(Load),
}

/// Settings of [`Incast`].
#[derive(Clone, Debug, PartialEq)]
pub struct IncastConfig {
    /// Number of hosts.
    pub hosts: u32,
    /// Sending hosts of each burst, drawn each time, at most the number of hosts - 1.
    pub senders: u32,
    /// Receiving host; drawn each time if `None`.
    pub receiver: Option<HostIndex>,
    /// Data of each sender.
    pub size: Bytes,
    /// Times of the bursts.
    pub every: Every,
}

/// Bursts of flows from many hosts to one. The flows of a burst start at the same time and are a coflow.
pub struct Incast {
    config: IncastConfig,
    /// Mean time between bursts of a Poisson process, ns.
    mean_gap: Option<f64>,
    next_burst: Option<Instant>,
    end: Instant,
    number: u64,
    burst: u64,
    /// Flows of the last burst that were not returned yet, last one first.
    waiting: Vec<Flow>,
    generators: Generators,
}

impl Incast {
    /// Makes bursts from the start of the run to `end`. Each seed gives other flows.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(config: IncastConfig, end: Instant, seed: u64) -> Result<Incast, WorkloadError> {
        if config.hosts < 2 {
            return Err(WorkloadError::range("hosts", "at least 2", config.hosts));
        }
        if !(1..config.hosts).contains(&config.senders) {
            let expected = format!("1 to {}", config.hosts - 1);
            return Err(WorkloadError::range("senders", expected, config.senders));
        }
        if let Some(receiver) = config.receiver.filter(|receiver| receiver.0 >= config.hosts) {
            let expected = format!("0 to {}", config.hosts - 1);
            return Err(WorkloadError::range("receiver", expected, receiver.0));
        }
        if config.size.is_zero() {
            return Err(WorkloadError::range("size", "at least 1 byte", config.size));
        }
        if config.every == Every::Period(Duration::ZERO) {
            return Err(WorkloadError::range("every", "a time above 0", Duration::ZERO));
        }
        let mut generators = Generators::new(seed);
        let mut next_burst = Instant::ZERO;
        let mut mean_gap = None;
        if let Every::Load(load) = config.every {
            let gap = load.mean_gap(config.size.get() as f64 * f64::from(config.senders))?;
            next_burst = next_burst.saturating_add(Duration::from_ns(exponential(&mut generators.times, gap)));
            mean_gap = Some(gap);
        }
        Ok(Incast {
            config,
            mean_gap,
            next_burst: Some(next_burst),
            end,
            number: 0,
            burst: 0,
            waiting: Vec::new(),
            generators,
        })
    }

    fn draw_burst(&mut self) -> Option<()> {
        let start = self.next_burst.filter(|start| *start < self.end)?;
        let gap = match self.config.every {
            Every::Once => None,
            Every::Period(period) => Some(period),
            Every::Load(_) => self
                .mean_gap
                .map(|gap| Duration::from_ns(exponential(&mut self.generators.times, gap))),
        };
        self.next_burst = gap.map(|gap| start.saturating_add(gap));
        let hosts = self.config.hosts;
        let receiver = match self.config.receiver {
            Some(receiver) => receiver.0,
            None => self.generators.hosts.random_range(0..hosts),
        };
        let senders = self.config.senders as usize;
        let drawn = index::sample(&mut self.generators.hosts, hosts as usize - 1, senders);
        let coflow = Some(CoflowId(self.burst));
        self.burst += 1;
        for sender in drawn {
            let sender = sender as u32;
            self.waiting.push(Flow {
                number: self.number,
                start,
                source: HostIndex(if sender < receiver { sender } else { sender + 1 }),
                destination: HostIndex(receiver),
                size: self.config.size,
                coflow,
            });
            self.number += 1;
        }
        self.waiting.reverse();
        Some(())
    }
}

impl Iterator for Incast {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        if self.waiting.is_empty() {
            self.draw_burst()?;
        }
        self.waiting.pop()
    }
}
