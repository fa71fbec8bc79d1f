// SPDX-License-Identifier: Apache-2.0
//! The content of a scenario file. A [`Scenario`] that exists has passed every check.

use std::ops::RangeInclusive;

use slotwise_units::{Bytes, Duration, Rate};
use slotwise_wire::{MAX_CORES, limits};

use crate::address::Endpoint;
use crate::clocks::Clocks;
use crate::faults::Faults;
use crate::ops::{Aggregation, Ops, OpsClass};
use crate::optics::{ATTENUATION_MDB, Optics};
use crate::own_scheduler::OwnScheduler;
use crate::parse::{AT_MS, STATION};
use crate::phases::Phase;
use crate::reader::{Fields, Reader};
use crate::ring::Ring;
use crate::routed::{Metric, Routed};
use crate::scheduler::{SchedulerChange, SchedulerChoice};
use crate::section::{Section, defined, flag, integer, list, nested, number, section, word};
use crate::tables::TableEntry;
use crate::workloads::Workload;

/// A report has 32 bits for the backlog.
const LIMIT_BYTES: RangeInclusive<u64> = 1..=u32::MAX as u64;

/// A network, what its hosts do, and what happens to its links. Whatever a network does not have is an empty list: without cores and
/// edges there is no star ([`Scenario::has_star`]), and what only stars have says nothing then.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Short name, for reports and file names.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Slots and frames.
    pub frame: Frame,
    /// Cores; core `i` stands at index `i`.
    pub cores: Vec<Core>,
    /// Edges; edge `i` stands at index `i`.
    pub edges: Vec<Edge>,
    /// Queues of line cards and access links.
    pub queues: Queues,
    /// How edges of the star make trains; `None`: each packet travels by itself.
    pub aggregation: Option<Aggregation>,
    /// Classes that have trains of their own in the star, without wavelengths and weights; none but by scheme class.
    pub classes: Vec<OpsClass>,
    /// Hosts and their access links.
    pub hosts: Hosts,
    /// Controller and commit protocol.
    pub controller: Controller,
    /// Routers, and what hosts of groups do.
    pub routed: Routed,
    /// A packet ring.
    pub ring: Option<Ring>,
    /// Optical packet switches.
    pub ops: Option<Ops>,
    /// What the hosts of the star do, one phase after the other; one without traffic where the file has none.
    pub phases: Vec<Phase>,
    /// The edges' own clocks; without them all have one.
    pub clocks: Option<Clocks>,
    /// Transmitters and receivers; without them no light is too weak.
    pub optics: Option<Optics>,
    /// Schedulers that are not the controller's own, in the order of the file.
    pub schedulers: Vec<OwnScheduler>,
    /// Other schedulers from some time on, in the order of the file.
    pub scheduler_changes: Vec<SchedulerChange>,
    /// What happens to fibres, in the order of the file.
    pub link_changes: Vec<LinkChange>,
    /// Faults on purpose. Virtual time only.
    pub faults: Vec<Faults>,
    /// Flows that start and end during the run, beside those of phases and groups.
    pub workloads: Vec<Workload>,
    /// Entries of tables that no application of the controller writes.
    pub tables: Vec<TableEntry>,
}

section! {
    /// TDM frame: division of time into slots.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Frame {
        /// Slots per frame. With in-band signaling or `clocks`, the first ones (one per edge) are signaling slots.
        /// Slots times cores: at most 4096.
        pub slots: u32 = "slots" required, integer(limits::SLOTS);
        /// Length of a slot in ns, guard time included.
        pub slot: Duration = "slot_ns" required, integer(limits::SLOT_NS);
        /// Guard time in ns at the start of each slot, in which the core reconfigures; shorter than the slot.
        pub guard: Duration = "guard_ns" required, integer(limits::GUARD_NS);
        /// Transport of requests and beacons. `in-band`: as light in signaling slots, which carry nothing else.
        /// `out-of-band`: between each switch and the controller, so that every slot carries data except, with
        /// `clocks`, those that measure edges by light. Default: `in-band`.
        pub signaling: Signaling = "signaling" or(Signaling::default()), word(Signaling::ALL.map(|signaling| (signaling.name(), signaling)));
    }
}

impl Frame {
    /// Where there is no star: a millisecond, by which the run is looked at.
    pub(crate) const NONE: Frame = Frame {
        slots: 1,
        slot: Duration::from_ms(1),
        guard: Duration::ZERO,
        signaling: Signaling::InBand,
    };
}

/// How requests and beacons travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signaling {
    /// As light in slots that carry nothing else, one an edge.
    #[default]
    InBand,
    /// Between each switch and the controller; every slot carries data.
    OutOfBand,
}

impl Signaling {
    /// Both.
    pub const ALL: [Signaling; 2] = [Signaling::InBand, Signaling::OutOfBand];

    /// The name in a scenario file and for the controller.
    pub fn name(self) -> &'static str {
        match self {
            Signaling::InBand => "in-band",
            Signaling::OutOfBand => "out-of-band",
        }
    }
}

section! {
    /// Photonic core.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Core {
        /// Number of the core: its index in the list, from 0.
        pub id: u16 = "id" required, integer(STATION);
        /// Edge that is co-located with the core and has a fibre to it; an edge is the master of one core at most.
        pub master: u16 = "master" required, integer(STATION);
    }
}

section! {
    /// Edge switch with its hosts.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Edge [r, fields, _context: ()] {
        /// Number of the edge: its index in the list, from 0.
        pub id: u16 = "id" required, integer(STATION);
        /// Number of hosts, on access ports 1 and up.
        pub hosts: u16 = "hosts" filled("1"), integer(limits::EDGE_HOSTS);
        /// Fibre pairs (one fibre per direction); at most one pair to each core. Edges that exchange traffic need a
        /// common core.
        pub fibres: Vec<Fibre> = "fibres" read(fibres(r, fields, id)), list(FIBRES, nested::<Fibre>());
    }
}

const FIBRES: RangeInclusive<usize> = 1..=MAX_CORES as usize;

fn fibres(r: &mut Reader, fields: &Fields, edge: u16) -> Vec<Fibre> {
    let elements = r.list(fields, "fibres", FIBRES).into_iter();
    elements
        .map(|(value, pointer)| Fibre::of(r, value, pointer, edge))
        .collect()
}

section! {
    /// Fibre pair (one fibre per direction) between an edge and a core.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Fibre [_r, fields, edge: u16] {
        /// Number of the core.
        pub core: u16 = "core" required, integer(STATION);
        /// Rate in bit/s; the same for all fibres of a core.
        pub rate: Rate = "rate_bps" filled("200000000"), integer(limits::RATE_BPS);
        /// Propagation delay in ns in each direction; also the edge's timing advance (T_d).
        pub delay: Duration = "delay_ns" filled("10000"), integer(limits::DELAY_NS);
        /// Probability of losing a packet in each direction. Default: 0.
        pub loss: f64 = "loss" or(0.0), number(0.0..=1.0);
        /// Port of the core. Edges with the same port share it through a combiner and splitter: one of them sends at
        /// a time, and all receive. The master's port cannot be shared. Default: the number of the edge.
        pub port: u16 = "port" or(edge), integer(STATION);
        /// Fibre and connector attenuation in each direction in dB/1000. Needs `optics`. Default: 0.
        pub attenuation_mdb: u32 = "attenuation_mdb" or(0), integer(ATTENUATION_MDB);
    }
}

section! {
    /// Queues of line cards and access links.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Queues {
        /// Queue limit in bytes; packets beyond it are dropped.
        pub limit: Bytes = "limit_bytes" filled("400000"), integer(LIMIT_BYTES);
    }
}

impl Queues {
    /// Where there is no star.
    pub(crate) const NONE: Queues = Queues { limit: Bytes::ZERO };
}

section! {
    /// Hosts of edges and their access links.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Hosts {
        /// Size of the largest IP packet in bytes.
        pub mtu: u32 = "mtu" filled("1500"), integer(limits::MTU);
        /// Rate of an access link in bit/s, in each direction.
        pub access_rate: Rate = "access_rate_bps" filled("1000000000"), integer(limits::RATE_BPS);
        /// Propagation delay of an access link in ns, in each direction.
        pub access_delay: Duration = "access_delay_ns" filled("1000"), integer(limits::DELAY_NS);
    }
}

impl Hosts {
    /// Where there is no star.
    pub(crate) const NONE: Hosts = Hosts {
        mtu: 0,
        access_rate: Rate::from_bps(1),
        access_delay: Duration::ZERO,
    };
}

section! {
    /// Controller and commit protocol. A star requires `scheduler`, `control_latency_ns` and `beacon_hold_frames`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Controller [r, fields, own: &'c [OwnScheduler]] {
        /// Initial scheduler.
        pub scheduler: SchedulerChoice = "scheduler" read_optional(SchedulerChoice::initial(r, fields, own)), defined("scheduler");
        /// Latency between switch and controller in simulation in ns, in each direction.
        pub control_latency: Duration = "control_latency_ns" or(Duration::ZERO), integer(limits::CONTROL_LATENCY_NS);
        /// Frames for which a member edge uses its slots after the last commit beacon.
        pub beacon_hold_frames: u32 = "beacon_hold_frames" or(1), integer(limits::BEACON_HOLD_FRAMES);
        /// XCP capacity of every VOQ in bit/s (plain XCP). Default: that of the granted slots (XCP-CL).
        pub xcp: Option<Rate> = "xcp_capacity_bps" optional, integer(limits::RATE_BPS);
        /// Path metric over the links of routers: number of hops, or propagation delay. Default: `hops`.
        pub metric: Metric = "metric" or(Metric::default()), word(Metric::ALL.map(|metric| (metric.name(), metric)));
        /// If true, the controller runs its application `lambda` (docs/lambda.md). With routers, the application
        /// receives the GTP sessions, which must all be between hosts of routers, and serves their rates over REST. In
        /// a star with one core, one edge per core port and no routers, the nodes are the edges (`edge0` ...), and
        /// sessions that join over REST reserve slots of each frame. Default: false.
        pub lambda: bool = "lambda" or(false), flag();
    }
}

/// One entry of a phase's traffic; [`Scenario::flows`] says which flows it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Where it comes from.
    pub from: Endpoint,
    /// Where it goes.
    pub to: Endpoint,
    /// What it is.
    pub kind: TrafficKind,
}

/// What a traffic entry sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrafficKind {
    /// Bulk TCP.
    Tcp {
        /// Limit of each stream; without it a stream takes what it gets.
        rate: Option<Rate>,
        /// Parallel streams of each flow.
        streams: u32,
        /// Its congestion control in virtual time.
        transport: Transport,
    },
    /// UDP datagrams.
    Udp {
        /// Rate of each flow, counted in payload bytes.
        rate: Rate,
        /// UDP payload of each datagram.
        payload_bytes: u32,
        /// When datagrams are sent.
        process: Process,
    },
    /// One file over HTTP; host to host.
    File {
        /// Its size.
        bytes: Bytes,
        /// Congestion control of its connection in virtual time.
        transport: Transport,
    },
    /// Users at `to` who fetch pages from `from`, one connection a page. The engine plays them, live too.
    Web {
        /// Users of each flow.
        users: u32,
        /// How they behave.
        web: Web,
        /// Congestion control of the connections.
        transport: Transport,
    },
}

impl TrafficKind {
    /// The name in a scenario file.
    pub fn name(&self) -> &'static str {
        match self {
            TrafficKind::Tcp { .. } => "tcp",
            TrafficKind::Udp { .. } => "udp",
            TrafficKind::File { .. } => "file",
            TrafficKind::Web { .. } => "web",
        }
    }

    /// The congestion control of streams.
    pub fn transport(&self) -> Option<Transport> {
        match *self {
            TrafficKind::Tcp { transport, .. }
            | TrafficKind::File { transport, .. }
            | TrafficKind::Web { transport, .. } => Some(transport),
            TrafficKind::Udp { .. } => None,
        }
    }
}

/// Names and defaults of a congestion control.
struct TransportRow {
    name: &'static str,
    sack: bool,
    kernel: Option<&'static str>,
}

/// Makes the list of congestion controls: a row for each, with its name in a scenario file, its default of SACK, and its name in Linux,
/// if Linux has it.
macro_rules! transports {
    ($($(#[$attribute:meta])* $variant:ident: $name:literal, $sack:literal, $kernel:expr;)*) => {
        /// Congestion control of a stream.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub enum Transport {
            $($(#[$attribute])* $variant,)*
        }

        impl Transport {
            /// All of them.
            pub const ALL: &[Transport] = &[$(Transport::$variant),*];

            fn row(self) -> TransportRow {
                let (name, sack, kernel) = match self {
                    $(Transport::$variant => ($name, $sack, $kernel),)*
                };
                TransportRow { name, sack, kernel }
            }
        }
    };
}

transports! {
    /// RFC 5681, without SACK.
    Reno: "reno", false, Some("reno");
    /// RFC 6582, without SACK.
    NewReno: "newreno", false, Some("reno");
    /// RFC 9438 with SACK, as Linux has it.
    #[default]
    Cubic: "cubic", true, Some("cubic");
    /// HighSpeed TCP with SACK: RFC 3649, with limited slow start (RFC 3742).
    HighSpeed: "highspeed", true, Some("highspeed");
    /// DCTCP (RFC 8257) with SACK. Its window depends on marks of queues with `ecn`.
    Dctcp: "dctcp", true, Some("dctcp");
    /// XCP with SACK. Linux hosts do not have it: the engine generates it, also in emulation.
    Xcp: "xcp", true, None;
}

impl Transport {
    /// Names in a scenario file.
    pub(crate) fn words() -> impl Iterator<Item = (&'static str, Transport)> {
        Transport::ALL.iter().map(|transport| (transport.name(), *transport))
    }

    /// Returns the default of SACK.
    pub fn uses_sack(self) -> bool {
        self.row().sack
    }

    /// Returns the name in a scenario file.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the name in Linux. Its reno is NewReno, with SACK if both ends have it; it has no older one.
    pub fn kernel_name(self) -> Option<&'static str> {
        self.row().kernel
    }
}

/// Arrival process of a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Process {
    /// Evenly spaced.
    Constant,
    /// Exponentially distributed gaps.
    Poisson,
    /// Bursts at the source's rate and silences. The engine plays them, live too.
    OnOffPareto(OnOff),
}

/// Lengths of bursts and silences, Pareto-distributed: many such sources together are self-similar (Willinger,
/// Taqqu, Sherman, Wilson, SIGCOMM 1995).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOff {
    /// Mean length of a burst.
    pub mean_on: Duration,
    /// Mean length of a silence.
    pub mean_off: Duration,
    /// Shape of both distributions, over 1; at most 2 the variance is infinite.
    pub shape: f64,
}

/// A user who fetches a page, reads it, and fetches the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Web {
    /// Mean time between the end of a page, or with `open` its start, and the next request, exponentially distributed.
    pub mean_think: Duration,
    /// Requests do not wait for the end of earlier pages.
    pub open: bool,
    /// Mean size of a page.
    pub mean_size: Bytes,
    /// Shape of Pareto-distributed sizes, over 1; `None`: they are exponentially distributed.
    pub shape: Option<f64>,
    /// Larger draws are cut to this.
    pub max_size: Bytes,
}

section! {
    /// Change of a fibre pair of a star; omitted values do not change.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct LinkChange {
        /// Time in ms from the start of the first phase.
        pub at_ms: u64 = "at_ms" required, integer(AT_MS);
        /// Core of the fibre pair.
        pub core: u16 = "core" required, integer(STATION);
        /// Edge of the fibre pair.
        pub edge: u16 = "edge" required, integer(STATION);
        /// New rate in bit/s.
        pub rate: Option<Rate> = "rate_bps" optional, integer(limits::RATE_BPS);
        /// New propagation delay in ns; the edge's timing advance (T_d) does not change.
        pub delay: Option<Duration> = "delay_ns" optional, integer(limits::DELAY_NS);
        /// New probability of losing a packet.
        pub loss: Option<f64> = "loss" optional, number(0.0..=1.0);
        /// New attenuation in dB/1000. Needs `optics`.
        pub attenuation_mdb: Option<u32> = "attenuation_mdb" optional, integer(ATTENUATION_MDB);
        /// If true, the fibre pair is up.
        pub up: Option<bool> = "up" optional, flag();
    }
    any ["rate_bps", "delay_ns", "loss", "attenuation_mdb", "up"]
}
