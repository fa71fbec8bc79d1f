// SPDX-License-Identifier: Apache-2.0
//! What hosts of Linux can play, and what only simulated ones can.

use std::fmt;

use crate::model::{Process, Scenario, Traffic, TrafficKind, Transport};
use crate::routed::{RoutedScenario, Source};

/// An entry of the traffic that hosts of Linux cannot play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotLive {
    /// JSON pointer to what they do not have.
    pub pointer: String,
    /// What it is and what would be right.
    pub reason: String,
}

impl fmt::Display for NotLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; or use 'slotwise simulate'", self.pointer, self.reason)
    }
}

impl Scenario {
    /// What a live run cannot do: faults, or the first entry that hosts of Linux cannot play, with congestion controls that their kernel has
    /// (`net.ipv4.tcp_available_congestion_control`).
    pub fn not_live(&self, kernel: &[&str]) -> Option<NotLive> {
        if !self.faults.is_empty() {
            return Some(NotLive {
                pointer: "/faults".into(),
                reason: "faults are drawn in virtual time only".into(),
            });
        }
        let phases = self.phases.iter().enumerate();
        let mut entries = phases.flat_map(|(p, phase)| {
            let traffic = phase.traffic.iter().enumerate();
            traffic.map(move |(t, traffic)| (format!("/phases/{p}/traffic/{t}"), traffic))
        });
        entries.find_map(|(place, traffic)| {
            let (key, reason) = refused(traffic, kernel)?;
            Some(NotLive {
                pointer: format!("{place}/{key}"),
                reason,
            })
        })
    }
}

impl RoutedScenario {
    /// The same of a network of routers.
    pub fn not_live(&self, kernel: &[&str]) -> Option<NotLive> {
        if !self.faults.is_empty() {
            return Some(NotLive {
                pointer: "/faults".into(),
                reason: "faults are drawn in virtual time only".into(),
            });
        }
        let mut flows = self.flows.iter().enumerate();
        flows.find_map(|(index, flow)| {
            let (key, reason) = match flow.source {
                Source::Web { .. } => (
                    "web",
                    "hosts of Linux play no users of the web; expected a stream or udp".into(),
                ),
                Source::Udp {
                    process: Process::OnOffPareto(_),
                    ..
                } => ("udp/process", "iperf3 sends no bursts; expected constant".into()),
                Source::Udp { .. } => return None,
                Source::Stream { .. } => ("transport", missing(flow.transport, kernel)?),
            };
            Some(NotLive {
                pointer: format!("/flows/{index}/{key}"),
                reason,
            })
        })
    }
}

/// The key at fault and the reason.
fn refused(traffic: &Traffic, kernel: &[&str]) -> Option<(&'static str, String)> {
    match traffic.kind {
        TrafficKind::Web { .. } => {
            return Some((
                "kind",
                "hosts of Linux play no users of the web; expected tcp, udp or file".into(),
            ));
        }
        TrafficKind::Udp {
            process: Process::OnOffPareto(_),
            ..
        } => return Some(("process", "iperf3 sends no bursts; expected constant".into())),
        _ => {}
    }
    Some(("transport", missing(traffic.kind.transport()?, kernel)?))
}

/// Why hosts with this kernel do not have it, if they do not.
fn missing(transport: Transport, kernel: &[&str]) -> Option<String> {
    match transport.kernel_name() {
        None => Some("hosts of Linux have no XCP; expected cubic, newreno or reno".into()),
        Some(name) if !kernel.contains(&name) => {
            let there = kernel.join(", ");
            Some(format!("this kernel has no TCP {name}; it has: {there}"))
        }
        Some(_) => None,
    }
}

impl Transport {
    /// What Linux calls it. Its reno is NewReno, with SACK where both ends have it; it has no older one.
    pub fn kernel_name(self) -> Option<&'static str> {
        match self {
            Transport::Reno | Transport::NewReno => Some("reno"),
            Transport::Cubic => Some("cubic"),
            Transport::Xcp => None,
        }
    }
}
