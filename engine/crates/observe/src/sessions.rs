// SPDX-License-Identifier: Apache-2.0
//! What each session of GTP over routers had in a run, beside its max-min rate.

use std::collections::BTreeMap;

use crate::recorders::SessionRates;
use crate::{Recording, Table};
use serde::{Deserialize, Serialize};
use slotwise_units::Rate;

use crate::summary::line;

/// A session in the last period, on screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionNow {
    /// Its name.
    pub name: String,
    /// What its source sent, IP b/s.
    pub rate_bps: f64,
    /// Its max-min rate, b/s; 0 if it is not there.
    pub fair_bps: f64,
}

impl From<SessionRates<'_>> for SessionNow {
    fn from(period: SessionRates) -> SessionNow {
        SessionNow {
            name: period.name.to_owned(),
            rate_bps: period.rate_bps,
            fair_bps: period.fair_bps,
        }
    }
}

/// What a session sent and should have, a value a period; nothing for periods in which it was not there all the time. IP b/s.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSeries {
    /// Its name.
    pub name: String,
    /// What its source sent.
    pub rate_bps: Vec<Option<Rate>>,
    /// Its max-min rate among those that were there.
    pub fair_bps: Vec<Option<Rate>>,
}

/// How far all rates together were from the max-min ones, a value a period: parts of the largest capacity of a host.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistanceSeries {
    /// D, the 2-norm of the difference.
    pub distance: Vec<Option<f64>>,
    /// D0, what it would be if nobody sent.
    pub d0: Vec<Option<f64>>,
}

/// Columns of the sessions, and of all together; nothing of networks without.
pub fn series(recording: &Recording) -> (Vec<SessionSeries>, Option<DistanceSeries>) {
    let column = |table: &Table, name: &str| table.numbers_of(name).to_vec();
    let whole = &recording.distances;
    if whole.names.is_empty() {
        return (Vec::new(), None);
    }
    let times_s = column(whole, "time_s");
    let table = &recording.sessions;
    let [at_s, rate_mbps, fair_mbps] = ["time_s", "rate_mbps", "fair_mbps"].map(|name| column(table, name));
    let rate = |mbps: f64| Rate::from_bps((mbps * 1e6).round() as u64);
    let mut order = Vec::new();
    let mut by_name: BTreeMap<&str, SessionSeries> = BTreeMap::new();
    for (row, name) in table.names.iter().enumerate() {
        let series = by_name.entry(name).or_insert_with(|| {
            order.push(name.as_str());
            SessionSeries {
                name: name.clone(),
                rate_bps: vec![None; times_s.len()],
                fair_bps: vec![None; times_s.len()],
            }
        });
        let period = times_s.partition_point(|time_s| *time_s < at_s[row]);
        series.rate_bps[period] = Some(rate(rate_mbps[row]));
        series.fair_bps[period] = Some(rate(fair_mbps[row]));
    }
    let sessions = order.into_iter().filter_map(|name| by_name.remove(name)).collect();
    let distance = DistanceSeries {
        distance: column(whole, "distance").into_iter().map(Some).collect(),
        d0: column(whole, "d0").into_iter().map(Some).collect(),
    };
    (sessions, Some(distance))
}

/// Part of what they would be off if nobody sent, that rates were off; `None` while nobody should send.
pub fn part(sessions: &[SessionNow]) -> Option<f64> {
    let norm = |of: fn(&SessionNow) -> f64| sessions.iter().map(of).map(|bps| bps * bps).sum::<f64>().sqrt();
    let d0 = norm(|session| session.fair_bps);
    (d0 > 0.0).then(|| norm(|session| session.rate_bps - session.fair_bps) / d0)
}

/// How near the sessions came to what they should have; nothing of networks without.
pub fn summary(sessions: &[SessionSeries], distance: Option<&DistanceSeries>) -> String {
    let Some(of_all) = distance else {
        return String::new();
    };
    let parts = of_all.distance.iter().zip(&of_all.d0);
    let parts: Vec<f64> = parts
        .filter_map(|(distance, d0)| distance.as_ref().zip(*d0))
        .filter(|(_, d0)| *d0 > 0.0)
        .map(|(distance, d0)| distance / d0)
        .collect();
    let Some(last) = parts.last() else {
        return String::new();
    };
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    let value = format!(
        "{} GTP sessions; deviation from max-min rates (2-norm): mean {:.1} %, last period {:.1} %",
        sessions.len(),
        mean * 100.0,
        last * 100.0
    );
    line("sessions", value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Recording {
        let mut recording = Recording::default();
        for (time_s, distance) in [(0.1, 0.6), (0.2, 0.3)] {
            let row = [time_s, distance, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            recording.distances.push("two", row);
        }
        recording.sessions.push("a.0", [0.1, 10.0, 50.0, 0.2, 0.1, 0.1]);
        recording.sessions.push("b.0", [0.2, 0.000_001_6, 50.0, 0.2, 0.1, 0.1]);
        recording
    }

    #[test]
    fn each_session_has_a_value_a_period_or_none() {
        let (sessions, distance) = series(&recording());
        let names: Vec<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["a.0", "b.0"]);
        assert_eq!(sessions[0].rate_bps, [Some(Rate::from_bps(10_000_000)), None]);
        assert_eq!(sessions[1].rate_bps, [None, Some(Rate::from_bps(2))]);
        assert_eq!(sessions[1].fair_bps, [None, Some(Rate::from_bps(50_000_000))]);
        assert_eq!(
            summary(&sessions, distance.as_ref()),
            "  sessions      2 GTP sessions; deviation from max-min rates (2-norm): mean 75.0 %, last period 50.0 %\n"
        );
    }

    #[test]
    fn of_networks_without_sessions_nothing_is_said() {
        let (sessions, distance) = series(&Recording::default());
        assert_eq!((sessions.len(), &distance), (0, &None));
        assert_eq!(summary(&sessions, distance.as_ref()), "");
        assert_eq!(part(&[]), None);
    }

    #[test]
    fn what_rates_are_off_is_by_what_they_would_be_at_nothing() {
        let session = |rate_bps, fair_bps| SessionNow {
            name: "a.0".into(),
            rate_bps,
            fair_bps,
        };
        // sqrt(3^2 + 4^2) / sqrt(6^2 + 8^2)
        assert_eq!(part(&[session(3.0, 6.0), session(12.0, 8.0)]), Some(0.5));
        assert_eq!(part(&[session(5.0, 0.0)]), None, "packets in flight after the end");
    }
}
