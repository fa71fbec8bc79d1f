// SPDX-License-Identifier: Apache-2.0
//! Plots as SVG: lines with the spread over the seeds, the bands of facts, and what was published.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use slotwise_observe::record::{Recording, Table};
use slotwise_observe::stats::Estimate;

use crate::experiment::{Distribution, Entry, Fact, Plot, Stat};
use crate::fact::{distribution, means_over, names};
use crate::html::number;
use crate::sweep::{Axis, Sweep};

const SIZE: (u32, u32) = (860, 340);
/// Told apart by people with any colour vision, the first six after Okabe and Ito.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 90, 181),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(110, 40, 110),
    RGBColor(86, 170, 225),
    RGBColor(204, 121, 167),
    RGBColor(96, 0, 224),
    RGBColor(0, 64, 0),
];
const BAND: RGBColor = RGBColor(40, 40, 40);
/// Of one run more lines than this are not told apart.
const MOST_LINES: usize = 6;
/// A line of so few points shows where they are.
const MOST_MARKED: usize = 8;
const FONT: (&str, u32) = ("sans-serif", 13);
/// Widest that a digit of this font is, in pixels.
const DIGIT_WIDTH: u32 = 8;
/// Wide enough for a letter of this font, in pixels, as letters are on average.
const LETTER_WIDTH: u32 = 7;
/// What lines are called is said above the chart, in as many columns as the longest name leaves room for.
const MOST_LEGEND_COLUMNS: u32 = 4;
const LEGEND_ROW: u32 = 18;
const LEGEND_SIGN: u32 = 18;
const LEGEND_GAP: u32 = 6;
const LEGEND_MARGIN: i32 = 60;
/// Of a scale of logarithms for nothing but zeros.
const NO_LEAST: f64 = 1e-3;
/// A scale of logarithms that has more decades is marked by decades, others at 2 and 5 as well.
const MOST_MARKED_DECADES: f64 = 3.0;
/// Of a sweep's band, as part of the axis.
const BAND_WIDTH: f64 = 0.012;

/// A plot that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("plot: {0}")]
pub struct PlotError(String);

fn error(error: impl std::fmt::Display) -> PlotError {
    PlotError(error.to_string())
}

/// A point with the smallest and largest value that it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A line to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// A fact's band, and the source's value if it has one, over a part of the x axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Band {
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
    pub(crate) published: Option<f64>,
    /// Of one value in that time, not of all.
    pub(crate) is_extreme: bool,
}

/// What a picture shows.
struct Picture<'p> {
    lines: &'p [Line],
    bands: &'p [Band],
    /// Whether what is drawn over x, and at y, are logarithms to the base of 10.
    is_log: [bool; 2],
    /// Where x begins.
    start: f64,
    x_name: &'p str,
    y_name: &'p str,
    bottom: f64,
    top: Option<f64>,
    width: u32,
}

/// The lines that a plot draws of one run: the mean over its seeds, from the smallest to the largest; `scale` is that of the
/// run's time.
pub(crate) fn lines(plot: &Plot, run: &str, recordings: &[Recording], scale: f64) -> Result<Vec<Line>, PlotError> {
    let Some(first) = recordings.first() else {
        return Ok(Vec::new());
    };
    let over_s = plot.mean_over_s * scale;
    let names = names(first.table(plot.what.table), &plot.what);
    let alone = names.len() == 1;
    let line = |name: String| {
        let seeds = recordings
            .iter()
            .map(|recording| series(plot, recording.table(plot.what.table), &name, over_s))
            .collect::<Result<Vec<_>, PlotError>>()?;
        let label = match (plot.runs.len(), alone) {
            (1, _) => name,
            (_, true) => run.to_owned(),
            (_, false) => format!("{run}: {name}"),
        };
        Ok(Line {
            name: label,
            points: spread(&seeds),
        })
    };
    names.into_iter().take(MOST_LINES).map(line).collect()
}

/// The lines that a distribution draws of one run, over all its seeds.
pub(crate) fn distributed(drawn: &Distribution, run: &str, recordings: &[Recording], scale: f64) -> Vec<Line> {
    let Some(first) = recordings.first() else {
        return Vec::new();
    };
    let names = names(first.table(drawn.what.table), &drawn.what);
    let line = |name: String| {
        let parts = distribution(recordings, &drawn.what, &name, drawn.from_s * scale);
        let shown = parts.into_iter().filter(|(x, _)| *x <= drawn.up_to_ms);
        let points = shown.map(|(x, y)| Point { x, y, low: y, high: y });
        let label = if drawn.runs.len() == 1 {
            name
        } else {
            format!("{run}: {name}")
        };
        Line {
            name: label,
            points: points.collect(),
        }
    };
    names.into_iter().take(COLOURS.len()).map(line).collect()
}

/// Draws the lines of an entry's distribution as SVG text.
pub(crate) fn draw_distribution(lines: &[Line]) -> Result<String, PlotError> {
    Picture {
        is_log: [false; 2],
        start: 0.0,
        lines,
        bands: &[],
        x_name: "waiting time, ms",
        y_name: "fraction of packets (CDF)",
        bottom: 0.0,
        top: Some(1.0),
        width: 1,
    }
    .svg()
}

/// Of one seed, means over `over_s`; with `percent_of`, of the sums.
fn series(plot: &Plot, table: &Table, name: &str, over_s: f64) -> Result<Vec<(f64, f64)>, PlotError> {
    let column = |name: &str| table.column(name).ok_or_else(|| error("unknown column"));
    let means = |column| means_over(&table.series(name, column), over_s);
    let parts = means(column(&plot.what.column)?);
    let Some(of) = plot.percent_of else { return Ok(parts) };
    let wholes = means(column(of.column())?);
    let both = parts.into_iter().zip(wholes);
    Ok(both
        .filter(|(_, (_, whole))| *whole > 0.0)
        .map(|((x, part), (_, whole))| (x, 100.0 * part / whole))
        .collect())
}

/// Mean, smallest and largest of several lines at each x that all have.
fn spread(seeds: &[Vec<(f64, f64)>]) -> Vec<Point> {
    let Some((first, others)) = seeds.split_first() else {
        return Vec::new();
    };
    let at = |&(x, y): &(f64, f64)| {
        let found = others.iter().map(|line| {
            let place = line.binary_search_by(|point| point.0.total_cmp(&x)).ok()?;
            Some(line[place].1)
        });
        let mut values = found.collect::<Option<Vec<f64>>>()?;
        values.push(y);
        Some(Point {
            x,
            y: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    };
    first.iter().filter_map(at).collect()
}

/// What a column is called, with its unit: `rate, kB/s` for `rate_kbyte_s`.
fn spoken(column: &str) -> String {
    const UNITS: [(&str, &str); 9] = [
        ("_kbyte_s", "kB/s"),
        ("_kbps", "kb/s"),
        ("_ns", "ns"),
        ("_us", "us"),
        ("_ms", "ms"),
        ("_bytes", "bytes"),
        ("_packets", "packets"),
        ("_slots", "slots"),
        ("_percent", "percent"),
    ];
    let found = UNITS
        .iter()
        .find_map(|(end, unit)| Some((column.strip_suffix(end)?, unit)));
    let (quantity, unit) = found.map_or((column, String::new()), |(quantity, unit)| {
        (quantity, format!(", {unit}"))
    });
    format!("{}{unit}", quantity.replace('_', " "))
}

/// The parts of a line that are on the scale: where it leaves it, a part ends.
fn on_scale(line: &[(f64, f64)], (bottom, top): (f64, f64)) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    for piece in line.windows(2) {
        let (from, to) = (piece[0], piece[1]);
        if from.1.max(to.1) < bottom || from.1.min(to.1) > top {
            continue;
        }
        // Where the piece is at the edge that an end of it is beyond.
        let cut = |end: (f64, f64)| {
            let y = end.1.clamp(bottom, top);
            if y == end.1 {
                return end;
            }
            (from.0 + (to.0 - from.0) * (y - from.1) / (to.1 - from.1), y)
        };
        match parts.last_mut() {
            Some(part) if part.last() == Some(&from) => part.push(cut(to)),
            _ => parts.push(vec![cut(from), cut(to)]),
        }
    }
    parts
}

/// Draws the lines of an entry's plot as SVG text; `scale` is that of the runs' time.
pub(crate) fn draw(entry: &Entry, plot: &Plot, lines: &[Line], scale: f64) -> Result<String, PlotError> {
    let quantity = plot.label.clone().unwrap_or_else(|| match plot.percent_of {
        Some(of) => format!("{}, percent of {}", spoken(&plot.what.column), spoken(of.column())),
        None => spoken(&plot.what.column),
    });
    let bands: Vec<Band> = entry
        .facts
        .iter()
        .filter(|fact| shows(plot, fact))
        .map(|fact| Band {
            x: (fact.from_s * scale, fact.to_s * scale),
            y: (fact.band[0], fact.band[1]),
            published: fact.published,
            is_extreme: !matches!(fact.stat, Stat::Mean | Stat::Percent { .. }),
        })
        .collect();
    // A legend covers a part of the plot: one line does without.
    let y_name = match lines {
        [line] => format!("{quantity}, {}", line.name),
        _ => quantity,
    };
    Picture {
        is_log: [false; 2],
        start: 0.0,
        lines,
        bands: &bands,
        x_name: "time, s",
        y_name: &y_name,
        bottom: plot.bottom,
        top: plot.top,
        width: 1,
    }
    .svg()
}

/// Whether a fact's number is one of those that a plot draws.
fn shows(plot: &Plot, fact: &Fact) -> bool {
    let same =
        fact.what.table == plot.what.table && fact.what.column == plot.what.column && fact.what.of == plot.what.of;
    let in_its_unit = match (fact.stat, plot.percent_of) {
        (Stat::Percent { of }, Some(drawn)) => of == drawn,
        (Stat::Mean | Stat::Min | Stat::Max | Stat::Lowest { .. } | Stat::Quantile { .. }, None) => true,
        _ => false,
    };
    let is_plain = fact.across.is_none() && fact.by.is_none();
    same && in_its_unit && is_plain && plot.runs.contains(&fact.run)
}

/// Draws an entry's sweep, whose measured values are by line and point, as SVG text.
pub(crate) fn draw_sweep(
    entry: &Entry,
    sweep: &Sweep,
    values: &BTreeMap<(usize, usize), Estimate>,
    drawn: &[Line],
) -> Result<String, PlotError> {
    let mut lines = sweep.lines(values, drawn);
    let is_log = |axis| sweep.log.contains(&axis);
    let place = |value: f64, axis: Axis, least: f64| match is_log(axis) {
        true => libm::log10(value.max(least)),
        false => value,
    };
    let [least_x, least_y] = [|point: &Point| point.x, |point: &Point| point.low].map(|of| least_positive(&lines, of));
    let of_x = |x: f64| place(x, Axis::X, least_x);
    let of_y = |y: f64| place(y, Axis::Y, least_y);
    for point in lines.iter_mut().flat_map(|line| &mut line.points) {
        *point = Point {
            x: of_x(point.x),
            y: of_y(point.y),
            low: of_y(point.low),
            high: of_y(point.high),
        };
    }
    let span = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.x)
        .fold(1e-9, f64::max);
    let mut bands = Vec::new();
    for line in &sweep.measured {
        for (x, run) in &line.points {
            let is_of = |fact: &&Fact| fact.run == *run && fact.what == line.what && fact.stat == line.stat;
            bands.extend(entry.facts.iter().filter(is_of).map(|fact| Band {
                x: (of_x(*x) - BAND_WIDTH * span, of_x(*x) + BAND_WIDTH * span),
                y: (of_y(fact.band[0]), of_y(fact.band[1])),
                published: fact.published.map(of_y),
                is_extreme: false,
            }));
        }
    }
    let points = || lines.iter().flat_map(|line| &line.points);
    let least = |of: fn(&Point) -> f64| points().map(of).reduce(f64::min).map_or(0.0, f64::floor);
    Picture {
        is_log: [is_log(Axis::X), is_log(Axis::Y)],
        start: if is_log(Axis::X) { least(|point| point.x) } else { 0.0 },
        lines: &lines,
        bands: &bands,
        x_name: &sweep.x,
        y_name: &sweep.y,
        bottom: if is_log(Axis::Y) { least(|point| point.low) } else { 0.0 },
        top: None,
        width: 2,
    }
    .svg()
}

/// The smallest number of lines that a scale of logarithms has a place for; what is less, zero for example, is drawn there.
fn least_positive(lines: &[Line], of: fn(&Point) -> f64) -> f64 {
    let numbers = lines.iter().flat_map(|line| &line.points).map(of);
    numbers
        .filter(|number| *number > 0.0)
        .reduce(f64::min)
        .unwrap_or(NO_LEAST)
}

/// An axis of numbers, or of their logarithms, that is marked at round numbers.
struct MarkedAxis {
    numbers: RangedCoordf64,
    is_log: bool,
}

impl MarkedAxis {
    fn new(numbers: Range<f64>, is_log: bool) -> MarkedAxis {
        let numbers = RangedCoordf64::from(numbers);
        MarkedAxis { numbers, is_log }
    }
}

impl Ranged for MarkedAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.numbers.map(value, limit)
    }

    fn range(&self) -> Range<f64> {
        self.numbers.range()
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if !self.is_log {
            return self.numbers.key_points(hint);
        }
        let Range { start, end } = self.range();
        let within: &[f64] = match end - start > MOST_MARKED_DECADES {
            true => &[1.0],
            false => &[1.0, 2.0, 5.0],
        };
        let decades = start.floor() as i32..=end.floor() as i32;
        let marks = decades.flat_map(|decade| within.iter().map(move |part| f64::from(decade) + libm::log10(*part)));
        marks.filter(|mark| (start..=end).contains(mark)).collect()
    }
}

/// How a thing is drawn.
#[derive(Debug, Clone, Copy)]
enum Sign {
    /// A line of this colour.
    Line(RGBColor),
    /// A band.
    Area,
    /// The band of an extreme.
    Frame,
}

/// Columns of a legend.
fn legend_columns(legend: &[(Sign, String)]) -> usize {
    let longest = legend.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0) as u32;
    let width = LEGEND_SIGN + LEGEND_GAP + LETTER_WIDTH * longest + 2 * LEGEND_GAP;
    ((SIZE.0 - LEGEND_MARGIN as u32) / width).clamp(1, MOST_LEGEND_COLUMNS) as usize
}

fn draw_legend(area: &DrawingArea<SVGBackend, Shift>, legend: &[(Sign, String)]) -> Result<(), PlotError> {
    const SIGN_WIDTH: i32 = LEGEND_SIGN as i32;
    const INDENT: i32 = (LEGEND_SIGN + LEGEND_GAP) as i32;
    let columns = legend_columns(legend);
    let width = (SIZE.0 as i32 - LEGEND_MARGIN) / columns as i32;
    let style = FONT
        .into_font()
        .into_text_style(area)
        .pos(Pos::new(HPos::Left, VPos::Center));
    for (index, (sign, text)) in legend.iter().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let x = LEGEND_MARGIN + width * column as i32;
        let y = (LEGEND_ROW * row as u32 + LEGEND_ROW / 2) as i32 + 2;
        let corners = [(x, y - 5), (x + SIGN_WIDTH, y + 5)];
        match sign {
            Sign::Line(colour) => area.draw(&PathElement::new([(x, y), (x + SIGN_WIDTH, y)], colour.stroke_width(2))),
            Sign::Area => area.draw(&Rectangle::new(corners, BAND.mix(0.13).filled())),
            Sign::Frame => area.draw(&Rectangle::new(corners, BAND.mix(0.5).stroke_width(1))),
        }
        .and_then(|()| area.draw(&Text::new(text.as_str(), (x + INDENT, y), style.clone())))
        .map_err(error)?;
    }
    Ok(())
}

/// A span cut to an axis.
fn inside((low, high): (f64, f64), (least, most): (f64, f64)) -> (f64, f64) {
    (low.clamp(least, most), high.clamp(least, most))
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<MarkedAxis, MarkedAxis>>;

impl Picture<'_> {
    fn svg(&self) -> Result<String, PlotError> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let end = points().map(|point| point.x).fold(self.start + 1e-9, f64::max);
        let ends = self
            .bands
            .iter()
            .flat_map(|band| band.published.into_iter().chain([band.y.0]));
        let highest = points()
            .map(|point| point.high)
            .chain(ends)
            .fold(self.bottom.min(0.0), f64::max);
        let bottom = self.bottom;
        let room = 1.08 * (highest - bottom);
        let top = self.top.unwrap_or(bottom + if room > 0.0 { room } else { 1.0 });
        let legend = self.legend((bottom, top));
        let legend_height = LEGEND_ROW * legend.len().div_ceil(legend_columns(&legend)) as u32;
        let mut svg = String::new();
        {
            let whole = SVGBackend::with_string(&mut svg, (SIZE.0, SIZE.1 + legend_height)).into_drawing_area();
            whole.fill(&WHITE).map_err(error)?;
            let (above, area) = whole.split_vertically(legend_height);
            draw_legend(&above, &legend)?;
            let [is_log_x, is_log_y] = self.is_log;
            let shown = |value: f64, is_log: bool| number(if is_log { libm::exp10(value) } else { value });
            // Ticks are at round numbers: they have hardly more digits than the top.
            let digits = number(top).len().max(number(top / 8.0).len()).max(4) as u32;
            let mut chart = ChartBuilder::on(&area)
                .margin(12)
                .margin_right(30)
                .x_label_area_size(38)
                .y_label_area_size(32 + DIGIT_WIDTH * digits)
                .build_cartesian_2d(
                    MarkedAxis::new(self.start..end, is_log_x),
                    MarkedAxis::new(bottom..top, is_log_y),
                )
                .map_err(error)?;
            chart
                .configure_mesh()
                .light_line_style(WHITE)
                .bold_line_style(RGBColor(225, 225, 225))
                .x_desc(self.x_name)
                .y_desc(self.y_name)
                .x_label_formatter(&|value| shown(*value, is_log_x))
                .y_label_formatter(&|value| shown(*value, is_log_y))
                .label_style(FONT)
                .draw()
                .map_err(error)?;
            self.draw_bands(&mut chart, (end, bottom, top))?;
            self.draw_lines(&mut chart, (bottom, top))?;
            whole.present().map_err(error)?;
        }
        Ok(svg)
    }

    fn draw_bands(&self, chart: &mut Chart, (end, bottom, top): (f64, f64, f64)) -> Result<(), PlotError> {
        // A band of one value is no more than its border.
        let signs = [
            (false, vec![BAND.mix(0.13).filled(), BAND.mix(0.25).stroke_width(1)]),
            (true, vec![BAND.mix(0.5).stroke_width(1)]),
        ];
        for (is_extreme, styles) in signs {
            let of_kind = self.bands.iter().filter(|band| band.is_extreme == is_extreme);
            let mut areas: Vec<_> = of_kind
                .map(|band| (inside(band.x, (self.start, end)), inside(band.y, (bottom, top))))
                .collect();
            // Several facts may have one band: drawn once each, it would look like several.
            areas.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
            areas.dedup();
            for style in styles {
                let areas = areas
                    .iter()
                    .map(|&((left, right), (low, high))| Rectangle::new([(left, low), (right, high)], style));
                chart.draw_series(areas).map_err(error)?;
            }
        }
        let known = self.published((bottom, top));
        let marks = known.map(|(x, value)| {
            let (left, right) = inside(x, (self.start, end));
            PathElement::new([(left, value), (right, value)], BAND.stroke_width(2))
        });
        chart.draw_series(marks).map_err(error)?;
        Ok(())
    }

    /// Where on the x axis something was published, and what, if it is on the scale.
    fn published(&self, (bottom, top): (f64, f64)) -> impl Iterator<Item = ((f64, f64), f64)> + '_ {
        let known = self.bands.iter().filter_map(|band| Some((band.x, band.published?)));
        known.filter(move |(_, value)| (bottom..=top).contains(value))
    }

    /// What needs a word; the line of a plot that has only one is named by the scale.
    fn legend(&self, (bottom, top): (f64, f64)) -> Vec<(Sign, String)> {
        let mut legend = Vec::new();
        if self.lines.len() > 1 {
            let colours = COLOURS.into_iter().cycle();
            let lines = self.lines.iter().zip(colours);
            legend.extend(lines.map(|(line, colour)| (Sign::Line(colour), line.name.clone())));
        }
        if self.bands.iter().any(|band| !band.is_extreme) {
            legend.push((Sign::Area, "band of a fact".to_owned()));
        }
        if self.bands.iter().any(|band| band.is_extreme) {
            legend.push((Sign::Frame, "band of an extreme".to_owned()));
        }
        if self.published((bottom, top)).next().is_some() {
            legend.push((Sign::Line(BAND), "published".to_owned()));
        }
        legend
    }

    fn draw_lines(&self, chart: &mut Chart, (bottom, top): (f64, f64)) -> Result<(), PlotError> {
        for (Line { points, .. }, colour) in self.lines.iter().zip(COLOURS.into_iter().cycle()) {
            if points.iter().any(|point| point.high > point.low) {
                let upper = points.iter().map(|point| (point.x, point.high.clamp(bottom, top)));
                let lower = points.iter().rev().map(|point| (point.x, point.low.clamp(bottom, top)));
                let area = Polygon::new(upper.chain(lower).collect::<Vec<_>>(), colour.mix(0.2).filled());
                chart.draw_series([area]).map_err(error)?;
            }
            let line: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.y)).collect();
            if line.len() <= MOST_MARKED {
                let on = line.iter().filter(|(_, y)| (bottom..=top).contains(y));
                let circles = on.map(|point| Circle::new(*point, 3, colour.filled()));
                chart.draw_series(circles).map_err(error)?;
            }
            for part in on_scale(&line, (bottom, top)) {
                let part = LineSeries::new(part, colour.stroke_width(self.width));
                chart.draw_series(part).map_err(error)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
