// SPDX-License-Identifier: Apache-2.0
//! Plots of a number over a parameter: each point is a run of its own.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::experiment::{Selection, Stat};

/// Numbers over a parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The parameter, with its unit.
    pub x: String,
    /// What is shown, with its unit.
    pub y: String,
    /// Lines through what runs showed.
    pub measured: Vec<Measured>,
    /// Lines to compare with.
    #[serde(default)]
    pub given: Vec<Given>,
}

/// A line through one number of each of several runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Its name.
    pub label: String,
    /// What is measured.
    #[serde(rename = "measure")]
    pub what: Selection,
    /// Rows from this time on, s.
    pub from_s: f64,
    /// Up to and with this time, s.
    pub to_s: f64,
    /// How one number is made of them.
    #[serde(with = "serde_yaml_ng::with::singleton_map")]
    pub stat: Stat,
    /// The parameter's value in a run, and the run.
    pub points: Vec<(f64, String)>,
}

/// A line that is known.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Its name.
    pub label: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// A line to be drawn.
pub(crate) type Line = (String, Vec<(f64, f64)>);

impl Sweep {
    /// The lines, measured ones first; `values` has what was measured, by line and point. What could not be measured is
    /// left out.
    pub(crate) fn lines(&self, values: &BTreeMap<(usize, usize), f64>) -> Vec<Line> {
        let measured = self.measured.iter().enumerate().map(|(l, line)| {
            let points = line.points.iter().enumerate();
            let known = points.filter_map(|(p, (x, _))| Some((*x, *values.get(&(l, p))?)));
            (line.label.clone(), known.collect())
        });
        let given = self.given.iter().map(|line| (line.label.clone(), line.points.clone()));
        measured.chain(given).collect()
    }
}
