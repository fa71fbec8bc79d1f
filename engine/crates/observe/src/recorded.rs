// SPDX-License-Identifier: Apache-2.0
//! A report as somebody may have written it: what is shown of it, read part by part, so that what is wrong is named by its place.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};
use slotwise_units::{Bytes, Duration, Instant};

use crate::changes::Changed;
use crate::report::{DropCount, FirstLight, FrameShape, Moment, REPORT_VERSION};
use crate::series::{LINKS, shown_columns};
use crate::stream::NetworkShape;
use slotwise_cli::notes::one_line;

/// More than any scenario has; the page has a cell a pair.
const MOST_EDGES: usize = 4096;
/// Names of links, things and sessions are said with each period.
const MOST_NAME_BYTES: usize = 256 << 20;

/// Why a report cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is a device, a FIFO, a directory.
    #[error("not a regular file; expected a report of `slotwise simulate` or `emulate`")]
    NotAFile,
    /// It is too large.
    #[error("{found} bytes; expected at most {most}")]
    TooLarge {
        /// How many there are.
        found: u64,
        /// How many there may be.
        most: u64,
    },
    /// It is no report.
    #[error("not a report of `slotwise simulate` or `emulate` (schema/report.schema.json): {0}")]
    NoReport(#[from] serde_json::Error),
    /// A part of it is no such thing.
    #[error("{place}: {problem}")]
    Part {
        /// Which.
        place: String,
        /// What it is, and what was expected.
        problem: String,
    },
    /// A table has a column that no run writes.
    #[error("{place}: unknown column; expected one of {}", .expected.join(", "))]
    Column {
        /// Which.
        place: String,
        /// Those that there are.
        expected: Vec<&'static str>,
    },
    /// More than a page can have.
    #[error("{place}: {found} bytes; expected at most {most}")]
    Bytes {
        /// What has them.
        place: String,
        /// How many.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// It is of another version.
    #[error("unsupported report version {0}; expected {REPORT_VERSION}")]
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

/// A report, as far as it is shown.
pub struct Recorded {
    pub command: String,
    pub scenario: String,
    pub seed: u64,
    pub duration_ns: Duration,
    pub network: NetworkShape,
    pub frame: Option<FrameShape>,
    pub phases: Vec<Phase>,
    pub changes: Vec<Change>,
    pub faults: Vec<FaultRow>,
    pub drops: Vec<DropCount>,
    pub verdict: Verdict,
    pub series: Series,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct Phase {
    pub name: String,
    pub start_ns: Instant,
    #[serde(flatten)]
    _page: PhaseOfPage,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct Change {
    pub at_ns: Instant,
    #[serde(flatten)]
    pub what: Option<Changed>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct FaultRow {
    pub kind: String,
    pub edge: Option<u16>,
    pub core: Option<u16>,
    #[serde(default)]
    pub routers: Vec<String>,
    pub start_ns: Instant,
    pub end_ns: Instant,
    pub recovery_ns: Option<Duration>,
}

pub struct Verdict {
    pub ok: bool,
    pub failures: Vec<String>,
}

pub struct Series {
    pub frame_ms: Vec<f64>,
    pub pairs: Vec<PairSeries>,
    pub time_ms: Vec<f64>,
    pub links: Vec<LinkSeries>,
    pub tables: Vec<TableSeries>,
    pub sessions: Vec<SessionSeries>,
    pub distance: Option<DistanceSeries>,
    pub moments: Vec<Moment>,
}

/// A session of GTP, null while it was not there.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct SessionSeries {
    pub name: String,
    pub rate_bps: Vec<Option<f64>>,
    pub fair_bps: Vec<Option<f64>>,
}

/// How far all of them were from what they should have.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct DistanceSeries {
    pub distance: Vec<Option<f64>>,
    pub from_zero: Vec<Option<f64>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct PairSeries {
    pub from: usize,
    pub to: usize,
    pub demand_bytes: Vec<Bytes>,
    pub granted_slots: Vec<u64>,
    pub delivered_bytes: Vec<Bytes>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct LinkSeries {
    pub name: String,
    #[serde(flatten)]
    columns: BTreeMap<String, Column>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or a list of numbers")]
enum Column {
    Periods(Vec<f64>),
    /// Of the whole run, and not shown.
    Run(#[expect(dead_code, reason = "the page does not show it")] f64),
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub struct TableSeries {
    pub table: String,
    pub names: Vec<String>,
    pub columns: BTreeMap<String, Vec<Vec<f64>>>,
}

/// What only the page reads of a phase.
#[derive(Deserialize)]
#[expect(dead_code, reason = "the page has them from the report itself")]
struct PhaseOfPage {
    end_ns: u64,
    flows: Vec<Map<String, Value>>,
    files: Vec<Map<String, Value>>,
    lost_flows: Option<u64>,
}

/// What the page reads of the slots' lateness.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[expect(dead_code, reason = "the page has them from the report itself")]
struct Lateness {
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

/// What the page reads of faults of one kind.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[expect(dead_code, reason = "the page has them from the report itself")]
struct FaultKind {
    kind: String,
    injected: u64,
    messages: u64,
    not_recovered: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// Violations, and those that came first.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number of violations, or a list of texts")]
#[expect(dead_code, reason = "the page has them from the report itself")]
enum Violations {
    Count(u64),
    First(Vec<String>),
}

/// Returns the names of the columns of a table.
fn columns_of(table: &str) -> Vec<&'static str> {
    let columns = shown_columns(table).into_iter().map(|shown| shown.name);
    columns.chain((table == LINKS).then_some("rate_bps")).collect()
}

fn part<T: DeserializeOwned>(value: &Value, place: String) -> Result<T, ReplayError> {
    T::deserialize(value).map_err(|error| ReplayError::Part {
        place,
        problem: one_line(&error.to_string()),
    })
}

/// The parts of a part, which has a place if it is not the whole.
struct Within<'a> {
    whole: &'a Value,
    place: &'static str,
}

impl Within<'_> {
    fn place(&self, key: &str) -> String {
        format!("{}{key}", self.place)
    }

    fn part<T: DeserializeOwned>(&self, key: &str) -> Result<T, ReplayError> {
        let missing = || ReplayError::Part {
            place: self.place(key),
            problem: "missing".into(),
        };
        part(self.whole.get(key).ok_or_else(missing)?, self.place(key))
    }

    fn optional<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ReplayError> {
        let found = self.whole.get(key).filter(|value| !value.is_null());
        found.map(|value| part(value, self.place(key))).transpose()
    }

    /// Each of a list; none if there is no list.
    fn list<T: DeserializeOwned>(&self, key: &str) -> Result<Vec<T>, ReplayError> {
        self.optional::<Vec<IgnoredAny>>(key)?;
        let values = self.whole.get(key).and_then(Value::as_array).into_iter().flatten();
        let place = |index: usize| format!("{}[{index}]", self.place(key));
        let values = values.enumerate();
        values.map(|(index, value)| part(value, place(index))).collect()
    }

    /// The parts of a part.
    fn within(&self, key: &str, place: &'static str) -> Result<Within<'_>, ReplayError> {
        self.optional::<serde_json::Map<String, Value>>(key)?;
        let whole = &self.whole[key];
        Ok(Within { whole, place })
    }
}

impl Recorded {
    /// What there is to be shown of a report.
    ///
    /// # Errors
    /// What is wrong with it, or more than a page can have.
    pub fn of(report: &Value) -> Result<Recorded, ReplayError> {
        if !report.is_object() {
            return Err(ReplayError::Part {
                place: "the file".into(),
                problem: "not a report; expected an object".into(),
            });
        }
        let version = report["version"].as_u64();
        if let Some(version) = version.filter(|version| *version != u64::from(REPORT_VERSION)) {
            return Err(ReplayError::Version(version));
        }
        let whole = Within {
            whole: report,
            place: "",
        };
        let verdict = whole.within("verdict", "verdict.")?;
        let series = whole.within("series", "series.")?;
        let faults = whole.within("faults", "faults.")?;
        whole.part::<BTreeMap<String, Violations>>("invariants")?;
        whole.optional::<Lateness>("lateness")?;
        whole.optional::<FirstLight>("first_light")?;
        faults.list::<FaultKind>("kinds")?;
        verdict.list::<String>("notes")?;
        let recorded = Recorded {
            command: whole.part("command")?,
            scenario: whole.part("scenario")?,
            seed: whole.part("seed")?,
            duration_ns: whole.part("duration_ns")?,
            network: whole.part("network")?,
            frame: whole.optional("frame")?,
            phases: whole.list("phases")?,
            changes: whole.list("changes")?,
            faults: faults.list("rows")?,
            drops: whole.list("drops")?,
            verdict: Verdict {
                ok: verdict.part("ok")?,
                failures: verdict.list("failures")?,
            },
            series: Series {
                frame_ms: series.part("frame_ms")?,
                pairs: series.list("pairs")?,
                time_ms: series.optional("time_ms")?.unwrap_or_default(),
                links: series.list("links")?,
                tables: series.list("tables")?,
                sessions: series.list("sessions")?,
                distance: series.optional("distance")?,
                moments: series.list("moments")?,
            },
        };
        recorded.check()?;
        Ok(recorded)
    }

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
            let expected = columns_of("links");
            if let Some(column) = link.columns.keys().find(|column| !expected.contains(&column.as_str())) {
                let place = format!("series.links[{place}].{}", one_line(column));
                return Err(ReplayError::Column { place, expected });
            }
            for (column, values) in link.series() {
                check(format!("series.links[{place}].{column}"), values.len(), time_ms.len())?;
            }
        }
        let link_names = links.iter().map(|link| &link.name);
        let table_names = tables.iter().flat_map(|table| &table.names);
        let session_names = sessions.iter().map(|session| &session.name);
        let all_names = link_names.chain(table_names).chain(session_names);
        let name_bytes = all_names.map(String::len).sum::<usize>();
        let found = name_bytes.saturating_mul(time_ms.len());
        if found > MOST_NAME_BYTES {
            return Err(ReplayError::Bytes {
                place: format!(
                    "series: names of {name_bytes} bytes in each of {} periods",
                    time_ms.len()
                ),
                found,
                most: MOST_NAME_BYTES,
            });
        }
        for (place, table) in tables.iter().enumerate() {
            for (column, things) in &table.columns {
                let expected = columns_of(&table.table);
                if !expected.contains(&column.as_str()) {
                    let place = format!("series.tables[{place}].columns.{}", one_line(column));
                    return Err(ReplayError::Column { place, expected });
                }
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
}

impl LinkSeries {
    /// Columns with a value a period.
    pub fn series(&self) -> impl Iterator<Item = (&String, &Vec<f64>)> {
        self.columns.iter().filter_map(|(name, column)| match column {
            Column::Periods(values) => Some((name, values)),
            Column::Run(_) => None,
        })
    }

    /// A column's value in a period; 0 where there is none.
    pub fn value(&self, column: &str, period: usize) -> f64 {
        match self.columns.get(column) {
            Some(Column::Periods(values)) => values[period],
            _ => 0.0,
        }
    }
}
