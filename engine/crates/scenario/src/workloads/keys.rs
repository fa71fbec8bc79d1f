// SPDX-License-Identifier: Apache-2.0
//! Keys of a workload.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use slotwise_units::{Bytes, Duration, Instant, Rate};
use slotwise_workload::{
    CollectiveConfig, Every, HostIndex, IncastConfig, ListFormat, Load, Operation, Pattern, Sizes,
};

use super::{FileFormat, FlowFile, FlowTransport, Workload, WorkloadSource, pairs, sizes};
use crate::address::Endpoint;
use crate::doc::Doc;
use crate::model::{Scenario, Transport};
use crate::parse::{DURATION_MS, FILE_BYTES, RATE_BPS};
use crate::reader::{Fields, Reader, shortened};
use crate::routed::{FLOW_PACKET_BYTES, Party, Tcp, TcpOrLinux, tcp};
use crate::section::{Section as _, above, flag, integer, list, name, nested, one_of, section, string, word};

/// Highest load, so that a wrong unit is found early.
const MAX_LOAD: f64 = 100.0;
const COUNT: RangeInclusive<u64> = 1..=1_000_000;
const DIVISOR: RangeInclusive<u64> = 1..=1_000_000_000;
const TIME_NS: RangeInclusive<u64> = 0..=1_000_000 * *DURATION_MS.end();
const PERIOD_NS: RangeInclusive<u64> = 1..=*TIME_NS.end();
const BY_SIZE: RangeInclusive<usize> = 0..=16;
/// Capacity of many links together.
const CAPACITY_BPS: RangeInclusive<u64> = 1..=10_000 * *RATE_BPS.end();
const FORMATS: [(&str, ListFormat); 4] = [
    ("csv", ListFormat::Csv),
    ("opera-sim", ListFormat::OperaSim),
    ("hpcc", ListFormat::Hpcc),
    ("shoal", ListFormat::Shoal),
];

/// Collective, without its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OperationName {
    Ring,
    Tree,
    AllToAll,
    Pipeline,
}

const OPERATIONS: [(&str, OperationName); 4] = [
    ("ring", OperationName::Ring),
    ("tree", OperationName::Tree),
    ("all-to-all", OperationName::AllToAll),
    ("pipeline", OperationName::Pipeline),
];

section! {
    /// Flows that start and end during the run: Poisson arrivals at a `load`, a `closed` loop, an `incast`, a `collective`, or those of a
    /// file (`list`, `coflows`, `pcap`). Simulation only.
    #[derive(Debug)]
    pub(crate) struct WorkloadKeys [r, fields, hosts: &'c Hosts<'c>] {
        /// Name of the workload, unique in the scenario.
        name: String = "name" required, name();
        /// Sending hosts: host groups, all hosts of an edge (`edgeN`), or hosts of edges (`hE_I`). Default: all hosts.
        from: Vec<usize> = "from" read_optional(hosts.all(r, fields, "from")), one_of(name(), list(1..=10_000, name()));
        /// Receiving hosts, in the same form. Default: the senders, which then send to each other.
        to: Vec<usize> = "to" read_optional(hosts.all(r, fields, "to")), one_of(name(), list(1..=10_000, name()));
        /// Flow sizes: a shipped table (`slotwise workload tables`), a size such as `20 KB`, or `exponential 20 KB`; or a table with more
        /// keys.
        sizes: Option<Sizes> = "sizes" read_optional(sizes::sizes(r, fields, "sizes")), one_of(string(), nested::<sizes::SizeKeys>());
        /// Load of Poisson arrivals: data of all flows, as a fraction of the capacity.
        load: Option<f64> = "load" optional, above(0.0, MAX_LOAD);
        /// Capacity that a load refers to, such as that of uplinks. Default: the sum of the senders' link rates.
        capacity: Option<Rate> = "capacity_bps" optional, integer(CAPACITY_BPS);
        /// Pairs of hosts, with a probability each: `all`, `permutation`, or a pattern with keys; with `to`: `each` or `same`. Several in
        /// a list take turns. Default: `all`, with `to` `each`.
        pairs: Vec<pairs::Pairs> = "pairs" read_optional(pairs::pairs(r, fields, "pairs")), pairs::PairsShape;
        /// Duration of each pattern in ns, if `pairs` is a list.
        turn: Option<Duration> = "turn_ns" optional, integer(PERIOD_NS);
        /// Closed loop: a number of flows in progress from each host.
        closed: Option<ClosedKeys> = "closed" optional, nested::<ClosedKeys>();
        /// Bursts of flows from many hosts to one; each is a coflow.
        incast: Option<IncastKeys> = "incast" optional, nested::<IncastKeys>();
        /// Collective of distributed training; each round is a coflow.
        collective: Option<CollectiveKeys> = "collective" optional, nested::<CollectiveKeys>();
        /// Flow list.
        list: Option<ListKeys> = "list" optional, nested::<ListKeys>();
        /// Coflow trace in the format of Coflow-Benchmark.
        coflows: Option<CoflowKeys> = "coflows" optional, nested::<CoflowKeys>();
        /// Capture: each IP packet is a datagram of its size at its time.
        pcap: Option<PcapKeys> = "pcap" optional, nested::<PcapKeys>();
        /// Congestion control, or `udp`: datagrams at the rate of the sender's link. Default: `cubic`, with `pcap` `udp`.
        transport: Option<FlowTransport> = "transport" optional, word(FlowTransport::words());
        /// Transports of flows below a size; the first entry whose bound is above the size applies.
        by_size: Vec<ByFlowSize> = "by_size" read_optional(by_size(r, fields)), list(BY_SIZE, nested::<ByFlowSize>());
        /// If true, SACK is used. Default: true with `cubic`, `highspeed`, `dctcp` and `xcp`, else false.
        sack: Option<bool> = "sack" optional, flag();
        /// TCP settings, or `linux`: those of Linux, with SACK.
        tcp: Tcp = "tcp" read_optional(tcp_of(r, fields, transport.unwrap_or(default_transport(pcap.is_some())), &by_size, sack)), TcpOrLinux;
        /// Largest IP packet in bytes. Default: that of the scenario.
        packet_bytes: u32 = "packet_bytes" or(hosts.packet_bytes()), integer(FLOW_PACKET_BYTES);
        /// Start in ns; times in files are relative to it. Default: 0.
        start: Duration = "start_ns" or(Duration::ZERO), integer(TIME_NS);
        /// No flow starts from this time on, in ns. Default: the end of the run.
        stop: Option<Duration> = "stop_ns" optional, integer(TIME_NS);
    }
    kinds {
        "closed" without ["load", "capacity_bps", "incast", "collective", "list", "coflows", "pcap"],
        "incast" without ["load", "sizes", "pairs", "turn_ns", "to", "collective", "list", "coflows", "pcap"],
        "collective" without ["load", "capacity_bps", "sizes", "pairs", "turn_ns", "to", "list", "coflows", "pcap"],
        "list" without ["load", "capacity_bps", "sizes", "pairs", "turn_ns", "to", "coflows", "pcap"],
        "coflows" without ["load", "capacity_bps", "sizes", "pairs", "turn_ns", "to", "pcap"],
        "pcap" without ["load", "capacity_bps", "sizes", "pairs", "turn_ns", "to"],
    }
    any ["load", "closed", "incast", "collective", "list", "coflows", "pcap"]
}

/// Ports that a host has for flows to one port of another host.
const MAX_FLOWS_PER_HOST: u64 = 64_000;

section! {
    /// Closed loop.
    #[derive(Debug)]
    pub(crate) struct ClosedKeys {
        /// Flows in progress from each host. Default: 1.
        flows_per_host: u32 = "flows_per_host" or(1), integer(1..=MAX_FLOWS_PER_HOST);
        /// Mean pause in ns from the arrival of a flow to the start of the next one, exponential. Default: 0.
        pause: Duration = "pause_ns" or(Duration::ZERO), integer(TIME_NS);
    }
}

section! {
    /// Incast.
    #[derive(Debug)]
    pub(crate) struct IncastKeys {
        /// Sending hosts of each burst, drawn each time.
        senders: u32 = "senders" required, integer(COUNT);
        /// Receiving host: its place in `from`, from 0. Default: drawn for each burst.
        receiver: Option<u32> = "receiver" optional, integer(0..=*COUNT.end());
        /// Data of each sender in bytes.
        size: Bytes = "size_bytes" required, integer(FILE_BYTES);
        /// Time between bursts in ns. Default: one burst.
        every: Option<Duration> = "every_ns" optional, integer(PERIOD_NS);
        /// Poisson bursts at this load.
        load: Option<f64> = "load" optional, above(0.0, MAX_LOAD);
    }
    kinds { "every_ns" without ["load"] }
}

section! {
    /// Collective.
    #[derive(Debug)]
    pub(crate) struct CollectiveKeys {
        /// Operation: all-reduce on a ring (`ring`) or on a binary tree (`tree`), each host to each other host (`all-to-all`), or
        /// micro-batches through groups of hosts (`pipeline`).
        operation: OperationName = "operation" required, word(OPERATIONS);
        /// Data in bytes: of the vector, of a pair (`all-to-all`), or of a micro-batch in a host (`pipeline`).
        size: Bytes = "size_bytes" required, integer(FILE_BYTES);
        /// Time in ns from the last arrival that a step needs to the step, and between rounds. Default: 0.
        compute: Duration = "compute_ns" or(Duration::ZERO), integer(TIME_NS);
        /// Rounds, one after another. Default: 1.
        rounds: u32 = "rounds" or(1), integer(COUNT);
        /// Number of parts of the vector (`tree`). Default: 1.
        chunks: u32 = "chunks" or(1), integer(COUNT);
        /// Groups of hosts (`pipeline`). Default: 2.
        stages: u32 = "stages" or(2), integer(COUNT);
        /// Micro-batches (`pipeline`). Default: 1.
        micro_batches: u32 = "micro_batches" or(1), integer(COUNT);
    }
}

section! {
    /// Flow list.
    #[derive(Debug)]
    pub(crate) struct ListKeys {
        /// File, relative to this one.
        file: String = "file" required, string();
        /// Format (docs/workloads.md#flow-lists). Default: `csv`.
        format: ListFormat = "format" or(ListFormat::Csv), word(FORMATS);
    }
}

section! {
    /// Coflow trace.
    #[derive(Debug)]
    pub(crate) struct CoflowKeys {
        /// File, relative to this one.
        file: String = "file" required, string();
        /// Divisor of all sizes. Default: 1.
        divide: u64 = "divide" or(1), integer(DIVISOR);
    }
}

section! {
    /// Capture.
    #[derive(Debug)]
    pub(crate) struct PcapKeys {
        /// File, relative to this one.
        file: String = "file" required, string();
    }
}

section! {
    /// Transport of flows below a size.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct ByFlowSize {
        /// Bound of the sizes in bytes.
        below: Bytes = "below_bytes" required, integer(FILE_BYTES);
        /// Congestion control, or `udp`.
        transport: FlowTransport = "transport" required, word(FlowTransport::words());
    }
}

fn by_size(r: &mut Reader, fields: &Fields) -> Vec<ByFlowSize> {
    let entries = r.optional_list(fields, "by_size", BY_SIZE);
    let mut read: Vec<ByFlowSize> = Vec::new();
    for (value, place) in entries {
        let entry = ByFlowSize::of(r, value, place.clone(), ());
        if let Some(before) = read.last().filter(|before| before.below >= entry.below) {
            let expected = format!("more than the {} of the entry before", before.below);
            r.report(
                format!("{place}/below_bytes"),
                format!("bound {} does not rise", entry.below),
                expected,
            );
        }
        read.push(entry);
    }
    read
}

/// Returns the transport of a workload without the key.
fn default_transport(is_pcap: bool) -> FlowTransport {
    match is_pcap {
        true => FlowTransport::Udp,
        false => FlowTransport::Stream(Transport::default()),
    }
}

/// Reads the TCP settings of a workload, which apply to each of its transports other than `udp`.
fn tcp_of(
    r: &mut Reader,
    fields: &Fields,
    transport: FlowTransport,
    by_size: &[ByFlowSize],
    sack: Option<bool>,
) -> Tcp {
    let transports = [transport]
        .into_iter()
        .chain(by_size.iter().map(|entry| entry.transport));
    let mut read = None;
    let before = r.problems.len();
    for transport in transports {
        if let FlowTransport::Stream(transport) = transport
            && r.problems.len() == before
        {
            read = Some(tcp(r, fields, transport, sack.unwrap_or(transport.uses_sack())));
        }
    }
    read.unwrap_or_else(|| {
        for key in ["tcp", "sack"] {
            if r.optional(fields, key).is_some() {
                r.report(
                    fields.pointer(key),
                    format!("'{key}' where all flows are 'udp'"),
                    "another 'transport', or no such key",
                );
            }
        }
        Tcp::default()
    })
}

/// Hosts of a network by their names in files.
pub(crate) struct Hosts<'a> {
    scenario: &'a Scenario,
    groups: Vec<String>,
}

impl<'a> Hosts<'a> {
    fn of(scenario: &'a Scenario) -> Hosts<'a> {
        Hosts {
            scenario,
            groups: scenario.routed.hosts.iter().map(|group| group.name.clone()).collect(),
        }
    }

    fn packet_bytes(&self) -> u32 {
        match self.scenario.has_star() && !self.scenario.has_groups() {
            true => self.scenario.hosts.mtu,
            false => self.scenario.routed.packet_bytes,
        }
    }

    /// Numbers of the hosts of a name.
    fn find(&self, name: &str) -> Option<Range<usize>> {
        if let Some(group) = self.groups.iter().position(|group| group == name) {
            return Some(self.scenario.host_numbers(Party::Group(group)));
        }
        let endpoint = Endpoint::parse(name).filter(|_| self.scenario.has_star())?;
        let edges = &self.scenario.edges;
        let is_there = match endpoint {
            Endpoint::All => true,
            Endpoint::Edge(edge) => usize::from(edge) < edges.len(),
            Endpoint::Host(host) => edges
                .get(usize::from(host.edge))
                .is_some_and(|edge| host.index < edge.hosts),
        };
        is_there.then(|| self.scenario.host_numbers(Party::Star(endpoint)))
    }

    /// Numbers of the hosts under a key, which has a name or a list of them; empty without the key.
    fn all(&self, r: &mut Reader, fields: &Fields, key: &str) -> Vec<usize> {
        let Some(value) = r.optional(fields, key) else {
            return Vec::new();
        };
        let place = fields.pointer(key);
        let names: Vec<(&Doc, String)> = match value.as_list() {
            Some(names) => (0..)
                .zip(names)
                .map(|(index, name)| (name, format!("{place}/{index}")))
                .collect(),
            None => vec![(value, place)],
        };
        let mut numbers: Vec<usize> = Vec::new();
        let mut known = std::collections::BTreeSet::new();
        for (value, place) in names {
            let found = value.as_written().and_then(|name| self.find(name));
            let Some(found) = found else {
                let expected = match &self.groups[..] {
                    [] => "the hosts of an edge ('edge0'), or one ('h0_0')".to_owned(),
                    groups => format!("a group of hosts: {}", shortened(groups)),
                };
                r.report(place, format!("unknown hosts: found {}", value.describe()), expected);
                return Vec::new();
            };
            if let Some(twice) = found.clone().find(|host| !known.insert(*host)) {
                r.report(place, format!("host {twice} given twice"), "each host once");
                return Vec::new();
            }
            numbers.extend(found);
        }
        numbers
    }

    /// Rates of the access links of some hosts together.
    fn capacity(&self, hosts: &[usize]) -> Rate {
        let star = self.scenario.edge_host_count();
        let groups = &self.scenario.routed.hosts;
        let of_groups = groups
            .iter()
            .flat_map(|group| std::iter::repeat_n(group.rate, group.count as usize));
        let of_groups: Vec<Rate> = of_groups.collect();
        let rate = |host: &usize| match host.checked_sub(star) {
            None => self.scenario.hosts.access_rate,
            Some(host) => of_groups[host],
        };
        Rate::from_bps(hosts.iter().map(|host| rate(host).bps()).sum())
    }
}

/// Reads a workload. Reports problems; `None` if it has any.
pub(super) fn workload(r: &mut Reader, value: &Doc, place: String, scenario: &Scenario) -> Option<Workload> {
    let before = r.problems.len();
    let hosts = Hosts::of(scenario);
    let keys = WorkloadKeys::of(r, value, place.clone(), &hosts);
    if r.problems.len() > before {
        return None;
    }
    let has_receivers = !keys.to.is_empty();
    let senders = match keys.from.is_empty() {
        true => (0..scenario.host_count()).collect(),
        false => keys.from,
    };
    let capacity = keys.capacity.unwrap_or_else(|| hosts.capacity(&senders));
    let load = |fraction| Load { fraction, capacity };
    let mut report = |key: &str, reason: &str, expected: &str| {
        r.report(format!("{place}/{key}"), reason, expected);
        None
    };
    let mut all = senders.clone();
    let known: std::collections::BTreeSet<usize> = senders.iter().copied().collect();
    all.extend(keys.to.iter().filter(|host| !known.contains(host)));
    if all.len() < 2 {
        return report("from", "a workload of one host", "at least two hosts");
    }
    let ends = pairs::Ends {
        senders: senders.len() as u32,
        receivers: has_receivers.then(|| {
            let places: std::collections::BTreeMap<usize, u32> = all.iter().copied().zip(0..).collect();
            keys.to.iter().map(|host| places[host]).collect()
        }),
    };
    let file = |format, path: &str| {
        Some(WorkloadSource::File(FlowFile {
            format,
            path: path.to_owned(),
            flows: Arc::default(),
        }))
    };
    let count = all.len() as u32;
    let source = if let Some(incast) = keys.incast {
        let every = match (incast.every, incast.load) {
            (Some(period), _) => Every::Period(period),
            (None, Some(fraction)) => Every::Load(load(fraction)),
            (None, None) => Every::Once,
        };
        if keys.capacity.is_some() && incast.load.is_none() {
            return report("capacity_bps", "a capacity without a load", "'load' in 'incast'");
        }
        Some(WorkloadSource::Incast(IncastConfig {
            hosts: count,
            senders: incast.senders,
            receiver: incast.receiver.map(HostIndex),
            size: incast.size,
            every,
        }))
    } else if let Some(collective) = keys.collective {
        Some(WorkloadSource::Collective(collective.config(count)))
    } else if let Some(list) = keys.list {
        file(FileFormat::List(list.format), &list.file)
    } else if let Some(coflows) = keys.coflows {
        file(FileFormat::Coflows(coflows.divide), &coflows.file)
    } else if let Some(pcap) = &keys.pcap {
        file(FileFormat::Pcap, &pcap.file)
    } else {
        let Some(sizes) = keys.sizes else {
            return report(
                "sizes",
                "missing key 'sizes'",
                "a table such as 'websearch', or a size such as '20 KB'",
            );
        };
        let pattern: Pattern = match pairs::pattern(&keys.pairs, keys.turn, &ends) {
            Ok(pattern) => pattern,
            Err((key, reason, expected)) => return report(key, &reason, &expected),
        };
        Some(match (keys.closed, keys.load) {
            (Some(closed), _) => WorkloadSource::Closed {
                sizes,
                pattern,
                flows_per_host: closed.flows_per_host,
                pause: closed.pause,
            },
            (None, fraction) => WorkloadSource::Poisson {
                sizes,
                pattern,
                load: load(fraction.unwrap_or_default()),
            },
        })
    };
    let default = default_transport(keys.pcap.is_some());
    let workload = Workload {
        name: keys.name,
        hosts: all,
        source: source?,
        transport: keys.transport.unwrap_or(default),
        by_size: keys
            .by_size
            .iter()
            .map(|entry| (entry.below, entry.transport))
            .collect(),
        sack: keys.sack,
        tcp: keys.tcp,
        packet_bytes: keys.packet_bytes,
        start: keys.start,
        stop: keys.stop,
    };
    // Hosts, shares and sizes that a generator rejects.
    if let Err(error) = workload.generator(1, Instant::ZERO) {
        let key = match &workload.source {
            WorkloadSource::Incast(_) => "/incast",
            WorkloadSource::Collective(_) => "/collective",
            _ => "",
        };
        let (reason, expected) = super::files::parts(&error);
        r.report(format!("{place}{key}"), reason, expected);
        return None;
    }
    Some(workload)
}

impl CollectiveKeys {
    fn config(&self, hosts: u32) -> CollectiveConfig {
        let operation = match self.operation {
            OperationName::Ring => Operation::RingAllReduce,
            OperationName::Tree => Operation::TreeAllReduce { chunks: self.chunks },
            OperationName::AllToAll => Operation::AllToAll,
            OperationName::Pipeline => Operation::ExpertPipeline {
                stages: self.stages,
                micro_batches: self.micro_batches,
            },
        };
        CollectiveConfig {
            operation,
            hosts,
            size: self.size,
            compute: self.compute,
            rounds: self.rounds,
        }
    }
}
