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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_could_not_be_measured_are_left_out_and_given_lines_come_last() {
        let text = "{x: slots, y: percent, measured: [{label: ours, measure: {table: control, column: delay_slots, of: [core0]}, \
                    from_s: 0, to_s: 1, stat: mean, points: [[2, a], [3, b], [4, c]]}], given: [{label: theirs, points: [[1, 2]]}]}";
        let sweep: Sweep = serde_yaml_ng::from_str(text).unwrap();
        let lines = sweep.lines(&[((0, 0), 10.0), ((0, 2), 20.0)].into());
        let (ours, theirs) = (vec![(2.0, 10.0), (4.0, 20.0)], vec![(1.0, 2.0)]);
        assert_eq!(lines, [("ours".to_owned(), ours), ("theirs".to_owned(), theirs)]);
    }
}
