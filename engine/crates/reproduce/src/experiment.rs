// SPDX-License-Identifier: Apache-2.0
//! What an experiment is: runs, and entries that show something of them beside what was published.

mod facts;
mod grid;
mod not_run;
mod pointer;
mod quick;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};
use serde_yaml_ng::{Mapping, Value};
use slotwise_observe::record::TableName;
use slotwise_scenario::ScenarioError;

use crate::fact::stands_for;
use crate::formula::{self, Formula};
use crate::setup::Setup;
use crate::sweep::Sweep;
pub(crate) use facts::Measurement;
pub use facts::{Across, Another, Basis, By, Fact, FormulaFact, Measured, PercentOf, Quantity, Stat};
pub use not_run::NotRun;
pub(crate) use not_run::spoken;
pub use quick::Quick;

/// An experiment file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short name.
    pub name: String,
    /// One line.
    pub title: String,
    /// What is repeated here.
    pub source: String,
    /// What the source leaves open or contradicts itself in, and what was assumed.
    pub assumptions: Vec<String>,
    /// Scenarios by name.
    pub runs: BTreeMap<String, RunSpec>,
    /// Numbers of each run, by which formulas call them.
    #[serde(default)]
    pub quantities: BTreeMap<String, Quantity>,
    /// What is run and judged in a shorter time, where runs cannot just be shortened.
    #[serde(default)]
    pub quick: Option<Quick>,
    /// What is shown, in order.
    pub entries: Vec<Entry>,
}

/// A scenario, and with how many seeds it is run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// File beside the experiment's.
    pub scenario: String,
    /// Seeds: the scenario's and the next ones.
    #[serde(default = "one")]
    pub seeds: u32,
    /// Period of measurement of a star, in frames; a network of routers has its own in the scenario.
    #[serde(default = "one")]
    pub sample_frames: u32,
    /// Values that replace or add to those of the file, by JSON pointer; a pointer that ends with `/-` appends, and `*` in one
    /// stands for all parts of a list, `NAME*` for those whose `name` begins so. `null` takes away.
    #[serde(default)]
    pub set: Vec<(String, Value)>,
    /// Axes of a grid: a run for each combination of their values. Its name and `set` have `{AXIS}` where the value goes. An axis is
    /// a list of values, or a mapping of their names.
    #[serde(default)]
    pub grid: Mapping,
}

fn one() -> u32 {
    1
}

/// A figure or table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Short name, e.g. `figure-5.1`.
    pub id: String,
    /// Caption.
    pub title: String,
    /// What the source's curve or table shows, in words.
    pub published: String,
    /// Ours, drawn.
    #[serde(default)]
    pub plot: Option<Plot>,
    /// Instead, a number over a parameter.
    #[serde(default)]
    pub sweep: Option<Sweep>,
    /// Instead, how waits are distributed.
    #[serde(default)]
    pub distribution: Option<Distribution>,
    /// What must come out.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// What the source says besides, and is not measured here.
    #[serde(default)]
    pub not_run: Vec<NotRun>,
    /// What must come out of several runs together.
    #[serde(default)]
    pub formulas: Vec<FormulaFact>,
}

/// Lines over time.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// The runs, each the mean over its seeds with the spread; `run` for one.
    #[serde(alias = "run", deserialize_with = "one_or_several")]
    pub runs: Vec<String>,
    /// What is drawn.
    #[serde(rename = "draw")]
    pub what: Selection,
    /// Drawn in percent of another column.
    #[serde(default)]
    pub percent_of: Option<PercentOf>,
    /// Name of the scale; that of the column unless given.
    #[serde(default)]
    pub label: Option<String>,
    /// Points are means over this time, s.
    #[serde(default = "one_second")]
    pub mean_over_s: f64,
    /// Bottom of the scale; 0 unless given.
    #[serde(default)]
    pub bottom: f64,
    /// Top of the scale; that of the data unless given.
    #[serde(default)]
    pub top: Option<f64>,
}

/// Of waits on a ring, the part of packets that waited no longer, a line a run and station; over all seeds together.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// The runs; `run` for one.
    #[serde(alias = "run", deserialize_with = "one_or_several")]
    pub runs: Vec<String>,
    /// Packets by their wait, of table `delays`.
    #[serde(rename = "draw")]
    pub what: Selection,
    /// Waits counted from this time on, s.
    #[serde(default)]
    pub from_s: f64,
    /// Longest wait drawn, ms.
    pub up_to_ms: f64,
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a run name or a list of run names")]
    enum Names {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Names::deserialize(deserializer)? {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    })
}

fn one_second() -> f64 {
    1.0
}

/// A column of one of the tables, of links or flows with these names.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The table.
    pub table: TableName,
    /// Name of the column.
    pub column: String,
    /// Names of links, queues or flows; `all` stands for all, and `x*` for those that begin with x.
    pub of: Vec<String>,
    /// Only rows in which another column is large enough.
    #[serde(default)]
    pub during: Option<During>,
}

/// When a selection's rows count.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct During {
    /// Name of a column of the same table.
    pub column: String,
    /// Its smallest value.
    pub at_least: f64,
}

impl Entry {
    /// Every run that the entry looks at, with what it looks at.
    fn looks_at(&self) -> impl Iterator<Item = (&str, &Selection)> {
        let plots = self.plot.iter();
        let plotted = plots.flat_map(|plot| plot.runs.iter().map(|run| (run.as_str(), &plot.what)));
        let lines = self.sweep.iter().flat_map(|sweep| &sweep.measured);
        let swept = lines.flat_map(|line| line.points.iter().map(|(_, run)| (run.as_str(), &line.what)));
        let distributions = self.distribution.iter();
        let distributed = distributions.flat_map(|of| of.runs.iter().map(|run| (run.as_str(), &of.what)));
        let measured = self.facts.iter().flat_map(facts::Fact::measurements);
        let measured = measured.map(|measurement| (measurement.run, measurement.what));
        plotted.chain(swept).chain(distributed).chain(measured)
    }
}

/// An experiment that cannot be run; says where and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// No YAML, or of another shape.
    #[error("{0}")]
    Shape(#[from] serde_yaml_ng::Error),
    /// Parts do not fit together.
    #[error("{place}: {reason}; expected {expected}")]
    Mismatch {
        /// Where.
        place: String,
        /// What is wrong.
        reason: String,
        /// What would be right.
        expected: String,
    },
    /// A run's scenario.
    #[error("run '{run}', {file}:\n{source}")]
    Scenario {
        /// The run.
        run: String,
        /// Its file.
        file: String,
        /// What is wrong with it.
        source: ScenarioError,
    },
}

fn mismatch(place: impl Into<String>, reason: impl Into<String>, expected: impl Into<String>) -> ExperimentError {
    ExperimentError::Mismatch {
        place: place.into(),
        reason: reason.into(),
        expected: expected.into(),
    }
}

/// Checks what a plot alone can have wrong.
fn check_plot(place: &str, plot: &Plot) -> Result<(), ExperimentError> {
    if plot.runs.is_empty() {
        return Err(mismatch(place, "plot without runs", "at least one run name"));
    }
    let table = plot.what.table.empty();
    if plot.top.is_some_and(|top| top <= plot.bottom) {
        return Err(mismatch(place, "plot: 'top' is not above 'bottom'", "a larger 'top'"));
    }
    match plot.percent_of.map(PercentOf::column) {
        Some(of) if table.column(of).is_none() => {
            let columns: Vec<&str> = table.columns().collect();
            let reason = format!("unknown column '{of}' in 'percent_of'");
            Err(mismatch(place, reason, columns.join(", ")))
        }
        _ => Ok(()),
    }
}

/// Checks that a selection's table has the columns.
fn check_columns(place: &str, what: &Selection) -> Result<(), ExperimentError> {
    let table = what.table.empty();
    let during = what.during.iter().map(|during| &during.column);
    let mut named = during.chain([&what.column]);
    match named.find(|name| table.column(name).is_none()) {
        Some(name) => {
            let columns: Vec<&str> = table.columns().collect();
            let reason = format!("unknown column '{name}'");
            Err(mismatch(place, reason, columns.join(", ")))
        }
        None => Ok(()),
    }
}

impl Experiment {
    /// Reads an experiment file and checks that its parts fit together.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(yaml: &[u8]) -> Result<Experiment, ExperimentError> {
        let mut experiment: Experiment = serde_yaml_ng::from_slice(yaml)?;
        experiment.runs = grid::runs(experiment.runs)?;
        let mut ids = BTreeSet::new();
        for entry in &experiment.entries {
            let place = format!("entry '{}'", entry.id);
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            if entry.id.is_empty() || !entry.id.chars().all(plain) {
                return Err(mismatch(place, "invalid name", "letters, digits, '.', '_' and '-'"));
            }
            if !ids.insert(&entry.id) {
                return Err(mismatch(place, "duplicate entry name", "a unique name"));
            }
            let drawings = [
                entry.plot.is_some(),
                entry.sweep.is_some(),
                entry.distribution.is_some(),
            ];
            if drawings.into_iter().filter(|is_one| *is_one).count() > 1 {
                return Err(mismatch(
                    place,
                    "more than one figure",
                    "one of plot, sweep and distribution",
                ));
            }
            for (run, what) in entry.looks_at() {
                experiment.check(&place, run, what)?;
            }
            if let Some(plot) = &entry.plot {
                check_plot(&place, plot)?;
            }
            for fact in &entry.facts {
                let place = format!("{place}, fact '{}'", fact.text);
                let seeds = fact.measurements().filter_map(|of| experiment.runs.get(of.run));
                let seeds: BTreeSet<u32> = seeds.map(|run| run.seeds).collect();
                if seeds.len() > 1 {
                    return Err(mismatch(place, "runs with different numbers of seeds", "equal numbers"));
                }
                if fact.from_s >= fact.to_s || fact.band[0] > fact.band[1] {
                    return Err(mismatch(place, "empty time range or band", "the smaller number first"));
                }
            }
        }
        for (name, quantity) in &experiment.quantities {
            if let Quantity::Measured(measured) = quantity {
                check_columns(&format!("quantity '{name}'"), &measured.what)?;
            }
        }
        experiment.formulas()?;
        if let Some(quick) = &experiment.quick {
            quick.check(&experiment)?;
        }
        Ok(experiment)
    }

    fn run_names(&self) -> Vec<&str> {
        self.runs.keys().map(String::as_str).collect()
    }

    /// Reads a formula over the quantities and runs.
    ///
    /// # Errors
    /// When it is none; says so of `place`.
    pub(crate) fn formula(&self, place: &str, text: &str) -> Result<Formula, ExperimentError> {
        let quantities = self.quantities.keys().map(String::as_str).collect();
        let runs = self.runs.keys().map(String::as_str).collect();
        let expected = "quantities of runs (QUANTITY(RUN ...)), numbers, + - * / and functions";
        formula::parse(text, &quantities, &runs).map_err(|reason| mismatch(place, reason, expected))
    }

    /// All formulas, with the entry and what it is of. Those of quantities have no entry.
    ///
    /// # Errors
    /// The first one that is none.
    fn formulas(&self) -> Result<Vec<(&str, String, Formula)>, ExperimentError> {
        let mut texts: Vec<(&str, String, &str)> = Vec::new();
        for (name, quantity) in &self.quantities {
            if let Quantity::Formula(text) = quantity {
                texts.push(("", format!("quantity '{name}'"), text));
            }
        }
        for entry in &self.entries {
            let of_facts = entry.formulas.iter();
            texts.extend(of_facts.map(|fact| {
                let place = format!("entry '{}', fact '{}'", entry.id, fact.text);
                (entry.id.as_str(), place, fact.formula.as_str())
            }));
            for line in entry.sweep.iter().flat_map(|sweep| &sweep.drawn) {
                let place = format!("entry '{}', line '{}'", entry.id, line.label);
                let axes = line.x.iter().chain([&line.y]);
                texts.extend(axes.map(|text| (entry.id.as_str(), place.clone(), text.as_str())));
            }
        }
        let parsed = texts.into_iter().map(|(entry, place, text)| {
            let formula = self.formula(&place, text)?;
            if entry.is_empty() && formula.is_over_seeds() {
                return Err(mismatch(
                    place,
                    "seeds(...) is not allowed in a quantity",
                    "seeds(...) only in facts",
                ));
            }
            Ok((entry, place, formula))
        });
        parsed.collect()
    }

    fn check(&self, place: &str, run: &str, what: &Selection) -> Result<(), ExperimentError> {
        if !self.runs.contains_key(run) {
            let reason = format!("unknown run '{run}'");
            return Err(mismatch(place, reason, self.run_names().join(", ")));
        }
        check_columns(place, what)
    }

    /// Checks that the links and flows that entries name are those of a run's scenario.
    ///
    /// # Errors
    /// The first name that is not.
    pub fn check_names(&self, run: &str, setup: &Setup) -> Result<(), ExperimentError> {
        for entry in &self.entries {
            for (_, what) in entry.looks_at().filter(|(of, _)| *of == run) {
                let known = setup.names(what.table);
                let is_known = |pattern: &&String| known.iter().any(|name| stands_for(pattern, name));
                if let Some(name) = what.of.iter().find(|pattern| !is_known(pattern)) {
                    let place = format!("entry '{}'", entry.id);
                    let reason = format!("run '{run}' has no '{name}'");
                    let some: Vec<&str> = known.iter().take(8).map(String::as_str).collect();
                    return Err(mismatch(
                        place,
                        reason,
                        format!("'all' or one of {} ...", some.join(", ")),
                    ));
                }
            }
        }
        Ok(())
    }

    /// The runs that the entries in `only` need (all of them if it is empty).
    ///
    /// # Errors
    /// When `only` names what is not there.
    pub fn needed(&self, only: &[String]) -> Result<BTreeSet<&str>, ExperimentError> {
        let formulas = self.formulas()?;
        for id in only {
            if !self.entries.iter().any(|entry| entry.id == *id) {
                let ids: Vec<&str> = self.entries.iter().map(|entry| entry.id.as_str()).collect();
                return Err(mismatch("--only", format!("unknown entry '{id}'"), ids.join(", ")));
            }
        }
        let mut needed = BTreeSet::new();
        for entry in self
            .entries
            .iter()
            .filter(|entry| only.is_empty() || only.contains(&entry.id))
        {
            needed.extend(entry.looks_at().map(|(run, _)| run));
            let named = formulas.iter().filter(|(of, ..)| *of == entry.id);
            let of_formulas: BTreeSet<&str> = named.flat_map(|(.., formula)| formula.runs()).collect();
            needed.extend(self.run_names().into_iter().filter(|run| of_formulas.contains(run)));
        }
        Ok(needed)
    }
}

impl RunSpec {
    /// The scenario of a run: the file's, changed as the run says, and then as `more` does.
    ///
    /// # Errors
    /// When the file is no scenario, or nothing is at a pointer.
    pub fn scenario(
        &self,
        run: &str,
        yaml: &[u8],
        more: &[(String, Value)],
    ) -> Result<(Setup, String), ExperimentError> {
        let mut value: Value = serde_yaml_ng::from_slice(yaml)?;
        for (pointer, new) in self.set.iter().chain(more) {
            pointer::set(&mut value, pointer, new.clone()).ok_or_else(|| {
                let place = format!("run '{run}', set {pointer}");
                mismatch(place, "no value at this pointer", "a JSON pointer into the scenario")
            })?;
        }
        let text = serde_yaml_ng::to_string(&value)?;
        let scenario =
            Setup::parse(text.as_bytes(), self.sample_frames).map_err(|source| ExperimentError::Scenario {
                run: run.to_owned(),
                file: self.scenario.clone(),
                source,
            })?;
        Ok((scenario, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "
name: small
title: A small one
source: nobody
assumptions: []
runs: {one: {scenario: one.yaml}}
entries:
- id: figure-1
  title: Utilization
  published: flat
  plot: {run: one, draw: {table: links, column: utilization, of: [ab]}}
  facts:
  - {text: full, where: p. 1, run: one, measure: {table: links, column: utilization, of: [ab]}, from_s: 1, to_s: 2, stat: mean,
     band: [0.9, 1], why: it says so}
  - {text: soon, where: p. 2, run: one, measure: {table: links, column: utilization, of: [ab]}, from_s: 1, to_s: 2,
     stat: {settle: {target: 1, within: 0.1, over_s: 0.5}}, band: [0, 3], why: it says so}
";

    #[test]
    fn an_experiment_reads_and_says_what_it_needs() {
        let experiment = Experiment::parse(SMALL.as_bytes()).unwrap();
        assert_eq!(experiment.entries[0].facts[0].stat, Stat::Mean);
        assert_eq!(experiment.needed(&[]).unwrap(), ["one"].into());
        let error = experiment.needed(&["figure-2".into()]).unwrap_err().to_string();
        assert_eq!(error, "--only: unknown entry 'figure-2'; expected figure-1");
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_its_place() {
        let refused = |from: &str, to: &str| {
            assert!(SMALL.contains(from));
            Experiment::parse(SMALL.replacen(from, to, 1).as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert!(refused("plot: {run: one", "plot: {run: two").contains("entry 'figure-1': unknown run 'two'"));
        assert!(refused("column: utilization", "column: use").contains("unknown column 'use'; expected time_s"));
        assert!(refused("[0.9, 1]", "[1, 0.9]").contains("fact 'full'"));
        assert!(refused("title: A small", "titel: A small").contains("titel"));
        assert!(refused("id: figure-1", "id: ../x").contains("invalid name"));
    }
}
