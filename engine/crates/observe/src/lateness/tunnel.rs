// SPDX-License-Identifier: Apache-2.0
//! Round trips through tunnels to hosts on other machines, measured during a run.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use slotwise_units::Duration;

use crate::summary::line;

/// A tunnel, over the time in which lateness was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunnel {
    /// The access interface at this end.
    pub interface: String,
    /// The address at its far end that answered, or was to.
    pub probe: Ipv4Addr,
    /// Probes of which it is known whether they were answered.
    pub probes: u64,
    /// Those that were not, within a second.
    pub lost: u64,
    /// Median round trip; all three are missing if no answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_p50_ns: Option<Duration>,
    /// 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_p99_ns: Option<Duration>,
    /// Largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_max_ns: Option<Duration>,
}

impl Tunnel {
    /// A line of the summary.
    pub fn summary(&self) -> String {
        let us = |time: Option<Duration>| time.unwrap_or_default().ns() / 1000;
        let times = match self.round_trip_p50_ns {
            Some(_) => format!(
                "round trip p50 {} us, p99 {} us, max {} us; ",
                us(self.round_trip_p50_ns),
                us(self.round_trip_p99_ns),
                us(self.round_trip_max_ns)
            ),
            None => String::new(),
        };
        let (name, lost, probes) = (&self.interface, self.lost, self.probes);
        line("tunnel", format!("{name}: {times}{lost} of {probes} probes lost"))
    }

    /// What to think of one whose far end never answered.
    pub fn note(&self) -> Option<String> {
        (self.probes > 0 && self.lost == self.probes).then(|| {
            format!(
                "tunnel {}: no response from {}: far end down, or different key",
                self.interface, self.probe
            )
        })
    }
}
