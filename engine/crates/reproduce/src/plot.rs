// SPDX-License-Identifier: Apache-2.0
//! Plots as SVG.

use std::collections::BTreeMap;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::experiment::Plot;
use crate::fact::{means_over, names, table};
use crate::record::Recording;
use crate::sweep::{Line, Sweep};

const SIZE: (u32, u32) = (860, 340);
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 90, 181),
    RGBColor(220, 50, 32),
    RGBColor(0, 133, 77),
    RGBColor(147, 92, 196),
    RGBColor(196, 120, 0),
    RGBColor(90, 90, 90),
];
/// More lines than this are not told apart.
const MOST_LINES: usize = 6;

/// A plot that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("plot: {0}")]
pub struct PlotError(String);

fn error(error: impl std::fmt::Display) -> PlotError {
    PlotError(error.to_string())
}

/// Draws a plot of a recording as SVG text; `scale` is that of the run's time.
pub(crate) fn draw(plot: &Plot, recording: &Recording, scale: f64) -> Result<String, PlotError> {
    let table = table(recording, &plot.what);
    let column = table.column(&plot.what.column).ok_or_else(|| error("no such column"))?;
    let lines: Vec<Line> = names(table, &plot.what)
        .into_iter()
        .take(MOST_LINES)
        .map(|name| {
            let rows = table.series(&name, column);
            (name, means_over(&rows, plot.mean_over_s * scale))
        })
        .collect();
    let quantity = table.columns[column].name;
    // A legend covers a part of the plot: one line does without.
    let scale_name = match lines.as_slice() {
        [(name, _)] => format!("{quantity}, {name}"),
        _ => quantity.to_owned(),
    };
    lines_as_svg(&lines, ("time, s", &scale_name), plot.top, 1)
}

/// Draws a sweep, whose measured values are by line and point, as SVG text.
pub(crate) fn draw_sweep(sweep: &Sweep, values: &BTreeMap<(usize, usize), f64>) -> Result<String, PlotError> {
    lines_as_svg(&sweep.lines(values), (&sweep.x, &sweep.y), None, 2)
}

fn lines_as_svg(
    lines: &[Line],
    (x_name, y_name): (&str, &str),
    top: Option<f64>,
    width: u32,
) -> Result<String, PlotError> {
    let points = || lines.iter().flat_map(|(_, points)| points.iter().copied());
    let end = points().map(|(x, _)| x).fold(1e-9, f64::max);
    let highest = points().map(|(_, value)| value).fold(0.0, f64::max);
    let top = top.unwrap_or(if highest > 0.0 { highest * 1.08 } else { 1.0 });
    let has_legend = lines.len() != 1;

    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(error)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .margin_right(30)
            .x_label_area_size(38)
            .y_label_area_size(58)
            .build_cartesian_2d(0.0..end, 0.0..top)
            .map_err(error)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .x_desc(x_name)
            .y_desc(y_name)
            .label_style(("sans-serif", 13))
            .draw()
            .map_err(error)?;
        for ((name, points), colour) in lines.iter().zip(COLOURS) {
            let line = LineSeries::new(points.iter().map(|&(x, y)| (x, y.min(top))), colour.stroke_width(width));
            let drawn = chart.draw_series(line).map_err(error)?;
            drawn
                .label(name.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        }
        if has_legend {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .background_style(WHITE.mix(0.8))
                .border_style(RGBColor(200, 200, 200))
                .label_font(
                    ("sans-serif", 13)
                        .into_font()
                        .into_text_style(&area)
                        .pos(Pos::new(HPos::Left, VPos::Center)),
                )
                .draw()
                .map_err(error)?;
        }
        area.present().map_err(error)?;
    }
    Ok(svg)
}
