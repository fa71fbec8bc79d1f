// SPDX-License-Identifier: Apache-2.0
//! What the parts of a network did, of what was measured: the last period for who looks on, all periods for the report.

use std::collections::HashMap;

use crate::recorders::routed::RoutedRecorder;
use crate::{Recording, Table};
use slotwise_scenario::Scenario;
use slotwise_units::{Bytes, Rate};

use crate::report::{LinkSeries, TableSeries};
use crate::sessions::SessionNow;

/// Links as the page and the terminal know them: name in the report, column that was measured, and its unit's worth.
const LINK_COLUMNS: [(&str, &str, f64); 7] = [
    ("utilization", "utilization", 1.0),
    ("queue_bytes", "queue_bytes", 1.0),
    ("dropped_packets", "dropped_packets", 1.0),
    ("added_bps", "added_kbps", 1e3),
    ("limit_bps", "limit_kbps", 1e3),
    ("active_stations", "span", 1.0),
    ("ram_bytes", "most_ram_bytes", 1.0),
];

/// What else is shown, by table: columns of `slotwise simulate --columns`.
const TABLES: [(&str, &[&str]); 3] = [
    (
        "flows",
        &[
            "goodput_kbps",
            "rate_kbyte_s",
            "rtt_ms",
            "window_packets",
            "delay_ms",
            "retransmissions",
        ],
    ),
    (
        "switches",
        &["straight", "waited", "converted", "deflected", "refused", "dropped"],
    ),
    (
        "gtp",
        &[
            "received_mbps",
            "sink_mbps",
            "source_mbps",
            "lost_packets",
            "retransmissions",
            "rtt_ms",
        ],
    ),
];

/// Columns of one of these tables in a report, or of `links`.
pub fn columns_of(table: &str) -> Vec<&'static str> {
    if table == "links" {
        return LINK_COLUMNS
            .iter()
            .map(|(name, ..)| *name)
            .chain(["rate_bps"])
            .collect();
    }
    let known = TABLES.iter().find(|(name, _)| *name == table);
    known.map_or(Vec::new(), |(_, columns)| columns.to_vec())
}

/// Tables of more things are left to `--columns`.
const MOST_THINGS: usize = 512;

/// Things of one sort and what they did in the last period.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableNow {
    /// `links`, or as in the report.
    pub table: &'static str,
    /// Names of the things.
    pub names: Vec<String>,
    /// By name: a value a thing.
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

impl TableNow {
    /// A column; empty if it has none of that name.
    pub fn column(&self, name: &str) -> &[f64] {
        let column = self.columns.iter().find(|(known, _)| *known == name);
        column.map_or(&[], |(_, numbers)| numbers)
    }

    /// Rows of the last period that there are any of; `None` before the first one.
    fn last(table: &'static str, from: &Table, columns: &[(&'static str, &str, f64)]) -> Option<TableNow> {
        let times_s = &from.numbers[from.column("time_s")?];
        let last_s = *times_s.last()?;
        let rows = times_s.partition_point(|&s| s < last_s)..times_s.len();
        let column = |&(name, measured, factor): &(&'static str, &str, f64)| {
            let numbers = &from.numbers[from.column(measured)?][rows.clone()];
            Some((name, numbers.iter().map(|number| number * factor).collect()))
        };
        Some(TableNow {
            table,
            names: from.names[rows.clone()].to_vec(),
            columns: columns.iter().filter_map(column).collect(),
        })
    }
}

/// What was done in the last period; nothing before the first one.
#[derive(Debug, Clone, Default)]
pub struct PeriodNow {
    /// By links, and all else that is shown.
    pub tables: Vec<TableNow>,
    /// By sessions of GTP beside their max-min rates.
    pub sessions: Vec<SessionNow>,
}

/// What was done in the last period, of what is written down.
pub fn last_period(recorder: &RoutedRecorder) -> PeriodNow {
    let recording = recorder.recording();
    let links = TableNow::last("links", link_table(recording), &LINK_COLUMNS);
    let others = shown(recording).filter_map(|(name, table, columns)| {
        let columns: Vec<_> = columns.iter().map(|&column| (column, column, 1.0)).collect();
        TableNow::last(name, table, &columns)
    });
    PeriodNow {
        tables: links.into_iter().chain(others).collect(),
        sessions: recorder.last_sessions().map(SessionNow::from).collect(),
    }
}

/// Tables with something in them that are not too large.
fn shown(recording: &Recording) -> impl Iterator<Item = (&'static str, &Table, &'static [&'static str])> {
    let tables = recording.tables();
    TABLES.into_iter().filter_map(move |(name, columns)| {
        let (_, table) = tables.iter().find(|(known, _)| *known == name)?;
        (1..=MOST_THINGS)
            .contains(&things(table).len())
            .then_some((name, *table, columns))
    })
}

/// Names of all things of a table, with their places: by when they came. Sessions of GTP are there for as long as they last.
fn things(table: &Table) -> HashMap<&str, usize> {
    let mut places = HashMap::new();
    for name in &table.names {
        let next = places.len();
        places.entry(name.as_str()).or_insert(next);
    }
    places
}

/// The same over all periods; 0 in those in which a thing was not there.
pub fn table_series(recording: &Recording) -> Vec<TableSeries> {
    let periods_s = periods_s(recording);
    let series = shown(recording).map(|(name, table, columns)| {
        let places = things(table);
        let mut names = vec![String::new(); places.len()];
        for (name, &place) in &places {
            (*name).clone_into(&mut names[place]);
        }
        let of_table = |column: &str| table.column(column).map_or(&[][..], |column| &table.numbers[column]);
        let times_s = of_table("time_s");
        let by_thing = |column: &str| {
            let mut values = vec![vec![0.0; periods_s.len()]; names.len()];
            for ((name, at_s), &number) in table.names.iter().zip(times_s).zip(of_table(column)) {
                if let Ok(period) = periods_s.binary_search_by(|period_s| period_s.total_cmp(at_s)) {
                    values[places[name.as_str()]][period] = number;
                }
            }
            values
        };
        TableSeries {
            table: name,
            columns: columns.iter().map(|&column| (column, by_thing(column))).collect(),
            names,
        }
    });
    series.collect()
}

/// Columns of the links of routers, of a ring or of optical packet switches.
pub fn link_series(scenario: &Scenario, recording: &Recording) -> Vec<LinkSeries> {
    let table = link_table(recording);
    let series = (0..link_count(table)).map(|link| {
        let column = |name: &str| {
            let (_, measured, factor) = LINK_COLUMNS.iter().find(|(known, _, _)| *known == name)?;
            Some(
                link_column(table, measured, link)
                    .into_iter()
                    .map(move |number| number * factor),
            )
        };
        let whole = |name: &str| column(name).into_iter().flatten().map(|number| number as u64);
        let bytes = |name: &str| whole(name).map(Bytes::new).collect();
        let rates = |name: &str| whole(name).map(Rate::from_bps).collect();
        LinkSeries {
            name: table.names[link].clone(),
            rate_bps: own_rate(scenario),
            utilization: column("utilization").into_iter().flatten().collect(),
            queue_bytes: bytes("queue_bytes"),
            dropped_packets: whole("dropped_packets").collect(),
            added_bps: rates("added_bps"),
            limit_bps: rates("limit_bps"),
            active_stations: whole("active_stations").collect(),
            ram_bytes: bytes("ram_bytes"),
        }
    });
    series.collect()
}

/// Rate of every link of a ring, or of every wavelength for data.
fn own_rate(scenario: &Scenario) -> Option<Rate> {
    let of_ring = scenario.ring.as_ref().map(|ring| ring.rate);
    of_ring.or(scenario.ops.as_ref().map(|ops| ops.rate))
}

/// Ends of the periods of links and tables, fabric time.
pub fn period_times_ms(scenario: &Scenario, recording: &Recording) -> Vec<f64> {
    let start_ms = scenario.epoch().ns() as f64 / 1e6;
    periods_s(recording).into_iter().map(|s| start_ms + s * 1e3).collect()
}

fn periods_s(recording: &Recording) -> Vec<f64> {
    let tables = [link_table(recording), &recording.flows];
    let table = tables.into_iter().find(|table| !table.names.is_empty());
    table.map_or_else(Vec::new, |table| link_column(table, "time_s", 0))
}

/// Of routers, of the stations of a ring, or of the wavelengths of optical packet switches: a network has one of them.
fn link_table(recording: &Recording) -> &Table {
    let own = [&recording.stations, &recording.outputs];
    own.into_iter()
        .find(|table| !table.names.is_empty())
        .unwrap_or(&recording.links)
}

/// Rows are by period, then by link: so many of them.
pub fn link_count(table: &Table) -> usize {
    let names = &table.names;
    let again = names.iter().skip(1).position(|name| *name == names[0]);
    again.map_or(names.len(), |before| before + 1)
}

/// A column of one link; empty if links of this kind have none.
pub fn link_column(table: &Table, name: &str, link: usize) -> Vec<f64> {
    let numbers = table.column(name).map_or(&[][..], |column| &table.numbers[column]);
    let rows = numbers.iter().skip(link);
    rows.step_by(link_count(table).max(1)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_that_come_and_go_keep_their_periods() {
        let mut recording = Recording::default();
        let row = |table: &mut Table, name: &str, at_s: f64, column: &str, value: f64| {
            let mut numbers = vec![0.0; table.columns.len()];
            numbers[table.column("time_s").unwrap()] = at_s;
            numbers[table.column(column).unwrap()] = value;
            table.names.push(name.into());
            for (known, number) in table.numbers.iter_mut().zip(numbers) {
                known.push(number);
            }
        };
        for at_s in [0.1, 0.2, 0.3] {
            row(&mut recording.links, "a-b", at_s, "utilization", 0.5);
        }
        for (name, at_s, mbps) in [
            ("one", 0.1, 7.0),
            ("one", 0.2, 8.0),
            ("two", 0.2, 3.0),
            ("two", 0.3, 4.0),
        ] {
            row(&mut recording.gtp, name, at_s, "received_mbps", mbps);
        }
        let series = table_series(&recording);
        assert_eq!(series.len(), 1);
        let gtp = &series[0];
        assert_eq!(
            (gtp.table, &gtp.names[..]),
            ("gtp", &["one".to_owned(), "two".to_owned()][..])
        );
        let received = &gtp
            .columns
            .iter()
            .find(|(name, _)| **name == "received_mbps")
            .unwrap()
            .1;
        assert_eq!(received.as_slice(), [vec![7.0, 8.0, 0.0], vec![0.0, 3.0, 4.0]]);
        let last = TableNow::last("gtp", &recording.gtp, &[("received_mbps", "received_mbps", 1.0)]).unwrap();
        assert_eq!(
            (last.names, last.columns),
            (vec!["two".into()], vec![("received_mbps", vec![4.0])])
        );
    }
}
