// SPDX-License-Identifier: Apache-2.0
//! Numbers of the oracle, of single calculations and of single messages.

use serde::Deserialize;
use slotwise_lambda::{Claim, Draws, LambdaError, Network, Rule, Session, Steps, check, grants, max_min};
use slotwise_transport::gtp::message::{LossList, MAX_BITMAP_BYTES, Message};

/// What is to be found out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checks {
    /// Known rates: each makes a number of its name, the largest error.
    #[serde(default)]
    known: Vec<Known>,
    /// Single calculations: each makes a number of its name, the sum of the grants by the capacity.
    #[serde(default)]
    granted: Vec<Granted>,
    /// Numbers `rounds`, the most of algorithm 1 by sessions, and `uncertified`, sessions without a bound.
    #[serde(default)]
    random: Option<Random>,
    /// The longest loss list, written and read again: a number of its name.
    #[serde(default)]
    loss_list: Option<Longest>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Longest {
    name: String,
    /// IP bytes of a packet.
    packet_bytes: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    name: String,
    capacity: f64,
    /// (source, sink), counted from 1.
    pairs: Vec<(usize, usize)>,
    #[serde(default)]
    demands: Vec<f64>,
    #[serde(with = "serde_yaml_ng::with::singleton_map")]
    expected: Expected,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Expected {
    /// Of each session; the error is in the unit of the rates.
    Rates(Vec<f64>),
    /// The sum of all and the highest ones; the error is relative.
    SumAndHighest(Vec<f64>),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Granted {
    name: String,
    capacity: f64,
    measured: Vec<f64>,
    alpha: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Random {
    networks: usize,
    /// (fewest, most).
    nodes: (usize, usize),
    sessions: (usize, usize),
}

/// Stream of draws for random networks.
const RANDOM: u64 = 0x7261_6e64;
/// By the largest capacity.
const TOLERANCE: f64 = 1e-9;

impl Known {
    fn error(&self) -> Result<f64, LambdaError> {
        let sources = self.pairs.iter().map(|(source, _)| *source).max().unwrap_or(0);
        let sinks = self.pairs.iter().map(|(_, sink)| *sink).max().unwrap_or(0);
        let session = |(index, &(source, sink)): (usize, &(usize, usize))| Session {
            demand: self.demands.get(index).copied(),
            ..Session::between(source.wrapping_sub(1), (sources + sink).wrapping_sub(1))
        };
        let sessions = self.pairs.iter().enumerate().map(session).collect();
        let mut rates = max_min(&Network::new(vec![self.capacity; sources + sinks], sessions)?).rates;
        let error = match &self.expected {
            Expected::Rates(wanted) => {
                let errors = rates.iter().zip(wanted).map(|(ours, wanted)| (ours - wanted).abs());
                errors.fold(0.0, f64::max)
            }
            Expected::SumAndHighest(wanted) => {
                rates.sort_by(|a, b| b.total_cmp(a));
                rates.insert(0, rates.iter().sum());
                let errors = rates
                    .iter()
                    .zip(wanted)
                    .map(|(ours, wanted)| (ours / wanted - 1.0).abs());
                errors.fold(0.0, f64::max)
            }
        };
        Ok(error)
    }
}

impl Granted {
    fn sum(&self) -> Result<f64, LambdaError> {
        let steps = Steps::new(self.alpha, Steps::default().beta())?;
        let claims: Vec<Claim> = self
            .measured
            .iter()
            .map(|&measured| Claim {
                steps,
                ..Claim::of(measured)
            })
            .collect();
        Ok(grants(self.capacity, Rule::default(), &claims)?.iter().sum::<f64>() / self.capacity)
    }
}

impl Longest {
    /// IP bytes from the first packet that it names to the last, both included.
    fn span_bytes(&self) -> f64 {
        let list = LossList {
            first: 0,
            bitmap: &[0; MAX_BITMAP_BYTES],
        };
        let mut message = Vec::new();
        Message::Losses(list).encode(1, &mut message);
        let Ok((_, Message::Losses(read))) = Message::decode(&message) else {
            return 0.0;
        };
        let (least, most) = (read.blocks().min(), read.blocks().max());
        let blocks = most.zip(least).map_or(0, |(most, least)| most - least + 1);
        blocks as f64 * f64::from(self.packet_bytes)
    }
}

impl Random {
    /// The most rounds by sessions, and the sessions without a bound.
    fn numbers(&self, seed: u64) -> Result<(f64, f64), LambdaError> {
        let (mut rounds, mut uncertified) = (0.0_f64, 0.0);
        for index in 0..self.networks {
            let mut draws = Draws::new(seed ^ RANDOM, index as u64);
            let mut between = |(least, most): (usize, usize)| least + draws.below(most.saturating_sub(least) + 1);
            let sources = (between(self.nodes) / 2).max(1);
            let count = between(self.sessions);
            let capacities: Vec<f64> = (0..2 * sources).map(|_| draws.uniform(0.5, 1.0)).collect();
            let session = |_| {
                let is_finite = draws.below(2) == 0;
                Session {
                    demand: is_finite.then(|| draws.uniform(0.0, 0.5)),
                    ..Session::between(draws.below(sources), sources + draws.below(sources))
                }
            };
            let network = Network::new(capacities, (0..count).map(session).collect())?;
            let fair = max_min(&network);
            rounds = rounds.max(fair.rounds as f64 / count.max(1) as f64);
            if check(&network, &fair.rates, TOLERANCE).is_err() {
                uncertified += 1.0;
            }
        }
        Ok((rounds, uncertified))
    }
}

impl Checks {
    pub(super) fn names(&self) -> Vec<String> {
        let known = self.known.iter().map(|known| known.name.clone());
        let granted = self.granted.iter().map(|granted| granted.name.clone());
        let random = self
            .random
            .iter()
            .flat_map(|_| ["rounds".to_owned(), "uncertified".to_owned()]);
        let longest = self.loss_list.iter().map(|list| list.name.clone());
        known.chain(granted).chain(random).chain(longest).collect()
    }

    pub(super) fn numbers(&self, seed: u64) -> Result<Vec<(String, f64)>, LambdaError> {
        let mut numbers = Vec::new();
        for known in &self.known {
            numbers.push((known.name.clone(), known.error()?));
        }
        for granted in &self.granted {
            numbers.push((granted.name.clone(), granted.sum()?));
        }
        if let Some(list) = &self.loss_list {
            numbers.push((list.name.clone(), list.span_bytes()));
        }
        if let Some(random) = self.random {
            let (rounds, uncertified) = random.numbers(seed)?;
            numbers.push(("rounds".to_owned(), rounds));
            numbers.push(("uncertified".to_owned(), uncertified));
        }
        Ok(numbers)
    }
}
