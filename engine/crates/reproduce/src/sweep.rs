// SPDX-License-Identifier: Apache-2.0
//! Plots of a number over a parameter: each point is a run of its own.

use std::collections::BTreeMap;

use serde::Deserialize;
use slotwise_observe::stats::Estimate;

use crate::experiment::{Selection, Stat};
use crate::plot::{Line, Point};

/// Numbers over a parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The parameter, with its unit.
    pub x: String,
    /// What is shown, with its unit.
    pub y: String,
    /// Scales with equal distances for equal factors.
    #[serde(default)]
    pub log: Vec<Axis>,
    /// Lines through what runs showed.
    #[serde(default)]
    pub measured: Vec<Measured>,
    /// Lines that formulas make of quantities.
    #[serde(default)]
    pub drawn: Vec<Drawn>,
    /// Lines to compare with.
    #[serde(default)]
    pub given: Vec<Given>,
}

/// A scale of a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Of the parameter.
    X,
    /// Of what is shown.
    Y,
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

/// A line that formulas make.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// Its name.
    pub label: String,
    /// Of the parameter; 1, 2, 3, ... unless given.
    #[serde(default)]
    pub x: Option<String>,
    /// Of what is shown.
    pub y: String,
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

impl Sweep {
    /// The lines, measured ones first; `values` has what was measured, by line and point, and its confidence interval is the
    /// point's spread. What could not be measured is left out. `drawn` are the lines of formulas.
    pub(crate) fn lines(&self, values: &BTreeMap<(usize, usize), Estimate>, drawn: &[Line]) -> Vec<Line> {
        let measured = self.measured.iter().enumerate().map(|(l, line)| {
            let points = line.points.iter().enumerate();
            let known = points.filter_map(|(p, (x, _))| {
                let Estimate { mean, half_width } = *values.get(&(l, p))?;
                let half = half_width.unwrap_or(0.0);
                Some(Point {
                    x: *x,
                    y: mean,
                    low: (mean - half).max(0.0),
                    high: mean + half,
                })
            });
            Line {
                name: line.label.clone(),
                points: known.collect(),
            }
        });
        let given = self.given.iter().map(|line| Line {
            name: line.label.clone(),
            points: line
                .points
                .iter()
                .map(|&(x, y)| Point { x, y, low: y, high: y })
                .collect(),
        });
        measured.chain(drawn.iter().cloned()).chain(given).collect()
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
        let mean = |mean| Estimate { mean, half_width: None };
        let sure = Estimate {
            mean: 20.0,
            half_width: Some(30.0),
        };
        let lines = sweep.lines(&[((0, 0), mean(10.0)), ((0, 2), sure)].into(), &[]);
        let point = |x, y, low, high| Point { x, y, low, high };
        let ours = vec![point(2.0, 10.0, 10.0, 10.0), point(4.0, 20.0, 0.0, 50.0)];
        let theirs = vec![point(1.0, 2.0, 2.0, 2.0)];
        let line = |name: &str, points| Line {
            name: name.to_owned(),
            points,
        };
        assert_eq!(lines, [line("ours", ours), line("theirs", theirs)]);
    }
}
