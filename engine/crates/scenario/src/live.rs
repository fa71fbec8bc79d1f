// SPDX-License-Identifier: Apache-2.0
//! What hosts of Linux can play in a live run, what the engine plays there itself, and what a live run cannot have.

use std::fmt;

use crate::model::{Process, Scenario, TrafficKind, Transport};
use crate::routed::{FlowGroup, Source, Tcp};
use crate::workloads::WORKLOADS;

impl TrafficKind {
    /// Whether hosts of Linux can play it: they have no XCP, and iperf3 no users of the web and no process but the constant one. What
    /// they cannot play the engine plays in a live run, too.
    pub fn is_of_linux(&self) -> bool {
        match self {
            TrafficKind::Web { .. } => false,
            TrafficKind::Udp { process, .. } => *process == Process::Constant,
            TrafficKind::Tcp { transport, .. } | TrafficKind::File { transport, .. } => {
                transport.kernel_name().is_some()
            }
        }
    }
}

impl FlowGroup {
    /// The same of flows between groups of hosts. iperf3 marks no packets here.
    pub fn is_of_linux(&self) -> bool {
        // Of Linux one flow of two hosts is asked for, and it measures no order.
        match self.source {
            _ if self.dscp > 0 || self.each > 1 || self.measure || self.stop_ms.is_some() => false,
            Source::Web { .. } | Source::Gtp(_) => false,
            Source::Udp { process, .. } => process == Process::Constant,
            Source::Stream { .. } => {
                self.transport.kernel_name().is_some() && (self.tcp == Tcp::default() || self.tcp == Tcp::LINUX)
            }
        }
    }
}

/// What of a scenario a live run cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotLive {
    /// JSON pointer to what they do not have.
    pub pointer: String,
    /// What it is and what would be right.
    pub reason: String,
}

impl fmt::Display for NotLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, or 'slotwise simulate'", self.pointer, self.reason)
    }
}

impl Scenario {
    /// How many flows of a phase hosts of Linux play in a live run; files are told of by themselves.
    pub fn linux_flows_of(&self, phase: usize) -> usize {
        let is_flow = |kind: &TrafficKind| kind.is_of_linux() && !matches!(kind, TrafficKind::File { .. });
        self.flows(phase).iter().filter(|flow| is_flow(&flow.kind)).count()
    }

    /// The same of the flows over the whole run.
    pub fn linux_flows(&self) -> usize {
        let groups = self.routed.flows.iter().filter(|group| group.is_of_linux());
        groups.map(|group| self.flow_hosts(group).len()).sum()
    }

    /// What a live run cannot do: faults, or the first entry for hosts of Linux whose congestion control is not among those of their kernel
    /// (`net.ipv4.tcp_available_congestion_control`).
    pub fn not_live(&self, kernel: &[&str]) -> Option<NotLive> {
        if !self.faults.is_empty() {
            return Some(faults());
        }
        if !self.workloads.is_empty() {
            return Some(NotLive {
                pointer: format!("/{WORKLOADS}"),
                reason: "workloads run in virtual time only; expected no workloads".into(),
            });
        }
        let phases = self.phases.iter().enumerate();
        let entries = phases.flat_map(|(p, phase)| {
            let traffic = phase.traffic.iter().enumerate();
            traffic.map(move |(t, traffic)| (format!("/phases/{p}/flows/{t}/transport"), traffic.kind))
        });
        let streams = entries.filter(|(_, kind)| kind.is_of_linux());
        let streams = streams.filter_map(|(pointer, kind)| Some((pointer, kind.transport()?)));
        let flows = self.routed.flows.iter().enumerate();
        let flows = flows.filter(|(_, flow)| flow.is_of_linux() && matches!(flow.source, Source::Stream { .. }));
        let flows = flows.map(|(index, flow)| (format!("/flows/{index}/transport"), flow.transport));
        streams.chain(flows).find_map(|(pointer, transport)| {
            let reason = missing(transport, kernel)?;
            Some(NotLive { pointer, reason })
        })
    }
}

fn faults() -> NotLive {
    NotLive {
        pointer: "/faults".into(),
        reason: "faults are injected in virtual time only; expected no faults".into(),
    }
}

/// Why hosts with this kernel do not have it, if they do not.
fn missing(transport: Transport, kernel: &[&str]) -> Option<String> {
    let name = transport.kernel_name()?;
    (!kernel.contains(&name)).then(|| {
        format!(
            "this kernel does not provide TCP {name}; expected one of {}",
            kernel.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the hosts of Linux play of an example's flows.
    #[test]
    fn hosts_of_linux_play_what_linux_has() {
        let routers = include_bytes!("../../../../schema/examples/valid/routers.yaml");
        let scenario = Scenario::parse(routers).unwrap();
        let of_linux = |name: &str| {
            let flow = scenario.routed.flows.iter().find(|flow| flow.name == name).unwrap();
            flow.is_of_linux()
        };
        assert!(of_linux("of-linux"));
        assert!(!of_linux("set"), "settings that Linux has not");
        assert!(!of_linux("bursts"));
        assert!((1..scenario.routed.flows.len()).contains(&scenario.linux_flows()));
        let mesh = Scenario::parse(include_bytes!("../../../../topologies/mesh5.yaml")).unwrap();
        assert_eq!((mesh.linux_flows_of(0), mesh.linux_flows()), (0, 5));
        let star = Scenario::parse(include_bytes!("../../../../topologies/star4.yaml")).unwrap();
        assert_eq!((star.linux_flows_of(0), star.linux_flows()), (star.flows(0).len(), 0));
    }
}
