// SPDX-License-Identifier: Apache-2.0
//! Facts: what was published against what was measured.

use std::collections::HashSet;

use slotwise_observe::record::{Recording, Table};
use slotwise_observe::stats::{self, Estimate};

use crate::experiment::{Across, Basis, By, During, Fact, FormulaFact, Measurement, Selection, Stat};
use crate::shapes;

/// What became of a fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The mean over the seeds is within the band.
    Pass,
    /// It is not.
    Miss,
    /// The run was shortened: nothing is said.
    NotJudged,
    /// Not all of its runs were made.
    NotRun,
}

/// What a fact says, without how it is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// What it says.
    pub text: String,
    /// Where the source says it.
    pub place: String,
    /// The run, or the formula over several.
    pub of: String,
    /// Smallest and largest value that agree with the source.
    pub band: [f64; 2],
    /// The source's own number, where it gives one.
    pub published: Option<f64>,
    /// Why this band.
    pub why: String,
    /// What the value rests on.
    pub basis: Basis,
    /// The claim that it names.
    pub claim: Option<String>,
    /// Facts of which this is the same are one claim, if they name none.
    pub(crate) measurement: String,
}

impl Statement {
    /// What a measured fact says.
    pub(crate) fn of(fact: &Fact) -> Statement {
        let Fact {
            run,
            what,
            from_s,
            to_s,
            stat,
            across,
            by,
            band,
            ..
        } = fact;
        Statement {
            text: fact.text.clone(),
            place: fact.place.clone(),
            of: run.clone(),
            band: *band,
            published: fact.published,
            why: fact.why.clone(),
            basis: fact.basis,
            claim: fact.claim.clone(),
            measurement: format!("{run} {what:?} {from_s} {to_s} {stat:?} {across:?} {by:?} {band:?}"),
        }
    }

    /// What a fact of a formula says.
    pub(crate) fn of_formula(fact: &FormulaFact) -> Statement {
        Statement {
            text: fact.text.clone(),
            place: fact.place.clone(),
            of: fact.formula.clone(),
            band: fact.band,
            published: fact.published,
            why: fact.why.clone(),
            basis: fact.basis,
            claim: fact.claim.clone(),
            measurement: format!("{} {:?}", fact.formula, fact.band),
        }
    }
}

/// A fact with its measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The fact.
    pub fact: Statement,
    /// Ours, over the seeds; `None` if it cannot be measured (a settling that never ends, say).
    pub value: Option<Estimate>,
    /// Pass or miss.
    pub outcome: Outcome,
}

/// One number of each recording of a measurement's run. In a shortened run times are `scale` of the measurement's.
pub(crate) fn measured(of: &Measurement, recordings: &[Recording], scale: f64) -> Vec<Option<f64>> {
    let one = |recording| match of.across {
        None => measure(of.what, of.time_s, of.stat, recording, scale),
        Some(across) => put_together(of, across, recording, scale),
    };
    recordings.iter().map(one).collect()
}

/// The number of each name, put together.
fn put_together(of: &Measurement, across: Across, recording: &Recording, scale: f64) -> Option<f64> {
    let of_name = |name: String| {
        let what = Selection {
            of: vec![name],
            ..of.what.clone()
        };
        measure(&what, of.time_s, of.stat, recording, scale)
    };
    let names = names(recording.table(of.what.table), of.what).into_iter();
    let values = names.map(of_name).collect::<Option<Vec<f64>>>()?;
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    match across {
        Across::Least => Some(least),
        Across::Most => Some(most),
        Across::Mean => stats::mean(&values),
        Across::Ratio => (least != 0.0).then(|| most / least),
        Across::Difference => Some(most - least),
        Across::Median => stats::quantile(&values, 0.5),
        Across::Rising => Some(shapes::inversions(&values)),
        Across::Falling => Some(shapes::inversions(&values.into_iter().rev().collect::<Vec<f64>>())),
        Across::Clusters => Some(shapes::clusters(values)),
    }
}

/// Judges a fact by what was measured for it of each seed: its number, and the one that it is divided by.
pub(crate) fn judge(fact: &Fact, measured: &[Vec<Option<f64>>], scale: f64) -> Judged {
    let divided = |(seed, value): (usize, &Option<f64>)| {
        let by = match fact.by {
            None => 1.0,
            Some(By::Number(number)) => number,
            Some(By::Another(_)) => (*measured.get(1)?.get(seed)?)?,
        };
        (by != 0.0).then_some((*value)? / by)
    };
    let values = measured
        .first()
        .and_then(|own| own.iter().enumerate().map(divided).collect::<Option<Vec<f64>>>());
    let value = values.as_deref().and_then(stats::estimate);
    let outcome = if scale < 1.0 {
        Outcome::NotJudged
    } else if measured.iter().any(Vec::is_empty) {
        Outcome::NotRun
    } else {
        compared(value, fact.band)
    };
    Judged {
        fact: Statement::of(fact),
        value,
        outcome,
    }
}

/// Whether a value is in a band.
pub(crate) fn compared(value: Option<Estimate>, [low, high]: [f64; 2]) -> Outcome {
    match value {
        Some(estimate) if (low..=high).contains(&estimate.mean) => Outcome::Pass,
        _ => Outcome::Miss,
    }
}

/// Whether a name of a selection stands for `name`: it is that, or `all`, or its beginning followed by `*`.
pub(crate) fn stands_for(pattern: &str, name: &str) -> bool {
    let beginning = pattern.strip_suffix('*');
    pattern == "all" || pattern == name || beginning.is_some_and(|beginning| name.starts_with(beginning))
}

/// The names that a selection stands for.
pub(crate) fn names(table: &Table, what: &Selection) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut all = table.names.iter().filter(|name| seen.insert(*name)).collect::<Vec<_>>();
    all.retain(|name| what.of.iter().any(|pattern| stands_for(pattern, name)));
    all.into_iter().cloned().collect()
}

/// Rows of a fact's time of one name that count, as (time, value).
fn rows(
    table: &Table,
    (name, during): (&str, Option<&During>),
    column: usize,
    (from_s, to_s): (f64, f64),
) -> Vec<(f64, f64)> {
    let mut rows = table.series(name, column);
    if let Some(during) = during {
        let other = table.column(&during.column).map(|column| table.series(name, column));
        let mut counts = other.into_iter().flatten().map(|(_, value)| value >= during.at_least);
        rows.retain(|_| counts.next().unwrap_or(false));
    }
    rows.retain(|(time_s, _)| *time_s > from_s && *time_s <= to_s);
    rows
}

/// Packets counted by their wait, as (wait in ms, packets), the shortest waits first.
fn waits(table: &Table, names: &[String], column: usize, time_s: (f64, f64)) -> Option<Vec<(f64, f64)>> {
    let up_to = table.column("up_to_ms")?;
    let of_name = |name: &String| {
        let waits = rows(table, (name, None), up_to, time_s);
        let packets = rows(table, (name, None), column, time_s);
        waits
            .into_iter()
            .zip(packets)
            .map(|((_, wait), (_, packets))| (wait, packets))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<(f64, f64)> = names.iter().flat_map(of_name).collect();
    all.retain(|(_, packets)| *packets > 0.0);
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!all.is_empty()).then_some(all)
}

/// Of packets by their wait over the whole of a recording after `from_s`, the part that waited no longer: (wait in ms, part).
pub(crate) fn distribution(recordings: &[Recording], what: &Selection, name: &str, from_s: f64) -> Vec<(f64, f64)> {
    let of_seed = |recording: &Recording| {
        let table = recording.table(what.table);
        let column = table.column(&what.column)?;
        waits(table, &[name.to_owned()], column, (from_s, f64::INFINITY))
    };
    let mut all: Vec<(f64, f64)> = recordings.iter().filter_map(of_seed).flatten().collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = all.iter().map(|(_, packets)| packets).sum();
    let mut sum = 0.0;
    let parts = all.into_iter().map(|(wait, packets)| {
        sum += packets;
        (wait, sum / total)
    });
    parts.collect()
}

/// One number of a recording; `None` if there is none.
pub(crate) fn measure(
    what: &Selection,
    (from_s, to_s): (f64, f64),
    stat: Stat,
    recording: &Recording,
    scale: f64,
) -> Option<f64> {
    let table = recording.table(what.table);
    let column = table.column(&what.column)?;
    let time_s = (from_s * scale, to_s * scale);
    let names = names(table, what);
    let during = what.during.as_ref();
    let of_name = |name: &String| rows(table, (name, during), column, time_s);
    let series: Vec<Vec<(f64, f64)>> = names.iter().map(of_name).collect();
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
        Stat::Deviation { over_s } => {
            let means = series.iter().flat_map(|rows| means_over(rows, over_s * scale));
            stats::deviation(&means.map(|(_, mean)| mean).collect::<Vec<f64>>())
        }
        Stat::Share { at_least, over_s } => {
            let means = series.iter().flat_map(|rows| means_over(rows, over_s * scale));
            let enough: Vec<f64> = means.map(|(_, mean)| f64::from(u8::from(mean >= at_least))).collect();
            stats::mean(&enough)
        }
        Stat::Jitter => {
            let [packets, delay_ms] = ["packets", "delay_ms"].map(|name| table.column(name));
            let (packets, delay_ms) = (packets?, delay_ms?);
            let of_name = |name: &String| {
                let of = |column| {
                    rows(table, (name, during), column, time_s)
                        .into_iter()
                        .map(|(_, value)| value)
                };
                let groups = of(packets).zip(of(delay_ms)).zip(of(column));
                let groups: Vec<(f64, f64, f64)> = groups.map(|((count, mean), own)| (count, mean, own)).collect();
                stats::pooled_deviation(&groups)
            };
            stats::mean(&names.iter().map(of_name).collect::<Option<Vec<f64>>>()?)
        }
        Stat::Peak => {
            let mean = stats::mean(&all).filter(|mean| *mean > 0.0)?;
            all.into_iter().reduce(f64::max).map(|most| most / mean)
        }
        Stat::Delay { q } => {
            let waits = waits(table, &names, column, time_s)?;
            let rank = q * waits.iter().map(|(_, packets)| packets).sum::<f64>();
            let mut sum = 0.0;
            let found = waits.iter().find(|(_, packets)| {
                sum += packets;
                sum >= rank
            });
            found.or(waits.last()).map(|(wait, _)| *wait)
        }
        Stat::MeanDelay => {
            let waits = waits(table, &names, column, time_s)?;
            let packets: f64 = waits.iter().map(|(_, packets)| packets).sum();
            Some(waits.iter().map(|(wait, packets)| wait * packets).sum::<f64>() / packets)
        }
        Stat::Distance { from } => {
            let other = table.column(from.column())?;
            let others: Vec<f64> = names
                .iter()
                .flat_map(|name| rows(table, (name, during), other, time_s))
                .map(|(_, value)| value)
                .collect();
            let wanted = stats::mean(&others).filter(|mean| *mean > 0.0)?;
            Some((stats::mean(&all)? - wanted).abs() / wanted)
        }
        Stat::Resettle {
            every_s,
            target,
            within,
            over_s,
        } => {
            let (from_s, to_s) = time_s;
            let count = ((to_s - from_s) / (every_s * scale)).round() as usize;
            let mut longest: Option<f64> = None;
            for (rows, part) in series.iter().flat_map(|rows| (0..count).map(move |part| (rows, part))) {
                let start_s = from_s + part as f64 * every_s * scale;
                let end_s = start_s + every_s * scale;
                let rows: Vec<(f64, f64)> = rows
                    .iter()
                    .copied()
                    .filter(|(at_s, _)| *at_s > start_s + 1e-9 && *at_s <= end_s + 1e-9)
                    .collect();
                let settled = settle_s(&rows, start_s, (target, within), over_s * scale)?;
                longest = Some(longest.map_or(settled, |longest| longest.max(settled)));
            }
            longest
        }
        Stat::Reach { .. }
        | Stat::Fall { .. }
        | Stat::Stretch { .. }
        | Stat::Bend { .. }
        | Stat::Stays { .. }
        | Stat::Climb { .. }
        | Stat::Variation { .. }
        | Stat::Outside { .. } => shapes::measure(stat, &series, time_s.0, scale),
        Stat::Percent { of } => {
            let other = table.column(of.column())?;
            let others = names.iter().flat_map(|name| rows(table, (name, during), other, time_s));
            let whole: f64 = others.map(|(_, value)| value).sum();
            (whole > 0.0).then(|| 100.0 * all.iter().sum::<f64>() / whole)
        }
    }
}

/// When, counted from `from_s`, means over `over_s` come within the band to stay; `None` if they do not, or if there are none.
pub(crate) fn settle_s(rows: &[(f64, f64)], from_s: f64, (target, within): (f64, f64), over_s: f64) -> Option<f64> {
    let means = means_over(rows, over_s);
    let last_outside = means.iter().rposition(|(_, mean)| (mean - target).abs() > within);
    match last_outside {
        None => (!means.is_empty()).then_some(0.0),
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
    use slotwise_observe::record::TableName;

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

    fn judged(fact: &Fact, scale: f64) -> Judged {
        let numbers: Vec<_> = fact
            .measurements()
            .map(|of| measured(&of, &[recording()], scale))
            .collect();
        judge(fact, &numbers, scale)
    }

    #[test]
    fn jitter_is_of_all_packets_of_a_flow_and_the_mean_of_the_flows() {
        let mut recording = Recording::default();
        // Delays of 1 and 3 ms, then four of 7; always 5.
        for (name, time_s, packets, delay_ms, deviation_ms) in [
            ("a", 1.0, 2.0, 2.0, 1.0),
            ("b", 1.0, 1.0, 5.0, 0.0),
            ("a", 2.0, 4.0, 7.0, 0.0),
            ("b", 2.0, 1.0, 5.0, 0.0),
        ] {
            let mut row = vec![0.0; recording.reordering.numbers.len()];
            row[..4].copy_from_slice(&[time_s, packets, delay_ms, deviation_ms]);
            recording.reordering.push(name, row);
        }
        let of = |of: &str| {
            let fact = fact("reordering", "delay_deviation_ms", of, "jitter");
            measure(&fact.what, (0.0, 10.0), fact.stat, &recording, 1.0).unwrap()
        };
        // Mean 32 / 6; squares 1 + 9 + 4 * 49 less 32 * 32 / 6.
        let of_a = ((206.0 - 1024.0 / 6.0) / 6.0f64).sqrt();
        assert!((of("a") - of_a).abs() < 1e-6, "{}", of("a"));
        assert!((of("all") - of_a / 2.0).abs() < 1e-6);
    }

    fn value(fact: &Fact) -> Option<f64> {
        judged(fact, 1.0).value.map(|estimate| estimate.mean)
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
    fn numbers_of_names_are_put_together_and_divided() {
        let of_flows = |rest: &str| {
            let text = format!(
                "{{text: t, where: w, run: r, measure: {{table: flows, column: rate_kbyte_s, of: [all]}}, from_s: 0, to_s: 10, \
                 stat: mean, band: [0, 1], why: y, {rest}}}"
            );
            value(&serde_yaml_ng::from_str(&text).unwrap())
        };
        for (across, wanted) in [
            ("least", 1.0),
            ("most", 3.0),
            ("mean", 2.0),
            ("ratio", 3.0),
            ("difference", 2.0),
        ] {
            assert_eq!(of_flows(&format!("across: {across}")), Some(wanted), "{across}");
        }
        assert_eq!(of_flows("by: 4"), Some(0.5));
        assert_eq!(
            of_flows("across: most, by: {measure: {table: flows, column: rate_kbyte_s, of: [f.0]}}"),
            Some(3.0)
        );
        // Of the link 30 of 100 rows are 0.5, the others 1.
        let link = "by: {measure: {table: links, column: utilization, of: [ab]}, stat: min}";
        assert_eq!(of_flows(link), Some(4.0));
        assert_eq!(
            of_flows("by: {from_s: 11, to_s: 12}"),
            None,
            "nothing is there to divide by"
        );
    }

    #[test]
    fn what_varies_and_what_waits_has_its_numbers() {
        let of_link = |stat: &str| value(&fact("links", "utilization", "ab", stat)).unwrap();
        assert!((of_link("{deviation: {over_s: 0.1}}") - 0.25 * (0.3f64 * 0.7 * 4.0).sqrt()).abs() < 1e-9);
        assert!((of_link("{share: {at_least: 0.9, over_s: 0.1}}") - 0.7).abs() < 1e-9);
        assert!((of_link("peak") - 1.0 / 0.85).abs() < 1e-9);
        let again = "{resettle: {every_s: 5, target: 1, within: 0.1, over_s: 0.1}}";
        assert!((of_link(again) - 3.0).abs() < 1e-9, "the longer of the two times");
        let during = "{text: t, where: w, run: r, measure: {table: links, column: utilization, of: [ab], \
                      during: {column: utilization, at_least: 0.9}}, from_s: 0, to_s: 10, stat: mean, band: [0, 1], why: y}";
        assert_eq!(value(&serde_yaml_ng::from_str(during).unwrap()), Some(1.0));

        let mut recording = Recording::default();
        for (time_s, up_to_ms, packets) in [(1.0, 1.0, 5.0), (1.0, 4.0, 1.0), (2.0, 2.0, 4.0), (3.0, 9.0, 7.0)] {
            recording.delays.push("a/0", [time_s, up_to_ms, packets, 0.0, 0.0]);
            recording.fairness.push("a-b", [time_s, packets, 5.0, 1.0]);
        }
        let of = |table: &str, column: &str, name: &str, stat: &str| {
            let mut fact = fact(table, column, name, stat);
            fact.to_s = 2.0;
            measured(
                &fact.measurements().next().unwrap(),
                std::slice::from_ref(&recording),
                1.0,
            )[0]
        };
        assert_eq!(of("delays", "hol_packets", "a/0", "{delay: {q: 0.5}}"), Some(1.0));
        assert_eq!(of("delays", "hol_packets", "a/0", "{delay: {q: 0.8}}"), Some(2.0));
        assert_eq!(of("delays", "hol_packets", "a/0", "mean_delay"), Some(1.7));
        assert_eq!(of("delays", "access_packets", "a/0", "mean_delay"), None);
        let distance = of("fairness", "rate_kbps", "a-b", "{distance: {from: fair_kbps}}").unwrap();
        assert!((distance - (5.0 - 10.0 / 3.0) / 5.0).abs() < 1e-9);
        let drawn = Selection {
            table: TableName::Delays,
            column: "hol_packets".into(),
            of: vec!["a/0".into()],
            during: None,
        };
        let parts = distribution(&[recording], &drawn, "a/0", 1.0);
        assert_eq!(
            parts,
            [(2.0, 4.0 / 11.0), (9.0, 1.0)],
            "of what came later than the first second"
        );
    }

    #[test]
    fn one_name_without_rows_in_the_time_leaves_nothing_to_judge() {
        // The second flow never starts, and the link's record ends in the second part.
        let mut recording = Recording::default();
        for tick in 1..=6u32 {
            let time_s = f64::from(tick);
            recording
                .flows
                .push("f.0", [time_s, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        }
        recording
            .flows
            .push("f.1", [11.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        let of = |name: &str, stat: &str| {
            let fact = fact("flows", "rate_kbyte_s", name, stat);
            measure(&fact.what, (0.0, 10.0), fact.stat, &recording, 1.0)
        };
        let settle = "{settle: {target: 1, within: 0.1, over_s: 1}}";
        assert_eq!((of("f.0", settle), of("all", settle)), (Some(0.0), None));
        let resettle = "{resettle: {every_s: 2, target: 1, within: 0.1, over_s: 1}}";
        assert_eq!(of("f.0", resettle), None, "the last two parts have no rows");
        assert_eq!(
            of("f.0", "{resettle: {every_s: 10, target: 1, within: 0.1, over_s: 1}}"),
            Some(0.0)
        );
        let stays = "{stays: {target: 1, within: 0.1, over_s: 1}}";
        assert_eq!((of("f.0", stays), of("all", stays)), (Some(1.0), None));
        let outside = "{outside: {least: 0, most: 2}}";
        assert_eq!((of("f.0", outside), of("all", outside)), (Some(0.0), None));
    }

    #[test]
    fn a_fact_passes_within_its_band_and_a_shortened_run_judges_nothing() {
        let one = fact("links", "utilization", "ab", "max");
        assert_eq!(judged(&one, 1.0).outcome, Outcome::Pass);
        assert_eq!(judged(&one, 0.5).outcome, Outcome::NotJudged);
        let nobody = fact("links", "utilization", "xy", "max");
        assert_eq!(judged(&nobody, 1.0).outcome, Outcome::Miss);
    }
}
