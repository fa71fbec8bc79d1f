// SPDX-License-Identifier: Apache-2.0
//! A finished run as the stream of its state, made of its report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::choices::Changed;
use crate::faults::fault_text;
use crate::live::PairNow;
use crate::report::{DropCount, FrameShape, Moment, REPORT_VERSION};
use crate::stream::{End, Hello, Message, NetworkShape, News, NewsKind, StarUpdate, TableUpdate, Update};

/// Larger files are no reports of runs that a browser could show.
const MOST_BYTES: u64 = 1 << 30;
/// With more numbers than this, frames are put together.
const MOST_NUMBERS: usize = 12_000_000;
/// With more frames than this, too.
const MOST_UPDATES: usize = 4_000;

/// More than any scenario has; the page has a cell a pair.
const MOST_EDGES: usize = 4096;

const NS_PER_MS: f64 = 1e6;

/// Why a report cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is too large.
    #[error("more than {MOST_BYTES} bytes")]
    TooLarge,
    /// It is no report.
    #[error("no report of `slotwise simulate` or `emulate` (schema/report.schema.json): {0}")]
    NoReport(#[from] serde_json::Error),
    /// It is of another version.
    #[error("a report of version {0}; expected {REPORT_VERSION}")]
    Version(u64),
    /// Columns do not fit together.
    #[error("{place}: {found} values; expected {expected}")]
    Length {
        /// Which column.
        place: String,
        /// How long it is.
        found: usize,
        /// How long it should be.
        expected: usize,
    },
    /// More edges than there can be.
    #[error("network.edges: {0}; expected at most {MOST_EDGES}")]
    Edges(usize),
    /// A pair of edges that there is not.
    #[error("series.pairs: from {from} to {to}; expected edges below {edges}")]
    Pair {
        /// Source.
        from: usize,
        /// Destination.
        to: usize,
        /// How many there are.
        edges: usize,
    },
}

#[derive(Deserialize)]
struct Recorded {
    command: String,
    scenario: String,
    seed: u64,
    duration_ns: u64,
    network: NetworkShape,
    frame: Option<FrameShape>,
    phases: Vec<Phase>,
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    faults: Faults,
    drops: Vec<DropCount>,
    verdict: Verdict,
    series: Series,
}

#[derive(Deserialize)]
struct Phase {
    name: String,
    start_ns: u64,
}

#[derive(Deserialize)]
struct Change {
    at_ns: u64,
    #[serde(flatten)]
    what: Option<Changed>,
}

#[derive(Deserialize, Default)]
struct Faults {
    rows: Vec<FaultRow>,
}

#[derive(Deserialize)]
struct FaultRow {
    kind: String,
    edge: Option<u16>,
    core: Option<u16>,
    #[serde(default)]
    routers: Vec<String>,
    start_ns: u64,
    end_ns: u64,
    recovery_ns: Option<u64>,
}

#[derive(Deserialize)]
struct Verdict {
    ok: bool,
    failures: Vec<String>,
}

#[derive(Deserialize)]
struct Series {
    frame_ms: Vec<f64>,
    pairs: Vec<PairSeries>,
    #[serde(default)]
    time_ms: Vec<f64>,
    #[serde(default)]
    links: Vec<LinkSeries>,
    #[serde(default)]
    tables: Vec<TableSeries>,
    #[serde(default)]
    sessions: Vec<SessionSeries>,
    distance: Option<DistanceSeries>,
    #[serde(default)]
    moments: Vec<Moment>,
}

/// A session of GTP, null while it was not there.
#[derive(Deserialize)]
struct SessionSeries {
    name: String,
    rate_bps: Vec<Option<f64>>,
    fair_bps: Vec<Option<f64>>,
}

/// How far all of them were from what they should have.
#[derive(Deserialize)]
struct DistanceSeries {
    distance: Vec<Option<f64>>,
    from_zero: Vec<Option<f64>>,
}

#[derive(Deserialize)]
struct PairSeries {
    from: usize,
    to: usize,
    demand_bytes: Vec<u64>,
    granted_slots: Vec<u64>,
    delivered_bytes: Vec<u64>,
}

#[derive(Deserialize)]
struct LinkSeries {
    name: String,
    #[serde(flatten)]
    columns: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct TableSeries {
    table: String,
    names: Vec<String>,
    columns: BTreeMap<String, Vec<Vec<f64>>>,
}

/// Messages of a report in a file.
///
/// # Errors
/// What is wrong with it.
pub fn of_file(path: &Path) -> Result<Vec<String>, ReplayError> {
    let mut text = Vec::new();
    BufReader::new(File::open(path)?)
        .take(MOST_BYTES + 1)
        .read_to_end(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(ReplayError::TooLarge);
    }
    of_report(serde_json::from_slice(&text)?)
}

/// Messages of a report.
///
/// # Errors
/// What is wrong with it.
pub fn of_report(mut report: Value) -> Result<Vec<String>, ReplayError> {
    if let Some(version) = report["version"]
        .as_u64()
        .filter(|version| *version != u64::from(REPORT_VERSION))
    {
        return Err(ReplayError::Version(version));
    }
    let recorded = Recorded::deserialize(&report)?;
    recorded.check()?;
    if let Some(fields) = report.as_object_mut() {
        fields.remove("series");
    }
    let hello = Hello {
        is_finished: true,
        phases: recorded.phases.iter().map(|phase| phase.name.clone()).collect(),
        network: recorded.network.clone(),
        frame: recorded.frame.clone(),
        ..Hello::new(&recorded.command, &recorded.scenario, recorded.seed)
    };
    let end = End {
        ok: recorded.verdict.ok,
        failures: recorded.verdict.failures.clone(),
        report,
    };
    let updates = recorded.updates().into_values().map(Message::Update);
    let messages = std::iter::once(Message::Hello(hello))
        .chain(updates)
        .chain([Message::End(end)]);
    Ok(messages.map(|message| message.text()).collect())
}

impl Recorded {
    fn check(&self) -> Result<(), ReplayError> {
        let check = |place: String, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(ReplayError::Length { place, found, expected }),
        };
        let Series {
            frame_ms,
            pairs,
            time_ms,
            links,
            tables,
            sessions,
            distance,
            ..
        } = &self.series;
        let edges = self.network.edges;
        if edges > MOST_EDGES {
            return Err(ReplayError::Edges(edges));
        }
        for (place, pair) in pairs.iter().enumerate() {
            let PairSeries { from, to, .. } = *pair;
            if from >= edges || to >= edges {
                return Err(ReplayError::Pair { from, to, edges });
            }
            let columns = [
                ("demand_bytes", pair.demand_bytes.len()),
                ("granted_slots", pair.granted_slots.len()),
                ("delivered_bytes", pair.delivered_bytes.len()),
            ];
            for (column, length) in columns {
                check(format!("series.pairs[{place}].{column}"), length, frame_ms.len())?;
            }
        }
        for (place, link) in links.iter().enumerate() {
            for (column, values) in link.series() {
                check(format!("series.links[{place}].{column}"), values.len(), time_ms.len())?;
            }
        }
        for (place, table) in tables.iter().enumerate() {
            for (column, things) in &table.columns {
                let place = format!("series.tables[{place}].columns.{column}");
                check(place.clone(), things.len(), table.names.len())?;
                for values in things {
                    check(place.clone(), values.len(), time_ms.len())?;
                }
            }
        }
        for (place, session) in sessions.iter().enumerate() {
            for (column, values) in [("rate_bps", &session.rate_bps), ("fair_bps", &session.fair_bps)] {
                check(
                    format!("series.sessions[{place}].{column}"),
                    values.len(),
                    time_ms.len(),
                )?;
            }
        }
        if let Some(DistanceSeries { distance, from_zero }) = distance {
            check("series.distance.distance".into(), distance.len(), time_ms.len())?;
            check("series.distance.from_zero".into(), from_zero.len(), time_ms.len())?;
        }
        Ok(())
    }

    fn start_ns(&self) -> u64 {
        self.phases.first().map_or(0, |phase| phase.start_ns)
    }

    /// Since the first phase began.
    fn since_start(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.start_ns())
    }

    fn since_start_ms(&self, at_ms: f64) -> u64 {
        self.since_start((at_ms * NS_PER_MS).round() as u64)
    }

    /// By time.
    fn updates(&self) -> BTreeMap<u64, Update> {
        let mut updates = BTreeMap::<u64, Update>::new();
        self.frames(&mut updates);
        self.periods(&mut updates);
        for moment in &self.series.moments {
            let update = updates.entry(self.since_start_ms(moment.time_ms)).or_default();
            update.violations = Some(moment.violations);
            update.lateness_p99_ns = moment.lateness_p99_ns;
            update.first_light = moment.first_light;
        }
        for news in self.news() {
            updates.entry(news.at_ns).or_default().news.push(news);
        }
        // What was dropped is known at the end.
        let last_ns = updates.keys().next_back().copied().unwrap_or_default();
        updates.entry(last_ns.max(self.duration_ns)).or_default().drops = self.drops.clone();
        for (now_ns, update) in &mut updates {
            update.now_ns = *now_ns;
            update.end_ns = self.duration_ns;
            let begun = self
                .phases
                .iter()
                .filter(|phase| self.since_start(phase.start_ns) < *now_ns);
            update.phase = begun.count().max(1).min(self.phases.len());
        }
        updates
    }

    fn frames(&self, updates: &mut BTreeMap<u64, Update>) {
        let Series { frame_ms, pairs, .. } = &self.series;
        let frame_ns = self
            .frame
            .as_ref()
            .map_or(0, |frame| u64::from(frame.slots).saturating_mul(frame.slot_ns));
        let by_numbers = (frame_ms.len() * pairs.len() * 4).div_ceil(MOST_NUMBERS);
        let together = by_numbers.max(frame_ms.len().div_ceil(MOST_UPDATES)).max(1);
        for first in (0..frame_ms.len()).step_by(together) {
            let last = (first + together).min(frame_ms.len()) - 1;
            let sum = |column: &[u64]| column[first..=last].iter().sum();
            let pair = |pair: &PairSeries| {
                let now = PairNow {
                    demand_bytes: pair.demand_bytes[last],
                    in_force_slots: pair.granted_slots[last],
                    granted_slots: sum(&pair.granted_slots),
                    delivered_bytes: sum(&pair.delivered_bytes),
                    ..PairNow::default()
                };
                (pair.from * self.network.edges + pair.to, now)
            };
            let star = StarUpdate::of((last - first + 1) as u64, pairs.iter().map(pair));
            let end_ns = self.since_start_ms(frame_ms[last]).saturating_add(frame_ns);
            updates.entry(end_ns).or_default().star = Some(star);
        }
    }

    fn periods(&self, updates: &mut BTreeMap<u64, Update>) {
        let Series {
            time_ms, links, tables, ..
        } = &self.series;
        let links_of = |period: usize| {
            let names = links.first()?.series().map(|(name, _)| name.clone());
            let column = |name: String| {
                let values = links
                    .iter()
                    .map(|link| link.columns.get(&name).and_then(|values| values[period].as_f64()));
                let values: Vec<f64> = values.map(Option::unwrap_or_default).collect();
                (name, values)
            };
            Some(TableUpdate {
                table: "links".into(),
                names: links.iter().map(|link| link.name.clone()).collect(),
                columns: names.map(column).collect(),
            })
        };
        for (period, at_ms) in time_ms.iter().enumerate() {
            let others = tables.iter().map(|table| TableUpdate {
                table: table.table.clone(),
                names: table.names.clone(),
                columns: table
                    .columns
                    .iter()
                    .map(|(name, things)| (name.clone(), things.iter().map(|values| values[period]).collect()))
                    .collect(),
            });
            let update = updates.entry(self.since_start_ms(*at_ms)).or_default();
            let tables = links_of(period).into_iter().chain(others);
            update.tables = tables.chain(self.sessions_of(period)).collect();
        }
    }

    /// Sessions of GTP beside what they should have, and how far all are from it; 0 while they were not there.
    fn sessions_of(&self, period: usize) -> impl Iterator<Item = TableUpdate> {
        let Series { sessions, distance, .. } = &self.series;
        let column = |of: fn(&SessionSeries) -> &Vec<Option<f64>>| {
            let values = sessions.iter().map(|session| of(session)[period].unwrap_or_default());
            values.collect::<Vec<f64>>()
        };
        let rates = (!sessions.is_empty()).then(|| TableUpdate {
            table: "sessions".into(),
            names: sessions.iter().map(|session| session.name.clone()).collect(),
            columns: BTreeMap::from([
                ("rate_bps".into(), column(|session| &session.rate_bps)),
                ("fair_bps".into(), column(|session| &session.fair_bps)),
            ]),
        });
        let distances = distance.as_ref().map(|all| TableUpdate {
            table: "distance".into(),
            names: vec!["all sessions".into()],
            columns: BTreeMap::from([
                ("distance".into(), vec![all.distance[period].unwrap_or_default()]),
                ("from_zero".into(), vec![all.from_zero[period].unwrap_or_default()]),
            ]),
        });
        rates.into_iter().chain(distances)
    }

    fn news(&self) -> Vec<News> {
        let changes = self.changes.iter().map(|change| {
            let text = change.what.as_ref().map(Changed::text);
            (
                change.at_ns,
                NewsKind::Change,
                text.unwrap_or_else(|| "another choice".to_owned()),
            )
        });
        let faults = self.faults.rows.iter().flat_map(|row| {
            let text = fault_text(&row.kind, (row.edge, row.core), &row.routers);
            let well = row.recovery_ns.map(|recovery_ns| {
                let ms = recovery_ns as f64 / NS_PER_MS;
                let text = format!("{text}: well again {ms:.2} ms after its end");
                (row.end_ns.saturating_add(recovery_ns), NewsKind::Recovery, text)
            });
            [Some((row.start_ns, NewsKind::Fault, text)), well]
                .into_iter()
                .flatten()
        });
        let news = changes.chain(faults);
        news.map(|(at_ns, kind, text)| News {
            at_ns: self.since_start(at_ns),
            kind,
            text,
        })
        .collect()
    }
}

impl LinkSeries {
    fn series(&self) -> impl Iterator<Item = (&String, &Vec<Value>)> {
        self.columns
            .iter()
            .filter_map(|(name, values)| Some((name, values.as_array()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = include_str!("../../../../schema/examples/stream-report.json");
    const STREAM: &str = include_str!("../../../../schema/examples/stream.json");

    fn report() -> Value {
        serde_json::from_str(REPORT).unwrap()
    }

    #[test]
    fn a_report_is_the_stream_of_the_examples() {
        let messages = of_report(report()).unwrap();
        let messages: Vec<Value> = messages
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect();
        let expected: Vec<Value> = serde_json::from_str(STREAM).unwrap();
        assert_eq!(messages, expected);
    }

    #[test]
    fn long_runs_have_frames_put_together_and_nothing_is_lost() {
        let mut report = report();
        let frames = 3 * MOST_UPDATES + 1;
        report["series"]["frame_ms"] = (1..=frames).map(|frame| frame as f64 * 5.0).collect();
        let pair = &mut report["series"]["pairs"][0];
        for column in ["demand_bytes", "granted_slots", "delivered_bytes"] {
            pair[column] = vec![2; frames].into();
        }
        report["series"]["pairs"] = vec![pair.clone()].into();
        let messages = of_report(report).unwrap();
        let stars = messages.iter().filter_map(|text| {
            let message: Value = serde_json::from_str(text).unwrap();
            message.get("star").cloned()
        });
        let stars: Vec<Value> = stars.collect();
        let sum = |of: &dyn Fn(&Value) -> u64| stars.iter().map(of).sum::<u64>();
        assert!(stars.len() <= MOST_UPDATES);
        assert_eq!(sum(&|star| star["frames"].as_u64().unwrap()), frames as u64);
        assert_eq!(
            sum(&|star| star["delivered_bytes"][0].as_u64().unwrap()),
            2 * frames as u64
        );
        assert!(stars.iter().all(|star| star["in_force_slots"][0] == 2));
    }

    #[test]
    fn what_does_not_fit_together_is_said() {
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut report = report();
            change(&mut report);
            of_report(report).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&|report| report["series"]["pairs"][1]["granted_slots"] = vec![1].into()),
            "series.pairs[1].granted_slots: 1 values; expected 2"
        );
        assert_eq!(
            refused(&|report| report["series"]["links"][0]["utilization"] = vec![1, 2].into()),
            "series.links[0].utilization: 2 values; expected 1"
        );
        assert_eq!(
            refused(&|report| report["series"]["tables"][0]["names"] = vec!["a", "b"].into()),
            "series.tables[0].columns.goodput_kbps: 1 values; expected 2"
        );
        assert_eq!(
            refused(&|report| report["series"]["pairs"][0]["to"] = 3.into()),
            "series.pairs: from 0 to 3; expected edges below 3"
        );
        assert_eq!(
            refused(&|report| report["network"]["edges"] = 5000.into()),
            "network.edges: 5000; expected at most 4096"
        );
        assert_eq!(
            refused(&|report| report["version"] = 2.into()),
            "a report of version 2; expected 1"
        );
        assert!(refused(&|report| report["series"] = Value::Null).starts_with("no report of"));
    }
}
