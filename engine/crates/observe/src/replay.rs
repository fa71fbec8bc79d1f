// SPDX-License-Identifier: Apache-2.0
//! A finished run as the stream of its state, made of its report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use serde_json::Value;
use slotwise_units::{Bytes, Duration, Instant};

use crate::changes::Changed;
use crate::faults::fault_text;
use crate::live::PairNow;
use crate::recorded::{PairSeries, Recorded, ReplayError, Series, SessionSeries};
use crate::series::{LINKS, shown_columns, shown_table};
use crate::stream::{End, Hello, Message, News, NewsKind, StarUpdate, TableUpdate, Update};

/// Larger files are no reports of runs that a browser could show.
const MOST_BYTES: u64 = 1 << 30;
/// What a report has beside its series is one message.
const MOST_HEAD_BYTES: usize = 16 << 20;
/// With more numbers than this, frames are put together.
const MOST_NUMBERS: usize = 12_000_000;
/// With more frames than this, too.
const MOST_UPDATES: usize = 4_000;

const NS_PER_MS: f64 = 1e6;

/// Messages of a report in a file, which anybody may have written.
///
/// # Errors
/// What is wrong with it.
pub fn of_file(path: &Path) -> Result<Vec<String>, ReplayError> {
    // Opened otherwise a FIFO would be waited for.
    let file = File::options()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReplayError::NotAFile);
    }
    if metadata.len() > MOST_BYTES {
        let (found, most) = (metadata.len(), MOST_BYTES);
        return Err(ReplayError::TooLarge { found, most });
    }
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text)?;
    let report: Value = serde_json::from_slice(&text)?;
    drop(text);
    check_head(&report)?;
    of_report(report)
}

/// What is beside the series goes to the page in one piece.
fn check_head(report: &Value) -> Result<(), ReplayError> {
    let fields = report.as_object().into_iter().flatten();
    let mut lengths = Vec::new();
    for (name, value) in fields.filter(|(name, _)| *name != "series") {
        lengths.push((serde_json::to_vec(value)?.len(), name));
    }
    let found = lengths.iter().map(|(length, _)| length).sum();
    match lengths.into_iter().max() {
        Some((_, longest)) if found > MOST_HEAD_BYTES => Err(ReplayError::Bytes {
            place: format!("all but series, largest part: {longest}"),
            found,
            most: MOST_HEAD_BYTES,
        }),
        _ => Ok(()),
    }
}

/// Messages of a report.
///
/// # Errors
/// What is wrong with it.
pub fn of_report(mut report: Value) -> Result<Vec<String>, ReplayError> {
    let recorded = Recorded::of(&report)?;
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
    fn start(&self) -> Instant {
        self.phases.first().map_or(Instant::ZERO, |phase| phase.start_ns)
    }

    /// Since the first phase began.
    fn since_start(&self, at: Instant) -> Duration {
        at.saturating_since(self.start())
    }

    fn since_start_ms(&self, at_ms: f64) -> Duration {
        self.since_start(Instant::from_ns((at_ms * NS_PER_MS).round() as u64))
    }

    /// By time.
    fn updates(&self) -> BTreeMap<Duration, Update> {
        let mut updates = BTreeMap::new();
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
        let last = updates.keys().next_back().copied().unwrap_or_default();
        updates
            .entry(last.max(self.duration_ns))
            .or_default()
            .drops
            .clone_from(&self.drops);
        for (now, update) in &mut updates {
            update.now_ns = *now;
            update.end_ns = self.duration_ns;
            let begun = self
                .phases
                .iter()
                .filter(|phase| self.since_start(phase.start_ns) < *now);
            update.phase = begun.count().max(1).min(self.phases.len());
        }
        updates
    }

    fn frames(&self, updates: &mut BTreeMap<Duration, Update>) {
        let Series { frame_ms, pairs, .. } = &self.series;
        let frame = self
            .frame
            .as_ref()
            .map_or(Duration::ZERO, |frame| frame.slot_ns.saturating_mul(frame.slots.into()));
        let by_numbers = (frame_ms.len() * pairs.len() * 4).div_ceil(MOST_NUMBERS);
        let together = by_numbers.max(frame_ms.len().div_ceil(MOST_UPDATES)).max(1);
        for first in (0..frame_ms.len()).step_by(together) {
            let last = (first + together).min(frame_ms.len()) - 1;
            let slots = |column: &[u64]| column[first..=last].iter().copied().fold(0, u64::saturating_add);
            let data = |column: &[Bytes]| {
                column[first..=last]
                    .iter()
                    .copied()
                    .fold(Bytes::ZERO, Bytes::saturating_add)
            };
            let pair = |pair: &PairSeries| {
                let now = PairNow {
                    demand_bytes: pair.demand_bytes[last],
                    in_force_slots: pair.granted_slots[last],
                    granted_slots: slots(&pair.granted_slots),
                    delivered_bytes: data(&pair.delivered_bytes),
                    ..PairNow::default()
                };
                (pair.from * self.network.edges + pair.to, now)
            };
            let star = StarUpdate::of((last - first + 1) as u64, pairs.iter().map(pair));
            let end = self.since_start_ms(frame_ms[last]).saturating_add(frame);
            updates.entry(end).or_default().star = Some(star);
        }
    }

    fn periods(&self, updates: &mut BTreeMap<Duration, Update>) {
        let Series {
            time_ms, links, tables, ..
        } = &self.series;
        let links_of = |period: usize| {
            let names: Vec<&String> = links.first()?.series().map(|(name, _)| name).collect();
            let column = |name: &'static str| {
                let values = links.iter().map(|link| link.value(name, period)).collect();
                (name, values)
            };
            Some(TableUpdate {
                table: LINKS,
                names: links.iter().map(|link| link.name.clone()).collect(),
                columns: known(LINKS, &names).map(column).collect(),
            })
        };
        for (period, at_ms) in time_ms.iter().enumerate() {
            let others = tables.iter().filter_map(|table| {
                let names: Vec<&String> = table.columns.keys().collect();
                let column = |name: &'static str| {
                    let items = table.columns.get(name).into_iter().flatten();
                    (name, items.map(|values| values[period]).collect())
                };
                Some(TableUpdate {
                    table: shown_table(&table.table)?,
                    names: table.names.clone(),
                    columns: known(&table.table, &names).map(column).collect(),
                })
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
                ("from_zero", vec![all.from_zero[period].unwrap_or_default()]),
            ],
        });
        rates.into_iter().chain(distances)
    }

    fn news(&self) -> Vec<News> {
        let changes = self.changes.iter().map(|change| {
            let text = change.what.as_ref().map(Changed::text);
            (
                change.at_ns,
                NewsKind::Change,
                text.unwrap_or_else(|| "other setting".to_owned()),
            )
        });
        let faults = self.faults.iter().flat_map(|row| {
            let text = fault_text(&row.kind, (row.edge, row.core), &row.routers);
            let well = row.recovery_ns.map(|recovery| {
                let ms = recovery.milliseconds();
                let text = format!("{text}: recovered {ms:.2} ms after its end");
                (row.end_ns.saturating_add(recovery), NewsKind::Recovery, text)
            });
            [Some((row.start_ns, NewsKind::Fault, text)), well]
                .into_iter()
                .flatten()
        });
        let news = changes.chain(faults);
        news.map(|(at, kind, text)| News {
            at_ns: self.since_start(at),
            kind,
            text,
        })
        .collect()
    }
}

/// Returns the columns of a table with these names, as declared.
fn known(table: &str, names: &[&String]) -> impl Iterator<Item = &'static str> {
    let columns = shown_columns(table).into_iter().map(|shown| shown.name);
    columns.filter(|column| names.iter().any(|name| name == column))
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
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut report = report();
            change(&mut report);
            std::fs::write(file.path(), report.to_string()).unwrap();
            of_file(file.path()).unwrap_err().to_string()
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
            "unsupported report version 2; expected 1"
        );
        assert_eq!(
            refused(&|report| report["series"] = Value::Null),
            "series.frame_ms: missing"
        );
        // Names that every object of the page has.
        for name in ["constructor", "__proto__", "another"] {
            let of_links = refused(&|report| report["series"]["links"][0][name] = vec![1].into());
            let expected = format!("series.links[0].{name}: unknown column; expected one of utilization, ");
            assert!(of_links.starts_with(&expected), "{of_links}");
            let of_table = refused(&|report| {
                let columns = &mut report["series"]["tables"][0]["columns"];
                columns[name] = columns["goodput_kbps"].clone();
            });
            let expected = format!("series.tables[0].columns.{name}: unknown column; expected one of goodput_kbps, ");
            assert!(of_table.starts_with(&expected), "{of_table}");
        }
        let damages: [(&str, &dyn Fn(&mut Value)); 4] = [
            ("faults.kinds[0]", &|report| report["faults"]["kinds"] = vec![9].into()),
            ("verdict.notes", &|report| report["verdict"]["notes"] = 7.into()),
            ("verdict.failures[1]", &|report| {
                report["verdict"]["failures"] = serde_json::json!(["one", 2]);
            }),
            ("phases[0]", &|report| report["phases"][0]["flows"] = vec![1].into()),
        ];
        for (place, change) in damages {
            let said = refused(change);
            assert!(said.starts_with(&format!("{place}: invalid type: integer")), "{said}");
        }
        // An error is a line, whatever it is about.
        let name = format!("\u{1b}{}", "x".repeat(1 << 20));
        let said = refused(&|report| report["series"]["tables"][0]["columns"][name.as_str()] = vec![1].into());
        assert!(said.len() < 2000 && !said.contains('\u{1b}'), "{said}");
        let said = refused(&|report| report["seed"] = name.as_str().into());
        assert!(said.len() < 2000 && !said.contains('\u{1b}'), "{said}");
    }

    #[test]
    fn what_no_page_could_have_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = |report: &Value| {
            std::fs::write(file.path(), report.to_string()).unwrap();
            of_file(file.path()).unwrap_err().to_string()
        };
        let mut long = report();
        long["verdict"]["failures"] = vec!["x".repeat(1000); MOST_HEAD_BYTES / 1000].into();
        let said = refused(&long);
        assert!(said.starts_with("all but series, largest part: verdict: 168"), "{said}");
        let mut named = report();
        named["series"]["time_ms"] = (0..1000).map(f64::from).collect();
        let link = &mut named["series"]["links"][0];
        link["name"] = "x".repeat(1 << 20).into();
        for (_, values) in link
            .as_object_mut()
            .unwrap()
            .iter_mut()
            .filter(|(_, values)| values.is_array())
        {
            *values = vec![1; 1000].into();
        }
        named["series"]["links"] = vec![link.clone()].into();
        for other in ["tables", "sessions", "distance"] {
            named["series"].as_object_mut().unwrap().remove(other);
        }
        let said = refused(&named);
        assert!(
            said.starts_with("series: names of 1048576 bytes in each of 1000 periods: "),
            "{said}"
        );
    }

    #[test]
    fn only_regular_files_are_read_and_none_that_is_too_large() {
        let directory = tempfile::tempdir().unwrap();
        let [fifo, large] = ["fifo", "large"].map(|name| directory.path().join(name));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        for path in [Path::new("/dev/zero"), &fifo, directory.path()] {
            assert!(
                matches!(of_file(path), Err(ReplayError::NotAFile)),
                "{}",
                path.display()
            );
        }
        File::create(&large).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert!(matches!(of_file(&large), Err(ReplayError::TooLarge { .. })));
    }
}
