// SPDX-License-Identifier: Apache-2.0
//! Collectives of distributed training as graphs of steps: a flow starts when the flows that it needs have completed.
//!
//! Steps follow from their numbers, so that only those in progress take memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use slotwise_units::{Bytes, Duration, Instant};

use crate::error::WorkloadError;
use crate::flow::{CoflowId, Flow, HostIndex, Workload};

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// All-reduce on a ring: in 2 (N - 1) steps each host sends a part of 1/N to the next host, when the part of the step before
    /// has arrived.
    RingAllReduce,
    /// All-reduce on a binary tree, up to host 0 and back, in `chunks` parts that follow each other on each edge.
    TreeAllReduce {
        /// Parts, at least 1.
        chunks: u32,
    },
    /// Each host sends to each other host; all flows start together.
    AllToAll,
    /// Layers of experts: the hosts are `stages` groups of equal size, and each micro-batch passes from each host of a group to each
    /// host of the next one, when it has arrived there and the micro-batch before has left.
    ExpertPipeline {
        /// Groups, at least 2; a divisor of the number of hosts.
        stages: u32,
        /// Micro-batches, at least 1.
        micro_batches: u32,
    },
}

/// Settings of [`Collective`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveConfig {
    /// Operation.
    pub operation: Operation,
    /// Number of hosts, at least 2.
    pub hosts: u32,
    /// Data: of the vector to reduce; of each pair (all-to-all); of a micro-batch in a host (pipeline).
    pub size: Bytes,
    /// Time from the arrival of the last flow that a step needs to the start of the step; also between two rounds.
    pub compute: Duration,
    /// Rounds, at least 1. A round begins when the one before has completed. Each round is a coflow.
    pub rounds: u32,
}

/// A step of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    source: u32,
    destination: u32,
    size: Bytes,
    /// Number of steps that it needs.
    needs: u32,
}

impl CollectiveConfig {
    fn check(&self) -> Result<(), WorkloadError> {
        if self.hosts < 2 {
            return Err(WorkloadError::range("hosts", "at least 2", self.hosts));
        }
        if self.size.is_zero() {
            return Err(WorkloadError::range("size", "at least 1 byte", self.size));
        }
        if self.rounds == 0 {
            return Err(WorkloadError::range("rounds", "at least 1", self.rounds));
        }
        match self.operation {
            Operation::TreeAllReduce { chunks: 0 } => Err(WorkloadError::range("chunks", "at least 1", 0)),
            Operation::ExpertPipeline { stages, .. } if stages < 2 || !self.hosts.is_multiple_of(stages) => {
                let expected = format!("a divisor of the {} hosts, at least 2", self.hosts);
                Err(WorkloadError::range("stages", expected, stages))
            }
            Operation::ExpertPipeline { micro_batches: 0, .. } => {
                Err(WorkloadError::range("micro-batches", "at least 1", 0))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of steps of a round.
    pub fn steps(&self) -> u64 {
        let hosts = u64::from(self.hosts);
        match self.operation {
            Operation::RingAllReduce => 2 * (hosts - 1) * hosts,
            Operation::TreeAllReduce { chunks } => 2 * (hosts - 1) * u64::from(chunks),
            Operation::AllToAll => hosts * (hosts - 1),
            Operation::ExpertPipeline { stages, micro_batches } => {
                let group = hosts / u64::from(stages);
                u64::from(micro_batches) * u64::from(stages - 1) * group * group
            }
        }
    }

    /// Returns a bound of the numbers of steps that need no other: those of the first turn, part, or passage of a micro-batch.
    fn first_steps(&self) -> u64 {
        let hosts = u64::from(self.hosts);
        match self.operation {
            Operation::RingAllReduce => hosts,
            Operation::TreeAllReduce { .. } => 2 * (hosts - 1),
            Operation::AllToAll => self.steps(),
            Operation::ExpertPipeline { stages, .. } => {
                let group = hosts / u64::from(stages);
                group * group
            }
        }
    }

    /// Returns the size of part `part` of `parts`; the parts differ by a byte at most.
    fn part(&self, part: u64, parts: u64) -> Bytes {
        self.size / parts + Bytes::new(u64::from(part < (self.size % Bytes::new(parts)).get()))
    }

    fn step(&self, number: u64) -> Step {
        let hosts = u64::from(self.hosts);
        match self.operation {
            Operation::RingAllReduce => {
                let (turn, source) = (number / hosts, number % hosts);
                // In turn 0 host i sends part i, in the next turn the part that it has received.
                let part = (source + 2 * hosts - turn) % hosts;
                Step {
                    source: source as u32,
                    destination: ((source + 1) % hosts) as u32,
                    size: self.part(part, hosts),
                    needs: u32::from(turn > 0),
                }
            }
            Operation::TreeAllReduce { chunks } => {
                let tree = Tree::of(number, self.hosts);
                let (source, destination, needs) = match tree.up {
                    true => (tree.child, parent(tree.child), children(tree.child, self.hosts)),
                    false if parent(tree.child) == 0 => (0, tree.child, children(0, self.hosts)),
                    false => (parent(tree.child), tree.child, 1),
                };
                let needs = needs + u32::from(tree.chunk > 0);
                Step {
                    source,
                    destination,
                    size: self.part(tree.chunk, chunks.into()),
                    needs,
                }
            }
            Operation::AllToAll => {
                let (turn, source) = (number / hosts, number % hosts);
                Step {
                    source: source as u32,
                    destination: ((source + turn + 1) % hosts) as u32,
                    size: self.size,
                    needs: 0,
                }
            }
            Operation::ExpertPipeline { stages, .. } => {
                let at = Passage::of(number, self.hosts / stages, stages);
                let arrivals = if at.stage > 0 { at.group } else { 0 };
                let departures = if at.batch > 0 { at.group } else { 0 };
                let to = u64::from(at.to);
                Step {
                    source: at.stage * at.group + at.from,
                    destination: (at.stage + 1) * at.group + at.to,
                    size: self.part(to, at.group.into()),
                    needs: arrivals + departures,
                }
            }
        }
    }

    /// Returns the steps that need this one.
    fn next_steps(&self, number: u64) -> Vec<u64> {
        let hosts = u64::from(self.hosts);
        match self.operation {
            Operation::RingAllReduce => {
                let (turn, source) = (number / hosts, number % hosts);
                let next = (turn + 1) * hosts + (source + 1) % hosts;
                Some(next).filter(|next| *next < self.steps()).into_iter().collect()
            }
            Operation::TreeAllReduce { chunks } => {
                let tree = Tree::of(number, self.hosts);
                let down = |host| {
                    let children = [2 * u64::from(host) + 1, 2 * u64::from(host) + 2];
                    let known = children.into_iter().filter(|child| *child < hosts);
                    known
                        .map(|child| tree.number(child as u32, false, self.hosts))
                        .collect()
                };
                let mut next: Vec<u64> = match tree.up {
                    true if parent(tree.child) == 0 => down(0),
                    true => vec![tree.number(parent(tree.child), true, self.hosts)],
                    false => down(tree.child),
                };
                if tree.chunk + 1 < u64::from(chunks) {
                    next.push(number + 2 * (hosts - 1));
                }
                next
            }
            Operation::AllToAll => Vec::new(),
            Operation::ExpertPipeline { stages, micro_batches } => {
                let at = Passage::of(number, self.hosts / stages, stages);
                let from = |stage, batch, from| {
                    let passage = Passage {
                        stage,
                        batch,
                        from,
                        to: 0,
                        group: at.group,
                    };
                    let first = passage.number(stages);
                    first..first + u64::from(at.group)
                };
                let mut next = Vec::new();
                if at.stage + 2 < stages {
                    next.extend(from(at.stage + 1, at.batch, at.to));
                }
                if at.batch + 1 < micro_batches {
                    next.extend(from(at.stage, at.batch + 1, at.from));
                }
                next
            }
        }
    }
}

/// A step of the binary tree: host i is the parent of 2 i + 1 and 2 i + 2.
struct Tree {
    chunk: u64,
    up: bool,
    child: u32,
}

impl Tree {
    fn of(number: u64, hosts: u32) -> Tree {
        let edges = u64::from(hosts - 1);
        let (chunk, rest) = (number / (2 * edges), number % (2 * edges));
        Tree {
            chunk,
            up: rest < edges,
            child: (rest % edges) as u32 + 1,
        }
    }

    /// Returns the number of a step of the same chunk.
    fn number(&self, child: u32, up: bool, hosts: u32) -> u64 {
        let edges = u64::from(hosts - 1);
        self.chunk * 2 * edges + if up { 0 } else { edges } + u64::from(child - 1)
    }
}

fn parent(host: u32) -> u32 {
    (host - 1) / 2
}

fn children(host: u32, hosts: u32) -> u32 {
    let first = 2 * u64::from(host) + 1;
    u64::from(hosts).saturating_sub(first).min(2) as u32
}

/// A step of the pipeline: a part of a micro-batch from a host of a group to one of the next group.
struct Passage {
    batch: u32,
    stage: u32,
    from: u32,
    to: u32,
    /// Hosts of a group.
    group: u32,
}

impl Passage {
    fn of(number: u64, group: u32, stages: u32) -> Passage {
        let digit = |number: u64, base: u32| (number / u64::from(base), (number % u64::from(base)) as u32);
        let (rest, to) = digit(number, group);
        let (rest, from) = digit(rest, group);
        let (batch, stage) = digit(rest, stages - 1);
        let batch = batch as u32;
        Passage {
            batch,
            stage,
            from,
            to,
            group,
        }
    }

    fn number(&self, stages: u32) -> u64 {
        let group = u64::from(self.group);
        let place = u64::from(self.batch) * u64::from(stages - 1) + u64::from(self.stage);
        (place * group + u64::from(self.from)) * group + u64::from(self.to)
    }
}

/// A collective in progress.
pub struct Collective {
    config: CollectiveConfig,
    round: u32,
    /// Steps of the round that have not completed.
    left: u64,
    ready: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Steps with some of their needed steps completed, with the number of the others.
    partial: HashMap<u64, u32>,
}

impl Collective {
    /// Makes a collective that begins at the start of the run.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(config: CollectiveConfig) -> Result<Collective, WorkloadError> {
        config.check()?;
        let mut collective = Collective {
            config,
            round: 0,
            left: 0,
            ready: BinaryHeap::new(),
            partial: HashMap::new(),
        };
        collective.begin(Instant::ZERO);
        Ok(collective)
    }

    fn begin(&mut self, now: Instant) {
        self.left = self.config.steps();
        for number in 0..self.config.first_steps() {
            if self.config.step(number).needs == 0 {
                self.ready.push(Reverse((now, number)));
            }
        }
    }
}

impl Workload for Collective {
    fn next_start(&self) -> Option<Instant> {
        self.ready.peek().map(|Reverse((start, _))| *start)
    }

    fn next_flow(&mut self) -> Option<Flow> {
        let Reverse((start, number)) = self.ready.pop()?;
        let step = self.config.step(number);
        Some(Flow {
            number: u64::from(self.round) * self.config.steps() + number,
            start,
            source: HostIndex(step.source),
            destination: HostIndex(step.destination),
            size: step.size.max(Bytes::new(1)),
            coflow: Some(CoflowId(self.round.into())),
        })
    }

    fn completed(&mut self, now: Instant, flow: &Flow) {
        let start = now.saturating_add(self.config.compute);
        for next in self.config.next_steps(flow.number % self.config.steps()) {
            let needed = self
                .partial
                .remove(&next)
                .unwrap_or_else(|| self.config.step(next).needs);
            match needed {
                0 | 1 => self.ready.push(Reverse((start, next))),
                needed => {
                    self.partial.insert(next, needed - 1);
                }
            }
        }
        self.left -= 1;
        if self.left == 0 && self.round + 1 < self.config.rounds {
            self.round += 1;
            self.begin(start);
        }
    }
}
