// SPDX-License-Identifier: Apache-2.0
//! Networks in fluid mode, looked at every period.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde_yaml_ng::{Mapping, Value};
use slotwise_lambda::fluid::{Fluid, FluidOptions, Samples, Ties};
use slotwise_lambda::{LambdaError, Rule, Steps};
use slotwise_observe::record::{NetworkPeriod, Period, Recording, SessionPeriod, Table};
use slotwise_scenario::Scenario;
use slotwise_units::Duration;

use super::build::{Built, Case};
use super::twin::{self, Manner, Timing};
use crate::setup::{Network, Runner, RunnerError};

/// Networks that are alike.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cases {
    #[serde(default = "first")]
    pub(super) seed: u64,
    duration_ms: u64,
    #[serde(default = "sample_ms")]
    sample_ms: u64,
    /// What is offered to nodes is a mean over this time, a multiple of `sample_ms`.
    #[serde(default)]
    load_window_ms: Option<u64>,
    /// Rows of sessions, not of networks only.
    #[serde(default = "yes")]
    sessions: bool,
    #[serde(default)]
    rule: Rule,
    #[serde(default)]
    ties: Ties,
    #[serde(default)]
    lost_grants: f64,
    /// Each case as often, with seeds of its own, named `NAME-0` and so on.
    #[serde(default)]
    repeat: Option<u32>,
    /// Each network once more in step with slots of so many ms, named `sync-10ms` or `sync-10ms-0`.
    #[serde(default)]
    synchronous_ms: Vec<u32>,
    /// What all cases have unless they say otherwise.
    #[serde(default)]
    common: Mapping,
    cases: Vec<Mapping>,
    /// Part of all times; 1 unless this was shortened.
    #[serde(skip, default = "whole")]
    scale: f64,
    /// Its cases are run with packets instead, all rates times this where they run and as they were where they are written down.
    #[serde(default)]
    packets: Option<f64>,
}

fn first() -> u64 {
    1
}

fn sample_ms() -> u64 {
    100
}

fn yes() -> bool {
    true
}

fn whole() -> f64 {
    1.0
}

/// The thesis does not print the synchronous algorithm's steps: means of table VII.2.
const IN_STEP: (f64, f64) = (0.1, 0.1);
/// Slower ones have too few packets in an interval, faster ones are other networks.
const PACKET_SCALES: RangeInclusive<f64> = 0.001..=1.0;
/// Seeds of repeated cases are so far apart that those of runs do not meet them.
const SEED_STRIDE: u64 = 1 << 32;

/// A whole case on its way through time.
struct Watch {
    samples: Samples,
    window: usize,
    /// What had come to each node at the ends of the last periods.
    came: VecDeque<Vec<f64>>,
    was_there: Vec<bool>,
    most_mbps: f64,
    /// Of all sources together.
    sources_mbps: f64,
    /// Of each session's source.
    of_source_mbps: Vec<f64>,
}

/// D and D0 at one time, by the largest capacity.
#[derive(Debug, Clone, Copy)]
struct Distance {
    own: f64,
    d0: f64,
}

impl Cases {
    fn cases(&self) -> Result<Vec<Case>, serde_yaml_ng::Error> {
        let case = |own: &Mapping| {
            let mut all = self.common.clone();
            all.extend(own.clone());
            serde_yaml_ng::from_value(Value::Mapping(all))
        };
        self.cases.iter().map(case).collect()
    }

    /// Cases with their names and the place of their seed.
    fn named(&self) -> Vec<(String, u64, Case)> {
        // They were read once already.
        let cases = self.cases().unwrap_or_default().into_iter();
        let repeated = cases.flat_map(|case| match self.repeat {
            None => vec![(case.name.clone(), 0, case)],
            Some(times) => (0..u64::from(times))
                .map(|place| (format!("{}-{place}", case.name), place, case.clone()))
                .collect(),
        });
        repeated.collect()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let cases = self.cases().map_err(|error| format!("fluid/cases: {error}"))?;
        if cases.is_empty() || self.sample_ms == 0 || self.duration_ms < self.sample_ms {
            return Err(
                "fluid: no case or no period; expected at least one case, and sample_ms from 1 to duration_ms".into(),
            );
        }
        if self
            .load_window_ms
            .is_some_and(|window| window == 0 || window % self.sample_ms != 0)
        {
            return Err("fluid/load_window_ms: invalid; expected a multiple of sample_ms above 0".into());
        }
        for case in &cases {
            if case.has_node_zero() {
                return Err(format!(
                    "fluid/cases, '{}': node 0 in a pair; expected nodes from 1",
                    case.name
                ));
            }
            let place = |error: LambdaError| format!("fluid/cases, '{}': {error}", case.name);
            let built = case.build(self.seed, self.scale).map_err(place)?;
            Fluid::new(&built.nodes, &built.sessions, self.options(self.seed)).map_err(place)?;
        }
        self.check_packets()
    }

    pub(super) fn duration_ms(&self) -> u64 {
        ((self.duration_ms as f64 * self.scale) as u64).max(1)
    }

    pub(super) fn cost(&self) -> u128 {
        let cases = self.cases.len() as u128 * u128::from(self.repeat.unwrap_or(1));
        let weight = if self.packets.is_some() { 100 } else { 1 };
        u128::from(self.duration_ms()) * cases * (1 + self.synchronous_ms.len() as u128) * 1_000_000 * weight
    }

    pub(super) fn scaled_to(&self, total_ms: u64) -> Cases {
        Cases {
            scale: total_ms as f64 / self.duration_ms as f64,
            ..self.clone()
        }
    }

    /// Whether packets can do what is asked for.
    fn check_packets(&self) -> Result<(), String> {
        let Some(scale) = self.packets else {
            return Ok(());
        };
        if !PACKET_SCALES.contains(&scale) {
            let [least, most] = [PACKET_SCALES.start(), PACKET_SCALES.end()];
            return Err(format!(
                "fluid/packets: out of range; expected a rate scale from {least} to {most}, got {scale}"
            ));
        }
        if self.load_window_ms.is_some() {
            return Err("fluid/packets: node load is not measured with packets; expected no load_window_ms".into());
        }
        self.first_twin()
            .map(|_| ())
            .map_err(|reason| format!("fluid/packets: {reason}"))
    }

    /// A network with packets that it runs: all have the same programs.
    ///
    /// # Errors
    /// Why packets cannot do the same; without `packets` as well.
    pub(super) fn first_twin(&self) -> Result<Scenario, String> {
        let named = self.named();
        let (Some((name, place, case)), Some(scale)) = (named.first(), self.packets) else {
            return Err("without packets".into());
        };
        let built = case.build(self.seed + place * SEED_STRIDE, self.scale);
        self.twin(name, &built.map_err(|error| error.to_string())?, scale)
    }

    fn twin(&self, name: &str, built: &Built, scale: f64) -> Result<Scenario, String> {
        let timing = Timing {
            duration_ms: self.duration_ms(),
            sample_ms: self.sample_ms,
        };
        let manner = Manner {
            rule: self.rule,
            lost_grants: self.lost_grants,
            scale,
        };
        twin::scenario(name, built, timing, manner)
    }

    /// A case with packets: its rows as those of rates without have them.
    fn run_packets(
        &self,
        (name, built, scale): (&str, &Built, f64),
        (seed, runner): (u64, &dyn Runner),
        bounds: &[Vec<Distance>],
        recording: &mut Recording,
    ) -> Result<(), RunnerError> {
        let scenario = self.twin(name, built, scale)?;
        let network = Network {
            scenario,
            sample_frames: 1,
        };
        let made = runner.run(&network, seed, &mut |_| {})?;
        let places: BTreeMap<String, usize> = (0..built.sessions.len())
            .map(|place| (twin::session_name(place), place + 1))
            .collect();
        for (row, session) in made.sessions.names.iter().enumerate().filter(|_| self.sessions) {
            if let Some(place) = places.get(session) {
                let numbers = row_of(&made.sessions, row, |column, number| match column {
                    "rate_mbps" | "fair_mbps" => number / scale,
                    _ => number,
                });
                recording.sessions.push(&format!("{name}/{place}"), numbers);
            }
        }
        for row in 0..made.distances.names.len() {
            let [own, d0] = ["distance", "d0"].map(|column| made.distances.numbers_of(column)[row]);
            let of_bound = |bound: Option<&Vec<Distance>>| {
                let other = bound.and_then(|bound| bound.get(row));
                other.filter(|_| d0 > 0.0).map_or(0.0, |other| (own - other.own) / d0)
            };
            let numbers = row_of(&made.distances, row, |column, number| match column {
                "rate_mbps" | "fair_mbps" => number / scale,
                "above_slow" => of_bound(bounds.last()),
                "below_fast" => -of_bound(bounds.first()),
                _ => number,
            });
            recording.distances.push(name, numbers);
        }
        Ok(())
    }

    fn in_step_name(&self, slot_ms: u32, place: u64) -> String {
        match self.repeat {
            None => format!("sync-{slot_ms}ms"),
            Some(_) => format!("sync-{slot_ms}ms-{place}"),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        let named = self.named();
        let in_step = |place: &u64| {
            let slots = self.synchronous_ms.iter();
            slots
                .map(|slot_ms| self.in_step_name(*slot_ms, *place))
                .collect::<Vec<_>>()
        };
        let extra: Vec<String> = named.iter().flat_map(|(_, place, _)| in_step(place)).collect();
        named.into_iter().map(|(name, ..)| name).chain(extra).collect()
    }

    pub(super) fn session_names(&self) -> Vec<String> {
        let named = self.named().into_iter().filter(|_| self.sessions);
        let of_case = |(name, _, case): (String, u64, Case)| {
            let count = case.sessions().unwrap_or(0);
            (1..=count).map(move |number| format!("{name}/{number}"))
        };
        named.flat_map(of_case).collect()
    }

    fn options(&self, seed: u64) -> FluidOptions {
        FluidOptions {
            seed,
            rule: self.rule,
            ties: self.ties,
            lost_grants: self.lost_grants,
        }
    }

    /// Runs every case and writes it down.
    pub(super) fn run(
        &self,
        (seed, runner): (u64, &dyn Runner),
        progress: &mut dyn FnMut(u64),
        recording: &mut Recording,
    ) -> Result<(), RunnerError> {
        let named = self.named();
        let in_step = Steps::new(IN_STEP.0, IN_STEP.1)?;
        for (done, (name, place, case)) in named.iter().enumerate() {
            let seed = seed + place * SEED_STRIDE;
            let built = case.build(seed, self.scale)?;
            let mut bounds = Vec::new();
            for &slot_ms in &self.synchronous_ms {
                let name = self.in_step_name(slot_ms, *place);
                let network = built.in_step(f64::from(slot_ms), in_step);
                bounds.push((slot_ms, self.watch(&network, seed, &name, false, &[], recording)?));
            }
            bounds.sort_by_key(|(slot_ms, _)| *slot_ms);
            let bounds: Vec<Vec<Distance>> = bounds.into_iter().map(|(_, distances)| distances).collect();
            match self.packets {
                Some(scale) => self.run_packets((name, &built, scale), (seed, runner), &bounds, recording)?,
                None => {
                    self.watch(&built, seed, name, self.sessions, &bounds, recording)?;
                }
            }
            progress(self.duration_ms() * (done as u64 + 1) / named.len() as u64);
        }
        Ok(())
    }

    /// Runs one network; `bounds` are those in step, the one of the shortest slots first.
    fn watch(
        &self,
        built: &Built,
        seed: u64,
        name: &str,
        has_sessions: bool,
        bounds: &[Vec<Distance>],
        recording: &mut Recording,
    ) -> Result<Vec<Distance>, LambdaError> {
        let fluid = Fluid::new(&built.nodes, &built.sessions, self.options(seed))?;
        let window = self
            .load_window_ms
            .map_or(0, |window_ms| (window_ms / self.sample_ms) as usize);
        let mut watch = Watch::new(fluid, built, Duration::from_ms(self.sample_ms), window);
        let periods = (self.duration_ms() / self.sample_ms).max(1);
        let mut distances = Vec::new();
        for period in 0..periods as usize {
            let of_bound = |bound: Option<&Vec<Distance>>| bound.and_then(|bound| bound.get(period)).copied();
            let bounds = [of_bound(bounds.last()), of_bound(bounds.first())];
            distances.extend(watch.period(name, has_sessions, bounds, recording));
        }
        Ok(distances)
    }
}

/// Returns a row with example numbers.
fn row_of(table: &Table, row: usize, number: impl Fn(&str, f64) -> f64) -> Vec<f64> {
    let columns = table.columns().zip(&table.numbers);
    columns.map(|(column, numbers)| number(column, numbers[row])).collect()
}

impl Watch {
    fn new(mut fluid: Fluid, built: &Built, period: Duration, window: usize) -> Watch {
        let mut sources: Vec<usize> = built.sessions.iter().map(|on| on.session.links[0]).collect();
        sources.sort_unstable();
        sources.dedup();
        let came = (window > 0).then(|| fluid.came());
        Watch {
            was_there: (0..fluid.sessions()).map(|session| fluid.is_there(session)).collect(),
            samples: Samples::new(fluid, period),
            window,
            came: came.into_iter().collect(),
            most_mbps: built.nodes.iter().map(|node| node.capacity).fold(0.0, f64::max),
            sources_mbps: sources.into_iter().map(|node| built.nodes[node].capacity).sum(),
            of_source_mbps: built
                .sessions
                .iter()
                .map(|on| built.nodes[on.session.links[0]].capacity)
                .collect(),
        }
    }

    /// The most that was offered to a node over the window, by its capacity.
    fn load(&mut self, period: Duration) -> f64 {
        if self.window == 0 {
            return 0.0;
        }
        let fluid = self.samples.fluid();
        let now = fluid.came();
        let over_ns = (period * self.came.len() as u64).ns() as f64;
        let before = &self.came[0];
        let of_node = |(node, (now, before)): (usize, (&f64, &f64))| (now - before) / over_ns / fluid.capacity(node);
        let load = now.iter().zip(before).enumerate().map(of_node).fold(0.0, f64::max);
        self.came.push_back(now);
        if self.came.len() > self.window {
            self.came.pop_front();
        }
        load
    }

    /// One period: rows, and its distance.
    fn period(
        &mut self,
        name: &str,
        has_sessions: bool,
        [slow, fast]: [Option<Distance>; 2],
        recording: &mut Recording,
    ) -> Option<Distance> {
        let from = self.samples.fluid().now();
        let sample = self.samples.next()?;
        let load = self.load(sample.at - from);
        let at = Period {
            end: sample.at.since_start(),
            length: sample.at - from,
        };
        let by = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let own = Distance {
            own: sample.distance() / self.most_mbps,
            d0: sample.distance_from_zero() / self.most_mbps,
        };
        let beyond = |other: Option<Distance>| other.map_or(0.0, |other| by(own.own - other.own, own.d0));
        let (rate, fair): (f64, f64) = (sample.rates.iter().sum(), sample.fair.iter().sum());
        let off = sample
            .rates
            .iter()
            .zip(&sample.fair)
            .map(|(rate, fair)| (rate - fair).abs());
        let row = NetworkPeriod {
            distance: own.own,
            d0: own.d0,
            above_slow: beyond(slow),
            below_fast: -beyond(fast),
            load,
            granted: self.samples.fluid().take_most_granted(),
            rate,
            fair,
            capacity: self.sources_mbps,
            worst: off.fold(0.0, f64::max) / self.most_mbps,
            per_mbps: 1.0,
        };
        recording.add(name, &at, &row);
        for session in 0..sample.rates.len() {
            let is_there = self.samples.fluid().is_there(session);
            let was_there = std::mem::replace(&mut self.was_there[session], is_there);
            if !(has_sessions && is_there && was_there) {
                continue;
            }
            let row = SessionPeriod {
                rate: sample.rates[session],
                fair: sample.fair[session],
                capacity: self.of_source_mbps[session],
                demand: self.samples.fluid().wanted(session),
                per_mbps: 1.0,
            };
            recording.add(&format!("{name}/{}", session + 1), &at, &row);
        }
        Some(own)
    }
}
