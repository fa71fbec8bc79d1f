// SPDX-License-Identifier: Apache-2.0
//! Differences between the results of two runs: reports, or tables of columns.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use serde_json::Value;

use crate::columns;
use crate::read::ReadError;
use crate::record::{Table, TableName};
use crate::report::Report;

/// Results of a run.
#[derive(Debug)]
pub enum Results {
    /// Report.
    Report(Value),
    /// Tables by name.
    Tables(BTreeMap<&'static str, Table>),
}

/// Error for results that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// A report cannot be read.
    #[error("{}: {source}", path.display())]
    Report {
        /// File.
        path: PathBuf,
        /// Problem.
        source: ReadError,
    },
    /// A table cannot be read.
    #[error("{}: {source}", path.display())]
    Table {
        /// File.
        path: PathBuf,
        /// Problem.
        source: ParquetError,
    },
    /// A file or directory without results.
    #[error("{}: no table of `--columns`; expected FILE.parquet of {}, or a directory with such files", path.display(), names().join(", "))]
    NoTable {
        /// File or directory.
        path: PathBuf,
    },
    /// A report and tables.
    #[error("a report and tables cannot be compared; expected two reports, or two directories or files of columns")]
    Types,
}

fn names() -> Vec<&'static str> {
    TableName::ALL.iter().map(|name| name.name()).collect()
}

impl Results {
    /// Reads a report (JSON), a table (Parquet) or a directory of tables.
    ///
    /// # Errors
    /// [`DiffError`] if they cannot be read, or are damaged.
    pub fn read(path: &Path) -> Result<Results, DiffError> {
        let is_table = path.extension().is_some_and(|extension| extension == "parquet");
        if !path.is_dir() && !is_table {
            let path = path.to_owned();
            return report(&path)
                .map(Results::Report)
                .map_err(|source| DiffError::Report { path, source });
        }
        let mut tables = BTreeMap::new();
        for table in TableName::ALL {
            let file = match path.is_dir() {
                true => path.join(format!("{}.parquet", table.name())),
                false => path.to_owned(),
            };
            if file.file_stem().is_some_and(|stem| stem == table.name()) && file.is_file() {
                let bytes = std::fs::read(&file).map_err(ParquetError::from);
                let read = bytes.and_then(|bytes| columns::read(bytes, table.empty()));
                tables.insert(
                    table.name(),
                    read.map_err(|source| DiffError::Table { path: file, source })?,
                );
            }
        }
        match tables.is_empty() {
            true => Err(DiffError::NoTable { path: path.to_owned() }),
            false => Ok(Results::Tables(tables)),
        }
    }
}

/// Reads a report with all its keys, also those of another version that [`Report`] does not have.
fn report(path: &Path) -> Result<Value, ReadError> {
    let text = Report::text(path)?;
    Report::from_json(&text)?;
    serde_json::from_slice(&text).map_err(ReadError::Syntax)
}

/// Tolerance for numbers, and places that are not compared.
#[derive(Debug, Clone, Default)]
pub struct Tolerance {
    /// Absolute tolerance.
    pub absolute: f64,
    /// Relative tolerance, as a fraction of the larger absolute value.
    pub relative: f64,
    /// Ignored places, with everything below them.
    pub ignored: Vec<String>,
}

impl Tolerance {
    fn accepts(&self, a: f64, b: f64) -> bool {
        let limit = self.absolute + self.relative * a.abs().max(b.abs());
        a.to_bits() == b.to_bits() || a == b || (a - b).abs() <= limit
    }

    fn ignores(&self, place: &str) -> bool {
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        let mut ignored = self.ignored.iter();
        ignored.any(|ignored| place.strip_prefix(ignored.as_str()).is_some_and(is_below))
    }
}

/// A difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Place: path in a report, or table, column and rows.
    pub place: String,
    /// Values on both sides.
    pub values: Differing,
}

/// Values of a difference.
#[derive(Debug, Clone, PartialEq)]
pub enum Differing {
    /// The place exists in the first results only.
    OnlyFirst,
    /// The place exists in the second results only.
    OnlySecond,
    /// Values, as JSON.
    Values(String, String),
    /// Lists of numbers, or columns.
    Numbers {
        /// Numbers that differ.
        count: usize,
        /// Length of the list.
        of: usize,
        /// Place of the largest difference in the list.
        at: String,
        /// The two numbers there.
        largest: (f64, f64),
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match &self.values {
            Differing::OnlyFirst => write!(f, "{place}: only in the first"),
            Differing::OnlySecond => write!(f, "{place}: only in the second"),
            Differing::Values(a, b) => write!(f, "{place}: {a}, {b}"),
            Differing::Numbers { count, of, at, largest } => {
                let (a, b) = largest;
                write!(f, "{place}: {count} of {of} numbers differ, most at {at}: {a}, {b}")
            }
        }
    }
}

/// Returns the differences between two results.
///
/// # Errors
/// [`DiffError`] if one has a report and the other tables.
pub fn differences(first: &Results, second: &Results, tolerance: &Tolerance) -> Result<Vec<Difference>, DiffError> {
    let mut comparison = Comparison {
        tolerance,
        found: Vec::new(),
    };
    match (first, second) {
        (Results::Report(first), Results::Report(second)) => comparison.values("", first, second),
        (Results::Tables(first), Results::Tables(second)) => comparison.tables(first, second),
        _ => return Err(DiffError::Types),
    }
    Ok(comparison.found)
}

struct Comparison<'a> {
    tolerance: &'a Tolerance,
    found: Vec<Difference>,
}

/// Returns a list that has numbers or null alone, with null as NaN.
fn numbers(list: &[Value]) -> Option<Vec<f64>> {
    let number = |value: &Value| match value {
        Value::Null => Some(f64::NAN),
        value => value.as_f64(),
    };
    list.iter().map(number).collect()
}

impl Comparison<'_> {
    fn add(&mut self, place: &str, values: Differing) {
        if !self.tolerance.ignores(place) {
            let place = place.to_owned();
            self.found.push(Difference { place, values });
        }
    }

    fn values(&mut self, place: &str, first: &Value, second: &Value) {
        if self.tolerance.ignores(place) {
            return;
        }
        match (first, second) {
            (Value::Object(a), Value::Object(b)) => {
                let below = |key: &str| match place {
                    "" => key.to_owned(),
                    _ => format!("{place}.{key}"),
                };
                for (key, value) in a {
                    match b.get(key) {
                        Some(other) => self.values(&below(key), value, other),
                        None => self.add(&below(key), Differing::OnlyFirst),
                    }
                }
                for key in b.keys().filter(|key| !a.contains_key(*key)) {
                    self.add(&below(key), Differing::OnlySecond);
                }
            }
            (Value::Array(a), Value::Array(b)) => match (numbers(a), numbers(b)) {
                (Some(a), Some(b)) if a.len() == b.len() => self.numbers(place, &a, &b, |index| format!("[{index}]")),
                _ => self.lists(place, a, b),
            },
            (Value::Number(a), Value::Number(b)) => {
                let [a, b] = [a, b].map(|number| number.as_f64().unwrap_or(f64::NAN));
                if !self.tolerance.accepts(a, b) {
                    self.add(place, Differing::Values(first.to_string(), second.to_string()));
                }
            }
            _ if first == second => {}
            _ => self.add(place, Differing::Values(first.to_string(), second.to_string())),
        }
    }

    fn lists(&mut self, place: &str, a: &[Value], b: &[Value]) {
        for (index, (first, second)) in a.iter().zip(b).enumerate() {
            self.values(&format!("{place}[{index}]"), first, second);
        }
        for index in b.len()..a.len() {
            self.add(&format!("{place}[{index}]"), Differing::OnlyFirst);
        }
        for index in a.len()..b.len() {
            self.add(&format!("{place}[{index}]"), Differing::OnlySecond);
        }
    }

    fn numbers(&mut self, place: &str, a: &[f64], b: &[f64], at: impl Fn(usize) -> String) {
        let pairs = a.iter().zip(b).enumerate();
        let differing = pairs.filter(|(_, (a, b))| !(self.tolerance.accepts(**a, **b) || (a.is_nan() && b.is_nan())));
        let differing: Vec<(usize, (&f64, &f64))> = differing.collect();
        let largest = differing.iter().max_by(|(_, (a, b)), (_, (c, d))| {
            // A number missing on one side is the largest difference.
            let [one, other] =
                [(*a - *b).abs(), (*c - *d).abs()].map(|it| if it.is_nan() { f64::INFINITY } else { it });
            one.total_cmp(&other)
        });
        if let Some((index, (first, second))) = largest {
            let values = Differing::Numbers {
                count: differing.len(),
                of: a.len(),
                at: at(*index),
                largest: (**first, **second),
            };
            self.add(place, values);
        }
    }

    fn tables(&mut self, first: &BTreeMap<&'static str, Table>, second: &BTreeMap<&'static str, Table>) {
        for (name, table) in first {
            match second.get(name) {
                Some(other) => self.table(name, table, other),
                None => self.add(name, Differing::OnlyFirst),
            }
        }
        for name in second.keys().filter(|name| !first.contains_key(*name)) {
            self.add(name, Differing::OnlySecond);
        }
    }

    fn table(&mut self, name: &str, first: &Table, second: &Table) {
        let (rows, others) = (rows(first), rows(second));
        let mut both = Vec::new();
        for (key, row) in &rows {
            match others.get(key) {
                Some(other) => both.push((key, *row, *other)),
                None => self.add(&format!("{name}[{key}]"), Differing::OnlyFirst),
            }
        }
        for key in others.keys().filter(|key| !rows.contains_key(*key)) {
            self.add(&format!("{name}[{key}]"), Differing::OnlySecond);
        }
        let at = |index: usize| {
            let key: &Key = both[index].0;
            format!("[{key}]")
        };
        // Times are equal in rows of both.
        for (column, (numbers, others)) in first.columns().zip(first.numbers.iter().zip(&second.numbers)).skip(1) {
            let (a, b): (Vec<f64>, Vec<f64>) = both
                .iter()
                .map(|(_, row, other)| (numbers[*row], others[*other]))
                .unzip();
            self.numbers(&format!("{name}.{column}"), &a, &b, at);
        }
    }
}

/// Row of a table: name, time as bits, and number among the rows with both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: String,
    time_bits: u64,
    number: usize,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} s", self.name, f64::from_bits(self.time_bits))?;
        match self.number {
            0 => Ok(()),
            number => write!(f, ", row {}", number + 1),
        }
    }
}

fn rows(table: &Table) -> BTreeMap<Key, usize> {
    let mut rows = BTreeMap::new();
    let mut last: BTreeMap<(&str, u64), usize> = BTreeMap::new();
    for (row, (name, time_s)) in table.names.iter().zip(table.numbers_of("time_s")).enumerate() {
        let time_bits = time_s.to_bits();
        let number = last.entry((name, time_bits)).or_default();
        let key = Key {
            name: name.clone(),
            time_bits,
            number: *number,
        };
        *number += 1;
        rows.insert(key, row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(first: Value, second: Value, tolerance: &Tolerance) -> Vec<String> {
        let [first, second] = [first, second].map(Results::Report);
        let found = differences(&first, &second, tolerance).unwrap();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_difference_of_reports_has_its_place() {
        let first = json!({"seed": 1, "drops": [{"place": "a", "packets": 3}], "series": {"time_ms": [1, 2.5, 4]}, "old": null});
        let second = json!({"seed": 2, "drops": [{"place": "a", "packets": 3}, {}], "series": {"time_ms": [1, 2.0, 9]}, "new": true});
        assert_eq!(
            found(first.clone(), first.clone(), &Tolerance::default()),
            Vec::<String>::new()
        );
        assert_eq!(
            found(first.clone(), second.clone(), &Tolerance::default()),
            [
                "drops[1]: only in the second",
                "old: only in the first",
                "seed: 1, 2",
                "series.time_ms: 2 of 3 numbers differ, most at [2]: 4, 9",
                "new: only in the second",
            ]
        );
        let tolerance = Tolerance {
            absolute: 5.0,
            ignored: vec!["drops".into(), "old".into(), "new".into()],
            ..Tolerance::default()
        };
        assert_eq!(found(first.clone(), second.clone(), &tolerance), Vec::<String>::new());
        let relative = Tolerance {
            relative: 0.25,
            ..tolerance
        };
        let relative = Tolerance {
            absolute: 0.0,
            ..relative
        };
        assert_eq!(
            found(first, second, &relative),
            ["seed: 1, 2", "series.time_ms: 1 of 3 numbers differ, most at [2]: 4, 9"]
        );
    }

    #[test]
    fn an_ignored_place_is_no_prefix_of_a_longer_name() {
        let tolerance = Tolerance {
            ignored: vec!["controller".into()],
            ..Tolerance::default()
        };
        let report = |restarts: u64| json!({"controller": {"commits": restarts}, "controller_restarts": restarts});
        assert_eq!(found(report(0), report(1), &tolerance), ["controller_restarts: 0, 1"]);
    }

    #[test]
    fn numbers_and_null_differ_and_null_is_equal_to_itself() {
        let list = |last: Value| json!({"rates": [1, null, last]});
        assert_eq!(
            found(list(json!(2)), list(json!(2)), &Tolerance::default()),
            Vec::<String>::new()
        );
        let tolerance = Tolerance {
            absolute: 1e9,
            ..Tolerance::default()
        };
        assert_eq!(
            found(list(json!(2)), list(Value::Null), &tolerance),
            ["rates: 1 of 3 numbers differ, most at [2]: 2, NaN"]
        );
    }

    fn queues(rows: &[(&str, f64, f64)]) -> Results {
        let mut table = TableName::Fairness.empty();
        for (name, time_s, rate) in rows {
            table.push(name, [*time_s, *rate, 1.0, 1.0]);
        }
        Results::Tables(BTreeMap::from([("fairness", table)]))
    }

    #[test]
    fn rows_of_tables_are_compared_by_name_and_time() {
        let first = queues(&[("a-b", 0.1, 5.0), ("b-a", 0.1, 6.0), ("a-b", 0.2, 7.0)]);
        // Another order, and one row of another time.
        let second = queues(&[("b-a", 0.1, 6.5), ("a-b", 0.1, 5.0), ("a-b", 0.3, 7.0)]);
        let found = differences(&first, &second, &Tolerance::default()).unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "fairness[a-b at 0.2 s]: only in the first",
                "fairness[a-b at 0.3 s]: only in the second",
                "fairness.rate_kbps: 1 of 2 numbers differ, most at [b-a at 0.1 s]: 6, 6.5",
            ]
        );
        let report = Results::Report(json!({}));
        assert!(matches!(
            differences(&first, &report, &Tolerance::default()),
            Err(DiffError::Types)
        ));
    }

    #[test]
    fn keys_that_this_version_does_not_know_are_compared() {
        let place = tempfile::tempdir().unwrap();
        let report = include_str!("../../../../schema/examples/stream-report.json");
        let mut report: Value = serde_json::from_str(report).unwrap();
        let [first, second] = ["first.json", "second.json"].map(|name| place.path().join(name));
        for (path, value) in [(&first, 1), (&second, 2)] {
            report["later"] = json!({"count": value});
            std::fs::write(path, report.to_string()).unwrap();
        }
        let [first, second] = [first, second].map(|path| Results::read(&path).unwrap());
        let found = differences(&first, &second, &Tolerance::default()).unwrap();
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["later.count: 1, 2"]
        );
    }

    #[test]
    fn damage_of_a_table_is_an_error_of_its_file_or_another_value() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("fairness.parquet");
        let Results::Tables(tables) = queues(&[("a-b", 0.1, 5.0), ("b-a", 0.1, 6.0)]) else {
            unreachable!("they are tables")
        };
        let mut bytes = Vec::new();
        columns::write(&tables["fairness"], &mut bytes).unwrap();
        let mut errors = 0;
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            std::fs::write(&file, &damaged).unwrap();
            match Results::read(&file) {
                Err(DiffError::Table { path, .. }) => {
                    assert_eq!(path, file);
                    errors += 1;
                }
                Err(error) => panic!("byte {at}: {error}"),
                Ok(_) => {}
            }
        }
        assert!(errors > bytes.len() / 4, "{errors} of {}", bytes.len());
    }

    #[test]
    fn results_are_read_from_reports_tables_and_directories() {
        let place = tempfile::tempdir().unwrap();
        assert!(matches!(Results::read(place.path()), Err(DiffError::NoTable { .. })));
        let file = place.path().join("fairness.parquet");
        let Results::Tables(tables) = queues(&[("a-b", 0.1, 5.0)]) else {
            unreachable!("they are tables")
        };
        let mut bytes = Vec::new();
        columns::write(&tables["fairness"], &mut bytes).unwrap();
        std::fs::write(&file, &bytes).unwrap();
        for path in [place.path(), &file] {
            let Results::Tables(read) = Results::read(path).unwrap() else {
                unreachable!("they are tables")
            };
            assert_eq!(read, tables);
        }
        std::fs::write(&file, &bytes[..20]).unwrap();
        assert!(matches!(Results::read(&file), Err(DiffError::Table { .. })));
        let report = place.path().join("report.json");
        std::fs::write(&report, "{}").unwrap();
        let error = Results::read(&report).unwrap_err().to_string();
        assert!(
            error.ends_with("report.json: the file: missing field `version` at line 1 column 2"),
            "{error}"
        );
    }
}
