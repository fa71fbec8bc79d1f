// SPDX-License-Identifier: Apache-2.0
//! Series of the report, and the last period for the stream and the terminal, from the shown columns of a recording.

use std::collections::HashMap;

use slotwise_scenario::Scenario;
use slotwise_units::Rate;

use crate::record::{Recording, Shown, Table, TableName};
use crate::recorders::routed::RoutedRecorder;
use crate::recorders::workloads::WorkloadRecorder;
use crate::report::{LinkSeries, Numbers, TableSeries};
use crate::sessions::SessionNow;
use crate::stream::TableUpdate;

/// Name of the report's table of links; each network type fills it from one of three tables of a recording.
pub(crate) const LINKS: &str = "links";
/// Maximum number of items of a table in the report; larger tables are in `--columns` only.
const MAX_ITEMS: usize = 512;

/// Returns the columns of a table of the report or the stream.
pub(crate) fn shown_columns(table: &str) -> Vec<&'static Shown> {
    let mut found: Vec<&Shown> = Vec::new();
    for name in TableName::ALL.iter().filter(|name| name.shown_as() == Some(table)) {
        for (_, shown) in columns(*name) {
            if found.iter().all(|known| known.name != shown.name) {
                found.push(shown);
            }
        }
    }
    found
}

/// Returns a name of a table of the report or the stream, if it is one.
pub(crate) fn shown_table(table: &str) -> Option<&'static str> {
    let mut names = TableName::ALL.iter().filter_map(|name| name.shown_as());
    names.find(|name| *name == table)
}

/// Returns the shown columns of a table with their indices.
fn columns(table: TableName) -> impl Iterator<Item = (usize, &'static Shown)> {
    let columns = table.declaration().columns.iter().enumerate();
    columns.filter_map(|(index, column)| Some((index, column.shown.as_ref()?)))
}

/// Last period of a run; empty before its end.
#[derive(Debug, Clone, Default)]
pub struct PeriodNow {
    /// Links, and all other shown tables.
    pub tables: Vec<TableUpdate>,
    /// Sessions of GTP with their max-min rates.
    pub sessions: Vec<SessionNow>,
}

/// Returns the last recorded period.
pub fn last_period(recorder: &RoutedRecorder) -> PeriodNow {
    let recording = recorder.recording();
    let tables = links(recording).into_iter().chain(others(recording));
    PeriodNow {
        tables: tables.filter_map(|(name, table)| last(name, table)).collect(),
        sessions: recorder.last_sessions().map(SessionNow::from).collect(),
    }
}

/// Returns the last period of workloads; `None` before its end.
pub fn last_workloads(recorder: &WorkloadRecorder) -> Option<TableUpdate> {
    last(TableName::Workloads, &recorder.recording().workloads)
}

/// Returns the rows of the last period of a table; `None` before its end.
fn last(name: TableName, table: &Table) -> Option<TableUpdate> {
    let times_s = table.numbers_of("time_s");
    let last_s = *times_s.last()?;
    let rows = times_s.partition_point(|&s| s < last_s)..times_s.len();
    let column = |(index, shown): (usize, &Shown)| {
        let numbers = table.numbers[index][rows.clone()].iter();
        (shown.name, numbers.map(|number| number * shown.factor).collect())
    };
    Some(TableUpdate {
        table: name.shown_as()?,
        names: table.names[rows.clone()].to_vec(),
        columns: columns(name).map(column).collect(),
    })
}

/// Returns the table of the links of routers, of a ring or of optical packet switches.
fn links(recording: &Recording) -> Option<(TableName, &Table)> {
    let mut tables = recording.tables().filter(|(name, _)| name.shown_as() == Some(LINKS));
    tables.find(|(_, table)| !table.names.is_empty())
}

/// Returns the other shown tables with rows that are not too large.
fn others(recording: &Recording) -> impl Iterator<Item = (TableName, &Table)> {
    let tables = recording.tables();
    tables.filter(|(name, table)| {
        let is_other = name.shown_as().is_some_and(|shown| shown != LINKS);
        is_other && (1..=MAX_ITEMS).contains(&items(table).len())
    })
}

/// Returns the names of a table with their places, in the order of their first rows: sessions of GTP come and go.
fn items(table: &Table) -> HashMap<&str, usize> {
    let mut places = HashMap::new();
    for name in &table.names {
        let next = places.len();
        places.entry(name.as_str()).or_insert(next);
    }
    places
}

/// Returns the series of the other tables; 0 in periods without a row.
pub fn table_series(recording: &Recording) -> Vec<TableSeries> {
    let periods_s = periods_s(recording);
    let series = others(recording).map(|(name, table)| {
        let places = items(table);
        let mut names = vec![String::new(); places.len()];
        for (name, &place) in &places {
            (*name).clone_into(&mut names[place]);
        }
        let times_s = table.numbers_of("time_s");
        let by_item = |(index, shown): (usize, &'static Shown)| {
            let mut values = vec![vec![0.0; periods_s.len()]; names.len()];
            for ((name, at_s), &number) in table.names.iter().zip(times_s).zip(&table.numbers[index]) {
                if let Ok(period) = periods_s.binary_search_by(|period_s| period_s.total_cmp(at_s)) {
                    values[places[name.as_str()]][period] = number * shown.factor;
                }
            }
            (shown.name.to_owned(), values)
        };
        TableSeries {
            table: name.name().to_owned(),
            columns: columns(name).map(by_item).collect(),
            names,
        }
    });
    series.collect()
}

/// Returns the series of the links of routers, of a ring or of optical packet switches.
pub fn link_series(scenario: &Scenario, recording: &Recording) -> Vec<LinkSeries> {
    let Some((name, table)) = links(recording) else {
        return Vec::new();
    };
    let column = |link: usize, (index, shown): (usize, &Shown)| {
        let numbers = of_link(table, &table.numbers[index], link).into_iter();
        let numbers = numbers.map(|number| number * shown.factor);
        let numbers = match shown.is_whole {
            true => Numbers::Whole(numbers.map(|number| number as u64).collect()),
            false => Numbers::Real(numbers.collect()),
        };
        (shown.name.to_owned(), numbers)
    };
    let series = (0..link_count(table)).map(|link| LinkSeries {
        name: table.names[link].clone(),
        rate_bps: own_rate(scenario),
        columns: columns(name).map(|shown| column(link, shown)).collect(),
    });
    series.collect()
}

/// Returns the rate of every link of a ring, or of every wavelength for data.
fn own_rate(scenario: &Scenario) -> Option<Rate> {
    let of_ring = scenario.ring.as_ref().map(|ring| ring.rate);
    of_ring.or(scenario.ops.as_ref().map(|ops| ops.rate))
}

/// Returns the ends of the periods of links and tables, network time.
pub fn period_times_ms(scenario: &Scenario, recording: &Recording) -> Vec<f64> {
    let start_ms = scenario.epoch().ns() as f64 / 1e6;
    periods_s(recording).into_iter().map(|s| start_ms + s * 1e3).collect()
}

fn periods_s(recording: &Recording) -> Vec<f64> {
    let flows = (!recording.flows.names.is_empty()).then_some((TableName::Flows, &recording.flows));
    let workloads = (!recording.workloads.names.is_empty()).then_some((TableName::Workloads, &recording.workloads));
    let table = links(recording).or(flows).or(workloads);
    table.map_or_else(Vec::new, |(_, table)| link_column(table, "time_s", 0))
}

/// Returns the number of links of a table with rows by period, then by link.
pub(crate) fn link_count(table: &Table) -> usize {
    let names = &table.names;
    let again = names.iter().skip(1).position(|name| *name == names[0]);
    again.map_or(names.len(), |before| before + 1)
}

/// Returns a column of one link.
pub(crate) fn link_column(table: &Table, name: &str, link: usize) -> Vec<f64> {
    of_link(table, table.numbers_of(name), link)
}

fn of_link(table: &Table, numbers: &[f64], link: usize) -> Vec<f64> {
    let rows = numbers.iter().skip(link);
    rows.step_by(link_count(table).max(1)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(table: &mut Table, name: &str, at_s: f64, column: &str, value: f64) {
        let numbers: Vec<f64> = table
            .columns()
            .map(|known| match known {
                "time_s" => at_s,
                _ if known == column => value,
                _ => 0.0,
            })
            .collect();
        table.push(name, numbers);
    }

    #[test]
    fn items_that_come_and_go_keep_their_periods() {
        let mut recording = Recording::default();
        for at_s in [0.1, 0.2, 0.3] {
            push(&mut recording.links, "a-b", at_s, "utilization", 0.5);
        }
        for (name, at_s, mbps) in [
            ("one", 0.1, 7.0),
            ("one", 0.2, 8.0),
            ("two", 0.2, 3.0),
            ("two", 0.3, 4.0),
        ] {
            push(&mut recording.gtp, name, at_s, "received_mbps", mbps);
        }
        let series = table_series(&recording);
        assert_eq!(series.len(), 1);
        let gtp = &series[0];
        assert_eq!(
            (gtp.table.as_str(), &gtp.names[..]),
            ("gtp", &["one".to_owned(), "two".to_owned()][..])
        );
        let received = &gtp.columns["received_mbps"];
        assert_eq!(received.as_slice(), [vec![7.0, 8.0, 0.0], vec![0.0, 3.0, 4.0]]);
        let last = last(TableName::Gtp, &recording.gtp).unwrap();
        assert_eq!(last.names, ["two"]);
        assert_eq!(last.column("received_mbps"), [4.0]);
    }

    #[test]
    fn links_of_each_type_have_the_names_and_units_of_the_report() {
        let mut recording = Recording::default();
        push(&mut recording.stations, "a/0", 0.1, "added_kbps", 2.5);
        let last = last(TableName::Stations, &recording.stations).unwrap();
        assert_eq!((last.table, last.column("added_bps")), (LINKS, &[2500.0][..]));
        let names: Vec<&str> = shown_columns(LINKS).iter().map(|shown| shown.name).collect();
        for name in ["utilization", "queue_bytes", "active_stations", "ram_bytes"] {
            assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{names:?}");
        }
        assert!(shown_columns("queues").is_empty());
    }
}
