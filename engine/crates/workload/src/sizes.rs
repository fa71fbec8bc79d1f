// SPDX-License-Identifier: Apache-2.0
//! Distributions of flow sizes: tables of size and cumulative probability, and plain ones.

use rand_pcg::Pcg64;
use slotwise_random::{exponential, uniform};
use slotwise_units::Bytes;

use crate::error::{Problem, WorkloadError};
use crate::tables;

/// Sizes between two lines of a table. The mean, and so the load, differs by up to a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Only the sizes of the table are drawn, as in opera-sim.
    Steps,
    /// Sizes are uniform between those of two lines, as in HPCC's generator.
    Linear,
}

impl Interpolation {
    fn parse(text: &str) -> Option<Interpolation> {
        match text {
            "steps" => Some(Interpolation::Steps),
            "linear" => Some(Interpolation::Linear),
            _ => None,
        }
    }
}

/// A line of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    size: f64,
    cumulative: f64,
}

/// A distribution by a table of sizes and cumulative probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    points: Vec<Point>,
    interpolation: Interpolation,
}

/// Largest relative difference of a table's mean from the one in its first line, whose last digits are rounded.
const MEAN_TOLERANCE: f64 = 1e-5;

/// Largest size of a table, so that sums of sizes stay within 64 bits.
const MAX_SIZE: f64 = 1e15;

impl SizeTable {
    /// Reads a table. Each line has a size in bytes and the probability of at most this size, separated by a comma or spaces.
    /// Probabilities are in percent if the last one is 100. Both columns rise. Lines that begin with `#` are comments;
    /// `# interpolate: steps` or `# interpolate: linear` specifies the interpolation, which `interpolation` overrides. Other lines
    /// with letters are headings. A single number in the first line is the mean, as in Homa's tables, and is compared.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn read(file: &str, text: &str, interpolation: Option<Interpolation>) -> Result<SizeTable, WorkloadError> {
        let mut specified = None;
        let mut stated_mean = None;
        let mut rows: Vec<(u64, Point)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let error = |problem| WorkloadError::line(file, number, problem);
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                if let Some(value) = comment.trim().strip_prefix("interpolate:") {
                    let value = value.trim();
                    let field = || Problem::Field {
                        field: "interpolation",
                        got: value.to_owned(),
                        expected: "'steps' or 'linear'",
                    };
                    specified = Some(Interpolation::parse(value).ok_or_else(|| error(field()))?);
                }
                continue;
            }
            let fields: Vec<&str> = fields(line).collect();
            let is_heading = fields.iter().all(|field| field.starts_with(char::is_alphabetic));
            if fields.is_empty() || is_heading && rows.is_empty() {
                continue;
            }
            match fields[..] {
                [mean] if rows.is_empty() && stated_mean.is_none() => {
                    stated_mean = Some((number, amount("mean", mean, MAX_SIZE).map_err(error)?));
                }
                [size, cumulative] => {
                    let size = amount("size", size, MAX_SIZE).map_err(error)?;
                    let cumulative = amount("probability", cumulative, f64::MAX).map_err(error)?;
                    rows.push((number, Point { size, cumulative }));
                }
                _ => {
                    return Err(error(Problem::Field {
                        field: "line",
                        got: line.to_owned(),
                        expected: "a size and a probability",
                    }));
                }
            }
        }
        let table = SizeTable {
            points: checked(file, rows)?,
            interpolation: interpolation
                .or(specified)
                .ok_or_else(|| WorkloadError::file(file, Problem::Interpolation))?,
        };
        if let Some((line, stated)) = stated_mean {
            let mean = table.steps_mean();
            if (mean - stated).abs() > MEAN_TOLERANCE * stated {
                return Err(WorkloadError::line(file, line, Problem::OtherMean { stated, mean }));
            }
        }
        Ok(table)
    }

    /// Returns the mean, bytes, of the sizes as they are drawn but for rounding.
    pub fn mean(&self) -> f64 {
        match self.interpolation {
            Interpolation::Steps => self.steps_mean(),
            Interpolation::Linear => {
                let between = self.points.windows(2).map(|pair| {
                    let [low, high] = [pair[0], pair[1]];
                    f64::midpoint(low.size, high.size) * (high.cumulative - low.cumulative)
                });
                self.points[0].size * self.points[0].cumulative + between.sum::<f64>()
            }
        }
    }

    fn steps_mean(&self) -> f64 {
        let mut below = 0.0;
        let mut mean = 0.0;
        for point in &self.points {
            mean += point.size * (point.cumulative - below);
            below = point.cumulative;
        }
        mean
    }

    /// Returns the distribution of the sizes from `least` on, as if smaller ones were drawn again.
    ///
    /// # Errors
    /// When no size is left.
    pub fn at_least(&self, least: Bytes) -> Result<SizeTable, WorkloadError> {
        let cut = least.get() as f64;
        let first = self.points.partition_point(|point| point.size < cut);
        let below = match self.interpolation {
            _ if first == 0 => 0.0,
            Interpolation::Steps => self.points[first - 1].cumulative,
            Interpolation::Linear => self.cumulative_between(first, cut),
        };
        let mut points = Vec::new();
        if self.interpolation == Interpolation::Linear && first > 0 {
            points.push(Point {
                size: cut,
                cumulative: 0.0,
            });
        }
        points.extend(self.points[first..].iter().map(|point| Point {
            size: point.size,
            cumulative: (point.cumulative - below) / (1.0 - below),
        }));
        points.dedup_by(|next, before| next.size <= before.size);
        let largest = self.points[self.points.len() - 1].size;
        if below >= 1.0 || points.is_empty() {
            let expected = format!("at most the largest size of the table, {largest} bytes");
            return Err(WorkloadError::range("least size", expected, least));
        }
        Ok(SizeTable {
            points,
            interpolation: self.interpolation,
        })
    }

    /// Returns the probability of a size at most `size`, which is between points `high - 1` and `high`; 1 above the last one.
    fn cumulative_between(&self, high: usize, size: f64) -> f64 {
        let low = self.points[high - 1];
        self.points.get(high).map_or(1.0, |high| {
            low.cumulative + (high.cumulative - low.cumulative) * (size - low.size) / (high.size - low.size)
        })
    }

    /// Draws a size, at least 1 byte.
    pub fn draw(&self, rng: &mut Pcg64) -> Bytes {
        self.quantile(uniform(rng))
    }

    /// Returns the least size with at least this cumulative probability, above 0 and at most 1; rounded to whole bytes, at least 1.
    pub fn quantile(&self, cumulative: f64) -> Bytes {
        let found = self.points.partition_point(|point| point.cumulative < cumulative);
        let high = found.min(self.points.len() - 1);
        let point = self.points[high];
        let size = match self.interpolation {
            Interpolation::Linear if high > 0 => {
                let low = self.points[high - 1];
                let part = (cumulative - low.cumulative) / (point.cumulative - low.cumulative);
                low.size + part * (point.size - low.size)
            }
            _ => point.size,
        };
        Bytes::new((size.round() as u64).max(1))
    }
}

/// Checks that both columns rise, and returns probabilities that end at 1.
fn checked(file: &str, rows: Vec<(u64, Point)>) -> Result<Vec<Point>, WorkloadError> {
    let Some(&(last_line, last)) = rows.last() else {
        return Err(WorkloadError::file(file, Problem::Empty("a size and its probability")));
    };
    let full = if last.cumulative == 100.0 { 100.0 } else { 1.0 };
    for (before, (number, row)) in std::iter::once(None).chain(rows.iter().map(Some)).zip(&rows) {
        let error = |problem| Err(WorkloadError::line(file, *number, problem));
        if row.cumulative > full {
            return error(Problem::BeyondOne { got: row.cumulative });
        }
        let Some((_, before)) = before else { continue };
        for (column, before, got) in [
            ("size", before.size, row.size),
            ("probability", before.cumulative, row.cumulative),
        ] {
            if got <= before {
                return error(Problem::NotRising { column, before, got });
            }
        }
    }
    if last.cumulative < full {
        return Err(WorkloadError::line(
            file,
            last_line,
            Problem::BelowOne { got: last.cumulative },
        ));
    }
    let scaled = rows.into_iter().map(|(_, row)| Point {
        size: row.size,
        cumulative: row.cumulative / full,
    });
    Ok(scaled.collect())
}

/// Returns the fields of a line, which commas or white space separate.
pub(crate) fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split([',', ' ', '\t']).filter(|field| !field.is_empty())
}

/// Returns a number from 0 to `max`.
pub(crate) fn amount(field: &'static str, text: &str, max: f64) -> Result<f64, Problem> {
    let number = text.trim().parse::<f64>().ok();
    number
        .filter(|number| (0.0..=max).contains(number))
        .ok_or_else(|| Problem::Field {
            field,
            got: text.to_owned(),
            expected: "a number of at least 0",
        })
}

/// A distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All flows have one size.
    Fixed(Bytes),
    /// Exponential sizes with this mean, rounded to whole bytes, at least 1.
    Exponential(Bytes),
    /// Sizes of a table.
    Table(SizeTable),
}

impl Sizes {
    /// Returns the sizes of a shipped table.
    ///
    /// # Errors
    /// When there is no table of this name.
    pub fn named(name: &str, interpolation: Option<Interpolation>) -> Result<Sizes, WorkloadError> {
        let table = tables::find(name)?;
        Ok(Sizes::Table(SizeTable::read(name, table.text(), interpolation)?))
    }

    /// Returns the mean, bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(size) | Sizes::Exponential(size) => size.get() as f64,
            Sizes::Table(table) => table.mean(),
        }
    }

    /// Draws a size, at least 1 byte.
    pub fn draw(&self, rng: &mut Pcg64) -> Bytes {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Exponential(mean) => Bytes::new(exponential(rng, mean.get() as f64).max(1)),
            Sizes::Table(table) => table.draw(rng),
        }
    }

    /// Checks that the mean is a number above 0.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let mean = self.mean();
        if mean > 0.0 {
            return Ok(());
        }
        Err(WorkloadError::range(
            "sizes",
            "a mean above 0 bytes",
            format!("{mean} bytes"),
        ))
    }
}
