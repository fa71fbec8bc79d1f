// SPDX-License-Identifier: Apache-2.0
//! Flows, hosts, and sources of flows.

use std::collections::HashMap;

use slotwise_units::{Bytes, Instant};

use crate::error::Problem;

/// Number of a host in a workload, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIndex(pub u32);

/// Number of a coflow in its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoflowId(pub u64);

/// A transfer of data from one host to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number in its workload, unique among the flows in progress.
    pub number: u64,
    /// Start.
    pub start: Instant,
    /// Sending host.
    pub source: HostIndex,
    /// Receiving host.
    pub destination: HostIndex,
    /// Data.
    pub size: Bytes,
    /// Coflow that the flow is part of.
    pub coflow: Option<CoflowId>,
}

/// A source of flows in order of their starts.
///
/// The owner takes each flow at its start and reports its completion. A workload in an open loop ignores completions.
pub trait Workload {
    /// Returns the start of the next flow; `None` if no flow starts before another one completes, or at all.
    fn next_start(&self) -> Option<Instant>;

    /// Returns the next flow, with the start that [`Workload::next_start`] returned.
    fn next_flow(&mut self) -> Option<Flow>;

    /// Reports the completion of a flow.
    fn completed(&mut self, now: Instant, flow: &Flow);
}

/// A workload in an open loop: flows of an iterator in order of their starts.
pub struct OpenLoop<I: Iterator<Item = Flow>> {
    flows: I,
    next: Option<Flow>,
}

impl<I: Iterator<Item = Flow>> OpenLoop<I> {
    /// Makes a workload of an iterator.
    pub fn new(mut flows: I) -> OpenLoop<I> {
        let next = flows.next();
        OpenLoop { flows, next }
    }
}

impl<I: Iterator<Item = Flow>> Workload for OpenLoop<I> {
    fn next_start(&self) -> Option<Instant> {
        self.next.map(|flow| flow.start)
    }

    fn next_flow(&mut self) -> Option<Flow> {
        std::mem::replace(&mut self.next, self.flows.next())
    }

    fn completed(&mut self, _now: Instant, _flow: &Flow) {}
}

/// Hosts that the files of a workload name.
#[derive(Clone, Debug)]
pub enum Hosts {
    /// So many hosts with the names 0, 1 and so on.
    Numbered(u32),
    /// Hosts by name, or by number from 0.
    Named(HashMap<String, HostIndex>),
}

impl Hosts {
    /// Returns hosts with these names, in their order.
    pub fn named(names: impl IntoIterator<Item = String>) -> Hosts {
        Hosts::Named(
            (0..)
                .map(HostIndex)
                .zip(names)
                .map(|(index, name)| (name, index))
                .collect(),
        )
    }

    /// Returns the number of hosts.
    pub fn count(&self) -> u32 {
        match self {
            Hosts::Numbered(count) => *count,
            Hosts::Named(names) => names.len() as u32,
        }
    }

    /// Returns the host of a name.
    pub(crate) fn find(&self, name: &str) -> Result<HostIndex, Problem> {
        let Hosts::Named(names) = self else {
            return self.numbered(name);
        };
        let named = names.get(name).copied().ok_or(());
        named
            .or_else(|()| self.numbered(name))
            .map_err(|_| Problem::UnknownHost {
                got: name.to_owned(),
                expected: "a host of the network".to_owned(),
            })
    }

    /// Returns the host of a number.
    pub(crate) fn numbered(&self, number: &str) -> Result<HostIndex, Problem> {
        let index = number.parse().ok().filter(|index| *index < self.count());
        index.map(HostIndex).ok_or_else(|| Problem::UnknownHost {
            got: number.to_owned(),
            expected: format!("0 to {}", self.count().saturating_sub(1)),
        })
    }
}
