// SPDX-License-Identifier: Apache-2.0
//! Grids of runs: one entry of `runs` for each combination of the values of its axes.
//!
//! ```yaml
//! runs:
//!   '{scheme}@{ms}':
//!     scenario: two-links.yaml
//!     grid: {scheme: [full, class], ms: {0.1: 100000, 1: 1000000}}
//!     set: [[/ops/aggregation, {scheme: '{scheme}', interval_ns: '{ms}'}]]
//! ```

use std::collections::BTreeMap;

use serde_yaml_ng::{Mapping, Value};

use super::{ExperimentError, RunSpec, mismatch};

/// Runs of a grid.
const MAX_RUNS: usize = 10_000;

/// Name and value of an axis at one point of the grid.
struct Coordinate {
    axis: String,
    name: String,
    value: Value,
}

/// Runs with an entry for each point of their grids.
///
/// # Errors
/// [`ExperimentError`] of the first invalid grid.
pub(super) fn runs(runs: BTreeMap<String, RunSpec>) -> Result<BTreeMap<String, RunSpec>, ExperimentError> {
    let mut unfolded = BTreeMap::new();
    for (pattern, mut run) in runs {
        let place = format!("run '{pattern}'");
        let grid = std::mem::take(&mut run.grid);
        let points = points(&place, grid)?;
        for point in &points {
            let name = text(&pattern, point);
            if name.contains(['{', '}']) {
                let expected = "the names of its axes in braces";
                return Err(mismatch(place, format!("unknown axis in '{name}'"), expected));
            }
            let set = run
                .set
                .iter()
                .map(|(pointer, value)| (text(pointer, point), filled(value, point)));
            let one = RunSpec {
                scenario: text(&run.scenario, point),
                set: set.collect(),
                ..run.clone()
            };
            if unfolded.insert(name.clone(), one).is_some() {
                let expected = "a name with all axes in braces, such as '{scheme}@{ms}'";
                return Err(mismatch(place, format!("two runs '{name}'"), expected));
            }
        }
    }
    Ok(unfolded)
}

/// Points of a grid; one without coordinates if it has no axes.
fn points(place: &str, grid: Mapping) -> Result<Vec<Vec<Coordinate>>, ExperimentError> {
    let mut points = vec![Vec::new()];
    for (axis, values) in grid {
        let axis = scalar(&axis).unwrap_or_default();
        let values: Vec<(Value, Value)> = match values {
            Value::Sequence(values) => values.into_iter().map(|value| (value.clone(), value)).collect(),
            Value::Mapping(values) => values.into_iter().collect(),
            _ => Vec::new(),
        };
        let named = values.into_iter().map(|(name, value)| Some((scalar(&name)?, value)));
        let named: Option<Vec<(String, Value)>> = named.collect();
        let Some(named) = named.filter(|named| !named.is_empty() && named.len() * points.len() <= MAX_RUNS) else {
            let expected = format!("a list of values or a mapping of names to values, and at most {MAX_RUNS} runs");
            return Err(mismatch(place, format!("invalid axis '{axis}'"), expected));
        };
        points = points
            .iter()
            .flat_map(|point| named.iter().map(|value| with(point, &axis, value)))
            .collect();
    }
    Ok(points)
}

fn with(point: &[Coordinate], axis: &str, (name, value): &(String, Value)) -> Vec<Coordinate> {
    let known = point.iter().map(|Coordinate { axis, name, value }| Coordinate {
        axis: axis.clone(),
        name: name.clone(),
        value: value.clone(),
    });
    let next = Coordinate {
        axis: axis.to_owned(),
        name: name.clone(),
        value: value.clone(),
    };
    known.chain([next]).collect()
}

/// Text of a scalar.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// A text with the names of values in place of axes.
fn text(pattern: &str, point: &[Coordinate]) -> String {
    let put = |text: String, one: &Coordinate| text.replace(&format!("{{{}}}", one.axis), &one.name);
    point.iter().fold(pattern.to_owned(), put)
}

/// A value with those of axes in place of texts that name one, and names within other texts.
fn filled(value: &Value, point: &[Coordinate]) -> Value {
    match value {
        Value::String(pattern) => {
            let whole = point.iter().find(|one| *pattern == format!("{{{}}}", one.axis));
            whole.map_or_else(|| Value::String(text(pattern, point)), |one| one.value.clone())
        }
        Value::Sequence(values) => values.iter().map(|value| filled(value, point)).collect(),
        Value::Mapping(values) => {
            let values = values
                .iter()
                .map(|(key, value)| (filled(key, point), filled(value, point)));
            Value::Mapping(values.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfolded(yaml: &str) -> Result<BTreeMap<String, RunSpec>, String> {
        let written: BTreeMap<String, RunSpec> = serde_yaml_ng::from_str(yaml).unwrap();
        runs(written).map_err(|error| error.to_string())
    }

    #[test]
    fn a_grid_is_a_run_for_each_combination() {
        let grid = unfolded(
            "'{scheme}@{ms}':\n  scenario: mesh.yaml\n  seeds: 3\n  grid: {scheme: [full, class], ms: {0.1: 100000, 10: 1e7}}\n  \
             set: [[/ops/aggregation, {scheme: '{scheme}', interval_ns: '{ms}'}]]\n",
        );
        let each = unfolded(
            "full@0.1: {scenario: mesh.yaml, seeds: 3, set: [[/ops/aggregation, {scheme: full, interval_ns: 100000}]]}\n\
             full@10: {scenario: mesh.yaml, seeds: 3, set: [[/ops/aggregation, {scheme: full, interval_ns: 1e7}]]}\n\
             class@0.1: {scenario: mesh.yaml, seeds: 3, set: [[/ops/aggregation, {scheme: class, interval_ns: 100000}]]}\n\
             class@10: {scenario: mesh.yaml, seeds: 3, set: [[/ops/aggregation, {scheme: class, interval_ns: 1e7}]]}\n",
        );
        assert_eq!(grid, each);
    }

    #[test]
    fn a_value_may_be_anything_and_a_name_may_be_within_a_text() {
        let grid = unfolded(
            "'x-{link}': {scenario: '{link}.yaml', grid: {link: {a: {rate: 5}}}, set: [['/links/{link}*', '{link}'], [/name, 'n{link}']]}",
        );
        let each = unfolded("x-a: {scenario: a.yaml, set: [['/links/a*', {rate: 5}], [/name, na]]}");
        assert_eq!(grid, each);
    }

    #[test]
    fn a_grid_that_gives_no_names_is_refused() {
        let refused = |yaml: &str| unfolded(yaml).unwrap_err();
        assert_eq!(
            refused("a: {scenario: x, grid: {ms: [1, 2]}}"),
            "run 'a': two runs 'a'; expected a name with all axes in braces, such as '{scheme}@{ms}'"
        );
        assert_eq!(
            refused("'{s}@{ms}': {scenario: x, grid: {ms: [1, 2]}}"),
            "run '{s}@{ms}': unknown axis in '{s}@1'; expected the names of its axes in braces"
        );
        assert!(refused("'{ms}': {scenario: x, grid: {ms: 5}}").starts_with("run '{ms}': invalid axis 'ms'"));
        let many = format!("[{}]", vec!["1"; 101].join(", "));
        let many = format!("'{{a}}{{b}}': {{scenario: x, grid: {{a: {many}, b: {many}}}}}");
        assert!(refused(&many).contains("at most 10000 runs"));
    }
}
