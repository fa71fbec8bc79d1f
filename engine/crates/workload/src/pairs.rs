// SPDX-License-Identifier: Apache-2.0
//! Traffic patterns: sources and destinations of flows.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use slotwise_random::uniform;
use slotwise_units::{Duration, Instant};

use crate::error::{Problem, WorkloadError};
use crate::flow::HostIndex;
use crate::sizes::{amount, fields};

/// A traffic pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Any two hosts, with equal probability.
    All,
    /// Any two hosts of different groups, such as racks, with equal probability. Hosts 0 to `group` - 1 are the first group.
    OtherGroups {
        /// Hosts per group; a divisor of the number of hosts.
        group: u32,
    },
    /// One destination per host, drawn once, each host receives from one.
    Permutation,
    /// Host i sends to host i + `shift`, modulo the number of hosts.
    Shift {
        /// From 1 to the number of hosts - 1.
        shift: u32,
    },
    /// A fraction of the flows goes to some hosts, drawn once; the others are as in [`Pattern::All`].
    Hotspot {
        /// Number of these hosts.
        hosts: u32,
        /// Fraction of the flows, 0 to 1.
        fraction: f64,
    },
    /// A fraction of the flows follows a permutation, drawn once; the others are as in [`Pattern::All`].
    Skew {
        /// Fraction of the flows, 0 to 1.
        fraction: f64,
    },
    /// Pairs by weights.
    Matrix(Matrix),
    /// Any of the first hosts to any of some hosts, with equal probability of each sender, and of each receiver but itself.
    Between {
        /// Number of senders.
        senders: u32,
        /// Receivers.
        receivers: Vec<u32>,
    },
    /// Each of the first hosts to one, in order.
    Same {
        /// Receiver of each sender.
        receivers: Vec<u32>,
    },
    /// Patterns in turn, each for the same time, from the first one again after the last one.
    InTurn {
        /// Time of each pattern.
        each: Duration,
        /// Patterns, at least one.
        patterns: Vec<Pattern>,
    },
}

/// Weights of pairs: row i has those of flows from host i.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Sums of the weights of all rows up to each one.
    rows: Vec<f64>,
    /// For each row, sums of its weights up to each column.
    columns: Vec<Vec<f64>>,
}

/// Largest weight, so that sums stay finite.
const MAX_WEIGHT: f64 = 1e100;

impl Matrix {
    /// Reads a square matrix for a number of hosts: a row per line, weights separated by commas or spaces, 0 on the diagonal.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn read(file: &str, text: &str, hosts: u32) -> Result<Matrix, WorkloadError> {
        let mut rows = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut total = 0.0;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let error = |problem| WorkloadError::line(file, number, problem);
            let mut sum = 0.0;
            let mut sums = Vec::with_capacity(hosts as usize);
            for (column, field) in fields(line).enumerate() {
                let weight = amount("weight", field, MAX_WEIGHT).map_err(error)?;
                if column == columns.len() && weight > 0.0 {
                    let host = column.to_string();
                    return Err(error(Problem::ToItself { host }));
                }
                sum += weight;
                sums.push(sum);
            }
            if sums.len() != hosts as usize || columns.len() == hosts as usize {
                return Err(error(Problem::Field {
                    field: "row",
                    got: format!("row {} with {} weights", columns.len() + 1, sums.len()),
                    expected: "a square matrix with a row and a column per host",
                }));
            }
            total += sum;
            rows.push(total);
            columns.push(sums);
        }
        if columns.len() != hosts as usize {
            return Err(WorkloadError::file(
                file,
                Problem::Truncated {
                    records: "rows",
                    expected: hosts.into(),
                    got: columns.len() as u64,
                },
            ));
        }
        if total <= 0.0 {
            return Err(WorkloadError::file(file, Problem::Empty("one weight above 0")));
        }
        Ok(Matrix { rows, columns })
    }
}

/// Draws an index by sums of weights; `None` if all weights are 0.
fn weighted(sums: &[f64], rng: &mut Pcg64) -> Option<u32> {
    let total = *sums.last()?;
    let point = uniform(rng) * total;
    (total > 0.0).then(|| sums.partition_point(|sum| *sum < point).min(sums.len() - 1) as u32)
}

/// A pattern with its draws made.
#[derive(Clone, Debug)]
enum Drawn {
    All,
    OtherGroups { group: u32 },
    Fixed(Vec<u32>),
    Towards { targets: Vec<u32>, fraction: f64 },
    Skew { destinations: Vec<u32>, fraction: f64 },
    Matrix(Matrix),
    Between { senders: u32, receivers: Vec<u32> },
    Same(Vec<u32>),
    InTurn { each: Duration, patterns: Vec<Drawn> },
}

/// Sources and destinations by a pattern.
#[derive(Clone, Debug)]
pub struct Pairs {
    hosts: u32,
    drawn: Drawn,
}

impl Pairs {
    /// Makes the pairs of a pattern between hosts; permutations and hotspots are drawn now.
    ///
    /// # Errors
    /// When there are fewer than two hosts, or a number of the pattern is out of its range.
    pub fn new(pattern: &Pattern, hosts: u32, rng: &mut Pcg64) -> Result<Pairs, WorkloadError> {
        if hosts < 2 {
            return Err(WorkloadError::range("hosts", "at least 2", hosts));
        }
        let drawn = draw(pattern, hosts, rng)?;
        Ok(Pairs { hosts, drawn })
    }

    /// Draws the hosts of a flow that starts at `now`.
    pub fn draw(&self, now: Instant, rng: &mut Pcg64) -> (HostIndex, HostIndex) {
        let drawn = self.drawn.at(now);
        let source = match drawn {
            Drawn::Matrix(matrix) => weighted(&matrix.rows, rng).expect("a weight above 0"),
            Drawn::Between { senders, .. } => rng.random_range(0..*senders),
            Drawn::Same(receivers) => rng.random_range(0..receivers.len() as u32),
            _ => rng.random_range(0..self.hosts),
        };
        let destination = drawn.destination(source, self.hosts, rng);
        let destination = destination.expect("rows without weights are not drawn");
        (HostIndex(source), HostIndex(destination))
    }

    /// Draws the destination of a flow of a host that starts at `now`; `None` if the matrix has no weight above 0 in its row.
    pub fn destination(&self, source: HostIndex, now: Instant, rng: &mut Pcg64) -> Option<HostIndex> {
        let drawn = self.drawn.at(now);
        drawn.destination(source.0, self.hosts, rng).map(HostIndex)
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }
}

impl Drawn {
    fn at(&self, now: Instant) -> &Drawn {
        match self {
            Drawn::InTurn { each, patterns } => {
                let turn = now.since_start() / *each;
                patterns[(turn % patterns.len() as u64) as usize].at(now)
            }
            drawn => drawn,
        }
    }

    fn destination(&self, source: u32, hosts: u32, rng: &mut Pcg64) -> Option<u32> {
        Some(match self {
            Drawn::All | Drawn::InTurn { .. } => another(source, hosts, rng),
            Drawn::OtherGroups { group } => {
                let own = source / group * group;
                let drawn = rng.random_range(0..hosts - group);
                if drawn < own { drawn } else { drawn + group }
            }
            Drawn::Fixed(destinations) => destinations[source as usize],
            Drawn::Towards { targets, fraction } => {
                let others = || targets.iter().filter(|target| **target != source);
                let count = others().count();
                if count == 0 || uniform(rng) > *fraction {
                    return Some(another(source, hosts, rng));
                }
                *others().nth(rng.random_range(0..count)).expect("below their number")
            }
            Drawn::Skew { destinations, fraction } => {
                if uniform(rng) <= *fraction {
                    destinations[source as usize]
                } else {
                    another(source, hosts, rng)
                }
            }
            Drawn::Matrix(matrix) => return weighted(&matrix.columns[source as usize], rng),
            Drawn::Between { senders, receivers } => {
                if source >= *senders {
                    return None;
                }
                let own = receivers.iter().position(|receiver| *receiver == source);
                let drawn = rng.random_range(0..receivers.len() - usize::from(own.is_some()));
                // The last receiver stands in for the sender itself.
                match own == Some(drawn) {
                    true => *receivers.last().expect("a receiver beside the sender"),
                    false => receivers[drawn],
                }
            }
            Drawn::Same(receivers) => return receivers.get(source as usize).copied(),
        })
    }
}

fn another(source: u32, hosts: u32, rng: &mut Pcg64) -> u32 {
    let drawn = rng.random_range(0..hosts - 1);
    if drawn < source { drawn } else { drawn + 1 }
}

/// Returns a destination for each host: a cycle through all hosts in random order, so that no host sends to itself.
fn permutation(hosts: u32, rng: &mut Pcg64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..hosts).collect();
    order.shuffle(rng);
    let mut destinations = vec![0; order.len()];
    for (place, source) in order.iter().enumerate() {
        destinations[*source as usize] = order[(place + 1) % order.len()];
    }
    destinations
}

fn draw(pattern: &Pattern, hosts: u32, rng: &mut Pcg64) -> Result<Drawn, WorkloadError> {
    let check = |setting, fraction: f64| {
        if (0.0..=1.0).contains(&fraction) {
            return Ok(());
        }
        Err(WorkloadError::range(setting, "a fraction from 0 to 1", fraction))
    };
    Ok(match pattern {
        Pattern::All => Drawn::All,
        Pattern::OtherGroups { group } => {
            if *group == 0 || *group >= hosts || !hosts.is_multiple_of(*group) {
                let expected = format!("a divisor of the {hosts} hosts below their number");
                return Err(WorkloadError::range("group", expected, group));
            }
            Drawn::OtherGroups { group: *group }
        }
        Pattern::Permutation => Drawn::Fixed(permutation(hosts, rng)),
        Pattern::Shift { shift } => {
            if !(1..hosts).contains(shift) {
                return Err(WorkloadError::range("shift", format!("1 to {}", hosts - 1), shift));
            }
            Drawn::Fixed(
                (0..hosts)
                    .map(|host| ((u64::from(host) + u64::from(*shift)) % u64::from(hosts)) as u32)
                    .collect(),
            )
        }
        Pattern::Hotspot { hosts: some, fraction } => {
            check("hotspot", *fraction)?;
            if !(1..=hosts).contains(some) {
                return Err(WorkloadError::range("hotspot", format!("1 to {hosts} hosts"), some));
            }
            let mut targets: Vec<u32> = (0..hosts).collect();
            targets.shuffle(rng);
            targets.truncate(*some as usize);
            let fraction = *fraction;
            Drawn::Towards { targets, fraction }
        }
        Pattern::Skew { fraction } => {
            check("skew", *fraction)?;
            Drawn::Skew {
                destinations: permutation(hosts, rng),
                fraction: *fraction,
            }
        }
        Pattern::Matrix(matrix) => {
            if matrix.rows.len() != hosts as usize {
                let expected = format!("a row per host, {hosts}");
                return Err(WorkloadError::range("matrix", expected, matrix.rows.len()));
            }
            Drawn::Matrix(matrix.clone())
        }
        Pattern::Between { senders, receivers } => {
            let others = |sender| receivers.iter().any(|receiver| *receiver != sender);
            if *senders == 0 || !(0..*senders).all(others) || receivers.iter().any(|receiver| *receiver >= hosts) {
                let expected = "a receiver beside each sender";
                return Err(WorkloadError::range("receivers", expected, receivers.len()));
            }
            Drawn::Between {
                senders: *senders,
                receivers: receivers.clone(),
            }
        }
        Pattern::Same { receivers } => {
            let itself = (0..).zip(receivers).find(|(sender, receiver)| sender == *receiver);
            if itself.is_some() || receivers.is_empty() || receivers.iter().any(|receiver| *receiver >= hosts) {
                let expected = "another host for each sender";
                return Err(WorkloadError::range("receivers", expected, receivers.len()));
            }
            Drawn::Same(receivers.clone())
        }
        Pattern::InTurn { each, patterns } => {
            if each.is_zero() || patterns.is_empty() {
                return Err(WorkloadError::range("in turn", "a time above 0 and a pattern", each));
            }
            let patterns = patterns.iter().map(|pattern| draw(pattern, hosts, rng));
            Drawn::InTurn {
                each: *each,
                patterns: patterns.collect::<Result<_, _>>()?,
            }
        }
    })
}
