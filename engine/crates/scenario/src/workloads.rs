// SPDX-License-Identifier: Apache-2.0
//! Workloads: random or listed flows that start and end during the run.

mod check;
mod files;
mod keys;
mod pairs;
mod sizes;

use std::sync::Arc;

use slotwise_units::{Bytes, Duration, Instant};
use slotwise_workload::{
    ClosedLoop, Collective, CollectiveConfig, Flow, Incast, IncastConfig, ListFormat, Load, OpenLoop, Pattern, Poisson,
    Sizes, Workload as Generator, WorkloadError,
};

use crate::doc::Doc;
use crate::model::{Scenario, Transport};
use crate::reader::{Fields, Reader};
use crate::routed::Tcp;

pub(crate) use check::check;
pub use files::OpenFile;
pub(crate) use files::{load, unread};
pub(crate) use keys::WorkloadKeys;

/// Key of the workloads of a file.
pub(crate) const WORKLOADS: &str = "workloads";
/// Maximum number of workloads.
pub(crate) const MAX_WORKLOADS: usize = 256;
/// Keys of a workload whose value names hosts, or lists of them.
pub(crate) const HOST_KEYS: [&str; 2] = ["from", "to"];
/// Keys of a workload below which a file of flows is named.
pub(crate) const FILE_KEYS: [&str; 3] = ["list", "coflows", "pcap"];

/// Flows between some hosts, from one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Name, unique in the scenario.
    pub name: String,
    /// Numbers of its hosts in the network, by their numbers in the workload.
    pub hosts: Vec<usize>,
    /// Source of the flows.
    pub source: WorkloadSource,
    /// Transport of flows without an entry in `by_size`.
    pub transport: FlowTransport,
    /// Transports of flows below a size; bounds rise.
    pub by_size: Vec<(Bytes, FlowTransport)>,
    /// True if SACK is used, false if not; `None`: the default of the transport.
    pub sack: Option<bool>,
    /// TCP settings.
    pub tcp: Tcp,
    /// Size of the largest IP packet.
    pub packet_bytes: u32,
    /// Start, from the start of the first phase; times of lists count from here.
    pub start: Duration,
    /// Time from which no flow starts; `None`: the end of the run.
    pub stop: Option<Duration>,
}

/// Transport of a flow of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlowTransport {
    /// A connection with this congestion control.
    Stream(Transport),
    /// Datagrams at the rate of the sender's link, without acknowledgments.
    Udp,
}

impl FlowTransport {
    /// Names in a scenario file.
    fn words() -> impl Iterator<Item = (&'static str, FlowTransport)> {
        let streams = Transport::words().map(|(name, transport)| (name, FlowTransport::Stream(transport)));
        streams.chain([("udp", FlowTransport::Udp)])
    }

    /// Returns the name in a scenario file.
    pub fn name(self) -> &'static str {
        match self {
            FlowTransport::Stream(transport) => transport.name(),
            FlowTransport::Udp => "udp",
        }
    }
}

/// Source of the flows of a workload.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadSource {
    /// Poisson arrivals at a load, in an open loop.
    Poisson {
        /// Flow sizes.
        sizes: Sizes,
        /// Pairs of hosts.
        pattern: Pattern,
        /// Load.
        load: Load,
    },
    /// A number of flows in progress from each host.
    Closed {
        /// Flow sizes.
        sizes: Sizes,
        /// Pairs of hosts.
        pattern: Pattern,
        /// Flows in progress.
        flows_per_host: u32,
        /// Mean pause between two flows.
        pause: Duration,
    },
    /// Bursts from many hosts to one.
    Incast(IncastConfig),
    /// A collective of distributed training.
    Collective(CollectiveConfig),
    /// Flows of a file.
    File(FlowFile),
}

/// Flows that a file lists.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowFile {
    /// Format of the file.
    pub format: FileFormat,
    /// Path, relative to the scenario file.
    pub path: String,
    /// Its flows, once the file is read.
    pub flows: Arc<Vec<Flow>>,
}

/// Format of a file of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Flow list.
    List(ListFormat),
    /// Coflow trace, whose sizes are divided by a number.
    Coflows(u64),
    /// Capture.
    Pcap,
}

impl FileFormat {
    /// Returns the key of a workload with such a file.
    pub fn key(self) -> &'static str {
        match self {
            FileFormat::List(_) => "list",
            FileFormat::Coflows(_) => "coflows",
            FileFormat::Pcap => "pcap",
        }
    }
}

impl Workload {
    /// Returns the word for the source in reports.
    pub fn kind(&self) -> &'static str {
        match &self.source {
            WorkloadSource::Poisson { .. } => "poisson",
            WorkloadSource::Closed { .. } => "closed",
            WorkloadSource::Incast(_) => "incast",
            WorkloadSource::Collective(_) => "collective",
            WorkloadSource::File(file) => file.format.key(),
        }
    }

    /// Returns the transport of a flow of a size.
    pub fn transport_of(&self, size: Bytes) -> FlowTransport {
        let by_size = self.by_size.iter().find(|(below, _)| size < *below);
        by_size.map_or(self.transport, |(_, transport)| *transport)
    }

    /// Returns all transports of its flows.
    pub fn transports(&self) -> impl Iterator<Item = FlowTransport> + '_ {
        let by_size = self.by_size.iter().map(|(_, transport)| *transport);
        by_size.chain([self.transport])
    }

    /// Returns the source of flows that start before `end`, a time since the start of the workload. The same seed gives the same flows.
    ///
    /// # Errors
    /// A setting is out of its range.
    pub fn generator(&self, seed: u64, end: Instant) -> Result<Box<dyn Generator + Send>, WorkloadError> {
        let hosts = self.hosts.len() as u32;
        Ok(match &self.source {
            WorkloadSource::Poisson { sizes, pattern, load } => {
                let flows = Poisson::new(sizes.clone(), (pattern, hosts), *load, end, seed)?;
                Box::new(OpenLoop::new(flows))
            }
            WorkloadSource::Closed {
                sizes,
                pattern,
                flows_per_host,
                pause,
            } => {
                let settings = (*flows_per_host, *pause);
                Box::new(ClosedLoop::new(sizes.clone(), (pattern, hosts), settings, end, seed)?)
            }
            WorkloadSource::Incast(config) => Box::new(OpenLoop::new(Incast::new(config.clone(), end, seed)?)),
            WorkloadSource::Collective(config) => Box::new(Collective::new(*config)?),
            WorkloadSource::File(file) => {
                let flows = file.flows.clone();
                let flows = (0..flows.len()).map(move |place| flows[place]);
                Box::new(OpenLoop::new(flows.take_while(move |flow| flow.start < end)))
            }
        })
    }
}

impl Scenario {
    /// Returns the time since the start of a workload from which on none of its flows starts.
    pub fn workload_end(&self, workload: &Workload) -> Instant {
        let run = Duration::from_ms(self.duration_ms());
        let stop = workload.stop.map_or(run, |stop| stop.min(run));
        Instant::ZERO + stop.saturating_sub(workload.start)
    }
}

/// Reads the workloads of a file, whose hosts are known.
pub(crate) fn workloads(r: &mut Reader, fields: &Fields, scenario: &Scenario) -> Vec<Workload> {
    let entries: Vec<(&Doc, String)> = r.optional_list(fields, WORKLOADS, 0..=MAX_WORKLOADS);
    let entries = entries.into_iter();
    entries
        .filter_map(|(value, place)| keys::workload(r, value, place, scenario))
        .collect()
}
