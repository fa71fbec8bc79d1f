// SPDX-License-Identifier: Apache-2.0
//! Facts: what was published against what was measured.

use crate::experiment::{Fact, Selection, Stat, TableName};
use crate::record::{Recording, Table};
use crate::stats::{self, Estimate};

/// What became of a fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The mean over the seeds is within the band.
    Pass,
    /// It is not.
    Miss,
    /// The run was shortened: nothing is said.
    NotJudged,
}

/// A fact with its measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The fact.
    pub fact: Fact,
    /// Ours, over the seeds; `None` if it cannot be measured (a settling that never ends, say).
    pub value: Option<Estimate>,
    /// Pass or miss.
    pub outcome: Outcome,
}

/// Judges a fact by the recordings of its run's seeds. In a shortened run times are `scale` of the fact's.
pub(crate) fn judge(fact: &Fact, recordings: &[Recording], scale: f64) -> Judged {
    let values: Option<Vec<f64>> = recordings
        .iter()
        .map(|recording| measure(&fact.what, (fact.from_s, fact.to_s), fact.stat, recording, scale))
        .collect();
    let value = values.as_deref().and_then(stats::estimate);
    let [low, high] = fact.band;
    let outcome = match value {
        _ if scale < 1.0 => Outcome::NotJudged,
        Some(estimate) if (low..=high).contains(&estimate.mean) => Outcome::Pass,
        _ => Outcome::Miss,
    };
    Judged {
        fact: fact.clone(),
        value,
        outcome,
    }
}

pub(crate) fn table<'r>(recording: &'r Recording, what: &Selection) -> &'r Table {
    match what.table {
        TableName::Links => &recording.links,
        TableName::Stations => &recording.stations,
        TableName::Flows => &recording.flows,
        TableName::Queues => &recording.queues,
        TableName::Ports => &recording.ports,
        TableName::Access => &recording.access,
        TableName::Control => &recording.control,
        TableName::Clocks => &recording.clocks,
        TableName::Kept => &recording.kept,
    }
}

/// Whether a name of a selection stands for `name`: it is that, or `all`, or its beginning followed by `*`.
pub(crate) fn stands_for(pattern: &str, name: &str) -> bool {
    let beginning = pattern.strip_suffix('*');
    pattern == "all" || pattern == name || beginning.is_some_and(|beginning| name.starts_with(beginning))
}

/// The names that a selection stands for.
pub(crate) fn names(table: &Table, what: &Selection) -> Vec<String> {
    // Each period lists all names in one order.
    let first = table.names.first();
    let mut period = table.names.iter().enumerate();
    let length = period.find(|(row, name)| *row > 0 && Some(*name) == first);
    let all = &table.names[..length.map_or(table.names.len(), |(row, _)| row)];
    let chosen = |name: &&String| what.of.iter().any(|pattern| stands_for(pattern, name));
    all.iter().filter(chosen).cloned().collect()
}

/// Rows of a fact's time of one name, as (time, value).
fn rows(table: &Table, name: &str, column: usize, (from_s, to_s): (f64, f64)) -> Vec<(f64, f64)> {
    let mut rows = table.series(name, column);
    rows.retain(|(time_s, _)| *time_s > from_s && *time_s <= to_s);
    rows
}

/// One number of a recording; `None` if there is none.
pub(crate) fn measure(
    what: &Selection,
    (from_s, to_s): (f64, f64),
    stat: Stat,
    recording: &Recording,
    scale: f64,
) -> Option<f64> {
    let table = table(recording, what);
    let column = table.column(&what.column)?;
    let time_s = (from_s * scale, to_s * scale);
    let names = names(table, what);
    let series: Vec<Vec<(f64, f64)>> = names.iter().map(|name| rows(table, name, column, time_s)).collect();
    let all: Vec<f64> = series.iter().flatten().map(|(_, value)| *value).collect();
    if all.is_empty() {
        return None;
    }
    match stat {
        Stat::Mean => stats::mean(&all),
        Stat::Min => all.into_iter().reduce(f64::min),
        Stat::Max => all.into_iter().reduce(f64::max),
        Stat::Lowest { over_s } => {
            let means = series.iter().flat_map(|rows| means_over(rows, over_s * scale));
            means.map(|(_, mean)| mean).reduce(f64::min)
        }
        Stat::Quantile { q } => stats::quantile(&all, q),
        Stat::Changes => {
            let differ = |rows: &Vec<(f64, f64)>| rows.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
            let pairs: usize = series.iter().map(|rows| rows.len().saturating_sub(1)).sum();
            let changes: usize = series.iter().map(differ).sum();
            (pairs > 0).then(|| 100.0 * changes as f64 / pairs as f64)
        }
        Stat::Sum => Some(all.into_iter().sum()),
        Stat::Jain => {
            let means = series
                .iter()
                .map(|rows| stats::mean(&rows.iter().map(|row| row.1).collect::<Vec<_>>()));
            stats::jain(&means.collect::<Option<Vec<f64>>>()?)
        }
        Stat::Settle { target, within, over_s } => {
            let settled = series
                .iter()
                .map(|rows| settle_s(rows, time_s.0, (target, within), over_s * scale));
            settled.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
        }
        Stat::Percent { of } => {
            let other = table.column(of.column())?;
            let others = names.iter().flat_map(|name| rows(table, name, other, time_s));
            let whole: f64 = others.map(|(_, value)| value).sum();
            (whole > 0.0).then(|| 100.0 * all.iter().sum::<f64>() / whole)
        }
    }
}

/// When, counted from `from_s`, means over `over_s` come within the band to stay; `None` if they do not.
fn settle_s(rows: &[(f64, f64)], from_s: f64, (target, within): (f64, f64), over_s: f64) -> Option<f64> {
    let means = means_over(rows, over_s);
    let last_outside = means.iter().rposition(|(_, mean)| (mean - target).abs() > within);
    match last_outside {
        None => Some(0.0),
        Some(index) if index + 1 < means.len() => Some(means[index].0 - from_s),
        Some(_) => None,
    }
}

/// Means of consecutive rows over `over_s`, at the time of the last of each.
pub(crate) fn means_over(rows: &[(f64, f64)], over_s: f64) -> Vec<(f64, f64)> {
    let Some(first) = rows.first() else { return Vec::new() };
    let period_s = rows.get(1).map_or(over_s, |second| second.0 - first.0);
    let together = ((over_s / period_s).round() as usize).max(1);
    let mean = |rows: &[(f64, f64)]| {
        let sum: f64 = rows.iter().map(|(_, value)| value).sum();
        (rows[rows.len() - 1].0, sum / rows.len() as f64)
    };
    rows.chunks(together).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Recording {
        let mut recording = Recording::default();
        for tick in 1..=100u32 {
            let time_s = f64::from(tick) / 10.0;
            let use_of_link = if tick <= 30 { 0.5 } else { 1.0 };
            let row = [time_s, use_of_link, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 1.0];
            recording.links.push("ab", row);
            for (name, rate) in [("f.0", 1.0), ("f.1", 3.0)] {
                recording
                    .flows
                    .push(name, [time_s, 1.0, 1.0, rate, 1.0, 1.0, 1.0, 0.0, 0.0]);
            }
        }
        recording
    }

    fn fact(table: &str, column: &str, of: &str, stat: &str) -> Fact {
        let text = format!(
            "{{text: t, where: w, run: r, measure: {{table: {table}, column: {column}, of: [{of}]}}, from_s: 0, to_s: 10, \
             stat: {stat}, band: [0.9, 1.1], why: y}}"
        );
        serde_yaml_ng::from_str(&text).unwrap()
    }

    fn value(fact: &Fact) -> Option<f64> {
        judge(fact, &[recording()], 1.0).value.map(|estimate| estimate.mean)
    }

    #[test]
    fn each_stat_makes_its_number() {
        let of_link = |stat: &str| value(&fact("links", "utilization", "ab", stat)).unwrap();
        assert!((of_link("mean") - 0.85).abs() < 1e-9);
        assert_eq!((of_link("min"), of_link("max")), (0.5, 1.0));
        assert!((of_link("{settle: {target: 1, within: 0.1, over_s: 0.5}}") - 3.0).abs() < 1e-9);
        assert!((of_link("{lowest: {over_s: 2}}") - 0.5).abs() < 1e-9);
        assert!((of_link("{lowest: {over_s: 5}}") - 0.7).abs() < 1e-9);
        assert_eq!(
            value(&fact(
                "links",
                "utilization",
                "ab",
                "{settle: {target: 0, within: 0.1, over_s: 1}}"
            )),
            None
        );
        let dropped = fact("links", "dropped_packets", "ab", "{percent: {of: arrived_packets}}");
        assert!((value(&dropped).unwrap() - 10.0).abs() < 1e-9);
        assert_eq!(of_link("{quantile: {q: 0.3}}"), 0.5);
        assert_eq!(of_link("{quantile: {q: 0.31}}"), 1.0);
        assert!((of_link("changes") - 100.0 / 99.0).abs() < 1e-9);
        assert_eq!(value(&fact("flows", "rate_kbyte_s", "f.1", "mean")), Some(3.0));
        assert_eq!(value(&fact("flows", "rate_kbyte_s", "'f*'", "mean")), Some(2.0));
        assert_eq!(value(&fact("flows", "rate_kbyte_s", "all", "jain")), Some(0.8));
        assert_eq!(value(&fact("flows", "rate_kbyte_s", "all", "mean")), Some(2.0));
    }

    #[test]
    fn a_fact_passes_within_its_band_and_a_shortened_run_judges_nothing() {
        let one = fact("links", "utilization", "ab", "max");
        assert_eq!(judge(&one, &[recording()], 1.0).outcome, Outcome::Pass);
        assert_eq!(judge(&one, &[recording()], 0.5).outcome, Outcome::NotJudged);
        let nobody = fact("links", "utilization", "xy", "max");
        assert_eq!(judge(&nobody, &[recording()], 1.0).outcome, Outcome::Miss);
    }
}
