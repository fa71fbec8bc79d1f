// SPDX-License-Identifier: Apache-2.0
//! The report as one page of HTML beside its plots.

use std::fmt::Write;

use crate::experiment::{Entry, Experiment};
use crate::fact::{Judged, Outcome};
use crate::stats::Estimate;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;width:100%;margin:.6rem 0}td,th{border:1px solid #ccc;padding:.3rem .5rem;\
text-align:left;vertical-align:top;font-size:.92em}h2{margin-top:2.4rem;border-top:1px solid #ddd;padding-top:1rem}\
.pass{color:#060}.miss{color:#b00;font-weight:600}.not{color:#666}img{max-width:100%}.why{color:#555;font-size:.9em}";

/// An entry with what was measured.
pub(crate) struct Shown<'e> {
    pub(crate) entry: &'e Entry,
    pub(crate) judged: Vec<Judged>,
    pub(crate) has_plot: bool,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Four significant digits.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

pub(crate) fn estimate(value: Option<Estimate>) -> String {
    match value {
        None => "never".to_owned(),
        Some(Estimate { mean, half_width: None }) => number(mean),
        Some(Estimate {
            mean,
            half_width: Some(half),
        }) => format!("{} ± {}", number(mean), number(half)),
    }
}

fn verdict(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Pass => ("pass", "pass"),
        Outcome::Miss => ("miss", "miss"),
        Outcome::NotJudged => ("not", "shortened, not judged"),
    }
}

/// The page.
pub(crate) fn page(experiment: &Experiment, shown: &[Shown], scale: f64) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(&mut page, experiment, shown, scale);
    page
}

fn write_page(page: &mut String, experiment: &Experiment, shown: &[Shown], scale: f64) -> std::fmt::Result {
    let all = || shown.iter().flat_map(|shown| &shown.judged);
    let count = |outcome| all().filter(|judged| judged.outcome == outcome).count();
    let title = escaped(&experiment.title);
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style>\n\
         <h1>{title}</h1>\n<p>{}</p>\n<p>{} facts: <span class=\"pass\">{} pass</span>, <span class=\"miss\">{} miss</span>. \
         A value with ± is the mean over several seeds with its 95 % confidence interval (Student's t).</p>\n",
        escaped(&experiment.source),
        all().count(),
        count(Outcome::Pass),
        count(Outcome::Miss)
    )?;
    if scale < 1.0 {
        writeln!(
            page,
            "<p class=\"miss\">Every run was shortened to {} of its time (--quick): no fact is judged.</p>",
            number(scale)
        )?;
    }
    writeln!(page, "<h2>What was assumed</h2><ul>")?;
    for assumption in &experiment.assumptions {
        writeln!(page, "<li>{}</li>", escaped(assumption))?;
    }
    writeln!(page, "</ul>")?;
    for Shown {
        entry,
        judged,
        has_plot,
    } in shown
    {
        writeln!(page, "<h2 id=\"{0}\">{0}: {1}</h2>", entry.id, escaped(&entry.title))?;
        writeln!(page, "<p>Published: {}</p>", escaped(&entry.published))?;
        if *has_plot {
            let runs = entry
                .plot
                .as_ref()
                .map_or("every point a run", |plot| plot.run.as_str());
            writeln!(
                page,
                "<p><img src=\"plots/{0}.svg\" alt=\"{0}\"><br>Ours: {1}</p>",
                entry.id,
                escaped(runs)
            )?;
        }
        if judged.is_empty() {
            continue;
        }
        writeln!(page, "<table><tr><th>fact<th>where<th>run<th>band<th>ours<th></tr>")?;
        for Judged { fact, value, outcome } in judged {
            let (class, word) = verdict(*outcome);
            writeln!(
                page,
                "<tr><td>{}<div class=\"why\">{}</div><td>{}<td>{}<td>{} to {}<td>{}<td class=\"{class}\">{word}</tr>",
                escaped(&fact.text),
                escaped(&fact.why),
                escaped(&fact.place),
                escaped(&fact.run),
                number(fact.band[0]),
                number(fact.band[1]),
                estimate(*value)
            )?;
        }
        writeln!(page, "</table>")?;
    }
    writeln!(page, "</html>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_text_is_escaped() {
        let shown: Vec<String> = [0.0, 1.0, 0.41234, 12345.6, 0.000125, 99.5].map(number).to_vec();
        assert_eq!(shown, ["0", "1", "0.4123", "12346", "0.000125", "99.5"]);
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
