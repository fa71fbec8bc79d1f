// SPDX-License-Identifier: Apache-2.0
//! Stream of a finished run: its report in parts.

use std::collections::BTreeMap;

use serde_json::Value;
use slotwise_units::{Bytes, Duration, Instant};

use super::{End, Hello, Message, News, NewsKind, StarUpdate, TableUpdate, Update};
use crate::faults::fault_text;
use crate::live::PairNow;
use crate::read::ReadError;
use crate::report::{LinkSeries, PairSeries, Report, Series, TableSeries};
use crate::series::{LINKS, shown_columns, shown_table};
use crate::sessions::SessionSeries;

/// Limit of all but the series, which are one message.
const MAX_HEAD_BYTES: usize = 16 << 20;
/// With more numbers than this, several frames are one update.
const MAX_NUMBERS: usize = 12_000_000;
/// The same for frames.
const MAX_UPDATES: usize = 4_000;

const NS_PER_MS: f64 = 1e6;

/// Returns the messages of a finished run: state, updates by time, and the report without its series.
///
/// # Errors
/// An error if the report is too large for a page.
pub fn of_report(report: &Report) -> Result<Vec<String>, ReadError> {
    let end = End {
        ok: report.verdict.ok,
        failures: report.verdict.failures.clone(),
        report: head(report)?,
    };
    let hello = Hello {
        is_finished: true,
        phases: report.phases.iter().map(|phase| phase.name.clone()).collect(),
        network: report.network.clone(),
        frame: report.frame.clone(),
        ..Hello::new(&report.command, &report.scenario, report.seed)
    };
    let updates = updates(report).into_values().map(Message::Update);
    let messages = [Message::Hello(hello)].into_iter().chain(updates);
    let messages = messages.chain([Message::End(end)]);
    Ok(messages.map(|message| message.text()).collect())
}

/// Returns a report without its series.
///
/// # Errors
/// An error if it is too large for a message.
pub fn head(report: &Report) -> Result<Value, ReadError> {
    let mut head = serde_json::to_value(report).map_err(ReadError::Syntax)?;
    let fields = head.as_object_mut().into_iter();
    let mut lengths = Vec::new();
    for fields in fields {
        fields.remove("series");
        for (name, value) in fields {
            lengths.push((value.to_string().len(), name.clone()));
        }
    }
    let found: usize = lengths.iter().map(|(length, _)| length).sum();
    match lengths.into_iter().max() {
        Some((_, longest)) if found > MAX_HEAD_BYTES => Err(ReadError::Bytes {
            place: format!("all but series, largest part: {longest}"),
            found: found as u64,
            max: MAX_HEAD_BYTES as u64,
        }),
        _ => Ok(head),
    }
}

/// Times since the start of the first phase.
struct Clock(Instant);

impl Clock {
    fn at(&self, at: Instant) -> Duration {
        at.saturating_since(self.0)
    }

    fn at_ms(&self, at_ms: f64) -> Duration {
        self.at(Instant::from_ns((at_ms * NS_PER_MS).round() as u64))
    }
}

/// Returns the updates by time.
fn updates(report: &Report) -> BTreeMap<Duration, Update> {
    let clock = Clock(report.phases.first().map_or(Instant::ZERO, |phase| phase.start_ns));
    let mut updates: BTreeMap<Duration, Update> = BTreeMap::new();
    frames(report, &clock, &mut updates);
    for (period, at_ms) in report.series.time_ms.iter().enumerate() {
        updates.entry(clock.at_ms(*at_ms)).or_default().tables = tables(&report.series, period);
    }
    for moment in &report.series.samples {
        let update = updates.entry(clock.at_ms(moment.time_ms)).or_default();
        update.violations = Some(moment.violations);
        update.lateness_p99_ns = moment.lateness_p99_ns;
        update.grant_latency = moment.grant_latency;
    }
    for news in news(report, &clock) {
        updates.entry(news.at_ns).or_default().news.push(news);
    }
    // Drops are known at the end.
    let last = updates.keys().next_back().copied().unwrap_or_default();
    let last = updates.entry(last.max(report.duration_ns)).or_default();
    last.drops.clone_from(&report.drops);
    for (now, update) in &mut updates {
        update.now_ns = *now;
        update.end_ns = report.duration_ns;
        let begun = report.phases.iter().filter(|phase| clock.at(phase.start_ns) < *now);
        update.phase = begun.count().max(1).min(report.phases.len());
    }
    updates
}

fn frames(report: &Report, clock: &Clock, updates: &mut BTreeMap<Duration, Update>) {
    let Series { frame_ms, pairs, .. } = &report.series;
    let frame = report.frame.as_ref();
    let frame = frame.map_or(Duration::ZERO, |frame| frame.slot_ns.saturating_mul(frame.slots.into()));
    let by_numbers = (frame_ms.len() * pairs.len() * 4).div_ceil(MAX_NUMBERS);
    let together = by_numbers.max(frame_ms.len().div_ceil(MAX_UPDATES)).max(1);
    for first in (0..frame_ms.len()).step_by(together) {
        let last = (first + together).min(frame_ms.len()) - 1;
        let pair = |pair: &PairSeries| {
            let slots = pair.granted_slots[first..=last].iter();
            let delivered = pair.delivered_bytes[first..=last].iter().copied();
            let now = PairNow {
                demand_bytes: pair.demand_bytes[last],
                in_force_slots: pair.granted_slots[last].into(),
                granted_slots: slots.map(|slots| u64::from(*slots)).sum(),
                delivered_bytes: delivered.fold(Bytes::ZERO, Bytes::saturating_add),
                ..PairNow::default()
            };
            (
                usize::from(pair.from) * report.network.edges + usize::from(pair.to),
                now,
            )
        };
        let star = StarUpdate::of((last - first + 1) as u64, pairs.iter().map(pair));
        let end = clock.at_ms(frame_ms[last]).saturating_add(frame);
        updates.entry(end).or_default().star = Some(star);
    }
}

/// Returns the tables of a period.
fn tables(series: &Series, period: usize) -> Vec<TableUpdate> {
    let links = of_links(&series.links, period).into_iter();
    let others = series.tables.iter().filter_map(|table| of_table(table, period));
    links.chain(others).chain(of_sessions(series, period)).collect()
}

fn of_links(links: &[LinkSeries], period: usize) -> Option<TableUpdate> {
    let first = links.first()?;
    let columns = shown_columns(LINKS).into_iter().map(|shown| shown.name);
    let columns = columns.filter(|column| first.columns.contains_key(*column));
    let column = |name: &'static str| {
        let value = |link: &LinkSeries| link.columns.get(name).and_then(|values| values.get(period));
        (name, links.iter().map(|link| value(link).unwrap_or_default()).collect())
    };
    Some(TableUpdate {
        table: LINKS,
        names: links.iter().map(|link| link.name.clone()).collect(),
        columns: columns.map(column).collect(),
    })
}

fn of_table(table: &TableSeries, period: usize) -> Option<TableUpdate> {
    let columns = shown_columns(&table.table).into_iter().filter_map(|shown| {
        let items = table.columns.get(shown.name)?;
        Some((shown.name, items.iter().map(|values| values[period]).collect()))
    });
    Some(TableUpdate {
        table: shown_table(&table.table)?,
        names: table.names.clone(),
        columns: columns.collect(),
    })
}

/// Returns the sessions of GTP with their max-min rates, and the distance of all; 0 without a value.
fn of_sessions(series: &Series, period: usize) -> impl Iterator<Item = TableUpdate> {
    let Series { sessions, distance, .. } = series;
    let column = |of: fn(&SessionSeries) -> &Vec<Option<slotwise_units::Rate>>| {
        let rates = sessions.iter().map(|session| of(session)[period].unwrap_or_default());
        rates.map(|rate| rate.bps() as f64).collect::<Vec<f64>>()
    };
    let rates = (!sessions.is_empty()).then(|| TableUpdate {
        table: "sessions",
        names: sessions.iter().map(|session| session.name.clone()).collect(),
        columns: vec![
            ("rate_bps", column(|session| &session.rate_bps)),
            ("fair_bps", column(|session| &session.fair_bps)),
        ],
    });
    let distances = distance.as_ref().map(|all| TableUpdate {
        table: "distance",
        names: vec!["all sessions".into()],
        columns: vec![
            ("distance", vec![all.distance[period].unwrap_or_default()]),
            ("d0", vec![all.d0[period].unwrap_or_default()]),
        ],
    });
    rates.into_iter().chain(distances)
}

fn news(report: &Report, clock: &Clock) -> Vec<News> {
    let changes = report.changes.iter();
    let changes = changes.map(|change| (change.at_ns, NewsKind::Change, change.what.text()));
    let faults = report.faults.rows.iter().flat_map(|row| {
        let text = fault_text(&row.kind, (row.edge, row.core), &row.routers);
        let recovered = row.recovery_ns.map(|recovery| {
            let text = format!("{text}: recovered {:.2} ms after its end", recovery.milliseconds());
            (row.end_ns.saturating_add(recovery), NewsKind::Recovery, text)
        });
        [Some((row.start_ns, NewsKind::Fault, text)), recovered]
            .into_iter()
            .flatten()
    });
    let news = changes.chain(faults);
    news.map(|(at, kind, text)| News {
        at_ns: clock.at(at),
        kind,
        text,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &[u8] = include_bytes!("../../../../../schema/examples/stream-report.json");
    const STREAM: &str = include_str!("../../../../../schema/examples/stream.json");

    fn report() -> Report {
        Report::from_json(REPORT).unwrap()
    }

    #[test]
    fn a_report_is_the_stream_of_the_examples() {
        let messages = of_report(&report()).unwrap();
        let messages: Vec<Value> = messages
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect();
        let expected: Vec<Value> = serde_json::from_str(STREAM).unwrap();
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_report_that_is_too_large_for_a_page_is_refused() {
        let mut long = report();
        long.verdict.failures = vec!["x".repeat(1000); MAX_HEAD_BYTES / 1000];
        let error = of_report(&long).unwrap_err().to_string();
        assert!(
            error.starts_with("all but series, largest part: verdict: 168"),
            "{error}"
        );
    }

    #[test]
    fn long_runs_have_frames_put_together_and_nothing_is_lost() {
        let mut report = report();
        let frames = 3 * MAX_UPDATES + 1;
        report.series.frame_ms = (1..=frames).map(|frame| frame as f64 * 5.0).collect();
        report.series.pairs.truncate(1);
        let pair = &mut report.series.pairs[0];
        (pair.demand_bytes, pair.granted_slots) = (vec![Bytes::new(2); frames], vec![2; frames]);
        pair.delivered_bytes = vec![Bytes::new(2); frames];
        let messages = of_report(&report).unwrap();
        let stars = messages.iter().filter_map(|text| {
            let message: Value = serde_json::from_str(text).unwrap();
            message.get("star").cloned()
        });
        let stars: Vec<Value> = stars.collect();
        let sum = |of: &dyn Fn(&Value) -> u64| stars.iter().map(of).sum::<u64>();
        assert!(stars.len() <= MAX_UPDATES);
        assert_eq!(sum(&|star| star["frames"].as_u64().unwrap()), frames as u64);
        assert_eq!(
            sum(&|star| star["delivered_bytes"][0].as_u64().unwrap()),
            2 * frames as u64
        );
        assert!(stars.iter().all(|star| star["in_force_slots"][0] == 2));
    }
}
