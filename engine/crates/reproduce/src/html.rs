// SPDX-License-Identifier: Apache-2.0
//! The report as one page of HTML beside its plots.

use std::fmt::Write;

use slotwise_observe::stats::Estimate;

use crate::count::Counts;
use crate::experiment::{Entry, Experiment, NotRun, Quick, spoken};
use crate::fact::{Judged, Outcome};

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

/// The tables of a run with a seed, in `runs/RUN/SEED`.
pub(crate) struct Data {
    pub(crate) run: String,
    pub(crate) seed: u64,
    /// Digest of the P4 program, or of the programs and the controller.
    pub(crate) program: String,
    /// Digest of the scenario.
    pub(crate) scenario: String,
    pub(crate) tables: Vec<&'static str>,
}

/// What the results were made from.
pub(crate) struct About<'a> {
    /// Digest of the engine.
    pub(crate) engine: &'a str,
    pub(crate) data: Vec<Data>,
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
    let digits = (3 - libm::log10(value.abs()).floor() as i32).clamp(0, 8) as usize;
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

/// Of a fact that is judged, `never` says that what was to be reached was not; of others that there is nothing says only that.
fn ours(value: Option<Estimate>, outcome: Outcome) -> String {
    match (value, outcome) {
        (None, Outcome::NotRun | Outcome::NotJudged) => String::new(),
        _ => estimate(value),
    }
}

fn verdict(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Pass => ("pass", "pass"),
        Outcome::Miss => ("miss", "miss"),
        Outcome::NotJudged => ("not", "shortened, not judged"),
        Outcome::NotRun => ("not", "not run"),
    }
}

/// The page.
pub(crate) fn page(
    experiment: &Experiment,
    shown: &[Shown],
    counts: &Counts,
    about: &About,
    quick: (Option<&Quick>, f64),
) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(&mut page, experiment, shown, counts, about, quick);
    page
}

fn write_page(
    page: &mut String,
    experiment: &Experiment,
    shown: &[Shown],
    counts: &Counts,
    about: &About,
    (quick, scale): (Option<&Quick>, f64),
) -> std::fmt::Result {
    let title = escaped(&experiment.title);
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style>\n\
         <h1>{title}</h1>\n<p>{}</p>\n<p>{counts}. A statement repeated in the source is one claim, which passes if all its facts pass. \
         A value with ± is the mean over several seeds with its 95 % confidence interval (Student's t). Missed facts are explained in experiments/{}/README.md.</p>\n",
        escaped(&experiment.source),
        escaped(&experiment.name),
    )?;
    if let Some(quick) = quick {
        let how = quick.time_s().map_or_else(
            || "Full-length runs of one seed each (--quick)".to_owned(),
            |(from_s, to_s)| {
                format!(
                    "Every run was shortened (--quick) and measured from {} to {} s",
                    number(from_s),
                    number(to_s)
                )
            },
        );
        writeln!(
            page,
            "<p class=\"miss\">{how}; facts of runs not made are not judged.</p>"
        )?;
    } else if scale < 1.0 {
        writeln!(
            page,
            "<p class=\"miss\">Every run was shortened to {} of its duration (--quick); no fact is judged.</p>",
            number(scale)
        )?;
    }
    write_contents(page, shown)?;
    writeln!(page, "<h2 id=\"assumed\">Assumptions</h2><ul>")?;
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
            let what = match &entry.plot {
                Some(plot) => format!(
                    "{}; line: mean over the seeds; area: minimum to maximum",
                    plot.runs.join(", ")
                ),
                None if entry.distribution.is_some() => "one line per station, all seeds combined".to_owned(),
                None => "one point per run (mean over its seeds); area: confidence interval".to_owned(),
            };
            writeln!(
                page,
                "<p><a href=\"plots/{0}.svg\"><img src=\"plots/{0}.svg\" alt=\"{0}\"></a><br>Ours: {1}.</p>",
                entry.id,
                escaped(&what)
            )?;
        }
        if judged.is_empty() && entry.not_run.is_empty() {
            continue;
        }
        writeln!(
            page,
            "<table><tr><th>fact<th>where<th>run<th>band<th>published<th>ours<th></tr>"
        )?;
        for Judged { fact, value, outcome } in judged {
            let (class, word) = verdict(*outcome);
            writeln!(
                page,
                "<tr><td>{}<div class=\"why\">{}</div><td>{}<td>{}<td>{} to {}<td>{}<td>{}<td class=\"{class}\">{word}</tr>",
                escaped(&fact.text),
                escaped(&fact.why),
                escaped(&fact.place),
                escaped(&fact.of),
                number(fact.band[0]),
                number(fact.band[1]),
                fact.published.map_or_else(String::new, number),
                ours(*value, *outcome)
            )?;
        }
        for fact in &entry.not_run {
            write_not_run(page, fact)?;
        }
        writeln!(page, "</table>")?;
    }
    write_data(page, about)?;
    writeln!(page, "</html>")
}

fn write_not_run(page: &mut String, fact: &NotRun) -> std::fmt::Result {
    writeln!(
        page,
        "<tr><td>{}<div class=\"why\">{}; {}</div><td>{}<td><td>{}<td>{}<td><td class=\"not\">not run: {}</tr>",
        escaped(&fact.text),
        escaped(&fact.measure),
        escaped(&fact.why),
        escaped(&fact.place),
        escaped(&spoken(&fact.band)),
        escaped(&fact.value.as_ref().map_or_else(String::new, spoken)),
        escaped(&fact.reason)
    )
}

fn write_contents(page: &mut String, shown: &[Shown]) -> std::fmt::Result {
    writeln!(
        page,
        "<h2 id=\"contents\">Contents</h2><ul><li><a href=\"#assumed\">Assumptions</a>"
    )?;
    for Shown { entry, judged, .. } in shown {
        write!(
            page,
            "<li><a href=\"#{0}\">{0}</a>: {1}",
            entry.id,
            escaped(&entry.title)
        )?;
        let count = |outcome| judged.iter().filter(|judged| judged.outcome == outcome).count();
        let (passed, missed) = (count(Outcome::Pass), count(Outcome::Miss));
        if passed + missed > 0 {
            write!(
                page,
                " <span class=\"why\">{passed} of {} facts pass</span>",
                passed + missed
            )?;
        }
        writeln!(page)?;
    }
    writeln!(page, "<li><a href=\"#data\">Data and versions</a></ul>")
}

fn write_data(page: &mut String, about: &About) -> std::fmt::Result {
    writeln!(
        page,
        "<h2 id=\"data\">Data and versions</h2><p>Facts as data: <a href=\"facts.json\">facts.json</a>. Generated by slotwise {} (engine \
         {}); digests identify versions.</p>\n<table><tr><th>run<th>seed<th>scenario<th>programs<th>columns</tr>",
        env!("CARGO_PKG_VERSION"),
        escaped(about.engine)
    )?;
    for data in &about.data {
        let place = format!("runs/{}/{}", escaped(&data.run), data.seed);
        let links = data
            .tables
            .iter()
            .map(|table| format!("<a href=\"{place}/{table}.parquet\">{table}</a>"));
        writeln!(
            page,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}</tr>",
            escaped(&data.run),
            data.seed,
            escaped(&data.scenario),
            escaped(&data.program),
            links.collect::<Vec<_>>().join(", ")
        )?;
    }
    writeln!(page, "</table>")
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

    #[test]
    fn what_was_not_run_is_not_said_to_have_never_come() {
        assert_eq!(ours(None, Outcome::NotRun), "");
        assert_eq!(ours(None, Outcome::NotJudged), "");
        assert_eq!(ours(None, Outcome::Miss), "never");
        let value = Some(Estimate {
            mean: 2.0,
            half_width: None,
        });
        assert_eq!(ours(value, Outcome::NotJudged), "2");
    }
}
