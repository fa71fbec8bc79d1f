// SPDX-License-Identifier: Apache-2.0
//! What the quantities of an experiment's runs are worth, and what formulas make of them.

use std::collections::BTreeMap;

use slotwise_observe::record::Recording;
use slotwise_observe::stats::{self, Estimate};

use crate::experiment::{Experiment, ExperimentError, FormulaFact, Measured, Quantity, Selection};
use crate::fact::{Judged, Outcome, Statement, compared, measure, names};
use crate::formula::{Formula, Known, Values};
use crate::plot::{Line, Point};
use crate::sweep::Drawn;

/// Values by seed, the first one first: of each run as many as it has.
pub(crate) struct Quantities<'e> {
    experiment: &'e Experiment,
    /// If runs are shorter, the time in which all is measured, s.
    time_s: Option<(f64, f64)>,
    by_seed: Vec<Values>,
    seeds: BTreeMap<String, usize>,
}

impl<'e> Quantities<'e> {
    pub(crate) fn new(experiment: &'e Experiment, time_s: Option<(f64, f64)>) -> Quantities<'e> {
        Quantities {
            experiment,
            time_s,
            by_seed: Vec::new(),
            seeds: BTreeMap::new(),
        }
    }

    /// Adds what a run showed with each seed.
    ///
    /// # Errors
    /// When a quantity has no formula.
    pub(crate) fn add(&mut self, run: &str, recordings: &[Recording]) -> Result<(), ExperimentError> {
        if recordings.is_empty() || self.experiment.quantities.is_empty() {
            return Ok(());
        }
        self.seeds.insert(run.to_owned(), recordings.len());
        for (seed, recording) in recordings.iter().enumerate() {
            if self.by_seed.len() <= seed {
                self.by_seed.push(Values::new());
            }
            let mut formulas = Vec::new();
            for (name, quantity) in &self.experiment.quantities {
                match quantity {
                    Quantity::Measured(measured) => {
                        if let Some(value) = list(measured, self.time_s, recording) {
                            self.by_seed[seed].insert((name.clone(), run.to_owned()), value);
                        }
                    }
                    Quantity::Formula(text) => {
                        let place = format!("quantity '{name}'");
                        formulas.push((name, self.experiment.formula(&place, text)?));
                    }
                }
            }
            // One may rest on another: as often as there are any, all that can be known is.
            for _ in 0..formulas.len() {
                for (name, formula) in &formulas {
                    let known = Known {
                        seeds: &self.by_seed,
                        seed,
                    };
                    if let Some(value) = formula.value(run, known) {
                        self.by_seed[seed].insert(((*name).clone(), run.to_owned()), value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Judges a fact.
    ///
    /// # Errors
    /// When it has no formula.
    pub(crate) fn judge(&self, fact: &FormulaFact) -> Result<Judged, ExperimentError> {
        let formula = self.experiment.formula(&fact.text, &fact.formula)?;
        let seeds = self.seeds_of(&formula);
        let estimate = if formula.is_over_seeds() {
            // One number of all seeds: of fewer it would be another one.
            let seeds = seeds.filter(|seeds| *seeds >= self.seeds_wanted(&formula));
            seeds.map(|seeds| {
                self.number(&formula, (0, seeds))
                    .and_then(|number| stats::estimate(&[number]))
            })
        } else {
            seeds.map(|seeds| {
                let numbers: Option<Vec<f64>> = (0..seeds).map(|seed| self.number(&formula, (seed, seeds))).collect();
                numbers.as_deref().and_then(stats::estimate)
            })
        };
        Ok(Judged {
            fact: Statement::of_formula(fact),
            value: estimate.flatten(),
            outcome: estimate.map_or(Outcome::NotRun, |value| compared(value, fact.band)),
        })
    }

    /// A line, the mean over the seeds; points that are not known are left out, and all of a line of which a run was not made.
    ///
    /// # Errors
    /// When it has no formula.
    pub(crate) fn line(&self, drawn: &Drawn) -> Result<Line, ExperimentError> {
        let y = self.experiment.formula(&drawn.label, &drawn.y)?;
        let x = drawn.x.as_ref().map(|text| self.experiment.formula(&drawn.label, text));
        let x = x.transpose()?;
        let mut points = Vec::new();
        if let Some(seeds) = self.seeds_of(&y) {
            let lists: Option<Vec<Vec<f64>>> = (0..seeds).map(|seed| y.value("", self.known(seed, seeds))).collect();
            let lists = lists.unwrap_or_default();
            let length = lists.iter().map(Vec::len).min().unwrap_or(0);
            let xs = x.and_then(|x| x.value("", self.known(0, seeds)));
            for place in 0..length {
                let numbers: Vec<f64> = lists.iter().map(|list| list[place]).collect();
                let at = xs
                    .as_ref()
                    .map_or(Some(place as f64 + 1.0), |xs| xs.get(place).copied());
                if let (Some(x), Some(Estimate { mean: y, half_width })) = (at, stats::estimate(&numbers)) {
                    let half = half_width.unwrap_or(0.0);
                    let (low, high) = ((y - half).max(0.0), y + half);
                    points.push(Point { x, y, low, high });
                }
            }
        }
        Ok(Line {
            name: drawn.label.clone(),
            points,
        })
    }

    /// With how many seeds all runs of a formula were made; `None` if one was not.
    fn seeds_of(&self, formula: &Formula) -> Option<usize> {
        let runs = formula.runs().into_iter();
        let seeds: Option<Vec<usize>> = runs.map(|run| self.seeds.get(run).copied()).collect();
        seeds?.into_iter().min()
    }

    /// With how many seeds its runs are to be made.
    fn seeds_wanted(&self, formula: &Formula) -> usize {
        let runs = formula
            .runs()
            .into_iter()
            .filter_map(|run| self.experiment.runs.get(run));
        runs.map(|run| run.seeds as usize).min().unwrap_or(0)
    }

    /// What is known of the first `seeds`, at one of them.
    fn known(&self, seed: usize, seeds: usize) -> Known<'_> {
        Known {
            seeds: &self.by_seed[..seeds],
            seed,
        }
    }

    fn number(&self, formula: &Formula, (seed, seeds): (usize, usize)) -> Option<f64> {
        match formula.value("", self.known(seed, seeds))?.as_slice() {
            [number] => Some(*number),
            _ => None,
        }
    }
}

/// What a quantity is worth: a number, or one of each name.
fn list(measured: &Measured, time_s: Option<(f64, f64)>, recording: &Recording) -> Option<Vec<f64>> {
    let time_s = time_s.unwrap_or((measured.from_s, measured.to_s));
    if measured.by_time {
        let all = recording.table(measured.what.table).column("time_s")?;
        let mut ends: Vec<f64> = names(recording.table(measured.what.table), &measured.what)
            .first()
            .map(|name| recording.table(measured.what.table).series(name, all))?
            .into_iter()
            .map(|(time_s, _)| time_s)
            .filter(|end_s| *end_s > time_s.0 && *end_s <= time_s.1)
            .collect();
        ends.insert(0, time_s.0);
        let periods = ends.windows(2);
        return periods
            .map(|of| measure(&measured.what, (of[0], of[1]), measured.stat, recording, 1.0))
            .collect();
    }
    if !measured.each {
        return measure(&measured.what, time_s, measured.stat, recording, 1.0).map(|number| vec![number]);
    }
    let of_name = |name: String| {
        let what = Selection {
            of: vec![name],
            ..measured.what.clone()
        };
        measure(&what, time_s, measured.stat, recording, 1.0)
    };
    let names = names(recording.table(measured.what.table), &measured.what).into_iter();
    names
        .map(of_name)
        .collect::<Option<Vec<f64>>>()
        .filter(|list| !list.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPERIMENT: &str = "
name: small
title: A small one
source: nobody
assumptions: []
runs: {a@1: {scenario: a.yaml, seeds: 2}, a@2: {scenario: a.yaml, seeds: 2}, a@3: {scenario: a.yaml, seeds: 3}, b: {scenario: a.yaml}}
quantities:
  twice: 2 * Z
  U: {measure: {table: links, column: utilization, of: [all]}, from_s: 0, to_s: 2, stat: mean}
  Z: U + 1
  links: {measure: {table: links, column: utilization, of: [all]}, from_s: 0, to_s: 2, stat: max, each: true}
  times: {measure: {table: links, column: utilization, of: [all]}, from_s: 0, to_s: 2, stat: mean, by_time: true}
entries: []
";

    fn recording(utilizations: [f64; 2]) -> Recording {
        let mut recording = Recording::default();
        for time_s in [1.0, 2.0, 3.0] {
            for (name, utilization) in ["ab", "ba"].into_iter().zip(utilizations) {
                let row = [time_s, utilization * time_s, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 1.0];
                recording.links.push(name, row);
            }
        }
        recording
    }

    fn fact(formula: &str) -> FormulaFact {
        let text = format!("{{text: t, where: w, formula: \"{formula}\", band: [2, 4], why: y}}");
        serde_yaml_ng::from_str(&text).unwrap()
    }

    #[test]
    fn facts_are_judged_by_seed_and_those_of_runs_that_were_not_made_are_not() {
        let experiment = Experiment::parse(EXPERIMENT.as_bytes()).unwrap();
        let mut quantities = Quantities::new(&experiment, None);
        quantities
            .add("a@1", &[recording([0.2, 0.4]), recording([0.4, 0.8])])
            .unwrap();
        quantities
            .add("a@2", &[recording([1.0, 1.0]), recording([1.0, 1.0])])
            .unwrap();
        quantities
            .add("a@3", &[recording([1.0, 1.0]), recording([1.0, 1.0])])
            .unwrap();
        quantities.add("b", &[]).unwrap();
        let judged = |formula: &str| {
            let judged = quantities.judge(&fact(formula)).unwrap();
            (
                judged.value.map(|value| (value.mean * 1e6).round() / 1e6),
                judged.outcome,
            )
        };
        // Rows of 1 and 2 s count: 1.5 times 0.3, and 1.5 times 0.6.
        assert_eq!(judged("U(a@1)"), (Some(0.675), Outcome::Miss));
        assert_eq!(judged("twice(a@1)"), (Some(3.35), Outcome::Pass));
        assert_eq!(judged("most(links(a@1))"), (Some(1.2), Outcome::Miss));
        assert_eq!(judged("links(a@1)"), (None, Outcome::Miss), "two numbers are none");
        assert_eq!(judged("U(b) / U(a@1)"), (None, Outcome::NotRun));
        assert_eq!(judged("most(times(a@1) / twice(a@1))"), (Some(0.261343), Outcome::Miss));
        assert_eq!(judged("median(seeds(twice(a@1)))"), (Some(3.35), Outcome::Pass));
        assert_eq!(
            judged("median(seeds(U(a@3)))"),
            (None, Outcome::NotRun),
            "two seeds of three"
        );
        let line: Drawn = serde_yaml_ng::from_str("{label: l, x: x(a@1..2), y: U(a@1..2)}").unwrap();
        let line = quantities.line(&line).unwrap();
        let points: Vec<(f64, f64)> = line.points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points[1], (2.0, 1.5));
        assert!((points[0].1 - 0.675).abs() < 1e-12 && points[0].0 == 1.0);
        assert!(line.points[0].high > line.points[0].y, "two seeds");
        let line: Drawn = serde_yaml_ng::from_str("{label: l, y: U(b)}").unwrap();
        assert!(quantities.line(&line).unwrap().points.is_empty());

        let mut later = Quantities::new(&experiment, Some((2.0, 3.0)));
        later.add("a@1", &[recording([0.2, 0.4])]).unwrap();
        let value = later.judge(&fact("U(a@1)")).unwrap().value.unwrap();
        assert!((value.mean - 0.9).abs() < 1e-12 && value.half_width.is_none());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        let refused = |from: &str, to: &str| {
            assert!(EXPERIMENT.contains(from));
            let error = Experiment::parse(EXPERIMENT.replacen(from, to, 1).as_bytes()).unwrap_err();
            error.to_string()
        };
        assert!(
            refused("2 * Z", "mean(seeds(Z))").contains("quantity 'twice': seeds(...) is not allowed in a quantity")
        );
        assert!(refused("2 * Z", "2 * Y").contains("quantity 'twice': unknown quantity or function 'Y'"));
        assert!(refused("column: utilization", "column: use").contains("quantity 'U': unknown column 'use'"));
        let quick = "quick: {runs: [c], set: [], from_s: 1, to_s: 2}\nentries:";
        assert!(refused("entries:", quick).contains("quick: unknown run 'c'"));
        let quick = "quick: {runs: [b], set: [], from_s: 2, to_s: 2}\nentries:";
        assert!(refused("entries:", quick).contains("quick: empty time range"));
        let quick = "quick: {runs: [b], to_s: 2}\nentries:";
        assert!(refused("entries:", quick).contains("quick: empty time range"));
        let entry = "entries: [{id: e, title: t, published: p, formulas: [{text: t, where: w, formula: U(c), band: [0, 1], why: y}]}]";
        assert!(refused("entries: []", entry).contains("entry 'e', fact 't': unknown run 'c'"));
    }
}
